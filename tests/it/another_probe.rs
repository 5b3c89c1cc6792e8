//! A probe that is a crate of its own, outside the workspace, goes the whole way: `tests/toy`. What it shows of its items
//! are its own words.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds kelvin with the toy in it. What the workspace has built, and the versions that it has locked, serve here too.
fn built() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let toy = root.join("tests/toy");
    let program = Path::new(env!("CARGO_BIN_EXE_kelvin"));
    let target = program.ancestors().nth(2).expect("the target folder");
    fs::copy(root.join("Cargo.lock"), toy.join("Cargo.lock")).expect("copied");
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--offline", "--manifest-path"])
        .arg(toy.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", target);
    // The build script of a crate looks at variables that Cargo sets for a test. With others than before it would be built
    // anew, and so would all that stands on it: here, and in the next build of the workspace.
    let of_this_test = |name: &str| {
        let begins = ["CARGO_MANIFEST_", "CARGO_PKG_", "OUT_DIR"];
        begins.iter().any(|begun| name.starts_with(begun))
    };
    for (name, _) in env::vars().filter(|(name, _)| of_this_test(name)) {
        build.env_remove(name);
    }
    let build = build.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&build.stderr);
    assert!(build.status.success(), "{said}");
    target.join("debug/kelvin-toy")
}

/// What a command prints, and its exit code.
fn run(program: &Path, folder: &Path, line: &str) -> (String, Option<i32>) {
    let output = Command::new(program)
        .args(line.split(' '))
        .current_dir(folder)
        .output()
        .expect("it runs");
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        output.status.code(),
    )
}

/// A page without what no reader sees of it.
fn visible(page: &str) -> String {
    let mut shown = String::new();
    let mut rest = page;
    while let Some(at) = ["<style", "<script"]
        .iter()
        .filter_map(|tag| rest.find(tag))
        .min()
    {
        shown.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("<style") {
            "</style>"
        } else {
            "</script>"
        };
        rest = rest[at..].split_once(end).map_or("", |(_, after)| after);
    }
    shown + rest
}

/// The words for items of other probes that a text has.
fn words_of_others(text: &str) -> Vec<&str> {
    const OTHERS: [&str; 7] = [
        "case",
        "cases",
        "query",
        "queries",
        "scenario",
        "scenarios",
        "prompts",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| OTHERS.contains(&&*word.to_lowercase()))
        .collect()
}

#[test]
fn a_probe_outside_the_workspace_goes_the_whole_way_in_its_own_words() {
    let program = built();
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let read = |name: &str| fs::read_to_string(root.join(name)).expect(name);
    let pipeline = |text: &str| fs::write(root.join("say.sh"), text).expect("written");
    fs::write(
        root.join("kelvin.yaml"),
        "toy: {run: 'sh say.sh {input} {output}', words: [moo, oink, meow, neigh, quack, baa, buzz, hiss, roar, chirp]}\n",
    )
    .expect("written");
    pipeline("printf \"0.%s\" $(wc -c < \"$1\") > \"$2\"\n");
    let (checked, exit) = run(&program, root, "check --no-history --out base");
    assert_eq!(exit, Some(0), "{checked}");
    assert!(checked.contains("10 words"), "{checked}");

    // All are said in a low voice now, and one not at all.
    pipeline("grep -q moo \"$1\" && exit 1\nprintf 0.1 > \"$2\"\n");
    let (gated, exit) = run(
        &program,
        root,
        "gate --no-history --baseline base/report.json",
    );
    assert_eq!(exit, Some(3), "{gated}");
    assert!(gated.contains("over 9 words, by"), "{gated}");
    let comment = read("kelvin/gate.md");
    assert!(comment.contains("Look first at word `"), "{comment}");
    assert!(
        comment.contains("Word by word: 10 values changed"),
        "{comment}"
    );
    let (markdown, html) = (
        read("kelvin/report.md"),
        visible(&read("kelvin/report.html")),
    );
    for page in [&markdown, &html] {
        assert!(
            page.contains("words unsaid") && page.contains("it was not said"),
            "{page}"
        );
    }
    for (name, text) in [
        ("check", &checked),
        ("gate", &gated),
        ("gate.md", &comment),
        ("report.md", &markdown),
        ("report.html", &html),
    ] {
        assert_eq!(words_of_others(text), Vec::<&str>::new(), "{name}: {text}");
    }
    assert!(read("kelvin/report.json").contains("\"code\":\"words_unsaid\""));

    let (refused, exit) = run(&program, root, "check --probe tyo");
    assert_eq!(exit, Some(1), "{refused}");
    assert!(refused.contains("toy"), "{refused}");
}
