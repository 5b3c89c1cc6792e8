//! The lists of packages that a change edits. The packages are installed for the change, so the code of its base would run
//! with those of the change too, and what another version of a package does to the answers would be on both sides.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value};

use kelvin_base::packages::{self, Installed};
use kelvin_system::git::Oid;
use kelvin_system::pipeline;

use super::{Remote, environments, tree};

/// Files that say more than which packages there are. They count only without a list beside them, and only by their parts
/// about packages.
const OF_NODE: &str = "package.json";
const OF_PYTHON: &str = "pyproject.toml";
/// The older files of Python. What else they say is code, so that only their lines with a version can be told.
const OLDER_OF_PYTHON: [&str; 2] = ["setup.cfg", "setup.py"];
/// How a line asks for a version.
const COMPARISONS: [&str; 7] = ["==", ">=", "<=", "~=", "!=", ">", "<"];
/// The parts of `package.json` about packages.
const PARTS_OF_NODE: [&str; 5] = [
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "overrides",
    "resolutions",
];
/// The sections of `pyproject.toml` about packages, with all below them.
const SECTIONS_OF_PYTHON: [&str; 6] = [
    "build-system",
    "dependency-groups",
    "project",
    "tool.pdm",
    "tool.poetry",
    "tool.uv",
];
/// The sections that describe the project itself, and their keys that say nothing of packages. Below them, `version` is that
/// of a package.
const SECTIONS_OF_PROJECT: [&str; 2] = ["project", "tool.poetry"];
const KEYS_OF_NO_PACKAGE: [&str; 9] = [
    "authors",
    "classifiers",
    "description",
    "keywords",
    "license",
    "maintainers",
    "name",
    "readme",
    "version",
];

/// The lists of packages that the work tree has otherwise than a commit, relative to the top of the repository: those in the
/// folder of the configuration, above it, and beside an environment; those of `pip` below it too, since `requirements/`
/// may hold them. Fails if the commit or the work tree cannot be read.
pub(crate) fn edited_lists(
    remote: &Remote<'_>,
    base: Oid,
    root: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let tree = tree::tree_of_commit(remote, base)?;
    let against = pipeline::against(root, &tree).context("failed to read the base")?;
    let against = against.context("the files of the repository cannot be listed")?;
    let root = root.canonicalize()?;
    let top = against.top.canonicalize()?;
    let below = root.strip_prefix(&top).unwrap_or(Path::new(""));
    let has_list = |folder: &Path| {
        let mut files = against.files.iter();
        files.any(|file| file.parent() == Some(folder) && is_list(file))
    };
    let is_near = |file: &Path| {
        let folder = file.parent().unwrap_or(Path::new(""));
        below.starts_with(folder)
            || environments::stand_in(&top.join(folder))
            || packages::is_of_pip(file) && folder.starts_with(below) && !is_of_documents(file)
    };
    let mut edited = Vec::new();
    for file in against.changed.iter().filter(|file| is_near(file)) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let name = file.file_name().and_then(OsStr::to_str);
        let parts: fn(&str) -> Value = match name {
            Some(OF_NODE) if !has_list(folder) => of_node,
            Some(OF_PYTHON) if !has_list(folder) => of_python,
            Some(name) if OLDER_OF_PYTHON.contains(&name) && !has_list(folder) => of_setup,
            _ if packages::is_of_pip(file) => of_pip,
            _ if is_list(file) => {
                edited.push(file.clone());
                continue;
            }
            _ => continue,
        };
        let before = match tree.get_path(file) {
            Ok(entry) => tree::blob(remote, entry.id())?,
            Err(_) => Vec::new(),
        };
        let now = fs::read(top.join(file)).unwrap_or_default();
        if parts(&String::from_utf8_lossy(&before)) != parts(&String::from_utf8_lossy(&now)) {
            edited.push(file.clone());
        }
    }
    Ok(edited)
}

/// Whether the packages of a list are installed beforehand. The others are part of the build of a checkout, by the list in
/// it.
fn is_list(file: &Path) -> bool {
    let name = file.file_name().and_then(OsStr::to_str);
    name.and_then(packages::installed) == Some(Installed::Beforehand) || packages::is_of_pip(file)
}

/// Whether a list is that of a project's documents, such as `docs/requirements.txt`, which no pipeline runs with.
fn is_of_documents(file: &Path) -> bool {
    let mut folders = file.components();
    folders.any(|folder| folder.as_os_str() == "docs" || folder.as_os_str() == "doc")
}

