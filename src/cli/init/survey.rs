//! Examines the folder of a pipeline: Python functions that may be the pipeline, files with records, and pages that change
//! no answer. No code is run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::evaluators;
use super::functions::{self, Function, Layout};
use super::kind::PipelineKind;
use crate::baseline;
use kelvin_probe::rows::RowForm;
use kelvin_probe::rows::{self, words};
use kelvin_run::config::NamedPaths;
use kelvin_system::git::Repository;

/// How many functions are offered.
const OFFERED: usize = 8;

/// A larger file is not a list that somebody wrote for a pipeline.
const MOST_BYTES: u64 = 64 << 20;

/// Files with records that belong to other programs.
const OTHERS: [&str; 5] = [
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "composer.json",
    "expected.csv",
];

/// The beginnings of words in the names of files with golden questions or labelled cases.
const GOLDEN: [&str; 3] = ["gold", "eval", "test"];

/// The functions and files that were found in the folder of a pipeline.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The functions that can be called with an input.
    functions: Vec<Function>,
    /// The functions that cannot be called with an input, such as the routes of a service; the first ones are shown.
    uncallable: Vec<String>,
    /// The functions that have a parameter for the conversation of an input.
    conversing: BTreeSet<String>,
    /// The files with records: those that are named like a golden set come first, then by path.
    pub(super) data: Vec<DataFile>,
    /// The files with records that git ignores. They are not offered, since another clone does not have them.
    ignored: Vec<DataFile>,
    /// The files with recorded traces: the flag with which `kelvin import` reads each, and its path.
    pub(super) traces: Vec<(&'static str, String)>,
    /// The folder with Markdown cases: `cases` or, without files of records, the only folder whose files share headings.
    pub(super) cases: Option<String>,
}

/// A file with records.
#[derive(Debug)]
pub(super) struct DataFile {
    /// The path below the folder of the configuration.
    pub(super) path: String,
    /// The first record in the file.
    pub(super) record: Map<String, Value>,
}

impl Survey {
    /// Examines the files below a folder.
    pub(super) fn of_folder(root: &Path) -> Self {
        let mut files = Vec::new();
        evaluators::walk(root, 2, &mut files);
        files.sort();
        let (ignored, layout) = (Ignored::of(root), Layout::of(root, &files));
        let mut survey = Self::default();
        let mut pages: BTreeMap<&str, Vec<BTreeSet<String>>> = BTreeMap::new();
        for file in &files {
            let Some(below) = file.strip_prefix(root).ok().and_then(Path::to_str) else {
                continue;
            };
            let (folder, name) = below.rsplit_once('/').unwrap_or(("", below));
            if below.starts_with("cases/") && name.ends_with(".md") {
                survey.cases = Some("cases".to_owned());
            } else if name.ends_with(".md") && !folder.is_empty() {
                pages.entry(folder).or_default().push(headings(file));
            } else if name.ends_with(".py") {
                for found in functions::of_file(file, layout.module_path(below)) {
                    if found.converses {
                        survey.conversing.insert(found.address.clone());
                    }
                    match found.is_callable {
                        true => survey.functions.push(found),
                        false => survey.uncallable.push(found.address),
                    }
                }
            } else if !OTHERS.contains(&name) && !below.starts_with("cases/") {
                let is_small = fs::metadata(file).is_ok_and(|data| data.len() <= MOST_BYTES);
                let Some(form) = RowForm::of_file(file).filter(|_| is_small) else {
                    continue;
                };
                let Ok(text) = fs::read_to_string(file) else {
                    continue;
                };
                let record = rows::first(&text, form);
                match (flag_of_traces(&text, record.as_ref()), record) {
                    (Some(flag), _) => survey.traces.push((flag, below.to_owned())),
                    (None, Some(record)) => {
                        let files = match ignored.has(file) {
                            true => &mut survey.ignored,
                            false => &mut survey.data,
                        };
                        let path = below.to_owned();
                        files.push(DataFile { path, record });
                    }
                    (None, None) => {}
                }
            }
        }
        survey.data.sort_by_key(|file| likelihood(&file.path));
        if survey.cases.is_none() && survey.data.is_empty() {
            let mut alike = pages
                .iter()
                .filter(|(folder, pages)| are_cases(folder, pages));
            let only = alike.next().filter(|_| alike.next().is_none());
            survey.cases = only.map(|(folder, _)| (*folder).to_owned());
        }
        survey
    }

