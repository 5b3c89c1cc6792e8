use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use kelvin_base::failure::FailureKind;

fn header(pipeline: &str, limits: &str) -> Header {
    Header {
        kelvin_journal: VERSION,
        pipeline: Digest::of(pipeline.as_bytes()),
        limits: Digest::of(limits.as_bytes()),
        basis: JournalBasis::of([("the command", pipeline.to_owned())], BTreeMap::new()),
        variables: BTreeMap::new(),
    }
}

fn task(case: &str) -> Task {
    Task {
        case: case.into(),
        variant: Some("swap-01".into()),
        repeat: 1,
    }
}

fn outcome(result: Result<Value, FailureKind>) -> Outcome {
    Outcome {
        result: result.map_err(|kind| {
            Box::new(Failure {
                kind,
                message: "why".to_owned(),
                stderr: "é\n\"".to_owned(),
                stdout: String::new(),
            })
        }),
        exit: Some(0),
        streams: None,
        source: AnswerSource::Called,
        attempts: 2,
        seconds: 0.5,
        is_first: true,
        usage: None,
        served: Some("a-model-2026".into()),
        observed: None,
    }
}

fn key() -> Digest {
    Digest::of(b"input")
}

fn begin(path: &Path, pipeline: &str, limits: &str) -> Journal {
    Journal::open(path, &header(pipeline, limits), LeftByEarlier::default()).expect("opened")
}

fn resume(path: &Path, pipeline: &str, limits: &str) -> Journal {
    let header = header(pipeline, limits);
    let left = LeftByEarlier::load(path, &header).expect("read");
    Journal::open(path, &header, left).expect("opened")
}

fn written(path: &Path) {
    let journal = begin(path, "p", "l");
    let done = [
        ("null", Ok(json!(null))),
        ("text", Ok(json!("go"))),
        ("exit", Err(FailureKind::Exit(9))),
    ];
    for (case, result) in done {
        journal
            .note(&task(case), &key(), &outcome(result))
            .expect("noted");
    }
}

#[test]
fn p6_what_was_noted_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    written(&path);
    let journal = resume(&path, "p", "l");
    assert_eq!(journal.known.len(), 3);
    let null = journal.find(&task("null"), &key()).expect("known");
    assert_eq!(null.result, Ok(json!(null)));
    assert_eq!(
        (null.source, null.attempts, null.seconds),
        (AnswerSource::Resumed, 2, 0.5)
    );
    let exit = journal.find(&task("exit"), &key()).expect("known");
    assert_eq!(exit.result, outcome(Err(FailureKind::Exit(9))).result);
    assert!(journal.find(&task("text"), &Digest::of(b"other")).is_none());
    assert!(journal.find(&task("other"), &key()).is_none());
}

#[test]
fn p6_a_torn_last_line_is_cut_off_and_the_journal_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    written(&path);
    let whole = fs::read(&path).expect("read");
    for cut in 1..=whole.len() {
        fs::write(&path, &whole[..cut]).expect("written");
        let known = resume(&path, "p", "l").known.len();
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(known, lines.saturating_sub(1), "cut at {cut}");
    }
    fs::write(&path, &whole[..whole.len() - 5]).expect("written");
    let journal = resume(&path, "p", "l");
    journal
        .note(&task("new"), &key(), &outcome(Ok(json!(1))))
        .expect("noted");
    let journal = resume(&path, "p", "l");
    assert!(journal.find(&task("new"), &key()).is_some());
    assert_eq!(journal.known.len(), 3);
}

#[test]
fn nothing_is_taken_from_another_pipeline_and_no_failure_from_other_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    written(&path);
    let journal = resume(&path, "p", "other");
    assert_eq!(journal.known.len(), 2);
    let failed = outcome(Err(FailureKind::Exit(7)));
    journal.note(&task("exit"), &key(), &failed).expect("noted");
    let journal = resume(&path, "p", "other");
    let exit = journal
        .find(&task("exit"), &key())
        .expect("of these limits");
    assert_eq!(exit.result, failed.result);
    let before = fs::read(&path).expect("read");
    let refused =
        LeftByEarlier::load(&path, &header("other", "l")).expect_err("it is of another pipeline");
    let refused = refused.to_string();
    insta::assert_snapshot!(refused, @"
    the earlier run cannot be resumed: since then this has changed: the command; the earlier run has 4 finished calls
      help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
    ");
    assert_eq!(fs::read(&path).expect("read"), before, "nothing is lost");
    assert_eq!(resume(&path, "p", "l").known.len(), 3);
    assert_eq!(begin(&path, "p", "l").known.len(), 0);
    for garbage in [&b""[..], b"\n", b"\xff\xfe", b"{}\n{}\n"] {
        fs::write(&path, garbage).expect("written");
        assert_eq!(resume(&path, "p", "l").known.len(), 0);
    }
}

#[test]
fn only_whole_lines_with_an_answer_count() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(so_far(folder.path()), None);
    let text = "{\"kelvin_journal\":3}\n{\"case\":\"a\"}\n{\"made\":{}}\n{\"case\":\"b\"}\n{\"cas";
    std::fs::write(tree::journal_of(folder.path()), text).expect("written");
    let (answers, _) = so_far(folder.path()).expect("there is a journal");
    assert_eq!(answers, 2);
}
