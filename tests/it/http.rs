use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::models::server::{Faults, Reaction};
use crate::project::{GROUNDED, Project};
use crate::repository;

/// Decides by the governing units alone, in any order.
const DECIDE: &str = r###"
def decide(text):
    units = text.split("\n## ")[1:]
    lines = [line for unit in units if unit.startswith("Rule") for line in unit.splitlines()]
    return " ".join(sorted(line for line in lines if line))
"###;

/// A service of a few lines, with a function `decide` before it. It writes down its number and each call. It starts
/// quicker than one of `http.server`, since a test may start fifty of them.
const SERVE: &str = r#"
import json, os, socketserver, time
open("started", "a").write(f"{os.getpid()}\n")
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            length = 0
            for line in iter(self.rfile.readline, b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            text = json.loads(self.rfile.read(length))["text"]
            open("calls", "a").write("x\n")
            body = json.dumps({"result": {"label": decide(text)}}).encode()
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;

/// A pipeline that is a service, which is started.
const STARTED: &str = "{url: \"http://127.0.0.1:{port}/decide\", start: python3 -S app.py, \
                       body: '{\"text\": {{ input | tojson }}}', decision: /result/label}";

fn configured(project: &Project, http: &str, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run:\n  http: {http}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\n\
             fingerprint: [\"*.py\"]\n{more}"
        ),
    );
}

/// A project whose service decides by this function.
fn started(function: &str, more: &str) -> Project {
    let project = Project::new("");
    project.write("app.py", &format!("{function}\n{SERVE}"));
    configured(&project, STARTED, more);
    project
}

/// Eight calls, and twelve that find out whether the order matters.
const FEW: &str = "variants: {reorder: 1, pad_length: 0, pad_content: 0, swap: 0}\n";

/// A project whose service is this server.
fn with_server(server: &Faults, more: &str) -> Project {
    let project = Project::new("");
    project.write("app.py", "# The service runs elsewhere.\n");
    let http = format!("{{url: \"{}/decide\"}}", server.url());
    configured(&project, &http, &format!("{FEW}{more}"));
    project
}

fn answers(body: &Value) -> Reaction {
    Reaction::Answer(200, Vec::new(), body.to_string())
}

fn cost(project: &Project, what: &str) -> u64 {
    let report = project.json("kelvin/report.json");
    report["run"]["session"]["cost"][what].as_u64().unwrap_or(0)
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

#[track_caller]
fn all_dead(project: &Project) {
    let numbers = project.read("started");
    let lives = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| {
            !stat
                .rsplit(')')
                .next()
                .unwrap_or("")
                .trim()
                .starts_with('Z')
        })
    };
    assert!(!numbers.is_empty(), "nobody wrote a number");
    for pid in numbers.lines() {
        until(&format!("the end of {pid}"), || !lives(pid));
    }
}

#[test]
fn a_service_has_the_figures_of_the_same_command_and_one_process_answers_a_run() {
    let command = Project::usual(GROUNDED);
    command.check();
    let service = started(DECIDE, "");
    service.check();
    let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(
        metrics(&command)["evidence.sensitivity"]["value"],
        json!(1.0)
    );
    assert_eq!(metrics(&service), metrics(&command));
    assert_eq!(service.calls(), 52 + 12);
    // One for the run, and one for each order and each input alone.
    assert_eq!(service.read("started").lines().count(), 1 + 6);
    assert!(service.notices("order_matters").is_empty());
    let output = service.json("kelvin/alder/baseline/output.json");
    assert!(output["decision"].is_string(), "{output}");
    all_dead(&service);
}

