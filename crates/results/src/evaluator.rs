//! Runs an evaluator as one call: it is started through the target of its command, the file that it writes is read, and
//! the content of the file becomes the answer of the call. So the limits, the confinement, the journal and the cache of
//! every other call apply to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{CASES_FILE, CASES_REGEX, Suite};
use super::gather::{SuiteRun, gather};
use super::record::EarlyEnd;
use super::written::{FileState, states};
use super::{plugin, readers};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_page::listed;
use kelvin_run::Reader;
use kelvin_run::targets::{Address, Ended, Invocation, Reply, Target, TargetSite};

/// The name of the file with the requested cases.
const CASES: &str = "cases.txt";
/// How much earlier than the beginning of a run the time of its file may be: some file systems store whole seconds.
const ROUNDING: Duration = Duration::from_secs(2);

/// The input of a call: the data that distinguish the calls of one suite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// The command line, so that a stored answer is only used for the same command.
    pub(super) command: Option<String>,
    /// The cases to run; none for all.
    pub(super) cases: Option<Vec<String>>,
    /// The state of a file that an earlier step has made.
    pub(super) state: Option<String>,
    /// The command of the base that scores the file again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rescored: Option<String>,
}

/// The evaluator of one suite.
pub(super) struct Evaluator<'a> {
    /// The suite.
    pub(super) suite: &'a Suite,
    /// The settings that the calls of the run share.
    pub(super) site: TargetSite,
    /// The checkout whose scoring is used; none for the checkout of the change itself.
    pub(super) rules: Option<PathBuf>,
}

impl Target for Evaluator<'_> {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let asked: Asked = match serde_json::from_str(call.input) {
            Ok(asked) => asked,
            Err(error) => return failed(FailureKind::NotStarted, error.to_string(), None),
        };
        let given = call
            .output_file
            .with_file_name(format!("results.{}", self.suite.extension()));
        let Some(command) = &asked.command else {
            let file = self.fixed().unwrap_or(given);
            return match self.rescored(&file, call, asked.rescored.as_deref()) {
                Ok(file) => self.read((&file, true), None, output),
                Err(ended) => *ended,
            };
        };
        let is_whole = asked.cases.is_none();
        let cases = asked.cases.unwrap_or_default();
        let list = call.input_file.with_file_name(CASES);
        let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
        if let Err(error) = fs::write(&list, lines) {
            let what = format!("the list of the cases cannot be written: {error}");
            return failed(FailureKind::NotStarted, what, None);
        }
        let line = match self.suite.loads_the_plugin() {
            true => with_the_plugin(&line(command, &cases)),
            false => line(command, &cases),
        };
        let address = Address::command(&line);
        let program = match address.open(&self.site) {
            Ok(program) => program,
            Err(misuse) => return failed(FailureKind::NotStarted, misuse.to_string(), None),
        };
        let before = self.states();
        let started = SystemTime::now();
        let inner = Invocation {
            input: call.input,
            input_file: &list,
            output_file: &given,
            ..*call
        };
        let ended = program.call(&inner, output);
        // Only the results in the file count, as the reader of its format interprets them.
        output.clear();
        let (reply, failure) = match ended {
            Ended::Answered(reply) => (reply, None),
            Ended::Failed { failure, reply } if leaves_a_file(&failure.kind) => {
                (reply, Some(failure))
            }
            other => return other,
        };
        let found = match &self.suite.keys.file {
            None => Ok(given),
            Some(_) => self.written(&before, started),
        };
        let ran = Ran { reply, failure };
        let file = match found {
            Ok(file) => file,
            Err(what) => return ran.without_file(&what),
        };
        match self.rescored(&file, call, asked.rescored.as_deref()) {
            Ok(file) => self.read((&file, is_whole), Some(ran), output),
            Err(ended) => *ended,
        }
    }
}

/// How the process of an evaluator ended.
struct Ran {
    reply: Reply,
    /// Set if the target found no usable output, or if the process ended with an exit code other than 0.
    failure: Option<Box<Failure>>,
}

impl Ran {
    /// The exit code in a clause, with the cause; empty if it is 0.
    fn ending(&self) -> String {
        let ended = self.ended();
        ended.map_or_else(String::new, |ended| format!(" (it ended with {ended})"))
    }

    /// How it ended, with the cause from its standard error; none if its exit code is 0. The summaries that evaluators
    /// print elsewhere have times in them, and a report is the same for the same results.
    fn ended(&self) -> Option<EarlyEnd> {
        let code = self.reply.exit.filter(|code| *code != 0)?;
        Some(EarlyEnd::new(code, &self.streams().stderr))
    }

    fn streams(&self) -> Streams {
        match &self.failure {
            Some(failure) => Streams {
                stdout: failure.stdout.clone(),
                stderr: failure.stderr.clone(),
            },
            None => self.reply.streams.clone(),
        }
    }

