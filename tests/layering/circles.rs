//! No circles within a folder: of two neighbours at most one needs the other, directly or through others. What stands in
//! a `mod.rs` or `lib.rs` belongs to the whole folder, so what a file takes from there, and what that hands on from its
//! files, makes no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// Folders that have circles still; none may be added, and a folder without one is taken off.
const WITH_CIRCLES: &[&str] = &[
    "action/cli",
    "action/cli/init",
    "gate",
    "gate/governing/rule",
    "github",
    "run",
    "run/tree",
];

/// A `use`, and whether it is one of tests and whether it hands on.
static USE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(#\[cfg\((?:any\()?test[^\]]*\]\s*)?(pub(?:\([^)]*\))?\s+)?use\s+([\w:{}\s,*]+);";
    Regex::new(pattern).expect("a pattern")
});
/// The innermost group of a `use`, with what stands before it.
static GROUP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"((?:\w+::)*)\{([^{}]*)\}").expect("a pattern"));
/// A path in the midst of code.
static INLINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:crate|super|self)(?:::\w+)+|\b[a-z]\w*::\w+").expect("a pattern")
});

/// A module as the names that lead to it from its crate, e.g. `["evidence", "cases", "unit"]`.
type Path = Vec<String>;

/// A name that a `use` brings into a module, and where it leads.
struct Import {
    path: Path,
    name: String,
    is_handed_on: bool,
}

/// Every module with its imports and with the rest of its code.
type Modules = BTreeMap<Path, (Vec<Import>, String)>;

#[test]
fn no_folder_has_a_circle_among_its_files() {
    let found = circles(&modules(&super::sources()));
    let folders: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    let listed = WITH_CIRCLES.iter().copied().collect();
    assert_eq!(folders, listed, "left: found, right: listed; {found:#?}");
}

#[test]
fn a_circle_would_be_found_through_a_name_that_is_handed_on() {
    let mut files = BTreeMap::from([
        (
            "crates/run/src/lib.rs",
            "mod one;\nmod two;\npub use two::Second;\n",
        ),
        (
            "crates/run/src/one.rs",
            "use crate::{Second};\npub struct First;\n",
        ),
        ("crates/run/src/two.rs", "pub struct Second;\n"),
    ]);
    let found = |files: &BTreeMap<&str, &str>| {
        let files = files
            .iter()
            .map(|(file, text)| (String::from(*file), String::from(*text)));
        circles(&modules(&files.collect()))
    };
    assert!(found(&files).is_empty());
    files.insert(
        "crates/run/src/two.rs",
        "fn back() -> super::one::First {}\n",
    );
    let both = BTreeSet::from(["one".to_owned(), "two".to_owned()]);
    assert_eq!(found(&files), BTreeMap::from([("run".to_owned(), both)]));
}

fn modules(sources: &BTreeMap<String, String>) -> Modules {
    let mut modules = Modules::new();
    for (file, code) in sources {
        let file = file.trim_start_matches("crates/").replace("src/", "");
        let mut path = parts(file.trim_end_matches(".rs"), "/");
        if path
            .last()
            .is_some_and(|last| last == "mod" || last == "lib")
        {
            path.pop();
        }
        // The root package has no folder of its own.
        if !super::root()
            .join("crates")
            .join(path.first().map_or("", String::as_str))
            .is_dir()
            || path.is_empty()
        {
            path.insert(0, "action".to_owned());
        }
        let mut imports = Vec::new();
        for found in USE
            .captures_iter(code)
            .filter(|found| found.get(1).is_none())
        {
            imports.extend(unfolded(&found[3]).into_iter().map(|(path, name)| Import {
                path,
                name,
                is_handed_on: found.get(2).is_some(),
            }));
        }
        modules.insert(path, (imports, USE.replace_all(code, "").into_owned()));
    }
    modules
}

fn parts(path: &str, between: &str) -> Path {
    path.split(between)
        .map(|part| part.trim().to_owned())
        .collect()
}

