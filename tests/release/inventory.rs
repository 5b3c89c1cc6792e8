//! What a release says of its parts, held against what cargo and the lock file say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use kelvin_fixtures::python;
use serde_json::Value;

use crate::root;

fn inventory() -> (String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(python::path())
        .arg(root().join(".github/release/inventory.py"))
        .arg(folder.path())
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .expect("python3 starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("read");
    (read("kelvin.cdx.json"), read("LICENSES-THIRD-PARTY.txt"))
}

#[test]
fn the_list_of_parts_has_what_is_in_the_program_and_its_checksums() {
    let (first, notices) = inventory();
    assert!(
        (first.clone(), notices.clone()) == inventory(),
        "the same commit gives other bytes"
    );
    let bom: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(
        (&bom["bomFormat"], &bom["specVersion"]),
        (&"CycloneDX".into(), &"1.5".into())
    );
    let mut required = BTreeSet::new();
    let mut sums = BTreeMap::new();
    let mut libraries = Vec::new();
    for part in bom["components"].as_array().expect("components") {
        let purl = part["purl"].as_str().expect("a purl");
        let Some(one) = purl.strip_prefix("pkg:cargo/") else {
            libraries.push(part["name"].as_str().expect("a name"));
            assert!(
                part["cpe"]
                    .as_str()
                    .expect("a CPE")
                    .contains(part["version"].as_str().expect("a version"))
            );
            continue;
        };
        if part["scope"] == "required" {
            required.insert(one.to_owned());
        }
        assert!(part["licenses"][0]["expression"].is_string(), "{one}");
        sums.insert(
            one.to_owned(),
            part["hashes"][0]["content"]
                .as_str()
                .expect("a checksum")
                .to_owned(),
        );
    }
    assert_eq!(libraries, ["libgit2", "sqlite", "zlib"], "what is no crate");
    let has = |set: &BTreeSet<String>, name: &str| {
        set.iter().any(|one| one.split('@').next() == Some(name))
    };
    for inside in [
        "clap",
        "git2",
        "libgit2-sys",
        "rustls",
        "ring",
        "serde_json",
        "tokio-postgres",
        "zip",
    ] {
        assert!(has(&required, inside), "{inside}");
    }
    let all: BTreeSet<String> = sums.keys().cloned().collect();
    for only_built_with in ["cc", "syn", "serde_derive", "proc-macro2"] {
        assert!(
            has(&all, only_built_with) && !has(&required, only_built_with),
            "{only_built_with}"
        );
    }
    // Tests need the first two; the others are what a feature that is off would bring.
    for outside in [
        "proptest",
        "insta",
        "aws-lc-sys",
        "openssl-sys",
        "windows-sys",
    ] {
        assert!(!has(&all, outside), "{outside}");
    }

    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("read");
    let value = |block: &str, key: &str| {
        Some(
            block
                .split(&format!("{key} = \""))
                .nth(1)?
                .split('"')
                .next()?
                .to_owned(),
        )
    };
    let mut compared = 0;
    for block in lock.split("[[package]]") {
        let (Some(name), Some(version)) = (value(block, "\nname"), value(block, "\nversion"))
        else {
            continue;
        };
        if let Some(sum) = sums.get(&format!("{name}@{version}")) {
            assert_eq!(value(block, "\nchecksum").as_ref(), Some(sum), "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, sums.len());

    // Who says that somebody's text goes with the program finds it there.
    for one in required {
        let (name, version) = one.split_once('@').expect("a version");
        let titled = format!("\n{name} {version}");
        assert!(
            notices.contains(&format!("{titled}\n")) || notices.contains(&format!("{titled}: ")),
            "{one}"
        );
    }
    assert!(
        notices.contains("libgit2 is Copyright") && notices.contains("LINKING EXCEPTION"),
        "the library in C"
    );
}
