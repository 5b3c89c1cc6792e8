//! Where the project and its files are: `repository` in Cargo.toml says it, and every other place says the same.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::root;

/// `owner/name` of the repository that the package names.
fn repository() -> &'static str {
    env!("CARGO_PKG_REPOSITORY")
        .strip_prefix("https://github.com/")
        .expect("it is on GitHub")
}

/// Every text file that git knows.
fn texts() -> Vec<(String, String)> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output()
        .expect("git starts");
    let names = String::from_utf8(listed.stdout).expect("names");
    let texts = names
        .split_terminator('\0')
        .filter_map(|name| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?)));
    texts.collect()
}

#[test]
fn every_place_names_the_repository_of_the_package() {
    let (owner, name) = repository().split_once('/').expect("an owner");
    assert_eq!(env!("CARGO_PKG_HOMEPAGE"), env!("CARGO_PKG_REPOSITORY"));
    let of_owner = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let (mut found, mut wrong) = (0, Vec::new());
    for (file, text) in texts() {
        for (at, _) in text.match_indices(&format!("/{name}")) {
            let before = &text[..at];
            let said = &before[before
                .rfind(|character| !of_owner(character))
                .map_or(0, |at| at + 1)..];
            let local = said == "localhost" || said.is_empty();
            // A package URL names the registry where an address names the owner.
            let is_package = before.ends_with("pkg:cargo");
            found += usize::from(said == owner);
            if said != owner && !local && !is_package {
                wrong.push(format!("{file}: {said}/{name}"));
            }
        }
    }
    assert!(found > 50, "only {found} places were found");
    assert!(
        wrong.is_empty(),
        "Cargo.toml says {owner}/{name}:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn cargo_binstall_finds_the_archive_of_every_machine() {
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo starts");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let package = packages
        .find(|package| package["name"] == "kelvin-action")
        .expect("the package with the program");
    let binstall = &package["metadata"]["binstall"];
    let overrides: BTreeMap<String, Value> =
        serde_json::from_value(binstall["overrides"].clone()).expect("overrides");
    let workflow: Value = serde_yaml::from_str(
        &fs::read_to_string(root().join(".github/workflows/release.yml")).expect("read"),
    )
    .expect("YAML");
    let legs = workflow["jobs"]["binary"]["strategy"]["matrix"]["include"]
        .as_array()
        .expect("legs");
    let built: Vec<&str> = legs
        .iter()
        .map(|leg| leg["target"].as_str().expect("a target"))
        .collect();
    assert_eq!(built.len(), 4);

    // What cargo-binstall puts in, by its documentation.
    let filled = |template: &Value, target: &str| {
        let mut text = template.as_str().expect("a template").to_owned();
        for (name, value) in [
            (
                "repo",
                package["repository"].as_str().expect("a repository"),
            ),
            ("version", package["version"].as_str().expect("a version")),
            ("target", target),
            ("bin", "kelvin"),
            ("binary-ext", ""),
        ] {
            text = text.replace(&format!("{{ {name} }}"), value);
        }
        assert!(!text.contains('{'), "{text}");
        text
    };
    // The address that `pin` writes for the actions, from the same workflow.
    let release = format!(
        "https://github.com/{}/releases/download/v{}",
        repository(),
        package["version"].as_str().expect("a version")
    );
    for target in &built {
        assert_eq!(
            filled(&binstall["pkg-url"], target),
            format!("{release}/kelvin-{target}.tar.gz")
        );
    }
    for (target, theirs) in &overrides {
        let same = target.replace("-musl", "-gnu");
        assert!(built.contains(&same.as_str()), "{target}");
        assert_eq!(
            filled(&theirs["pkg-url"], target),
            format!("{release}/kelvin-{same}.tar.gz")
        );
    }
    assert_eq!(overrides.len(), 2);
    assert_eq!(
        filled(&binstall["bin-dir"], built[0]),
        "kelvin",
        "it lies at the top of the archive"
    );
    assert_eq!(binstall["pkg-fmt"], "tgz");
}