#[test]
fn an_unchanged_service_passes_the_gate_and_one_that_forgets_the_rule_is_red() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    repository::rooms(&project, 16);
    project.write("app.py", &format!("{DECIDE}\n{SERVE}"));
    project.write(".gitignore", "/kelvin/\n/calls\n/started\n__pycache__/\n");
    configured(
        &project,
        STARTED,
        FEW.replace("swap: 0", "swap: 1").as_str(),
    );
    repository::commit(&project, "a service");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    repository::save(&project);
    let gate = |name: &str, old: &str, new: &str, options: &[&str], code: i32| {
        repository::git(project.root(), &["checkout", "--quiet", "-B", name, "main"]);
        let text = project.read("app.py");
        assert!(text.contains(old));
        project.write("app.py", &text.replace(old, new));
        repository::commit(&project, name);
        let said = project.kelvin(&[&["gate"], options].concat());
        assert_eq!(
            said.code,
            Some(code),
            "{name}: {}{}",
            said.stdout,
            said.stderr
        );
    };
    gate("same", "import json", "# the same\nimport json", &[], 0);
    gate("deaf", "\"Rule\"", "\"Nothing\"", &[], 3);
    // The base is measured now, by a service that its own checkout starts.
    gate(
        "deaf",
        "\"Rule\"",
        "\"Nothing\"",
        &["--baseline", "compute"],
        3,
    );
    let judgement = project.read("kelvin/gate.json");
    assert!(judgement.contains("\"the base commit\""), "{judgement}");
}

/// A service that gives a reason for its decision, and what differs at every call: an identifier, a time, a count.
fn with_reason(answer: &str) -> String {
    let noise = r#"
import random, uuid
from email.utils import format_datetime
from datetime import datetime, timedelta
def noise():
    at = datetime(2026, 11, 30) + timedelta(seconds=random.randrange(10**7))
    return {"id": str(uuid.uuid4()), "at": format_datetime(at), "usage": {"tokens": random.randrange(10**6)}}
"#;
    let served = SERVE.replace("{\"result\": {\"label\": decide(text)}}", answer);
    assert_ne!(served, SERVE);
    format!("{noise}\n{DECIDE}\n{served}")
}

