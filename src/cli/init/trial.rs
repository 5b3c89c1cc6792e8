//! The trial: runs the pipeline once on the first case, or the evaluator once, and shows the result.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::request::Request;
use super::steps;
use super::steps::Steps;
use crate::check;
use crate::cli::ask;
use crate::cli::ask::Stopped;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_evidence::DecisionReader;
use kelvin_evidence::cases::Corpus;
use kelvin_page::safe;
use kelvin_probe::answer;
use kelvin_run::config::Config;
use kelvin_run::targets::Reply;
use kelvin_run::{
    Outcome, Program, Reader, Rules, Runner, RunnerSettings, Silent, Start, Task, folder_of, judge,
};
use kelvin_system::pipeline;
use kelvin_system::pipeline::{Made, Watch};

/// The result of the trial.
#[derive(Default)]
pub(super) struct Trial {
    /// The last run with an output that can be examined; none if the pipeline was not run.
    pub(super) look: Option<Look>,
    /// The files that the runs have left in the repository, as lines for `.gitignore`.
    pub(super) left: BTreeSet<String>,
}

/// What is tried.
#[derive(Clone, Debug)]
pub(super) enum TrialSubject {
    /// The pipeline, on one input: what such an input is called, and its name.
    Input(&'static str, Arc<str>),
    /// The evaluator, on all of its cases.
    Evaluator,
}

impl TrialSubject {
    /// The program, as the words before "failed" or "once".
    const fn program(&self) -> &'static str {
        match self {
            Self::Input(..) => "pipeline",
            Self::Evaluator => "evaluator",
        }
    }

    /// The name of the input; empty for an evaluator.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Input(_, name) => name,
            Self::Evaluator => "",
        }
    }

    /// The input after a word such as "on"; empty for an evaluator.
    fn input(&self, on: &str) -> String {
        match self {
            Self::Input(noun, name) => format!("{on}{noun} `{}`", safe::line(name)),
            Self::Evaluator => String::new(),
        }
    }
}

/// What an output may be, so that it can be examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// An object or a list.
    Structure,
    /// An object, a list or a text.
    Prose,
    /// A file of results, whatever code the evaluator ended with.
    Results,
}

/// What the pipeline is asked in the trial.
pub(super) struct TrialInput<'a> {
    pub(super) tried: TrialSubject,
    pub(super) input: &'a str,
    pub(super) program: Program<'a>,
    pub(super) reader: &'a dyn Reader,
    pub(super) form: OutputForm,
}

/// Reads the whole output, whatever is in it.
pub(super) struct WholeOutput;

impl Reader for WholeOutput {
    fn digest(&self) -> Digest {
        Fields::of("kelvin/reader/whole/v1").digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        answer::whole(output)
    }
}

/// Runs the pipeline once on the first input, or the evaluator once, if the person agrees.
pub(super) fn settle(
    steps: &mut Steps<'_>,
    tried: &TrialSubject,
    run: &dyn Fn(&Config) -> anyhow::Result<Look>,
) -> anyhow::Result<Trial> {
    let mut trial = Trial::default();
    let (program, first) = (tried.program(), tried.input(" on "));
    let wanted = match (steps.said.probe, steps.ask) {
        (Some(said), _) => said,
        (None, _) if steps.said.decision_field.is_some() => false,
        (None, Some(ask)) => {
            let first = tried.input(", on ");
            let question = format!("Run the {program} once{first}, to see its output?");
            let wanted = ask::yes(ask, &question, true)?;
            steps.said.probe = Some(wanted);
            wanted
        }
        (None, None) => steps.said.yes,
    };
    if !wanted {
        return Ok(trial);
    }
    let mut is_first = true;
    loop {
        let config = steps.config()?;
        let timeout = match tried {
            TrialSubject::Input(..) => config.limits.timeout,
            TrialSubject::Evaluator => EVALUATOR,
        };
        steps.print(&format!(
            "running the {program}{first}, for at most {} s",
            timeout.as_secs()
        ))?;
        let look = run(&config)?;
        let mended = mended(&look, &steps.said.run);
        if look.output.is_none() && steps.ask.is_none() {
            let error = look.failed();
            return Err(match mended {
                Some(run) => Misuse::new(format!("{error:#}"))
                    .help(format!(
                        "it printed its answer, and kelvin reads the file `{{output}}`: let the command be `{run}`"
                    ))
                    .into(),
                None => error,
            });
        }
        show(steps, &look)?;
        trial.left.extend(look.left.iter().cloned());
        let Some(ask) = steps.ask.filter(|_| look.output.is_none()) else {
            trial.look = Some(look);
            break;
        };
        let question = match &mended {
            Some(run) => {
                steps.print(&format!(
                    "It printed its answer, and kelvin reads the file `{{output}}`. This command puts what is printed \
                     into the file:\n  {}",
                    safe::lines(run)
                ))?;
                "Try that command?"
            }
            None => "Try again, after you have fixed it?",
        };
        // An empty line must not run a pipeline again and again that nobody has mended.
        if !ask::yes(ask, question, is_first)? {
            break;
        }
        is_first = false;
        steps.said.run = mended.or_else(|| steps.said.run.take());
    }
    if !trial.left.is_empty() {
        let lines: Vec<&str> = trial.left.iter().map(String::as_str).collect();
        steps.print(&format!(
            "The run left something in the repository: {}. As long as git does not ignore it, a check may take it \
             for an edit of the code.",
            safe::line(&lines.join(", "))
        ))?;
    }
    Ok(trial)
}

