//! Changes that edit what a check reads or runs: they are judged by what the base has there as well.

use super::gate::{gate, measured};
use super::*;
use crate::repository::tells;
use kelvin_fixtures::text::redacted;

/// Does everything that is looked at.
const GOOD: &str = "echo good > a.txt; echo good > b.txt; echo good > c.txt; echo done";

const SETTINGS: &str = "\
run: sh {root}/agent.sh
scenarios: scenarios.jsonl
jobs: 4
workspace: {template: tpl}
invariants:
  in_template: {description: a, check: {type: command_exit, command: 'sh test.sh'}}
  in_root: {description: b, check: {type: command_exit, command: 'sh $KELVIN_ROOT/checks/verify.sh'}}
  of_a_script: {description: c, check: {type: custom, script: check.sh, runs_in: workspace}}
  as_expected: {description: d, check: {type: equals}}
";

fn scenarios(expected: &str) -> String {
    let line = |at: usize| {
        let line =
            json!({"id": format!("s{at}"), "prompt": format!("Room {at}."), "expected": expected});
        format!("{line}\n")
    };
    (0..4).map(line).collect()
}

/// A project whose checks lie in every place that a check can lie in, with its base measured.
fn checked() -> (tempfile::TempDir, Project) {
    let project = project("", 0, "");
    project.write("kelvin.yaml", SETTINGS);
    project.write("agent.sh", GOOD);
    project.write("scenarios.jsonl", &scenarios("done"));
    project.write("tpl/test.sh", "grep -q good a.txt\n");
    project.write(
        "checks/verify.sh",
        ". \"$(dirname \"$0\")/lib.sh\"\nlook b.txt\n",
    );
    script(
        &project,
        "check.sh",
        "grep -q good c.txt && echo '{\"passed\": true}' || echo '{\"passed\": false}'",
    );
    // Git does not keep what was installed, and the checks of the base need it as well.
    project.write(
        "checks/lib.sh",
        "look() { sh \"$KELVIN_ROOT\"/calls/seek.sh \"$1\"; }\n",
    );
    project.write("calls/seek.sh", "grep -q good \"$1\"\n");
    (measured(&project), project)
}

fn from_main(project: &Project, name: &str) {
    git(
        project.root(),
        &["checkout", "--quiet", "--force", "-B", name, "main"],
    );
}

fn reasons(judgement: &Value) -> &Vec<Value> {
    judgement["reasons"].as_array().expect("a list")
}

#[test]
fn a_broken_agent_whose_check_is_silenced_in_the_same_change_fails_by_the_check_of_the_base() {
    let (_remote, project) = checked();
    let silent = "#!/bin/sh\necho '{\"passed\": true}'\n";
    let expects_no = scenarios("no");
    let tricks: [(&str, &str, &str, &str); 5] = [
        ("a.txt", "tpl/test.sh", "true\n", "in_template"),
        ("b.txt", "checks/verify.sh", "true\n", "in_root"),
        ("b.txt", "checks/lib.sh", "look() { true; }\n", "in_root"),
        ("c.txt", "check.sh", silent, "of_a_script"),
        ("echo done", "scenarios.jsonl", &expects_no, "as_expected"),
    ];
    for (broken, file, text, check) in tricks {
        from_main(&project, "change");
        let agent = match broken {
            "echo done" => GOOD.replace("echo done", "echo no"),
            broken => GOOD.replace(&format!("good > {broken}"), &format!("bad > {broken}")),
        };
        project.write("agent.sh", &agent);
        project.write(file, text);
        commit(&project, file);
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(3), "{file}: {}", judgement["reasons"]);
        assert_eq!(judgement["verdict"], "regression", "{file}: {judgement}");
        let first = &reasons(&judgement)[0];
        assert_eq!(first["code"], "measured_as_base", "{file}: {first}");
        let told = first["text"].as_str().expect("a text");
        for part in [file, check] {
            assert!(told.contains(part), "{file}: {part}: {told}");
        }
    }
}

