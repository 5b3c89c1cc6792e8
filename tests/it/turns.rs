//! Cases that are conversations: agents of which it is known what they remember, asked one turn after the other.

use kelvin_fixtures::text::lines_with;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{Project, Said, is_calm};

const CASES: usize = 8;

/// Decides by both tests of a case, and writes down who was asked what.
const RULES: &str = r#"
import json, os
def log(conversation_id, turn):
    with open("calls", "a") as calls:
        calls.write(f"{os.getpid()} {conversation_id} {turn}\n")
def both(text):
    return "approve" if "first test passed" in text and "second test passed" in text else "deny"
"#;

/// Keeps what was said by its conversation.
const REMEMBERS: &str = r#"
said = {}
def decide(input, conversation_id, turn):
    log(conversation_id, turn)
    said[conversation_id] = said.get(conversation_id, "") + json.dumps(input)
    return both(said[conversation_id])
"#;

/// Keeps all that was ever said in one text.
const LEAKS: &str = r#"
said = ""
def decide(input, conversation_id):
    global said
    said += json.dumps(input)
    return both(said)
"#;

fn word(passed: bool) -> &'static str {
    if passed { "passed" } else { "failed" }
}

/// The two tests of a case, and notes that decide nothing.
fn evidence(at: usize) -> (String, [String; 3], String) {
    let first = format!(
        "In file {at} the first test {}.",
        word(at.is_multiple_of(2))
    );
    let second = format!(
        "In file {at} the second test {}.",
        word((at / 2).is_multiple_of(2))
    );
    (
        first,
        [1, 2, 3].map(|note| format!("Photograph {note} of file {at}.")),
        second,
    )
}

/// A test, photographs, and the other test, one turn each.
fn conversation(at: usize) -> Value {
    let (first, photos, second) = evidence(at);
    json!({
        "id": format!("c{at}"),
        "turns": [
            {"rule_a": first, "n": at},
            {"photos": photos},
            {"rule_b": second},
        ],
        "channel": "chat",
    })
}

/// Both tests in the first turn; the last one asks about the file by its number.
fn question(at: usize) -> Value {
    let (first, photos, second) = evidence(at);
    json!({
        "id": format!("c{at}"),
        "turns": [
            {"rule_a": first, "rule_b": second},
            {"photos": photos},
            format!("So, is file {at} covered?"),
        ],
    })
}

fn configured(project: &Project, run: &str, more: &str) {
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {run}\ncases: cases.jsonl\ndecision_field: decision\ngoverning_types: [rule_a, rule_b]\njobs: 2\n\
             fingerprint: [\"*.py\"]\nvariants: {{reorder: 1, pad_length: 1, pad_content: 1, swap: 4}}\n{more}\n"
        ),
    );
}

const TURNS: &str = "records: {turns: turns}";
const FUNCTION: &str = "{python: \"app:decide\"}";

/// A project with conversations, and an agent that is a function.
fn with_agent(agent: &str, record: fn(usize) -> Value) -> Project {
    let project = Project::new("");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let lines = (0..CASES).map(|at| format!("{}\n", record(at)));
    project.write("cases.jsonl", &lines.collect::<String>());
    project.write("app.py", &format!("{RULES}\n{agent}"));
    configured(&project, FUNCTION, TURNS);
    project
}

/// An agent that decides by a text that is made of `input` and `turn`.
fn hears(text: &str) -> String {
    format!("def decide(input, conversation_id, turn):\n    text = json.dumps(input)\n{text}")
}

#[track_caller]
fn says(said: &Said, words: &str) {
    let lines: Vec<&str> = said.stdout.split_whitespace().collect();
    assert!(lines.join(" ").contains(words), "{words}: {}", said.stdout);
}

/// The turns of each conversation that an agent has written down, with the process that was asked.
fn conversations(project: &Project) -> BTreeMap<String, Vec<(String, usize)>> {
    let mut all: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for line in project.read("calls").lines() {
        let [pid, id, turn] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let turn = turn.parse().expect("a number");
        all.entry(id.to_owned())
            .or_default()
            .push((pid.to_owned(), turn));
    }
    all
}

/// Demands that every conversation went to one process, from its first turn on and in order.
#[track_caller]
fn in_order(project: &Project) -> BTreeMap<String, Vec<(String, usize)>> {
    let all = conversations(project);
    for (id, turns) in &all {
        assert_eq!(id.len(), 32, "a token: {id}");
        for ((pid, turn), ought) in turns.iter().zip(1..) {
            assert_eq!((pid, *turn), (&turns[0].0, ought), "{id}: {turns:?}");
        }
    }
    all
}

