//! What a release writes into its actions, and what they make of it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

// The scripts of a release run on Linux.
#[cfg(target_os = "linux")]
#[path = "release/inventory.rs"]
mod inventory;
#[cfg(target_os = "linux")]
#[path = "release/packed.rs"]
mod packed;
#[cfg(target_os = "linux")]
#[path = "release/programs.rs"]
mod programs;
#[cfg(target_os = "linux")]
#[path = "release/simulated.rs"]
mod simulated;

#[path = "release/addresses.rs"]
mod addresses;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the script that finds the binary.
fn fetch(folder: &Path, variables: &[(&str, &str)]) -> Output {
    Command::new("bash")
        .arg(root().join("host/fetch.sh"))
        .env_remove("KELVIN_BINARY")
        .env("KELVIN_RELEASE", folder.join("release.txt"))
        .env("RUNNER_TOOL_CACHE", folder.join("tools"))
        .env("RUNNER_TEMP", folder)
        .envs(variables.iter().copied())
        .output()
        .expect("bash starts")
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A release in a folder, with an archive for every machine.
fn release(folder: &Path) {
    let sh = "set -e; cd \"$1\"; mkdir -p served; printf '#!/bin/sh\\necho the binary\\n' > kelvin; chmod +x kelvin
        printf 'url file://%s/served\\n' \"$1\" > release.txt; cd served
        for target in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-apple-darwin aarch64-apple-darwin; do
          tar -C .. -czf kelvin-$target.tar.gz kelvin
          { sha256sum kelvin-$target.tar.gz 2>/dev/null || shasum -a 256 kelvin-$target.tar.gz; } >> ../release.txt
        done";
    let status = Command::new("sh")
        .args(["-c", sh, "sh"])
        .arg(folder)
        .status()
        .expect("sh starts");
    assert!(status.success());
}

#[test]
fn the_binary_of_a_release_is_fetched_once_and_checked_each_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    release(folder.path());
    let fetched = fetch(folder.path(), &[]);
    assert!(fetched.status.success(), "{}", line(&fetched.stderr));
    let said = Command::new(line(&fetched.stdout))
        .output()
        .expect("it starts");
    assert_eq!(line(&said.stdout), "the binary");

    // The second time the archive comes from the cache.
    fs::rename(folder.path().join("served"), folder.path().join("gone")).expect("renamed");
    assert!(fetch(folder.path(), &[]).status.success());

    // What was tampered with there is not run.
    for store in fs::read_dir(folder.path().join("tools/kelvin")).expect("listed") {
        for archive in fs::read_dir(store.expect("listed").path()).expect("listed") {
            fs::write(archive.expect("listed").path(), "something else").expect("written");
        }
    }
    let fetched = fetch(folder.path(), &[]);
    assert_eq!(
        (fetched.status.code(), line(&fetched.stdout)),
        (Some(1), String::new())
    );
}

#[test]
fn an_archive_with_another_checksum_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    release(folder.path());
    for archive in fs::read_dir(folder.path().join("served")).expect("listed") {
        fs::write(archive.expect("listed").path(), "something else").expect("written");
    }
    let fetched = fetch(folder.path(), &[]);
    assert_eq!(
        (fetched.status.code(), line(&fetched.stdout)),
        (Some(1), String::new())
    );
    assert!(
        line(&fetched.stderr).contains("SHA-256"),
        "{}",
        line(&fetched.stderr)
    );
}

#[test]
fn a_binary_of_ones_own_is_taken_and_a_commit_without_a_release_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let binary = env!("CARGO_BIN_EXE_kelvin");
    let fetched = fetch(folder.path(), &[("KELVIN_BINARY", binary)]);
    assert_eq!(line(&fetched.stdout), binary);
    let fetched = fetch(folder.path(), &[("KELVIN_BINARY", "/no/such/program")]);
    assert!(!fetched.status.success() && line(&fetched.stderr).contains("KELVIN_BINARY"));
    let fetched = fetch(folder.path(), &[]);
    let said = line(&fetched.stderr);
    assert!(!fetched.status.success(), "{said}");
    insta::assert_snapshot!(said, @"::error title=Kelvin::this commit is not a release, so it has no binary; use a tag such as v1, or set KELVIN_BINARY to one that you built");
}

#[test]
fn a_release_pins_the_image_and_the_archives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    for folder in ["host", "slim"] {
        fs::create_dir(path.join(folder)).expect("made");
    }
    for action in ["action.yml", "slim/action.yml"] {
        fs::copy(root().join(action), path.join(action)).expect("copied");
    }
    fs::write(
        path.join("SHA256SUMS"),
        "abc  kelvin-x86_64-unknown-linux-gnu.tar.gz\n",
    )
    .expect("written");
    let git = |arguments: &[&str]| {
        Command::new("git")
            .arg("-C")
            .arg(path)
            .args(arguments)
            .status()
            .expect("git starts")
    };
    assert!(git(&["init", "--quiet"]).success());
    let someone = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let first = ["commit", "--quiet", "--allow-empty", "--message", "first"];
    assert!(git(&[&someone[..], &first].concat()).success());
    let digest = |digit: &str| {
        format!(
            "docker://ghcr.io/org/kelvin-action@sha256:{}",
            digit.repeat(64)
        )
    };
    let pin = |image: &str, slim: &str| {
        Command::new(root().join(".github/release/pin"))
            .args([image, slim, "https://example.org/v1.0.0", "SHA256SUMS"])
            .current_dir(path)
            .status()
            .expect("it starts")
    };
    assert!(
        !pin("docker://ghcr.io/org/kelvin-action:v1", &digest("1")).success(),
        "a tag is no digest"
    );
    assert!(pin(&digest("0"), &digest("1")).success());
    for (action, digit) in [("action.yml", "0"), ("slim/action.yml", "1")] {
        let read = |folder: &Path| -> Value {
            serde_yaml::from_str(&fs::read_to_string(folder.join(action)).expect("read"))
                .expect("YAML")
        };
        let (before, pinned) = (read(root()), read(path));
        assert_eq!(pinned["runs"]["image"], digest(digit).as_str());
        assert_eq!(pinned["inputs"], before["inputs"]);
    }
    let release = fs::read_to_string(path.join("host/release.txt")).expect("read");
    assert!(
        release.starts_with("url https://example.org/v1.0.0\nabc  kelvin-"),
        "{release}"
    );
    assert!(
        git(&["diff", "--quiet", "HEAD"]).success(),
        "it is committed"
    );
}
