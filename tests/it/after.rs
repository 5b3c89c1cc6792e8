use std::process::Command;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, commit, git, pushed};

/// What follows a mark on a line of its own.
fn line<'a>(said: &'a Said, mark: &str) -> &'a str {
    let line = said.stdout.lines().find_map(|line| line.strip_prefix(mark));
    line.unwrap_or_else(|| panic!("no `{mark}` in {}", said.stdout))
}

#[test]
fn the_first_failure_is_shown_whole_and_the_call_can_be_made_by_hand() {
    const CRASHING: &str = "case $1 in *cedar*) for n in 1 2 3 4 5; do echo \"line $n of the reason\" >&2; done; exit 7;; esac\n";
    for folder in ["project", "my project's folder"] {
        let project = Project::in_folder(folder, &format!("{CRASHING}{GROUNDED}"));
        let said = project.kelvin(&["check"]).expect(0);
        assert!(
            said.stdout.contains("The first failure, cedar, baseline: "),
            "{}",
            said.stdout
        );
        for number in 1..=5 {
            assert!(
                said.stdout
                    .contains(&format!("\n  line {number} of the reason\n")),
                "{}",
                said.stdout
            );
        }
        let by_hand = line(&said, "by hand: ");
        let made = Command::new("sh")
            .args(["-c", by_hand])
            .current_dir(project.root())
            .output();
        let made = made.expect("a shell");
        assert_eq!(made.status.code(), Some(7), "{by_hand}");
        let printed = String::from_utf8_lossy(&made.stderr);
        assert!(printed.contains("line 5 of the reason"), "{printed}");
        // From elsewhere it begins with the way there.
        let config = project.path("kelvin.yaml").display().to_string();
        let mut elsewhere = project.command(&["check", "--config", &config]);
        let said = elsewhere.current_dir("/").output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let by_hand = said.lines().find_map(|line| line.strip_prefix("by hand: "));
        let made = Command::new("sh")
            .args(["-c", by_hand.expect("a command")])
            .current_dir("/")
            .output();
        assert_eq!(made.expect("a shell").status.code(), Some(7), "{said}");
    }
}

#[test]
fn a_check_ends_with_a_command_that_fits_and_can_be_pasted() {
    // The words after the name of the program, run as they stand there.
    let paste = |project: &Project, said: &Said| -> Said {
        let next = line(said, "next: ");
        let words: Vec<&str> = next.split(' ').skip(1).collect();
        project.kelvin(&words)
    };
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin baseline save");
    let said = paste(&project, &said).expect(0);
    assert_eq!(
        line(&said, "next, on a branch with a change: "),
        "kelvin gate"
    );
    git(project.root(), &["checkout", "--quiet", "-b", "change"]);
    project.kelvin(&["gate"]).expect(0);

    // Without a remote there is nowhere else to keep it.
    let project = Project::new(GROUNDED);
    project.write(".gitignore", "/kelvin/\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin baseline save --local");
    paste(&project, &said).expect(0);

    let project = Project::new(GROUNDED);
    let said = project.check();
    assert_eq!(line(&said, "next: "), "kelvin view");
    let said = project.kelvin(&["check", "--dry-run"]).expect(0);
    assert_eq!(line(&said, "next: "), "kelvin check");
    paste(&project, &said).expect(0);
    std::fs::rename(project.path("kelvin.yaml"), project.path("other.yaml")).expect("renamed");
    let said = project
        .kelvin(&["check", "--dry-run", "--config=other.yaml"])
        .expect(0);
    assert_eq!(line(&said, "next: "), "kelvin check --config=other.yaml");
    paste(&project, &said).expect(0);

    let project = Project::new("echo no such model >&2; exit 3");
    let said = project.kelvin(&["check"]).expect(2);
    assert_eq!(line(&said, "next: "), "kelvin doctor");
    // What is missing is said; the command itself is right.
    assert!(paste(&project, &said).stdout.contains("next"));

    // A verdict says by itself what to do.
    let project = Project::new(GROUNDED);
    project.check();
    std::fs::copy(
        project.path("kelvin/report.json"),
        project.path("base.json"),
    )
    .expect("copied");
    project.write("pipeline.sh", CONSTANT);
    let said = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    assert!(
        !said.stdout.contains("\nnext: kelvin view"),
        "{}",
        said.stdout
    );
}
