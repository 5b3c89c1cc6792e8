//! Which answers are grades, and which are not.

use serde_json::{Value, json};

use crate::judge::settings::tests_only::opened;
use kelvin_base::failure::{Failure, FailureKind};

/// What a judge reads of an answer: the score and the notes.
fn read_by(settings: &Value, answer: &str) -> Result<(f64, String), Failure> {
    let judge = opened(settings);
    let read = judge.seats()[0].read(answer.as_bytes())?;
    let (score, notes) = crate::judge::seat::score(&read).expect("it has a score");
    Ok((score, notes.to_owned()))
}

fn read(answer: &str) -> Result<(f64, String), Failure> {
    read_by(&json!({ "type": "llm", "model": "chat" }), answer)
}

fn score(answer: &str) -> f64 {
    read(answer)
        .unwrap_or_else(|failure| panic!("{answer}: {}", failure.message))
        .0
}

fn refused(answer: &str, kind: &FailureKind) {
    match read(answer) {
        Ok((score, _)) => panic!("{answer} was read as {score}"),
        Err(failure) => assert_eq!(failure.kind, *kind, "{answer}: {}", failure.message),
    }
}

#[test]
fn a_plain_object_is_read() {
    assert_eq!(score(r#"{"quality_score": 0.5, "notes": "so so"}"#), 0.5);
    assert_eq!(score(r#"{"quality_score": 0}"#), 0.0);
    assert_eq!(score(r#"{"quality_score": 1}"#), 1.0);
    assert_eq!(score(r#"{"quality_score": 1.0, "more": {"a": [1]}}"#), 1.0);
    assert!(score(r#"{"quality_score": -0.0}"#).is_sign_positive());
}

#[test]
fn jdg_09_a_fenced_block_and_prose_around_one_object_are_tolerated() {
    let object = r#"{"quality_score": 0.25}"#;
    for answer in [
        format!("```json\n{object}\n```"),
        format!("```\n{object}\n```\n"),
        format!("Here is my grade:\n\n{object}\n\nI hope that it helps."),
        format!("\n\n  {object}"),
        format!("The score is 0.9, or rather: {object}"),
    ] {
        assert_eq!(score(&answer), 0.25, "{answer}");
    }
}

#[test]
fn jdg_09_a_number_in_prose_is_no_grade() {
    for answer in [
        "0.9",
        "Score: 0.9",
        "I would say 9/10.",
        "quality_score: 0.9",
        "1",
    ] {
        refused(answer, &FailureKind::GradeUnreadable);
    }
}

#[test]
fn jdg_01_a_score_that_is_out_of_range_or_of_another_type_is_an_error() {
    for value in [
        "1.0000001",
        "-0.1",
        "1.1",
        "2",
        "10",
        "-1e-300",
        "1e300",
        "\"0.9\"",
        "\"A\"",
        "true",
        "false",
        "null",
        "[0.5]",
        "{\"value\": 0.5}",
        "{}",
    ] {
        // A brace within the object is no second object.
        refused(
            &format!("{{\"quality_score\": {value}}}"),
            &FailureKind::GradeInvalid,
        );
    }
}

#[test]
fn jdg_10_a_missing_score_is_an_error_and_not_0() {
    for answer in [
        "{}",
        r#"{"notes": "good"}"#,
        r#"{"score": 0.9}"#,
        r#"{"Quality_Score": 0.9}"#,
        r#"{"quality_score ": 0.9}"#,
        r#"{"result": {"quality_score": 0.9}}"#,
    ] {
        refused(answer, &FailureKind::GradeMissing);
    }
}

#[test]
fn what_is_no_json_object_is_an_error() {
    for answer in [
        "",
        "  \n",
        "no",
        "[0.5]",
        "\"0.5\"",
        "null",
        r#"{"quality_score": NaN}"#,
        r#"{"quality_score": Infinity}"#,
        r#"{"quality_score": 1e999}"#,
        r#"{"quality_score": .5}"#,
        r#"{"quality_score": 0.5"#,
        r#"{"quality_score": 0.5,}"#,
        "{'quality_score': 0.5}",
        r#"{quality_score: 0.5}"#,
        r#"[{"quality_score": 0.5}]"#,
        r#"{{"quality_score": 0.5}}"#,
        r#""{"quality_score": 0.5}""#,
        "```json\n[{\"quality_score\": 0.5}]\n```",
        // A broken object does not hand over to one that stands within it.
        r#"{"notes": oops {"quality_score": 1}"#,
        r#"{a} {"quality_score": 1}"#,
    ] {
        refused(answer, &FailureKind::GradeUnreadable);
    }
    let deep = format!(
        "{{\"quality_score\": {}1{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    refused(&deep, &FailureKind::GradeUnreadable);
    let judge = opened(&json!({ "type": "llm", "model": "chat" }));
    let failure = judge.seats()[0].read(b"{\"quality_score\": 0.5, \"notes\": \"\xff\"}");
    assert_eq!(
        failure.expect_err("no UTF-8").kind,
        FailureKind::GradeUnreadable
    );
}

#[test]
fn two_objects_are_an_error_whatever_they_say() {
    for answer in [
        r#"{"quality_score": 0.1} {"quality_score": 1}"#,
        r#"{"quality_score": 0.5}{"quality_score": 0.5}"#,
        "The text says {\"quality_score\": 1}. My grade:\n```json\n{\"quality_score\": 0.1}\n```",
        r#"{"quality_score": 0.5} {}"#,
        r#"{"quality_score": 0.5} and {braces"#,
        r#"{"quality_score": 0.1, "quality_score": 1}"#,
        r#"{"quality_score": 0.1, "notes": "a", "notes": "b"}"#,
    ] {
        refused(answer, &FailureKind::GradeAmbiguous);
    }
}

#[test]
fn jdg_11_notes_are_optional() {
    let notes = |answer: &str| read(answer).expect("it is read").1;
    assert_eq!(notes(r#"{"quality_score": 0.5, "notes": " why "}"#), "why");
    assert_eq!(notes(r#"{"quality_score": 0.5}"#), "");
    assert_eq!(notes(r#"{"quality_score": 0.5, "notes": null}"#), "");
    assert_eq!(notes(r#"{"quality_score": 0.5, "notes": ["a"]}"#), "");
    // Braces and quotes within a text are no part of the object.
    let quoted = r#"{"quality_score": 0.5, "notes": "it says {\"quality_score\": 1}"}"#;
    assert_eq!(read(quoted).expect("it is read").0, 0.5);
    let long = format!(
        r#"{{"quality_score": 0.5, "notes": "{}"}}"#,
        "ä".repeat(9000)
    );
    assert_eq!(notes(&long).chars().count(), 2000);
}

#[test]
fn two_megabytes_of_text_are_read_or_refused_and_no_trouble() {
    let padding = "word ".repeat(400_000);
    assert_eq!(
        score(&format!("{padding}{{\"quality_score\": 0.5}}{padding}")),
        0.5
    );
    refused(&padding, &FailureKind::GradeUnreadable);
    refused(&"{".repeat(2_000_000), &FailureKind::GradeUnreadable);
    refused(&"{\"a\":".repeat(400_000), &FailureKind::GradeUnreadable);
    let failure = read(&padding).expect_err("no object");
    assert!(failure.message.len() < 200, "{}", failure.message);
}

#[test]
fn a_choice_is_one_of_the_words_and_has_its_score() {
    let settings =
        json!({ "type": "llm", "model": "chat", "choices": { "A": 1, "B": 0.5, "C": 0 } });
    let read = |answer: &str| read_by(&settings, answer);
    assert_eq!(read(r#"{"choice": "A"}"#).expect("read").0, 1.0);
    assert_eq!(
        read(r#"{"choice": " B ", "notes": "n"}"#),
        Ok((0.5, "n".to_owned()))
    );
    assert_eq!(
        read("```json\n{\"choice\": \"C\"}\n```").expect("read").0,
        0.0
    );
    // Capitals make no other word.
    assert_eq!(read(r#"{"choice": "a"}"#).expect("read").0, 1.0);
    let refused = |answer: &str| read(answer).expect_err("refused").kind;
    for answer in [
        r#"{"choice": "D"}"#,
        r#"{"choice": ""}"#,
        r#"{"choice": "A or B"}"#,
        r#"{"choice": ["A"]}"#,
        r#"{"choice": 1}"#,
        r#"{"choice": null}"#,
    ] {
        assert_eq!(refused(answer), FailureKind::GradeInvalid, "{answer}");
    }
    assert_eq!(
        refused(r#"{"quality_score": 1}"#),
        FailureKind::GradeMissing
    );
    assert_eq!(refused("A"), FailureKind::GradeUnreadable);
}

#[test]
fn the_smallest_form_of_an_answer_has_the_same_score_and_notes() {
    let number = json!({ "type": "llm", "model": "chat" });
    let choices = json!({ "type": "llm", "model": "chat", "choices": { "A": 1, "B": 0.3 } });
    let answers = [
        (&number, r#"{"quality_score": 0.1, "notes": "x {\"y\"}"}"#),
        (&number, r#"{"quality_score": 0.30000000000000004}"#),
        (&choices, r#"{"choice": "B", "notes": "n"}"#),
    ];
    for (settings, answer) in answers {
        let judge = opened(settings);
        let seat = judge.seats()[0];
        let read = seat.read(answer.as_bytes()).expect("it is read");
        assert_eq!(seat.read(&seat.smallest(&read)), Ok(read), "{answer}");
    }
}

#[test]
fn judges_that_read_an_answer_in_other_ways_share_no_stored_answers() {
    let digest = |more: Value| opened(&more).seats()[0].digest();
    let number = digest(json!({ "type": "llm", "model": "chat" }));
    let choices = digest(json!({ "type": "llm", "model": "chat", "choices": { "A": 1, "B": 0 } }));
    let others = digest(json!({ "type": "llm", "model": "chat", "choices": { "A": 1, "B": 0.5 } }));
    let vectors = digest(json!({ "type": "embedding_similarity", "model": "vectors" }));
    assert!(number != choices && choices != others && number != vectors);
}
