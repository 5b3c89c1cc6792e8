//! Finds the name under which the branch of reports stores the reports of the current configuration: its present name,
//! or the name that it had before it was renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;

use super::branch::KeptOnBranch;
use super::commit::Distances;
use super::search::SearchPosition;
use super::tree;
use kelvin_base::file;

/// In a configuration that is larger than this, the name is not searched for.
const MOST_BYTES: u64 = 256 * 1024;

/// Finds the former name of the current configuration: a name under which the same cases were measured with the same
/// settings, and which no configuration has any more. Fails if there is no such name, or more than one.
pub(super) fn name<'k>(
    place: &SearchPosition<'_>,
    kept: &'k [KeptOnBranch],
    ancestors: &Distances,
) -> anyhow::Result<&'k str> {
    let (mine, branch) = (place.search.configuration, &place.search.settings.branch);
    let names: BTreeSet<&str> = kept
        .iter()
        .map(|kept| kept.configuration.as_str())
        .collect();
    if let Some(own) = names.get(mine) {
        return Ok(own);
    }
    let Some(head) = &place.search.head else {
        bail!("the branch `{branch}` has no report of `{mine}`");
    };
    let distances: BTreeMap<_, _> = ancestors.iter().copied().collect();
    let mut same = Vec::new();
    for name in names {
        let nearest = kept
            .iter()
            .filter(|kept| kept.configuration == name)
            .filter_map(|kept| Some((distances.get(&kept.commit)?, kept)))
            .min_by_key(|(distance, _)| **distance);
        let Some((_, nearest)) = nearest else {
            continue;
        };
        let bytes = tree::blob(place.remote, nearest.blob)?;
        // A report that cannot be read counts as one of another configuration.
        let Ok(report) = place.search.registry.report(&bytes) else {
            continue;
        };
        if report.suite().is_like(head) {
            same.push(name);
        }
    }
    match same.as_slice() {
        [only] if !is_there(place, only) => Ok(only),
        [] | [_] => bail!(
            "the branch `{branch}` has no report of `{mine}`, and none of a configuration with the \
             same items and settings that was removed or renamed"
        ),
        more => bail!(
            "the branch `{branch}` has no report of `{mine}`, and those of `{}` have the same items \
             and settings: which of them was renamed cannot be told",
            more.join("`, `")
        ),
    }
}

/// Whether the checkout has a configuration with this name: then it was copied, not renamed.
fn is_there(place: &SearchPosition<'_>, name: &str) -> bool {
    let (Ok(index), Some(top)) = (place.remote.repo().index(), place.remote.repo().workdir())
    else {
        return false;
    };
    index.iter().any(|entry| {
        let Ok(path) = std::str::from_utf8(&entry.path) else {
            return false;
        };
        let Some(stem) = [".yaml", ".yml"]
            .iter()
            .find_map(|ending| path.strip_suffix(ending))
        else {
            return false;
        };
        let path = top.join(path);
        path.is_file() && called(&path).unwrap_or_else(|| file::slug(stem)) == name
    })
}

/// The name that a configuration file sets; none if the name of the file is used.
fn called(path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MOST_BYTES {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
    let name = name.split(" #").next().unwrap_or(name);
    Some(file::slug(name.trim().trim_matches(['"', '\''])))
}
