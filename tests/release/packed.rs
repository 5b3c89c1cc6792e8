//! What a release packs: archives and wheels with the same bytes each time, that install without Rust.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kelvin_fixtures::python;

use crate::programs::{TARGETS, compiled, header, macho, program};
use crate::root;

const NOTICES: &str = "LICENSES-THIRD-PARTY.txt";

fn pack(binary: &Path, target: &str, folder: &Path) -> Output {
    fs::create_dir_all(folder).expect("made");
    fs::write(folder.join(NOTICES), "Thanks to all of them.\n").expect("written");
    Command::new(python::path())
        .arg(root().join(".github/release/pack.py"))
        .arg(binary)
        .arg(target)
        .arg(folder)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .expect("python3 starts")
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder)
        .expect("listed")
        .map(|file| file.expect("listed").path());
    files
        .map(|file| {
            (
                file.file_name()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned(),
                fs::read(&file).expect("read"),
            )
        })
        .collect()
}

/// The machine of the test, where a release has something for it.
fn here() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[test]
fn no_entry_of_the_release_profile_keeps_the_symbols_of_the_program() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("read");
    assert!(manifest.contains("[profile.dist]") && manifest.contains("strip = \"symbols\""));
    for profile in ["release", "dist"] {
        let entry = format!("[profile.{profile}.package.{}]", env!("CARGO_PKG_NAME"));
        assert!(!manifest.contains(&entry), "{entry}");
    }
}

#[test]
fn the_same_binary_packs_to_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for place in ["one", "another"] {
        for target in TARGETS {
            // Another folder, another name and another time.
            let binary = folder.path().join(format!("built-for-{place}-{target}"));
            fs::write(&binary, header(target)).expect("written");
            let packed = pack(&binary, target, &folder.path().join(place).join(target));
            assert!(
                packed.status.success(),
                "{}",
                String::from_utf8_lossy(&packed.stderr)
            );
        }
        std::thread::sleep(std::time::Duration::from_millis(1100));
    }
    for target in TARGETS {
        let [one, another] =
            ["one", "another"].map(|place| files(&folder.path().join(place).join(target)));
        assert_eq!(one, another, "{target}");
        let names: Vec<String> = one.into_keys().collect();
        assert_eq!((names.len(), names[0].as_str()), (5, NOTICES), "{names:?}");
        assert!(
            names.contains(&format!("kelvin-{target}.tar.gz")),
            "{names:?}"
        );
        let starter = format!("kelvin-action-{}.tgz", version());
        assert!(names.contains(&starter), "{names:?}");
        assert!(
            names[4].starts_with(&format!("kelvin_action-{}-py3-none-", version())),
            "{names:?}"
        );
    }
}

#[test]
fn an_archive_says_nothing_of_the_machine_that_packed_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let binary = folder.path().join("kelvin");
    fs::write(&binary, header(TARGETS[0])).expect("written");
    assert!(
        pack(&binary, TARGETS[0], &folder.path().join("dist"))
            .status
            .success()
    );
    let listed = Command::new("tar")
        .args(["--utc", "--numeric-owner", "--full-time", "-tvzf"])
        .arg(
            folder
                .path()
                .join("dist/kelvin-x86_64-unknown-linux-gnu.tar.gz"),
        )
        .output()
        .expect("tar starts");
    let listed = String::from_utf8(listed.stdout).expect("text");
    let lines: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let names: Vec<&str> = lines.iter().map(|line| line[5]).collect();
    assert_eq!(names, ["LICENSE-APACHE", "LICENSE-MIT", NOTICES, "kelvin"]);
    for line in &lines {
        let rights = if line[5] == "kelvin" {
            "-rwxr-xr-x"
        } else {
            "-rw-r--r--"
        };
        assert_eq!(
            [line[0], line[1], line[3], line[4]],
            [rights, "0/0", "2023-11-14", "22:13:20"]
        );
    }
}

#[test]
fn an_archive_has_the_man_pages_and_completions_that_the_program_writes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (manual, dist) = (folder.path().join("manual"), folder.path().join("dist"));
    let written = Command::new(root().join(".github/release/manual"))
        .arg(env!("CARGO_BIN_EXE_kelvin"))
        .arg(&manual)
        .output()
        .expect("bash starts");
    assert!(written.status.success(), "{written:?}");
    let binary = folder.path().join("kelvin");
    fs::write(&binary, header(TARGETS[0])).expect("written");
    fs::create_dir_all(&dist).expect("made");
    fs::write(dist.join(NOTICES), "Thanks to all of them.\n").expect("written");
    let pack = |manual: &Path| {
        Command::new(python::path())
            .arg(root().join(".github/release/pack.py"))
            .arg(&binary)
            .arg(TARGETS[0])
            .args([&*dist, manual])
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .expect("python3 starts")
    };
    let packed = pack(&manual);
    assert!(packed.status.success(), "{packed:?}");
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(dist.join(format!("kelvin-{}.tar.gz", TARGETS[0])))
        .output()
        .expect("tar starts");
    let listed = String::from_utf8(listed.stdout).expect("text");
    let names: Vec<&str> = listed.lines().collect();
    for name in [
        "completions/_kelvin",
        "completions/kelvin.bash",
        "completions/kelvin.fish",
        "man/man1/kelvin.1",
        "man/man1/kelvin-check.1",
        "kelvin",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    // A manual that was forgotten is no archive without one.
    let forgotten = pack(&folder.path().join("nowhere"));
    assert!(!forgotten.status.success());
}