fn show(steps: &mut Steps<'_>, look: &Look) -> anyhow::Result<()> {
    for line in look.shown() {
        steps.print(&line)?;
    }
    if look.names_its_input {
        steps.print(
            "The output contains the path of its input: does the pipeline read the file, or take the path for \
             the text? `{input}` stands for the path of a file.",
        )?;
    }
    if let Some(changed) = &look.changed {
        steps.print(&format!(
            "Git tracks what the run has changed: {}. A check during which the code changes has no figures; let the \
             pipeline write elsewhere, or name the files of its code under `fingerprint`.",
            safe::line(changed)
        ))?;
    }
    Ok(())
}

/// A command that writes the printed output to the file, if the pipeline printed its output instead of writing it.
fn mended(look: &Look, run: &Option<String>) -> Option<String> {
    const OUTPUT: &str = "{output}";
    let run = run.as_deref().filter(|_| look.printed_its_output())?;
    let words: Vec<&str> = run.split(' ').collect();
    let place = words.iter().position(|word| *word == OUTPUT)?;
    // After an option or a redirection, the meaning of the words is not known.
    let is_plain =
        place > 0 && !words[place - 1].starts_with('-') && !run.contains(['>', '|', ';', '&']);
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| *word != OUTPUT)
        .collect();
    is_plain.then(|| format!("{} > {OUTPUT}", rest.join(" ")))
}

/// How long an evaluator may take, as in a check.
pub(super) const EVALUATOR: Duration =
    Duration::from_secs(kelvin_results::DEFAULT_TIMEOUT_S as u64);

/// How many lines are shown of an output, and of the text that the pipeline printed.
const LINES: usize = 40;

/// How many lines are shown of the results of an evaluator.
const BEGIN: usize = 3;

/// How many columns of a long line are shown.
const COLUMNS: usize = 160;

/// The result of the pipeline for the first input, or of the evaluator.
pub(super) struct Look {
    pub(super) tried: TrialSubject,
    /// The outcome of the call, with the decision field of the configuration.
    pub(super) outcome: Outcome,
    /// What the pipeline wrote, if it is an object or a list, or a text where an answer in prose or results are asked
    /// for.
    pub(super) output: Option<Value>,
    /// The files that the pipeline left in the repository, as lines for the `.gitignore` at its top.
    pub(super) left: BTreeSet<String>,
    /// The changes to files that git tracks.
    pub(super) changed: Option<String>,
    /// Whether the output contains the path of the input; a pipeline that reads the file has no reason to write its
    /// path.
    pub(super) names_its_input: bool,
    /// What the case is labelled with, as a person wrote it.
    pub(super) expected: Option<String>,
}