/// The turns of a call as they stand in its folder.
fn kept(project: &Project, folder: &str) -> Value {
    project.json(&format!("kelvin/{folder}/conversation.json"))
}

#[test]
fn what_an_agent_said_in_each_turn_stands_beside_its_last_answer() {
    let project = with_agent(REMEMBERS, conversation);
    project.check();
    let turns = &conversation(4)["turns"];
    let ought: Vec<Value> = (1..=3)
        .zip(["deny", "deny", "approve"])
        .map(|(turn, said)| json!({"turn": turn, "input": turns[turn - 1], "output": {"decision": said}}))
        .collect();
    assert_eq!(kept(&project, "c4/baseline"), json!(ought));
    let output = project.json("kelvin/c4/baseline/output.json");
    assert_eq!(output, ought[2]["output"]);
    fs::rename(project.path("kelvin"), project.path("base")).expect("moved");

    // Where an answer changes, its page leads there.
    let denies = "def decide(input, conversation_id):\n    return 'deny'\n";
    project.write("app.py", denies);
    let gate = ["gate", "--no-history", "--baseline", "base/report.json"];
    project.kelvin(&gate).expect(3);
    let html = project.read("kelvin/report.html");
    assert!(html.contains("c4&#x2f;baseline&#x2f;conversation.json\""));

    // An answer of the cache is the last one alone.
    configured(&project, FUNCTION, &format!("{TURNS}\ncache: true"));
    project.check();
    assert_eq!(kept(&project, "c4/baseline")[2]["turn"], json!(3));
    project.check();
    assert!(project.path("kelvin/c4/baseline/output.json").exists());
    assert!(
        !project
            .path("kelvin/c4/baseline/conversation.json")
            .exists()
    );
}

#[test]
fn an_agent_that_keeps_its_conversation_is_grounded_and_each_turn_is_shown() {
    let project = with_agent(REMEMBERS, conversation);
    let said = project.check();
    assert!(is_calm(&said.stdout), "{}", said.stdout);
    for figure in ["invariance", "invariance_in_turn.02", "agrees_with_labels"] {
        let ought = if figure.starts_with("agrees") {
            Value::Null
        } else {
            json!(1.0)
        };
        assert_eq!(project.figure(figure), ought, "{figure}");
    }
    for turn in ["01", "03"] {
        let moved = project.figure(&format!("moved_in_turn.{turn}"));
        assert!(moved.as_f64().expect("a number") > 0.2, "{turn}: {moved}");
    }
    assert_eq!(project.figure("moved_in_turn.02"), Value::Null);
    let html = project.read("kelvin/report.html");
    for shown in [
        "Which turns are heard",
        "Invariance by turn",
        "turn 3: moved in ",
    ] {
        assert!(html.contains(shown), "{shown}");
    }
    // Beside the calls of the run, six processes were asked about the order.
    for (id, turns) in in_order(&project) {
        assert_eq!(turns.len(), 3, "{id}");
    }
}

#[test]
fn each_turn_counts_for_the_time_that_a_rate_limit_takes() {
    let project = with_agent(REMEMBERS, conversation);
    project.check();
    let limited = format!("{TURNS}\nmax_per_minute: 600");
    configured(&project, FUNCTION, &limited);
    // Three turns a call, and ten of them a second.
    let paced = |calls: f64| calls * 3.0 / 10.0;
    let said = project
        .kelvin(&["check", "--forecast", "--format", "json"])
        .expect(0);
    let bill: Value = serde_json::from_str(&said.stdout).expect("JSON");
    for side in ["check", "gate_at_most"] {
        let number = |key: &str| bill[side][key].as_f64().expect("it is known");
        let apart = (number("seconds") - paced(number("calls"))).abs();
        assert!(apart < 1e-6, "{side}: {bill}");
    }
}

