use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

/// The words of a command that needs no shell, each with its placeholders as they were.
fn direct(run: &str) -> Option<Vec<String>> {
    let here = Paths {
        input: Path::new("{input}"),
        output: Path::new("{output}"),
        root: Path::new("{root}"),
        workspace: Some(Path::new("{workspace}")),
    };
    match CommandTemplate::parse(run).expect("accepted") {
        CommandTemplate::Direct(words) => Some(
            words
                .iter()
                .map(|word| word.fill(&here).into_string().expect("text"))
                .collect(),
        ),
        CommandTemplate::Script(_) => None,
    }
}

#[test]
fn a_command_without_shell_syntax_is_run_directly() {
    for (run, words) in [
        ("./p {input} {output}", vec!["./p", "{input}", "{output}"]),
        (
            "python3 -u 'my p.py' --in={input} \"{output}\"\n",
            vec!["python3", "-u", "my p.py", "--in={input}", "{output}"],
        ),
        (
            "jq -n --arg a {input} {a:1} {output}",
            vec!["jq", "-n", "--arg", "a", "{input}", "{a:1}", "{output}"],
        ),
        (
            "p a\\ b {input}:{output}",
            vec!["p", "a b", "{input}:{output}"],
        ),
        (
            "p a:b x=1 {input} {output}",
            vec!["p", "a:b", "x=1", "{input}", "{output}"],
        ),
    ] {
        assert_eq!(
            direct(run),
            Some(words.into_iter().map(str::to_owned).collect()),
            "{run}"
        );
    }
}

#[test]
fn a_command_with_shell_syntax_goes_through_a_shell() {
    for run in [
        "p {input} > {output}",
        "p {input} {output} && q",
        "A=1 p {input} {output}",
        "cd x; p {input} {output}",
        "cd {input} {output}",
        "p {input} {output} ${HOME}",
        "p {input} {output} \"$HOME\"",
        "p {input} {output} *.txt",
        "p {input} {output} ~/x",
        "p {input} {output} # comment",
        "p {input} {output} `date`",
        "p {input}\nq {output}",
        "{ p {input} {output}; }",
        "! p {input} {output}",
        "exec p {input} {output}",
        // Between quotes as well: the shell hands these words on as they are.
        "awk '{print $1 > \"x\"}' {input} {output}",
        "p a#b a~ {input} {output}",
    ] {
        assert_eq!(direct(run), None, "{run}");
    }
}

/// Every way to write a placeholder, run by real shells with hostile paths.
#[test]
fn kel_39_p12_p13_paths_survive_every_place_in_a_script() {
    let commands = [
        "true && cat {input} > {output}",
        "true && cat \"{input}\" > \"{output}\"",
        "true && cat '{input}' > '{output}'",
        "f() { cat \"$1\" > \"$2\"; }; f {input} {output}",
        "f() { cat {input} > {output}; }; f x y",
        "printf %s \"$(cat {input})\" > {output}",
        "printf %s \"$(cat \"{input}\")\" > \"{output}\"",
        "printf %s `cat {input}` > {output}",
        "cat < {input} | cat > {output}",
        "A={input}; cat \"$A\" > {output}",
        "cat \"${NOTHING:-{input}}\" > {output}",
        "if [ -f {input} ]; then cat {input} > {output}; fi",
        "(cat {input}) > {output} # it's {input}",
        "x=$((1 << 2)); cat {input} > {output}",
        "sh -c 'cat {input} > {output}'",
        "sh -ec 'cat \"{input}\" > \"{output}\"' && true",
        "sh -c 'cat \"$1\" > \"$2\"' sh {input} {output} && true",
        "sh -c \"cat {input} > {output}\"",
        "eval \"cat '{input}' > {output}\"",
        "cat <<'END' > {output}.name; cat {input} > {output}\n{input}\nEND\n",
        "cat <<END > {output}.name; cat {input} > {output}\n{input}\nEND\n",
        "awk '{ printf \"%s\", $0 }' {input} > {output}",
        "case x in x) cat {input} > {output};; esac",
        "(\n\tcat <<-END >/dev/null\n\t{input}\n\tEND\n\tcat {input}\n) > {output}",
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "plain",
        "a b'c\"d",
        "-x $(touch pwned) `touch pwned`",
        "new\nline;touch pwned",
        "*?[a]~#",
    ] {
        let inside = folder.path().join(name);
        fs::create_dir(&inside).expect("made");
        let here = Paths {
            input: &inside.join("in put.md"),
            output: &inside.join("out $HOME.json"),
            root: &inside,
            workspace: None,
        };
        fs::write(here.input, "answer").expect("written");
        let names = PlainPaths::default();
        for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
            if !Path::new(shell).exists() {
                continue;
            }
            for run in commands {
                let CommandTemplate::Script(script) =
                    CommandTemplate::parse(run).expect("accepted")
                else {
                    panic!("`{run}` should need a shell");
                };
                let script = script.fill_plainly(&here, &names).expect("named");
                let done = Command::new(shell)
                    .args([OsStr::new("-c"), &script])
                    .current_dir(folder.path())
                    .output()
                    .expect("the shell starts");
                let answer = fs::read_to_string(here.output).unwrap_or_default();
                assert_eq!(answer, "answer", "{shell}: {run}\n{script:?}\n{done:?}");
                fs::remove_file(here.output).expect("removed");
                assert!(!folder.path().join("pwned").exists(), "{shell}: {run}");
            }
        }
    }
}

