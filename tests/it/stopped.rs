use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::project::{CONSTANT, GROUNDED, KNOWING, Project, counting};

/// Waits for something that has to happen soon.
fn until(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what} did not happen"
        );
        sleep(Duration::from_millis(5));
    }
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

/// Whether a process is there and no zombie.
fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim_start()
            .starts_with('Z')
    })
}

#[test]
fn kel_26_a_missing_decision_field_stops_at_the_first_baseline_and_names_what_is_there() {
    let project = Project::new(&counting(r#"printf '{"verdict": "go", "why": 1}' > "$2""#));
    let said = project.kelvin(&["check"]).expect(2);
    for word in ["decision", "verdict", "why", "kelvin.yaml"] {
        assert!(said.stderr.contains(word), "{}", said.stderr);
    }
    assert_eq!(project.calls(), 1, "nothing else is paid for");
}

#[test]
fn kel_25_a_list_as_decision_stops_at_the_first_baseline_and_names_its_type() {
    let project = Project::new(r#"printf '{"decision": ["a", "b"]}' > "$2""#);
    let said = project.kelvin(&["check"]).expect(2);
    assert!(said.stderr.contains("list"), "{}", said.stderr);
    project.write("pipeline.sh", r#"printf '{"decision": {"a": 1}}' > "$2""#);
    let said = project.kelvin(&["check"]).expect(2);
    assert!(said.stderr.contains("object"), "{}", said.stderr);
}

#[test]
fn kel_28_one_failing_baseline_leaves_its_case_out_and_nothing_else() {
    let project = Project::usual(&format!(
        "case \"$(head -n 1 \"$1\")\" in *cedar*) echo cannot read cedar >&2; exit 9;; esac\n{CONSTANT}"
    ));
    let said = project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["evidence.invariance"]["n"], json!(27));
    let failure = &report["probes"]["evidence"]["items"]["cedar"]["baseline"][0]["failure"];
    assert_eq!(failure["kind"], json!({ "exit": 9 }));
    // P16: a failed baseline keeps what it printed.
    assert_eq!(failure["stderr"], json!("cannot read cedar"));
    assert!(said.stdout.contains("cedar"), "{}", said.stdout);
}

#[test]
fn a_first_baseline_that_crashes_does_not_stop_the_others() {
    let project = Project::new(&format!(
        "case \"$(head -n 1 \"$1\")\" in *alder*) exit 1;; esac\n{CONSTANT}"
    ));
    project.check();
    assert_eq!(project.figure("invariance"), json!(1.0));
}

#[test]
fn a_list_in_one_variant_or_a_later_baseline_is_one_failed_invocation() {
    let project = Project::usual(&format!(
        "{KNOWING}case \"$place\" in *reorder-02*|*/cedar/baseline/*) printf '{{\"decision\": [1]}}' > \"$2\"; exit;; \
         esac\n{CONSTANT}"
    ));
    project.tell_places();
    project.check();
    let report = project.json("kelvin/report.json");
    assert_eq!(
        report["metrics"]["evidence.invariance"]["n_failed"],
        json!(3)
    );
    assert_eq!(report["metrics"]["evidence.invariance"]["n"], json!(24));
}

#[test]
fn kel_29_a_failed_variant_has_no_distance_and_is_counted() {
    let project = Project::usual(&format!(
        "{KNOWING}case \"$place\" in *reorder-02*) exit 5;; esac\n{CONSTANT}"
    ));
    project.tell_places();
    let said = project.check();
    let report = project.json("kelvin/report.json");
    let variant = &report["probes"]["evidence"]["items"]["alder"]["variants"][1];
    assert_eq!(variant["id"], json!("reorder-02"));
    assert_eq!(variant["samples"][0]["distance"], json!(null));
    assert_eq!(report["metrics"]["evidence.invariance"]["n"], json!(32));
    assert!(said.stdout.contains("n=32, 4 failed"), "{}", said.stdout);
}

#[test]
fn hostile_outputs_are_failed_invocations_and_never_a_crash() {
    for output in [
        r"printf '\377\376{}'",
        r#"python3 -c 'print("[" * 200000)'"#,
        r#"python3 -c 'print("{\"decision\": " + "[" * 200000)'"#,
        r#"python3 -c 'print("{\"decision\": " + "9" * 5000 + "}")'"#,
        r#"printf '{"decision": NaN}'"#,
        r#"printf '{"decision": -Infinity}'"#,
        r#"printf '{"decision": 1'"#,
        r#"printf '[{"decision": 1}]'"#,
        r#"printf '"go"'"#,
        "printf ''",
        "head -c 20000000 /dev/zero",
    ] {
        let project = Project::new(&format!(
            "{KNOWING}case \"$place\" in *pad_length-01*) {output} > \"$2\"; exit 0;; esac\n{CONSTANT}"
        ));
        project.tell_places();
        project.check();
        let report = project.json("kelvin/report.json");
        assert_eq!(
            report["metrics"]["evidence.invariance"]["n_failed"],
            json!(4),
            "{output}"
        );
    }
}

#[test]
fn p5_an_interrupt_stops_at_once_kills_what_runs_and_reports_what_had_finished() {
    let project = Project::new(&format!(
        "{KNOWING}case \"$place\" in */perturbations/*) echo $$ >> pids; sleep 60 & echo $! >> pids; wait;; esac\n\
         {CONSTANT}"
    ));
    project.tell_places();
    let mut kelvin = project.start(&["check"]);
    let pids = || fs::read_to_string(project.path("pids")).unwrap_or_default();
    until("two invocations", || pids().lines().count() >= 4);
    let stopped = Instant::now();
    signal(kelvin.id(), "-INT");
    assert_eq!(kelvin.wait().expect("it ends").code(), Some(130));
    assert!(stopped.elapsed() < Duration::from_secs(5));
    assert_eq!(
        pids().lines().count(),
        4,
        "nothing was started after the signal"
    );
    for pid in pids().lines() {
        until("the death of the group", || !lives(pid));
    }
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["ending"], json!("interrupted"));
    assert_eq!(
        report["probes"]["evidence"]["items"]["alder"]["baseline"][0]["decision"],
        json!("go")
    );
}

#[test]
fn p6_a_killed_run_is_resumed_without_repeating_a_finished_invocation() {
    for name in ["-KILL", "-TERM"] {
        let project = Project::new(&counting(&format!("sleep 0.02\n{GROUNDED}")));
        project.config("fingerprint: [pipeline.sh]\n");
        let noted = || {
            let journal = fs::read_to_string(project.path("kelvin/.journal.jsonl"));
            // The first line says what the others hold for; the last one may be half written.
            journal.map_or(0, |text| text.matches('\n').count().saturating_sub(1))
        };
        let mut kelvin = project.start(&["check"]);
        until("twenty calls that are kept", || noted() >= 20);
        let known = noted();
        signal(kelvin.id(), name);
        kelvin.wait().expect("it ends");
        // What was killed half-way through, or waited for a look at the code, is run again; nothing
        // that was kept is.
        until("the last writer", || {
            let before = project.calls();
            sleep(Duration::from_millis(100));
            before == project.calls()
        });
        let lost = project.calls() - known;
        project.kelvin(&["check", "--resume"]).expect(0);
        let resumed = &project.json("kelvin/report.json")["run"]["session"]["cost"];
        assert!(
            resumed["resumed"].as_u64().expect("a number") >= known as u64,
            "{resumed}"
        );
        assert!(
            project.calls() <= 52 + lost,
            "{name}: {} calls",
            project.calls()
        );
        let after = project.report();
        project.check();
        assert_eq!(after, project.report(), "{name}");
    }
}

#[test]
fn an_input_that_a_run_was_killed_in_the_middle_of_is_not_there() {
    let project = Project::new(CONSTANT);
    for case in ["birch", "cedar", "dogwood"] {
        fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
    }
    let alder = project.read("cases/alder.md");
    let large = format!(
        "{alder}\n## Record\n\n{}",
        "A line of the record.\n".repeat(20_000)
    );
    project.write("cases/alder.md", &large);
    // Where calls are made nobody looks for an input, and the next run removes what is left there.
    let inputs = || -> BTreeMap<String, Vec<u8>> {
        let files = project.files("kelvin").into_iter();
        files
            .filter(|(name, _)| name.ends_with("input.md") && !name.starts_with("calls/"))
            .collect()
    };
    for command in [&["check", "--dry-run"][..], &["check"]] {
        let _ = fs::remove_dir_all(project.path("kelvin"));
        // The system kills a process that writes more into a file than it may, in the middle of it.
        let kelvin = project.command(command);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 100; exec \"$@\"", "sh"]);
        limited.arg(kelvin.get_program()).args(kelvin.get_args());
        for (name, value) in kelvin.get_envs() {
            match value {
                Some(value) => limited.env(name, value),
                None => limited.env_remove(name),
            };
        }
        let ended = limited
            .current_dir(project.root())
            .output()
            .expect("it starts");
        let killed = std::os::unix::process::ExitStatusExt::signal(&ended.status);
        assert!(killed.is_some(), "{command:?}: {ended:?}");
        let halves = project.files("kelvin");
        let halves = halves
            .values()
            .filter(|bytes| bytes.starts_with(b"# Request"));
        assert!(halves.count() > 0, "{command:?}: nothing was begun");
        assert!(inputs().is_empty(), "{command:?}: {:?}", inputs().keys());
        // What was begun is in nobody's way.
        project.kelvin(command).expect(0);
        let whole = inputs();
        assert!(whole.values().all(|bytes| bytes.len() > 400_000));
        let left = project.files("kelvin").into_keys();
        assert_eq!(left.filter(|name| name.starts_with("calls/")).count(), 0);
        fs::remove_dir_all(project.path("kelvin")).expect("removed");
        project.kelvin(command).expect(0);
        assert_eq!(whole, inputs(), "{command:?}");
    }
}

