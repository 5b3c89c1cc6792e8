//! The keys of this probe in `kelvin.yaml`: what is taken, and what is refused with its place and a cure.

use std::fs;

use crate::config::{ChecksSettings, ScenarioSource};
use crate::scenarios;
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
    assert!(shared.contains("`decision_field` is missing"), "{shared}");
    assert!(!shared.contains("`invariants` is missing"), "{shared}");
    let none = refusal(
        "cases: cases\ninvariants: {a: {description: d, check: {type: latency, max_s: 1}}}\n",
    );
    assert!(none.contains("the key `run` is missing"), "{none}");
    assert!(!none.contains("decision_field"), "{none}");
    let scoring = refusal("run: agent\nscoring: {replicas: 2}\n");
    assert!(
        scoring.contains("the key `invariants` is missing"),
        "{scoring}"
    );
    // Both: the evidence probe needs its placeholders, and has no workspace.
    let both = with("{type: latency, max_s: 1}")
        + "cases: cases\ndecision_field: d\ngoverning_types: [t]\n";
    let told = refusal(&both);
    assert!(told.contains("no placeholder `{input}`"), "{told}");
    let told = refusal(&both.replace("run: agent", "run: agent {input} {output} {workspace}"));
    assert!(
        told.contains("only a scenario of `invariants` has a `{workspace}`"),
        "{told}"
    );
    let config = load(&both.replace("run: agent", "run: agent {input} {output}")).expect("both");
    assert!(config.configures("checks") && config.configures("evidence"));
}

