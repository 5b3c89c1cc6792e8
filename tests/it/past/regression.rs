use kelvin_fixtures::text::redacted;
use serde_json::{Value, json};

use super::{Kept, Made, fake_commit, place};
use crate::repository::{commit, git};

/// What a version of this number measured: the values of each case.
fn kept(versions: &[&[(&str, Vec<f64>)]]) -> Kept {
    let kept = Kept::new();
    let files: Vec<(String, String)> = versions
        .iter()
        .enumerate()
        .map(|(number, cases)| {
            let report = kept.form.report(&Made {
                at: &format!("2026-10-{:02}T12:00:00Z", number + 1),
                commit: &fake_commit(number + 1),
                code: u8::try_from(number).expect("few"),
                cases,
            });
            (place(number + 1), report.to_string())
        })
        .collect();
    kept.push(&files);
    kept
}

fn compared(kept: &Kept, more: &[&str]) -> Value {
    let said = kept
        .project
        .kelvin(&[&["history", "regression", "--format", "json"], more].concat());
    serde_json::from_str(&said.expect(0).stdout).expect("JSON")
}

fn unit<'a>(compared: &'a Value, name: &str) -> &'a Value {
    let rows = compared["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["unit"] == name);
    found.unwrap_or_else(|| panic!("{name} has no row: {compared:#}"))
}

#[test]
fn the_worked_example_dropped_and_its_neighbours_did_not() {
    let before = vec![0.84, 0.84, 0.84];
    let kept = kept(&[
        &[
            ("example", before.clone()),
            ("neighbour", before.clone()),
            ("boundary", vec![0.85; 3]),
            ("edge", vec![0.80; 3]),
            ("better", vec![0.5; 3]),
            ("thin", vec![0.9; 3]),
            ("gone", vec![0.9; 3]),
        ],
        &[
            ("example", vec![0.78, 0.75, 0.79]),
            ("neighbour", vec![0.80, 0.79, 0.80]),
            ("boundary", vec![0.80; 3]),
            ("edge", vec![0.75; 3]),
            ("better", vec![0.9; 3]),
            ("thin", vec![0.1; 2]),
            ("new", vec![0.9; 3]),
        ],
    ]);
    let compared = compared(&kept, &[]);
    assert_eq!(compared["current"], fake_commit(2));
    assert_eq!(compared["prior"], fake_commit(1));
    for (name, standing) in [
        ("example", "dropped"),
        ("neighbour", "held"),
        // A drop of exactly .05 is none, on whichever side of it binary puts the difference.
        ("boundary", "held"),
        ("edge", "held"),
        ("better", "improved"),
        ("thin", "insufficient"),
        ("gone", "removed"),
        ("new", "added"),
    ] {
        assert_eq!(unit(&compared, name)["standing"], standing, "{name}");
    }
    let example = unit(&compared, "example");
    let near = |key: &str, wanted: f64| {
        let value = example[key].as_f64().expect("a number");
        assert!((value - wanted).abs() < 5e-5, "{key}: {value}");
    };
    near("prior", 0.84);
    near("current", 0.7733);
    near("drop", 0.0667);
    assert_eq!(
        (&example["n_prior"], &example["n_current"]),
        (&json!(3), &json!(3))
    );
    // The chain is as thin as the thinnest of its cases.
    let rows = compared["rows"].as_array().expect("rows");
    let chain = rows
        .iter()
        .find(|row| row["unit"].is_null())
        .expect("a chain");
    assert_eq!(
        (&chain["n_current"], &chain["standing"]),
        (&json!(2), &json!("insufficient"))
    );
}

