//! The keys of this probe in `kelvin.yaml`: what is taken, and what is refused with its place and a cure.

use std::fs;

use crate::config::{ChecksSettings, ScenarioSource};
use crate::scenarios;
use kelvin_fixtures::text::{problems, redacted};
use kelvin_probe::configured;
use kelvin_run::config::{Config, Overrides};

mod mock;
mod services;
mod worked;

/// Reads a configuration in a folder with a case and a script.
fn load_in(folder: &std::path::Path, text: &str) -> anyhow::Result<Config> {
    fs::create_dir_all(folder.join("cases")).expect("made");
    fs::write(folder.join("cases/a.md"), "text").expect("written");
    fs::write(folder.join("agent.sh"), "").expect("written");
    let path = folder.join("kelvin.yaml");
    fs::write(&path, text).expect("written");
    configured(
        &Overrides {
            file: Some(path),
            ..Overrides::default()
        },
        &[&kelvin_evidence::EvidenceKind, &crate::ChecksKind],
    )
}

fn load(text: &str) -> anyhow::Result<Config> {
    let folder = tempfile::tempdir().expect("a folder");
    load_in(folder.path(), text)
}

fn refusal(text: &str) -> String {
    let error = load(text).expect_err("it is refused");
    format!("{error:#}")
}

/// The least that is needed, with one check.
fn with(check: &str) -> String {
    format!("run: agent\ninvariants:\n  made:\n    description: it is made\n    check: {check}\n")
}

fn settings(config: &Config) -> &ChecksSettings {
    config.settings().expect("it is configured")
}

#[test]
fn run_cases_and_invariants_are_enough_and_the_evidence_probe_is_not_configured() {
    let text = with("{type: file_exists, path: out.txt}");
    let config = load(&format!("{text}cases: cases\n")).expect("it is complete");
    assert!(config.configures("checks") && !config.configures("evidence"));
    assert_eq!(
        settings(&config).source,
        ScenarioSource::Cases("cases".to_owned())
    );
    assert_eq!(
        settings(&load(&text).expect("complete")).source,
        ScenarioSource::Alone
    );
    let basis = &settings(&config).basis;
    let made = &basis.invariants["made"];
    assert_eq!((made.weight, made.gate), (1.0, false));
    assert_eq!((basis.replicas, basis.pass_threshold), (1, None));
}