#[test]
fn the_wheel_installs_without_rust_and_brings_the_program() {
    let target = here();
    let Some(program) = program(&target) else {
        panic!("a release has nothing for {target}")
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (binary, dist, venv) = (
        folder.path().join("built"),
        folder.path().join("dist"),
        folder.path().join("venv"),
    );
    fs::write(&binary, [&program[..], b"\nkelvin, packed\n"].concat()).expect("written");
    let packed = pack(&binary, &target, &dist);
    assert!(
        packed.status.success(),
        "{}",
        String::from_utf8_lossy(&packed.stderr)
    );
    let wheel = files(&dist)
        .into_keys()
        .find(|name| name.ends_with(".whl"))
        .expect("a wheel");
    let run = |program: &Path, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .output()
            .expect("it starts");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("text")
    };
    // Installing another pip into the environment takes longer than all the rest.
    let environment = venv.display().to_string();
    run(
        Path::new(python::path()),
        &["-m", "venv", "--without-pip", &environment],
    );
    let pip = |arguments: &[&str]| {
        let of_environment = ["-m", "pip", "--python", &environment];
        run(
            Path::new(python::path()),
            &[&of_environment, arguments].concat(),
        )
    };
    // pip holds every file against the checksum in the wheel.
    let wheel = dist.join(&wheel).display().to_string();
    pip(&["install", "--quiet", "--no-index", &wheel]);
    assert_eq!(run(&venv.join("bin/kelvin"), &[]), "kelvin, packed\n");
    // The plugin for pytest comes along, and asks for nothing but pytest.
    let find = "import importlib.util, kelvin_action; print(importlib.util.find_spec('kelvin_action.pytest').origin)";
    let plugin = run(&venv.join("bin/python"), &["-c", find]);
    assert!(
        plugin.trim().ends_with("/kelvin_action/pytest.py"),
        "{plugin}"
    );
    let packed = fs::read(plugin.trim()).expect("it was installed");
    let own = fs::read(root().join("python/kelvin_action/pytest.py")).expect("the plugin");
    assert_eq!(packed, own);
    let said = pip(&["show", "kelvin-action"]);
    assert!(
        said.contains(&format!("Version: {}\n", version())),
        "{said}"
    );
    pip(&["uninstall", "--quiet", "--yes", "kelvin-action"]);
    assert!(
        !venv.join("bin/kelvin").exists(),
        "the wheel says which files are its own"
    );
    assert!(!Path::new(plugin.trim()).exists());
}

#[test]
fn a_binary_that_would_not_run_where_its_wheel_promises_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let binary = folder.path().join("built");
    let refused = |bytes: &[u8], target: &str, wanted: &str| {
        fs::write(&binary, bytes).expect("written");
        let output = pack(&binary, target, &folder.path().join("dist"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(wanted),
            "{target}: {said}"
        );
        let written = files(&folder.path().join("dist"));
        assert_eq!(written.len(), 1, "nothing is written beside the notices");
    };
    let here = here();
    refused(
        &compiled(&here, &["-C", "target-feature=-crt-static"]),
        &here,
        "needs a loader",
    );
    refused(
        &header("aarch64-unknown-linux-gnu"),
        "x86_64-unknown-linux-gnu",
        "another processor",
    );
    refused(
        &header("x86_64-apple-darwin"),
        "aarch64-apple-darwin",
        "another processor",
    );
    refused(
        &header("x86_64-apple-darwin"),
        "x86_64-unknown-linux-gnu",
        "no 64-bit program for Linux",
    );
    refused(
        &macho(0x0100_000c, 0x000e_0200),
        "aarch64-apple-darwin",
        "needs macOS 14.2",
    );
    refused(
        b"#!/bin/sh\n",
        "x86_64-apple-darwin",
        "no 64-bit program for macOS",
    );
    refused(
        &header("x86_64-apple-darwin"),
        "riscv64-unknown-linux-gnu",
        "is not one of",
    );
}

