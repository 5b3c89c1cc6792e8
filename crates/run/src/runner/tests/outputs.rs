//! What is on disk, and what counts as an answer.

use std::os::unix::fs::symlink;

use super::*;
use crate::text::redacted;

#[test]
fn kel_40_kel_42_outcomes_are_in_the_order_of_the_tasks_and_each_task_is_called_once() {
    let script =
        format!("echo x >> calls\ncase $(cat \"$1\") in *case-00*) sleep 0.05;; esac\n{ECHO}");
    let mut bench = Bench::new(&script);
    let tasks = tasks(30);
    let want: Vec<_> = (0..30)
        .map(|n| Some(json!(format!("case-{n:03}/baseline"))))
        .collect();
    for (jobs, calls) in [(1, 30), (4, 60)] {
        bench.config.jobs = jobs.try_into().expect("not zero");
        let (outcomes, cost) = bench.run(&tasks);
        assert_eq!(decisions(&outcomes), want);
        assert_eq!(cost.invocations, 30);
        assert_eq!(bench.calls(), calls);
    }
}

#[test]
fn the_folder_has_the_documented_layout() {
    let bench = Bench::new(ECHO);
    let mut tasks = tasks(1);
    for (variant, repeat) in [
        (None, 2),
        (Some("swap-rule-01"), 1),
        (Some("swap-rule-01"), 12),
    ] {
        tasks.push(Task {
            variant: variant.map(Into::into),
            repeat,
            ..tasks[0].clone()
        });
    }
    bench.run(&tasks);
    for folder in [
        "baseline",
        "baseline/repeat-02",
        "perturbations/swap-rule-01",
        "perturbations/swap-rule-01/repeat-12",
    ] {
        let folder = format!("kelvin/case-000/{folder}");
        assert!(
            !bench.read(&format!("{folder}/input.md")).is_empty(),
            "{folder}"
        );
        assert!(
            bench
                .read(&format!("{folder}/output.json"))
                .contains("decision"),
            "{folder}"
        );
    }
}

#[test]
fn p1_kel_38_an_output_of_an_earlier_run_is_never_read() {
    let bench = Bench::new(ECHO);
    assert!(bench.one().is_ok());
    fs::write(bench.path("pipeline.sh"), "true").expect("written");
    let failure = bench.failure();
    assert_eq!(failure.kind, FailureKind::OutputMissing);
    insta::assert_snapshot!(failure.message, @"it ended with exit code 0, but wrote no output file");
}

#[test]
fn p1_a_repeat_never_sees_the_output_of_another() {
    // It answers only where it finds no answer.
    let bench = Bench::new(&format!("[ -e \"$2\" ] && exit 9\n{ECHO}"));
    let mut tasks = tasks(1);
    for repeat in 2..=4 {
        tasks.push(Task {
            repeat,
            ..tasks[0].clone()
        });
    }
    let (outcomes, _) = bench.run(&tasks);
    assert!(decisions(&outcomes).iter().all(Option::is_some));
}

#[test]
fn p8_what_an_earlier_run_has_left_is_gone() {
    let bench = Bench::new(&format!("{ECHO}; echo trace > \"$2.trace\""));
    bench.run(&tasks(3));
    fs::write(bench.path("kelvin/report.json"), "{}").expect("written");
    fs::write(bench.path("kelvin/.gitignore"), "*").expect("written");
    fs::write(bench.path("pipeline.sh"), ECHO).expect("written");
    bench.run(&tasks(1));
    let mut names: Vec<_> = fs::read_dir(bench.out())
        .expect("listed")
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        [".gitignore", ".journal.jsonl", ".kelvin-run", "case-000"]
    );
    assert!(
        !bench
            .path("kelvin/case-000/baseline/output.json.trace")
            .exists()
    );
}