#[test]
fn braces_of_others_are_left_alone_and_plain_paths_stand_as_they_are() {
    let run = "awk '{print}' {input} | jq '{a: .b}' > {output}; echo ${HOME} {x}";
    let CommandTemplate::Script(script) = CommandTemplate::parse(run).expect("accepted") else {
        panic!("it has pipes");
    };
    let here = Paths {
        input: Path::new("/a/b-1/input.md"),
        output: Path::new("/a/b-1/output.json"),
        root: Path::new("/a"),
        workspace: None,
    };
    assert_eq!(
        script
            .fill_plainly(&here, &PlainPaths::default())
            .expect("named"),
        "awk '{print}' /a/b-1/input.md | jq '{a: .b}' > /a/b-1/output.json; echo ${HOME} {x}"
    );
}

#[test]
fn one_link_does_for_all_calls_and_goes_away_with_the_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("My Projects");
    fs::create_dir_all(odd.join("calls/1")).expect("made");
    fs::create_dir_all(odd.join("calls/2")).expect("made");
    let names = PlainPaths::default();
    let name = |path: &str| names.name(&odd.join(path)).expect("named");
    let (first, second) = (name("calls/1/output.json"), name("calls/2/output.json"));
    assert!(!first.display().to_string().contains(' '));
    assert_eq!(first.ancestors().nth(3), second.ancestors().nth(3));
    fs::write(&first, "1").expect("written");
    assert_eq!(
        fs::read(odd.join("calls/1/output.json")).ok(),
        Some(b"1".to_vec())
    );
    drop(names);
    assert!(!first.exists() && odd.join("calls/1/output.json").exists());
}

#[test]
fn a_command_that_no_path_can_be_put_into_is_refused() {
    let mut told = Vec::new();
    for run in [
        "p \\{input} {output}",
        "p \"\\{input}\" {output}",
        "p \"{input} {output}",
        "p '{input} {output}",
        "p {input} > {output} 'x",
    ] {
        let refused = CommandTemplate::parse(run).expect_err(run).to_string();
        told.push(refused.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    `run` has a backslash before `{input}`
      help: write `{input}` without the backslash
    `run` has a backslash before `{input}`
      help: write `{input}` without the backslash
    the quotes of `run` do not match
      help: every quote has to be closed; write `\'` outside of quotes for an apostrophe
    the quotes of `run` do not match
      help: every quote has to be closed; write `\'` outside of quotes for an apostrophe
    the quotes of `run` do not match
      help: every quote has to be closed; write `\'` outside of quotes for an apostrophe
    ");
    // Here an apostrophe may stand alone.
    for run in [
        "p {input} > {output} # it's fine",
        "cat <<END > {output}\nit's {input}\nEND",
        "p $'it\\'s' {input} > {output}",
    ] {
        CommandTemplate::parse(run).expect("accepted");
    }
}
