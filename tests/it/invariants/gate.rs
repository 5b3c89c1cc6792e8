//! Invariants at the gate, in real repositories.

use super::*;
use crate::answers::leaves_nothing_to_do;
use crate::repository::tells;

/// A repository on a branch whose base has been measured and saved.
fn repository(script: &str, scenarios: usize, more: &str) -> (tempfile::TempDir, Project) {
    let project = project(script, scenarios, more);
    (measured(&project), project)
}

/// Makes a repository of a project, measures and saves its base, and begins a change. Returns the remote.
pub(super) fn measured(project: &Project) -> tempfile::TempDir {
    let (remote, url) = bare();
    project.write(".gitignore", "/kelvin/\n/calls/\n");
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["remote", "add", "origin", &url]);
    commit(project, "base");
    git(root, &["push", "--quiet", "origin", "main"]);
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["baseline", "save"]).expect(0);
    git(root, &["checkout", "--quiet", "-b", "change"]);
    remote
}

pub(super) fn gate(project: &Project) -> (Said, Value) {
    let said = project.kelvin(&["gate"]);
    let judgement = verdict(project, &said);
    (said, judgement)
}

#[test]
fn an_invariant_that_breaks_in_two_of_forty_scenarios_is_found_and_the_first_line_says_which_where_and_why()
 {
    let more = format!("{INVARIANTS}scoring: {{replicas: 3}}\n");
    let (_remote, project) = repository(AGENT, 40, &more);
    project.write(
        "pipeline.sh",
        &format!("{AGENT}\ncase $KELVIN_SCENARIO in s07|s21) rm made.txt;; esac\n"),
    );
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"scenarios `s07`, `s21` broke: their runs are worse than on the base by half or more in `checks.tests_pass`; in `s07`: fails `tests_pass` (All tests pass): ended with exit code 3, expected 0; stderr: nothing was made");
    // The first line names the scenario and the check, the reason below it what was found.
    let page = project.read("kelvin/gate.md");
    let mut lines = page.lines().skip_while(|line| !line.starts_with("**"));
    let line = lines.next().expect("a line").replace('\\', "");
    assert!(
        line.contains("s07") && line.contains("tests_pass"),
        "{line}"
    );
    let reason = lines.find(|line| !line.is_empty()).expect("a reason");
    insta::assert_snapshot!(reason, @"Scenarios `s07`, `s21` broke: their runs are worse than on the base by half or more in `checks.tests_pass`; in `s07`: fails `tests_pass` (All tests pass): ended with exit code 3, expected 0; stderr: nothing was made");
}

#[test]
fn a_check_that_is_demanded_and_fails_in_every_run_fails_the_gate_against_one_run_of_the_base() {
    let more = format!("{INVARIANTS}gate: {{deterministic: true}}\n");
    let (_remote, project) = repository(AGENT, 40, &more);
    project.write(
        "pipeline.sh",
        &format!("{AGENT}\ncase $KELVIN_SCENARIO in s07|s21) rm made.txt;; esac\n"),
    );
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"scenarios `s07`, `s21` broke: their runs are worse than on the base by half or more in `checks.tests_pass`; in `s07`: fails `tests_pass` (All tests pass): ended with exit code 3, expected 0; stderr: nothing was made");
    // Where the pipeline is not declared deterministic, the scenarios are run again until it is sure.
    configure(&project, INVARIANTS);
    commit(&project, "another gate");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let reasons = judgement["reasons"].to_string();
    for part in ["broke", "s07", "s21", "nothing was made"] {
        assert!(reasons.contains(part), "{part}: {reasons}");
    }
}

