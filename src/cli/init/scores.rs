//! Sets up the probe for an evaluator of the team's own: the file that it writes, and what stands in its columns.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::evaluators;
use super::steps::Steps;
use super::survey::is_identifier;
use super::trial::{self, EVALUATOR, Look, OutputForm, TrialSubject};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::Failure;
use kelvin_gate::reproduce::quoted;
use kelvin_page::{listed, safe};
use kelvin_probe::rows::words;
use kelvin_record::Direction;
use kelvin_results::FileState;
use kelvin_results::readers::{self, Proposal};
use kelvin_run::config::Config;
use kelvin_run::targets::{Address, Reply};
use kelvin_run::{Program, Reader};

/// The placeholder for the file that an evaluator writes.
pub(super) const OUTPUT: &str = "{output}";

/// How many levels below the configuration a file of results is searched.
const DEPTH: usize = 3;

/// The endings of files that may have results.
const ENDINGS: [&str; 6] = ["csv", "json", "jsonl", "ndjson", "xml", "eval"];

/// From this many digits on, a part of a name is taken for a time that differs from run to run.
const DIGITS: usize = 6;

const NOT_RUN: &str =
    "the evaluator was not run, so `kelvin check` says which lines read what it writes";

/// Whether the evaluator is told where to write: by a placeholder, or as the plugin for pytest is.
pub(super) fn is_told_where(run: &str) -> bool {
    run.contains(OUTPUT) || kelvin_results::loads_the_plugin(run)
}

/// Asks for the command that runs the evaluator, unless it is known, or only its file is to be read.
pub(super) fn command(steps: &mut Steps<'_>) -> anyhow::Result<()> {
    if let Some(ask) = steps.ask
        && steps.said.run.is_none()
        && steps.said.scores.is_none()
    {
        steps.print(
            "The command scores all cases and writes a file with a row for each, for example\n  \
             python3 evals.py {output}\n\
             Where it writes always to the same path, it needs no placeholder.",
        )?;
        let known = commands(&steps.target.root);
        let check = |text: &str| steps.accepts(|said| said.run = Some(text.to_owned()));
        let default = known.first().map(String::as_str);
        let run = ask.line("Which command runs your evaluator?", default, &check)?;
        steps.said.run = Some(run);
    }
    steps.config().map(|_| ())
}

/// Runs the evaluator once, or reads the file that it has written, and proposes how its results are read. Returns the
/// files that the run has left in the repository, as lines for `.gitignore`.
pub(super) fn settle(steps: &mut Steps<'_>) -> anyhow::Result<BTreeSet<String>> {
    let root = steps.target.root.clone();
    let run = steps.said.run.clone().unwrap_or_default();
    if run.is_empty() || steps.said.probe == Some(false) {
        match steps.said.scores.clone() {
            Some(pattern) => take(steps, left_before(&root, &pattern)?.1)?,
            None => steps.print(NOT_RUN)?,
        }
        return Ok(BTreeSet::new());
    }
    if kelvin_results::loads_the_plugin(&run) {
        return Ok(BTreeSet::new());
    }
    let found = RefCell::new(None);
    let pattern = steps.said.scores.clone();
    let trial = trial::settle(steps, &TrialSubject::Evaluator, &|config| {
        let (look, written) = try_once(config, pattern.as_deref())?;
        found.replace(written);
        Ok(look)
    })?;
    let mut left = trial.left;
    if let Some((pattern, proposal)) = found.into_inner() {
        if let Some(pattern) = pattern {
            steps.print(&safe::line(&format!("its results are in `{pattern}`")))?;
            left = left.iter().map(|line| covering(line, &pattern)).collect();
            steps.said.scores = Some(pattern);
        }
        take(steps, proposal)?;
    } else if trial.look.is_none() {
        steps.print(NOT_RUN)?;
    }
    Ok(left)
}