    fn without_file(self, what: &str) -> Ended {
        let streams = self.streams();
        let lacks = match plugin::is_lacked_by(&streams) {
            true => format!("; {}", plugin::LACKED),
            false => String::new(),
        };
        let message = format!("{what}{}{lacks}", self.ending());
        let failure = Failure::new(FailureKind::OutputMissing, message).printed(streams);
        Ended::Failed {
            failure: Box::new(failure),
            reply: self.reply,
        }
    }
}

/// Whether a process that ended in this way may have written a complete file. A process that was stopped has not.
const fn leaves_a_file(kind: &FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Exit(_)
            | FailureKind::OutputMissing
            | FailureKind::OutputUnreadable
            | FailureKind::OutputTooLarge
    )
}

fn failed(kind: FailureKind, message: String, reply: Option<Reply>) -> Ended {
    Ended::Failed {
        failure: Box::new(Failure::new(kind, message)),
        reply: reply.unwrap_or_default(),
    }
}

impl Evaluator<'_> {
    /// Reads the file of a run of the whole suite or of some cases, and puts the results into the output.
    fn read(
        &self,
        (file, is_whole): (&Path, bool),
        ran: Option<Ran>,
        output: &mut Vec<u8>,
    ) -> Ended {
        let file = match only_file(file) {
            Ok(file) => file,
            Err(what) => {
                return match ran {
                    Some(ran) => ran.without_file(&what),
                    None => failed(FailureKind::OutputMissing, what, None),
                };
            }
        };
        let read = readers::read(&file, self.suite.keys.format, &self.suite.columns);
        let found = read
            .map_err(|error| error.to_string())
            .and_then(|results| gather(results, self.suite, is_whole));
        let ending = ran.as_ref().map_or_else(String::new, Ran::ending);
        let ended = ran.as_ref().and_then(Ran::ended);
        let (reply, streams) = match ran {
            Some(ran) => {
                let streams = ran.streams();
                (ran.reply, streams)
            }
            None => (Reply::default(), Streams::default()),
        };
        match found {
            Ok(found) => {
                let found = SuiteRun { ended, ..found };
                output.extend(serde_json::to_vec(&found).unwrap_or_default());
                Ended::Answered(Reply { streams, ..reply })
            }
            Err(what) => {
                let message = self.shown(&format!("{what}{ending}"), &file);
                let failure = Failure::new(FailureKind::DecisionRefused, message);
                Ended::Failed {
                    failure: Box::new(failure.printed(streams)),
                    reply,
                }
            }
        }
    }

    /// The file as the base scores it; the same file if nothing is scored again. Fails with how the scoring command
    /// failed. Its exit code counts, since such a command has no reason to end with another code than 0.
    fn rescored(
        &self,
        file: &Path,
        call: &Invocation<'_>,
        command: Option<&str>,
    ) -> Result<PathBuf, Box<Ended>> {
        let (Some(command), Some(rules)) = (command, &self.rules) else {
            return Ok(file.to_path_buf());
        };
        let file = only_file(file)
            .map_err(|what| Box::new(failed(FailureKind::OutputMissing, what, None)))?;
        let into = call
            .output_file
            .with_file_name(format!("rescored.{}", self.suite.extension()));
        let site = TargetSite {
            root: rules.clone(),
            ..self.site.clone()
        };
        let program = Address::command(command).open(&site);
        let not_started = |what| Box::new(failed(FailureKind::NotStarted, what, None));
        let program = program.map_err(|misuse| not_started(misuse.to_string()))?;
        let inner = Invocation {
            input_file: &file,
            output_file: &into,
            ..*call
        };
        match program.call(&inner, &mut Vec::new()) {
            Ended::Answered(_) => Ok(into),
            // The command may write a file that a target would not accept as an output, but it has to write one.
            Ended::Failed { failure, .. }
                if matches!(
                    failure.kind,
                    FailureKind::OutputUnreadable | FailureKind::OutputTooLarge
                ) && into.exists() =>
            {
                Ok(into)
            }
            Ended::Failed { failure, reply } => {
                let kind = failure.kind.clone();
                let what = format!("`rescore` of the base: {}", failure.message);
                let again = Failure::new(kind, what).printed(Streams {
                    stdout: failure.stdout.clone(),
                    stderr: failure.stderr.clone(),
                });
                Err(Box::new(Ended::Failed {
                    failure: Box::new(again),
                    reply,
                }))
            }
            other => Err(Box::new(other)),
        }
    }

    /// A message without the path of a folder that has another name in every run.
    fn shown(&self, message: &str, file: &Path) -> String {
        let message = match (&self.suite.keys.file, file.file_name()) {
            (None, Some(name)) => message.replace(
                &file.display().to_string(),
                &format!("{{output}} ({})", name.display()),
            ),
            _ => message.to_owned(),
        };
        message.replace(&format!("{}/", self.site.root.display()), "")
    }

    /// The file that an earlier step has made; none if its name contains a `*` and does not match exactly one file.
    fn fixed(&self) -> Option<PathBuf> {
        match self.states().into_keys().collect::<Vec<_>>().as_slice() {
            [file] => Some(file.clone()),
            _ => {
                let file = self.suite.keys.file.as_ref()?;
                Some(self.site.root.join(file))
            }
        }
    }

    /// The files that match `file`, with their state.
    fn states(&self) -> BTreeMap<PathBuf, FileState> {
        states(self.suite.keys.file.as_deref(), &self.site.root)
    }

    /// The file that matches `file` and that the run has written.
    fn written(
        &self,
        before: &BTreeMap<PathBuf, FileState>,
        started: SystemTime,
    ) -> Result<PathBuf, String> {
        let pattern = self.suite.keys.file.as_deref().unwrap_or_default();
        let now = self.states();
        let is_new = |(path, state): &(&PathBuf, &FileState)| {
            let is_late = state.time.is_none_or(|time| time + ROUNDING >= started);
            is_late && before.get(*path) != Some(*state)
        };
        let new: Vec<&PathBuf> = now.iter().filter(is_new).map(|(path, _)| path).collect();
        match (new.as_slice(), now.len()) {
            ([file], _) => Ok((*file).clone()),
            ([], 0) => Err(format!(
                "the evaluator has left no file `{pattern}`: see what it printed, and whether it writes there"
            )),
            ([], _) => Err(format!(
                "`{pattern}` is older than this run, so it is what another run has left: the evaluator has written nothing"
            )),
            (files, _) => {
                let names: Vec<String> = files
                    .iter()
                    .filter_map(|path| Some(path.file_name()?.display().to_string()))
                    .collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Err(format!(
                    "the evaluator has written {} files that fit `{pattern}`: {}; run one suite at a time, or name the file",
                    names.len(),
                    listed(&names)
                ))
            }
        }
    }
}

