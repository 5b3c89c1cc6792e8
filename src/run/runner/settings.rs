//! What a runner needs, and what must not lie where it works.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::Config;
use crate::digest::Digest;
use crate::digest::pipeline::Watch;
use crate::exit::Misuse;
use crate::run::Observer;

/// Judges a decision before it counts as an answer.
pub(crate) type Accepts<'a> = dyn Fn(&Value) -> Result<(), String> + Sync + 'a;

/// How a runner starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// With an empty output folder.
    Fresh,
    /// With what an interrupted run has left there.
    Resume,
}

/// What a runner needs.
pub(crate) struct Settings<'a> {
    /// The checked configuration.
    pub(crate) config: &'a Config,
    /// The output folder; absolute. Made, locked and marked as ours.
    pub(crate) out: &'a Path,
    /// Fresh, or with what is there.
    pub(crate) start: Start,
    /// The code of the pipeline; without it nothing is cached and nothing is resumed.
    pub(crate) fingerprint: Option<Digest>,
    /// Notices that this code changes; nothing is kept and nothing more is called from then on.
    pub(crate) watch: Option<&'a Watch>,
    /// Judges decisions.
    pub(crate) accepts: &'a Accepts<'a>,
    /// Is told what happens.
    pub(crate) observer: &'a dyn Observer,
}

impl Settings<'_> {
    /// Refuses an output folder that holds what must outlive a run: its content is removed.
    pub(super) fn keep_files_apart(&self) -> Result<(), Misuse> {
        let config = self.config;
        let root = std::path::absolute(&config.root).unwrap_or_else(|_| config.root.clone());
        let inside = |what: &str, path: PathBuf| {
            if !path.starts_with(self.out) {
                return Ok(());
            }
            Err(Misuse::new(format!(
                "the output folder `{}` holds {what}, and its content is removed by every run",
                self.out.display()
            ))
            .help("name another output folder with `--out`"))
        };
        inside("the configuration", root.clone())?;
        inside("the cases", root.join(&config.cases))?;
        match &config.cache {
            Some(cache) => inside("the cache", root.join(&cache.dir)),
            None => Ok(()),
        }
    }
}
