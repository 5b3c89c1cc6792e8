//! What cannot be read is refused by its name, and nothing that a change writes makes it a pass.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::repository::save;

/// What must never be said of a repository that is there.
const WRONG: [&str; 2] = ["git init", "no git repository"];

/// The binary with another `PATH`.
fn kelvin(project: &Project, path: &str, arguments: &[&str]) -> Said {
    let mut command = project.command(arguments);
    let output = command.env("PATH", path).output().expect("it starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A change that makes everything worse, and whose base has a report.
fn worse(form: &[&str]) -> Option<Project> {
    let project = project(form, GROUNDED)?;
    save(&project);
    branch(&project, "worse", CONSTANT);
    Some(project)
}

/// Demands that the reason is told by every command, and that none takes the change for good.
#[track_caller]
fn refused(project: &Project, path: &str, words: &[&str]) {
    let said = kelvin(project, path, &["gate"]).expect(3);
    assert_eq!(
        judgement(project.root())["verdict"],
        json!("baseline_unreachable")
    );
    let doctor = kelvin(project, path, &["doctor"]);
    let saved = kelvin(project, path, &["baseline", "save"]).expect(1);
    for said in [&said.stdout, &doctor.stdout, &saved.stderr] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in words {
            assert!(said.contains(words), "{words}: {said}");
        }
        for wrong in WRONG {
            assert!(!said.contains(wrong), "{said}");
        }
    }
    // What the pipeline answers is measured all the same, and nothing is taken from an earlier run.
    project.config("cache: true\n");
    kelvin(project, path, &["check"]).expect(0);
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    assert!(notices.contains("the cache was not used"), "{notices}");
    for words in words {
        assert!(notices.contains(words), "{words}: {notices}");
    }
    project.config("");
}

/// A folder with a program called `git`, before all others.
fn program(project: &Project, script: &str) -> String {
    let folder = project.path("../programs");
    fs::create_dir_all(&folder).expect("made");
    let git = folder.join("git");
    fs::write(&git, format!("#!/bin/sh\n{script}")).expect("written");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("set");
    format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").expect("text")
    )
}

#[test]
fn a_git_that_is_too_old_for_a_reftable_is_named_with_both_versions() {
    let Some(project) = worse(&[REFTABLE]) else {
        return;
    };
    for (version, found) in [("2.39.2", "2.39.2"), ("2.44.0 (Apple Git-143)", "2.44.0")] {
        let old = format!(
            "case \"$*\" in *version) echo 'git version {version}'; exit 0;; esac\n\
             echo 'fatal: unknown repository extension found:' >&2\n\
             echo '\trefstorage' >&2\nexit 128\n"
        );
        let path = program(&project, &old);
        let found = format!("found {found}");
        refused(
            &project,
            &path,
            &["reftable", "needs git 2.45 or later", &found],
        );
    }
}

#[test]
fn a_reftable_without_any_git_is_refused_by_its_name() {
    let Some(project) = worse(&[REFTABLE]) else {
        return;
    };
    let programs = project.path("../without");
    fs::create_dir(&programs).expect("made");
    for folder in ["/usr/bin", "/bin"] {
        for entry in fs::read_dir(folder).expect("listed").flatten() {
            let name = entry.file_name();
            if !name.to_string_lossy().starts_with("git") {
                let _ = symlink(entry.path(), programs.join(name));
            }
        }
    }
    let path = programs.display().to_string();
    refused(
        &project,
        &path,
        &["reftable", "needs git 2.45 or later", "cannot be started"],
    );
}

#[test]
fn a_reftable_that_is_damaged_is_no_empty_one() {
    let tables = |project: &Project| -> Vec<PathBuf> {
        let entries = fs::read_dir(project.path(".git/reftable")).expect("listed");
        let paths = entries.flatten().map(|entry| entry.path());
        paths
            .filter(|path| !path.ends_with("tables.list"))
            .collect()
    };
    let damages: [fn(&Path); 5] = [
        |table| fs::write(table, "garbage").expect("written"),
        |table| fs::write(table, "").expect("written"),
        |table| fs::remove_file(table).expect("removed"),
        |table| fs::write(table.with_file_name("tables.list"), "").expect("written"),
        |table| fs::remove_dir_all(table.parent().expect("it has one")).expect("removed"),
    ];
    for (at, damage) in damages.iter().enumerate() {
        let Some(project) = worse(&[REFTABLE]) else {
            return;
        };
        for table in tables(&project) {
            if table.exists() {
                damage(&table);
            }
        }
        let path = std::env::var("PATH").expect("text");
        refused(&project, &path, &["reftable", "cannot be read"]);
        assert!(project.path(".git/HEAD").exists(), "{at}");
    }
}

