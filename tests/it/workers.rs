use kelvin_fixtures::text::lines_with;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{GROUNDED, Project};
use crate::repository;

/// A worker of a few lines, with a function `answer` before it.
const SERVE: &str = r#"
import json, os, sys, time
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    ready = asked["method"] == "initialize"
    say({"id": asked["id"], "result": {"protocol": 1} if ready else answer(asked["params"])})
"#;

/// Decides by the governing units alone, in any order, as the script of that name does.
const DECIDE: &str = r###"
import os
def decide(text):
    with open("calls", "a") as calls:
        calls.write(f"{os.getpid()}\n")
    units = text.split("\n## ")[1:]
    lines = [line for unit in units if unit.startswith("Rule") for line in unit.splitlines()]
    return " ".join(sorted(line for line in lines if line))
"###;

fn configured(project: &Project, run: &str, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {run}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\n\
             fingerprint: [\"*.py\"]\n{more}"
        ),
    );
}

fn with_function(module: &str, more: &str) -> Project {
    let project = Project::new("");
    project.write("app.py", module);
    configured(&project, "{python: \"app:decide\"}", more);
    project
}

/// [`DECIDE`] as an `async def` with several calls at once, and as a function of lists.
fn with_several(slow: bool) -> [Project; 2] {
    let pause = if slow { 0.03 } else { 0.001 };
    let decide = DECIDE.replace("def decide", "def one");
    let together = format!(
        "{decide}\nimport asyncio\nasync def decide(text):\n    await asyncio.sleep({pause})\n    return one(text)\n"
    );
    let lists = format!(
        "{decide}\nimport time\ndef decide(texts):\n    time.sleep({pause})\n    return [one(text) for text in texts]\n"
    );
    [(together, "concurrency: 4"), (lists, "batch: 4")].map(|(module, way)| {
        let project = with_function(&module, "");
        let run = format!("{{python: {{function: \"app:decide\", {way}}}}}");
        configured(&project, &run, "");
        project
    })
}

fn with_worker(answer: &str, bounds: &str, more: &str) -> Project {
    let project = Project::new("");
    project.write("worker.py", &format!("{answer}\n{SERVE}"));
    let run = format!("{{worker: {{run: python3 worker.py{bounds}}}}}");
    configured(&project, &run, more);
    project
}

/// The metrics of a report.
fn metrics(project: &Project) -> Value {
    project.json("kelvin/report.json")["metrics"].clone()
}

fn until(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what} did not happen"
        );
        sleep(Duration::from_millis(5));
    }
}

fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim()
            .starts_with('Z')
    })
}

#[track_caller]
fn all_dead(project: &Project, file: &str) {
    let numbers = project.read(file);
    assert!(!numbers.is_empty(), "nobody wrote a number");
    for pid in numbers.lines() {
        until(&format!("the end of {pid}"), || !lives(pid));
    }
}

#[test]
fn a_function_and_a_worker_have_the_figures_of_the_same_command() {
    let command = Project::usual(GROUNDED);
    command.check();
    let function = with_function(DECIDE, "");
    function.check();
    let answer = format!(
        "{DECIDE}\ndef answer(params):\n    return {{'decision': decide(params['input'])}}"
    );
    let worker = with_worker(&answer, "", "");
    worker.check();
    let of_command = metrics(&command);
    assert_eq!(of_command["evidence.sensitivity"]["value"], json!(1.0));
    for project in [&function, &worker] {
        assert_eq!(metrics(project), of_command);
        // Twelve further calls find out whether the order matters, by six processes.
        assert_eq!(project.calls(), 52 + 12);
        let calls = project.read("calls");
        let processes: std::collections::BTreeSet<&str> = calls.lines().collect();
        assert!((7..=8).contains(&processes.len()), "{}", processes.len());
        assert!(project.notices("order_matters").is_empty());
        all_dead(project, "calls");
    }
}

#[test]
fn several_calls_at_once_have_the_figures_of_the_same_command() {
    let command = Project::usual(GROUNDED);
    command.check();
    for project in with_several(false) {
        project.check();
        assert_eq!(metrics(&project), metrics(&command));
        // Twelve further calls ask inputs apart, and eight ask them together.
        assert_eq!(project.calls(), 52 + 20);
        let calls = project.read("calls");
        let processes: std::collections::BTreeSet<&str> = calls.lines().collect();
        assert!((9..=10).contains(&processes.len()), "{}", processes.len());
        for code in ["order_matters", "asked_alone", "fewer_at_once"] {
            assert!(project.notices(code).is_empty(), "{code}");
        }
        all_dead(&project, "calls");
    }
}