#[test]
fn p8_a_folder_that_is_used_again_has_nothing_of_the_earlier_run() {
    let mut bench = Bench::new(ECHO);
    let mut all = tasks(3);
    for repeat in 2..=3 {
        all.push(Task {
            repeat,
            ..all[0].clone()
        });
    }
    bench.run(&all);
    for stray in [
        "baseline/trace.txt",
        "report.md",
        "perturbations/old-01/output.json",
        "x/y",
    ] {
        let path = bench.path(&format!("kelvin/case-000/{stray}"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, "stray").expect("written");
    }
    fs::create_dir(bench.path("kelvin/case-000/baseline/repeat-02/output.json.d")).expect("made");
    all.pop();
    bench.run(&all);
    let mut found = Vec::new();
    let mut folders = vec![bench.path("kelvin/case-000")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.push(
                path.strip_prefix(bench.out())
                    .expect("below")
                    .display()
                    .to_string(),
            );
        }
    }
    found.sort();
    let want = [
        "baseline",
        "baseline/input.md",
        "baseline/output.json",
        "baseline/repeat-02",
        "baseline/repeat-02/input.md",
        "baseline/repeat-02/output.json",
    ];
    assert_eq!(found, want.map(|path| format!("case-000/{path}")));
    // A run that is stopped before it begins leaves no answer of the one before either.
    bench.interrupt.trip();
    let (outcomes, _) = bench.run(&all);
    assert!(outcomes.iter().all(Option::is_none));
    assert!(!bench.path("kelvin/case-000").exists());
    bench.interrupt = Interrupt::apart();
    assert!(bench.one().is_ok());
}

