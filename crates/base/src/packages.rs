//! Files that list the packages of a project, by their names.

use std::path::Path;

/// How the packages of a list come to a checkout of the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// Somebody installs them, and every checkout on the machine may then run with them, as with Python and Node.
    Beforehand,
    /// The build of a checkout reads the list in it, as with Cargo and Go.
    ByTheBuild,
}

/// The lists with one name.
pub const LISTS: [(&str, Installed); 26] = [
    ("Cargo.lock", Installed::ByTheBuild),
    ("Gemfile.lock", Installed::ByTheBuild),
    ("Manifest.toml", Installed::ByTheBuild),
    ("Package.resolved", Installed::ByTheBuild),
    ("Pipfile", Installed::Beforehand),
    ("Pipfile.lock", Installed::Beforehand),
    ("bun.lock", Installed::Beforehand),
    ("bun.lockb", Installed::Beforehand),
    ("composer.lock", Installed::ByTheBuild),
    ("conda-lock.yml", Installed::Beforehand),
    ("deno.lock", Installed::ByTheBuild),
    ("environment.yaml", Installed::Beforehand),
    ("environment.yml", Installed::Beforehand),
    ("flake.lock", Installed::ByTheBuild),
    ("go.sum", Installed::ByTheBuild),
    ("mix.lock", Installed::ByTheBuild),
    ("npm-shrinkwrap.json", Installed::Beforehand),
    ("package-lock.json", Installed::Beforehand),
    ("pdm.lock", Installed::Beforehand),
    ("pixi.lock", Installed::Beforehand),
    ("pnpm-lock.yaml", Installed::Beforehand),
    ("poetry.lock", Installed::Beforehand),
    ("renv.lock", Installed::ByTheBuild),
    ("requirements.lock", Installed::Beforehand),
    ("uv.lock", Installed::Beforehand),
    ("yarn.lock", Installed::Beforehand),
];

/// The beginnings and ends of the names of the lists of `pip`: `requirements-dev.txt`.
const OF_PIP: [(&str, &str); 3] = [
    ("requirements", ".txt"),
    ("requirements", ".in"),
    ("constraints", ".txt"),
];

/// How the packages of a list with this name are installed, whatever the case of its letters. None for any other file.
pub fn installed(name: &str) -> Option<Installed> {
    let mut lists = LISTS.iter();
    let found = lists.find(|(list, _)| name.eq_ignore_ascii_case(list));
    found
        .map(|(_, installed)| *installed)
        .or_else(|| is_of_pip(Path::new(name)).then_some(Installed::Beforehand))
}

/// Whether a file is a list of `pip`: by its own name, or as a text in a folder `requirements`.
pub fn is_of_pip(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_lowercase();
    let has_form = |(begin, end): &(&str, &str)| name.starts_with(begin) && name.ends_with(end);
    let folder = file.parent().and_then(Path::file_name);
    OF_PIP.iter().any(has_form)
        || folder.is_some_and(|folder| folder == "requirements")
            && (name.ends_with(".txt") || name.ends_with(".in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_known_by_its_name_or_its_folder() {
        for name in ["package-lock.json", "uv.lock", "Requirements-dev.TXT"] {
            assert_eq!(installed(name), Some(Installed::Beforehand), "{name}");
        }
        assert_eq!(installed("Cargo.lock"), Some(Installed::ByTheBuild));
        for name in ["notes.txt", "package.json", "lock.json"] {
            assert_eq!(installed(name), None, "{name}");
        }
        assert!(is_of_pip(Path::new("app/requirements/base.txt")));
        assert!(!is_of_pip(Path::new("app/notes/base.txt")));
    }
}