    /// The file that certainly has the cases or questions: the only one or, if nobody can be asked, the only one that is
    /// named like a golden set.
    pub(super) fn certain(&self, can_ask: bool) -> Option<&DataFile> {
        match self.data.as_slice() {
            [only] => Some(only),
            [first, second, ..] => {
                let is_alone = likelihood(&first.path) < likelihood(&second.path);
                Some(first).filter(|_| is_alone && !can_ask)
            }
            [] => None,
        }
    }

    /// The functions that may be a pipeline of a kind, the most likely first. A function is likely if it takes several
    /// fields of a record by their names, and if its name contains a verb of that kind.
    pub(super) fn functions(&self, kind: PipelineKind) -> Vec<&str> {
        let mut functions: Vec<&Function> = self
            .functions
            .iter()
            .filter(|function| self.lacking(function, kind).is_none())
            .collect();
        functions.sort_by_key(|function| {
            let verb = verb_in(&function.address, kind).unwrap_or(usize::MAX);
            (!self.has_its_fields(function), verb)
        });
        functions.truncate(OFFERED);
        let addresses = functions
            .into_iter()
            .map(|function| function.address.as_str());
        addresses.collect()
    }

    /// Whether a function needs several parameters, and the records of a file have a field for each.
    fn has_its_fields(&self, function: &Function) -> bool {
        let needed = &function.required;
        let has_all = |file: &DataFile| needed.iter().all(|name| file.record.contains_key(name));
        needed.len() > 1 && self.data.iter().any(has_all)
    }

    /// The first parameter of a function that is no field of a record; none if each is one, or if the input may be handed
    /// over in another way.
    fn lacking<'f>(&self, function: &'f Function, kind: PipelineKind) -> Option<&'f str> {
        if kind != PipelineKind::Decides || function.required.len() < 2 {
            return None;
        }
        let records = self.data.iter().chain(&self.ignored);
        let mut lacking = records.map(|file| {
            let is_given = |name: &&String| {
                let mut fields = file.record.keys();
                GIVEN.contains(&name.as_str()) || fields.any(|key| key.eq_ignore_ascii_case(name))
            };
            function.required.iter().find(|name| !is_given(name))
        });
        let first = lacking.next()??;
        lacking.all(|one| one.is_some()).then_some(first)
    }

    /// The function that is certainly meant: the only one, or the only one with a fitting name. Of several that may
    /// search, it is the one that says so most plainly, since `ask` calls `search`.
    pub(super) fn function(&self, kind: PipelineKind) -> Option<&str> {
        let functions = self.functions(kind);
        let verb = |address: &&str| verb_in(address, kind);
        let named = functions.iter().copied().filter(|one| verb(one).is_some());
        let named: Vec<&str> = named.collect();
        match (functions.as_slice(), named.as_slice()) {
            ([only], _) | (_, [only]) => Some(only),
            (_, [first, second, ..])
                if kind == PipelineKind::Searches && verb(first) < verb(second) =>
            {
                Some(first)
            }
            _ => None,
        }
    }

    /// Why the functions with the most fitting names are not offered, in one sentence; none if all are.
    pub(super) fn uncallable(&self, kind: PipelineKind) -> Option<String> {
        let says_so = |address: &&String| verb_in(address, kind).is_some();
        let mut named = self.functions.iter().filter(|one| says_so(&&one.address));
        let lacking = named.find_map(|one| Some((&one.address, self.lacking(one, kind)?)));
        if let Some((address, parameter)) = lacking {
            return Some(format!(
                "`{address}` needs `{parameter}`, which is no field of the records: give it a default, or name a function \
                 that needs fields alone"
            ));
        }
        let names = self.uncallable.iter().filter(says_so).take(3);
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let are = match names.as_slice() {
            [] => return None,
            [_] => "is the route of a service, or takes an object that only its program makes",
            _ => "are routes of a service, or take objects that only their program makes",
        };
        Some(format!(
            "{} {are}: name the address of the running service, or a function that takes a text",
            names.join(", ")
        ))
    }

    /// Whether an answer names a function that has a parameter for the conversation of an input.
    pub(super) fn converses(&self, run: &str) -> bool {
        self.conversing.contains(run)
    }

    /// The file of records at a path.
    pub(super) fn file(&self, path: &str) -> Option<&DataFile> {
        let bare = path.trim_start_matches("./");
        let mut known = self.data.iter().chain(&self.ignored);
        known.find(|file| file.path == bare)
    }
}

