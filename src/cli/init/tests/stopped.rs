//! Stopping: what was answered is told as a command.

use kelvin_fixtures::text::redacted;
use std::process::Command;

use super::ScriptedAnswer::{Stop, Text, Yes};
use super::{Script, project, request, run};
use kelvin_base::exit::Exit;

#[test]
fn what_was_answered_before_a_stop_is_told_as_a_command_that_can_be_pasted() {
    let folder = project();
    let tricky = "sh -c 'echo \"it'\\''s  $HOME\" > {output}' {input}";
    let request = super::Request {
        file: folder.path().join("my config.yaml"),
        ..request(folder.path())
    };
    let script = Script::of(&[
        Text(tricky),
        Text("./cases"),
        Yes(false),
        Text("/a/b"),
        Stop,
    ]);
    let (ended, said) = run(&request, Some(&script));
    assert_eq!(ended.expect("it is no error"), Exit::Interrupted);
    let line = said
        .lines()
        .find_map(|line| line.split_once(": kelvin "))
        .map(|(_, command)| command)
        .expect("it is told");
    let echoed = Command::new("sh")
        .args(["-c", &format!("printf '%s\\n' {line}")])
        .output()
        .expect("sh starts");
    let words = String::from_utf8_lossy(&echoed.stdout).into_owned();
    let words: Vec<&str> = words.lines().collect();
    assert_eq!(words[0], "init");
    assert!(words.contains(&&*format!("--run={tricky}")), "{words:?}");
    assert!(words.contains(&"--cases=./cases"), "{words:?}");
    assert!(words.contains(&"--decision-field=/a/b"), "{words:?}");
    assert!(words.contains(&"--no-probe"), "{words:?}");
    insta::assert_snapshot!(redacted(words[1]), @"--config=[TEMP]/my config.yaml");
    // Where nothing was answered, there is nothing to keep.
    let (_, said) = run(&request, Some(&Script::of(&[Stop])));
    assert!(!said.contains(": kelvin "), "{said}");
}