/// Runs the pipeline once on the first case of a corpus.
///
/// # Errors
///
/// As those of [`run`].
pub(super) fn run_case(config: &Config, corpus: &Corpus) -> anyhow::Result<Look> {
    let case = corpus.cases.first().context("there is no case")?;
    let evidence = steps::settings(config);
    let scorer = judge::chosen_scorer(&evidence.scorer);
    let asked = TrialInput {
        tried: TrialSubject::Input("case", Arc::clone(&case.name)),
        input: case.input(),
        program: evidence.program(),
        reader: &DecisionReader::new(evidence, &*scorer),
        form: OutputForm::Structure,
    };
    let expected = case.expected.clone();
    let look = run(config, &asked)?;
    Ok(Look { expected, ..look })
}

/// Runs the pipeline once, in a temporary output folder.
///
/// # Errors
///
/// Fails if the pipeline cannot be run, and with [`Stopped`] if a signal ended it.
pub(super) fn run(config: &Config, asked: &TrialInput<'_>) -> anyhow::Result<Look> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let out = folder.path().join("kelvin");
    let settings = RunnerSettings {
        rules: Rules::of(config, &asked.program),
        out: &out,
        start: Start::Fresh,
        fingerprint: None,
        watch: None,
        reader: asked.reader,
        observer: &Silent,
        observing: None,
    };
    let beside = check::not_code(config, &config.root.join("kelvin"));
    let (_, watch) = pipeline::begin(&config.root, &[], &beside, Made::default())?;
    if let Some(watch) = &watch {
        watch.learns(true);
    }
    let runner = Runner::open(|site| asked.program.target.open(site), settings)?;
    let case = match &asked.tried {
        TrialSubject::Input(_, name) => Arc::clone(name),
        TrialSubject::Evaluator => "evaluator".into(),
    };
    let task = Task {
        case,
        variant: None,
        repeat: 1,
    };
    let input = |_: &Task| Cow::Borrowed(asked.input);
    let outcome = runner
        .run_all("first baseline", std::slice::from_ref(&task), &input)?
        .pop();
    let Some(Some(outcome)) = outcome else {
        return Err(Stopped.into());
    };
    let left = watch.as_ref().map(Watch::left).unwrap_or_default();
    // The output of a failed call is not an answer; but many evaluators end with 1 if a case fails.
    let is_evaluator = asked.form == OutputForm::Results;
    let ended_well = outcome.result.as_ref().err().is_none_or(|failure| {
        matches!(
            failure.kind,
            FailureKind::DecisionMissing | FailureKind::DecisionRefused
        ) || is_evaluator && matches!(failure.kind, FailureKind::Exit(_))
    });
    let written = find(&out, "output.json").filter(|_| ended_well);
    let output = match asked.form {
        OutputForm::Results => {
            written.map(|text| Value::from(String::from_utf8_lossy(&text).into_owned()))
        }
        OutputForm::Structure => written.and_then(|text| structure(&text)),
        OutputForm::Prose => {
            let answer = outcome.result.as_ref().ok();
            written
                .and_then(|text| structure(&text))
                .or_else(|| answer.cloned())
        }
    };
    let call = folder_of(&out, &task.case, None, task.repeat);
    let names_its_input = output.is_some() && check::echo::is_in(&call);
    Ok(Look {
        tried: asked.tried.clone(),
        outcome,
        output,
        left,
        changed: watch.as_ref().and_then(Watch::damaged),
        names_its_input,
        expected: None,
    })
}

/// The first file of this name below a folder.
fn find(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if entry.file_name() == name {
                return fs::read(path).ok();
            }
        }
    }
    None
}

/// The object or the list that a text is.
fn structure(text: &[u8]) -> Option<Value> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let value: Value = serde_json::from_slice(text).ok()?;
    Some(value).filter(|value| value.is_object() || value.is_array())
}

impl Look {
    /// The decision in the output, by the field that is known now.
    pub(super) fn decided(&self, said: &Request) -> Option<&Value> {
        let (output, field) = (self.output.as_ref()?, said.decision_field.as_deref()?);
        match field.starts_with('/') {
            true => output.pointer(field),
            false => output.get(field),
        }
    }

