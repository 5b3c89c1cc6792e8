mod digest;
mod export;
mod one_room;
mod regression;
mod traces;

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{GROUNDED, Project};
use crate::repository::{bare, commit, git, pushed};

/// The metric whose values the tests write. It is of a probe that kelvin does not know, so that it can be made of no
/// records, and counts as it is.
pub(crate) const METRIC: &str = "words.kept";

/// A report of a real run, as a form for others.
pub(crate) struct Form {
    report: Value,
}

impl Form {
    /// Runs a check, and forgets it.
    pub(crate) fn of(project: &Project) -> Self {
        project.kelvin(&["check", "--no-history"]).expect(0);
        let mut report = project.json("kelvin/report.json");
        // The form of the figure; no other is in these reports, and no record that would have to give them.
        let mut metric = report["metrics"]["evidence.invariance"].take();
        metric["gated"] = json!(true);
        metric["family"] = json!("words");
        report["metrics"] = json!({METRIC: metric});
        report["probes"] = json!({});
        Self { report }
    }

    /// A report of some values by case, each with its repeats.
    pub(crate) fn report(&self, made: &Made<'_>) -> Value {
        let mut report = self.report.clone();
        let means: Vec<f64> = made
            .cases
            .iter()
            .map(|(_, values)| values.iter().sum::<f64>() / values.len() as f64)
            .collect();
        let per_case: serde_json::Map<String, Value> = made
            .cases
            .iter()
            .zip(&means)
            .map(|((case, values), mean)| {
                let value = json!({"value": mean, "n": values.len(), "repeats": values});
                ((*case).to_owned(), value)
            })
            .collect();
        let metric = &mut report["metrics"][METRIC];
        metric["value"] = json!(means.iter().sum::<f64>() / means.len() as f64);
        metric["n"] = json!(means.len());
        metric["per_case"] = Value::Object(per_case);
        let session = &mut report["run"]["session"];
        session["started_at"] = json!(made.at);
        session["commit"] = json!(made.commit);
        session["dirty"] = json!(false);
        report["run"]["fingerprints"]["pipeline"] = json!(digest(made.code));
        report
    }
}

/// What a report says.
pub(crate) struct Made<'a> {
    pub(crate) at: &'a str,
    pub(crate) commit: &'a str,
    /// The code of the pipeline.
    pub(crate) code: u8,
    pub(crate) cases: &'a [(&'a str, Vec<f64>)],
}

fn digest(code: u8) -> String {
    format!("{code:02x}").repeat(32)
}

/// The commit of the report of this number: no such commit has to exist.
pub(crate) fn fake_commit(number: usize) -> String {
    format!("{number:04x}").repeat(10)
}

/// A project in a repository whose remote has a branch of reports: the text of each file, by its name.
pub(crate) struct Kept {
    pub(crate) project: Project,
    pub(crate) form: Form,
    remote: TempDir,
}

impl Kept {
    pub(crate) fn new() -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        project.write(".gitignore", "/kelvin/\n/calls\n/.kelvin/\n");
        commit(&project, "ignore");
        let form = Form::of(&project);
        Self {
            project,
            form,
            remote,
        }
    }

    /// Makes the branch of reports anew.
    pub(crate) fn push(&self, files: &[(String, String)]) {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        git(at, &["init", "--quiet", "--initial-branch=kelvin-reports"]);
        for (name, text) in files {
            let file = at.join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, text).expect("written");
        }
        git(at, &["add", "--all"]);
        git(at, &["commit", "--quiet", "--allow-empty", "-m", "Reports"]);
        let remote = self.remote.path().display().to_string();
        git(
            at,
            &["push", "--quiet", "--force", &remote, "kelvin-reports"],
        );
    }
}

/// The name under which a report is kept.
pub(crate) fn place(number: usize) -> String {
    format!("kelvin/{}.json", fake_commit(number))
}