#[test]
fn an_agent_that_forgets_is_told_so_first() {
    let mut told = Vec::new();
    for (record, text) in [
        (
            conversation as fn(usize) -> Value,
            "    return 'second test passed' in text\n",
        ),
        // It knows the number of the file alone.
        (
            question,
            "    return str(sum(int(c) for c in text if c.isdigit()) % 2)\n",
        ),
    ] {
        let project = with_agent(&hears(text), record);
        let said = project.check();
        let first = said
            .stdout
            .lines()
            .find(|line| line.starts_with(['!', '~', '=']));
        told.push(first.unwrap_or_default().to_owned());
        assert_eq!(project.figure("moved_in_turn.01"), json!(0.0));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    ! It forgets what was said before the last of 3 turns: other evidence there
    ! It forgets what was said before the last of 3 turns: other evidence there
    ");
    let project = with_agent(&hears("    return both(text)\n"), question);
    let said = project.check();
    says(&said, "`\"deny\"`");
    says(&said, "`conversation_id`");
}

#[test]
fn a_turn_that_is_never_heard_is_told_by_its_number() {
    let agent = "first = {}\ndef decide(input, conversation_id, turn):\n    \
                 text = first.setdefault(conversation_id, json.dumps(input))\n    return 'first test passed' in text\n";
    let project = with_agent(agent, conversation);
    let said = project.check();
    insta::assert_snapshot!(lines_with(&said.stdout, &["turn 3"]), @"! It never hears turn 3: other evidence there changed the decision in 0 of 15");
}

#[test]
fn neutral_text_in_the_place_of_each_turn_tells_the_same() {
    for (agent, told) in [
        (REMEMBERS.to_owned(), false),
        (hears("    return 'second test passed' in text\n"), true),
    ] {
        let project = with_agent(&agent, conversation);
        let more = "perturbations: {enable: [position]}";
        configured(&project, FUNCTION, &format!("{TURNS}\n{more}"));
        let said = project.check();
        let mut lines = said.stdout.lines();
        let is_alarmed = lines.any(|line| line.starts_with("! "));
        assert_eq!(is_alarmed, told, "{}", said.stdout);
        // Counted from the last turn: that one, and the first of three.
        assert_eq!(project.figure("moved_at.turns_03") == json!(0.0), told);
        assert_ne!(project.figure("moved_at.turns_01"), json!(0.0));
        let input = project.json("kelvin/c0/perturbations/position-turns-02/input.json");
        let record = conversation(0);
        assert_eq!(input["turns"][0], record["turns"][0]);
        assert_ne!(input["turns"][1], record["turns"][1]);
        assert_eq!(input["turns"][2], record["turns"][2]);
    }
}

#[test]
fn an_agent_with_one_history_for_all_conversations_is_not_green() {
    let project = with_agent(LEAKS, conversation);
    project.check();
    let told = &project.notices("order_matters")[..];
    let [told] = told else { panic!("{told:?}") };
    // Which conversations are named depends on the order in which they were asked.
    let look = told.rsplit(". ").next().unwrap_or_default();
    insta::assert_snapshot!(look, @"Look for a global that remembers, or set `recycle_after: 1`");

    // This one begins anew with each conversation, and mixes those that are under way at the same time.
    let mixes = "import asyncio\nsaid = ''\nasync def decide(input, conversation_id, turn):\n    global said\n    \
                 said = json.dumps(input) if turn == 1 else said + json.dumps(input)\n    await asyncio.sleep(.001)\n    \
                 return both(said)\n";
    let project = with_agent(mixes, conversation);
    configured(
        &project,
        "{python: {function: \"app:decide\", concurrency: 4}}",
        TURNS,
    );
    let config = project.read("kelvin.yaml");
    let few = "variants: {reorder: 0, pad_length: 0, pad_content: 0, swap: 1}";
    let lines = config
        .lines()
        .map(|line| match line.starts_with("variants") {
            true => few,
            false => line,
        });
    let lines: Vec<&str> = lines.collect();
    project.write("kelvin.yaml", &lines.join("\n"));
    project.check();
    let told = &project.notices("order_matters")[..];
    let [told] = told else { panic!("{told:?}") };
    let look = told.rsplit(". ").next().unwrap_or_default();
    insta::assert_snapshot!(look, @"Look for a global that a call keeps across an `await`, or leave out `concurrency`");
}

#[test]
fn conversations_in_company_have_the_figures_of_those_apart() {
    let apart = with_agent(REMEMBERS, conversation);
    apart.check();
    let remembers = REMEMBERS.replace("def decide", "def one");
    let agent = format!(
        "{remembers}\nimport asyncio\nasync def decide(input, conversation_id, turn):\n    await asyncio.sleep(.001)\n    \
         return one(input, conversation_id, turn)\n"
    );
    let together = with_agent(&agent, conversation);
    configured(
        &together,
        "{python: {function: \"app:decide\", concurrency: 4}}",
        TURNS,
    );
    together.check();
    let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(metrics(&together), metrics(&apart));
    for case in (0..CASES).map(|at| format!("c{at}/baseline")) {
        assert_eq!(kept(&together, &case), kept(&apart, &case), "{case}");
    }
    in_order(&together);
}

/// The figures of the same evidence as one record, and as three turns.
#[test]
fn turns_have_the_decisions_and_the_figures_of_one_input_with_the_same_evidence() {
    let as_turns = with_agent(REMEMBERS, conversation);
    let as_one = with_agent(
        "def decide(input):\n    return both(json.dumps(input))\n",
        |at| {
            let (first, photos, second) = evidence(at);
            json!({"id": format!("c{at}"), "rule_a": first, "photos": photos, "rule_b": second})
        },
    );
    configured(&as_one, FUNCTION, "");
    let figures = |project: &Project| {
        project.check();
        let report = project.json("kelvin/report.json");
        let metrics = report["metrics"].as_object().expect("metrics").iter();
        let metrics = metrics.filter(|(id, _)| !id.contains("_in_turn"));
        let parts = ["value", "interval", "n", "n_failed", "reason"];
        let figure = |metric: &Value| parts.map(|part| metric[part].clone());
        let metrics: BTreeMap<String, _> = metrics
            .map(|(id, metric)| (id.clone(), figure(metric)))
            .collect();
        let cases = report["probes"]["evidence"]["items"]
            .as_object()
            .expect("cases")
            .iter();
        let decisions: Vec<Value> = cases
            .flat_map(|(_, case)| {
                let variants = case["variants"].as_array().expect("variants").iter();
                let samples = variants.map(|one| json!([one["id"], one["samples"][0]["decision"]]));
                samples
                    .chain([case["baseline"][0]["decision"].clone()])
                    .collect::<Vec<_>>()
            })
            .collect();
        (metrics, decisions)
    };
    let (one, turns) = (figures(&as_one), figures(&as_turns));
    assert!(one.0.len() > 10 && one.1.len() > 40, "{one:?}");
    assert_eq!(turns, one);
}

#[test]
fn no_unit_leaves_its_turn_unless_turns_may_change_places() {
    let texts = |turn: &Value| -> Vec<String> {
        let photos = turn["photos"].as_array().cloned().unwrap_or_default();
        let mut texts: Vec<String> = photos.iter().map(Value::to_string).collect();
        texts.sort();
        texts
    };
    let project = with_agent(REMEMBERS, conversation);
    configured(
        &project,
        FUNCTION,
        &format!("{TURNS}\nperturbations: {{enable: [drop, duplicate]}}"),
    );
    project.kelvin(&["check", "--dry-run"]).expect(0);
    let mut reordered = 0;
    for at in 0..CASES {
        let own = conversation(at);
        for (name, bytes) in project.files(&format!("kelvin/c{at}")) {
            if !name.ends_with("input.json") {
                continue;
            }
            let input: Value = serde_json::from_slice(&bytes).expect("valid JSON");
            let turns = input["turns"].as_array().expect("an array");
            assert_eq!(turns.len(), 3, "{name}");
            for (turn, own) in turns.iter().zip(own["turns"].as_array().expect("an array")) {
                let keys = |turn: &Value| {
                    turn.as_object()
                        .expect("an object")
                        .keys()
                        .cloned()
                        .collect::<Vec<_>>()
                };
                assert_eq!(keys(turn), keys(own), "{name}");
            }
            if name.contains("reorder") {
                assert_eq!(texts(&turns[1]), texts(&own["turns"][1]), "{name}");
                reordered += usize::from(turns[1] != own["turns"][1]);
            }
        }
    }
    assert_eq!(reordered, CASES);

    let texts = |at: usize| {
        let (first, photos, second) = evidence(at);
        json!({"id": format!("c{at}"), "turns": [first, photos[0], second]})
    };
    let project = with_agent(REMEMBERS, texts);
    let governing = "records: {turns: {at: turns, reorder: true}}";
    configured(&project, FUNCTION, governing);
    let config = project
        .read("kelvin.yaml")
        .replace("[rule_a, rule_b]", "[turns]");
    project.write("kelvin.yaml", &config);
    project.check();
    let input = project.json("kelvin/c0/perturbations/reorder-01/input.json");
    let sorted = |turns: &Value| {
        let mut turns: Vec<String> = turns
            .as_array()
            .expect("an array")
            .iter()
            .map(Value::to_string)
            .collect();
        turns.sort();
        turns
    };
    assert_ne!(input["turns"], texts(0)["turns"]);
    assert_eq!(sorted(&input["turns"]), sorted(&texts(0)["turns"]));
    assert_eq!(project.figure("invariance"), json!(1.0));
}

#[test]
fn a_failure_in_a_turn_fails_the_call_and_another_attempt_is_another_conversation() {
    let agent = "import sys, pathlib\nheard = {}\ndef decide(input, conversation_id, turn):\n    log(conversation_id, turn)\n    \
                 heard[conversation_id] = heard.get(conversation_id, '') + json.dumps(input)\n    \
                 text = heard[conversation_id]\n    \
                 if turn == 2 and '\"n\": 6' in text and not pathlib.Path('once').exists():\n        \
                 open('once', 'w')\n        sys.exit(75)\n    \
                 if turn == 2 and '\"n\": 5' in text:\n        raise ValueError('no such photograph')\n    \
                 return both(text)\n";
    let project = with_agent(agent, conversation);
    configured(
        &project,
        FUNCTION,
        &format!(
            "{TURNS}\nretry: {{max_attempts: 2, initial_delay_s: 0.01, transient_exit_codes: [75]}}"
        ),
    );
    project.write("once", "");
    project.check();
    let report = project.read("kelvin/report.json");
    let failure = "in turn 2 of 3: it answered with an error: ValueError: no such photograph";
    assert!(report.contains(failure), "{report}");
    let items = &project.json("kelvin/report.json")["probes"]["evidence"]["items"];
    assert_eq!(items["c6"]["failed"], json!(0));
    assert_ne!(items["c5"]["failed"], json!(0));
    let turns = kept(&project, "c5/baseline");
    let has_output = |turn: usize| turns[turn - 1].get("output").is_some();
    assert_eq!([1, 2, 3].map(has_output), [true, false, false], "{turns}");

    // A call that is made again begins with the first turn.
    let broken = || {
        let all = in_order(&project).into_values();
        all.filter(|turns| turns.len() < 3).count()
    };
    let (before, alone) = (project.report(), broken());
    for file in ["once", "calls"] {
        fs::remove_file(project.path(file)).expect("removed");
    }
    project.kelvin(&["check", "--no-cache"]).expect(0);
    assert_eq!(project.report()["metrics"], before["metrics"]);
    assert!(broken() > alone, "{alone}");
}

#[test]
fn a_run_that_was_killed_is_resumed_with_whole_conversations() {
    let agent = format!(
        "import time\n{}",
        REMEMBERS.replace("    log", "    time.sleep(.005)\n    log")
    );
    let project = with_agent(&agent, conversation);
    let mut kelvin = project.start(&["check"]);
    let start = Instant::now();
    // Until a part of the run has finished.
    while project.calls() < 90 {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it does not go on"
        );
        sleep(Duration::from_millis(5));
    }
    kelvin.kill().expect("it runs");
    kelvin.wait().expect("it has ended");
    project.kelvin(&["check", "--resume"]).expect(0);
    let report = project.json("kelvin/report.json");
    let cost = &report["run"]["session"]["cost"];
    assert!(cost["resumed"].as_u64().expect("a number") > 0, "{cost}");
    in_order(&project);
    let resumed = project.report();
    let whole = with_agent(&agent, conversation);
    whole.check();
    assert_eq!(whole.report()["metrics"], resumed["metrics"]);
}

