//! What the Cargo.toml files may say.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::root;

/// What Cargo says of this workspace, without a network.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

/// Every package of the workspace with what it cannot be built without: what only tests need, its own or those of other
/// crates that ask for its fixtures, does not count.
fn packages() -> Vec<(String, BTreeSet<String>)> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).expect("JSON");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages
        .map(|package| {
            let needs = package["dependencies"].as_array().expect("a list").iter();
            let needs = needs.filter(|need| need["kind"] != "dev" && need["optional"] != true);
            (name(package), needs.map(name).collect())
        })
        .collect()
}

/// The crates of the probes, which are those that need the traits of a probe: so a new one is held to the rules too.
pub(super) fn probes() -> Vec<String> {
    let packages = packages().into_iter();
    let probes: Vec<String> = packages
        .filter(|(_, needs)| needs.contains("kelvin-probe"))
        .filter_map(|(name, _)| Some(name.strip_prefix("kelvin-")?.to_owned()))
        .filter(|name| name != "action")
        .collect();
    assert!(probes.len() >= 5, "{probes:?}");
    probes
}

#[test]
fn a_probe_needs_no_other_probe_no_verdict_and_no_server() {
    let probes = probes();
    let mut wrong = Vec::new();
    for (package, needs) in packages() {
        let Some(probe) = package.strip_prefix("kelvin-") else {
            continue;
        };
        if !probes.iter().any(|one| one == probe) {
            continue;
        }
        // Each probe can be left out, or stand in a repository of its own, only as long as no other one needs it.
        let others = probes.iter().map(|one| format!("kelvin-{one}"));
        // A probe measures; what its figures mean for a change, and who is told, others decide. The rest is what the
        // house has one owner for: git is `system`'s, GitHub is `github`'s, and the history of runs is the root's.
        let owned = [
            "kelvin-gate",
            "kelvin-github",
            "git2",
            "octocrab",
            "rusqlite",
        ];
        for not in others.chain(owned.map(str::to_owned)) {
            // The files of SQLite that a pipeline leaves behind are what some checks look into.
            let is_allowed = (probe, not.as_str()) == ("checks", "rusqlite");
            if needs.contains(&not) && !is_allowed {
                wrong.push(format!("{package} needs {not}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A change to the gate is the most frequent one, so the gate compiles and is tested without a pipeline, a network or a
/// database: that keeps its tests fast, and a verdict a function of two reports.
#[test]
fn the_gate_stands_on_base_page_and_record_alone_and_stays_small() {
    let packages = packages();
    let (_, needs) = packages
        .iter()
        .find(|(name, _)| name == "kelvin-gate")
        .expect("the gate");
    let ours = needs.iter().filter(|need| need.starts_with("kelvin-"));
    let ours: Vec<&str> = ours.map(String::as_str).collect();
    assert_eq!(ours, ["kelvin-base", "kelvin-page", "kelvin-record"]);

    let tree = cargo(&[
        "tree",
        "--package",
        "kelvin-gate",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    // It has 64 today. What is beyond the limit costs every change to the gate a longer build.
    assert!((30..=90).contains(&crates.len()), "{crates:?}");
    for heavy in ["git2", "octocrab", "rusqlite", "tokio"] {
        assert!(!crates.contains(heavy), "kelvin-gate brings in {heavy}");
    }
}

#[test]
fn the_table_of_the_architecture_has_every_crate_with_what_it_imports() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    for (package, needs) in packages() {
        let name = package.strip_prefix("kelvin-").expect("one of ours");
        let ours = needs.iter().filter_map(|need| need.strip_prefix("kelvin-"));
        let ours: Vec<String> = ours.map(|need| format!("`{need}`")).collect();
        let imports = match ours.is_empty() {
            true => "nothing".to_owned(),
            false => ours.join(", "),
        };
        let row = format!("\n| `{name}` | {imports} | ");
        // The root package imports all of them, and has no row.
        assert!(name == "action" || page.contains(&row), "{row}");
    }
}
