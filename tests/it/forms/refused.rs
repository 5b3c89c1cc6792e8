//! What cannot be read is refused by its name, and nothing that a change writes makes it a pass.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::repository::save;

/// What must never be said of a repository that is there.
const WRONG: [&str; 2] = ["git init", "no git repository"];

/// A change that makes everything worse, and whose base has a report.
fn worse() -> Project {
    let project = project(&[], GROUNDED).expect("every git makes it");
    save(&project);
    branch(&project, "worse", CONSTANT);
    project
}

/// Demands that the reason is told by every command, and that none takes the change for good.
#[track_caller]
fn refused(project: &Project, words: &[&str]) {
    let said = project.kelvin(&["gate"]).expect(3);
    assert_eq!(
        judgement(project.root())["verdict"],
        json!("baseline_unreachable")
    );
    let doctor = project.kelvin(&["doctor"]);
    let saved = project.kelvin(&["baseline", "save"]).expect(1);
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
    project.kelvin(&["check"]).expect(0);
    let notices = project.json("kelvin/report.json")["notices"].to_string();
    let cache = project.notices("cache");
    assert!(!cache.is_empty(), "{notices}");
    for words in words {
        assert!(notices.contains(words), "{words}: {notices}");
    }
    project.config("");
}

#[test]
fn a_reftable_is_refused_by_its_name_and_with_what_to_do() {
    let Some(project) = project(&[REFTABLE], GROUNDED) else {
        return;
    };
    branch(&project, "worse", CONSTANT);
    refused(
        &project,
        &["reftable", "`git refs migrate --ref-format=files`"],
    );
}

#[test]
fn a_git_that_the_change_brings_along_is_not_started() {
    let project = worse();
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
        assert!(!project.path("../started").exists(), "`{first}`");
    }
}

#[test]
fn a_pipeline_that_moves_references_while_it_runs_gets_the_verdict_that_it_gets_anywhere() {
    let moves = [
        "git update-ref refs/remotes/origin/main HEAD",
        "git update-ref -d refs/remotes/origin/kelvin-reports",
        "git update-ref -d refs/remotes/origin/main; git update-ref refs/heads/main HEAD",
    ];
    for moved in moves {
        let project = worse();
        project.write(
            "pipeline.sh",
            &format!("({moved}) 2> /dev/null\n{CONSTANT}"),
        );
        commit(&project, "moves");
        project.kelvin(&["gate", "--rerun"]).expect(3);
        let found = judgement(project.root());
        assert_eq!(found["verdict"], json!("regression"), "{moved}: {found}");
    }
}