/// Names of folders with pages about a project.
const DOCUMENTS: [&str; 8] = [
    "doc",
    "docs",
    "wiki",
    "site",
    "adr",
    "notes",
    "blog",
    "templates",
];

/// The headings of the second level in a page.
fn headings(file: &Path) -> BTreeSet<String> {
    let text = evaluators::begin(file).unwrap_or_default();
    let headings = text.lines().filter_map(|line| line.strip_prefix("## "));
    headings
        .map(|heading| heading.trim().to_lowercase())
        .collect()
}

/// Whether the pages of a folder are built alike, as cases are: each has headings, and they share one.
fn are_cases(folder: &str, pages: &[BTreeSet<String>]) -> bool {
    let is_about = folder.split('/').any(|name| DOCUMENTS.contains(&name));
    let Some((first, rest)) = pages.split_first() else {
        return false;
    };
    let is_shared = |heading: &String| rest.iter().all(|page| page.contains(heading));
    !is_about && !rest.is_empty() && first.iter().any(is_shared)
}

/// How early a file is offered: first one whose name is that of a golden set, then one in such a folder.
fn likelihood(path: &str) -> usize {
    let is_golden = |name: &str| {
        let begins = |word: &String| GOLDEN.iter().any(|golden| word.starts_with(golden));
        words(name).iter().any(|word| begins(word) || word == "qa")
    };
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match (is_golden(name), is_golden(folder)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

/// The files of a repository that git ignores.
struct Ignored(Option<Repository>);

impl Ignored {
    /// Opens the repository around a folder. Without one nothing is ignored.
    fn of(root: &Path) -> Self {
        Self(baseline::open(root).ok())
    }

    /// Whether git ignores a file. One that it tracks is not ignored, whatever `.gitignore` says.
    fn has(&self, file: &Path) -> bool {
        let Some(repo) = &self.0 else { return false };
        let below = repo.workdir().and_then(|top| {
            let (top, file) = (top.canonicalize().ok()?, file.canonicalize().ok()?);
            Some(file.strip_prefix(&top).ok()?.to_path_buf())
        });
        let is_tracked = |file: &Path| {
            let index = repo.index();
            index.is_ok_and(|index| index.get_path(file, 0).is_some())
        };
        below.is_some_and(|file| {
            repo.status_should_ignore(&file).unwrap_or(false) && !is_tracked(&file)
        })
    }
}

/// The flag of `kelvin import` for a file of recorded traces, recognised by its first record or, if it is a single
/// object, by its first key. Traces cannot be used as inputs directly, because they contain the answers.
fn flag_of_traces(text: &str, record: Option<&Map<String, Value>>) -> Option<&'static str> {
    let begin = text.trim_start().trim_start_matches('{').trim_start();
    let has = |name: &str| record.is_some_and(|record| record.contains_key(name));
    if has("resourceSpans")
        || begin.starts_with("\"resourceSpans\"")
        || has("traceId") && has("spanId")
    {
        return Some("--otlp");
    }
    let is_trace = has("observations") && has("timestamp") || has("traceId") && has("type");
    is_trace.then_some("--langfuse")
}

/// The parameters of a function that kelvin gives without a field of that name.
const GIVEN: [&str; 6] = [
    "input",
    "inputs",
    "path",
    "paths",
    "conversation_id",
    "turn",
];

/// The position, in the list of a kind, of the verb in the name of a function; none if the name has no such verb.
fn verb_in(address: &str, kind: PipelineKind) -> Option<usize> {
    let name = address.rsplit(':').next().unwrap_or(address).to_lowercase();
    let mut verbs = kind.verbs().iter();
    verbs.position(|verb| name.split('_').any(|part| part == *verb))
}

/// Whether a text is a valid name in Python.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// The first of the given fields that a record has with a fitting value, in the record's spelling: `expectedSource` is
/// `expected_source`.
pub(super) fn field(
    record: &Map<String, Value>,
    names: &[&str],
    fits: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    names.iter().find_map(|name| {
        let mut entries = record.iter();
        let is_named = |key: &str| key.eq_ignore_ascii_case(name) || words(key) == words(name);
        let found = entries.find(|(key, value)| is_named(key) && fits(value));
        found.map(|(key, _)| key.clone())
    })
}

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

/// The pages that a new configuration proposes as harmless: those in its folder, except those that its text names. A
/// folder such as `docs` is not proposed: the pipeline may search it, and such a search lists the folder instead of
/// naming its files.
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