#[test]
fn the_exit_code_is_a_failure_only_where_that_was_asked_for_and_never_a_pass_for_what_is_not_known()
{
    let good: (&str, Vec<f64>) = ("steady", vec![0.9; 3]);
    let with = |other: (&'static str, Vec<f64>)| vec![good.clone(), other];
    for (name, prior, current, code) in [
        (
            "nothing moved",
            with(("a", vec![0.9; 3])),
            with(("a", vec![0.9; 3])),
            0,
        ),
        (
            "it dropped",
            with(("a", vec![0.9; 3])),
            with(("a", vec![0.8; 3])),
            3,
        ),
        (
            "too few runs",
            with(("a", vec![0.9; 3])),
            with(("a", vec![0.9; 2])),
            3,
        ),
        (
            "it was taken out",
            with(("a", vec![0.9; 3])),
            vec![good.clone()],
            3,
        ),
        ("it came", vec![good.clone()], with(("a", vec![0.9; 3])), 0),
        // A poor new case is no drop of its own, and it lowers the chain.
        (
            "it came and is poor",
            vec![good.clone()],
            with(("a", vec![0.1; 3])),
            3,
        ),
    ] {
        let kept = kept(&[&prior, &current]);
        kept.project.kelvin(&["history", "regression"]).expect(0);
        let said = kept
            .project
            .kelvin(&["history", "regression", "--fail-on-regression"]);
        assert_eq!(said.code, Some(code), "{name}: {}", said.stdout);
    }
}

#[test]
fn a_version_is_named_by_a_tag_or_a_commit_and_is_never_compared_with_itself() {
    let cases = |value: f64| vec![("a", vec![value; 3])];
    let kept = kept(&[&cases(0.9), &cases(0.5), &cases(0.5)]);
    assert_eq!(unit(&compared(&kept, &[]), "a")["standing"], "held");
    let first = fake_commit(1);
    let against = compared(&kept, &["--against", &first]);
    assert_eq!(unit(&against, "a")["standing"], "dropped");
    assert_eq!(against["prior"], first);
    let refused = |version: &str, why: &str| {
        let said = kept
            .project
            .kelvin(&["history", "regression", "--against", version])
            .expect(1);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    };
    refused(&fake_commit(3), "compared with itself");
    refused("v9", "`v9` is no revision");
    refused("HEAD", "no run of the version `HEAD`");
    // A tag of a commit that has a report.
    let project = &kept.project;
    project.check();
    project.kelvin(&["baseline", "save"]).expect(0);
    git(project.root(), &["tag", "v1.2.0"]);
    refused("v1.2.0", "compared with itself");
    crate::repository::commit(project, "next");
    project.check();
    let compared = compared(&kept, &["--against", "v1.2.0", "--live-runs", "1"]);
    let tagged = git(project.root(), &["rev-parse", "v1.2.0"]);
    assert_eq!(compared["prior"], tagged);
    let rows = compared["rows"].as_array().expect("rows");
    assert!(
        rows.iter().all(|row| row["standing"] == "held"),
        "{compared:#}"
    );
}

#[test]
fn one_version_alone_is_compared_with_nothing() {
    let cases = [("a", vec![0.9; 3])];
    let kept = kept(&[&cases]);
    let said = kept
        .project
        .kelvin(&["history", "regression", "--fail-on-regression"])
        .expect(1);
    insta::assert_snapshot!(redacted(&said.stderr), @"
    error: all runs of `kelvin` are of one version, [HASH], so there is none to compare with
      help: run `kelvin check` on an earlier commit too, or save its report
    ");
    let said = kept
        .project
        .kelvin(&["history", "regression", "--name", "other"])
        .expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: no run of `other` was found
      help: `kelvin check` records one
    ");
}

#[test]
fn an_old_commit_that_is_measured_once_more_is_not_the_newest_version_and_no_clock_makes_it_so() {
    let kept = Kept::new();
    let project = &kept.project;
    let good = git(project.root(), &["rev-parse", "HEAD"]);
    project.write("notes.md", "worse\n");
    let worse = commit(project, "worse");
    // A branch that was never merged has a run too, and it is the newest by its clock.
    git(
        project.root(),
        &["checkout", "--quiet", "-b", "aside", good.trim()],
    );
    project.write("aside.md", "better\n");
    let aside = commit(project, "aside");
    git(project.root(), &["checkout", "--quiet", "main"]);
    let runs: [(&str, &str, u8, f64); 4] = [
        (good.trim(), "2026-10-01T12:00:00Z", 1, 0.9),
        (worse.trim(), "2026-10-02T12:00:00Z", 2, 0.7),
        (good.trim(), "2030-01-01T12:00:00Z", 1, 0.9),
        (aside.trim(), "2030-02-01T12:00:00Z", 3, 1.0),
    ];
    let files: Vec<(String, String)> = runs
        .iter()
        .enumerate()
        .map(|(number, (commit, at, code, value))| {
            let report = kept.form.report(&Made {
                at,
                commit,
                code: *code,
                cases: &[("case", vec![*value; 3])],
            });
            (place(number + 1), report.to_string())
        })
        .collect();
    kept.push(&files);
    let compared = compared(&kept, &[]);
    assert_eq!(compared["current"], worse.trim());
    assert_eq!(compared["prior"], good.trim());
    assert_eq!(unit(&compared, "case")["standing"], "dropped");
    let said = project.kelvin(&["history", "regression", "--fail-on-regression"]);
    said.expect(3);
}