#[test]
fn four_scenarios_that_ran_once_are_enough_to_find_a_broken_one_and_to_pass_what_is_the_same() {
    let (_remote, project) = repository(AGENT, 4, INVARIANTS);
    let change = |project: &Project, script: &str| {
        project.write("pipeline.sh", script);
        commit(project, script.lines().last().unwrap_or_default());
        gate(project)
    };
    let (said, judgement) = change(&project, &format!("{AGENT}\n# the same\n"));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "pass", "{judgement}");
    assert_eq!(judgement["reruns"], 0);

    let broken = "case $KELVIN_SCENARIO in s02) rm made.txt;; esac";
    let (said, judgement) = change(&project, &format!("{AGENT}\n{broken}\n"));
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"`checks.composite` fell from 1.0000 to 0.7500 over 4 scenarios, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `s02`; in `s02`: fails `tests_pass` (All tests pass): ended with exit code 3, expected 0; stderr: nothing was made");

    // Bad luck in one run is no regression: the scenario is run again, and holds.
    let luck = "case $KELVIN_SCENARIO$KELVIN_REPEAT in s021) rm made.txt;; esac";
    let (said, judgement) = change(&project, &format!("{AGENT}\n{luck}\n"));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_ne!(judgement["verdict"], "regression", "{judgement}");
    assert!(judgement["reruns"].as_u64() > Some(0), "{judgement}");
}

#[test]
fn a_check_that_became_an_error_everywhere_does_not_pass_the_gate() {
    let more =
        "invariants:\n  made: {description: made, check: {type: custom, script: check.sh}}\n";
    let project = project(AGENT, 12, more);
    script(&project, "check.sh", "echo '{\"passed\": true}'");
    let remote = measured(&project);
    script(&project, "check.sh", "exit 1");
    commit(&project, "a broken check");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let told = judgement["reasons"].to_string();
    // The script says what is measured, and the change edits it.
    assert!(
        tells(&judgement, "edits_measure") && told.contains("`check.sh`"),
        "{told}"
    );
    assert_eq!(
        judgement["metrics"]["checks.composite"]["verdict"],
        "unmeasured"
    );
    drop(remote);
}

#[test]
fn a_flaky_pipeline_that_nobody_changed_passes_the_gate() {
    // In a third of its runs it does not say that it is done; by chance that differs from run to run.
    let flaky = r#"
echo x > made.txt
read -r salt < "$KELVIN_ROOT/salt"
n=$(printf '%s' "$KELVIN_SCENARIO-$KELVIN_REPEAT-$salt" | cksum)
[ $((${n%% *} % 3)) -eq 0 ] || echo done: yes
"#;
    let more = format!("{INVARIANTS}scoring: {{replicas: 3, pass_threshold: 0.7}}\n");
    let project = project(flaky, 40, &more);
    project.write("salt", "0");
    let remote = measured(&project);
    let share = figure(&project.report(), "says_done")
        .as_f64()
        .expect("measured");
    assert!((0.5..0.8).contains(&share), "{share}");
    for salt in ["1", "2"] {
        git(
            project.root(),
            &["checkout", "--quiet", "-B", "change", "main"],
        );
        project.write("salt", salt);
        commit(&project, "the same by other luck");
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(0), "salt {salt}: {}", judgement["reasons"]);
    }
    drop(remote);
}

#[test]
fn in_four_scenarios_a_broken_invariant_is_found_too_and_a_failure_is_told_once() {
    let more = format!("{INVARIANTS}scoring: {{replicas: 3}}\n");
    let (_remote, project) = repository(AGENT, 4, &more);
    let breaks = |project: &Project, what: &str| {
        let script = format!("{AGENT}\ncase $KELVIN_SCENARIO in s02) {what};; esac\n");
        project.write("pipeline.sh", &script);
        commit(project, what);
        gate(project)
    };
    let (said, judgement) = breaks(&project, "rm made.txt");
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @"`checks.composite` fell from 1.0000 to 0.7500 over 4 scenarios, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `s02`; in `s02`: fails `tests_pass` (All tests pass): ended with exit code 3, expected 0; stderr: nothing was made");

    let (said, judgement) = breaks(&project, "exit 7");
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let of_failures = |reason: &&Value| reason["metric"] == "checks.failure_rate";
    let reasons = judgement["reasons"].as_array().expect("a list");
    let told: Vec<&Value> = reasons.iter().filter(of_failures).collect();
    assert_eq!(told.len(), 1, "{reasons:#?}");
    assert!(
        told[0]["text"]
            .as_str()
            .is_some_and(|text| text.contains(" 7"))
    );
}

