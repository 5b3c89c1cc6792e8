//! How a process may end, and what must not outlive it.

use super::*;

#[test]
fn exits_signals_and_programs_that_are_not_there_are_told_apart() {
    let mut told = Vec::new();
    for (script, kind) in [
        ("exit 7", FailureKind::Exit(7)),
        ("nosuchprogram", FailureKind::Exit(127)),
        ("kill -9 $$", FailureKind::Signal(9)),
        ("kill -15 $$", FailureKind::Signal(15)),
    ] {
        let failure = Bench::new(script).failure();
        assert_eq!(failure.kind, kind);
        told.push(failure.message.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    it ended with exit code 7
    it ended with exit code 127: a command was not found
    SIGKILL ended it; the system does so where memory runs out
    SIGTERM ended it
    ");
    let mut bench = Bench::new("");
    fs::write(bench.path("plain"), "text").expect("written");
    let mut refusals = Vec::new();
    for run in [
        "nosuchprogram {input} {output}",
        "./nosuchprogram {input} {output}",
        "./plain {input} {output}",
    ] {
        bench.target = Address::command(run);
        let failure = bench.failure();
        assert_eq!(failure.kind, FailureKind::NotStarted);
        refusals.push(failure.message.to_string());
        assert!(
            !failure
                .message
                .contains(&bench.folder.path().display().to_string())
        );
    }
    insta::assert_snapshot!(refusals.join("\n"), @"
    `nosuchprogram` could not be started: No such file or directory; is it installed, and is its path right?
    `./nosuchprogram` could not be started: No such file or directory; is it installed, and is its path right?
    `./plain` could not be started: Permission denied; is it executable?
    ");
}

#[test]
fn kel_37_p2_a_timeout_kills_grandchildren_too() {
    let bench = Bench::with(
        "sleep 60 & echo $! >> pids; sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 60; sleep 60' & \
         trap '' TERM; echo $$ >> pids; sleep 60; sleep 60",
        "timeout_s: 1\n",
    );
    let start = Instant::now();
    let failure = bench.failure();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("1 s"), "{}", failure.message);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(bench.read("pids").lines().count(), 3);
    all_dead(&bench, "pids");
}

#[test]
fn p2_a_pipeline_may_tidy_up_when_its_time_is_over() {
    let bench = Bench::with(
        "trap 'echo tidy > tidied; exit 0' TERM; sleep 60 & wait",
        "timeout_s: 1\n",
    );
    assert_eq!(bench.failure().kind, FailureKind::Timeout);
    assert_eq!(bench.read("tidied"), "tidy\n");
}

#[test]
fn p2_an_answer_after_the_timeout_counts_for_nothing() {
    let bench = Bench::with(
        &format!("trap '{ECHO}; exit 0' TERM; sleep 60 & wait"),
        "timeout_s: 1\n",
    );
    assert_eq!(bench.failure().kind, FailureKind::Timeout);
}

#[test]
fn p2_what_escapes_from_an_attempt_cannot_answer_for_the_next() {
    // The first attempt leaves the group, outlives the timeout, and answers into its own path.
    let bench = Bench::with(
        "if mkdir first; then setsid sh -c 'sleep 0.6; echo \"{\\\"decision\\\": \\\"late\\\"}\" > \"$1\"' \
         sh \"$2\" & sleep 60; fi\nsleep 1\n[ -e \"$2\" ] && exit 9\necho '{\"decision\": \"good\"}' > \"$2\"",
        "timeout_s: 2\nretry: {max_attempts: 2, initial_delay_s: 0, jitter_max_s: 0, \
         retry_on_timeout: true}\n",
    );
    let (outcomes, cost) = bench.run(&tasks(1));
    assert_eq!(decisions(&outcomes), [Some(json!("good"))]);
    assert_eq!((cost.invocations, cost.retries), (2, 1));
    assert!(
        bench
            .read("kelvin/case-000/baseline/output.json")
            .contains("good")
    );
    assert!(
        !bench
            .path("kelvin/case-000/baseline/output.attempt-2.json")
            .exists()
    );
}

#[test]
fn p3_a_background_child_neither_delays_the_call_nor_survives_it() {
    let bench = Bench::new(&format!("sleep 60 & echo $! >> pids\n{ECHO}"));
    let start = Instant::now();
    assert_eq!(bench.one(), Ok(json!("case-000/baseline")));
    assert!(start.elapsed() < Duration::from_secs(20));
    all_dead(&bench, "pids");
}

#[test]
fn p4_a_pipeline_that_reads_its_standard_input_finds_it_empty() {
    let bench = Bench::new(&format!("[ -z \"$(cat)\" ] || exit 9\n{ECHO}"));
    assert!(bench.one().is_ok());
}

#[test]
fn p10_300_mb_of_output_neither_block_nor_fill_the_memory() {
    let peak = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .expect("there");
        line.split_whitespace()
            .nth(1)
            .expect("a number")
            .parse()
            .expect("a number")
    };
    let bench = Bench::new(&format!(
        "head -c 300000000 /dev/zero\nhead -c 1048576 /dev/zero | tr '\\0' x >&2\n\
         seq 1 30 >&2\n{ECHO}\nexit 3"
    ));
    let before = peak();
    let failure = bench.failure();
    assert_eq!(failure.kind, FailureKind::Exit(3));
    assert!(peak() < before + 50_000, "grew by {} KB", peak() - before);
    assert!(failure.stdout.len() <= 4096);
    // KEL-48
    let lines: Vec<_> = failure.stderr.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[19]), (20, "11", "30"));
}

