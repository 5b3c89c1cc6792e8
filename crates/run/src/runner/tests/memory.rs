//! What is not asked twice.

use super::*;

fn cached(script: &str) -> Bench {
    Bench::with(&format!("echo x >> calls\n{script}"), "cache: true\n")
}

#[test]
fn p9_the_cache_answers_for_the_same_input_command_and_code_alone() {
    let mut bench = cached(ECHO);
    let (first, _) = bench.run(&tasks(5));
    let (second, cost) = bench.run(&tasks(5));
    assert_eq!(bench.calls(), 5);
    assert_eq!((cost.invocations, cost.cache_hits), (0, 5));
    assert_eq!(decisions(&first), decisions(&second));
    // The folder is the same as after a call.
    assert_eq!(
        bench.read("kelvin/case-004/baseline/output.json"),
        "{\"decision\": \"case-004/baseline\"}"
    );
    assert!(!bench.read("kelvin/case-004/baseline/input.md").is_empty());
    assert!(
        second
            .iter()
            .flatten()
            .all(|outcome| outcome.source == AnswerSource::Cached)
    );

    bench.fingerprint = Some(Digest::of(b"other code"));
    assert_eq!(bench.run(&tasks(5)).1.cache_hits, 0);
    bench.fingerprint = Some(Digest::of(b"code"));
    bench.again();
    assert_eq!(bench.run(&tasks(5)).1.cache_hits, 0);
    // Beside the five inputs of before there are two new ones.
    assert_eq!(bench.run(&tasks(7)).1.cache_hits, 5);
}

#[test]
fn a_repeat_and_a_failure_are_never_cached() {
    let bench = cached(&format!(
        "case $(cat \"$1\") in *case-001*) exit 4;; esac\n{ECHO}"
    ));
    let mut tasks = tasks(2);
    tasks.push(Task {
        repeat: 2,
        ..tasks[0].clone()
    });
    bench.run(&tasks);
    let (outcomes, cost) = bench.run(&tasks);
    assert_eq!((cost.invocations, cost.cache_hits), (2, 1));
    assert!(
        outcomes[1]
            .as_ref()
            .is_some_and(|outcome| outcome.result.is_err())
    );
}

#[test]
fn of_a_large_output_only_the_decision_is_kept() {
    let bench = cached(
        "printf '{\"decision\": 5, \"trace\": \"' > \"$2\"\n\
         head -c 100000 /dev/zero | tr '\\0' x >> \"$2\"; printf '\"}' >> \"$2\"",
    );
    bench.run(&tasks(1));
    let (outcomes, cost) = bench.run(&tasks(1));
    assert_eq!(cost.cache_hits, 1);
    assert_eq!(decisions(&outcomes), [Some(json!(5))]);
    assert_eq!(
        bench.read("kelvin/case-000/baseline/output.json"),
        "{\"decision\":5}"
    );
}

#[test]
fn without_a_fingerprint_nothing_is_cached_or_resumed_and_that_is_told() {
    let mut bench = cached(ECHO);
    bench.fingerprint = None;
    bench.run(&tasks(2));
    let out = bench.out();
    let runner = bench.open(&out, Start::Resume, &Silent);
    runner
        .run_all("tests", &tasks(2), &|_| "x".into())
        .expect("run");
    assert_eq!(bench.calls(), 4);
    let told: Vec<_> = runner
        .notices()
        .into_iter()
        .map(|notice| notice.text)
        .collect();
    assert_eq!(told.len(), 2);
    assert!(
        told.iter().all(|text| text.contains("`fingerprint`")),
        "{told:?}"
    );
}