#[test]
fn each_probe_is_told_what_it_lacks_where_they_share_keys() {
    // Nothing but shared keys: the first probe that has a use for them is meant.
    let shared = refusal("run: p {input} {output}\ncases: cases\n");
    insta::assert_snapshot!(problems(&shared), @"
    the key `decision_field` is missing
    --> kelvin.yaml
     = help: add a line such as `decision_field: decision`

    error: the key `governing_types` is missing
    --> kelvin.yaml
     = help: add a line such as `governing_types: [gate_rule]`
    ");
    let none = refusal(
        "cases: cases\ninvariants: {a: {description: d, check: {type: latency, max_s: 1}}}\n",
    );
    insta::assert_snapshot!(problems(&none), @"
    the key `run` is missing
    --> kelvin.yaml
     = help: add a line such as `run: python3 pipeline.py {input} {output}`
    ");
    let scoring = refusal("run: agent\nscoring: {replicas: 2}\n");
    insta::assert_snapshot!(problems(&scoring), @"
    the key `invariants` is missing
    --> kelvin.yaml
     = help: add a line such as `invariants: {made: {description: …, check: {type: file_exists, path: …}}}`
    ");
    // Both: the evidence probe needs its placeholders, and has no workspace.
    let both = with("{type: latency, max_s: 1}")
        + "cases: cases\ndecision_field: d\ngoverning_types: [t]\n";
    let told = refusal(&both);
    insta::assert_snapshot!(problems(&told), @"
    `run` has no placeholder `{input}`
     --> kelvin.yaml:1:6
      = help: put `{input}` where the command takes the path of the case to read

    error: `run` has no placeholder `{output}`
     --> kelvin.yaml:1:6
      = help: put `{output}` where the command takes the path of the JSON file to write
    ");
    let told = refusal(&both.replace("run: agent", "run: agent {input} {output} {workspace}"));
    insta::assert_snapshot!(problems(&told), @"
    only a scenario of `invariants` has a `{workspace}`
     --> kelvin.yaml:1:29
      = help: leave it out; `{root}` is the folder of the configuration
    ");
    let config = load(&both.replace("run: agent", "run: agent {input} {output}")).expect("both");
    assert!(config.configures("checks") && config.configures("evidence"));
}

#[test]
fn inv_01_inv_02_inv_07_inv_09_inv_11_inv_24_what_is_wrong_is_told_with_its_line_and_a_cure() {
    let file = "{type: file_exists, path: x}";
    let mut each = Vec::new();
    for text in [
        with("{type: file_exist, path: x}"),
        with("{type: file_exists, paht: x}"),
        with("{path: x}"),
        with("{type: file_exists, path: ../x}"),
        with("{type: file_content, path: x}"),
        with("{type: regex, pattern: '('}"),
        with("{type: json_path, path: a}"),
        with("{type: json_schema, schema: {type: objekt}}"),
        with("{type: contains, value: x, input_from: nowhere}"),
        with("{type: command_exit, command: x, timeout_s: 0}"),
        with("{type: custom, script: gone.py}"),
        with("{type: command_exit, command: 'node {root}/a-b/check.mjs x'}"),
        with("{type: llm_as_judge, model: m}"),
        with(file).replace("    description: it is made\n", ""),
        with(file).replace("it is made", "' '"),
        with(file) + "    weight: -1\n",
        with(file) + "    weight: .nan\n",
        with(file) + "    weight: 0\n",
        with(file) + "    wieght: 1\n",
        with(file).replace("made:", "made it:"),
        with(file).replace("made:", "composite:"),
        "run: agent\ninvariants: {}\n".to_owned(),
        with(file) + "scoring: {pass_threshold: 1.5}\n",
        with(file) + "scoring: {pass_treshold: 1}\n",
        with(file) + "scoring: {replicas: 2, replica_aggregation: {at_least: 3}}\n",
        with(file) + "scoring: {replica_aggregation: mean}\n",
        with(file) + "scoring: {replica_aggregation: most}\n",
        with(file) + "matrix: {a b: [1]}\n",
        with(file) + "matrix: {a: []}\n",
        with(file) + "matrix: {a: [1, '1']}\n",
        with(file) + "workspace: {template: gone}\n",
        with(file) + "forbidden: {secrets_in_logs: yes}\n",
        with(file) + "forbidden: {db_writes_outside: [x]}\n",
        with(file) + "cases: cases\nscenarios: x.jsonl\n",
        with(file).replace("run: agent", "run: sh agent.sh"),
    ] {
        let told = refusal(&text);
        each.push(problems(&told));
    }
    insta::assert_snapshot!(kelvin_fixtures::text::redacted(&each.join("\n")), @r#"
    `invariants.made.check.type` must be `command_exit`, `file_exists`, `file_absent`, `file_content`, `custom`, `contains`, `regex`, `equals`, `json_schema`, `json…
     --> kelvin.yaml:5:19
      = help: did you mean `file_exists`?
    the key `path` is missing in `invariants.made.check`
     --> kelvin.yaml:5:12

    error: unknown key `paht` in `invariants.made.check`
     --> kelvin.yaml:5:32
      = help: did you mean `path`?
    the key `type` is missing in `invariants.made.check`
     --> kelvin.yaml:5:12
    `../x` leads out of the workspace: a path is relative to it, without `..`
     --> kelvin.yaml:5:38
    nothing is asked of the file: give `contains`, `not_contains` or `pattern`
     --> kelvin.yaml:5:12
    this is no regular expression: unclosed group
     --> kelvin.yaml:5:35
    this is no JSONPath: at position 0, parser error; it begins with `$`, as in `$.items[0].name`
     --> kelvin.yaml:5:36
    this is no JSON schema: "objekt" is not valid under any of the schemas listed in the 'anyOf' keyword
     --> kelvin.yaml:5:40
    `nowhere` names nothing to look at: write `agent_output`, `stdout` or `file:PATH`
     --> kelvin.yaml:5:51
    `invariants.made.check.timeout_s` must be a number above 0 and at most 86400, found `0`
     --> kelvin.yaml:5:56
    the script `gone.py` is not there
     --> kelvin.yaml:5:35
      = help: a script is named relative to the folder of the configuration
    `{root}` has no value in the command of a check, which a shell reads
     --> kelvin.yaml:5:42
      = help: write `"$KELVIN_ROOT/a-b/check.mjs"`, which is the same folder
    the key `criteria` is missing in `invariants.made.check`
     --> kelvin.yaml:5:12

    error: `invariants.made.check.model` names the model `m`, which is not declared
     --> kelvin.yaml:5:40
      = help: declare it: `models: {m: {kind: openai, ...}}`
    the key `description` is missing in `invariants.made`
     --> kelvin.yaml:4:5
      = help: add a line such as `description: All tests pass`
    `invariants.made.description` must not be empty
     --> kelvin.yaml:4:18

    error: the description must not be empty
     --> kelvin.yaml:4:18
    `invariants.made.weight` must be a number from 0 to [HASH], found `-1`
     --> kelvin.yaml:6:13
    `invariants.made.weight` must be a number from 0 to [HASH], found `.nan`
     --> kelvin.yaml:6:13
    the weights of all invariants add up to 0
     --> kelvin.yaml:3:3
      = help: give at least one of them a `weight` above 0
    unknown key `wieght` in `invariants.made`
     --> kelvin.yaml:6:5
      = help: did you mean `weight`?
    `made it` is no name of an invariant
     --> kelvin.yaml:3:3
      = help: a name has letters, digits, `_` and `-`, e.g. `made_it`: it is a part of `checks.NAME`
    `checks.composite` is a figure of all checks, not the name of one
     --> kelvin.yaml:3:3
      = help: give the invariant another name
    there is no invariant in `invariants`
     --> kelvin.yaml:2:13
      = help: add one, e.g. `made: {description: …, check: {type: file_exists, path: …}}`
    `scoring.pass_threshold` must be a number from 0 to 1, found `1.5`
     --> kelvin.yaml:6:27
    unknown key `pass_treshold` in `scoring`
     --> kelvin.yaml:6:11
      = help: did you mean `pass_threshold`?
    `at_least: 3` can never be reached by 2 replicas
     --> kelvin.yaml:6:45
    `mean` compares with `pass_threshold`, which is not there
     --> kelvin.yaml:6:32
      = help: add `pass_threshold`, e.g. `pass_threshold: 0.85`
    `scoring.replica_aggregation` must be `all`, `any`, `majority`, `mean` or a mapping with the key `at_least`, found `most`
     --> kelvin.yaml:6:32
      = help: known names: all, any, majority, mean
    `a b` is no name of a parameter
     --> kelvin.yaml:6:10
      = help: a name has letters, digits and `_`: the pipeline sees it as `KELVIN_PARAM_NAME`
    the parameter `a` has no value
     --> kelvin.yaml:6:13
    the value `1` of `a` is there twice
     --> kelvin.yaml:6:17
      = help: leave one of them out
    the template of the workspace, `gone`, is no folder
     --> kelvin.yaml:6:23
      = help: name a folder, relative to the configuration, that is copied for every scenario
    `forbidden.secrets_in_logs` must be `deny`, found `yes`
     --> kelvin.yaml:6:30
    unknown key `db_writes_outside` in `forbidden`
     --> kelvin.yaml:6:13
      = help: not supported: ask with a check of type `sql` what the pipeline must not have written
    `scenarios` takes the place of `cases`, which nothing uses then
     --> kelvin.yaml:6:8
      = help: leave one of the two out
    `agent.sh` stands beside the configuration, and a scenario begins in its workspace
     --> kelvin.yaml:1:6
      = help: write `{root}/agent.sh`
    "#);
}

#[test]
fn inv_35_the_worked_file_of_the_document_is_refused_with_what_stands_for_each_of_its_keys() {
    let text = "version: 1\nid: fix-tests\ndescription: d\ntask: {prompt: Fix it.}\nbase: {image: node}\n\
                setup: [npm ci]\nresources: {cpu: 2}\nsecrets: {A: env}\nnetwork: none\naudit: true\n\
                agent: {command: x}\nrun: agent\n"
        .to_owned()
        + &with("{type: command_exit, command: npm test, exit_code: 0}").replace("run: agent\n", "")
        + "    weight: 1.0\n    gate: true\nscoring: {pass_threshold: 0.85, replicas: 3}\n";
    let told = refusal(&text);
    for key in [
        "version",
        "id",
        "task",
        "base",
        "setup",
        "resources",
        "secrets",
        "network",
        "audit",
        "agent",
    ] {
        assert!(told.contains(&format!("`{key}`")), "{key}\n{told}");
    }
    // Each of them comes with what stands for it, and with nothing else the file is taken.
    assert_eq!(told.matches("help:").count(), 11, "{told}");
    let lines = text.lines().filter(|line| {
        let key = line.split(':').next().unwrap_or_default();
        ["run", "invariants", "scoring"].contains(&key) || line.starts_with(' ')
    });
    let rest: Vec<&str> = lines.collect();
    load(&(rest.join("\n") + "\n")).expect("the rest of it is all right");
}

#[test]
fn inv_34_a_variable_is_named_and_its_value_is_never_shown() {
    let unset = refusal(&with(
        "{type: contains, value: 'is ${KELVIN_NOT_SET_ANYWHERE}'}",
    ));
    insta::assert_snapshot!(problems(&unset), @"
    the variable `KELVIN_NOT_SET_ANYWHERE` is not set in the environment
     --> kelvin.yaml:5:36
      = help: set it, or write `$${KELVIN_NOT_SET_ANYWHERE}` where the text itself is meant
    ");
    // Text that only looks like one, and the text of a command, are left alone.
    for check in [
        "{type: contains, value: 'is $${KELVIN_NOT_SET_ANYWHERE}'}",
        "{type: regex, pattern: '^\\d{3}$'}",
        "{type: command_exit, command: 'echo ${KELVIN_NOT_SET_ANYWHERE}'}",
    ] {
        load(&with(check)).expect(check);
    }
    let path = std::env::var("PATH").expect("it is set");
    let config = load(&with("{type: contains, value: '${PATH}'}")).expect("it is set");
    assert_eq!(
        settings(&config).without_values(&format!("<{path}>")),
        "<${PATH}>"
    );
    // Another value is another question to the cache.
    let other = load(&with("{type: contains, value: '${HOME}'}")).expect("it is set");
    assert_ne!(
        settings(&config).reader_digest(),
        settings(&other).reader_digest()
    );
}

#[test]
fn inv_33_every_scenario_is_crossed_with_the_matrix_and_has_a_stable_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = with("{type: latency, max_s: 1}")
        + "matrix: {model: [small, 7], language: [de, en]}\nscoring: {replicas: 3}\n";
    let read = |text: &str| {
        let config = load_in(folder.path(), text)?;
        let scenarios = scenarios::read((&config.root, None), settings(&config))?;
        anyhow::Ok(scenarios.all)
    };
    let ids = |text: &str| -> Vec<String> {
        let all = read(text).expect("read");
        all.into_iter().map(|scenario| scenario.id).collect()
    };
    let four = [
        "de,model=7",
        "de,model=small",
        "en,model=7",
        "en,model=small",
    ];
    assert_eq!(ids(&text), four.map(|rest| format!("run[language={rest}]")));
    assert_eq!(
        ids(&(text.clone() + "cases: cases\n")),
        four.map(|rest| format!("a[language={rest}]"))
    );
    let file = folder.path().join("s.jsonl");
    let from_file = text.clone() + "scenarios: s.jsonl\n";
    fs::write(
        &file,
        "{\"id\": \"x\", \"prompt\": \"p\", \"params\": {\"n\": 1}, \"expected\": 2}\n\n",
    )
    .expect("written");
    let all = read(&from_file).expect("read");
    assert_eq!(all.len(), 4);
    assert_eq!(all[0].params.len(), 3);
    let mut texts = Vec::new();
    for lines in [
        "{\"id\": \"x\"}\n{\"id\": \"x\"}\n",
        "{\"id\": \"x\", \"promt\": \"p\"}\n",
        "\n{\"id\": 1}\n",
        "",
        "- id: x\n  prompt: p\n",
        "- id: x\n",
        &"- id: x\n".repeat(13),
        "{\"id\": \"x\", \"params\": {\"model\": 1}}\n",
    ] {
        fs::write(&file, lines).expect("written");
        let error = format!("{:#}", read(&from_file).expect_err("refused"));
        texts.push(error.to_string());
    }
    insta::assert_snapshot!(texts.join("\n"), @r#"
    s.jsonl:2:1: the id `x` is there twice
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    s.jsonl:1:19: unknown field `promt`, expected one of `id`, `prompt`, `params`, `expected`, `invariants`, `template`
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    s.jsonl:2:8: invalid type: integer `1`, expected a string
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    `s.jsonl` has no scenario
      help: write one JSON object a line, e.g. `{"id": "refund", "prompt": "…"}`
    s.jsonl:1:1: the line is no JSON object
    s.jsonl:2:1: the line is no JSON object
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    s.jsonl:1:1: the line is no JSON object
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    s.jsonl:1:1: the line is no JSON object
    s.jsonl:2:1: the line is no JSON object
    s.jsonl:3:1: the line is no JSON object
    s.jsonl:4:1: the line is no JSON object
    s.jsonl:5:1: the line is no JSON object
    s.jsonl:6:1: the line is no JSON object
    s.jsonl:7:1: the line is no JSON object
    s.jsonl:8:1: the line is no JSON object
    s.jsonl:9:1: the line is no JSON object
    s.jsonl:10:1: the line is no JSON object
    and 3 more lines of `s.jsonl`
      help: every line is one scenario, a JSON object with the keys `id`, `prompt`, `params`, `expected`, `invariants` and `template`; what else your checks need goes under `params`
    the scenario `x` has the parameter `model`, which `matrix` has too
      help: give it in one of the two places
    "#);
}

/// What is refused when a configuration and the scenarios of its file are read.
fn refused_with(scenarios: &str, check: &str, more: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("s.jsonl"), scenarios).expect("written");
    let text = with(check) + "scenarios: s.jsonl\n" + more;
    let read = load_in(folder.path(), &text)
        .and_then(|config| scenarios::read((&config.root, None), settings(&config)));
    match read {
        Ok(read) => format!("{:?}", read.notices),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn a_check_without_a_value_needs_scenarios_that_expect_something() {
    let none = "{\"id\": \"a\"}\n{\"id\": \"b\", \"expected\": null}\n";
    let mut each = Vec::new();
    for (check, key) in [
        ("{type: json_path, path: $.label}", "equals"),
        ("{type: contains}", "value"),
        ("{type: equals}", "value"),
        ("{type: levenshtein}", "value"),
        ("{type: regex}", "pattern"),
        ("{type: numeric}", "equals"),
    ] {
        let told = refused_with(none, check, "");
        assert!(told.contains(&format!("`{key}`")), "{key}\n{told}");
        each.push(problems(&told));
        let told = refusal(&(with(check) + "cases: cases\n"));
        each.push(problems(&told));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the check of `made` has nothing to compare with: it has no `equals`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `equals: …`, or `exists: true` where any value will do, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `equals`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `equals: …`, or `exists: true` where any value will do, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    the check of `made` has nothing to compare with: it has no `value`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `value: …`, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `value`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `value: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    the check of `made` has nothing to compare with: it has no `value`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `value: …`, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `value`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `value: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    the check of `made` has nothing to compare with: it has no `value`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `value: …`, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `value`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `value: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    the check of `made` has nothing to compare with: it has no `pattern`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `pattern: …`, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `pattern`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `pattern: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    the check of `made` has nothing to compare with: it has no `equals`, and no scenario of `s.jsonl` has an `expected`
     --> kelvin.yaml:5:12
      = help: add `equals: …`, or give the scenarios an `expected`
    the check of `made` has nothing to compare with: it has no `equals`, and scenarios that are cases expect nothing
     --> kelvin.yaml:5:12
      = help: add `equals: …`, or write the scenarios as lines of a file (`scenarios: FILE`), each with its `expected`
    ");
    assert!(refused_with(none, "{type: json_path, path: $.label}", "").contains("exists: true"));
    assert_eq!(
        refused_with(none, "{type: json_path, path: $.label, exists: true}", ""),
        "[]"
    );
    // Where some expect something and others do not, that is told.
    let some = "{\"id\": \"a\", \"expected\": 1}\n{\"id\": \"b\"}\n";
    let told = refused_with(some, "{type: numeric}", "");
    insta::assert_snapshot!(told, @r#"[Notice { code: Of(OwnCode("nothing_expected")), case: None, kind: None, wanted: None, got: None, minor: false, foremost: false, text: "1 of 2 scenarios has no `expected`, so `made` does not apply there: b" }]"#);
    // What is expected has to be a value of the check.
    let mut refusals = Vec::new();
    for (expected, check) in [("\"five\"", "{type: numeric}"), ("\"(\"", "{type: regex}")] {
        let scenarios = format!("{{\"id\": \"a\", \"expected\": {expected}}}\n");
        let said = refused_with(&scenarios, check, "");
        refusals.push(said.to_string());
    }
    insta::assert_snapshot!(refusals.join("\n"), @r#"
    `invariants.made.check` does not suit the scenario `a`: what is `expected`, "five", is no number: give the check its own `equals`
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own
    `invariants.made.check` does not suit the scenario `a`: what is `expected` is the pattern, and this is no regular expression: unclosed group
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own
    "#);
}

#[test]
fn a_field_that_a_scenario_lacks_or_that_may_not_stand_there_is_refused_before_anything_runs() {
    let user = "{\"id\": \"a\", \"params\": {\"user\": \"ann\"}}\n{\"id\": \"b\"}\n";
    let asks = "{type: contains, value: '${KELVIN_PARAM_USER}'}";
    let told = refused_with(user, asks, "");
    insta::assert_snapshot!(told, @"
    `invariants.made.check` does not suit the scenario `b`: `${KELVIN_PARAM_USER}` stands for a parameter, and the scenario has no parameter `user`
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own
    ");
    assert_eq!(refused_with(user, "{type: latency, max_s: 1}", ""), "[]");
    let twice = "{\"id\": \"a\", \"params\": {\"user\": 1, \"User\": 2}}\n";
    let told = refused_with(twice, "{type: latency, max_s: 1}", "");
    insta::assert_snapshot!(told, @"
    the parameters `User` and `user` of the scenario `a` have the same variable, `KELVIN_PARAM_USER`
      help: give one of them another name
    ");
    let both = "matrix: {user: [ann, bob]}\n";
    assert_eq!(refused_with("{\"id\": \"a\"}\n", asks, both), "[]");
    let mut refusals = Vec::new();
    for (check, more) in [
        ("{type: custom, script: 'x/${KELVIN_PARAM_USER}'}", ""),
        (
            "{type: latency, max_s: 1}",
            "services: {db: {type: sqlite, path: '${KELVIN_PARAM_USER}'}}\n",
        ),
        (
            "{type: latency, max_s: 1}",
            "workspace: {template: '${KELVIN_PARAM_USER}'}\n",
        ),
        (
            "{type: latency, max_s: 1}",
            "workspace: {template: 'p/${KELVIN_PARAM_USER}'}\n",
        ),
    ] {
        let told = refused_with(
            "{\"id\": \"a\", \"params\": {\"user\": \"ann\"}}\n",
            check,
            more,
        );
        refusals.push(told.to_string());
    }
    insta::assert_snapshot!(redacted(&refusals.join("\n")), @"
    a script is the same for all scenarios: it is told their fields, and none may name it
     --> [TEMP]/kelvin.yaml:5:35
      |
    5 |     check: {type: custom, script: 'x/${KELVIN_PARAM_USER}'}
      |                                   ^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: name one script, which reads `scenario_params` from its standard input
    `${KELVIN_PARAM_USER}` is a field of the scenario, and a service is declared for all of them
     --> [TEMP]/kelvin.yaml:7:37
      |
    7 | services: {db: {type: sqlite, path: '${KELVIN_PARAM_USER}'}}
      |                                     ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: fields may stand in checks, in the file of `init`, and in `workspace.template`
    `${KELVIN_PARAM_USER}` begins with a field of the scenario: put the templates into one folder, e.g. `templates/${KELVIN_PARAM_USER}`, so that a change of one of them is seen
     --> [TEMP]/kelvin.yaml:7:23
      |
    7 | workspace: {template: '${KELVIN_PARAM_USER}'}
      |                       ^^^^^^^^^^^^^^^^^^^^^^
    `workspace.template` does not suit the scenario `a`: the template of the workspace, `p/ann`, is no folder
      help: give every scenario what is named there (`params`, `matrix`, `expected`), or the check a value of its own
    ");
}

#[test]
#[cfg_attr(not(feature = "sql"), ignore = "the document has a server in it")]
fn the_document_names_every_check_and_figure_and_its_configurations_load() {
    let document = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/invariants.md"
    ));
    let blocks = document.split("```yaml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() > 2, "the configurations were not found");
    let folder = tempfile::tempdir().expect("a folder");
    for template in ["project", "workspace"] {
        fs::create_dir(folder.path().join(template)).expect("made");
    }
    fs::write(folder.path().join("seed.sql"), "SELECT 1;\n").expect("written");
    for block in blocks {
        let text = match (block.contains("run:"), block.contains("invariants:")) {
            (true, _) => block.to_owned(),
            (false, true) => format!("run: agent\n{block}"),
            (false, false) => with("{type: latency, max_s: 1}") + block,
        };
        load_in(folder.path(), &text).unwrap_or_else(|error| panic!("{error:#}\nin\n{block}"));
    }
    let schema = kelvin_run::config::schema_of::<crate::keys::CheckKeys>().as_value();
    let kinds = schema["oneOf"].as_array().expect("the kinds of checks");
    assert_eq!(kinds.len(), 16);
    for kind in kinds {
        let name = kind["properties"]["type"]["const"]
            .as_str()
            .expect("a name");
        assert!(document.contains(&format!("`{name}`")), "{name}");
        for (key, _) in kelvin_run::config::shape::properties(kind) {
            assert!(document.contains(&format!("`{key}`")), "{name}.{key}");
        }
    }
    for name in crate::figures::RESERVED {
        assert!(document.contains(&format!("`checks.{name}`")), "{name}");
    }
}
