//! Where the code of the pipeline differs: by default it is the whole repository, so that a file which nothing of the
//! pipeline uses makes another version of it. Then the files are named.

use std::path::{Path, PathBuf};

use super::{GateRequest, measure};
use crate::baseline::{self, TouchedBy};
use kelvin_gate::differences::Difference;
use kelvin_gate::provenance::Provenance;
use kelvin_run::config::Config;

/// How many files are named.
const NAMED: usize = 2;

/// Says of a pipeline whose code differs outside the folder of the configuration alone which files these are. What
/// cannot be found out stays as it is.
pub(super) fn name_files(
    request: &GateRequest,
    (config, provenance): (&Config, &Provenance),
    differences: &mut [Difference],
) {
    let mut differences = differences.iter_mut();
    let pipeline = differences.find(|one| **one == Difference::PIPELINE);
    let Some(pipeline) = pipeline.filter(|_| config.fingerprint.is_empty()) else {
        return;
    };
    if let Some((first, others)) = files(request, config, provenance)
        .as_deref()
        .and_then(<[PathBuf]>::split_first)
    {
        let named = others.iter().take(NAMED - 1);
        let named = [first].into_iter().chain(named);
        *pipeline = Difference::Pipeline {
            outside: named.map(|file| file.display().to_string()).collect(),
            more: others.len().saturating_sub(NAMED - 1),
        };
    }
}

/// The files in which the code differs from the base, if all of them are outside the folder of the configuration.
fn files(request: &GateRequest, config: &Config, provenance: &Provenance) -> Option<Vec<PathBuf>> {
    let repo = baseline::open(&config.root).ok()?;
    if repo.workdir()?.canonicalize().ok()? == config.root.canonicalize().ok()? {
        return None;
    }
    let by = match request.hint.in_workflow {
        true => TouchedBy::Commit,
        false => TouchedBy::WorkTree,
    };
    let with = (request.login.as_ref(), &request.hint);
    let touched = baseline::touched(&config.root, with, by).ok()?;
    if provenance.commit != Some(touched.base.to_string()) {
        return None;
    }
    let own = measure::own_files(request, config, &touched.top);
    let is_own = |path: &Path| own.iter().any(|own| path.starts_with(own));
    let paths = touched.paths.keys().filter(|path| !is_own(path));
    let paths: Vec<PathBuf> = paths.cloned().collect();
    let is_outside = paths.iter().all(|path| !path.starts_with(&touched.below));
    is_outside.then_some(paths)
}
