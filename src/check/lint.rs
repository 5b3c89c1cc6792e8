//! Finds problems of a configuration and of the files that it names: all of them are read, but nothing is run.

use std::path::Path;

use super::asked::{self, AskedProbe};
use super::{CheckMode, CheckRequest, compute, harmless};
use crate::registry::{Registry, overrides_naming};
use kelvin_base::exit::{Finding, Misuse};
use kelvin_base::notice::{Code, Notice};
use kelvin_run::config::Config;

/// The problems of a configuration and its items.
#[derive(Debug, Default)]
pub(crate) struct Linted {
    /// The parts that were read, in words, e.g. `12 cases`.
    pub(crate) read: Vec<String>,
    /// The notices that a run would show as well.
    pub(crate) notices: Vec<Notice>,
    /// How many of the notices may be about a slip; the others say how the items were read.
    pub(crate) doubts: usize,
    /// Whether the configuration configures no probe, and only says how a finished report is judged.
    pub(crate) judges_only: bool,
    /// Why the configuration cannot be run; several reasons where they were found independently.
    pub(crate) problems: Vec<anyhow::Error>,
}

/// Reads a configuration and the items of all its probes.
pub(crate) fn lint(registry: Registry, file: &Path) -> Linted {
    let mut linted = Linted::default();
    if let Err(error) = linted.take(registry, file) {
        linted.problems.push(error);
    }
    linted
}

impl Linted {
    /// Whether the configuration can be run.
    pub(crate) fn is_fine(&self) -> bool {
        self.problems.is_empty()
    }

    /// The errors that prevent a run, one by one.
    pub(crate) fn errors(&self) -> Vec<Finding> {
        let each = self.problems.iter().flat_map(|error| {
            let misuse = error
                .chain()
                .find_map(|cause| cause.downcast_ref::<Misuse>());
            match misuse {
                Some(misuse) => misuse.findings(),
                None => vec![Finding {
                    what: format!("{error:#}"),
                    ..Finding::default()
                }],
            }
        });
        let here = std::env::current_dir().unwrap_or_default();
        each.map(|mut finding| {
            // The path is relative to the working directory, as a person would write it and an editor started there can
            // open it.
            let below = finding.file.as_deref();
            let below = below.and_then(|file| file.strip_prefix(&here).ok());
            finding.file = below.map(Path::to_path_buf).or(finding.file);
            finding
        })
        .collect()
    }

    /// The notices that a run would show.
    pub(crate) fn notes(&self) -> Vec<Finding> {
        let notes = self.notices.iter().map(|notice| Finding {
            what: notice.text.clone(),
            ..Finding::default()
        });
        notes.collect()
    }

    fn take(&mut self, registry: Registry, file: &Path) -> anyhow::Result<()> {
        let request = CheckRequest {
            overrides: overrides_naming(file),
            mode: CheckMode::DryRun,
            ..CheckRequest::new(registry)
        };
        let config = registry.configured(&request.overrides)?;
        let mut kinds = registry.kinds().iter();
        if kinds.all(|kind| !config.configures(kind.name())) {
            self.judges_only = true;
            self.read
                .push("no probe: it judges finished reports, by `kelvin gate --report`".to_owned());
            return Ok(());
        }
        let (mut sides, mut remarks) = (Vec::new(), Vec::new());
        // The items of one probe are independent of those of another, so all are read.
        for kind in asked::kinds(&config, &request)? {
            match kind.read(&config) {
                Ok(items) => {
                    let count = items.ids().len();
                    let (one, several) = kind.nouns();
                    let noun = if count == 1 { one } else { several };
                    let known = || format!("{count} {noun}");
                    // A probe that observes others uses their items, and the items are counted there.
                    if !kind.observes() {
                        self.read.push(items.unknown().unwrap_or_else(known));
                    }
                    self.notices.extend(items.notices());
                    remarks.extend(items.remarks());
                    sides.push(AskedProbe {
                        kind,
                        items,
                        chosen: 0,
                    });
                }
                Err(error) => self.problems.push(error),
            }
        }
        asked::keep_folders_apart(&sides)?;
        let items = sides.iter().flat_map(|side| side.items.files()).collect();
        self.notices.extend(harmless::doubtful(&config, items));
        self.notices.extend(compute::why_not_notice(&config));
        self.notices.extend(too_few_runs(&config));
        self.doubts = self.notices.len();
        self.notices.extend(remarks);
        self.notices.sort();
        Ok(())
    }
}

/// A notice if a probe needs more runs of each item than a check makes, so that a check has no figure of this probe.
fn too_few_runs(config: &Config) -> Option<Notice> {
    let (wanted, made) = (config.live_runs()?, config.repeats);
    if wanted <= made {
        return None;
    }
    let text = format!(
        "the quality score wants {wanted} live runs of each case, and `repeats` is {made}: only `kelvin gate veritas`, which \
         makes as many, would score a case; else set `repeats: {wanted}`, or `live_runs: {made}` under `quality`"
    );
    Some(Notice::new(Code::Insufficient, text))
}
