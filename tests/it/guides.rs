//! The guides begin with an empty folder: this does what they say there, line by line, and nothing else.

use std::fs;
use std::process::Command;

use crate::project::{Said, path_with_kelvin};

/// The section of a guide that begins with nothing: its files, and the commands after them.
fn section(page: &str) -> (Vec<(String, String)>, String) {
    let (_, section) = page
        .split_once("\n## From an empty folder\n")
        .expect("the guide has such a section");
    let section = section.split("\n## ").next().expect("its text");
    let mut files = Vec::new();
    let mut commands = String::new();
    let mut parts = section.split("```");
    let mut before = parts.next().expect("a text");
    while let (Some(block), Some(after)) = (parts.next(), parts.next()) {
        let (language, text) = block.split_once('\n').expect("a language");
        match language {
            "sh" => commands.push_str(text),
            _ => {
                let name = before.trim_end().trim_end_matches(':');
                let name = name.rsplit('`').nth(1).expect("a name before the block");
                files.push((name.to_owned(), text.to_owned()));
            }
        }
        before = after;
    }
    (files, commands)
}

/// Does what a guide says, in a folder whose name has a space, with this program first on the path.
fn follow(page: &str, names: &str) {
    let (files, commands) = section(page);
    assert!(files.len() >= 2, "{files:?}");
    let above = tempfile::tempdir().expect("a temporary folder");
    let folder = above.path().join("my first try");
    for (name, text) in &files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    let mut command = Command::new("bash");
    command.args(["-ec", &commands]).current_dir(&folder);
    // A home with nothing in it but who commits.
    let home = above.path().join("home");
    fs::create_dir(&home).expect("made");
    fs::write(
        home.join(".gitconfig"),
        "[user]\n\tname = A\n\temail = a@example.org\n",
    )
    .expect("written");
    command.env("PATH", path_with_kelvin()).env("HOME", &home);
    for given in ["GITHUB_ACTIONS", "CI", "GIT_CONFIG_GLOBAL"] {
        command.env_remove(given);
    }
    // The last command is the gate of the change for the worse; each one before it ends well.
    let said = Said::of(&mut command).expect(3);
    assert!(said.stdout.contains("regression"), "{}", said.stdout);
    assert!(said.stdout.contains(names), "{names}: {}", said.stdout);
}

#[test]
fn a_decision() {
    follow(
        include_str!("../../docs/decisions.md"),
        "claim-2: refuse → pay (expected refuse)",
    );
}

#[test]
fn a_search() {
    follow(
        include_str!("../../docs/retrieval.md"),
        "may-i-return-a-product-please: rank 1, now missed",
    );
}

#[test]
fn a_bot_whose_answers_are_known() {
    follow(include_str!("../../docs/grading.md"), "What is Rome?");
}

#[test]
fn an_agent() {
    follow(include_str!("../../docs/invariants.md"), "is_answered");
}

#[test]
fn an_evaluator_of_ones_own() {
    follow(
        include_str!("../../docs/evaluators.md"),
        "results.scores.pass",
    );
}
