//! The dependency rule: values flow to the right, imports point to the left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "layering/circles.rs"]
mod circles;
#[path = "layering/way.rs"]
mod way;

/// Modules that any other may import; among themselves they may too.
const LEAVES: &[&str] = &[
    "confine", "exit", "digest", "draw", "file", "git", "notice", "proxy", "signal", "stats",
    "threads",
];

/// The flow, left to right. A module may import the leaves and what stands before it.
const FLOW: &[&str] = &[
    "target", "config", "judge", "run", "trace", "page", "probe", "report", "github", "baseline",
    "gate", "history", "trend", "publish", "check", "cli", "fuzz",
];

/// One crate, one owner: the modules (or the prefix of files) that may name a crate.
const OWNERS: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("dialoguer", &["cli"]),
    ("indicatif", &["cli"]),
    ("anstream", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("csv", &["cli"]),
    ("serde_yaml", &["config"]),
    ("pulldown_cmark", &["probe", "page"]),
    ("minijinja", &["page"]),
    ("git2", &["git", "digest", "baseline", "cli/demo"]),
    ("octocrab", &["github"]),
    (
        "tokio",
        &[
            "github",
            "proxy",
            "target/model",
            "probe/checks/services",
            "cli/view",
        ],
    ),
    (
        "hyper",
        &["proxy", "target/model", "probe/checks/services", "cli/view"],
    ),
    ("hyper_rustls", &["proxy"]),
    ("hyper_timeout", &["github"]),
    ("tower_http", &["github"]),
    (
        "hyper_util",
        &[
            "github",
            "proxy",
            "target/model",
            "probe/checks/services",
            "cli/view",
        ],
    ),
    ("rustls", &["proxy", "probe/checks/services"]),
    ("tower_service", &["proxy"]),
    (
        "http",
        &[
            "github",
            "proxy",
            "target/model",
            "probe/checks/services",
            "cli/view",
        ],
    ),
    (
        "http_body_util",
        &[
            "github",
            "target/model",
            "probe/checks/services",
            "cli/view",
        ],
    ),
    ("form_urlencoded", &["probe/checks/services"]),
    ("zip", &["github"]),
    ("rusqlite", &["history", "probe/checks/services"]),
    ("flate2", &["history"]),
    (
        "rustix",
        &["confine", "file", "signal", "target", "run", "cli"],
    ),
    ("signal_hook", &["signal", "target"]),
    ("shell_words", &["target"]),
    ("jiff", &["run", "target/model"]),
    ("rand", &["draw"]),
    ("rand_chacha", &["draw"]),
    ("sha2", &["digest"]),
    ("jsonschema", &["probe"]),
    ("serde_json_path", &["probe"]),
    ("semver", &["trace"]),
    ("foldhash", &["probe"]),
    ("memchr", &["probe"]),
];

/// Files and folders of `src` that compute and nothing else, and what they must not name.
const PURE: &[&str] = &[
    "probe/evidence/perturb",
    "judge",
    "stats",
    "page",
    "gate",
    "report",
    "trend",
];
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::time",
    "File::",
];

/// The line of the page for those who change the code.
#[test]
fn the_flow_of_architecture_md_is_the_one_that_imports_are_held_against() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let line = page.lines().find(|line| line.contains(" → "));
    let words = line.expect("a line with arrows").split([' ', '│', '→']);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    assert_eq!(words, [LEAVES, FLOW].concat());
}

