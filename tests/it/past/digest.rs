use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::{Value, json};

use super::{Form, Kept, METRIC, Made, fake_commit, place};

/// Eight weeks of known reports: the weeks 37 to 44 of 2026, of which the fifth, 41, begins on 5 October. With
/// it the code changes: `falls` loses .2, `improves` gains .2, so that the mean of the run stays, and `added`
/// comes. `flaky` differs from run to run, `gone` is run up to then.
const REPORTS: usize = 60;
const FIRST_DAY: i64 = 20_703;

fn time(number: usize) -> String {
    // 60 reports in 56 days, and the first at noon of Monday, 7 September.
    let minutes = FIRST_DAY * 24 * 60 + 720 + (number * 56 * 24 * 60 / REPORTS) as i64;
    let (day, minute) = (minutes / (24 * 60), minutes % (24 * 60));
    let (month, first) = match day - FIRST_DAY {
        0..24 => (9, 7),
        24..55 => (10, 7 - 30),
        _ => (11, 7 - 61),
    };
    format!(
        "2026-{month:02}-{:02}T{:02}:{:02}:00Z",
        first + day - FIRST_DAY,
        minute / 60,
        minute % 60
    )
}

fn is_late(number: usize) -> bool {
    time(number).as_str() >= "2026-10-05"
}

fn report(form: &Form, number: usize) -> Value {
    let late = is_late(number);
    let flaky = if number.is_multiple_of(2) { 0.9 } else { 0.7 };
    let mut cases = vec![
        ("falls", vec![if late { 0.7 } else { 0.9 }]),
        ("flaky", vec![flaky]),
        ("improves", vec![if late { 0.9 } else { 0.7 }]),
        ("steady", vec![0.8]),
    ];
    cases.push((if late { "added" } else { "gone" }, vec![0.8]));
    form.report(&Made {
        at: &time(number),
        commit: &fake_commit(number),
        code: u8::from(late),
        cases: &cases,
    })
}

/// The branch of the 60 reports, of which some are no use.
fn branch() -> Kept {
    let kept = Kept::new();
    let mut files: Vec<(String, String)> = (0..REPORTS)
        .map(|number| (place(number), report(&kept.form, number).to_string()))
        .collect();
    // Damaged: the third, cut off. Newer: the fifth, of a format that nobody knows yet.
    let half = files[2].1.len() / 2;
    files[2].1.truncate(half);
    let mut newer = report(&kept.form, 4);
    newer["schema_version"] = json!(99);
    newer["tool"]["version"] = json!("9.9.9");
    files[4].1 = newer.to_string();
    // What is left out has values that would change every mean.
    let bad = |number: usize, change: &dyn Fn(&mut Value)| {
        let mut report = kept.form.report(&Made {
            at: "2026-10-15T12:00:00Z",
            commit: &fake_commit(number),
            code: 1,
            cases: &[("steady", vec![0.0]), ("falls", vec![1.0])],
        });
        change(&mut report);
        (place(number), report.to_string())
    };
    files.push(bad(100, &|report| {
        report["run"]["shard"] = json!({"index": 1, "count": 2, "cases": 5});
    }));
    files.push(bad(101, &|report| {
        report["run"]["ending"] = json!("dry_run")
    }));
    files.push(bad(102, &|report| {
        report["run"]["ending"] = json!("interrupted")
    }));
    files.push(bad(103, &|report| {
        report["run"]["only"] = json!(["steady"])
    }));
    kept.push(&files);
    kept
}

fn digest(kept: &Kept, since: &str, until: &str) -> Value {
    let said = kept.project.kelvin(&[
        "history", "digest", "--since", since, "--until", until, "--format", "json",
    ]);
    serde_json::from_str(&said.expect(0).stdout).expect("JSON")
}

fn row<'a>(summary: &'a Value, case: &str) -> &'a Value {
    let rows = summary["configurations"][0]["rows"]
        .as_array()
        .expect("rows");
    let found = rows.iter().find(|row| row["case"] == case);
    found.unwrap_or_else(|| panic!("{case} has no row"))
}

fn candidates(summary: &Value) -> Vec<&str> {
    let all = summary["candidates"].as_array().expect("a list");
    all.iter()
        .map(|one| one["row"]["case"].as_str().unwrap_or("the run"))
        .collect()
}

