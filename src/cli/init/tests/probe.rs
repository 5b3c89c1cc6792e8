//! A look at the output of a real pipeline.

use std::fs;
use std::path::Path;

use super::Answer::{One, Several, Text, Yes};
use super::{Script, complete, load, project, request, run};
use crate::cli::init::Request;
use crate::exit::Exit;
use crate::probe::DecisionField;

/// A pipeline that writes this, and the request to look at it.
fn pipeline(folder: &Path, output: &str) -> Request {
    fs::write(folder.join("answer.json"), output).expect("written");
    let script = "test -s \"$1\" && cp answer.json \"$2\"\n";
    fs::write(folder.join("pipeline.sh"), script).expect("written");
    Request {
        run: Some("sh pipeline.sh {input} {output}".to_owned()),
        decision_field: None,
        probe: true,
        ..complete(folder)
    }
}

#[test]
fn the_only_field_or_the_one_called_decision_is_found() {
    for (output, field) in [
        (
            r#"{"verdict": "yes", "why": ["a"]}"#,
            DecisionField::Key("verdict".to_owned()),
        ),
        (
            r#"{"score": 1, "decision": true}"#,
            DecisionField::Key("decision".to_owned()),
        ),
        (
            r#"{"/a~b": null}"#,
            DecisionField::Pointer("/~1a~0b".to_owned()),
        ),
    ] {
        let folder = project();
        let (ended, _) = run(&pipeline(folder.path(), output), None);
        assert_eq!(ended.expect("written"), Exit::Passed);
        assert_eq!(load(folder.path()).decision_field, field);
        assert!(!folder.path().join("kelvin").exists());
    }
}

#[test]
fn among_several_fields_the_person_chooses() {
    let folder = project();
    let output = r#"{"score": 0.5, "verdict": "yes", "why": ["a"]}"#;
    let request = Request {
        probe: false,
        governing_types: Vec::new(),
        ..pipeline(folder.path(), output)
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(true),
        One(1),
        Several(&[1]),
        Yes(false),
        Yes(false),
    ]);
    assert_eq!(
        run(&request, Some(&script)).0.expect("written"),
        Exit::Passed
    );
    assert_eq!(load(folder.path()).decision_field.as_str(), "verdict");

    let folder = project();
    let error = run(&pipeline(folder.path(), output), None)
        .0
        .expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    assert!(
        error.to_string().contains("score = 0.5, verdict = \"yes\""),
        "{error}"
    );
    assert!(error.to_string().contains("--decision-field"), "{error}");
}

#[test]
fn kel_25_a_list_or_an_object_is_refused_in_the_words_of_check() {
    for (output, found) in [
        (r#"{"decision": ["a", "b"]}"#, "a list of 2"),
        (r#"{"decision": {"a": 1}}"#, "an object with 1 field"),
    ] {
        let folder = project();
        let unnamed = pipeline(folder.path(), output);
        let named = Request {
            decision_field: Some("decision".to_owned()),
            ..unnamed.clone()
        };
        for (request, said) in [
            (
                named,
                "the first baseline, of case `a`, has no usable decision",
            ),
            (unnamed, "no field of the output can be the decision"),
        ] {
            let error = run(&request, None).0.expect_err("refused");
            assert_eq!(Exit::of(&error), Exit::Unmeasurable, "{error:#}");
            let text = format!("{error:#}");
            assert!(text.contains(said) && text.contains(found), "{text}");
            assert!(!folder.path().join("kelvin.yaml").exists());
        }
    }
}

#[test]
fn kel_26_a_field_that_is_not_there_is_refused_with_those_that_are() {
    let folder = project();
    let request = Request {
        decision_field: Some("decison".to_owned()),
        ..pipeline(folder.path(), r#"{"decision": "yes"}"#)
    };
    let error = run(&request, None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Unmeasurable);
    assert!(format!("{error:#}").contains("decision"), "{error:#}");
}

#[test]
fn a_pipeline_that_fails_says_why_and_the_person_names_the_field() {
    let folder = project();
    let broken = Request {
        run: Some("sh -c 'echo no model >&2; exit 4' {input} {output}".to_owned()),
        ..pipeline(folder.path(), "{}")
    };
    let error = run(&broken, None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Unmeasurable);
    assert!(format!("{error:#}").contains("no model"), "{error:#}");
    assert!(!folder.path().join("kelvin.yaml").exists());

    let asked = Request {
        probe: false,
        ..broken
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(true),
        Text("answer"),
        Yes(false),
        Yes(false),
    ]);
    let (ended, said) = run(&asked, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert!(said.contains("no model"), "{said}");
    assert_eq!(load(folder.path()).decision_field.as_str(), "answer");
}

#[test]
fn nothing_is_run_unless_it_is_wanted() {
    let folder = project();
    let request = Request {
        run: Some("touch ran {input} {output}".to_owned()),
        ..request(folder.path())
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(false),
        Text("d"),
        Several(&[1]),
        Yes(false),
        Yes(false),
    ]);
    assert_eq!(
        run(&request, Some(&script)).0.expect("written"),
        Exit::Passed
    );
    assert!(!folder.path().join("ran").exists());
}
