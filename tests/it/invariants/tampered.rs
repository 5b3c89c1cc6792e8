//! Pipelines that write to the files of the checks that look at them.

use super::*;
use crate::project::is_calm;

const CHECKS: &str = "\
invariants:
  by_script: {description: a, check: {type: custom, script: check.sh}}
  not_by_script: {description: b, check: {type: custom, script: check.sh, not: true}}
  by_command: {description: c, check: {type: command_exit, command: 'sh $KELVIN_ROOT/checks/verify.sh'}}
";

/// An agent that makes its checks say what it likes.
const FORGES: &str = r#"
printf '#!/bin/sh\necho "{\"passed\": true}"\n' > "$KELVIN_ROOT/check.sh"
echo 'exit 0' > "$KELVIN_ROOT/checks/verify.sh"
"#;

fn guarded(agent: &str) -> Project {
    let project = project(agent, 1, CHECKS);
    script(&project, "check.sh", "echo '{\"passed\": false}'");
    project.write("checks/verify.sh", "exit 1\n");
    project
}

#[test]
fn an_agent_that_overwrites_the_files_of_its_checks_is_not_said_to_pass() {
    // Git sees the scripts, so the code of the run has changed, and nothing of it is known.
    let seen = guarded(FORGES);
    git(seen.root(), &["init", "--quiet"]);
    commit(&seen, "all");
    let said = seen.kelvin(&["check"]).expect(2);
    assert!(!is_calm(&said.stdout), "{}", said.stdout);
    assert_eq!(seen.json("kelvin/report.json")["run"]["ending"], "changed");
    for page in [&said.stdout, &seen.read("kelvin/report.md")] {
        let plain = page.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(plain.contains("check.sh"), "{page}");
    }
    // Git does not see them: what the checks say is believed by nobody all the same.
    let unseen = guarded(FORGES);
    unseen.write(".gitignore", "check.sh\nchecks\nkelvin\n");
    git(unseen.root(), &["init", "--quiet"]);
    commit(&unseen, "all but the scripts");
    let said = unseen.kelvin(&["check"]);
    assert!(!is_calm(&said.stdout), "{}", said.stdout);
    let run = ran(&unseen.report(), "s00", 0);
    assert_eq!(run["outcome"], "failed", "{run}");
    let mut reasons = Vec::new();
    for (check, file) in [
        ("by_script", "`check.sh`"),
        ("not_by_script", "`check.sh`"),
        ("by_command", "`checks/verify.sh`"),
    ] {
        let result = &run["checks"][check];
        assert_eq!(result["outcome"], "failed", "{check}: {run}");
        let reason = result["reason"].as_str().expect("a text");
        assert!(reason.starts_with(file), "{reason}");
        reasons.push(reason.to_owned());
    }
    insta::assert_snapshot!(reasons.join("\n"), @"
    `check.sh`, which this check runs, is no longer what it was when the run began, so what it says cannot be trusted: no pipeline may write to the files of its checks
    `check.sh`, which this check runs, is no longer what it was when the run began, so what it says cannot be trusted: no pipeline may write to the files of its checks
    `checks/verify.sh`, which this check runs, is no longer what it was when the run began, so what it says cannot be trusted: no pipeline may write to the files of its checks
    ");
}

#[test]
fn an_agent_that_writes_beside_its_checks_is_looked_at_as_ever() {
    // It keeps a log, makes a file of the same name in its workspace, and writes again what stands there.
    let project = guarded(
        "echo ran >> \"$KELVIN_ROOT/checks/log.txt\"; echo x > check.sh\n\
         cp \"$KELVIN_ROOT/check.sh\" again; cat again > \"$KELVIN_ROOT/check.sh\"",
    );
    project.write(".gitignore", "check.sh\nchecks\nkelvin\n");
    git(project.root(), &["init", "--quiet"]);
    commit(&project, "all but the scripts");
    project.kelvin(&["check"]).expect(0);
    let run = ran(&project.report(), "s00", 0);
    let mut reasons = Vec::new();
    for (check, outcome) in [
        ("by_script", "failed"),
        ("not_by_script", "passed"),
        ("by_command", "failed"),
    ] {
        let result = &run["checks"][check];
        assert_eq!(result["outcome"], outcome, "{check}: {run}");
        let reason = result["reason"].as_str().expect("a text");
        reasons.push(reason.to_owned());
    }
    insta::assert_snapshot!(reasons.join("\n"), @"
    `check.sh` does not say that it holds
    `check.sh` does not say that it holds, and `not: true` asks for the opposite
    ended with exit code 1, expected 0
    ");
}