#[test]
fn a_resumed_run_takes_no_answer_of_other_code_or_another_seed() {
    let project = Project::usual(&counting(GROUNDED));
    project.config("variants: {}\nfingerprint: [pipeline.sh]\n");
    project.check();
    project.write("pipeline.sh", &counting(CONSTANT));
    project.write("new.sh", "");
    let before = project.files("kelvin");
    let said = project.kelvin(&["check", "--resume"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: the earlier run cannot be resumed: since then this has changed: the code of the pipeline, `pipeline.sh` was edited; the earlier run has 52 finished calls
      help: undo that to resume, or leave out `--resume` to begin anew, which removes what has finished; nothing was removed and nothing was run
    ");
    assert_eq!(project.files("kelvin"), before, "nothing is thrown away");
    assert_eq!(project.calls(), 52, "nothing was paid for");
    project.check();
    assert_eq!(project.calls(), 104);
    assert_eq!(project.figure("sensitivity"), json!(0.0));
    project
        .kelvin(&["check", "--resume", "--seed", "9"])
        .expect(1);
}

#[test]
fn kel_37_p2_a_timeout_kills_the_whole_group_and_names_itself() {
    let project = Project::new(&format!(
        "{KNOWING}case \"$place\" in *reorder-01*) sleep 60 & echo $! >> pids; wait;; esac\n{CONSTANT}"
    ));
    project.tell_places();
    // Long enough for the other calls, also on a busy machine.
    project.config("timeout_s: 3\n");
    let said = project.check();
    let report = project.json("kelvin/report.json");
    let failure =
        &report["probes"]["evidence"]["items"]["alder"]["variants"][0]["samples"][0]["failure"];
    assert_eq!(failure["kind"], json!("timeout"));
    for pid in project.read("pids").lines() {
        until("the death of the group", || !lives(pid));
    }
    assert!(said.stdout.contains("4 failed"), "{}", said.stdout);
}

#[test]
fn p3_p4_a_background_child_or_a_read_of_stdin_holds_nothing_up() {
    let project = Project::new(&format!("cat > /dev/null\nsleep 30 &\n{CONSTANT}"));
    let start = Instant::now();
    project.check();
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(project.figure("failure_rate"), json!(0.0));
}
