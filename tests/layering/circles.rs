//! No circles within a stage: of two neighbours in a folder, at most one needs the other, directly or
//! through others. The types of a `mod.rs` belong to the whole folder, so what a file takes from the
//! `mod.rs` above it, and what that hands on from its files, makes no circle.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// Stages that have circles still; none may be added, and a stage without one is taken off.
const WITH_CIRCLES: &[&str] = &["cli", "gate", "github", "run"];

/// A module as the names that lead to it, e.g. `["probe", "evidence", "cases"]`.
type Path = Vec<String>;

/// A name that a `use` brings into a module, and where it leads.
struct Import {
    path: Path,
    name: String,
    is_handed_on: bool,
}

/// Every module with its imports and with the other paths in its code.
struct Modules {
    imports: BTreeMap<Path, Vec<Import>>,
    code: BTreeMap<Path, String>,
}

#[test]
fn no_stage_has_a_circle_among_the_files_of_a_folder() {
    let modules = Modules::of(&super::sources());
    let found = modules.circles();
    let stages: BTreeSet<&str> = found.iter().map(|(stage, _)| stage.as_str()).collect();
    let new: Vec<&String> = found
        .iter()
        .filter(|(stage, _)| !WITH_CIRCLES.contains(&stage.as_str()))
        .map(|(_, text)| text)
        .collect();
    assert!(new.is_empty(), "{new:#?}");
    for stage in WITH_CIRCLES {
        assert!(stages.contains(stage), "`{stage}` has no circle any more");
    }
}

#[test]
fn a_circle_would_be_found_through_a_name_that_is_handed_on() {
    let file = |name: &str, text: &str| (name.to_owned(), "run".to_owned(), text.to_owned());
    let mut files = vec![
        file(
            "run/mod.rs",
            "mod one;\nmod two;\npub(crate) use two::Second;\n",
        ),
        file(
            "run/one.rs",
            "use super::Second;\npub(super) struct First;\n",
        ),
        file("run/two.rs", "pub(crate) struct Second;\n"),
    ];
    assert!(Modules::of(&files).circles().is_empty());
    files[2].2 += "fn back() -> super::one::First { todo!() }\n";
    let circles = Modules::of(&files).circles();
    assert_eq!(circles.len(), 1, "{circles:?}");
    assert!(circles[0].1.contains("one") && circles[0].1.contains("two"));
}

impl Modules {
    fn of(sources: &[(String, String, String)]) -> Self {
        let comment = Regex::new(r"//[^\n]*").expect("a pattern");
        let import =
            Regex::new(r"(#\[cfg\(test\)\]\s*)?(pub(?:\([^)]*\))?\s+)?use\s+([\w:{}\s,*]+);")
                .expect("a pattern");
        let mut modules = Self {
            imports: BTreeMap::new(),
            code: BTreeMap::new(),
        };
        for (file, _, text) in sources {
            let code = comment
                .replace_all(super::without_tests(file, text), "")
                .into_owned();
            let mut path: Path = file
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            if path.last().is_some_and(|last| last == "mod") {
                path.pop();
            }
            let mut imports = Vec::new();
            for found in import.captures_iter(&code) {
                if found.get(1).is_none() {
                    for (path, name) in unfolded(&found[3]) {
                        let is_handed_on = found.get(2).is_some();
                        imports.push(Import {
                            path,
                            name,
                            is_handed_on,
                        });
                    }
                }
            }
            modules.imports.insert(path.clone(), imports);
            modules
                .code
                .insert(path, import.replace_all(&code, "").into_owned());
        }
        modules
    }

    /// The path from the root of the crate; none where it leads out of it.
    fn absolute(&self, here: &Path, path: &[String]) -> Option<Path> {
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([here, &path[1..]].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = here.get(..here.len().checked_sub(ups)?)?;
                Some([above, &path[ups..]].concat())
            }
            child => {
                let below = [&here[..], &[child.to_owned()]].concat();
                self.code
                    .contains_key(&below)
                    .then(|| [&here[..], path].concat())
            }
        }
    }

    /// The module that defines what a path leads to, also where others hand it on.
    fn defining(&self, path: &[String], depth: usize) -> Option<Path> {
        let known = (1..=path.len())
            .rev()
            .find(|end| self.code.contains_key(&path[..*end]))?;
        let (module, rest) = (path[..known].to_vec(), &path[known..]);
        let Some(name) = rest.first().filter(|_| depth < 12) else {
            return Some(module);
        };
        let handed_on = self.imports[&module]
            .iter()
            .find(|import| import.name == *name);
        match handed_on.and_then(|import| self.absolute(&module, &import.path)) {
            Some(target) => self.defining(&[&target[..], &rest[1..]].concat(), depth + 1),
            None => Some(module),
        }
    }

    /// What a module needs.
    fn needs(&self, here: &Path) -> BTreeSet<Path> {
        let inline =
            Regex::new(r"\b(?:crate|super|self)(?:::\w+)+|\b[a-z]\w*::\w+").expect("a pattern");
        let imports = self.imports[here].iter();
        let of_uses = imports
            .filter(|import| !import.is_handed_on || matches!(&*import.path[0], "crate" | "super"))
            .map(|import| import.path.clone());
        let of_code = inline
            .find_iter(&self.code[here])
            .map(|path| path.as_str().split("::").map(str::to_owned).collect());
        let all: Vec<Path> = of_uses.chain(of_code).collect();
        let found = all.iter().filter_map(|path| {
            let mut path = self.absolute(here, path)?;
            if path.last().is_some_and(|last| last == "*") {
                path.pop();
            }
            self.defining(&path, 0)
        });
        found.filter(|module| module != here).collect()
    }

    /// The circles among the children of every folder: the stage, and a line that names them.
    fn circles(&self) -> Vec<(String, String)> {
        let mut of_folder: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for here in self.code.keys() {
            for there in self.needs(here) {
                let common = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
                if common > 0 && common < here.len() && common < there.len() {
                    let folder = of_folder.entry(here[..common].to_vec()).or_default();
                    let from = folder.entry(here[common].clone()).or_default();
                    from.insert(there[common].clone());
                }
            }
        }
        let mut circles = Vec::new();
        for (folder, needs) in of_folder {
            let mut in_circle = BTreeSet::new();
            for child in needs.keys() {
                if reached(&needs, child).contains(child.as_str()) {
                    in_circle.insert(child.as_str());
                }
            }
            if !in_circle.is_empty() {
                let text = format!("{}: {in_circle:?}", folder.join("/"));
                circles.push((folder[0].clone(), text));
            }
        }
        circles
    }
}

/// What a child needs, directly or through others.
fn reached<'a>(needs: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(child) = open.pop() {
        for next in needs.get(child).into_iter().flatten() {
            if found.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    found
}

/// The paths of a `use`, each with the name that it brings.
fn unfolded(tree: &str) -> Vec<(Path, String)> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path: Path = path
            .split("::")
            .map(|part| part.trim().to_owned())
            .collect();
        let name = match alias.trim() {
            "" => path.last().cloned().unwrap_or_default(),
            alias => alias.to_owned(),
        };
        return vec![(path, name)];
    };
    let before: Path = tree[..open]
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let inside = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (c, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one").push(c),
        }
    }
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| !part.trim().is_empty()) {
        for (path, name) in unfolded(part) {
            let is_self = path == ["self"];
            let name = match (is_self, before.last()) {
                (true, Some(last)) => last.clone(),
                _ => name,
            };
            let path = if is_self {
                before.clone()
            } else {
                [&before[..], &path].concat()
            };
            found.push((path, name));
        }
    }
    found
}
