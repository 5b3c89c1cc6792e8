//! An answer that cannot be printed is no success, in any format of any command.

use std::fs::File;

use crate::project::{CONSTANT, Project};

#[test]
fn an_answer_to_a_full_disk_is_a_failure() {
    let project = Project::new(CONSTANT);
    project.check();
    for (arguments, code) in [
        (&["check"][..], 2),
        (&["check", "--format", "json"], 2),
        (&["check", "--format", "markdown"], 2),
        (&["check", "--list"], 2),
        (&["check", "--list", "--format", "json"], 2),
        (&["gate", "--format", "json"], 2),
        (&["gate"], 2),
        (&["schema"], 1),
        (&["doctor"], 1),
    ] {
        let full = File::options().write(true).open("/dev/full");
        let output = project
            .command(arguments)
            .stdout(full.expect("every Linux has it"))
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains("No space left"), "{arguments:?}: {said}");
    }
}
