//! The trial: runs the pipeline once on the first case, and shows the result.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

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

/// What the pipeline is asked in the trial.
pub(super) struct TrialInput<'a> {
    /// What an input of this pipeline is called.
    pub(super) noun: &'static str,
    /// The name of the input.
    pub(super) name: Arc<str>,
    pub(super) input: &'a str,
    pub(super) program: Program<'a>,
    pub(super) reader: &'a dyn Reader,
    /// Whether the output may be a text; otherwise only an object or a list can be examined.
    pub(super) is_prose: bool,
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

/// Runs the pipeline once on the first input, if the person agrees. `first` is what an input is called, and the name of
/// the first one.
pub(super) fn settle(
    steps: &mut Steps<'_>,
    first: (&str, &str),
    run: &dyn Fn(&Config) -> anyhow::Result<Look>,
) -> anyhow::Result<Trial> {
    let mut trial = Trial::default();
    let first = format!("{} `{}`", first.0, safe::line(first.1));
    let wanted = match (steps.said.probe, steps.ask) {
        (Some(said), _) => said,
        (None, _) if steps.said.decision_field.is_some() => false,
        (None, Some(ask)) => {
            let question = format!("Run the pipeline once, on {first}, to see its output?");
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
        let timeout = config.limits.timeout.as_secs();
        steps.print(&format!(
            "running the pipeline on {first}, for at most {timeout} s"
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

/// How many lines are shown of an output, and of the text that the pipeline printed.
const LINES: usize = 40;

/// How many columns of a long line are shown.
const COLUMNS: usize = 160;

/// The result of the pipeline for the first input.
pub(super) struct Look {
    /// What an input of this pipeline is called.
    noun: &'static str,
    /// The name of the input.
    pub(super) name: Arc<str>,
    /// The outcome of the call, with the decision field of the configuration.
    pub(super) outcome: Outcome,
    /// What the pipeline wrote, if it is an object or a list, or a text where an answer in prose is asked for.
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
        noun: "case",
        name: Arc::clone(&case.name),
        input: case.input(),
        program: evidence.program(),
        reader: &DecisionReader::new(evidence, &*scorer),
        is_prose: false,
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
    let task = Task {
        case: Arc::clone(&asked.name),
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
    // The output of a failed call is not an answer.
    let ended_well = outcome.result.as_ref().err().is_none_or(|failure| {
        matches!(
            failure.kind,
            FailureKind::DecisionMissing | FailureKind::DecisionRefused
        )
    });
    let output = find(&out, "output.json")
        .filter(|_| ended_well)
        .and_then(|text| structure(&text));
    let answer = outcome.result.as_ref().ok().filter(|_| asked.is_prose);
    let output = output.or_else(|| answer.cloned());
    let call = folder_of(&out, &task.case, None, task.repeat);
    let names_its_input = output.is_some() && check::echo::is_in(&call);
    Ok(Look {
        noun: asked.noun,
        name: task.case,
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
        let (noun, name) = (self.noun, safe::line(&self.name));
        let seconds = self.outcome.seconds;
        let mut lines = vec![format!("{noun} `{name}`: {exit}{seconds:.1} s")];
        if let Some(output) = &self.output {
            // A JSON value can always be written as JSON.
            let text = serde_json::to_string_pretty(output).unwrap_or_default();
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
            Err(failure) => failed((self.noun, &self.name), failure),
            Ok(_) => anyhow::anyhow!(
                "the output for {} `{}` could not be read",
                self.noun,
                self.name
            ),
        }
    }
}

/// Why there is no answer, with the last lines that the pipeline printed.
pub(super) fn failed((noun, name): (&str, &str), failure: &Failure) -> anyhow::Error {
    let printed = match failure.stderr.trim() {
        "" => String::new(),
        text => format!("\n{text}"),
    };
    anyhow::anyhow!(
        "the pipeline failed on {noun} `{name}`: {}{printed}",
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