#[test]
fn what_a_service_says_beside_its_decision_is_told_where_it_is_another_one() {
    const BESIDE: &str = "{\"result\": {\"label\": decide(text), \"reason\": \"by \" + decide(text), **noise()}, **noise()}";
    const AROUND: &str = "{\"result\": {\"label\": decide(text), **noise()}, \"why\": {\"reason\": \"by \" + decide(text), **noise()}}";
    let thrice = "repeats: 3\n";
    let exact = "gate: {deterministic: true}\n";
    // The field and the items of what is told, and the page.
    let told = |more: &str, base: &str, head: &str| {
        let project = started("", &format!("{FEW}{more}"));
        project.write("app.py", &with_reason(base));
        project.check();
        project.write("base.json", &project.read("kelvin/report.json"));
        project.write("app.py", &with_reason(head));
        let said = project.kelvin(&["gate", "--baseline", "base.json"]);
        assert_eq!(said.code, Some(0), "{}", said.stdout);
        let asides = &project.json("kelvin/gate.json")["answers"]["evidence"]["asides"];
        let asides = asides.as_array().into_iter().flatten();
        let told = asides.map(|aside| format!("{} {}", aside["field"], aside["items"]));
        let told: Vec<String> = told.collect();
        (told.join(", "), project.read("kelvin/gate.md"))
    };
    for (more, base, field) in [
        (thrice, BESIDE, "\"reason\" 4"),
        (exact, BESIDE, "\"reason\" 4"),
        (thrice, AROUND, "\"why.reason\" 4"),
    ] {
        let (first, page) = told(more, base, &base.replace("by ", "no more by "));
        assert_eq!(first, field, "{more} {base}: {page}");
        if field.starts_with("\"reason") {
            insta::allow_duplicates! {
                insta::assert_snapshot!(lines_with(&page, &["### ", "**`", "Look "]), @"
                ### ✅ Kelvin: pass, 4 of 4 cases get the same answer with another `reason`
                **`alder` gets the same answer, but its `reason` is *no more by Room 0 may be given to at most 3 people. Rule* instead of *by Room 0 may be given to at most 3 people. Rule* (and 3 more cases)**
                Look whether `reason` is still right, first that of case `alder`: the gate compares the answers, and not what stands beside them.
                ");
            }
        }
        let (first, page) = told(more, base, base);
        assert_eq!(first, "", "{more} {base}: {page}");
    }
    // A reason that is worded otherwise in each call is no other one on the head.
    let worded = BESIDE.replace(
        "by ",
        "by \" + random.choice([\"all means\", \"chance\", \"law\", \"rule\"]) + \" ",
    );
    let (first, page) = told(thrice, &worded, &worded);
    assert_eq!(first, "", "{page}");
    // The documents that a service sends with each answer are not stored with its decision.
    let project = started("", FEW);
    for (size, fields) in [(70_000, 1), (7, 6)] {
        let found = format!("**noise(), \"found\": \"x\" * {size}}}, **noise()}}");
        let beside = BESIDE.replace("**noise()}, **noise()}", &found);
        project.write("app.py", &with_reason(&beside));
        project.check();
        let output = project.json("kelvin/alder/baseline/output.json");
        let output = output.as_object().expect("an object");
        assert!(output.contains_key("decision"), "{output:?}");
        assert_eq!(output.len(), fields, "{size}: {output:?}");
    }
}

#[test]
fn a_base_is_not_measured_by_the_service_of_its_change() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    let server = Faults::start(|_, _| answers(&json!({ "decision": "go" })));
    project.write("app.py", "# The service runs elsewhere.\n");
    let http = format!("{{url: \"{}/decide\"}}", server.url());
    configured(
        &project,
        &http,
        &format!("{FEW}baseline: {{compute: true}}\n"),
    );
    repository::commit(&project, "a service");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    repository::branch(&project, "change", "");
    let said = project.kelvin(&["gate"]);
    let verdict = project.json("kelvin/gate.json");
    assert_eq!(verdict["verdict"], json!("no_baseline"), "{}", said.stdout);
    let tried = verdict["tried"]
        .as_array()
        .expect("a list")
        .last()
        .expect("one");
    assert_eq!(tried["source"], "compute", "{}", said.stdout);
    insta::assert_snapshot!(tried["why"].as_str().expect("a text"), @"the base cannot be measured beside the change: without `start` under `run.http`, the same service answers for both. Name the command that starts it in `start`, or compare with a stored report (`baseline.compute: false`)");
    let said = project.kelvin(&["lint"]);
    insta::assert_snapshot!(said.stdout, @"
    note: the base cannot be measured beside the change: without `start` under `run.http`, the same service answers for both. Name the command that starts it in `start`, or compare with a stored report (`baseline.compute: false`)
    kelvin.yaml: can be run, but look at the note above; read: 4 cases
    next: kelvin check
    ");
    let said = project.kelvin(&["doctor"]);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`start`"]), @"warn     service      the base cannot be measured beside the change: without `start` under `run.http`, the same service answers for both. Name the command that starts it in `start`, or compare with a stored report (`baseline.compute: false`)");
}

#[test]
fn a_service_that_remembers_is_told_by_the_names_of_the_inputs_and_never_passes() {
    // All that it was asked, which only a service of its own for each order shows.
    let all = "asked = []\ndef decide(text):\n    asked.append(len(text))\n    return sum(asked)\n";
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, "");
    project.write("app.py", &format!("{all}\n{SERVE}"));
    project.write(".gitignore", "/kelvin/\n/calls\n/started\n__pycache__/\n");
    configured(&project, STARTED, FEW);
    repository::commit(&project, "a service");
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    let said = project.check();
    let told = project.notices("order_matters");
    assert_eq!(told.len(), 1, "{}", said.stdout);
    insta::assert_snapshot!(told[0], @"the answer to `alder/baseline`, `birch/baseline`, `cedar/baseline` and `dogwood/baseline` depends on what the service was asked before: of 4 inputs, each asked alone and in two orders 4 times, these are answered otherwise, and always alike in the same place. Something of one call stays for the next one, so that every figure of this run may be one of the order. Look for what it keeps from one request to the next");
    assert!(!told[0].contains("recycle_after"), "{told:?}");
    project.kelvin(&["baseline", "save"]).expect(0);
    repository::branch(&project, "change", "");
    project.kelvin(&["gate"]);
    let verdict = project.json("kelvin/gate.json");
    assert_ne!(verdict["verdict"], json!("pass"));
    assert_eq!(
        verdict["reasons"][0]["code"],
        json!("order_matters"),
        "{verdict}"
    );
}

