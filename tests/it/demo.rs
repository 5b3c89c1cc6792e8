//! `kelvin demo`, on a machine that has little else.

use kelvin_fixtures::text::lines_with;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::project::Said;

/// Runs it where no program is but the four that the pipeline of the demo starts.
fn demo(folder: &Path, words: &[&str]) -> Said {
    let programs = TempDir::new().expect("a temporary folder");
    for name in ["sh", "cat", "head", "sed"] {
        let found = ["/bin", "/usr/bin"]
            .iter()
            .map(|path| Path::new(path).join(name));
        let found = found
            .into_iter()
            .find(|path| path.exists())
            .expect("it is there");
        symlink(found, programs.path().join(name)).expect("linked");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .arg("demo")
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", programs.path())
        .env("HOME", folder)
        .output()
        .expect("it starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn from_an_empty_folder_it_ends_with_a_regression_that_no_test_of_the_cases_would_see() {
    let folder = TempDir::new().expect("a temporary folder");
    let said = demo(folder.path(), &[]).expect(0);
    for part in [
        "Gate         regression",
        "kelvin-demo/kelvin/report.html",
        "kelvin init",
    ] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    insta::assert_snapshot!(lines_with(&said.stdout, &["`ben`"]), @"
    ✗ `ben` now answers `approve` instead of `deny` in 3 of 9 rewrites that should
      (the limit is 0.0500), and all repeats agreed; most of it in `ben`, `dara`,
    ");
    let made = folder.path().join("kelvin-demo");
    let read = |name: &str| std::fs::read_to_string(made.join(name)).expect(name);
    let gate: serde_json::Value = serde_json::from_str(&read("kelvin/gate.json")).expect("JSON");
    assert_eq!(gate["verdict"], json!("regression"));
    assert!(read("kelvin/gate.md").contains("regression"));
    // What is shown of the change is the change.
    let pipeline = read("pipeline.sh");
    let changed = said
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("   + "));
    assert!(
        pipeline.lines().any(|line| Some(line) == changed),
        "{pipeline}"
    );
    // A second one takes the next name, and both are whole repositories.
    demo(folder.path(), &[]).expect(0);
    for name in ["kelvin-demo", "kelvin-demo-2"] {
        let root = folder.path().join(name);
        let status = crate::repository::git(&root, &["status", "--porcelain"]);
        assert_eq!(status, "", "{name}");
        let diff = crate::repository::git(&root, &["diff", "--stat", "main"]);
        assert!(
            diff.contains("1 file changed, 1 insertion(+), 1 deletion(-)"),
            "{diff}"
        );
    }
}

#[test]
fn it_makes_the_folder_that_it_is_told_and_touches_none_that_is_there() {
    let folder = TempDir::new().expect("a temporary folder");
    demo(folder.path(), &["to look at/it"]).expect(0);
    assert!(
        folder
            .path()
            .join("to look at/it/kelvin/report.html")
            .exists()
    );
    std::fs::create_dir(folder.path().join("mine")).expect("made");
    let said = demo(folder.path(), &["mine"]).expect(1);
    insta::assert_snapshot!(said.stderr, @"
    error: `mine` is there already
      help: name a folder that is not there yet, or none
    ");
    assert_eq!(
        std::fs::read_dir(folder.path().join("mine"))
            .expect("there")
            .count(),
        0
    );
}