/// The folder is new, and the agent lies beside it: nothing but the import of the check says that it is of the check.
#[test]
fn a_folder_that_takes_the_place_of_a_module_is_an_edit_of_the_check_that_imports_it() {
    let project = project("", 0, "");
    project.write("kelvin.yaml", "\
run: python3 {root}/scripts/agent.py
scenarios: scenarios.jsonl
jobs: 4
invariants:
  is_written: {description: a, check: {type: command_exit, command: 'python3 $KELVIN_ROOT/scripts/verify.py'}}
");
    let agent = "open('a.txt', 'w').write('good')\nprint('done')\n";
    project.write("scripts/agent.py", agent);
    project.write("scenarios.jsonl", &scenarios("done"));
    project.write(
        "scripts/verify.py",
        "import helper\nimport sys\nsys.exit(helper.look('a.txt'))\n",
    );
    project.write(
        "scripts/helper.py",
        "def look(name):\n    return 'good' not in open(name).read()\n",
    );
    let _remote = measured(&project);
    project.write("scripts/agent.py", &agent.replace("good", "bad"));
    project.write(
        "scripts/helper/__init__.py",
        "def look(name):\n    return 0\n",
    );
    commit(&project, "a package");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let first = &reasons(&judgement)[0];
    assert_eq!(first["code"], "measured_as_base", "{first}");
    let told = first["text"].as_str().expect("a text");
    assert!(told.contains("helper/__init__.py"), "{told}");
}

#[test]
fn a_check_that_becomes_a_link_to_a_softer_one_is_judged_by_the_check_of_the_base() {
    let (_remote, project) = checked();
    let agent = GOOD.replace("good > b.txt", "bad > b.txt");
    // A file that becomes a link, and a folder that does.
    for (link, target) in [("checks/verify.sh", "softer.sh"), ("checks", "softer")] {
        from_main(&project, "change");
        project.write("agent.sh", &agent);
        if link == "checks" {
            git(project.root(), &["rm", "--quiet", "-r", "checks"]);
            project.write("softer/verify.sh", "true\n");
            project.write("softer/lib.sh", "true\n");
            std::fs::remove_dir_all(project.path("checks")).ok();
        } else {
            project.write("checks/softer.sh", "true\n");
            std::fs::remove_file(project.path(link)).expect("removed");
        }
        std::os::unix::fs::symlink(target, project.path(link)).expect("linked");
        commit(&project, link);
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(3), "{link}: {}", judgement["reasons"]);
        assert_eq!(judgement["verdict"], "regression", "{link}: {judgement}");
        let first = &reasons(&judgement)[0];
        assert_eq!(first["code"], "measured_as_base", "{link}: {first}");
    }
}

#[test]
fn scenarios_that_are_moved_are_no_edit_and_take_no_expectation_along() {
    let (_remote, project) = checked();
    let moved = |name: &str, agent: &str, scenarios: &str| {
        from_main(&project, name);
        git(project.root(), &["rm", "--quiet", "scenarios.jsonl"]);
        project.write("tasks/all.jsonl", scenarios);
        let settings = SETTINGS.replace("scenarios.jsonl", "tasks/all.jsonl");
        project.write("kelvin.yaml", &settings);
        project.write("agent.sh", agent);
        commit(&project, name);
        gate(&project)
    };
    let (said, judgement) = moved("moved", GOOD, &scenarios("done"));
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    let told = judgement["reasons"].to_string();
    assert!(!tells(&judgement, "edits_measure"), "{told}");
    let no = GOOD.replace("echo done", "echo no");
    let (said, judgement) = moved("softened", &no, &scenarios("no"));
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let told = judgement["reasons"].to_string();
    assert!(told.contains("as_expected"), "{told}");
}

#[test]
fn an_edited_check_beside_an_agent_that_is_right_is_told_and_passes() {
    let (_remote, project) = checked();
    let edits = [
        ("tpl/test.sh", "# said again\ngrep -q good a.txt\n"),
        ("checks/lib.sh", "look() { grep -q good \"$1\"; }\n"),
    ];
    for (file, text) in edits {
        from_main(&project, "change");
        project.write("agent.sh", &format!("# the same\n{GOOD}"));
        project.write(file, text);
        commit(&project, file);
        let (said, judgement) = gate(&project);
        assert_eq!(judgement["verdict"], "pass", "{file}: {}", said.stdout);
        let told = |code: &str| {
            let mut all = reasons(&judgement).iter();
            let found = all.find(|reason| reason["code"] == code);
            found.unwrap_or_else(|| panic!("{file}: {code}: {}", judgement["reasons"]))
        };
        let edit = told("edits_measure")["text"].as_str().expect("a text");
        assert!(edit.contains(file), "{edit}");
        assert_eq!(told("measured_as_base")["effect"], Value::Null, "{file}");
    }
    // Nothing of this is asked of a change that edits no check, and adds a scenario.
    from_main(&project, "change");
    project.write("agent.sh", &format!("# the same\n{GOOD}"));
    let more = "{\"id\": \"s9\", \"prompt\": \"Room 9.\", \"expected\": \"done\"}\n";
    project.write("scenarios.jsonl", &format!("{}{more}", scenarios("done")));
    project.write("notes.txt", "Nothing looks at this.\n");
    commit(&project, "another agent");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    assert_eq!(judgement["reruns"], 0, "{}", said.stdout);
}