/// Keeps what was proposed, and says what is taken for a score.
fn take(steps: &mut Steps<'_>, proposal: Proposal) -> anyhow::Result<()> {
    let metrics = proposal.metrics.iter().map(|metric| {
        let better = match metric.better {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        };
        format!("`{}` ({better} is better)", metric.name)
    });
    let metrics: Vec<String> = metrics.collect();
    let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
    let told = match metrics.as_slice() {
        [] => format!("they are read as those of {}", proposal.format.as_str()),
        metrics => format!("taken for scores: {}", listed(metrics)),
    };
    steps.print(&safe::line(&told))?;
    steps.said.results = proposal.keys();
    Ok(())
}

/// Reads the file of an evaluator as a text. What it says is judged by the readers of the results.
struct AnyText;

impl Reader for AnyText {
    fn digest(&self) -> Digest {
        Fields::of("kelvin/reader/text/v1").digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        Ok(Value::from(String::from_utf8_lossy(output)))
    }
}

/// What a run has written: the `file` of the suite, unless the run was told where to write, and how it is read.
type Written = (Option<String>, Proposal);

/// Runs the evaluator once. Nothing is found if it failed; then the look says how.
///
/// # Errors
///
/// A [`Misuse`] if it ended and left nothing that can be read.
fn try_once(config: &Config, pattern: Option<&str>) -> anyhow::Result<(Look, Option<Written>)> {
    // The person may have taken another command since the last run.
    let run = kelvin_results::first_command(config).unwrap_or_default();
    let mut config = config.clone();
    config.limits.timeout = EVALUATOR;
    let named = |pattern| kelvin_results::last_written(pattern, &config.root);
    let (before, named_before) = (states(&config.root), pattern.map(named));
    let address = Address::command(run);
    let asked = trial::TrialInput {
        tried: TrialSubject::Evaluator,
        input: "",
        program: Program {
            turns: None,
            target: &address,
            decision_field: "",
            input_name: "input.txt",
            inputs: ".",
        },
        reader: &AnyText,
        form: OutputForm::Results,
    };
    let mut look = trial::run(&config, &asked)?;
    if run.contains(OUTPUT) {
        let Some(text) = look.output.as_ref().and_then(Value::as_str) else {
            return Ok((look, None));
        };
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("results.json");
        fs::write(&file, text)?;
        let proposal = readers::proposed(&file).map_err(|error| {
            let name = file.display().to_string();
            unreadable(&error.to_string().replace(&name, OUTPUT))
        })?;
        return Ok((look, Some((None, proposal))));
    }
    if !look.ended_by_itself() {
        return Ok((look, None));
    }
    let now = states(&config.root);
    let has_written = match pattern {
        Some(_) => pattern.map(named) != named_before,
        None => now != before,
    };
    // What it printed last says more of a crash than that there is no file, and an old file says nothing.
    if !has_written && look.exited_with_an_error() {
        return Ok((look, None));
    }
    let (pattern, proposal) = match pattern {
        Some(pattern) => left_before(&config.root, pattern)?,
        None => newly_written(&config.root, run, (&before, &now))?,
    };
    let file = kelvin_results::last_written(&pattern, &config.root);
    let text = file.and_then(|(file, _)| fs::read_to_string(file).ok());
    look.output = Some(Value::from(text.unwrap_or_default()));
    Ok((look, Some((Some(pattern), proposal))))
}

/// How the file that `--scores` names is read.
fn left_before(root: &Path, pattern: &str) -> anyhow::Result<(String, Proposal)> {
    let Some((file, _)) = kelvin_results::last_written(pattern, root) else {
        return Err(Misuse::new(format!(
            "`--scores`: there is no file `{}`",
            safe::line(pattern)
        ))
        .help("run your evaluator once before, or give its command too, with `--run`")
        .into());
    };
    let proposal =
        readers::proposed(&file).map_err(|error| unreadable(&below(root, &error.to_string())))?;
    Ok((pattern.to_owned(), proposal))
}

/// Files with what differs if one is written again.
type FileStates = BTreeMap<PathBuf, FileState>;

/// The files below a folder that may have results.
fn states(root: &Path) -> FileStates {
    let mut files = Vec::new();
    evaluators::walk(root, DEPTH, &mut files);
    let may_be = |file: &PathBuf| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| ENDINGS.contains(&ending))
    };
    let files = files.into_iter().filter(may_be);
    let states = files.filter_map(|file| {
        let data = fs::metadata(&file).ok()?;
        Some((file, FileState::of(&data)))
    });
    states.collect()
}