#[test]
fn p6_a_resumed_run_repeats_nothing_that_has_finished() {
    let script = format!(
        "echo x >> calls\ncase $(cat \"$1\") in *case-001*) echo no >&2; exit 4;; esac\n{ECHO}"
    );
    let bench = Bench::new(&script);
    let tasks = tasks(6);
    let (whole, _) = bench.run(&tasks);
    // A run that was cut off after four, with a half-written line and a half-made folder.
    bench.run(&tasks[..4]);
    let journal = bench.path("kelvin/.journal.jsonl");
    let mut bytes = fs::read(&journal).expect("there");
    bytes.extend_from_slice(b"{\"key\":\"01");
    fs::write(&journal, bytes).expect("written");
    fs::create_dir_all(bench.path("kelvin/case-004/baseline")).expect("made");
    fs::write(
        bench.path("kelvin/case-004/baseline/output.json"),
        "{\"decision\": 666}",
    )
    .expect("written");
    fs::write(bench.path("kelvin/report.json"), "{}").expect("written");
    let before = bench.calls();

    let (resumed, cost) = bench.start(Start::Resume, &tasks);
    assert_eq!(bench.calls() - before, 2);
    assert_eq!((cost.invocations, cost.resumed), (2, 4));
    let results = |outcomes: &[Option<Outcome>]| -> Vec<_> {
        outcomes
            .iter()
            .map(|outcome| outcome.clone().expect("done").result)
            .collect()
    };
    assert_eq!(results(&resumed), results(&whole), "failures included");
    assert!(
        !bench.path("kelvin/report.json").exists(),
        "no report of another run"
    );
    for n in [0, 2, 3, 4, 5] {
        let output = bench.read(&format!("kelvin/case-{n:03}/baseline/output.json"));
        assert!(output.contains(&format!("case-{n:03}")), "{output}");
    }
    // And once more, with nothing left to do.
    assert_eq!(bench.start(Start::Resume, &tasks).1.resumed, 6);
}

