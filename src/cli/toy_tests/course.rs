//! The toy goes the whole course, as commands.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::kind;
use crate::check::{self, CheckMode, CheckRequest};
use crate::cli::run;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_gate::report;
use kelvin_page::terminal::Style;
use kelvin_run::Silent;
use kelvin_run::config::Overrides;

/// A project whose pipeline answers by the number of letters of a word.
pub(super) struct Project {
    folder: TempDir,
}

impl Project {
    pub(super) fn new(pipeline: &str) -> Self {
        let project = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        project.pipeline(pipeline);
        project.write(
            "kelvin.yaml",
            "toy: {run: 'sh say.sh {input} {output}', words: 'moo, oink, meow, neigh, quack, baa, buzz, hiss, roar, \\
             chirp, cluck, bray'}\n\
             jobs: 2\n",
        );
        project
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(super) fn pipeline(&self, text: &str) {
        self.write("say.sh", text);
    }

    /// A command, whose words `@NAME` are files of the project.
    pub(super) fn kelvin(&self, line: &str) -> Exit {
        let words = line.split(' ').map(|word| match word.strip_prefix('@') {
            Some(name) => self.path(name).display().to_string(),
            None => word.to_owned(),
        });
        let line = std::iter::once("kelvin".to_owned()).chain(words);
        run(kind::registry(), line.map(Into::into).collect())
    }

    pub(super) fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.path(name)).expect("it is there");
        serde_json::from_str(&text).expect("JSON")
    }

    fn request(&self, mode: CheckMode) -> CheckRequest {
        CheckRequest {
            overrides: Overrides {
                file: Some(self.path("kelvin.yaml")),
                ..Overrides::default()
            },
            probe: Some("toy"),
            mode,
            ..CheckRequest::new(kind::registry())
        }
    }
}

pub(super) const GOOD: &str = "printf '0.%s' $(wc -c < \"$1\") > \"$2\"\n";
pub(super) const SILENT: &str = "printf '0.1' > \"$2\"\n";

#[test]
fn it_is_listed_rehearsed_checked_and_shown_by_every_renderer() {
    let project = Project::new(GOOD);
    let listing = check::list(&project.request(CheckMode::Run), false).expect("listed");
    assert_eq!(listing.invocations["word"], 12);
    assert_eq!(
        project.kelvin("check --config @kelvin.yaml --dry-run --no-history"),
        Exit::Passed
    );
    let rehearsed = project.json("kelvin/report.json");
    assert_eq!(rehearsed["probes"]["toy"]["ending"], "dry_run");
    assert!(project.path("kelvin/toy/moo/baseline/input.txt").is_file());

    assert_eq!(
        project.kelvin("check --config @kelvin.yaml --probe toy"),
        Exit::Passed
    );
    let stored = project.json("kelvin/report.json");
    assert_eq!(
        stored["probes"]["toy"]["items"]
            .as_object()
            .map(|all| all.len()),
        Some(12)
    );
    let value = stored["metrics"]["toy.loudness"]["value"].as_f64();
    assert!((value.expect("measured") - 0.42).abs() < 0.05, "{value:?}");
    let bytes = fs::read(project.path("kelvin/report.json")).expect("it is there");
    let read = kind::registry().report(&bytes).expect("it is read");
    let shown = [
        report::page::to_terminal(&read, "kelvin", Style::PLAIN),
        report::page::to_markdown(&read),
        fs::read_to_string(project.path("kelvin/report.html")).expect("it is there"),
    ];
    for page in shown {
        assert!(page.contains("loudness"), "{page}");
        assert!(page.contains("12 words"), "{page}");
    }
    // The same through the program, with a probe that there is not.
    assert_eq!(
        project.kelvin("check --config @kelvin.yaml --probe tyo"),
        Exit::Misused
    );
}

#[test]
fn its_shards_make_the_report_of_the_whole() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history --out @whole");
    for share in ["1/2", "2/2"] {
        let line = format!(
            "check --config @kelvin.yaml --no-history --shard {share} --out @shards/{}",
            &share[..1]
        );
        assert_eq!(project.kelvin(&line), Exit::Passed);
    }
    assert_eq!(project.kelvin("merge @shards --out @joined"), Exit::Passed);
    let (whole, joined) = (
        project.json("whole/report.json"),
        project.json("joined/report.json"),
    );
    assert_eq!(whole["probes"], joined["probes"]);
    assert_eq!(whole["metrics"], joined["metrics"]);
    assert_ne!(project.kelvin("merge @shards/1 --out @half"), Exit::Passed);
}