/// The one file that a run has written and that can be read as results, as the `file` of a suite.
fn newly_written(
    root: &Path,
    run: &str,
    (before, now): (&FileStates, &FileStates),
) -> anyhow::Result<(String, Proposal)> {
    let new: Vec<&PathBuf> = now
        .iter()
        .filter(|(file, state)| before.get(*file) != Some(*state))
        .map(|(file, _)| file)
        .collect();
    let mut read = Vec::new();
    let mut refused = None;
    for file in &new {
        match readers::proposed(file) {
            Ok(proposal) => read.push((*file, proposal)),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let name = |file: &Path| {
        file.strip_prefix(root)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    match (read.len(), refused) {
        (1, _) => {
            let (file, proposal) = read.remove(0);
            let name = name(file);
            let pattern = match before.contains_key(file) {
                true => name,
                false => without_time(&name),
            };
            Ok((pattern, proposal))
        }
        (0, Some(error)) => Err(unreadable(&below(root, &error.to_string()))),
        (0, None) => {
            let help = match run.contains("pytest") {
                true => {
                    "`-p kelvin_action.pytest` in the command hands over what pytest finds: docs/evaluators.md#pytest"
                }
                false => {
                    "let it write a row for each case into a file: CSV or JSON, with the name of the case and its scores; a \
                     mean that is printed says nothing of a case. If it takes the path as an argument, put `{output}` \
                     there; if it prints the rows, end the command with `> {output}`; if it writes further away, name the \
                     file with `--scores FILE`"
                }
            };
            Err(Misuse::new("the evaluator has written no file of results")
                .help(help)
                .into())
        }
        _ => {
            let names: Vec<String> = read
                .iter()
                .map(|(file, _)| format!("`{}`", name(file)))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let what = format!(
                "the evaluator has written {} files that may have its results: {}",
                names.len(),
                listed(&names)
            );
            Err(Misuse::new(safe::line(&what))
                .help("name the right one with `--scores FILE`")
                .into())
        }
    }
}

/// An error for a file that cannot be read as results.
fn unreadable(error: &str) -> anyhow::Error {
    Misuse::new(safe::line(error))
        .help("docs/evaluators.md has the formats and the keys; `--scores FILE` names another file")
        .into()
}

/// A message without the path of the folder.
fn below(root: &Path, message: &str) -> String {
    message.replace(&format!("{}/", root.display()), "")
}

/// The line of `.gitignore` for a file that a run has left, with the `*` of the pattern of its results, so that it covers
/// those of later runs. Where the `*` stands for a folder, the whole folder is covered.
fn covering(line: &str, pattern: &str) -> String {
    let Some((before, after)) = pattern.split_once('*') else {
        return line.to_owned();
    };
    // The lines are relative to the top of the repository, and the pattern to the folder of the configuration.
    let Some((head, tail)) = line.split_once(&format!("/{before}")) else {
        return line.to_owned();
    };
    let (part, is_folder) = match after.split_once('/') {
        Some((part, _)) => (part, true),
        None => (after, false),
    };
    let found = match is_folder {
        true => tail.split_once('/').map(|(name, _)| name),
        false => Some(tail).filter(|name| !name.contains('/')),
    };
    match found.is_some_and(|name| name.ends_with(part)) {
        true => format!("{head}/{before}*{part}{}", if is_folder { "/" } else { "" }),
        false => line.to_owned(),
    }
}

/// The path with a `*` in place of a time in one of its parts, which is another one in every run.
fn without_time(path: &str) -> String {
    let mut has_star = false;
    let parts = path.split('/').map(|part| match time_in(part) {
        Some((first, last)) if !has_star => {
            has_star = true;
            format!("{}*{}", &part[..first], &part[last + 1..])
        }
        _ => part.to_owned(),
    });
    let parts: Vec<String> = parts.collect();
    parts.join("/")
}

/// The first and the last digit of a part of a path that has so many that they may be a time.
fn time_in(part: &str) -> Option<(usize, usize)> {
    let digits = || {
        part.char_indices()
            .filter(|(_, sign)| sign.is_ascii_digit())
    };
    let is_time = digits().count() >= DIGITS;
    let places = digits().next().zip(digits().next_back());
    places
        .filter(|_| is_time)
        .map(|((first, _), (last, _))| (first, last))
}

/// The commands by which a project may start an evaluator of its own: a script with such a name, a rule of `make` or
/// `just`, a script of `package.json`.
pub(super) fn commands(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    evaluators::walk(root, 2, &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in &files {
        let Some(below) = file.strip_prefix(root).ok().and_then(Path::to_str) else {
            continue;
        };
        let name = below.rsplit('/').next().unwrap_or(below);
        let started = match name.rsplit_once('.') {
            Some((stem, "py")) if scores(stem) => Some("python3"),
            Some((stem, "js" | "mjs" | "cjs")) if scores(stem) => Some("node"),
            Some((stem, "sh")) if scores(stem) => Some("sh"),
            _ => None,
        };
        let path = quoted(below);
        found.extend(started.map(|program| format!("{program} {path}")));
        if below == name {
            found.extend(rules(file, name));
        }
    }
    found
}

/// Whether the words of a name say that it scores.
fn scores(name: &str) -> bool {
    let words = words(name);
    let is_test = words.first().is_some_and(|word| word == "test");
    let begins = |word: &String| word.starts_with("eval") || word == "score" || word == "benchmark";
    !is_test && words.iter().any(begins)
}

/// The commands for the rules of a file for `make` or `just`, or the scripts of a `package.json`, whose names say that
/// they score.
fn rules(file: &Path, name: &str) -> Vec<String> {
    let Some(text) = evaluators::begin(file) else {
        return Vec::new();
    };
    let (program, names): (&str, Vec<String>) = match name {
        "package.json" => {
            let package: Value = serde_json::from_str(&text).unwrap_or_default();
            let scripts = package["scripts"].as_object();
            let names = scripts.map(|scripts| scripts.keys().cloned().collect());
            ("npm run", names.unwrap_or_default())
        }
        "Makefile" | "makefile" | "justfile" | "Justfile" => {
            let program = if name.eq_ignore_ascii_case("justfile") {
                "just"
            } else {
                "make"
            };
            let heads = text.lines().filter_map(|line| line.split_once(':'));
            let names = heads.map(|(head, _)| head.to_owned());
            (
                program,
                names
                    .filter(|head| is_identifier(&head.replace('-', "_")))
                    .collect(),
            )
        }
        _ => return Vec::new(),
    };
    let names = names.into_iter().filter(|name| scores(name));
    names
        .map(|name| format!("{program} {}", quoted(&name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_evaluators_are_those_whose_names_say_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in [
            ("evals/run_evals.py", ""),
            ("evals/test_evals.py", ""),
            ("retrieval.py", ""),
            ("score all.sh", ""),
            (
                "Makefile",
                "EVAL := x\n\neval-rag: data\n\tpython3 evals/run_evals.py\n\ntest:\n",
            ),
            (
                "package.json",
                "{\"scripts\": {\"build\": \"tsc\", \"evaluate\": \"node x.js\"}}",
            ),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        assert_eq!(
            commands(folder.path()),
            [
                "make eval-rag",
                "python3 evals/run_evals.py",
                "npm run evaluate",
                "sh 'score all.sh'"
            ]
        );
    }

    #[test]
    fn a_time_in_the_name_of_a_file_becomes_a_star() {
        for (path, pattern) in [
            ("out/results-20261130-111734.csv", "out/results-*.csv"),
            ("20261130_final.json", "*_final.json"),
            ("results-v2.csv", "results-v2.csv"),
            ("2026/results.csv", "2026/results.csv"),
            ("runs/2026-11-30_113217/results.json", "runs/*/results.json"),
        ] {
            assert_eq!(without_time(path), pattern);
        }
        assert_eq!(covering("/sub/r-1.csv", "r-*.csv"), "/sub/r-*.csv");
        assert_eq!(covering("/sub/other.csv", "r-*.csv"), "/sub/other.csv");
        let of_a_folder = covering("/sub/runs/2026-11-30/config.json", "runs/*/results.json");
        assert_eq!(of_a_folder, "/sub/runs/*/");
    }
}
