//! Repositories that are there and cannot be read: nobody may take them for a project without one.

use super::*;
use kelvin_fixtures::text::lines_with;

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

#[test]
fn a_git_folder_that_leads_nowhere_is_no_project_without_a_baseline() {
    let damages: [fn(&Path); 7] = [
        |git| fs::remove_file(git.join("HEAD")).expect("removed"),
        |git| fs::remove_dir_all(git.join("objects")).expect("removed"),
        |git| {
            fs::remove_dir_all(git.join("objects")).expect("removed");
            fs::create_dir(git.join("objects")).expect("made");
        },
        |git| fs::write(git.join("refs/heads/main"), "nonsense").expect("written"),
        |git| fs::write(git.join("HEAD"), "nonsense").expect("written"),
        |git| {
            fs::remove_dir_all(git).expect("removed");
            fs::create_dir(git).expect("made");
        },
        |git| {
            fs::remove_dir_all(git).expect("removed");
            fs::write(git, "gitdir: /nowhere/.git/worktrees/one\n").expect("written");
        },
    ];
    for (at, damage) in damages.iter().enumerate() {
        let project = Project::new(GROUNDED);
        git(
            project.root(),
            &["init", "--quiet", "--initial-branch=main"],
        );
        commit(&project, "all");
        damage(&project.path(".git"));
        project.kelvin(&["gate"]).expect(3);
        let verdict = project.json("kelvin/gate.json")["verdict"].clone();
        assert_eq!(verdict, json!("baseline_unreachable"), "{at}");
        let said = project.kelvin(&["doctor"]).stdout;
        for wrong in ["git init", "no git repository here"] {
            assert!(!said.contains(wrong), "{at}: {said}");
        }
    }
}

#[test]
fn a_repository_without_a_commit_is_not_to_be_made_again() {
    let project = Project::new(GROUNDED);
    let advice = |project: &Project| project.kelvin(&["doctor"]).stdout;
    insta::assert_snapshot!(lines_with(&advice(&project), &["git init"]), @r#"                          git init && git add --all && git commit --message "Begin""#);
    git(project.root(), &["init", "--quiet"]);
    let said = advice(&project);
    insta::assert_snapshot!(lines_with(&said, &["git add --all"]), @r#"                          git add --all && git commit --message "Begin""#);
    assert!(!said.contains("git init"), "{said}");
}

#[test]
fn what_another_program_has_locked_is_read_all_the_same() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    for lock in ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"] {
        fs::write(project.path(&format!(".git/{lock}")), "").expect("written");
    }
    project.kelvin(&["gate", "--rerun"]).expect(3);
    let verdict = project.json("kelvin/gate.json")["verdict"].clone();
    assert_eq!(verdict, json!("regression"));
    let fingerprints = &project.json("kelvin/report.json")["run"]["fingerprints"];
    assert!(fingerprints["pipeline"].is_string(), "{fingerprints}");
}
