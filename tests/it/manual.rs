//! What is said without running anything: `kelvin lint`, completions, man pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::project::{CONSTANT, Project};

#[test]
fn lint_says_that_nothing_is_wrong_and_runs_nothing() {
    let project = Project::new("touch ran; exit 1");
    let said = project.kelvin(&["lint"]).expect(0);
    assert!(
        said.stdout
            .contains("kelvin.yaml: nothing is wrong with it and "),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.ends_with("next: kelvin check\n"),
        "{}",
        said.stdout
    );
    assert!(!project.path("ran").exists() && !project.path("kelvin").exists());
}

#[test]
fn lint_tells_everything_that_is_wrong_with_its_place() {
    let project = Project::new(CONSTANT);
    let config = project.read("kelvin.yaml");
    project.write(
        "cases/open.md",
        "# A\n\n## Rule\n\nx\n\n```\nnever closed\n",
    );
    project.write("cases/named.md", "# B\n\n##\n\nx\n");
    let said = project.kelvin(&["lint"]).expect(1);
    for part in [
        "cases/open.md:7: the code fence",
        "cases/named.md:3: this level-2 heading has no text",
    ] {
        assert!(said.stdout.contains(part), "{part} in {}", said.stdout);
    }
    project.write("kelvin.yaml", &format!("{config}sede: 1\n"));
    project.write("other.yaml", "run: [\n");
    let said = project
        .kelvin(&["lint", "kelvin.yaml", "other.yaml"])
        .expect(1);
    for part in [
        "sede",
        "other.yaml:",
        "kelvin.yaml: cannot be run",
        "next, when that is mended: kelvin lint other.yaml",
    ] {
        assert!(said.stdout.contains(part), "{part} in {}", said.stdout);
    }
    let said = project.kelvin(&["lint", "nowhere.yaml"]).expect(1);
    assert!(said.stdout.contains("nowhere.yaml"), "{}", said.stdout);
}

/// The hook runs what it says it runs, and asks for the files whose change it wants to see.
#[test]
fn the_hook_for_pre_commit_is_a_command_that_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hooks = fs::read_to_string(root.join(".pre-commit-hooks.yaml")).expect("it is there");
    let entry = hooks
        .lines()
        .find_map(|line| line.trim().strip_prefix("entry: kelvin "))
        .expect("it runs this program");
    let words: Vec<&str> = entry.split(' ').collect();
    Project::new(CONSTANT).kelvin(&words).expect(0);
    assert!(
        hooks.contains("language: system") && hooks.contains("pass_filenames: false"),
        "{hooks}"
    );
}

#[test]
fn a_real_bash_completes_commands_flags_and_values() {
    let project = Project::new(CONSTANT);
    let script = project.kelvin(&["completions", "bash"]).expect(0).stdout;
    project.write("completions.bash", &script);
    let complete = |line: &str| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let bash = format!(
            "source ./completions.bash; COMP_WORDS=({}); COMP_CWORD={}; \
             complete -p kelvin >&2 || exit 9; \
             _kelvin kelvin \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        let output = Command::new("bash")
            .args(["--norc", "-c", &bash])
            .current_dir(project.path("."))
            .output()
            .expect("bash starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(complete("kelvin li"), "lint\n");
    let flags = complete("kelvin check --re");
    assert!(
        flags.contains("--repeats") && flags.contains("--resume"),
        "{flags}"
    );
    assert_eq!(complete("kelvin check --format m"), "markdown\n");
}

#[test]
fn every_shell_has_completions_and_every_command_a_man_page() {
    let project = Project::new(CONSTANT);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = project.kelvin(&["completions", shell]).expect(0);
        assert!(
            said.stdout.contains("kelvin") && said.stdout.contains("lint"),
            "{shell}"
        );
    }
    project.kelvin(&["completions", "tcsh"]).expect(1);
    project.kelvin(&["man", "pages/man1"]).expect(0);
    for page in [
        "kelvin.1",
        "kelvin-check.1",
        "kelvin-import-cases.1",
        "kelvin-lint.1",
    ] {
        let text = project.read(&format!("pages/man1/{page}"));
        assert!(
            text.contains(".SH SYNOPSIS") || text.contains(".SH NAME"),
            "{page}: {text}"
        );
    }
    let said = project.kelvin(&["man", "kelvin.yaml/x"]).expect(1);
    assert!(
        said.stderr.contains("failed to write man pages to"),
        "{}",
        said.stderr
    );
}
