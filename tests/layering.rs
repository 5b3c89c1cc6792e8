//! What Cargo cannot keep. That a crate imports only what stands below it is kept by the Cargo.toml of each crate. Here
//! it is looked at what those files may say, and at what goes on inside of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "layering/circles.rs"]
mod circles;
#[path = "layering/crates.rs"]
mod crates;
#[path = "layering/way.rs"]
mod way;

/// What computes and nothing else: a verdict that is asked for again has to be the same, so it may depend on nothing
/// that is not handed in.
const PURE: &[&str] = &[
    "crates/base/src/stats/",
    "crates/evidence/src/perturb/",
    "crates/gate/src/",
    "crates/page/src/",
    "crates/record/src/",
    "crates/run/src/judge/",
    "src/trend/",
];

/// The doors to disk, clock, network and environment. Every crate may go through those of the standard library, so
/// no Cargo.toml closes them.
const DOORS: &str = "std::fs std::net std::env std::process std::time File::";

#[test]
fn pure_rooms_touch_neither_disk_nor_clock_nor_network_nor_environment() {
    let sources = sources();
    let mut wrong = Vec::new();
    for room in PURE {
        assert!(root().join(room).is_dir(), "`{room}` is not there");
        for (file, code) in &sources {
            if !file.starts_with(room) {
                continue;
            }
            let named = DOORS.split(' ').filter(|door| code.contains(door));
            wrong.extend(named.map(|door| format!("{file}: names `{door}`")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A page shows whatever a probe gives it. Templates and styles are no Rust, and a word in a text is no import: so
/// Cargo would not see that the page knows what it shows.
#[test]
fn no_file_of_the_page_names_a_probe() {
    let mut files = BTreeMap::new();
    for ending in ["rs", "html", "css", "js"] {
        collect(&root().join("crates/page/src"), ending, &mut files);
    }
    assert!(files.len() > 20, "the files of the page were not found");
    let mut wrong = Vec::new();
    for (path, text) in files {
        let words = probe_words(&text);
        wrong.extend(words.map(|word| format!("{}: names `{word}`", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let found = |text| probe_words(text).collect::<Vec<_>>();
    assert_eq!(
        found("metrics.get(\"evidence.invariance\")"),
        ["evidence", "invariance"]
    );
    assert!(found("// Evidence is a comment.\nlet evident = 1;").is_empty());
}

/// The probes, their signals, and the types of their records.
fn probe_words(text: &str) -> impl Iterator<Item = &'static str> {
    const WORDS: &str = "evidence retrieval invariance sensitivity kelvin_score governing perturbation \
                         perturbations variantrecord caserecord queryrecord";
    let code = without_comments(text).to_lowercase();
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words: BTreeSet<String> = words.map(str::to_owned).collect();
    WORDS.split(' ').filter(move |word| words.contains(*word))
}

/// Files outside of the probes that know one of them by its name. The root package depends on every probe, because its
/// registry names them: so Cargo lets any file of it name one. This list may only become shorter.
const KNOWS_A_PROBE: &[&str] = &[
    // Commands for one probe: rankings, recorded traces, the demo, cases to begin with.
    "src/check/eval.rs",
    "src/check/rescore.rs",
    "src/cli/demo/mod.rs",
    "src/cli/eval.rs",
    "src/cli/init/answers.rs",
    "src/cli/init/corpus.rs",
    "src/cli/init/decision.rs",
    "src/cli/init/governing.rs",
    "src/cli/init/scores.rs",
    "src/cli/init/searches.rs",
    "src/cli/init/steps.rs",
    "src/cli/init/trial.rs",
    // Attributes of spans have the name of one in theirs.
    "src/cli/import/otlp.rs",
    // A digest of traces has the score of one probe.
    "src/trend/traced.rs",
];

#[test]
fn no_file_names_a_probe_but_the_registry_and_those_that_are_listed() {
    let probes = crates::probes();
    let registry = fs::read_to_string(root().join("src/registry.rs")).expect("it is there");
    let mut knowing = BTreeSet::new();
    for probe in &probes {
        let library = format!("kelvin_{probe}::");
        assert!(registry.contains(&library), "`{probe}` is not registered");
        for (file, code) in sources() {
            // What a fuzzer calls reads the files of each probe, and is in no program that is shipped.
            let may = ["src/registry.rs", "src/fuzz/"];
            let is_own = probes
                .iter()
                .any(|one| file.starts_with(&format!("crates/{one}/")));
            let names =
                code.contains(&format!("kelvin_{probe}")) || code.contains(&format!("\"{probe}."));
            if names && !is_own && !may.iter().any(|may| file.starts_with(may)) {
                knowing.insert(file);
            }
        }
    }
    let listed = KNOWS_A_PROBE.iter().map(|file| (*file).to_owned());
    assert_eq!(knowing, listed.collect(), "left: found, right: listed");
}

#[test]
fn no_comment_has_an_example_that_no_test_would_run() {
    let mut files = BTreeMap::new();
    collect(&root().join("src"), "rs", &mut files);
    collect(&root().join("crates"), "rs", &mut files);
    for (path, text) in files {
        let is_example = |line: &str| {
            let line = line.trim_start();
            ["/// ```", "//! ```"]
                .iter()
                .any(|begin| line.starts_with(begin))
        };
        let place = text.lines().position(is_example);
        assert!(
            place.is_none(),
            "{}:{}: examples in comments are not run (`doctest = false`, since there is none): write a test",
            path.display(),
            place.unwrap_or_default() + 1
        );
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file of the workspace, by its path from the root, without comments and tests: tests may touch anything.
fn sources() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(&root().join("src"), "rs", &mut files);
    for entry in fs::read_dir(root().join("crates")).expect("the folder is there") {
        let folder = entry.expect("it can be listed").path().join("src");
        collect(&folder, "rs", &mut files);
    }
    assert!(files.len() > 300, "the sources were not found");
    let code = files.into_iter().map(|(path, text)| {
        let inside = path.strip_prefix(root()).expect("it was found there");
        let file = inside.display().to_string();
        let code = without_tests(&file, &text);
        (file, without_comments(code))
    });
    code.collect()
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

/// Tests stand at the foot of a file, or in files and folders that are nothing else.
fn without_tests<'a>(file: &str, text: &'a str) -> &'a str {
    let is_test = file.split(['/', '.']).any(|part| {
        ["tests", "fixture", "fixtures", "fake"].contains(&part) || part.ends_with("_tests")
    });
    if is_test {
        return "";
    }
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with("//") => "",
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}