/// The lines of a list of `pip`, in any order and without remarks.
fn of_pip(text: &str) -> Value {
    let lines = text.lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
    let mut lines: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    lines.sort_unstable();
    serde_json::json!(lines)
}

/// The parts of a `package.json` about packages. A file that is no JSON counts as a whole.
fn of_node(text: &str) -> Value {
    let Ok(Value::Object(all)) = serde_json::from_str(text) else {
        return Value::String(text.to_owned());
    };
    let parts = all.into_iter();
    let parts: Map<String, Value> = parts
        .filter(|(key, part)| PARTS_OF_NODE.contains(&&**key) && part != &Value::Object(Map::new()))
        .collect();
    Value::Object(parts)
}

/// The lines of a `pyproject.toml` about packages, by section.
fn of_python(text: &str) -> Value {
    let mut sections: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            && !name.contains(['"', '\''])
        {
            // A table of a list, such as an index of packages, has two brackets.
            section = name.trim_matches(['[', ']']);
            continue;
        }
        let is_about_packages = SECTIONS_OF_PYTHON.iter().any(|known| {
            let rest = section.strip_prefix(known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        let key = line.split_once('=').map(|(key, _)| key.trim());
        let is_of_no_package = SECTIONS_OF_PROJECT.contains(&section)
            && key.is_some_and(|key| KEYS_OF_NO_PACKAGE.contains(&key));
        if is_about_packages && !is_of_no_package {
            sections.entry(section).or_default().push(line);
        }
    }
    serde_json::json!(sections)
}

/// The lines of a `setup.py` or `setup.cfg` that ask for a version, in any order.
fn of_setup(text: &str) -> Value {
    let lines = text.lines().map(|line| line.trim().trim_end_matches(','));
    let asks = |line: &&str| {
        !line.starts_with('#')
            && COMPARISONS
                .iter()
                .any(|comparison| line.contains(comparison))
    };
    let mut lines: Vec<&str> = lines.filter(asks).collect();
    lines.sort_unstable();
    serde_json::json!(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_where_its_packages_are_installed_beforehand_and_run_with_the_pipeline() {
        assert!(is_list(Path::new("app/uv.lock")));
        assert!(!is_list(Path::new("app/Cargo.lock")));
        assert!(is_of_documents(Path::new("docs/requirements.txt")));
        assert!(!is_of_documents(Path::new("docs_search/requirements.txt")));
    }

    #[test]
    fn a_manifest_counts_by_its_packages_alone() {
        let node = |scripts: &str, version: &str| {
            of_node(&format!(
                r#"{{"version": "2", "scripts": {{"a": "{scripts}"}}, "dependencies": {{"x": "{version}"}}}}"#
            ))
        };
        assert_eq!(node("one", "^1.0"), node("two", "^1.0"));
        assert_ne!(node("one", "^1.0"), node("one", "^2.0"));
        assert_eq!(of_node(r#"{"dependencies": {}}"#), of_node("{}"));
        assert_eq!(
            of_pip("a==1\nb # old\n"),
            of_pip("# all\nb\n\na==1  # new\n")
        );
        assert_ne!(of_pip("a==1\n"), of_pip("a==2\n"));
        let python = |version: &str, package: &str, width: &str| {
            of_python(&format!(
                "[project]\nname = \"a\"\nversion = \"{version}\"\ndependencies = [\n  \"{package}\",\n]\n\n\
                 [tool.ruff]\nline-length = {width}\n"
            ))
        };
        assert_eq!(python("1", "x>=1", "80"), python("2", "x>=1", "100"));
        assert_ne!(python("1", "x>=1", "80"), python("1", "x>=2", "80"));
        let poetry = |package: &str| of_python(&format!("[tool.poetry.dependencies]\n{package}\n"));
        assert_ne!(poetry("x = \"^1\""), poetry("x = \"^2\""));
        let table = |version: &str| {
            of_python(&format!(
                "[tool.poetry.dependencies.x]\nversion = \"{version}\"\n"
            ))
        };
        assert_ne!(table("^1"), table("^2"));
        let index = |url: &str| of_python(&format!("[[tool.uv.index]]\nurl = \"{url}\"\n"));
        assert_ne!(index("one"), index("two"));
        let setup = |version: &str, package: &str| {
            of_setup(&format!(
                "setup(\n  version=\"{version}\",\n  install_requires=[\n    \"{package}\",\n  ],\n)\n"
            ))
        };
        assert_eq!(setup("1", "x>=1"), setup("2", "x>=1"));
        assert_ne!(setup("1", "x>=1"), setup("1", "x>=2"));
    }
}