#[test]
fn a_running_service_that_remembers_the_last_request_is_told_and_one_with_more_is_not_called_noise()
{
    let last = std::sync::Mutex::new(String::new());
    let server = Faults::start(move |_, request| {
        let mut last = last.lock().expect("no panic");
        let decision = std::mem::replace(&mut *last, request.body.clone());
        answers(&json!({ "decision": decision.len() }))
    });
    let project = with_server(&server, "");
    project.check();
    let told = project.notices("order_matters");
    assert_eq!(
        told.len(),
        1,
        "{:?}",
        project.json("kelvin/report.json")["notices"]
    );
    insta::assert_snapshot!(told[0], @"the answer to `cedar/baseline` and `dogwood/baseline` depends on what the service was asked before: of 4 inputs, each asked alone and in two orders 4 times, these are answered otherwise, and always alike in the same place. Something of one call stays for the next one, so that every figure of this run may be one of the order. Look for what it keeps from one request to the next");

    let counting = Faults::start(|number, _| answers(&json!({ "decision": number })));
    let project = with_server(&counting, "");
    project.check();
    let told = project.notices("order_unknown");
    assert_eq!(told.len(), 1);
    insta::assert_snapshot!(told[0], @"whether the answers of a service depend on the order of the inputs was not found out: those to `alder/baseline`, `birch/baseline`, `cedar/baseline` and `dogwood/baseline` vary from one time to the next in the same order too: chance makes answers vary, and so does a service that remembers more than the last request; with `run.http.start` each order is asked of a service of its own, which tells the two apart");
}

#[test]
fn a_limit_is_waited_for_and_trouble_is_asked_again_and_both_are_counted() {
    let server = Faults::start(|number, _| match number {
        0 => Reaction::Answer(
            429,
            vec![("retry-after", "1".to_owned())],
            "later".to_owned(),
        ),
        // The trial of the order is asked again too.
        1 | 3 => Reaction::Answer(500, Vec::new(), "trouble".to_owned()),
        _ => answers(&json!({ "decision": "go" })),
    });
    let project = with_server(&server, "retry: {initial_delay_s: 0, jitter_max_s: 0}\n");
    let start = Instant::now();
    project.check();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(cost(&project, "retries"), 3);
    assert_eq!(server.requests().len(), 8 + 12 + 3);
    assert_eq!(cost(&project, "invocations"), 8 + 12 + 3);
    let report = project.json("kelvin/report.json");
    let invariance = &report["metrics"]["evidence.invariance"];
    assert_eq!(invariance["n_failed"], json!(0));
    for notice in ["order_matters", "order_unknown"] {
        assert!(project.notices(notice).is_empty());
    }
}

