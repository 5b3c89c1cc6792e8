//! Where the function of an address is, as far as the files of the project show it. Nothing is imported, so only what
//! Python certainly does not find is called absent.

use std::fs;
use std::path::{Path, PathBuf};

/// Signs that a module gets names which its text does not show.
const DYNAMIC: [&str; 8] = [
    "import *",
    "__getattr__",
    "__path__",
    "globals",
    "locals",
    "setattr",
    "exec",
    "sys.modules",
];

/// How many names of a module are listed.
const LISTED: usize = 8;

/// Where the function of an address is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamedPlace {
    /// In the folder of the configuration, or nobody can tell without running the code.
    Here,
    /// The folder has no module of this name, so only the packages of the Python can have it.
    Elsewhere(String),
    /// Nowhere; the sentence says what is missing.
    Nowhere(String),
}

/// The place of `module:function`. The folder of the configuration comes first when a module is searched for.
pub(super) fn place(address: &str, root: &Path) -> NamedPlace {
    let (module, function) = address.split_once(':').unwrap_or((address, ""));
    let name = function.split('.').next().unwrap_or_default();
    let mut found = file_of(module, root);
    // A project with a `src` layout: its packages come after those that are installed.
    if let Err(NamedPlace::Elsewhere(package)) = &found
        && has_any(&root.join("src"), package)
    {
        found = file_of(module, &root.join("src"));
    }
    let file = match found {
        Ok(Some(file)) => file,
        Ok(None) => return NamedPlace::Here,
        Err(absent) => return absent,
    };
    let Some(text) = shown_by_its_text(&file) else {
        return NamedPlace::Here;
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_module = file
        .parent()
        .is_some_and(|folder| file.ends_with("__init__.py") && has_any(folder, name));
    if is_module || text.split(|c| !is_word(c)).any(|word| word == name) {
        return NamedPlace::Here;
    }
    let below = file.strip_prefix(root).unwrap_or(&file).display();
    let names: Vec<String> = text
        .lines()
        .filter_map(defined)
        .filter(|name| !name.starts_with('_'))
        .take(LISTED)
        .map(|name| format!("`{name}`"))
        .collect();
    let has = match names.is_empty() {
        true => String::new(),
        false => format!("; it has {}", names.join(", ")),
    };
    NamedPlace::Nowhere(format!("`{below}` has no `{name}`{has}"))
}

/// The file of a module; none if only an import would tell.
fn file_of(module: &str, root: &Path) -> Result<Option<PathBuf>, NamedPlace> {
    let mut folder = root.to_path_buf();
    let mut parts = module.split('.').enumerate().peekable();
    while let Some((at, part)) = parts.next() {
        let is_last = parts.peek().is_none();
        let package = folder.join(part);
        let begin = package.join("__init__.py");
        let file = folder.join(format!("{part}.py"));
        // Python takes a package before a file of the same name.
        if begin.is_file() {
            if is_last {
                return Ok(Some(begin));
            }
            if shown_by_its_text(&begin).is_none() {
                return Ok(None);
            }
            folder = package;
            continue;
        }
        if file.is_file() {
            return Ok(is_last.then_some(file));
        }
        // A folder without `__init__.py` may have its other parts elsewhere, and a module may be compiled.
        if has_any(&folder, part) {
            return Ok(None);
        }
        if at == 0 {
            return Err(NamedPlace::Elsewhere(part.to_owned()));
        }
        let below = folder.strip_prefix(root).unwrap_or(&folder).display();
        return Err(NamedPlace::Nowhere(format!(
            "there is no module `{module}`: the package `{below}` has no `{part}`"
        )));
    }
    Ok(None)
}

/// Whether a folder has a file or folder of this name, with any ending.
fn has_any(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .any(|entry| entry.split('.').next() == Some(name))
}

/// The text of a module, if it shows all names that the module has.
fn shown_by_its_text(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let is_dynamic = DYNAMIC.iter().any(|sign| text.contains(sign));
    (!is_dynamic).then_some(text)
}

/// The name that a line at the top level of a module defines as a function or a class.
fn defined(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = ["def ", "class "]
        .iter()
        .find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_absent_is_called_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("pkg/open")).expect("made");
        for (name, text) in [
            (
                "app.py",
                "from lib import other\n\nasync def decide(x):\n    return x\n\nclass Judge:\n    pass\n",
            ),
            ("star.py", "from lib import *\n"),
            ("fast.cpython-312.so", ""),
            ("pkg/__init__.py", ""),
            ("pkg/rules.py", "decide = lambda x: x\n"),
            ("pkg/open/deep.py", "def a(x): ...\n"),
        ] {
            fs::write(root.join(name), text).expect("written");
        }
        let told = |address: &str| place(address, root);
        for here in [
            "app:decide",
            "app:other",
            "app:Judge.run",
            "star:decide",
            "fast:decide",
            "pkg.rules:decide",
            "pkg:rules",
            "pkg.open.deep:b",
        ] {
            assert_eq!(told(here), NamedPlace::Here, "{here}");
        }
        assert_eq!(
            told("ap:decide"),
            NamedPlace::Elsewhere("ap".to_owned()),
            "it may be installed"
        );
        let absent = |address| match told(address) {
            NamedPlace::Nowhere(why) => why,
            other => panic!("{address}: {other:?}"),
        };
        insta::assert_snapshot!(absent("app:decid"), @"`app.py` has no `decid`; it has `decide`, `Judge`");
        insta::assert_snapshot!(absent("pkg.rule:decide"), @"there is no module `pkg.rule`: the package `pkg` has no `rule`");
        insta::assert_snapshot!(absent("pkg.rules:decid"), @"`pkg/rules.py` has no `decid`");
    }
}
