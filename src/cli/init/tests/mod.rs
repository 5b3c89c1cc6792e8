//! Questions answered by a script, in a temporary folder.

mod acts;
mod cases;
mod fields;
mod files;
mod probe;
mod stopped;
mod template;

use kelvin_fixtures::text::{lines_with, redacted};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::kind::PipelineKind;
use super::*;
use crate::cli::ask::Script;
use crate::cli::ask::ScriptedAnswer;
use crate::cli::ask::ScriptedAnswer::{Several, Stop, Text, Yes};
use crate::registry::Registry;
use kelvin_evidence::EvidenceSettings;
use kelvin_probe::DecisionField;

/// A folder with two cases of three types.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("cases")).expect("made");
    for (name, text) in [
        (
            "a.md",
            "# A\n\n## Gate Rule\n\nIf x then y.\n\n## Facts\n\nx.\n",
        ),
        (
            "b.md",
            "# B\n\n## Gate rule\n\nIf y then z.\n\n## History\n\nOld.\n",
        ),
    ] {
        fs::write(folder.path().join("cases").join(name), text).expect("written");
    }
    folder
}

pub(super) fn request(folder: &Path) -> Request {
    Request {
        file: folder.join("kelvin.yaml"),
        ..Request::default()
    }
}

/// Every question that has an answer on the command line is answered there.
fn complete(folder: &Path) -> Request {
    Request {
        run: Some("./run.sh {input} {output}".to_owned()),
        decision_field: Some("decision".to_owned()),
        governing_types: vec!["Gate Rule".to_owned()],
        ..request(folder)
    }
}

/// How it ended, and what was printed.
pub(super) fn run(request: &Request, script: Option<&Script>) -> (anyhow::Result<Exit>, String) {
    let mut out = Vec::new();
    let ended = init(
        Registry::shipped(),
        request,
        script.map(|script| script as &dyn Ask),
        &mut out,
    );
    let ended = ended.map(|(exit, items)| {
        assert_eq!(items, None);
        exit
    });
    (ended, String::from_utf8(out).expect("it is text"))
}

fn load(folder: &Path) -> EvidenceSettings {
    let text = fs::read_to_string(folder.join("kelvin.yaml")).expect("it was written");
    let config = Registry::shipped()
        .configured_by(&text, &folder.join("kelvin.yaml"))
        .expect("it loads");
    steps::settings(&config).clone()
}

/// Every file below a folder with its bytes.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .expect("below")
                    .display()
                    .to_string();
                files.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    files
}

