//! Repositories that are there and cannot be read: nobody may take them for a project without one.

use super::*;

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
