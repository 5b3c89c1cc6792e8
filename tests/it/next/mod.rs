//! The last line of an answer is a command. Each is pasted into a shell, in a folder whose name a shell would take
//! apart, and has to do what the line is there for.

mod judges;
mod reports;
mod runs;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::project::{GROUNDED, Project, Said};
use crate::repository::{commit, git};

/// A folder with a space and a quote in its name.
const FOLDER: &str = "it's my project";

fn project(script: &str) -> Project {
    Project::in_folder(FOLDER, script)
}

/// The same in a repository with a commit.
fn committed(script: &str) -> Project {
    let project = project(script);
    project.write(".gitignore", "/kelvin/\n/the report/\n/.kelvin/\n/calls\n");
    git(
        project.root(),
        &["init", "--quiet", "--initial-branch=main"],
    );
    commit(&project, "base");
    project
}

/// Does what an answer says, which has to go well.
#[track_caller]
fn follow(project: &Project, said: &Said) -> Said {
    project.paste(said.next()).expect(0)
}

/// A report that is worse, beside one that is better: two runs of the history.
fn worse(script: &str, repeats: u32) -> Project {
    let project = project(GROUNDED);
    let check = ["check".to_owned(), format!("--repeats={repeats}")];
    let check = check.each_ref().map(String::as_str);
    project.kelvin(&check).expect(0);
    std::fs::rename(project.path("kelvin"), project.path("the base")).expect("renamed");
    project.write("pipeline.sh", script);
    project.kelvin(&check).expect(0);
    project
}

/// `kelvin view` serves until it is stopped, so its first line is read.
#[track_caller]
fn views(project: &Project, said: &Said, folder: &str) {
    let line = format!("exec {} --port=0", said.next());
    let mut child = project
        .pasted(&line)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut first = String::new();
    let out = child.stdout.take().expect("it is piped");
    BufReader::new(out).read_line(&mut first).expect("read");
    child.kill().expect("it runs");
    let _ = child.wait();
    assert!(
        first.contains(folder) && first.contains("http://127.0.0.1:"),
        "{line}: {first}"
    );
}
