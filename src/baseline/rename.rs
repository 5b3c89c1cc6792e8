//! Which of the names on the branch of reports is that of the configuration at hand: its own, or the
//! one that it had before it was renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;

use super::branch::Kept;
use super::commit::Distances;
use super::search::Place;
use super::tree;
use kelvin_base::file;

/// A configuration that is larger is not looked into for its name.
const MOST_BYTES: u64 = 256 * 1024;

/// The name whose reports are those of the configuration at hand: the one that measured the same cases
/// with the same settings, where no configuration is called so any more.
///
/// # Errors
///
/// Where there is none, or more than one may be meant.
pub(super) fn name<'k>(
    place: &Place<'_>,
    kept: &'k [Kept],
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
        let bytes = tree::blob(place.repo, place.remote, nearest.blob)?;
        // A report that cannot be read is that of another name, as far as anybody knows.
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

/// Whether a configuration of this name is in the checkout: then it was copied and not renamed.
fn is_there(place: &Place<'_>, name: &str) -> bool {
    let (Ok(index), Some(top)) = (place.repo.index(), place.repo.workdir()) else {
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

/// What a configuration calls itself; none where it has the name of its file.
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
