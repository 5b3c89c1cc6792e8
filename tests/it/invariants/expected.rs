//! Labels of scenarios: an agent that answers in JSON, and what is expected of it in the file of the scenarios.

use super::gate::{gate, measured};
use super::*;
use kelvin_fixtures::text::lines_with;

/// Labels a ticket by its number: odd ones are features. The tickets that `WRONG` names get the other label.
fn labeller(wrong: &str) -> String {
    format!(
        r#"
read -r ticket < "$1"; n=${{ticket##* }}
odd=$((n % 2))
case $n in {wrong}) odd=$((1 - odd));; esac
if [ $odd = 1 ]; then label=feature; else label=bug; fi
printf '{{"label": "%s", "note": "the words of run %s"}}' $label "$KELVIN_REPEAT"
"#
    )
}

/// So many tickets, with the labels that a person gave them; other labels where `edited` says so.
fn tickets(edited: &[usize]) -> String {
    let line = |at: usize| {
        let is_feature = (at % 2 == 1) != edited.contains(&at);
        let label = if is_feature { "feature" } else { "bug" };
        json!({"id": format!("t{at:02}"), "prompt": format!("Ticket {at}"), "expected": label})
            .to_string()
    };
    (0..16).map(|at| line(at) + "\n").collect()
}

const LABEL: &str = "\
scenarios: tickets.jsonl
invariants:
  label:
    description: The ticket has the label that a person gave it
    check: {type: json_path, path: $.label}
";

/// A project whose agent labels tickets.
fn labelling(script: &str, more: &str) -> Project {
    let project = Project::new(script);
    fs::remove_dir_all(project.path("cases")).expect("removed");
    project.write("tickets.jsonl", &tickets(&[]));
    project.write(
        "kelvin.yaml",
        &format!("run: sh {{root}}/pipeline.sh {{input}}\njobs: 4\n{more}"),
    );
    project
}

#[test]
fn an_agent_that_labels_right_passes_and_its_report_has_what_was_asked_expected_and_answered() {
    let project = labelling(&labeller("none"), LABEL);
    let said = project.kelvin(&["check"]).expect(0);
    insta::assert_snapshot!(lines_with(&said.stdout, &["= "]), @"= All 16 scenarios pass");
    let report = project.report();
    assert_eq!(figure(&report, "label"), json!(1.0));
    let record = &report["probes"]["checks"]["items"]["t03"];
    assert_eq!(record["prompt"], "Ticket 3");
    assert_eq!(record["expected"], "feature");
    let output = &ran(&report, "t03", 0)["output"];
    assert_eq!(
        output["text"],
        "{\"label\": \"feature\", \"note\": \"the words of run 1\"}"
    );
    // Other words with the same label are the same answer.
    let _remote = measured(&project);
    project.write(
        "pipeline.sh",
        &labeller("none").replace("the words", "other words"),
    );
    commit(&project, "other words");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "pass", "{judgement}");
}

