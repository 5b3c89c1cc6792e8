//! All reports that can be viewed: the report in the output folder, and the runs of the history.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::check::{self, RunsRequest};
use crate::history::History;
use crate::registry::Registry;
use kelvin_base::calendar;
use kelvin_gate::report;
use kelvin_page::html;
use kelvin_run as run;

/// The page of the last run.
pub(super) const REPORT: &str = "report.html";
/// How many runs the page offers.
const RUNS: usize = 50;

/// The places of the reports.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    /// The kinds of probes whose reports are read.
    pub(super) registry: Registry,
    /// The folder of the configuration.
    pub(super) root: PathBuf,
    /// The output folder.
    pub(super) out: PathBuf,
    /// The file of the configuration.
    pub(super) config: PathBuf,
}

impl Shelf {
    /// The state that may change while somebody views the page.
    pub(super) fn state(&self) -> Value {
        let report = fs::metadata(self.out.join(REPORT)).ok();
        let written = report.as_ref().and_then(|data| data.modified().ok());
        let journal = run::so_far(&self.out);
        let going = journal.filter(|(_, at)| written.is_none_or(|written| *at > written));
        json!({
            // A run is in progress, or was stopped early: then the report is missing or older than the answers.
            "is_under_way": going.is_some() || (report.is_none() && self.out.exists()),
            // A text that changes with the report.
            "report": report.map(|data| format!("{:?} {}", data.modified().ok(), data.len())),
            // How many answers the run has so far, if that is recorded, as it is not outside a repository.
            "answers": going.as_ref().map(|(answers, _)| *answers),
            "quiet_for": going.and_then(|(_, at)| Some(at.elapsed().ok()?.as_secs())),
            "runs": self.runs().unwrap_or_default(),
        })
    }

    /// The runs of the history, the newest first.
    fn runs(&self) -> anyhow::Result<Vec<Value>> {
        let Some(history) = History::open(&self.root)? else {
            return Ok(Vec::new());
        };
        let runs = history.runs(RUNS)?.into_iter().rev();
        let named = runs.map(|run| {
            let commit = run
                .commit
                .as_deref()
                .map_or("-", |commit| commit.get(..7).unwrap_or(commit));
            let word = run.verdict.map_or(run.ending, |verdict| verdict.words);
            let time = run.time.get(..16).unwrap_or(&run.time).replace('T', " ");
            let name = format!("{time}  {commit}  {}  {word}", run.configuration);
            json!({ "name": name, "id": run.id })
        });
        Ok(named.collect())
    }

    /// The page of the last run; none if there is no such page.
    pub(super) fn report(&self) -> Option<Vec<u8>> {
        fs::read(self.out.join(REPORT)).ok()
    }

    /// The page with each metric over all runs, including those of the branch of reports.
    pub(super) fn course(&self) -> anyhow::Result<Vec<u8>> {
        let article = check::runs(&RunsRequest {
            registry: self.registry,
            config: self.config.clone(),
            metrics: Vec::new(),
            name: None,
            login: None,
            now: calendar::now() + 1,
        })?;
        let mut page = Vec::new();
        html::write_article(&mut page, article)?;
        Ok(page)
    }

    /// The page of a run of the history. The history does not store inputs, so the page has no comparison of texts.
    pub(super) fn run(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        let side = check::run(self.registry, &self.root, id)?;
        let mut page = Vec::new();
        report::page::to_html(&mut page, &side.report, None, &|_, _| None)?;
        Ok(page)
    }
}