#[test]
fn a_run_with_a_worker_that_was_killed_is_resumed_and_repeats_nothing_that_had_finished() {
    let slow = DECIDE.replace(
        "def decide(text):",
        "import time\ndef decide(text):\n    time.sleep(0.03)",
    );
    let worker =
        format!("{slow}\ndef answer(params):\n    return {{'decision': decide(params['input'])}}");
    let [together, lists] = with_several(true);
    let alone = [with_function(&slow, ""), with_worker(&worker, "", "")];
    for project in alone.into_iter().chain([together, lists]) {
        let noted = || {
            let journal = fs::read_to_string(project.path("kelvin/.journal.jsonl"));
            journal.map_or(0, |text| text.matches("\"case\"").count())
        };
        let mut kelvin = project.start(&["check"]);
        until("twenty calls that are kept", || noted() >= 20);
        let known = noted();
        kelvin.kill().expect("it runs");
        kelvin.wait().expect("it ends");
        all_dead(&project, "calls");
        let before = project.calls();
        project.kelvin(&["check", "--resume"]).expect(0);
        let cost = project.json("kelvin/report.json")["run"]["session"]["cost"].clone();
        assert!(
            cost["resumed"].as_u64().expect("a number") >= known as u64,
            "{cost}"
        );
        assert!(
            project.calls() - before <= 52 - known,
            "{} after {before}",
            project.calls()
        );
        let (resumed, items) = (project.report(), project.files("kelvin/alder"));
        project.check();
        assert_eq!(project.report(), resumed);
        assert_eq!(project.files("kelvin/alder"), items);
        // Another function is another pipeline.
        let config = project.read("kelvin.yaml");
        project.write(
            "kelvin.yaml",
            &config
                .replace("app:decide", "app:other")
                .replace("python3 w", "python3 -u w"),
        );
        let said = project.kelvin(&["check", "--resume"]).expect(1);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.stderr, @"
            error: the earlier run cannot be resumed: since then this has changed: the command; the earlier run has 52 finished calls
              help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
            ");
        }
    }
}

#[test]
fn an_interrupted_run_leaves_no_worker_and_none_of_its_fifty_children() {
    let bomb = "def answer(params):\n    for n in range(50):\n        if os.fork() == 0:\n            \
                os.setsid()\n            open('forked', 'a').write(f'{os.getpid()}\\n')\n            \
                time.sleep(1000)\n    time.sleep(1000)";
    for signal in ["-KILL", "-INT"] {
        let project = with_worker(bomb, "", "");
        let mut kelvin = project.start(&["check"]);
        let forked = || fs::read_to_string(project.path("forked")).unwrap_or_default();
        until("fifty processes", || forked().lines().count() >= 50);
        let sent = Command::new("kill")
            .args([signal, &kelvin.id().to_string()])
            .status();
        assert!(sent.expect("kill starts").success());
        kelvin.wait().expect("it ends");
        all_dead(&project, "forked");
    }
}

#[test]
fn a_lost_worker_costs_its_call_and_the_retries_of_the_configuration_win_it_back() {
    // It dies at every tenth call of a process, whatever the input is.
    let answer = "n = 0\ndef answer(params):\n    global n\n    n += 1\n    if n % 10 == 0:\n        \
                  print('out of luck', file=sys.stderr, flush=True)\n        os._exit(9)\n    return {'decision': 'go'}";
    let project = with_worker(answer, "", "");
    project.check();
    let report = project.read("kelvin/report.json");
    assert!(report.contains("worker_lost") && report.contains("out of luck"));
    configured(
        &project,
        "{worker: python3 worker.py}",
        "retry: {max_attempts: 3, initial_delay_s: 0, jitter_max_s: 0}\n",
    );
    project.check();
    let report = project.json("kelvin/report.json");
    for metric in ["evidence.invariance", "evidence.sensitivity"] {
        assert_eq!(report["metrics"][metric]["n_failed"], json!(0), "{metric}");
    }
    let retries = &report["run"]["session"]["cost"]["retries"];
    assert!(
        retries.as_u64().is_some_and(|retries| retries >= 2),
        "{retries}"
    );
}

/// Answers with the heading of the first input that this process was asked.
const REMEMBERS: &str = "first = None\ndef decide(text):\n    global first\n    first = first or text.splitlines()[0]\n    return first\n";