#[test]
fn answers_become_a_configuration_that_loads() {
    let folder = project();
    let script = Script::of(&[
        Text("python3 decide.py {input} {output}"),
        Text("cases"),
        Yes(false),
        Text("/result/decision"),
        Several(&[1, 2]),
    ]);
    let both = Request {
        gitignore: Some(true),
        workflow: Some(true),
        ..request(folder.path())
    };
    let (ended, said) = run(&both, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(lines_with(&said, &["2 cases"]), @"2 cases with 3 types of units");
    assert_eq!(
        *script.shown.borrow(),
        [
            "  1. facts  (in 1 case)",
            "  2. gate_rule  (in 2 cases)",
            "  3. history  (in 1 case)"
        ]
    );
    assert_eq!(script.defaults.borrow()[4], "2");
    let config = load(folder.path());
    assert_eq!(config.run.text(), "python3 decide.py {input} {output}");
    assert_eq!(
        config.decision_field,
        DecisionField::Pointer("/result/decision".to_owned())
    );
    assert_eq!(config.governing_types, ["gate_rule", "history"]);
    let written = files(folder.path());
    assert_eq!(
        written[".gitignore"],
        b"/kelvin/\n/.kelvin-cache/\n/.kelvin/history.db*\n"
    );
    assert!(
        written[".github/workflows/kelvin.yml"].ends_with(
            b"org/kelvin-action@v1\n        with: { base-repeats: 5, comment: later }\n"
        )
    );
    assert!(written[".github/workflows/kelvin-post.yml"].ends_with(b"org/kelvin-action/post@v1\n"));
    assert!(written["kelvin.yaml"].starts_with(b"# yaml-language-server: $schema=https://"));
    insta::assert_snapshot!(redacted(&lines_with(&said, &["next: "])), @"next: kelvin check --config=[TEMP]/kelvin.yaml");
}

#[test]
fn a_wrong_answer_is_asked_for_again_with_the_reason() {
    let folder = project();
    let script = Script::of(&[
        Text("python3 decide.py {inputs} {output}"),
        Text(""),
        Text("python3 decide.py {input} {output}"),
        Text("nowhere"),
        Text("cases"),
        Yes(false),
        Text("/a~b"),
        Text("decision"),
        Several(&[]),
        Several(&[1]),
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    let complaints = script.complaints.borrow();
    insta::assert_snapshot!(complaints[0], @"`run` has no placeholder `{input}`; did you mean `{input}` instead of `{inputs}`?");
    insta::assert_snapshot!(complaints[1], @"`run` must not be empty");
    insta::assert_snapshot!(complaints[2], @"`/a~b` is not a JSON pointer; in a pointer `~` is written as `~0` and a `/` within a key as `~1`");
    insta::assert_snapshot!(complaints[3], @"choose at least one");
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!(load(folder.path()).cases, "cases");
}

#[test]
fn stopping_at_any_question_leaves_everything_as_it_was() {
    let answers = [
        Text("p {input} {output}"),
        Text("cases"),
        Yes(false),
        Text("decision"),
        Several(&[1]),
    ];
    for place in 0..answers.len() {
        let folder = project();
        let before = files(folder.path());
        let mut stopped = answers[..place].to_vec();
        stopped.push(Stop);
        let (ended, said) = run(&request(folder.path()), Some(&Script::of(&stopped)));
        assert_eq!(ended.expect("it is no error"), Exit::Interrupted);
        if place == 0 {
            insta::assert_snapshot!(said, @"
            The command reads one case and writes one JSON object, for example
              python3 pipeline.py {input} {output}
            Where the pipeline prints its answer:
              python3 pipeline.py {input} > {output}
            Where it is a service, its address:
              http://127.0.0.1:8000/ask
            stopped; nothing was written
            ");
        }
        assert_eq!(files(folder.path()), before, "stopped at question {place}");
    }
}

#[test]
fn with_every_flag_nothing_is_asked() {
    let folder = project();
    let request = Request {
        workflow: Some(false),
        gitignore: Some(false),
        ..complete(folder.path())
    };
    let (ended, _) = run(&request, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(load(folder.path()).governing_types, ["gate_rule"]);
    assert!(!folder.path().join(".gitignore").exists() && !folder.path().join(".github").exists());
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let (ended, _) = run(
        &Request {
            cases: Some("cases/*.md".to_owned()),
            ..request
        },
        Some(&Script::of(&[])),
    );
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(load(folder.path()).cases, "cases/*.md");
}

#[test]
fn without_a_terminal_the_flags_that_are_missing_are_named() {
    let folder = project();
    let error = run(&request(folder.path()), None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    let text = error.to_string();
    for flag in [
        "--run",
        "--decision-field",
        "--probe",
        "--governing-type",
        "--yes",
    ] {
        assert!(text.contains(flag), "{flag} in {text}");
    }
    assert!(!folder.path().join("kelvin.yaml").exists());
}

#[test]
fn a_wrong_flag_is_refused_and_nothing_is_written() {
    let folder = project();
    let before = files(folder.path());
    let good = complete(folder.path());
    let mut told = Vec::new();
    let wrong = [
        Request {
            run: Some("p {input}".to_owned()),
            ..good.clone()
        },
        Request {
            cases: Some("nowhere".to_owned()),
            ..good.clone()
        },
        Request {
            decision_field: Some(String::new()),
            ..good.clone()
        },
        Request {
            governing_types: vec!["gate_rul".to_owned()],
            ..good.clone()
        },
        Request {
            governing_types: vec!["a".to_owned(), "A".to_owned()],
            ..good
        },
    ];
    for request in wrong {
        let error = run(&request, None).0.expect_err("refused");
        assert_eq!(Exit::of(&error), Exit::Misused, "{error:#}");
        told.push(redacted(&format!("{error:#}")));
        assert_eq!(files(folder.path()), before);
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `run` has no placeholder `{output}`
      help: put `{output}` where the command takes the path of the JSON file to write
    the folder of the cases, `nowhere`, does not exist
      help: `cases` in the configuration, or `--cases` of `kelvin init`, names a folder with one Markdown file a case, or a file of records such as `cases.jsonl`, relative to the configuration file
    `decision_field` must not be empty
    `governing_types` names a type that no case has: `gate_rul` (is it `gate_rule`?)
      help: the types that occur, with how often: facts (1), gate_rule (2), history (1)
    `a` and `A` are the same governing type `a`
      help: leave one of them out
    ");
}

#[test]
fn a_folder_without_cases_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("cases")).expect("made");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert!(format!("{error:#}").contains(".md"), "{error:#}");
    fs::write(folder.path().join("cases/a.md"), "no heading").expect("written");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert!(format!("{error:#}").contains("## Gate Rule"), "{error:#}");
}