#[test]
fn a_branch_of_60_reports_gives_exactly_the_known_findings() {
    let kept = branch();
    let first_late = (0..REPORTS)
        .find(|number| is_late(*number))
        .expect("one is");
    for (since, until, before) in [
        // The fifth week beside the fourth, and the second half beside the first.
        ("2026-W41", "2026-W42", "2026-09-28T00:00:00Z"),
        ("2026-W41", "2026-W45", "2026-09-07T00:00:00Z"),
        ("4w", "2026-11-02", "2026-09-07T00:00:00Z"),
    ] {
        let summary = digest(&kept, since, until);
        assert_eq!(summary["before"], before);
        assert_eq!(summary["since"], "2026-10-05T00:00:00Z");
        assert_eq!(candidates(&summary), ["falls"], "{summary:#}");
        let found = &summary["candidates"][0];
        assert_eq!(found["row"]["metric"], METRIC);
        assert_eq!(found["since"]["at"], time(first_late));
        assert_eq!(found["since"]["commit"], fake_commit(first_late));
        assert_eq!(found["since"]["recovered"], false);
        for (case, word) in [
            ("falls", "fell"),
            ("improves", "improved"),
            ("steady", "held"),
            ("flaky", "held"),
            ("added", "new"),
            ("gone", "gone"),
        ] {
            assert_eq!(row(&summary, case)["word"], word, "{case}");
        }
        // The mean of the others hides the fall: that of the run has not moved.
        let run = &summary["configurations"][0]["rows"][0];
        assert_eq!((&run["run"], &run["word"]), (&Value::Null, &json!("held")));
        let flaky = summary["configurations"][0]["flaky"]
            .as_array()
            .expect("a list");
        assert_eq!(flaky.len(), 1, "{flaky:?}");
        assert_eq!(flaky[0]["case"], "flaky");
        assert_eq!(
            (&flaky[0]["low"], &flaky[0]["high"]),
            (&json!(0.7), &json!(0.9))
        );
        let changes = summary["configurations"][0]["changes"]
            .as_array()
            .expect("a list");
        assert_eq!(changes.len(), 1, "{changes:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(changes[0]["what"], @r#"["the code of the pipeline"]"#);
        }
        assert_eq!(changes[0]["commit"], fake_commit(first_late));
    }
    // Within the second half nothing falls any more, whatever it was before.
    let summary = digest(&kept, "2026-W43", "2026-W45");
    assert_eq!(candidates(&summary), [""; 0]);
}

#[test]
fn every_mean_has_its_number_and_what_could_not_be_read_is_named_and_counted() {
    let kept = branch();
    let summary = digest(&kept, "2026-W41", "2026-W45");
    let of = &summary["configurations"][0];
    let late = (0..REPORTS).filter(|at| is_late(*at)).count();
    // The third and the fifth of the early ones are unreadable.
    assert_eq!(of["runs"], late);
    assert_eq!(of["runs_before"], REPORTS - late - 2);
    let steady = &row(&summary, "steady")["now"];
    assert_eq!(
        (&steady["n"], &steady["runs"]),
        (&json!(late), &json!(late))
    );
    assert!((steady["value"].as_f64().expect("known") - 0.8).abs() < 1e-9);
    let falls = row(&summary, "falls");
    assert!((falls["worse_by"].as_f64().expect("known") - 0.2).abs() < 1e-9);
    assert_eq!(falls["before"]["n"], REPORTS - late - 2);
    let added = row(&summary, "added");
    assert_eq!(added["before"]["value"], Value::Null);
    insta::assert_snapshot!(added["before"]["reason"].as_str().unwrap_or_default(), @"no run had this case");
    assert_eq!(added["worse_by"], Value::Null);

    let unread = summary["read"]["unread"].as_array().expect("a list");
    assert_eq!(unread.len(), 2, "{unread:?}");
    let why = |number: usize| {
        let named = |one: &&Value| {
            one[0]
                .as_str()
                .is_some_and(|at| at.contains(&place(number)))
        };
        let found = unread.iter().find(named).expect("it is named");
        found[1].as_str().expect("a reason").to_owned()
    };
    insta::assert_snapshot!(redacted(&why(2)), @"it is cut off: EOF while parsing a string at line 1 column [COLUMN]");
    insta::assert_snapshot!(why(4), @"it was written by a newer kelvin, version 9.9.9 (schema 99, this one reads 2): update kelvin, or measure again with this one");
    assert_eq!(
        summary["read"]["left"],
        json!({"shard": 1, "dry_run": 1, "unfinished": 1, "restricted": 1})
    );
    assert_eq!(summary["read"]["places"][0][1], 64);
}

