//! Questions answered by a script, in a temporary folder.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::template::{Answers, configuration};
use super::*;
use crate::config::{Config, DecisionField};

/// One answer of a person.
#[derive(Clone, Debug)]
enum Answer {
    Text(&'static str),
    One(usize),
    Several(&'static [usize]),
    Yes(bool),
    Stop,
}

use Answer::{One, Several, Stop, Text, Yes};

/// A person who answers from a list, and notes what was said against an answer.
struct Script {
    answers: RefCell<VecDeque<Answer>>,
    complaints: RefCell<Vec<String>>,
}

impl Script {
    fn of(answers: &[Answer]) -> Self {
        Self {
            answers: RefCell::new(answers.iter().cloned().collect()),
            complaints: RefCell::default(),
        }
    }

    fn next(&self, question: &str) -> anyhow::Result<Answer> {
        match self.answers.borrow_mut().pop_front() {
            Some(Stop) => Err(Stopped.into()),
            Some(answer) => Ok(answer),
            None => panic!("nobody expected the question {question:?}"),
        }
    }
}

impl Ask for Script {
    fn text(
        &self,
        question: &str,
        _: Option<&str>,
        check: &dyn Fn(&str) -> Result<(), String>,
    ) -> anyhow::Result<String> {
        loop {
            let Text(text) = self.next(question)? else {
                panic!("{question:?} wants a text");
            };
            match check(text) {
                Ok(()) => return Ok(text.to_owned()),
                Err(complaint) => self.complaints.borrow_mut().push(complaint),
            }
        }
    }

    fn one(&self, question: &str, choices: &[String]) -> anyhow::Result<usize> {
        let One(place) = self.next(question)? else {
            panic!("{question:?} wants a choice");
        };
        assert!(place < choices.len());
        Ok(place)
    }

    fn several(&self, question: &str, choices: &[(String, bool)]) -> anyhow::Result<Vec<usize>> {
        let Several(places) = self.next(question)? else {
            panic!("{question:?} wants choices");
        };
        self.complaints.borrow_mut().extend(
            choices
                .iter()
                .map(|(text, chosen)| format!("{text} {chosen}")),
        );
        Ok(places.to_vec())
    }

    fn yes(&self, question: &str, _: bool) -> anyhow::Result<bool> {
        let Yes(answer) = self.next(question)? else {
            panic!("{question:?} wants a yes or a no");
        };
        Ok(answer)
    }
}

/// A folder with two cases of three types.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("cases")).expect("made");
    for (name, text) in [
        (
            "a.md",
            "# A\n\n## Gate Rule\n\nIf x then y.\n\n## Facts\n\nx.\n",
        ),
        (
            "b.md",
            "# B\n\n## Gate rule\n\nIf y then z.\n\n## History\n\nOld.\n",
        ),
    ] {
        fs::write(folder.path().join("cases").join(name), text).expect("written");
    }
    folder
}

fn request(folder: &Path) -> Request {
    Request {
        file: folder.join("kelvin.yaml"),
        ..Request::default()
    }
}

/// Every question that has an answer on the command line is answered there.
fn complete(folder: &Path) -> Request {
    Request {
        run: Some("./run.sh {input} {output}".to_owned()),
        decision_field: Some("decision".to_owned()),
        governing_types: vec!["Gate Rule".to_owned()],
        ..request(folder)
    }
}

/// How it ended, and what was printed.
fn run(request: &Request, script: Option<&Script>) -> (anyhow::Result<Exit>, String) {
    let mut out = Vec::new();
    let ended = init(request, script.map(|script| script as &dyn Ask), &mut out);
    (ended, String::from_utf8(out).expect("it is text"))
}

fn load(folder: &Path) -> Config {
    let text = fs::read_to_string(folder.join("kelvin.yaml")).expect("it was written");
    Config::parse(&text, &folder.join("kelvin.yaml")).expect("it loads")
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).expect("listed") {
            let path = entry.expect("listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path
                    .strip_prefix(folder)
                    .expect("below")
                    .display()
                    .to_string();
                files.insert(name, fs::read(&path).expect("read"));
            }
        }
    }
    files
}