#[test]
fn a_check_that_is_edited_in_step_with_the_agent_says_first_what_failed_by_the_check_of_before() {
    let (_remote, project) = checked();
    project.write("agent.sh", &GOOD.replace("b.txt", "room.txt"));
    project.write(
        "checks/verify.sh",
        ". \"$(dirname \"$0\")/lib.sh\"\nlook room.txt\n",
    );
    commit(&project, "another name");
    let (said, judgement) = gate(&project);
    assert_eq!(said.code, Some(3), "{}", judgement["reasons"]);
    let first = reasons(&judgement)[0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(redacted(first), @"this change edits what is measured; measured with the files of the base [HASH] (`checks/verify.sh`), the verdict is regression: `checks.in_root` fell from 1.0000 to 0.0000 over 4 scenarios, by 1.0000 (the limit is 0.0500), and all repeats agreed; most of it in `s0`, `s1`, `s2`; in `s0`: fails `in_root` (b): ended with exit code 2, expected 0; stderr: grep: b.txt: No such file or directory");
}

#[test]
fn another_question_with_another_answer_leaves_the_verdict_open() {
    let (_remote, project) = checked();
    let lines = scenarios("done");
    let edited = lines.replacen("Room 0.", "Something else.", 1);
    project.write(
        "scenarios.jsonl",
        &edited.replacen("\"done\"", "\"DONE\"", 1),
    );
    project.write(
        "agent.sh",
        &format!(
            "{}; [ $KELVIN_SCENARIO = s0 ] && echo DONE || echo done",
            GOOD.replace("; echo done", "")
        ),
    );
    commit(&project, "another question");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], "inconclusive", "{}", said.stdout);
    let first = reasons(&judgement)[0]["text"].as_str().expect("a text");
    assert!(first.contains("`s0`"), "{first}");
}

/// What a database holds when a scenario begins decides what a query finds after it.
#[test]
fn a_database_that_a_change_fills_with_what_its_agent_no_longer_does_fails_by_that_of_the_base() {
    let project = project("", 0, "");
    let books = "python3 -c \"import sqlite3, sys; \
                 sqlite3.connect(sys.argv[1].removeprefix('sqlite:///'), isolation_level=None)\
                 .execute('INSERT INTO rooms VALUES (1)')\" \"$KELVIN_SERVICE_SHOP_URL\"\n";
    project.write(
        "kelvin.yaml",
        "run: sh {root}/agent.sh\nscenarios: scenarios.jsonl\njobs: 4\nservices:\n  \
         shop: {type: sqlite, path: shop.db, init: seed.sql}\ninvariants:\n  \
         books: {description: It books, check: {type: sql, service: shop, \
         query: SELECT count(*) FROM rooms, equals: 1}}\n",
    );
    project.write("agent.sh", books);
    project.write("scenarios.jsonl", &scenarios("done"));
    project.write("seed.sql", "CREATE TABLE rooms (room INTEGER);\n");
    let _remote = measured(&project);
    let filled = "CREATE TABLE rooms (room INTEGER);\nINSERT INTO rooms VALUES (1);\n";
    let spaced = "CREATE TABLE rooms (\n  room INTEGER\n);\n";
    for (agent, seed, verdict) in [("true\n", filled, "regression"), (books, spaced, "pass")] {
        from_main(&project, "change");
        project.write("agent.sh", &format!("# another\n{agent}"));
        project.write("seed.sql", seed);
        commit(&project, "another seed");
        let (said, judgement) = gate(&project);
        assert_eq!(judgement["verdict"], verdict, "{}", said.stdout);
        let mut all = reasons(&judgement).iter();
        let by_base = all.find(|reason| reason["code"] == "measured_as_base");
        let told = by_base.unwrap_or_else(|| panic!("{}", judgement["reasons"]));
        let is_red = verdict == "regression";
        assert_eq!(told["effect"] == Value::Null, !is_red, "{told}");
    }
}