#[test]
fn a_function_that_remembers_is_told_by_the_names_of_the_inputs_and_never_passes() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    project.write("app.py", REMEMBERS);
    project.write(".gitignore", "/kelvin/\n__pycache__/\n");
    configured(&project, "{python: \"app:decide\"}", "");
    repository::commit(&project, "a function");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    let said = project.check();
    let told = project.notices("order_matters");
    assert_eq!(told.len(), 1, "{}", said.stdout);
    for name in ["`alder/baseline`", "`dogwood/baseline`", "recycle_after: 1"] {
        assert!(told[0].contains(name), "{told:?}");
    }
    project.kelvin(&["baseline", "save"]).expect(0);
    repository::branch(&project, "change", "");
    let said = project.kelvin(&["gate", "--format", "markdown"]);
    let verdict = project.json("kelvin/gate.json");
    assert_ne!(verdict["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(
        verdict["reasons"][0]["code"],
        json!("order_matters"),
        "{verdict}"
    );
}

/// Keeps its input in a global while it waits.
const MIXES: &str = "import asyncio\ncurrent = None\nasync def decide(text):\n    global current\n    current = text\n    \
                     await asyncio.sleep(0.01)\n    return current.splitlines()[0]\n";

#[test]
fn calls_that_change_each_other_at_the_same_time_are_told_by_name_and_never_pass() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    project.write("app.py", MIXES);
    project.write(".gitignore", "/kelvin/\n__pycache__/\n");
    let function = "{python: {function: \"app:decide\", concurrency: 4}}";
    configured(&project, function, "");
    repository::commit(&project, "a function");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    let said = project.check();
    let told = project.notices("order_matters");
    assert_eq!(told.len(), 1, "{}", said.stdout);
    for words in ["`alder/baseline`", "`concurrency`"] {
        assert!(told[0].contains(words), "{told:?}");
    }
    project.kelvin(&["baseline", "save"]).expect(0);
    repository::branch(&project, "change", "");
    let said = project.kelvin(&["gate", "--format", "markdown"]);
    let verdict = project.json("kelvin/gate.json");
    assert_ne!(verdict["verdict"], json!("pass"), "{}", said.stdout);
    assert_eq!(verdict["reasons"][0]["code"], json!("order_matters"));
    // The same function is well where each process has one call at a time.
    configured(&project, "{python: \"app:decide\"}", "");
    project.check();
    assert!(project.notices("order_matters").is_empty());
}

#[test]
fn a_list_whose_answers_depend_on_its_other_inputs_is_told_by_name() {
    let module = "def decide(texts):\n    return [max(texts).splitlines()[0] for text in texts]\n";
    let project = with_function(module, "");
    configured(
        &project,
        "{python: {function: \"app:decide\", batch: 8}}",
        "",
    );
    project.check();
    let told = project.notices("order_matters");
    assert_eq!(told.len(), 1);
    for words in ["`alder/baseline`", "`batch`"] {
        assert!(told[0].contains(words), "{told:?}");
    }
}

#[test]
fn noise_is_not_taken_for_order_and_what_was_found_out_is_found_out_once() {
    let noisy = "import random\ndef decide(text):\n    open('calls', 'a').write('x\\n')\n    return random.random()\n";
    let project = with_function(noisy, "cache: true\n");
    project.check();
    assert!(project.notices("order_matters").is_empty());
    assert_eq!(project.notices("order_unknown").len(), 1);
    // Four rounds of twelve calls.
    assert_eq!(project.calls(), 52 + 48);
    project.check();
    assert_eq!(project.calls(), 52 + 48, "the cache knows it");
    assert_eq!(project.notices("order_unknown").len(), 1);
}