#[test]
fn who_can_get_no_turns_is_refused_with_those_who_can() {
    let project = with_agent(REMEMBERS, conversation);
    let mut refused = Vec::new();
    for run in [
        "sh x.sh {input} {output}",
        "{python: {function: \"app:decide\", batch: 4}}",
        "{model: small}",
    ] {
        let models = "models:\n  small: {kind: cmd, run: cat}";
        configured(&project, run, &format!("{TURNS}\n{models}"));
        let said = project.kelvin(&["check"]).expect(1);
        refused.push(lines_with(&said.stderr, &["error: ", "help: "]));
    }
    insta::assert_snapshot!(refused.join("\n"), @r"
    error: `records.turns` hands over one turn after the other: a command gets one input a call, and ends with it
      = help: reach the pipeline by `worker`, `python`, `node` or `http`, which can keep a conversation from one turn to the next, or leave `turns` out: then it gets the whole record
    error: `records.turns` hands over one turn after the other: `python` has `batch: 4`, and a turn waits for the answer to the one before it
      = help: leave `batch` out; with `concurrency` several conversations are under way at the same time
    error: `records.turns` hands over one turn after the other: `run: {model: ...}` gets one input a call
      = help: reach the pipeline by `worker`, `python`, `node` or `http`, which can keep a conversation from one turn to the next, or leave `turns` out: then it gets the whole record
    ");
    configured(
        &project,
        FUNCTION,
        "records: {turns: turns, units: {rule_a: '/turns/*/rule_a', x: 'turns'}}",
    );
    let said = project.kelvin(&["lint"]).expect(1);
    says(
        &said,
        "`/turns/*/rule_a` is looked for in each turn, and names the turns again",
    );
    says(&said, "write `/rule_a`");
}

#[test]
fn lint_tells_the_turns_and_what_is_wrong_with_one() {
    let project = with_agent(REMEMBERS, conversation);
    let said = project.kelvin(&["lint"]).expect(0);
    says(
        &said,
        "cases.jsonl: 8 record(s); units: `photos` (24, elements of arrays in 8), `rule_a` (8), `rule_b` (8); given to the \
         pipeline and never changed: `n` (a number); 3 turn(s) in each; no part of a turn, and not given to the pipeline: \
         `channel` (a text)",
    );
    let wrong = [
        (json!({"turns": ["a", 7]}), "turn 2 of `/turns` is a number"),
        (
            json!({"turns": []}),
            "the record has no turns at `/turns`; it has `id`, `turns`",
        ),
        (
            json!({"turn": ["a"]}),
            "the record has no turns at `/turns`; it has `id`, `turn`",
        ),
        (
            json!({"turns": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}),
            "turn 2 of `/turns` has the role `assistant`",
        ),
    ];
    let mut lines = project.read("cases.jsonl");
    for (at, (record, _)) in wrong.iter().enumerate() {
        let mut record = record.clone();
        record["id"] = json!(format!("w{at}"));
        lines += &format!("{record}\n");
    }
    project.write("cases.jsonl", &lines);
    let said = project.kelvin(&["lint"]).expect(1);
    for (at, (_, told)) in wrong.iter().enumerate() {
        says(&said, &format!("cases.jsonl:{}", CASES + 1 + at));
        says(&said, told);
    }
}

/// A service that keeps conversations by its paths.
const SERVICE: &str = r#"
import json, os, re, socketserver
said = {}
def both(text):
    return "approve" if "first test passed" in text and "second test passed" in text else "deny"
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            path = line.split()[1].decode()
            headers = {}
            for header in iter(self.rfile.readline, b"\r\n"):
                name, value = header.decode().split(":", 1)
                headers[name.lower()] = value.strip()
            asked = json.loads(self.rfile.read(int(headers["content-length"])))
            conversation, turn = path.split("/")[2:]
            assert headers["x-turn"] == f"{turn} of {conversation}", headers
            assert (asked["id"], str(asked["turn"])) == (conversation, turn), asked
            said[conversation] = said.get(conversation, "") + json.dumps(asked["text"])
            body = json.dumps({"label": both(said[conversation]) if turn == "3" else "?"}).encode()
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;

#[test]
fn a_service_gets_the_conversation_in_its_address_its_headers_and_its_body() {
    let function = with_agent(REMEMBERS, conversation);
    function.check();
    let project = with_agent("", conversation);
    project.write("app.py", SERVICE);
    let service = |url: &str| {
        format!(
            "\n  http:\n    start: python3 -S app.py\n    url: \"{url}\"\n    \
             headers: {{X-Turn: \"{{{{ turn }}}} of {{{{ conversation_id }}}}\"}}\n    \
             body: '{{\"text\": {{{{ input | tojson }}}}, \"id\": \"{{{{ conversation_id }}}}\", \
             \"turn\": {{{{ turn }}}}}}'\n    decision: /label"
        )
    };
    let url = "http://127.0.0.1:{port}/chats/{{ conversation_id }}/{{ turn }}";
    configured(&project, &service(url), TURNS);
    project.check();
    let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(metrics(&project), metrics(&function));
    let turns = kept(&project, "c4/baseline");
    let said = [0, 1, 2].map(|turn| turns[turn]["output"]["decision"].clone());
    assert_eq!(said, ["?", "?", "approve"].map(Value::from));

    let mut texts = Vec::new();
    for (url, more) in [
        ("http://{{ conversation_id }}.test:{port}/", TURNS),
        ("http://127.0.0.1:{port}/{{ case }}", TURNS),
        (url, ""),
    ] {
        configured(&project, &service(url), more);
        let config = project.read("kelvin.yaml").replace(
            "[rule_a, rule_b]",
            if more.is_empty() {
                "[channel]"
            } else {
                "[rule_a]"
            },
        );
        project.write("kelvin.yaml", &config);
        let said = project.kelvin(&["check"]).expect(1);
        texts.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    error: `url` names another machine, and `start` starts the service on this one
     --> kelvin.yaml:4:10
      |
    4 |     url: "http://{{ conversation_id }}.test:{port}/"
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write it as `http://127.0.0.1:{port}/decide`, or leave `start` out

    error: `url` has a template in the name of its host, and only one host is ever asked
     --> kelvin.yaml:4:10
      |
    4 |     url: "http://{{ conversation_id }}.test:{port}/"
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: write the host as it is; `{{ input }}` and the other names may stand behind it

    error: `url` names `case`, which has no value
     --> kelvin.yaml:4:10
      |
    4 |     url: "http://127.0.0.1:{port}/{{ case }}"
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: the names that have one are: input, call, conversation_id, turn

    error: kelvin.yaml: `run.http.url` names a conversation, and the cases have no turns
      help: name the array of their turns, as `records: {turns: turns}`, or leave `conversation_id` and `turn` out
    "#);
}

#[test]
fn a_function_in_javascript_gets_the_conversation_and_the_turn() {
    if Command::new("node").arg("--version").output().is_err() {
        return;
    }
    let function = with_agent(REMEMBERS, conversation);
    function.check();
    let project = with_agent("", conversation);
    project.write(
        "app.mjs",
        "const said = new Map();\nexport function decide(input, { conversation_id, turn, path }) {\n  \
         if (path !== undefined || !(turn >= 1)) throw new Error('what turn?');\n  \
         const text = (said.get(conversation_id) ?? '') + JSON.stringify(input);\n  said.set(conversation_id, text);\n  \
         return text.includes('first test passed') && text.includes('second test passed') ? 'approve' : 'deny';\n}\n",
    );
    configured(&project, "{node: \"app.mjs:decide\"}", TURNS);
    project.check();
    let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(metrics(&project), metrics(&function));
}

/// Does what the section of docs/decisions.md says.
#[test]
fn the_agent_of_the_document_keeps_its_conversations() {
    let page = include_str!("../../docs/decisions.md");
    let (_, section) = page
        .split_once("\n## Conversations, one turn at a time\n")
        .expect("the page has such a section");
    let block = |language: &str| {
        let (_, rest) = section
            .split_once(&format!("```{language}\n"))
            .expect("a block");
        rest.split("```").next().expect("its text").to_owned()
    };
    let project = Project::new("");
    project.write("kelvin.yaml", &block("yaml"));
    project.write("app.py", &block("python"));
    let said =
        |hail: bool, at: usize| format!("{} in street {at}.", if hail { "hail" } else { "rain" });
    let lines = (0..8).map(|at: usize| {
        let (first, second) = (at.is_multiple_of(4), at.is_multiple_of(2));
        let photos = [said(second, at), format!("A roof of house {at}.")];
        let turns = json!([{"claim": said(first, at)}, {"photos": photos}, "So, is it covered?"]);
        let expected = if first || second { "yes" } else { "no" };
        format!(
            "{}\n",
            json!({"id": format!("c{at}"), "turns": turns, "expected": expected})
        )
    });
    project.write("claims.jsonl", &lines.collect::<String>());
    project.check();
    for figure in ["agrees_with_labels", "invariance"] {
        assert_eq!(project.figure(figure), json!(1.0), "{figure}");
    }
    let moved = project.figure("moved_in_turn.02");
    assert!(moved.as_f64().expect("a number") > 0.2, "{moved}");
}

#[test]
fn a_runnable_gets_the_conversation_as_its_thread() {
    let function = with_agent(REMEMBERS, conversation);
    function.check();
    let runnable = "class Graph:\n    said = {}\n    def invoke(self, input, config=None):\n        \
                    told = config['configurable']\n        assert told['thread_id'] == told['session_id']\n        \
                    text = self.said.get(told['thread_id'], '') + json.dumps(input)\n        \
                    self.said[told['thread_id']] = text\n        return both(text)\n    \
                    async def ainvoke(self, input, config=None):\n        return self.invoke(input, config)\n\
                    decide = Graph()\n";
    for run in [
        FUNCTION,
        "{python: {function: \"app:decide\", concurrency: 2}}",
    ] {
        let project = with_agent(runnable, conversation);
        configured(&project, run, TURNS);
        project.check();
        let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
        assert_eq!(metrics(&project), metrics(&function));
    }
}

#[test]
fn a_worker_gets_a_token_and_the_number_of_the_turn_and_no_file() {
    let function = with_agent(REMEMBERS, conversation);
    function.check();
    let project = with_agent("", conversation);
    let serve = r#"
import sys
said = {}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "shutdown":
        break
    result = {"protocol": 1}
    if asked["method"] == "assess":
        params = asked["params"]
        assert set(params) == {"call", "input", "conversation_id", "turn"}, params
        log(params["conversation_id"], params["turn"])
        said[params["conversation_id"]] = said.get(params["conversation_id"], "") + json.dumps(params["input"])
        result = {"decision": both(said[params["conversation_id"]])}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;
    project.write("app.py", &format!("{RULES}\n{serve}"));
    configured(&project, "{worker: python3 app.py}", TURNS);
    project.check();
    let metrics = |project: &Project| project.json("kelvin/report.json")["metrics"].clone();
    assert_eq!(metrics(&project), metrics(&function));
    in_order(&project);
    // Nothing that is kept tells a token, and the input of a call has all its turns.
    let tokens: Vec<String> = conversations(&project).into_keys().collect();
    for (name, bytes) in project.files("kelvin") {
        let text = String::from_utf8_lossy(&bytes);
        let found = tokens.iter().find(|token| text.contains(&***token));
        assert_eq!(found, None, "{name}");
    }
    let input = project.json("kelvin/c0/baseline/input.json");
    assert_eq!(input["turns"], conversation(0)["turns"]);
}

/// An agent that keeps its conversation, and says this in the turns before the last.
fn talks(words: &str) -> String {
    format!(
        r#"
import random, uuid
said = {{}}
def decide(input, conversation_id, turn):
    said[conversation_id] = said.get(conversation_id, "") + json.dumps(input)
    return both(said[conversation_id]) if turn == 3 else {words}
"#
    )
}

#[test]
fn other_words_in_a_turn_before_the_last_are_told() {
    const EXACT: &str = "gate: {deterministic: true}";
    const REPEATED: &str = "repeats: 3";
    let told = |more: &str, base: &str, head: &str| {
        let project = with_agent(&talks(base), conversation);
        configured(&project, FUNCTION, &format!("{TURNS}\n{more}"));
        let few = project.read("kelvin.yaml").replace(
            "pad_length: 1, pad_content: 1, swap: 4",
            "pad_length: 0, pad_content: 0, swap: 0",
        );
        project.write("kelvin.yaml", &few);
        project.check();
        project.write("base.json", &project.read("kelvin/report.json"));
        project.write("app.py", &format!("{RULES}\n{}", talks(head)));
        project.kelvin(&["gate", "--baseline", "base.json"]);
        let judgement = project.json("kelvin/gate.json");
        let asides = &judgement["answers"]["evidence"]["asides"];
        let page = project.read("kelvin/gate.md");
        let told: Vec<String> = asides
            .as_array()
            .into_iter()
            .flatten()
            .map(|aside| format!("{} {}", aside["field"], aside["items"]))
            .collect();
        (told.join(", "), page)
    };
    let waits = "f'I wait for turn {turn + 1}'";
    let refuses = "'I wait for nobody' if turn == 1 else f'I wait for turn {turn + 1}'";
    for more in [EXACT, REPEATED] {
        let (first, page) = told(more, waits, refuses);
        assert_eq!(first, "\"turn 1\" 8", "{more}: {page}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&page, &["### ", "**`", "Look "]), @"
            ### ✅ Kelvin: pass, 8 of 8 cases get the same answer with another `turn 1`
            **`c0` gets the same answer, but its `turn 1` is *I wait for nobody* instead of *I wait for turn 2* (and 7 more cases)**
            Look whether `turn 1` is still right, first that of case `c0`: the gate compares the answers, and not what stands beside them.
            ");
        }
        for same in [waits, "str(uuid.uuid4())"] {
            assert_eq!(told(more, same, same).0, "", "{more}: {same}");
        }
    }
    let varying = "random.choice(['I wait', 'Go on, please', 'What else is there?'])";
    assert_eq!(told(REPEATED, varying, varying).0, "");
}
