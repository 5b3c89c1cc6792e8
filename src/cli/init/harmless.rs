//! The files that a new configuration proposes as harmless: the pages at the top of the project. A folder such as
//! `docs` is not proposed: the pipeline may search it, and such a search lists the folder instead of naming its files.

use std::path::Path;

use kelvin_run::config::NamedPaths;

/// Names of pages that no pipeline reads, unless the configuration names them.
const PAGES: [&str; 9] = [
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "README.md",
    "README.rst",
    "SECURITY.md",
];

/// The pages in the folder of the configuration, except those that its text names.
pub(super) fn pages(root: &Path, text: &str) -> Vec<String> {
    let Ok(named) = NamedPaths::of(text, Path::new(""), root) else {
        return Vec::new();
    };
    let is_page = |name: &&&str| {
        let path = root.join(name);
        path.is_file() && named.name_of(Path::new(**name)).is_none()
    };
    let pages = PAGES.iter().filter(is_page);
    pages.map(|name| (*name).to_owned()).collect()
}
