//! Completions in the shells that they are for. A shell that this machine does not have is told.

use std::process::Command;

use crate::project::{CONSTANT, Project};

/// Whether a shell can be asked; where it cannot, the reason stands in the output of the test.
#[expect(clippy::print_stderr, reason = "`.ci/run` collects what was skipped")]
fn has(shell: &str) -> bool {
    let found = Command::new(shell).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: the completions of {shell} were not tried: it is not installed");
    }
    found
}

/// What a person types, and what the shell has to offer for it: all of it, or some of it and no other word.
const TYPED: &[(&str, &[&str])] = &[
    ("kelvin li", &["lint"]),
    ("kelvin check --re", &["--repeats", "--resume"]),
    ("kelvin gate veritas --l", &["--live-runs"]),
    ("kelvin baseline save --l", &["--local"]),
    ("kelvin import --ot", &["--otlp"]),
    // After a file, which is no command.
    ("kelvin lint kelvin.yaml --fo", &["--format"]),
    ("kelvin check --config kelvin.yaml --fore", &["--forecast"]),
];

/// The same for words that are values, which elvish is offered none of.
const VALUES: &[(&str, &[&str])] = &[
    ("kelvin check --format m", &["markdown"]),
    ("kelvin completions z", &["zsh"]),
];

/// Every line, and what is offered for it.
fn each(lines: &[&[(&str, &[&str])]], offered: impl Fn(&str) -> Vec<String>) {
    for (line, wanted) in lines.iter().copied().flatten() {
        let mut found = offered(line);
        found.sort();
        found.dedup();
        assert_eq!(found, *wanted, "{line}");
    }
}

/// A project with the completions of a shell in a file.
fn project(shell: &str, file: &str) -> Project {
    let project = Project::in_folder("it's my project", CONSTANT);
    let said = project.kelvin(&["completions", shell]).expect(0);
    project.write(file, &said.stdout);
    project
}

fn lines(project: &Project, program: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(project.root())
        .env("HOME", project.root())
        // Elvish leaves a folder with the log of its daemon behind.
        .env("TMPDIR", project.root())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .expect("the shell starts");
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {err}");
    let text = String::from_utf8_lossy(&out).into_owned();
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_real_bash_completes_commands_flags_and_values() {
    let project = project("bash", "completions.bash");
    each(&[TYPED, VALUES], |line| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let bash = format!(
            "source ./completions.bash; COMP_WORDS=({}); COMP_CWORD={}; \
             complete -p kelvin >&2 || exit 9; \
             _kelvin kelvin \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        lines(&project, "bash", &["--norc", "-c", &bash])
    });
}

#[test]
fn a_real_fish_completes_commands_flags_and_values() {
    if !has("fish") {
        return;
    }
    let project = project("fish", "kelvin.fish");
    each(&[TYPED, VALUES], |line| {
        let fish = format!("source kelvin.fish; complete -C '{line}'");
        let found = lines(&project, "fish", &["--no-config", "-c", &fish]);
        let words = found.iter().map(|line| line.split('\t').next());
        words.flatten().map(str::to_owned).collect()
    });
}

/// What a completion of zsh adds shows only in a terminal, so a second zsh has one, and prints each word.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner 'PROMPT=; RPROMPT=; fpath=("$PWD/functions" $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w inner 'compadd () {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
  typeset -a __hits; builtin compadd -A __hits "$@"
  [[ -n $__hits ]] && print -rl -- "hit:"$^__hits; builtin compadd "$@"
}'
zpty -w inner 'ended () { print -r -- "the-""end" }; comppostfuncs=(ended); bindkey "^I" complete-word'
zpty -w inner 'setopt no_list_beep; print -r -- "rea""dy"'
while zpty -r inner line; do [[ $line == *ready* ]] && break; done
zpty -w -n inner "$1"$'\t'
while zpty -r inner line; do print -r -- "$line"; [[ $line == *the-end* ]] && break; done |
  tr -d '\r' | sed -n 's/.*hit://p'
zpty -d inner
"#;

#[test]
fn a_real_zsh_completes_commands_flags_and_values() {
    if !has("zsh") {
        return;
    }
    let project = project("zsh", "functions/_kelvin");
    project.write("ask.zsh", ZSH);
    each(&[TYPED, VALUES], |line| {
        lines(&project, "zsh", &["-f", "ask.zsh", line])
    });
}

/// Elvish has completions in a terminal alone, which `script` gives it. It takes those that begin as what was typed
/// itself, from all that are offered.
#[test]
fn a_real_elvish_completes_commands_and_flags() {
    if !has("elvish") || !has("script") {
        return;
    }
    let project = project("elvish", "kelvin.elv");
    each(&[TYPED], |line| {
        let ask = format!(
            "eval (slurp < kelvin.elv)\ntry {{ $edit:completion:arg-completer[kelvin] {line} | each {{|c| echo \
             $c[stem] }} > offered }} catch e {{ echo (to-string $e[reason]) > offered }}\nexit\n"
        );
        project.write("rc.elv", &ask);
        lines(
            &project,
            "script",
            &["-qec", "elvish -rc rc.elv", "/dev/null"],
        );
        let typed = line.rsplit(' ').next().unwrap_or_default();
        let offered = project.read("offered");
        let found = offered.lines().filter(|word| word.starts_with(typed));
        found.map(str::to_owned).collect()
    });
}
