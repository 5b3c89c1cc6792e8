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
    match Template::parse(run).expect("accepted") {
        Template::Direct(words) => Some(
            words
                .iter()
                .map(|word| word.fill(&here).into_string().expect("text"))
                .collect(),
        ),
        Template::Script(_) => None,
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
            "awk '{print $1 > \"x\"}' {input} {output}",
            vec!["awk", "{print $1 > \"x\"}", "{input}", "{output}"],
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
            "p a#b a~ x=1 {input} {output}",
            vec!["p", "a#b", "a~", "x=1", "{input}", "{output}"],
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
        for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
            if !Path::new(shell).exists() {
                continue;
            }
            for run in commands {
                let Template::Script(script) = Template::parse(run).expect("accepted") else {
                    panic!("`{run}` should need a shell");
                };
                let done = Command::new(shell)
                    .args(["-c", &script])
                    .envs(Template::environment(&here))
                    .current_dir(folder.path())
                    .output()
                    .expect("the shell starts");
                let answer = fs::read_to_string(here.output).unwrap_or_default();
                assert_eq!(answer, "answer", "{shell}: {run}\n{script}\n{done:?}");
                fs::remove_file(here.output).expect("removed");
                assert!(!folder.path().join("pwned").exists(), "{shell}: {run}");
            }
        }
    }
}

#[test]
fn braces_of_others_are_left_alone() {
    let run = "awk '{print}' {input} | jq '{a: .b}' > {output}; echo ${HOME} {x}";
    let Template::Script(script) = Template::parse(run).expect("accepted") else {
        panic!("it has pipes");
    };
    assert_eq!(
        script,
        "awk '{print}' \"${KELVIN_INPUT}\" | jq '{a: .b}' > \"${KELVIN_OUTPUT}\"; echo ${HOME} {x}"
    );
}

#[test]
fn a_placeholder_where_no_path_can_stand_is_refused() {
    for (run, words) in [
        ("p \\{input} {output}", "backslash"),
        ("p \"\\{input}\" {output}", "backslash"),
        ("p $'{input}' {output}", "$'...'"),
        ("bash -c \"p {input}\" > {output}", "single quotes"),
        ("cat <<'END' > {output}\n{input}\nEND", "here-document"),
        ("p \"{input} {output}", "do not match"),
        ("p '{input} {output}", "do not match"),
    ] {
        let refused = Template::parse(run).expect_err(run).to_string();
        assert!(refused.contains(words), "{run}: {refused}");
    }
}