#[test]
fn it_is_recorded_made_again_and_compared() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --out @first");
    project.pipeline(SILENT);
    project.kelvin("check --config @kelvin.yaml --out @second");
    let root = project.folder.path();
    let id = check::recorded(root, "latest").expect("recorded");
    let stored = check::run(kind::registry(), root, &id)
        .expect("read")
        .report;
    let again = check::recompute(&id, stored);
    assert_eq!((again.figures, again.changed.len()), (1, 0));
    assert!(again.kept.is_empty());
    assert_eq!(
        project.kelvin("rescore figures latest --config @kelvin.yaml --write @again.json"),
        Exit::Passed
    );
    assert_eq!(
        project.json("again.json"),
        project.json("second/report.json")
    );
    assert_eq!(
        project.kelvin("history --config @kelvin.yaml"),
        Exit::Passed
    );
    let compare = "compare @first/report.json @second/report.json";
    assert_eq!(project.kelvin(compare), Exit::Passed);
    assert_eq!(
        project.kelvin("compare @first/report.json @first/report.json --strict"),
        Exit::Passed
    );
    // Other words are another configuration.
    let config = fs::read_to_string(project.path("kelvin.yaml")).expect("it is there");
    project.write("kelvin.yaml", &config.replace("baa", "bark"));
    project.kelvin("check --config @kelvin.yaml --no-history --out @third");
    let strict = "compare @second/report.json @third/report.json --strict";
    assert_ne!(project.kelvin(strict), Exit::Passed);
}

/// The verdict of a gate with a file as its baseline.
pub(super) fn gated(project: &Project, more: &str) -> (Exit, Value) {
    let base = project.path("base/report.json").display().to_string();
    let line = format!("gate --config @kelvin.yaml --no-history --baseline {base}{more}");
    let exit = project.kelvin(&line);
    (exit, project.json("kelvin/gate.json"))
}

#[test]
fn a_failure_of_every_other_call_is_no_drop_and_is_not_hidden_either() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    project.pipeline("mkdir seen-$(cat $1) 2> /dev/null && exit 1\nprintf '0.4' > \"$2\"\n");
    let (exit, judgement) = gated(&project, " --no-rerun");
    assert_ne!(exit, Exit::Passed, "{judgement}");
    let comment = fs::read_to_string(project.path("kelvin/gate.md")).expect("it is there");
    assert!(
        comment.contains("13 notices") && comment.contains("- Repeat 1 was not said (12 times: "),
        "{comment}"
    );
}

#[test]
fn a_second_step_has_files_of_its_own_and_is_asked_next_to_the_base() {
    let project = Project::new(GOOD);
    let config = fs::read_to_string(project.path("kelvin.yaml")).expect("it is there");
    let heard = "toy: {listener: 'sh hear.sh {input} {output}', ";
    project.write("kelvin.yaml", &config.replace("toy: {", heard));
    project.write(
        "hear.sh",
        "grep -q 'Some.*Some' \"$1\" && echo 0.75 > \"$2\"\n",
    );
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let alone = project.json("base/report.json");
    assert!(
        alone["metrics"]["toy.louder"].is_null(),
        "there is no base yet"
    );

    let (exit, judgement) = gated(&project, "");
    assert_eq!(exit, Exit::Passed, "{}", judgement["reasons"]);
    let beside = project.json("kelvin/report.json");
    assert_eq!(beside["metrics"]["toy.louder"]["value"], 0.75);
    assert_eq!(beside["run"]["session"]["cost"]["invocations"], 24);
    assert!(
        project
            .path("kelvin/toy/listener/moo/baseline/input.txt")
            .is_file()
    );
    assert!(project.path("kelvin/toy/moo/baseline/input.txt").is_file());

    // An item cannot have the name of the folder of a step.
    project.write(
        "kelvin.yaml",
        &config.replace("toy: {", heard).replace("moo", "listener"),
    );
    let line = "check --config @kelvin.yaml --no-history --out @other";
    assert_eq!(project.kelvin(line), Exit::Misused);
}

#[test]
fn the_schema_of_a_report_has_its_section() {
    let schema = crate::schema_tests::schema(kind::registry());
    let text = schema.to_string();
    assert!(text.contains("\"toy\""), "{text}");
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history");
    let stored = project.json("kelvin/report.json");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(validator.is_valid(&stored));
}

#[test]
fn without_it_registered_its_section_is_kept_and_not_understood() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history");
    let path = project.path("kelvin/report.json");
    let read_and_written = |path: &Path| {
        let bytes = fs::read(path).expect("it is there");
        let report = Registry::shipped().report(&bytes).expect("it is read");
        assert!(report::page::to_markdown(&report).contains("toy.loudness"));
        let mut text = Vec::new();
        report::json::write(&mut text, &report).expect("memory takes it");
        serde_json::from_slice::<Value>(&text).expect("JSON")
    };
    assert_eq!(read_and_written(&path), project.json("kelvin/report.json"));
    // A check of words needs the pipeline alone.
    let checked = check::check(&project.request(CheckMode::Run), &Silent);
    assert!(checked.is_ok());
}