/// A fault in some calls shows in the single run of the head only by luck. Here it shows where each input is asked several
/// times, and never in the run itself.
#[test]
fn answers_that_vary_where_those_of_the_base_never_did_are_no_pass() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    project.write("app.py", DECIDE);
    configured(&project, "{python: \"app:decide\"}", "");
    repository::commit(&project, "a function");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    project.kelvin(&["check", "--repeats", "3"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    let unsteady = "\ndef unsteady(text):\n    answer = decide(text)\n    \
                    return 'another' if 5 <= len(open('calls').readlines()) <= 8 else answer\n";
    for (function, verdict) in [("unsteady", "inconclusive"), ("decide", "pass")] {
        repository::git(project.root(), &["checkout", "--quiet", "main"]);
        repository::branch(&project, function, "");
        project.write("app.py", &format!("{DECIDE}{unsteady}"));
        let run = format!("{{python: \"app:{function}\"}}");
        configured(&project, &run, "");
        repository::commit(&project, "change");
        fs::remove_file(project.path("calls")).expect("removed");
        let said = project.kelvin(&["gate"]);
        let judgement = repository::verdict(&project, &said);
        assert_eq!(judgement["verdict"], json!(verdict), "{}", said.stdout);
        if function == "unsteady" {
            assert_eq!(judgement["reasons"][0]["code"], json!("less_steady"));
            let text = judgement["reasons"][0]["text"].as_str().expect("a text");
            let told = "over the 3 runs of the base no answer varied";
            assert!(text.contains(told), "{text}");
        }
    }
}

/// Four processes with four questions: each first call loads, and each later one is fast.
#[test]
fn what_is_loaded_at_the_first_call_of_a_process_is_not_taken_for_kept_answers() {
    let project = Project::new("");
    project.write(
        "app.py",
        "import time\nMODEL = None\ndef search(query):\n    global MODEL\n    if MODEL is None:\n        time.sleep(1.2)\n        \
         MODEL = True\n    return [query.split()[-1]]\n",
    );
    let questions: String = (0..4).map(|at| format!("Where is {at}?,{at}?\n")).collect();
    project.write(
        "questions.csv",
        &format!("query,expected_doc_ids\n{questions}"),
    );
    project.write(
        "kelvin.yaml",
        "retrieval:\n  run: {python: \"app:search\"}\n  golden: questions.csv\njobs: 4\nrepeats: 3\n",
    );
    project.kelvin(&["check"]).expect(0);
    assert_eq!(project.notices("answers_kept"), [""; 0]);
    assert_eq!(project.report()["metrics"]["retrieval.found"]["value"], 1.0);
}

#[test]
fn the_doctor_says_which_python_is_taken_and_a_wrong_function_is_told_by_the_check() {
    let project = with_function(DECIDE, "");
    let said = project.kelvin(&["doctor"]);
    for words in ["`python3` is `/", "`app:decide`", "`.venv`"] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    configured(&project, "{python: \"app:decid\"}", "");
    let said = project.kelvin(&["doctor"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["decid"]), @"missing  command      `app.py` has no `decid`; it has `decide`");
    configured(&project, "{python: \"ap:decide\"}", "");
    let said = project.kelvin(&["doctor"]);
    let part = "; there is no `ap` in the folder of the configuration, so it has to be an installed package";
    assert!(said.stdout.contains(part), "{}", said.stdout);
    configured(&project, "{python: \"app:decide\"}", "");
    project.write("app.py", "def decide(one, two):\n    return 1\n");
    let said = project.kelvin(&["check"]);
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(all.contains("`app:decide(one, two)`"), "{all}");
    configured(&project, "{python: \"app.py\"}", "");
    let said = project.kelvin(&["check"]).expect(1);
    assert!(
        said.stderr.contains("`app.pipeline:decide`"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_scenario_is_refused_with_a_worker_before_anything_is_run() {
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        "run: {worker: python3 worker.py}\nscenarios: scenarios.jsonl\ninvariants:\n  \
         done: {description: a, check: {type: command_exit, command: \"true\"}}\n",
    );
    project.write("scenarios.jsonl", "{\"id\": \"one\", \"prompt\": \"go\"}\n");
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: only a command has a workspace of its own for a scenario, and invariants need one
     --> kelvin.yaml:1:6
      |
    1 | run: {worker: python3 worker.py}
      |      ^
      |
      = help: write a command line under `run`
    ");
}

#[test]
fn the_worker_of_the_documentation_serves() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let page = fs::read_to_string(page).expect("read");
    let block = page.split("```python\n").nth(1).expect("a block");
    let project = Project::new("");
    project.write("worker.py", block.split("```").next().expect("its text"));
    configured(&project, "{worker: python3 worker.py}", "");
    project.check();
    let output = project.json("kelvin/alder/baseline/output.json");
    let input = project.read("kelvin/alder/baseline/input.md");
    assert_eq!(output["decision"], json!(input.chars().count()));
}

/// The real packages: each object is named as it is, an unchanged one passes, and one that forgets a rule is red.
#[test]
#[ignore = "installs the frameworks from PyPI and npm; `.ci/run` runs it"]
fn frameworks_are_reached_by_the_objects_that_their_users_have() {
    for (name, file) in [
        ("langchain", "app.py"),
        ("llamaindex", "app.py"),
        ("dspy", "app.py"),
        ("vercel", "app.mjs"),
    ] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frameworks");
        let install = std::process::Command::new(folder.join("install"))
            .arg(name)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&install.stderr).into_owned();
        assert!(install.status.success(), "{name}: {said}");
        let installed = String::from_utf8_lossy(&install.stdout).trim().to_owned();
        let app = fs::read_to_string(folder.join(name).join(file)).expect("it is there");
        let (_remote, url) = crate::repository::bare();
        let project = crate::repository::pushed(&url, "exit 9\n");
        crate::repository::rooms(&project, 16);
        project.write(file, &app.replace("\"verification record\"", "\"rule\""));
        let (run, comment) = match file {
            "app.py" => (
                format!("python: {{function: \"app:chain\", interpreter: {installed}}}"),
                "#",
            ),
            _ => {
                let packages = project.path("node_modules");
                std::os::unix::fs::symlink(&installed, packages).expect("linked");
                project.write(".git/info/exclude", "node_modules\n");
                ("node: \"app.mjs:decide\"".to_owned(), "//")
            }
        };
        project.write(
            "kelvin.yaml",
            &format!(
                "run: {{{run}}}\ncases: cases\ndecision_field: decision\n\
                 governing_types: [rule]\njobs: 2\n"
            ),
        );
        crate::repository::commit(&project, "framework");
        crate::repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
        let said = project.kelvin(&["check"]).expect(0);
        assert!(said.stdout.contains("Grounded"), "{name}: {}", said.stdout);
        project.kelvin(&["baseline", "save"]).expect(0);
        let gate = |branch: &str, edit: &dyn Fn(&str) -> String, code: i32| {
            crate::repository::git(project.root(), &["checkout", "--quiet", "main"]);
            crate::repository::git(project.root(), &["checkout", "--quiet", "-b", branch]);
            project.write(file, &edit(&project.read(file)));
            crate::repository::commit(&project, branch);
            let said = project.kelvin(&["gate"]);
            assert_eq!(said.code, Some(code), "{name} {branch}: {}", said.stdout);
        };
        gate("same", &|text| format!("{text}{comment} the same\n"), 0);
        gate("deaf", &|text| text.replace("\"rule\"", "\"nothing\""), 3);
    }
}

