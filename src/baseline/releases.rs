//! The tags of a repository, which are its releases.

use std::collections::BTreeMap;
use std::path::Path;

/// The names of the tags of each commit, as they sort; none where there is no repository that can be read. A plot
/// without marks is as true as one with them.
pub(crate) fn releases(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut releases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let Ok(repo) = super::open(root) else {
        return releases;
    };
    let Ok(references) = repo.references_glob("refs/tags/*") else {
        return releases;
    };
    for reference in references.flatten() {
        let name = reference.shorthand().map(str::to_owned);
        let commit = reference.peel_to_commit();
        if let (Ok(name), Ok(commit)) = (name, commit) {
            releases
                .entry(commit.id().to_string())
                .or_default()
                .push(name);
        }
    }
    for names in releases.values_mut() {
        names.sort();
    }
    releases
}