/// The paths of a `use`, each with the name that it brings: groups are multiplied out, the innermost first.
fn unfolded(tree: &str) -> Vec<(Path, String)> {
    let mut flat = tree.to_owned();
    while let Some(found) = GROUP.captures(&flat) {
        let inner = found[2].split(',').filter(|part| !part.trim().is_empty());
        let inner: Vec<String> = inner
            .map(|part| format!("{}{}", &found[1], part.trim()))
            .collect();
        flat = flat.replacen(&found[0], &inner.join(","), 1);
    }
    let each = flat.split(',').map(|one| {
        let (path, alias) = one.split_once(" as ").unwrap_or((one, ""));
        let mut path = parts(path, "::");
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = match alias.trim() {
            "" => path.last().cloned().unwrap_or_default(),
            alias => alias.to_owned(),
        };
        (path, name)
    });
    each.collect()
}

/// The path that begins with the crate; none where it leads to another one.
fn absolute(modules: &Modules, here: &Path, path: &[String]) -> Option<Path> {
    match path.first()?.as_str() {
        "crate" => Some([&here[..1], &path[1..]].concat()),
        "self" => Some([here, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            Some([here.get(..here.len().checked_sub(ups)?)?, &path[ups..]].concat())
        }
        child => {
            let below = [&here[..], &[child.to_owned()]].concat();
            modules
                .contains_key(&below)
                .then(|| [&here[..], path].concat())
        }
    }
}

/// The module that defines what a path leads to, also where others hand it on.
fn defining(modules: &Modules, path: &[String], depth: usize) -> Option<Path> {
    let ends = (1..=path.len()).rev();
    let known = ends
        .into_iter()
        .find(|end| modules.contains_key(&path[..*end]))?;
    let (module, rest) = (path[..known].to_vec(), &path[known..]);
    let Some(name) = rest.first().filter(|_| depth < 12) else {
        return Some(module);
    };
    let imports = &modules[&module].0;
    let handed_on = imports.iter().find(|import| import.name == *name);
    match handed_on.and_then(|import| absolute(modules, &module, &import.path)) {
        Some(target) => defining(modules, &[&target[..], &rest[1..]].concat(), depth + 1),
        None => Some(module),
    }
}

/// What a module needs.
fn needs(modules: &Modules, here: &Path) -> BTreeSet<Path> {
    let (imports, code) = &modules[here];
    let of_uses = imports
        .iter()
        .filter(|import| !import.is_handed_on || matches!(&*import.path[0], "crate" | "super"))
        .map(|import| import.path.clone());
    let of_code = INLINE
        .find_iter(code)
        .map(|path| parts(path.as_str(), "::"));
    let found = of_uses.chain(of_code).filter_map(|path| {
        let mut path = absolute(modules, here, &path)?;
        if path.last().is_some_and(|last| last == "*") {
            path.pop();
        }
        defining(modules, &path, 0)
    });
    found.filter(|module| module != here).collect()
}

/// By folder, its files and folders that are in a circle or need one that is.
fn circles(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let mut folders: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for here in modules.keys() {
        for there in needs(modules, here) {
            let common = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
            if common > 0 && common < here.len() && common < there.len() {
                let folder = folders.entry(here[..common].join("/")).or_default();
                let from = folder.entry(here[common].clone()).or_default();
                from.insert(there[common].clone());
            }
        }
    }
    // Whoever needs no neighbour any more is in no circle, and is taken away until nobody is left but those who are, or
    // who lead to one.
    for needs in folders.values_mut() {
        while let Some(free) = needs
            .keys()
            .find(|child| needs[*child].iter().all(|need| !needs.contains_key(need)))
            .cloned()
        {
            needs.remove(&free);
        }
    }
    folders.retain(|_, needs| !needs.is_empty());
    let names = folders
        .into_iter()
        .map(|(folder, needs)| (folder, needs.into_keys().collect()));
    names.collect()
}