#[test]
fn inv_01_inv_02_inv_07_inv_09_inv_11_inv_24_what_is_wrong_is_told_with_its_line_and_a_cure() {
    let file = "{type: file_exists, path: x}";
    for (text, parts) in [
        (
            with("{type: file_exist, path: x}"),
            vec![":5:", "did you mean `file_exists`?"],
        ),
        (
            with("{type: file_exists, paht: x}"),
            vec![":5:32", "did you mean `path`?"],
        ),
        (with("{path: x}"), vec!["the key `type` is missing"]),
        (
            with("{type: file_exists, path: ../x}"),
            vec![":5:", "leads out of the workspace"],
        ),
        (
            with("{type: file_content, path: x}"),
            vec![":5:", "nothing is asked of the file"],
        ),
        (
            with("{type: regex, pattern: '('}"),
            vec![":5:", "unclosed group"],
        ),
        (
            with("{type: json_path, path: a}"),
            vec![":5:", "no JSONPath"],
        ),
        (
            with("{type: json_schema, schema: {type: objekt}}"),
            vec![":5:", "no JSON schema"],
        ),
        (
            with("{type: contains, value: x, input_from: nowhere}"),
            vec![":5:", "names nothing"],
        ),
        (
            with("{type: command_exit, command: x, timeout_s: 0}"),
            vec![":5:", "above 0"],
        ),
        (
            with("{type: custom, script: gone.py}"),
            vec![":5:", "`gone.py` is not there"],
        ),
        (
            with("{type: command_exit, command: 'node {root}/a-b/check.mjs x'}"),
            vec![":5:", "write `\"$KELVIN_ROOT/a-b/check.mjs\"`"],
        ),
        (
            with("{type: llm_as_judge, model: m}"),
            vec!["`criteria` is missing"],
        ),
        (
            with(file).replace("    description: it is made\n", ""),
            vec!["`description` is missing in `invariants.made`"],
        ),
        (
            with(file).replace("it is made", "' '"),
            vec!["description", "must not be empty"],
        ),
        (
            with(file) + "    weight: -1\n",
            vec![":6:", "from 0 to 1000000"],
        ),
        (with(file) + "    weight: .nan\n", vec![":6:", "weight"]),
        (with(file) + "    weight: 0\n", vec!["add up to 0"]),
        (
            with(file) + "    wieght: 1\n",
            vec!["did you mean `weight`?"],
        ),
        (
            with(file).replace("made:", "made it:"),
            vec!["no name of an invariant", "`made_it`"],
        ),
        (
            with(file).replace("made:", "composite:"),
            vec!["is a figure of all checks"],
        ),
        (
            "run: agent\ninvariants: {}\n".to_owned(),
            vec!["there is no invariant"],
        ),
        (
            with(file) + "scoring: {pass_threshold: 1.5}\n",
            vec!["from 0 to 1"],
        ),
        (
            with(file) + "scoring: {pass_treshold: 1}\n",
            vec!["did you mean `pass_threshold`?"],
        ),
        (
            with(file) + "scoring: {replicas: 2, replica_aggregation: {at_least: 3}}\n",
            vec!["can never be reached by 2 replicas"],
        ),
        (
            with(file) + "scoring: {replica_aggregation: mean}\n",
            vec!["`pass_threshold`"],
        ),
        (
            with(file) + "scoring: {replica_aggregation: most}\n",
            vec!["found `most`"],
        ),
        (
            with(file) + "matrix: {a b: [1]}\n",
            vec!["no name of a parameter"],
        ),
        (with(file) + "matrix: {a: []}\n", vec!["has no value"]),
        (
            with(file) + "matrix: {a: [1, '1']}\n",
            vec!["`1` of `a` is there twice"],
        ),
        (
            with(file) + "workspace: {template: gone}\n",
            vec!["`gone`, is no folder"],
        ),
        (
            with(file) + "forbidden: {secrets_in_logs: yes}\n",
            vec!["`deny`"],
        ),
        (
            with(file) + "forbidden: {db_writes_outside: [x]}\n",
            vec!["not supported"],
        ),
        (
            with(file) + "cases: cases\nscenarios: x.jsonl\n",
            vec!["takes the place of `cases`"],
        ),
        (
            with(file).replace("run: agent", "run: sh agent.sh"),
            vec!["write `{root}/agent.sh`"],
        ),
    ] {
        let told = refusal(&text);
        for part in parts {
            assert!(
                told.contains(part),
                "{part}\nis not told of\n{text}\nbut\n{told}"
            );
        }
    }
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
        assert!(
            told.contains(&format!("unknown key `{key}`")),
            "{key}\n{told}"
        );
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
    assert!(
        unset.contains("`KELVIN_NOT_SET_ANYWHERE` is not set"),
        "{unset}"
    );
    assert!(unset.contains(":5:"), "{unset}");
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
    for (check, key) in [
        ("{type: json_path, path: $.label}", "equals"),
        ("{type: contains}", "value"),
        ("{type: equals}", "value"),
        ("{type: levenshtein}", "value"),
        ("{type: regex}", "pattern"),
        ("{type: numeric}", "equals"),
    ] {
        let told = refused_with(none, check, "");
        let what = format!(
            "the check of `made` has nothing to compare with: it has no `{key}`, and no scenario of `s.jsonl` has an \
             `expected`"
        );
        for part in [&*what, "kelvin.yaml:5:", &format!("add `{key}: …`")] {
            assert!(told.contains(part), "{part}\n{told}");
        }
        let told = refusal(&(with(check) + "cases: cases\n"));
        assert!(
            told.contains("scenarios that are cases expect nothing"),
            "{told}"
        );
    }
    assert!(refused_with(none, "{type: json_path, path: $.label}", "").contains("exists: true"));
    assert_eq!(
        refused_with(none, "{type: json_path, path: $.label, exists: true}", ""),
        "[]"
    );
    // Where some expect something and others do not, that is told.
    let some = "{\"id\": \"a\", \"expected\": 1}\n{\"id\": \"b\"}\n";
    let told = refused_with(some, "{type: numeric}", "");
    assert!(
        told.contains("1 of 2 scenarios have no `expected`"),
        "{told}"
    );
    // What is expected has to be a value of the check.
    for (expected, check, told) in [
        (
            "\"five\"",
            "{type: numeric}",
            "`invariants.made.check` does not suit the scenario `a`: what is `expected`",
        ),
        (
            "\"(\"",
            "{type: regex}",
            "what is `expected` is the pattern",
        ),
    ] {
        let scenarios = format!("{{\"id\": \"a\", \"expected\": {expected}}}\n");
        let said = refused_with(&scenarios, check, "");
        assert!(said.contains(told), "{said}");
    }
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
    for (check, more, part) in [
        (
            "{type: custom, script: 'x/${KELVIN_PARAM_USER}'}",
            "",
            "a script is the same for all scenarios",
        ),
        (
            "{type: latency, max_s: 1}",
            "services: {db: {type: sqlite, path: '${KELVIN_PARAM_USER}'}}\n",
            "is a field of the scenario, and a service is declared for all of them",
        ),
        (
            "{type: latency, max_s: 1}",
            "workspace: {template: '${KELVIN_PARAM_USER}'}\n",
            "begins with a field of the scenario: put the templates into one folder",
        ),
        (
            "{type: latency, max_s: 1}",
            "workspace: {template: 'p/${KELVIN_PARAM_USER}'}\n",
            "the template of the workspace, `p/ann`, is no folder",
        ),
    ] {
        let told = refused_with(
            "{\"id\": \"a\", \"params\": {\"user\": \"ann\"}}\n",
            check,
            more,
        );
        assert!(told.contains(part), "{part}\n{told}");
    }
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