/// The commands that fetch an archive, as a page shows them, with another server.
fn shown(page: &str, server: &Path) -> String {
    let text = fs::read_to_string(root().join(page)).expect("read");
    let from = text
        .find("```sh\nfrom=")
        .unwrap_or_else(|| panic!("{page} does not show them"))
        + 6;
    let block = &text[from..from + text[from..].find("\n```").expect("an end")];
    let commands: Vec<&str> = block
        .lines()
        .filter(|line| *line != "./kelvin demo")
        .collect();
    let public = format!("{}/releases/latest/download", env!("CARGO_PKG_REPOSITORY"));
    assert!(commands[0].ends_with(&public), "{block}");
    commands
        .join("\n")
        .replace(&public, &format!("file://{}", server.display()))
}

#[test]
fn the_commands_of_the_readme_fetch_the_program_and_refuse_what_has_another_checksum() {
    let target = here();
    let program = program(&target).expect("a program");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (binary, server) = (folder.path().join("built"), folder.path().join("server"));
    fs::write(&binary, [&program[..], b"\nkelvin, fetched\n"].concat()).expect("written");
    assert!(pack(&binary, &target, &server).status.success());
    // The checksums of a release name files that are not fetched.
    let sums = "cd \"$0\" && printf '%064d  kelvin-of-another-machine.tar.gz\\n' 1 > SHA256SUMS && sha256sum kelvin* >> SHA256SUMS";
    assert!(
        Command::new("sh")
            .args(["-c", sums])
            .arg(&server)
            .status()
            .expect("sh starts")
            .success()
    );
    let commands = shown("README.md", &server);
    assert_eq!(commands, shown("docs/install.md", &server));
    let run = || {
        let place = tempfile::tempdir().expect("a temporary folder");
        let output = Command::new("bash")
            .args(["-c", &commands])
            .current_dir(place.path())
            .output()
            .expect("bash starts");
        let unpacked = place.path().join("kelvin").exists();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            unpacked,
        )
    };
    let (fine, said, unpacked) = run();
    assert!(
        fine && unpacked && said.ends_with("kelvin, fetched\n"),
        "{said}"
    );

    let archive = server.join(format!("kelvin-{target}.tar.gz"));
    let (good, list) = (
        fs::read(&archive).expect("read"),
        fs::read_to_string(server.join("SHA256SUMS")).expect("read"),
    );
    // Other bytes in the archive; a list that does not have it; no list at all.
    fs::write(&archive, [&good[..], b"more"].concat()).expect("written");
    assert!(matches!(run(), (false, _, false)));
    fs::write(&archive, &good).expect("written");
    let without: String = list
        .lines()
        .filter(|line| !line.ends_with(".tar.gz"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(server.join("SHA256SUMS"), without).expect("written");
    assert!(matches!(run(), (false, _, false)));
    fs::remove_file(server.join("SHA256SUMS")).expect("removed");
    assert!(matches!(run(), (false, _, false)));
    fs::write(server.join("SHA256SUMS"), list).expect("written");
    assert!(run().0);
}

#[test]
#[expect(clippy::print_stderr, reason = "a part that is left out says so")]
fn npm_installs_the_program_of_the_machine_and_npx_starts_it() {
    if Command::new("npm").arg("--version").output().is_err() {
        eprintln!("SKIPPED: the packages of npm: this machine has no npm");
        return;
    }
    let target = here();
    let program = program(&target).expect("a release has something for this machine");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (binary, dist, app) = (
        folder.path().join("built"),
        folder.path().join("dist"),
        folder.path().join("app"),
    );
    fs::write(&binary, [&program[..], b"\nkelvin, packed\n"].concat()).expect("written");
    assert!(pack(&binary, &target, &dist).status.success());
    fs::create_dir(&app).expect("made");
    let packages: Vec<String> = files(&dist)
        .into_keys()
        .filter(|name| name.ends_with(".tgz"))
        .collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    let npm = |program: &str, arguments: &[&str]| -> Output {
        Command::new(program)
            .args(arguments)
            .current_dir(&app)
            .env("npm_config_cache", folder.path().join("cache"))
            .output()
            .expect("it starts")
    };
    // The two alone: the others are for other machines, and no registry is asked.
    let [own, starter] = &packages
        .iter()
        .map(|name| format!("../dist/{name}"))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{packages:?}")
    };
    let (own, starter) = match own.contains("linux") {
        true => (own, starter),
        false => (starter, own),
    };
    let install = [
        "install",
        "--offline",
        "--omit=optional",
        "--no-audit",
        "--no-fund",
    ];
    let said = npm("npm", &[&install[..], &[starter]].concat());
    assert!(said.status.success(), "{said:?}");
    let without = npm("npx", &["--no-install", "kelvin-action"]);
    let text = String::from_utf8_lossy(&without.stderr).into_owned();
    assert_eq!(without.status.code(), Some(1), "{text}");
    assert!(text.contains("--omit=optional"), "{text}");
    let said = npm("npm", &[&install[..], &[own]].concat());
    assert!(said.status.success(), "{said:?}");
    for name in ["kelvin-action", "kelvin"] {
        let said = npm("npx", &["--no-install", name]);
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.status.success() && text.contains("kelvin"), "{said:?}");
    }
}
