//! Examines the folder of a pipeline: Python functions that may be the pipeline, files with records, and pages that change
//! no answer. No code is run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::evaluators;
use super::kind::PipelineKind;
use kelvin_probe::rows;
use kelvin_probe::rows::RowForm;
use kelvin_run::config::NamedPaths;

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

/// The functions and files that were found in the folder of a pipeline.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The functions, as `module:function`.
    functions: Vec<String>,
    /// The functions that have a parameter for the conversation of an input.
    conversing: BTreeSet<String>,
    /// The files with records, by path.
    pub(super) data: Vec<DataFile>,
    /// The files with recorded traces: the flag with which `kelvin import` reads each, and its path.
    pub(super) traces: Vec<(&'static str, String)>,
    /// Whether there is a folder `cases` with Markdown files.
    pub(super) has_cases: bool,
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
        let mut survey = Self::default();
        for file in files {
            let Some(below) = file.strip_prefix(root).ok().and_then(Path::to_str) else {
                continue;
            };
            let name = below.rsplit('/').next().unwrap_or(below);
            if below.starts_with("cases/") && name.ends_with(".md") {
                survey.has_cases = true;
            } else if name.ends_with(".py") {
                for (function, converses) in functions(&file, below) {
                    if converses {
                        survey.conversing.insert(function.clone());
                    }
                    survey.functions.push(function);
                }
            } else if !OTHERS.contains(&name) && !below.starts_with("cases/") {
                let is_small = fs::metadata(&file).is_ok_and(|data| data.len() <= MOST_BYTES);
                let Some(form) = RowForm::of_file(&file).filter(|_| is_small) else {
                    continue;
                };
                let Ok(text) = fs::read_to_string(&file) else {
                    continue;
                };
                let record = rows::first(&text, form);
                match (flag_of_traces(&text, record.as_ref()), record) {
                    (Some(flag), _) => survey.traces.push((flag, below.to_owned())),
                    (None, Some(record)) => survey.data.push(DataFile {
                        path: below.to_owned(),
                        record,
                    }),
                    (None, None) => {}
                }
            }
        }
        survey
    }

    /// The functions that may be a pipeline of a kind, the most likely first. A function is likely if its name contains
    /// a verb of that kind.
    pub(super) fn functions(&self, kind: PipelineKind) -> Vec<&str> {
        let mut functions: Vec<&str> = self.functions.iter().map(String::as_str).collect();
        functions.sort_by_key(|address| verb_in(address, kind).unwrap_or(usize::MAX));
        functions.truncate(OFFERED);
        functions
    }

    /// The function that is certainly meant: the only one, or the only one with a fitting name.
    pub(super) fn function(&self, kind: PipelineKind) -> Option<&str> {
        let functions = self.functions(kind);
        let says_so = |address: &&str| verb_in(address, kind).is_some();
        let named: Vec<&str> = functions.iter().copied().filter(says_so).collect();
        match (functions.as_slice(), named.as_slice()) {
            ([only], _) | (_, [only]) => Some(only),
            _ => None,
        }
    }

    /// Whether an answer names a function that has a parameter for the conversation of an input.
    pub(super) fn converses(&self, run: &str) -> bool {
        self.conversing.contains(run)
    }

    /// The file of records at a path.
    pub(super) fn file(&self, path: &str) -> Option<&DataFile> {
        let bare = path.trim_start_matches("./");
        self.data.iter().find(|file| file.path == bare)
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

/// The public functions at the top level of a file that have parameters, and whether each has one for the conversation.
fn functions(file: &Path, below: &str) -> Vec<(String, bool)> {
    let name = below.rsplit('/').next().unwrap_or(below);
    let is_other = name.starts_with("test_")
        || name.ends_with("_test.py")
        || ["setup.py", "conftest.py", "noxfile.py"].contains(&name)
        || below.starts_with("tests/");
    let module = below.trim_end_matches(".py");
    let module = module.strip_suffix("/__init__").unwrap_or(module);
    let parts: Vec<&str> = module.split('/').collect();
    if is_other || !parts.iter().all(|part| is_identifier(part)) {
        return Vec::new();
    }
    let Some(text) = evaluators::begin(file) else {
        return Vec::new();
    };
    let module = parts.join(".");
    let mut rest = &*text;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (line, further) = rest.split_once('\n').unwrap_or((rest, ""));
        let from = rest.strip_prefix("async ").unwrap_or(rest);
        let name = line.strip_prefix("async ").unwrap_or(line);
        let name = name
            .strip_prefix("def ")
            .and_then(|name| name.split_once('('));
        if let Some((name, parameters)) = name {
            let takes = !parameters.trim_start().starts_with(')');
            if takes && !name.starts_with('_') && name != "main" {
                let address = format!("{module}:{}", name.trim());
                found.push((address, asks_for_its_conversation(from)));
            }
        }
        rest = further;
    }
    found
}

/// Whether the function at the beginning of a text has a parameter for the token of a conversation. Its parameters may
/// be on several lines.
fn asks_for_its_conversation(text: &str) -> bool {
    let (_, inside) = text.split_once('(').unwrap_or_default();
    let mut depth = 1_usize;
    let end = inside.find(|sign| {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let parameters = inside[..end.unwrap_or(inside.len())].split(',');
    let mut names = parameters.filter_map(|one| one.split([':', '=']).next());
    names.any(|name| name.trim() == "conversation_id")
}

/// The first of the given fields that a record has with a fitting value, in the record's spelling.
pub(super) fn field(
    record: &Map<String, Value>,
    names: &[&str],
    fits: &dyn Fn(&Value) -> bool,
) -> Option<String> {
    names.iter().find_map(|name| {
        let mut entries = record.iter();
        let found = entries.find(|(key, value)| key.eq_ignore_ascii_case(name) && fits(value));
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