/// The file itself, or the only file in a folder: some evaluators create a folder at the path that they are given.
fn only_file(path: &Path) -> Result<PathBuf, String> {
    let data = match fs::metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().unwrap_or_default().display();
            return Err(format!(
                "there is no file of results (`{name}`): see what the evaluator printed, and whether it writes there"
            ));
        }
        Err(error) => return Err(format!("the file of results cannot be read: {error}")),
    };
    if !data.is_dir() {
        return Ok(path.to_path_buf());
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        // A format that consists of several files is read from their folder.
        _ => Ok(path.to_path_buf()),
    }
}

/// The command line of a call, with its placeholders for the requested cases replaced.
fn line(command: &str, cases: &[String]) -> String {
    let quoted = format!("'{}'", regex(cases).replace('\'', r"'\''"));
    command
        .replace(CASES_FILE, "{input}")
        .replace(CASES_REGEX, &quoted)
}

/// The command line with the variables for the pytest plugin: the file to write, and the file with the requested cases,
/// which is empty if all cases are requested.
fn with_the_plugin(line: &str) -> String {
    format!("export KELVIN_RESULTS={{output}} KELVIN_CASES={{input}}; {line}")
}

/// A regular expression that matches only the names of these cases, in the syntax that Python, JavaScript, Go and Rust
/// share. A blank in a name matches any white space, since names are stored on one line.
fn regex(cases: &[String]) -> String {
    let each: Vec<String> = cases.iter().map(|case| escaped(case)).collect();
    format!("^(?:{})$", each.join("|"))
}

fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for c in name.chars() {
        match c {
            ' ' => escaped.push_str(r"\s+"),
            '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$'
            | '/' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Reads the results of an [`Evaluator`].
pub(super) struct RunReader<'a> {
    /// The suite.
    pub(super) suite: &'a Suite,
}

impl Reader for RunReader<'_> {
    fn digest(&self) -> Digest {
        let keys = serde_json::to_string(&self.suite.keys).unwrap_or_default();
        Fields::of("kelvin/reader/results/v1")
            .field("suite", keys)
            .digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let unusable =
            |error: serde_json::Error| Failure::new(FailureKind::OutputNotJson, error.to_string());
        let run: SuiteRun = serde_json::from_slice(output).map_err(unusable)?;
        serde_json::to_value(run).map_err(unusable)
    }

    /// A file that an earlier step has made is read again each time.
    fn may_be_kept(&self, _: &Value) -> bool {
        self.suite.keys.run.is_some()
    }

    /// The results of an evaluator for many cases are not the answer of a pipeline to one input.
    fn is_observed(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expression_matches_the_named_cases_and_survives_a_shell() {
        let cases = ["late fee", "a.b[1]", "it's {output}"].map(str::to_owned);
        let filled = line(
            "tool --only {cases_regex} --list {cases_file} -o {output}",
            &cases,
        );
        assert_eq!(
            filled,
            r"tool --only '^(?:late\s+fee|a\.b\[1\]|it'\''s\s+\{output\})$' --list {input} -o {output}"
        );
    }
}