#[test]
fn a_function_that_wants_a_text_and_gets_a_record_is_told_how_to_get_the_field() {
    let project = Project::new("");
    project.write("app.py", "def decide(text):\n    return text.lower()\n");
    project.write(
        "claims.jsonl",
        "{\"id\": \"a\", \"claim\": \"Hail.\"}\n{\"id\": \"b\", \"claim\": \"Rain.\"}\n",
    );
    project.write(
        "kelvin.yaml",
        "run: {python: \"app:decide\"}\ncases: claims.jsonl\ndecision_field: decision\n\
         governing_types: [claim]\n",
    );
    let said = project.kelvin(&["check"]).expect(2);
    let all = said.stdout + &said.stderr;
    for words in [
        "it got the whole input as `text`, an object with `id`, `claim`",
        "a parameter called `claim` gets that field alone",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
    project.write("app.py", "def decide(claim):\n    return claim.lower()\n");
    project.kelvin(&["check"]).expect(0);
}

#[test]
fn a_parameter_gets_the_field_that_differs_in_capital_letters_and_no_label_is_advised() {
    let project = Project::new("");
    project.write("app.py", "def decide(claim):\n    return claim.lower()\n");
    project.write(
        "claims.csv",
        "No,Claim,Team\na,Hail.,Sales\nb,Rain.,Support\n",
    );
    project.write(
        "kelvin.yaml",
        "run: {python: \"app:decide\"}\ncases: claims.csv\ndecision_field: decision\nrecords: {id: No}\n\
         governing_types: [claim]\n",
    );
    project.kelvin(&["check"]).expect(0);
    // Of fields that differ in capital letters alone none is meant, and which one has the right answer is not known.
    project.write(
        "claims.csv",
        "No,Claim,CLAIM,Team\na,Hail.,x,Sales\nb,Rain.,y,Support\n",
    );
    let said = project.kelvin(&["check"]).expect(2);
    let all = said.stdout + &said.stderr;
    assert!(
        all.contains("a parameter that has the name of one of them gets that field alone"),
        "{all}"
    );
    assert!(!all.contains("called `Team`"), "{all}");
}