#[test]
fn every_import_points_to_the_left() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        for import in imports(&text) {
            let Some(there) = place(&import) else {
                if !LEAVES.contains(&import.as_str()) {
                    wrong.push(format!(
                        "{file}: imports `{import}`, which has no place in the flow"
                    ));
                }
                continue;
            };
            if LEAVES.contains(&module.as_str()) {
                wrong.push(format!("{file}: a leaf imports `{import}`"));
            } else if let Some(here) = place(&module)
                && there > here
            {
                wrong.push(format!(
                    "{file}: `{module}` imports `{import}`, which is to its right"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_has_a_place_in_the_flow() {
    let declared: Vec<String> = fs::read_to_string(root().join("src/lib.rs"))
        .expect("src/lib.rs is there")
        .lines()
        .filter_map(|line| {
            let line = line
                .trim()
                .trim_start_matches("pub ")
                .strip_prefix("mod ")?;
            Some(line.trim_end_matches(';').to_owned())
        })
        .collect();
    assert!(
        declared.len() > 10,
        "the modules were not found: {declared:?}"
    );
    for module in &declared {
        assert!(
            place(module).is_some() || LEAVES.contains(&module.as_str()),
            "`{module}` has no place in the flow"
        );
    }
}

#[test]
fn every_crate_has_one_owner() {
    let mut wrong = Vec::new();
    for (file, module, text) in sources() {
        let code = without_tests(&file, &text);
        for (name, owners) in OWNERS {
            let used =
                code.contains(&format!("{name}::")) || code.contains(&format!("use {name};"));
            let is_owner = |owner: &&str| *owner == module || Path::new(&file).starts_with(owner);
            if used && !owners.iter().any(is_owner) {
                wrong.push(format!("{file}: `{name}` belongs to {owners:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pure_stages_touch_neither_disk_nor_clock_nor_network_nor_environment() {
    let mut wrong = Vec::new();
    for (file, _, text) in sources() {
        if !PURE.iter().any(|pure| Path::new(&file).starts_with(pure)) {
            continue;
        }
        let code = without_tests(&file, &text);
        for name in IMPURE {
            if code
                .lines()
                .any(|line| !line.trim_start().starts_with("//") && line.contains(name))
            {
                wrong.push(format!("{file}: names `{name}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page shows whatever a probe gives it. Names of probes, of their metrics and of their records would
/// make it know what it shows.
#[test]
fn no_file_of_the_page_names_a_probe() {
    let mut wrong = Vec::new();
    for (file, text) in page_files() {
        for (number, line) in text.lines().enumerate() {
            wrong.extend(
                probe_words(line).map(|word| format!("{file}:{}: names `{word}`", number + 1)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A kind of probe owns its keys: the file as a whole is read without knowing which kinds there are.
#[test]
fn no_kind_of_probe_is_named_in_the_configuration() {
    let sources = sources();
    let kinds = kinds(&sources);
    assert!(kinds.len() > 1, "the kinds were not found: {kinds:?}");
    let mut wrong = Vec::new();
    for (file, module, text) in &sources {
        if module == "config" {
            let code = without_tests(file, text);
            let named = kinds.iter().filter(|kind| names(code, kind));
            wrong.extend(named.map(|kind| format!("{file}: names `{kind}`")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every kind is registered: a folder beside the registry whose kind is not in it would never be run.
#[test]
fn every_kind_of_probe_is_in_the_registry() {
    let kinds = kinds(&sources());
    let registry = fs::read_to_string(root().join("src/probe/registry.rs")).expect("it is there");
    for kind in &kinds {
        let import = format!("use super::{kind}::");
        assert!(
            registry.contains(&import),
            "`probe/{kind}` is not registered"
        );
    }
    let folders = fs::read_dir(root().join("src/probe")).expect("the folder is there");
    for folder in folders.map(|entry| entry.expect("it can be listed").path()) {
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let is_known = NO_KIND.contains(&name) || kinds.contains(name);
        assert!(
            !folder.is_dir() || is_known,
            "`probe/{name}` holds no kind of probe"
        );
    }
}

/// Folders of `probe` that all kinds share.
const NO_KIND: &[&str] = &["answer", "repeated", "tests"];

/// Files to the right of the probes that know one of them by its name, each with what is left to do.
/// This list may only become shorter.
const KNOWS_A_PROBE: &[(&str, &str)] = &[
    (
        "baseline/peer/mod.rs",
        "reads the reports of another evaluator, which measures one thing: its figures become those of \
         the probe that means the same",
    ),
    (
        "cli/demo/mod.rs",
        "`kelvin demo` runs one probe, and tells the figures of that one",
    ),
    (
        "cli/init/corpus.rs",
        "`kelvin init` reads the cases of one probe",
    ),
    (
        "cli/init/decision.rs",
        "`kelvin init` asks for what one probe needs and writes its keys",
    ),
    (
        "cli/init/look.rs",
        "`kelvin init` looks at the cases of one probe, to ask less",
    ),
    (
        "cli/init/steps.rs",
        "`kelvin init` asks for what one probe needs and writes its keys",
    ),
];

#[test]
fn what_is_right_of_the_probes_names_none_but_where_it_is_listed() {
    let sources = sources();
    let kinds = kinds(&sources);
    let right_of_probe = place("probe").expect("it is in the flow") + 1;
    let mut knowing = BTreeSet::new();
    for (file, module, text) in &sources {
        // What a fuzzer calls reads the files of each probe, and is in no program that is shipped.
        if place(module).is_none_or(|place| place < right_of_probe) || module == "fuzz" {
            continue;
        }
        let code = without_tests(file, text);
        if kinds.iter().any(|kind| names(code, kind)) {
            knowing.insert(file.as_str());
        }
    }
    let listed: BTreeSet<&str> = KNOWS_A_PROBE.iter().map(|(file, _)| *file).collect();
    let new: Vec<_> = knowing.difference(&listed).collect();
    assert!(new.is_empty(), "these files name a probe: {new:?}");
    let gone: Vec<_> = listed.difference(&knowing).collect();
    assert!(
        gone.is_empty(),
        "these name none any more, take them off the list: {gone:?}"
    );
}

#[test]
fn the_name_of_a_probe_would_be_found() {
    let found = |line| probe_words(line).collect::<Vec<_>>();
    assert_eq!(found("metrics.get(\"evidence.invariance\")").len(), 2);
    assert_eq!(found("record: &CaseRecord,"), ["caserecord"]);
    assert!(found("    // Evidence has nothing to say in code.").is_empty());
    assert!(found("let evident = 1;").is_empty());
}

/// The code, the templates, the style and the script under `src/page`.
fn page_files() -> Vec<(String, String)> {
    let mut files = BTreeMap::new();
    let folder = root().join("src/page");
    for ending in ["rs", "html", "css", "js"] {
        collect(&folder, ending, &mut files);
    }
    assert!(files.len() > 20, "the files of the page were not found");
    let named = files.into_iter().map(|(path, text)| {
        let inside = path.strip_prefix(root()).expect("it was found there");
        (inside.display().to_string(), text)
    });
    named.collect()
}

/// What a page must not name: the probes, their signals, and the types of their records.
fn probe_words(line: &str) -> impl Iterator<Item = &'static str> {
    const WORDS: &[&str] = &[
        "evidence",
        "retrieval",
        "invariance",
        "sensitivity",
        "kelvin_score",
        "governing",
        "perturbation",
        "perturbations",
        "variantrecord",
        "caserecord",
        "queryrecord",
    ];
    let code = line.trim_start();
    let is_comment = code.starts_with("//");
    let words = code.to_lowercase();
    let has = move |word: &&&'static str| {
        let mut parts = words.split(|c: char| !c.is_alphanumeric() && c != '_');
        !is_comment && parts.any(|part| part == **word)
    };
    WORDS.iter().filter(has).copied()
}

/// The rules themselves are tested: a check that cannot fail is none.
#[test]
fn a_name_of_a_probe_would_be_found_in_code_and_not_in_a_comment() {
    assert!(names("struct ToySettings;", "toy") && names("get(\"toy.word\")", "toy"));
    assert!(!names(
        "    /// The settings of a toy.\n    // toy\n",
        "toy"
    ));
}

#[test]
fn a_probe_that_is_also_a_word_would_be_found_by_its_module_its_types_and_its_metrics() {
    for code in [
        "use crate::probe::checks::Scenario;",
        "let section: &ChecksSection = found;",
        "metrics.get(\"checks.passed\")",
    ] {
        assert!(names(code, "checks"), "{code}");
    }
    for code in [
        "right(\"checks\", true, \"for the check run\")",
        "mod checks;",
        "// probe::checks",
    ] {
        assert!(!names(code, "checks"), "{code}");
    }
}

#[test]
fn an_import_to_the_right_would_be_found() {
    let found = imports("use crate::{digest::Digest, check};\nfn f() { crate::report::g() }");
    assert_eq!(found, ["digest", "check", "report"]);
    assert!(place("check") > place("probe"));
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn place(module: &str) -> Option<usize> {
    FLOW.iter().position(|name| *name == module)
}

/// Every source file with the module it belongs to; the door and the list of modules have none.
fn sources() -> Vec<(String, String, String)> {
    let mut files = BTreeMap::new();
    collect(&root().join("src"), "rs", &mut files);
    let sources: Vec<_> = files
        .into_iter()
        .filter_map(|(path, text)| {
            let inside = path
                .strip_prefix(root().join("src"))
                .expect("it was found there");
            let first = inside.components().next()?.as_os_str().to_str()?;
            let module = first.trim_end_matches(".rs").to_owned();
            (!matches!(module.as_str(), "main" | "lib"))
                .then(|| (inside.display().to_string(), module, text))
        })
        .collect();
    assert!(sources.len() > 20, "the sources were not found");
    sources
}

/// The folders beside the registry that have a kind of probe.
fn kinds(sources: &[(String, String, String)]) -> BTreeSet<String> {
    let with_kind = sources.iter().filter(|(file, _, text)| {
        !without_tests(file, text).is_empty() && text.contains("Kind for ")
    });
    with_kind
        .filter_map(|(file, ..)| {
            let (folder, _) = file.strip_prefix("probe/")?.split_once('/')?;
            Some(folder.to_owned())
        })
        .collect()
}

/// Whether code has a word in it, also as a part of a longer one; comments are passed over. GitHub has
/// checks too, which are no probe: there only the ways count in which code can name the probe.
fn names(code: &str, word: &str) -> bool {
    let ways = match word {
        "checks" => vec!["\"checks.", "probe::checks", "checksk", "checkss"],
        // A word of the language, and a part of "equality".
        "quality" => vec!["\"quality.", "probe::quality", "qualitykind", "qualityse"],
        "grading" => vec!["\"grading.", "probe::grading", "gradingkind", "gradingse"],
        word => vec![word],
    };
    let mut lines = code.lines().map(str::trim_start).map(str::to_lowercase);
    lines.any(|line| !line.starts_with("//") && ways.iter().any(|way| line.contains(way)))
}

fn collect(folder: &Path, wanted: &str, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect(&path, wanted, files);
        } else if path.extension().is_some_and(|ending| ending == wanted) {
            let text = fs::read_to_string(&path).expect("it is text");
            files.insert(path, text);
        }
    }
}

/// What follows `crate::`, groups unfolded one level.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut name = String::new();
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => found.push(std::mem::take(&mut name)),
                    _ if depth == 0 => name.push(c),
                    _ => {}
                }
            }
            found.push(name);
        } else {
            found.push(rest.to_owned());
        }
    }
    found
        .iter()
        .map(|name| {
            let name = name.trim_start();
            let end = name
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(name.len());
            name[..end].to_owned()
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// Tests may touch anything: those at the foot of a file, and the files that are nothing else.
fn without_tests<'a>(file: &str, text: &'a str) -> &'a str {
    let is_test = file
        .split(['/', '.'])
        .any(|part| part == "tests" || part == "fixture" || part.ends_with("_tests"));
    if is_test {
        return "";
    }
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}