#[test]
fn a_git_that_says_nothing_or_nonsense_makes_no_change_pass() {
    let Some(project) = worse(&[REFTABLE]) else {
        return;
    };
    for script in [
        "exit 0",
        "echo nonsense",
        "printf '/x\\n/y\\n/z\\n'",
        "head -c 100000 /dev/urandom",
        "kill -9 $$",
    ] {
        let path = program(&project, script);
        let said = kelvin(&project, &path, &["gate"]).expect(3);
        assert!(
            !said.stdout.contains("panicked"),
            "{script}: {}",
            said.stdout
        );
        assert!(
            !said.stderr.contains("panicked"),
            "{script}: {}",
            said.stderr
        );
    }
}

#[test]
fn a_git_that_the_change_brings_along_is_not_started() {
    for form in [&[][..], &[REFTABLE]] {
        let Some(project) = worse(form) else {
            continue;
        };
        // It would make the change its own base.
        let forged = format!(
            "#!/bin/sh\necho x >> '{0}'\n/usr/bin/env -u GIT_DIR PATH=\"$SAFE\" git -C '{1}' update-ref \
             refs/remotes/origin/main HEAD\nPATH=\"$SAFE\" exec git \"$@\"\n",
            project.path("../started").display(),
            project.root().display(),
        );
        for place in ["git", "bin/git", "node_modules/.bin/git"] {
            project.write(place, &forged);
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(project.path(place), mode).expect("set");
        }
        commit(&project, "with programs");
        let safe = std::env::var("PATH").expect("text");
        let inside = project.path("bin").display().to_string();
        for first in ["", ".", "bin", "node_modules/.bin", &inside] {
            let path = format!("{first}:{safe}");
            let mut command = project.command(&["gate", "--rerun"]);
            let output = command.env("PATH", path).env("SAFE", &safe).output();
            assert_eq!(output.expect("it starts").status.code(), Some(3), "{first}");
            assert!(!project.path("../started").exists(), "`{first}` {form:?}");
        }
    }
}

#[test]
fn a_pipeline_that_moves_references_while_it_runs_gets_the_verdict_that_it_gets_anywhere() {
    let moves = [
        "git update-ref refs/remotes/origin/main HEAD",
        "git update-ref -d refs/remotes/origin/kelvin-reports",
        "git update-ref -d refs/remotes/origin/main; git update-ref refs/heads/main HEAD",
    ];
    for form in [&[][..], &[REFTABLE]] {
        for moved in moves {
            let Some(project) = worse(form) else {
                continue;
            };
            project.write(
                "pipeline.sh",
                &format!("({moved}) 2> /dev/null\n{CONSTANT}"),
            );
            commit(&project, "moves");
            project.kelvin(&["gate", "--rerun"]).expect(3);
            let found = judgement(project.root());
            assert_eq!(
                found["verdict"],
                json!("regression"),
                "{form:?} {moved}: {found}"
            );
        }
    }
}

#[test]
fn a_view_that_is_spoilt_while_it_is_used_makes_no_change_pass_and_leaves_nothing_behind() {
    let spoils = [
        "for f in \"$TMPDIR\"/kelvin-*/packed-refs; do [ -e \"$f\" ] && : > \"$f\"; done",
        "rm -rf \"$TMPDIR\"/kelvin-*/refs \"$TMPDIR\"/kelvin-*/HEAD",
        "for f in \"$TMPDIR\"/kelvin-*/config; do [ -e \"$f\" ] && echo '[core' > \"$f\"; done",
    ];
    for spoil in spoils {
        let spoils = format!(
            "for f in \"$TMPDIR\"/kelvin-*; do [ -d \"$f\" ] && : > \"$TMPDIR/../seen\"; done\n\
             ({spoil}) 2> /dev/null\n"
        );
        let Some(project) = project(&[REFTABLE], &format!("{spoils}{GROUNDED}")) else {
            return;
        };
        project.config("baseline: {from: compute, compute: true}\n");
        commit(&project, "measured now");
        branch(&project, "worse", &format!("{spoils}{CONSTANT}"));
        let temporary = project.path("../temporary");
        fs::create_dir_all(&temporary).expect("made");
        let mut command = project.command(&["gate", "--rerun", "--base", "main"]);
        let output = command
            .env("TMPDIR", &temporary)
            .output()
            .expect("it starts");
        let found = judgement(project.root());
        assert_eq!(output.status.code(), Some(3), "{spoil}: {found}");
        assert!(project.path("../seen").exists(), "the view was not there");
        let left: Vec<PathBuf> = fs::read_dir(&temporary)
            .expect("listed")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        assert!(left.is_empty(), "{spoil}: {left:?}");
    }
}