#[test]
fn answers_become_a_configuration_that_loads() {
    let folder = project();
    let script = Script::of(&[
        Text("python3 decide.py {input} {output}"),
        Text("cases"),
        Yes(false),
        Text("/result/decision"),
        Several(&[1, 2]),
        Yes(true),
        Yes(true),
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert!(said.contains("2 cases with 3 types of units"), "{said}");
    assert_eq!(
        *script.complaints.borrow(),
        [
            "facts  (in 1 case) false",
            "gate_rule  (in 2 cases) true",
            "history  (in 1 case) false"
        ]
    );
    let config = load(folder.path());
    assert_eq!(config.run, "python3 decide.py {input} {output}");
    assert_eq!(
        config.decision_field,
        DecisionField::Pointer("/result/decision".to_owned())
    );
    assert_eq!(config.governing_types, ["gate_rule", "history"]);
    let written = files(folder.path());
    assert_eq!(written[".gitignore"], b"/kelvin/\n/.kelvin-cache/\n");
    assert!(written[".github/workflows/kelvin.yml"].ends_with(b"org/kelvin-action@v1\n"));
    assert!(written["kelvin.yaml"].starts_with(b"# yaml-language-server: $schema=https://"));
    assert!(
        said.ends_with("next: kelvin check --config ".to_owned().as_str())
            || said.contains("next: kelvin check")
    );
}

#[test]
fn a_wrong_answer_is_asked_for_again_with_the_reason() {
    let folder = project();
    let script = Script::of(&[
        Text("python3 decide.py {inputs} {output}"),
        Text(""),
        Text("python3 decide.py {input} {output}"),
        Text("nowhere"),
        Text("cases"),
        Yes(false),
        Text("/a~b"),
        Text("decision"),
        Several(&[]),
        Several(&[1]),
        Yes(false),
        Yes(false),
    ]);
    let (ended, said) = run(&request(folder.path()), Some(&script));
    assert_eq!(ended.expect("written"), Exit::Passed);
    let complaints = script.complaints.borrow();
    assert!(
        complaints[0].contains("did you mean `{input}` instead of `{inputs}`?"),
        "{complaints:?}"
    );
    assert!(
        complaints[1].contains("`run` must not be empty"),
        "{complaints:?}"
    );
    assert!(
        complaints[2].contains("is not a JSON pointer"),
        "{complaints:?}"
    );
    assert!(
        said.contains("nowhere") && said.contains("choose at least one"),
        "{said}"
    );
    assert_eq!(load(folder.path()).cases, "cases");
}

#[test]
fn stopping_at_any_question_leaves_everything_as_it_was() {
    let answers = [
        Text("p {input} {output}"),
        Text("cases"),
        Yes(false),
        Text("decision"),
        Several(&[1]),
        Yes(true),
        Yes(true),
    ];
    for place in 0..answers.len() {
        let folder = project();
        let before = files(folder.path());
        let mut stopped = answers[..place].to_vec();
        stopped.push(Stop);
        let (ended, said) = run(&request(folder.path()), Some(&Script::of(&stopped)));
        assert_eq!(ended.expect("it is no error"), Exit::Interrupted);
        assert!(said.ends_with("nothing was written\n"), "{said}");
        assert_eq!(files(folder.path()), before, "stopped at question {place}");
    }
}

#[test]
fn with_every_flag_nothing_is_asked() {
    let folder = project();
    let request = Request {
        workflow: Some(false),
        gitignore: Some(false),
        ..complete(folder.path())
    };
    let (ended, _) = run(&request, None);
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(load(folder.path()).governing_types, ["gate_rule"]);
    assert!(!folder.path().join(".gitignore").exists() && !folder.path().join(".github").exists());
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    let (ended, _) = run(
        &Request {
            cases: Some("cases/*.md".to_owned()),
            ..request
        },
        Some(&Script::of(&[])),
    );
    assert_eq!(ended.expect("written"), Exit::Passed);
    assert_eq!(load(folder.path()).cases, "cases/*.md");
}

#[test]
fn without_a_terminal_the_flags_that_are_missing_are_named() {
    let folder = project();
    let error = run(&request(folder.path()), None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    let text = error.to_string();
    for flag in [
        "--run",
        "--decision-field",
        "--probe",
        "--governing-type",
        "--yes",
    ] {
        assert!(text.contains(flag), "{flag} in {text}");
    }
    assert!(!folder.path().join("kelvin.yaml").exists());
}

#[test]
fn a_wrong_flag_is_refused_and_nothing_is_written() {
    let folder = project();
    let before = files(folder.path());
    let good = complete(folder.path());
    let cases = [
        (
            Request {
                run: Some("p {input}".to_owned()),
                ..good.clone()
            },
            "{output}",
        ),
        (
            Request {
                cases: Some("nowhere".to_owned()),
                ..good.clone()
            },
            "nowhere",
        ),
        (
            Request {
                decision_field: Some(String::new()),
                ..good.clone()
            },
            "must not be empty",
        ),
        (
            Request {
                governing_types: vec!["gate_rul".to_owned()],
                ..good.clone()
            },
            "`gate_rule`",
        ),
        (
            Request {
                governing_types: vec!["a".to_owned(), "A".to_owned()],
                ..good
            },
            "the same governing type",
        ),
    ];
    for (request, said) in cases {
        let error = run(&request, None).0.expect_err("refused");
        assert_eq!(Exit::of(&error), Exit::Misused, "{error:#}");
        assert!(format!("{error:#}").contains(said), "{said} in {error:#}");
        assert_eq!(files(folder.path()), before);
    }
}

#[test]
fn a_folder_without_cases_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("cases")).expect("made");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert!(format!("{error:#}").contains(".md"), "{error:#}");
    fs::write(folder.path().join("cases/a.md"), "no heading").expect("written");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert!(format!("{error:#}").contains("## Gate Rule"), "{error:#}");
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = project();
    let config = folder.path().join("kelvin.yaml");
    fs::write(&config, "mine").expect("written");
    let error = run(&complete(folder.path()), None).0.expect_err("refused");
    assert_eq!(Exit::of(&error), Exit::Misused);
    assert!(error.to_string().contains("--force"), "{error}");
    assert_eq!(fs::read(&config).expect("read"), b"mine");
    let forced = Request {
        force: true,
        ..complete(folder.path())
    };
    assert_eq!(run(&forced, None).0.expect("written"), Exit::Passed);
    load(folder.path());
}

#[test]
fn a_workflow_that_is_there_is_kept_unless_forced() {
    let folder = project();
    let place = folder.path().join(".github/workflows");
    fs::create_dir_all(&place).expect("made");
    fs::write(place.join("kelvin.yml"), "mine").expect("written");
    let request = Request {
        workflow: Some(true),
        ..complete(folder.path())
    };
    let error = run(&request, None).0.expect_err("refused");
    assert!(error.to_string().contains("kelvin.yml"), "{error}");
    assert!(!folder.path().join("kelvin.yaml").exists());
    assert_eq!(
        run(
            &Request {
                force: true,
                ..request.clone()
            },
            None
        )
        .0
        .expect("written"),
        Exit::Passed
    );
    assert_ne!(fs::read(place.join("kelvin.yml")).expect("read"), b"mine");
    fs::remove_file(folder.path().join("kelvin.yaml")).expect("removed");
    assert_eq!(
        run(&request, None).0.expect("it is as it would be"),
        Exit::Passed
    );
}

#[test]
fn a_gitignore_keeps_its_lines_and_gets_ours_once() {
    for (before, after) in [
        ("", "/kelvin/\n/.kelvin-cache/\n"),
        ("target", "target\n/kelvin/\n/.kelvin-cache/\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n/kelvin/\r\n/.kelvin-cache/\r\n"),
        ("kelvin\n", "kelvin\n/.kelvin-cache/\n"),
        ("kelvin/\n.kelvin-cache\n", "kelvin/\n.kelvin-cache\n"),
    ] {
        let folder = project();
        let path = folder.path().join(".gitignore");
        fs::write(&path, before).expect("written");
        let request = Request {
            gitignore: Some(true),
            force: true,
            ..complete(folder.path())
        };
        for _ in 0..2 {
            assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
            assert_eq!(fs::read_to_string(&path).expect("read"), after);
        }
    }
}

#[test]
fn in_a_repository_the_workflow_stands_at_its_top_and_names_the_configuration() {
    let top = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(top.path().join(".git")).expect("made");
    fs::write(top.path().join("requirements.txt"), "").expect("written");
    let inner = top.path().join("my pipeline");
    fs::rename(project().path(), &inner).expect("moved");
    let request = Request {
        workflow: Some(true),
        ..complete(&inner)
    };
    assert_eq!(run(&request, None).0.expect("written"), Exit::Passed);
    let text = fs::read_to_string(top.path().join(".github/workflows/kelvin.yml")).expect("read");
    assert!(
        text.contains("          config: my pipeline/kelvin.yaml\n"),
        "{text}"
    );
    assert!(
        text.contains("          setup: pip install -r requirements.txt\n"),
        "{text}"
    );
    // In a repository the output folder is kept out of it without being asked.
    assert!(inner.join(".gitignore").exists() && !top.path().join(".gitignore").exists());
}

#[test]
fn the_commented_lines_say_what_holds_anyway() {
    let plain = configuration(&Answers::default());
    let file = Path::new("kelvin.yaml");
    let mut options = 0;
    let uncommented: String = plain
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(option) if option.split_once(':').is_some_and(|(key, _)| is_key(key)) => {
                options += 1;
                format!("{option}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(options >= 8, "{uncommented}");
    let [one, other] = [&plain, &uncommented]
        .map(|text| format!("{:?}", Config::parse(text, file).expect("it loads")));
    assert_eq!(one, other);
}

fn is_key(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

proptest! {
    #[test]
    fn whatever_is_answered_the_file_says_the_same(
        before in any::<String>().prop_map(|text| text.replace(|c: char| c.is_control(), "?")),
        cases in "\\PC*[^\\s\\p{C}]\\PC*",
        field in "[^/\\s]\\PC*",
        types in proptest::collection::btree_set("[a-z0-9#:'\"%@-]{1,8}x", 0..4),
    ) {
        prop_assume!(!before.contains('$') && !before.contains('{'));
        let types: Vec<String> = types.into_iter().filter(|name| !name.starts_with('#')).collect();
        let answers = Answers {
            run: format!("{before} {{input}} {{output}}"),
            cases: cases.clone(),
            decision_field: field.clone(),
            governing_types: types.clone(),
        };
        let config = Config::parse(&configuration(&answers), Path::new("kelvin.yaml"));
        let config = config.map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
        prop_assert_eq!(config.run, answers.run.trim());
        prop_assert_eq!(config.cases, cases);
        prop_assert_eq!(config.decision_field.as_str(), &*field);
        prop_assert_eq!(config.governing_types, types);
    }
}