#[test]
fn what_is_printed_need_not_be_utf_8() {
    let bench = Bench::new("printf 'caf\\351\\n' >&2; printf '\\377'; exit 1");
    let failure = bench.failure();
    assert_eq!(
        (&*failure.stderr, &*failure.stdout),
        ("caf\u{fffd}", "\u{fffd}")
    );
}

#[test]
fn the_command_runs_in_the_folder_of_the_configuration_in_a_group_of_its_own() {
    let bench = Bench::new("pwd -P > where; ps -o pgid= -p $$ > group; echo $$ >> group; true");
    bench.failure();
    let root = fs::canonicalize(bench.folder.path()).expect("there");
    assert_eq!(bench.read("where").trim_end(), root.to_str().expect("text"));
    let group = bench.read("group");
    let numbers: Vec<_> = group.split_whitespace().collect();
    assert_eq!(numbers[0], numbers[1], "it leads its group");
}

#[test]
fn p5_an_interruption_kills_what_runs_and_starts_nothing_more() {
    let script = "case $(cat \"$1\") in case-00[01]/*) ;; *) echo $$ >> pids; sleep 60 & echo $! >> pids; wait;; esac";
    let bench = Bench::new(&format!("{script}\n{ECHO}"));
    let start = Instant::now();
    let (outcomes, cost) = thread::scope(|scope| {
        let run = scope.spawn(|| bench.run(&tasks(50)));
        while bench.read("pids").lines().count() < 4 {
            assert!(start.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(2));
        }
        bench.interrupt.trip();
        run.join().expect("no panic")
    });
    assert!(start.elapsed() < Duration::from_secs(30));
    all_dead(&bench, "pids");
    assert_eq!(bench.read("pids").lines().count(), 4);
    assert_eq!(cost.invocations, 4);
    let done: Vec<_> = outcomes.iter().map(Option::is_some).collect();
    assert!(done[0] && done[1] && done[2..].iter().all(|done| !done));
    // Nothing begins after it either.
    let out = bench.out();
    let runner = bench.open(&out, Start::Fresh, &Silent);
    assert!(runner.interrupted());
    let outcomes = runner
        .run_all("tests", &tasks(3), &|_| "x".into())
        .expect("run");
    assert!(outcomes.iter().all(Option::is_none));
}

#[test]
fn p5_a_process_that_is_stopped_with_the_run_has_not_failed() {
    let bench = Bench::new("echo $$ >> pids; sleep 60");
    let start = Instant::now();
    let (outcomes, _) = thread::scope(|scope| {
        let run = scope.spawn(|| bench.run(&tasks(1)));
        while bench.read("pids").is_empty() {
            assert!(start.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(2));
        }
        // The flag is there before the process ends, as a signal to both would have it.
        bench.interrupt.trip();
        run.join().expect("no panic")
    });
    assert!(outcomes[0].is_none());
    let journal = bench.read("kelvin/.journal.jsonl");
    assert_eq!(journal.lines().count(), 1, "only its header: {journal}");
}

#[test]
fn many_jobs_find_room_for_their_pipes() {
    let mut bench = Bench::new(ECHO);
    bench.config.jobs = 200.try_into().expect("not zero");
    let (outcomes, _) = bench.run(&tasks(200));
    assert!(decisions(&outcomes).iter().all(Option::is_some));
}

#[test]
fn declared_exit_codes_are_tried_again_and_told_of() {
    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);
    impl Observer for Heard {
        fn event(&self, event: &Event<'_>) {
            let text = match event {
                Event::Phase { name, tasks } => format!("{name} {tasks}"),
                Event::Finished { outcome, .. } => format!("finished {}", outcome.attempts),
                Event::Retrying {
                    attempt, failure, ..
                } => {
                    format!("attempt {attempt}, {}", failure.message)
                }
                Event::Remark { text } => format!("remark {text}"),
            };
            self.0.lock().expect("no panic").push(text);
        }
    }
    let bench = Bench::with(
        &format!("echo x >> calls\n[ $(wc -l < calls) -ge 3 ] || exit 75\n{ECHO}"),
        "retry: {max_attempts: 5, initial_delay_s: 0.01, transient_exit_codes: [75]}\n",
    );
    let heard = Heard::default();
    let out = bench.out();
    let runner = bench.open(&out, Start::Fresh, &heard);
    let done = runner
        .run_all("tests", &tasks(1), &|_| "go".into())
        .expect("run");
    assert_eq!(decisions(&done), [Some(json!("go"))]);
    let cost = runner.cost();
    assert_eq!((cost.invocations, cost.retries), (3, 2));
    let told = "it ended with exit code 75";
    assert_eq!(
        heard.0.lock().expect("no panic").as_slice(),
        [
            "tests 1".to_owned(),
            format!("attempt 2, {told}"),
            format!("attempt 3, {told}"),
            "finished 3".to_owned()
        ]
    );
}