#[test]
fn a_file_that_only_the_base_has_does_not_keep_its_rules_from_being_read() {
    let (_remote, project) = checked();
    let moves: [(&str, &str); 2] = [("check.sh", "look.sh"), ("tpl", "start")];
    for (old, new) in moves {
        for (agent, rules) in [
            (GOOD, ""),
            ("echo done", "gate: {max_drop: 1, on_broken_case: warn}\n"),
        ] {
            from_main(&project, "change");
            git(project.root(), &["mv", old, new]);
            project.write("agent.sh", &format!("# again\n{agent}"));
            let settings = SETTINGS
                .replace(
                    "script: check.sh",
                    &format!(
                        "script: {}",
                        if old == "check.sh" { new } else { "check.sh" }
                    ),
                )
                .replace(
                    "template: tpl",
                    &format!("template: {}", if old == "tpl" { new } else { "tpl" }),
                );
            project.write("kelvin.yaml", &format!("{settings}{rules}"));
            commit(&project, new);
            let (said, judgement) = gate(&project);
            assert_eq!(judgement["passed"], true, "{new}: {}", said.stdout);
            let told = judgement["reasons"].to_string();
            assert!(!tells(&judgement, "not_measured"), "{new}: {told}");
            // Nobody is told of rules that were not edited, and everybody of those that were.
            assert_eq!(
                tells(&judgement, "own_rules"),
                !rules.is_empty(),
                "{new}: {told}"
            );
        }
    }
}

/// An agent whose text names what `named` says, and that writes `word` for the check of the template.
fn naming(named: &str, word: &str) -> String {
    format!(
        "# {named}\ntest ! -e notes.txt || cat notes.txt > read.txt\necho {word} > a.txt\necho done\n"
    )
}

const IN_TEMPLATE: &str = "\
run: sh {root}/agent.sh
scenarios: scenarios.jsonl
jobs: 4
workspace: {template: tpl}
invariants:
  in_template: {description: a, check: {type: command_exit, command: 'sh test.sh'}}
";

/// A project whose only check lies in the template, with its base measured.
fn with_its_check_in_the_template(
    settings: &str,
    agent: (&str, &str),
) -> (tempfile::TempDir, Project) {
    let project = project("", 0, "");
    project.write("kelvin.yaml", settings);
    project.write(agent.0, agent.1);
    project.write("scenarios.jsonl", &scenarios("done"));
    project.write("tpl/test.sh", "grep -q good a.txt\n");
    project.write("tpl/notes.txt", "old\n");
    (measured(&project), project)
}

#[test]
fn a_check_of_the_template_is_that_of_the_base_whoever_else_names_it() {
    let (_remote, project) = with_its_check_in_the_template(
        IN_TEMPLATE,
        ("agent.sh", &naming("Then run test.sh.", "good")),
    );
    for named in ["Then run test.sh.", "See tpl/test.sh."] {
        from_main(&project, "change");
        project.write("agent.sh", &naming(named, "bad"));
        project.write("tpl/test.sh", "true\n");
        commit(&project, "softer");
        let (said, judgement) = gate(&project);
        assert_eq!(said.code, Some(3), "{named}: {}", judgement["reasons"]);
        assert_eq!(judgement["verdict"], "regression", "{named}: {judgement}");
        let first = &reasons(&judgement)[0];
        assert_eq!(first["code"], "measured_as_base", "{named}: {first}");
        let told = first["text"].as_str().expect("a text");
        assert!(told.contains("tpl/test.sh"), "{named}: {told}");
    }
    // What only the agent reads there is a part of what a scenario begins with.
    from_main(&project, "notes");
    project.write("tpl/notes.txt", "new\n");
    commit(&project, "other notes");
    let (said, judgement) = gate(&project);
    assert_eq!(judgement["verdict"], "pass", "{}", said.stdout);
    let told = judgement["reasons"].to_string();
    assert!(
        told.contains("this change edits the template of the workspace `tpl/notes.txt`"),
        "{told}"
    );
}

#[test]
fn an_agent_that_lies_in_the_template_is_not_told_and_its_check_there_leaves_the_verdict_open() {
    for run in ["sh agent.sh", "sh -c 'sh agent.sh'"] {
        let settings = IN_TEMPLATE.replace("sh {root}/agent.sh", run);
        let agent = naming("Then run test.sh.", "good");
        let (_remote, project) =
            with_its_check_in_the_template(&settings, ("tpl/agent.sh", &agent));
        from_main(&project, "agent");
        project.write("tpl/agent.sh", &format!("{agent}# Another word.\n"));
        commit(&project, "another agent");
        let (said, judgement) = gate(&project);
        assert_eq!(judgement["verdict"], "pass", "{run}: {}", said.stdout);
        let told = judgement["reasons"].to_string();
        assert!(!tells(&judgement, "edits_measure"), "{run}: {told}");
        from_main(&project, "both");
        project.write("tpl/agent.sh", &naming("Then run test.sh.", "bad"));
        project.write("tpl/test.sh", "true\n");
        commit(&project, "softer");
        let (said, judgement) = gate(&project);
        assert_eq!(
            judgement["verdict"], "inconclusive",
            "{run}: {}",
            said.stdout
        );
        let first = reasons(&judgement)[0]["text"].as_str().expect("a text");
        assert!(first.contains("as `agent.sh`"), "{run}: {first}");
    }
}
