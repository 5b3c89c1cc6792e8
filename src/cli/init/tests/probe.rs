//! A look at the output of a real pipeline.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::path::Path;

use super::ScriptedAnswer::{Default, One, Several, Stop, Text, Yes};
use super::{Script, complete, load, project, request, run};
use crate::cli::init::Request;
use kelvin_base::exit::Exit;
use kelvin_probe::DecisionField;

/// A pipeline that writes this, and the request to look at it.
fn pipeline(folder: &Path, output: &str) -> Request {
    fs::write(folder.join("answer.json"), output).expect("written");
    let script = "test -s \"$1\" && cp answer.json \"$2\"\n";
    fs::write(folder.join("pipeline.sh"), script).expect("written");
    Request {
        run: Some("sh pipeline.sh {input} {output}".to_owned()),
        decision_field: None,
        probe: Some(true),
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
        probe: None,
        governing_types: Vec::new(),
        ..pipeline(folder.path(), output)
    };
    let script = Script::of(&[Text("cases"), Yes(true), One(1), Several(&[1]), Yes(false)]);
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
fn kel_25_a_list_of_lists_and_a_whole_object_are_refused_in_the_words_of_check() {
    let mut told = Vec::new();
    for output in [r#"{"decision": [["a"], "b"]}"#, r#"{"decision": {"a": 1}}"#] {
        let folder = project();
        let unnamed = pipeline(folder.path(), output);
        let named = Request {
            decision_field: Some("decision".to_owned()),
            ..unnamed.clone()
        };
        let mut refused = vec![named];
        // What lies in an object is found, and a list has no place that is always there.
        if output.contains('[') {
            refused.push(unnamed);
        } else {
            let (ended, _) = run(&unnamed, None);
            assert_eq!(ended.expect("written"), Exit::Passed);
            assert_eq!(load(folder.path()).decision_field.as_str(), "/decision/a");
            fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
        }
        for request in refused {
            let error = run(&request, None).0.expect_err("refused");
            assert_eq!(Exit::of(&error), Exit::Unmeasurable, "{error:#}");
            told.push(redacted(&format!("{error:#}")));
            assert!(!folder.path().join("kelvin.yaml").exists());
        }
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the first baseline, of case `a`, has no usable decision: the decision in `decision` is a list of 2, not a string, number, boolean or null
      help: set `decision_field` in `[TEMP]/kelvin.yaml` to a field whose value the scorer can compare; nothing else was run
    no field of the output can be the decision: `decision` is a list of 2, not a string, number, boolean or null
      help: let the pipeline write its decision as a string, a number, a boolean, null or a list of them
    the first baseline, of case `a`, has no usable decision: the decision in `decision` is an object with 1 fields, not a string, number, boolean or null
      help: set `decision_field` in `[TEMP]/kelvin.yaml` to a field whose value the scorer can compare; nothing else was run
    ");
}

#[test]
fn the_field_that_has_the_label_of_the_case_is_the_decision() {
    for (label, output, wanted) in [
        (
            r#"["low", "high"]"#,
            r#"{"blocked": true, "labels": ["high", "low"]}"#,
            "labels",
        ),
        (r#""yes""#, r#"{"score": 0.5, "verdict": "yes"}"#, "verdict"),
        // Nothing has the label, so that the only field that fits is the decision.
        (r#""no""#, r#"{"verdict": "yes"}"#, "verdict"),
    ] {
        let folder = project();
        let rows = ["a", "b"].map(|id| {
            format!("{{\"id\": \"{id}\", \"gate_rule\": \"If {id}.\", \"expected\": {label}}}\n")
        });
        fs::write(folder.path().join("posts.jsonl"), rows.concat()).expect("written");
        let request = Request {
            cases: Some("posts.jsonl".to_owned()),
            decision_field: None,
            ..pipeline(folder.path(), output)
        };
        let (ended, said) = run(&request, None);
        ended.expect("written");
        assert_eq!(load(folder.path()).decision_field.as_str(), wanted);
        let names_the_label = said.contains("which has what the case is labelled with");
        assert_eq!(names_the_label, !label.contains("no"), "{said}");
    }
}

#[test]
fn the_labels_of_a_tagger_are_a_decision_that_is_compared_as_a_set() {
    let tags = r#"{"tags": ["remote", "junior"]}"#;
    let beside = r#"{"note": "two", "tags": ["remote", "junior"]}"#;
    for (output, named, wanted) in [
        (tags, None, Some("tags")),
        (tags, Some("tags"), Some("tags")),
        (beside, Some("tags"), Some("tags")),
        // A list beside a decision is as a rule what it rests on.
        (beside, None, None),
    ] {
        let folder = project();
        let request = Request {
            decision_field: named.map(str::to_owned),
            ..pipeline(folder.path(), output)
        };
        run(&request, None).0.expect("written");
        let settings = load(folder.path());
        let text = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("written");
        assert_eq!(settings.decision_field.as_str(), wanted.unwrap_or("note"));
        assert_eq!(text.contains("\nscorer: set\n"), wanted.is_some(), "{text}");
        assert_eq!(text.contains("# scorer: exact"), wanted.is_none(), "{text}");
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
    insta::assert_snapshot!(format!("{error:#}"), @"
    the pipeline failed on case `a`: it ended with exit code 4
    no model
    ");
    assert!(!folder.path().join("kelvin.yaml").exists());

    let asked = Request {
        probe: None,
        ..broken
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(true),
        // Once more, which fails as well, and then without an output.
        Yes(true),
        Yes(false),
        Text("answer"),
        Yes(false),
    ]);
    let (ended, said) = run(&asked, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(redacted(&said), @r"
    2 cases with 3 types of units
    running the pipeline on case `a`, for at most 150 s
    case `a`: exit code 4, [SECONDS] s
    it failed: it ended with exit code 4
    it printed on standard error:
      no model
    running the pipeline on case `a`, for at most 150 s
    case `a`: exit code 4, [SECONDS] s
    it failed: it ended with exit code 4
    it printed on standard error:
      no model
    no change is seen that makes the pipeline forget `facts`, `gate_rule`, `history`: if the decision rests on one of them, add it to `governing_types`
    wrote [TEMP]/kelvin.yaml
    next: kelvin check --config=[TEMP]/kelvin.yaml
    ");
    assert_eq!(load(folder.path()).decision_field.as_str(), "answer");
}

#[test]
fn nothing_is_run_unless_it_is_wanted() {
    let folder = project();
    let request = Request {
        run: Some("touch ran {input} {output}".to_owned()),
        ..request(folder.path())
    };
    let script = Script::of(&[Text("cases"), Yes(false), Text("d"), Several(&[1])]);
    assert_eq!(
        run(&request, Some(&script)).0.expect("written"),
        Exit::Passed
    );
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_field_is_chosen_among_all_where_none_is_obvious_and_told_where_one_is() {
    let folder = project();
    let output = r#"{"id": 1, "result": {"verdict": "approve", "score": 0.5}}"#;
    let request = Request {
        probe: None,
        governing_types: Vec::new(),
        ..pipeline(folder.path(), output)
    };
    let script = Script::of(&[Text("cases"), Default, Text("9"), One(1), Default, Stop]);
    let (ended, said) = run(&request, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(redacted(&lines_with(&said, &["case `a`: "])), @"case `a`: exit code 0, [SECONDS] s");
    assert!(said.contains("    \"verdict\": \"approve\""), "{said}");
    let shown = script.shown.borrow();
    assert_eq!(
        shown[..3],
        [
            "  1. id              1",
            "  2. result.score    0.5",
            "  3. result.verdict  \"approve\"",
        ]
    );
    assert_eq!(
        script.complaints.borrow()[..],
        ["type a number from 1 to 3"]
    );
    let config = load(folder.path());
    assert_eq!(config.decision_field.as_str(), "/result/score");
    assert_eq!(config.governing_types, ["gate_rule"]);

    // What the trial shows beyond doubt is not asked.
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let clear = pipeline(folder.path(), r#"{"id": 1, "decision": "approve"}"#);
    let script = Script::of(&[Text("cases"), Yes(false)]);
    let (ended, said) = run(&clear, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(lines_with(&said, &["`decision`"]), @"the decision is `decision` (`--decision-field` names another)");
}

#[test]
fn a_pipeline_that_prints_its_answer_gets_a_command_that_writes_it() {
    let folder = project();
    fs::write(folder.path().join("p.sh"), "echo '{\"decision\": 1}'\n").expect("written");
    let request = Request {
        run: Some("sh p.sh {input} {output}".to_owned()),
        probe: None,
        ..complete(folder.path())
    };
    let asked = Request {
        decision_field: None,
        ..request.clone()
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(true),
        // The command that writes the answer.
        Default,
        Yes(false),
    ]);
    let (ended, said) = run(&asked, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(lines_with(&said, &["p.sh"]), @"  sh p.sh {input} > {output}");
    let config = load(folder.path());
    assert_eq!(config.run.text(), "sh p.sh {input} > {output}");
    assert_eq!(config.decision_field.as_str(), "decision");

    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let alone = Request { yes: true, ..asked };
    let error = run(&alone, None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    insta::assert_snapshot!(error.to_string(), @"
    the pipeline failed on case `a`: it ended with exit code 0, but wrote no output file
      help: it printed its answer, and kelvin reads the file `{output}`: let the command be `sh p.sh {input} > {output}`
    ");
}

#[test]
fn with_yes_a_run_finds_the_decision_and_what_is_not_known_is_named_with_an_example() {
    let folder = project();
    let output = r#"{"result": {"decision": "approve", "score": 1}}"#;
    let request = Request {
        probe: None,
        yes: true,
        governing_types: Vec::new(),
        ..pipeline(folder.path(), output)
    };
    let (ended, said) = run(&request, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    insta::assert_snapshot!(lines_with(&said, &["`/result/decision`", "`--governing-type`"]), @"
    the decision is `/result/decision` (`--decision-field` names another)
    the decision is to be governed by: gate_rule (`--governing-type` names others)
    ");
    let config = load(folder.path());
    assert_eq!(config.decision_field.as_str(), "/result/decision");
    assert_eq!(config.governing_types, ["gate_rule"]);
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");

    let unknown = Request {
        run: None,
        ..request.clone()
    };
    let error = run(&unknown, None).0.expect_err("refused").to_string();
    let example = "`--run 'python3 pipeline.py {input} {output}'`";
    assert!(
        error.contains(example) && !error.contains("--governing"),
        "{error}"
    );

    let unseen = Request {
        probe: Some(false),
        ..request.clone()
    };
    let error = run(&unseen, None).0.expect_err("refused").to_string();
    assert!(error.contains("`--decision-field decision`"), "{error}");

    for name in ["a.md", "b.md"] {
        let path = folder.path().join("cases").join(name);
        let text = fs::read_to_string(&path).expect("read");
        let text = text
            .replace("Gate Rule", "It's odd")
            .replace("Gate rule", "It's odd");
        fs::write(&path, text).expect("written");
    }
    let error = run(&request, None).0.expect_err("refused").to_string();
    assert!(error.contains("`facts`, `history`, `it's_odd`"), "{error}");
    assert!(error.contains("`--governing-type TYPE`"), "{error}");
    // Whoever names the field with the right answer gives it to the pipeline.
    assert!(error.contains("`records: {expected: FIELD}`"), "{error}");
}

#[test]
fn a_pipeline_that_takes_the_path_for_the_text_is_told_so() {
    let mut told = Vec::new();
    for (script, is_told) in [
        (
            r#"printf '{"decision": "no answer to %s"}' "$1" > "$2""#,
            true,
        ),
        (
            r#"printf '{"decision": "a", "q": {"text": ["%s"]}}' "$1" > "$2""#,
            true,
        ),
        (
            r#"printf '{"decision": "%s"}' "$(head -c 3 "$1")" > "$2""#,
            false,
        ),
    ] {
        let folder = project();
        let request = pipeline(folder.path(), "{}");
        fs::write(folder.path().join("pipeline.sh"), script).expect("written");
        let (ended, said) = run(&request, None);
        assert_eq!(ended.expect("written"), Exit::Passed);
        let mark = "`{input}`";
        assert_eq!(said.contains(mark), is_told, "{script}: {said}");
        if is_told {
            told.push(lines_with(&said, &[mark]));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @"
    The output contains the path of its input: does the pipeline read the file, or take the path for the text? `{input}` stands for the path of a file.
    The output contains the path of its input: does the pipeline read the file, or take the path for the text? `{input}` stands for the path of a file.
    ");
}

#[test]
fn an_empty_line_runs_a_pipeline_that_fails_only_once_more() {
    let folder = project();
    fs::write(
        folder.path().join("pipeline.sh"),
        "echo run >> runs; exit 1\n",
    )
    .expect("written");
    let request = Request {
        probe: None,
        governing_types: Vec::new(),
        run: Some("sh pipeline.sh {input} {output}".to_owned()),
        decision_field: None,
        ..complete(folder.path())
    };
    let script = Script::of(&[
        Text("cases"),
        Yes(true),
        Default,
        Default,
        Text("decision"),
        Several(&[1]),
        Yes(false),
    ]);
    let (ended, _) = run(&request, Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    let runs = fs::read_to_string(folder.path().join("runs")).expect("it ran");
    assert_eq!(runs.lines().count(), 2);
    assert_eq!(script.defaults.borrow()[1..4], ["yes", "yes", "no"]);
}

#[test]
fn an_address_is_written_as_a_service_and_not_as_a_command() {
    let folder = project();
    let address = "http://127.0.0.1:8000/ask";
    let request = Request {
        run: Some(address.to_owned()),
        ..complete(folder.path())
    };
    let (ended, _) = run(&request, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    let text = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("written");
    let lines = lines_with(&text, &["run: ", "# The service"]);
    insta::assert_snapshot!(lines, @r#"
    # The service that is sent each case as {"input": ...}, by POST, and answers with JSON. `body`, `decision` and more
    run: {http: {url: "http://127.0.0.1:8000/ask"}}
    "#);
    let target = load(folder.path()).run;
    assert!(target.text().contains(address) && target.command_line().is_none());

    // What cannot be read is told without a place in a file that was never written.
    let folder = project();
    let request = Request {
        run: Some("python3 app.py".to_owned()),
        ..complete(folder.path())
    };
    let error = run(&request, None).0.expect_err("it has no input");
    let text = format!("{error:#}");
    assert!(
        text.contains("`{input}`") && !text.contains("kelvin.yaml"),
        "{text}"
    );
}