#[test]
fn parameters_that_are_edited_together_with_the_agent_hide_no_loss() {
    let agent = |is_broken: bool| {
        let word = if is_broken { "no" } else { "label" };
        format!("[ \"$KELVIN_PARAM_PLACE\" = north ] && echo {word} || echo label\n")
    };
    let tasks = |of_two: &str| -> String {
        let task = |at: usize| {
            let place = if at < 2 { of_two } else { "south" };
            format!(
                "{{\"id\": \"s{at}\", \"prompt\": \"task {at}\", \"params\": {{\"place\": \"{place}\"}}}}\n"
            )
        };
        (0..12).map(task).collect()
    };
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        "run: sh {root}/agent.sh {input}\nscenarios: tasks.jsonl\ngate: {deterministic: true}\ninvariants:\n  label:\n    \
         description: It answers with a label\n    check: {type: contains, value: label}\n",
    );
    project.write(".gitignore", "/kelvin/\n");
    project.write("agent.sh", &agent(false));
    project.write("tasks.jsonl", &tasks("north"));
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project.check();
    project.kelvin(&["baseline", "save", "--local"]).expect(0);
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.write("tasks.jsonl", &tasks("east"));
    project.write("agent.sh", &agent(true));
    commit(&project, "change");
    let said = project.kelvin(&["gate", "--base", "main"]);
    let judgement = verdict(&project, &said);
    assert_eq!(
        judgement["verdict"],
        json!("inconclusive"),
        "{}",
        said.stdout
    );
    let page = project.read("kelvin/gate.md");
    assert!(
        page.contains("together with the pipeline") && page.contains("`s0`"),
        "{page}"
    );
}

