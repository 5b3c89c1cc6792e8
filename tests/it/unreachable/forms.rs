//! Repositories that are there and cannot be read: nobody may take them for a project without one.

use super::*;

/// A form of repository, with the words that name it.
const FORMS: [(&str, &str); 2] = [
    ("--ref-format=reftable", "git refs migrate"),
    ("--object-format=sha256", "SHA-256"),
];

/// A project in such a repository; none where this git does not make one.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn project_in(form: &str) -> Option<Project> {
    let project = Project::new(GROUNDED);
    let made = std::process::Command::new("git")
        .args(["init", "--quiet", "--initial-branch=main", form])
        .current_dir(project.root())
        .status();
    if !made.is_ok_and(|ended| ended.success()) {
        eprintln!("SKIPPED: this git takes no `{form}`");
        return None;
    }
    commit(&project, "all");
    Some(project)
}

#[test]
fn a_repository_in_a_form_that_cannot_be_read_is_no_project_without_a_baseline() {
    for (form, words) in FORMS {
        let Some(project) = project_in(form) else {
            continue;
        };
        project.kelvin(&["check"]).expect(0);
        let said = project.kelvin(&["gate"]).expect(3);
        let verdict = project.json("kelvin/gate.json")["verdict"].clone();
        assert_eq!(verdict, json!("baseline_unreachable"), "{form}");
        let seen = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(seen.contains(words), "{seen}");
        let said = project.kelvin(&["baseline", "save"]).expect(1);
        assert!(said.stderr.contains(words), "{}", said.stderr);
        // Nobody is told to make a repository within one.
        let said = project.kelvin(&["doctor"]);
        assert!(said.stdout.contains(words), "{}", said.stdout);
        for wrong in ["git init", "no git repository"] {
            assert!(!said.stdout.contains(wrong), "{}", said.stdout);
        }
    }
}

#[test]
fn a_damaged_repository_is_no_project_without_a_baseline() {
    let project = Project::new(GROUNDED);
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "all");
    fs::write(project.path(".git/config"), "[core\nbroken").expect("written");
    project.kelvin(&["gate"]).expect(3);
    let verdict = project.json("kelvin/gate.json")["verdict"].clone();
    assert_eq!(verdict, json!("baseline_unreachable"));
}
