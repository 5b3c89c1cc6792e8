//! Finds the evaluators that a project already has, and writes the configuration that runs them. It only reads files
//! and starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io::Read as _};

use super::request::Request;
use super::template::SCHEMA;
use kelvin_gate::reproduce::quoted;
use kelvin_run::config::quote;

/// How many levels below the configuration are searched.
const DEPTH: usize = 3;
const MOST: usize = 5_000;
const BEGIN: u64 = 16_384;

/// Folders with files that do not belong to the project.
const OTHERS: [&str; 6] = ["node_modules", "target", "venv", "env", "kelvin", "dist"];

/// An evaluator that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tool {
    Promptfoo,
    Inspect,
    Deepeval,
    Pytest,
}

/// The path that starts the evaluator: its configuration, the file of a task, or the folder of its tests.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Evaluator {
    tool: Tool,
    path: String,
}

impl Evaluator {
    /// Describes the evaluator in words, with its path.
    pub(super) fn shown(&self) -> String {
        let name = match self.tool {
            Tool::Promptfoo => "promptfoo",
            Tool::Inspect => "Inspect",
            Tool::Deepeval => "deepeval",
            Tool::Pytest => "pytest",
        };
        format!("{name} (`{}`)", self.path)
    }
}

/// Whether an evaluator may be the only thing that is set up: no option names a pipeline or cases.
pub(super) const fn may_be_all(request: &Request) -> bool {
    request.run.is_none()
        && request.kind.is_none()
        && request.cases.is_none()
        && request.decision_field.is_none()
        && request.governing_types.is_empty()
        && request.workspace.is_none()
        && request.check.is_none()
        && request.judge.is_none()
        && request.address.is_none()
        && request.scores.is_none()
}

/// The evaluators below a folder, in a stable order.
pub(super) fn find(root: &Path) -> Vec<Evaluator> {
    let mut files = Vec::new();
    walk(root, DEPTH, &mut files);
    files.sort();
    let known = files.iter().filter_map(|file| {
        let (tool, path) = known(file, file.strip_prefix(root).ok()?)?;
        let path = path.to_string_lossy().into_owned();
        Some(Evaluator { tool, path })
    });
    let found: BTreeSet<Evaluator> = known.collect();
    found.into_iter().collect()
}

/// Collects the files below a folder that belong to the project.
pub(super) fn walk(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_other = name.starts_with('.') || OTHERS.contains(&name.as_str());
        if is_other || files.len() >= MOST {
            continue;
        }
        match kind.is_dir() {
            true if depth > 0 => walk(&entry.path(), depth - 1, files),
            true => {}
            false => files.push(entry.path()),
        }
    }
}