#[test]
fn p6_nothing_is_resumed_for_other_code_or_another_command() {
    let mut bench = Bench::new(ECHO);
    bench.run(&tasks(2));
    bench.fingerprint = Some(Digest::of(b"other code"));
    let refused = |bench: &Bench| {
        let refused = bench.try_open(&bench.out(), Start::Resume, &Silent).err();
        refused.expect("it is refused").to_string()
    };
    let told = refused(&bench);
    insta::assert_snapshot!(told, @"
    the earlier run cannot be resumed: since then this has changed: the code of the pipeline; the earlier run has 2 finished calls
      help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
    ");
    assert!(
        bench.path("kelvin/case-000").exists(),
        "nothing is thrown away"
    );
    bench.again();
    assert_eq!(bench.start(Start::Fresh, &tasks(2)).1.invocations, 2);
    let out = bench.out();
    drop(bench.open(&out, Start::Resume, &Silent));
    assert_eq!(bench.start(Start::Resume, &tasks(2)).1.resumed, 2);
}

#[test]
fn p6_an_edited_input_is_run_again() {
    let bench = Bench::new(ECHO);
    bench.run(&tasks(2));
    let out = bench.out();
    let runner = bench.open(&out, Start::Resume, &Silent);
    let text = |task: &Task| match &*task.case {
        "case-000" => Cow::Borrowed("edited"),
        _ => Cow::Owned(format!("{task}\n")),
    };
    let done = runner.run_all("tests", &tasks(2), &text).expect("run");
    assert_eq!(
        decisions(&done),
        [Some(json!("edited")), Some(json!("case-001/baseline"))]
    );
    assert_eq!((runner.cost().invocations, runner.cost().resumed), (1, 1));
}

#[test]
fn a_raised_limit_gives_a_failure_another_chance() {
    let script =
        "echo x >> calls\nprintf '{\"decision\": 1, \"x\": \"12345678901234567890\"}' > \"$2\"";
    let mut bench = Bench::with(script, "max_output_bytes: 20\n");
    assert_eq!(bench.failure().kind, FailureKind::OutputTooLarge);
    let (outcomes, _) = bench.start(Start::Resume, &tasks(1));
    assert_eq!((bench.calls(), decisions(&outcomes)), (1, vec![None]));
    bench.config.limits.max_output_bytes = 2000;
    let (outcomes, _) = bench.start(Start::Resume, &tasks(1));
    assert_eq!(
        (bench.calls(), decisions(&outcomes)),
        (2, vec![Some(json!(1))])
    );
}

#[test]
fn two_runs_at_once_share_a_cache() {
    let bench = cached(ECHO);
    let (one, other) = (bench.path("one"), bench.path("other"));
    thread::scope(|scope| {
        for out in [&one, &other] {
            let bench = &bench;
            scope.spawn(move || {
                let runner = bench.open(out, Start::Fresh, &Silent);
                let done = runner
                    .run_all("tests", &tasks(40), &|task| task.to_string().into())
                    .expect("run");
                assert!(decisions(&done).iter().all(Option::is_some));
                assert!(runner.notices().is_empty());
            });
        }
    });
    let runner = bench.open(&one, Start::Fresh, &Silent);
    runner
        .run_all("tests", &tasks(40), &|task| task.to_string().into())
        .expect("run");
    assert_eq!(runner.cost().cache_hits, 40);
}

#[test]
fn the_answers_of_another_reader_are_neither_cached_nor_resumed() {
    let mut bench = cached(ECHO);
    bench.run(&tasks(2));
    bench.reader.version = 2;
    let refused = bench.try_open(&bench.out(), Start::Resume, &Silent).err();
    let refused = refused.expect("it is refused").to_string();
    insta::assert_snapshot!(refused, @"
    the earlier run cannot be resumed: since then this has changed: what is read of an output; the earlier run has 2 finished calls
      help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
    ");
    bench.run(&tasks(2));
    assert_eq!(bench.calls(), 4, "nothing came from the cache");
    bench.reader.version = 1;
    assert_eq!(bench.run(&tasks(2)).1.cache_hits, 2);
}

#[test]
fn exit_code_and_streams_come_back_from_the_cache_and_from_the_journal() {
    let mut bench = cached(&format!("echo to stdout; echo to stderr >&2\n{ECHO}"));
    bench.run(&tasks(1));
    let (outcomes, _) = bench.run(&tasks(1));
    let outcome = outcomes[0].as_ref().expect("cached");
    assert_eq!((outcome.exit, &outcome.streams), (Some(0), &None));

    bench.reader = Decisions {
        version: 2,
        keeps_streams: true,
    };
    for (start, source) in [
        (Start::Fresh, AnswerSource::Called),
        (Start::Fresh, AnswerSource::Cached),
        (Start::Resume, AnswerSource::Resumed),
    ] {
        let (outcomes, _) = bench.start(start, &tasks(1));
        let outcome = outcomes[0].as_ref().expect("done");
        assert_eq!((outcome.source, outcome.exit), (source, Some(0)));
        let streams = outcome.streams.as_ref().expect("the reader keeps them");
        assert_eq!(
            (&*streams.stdout, &*streams.stderr),
            ("to stdout", "to stderr")
        );
    }
}

#[test]
fn the_exit_code_of_a_failure_is_known() {
    for (script, exit) in [
        ("exit 7", Some(7)),
        ("true", Some(0)),
        ("kill -9 $$", None),
        ("nosuchprogram", Some(127)),
    ] {
        let bench = Bench::new(script);
        let (outcomes, _) = bench.run(&tasks(1));
        let outcome = outcomes[0].as_ref().expect("done");
        assert!(outcome.result.is_err());
        assert_eq!(outcome.exit, exit, "{script}");
        let (resumed, _) = bench.start(Start::Resume, &tasks(1));
        assert_eq!(resumed[0].as_ref().expect("known").exit, exit, "{script}");
    }
}

#[test]
fn a_journal_of_another_version_is_told_and_not_misread() {
    let bench = Bench::new(ECHO);
    bench.run(&tasks(2));
    let journal = bench.read("kelvin/.journal.jsonl");
    let older = journal.replacen("\"kelvin_journal\":3", "\"kelvin_journal\":1", 1);
    assert_ne!(journal, older);
    fs::write(bench.path("kelvin/.journal.jsonl"), older).expect("written");
    let refused = bench.try_open(&bench.out(), Start::Resume, &Silent).err();
    let told = refused.expect("it is refused").to_string();
    insta::assert_snapshot!(told, @"
    the earlier run cannot be resumed: another version of kelvin has written its journal, in format 1; this one reads format 3
      help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
    ");
    assert_eq!(bench.run(&tasks(2)).1.invocations, 2);
}