    /// The result, for a person: the exit code, the time, the output and the printed text.
    pub(super) fn shown(&self) -> Vec<String> {
        // A function that answered has no exit code, and neither has a command that was ended by a signal.
        let exit = match self.outcome.exit {
            Some(code) => format!("exit code {code}, "),
            None if self.output.is_some() => String::new(),
            None => "no exit code, ".to_owned(),
        };
        let what = match &self.tried {
            tried @ TrialSubject::Input(..) => tried.input(""),
            TrialSubject::Evaluator => "evaluator".to_owned(),
        };
        let seconds = self.outcome.seconds;
        let mut lines = vec![format!("{what}: {exit}{seconds:.1} s")];
        if let Some(output) = &self.output {
            let text = match (&self.tried, output.as_str()) {
                (TrialSubject::Evaluator, Some(text)) => {
                    let mut begin: Vec<&str> = text.lines().take(BEGIN + 1).collect();
                    let has_more = begin.len() > BEGIN;
                    begin.truncate(BEGIN);
                    begin.extend(has_more.then_some("..."));
                    begin.join("\n")
                }
                // A JSON value can always be written as JSON.
                _ => serde_json::to_string_pretty(output).unwrap_or_default(),
            };
            lines.push("it wrote:".to_owned());
            lines.extend(part(&text, End::Tail));
            return lines;
        }
        let Err(failure) = &self.outcome.result else {
            lines.push("its output could not be read".to_owned());
            return lines;
        };
        lines.push(format!("it failed: {}", safe::line(&failure.message)));
        for (name, text) in [
            ("standard error", &failure.stderr),
            ("standard output", &failure.stdout),
        ] {
            if !text.trim().is_empty() {
                lines.push(format!("it printed on {name}:"));
                lines.extend(part(text, End::Head));
            }
        }
        lines
    }

    /// Whether the program was not stopped: it may have left a file that this call does not read.
    pub(super) fn ended_by_itself(&self) -> bool {
        let failure = self.outcome.result.as_ref().err();
        let is_silent = failure.is_none_or(|failure| failure.kind == FailureKind::OutputMissing);
        is_silent || self.exited_with_an_error()
    }

    /// Whether the program ended with an exit code other than 0.
    pub(super) fn exited_with_an_error(&self) -> bool {
        let failure = self.outcome.result.as_ref().err();
        failure.is_some_and(|failure| matches!(failure.kind, FailureKind::Exit(_)))
    }

    /// Whether the pipeline printed the object that it should have written to the file.
    pub(super) fn printed_its_output(&self) -> bool {
        let Err(failure) = &self.outcome.result else {
            return false;
        };
        let missed = matches!(
            failure.kind,
            FailureKind::OutputMissing | FailureKind::OutputNotJson
        );
        missed && self.output.is_none() && structure(failure.stdout.trim().as_bytes()).is_some()
    }

    /// Why there is no output to examine, as an error.
    pub(super) fn failed(&self) -> anyhow::Error {
        match &self.outcome.result {
            Err(failure) => failed(&self.tried, failure),
            Ok(_) => anyhow::anyhow!("the output{} could not be read", self.tried.input(" for ")),
        }
    }
}

/// Why there is no answer, with the last lines that the pipeline printed.
pub(super) fn failed(tried: &TrialSubject, failure: &Failure) -> anyhow::Error {
    let printed = match failure.stderr.trim() {
        "" => String::new(),
        text => format!("\n{text}"),
    };
    anyhow::anyhow!(
        "the {} failed{}: {}{printed}",
        tried.program(),
        tried.input(" on "),
        failure.message
    )
}

/// Which end of a long text is left out.
enum End {
    Head,
    Tail,
}

/// The lines of a text, shortened if it is long: an error is usually at the end of the printed text.
fn part(text: &str, left_out: End) -> Vec<String> {
    let text = safe::lines(text.trim_end());
    let all: Vec<&str> = text.lines().collect();
    let more = all.len().saturating_sub(LINES);
    let kept = match left_out {
        End::Head => &all[more..],
        End::Tail => &all[..all.len() - more],
    };
    let mut lines: Vec<String> = kept
        .iter()
        .map(|line| format!("  {}", short(line)))
        .collect();
    if more > 0 {
        let told = format!("  ... {more} more lines");
        match left_out {
            End::Head => lines.insert(0, told),
            End::Tail => lines.push(told),
        }
    }
    lines
}

/// A line with its indentation, cut to the maximum width.
fn short(line: &str) -> String {
    match line.chars().nth(COLUMNS) {
        None => line.to_owned(),
        Some(_) => line.chars().take(COLUMNS).chain(['…']).collect(),
    }
}
