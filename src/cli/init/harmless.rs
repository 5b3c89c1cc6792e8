//! The files that a new configuration proposes as harmless: the pages at the top of the project.

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

/// The folder of longer pages.
const FOLDER: &str = "docs";

/// The pages in the folder of the configuration, apart from those that its text names.
pub(super) fn pages(root: &Path, text: &str) -> Vec<String> {
    let Ok(named) = NamedPaths::of(text, Path::new(""), root) else {
        return Vec::new();
    };
    let is_page = |name: &&&str| {
        let path = root.join(name);
        path.is_file() && named.name_of(Path::new(**name)).is_none()
    };
    let pages = PAGES.iter().filter(is_page);
    let mut found: Vec<String> = pages.map(|name| (*name).to_owned()).collect();
    let has_pages = std::fs::read_dir(root.join(FOLDER)).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|name| {
            [".md", ".rst"]
                .iter()
                .any(|end| name.to_string_lossy().ends_with(end))
        })
    });
    if has_pages && !named.has_within(Path::new(FOLDER)) {
        found.push(format!("{FOLDER}/**"));
    }
    found
}
