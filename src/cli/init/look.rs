//! A look at an output: runs the pipeline once, on the first case.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Map, Value};

use super::ask::Stopped;
use super::steps;
use crate::config::Config;
use crate::judge;
use crate::probe::evidence::DecisionReader;
use crate::probe::evidence::cases::Corpus;
use crate::run::{Outcome, Rules, Runner, RunnerSettings, Silent, Start, Task};

/// What the pipeline made of the first case.
pub(super) struct Look {
    /// The name of the case.
    pub(super) case: Arc<str>,
    /// What became of it, with the decision field of the configuration.
    pub(super) outcome: Outcome,
    /// The object it wrote, if it wrote one.
    pub(super) output: Option<Map<String, Value>>,
}

/// Runs the pipeline once, in a temporary output folder.
///
/// # Errors
///
/// Where the run cannot be made at all, and [`Stopped`] where a signal ended it.
pub(super) fn run(config: &Config, corpus: &Corpus) -> anyhow::Result<Look> {
    let case = corpus.cases.first().context("there is no case")?;
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let out = folder.path().join("kelvin");
    let evidence = steps::settings(config);
    let scorer = judge::of(&evidence.scorer);
    let program = evidence.program();
    let settings = RunnerSettings {
        rules: Rules::of(config, &program),
        out: &out,
        start: Start::Fresh,
        fingerprint: None,
        watch: None,
        reader: &DecisionReader::new(evidence, &*scorer),
        observer: &Silent,
        observing: None,
    };
    let runner = Runner::open(|site| program.target.open(site), settings)?;
    let task = Task {
        case: Arc::clone(&case.name),
        variant: None,
        repeat: 1,
    };
    let input = |_: &Task| Cow::Borrowed(&*case.text);
    let outcome = runner
        .run_all("first baseline", std::slice::from_ref(&task), &input)?
        .pop();
    let Some(Some(outcome)) = outcome else {
        return Err(Stopped.into());
    };
    let output = find(&out, "output.json").and_then(|text| serde_json::from_slice(&text).ok());
    Ok(Look {
        case: task.case,
        outcome,
        output,
    })
}

/// The first file of this name below a folder.
fn find(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name() == name {
                return fs::read(path).ok();
            }
        }
    }
    None
}