#[test]
fn an_agent_that_says_something_else_though_every_check_holds_leaves_something_to_do() {
    let more = format!("{INVARIANTS}scoring: {{replicas: 3}}\n");
    let (_remote, project) = repository(AGENT, 6, &more);
    project.write(
        "pipeline.sh",
        &AGENT.replace("room ${room%.}", "go away, ${room%.}"),
    );
    commit(&project, "other words");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    let page = project.read("kelvin/gate.md");
    insta::assert_snapshot!(lines_with(&page, &["### ", "**", "Look "]), @"
    ### ✅ Kelvin: pass, 6 of 6 scenarios end as before with other words
    **`s00` ends as before, but says *done: go away, 0* instead of *done: room 0* (and 5 more scenarios)**
    Look whether what is said is still right, first in scenario `s00`: the gate compares which checks hold, and these are the same with either words.
    ");
    // Who says the same does the same.
    project.write("pipeline.sh", &format!("{AGENT}# a comment\n"));
    commit(&project, "a comment");
    let (_, judgement) = gate(&project);
    assert_eq!(judgement["answers"]["checks"].get("asides"), None);
}

/// An agent that calls a bank and logs its tools before it says that it is done.
fn payer(pays: &str) -> String {
    format!(
        r#"
import json, os, random, urllib.request, uuid
scenario = os.environ["KELVIN_SCENARIO"]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
def call(path):
    url = os.environ["KELVIN_SERVICE_BANK_URL"] + path
    opener.open(urllib.request.Request(url, str(uuid.uuid4()).encode(), method="POST")).read()
def tool(name):
    event = {{"type": "tool", "name": name, "id": str(uuid.uuid4())}}
    open(os.environ["KELVIN_AUDIT_LOG"], "a").write(json.dumps(event) + "\n")
say = "done"
call(f"/orders/{{uuid.uuid4()}}/read")
{pays}
print(say)
"#
    )
}

/// What is told first of the asides of a change from one agent to another: the field, how many items, and the page.
fn aside_of(more: &str, base: &str, head: &str) -> (Value, Value, String) {
    let project = Project::new("");
    let task = |at: usize| format!("{{\"id\": \"s{at}\", \"prompt\": \"task {at}\"}}\n");
    project.write("tasks.jsonl", &(0..6).map(task).collect::<String>());
    project.write(
        "kelvin.yaml",
        &format!(
            "run: python3 -S {{root}}/agent.py\nscenarios: tasks.jsonl\njobs: 2\nservices:\n  bank: {{type: http_mock, \
             record: true, default_response: {{status: 200}}}}\ninvariants:\n  done: {{description: It says so, check: \
             {{type: contains, value: done}}}}\n{more}"
        ),
    );
    project.write("agent.py", &payer(base));
    project.check();
    project.write("base.json", &project.read("kelvin/report.json"));
    project.write("agent.py", &payer(head));
    let said = project.kelvin(&["gate", "--baseline", "base.json"]);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let asides = &project.json("kelvin/gate.json")["answers"]["checks"]["asides"];
    let page = project.read("kelvin/gate.md");
    assert_eq!(leaves_nothing_to_do(&page), asides.is_null(), "{page}");
    (asides[0]["field"].clone(), asides[0]["items"].clone(), page)
}

#[test]
fn an_agent_that_pays_twice_though_every_check_holds_leaves_something_to_do() {
    const ONCE: &str = "call('/pay')";
    const TWICE: &str =
        "call('/pay')\nif scenario == 's2': call('/pay'); say = 'done, and it is paid'";
    for more in ["repeats: 3\n", "gate: {deterministic: true}\n"] {
        let (field, items, page) = aside_of(more, ONCE, TWICE);
        assert_eq!((field, items), (json!("calls"), json!(1)), "{page}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&page, &["### ", "**", "Look "]), @"
            ### ✅ Kelvin: pass, 1 of 6 scenarios ends as before with other calls
            **`s2` ends as before, but calls *…bank POST /pay twice* instead of *…bank POST /pay***
            Look whether the calls are still right, first in scenario `s2`: the gate compares which checks hold, and these are the same with either calls.
            ");
        }
        // What is drawn anew in every call is no other call.
        let (field, _, page) = aside_of(more, ONCE, ONCE);
        assert_eq!(field, Value::Null, "{page}");
    }
    // One run of each side shows nothing, and neither do calls that vary on the base.
    let (_, items, page) = aside_of("", ONCE, "call('/pay')\nif scenario == 's2': call('/pay')");
    assert_eq!(items, Value::Null, "{page}");
    let varying = "for _ in range(random.choice([1, 2])): call('/pay')";
    let (_, items, page) = aside_of("repeats: 3\n", varying, varying);
    assert_eq!(items, Value::Null, "{page}");
    // More requests than are stored are other calls as well.
    let endless = "call('/pay')\nif scenario == 's2':\n  pay = os.environ['KELVIN_SERVICE_BANK_URL'] + '/pay'\n  \
                   for _ in range(40): opener.open(pay, b'x' * 2**20).read()";
    let (field, items, page) = aside_of("gate: {deterministic: true}\n", ONCE, endless);
    assert_eq!((field, items), (json!("calls"), json!(1)), "{page}");
    assert!(page.contains("bank further requests"), "{page}");
    // A tool that is no server is known by what the agent logs.
    let (field, items, page) = aside_of(
        "repeats: 3\n",
        "tool('pay')",
        "tool('pay')\nif scenario == 's2': tool('pay')",
    );
    assert_eq!((field, items), (json!("events"), json!(1)), "{page}");
    insta::assert_snapshot!(lines_with(&page, &["**`"]), @"**`s2` ends as before, but logs *tool pay twice* instead of *tool pay***");
}
