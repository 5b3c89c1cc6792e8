//! Scenarios that bring invariants and a template of their own.

use super::gate::{gate, measured};
use super::*;
use crate::repository::tells;
use kelvin_fixtures::text::{lines_with, redacted};

/// Labels a ticket by its number: odd ones are features. The tickets that `wrong` names get the other label.
fn labeller(wrong: &str) -> String {
    format!(
        r#"
read -r ticket < "$1"; n=${{ticket##* }}
odd=$((n % 2))
case $n in {wrong}) odd=$((1 - odd));; esac
if [ $odd = 1 ]; then label=feature; else label=bug; fi
printf '{{"label": "%s"}}' $label
"#
    )
}

const SETTINGS: &str = "\
run: sh {root}/pipeline.sh {input}
jobs: 4
scenarios: tickets.jsonl
invariants:
  answers:
    description: There is a label
    check: {type: json_path, path: $.label, exists: true}
";

/// Sixteen tickets, each with an invariant of its own that says what its label is. `edited` makes another line of one.
fn tickets(edited: impl Fn(usize, &mut Value)) -> String {
    let line = |at: usize| {
        let label = if at % 2 == 1 { "feature" } else { "bug" };
        let mut line = json!({
            "id": format!("t{at:02}"),
            "prompt": format!("Ticket {at}"),
            "invariants": {"right": {
                "description": "A person gave it this label",
                "check": {"type": "json_path", "path": "$.label", "equals": label},
            }},
        });
        edited(at, &mut line);
        line.to_string() + "\n"
    };
    (0..16).map(line).collect()
}

fn project(script: &str, scenarios: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    project.write("tickets.jsonl", scenarios);
    project.write("kelvin.yaml", SETTINGS);
    project
}

#[test]
fn a_scenario_is_looked_at_by_its_own_invariants_beside_those_of_all() {
    let scenarios = tickets(|at, line| {
        if at > 1 {
            line["invariants"] = json!({});
        }
    });
    let project = project(&labeller("1"), &scenarios);
    project.kelvin(&["lint"]).expect(0);
    project.kelvin(&["check"]).expect(0);
    let report = project.report();
    let checks = |scenario: &str| -> Vec<(String, String)> {
        let checks = ran(&report, scenario, 0)["checks"].clone();
        let checks = checks.as_object().expect("checks").clone();
        let each = checks.into_iter();
        each.map(|(name, check)| {
            (
                name,
                check["outcome"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
    };
    let told = |name: &str, outcome: &str| (name.to_owned(), outcome.to_owned());
    assert_eq!(
        checks("t00"),
        [told("answers", "passed"), told("right", "passed")]
    );
    assert_eq!(
        checks("t01"),
        [told("answers", "passed"), told("right", "failed")]
    );
    assert_eq!(checks("t02"), [told("answers", "passed")]);
    // The figure is that of the two scenarios that bring it.
    assert_eq!(figure(&report, "right"), json!(0.5));
    assert_eq!(report["metrics"]["checks.right"]["n"], json!(2));
    assert_eq!(figure(&report, "answers"), json!(1.0));
    assert_eq!(ran(&report, "t01", 0)["composite"], json!(0.5));
    // Where the pipeline fails, nobody has looked.
    project.write("pipeline.sh", "exit 3");
    project.kelvin(&["check"]).expect(2);
    let run = ran(&project.report(), "t01", 0);
    assert_eq!(run["checks"]["right"]["outcome"], "skipped", "{run}");
    assert!(
        ran(&project.report(), "t02", 0)["checks"]
            .get("right")
            .is_none()
    );
}

/// An edit of a scenario: what it does, the verdict, and how the line of each scenario is changed.
type Edit<'a> = (&'a str, &'a str, &'a dyn Fn(usize, &mut Value));

#[test]
fn an_own_invariant_that_fails_is_red_and_named_and_no_edit_of_it_makes_it_green() {
    let project = project(&labeller("none"), &tickets(|_, _| {}));
    let _remote = measured(&project);
    project.write("pipeline.sh", &labeller("2|5|8|11"));
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @r#"`checks.pass_rate` fell from 1.0000 to 0.7500 over 16 scenarios, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `t02`, `t05`, `t08`; in `t02`: fails `right` (A person gave it this label): the output has `"feature"` at `$.label`, expected `"bug"`"#);
    // The same worse agent, and a change of what it is judged by.
    let wrong = |at: usize| [2, 5, 8, 11].contains(&at);
    let edits: [Edit<'_>; 4] = [
        ("dropped where it fails", "unmeasured", &|at, line| {
            if wrong(at) {
                line.as_object_mut().expect("a line").remove("invariants");
            }
        }),
        ("content with any label", "regression", &|_, line| {
            line["invariants"]["right"]["check"] =
                json!({"type": "json_path", "path": "$.label", "exists": true});
        }),
        ("without weight", "regression", &|_, line| {
            line["invariants"]["right"]["weight"] = json!(0);
        }),
        ("edited in step", "regression", &|at, line| {
            let label = if (at % 2 == 1) == wrong(at) {
                "bug"
            } else {
                "feature"
            };
            line["invariants"]["right"]["check"]["equals"] = json!(label);
        }),
    ];
    for (what, word, edit) in edits {
        project.write("tickets.jsonl", &tickets(edit));
        commit(&project, what);
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(3), "{what}: {}\n{judgement}", said.stdout);
        assert_eq!(judgement["verdict"], word, "{what}");
        assert!(said.stdout.contains("`t02`"), "{what}: {}", said.stdout);
        let told = judgement["reasons"].to_string();
        assert!(tells(&judgement, "edits_measure"), "{what}: {told}");
    }
    // Where no scenario has it any more, its figure is gone.
    let none = tickets(|_, line| {
        line.as_object_mut().expect("a line").remove("invariants");
    });
    project.write("tickets.jsonl", &none);
    commit(&project, "dropped everywhere");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}\n{judgement}", said.stdout);
    assert_eq!(judgement["verdict"], "unmeasured");
    let reasons = judgement["reasons"].as_array().expect("a list");
    assert!(
        reasons
            .iter()
            .any(|reason| reason["metric"] == "checks.right"),
        "{judgement}"
    );
    // An agent that is right may be told more.
    project.write("pipeline.sh", &format!("# as before\n{}", labeller("none")));
    let more = tickets(|_, line| {
        line["invariants"]["short"] = json!({
            "description": "It says no more than the label",
            "check": {"type": "regex", "pattern": "^.{0,40}$"},
        });
    });
    project.write("tickets.jsonl", &more);
    commit(&project, "more");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}\n{judgement}", said.stdout);
}

#[test]
fn a_scenario_has_its_own_template_in_place_of_that_of_all() {
    let scenarios = [
        json!({"id": "a", "prompt": "a"}),
        json!({"id": "b", "prompt": "b", "template": "other"}),
    ];
    let scenarios: String = scenarios.iter().map(|line| format!("{line}\n")).collect();
    let project = project("printf '{\"label\": \"%s\"}' \"$(ls)\"", &scenarios);
    project.write(
        "kelvin.yaml",
        &format!("{SETTINGS}workspace: {{template: usual}}\n"),
    );
    project.write("usual/one.txt", "1");
    project.write("other/two.txt", "2");
    project.kelvin(&["check"]).expect(0);
    let said = |scenario: &str| ran(&project.report(), scenario, 0)["output"]["text"].clone();
    assert_eq!(said("a"), json!("{\"label\": \"one.txt\"}"));
    assert_eq!(said("b"), json!("{\"label\": \"two.txt\"}"));
    let _remote = measured(&project);
    // The agent no longer copes with what is there, and the change takes it away.
    project.write(
        "pipeline.sh",
        "test ! -e two.txt && printf '{\"label\": \"x\"}' || echo no",
    );
    project.write(
        "tickets.jsonl",
        &scenarios.replace(",\"template\":\"other\"", ""),
    );
    commit(&project, "another workspace");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}\n{judgement}", said.stdout);
}