/// The evaluator to which a file belongs, with the path that starts it.
fn known(file: &Path, below: &Path) -> Option<(Tool, PathBuf)> {
    let name = below.file_name()?.to_str()?;
    if let Some(ending) = name.strip_prefix("promptfooconfig.") {
        let is_one = ["yaml", "yml", "json", "js", "mjs", "cjs", "ts"].contains(&ending);
        return is_one.then(|| (Tool::Promptfoo, below.to_path_buf()));
    }
    if !name.ends_with(".py") {
        return None;
    }
    let text = begin(file)?;
    let imports = |package: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines.any(|line| {
            let rest = ["import ", "from "]
                .iter()
                .find_map(|word| line.strip_prefix(word));
            let rest = rest.and_then(|rest| rest.strip_prefix(package));
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let has_line = |begin: &str| text.lines().any(|line| line.starts_with(begin));
    let is_test = name.starts_with("test_") || name.ends_with("_test.py");
    match () {
        () if imports("inspect_ai") && has_line("@task") => {
            Some((Tool::Inspect, below.to_path_buf()))
        }
        () if is_test && imports("deepeval") => Some((Tool::Deepeval, below.to_path_buf())),
        // Most tests are about code; tests of answers have a folder of their own.
        () if is_test => {
            let folder = below.ancestors().skip(1).find(|folder| {
                let name = folder.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| {
                    ["eval", "evals", "evaluation", "evaluations"].contains(&name)
                })
            });
            folder.map(|folder| (Tool::Pytest, folder.to_path_buf()))
        }
        () => None,
    }
}

/// The beginning of a file, as text.
pub(super) fn begin(file: &Path) -> Option<String> {
    let mut text = Vec::new();
    let file = fs::File::open(file).ok()?;
    file.take(BEGIN).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// How often suites are run that do not repeat their cases themselves.
pub(super) const THREE_RUNS: &str =
    "\n# How often every suite is run: three runs tell noise from a drop.\nrepeats: 3\n";

/// The text of `kelvin.yaml` that runs the evaluators.
pub(super) fn configuration(found: &[Evaluator]) -> String {
    let mut text = format!(
        "# yaml-language-server: $schema={SCHEMA}\n\
         #\n\
         # The evaluators of this project. `kelvin check` runs them, and `kelvin gate` says whether a change made their results\n\
         # worse: see docs/evaluators.md. Paths are relative to the folder of this file.\n\
         \n\
         results:\n"
    );
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for evaluator in found {
        let path = quoted(&evaluator.path);
        let (name, lines) = match evaluator.tool {
            Tool::Promptfoo => {
                let start = format!("npx promptfoo eval -c {path} --no-cache");
                let lines = vec![
                    ("run", format!("{start} --repeat 3 -o {{output}}")),
                    (
                        "rerun",
                        format!("{start} --filter-pattern {{cases_regex}} -o {{output}}"),
                    ),
                    ("format", "promptfoo".to_owned()),
                ];
                ("promptfoo", lines)
            }
            Tool::Inspect => {
                let lines = vec![
                    (
                        "run",
                        format!("inspect eval {path} --epochs 3 --log-dir logs"),
                    ),
                    ("file", "logs/*.eval".to_owned()),
                    ("format", "inspect".to_owned()),
                ];
                ("inspect", lines)
            }
            Tool::Deepeval => {
                let start = "DEEPEVAL_RESULTS_FOLDER=.deepeval-results deepeval test run";
                let lines = vec![
                    ("run", format!("{start} {path} --repeat 3")),
                    ("file", ".deepeval-results/test_run_*.json".to_owned()),
                    ("format", "deepeval".to_owned()),
                ];
                ("deepeval", lines)
            }
            Tool::Pytest => {
                let run = format!("python3 -m pytest {path} -p kelvin_action.pytest");
                ("tests", vec![("run", run)])
            }
        };
        let count = names.entry(name).or_default();
        *count += 1;
        let name = match *count {
            1 => name.to_owned(),
            more => format!("{name}-{more}"),
        };
        let _ = writeln!(text, "  - name: {name}");
        for (key, value) in lines {
            let _ = writeln!(text, "    {key}: {}", quote(&value));
        }
    }
    let repeat_themselves = found.iter().any(|found| found.tool != Tool::Pytest);
    text.push_str(match repeat_themselves {
        true => "\n# How often every suite is run; those above repeat their cases themselves.\nrepeats: 1\n",
        false => THREE_RUNS,
    });
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{files, request, run};
    use super::*;
    use crate::cli::ask::Script;
    use crate::cli::ask::ScriptedAnswer::Yes;
    use crate::registry::Registry;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        folder
    }

    const ALL: [(&str, &str); 8] = [
        ("promptfooconfig.yaml", "prompts: []\n"),
        (
            "bench/qa.py",
            "from inspect_ai import Task, task\n\n@task\ndef qa():\n    ...\n",
        ),
        ("bench/helper.py", "import inspect_ai_tools\n"),
        (
            "checks/test_chat.py",
            "import pytest\nfrom deepeval import assert_test\n",
        ),
        ("evals/test_answers.py", "def test_one(): pass\n"),
        ("evals/more/test_others.py", "def test_two(): pass\n"),
        ("tests/test_unit.py", "def test_code(): pass\n"),
        ("node_modules/x/promptfooconfig.yaml", "prompts: []\n"),
    ];

    #[test]
    fn each_evaluator_is_found_once_and_the_tests_of_code_are_left_alone() {
        let folder = project(&ALL);
        let found: Vec<String> = find(folder.path()).iter().map(Evaluator::shown).collect();
        assert_eq!(
            found,
            [
                "promptfoo (`promptfooconfig.yaml`)",
                "Inspect (`bench/qa.py`)",
                "deepeval (`checks/test_chat.py`)",
                "pytest (`evals`)",
            ]
        );
    }

    #[test]
    fn what_was_found_becomes_a_configuration_that_loads() {
        let folder = project(&ALL);
        let text = configuration(&find(folder.path()));
        let file = folder.path().join("kelvin.yaml");
        Registry::shipped()
            .configured_by(&text, &file)
            .expect("it loads");
        for line in [
            "    rerun: \"npx promptfoo eval -c promptfooconfig.yaml --no-cache --filter-pattern {cases_regex} -o {output}\"",
            "    run: python3 -m pytest evals -p kelvin_action.pytest",
            "    file: logs/*.eval",
        ] {
            let bare = |text: &str| text.replace('"', "");
            assert!(bare(&text).contains(&bare(line)), "{line}: {text}");
        }
    }

    #[test]
    fn without_an_answer_about_a_pipeline_the_evaluators_are_the_configuration() {
        let folder = project(&ALL[4..5]);
        let (ended, said) = run(&request(folder.path()), None);
        assert!(ended.is_ok(), "{ended:?}");
        assert!(said.contains("pytest (`evals`)"), "{said}");
        let written = fs::read_to_string(folder.path().join("kelvin.yaml")).expect("written");
        assert!(written.contains("repeats: 3"), "{written}");
    }

    #[test]
    fn on_a_terminal_it_is_asked_first_and_a_no_goes_on_with_the_other_questions() {
        let folder = project(&ALL[..1]);
        let script = Script::of(&[Yes(true)]);
        let (ended, _) = run(&request(folder.path()), Some(&script));
        assert!(ended.is_ok(), "{ended:?}");
        assert!(files(folder.path()).contains_key("kelvin.yaml"));
        let folder = project(&ALL[..1]);
        let script = Script::of(&[Yes(false), crate::cli::ask::ScriptedAnswer::Stop]);
        let (ended, _) = run(&request(folder.path()), Some(&script));
        assert!(ended.is_ok(), "stopping is no error: {ended:?}");
        assert!(!files(folder.path()).contains_key("kelvin.yaml"));
    }
}
