//! What is wrong with a configuration and with what it names: everything is read, and nothing is run.

use std::path::Path;

use super::asked::{self, Side};
use super::{Mode, Request};
use crate::config::Overrides;
use crate::notice::Notice;
use crate::probe;

/// What was found in a configuration and its items.
#[derive(Debug, Default)]
pub(crate) struct Linted {
    /// What was read, in words, e.g. `12 cases`.
    pub(crate) read: Vec<String>,
    /// What a run would tell of besides.
    pub(crate) notices: Vec<Notice>,
    /// Why it cannot be run; several where they were found apart from each other.
    pub(crate) problems: Vec<anyhow::Error>,
}

/// Reads a configuration and the items of all its probes.
pub(crate) fn lint(file: &Path) -> Linted {
    let mut linted = Linted::default();
    if let Err(error) = linted.take(file) {
        linted.problems.push(error);
    }
    linted
}

impl Linted {
    fn take(&mut self, file: &Path) -> anyhow::Result<()> {
        let request = Request {
            overrides: Overrides {
                file: Some(file.to_path_buf()),
                ..Overrides::default()
            },
            probe: None,
            only: Vec::new(),
            shard: None,
            masker: None,
            is_base: false,
            out: None,
            mode: Mode::DryRun,
        };
        let config = probe::configured(&request.overrides)?;
        let mut sides = Vec::new();
        // The items of one probe say nothing of those of another, so all are read.
        for kind in asked::kinds(&config, &request)? {
            match kind.read(&config) {
                Ok(items) => {
                    let count = items.ids().len();
                    let (one, several) = kind.nouns();
                    let noun = if count == 1 { one } else { several };
                    self.read.push(format!("{count} {noun}"));
                    self.notices.extend(items.notices());
                    sides.push(Side {
                        kind,
                        items,
                        chosen: 0,
                    });
                }
                Err(error) => self.problems.push(error),
            }
        }
        asked::keep_folders_apart(&sides)?;
        self.notices.sort();
        Ok(())
    }
}