#[test]
fn what_is_wrong_with_an_own_invariant_is_told_with_its_line() {
    let project = project(&labeller("none"), "");
    let right = json!({"description": "d", "check": {"type": "contains", "value": "x"}});
    let with = |key: &str, value: Value| {
        let mut other = right.clone();
        other[key] = value;
        other
    };
    let check = |check: Value| with("check", check);
    let mut refused = Vec::new();
    for (name, own) in [
        ("answers", right.clone()),
        ("composite", right.clone()),
        ("a b", right.clone()),
        ("x", with("description", json!(" "))),
        ("x", with("weight", json!(-1))),
        ("x", with("wieght", json!(1))),
        ("x", check(json!({"type": "containz", "value": "x"}))),
        ("x", check(json!({"type": "contains"}))),
        ("x", check(json!({"type": "regex", "pattern": "("}))),
        (
            "x",
            check(json!({"type": "contains", "value": "${NOT_SET_ANYWHERE}"})),
        ),
        (
            "x",
            check(json!({"type": "command_exit", "command": "true", "timeout_s": -1})),
        ),
        ("x", check(json!({"type": "custom", "script": "no.sh"}))),
        (
            "x",
            check(json!({"type": "sql", "service": "db", "query": "SELECT 1", "equals": 1})),
        ),
        ("x", json!("text")),
    ] {
        let line = json!({"id": "b", "invariants": {name: own}});
        project.write("tickets.jsonl", &format!("{{\"id\": \"a\"}}\n{line}\n"));
        for command in ["lint", "check"] {
            let said = project.kelvin(&[command]).expect(1);
            let told = format!("{}{}", said.stdout, said.stderr);
            let line = redacted(&lines_with(&told, &["tickets.jsonl:2"]));
            if refused.last() != Some(&line) {
                refused.push(line);
            }
        }
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    error: tickets.jsonl:2: the scenario `b`: `invariants.answers`: it has the name of an invariant of all scenarios, to which it is added: give it another name
    error: tickets.jsonl:2: the scenario `b`: `invariants.composite`: `checks.composite` is a figure of all checks, not the name of one (give the invariant another name)
    error: tickets.jsonl:2: the scenario `b`: `invariants.a b`: `a b` is no name of an invariant (a name has letters, digits, `_` and `-`, e.g. `a_b`: it is a part of `checks.NAME`)
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: `description` must not be empty
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: `weight` must be a number from 0 to [HASH], found `-1`
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: unknown key `wieght` (did you mean `weight`?)
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: `check.type` must be `command_exit`, `file_exists`, `file_absent`, `file_content`, `custom`, `contains`, `regex`, `equals`, `json_schema`, `json_path`, `levenshtein`, `numeric`, `latency`, `sql`, `llm_as_judge` or `http_mock_assertions`, found `containz` (did you mean `contains`?)
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: the check has nothing to compare with: it has no `value`, and the scenario has no `expected`
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: this is no regular expression: unclosed group
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: the variable `NOT_SET_ANYWHERE` is not set in the environment (set it, or write `$${NOT_SET_ANYWHERE}` where the text itself is meant)
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: `check.timeout_s` must be a number above 0 and at most 86400, found `-1`
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: the script `no.sh` is not there
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: no service is called `db`: declare it, e.g. `services: {db: {type: postgres, …}}`
    error: tickets.jsonl:2: the scenario `b`: `invariants.x`: the file must be a mapping, found the string `text`
    ");
    let mut other = right.clone();
    other["weight"] = json!(2);
    let lines = [right, other].map(|own| json!({"invariants": {"x": own}}));
    let lines: String = (0..2)
        .map(|at| {
            let mut line = lines[at].clone();
            line["id"] = json!(format!("s{at}"));
            format!("{line}\n")
        })
        .collect();
    project.write("tickets.jsonl", &lines);
    let said = project.kelvin(&["lint"]).expect(1);
    let told = format!("{}{}", said.stdout, said.stderr);
    insta::assert_snapshot!(told, @"
    error: tickets.jsonl:2: the scenario `s1`: `invariants.x`: another scenario has an invariant of this name with another description, weight, `gate` or judge, and both would be one figure: give one of them another name
      help: a scenario may bring its own `invariants`, written as those of the configuration, and its own `template`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint
    ");
    project.write(
        "tickets.jsonl",
        "{\"id\": \"a\", \"template\": \"nowhere\"}\n",
    );
    let said = project.kelvin(&["lint"]).expect(1);
    let told = format!("{}{}", said.stdout, said.stderr);
    insta::assert_snapshot!(told, @"
    error: tickets.jsonl:1: the scenario `a`: its `template`, `nowhere`, is no folder
      help: a scenario may bring its own `invariants`, written as those of the configuration, and its own `template`
    kelvin.yaml: cannot be run
    next, when that is fixed: kelvin lint
    ");
}