#[test]
fn p7_a_second_run_in_the_same_folder_is_refused_and_leaves_it_as_it_is() {
    let bench = Bench::new(ECHO);
    let out = bench.out();
    let runner = bench.open(&out, Start::Fresh, &Silent);
    runner
        .run_all("tests", &tasks(1), &|_| "x".into())
        .expect("run");
    let mut told = std::collections::BTreeSet::new();
    for start in [Start::Fresh, Start::Resume] {
        let refused = bench.try_open(&out, start, &Silent).err().expect("refused");
        assert!(
            refused
                .downcast_ref::<kelvin_base::exit::Misuse>()
                .is_some()
        );
        told.insert(redacted(&refused.to_string()));
    }
    insta::assert_snapshot!(Vec::from_iter(told).join("\n"), @"
    another run of kelvin is using `[TEMP]/kelvin`
      help: wait for its end, or name another folder with `--out`
    ");
    assert!(bench.path("kelvin/case-000/baseline/output.json").exists());
    drop(runner);
    assert!(bench.try_open(&out, Start::Fresh, &Silent).is_ok());
}

#[test]
fn a_folder_that_is_not_ours_is_refused_and_untouched() {
    let bench = Bench::new(ECHO);
    fs::create_dir(bench.out()).expect("made");
    fs::write(bench.path("kelvin/thesis.md"), "ten years").expect("written");
    let refused = |out: &str| {
        let out = bench.path(out);
        let refused = bench
            .try_open(&out, Start::Fresh, &Silent)
            .err()
            .expect("refused");
        assert!(
            refused
                .downcast_ref::<kelvin_base::exit::Misuse>()
                .is_some(),
            "{refused}"
        );
        refused.to_string()
    };
    let said = refused("kelvin");
    assert!(
        said.contains("thesis.md") && said.contains("--out"),
        "{said}"
    );
    assert_eq!(bench.read("kelvin/thesis.md"), "ten years");
    insta::assert_snapshot!(redacted(&refused("pipeline.sh")), @"
    the output folder `[TEMP]/pipeline.sh` is a file
      help: remove the file, or name another folder with `--out`
    ");
    insta::assert_snapshot!(redacted(&refused(".")), @"
    the output folder `[TEMP]/.` holds the configuration, and its content is removed by every run
      help: name another output folder with `--out`
    ");
    insta::assert_snapshot!(redacted(&refused("cases")), @"
    the output folder `[TEMP]/cases` holds the cases, and its content is removed by every run
      help: name another output folder with `--out`
    ");
    symlink(bench.path("cases"), bench.path("link")).expect("linked");
    insta::assert_snapshot!(redacted(&refused("link")), @"
    the output folder `[TEMP]/link` is a symbolic link
      help: remove the link, or name another folder with `--out`
    ");
    assert_eq!(
        fs::read_dir(bench.path("cases")).expect("listed").count(),
        1
    );
}

#[test]
fn p14_a_link_in_the_folder_leads_nowhere() {
    let bench = Bench::new(ECHO);
    fs::write(bench.path("precious"), "keep me").expect("written");
    fs::create_dir(bench.path("garden")).expect("made");
    for start in [Start::Fresh, Start::Resume] {
        bench.run(&tasks(3));
        let plant = |target: &str, link: &str| {
            let link = bench.path(&format!("kelvin/{link}"));
            let _ = fs::remove_file(&link);
            let _ = fs::remove_dir_all(&link);
            symlink(bench.path(target), link).expect("linked");
        };
        plant("precious", "case-000/baseline/input.md");
        plant("garden", "case-001");
        plant("garden", "case-002/baseline");
        plant("precious", ".journal.jsonl.old");
        // Two cases are new, so that nothing is known of them.
        let mut tasks = tasks(5);
        tasks.swap(0, 4);
        bench.start(start, &tasks);
        assert_eq!(bench.read("precious"), "keep me");
        assert_eq!(
            fs::read_dir(bench.path("garden")).expect("listed").count(),
            0
        );
    }
}

#[test]
fn p14_a_name_never_becomes_a_path() {
    let bench = Bench::new(ECHO);
    let mut hostile = Vec::new();
    for name in ["..", ".", "../../pwn", "a/b", ""] {
        hostile.push(Task {
            case: name.into(),
            variant: None,
            repeat: 1,
        });
        hostile.push(Task {
            case: "case".into(),
            variant: Some(name.into()),
            repeat: 1,
        });
    }
    let (outcomes, _) = bench.run(&hostile);
    assert!(decisions(&outcomes).iter().all(Option::is_some));
    let names: Vec<_> = fs::read_dir(bench.folder.path())
        .expect("listed")
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    for name in names {
        assert!(
            ["cases", "pipeline.sh", "kelvin.yaml", "kelvin"].contains(&name.as_str()),
            "{name}"
        );
    }
    assert!(!bench.path("kelvin/baseline").exists());
}

#[test]
fn bad_outputs_are_failures_with_what_was_printed() {
    for (output, kind) in [
        ("echo '[1]' > \"$2\"", FailureKind::OutputNotObject),
        (
            "echo '{\"decision\": [1]}' > \"$2\"",
            FailureKind::DecisionRefused,
        ),
        (
            "echo '{\"other\": 1}' > \"$2\"",
            FailureKind::DecisionMissing,
        ),
        ("echo '{' > \"$2\"", FailureKind::OutputNotJson),
        ("mkdir \"$2\"", FailureKind::OutputUnreadable),
        ("ln -s \"$1\" \"$2\"", FailureKind::OutputUnreadable),
        ("mkfifo \"$2\"", FailureKind::OutputUnreadable),
        ("true", FailureKind::OutputMissing),
        (
            "head -c 2000 /dev/zero > \"$2\"",
            FailureKind::OutputTooLarge,
        ),
    ] {
        let bench = Bench::with(
            &format!("echo to stdout; echo to stderr >&2\n{output}"),
            "max_output_bytes: 1000\n",
        );
        let failure = bench.failure();
        assert_eq!(failure.kind, kind, "{}", failure.message);
        // P16: also where it ended well.
        assert_eq!(
            (&*failure.stdout, &*failure.stderr),
            ("to stdout", "to stderr")
        );
        // P15: a failure names no path, so that equal runs have equal reports.
        assert!(!failure.message.contains('/'), "{}", failure.message);
    }
}

#[test]
fn kel_39_p12_paths_with_odd_names_reach_a_command_directly_and_through_a_shell() {
    for (template, folder) in [
        (
            "sh pipeline.sh {input} {output}",
            "it's a \"folder\" $(touch pwned); x\n",
        ),
        (
            "sh pipeline.sh '{input}' \"{output}\" && true",
            "it's a \"folder\" $(touch pwned); x\n",
        ),
    ] {
        let mut bench = Bench::new(ECHO);
        bench.target = Address::command(template);
        let out = bench.path(folder);
        let runner = bench.open(&out, Start::Fresh, &Silent);
        let task = Task {
            case: "-a b'c $HOME".into(),
            variant: None,
            repeat: 1,
        };
        let done = runner
            .run_all("tests", &[task], &|_| "go".into())
            .expect("run");
        assert_eq!(decisions(&done), [Some(json!("go"))], "{template}");
        assert!(!bench.path("pwned").exists());
    }
}

#[test]
fn kel_43_a_rehearsal_writes_inputs_and_starts_nothing() {
    let bench = Bench::new("echo x >> calls");
    let out = bench.out();
    let runner = bench.open(&out, Start::Fresh, &Silent);
    runner
        .write_inputs(&tasks(3), &|task| task.to_string().into())
        .expect("written");
    assert_eq!(
        bench.read("kelvin/case-002/baseline/input.md"),
        "case-002/baseline"
    );
    assert_eq!((bench.calls(), runner.cost()), (0, Cost::default()));
}