#[test]
fn the_short_form_has_at_most_twelve_lines_and_names_what_fell_with_its_commit() {
    let kept = branch();
    let short = |since: &str, until: &str| {
        let arguments = [
            "history", "digest", "--since", since, "--until", until, "--format", "short",
        ];
        kept.project.kelvin(&arguments).expect(0).stdout
    };
    let page = short("2026-W41", "2026-W45");
    assert!(page.lines().count() <= 12, "{page}");
    let (title, rest) = page.split_once('\n').expect("lines");
    insta::assert_snapshot!(title, @"**Kelvin digest of 2026-W41 to 2026-W44**: 30 runs of 1 configuration, 28 in the period before");
    let fell = rest.lines().find(|line| line.contains("`falls` fell in"));
    let fell = fell.unwrap_or_else(|| panic!("{page}"));
    assert!(
        fell.starts_with("- ❌") && fell.contains("0.9") && fell.contains("0.7"),
        "{fell}"
    );
    assert!(fell.contains("since 2026-10-05 (`"), "{fell}");
    assert!(page.contains("flaky") && page.contains("Cost: "), "{page}");
    let empty = short("2025-01-01", "2025-01-08");
    insta::assert_snapshot!(kelvin_fixtures::text::redacted(&empty), @"
    **Kelvin digest of 2025-W01 to 2025-W02**: 0 runs of 1 configuration, 0 in the period before
    - ❌ No run of this period was found, so nothing can be said of it.
    - Cost: 0 calls, 0 from the cache, [SECONDS] s; before: 0 calls, 0 from the cache, [SECONDS] s.
    ");
    assert!(!empty.contains('✅'), "{empty}");
}

#[test]
fn a_period_without_runs_says_so_and_one_with_a_single_run_says_how_thin_it_is() {
    let kept = branch();
    let empty = |since: &str, until: &str| {
        let said = kept
            .project
            .kelvin(&["history", "digest", "--since", since, "--until", until]);
        said.expect(0).stdout
    };
    let page = empty("2025-01-01", "2025-01-08");
    assert!(!page.contains('✅'), "{page}");
    // Nothing before: nothing is called a fall, nothing is called fine.
    let page = empty("2026-09-07", "2026-09-14");
    insta::assert_snapshot!(lines_with(&page, &["`kelvin`"]), @"
    - ⚠️ `kelvin` has no run in the period before, so nothing can be compared
    ## `kelvin`
    ");
    assert!(!page.contains('✅'), "{page}");
    let page = empty("2026-10-20T00:00:00Z", "2026-10-21T00:00:00Z");
    insta::assert_snapshot!(lines_with(&page, &["`kelvin`", "| the whole run |"]), @"
    - ⚠️ `kelvin` has one run in this period and one before: each mean is a single measurement
    ## `kelvin`
    | the whole run | `words.kept` | 0.7800 (n 1) | 0.8200 (n 1) | held |
    | the whole run | · | 0.7960 (n 5) | 0.8000 (n 8) | 0.7971 (n 7) | 0.8000 (n 8) | 0.8029 (n 7) | 0.8000 (n 8) | 0.8000 (n 2) |
    ");
    // Runs before and none now.
    let page = empty("2026-W45", "2026-W53");
    insta::assert_snapshot!(lines_with(&page, &["❗"]), @"- ❗ No run of this period was found, so nothing can be said of it");
    let mut told = Vec::new();
    for (since, until) in [
        ("2026-W45", "2026-W44"),
        ("last week", "2026-W44"),
        ("7d", "soon"),
    ] {
        let said = kept
            .project
            .kelvin(&["history", "digest", "--since", since, "--until", until]);
        let said = said.expect(1);
        told.push(said.stderr.to_string());
    }
    insta::assert_snapshot!(redacted(&told.join("\n")), @"
    error: the period from [TIME] to [TIME] is empty
      help: let `--since` name a time before `--until`

    error: `--since`: `last week` is no time: write a span such as `7d`, `2w` or `36h`, a date such as `[TIME]`, a week such as `2026-W47`, or a time such as `[TIME]`

    error: `--until`: `soon` is no time: write a span such as `7d`, `2w` or `36h`, a date such as `[TIME]`, a week such as `2026-W47`, or a time such as `[TIME]`
    ");
    let said = kept
        .project
        .kelvin(&["history", "digest", "--metric", "evidence.invarience"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: no run has the metric `evidence.invarience`
      help: the metrics are: words.kept
    ");
}

#[test]
fn a_run_in_both_places_counts_once_and_a_run_that_called_nothing_adds_no_sample() {
    let kept = Kept::new();
    let project = &kept.project;
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    let summary = digest(&kept, "7d", "2099-01-01");
    assert_eq!(
        summary["configurations"][0]["runs"], 0,
        "it is of another time"
    );
    let now = || {
        let said = project
            .kelvin(&["history", "digest", "--format", "json"])
            .expect(0);
        serde_json::from_str::<Value>(&said.stdout).expect("JSON")
    };
    let summary = now();
    assert_eq!(summary["read"]["twice"], 1, "{summary:#}");
    assert_eq!(summary["configurations"][0]["runs"], 1);
    // The same code once more: all answers come from the cache, which is asked for here.
    project.config("cache: true\n");
    project.kelvin(&["check"]).expect(0);
    project.kelvin(&["check"]).expect(0);
    let summary = now();
    let history = summary["read"]["places"].as_array().expect("a list");
    assert!(history.iter().any(|place| place[1] == 3), "{history:?}");
    assert_eq!(summary["configurations"][0]["runs"], 2);
    assert!(summary["configurations"][0]["cost"]["cache_hits"].as_u64() > Some(0));
}

#[test]
fn the_digest_is_written_where_it_is_asked_for_and_ends_with_the_configuration_of_today() {
    let kept = branch();
    let project = &kept.project;
    let write = |more: &[&str]| {
        let arguments = [
            "history",
            "digest",
            "--since",
            "4w",
            "--until",
            "2026-11-02",
        ];
        project
            .kelvin(&[&arguments, more].concat())
            .expect(0)
            .stdout
    };
    assert_eq!(
        write(&["--out", "memory/"]),
        "wrote memory/2026-11-01.md\nnext: kelvin history regression\n"
    );
    let page = project.read("memory/2026-11-01.md");
    assert!(
        page.starts_with("# Kelvin digest of 2026-W41 to 2026-W44\n"),
        "{page}"
    );
    let fell = "- ❗ `falls`";
    assert!(page.contains(fell), "{page}");
    let (_, end) = page.rsplit_once("\n## ").expect("it ends so");
    insta::assert_snapshot!(redacted(&lines_with(end, &["`kelvin.yaml\\`", "| warn |"])), @r"
    | ok | config: \`kelvin.yaml\` is valid |
    | warn | fingerprints: since the last run, of [TIME]T13:&#8203;36:&#8203;00Z, these have changed: the probes, the code of the pipeline |
    ");
    // Bit for bit the same, whenever it is made.
    write(&["--out", "memory/again.md"]);
    assert_eq!(project.read("memory/again.md"), page);

    write(&["--format", "html", "--out", "memory"]);
    let html = project.read("memory/2026-11-01.html");
    assert!(
        html.contains("<svg") && html.contains("class=\"course c0\""),
        "{html}"
    );
    assert!(
        html.contains(">1.00</text>") && html.contains(">0.00</text>"),
        "{html}"
    );
    assert!(!html.contains("<script"), "{html}");

    // A configuration that cannot be read does not keep the past from being told.
    project.write("kelvin.yaml", "run: true\ncasez: 1\n");
    let page = write(&[]);
    assert!(
        page.contains("| missing | config: ") && page.contains("`falls`"),
        "{page}"
    );
}

/// Whoever may write to the branch of reports may write any figure there; the records are what was measured.
#[test]
fn a_report_whose_figures_its_records_do_not_give_is_read_by_no_command_that_judges() {
    let kept = Kept::new();
    let project = &kept.project;
    project.check();
    let mut report = project.json("kelvin/report.json");
    let push = |report: &Value| kept.push(&[(place(1), report.to_string())]);
    let arguments = [
        "history",
        "digest",
        "--since",
        "2020-01-01",
        "--format",
        "json",
    ];
    let read = || -> Value {
        let summary = project.kelvin(&arguments).expect(0).stdout;
        let summary: Value = serde_json::from_str(&summary).expect("JSON");
        summary["read"].clone()
    };
    push(&report);
    assert_eq!(read()["unread"], json!([]));
    report["metrics"]["evidence.invariance"]["value"] = json!(0.2);
    push(&report);
    let unread = read()["unread"].to_string();
    insta::assert_snapshot!(redacted(&unread), @r#"[["kelvin-reports:kelvin/[HASH].json","figures that its own records do not give"]]"#);
}