#[test]
fn four_wrong_labels_of_sixteen_are_red_and_the_first_reason_names_scenario_check_and_description()
{
    let project = labelling(&labeller("none"), LABEL);
    let _remote = measured(&project);
    project.write("pipeline.sh", &labeller("2|5|8|11"));
    commit(&project, "worse");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    let first = judgement["reasons"][0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(first, @r#"`checks.composite` fell from 1.0000 to 0.7500 over 16 scenarios, by 0.2500 (the limit is 0.0500), and all repeats agreed; most of it in `t02`, `t05`, `t08`; in `t02`: fails `label` (The ticket has the label that a person gave it): the output has `"feature"` at `$.label`, expected `"bug"`"#);
    assert_eq!(figure(&project.report(), "label"), json!(0.75));
    // The pages of the run have the four texts of a scenario that went wrong.
    let check = project.kelvin(&["check"]).expect(0);
    let page = project.read("kelvin/report.html");
    for part in [
        "Ticket 5",
        "the words of run 1",
        "The ticket has the label that a person gave it",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let told = &check.stdout;
    insta::assert_snapshot!(lines_with(told, &["`t02`", "`label`"]), @"
    `label` (weight 1)    0.7500 (n=16); 95 % interval 0.46 to 0.94
    ! 4 of 16 scenarios did not pass: `t02`, `t05`, `t08` and 1 more; in the first
      one `label` (The ticket has the label that a person gave it) failed: the
    ");
}

/// The agent is as it was, so neither further runs nor further scenarios tell anything of the edit.
#[test]
fn an_edited_label_is_advised_to_be_looked_at_and_no_more_runs() {
    let project = labelling(&labeller("none"), LABEL);
    let _remote = measured(&project);
    project.write("tickets.jsonl", &tickets(&[4]));
    commit(&project, "another label");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let comment = project.read("kelvin/gate.md");
    assert!(!comment.contains("would decide"), "{comment}");
    insta::assert_snapshot!(lines_with(&comment, &["more runs"]), @"Look whether the edit of what is measured is right: more runs would not decide it.");
    let all = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        all.contains("(`tickets.jsonl`), the verdict is pass "),
        "{all}"
    );
}

#[test]
fn labels_that_are_edited_in_step_with_the_agent_hide_nothing() {
    let project = labelling(&labeller("none"), LABEL);
    let _remote = measured(&project);
    project.write("pipeline.sh", &labeller("2|5|8|11"));
    project.write("tickets.jsonl", &tickets(&[2, 5, 8, 11]));
    commit(&project, "both");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}\n{judgement}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
    assert!(said.stdout.contains("`t02`"), "{}", said.stdout);
    // By its own labels the agent is right, and only those of the base tell.
    assert_eq!(figure(&project.report(), "label"), json!(1.0));
    // A check that is content with any label hides as little.
    project.write("tickets.jsonl", &tickets(&[]));
    let settings = project.read("kelvin.yaml");
    project.write(
        "kelvin.yaml",
        &settings.replace("path: $.label", "path: $.label, exists: true"),
    );
    commit(&project, "any label");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}\n{judgement}", said.stdout);
    assert_eq!(judgement["verdict"], "regression");
}

#[test]
fn a_check_without_a_value_is_refused_by_lint_with_its_place_and_a_cure() {
    let project = labelling(&labeller("none"), LABEL);
    project.kelvin(&["lint"]).expect(0);
    let without: String = (0..3)
        .map(|at| format!("{{\"id\": \"t{at}\"}}\n"))
        .collect();
    project.write("tickets.jsonl", &without);
    for command in ["lint", "check"] {
        let said = project.kelvin(&[command]).expect(1);
        let told = format!("{}{}", said.stdout, said.stderr);
        for part in ["`tickets.jsonl`", "kelvin.yaml:7", "`exists: true`"] {
            assert!(told.contains(part), "{command}: {part}\n{told}");
        }
        insta::allow_duplicates! {
            insta::assert_snapshot!(lines_with(&told, &["`label`"]), @"error: the check of `label` has nothing to compare with: it has no `equals`, and no scenario of `tickets.jsonl` has an `expected`");
        }
    }
    // One that has no label among others is told, and not counted as right.
    project.write(
        "tickets.jsonl",
        &(tickets(&[]) + "{\"id\": \"t99\", \"prompt\": \"Ticket 99\"}\n"),
    );
    let said = project.kelvin(&["lint"]).expect(0);
    let told = format!("{}{}", said.stdout, said.stderr);
    insta::assert_snapshot!(told, @"
    note: 1 of 17 scenarios has no `expected`, so `label` does not apply there: t99
    kelvin.yaml: can be run, but look at the note above; read: 17 scenarios
    next: kelvin check
    ");
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "t99", 0);
    assert_eq!(run["checks"]["label"]["outcome"], "skipped", "{run}");
}

/// Books the order of the environment in a database, as an agent would.
const BOOKS: &str = r#"
python3 - <<'PY'
import os, sqlite3
db = sqlite3.connect('shop.db')
db.execute('INSERT INTO orders VALUES (?, ?)', (os.environ['KELVIN_PARAM_USER'], 1))
db.commit()
PY
test -z "$KELVIN_EXPECTED$KELVIN_PROMPT" && echo booked
"#;

#[test]
fn whatever_stands_in_a_field_of_a_scenario_is_a_value_in_sql_and_in_a_shell() {
    let project = labelling(
        BOOKS,
        "\
scenarios: tickets.jsonl
services:
  shop: {type: sqlite, path: shop.db, init: seed.sql}
invariants:
  seeded:
    description: The user was there before
    check: {type: sql, service: shop, query: 'SELECT count(*) FROM users WHERE name = ${KELVIN_PARAM_USER}', equals: 1}
  booked:
    description: One order is booked for the user
    check: {type: sql, service: shop, query: 'SELECT count(*) FROM orders WHERE user = ${KELVIN_PARAM_USER}'}
  shell:
    description: The shell sees the user and what is expected
    check: {type: command_exit, command: 'test \"${KELVIN_PARAM_USER}\" != \"\" && test \"$KELVIN_EXPECTED\" = 1 && echo ${KELVIN_PARAM_USER}'}
  not_told:
    description: The agent was not told what is expected
    check: {type: contains, value: booked}
",
    );
    project.write(
        "seed.sql",
        "CREATE TABLE users (name TEXT); CREATE TABLE orders (user TEXT, n INTEGER);\n\
         INSERT INTO users VALUES (${KELVIN_PARAM_USER}), ('somebody');\n",
    );
    let pwned = project.path("pwned");
    let pwned = pwned.display();
    let hostile = [
        "ann".to_owned(),
        "x'); DROP TABLE orders; --".to_owned(),
        "' OR '1'='1".to_owned(),
        format!("$(touch {pwned}) `touch {pwned}`; touch {pwned}"),
        format!("\"; touch {pwned}; \"'; touch {pwned}; '"),
    ];
    let lines = hostile.iter().enumerate().map(|(at, user)| {
        let scenario = json!({"id": format!("s{at}"), "prompt": "Book it", "params": {"user": user}, "expected": 1});
        scenario.to_string() + "\n"
    });
    project.write("tickets.jsonl", &lines.collect::<String>());
    let said = project.kelvin(&["check"]).expect(0);
    let report = project.report();
    for at in 0..hostile.len() {
        let run = ran(&report, &format!("s{at}"), 0);
        assert_eq!(run["outcome"], "passed", "{run:#}\n{}", said.stdout);
    }
    assert!(!project.path("pwned").exists(), "a value became a command");
}

#[test]
fn what_an_agent_writes_is_harmless_on_every_page_and_a_large_answer_makes_no_large_report() {
    let script = r#"
printf '{"label": "bug", "note": "<script>alert(1)</script> \033[31mred \342\200\256 `'
head -c 3000000 /dev/zero | tr '\0' x
printf '"}'
"#;
    let project = labelling(script, LABEL);
    let said = project.kelvin(&["check"]).expect(0);
    let pages = [
        &said.stdout,
        &project.read("kelvin/report.html"),
        &project.read("kelvin/report.md"),
    ];
    for page in pages {
        for part in ["<script>alert", "\u{1b}[31m", "\u{202e}"] {
            assert!(!page.contains(part), "{part:?}");
        }
        assert!(page.len() < 400_000, "{}", page.len());
    }
    assert!(project.read("kelvin/report.json").len() < 400_000);
    let run = ran(&project.report(), "t01", 0);
    let output = &run["output"];
    let text = output["text"].as_str().expect("a text");
    assert_eq!(text.chars().count(), 2000);
    assert!(output["characters"].as_u64() > Some(3_000_000), "{output}");
}

#[test]
fn a_scenario_begins_with_the_template_that_its_parameter_names_and_with_no_other() {
    let more = "\
scenarios: tickets.jsonl
workspace: {template: 'templates/${KELVIN_PARAM_KIND}'}
invariants:
  own: {description: It has the files of its kind, check: {type: file_content, path: kind.txt, contains: '${KELVIN_PARAM_KIND}'}}
";
    let project = labelling("echo done", more);
    for kind in ["small", "large"] {
        project.write(&format!("templates/{kind}/kind.txt"), kind);
    }
    project.write("secret/kind.txt", "../secret");
    let scenario = |kind: &str| json!({"id": kind, "params": {"kind": kind}}).to_string() + "\n";
    project.write("tickets.jsonl", &(scenario("small") + &scenario("large")));
    project.kelvin(&["check"]).expect(0);
    for kind in ["small", "large"] {
        assert_eq!(ran(&project.report(), kind, 0)["outcome"], "passed");
    }
    let mut texts = Vec::new();
    for kind in ["../secret", "huge"] {
        project.write("tickets.jsonl", &(scenario("small") + &scenario(kind)));
        let said = project.kelvin(&["check"]).expect(1);
        texts.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    error: `workspace.template` does not suit the scenario `../secret`: the template of the workspace would be `templates/../secret`, which leads out of `templates`
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own

    error: `workspace.template` does not suit the scenario `huge`: the template of the workspace, `templates/huge`, is no folder
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own
    ");
}