#[test]
fn what_a_service_does_wrong_is_a_failure_with_what_came() {
    let other = Faults::start(|_, _| answers(&json!({ "decision": "stolen" })));
    let port = other.port();
    let elsewhere = format!("http://localhost:{port}/");
    let server = Faults::start(move |_, request| {
        let is_of = |name: &str| request.body.contains(&format!("Request {name}"));
        match () {
            () if is_of("alder") => {
                Reaction::Answer(302, vec![("location", elsewhere.clone())], String::new())
            }
            () if is_of("birch") => {
                Reaction::Answer(200, Vec::new(), "<h1>Log in</h1>\u{1b}[31m".to_owned())
            }
            () if is_of("cedar") => Reaction::Answer(200, Vec::new(), "1".repeat(3000)),
            () => Reaction::Answer(400, Vec::new(), "<script>no `text`</script>".to_owned()),
        }
    });
    let project = with_server(&server, "max_output_bytes: 2000\n");
    let said = project.kelvin(&["check"]).expect(2);
    assert!(other.requests().is_empty(), "no other host is asked");
    let report = project.json("kelvin/report.json");
    let failure =
        |case: &str| report["probes"]["evidence"]["items"][case]["baseline"][0]["failure"].clone();
    let mut told = Vec::new();
    for (case, kind, printed) in [
        (
            "alder",
            json!({ "status": 302 }),
            format!("localhost:{port}"),
        ),
        ("birch", json!("output_not_json"), "Log in".to_owned()),
        ("cedar", json!("output_too_large"), String::new()),
        ("dogwood", json!({ "status": 400 }), "no `text`".to_owned()),
    ] {
        let failure = failure(case);
        assert_eq!(failure["kind"], kind, "{failure}");
        told.push(redacted(failure["message"].as_str().unwrap_or_default()));
        assert!(
            failure.to_string().contains(&printed),
            "{printed}: {failure}"
        );
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the service redirects to another address, which is not asked: correct `run.http.url` (HTTP status 302)
    its answer is no JSON, found 20 bytes of no type: without `run.http.decision` it has to be JSON, or have the type `text/plain`
    the server's answer is larger than the 2000 bytes that `max_output_bytes` allows
    the service refused the call (HTTP status 400)
    ");
    assert!(!said.stdout.contains('\u{1b}') && !said.stderr.contains('\u{1b}'));
    let page = project.read("kelvin/report.html");
    assert!(!page.contains("<script>no"), "the page shows it as text");
}

#[test]
fn a_part_that_the_answer_lacks_is_named_with_its_key_and_the_advice_helps() {
    let server = Faults::start(|_, _| answers(&json!({ "label": "go" })));
    let project = with_server(&server, "");
    let http = |decision: &str| {
        format!(
            "{{url: \"{}/decide\", decision: /{decision}}}",
            server.url()
        )
    };
    configured(&project, &http("result"), FEW);
    let said = project.kelvin(&["check"]).expect(2);
    insta::assert_snapshot!(lines_with(&said.stderr, &["help: set"]), @"  help: set `run.http.decision` in `kelvin.yaml` to a field whose value the scorer can compare; nothing else was run");
    configured(&project, &http("label"), FEW);
    project.check();
}

#[test]
fn a_run_that_was_killed_is_resumed_with_another_service_and_repeats_nothing_that_had_finished() {
    let slow = DECIDE.replace(
        "def decide(text):",
        "def decide(text):\n    time.sleep(0.03)",
    );
    let project = started(&slow, "");
    let noted = || {
        let journal = fs::read_to_string(project.path("kelvin/.journal.jsonl"));
        journal.map_or(0, |text| text.matches("\"case\"").count())
    };
    let mut kelvin = project.start(&["check"]);
    until("twenty calls that are kept", || noted() >= 20);
    let known = noted();
    kelvin.kill().expect("it runs");
    kelvin.wait().expect("it ends");
    all_dead(&project);
    let before = project.calls();
    project.kelvin(&["check", "--resume"]).expect(0);
    assert!(cost(&project, "resumed") >= known as u64);
    assert!(
        project.calls() - before <= 52 - known,
        "{} after {before}",
        project.calls()
    );
    let (resumed, items) = (project.report(), project.files("kelvin/alder"));
    project.check();
    assert_eq!(project.report().to_string(), resumed.to_string());
    assert_eq!(project.files("kelvin/alder"), items);
}

#[test]
fn an_interrupted_run_leaves_no_service_and_none_of_its_children() {
    let forks = "import os, time\nfor n in range(20):\n    if os.fork() == 0:\n        os.setsid()\n        \
                 open('started', 'a').write(f'{os.getpid()}\\n')\n        time.sleep(1000)\n        os._exit(0)\n\
                 def decide(text):\n    time.sleep(1000)";
    for signal in ["-KILL", "-INT"] {
        let project = started(forks, "");
        let mut kelvin = project.start(&["check"]);
        let written = || fs::read_to_string(project.path("started")).unwrap_or_default();
        until("its processes", || written().lines().count() >= 21);
        let sent = Command::new("kill")
            .args([signal, &kelvin.id().to_string()])
            .status();
        assert!(sent.expect("kill starts").success());
        kelvin.wait().expect("it ends");
        all_dead(&project);
    }
}

#[test]
fn a_request_has_a_record_as_it_is_and_tells_neither_the_case_nor_the_variant_nor_the_repeat() {
    let server = Faults::start(|_, _| answers(&json!({ "decision": "go" })));
    let project = with_server(&server, "repeats: 2\n");
    let lines: String = (0..4)
        .map(|at| {
            let case = json!({ "id": format!("case-{at}"), "rule": format!("Rule {at} holds."), "notes": ["one", at.to_string()] });
            format!("{case}\n")
        })
        .collect();
    project.write("cases.jsonl", &lines);
    let config = project
        .read("kelvin.yaml")
        .replace("cases: cases\n", "cases: cases.jsonl\n");
    project.write("kelvin.yaml", &config);
    project.check();
    let requests = server.requests();
    assert!(requests.len() >= 16 + 12, "{}", requests.len());
    let mut heads: Vec<String> = Vec::new();
    for request in &requests {
        let body = request.json();
        assert_eq!(body.as_object().expect("an object").len(), 1);
        assert!(
            body["input"]["rule"].is_string() && body["input"]["notes"].is_array(),
            "{body}"
        );
        let lines = request
            .head
            .lines()
            .filter(|line| !line.to_ascii_lowercase().starts_with("content-length"));
        heads.push(lines.collect::<Vec<_>>().join("\n"));
    }
    heads.sort();
    heads.dedup();
    assert_eq!(heads.len(), 1, "every request has the same head: {heads:?}");
}

#[test]
fn the_doctor_says_whether_the_address_answers() {
    let server = Faults::start(|_, _| answers(&json!({ "decision": "go" })));
    let project = with_server(&server, "");
    let said = project.kelvin(&["doctor"]);
    for words in [
        "none, since a service is asked by HTTP",
        "answers (HTTP status 200",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    let closed = format!(
        "{{url: \"http://127.0.0.1:{}/\"}}",
        crate::server::free_port()
    );
    configured(&project, &closed, "");
    let said = project.kelvin(&["doctor"]).expect(1);
    let line = said
        .stdout
        .lines()
        .find(|line| line.starts_with("missing  service"));
    assert!(line.is_some(), "{}", said.stdout);
    // A service that is started is started for the doctor too.
    let project = started(
        "def decide(text):\n    return 1\nraise SystemExit('no model here')",
        "",
    );
    let said = project.kelvin(&["doctor"]).expect(1);
    let line = said
        .stdout
        .lines()
        .find(|line| line.starts_with("missing  service"));
    let line = line.unwrap_or_else(|| panic!("{}", said.stdout));
    insta::assert_snapshot!(line, @"missing  service      the service of `run.http.start` (`python3 -S app.py`) was not ready: it ended with exit code 1 before it accepted a connection; it printed: no model here");
}

#[test]
fn a_search_is_asked_by_its_address_and_no_text_of_a_query_leaves_its_place_there() {
    let server = Faults::start(|_, request| {
        let line = request.head.lines().next().unwrap_or_default();
        let found = match line {
            "GET /v1/search?q=red%20%26%20blue%2F..%2F%3Fx%3D1%23%7B%7B HTTP/1.1" => "colours",
            "GET /v1/search?q=%C3%BCber%20uns HTTP/1.1" => "about",
            _ => "nothing",
        };
        answers(&json!({ "results": [{ "doc_id": found }] }))
    });
    let project = Project::new("");
    project.write("app.py", "# The service runs elsewhere.\n");
    project.write(
        "kelvin.yaml",
        &format!(
            "retrieval:\n  run:\n    http:\n      url: \"{}/search?q={{{{ input.query }}}}\"\n      method: GET\n      \
             decision: /results\n  golden: golden.jsonl\nfingerprint: [\"*.py\"]\n",
            server.url()
        ),
    );
    project.write(
        "golden.jsonl",
        "{\"id\": \"a\", \"query\": \"red & blue/../?x=1#{{\", \"expected_doc_ids\": [\"colours\"]}\n\
         {\"id\": \"b\", \"query\": \"über uns\", \"expected_doc_ids\": [\"about\"]}\n",
    );
    project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["retrieval.recall_doc@1"]["value"],
        json!(1.0)
    );
    for request in server.requests() {
        let head = request.head.to_ascii_lowercase();
        assert!(
            request.body.is_empty() && !head.contains("content-type"),
            "{head}"
        );
    }
}

#[test]
fn a_configuration_that_cannot_work_is_told_with_its_line_before_anything_is_asked() {
    let project = Project::new("");
    let mut told = Vec::new();
    for http in [
        "{url: \"http://a:1/\", headers: {Authorization: \"Bearer ${TOKEN}\"}}",
        "{url: \"http://a:1/\", headers: {X-Team: \"${TEAM}\"}}",
        "{url: \"http://gateway.internal/\", api_key_env: TOKEN}",
        "{url: \"http://u:secret@a/\"}",
        "{url: \"http://127.0.0.1:1/\", start: serve}",
        "{url: \"http://127.0.0.1:1/\", body: '{\"t\": \"{{ input }}\"}'}",
        "{url: \"http://127.0.0.1:1/\", decision: label}",
        "{url: \"http://127.0.0.1:1/\", method: GET}",
        "{url: \"http://127.0.0.1:1/{{ input }}\", method: GET, body: '{{ input }}'}",
        "{url: \"http://127.0.0.1:1/?q={{ query }}\"}",
        "{url: \"http://127.0.0.1:1/\", method: FETCH}",
    ] {
        configured(&project, http, "");
        let said = project.kelvin(&["lint"]).expect(1);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(all.contains("kelvin.yaml:2:"));
        told.push(all.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    error: the header `Authorization` would carry a secret in this file
     --> kelvin.yaml:2:40
      |
    2 |   http: {url: "http://a:1/", headers: {Authorization: "Bearer ${TOKEN}"}}
      |                                        ^^^^^^^^^^^^^
      |
      = help: name the environment variable of the key in `api_key_env`, and a header other than `Authorization: Bearer` in `api_key_header`

    error: `Authorization` is sent as it is, with its `${`
     --> kelvin.yaml:2:55
      |
    2 |   http: {url: "http://a:1/", headers: {Authorization: "Bearer ${TOKEN}"}}
      |                                                       ^^^^^^^^^^^^^^^^^
      |
      = help: name the environment variable of a key in `api_key_env`, and its header in `api_key_header`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `X-Team` is sent as it is, with its `${`
     --> kelvin.yaml:2:48
      |
    2 |   http: {url: "http://a:1/", headers: {X-Team: "${TEAM}"}}
      |                                                ^^^^^^^^^
      |
      = help: name the environment variable of a key in `api_key_env`, and its header in `api_key_header`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: the key would go to `gateway.internal` without encryption
     --> kelvin.yaml:2:15
      |
    2 |   http: {url: "http://gateway.internal/", api_key_env: TOKEN}
      |               ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write `https://`, leave `api_key_env` out where the server needs no key, or allow it with `insecure_http: true`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `url` holds a user name or a password
     --> kelvin.yaml:2:15
      |
    2 |   http: {url: "http://u:secret@a/"}
      |               ^^^^^^^^^^^^^^^^^^^^
      |
      = help: take it out, and name the environment variable of the key in `api_key_env`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `url` has no `{port}`, but the service of `start` listens on a port of its own
     --> kelvin.yaml:2:15
      |
    2 |   http: {url: "http://127.0.0.1:1/", start: serve}
      |               ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write it as `http://127.0.0.1:{port}/decide`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `body` is JSON only for an input without quotes and line ends
     --> kelvin.yaml:2:44
      |
    2 |   http: {url: "http://127.0.0.1:1/", body: '{"t": "{{ input }}"}'}
      |                                            ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write `{{ input | tojson }}`, without quotes around it
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `decision` is a JSON pointer and begins with `/`, found `label`
     --> kelvin.yaml:2:48
      |
    2 |   http: {url: "http://127.0.0.1:1/", decision: label}
      |                                                ^^^^^
      |
      = help: write `/label`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `method: GET` sends nothing but the address, and `url` does not name the input
     --> kelvin.yaml:2:15
      |
    2 |   http: {url: "http://127.0.0.1:1/", method: GET}
      |               ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write it as `https://example.com/search?q={{ input.query }}`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: a request of `method: GET` has no body
     --> kelvin.yaml:2:68
      |
    2 |   http: {url: "http://127.0.0.1:1/{{ input }}", method: GET, body: '{{ input }}'}
      |                                                                    ^^^^^^^^^^^^^
      |
      = help: put the input into `url`, as `?q={{ input.query }}`, or leave `method` out
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `url` names `query`, which has no value
     --> kelvin.yaml:2:15
      |
    2 |   http: {url: "http://127.0.0.1:1/?q={{ query }}"}
      |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the names that have one are: input, call, conversation_id, turn
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint

    error: `run.http.method` must be one of the known names, found `FETCH`
     --> kelvin.yaml:2:46
      |
    2 |   http: {url: "http://127.0.0.1:1/", method: FETCH}
      |                                              ^^^^^
      |
      = help: known names: GET, POST, PUT, PATCH
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint
    "#);
    project.write(
        "kelvin.yaml",
        "run: {http: {url: \"http://127.0.0.1:1/\"}}\nscenarios: scenarios.jsonl\ninvariants:\n  \
         done: {description: a, check: {type: command_exit, command: \"true\"}}\n",
    );
    project.write("scenarios.jsonl", "{\"id\": \"one\", \"prompt\": \"go\"}\n");
    let said = project.kelvin(&["check"]).expect(1);
    insta::assert_snapshot!(lines_with(&said.stderr, &["error: "]), @"error: only a command has a workspace of its own for a scenario, and invariants need one");
}

#[test]
fn the_service_of_the_documentation_serves() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let page = fs::read_to_string(page).expect("read");
    let section = page
        .split("### A service behind HTTP\n")
        .nth(1)
        .expect("the section");
    let block = |kind: &str| {
        let block = section
            .split(&format!("```{kind}\n"))
            .nth(1)
            .expect("a block");
        block.split("```").next().expect("its text").to_owned()
    };
    let project = Project::new("");
    project.write("app.py", &block("python"));
    project.write(
        "kelvin.yaml",
        &format!(
            "{}cases: cases\ndecision_field: decision\ngoverning_types: [rule]\njobs: 2\n{FEW}",
            block("yaml")
        ),
    );
    project.check();
    let output = project.json("kelvin/alder/baseline/output.json");
    let input = project.read("kelvin/alder/baseline/input.md");
    assert_eq!(output["decision"], json!(input.chars().count()));
}

#[test]
fn settings_of_a_service_beside_its_key_are_told_where_they_belong() {
    let project = Project::new(GROUNDED);
    project.write(
        "kelvin.yaml",
        "run: {url: 'http://127.0.0.1:9/ask'}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\n",
    );
    let said = project.kelvin(&["lint"]).expect(1);
    insta::assert_snapshot!(said.stdout, @r"
    error: `run` needs one of the keys `model`, `worker`, `python`, `node` or `http`, found `url`
     --> kelvin.yaml:1:6
      |
    1 | run: {url: 'http://127.0.0.1:9/ask'}
      |      ^
      |
      = help: `url` belongs under `http`: write `http: {url: ...}`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint
    ");
}
