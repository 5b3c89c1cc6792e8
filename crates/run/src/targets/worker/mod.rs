//! The pipeline as a process that stays: it is started once, and asked by messages on its standard streams. Each job
//! has a process of its own, and a process gets one call at a time.

mod exchange;
mod held;
mod rpc;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::{
    self, CommandTemplate, CommandWord, Paths, PlainPaths, SupervisedProgram, Tail,
};
use super::{Ended, FreshTarget, Invocation, Launch, Reply, Target, TargetKind, TargetSite};
#[cfg(feature = "models")]
pub(super) use exchange::how;
use exchange::{ExchangeEnd, RunningWorker, WorkerLimits, WorkerLoss};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_base::notice::{Code, Notice};
#[cfg(feature = "models")]
pub(super) use rpc::{output, token};

/// What a configuration writes under the key of this target: a command line, or a mapping of the command line and of
/// what bounds the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenWorker {
    /// The command that starts a worker.
    Line(#[schemars(length(min = 1))] String),
    /// The command that starts a worker, and what bounds the process.
    Bounded(BoundedWorker),
}

/// The command that starts a worker, and what bounds the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundedWorker {
    /// The command that starts a worker: a process that answers one input after the other, by messages on its standard
    /// streams.
    #[schemars(length(min = 1))]
    run: String,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux tells how much that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After so many calls a worker is replaced; 1 starts a process for each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
}

/// What bounds the process of a worker, beside the time of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerBounds {
    /// The most memory, in MiB.
    pub(super) max_memory_mb: Option<u64>,
    /// The number of calls after which a worker is replaced.
    pub(super) recycle_after: Option<u64>,
}

/// The kind of target whose settings are the command line of a worker.
pub(super) struct WorkerKind;

impl WorkerKind {
    /// The command line and the bounds. The schema allows nothing else.
    fn read(settings: &Value) -> Result<(String, WorkerBounds), Misuse> {
        match WrittenWorker::deserialize(settings) {
            Ok(WrittenWorker::Line(line)) => Ok((line, WorkerBounds::default())),
            Ok(WrittenWorker::Bounded(written)) => {
                let bounds = WorkerBounds {
                    max_memory_mb: written.max_memory_mb,
                    recycle_after: written.recycle_after,
                };
                Ok((written.run, bounds))
            }
            Err(error) => Err(Misuse::new(format!("`worker` names no command: {error}"))),
        }
    }
}

/// The JSON schema of the settings of a target.
pub(super) fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

impl TargetKind for WorkerKind {
    fn key(&self) -> Option<&'static str> {
        Some("worker")
    }

    fn schema(&self) -> Value {
        schema::<WrittenWorker>()
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let (line, bounds) = Self::read(settings)?;
        let program = WorkerProgram::of_line(&line, "worker", site)?;
        Ok(Box::new(WorkerTarget::new(program, bounds, site)))
    }

    /// How much memory it may hold changes no answer. After how many calls it is replaced may change one, where
    /// something of a call stays for the next one.
    fn identity(&self, settings: &Value) -> Value {
        match Self::read(settings) {
            Ok((run, bounds)) => match bounds.recycle_after {
                None => json!(run),
                Some(calls) => json!({ "run": run, "recycle_after": calls }),
            },
            Err(_) => settings.clone(),
        }
    }

    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse> {
        let (line, _) = Self::read(settings)?;
        check(&line, "worker")?;
        command::look_up(&line, root)
    }

    fn line(&self, settings: &Value) -> Option<String> {
        Self::read(settings).ok().map(|(line, _)| line)
    }

    fn stays(&self) -> bool {
        true
    }

    fn has_workplaces(&self) -> bool {
        false
    }
}

/// Refuses a command line under a key with placeholders that have no meaning for a process that stays.
pub(super) fn check(line: &str, key: &str) -> Result<(), Misuse> {
    let placeholders = ["{input}", "{output}", "{workspace}"];
    match placeholders.iter().find(|one| line.contains(**one)) {
        None => Ok(()),
        Some(found) => Err(Misuse::new(format!(
            "the command of `{key}` has `{found}`, but it is started once for many inputs"
        ))
        .help(format!(
            "leave `{found}` out: the process gets each input by a message, and answers with the output"
        ))),
    }
}

/// The program of a worker.
#[derive(Debug)]
pub(super) struct WorkerProgram {
    words: Vec<OsString>,
    folder: PathBuf,
    /// The name for messages, in words that fit after "the worker".
    shown: String,
    /// Holds the paths that a script names.
    _names: PlainPaths,
}

impl WorkerProgram {
    /// A program with its arguments.
    pub(super) fn new(words: Vec<OsString>, folder: &Path, shown: String) -> Self {
        Self {
            words,
            folder: folder.to_owned(),
            shown,
            _names: PlainPaths::default(),
        }
    }

    /// The program of a command line under a key.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where the quotes do not match, or a placeholder has no meaning here.
    pub(super) fn of_line(line: &str, key: &str, site: &TargetSite) -> Result<Self, Misuse> {
        check(line, key)?;
        let names = PlainPaths::default();
        let nowhere = Path::new("");
        let paths = Paths {
            input: nowhere,
            output: nowhere,
            root: &site.root,
            workspace: None,
        };
        let words = match CommandTemplate::parse(line)? {
            CommandTemplate::Direct(words) => {
                let first = words.first().and_then(CommandWord::fixed);
                let program = first.map(|name| command::find_program(name, &site.root));
                let mut words: Vec<OsString> = words.iter().map(|word| word.fill(&paths)).collect();
                if let (Some(program), Some(first)) = (program, words.first_mut()) {
                    *first = program.into();
                }
                words
            }
            CommandTemplate::Script(script) => {
                let script = script.fill_plainly(&paths, &names).map_err(|error| {
                    Misuse::new(format!("`{{root}}` cannot be named in `{key}`: {error}"))
                })?;
                vec!["/bin/sh".into(), "-c".into(), script]
            }
        };
        Ok(Self {
            words,
            folder: site.root.clone(),
            shown: format!("`{}`", line.trim()),
            _names: names,
        })
    }

    pub(super) fn supervised(&self) -> SupervisedProgram {
        let first = self.words.first().cloned().unwrap_or_default();
        let mut program = SupervisedProgram::new(first, &self.folder);
        program.args(self.words.iter().skip(1));
        program
    }

    pub(super) fn first(&self) -> String {
        let first = self.words.first().map_or(OsStr::new(""), |word| word);
        first.to_string_lossy().into_owned()
    }
}

/// What is said once of all workers of a run.
#[derive(Debug, Default)]
struct WorkerRemarks {
    /// Whether a line was no message.
    some_stray: AtomicBool,
    /// Whether a worker was replaced after a call because of its memory.
    some_replaced: AtomicBool,
}

/// Asks workers.
pub(super) struct WorkerTarget {
    program: Arc<WorkerProgram>,
    bounds: WorkerBounds,
    site: TargetSite,
    /// The workers that have no call.
    idle: Mutex<Vec<RunningWorker>>,
    /// Why a worker says that it can answer nothing: no other one could.
    refused: Arc<OnceLock<Failure>>,
    remarks: Arc<WorkerRemarks>,
}

impl WorkerTarget {
    pub(super) fn new(program: WorkerProgram, bounds: WorkerBounds, site: &TargetSite) -> Self {
        Self {
            program: Arc::new(program),
            bounds,
            site: site.clone(),
            idle: Mutex::default(),
            refused: Arc::default(),
            remarks: Arc::default(),
        }
    }

    fn limits(&self) -> WorkerLimits<'_> {
        WorkerLimits {
            timeout: self.site.timeout,
            max_output_bytes: self.site.max_output_bytes,
            max_memory: self.max_memory(),
            interrupt: &self.site.interrupt,
        }
    }

    fn max_memory(&self) -> Option<u64> {
        let mebibytes = self.bounds.max_memory_mb?;
        held::IS_KNOWN.then(|| mebibytes.saturating_mul(1024 * 1024))
    }

    fn note_stray(&self) {
        self.remarks.some_stray.store(true, Ordering::Relaxed);
    }

    /// A worker that has no call, or a new one.
    fn worker(&self) -> Result<RunningWorker, Box<Ended>> {
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let Some(mut worker) = idle else {
                return self.start();
            };
            match worker.is_fit(self.max_memory()) {
                Ok(()) => return Ok(worker),
                Err(loss) => {
                    if matches!(loss, WorkerLoss::TooLarge) {
                        self.remarks.some_replaced.store(true, Ordering::Relaxed);
                    }
                    // It had no call, so nothing is lost with it.
                    drop(worker.kill());
                }
            }
        }
    }

    /// Starts a worker, and waits until it is ready.
    fn start(&self) -> Result<RunningWorker, Box<Ended>> {
        if let Some(refused) = self.refused.get() {
            return Err(Box::new(failed(refused.clone(), None)));
        }
        let unstarted = |error: &io::Error| {
            let message = command::not_started(&self.program.first(), error);
            Box::new(failed(Failure::new(FailureKind::NotStarted, message), None))
        };
        let mut worker =
            RunningWorker::start(&self.program.supervised()).map_err(|error| unstarted(&error))?;
        let id = rpc::token();
        let mut log = Tail::default();
        let stray = || self.note_stray();
        let end = worker.ask(&id, &rpc::initialize(&id), self.limits(), &mut log, &stray);
        let shown = &self.program.shown;
        let failure = |what: String| Failure::new(FailureKind::NotStarted, what);
        let failure = match end {
            ExchangeEnd::Answered(answer) => match protocol(&answer) {
                Some(rpc::PROTOCOL) => return Ok(worker),
                found => {
                    let found =
                        found.map_or_else(|| "none".to_owned(), |version| version.to_string());
                    failure(format!(
                        "the worker {shown} answered `initialize` with the protocol {found}, and only \
                         {} is known: the result has to be `{{\"protocol\": {}}}`",
                        rpc::PROTOCOL,
                        rpc::PROTOCOL
                    ))
                }
            },
            ExchangeEnd::Refused(code, message) => {
                let message = format!("the worker {shown} cannot answer: {message}");
                let refused = Failure::new(FailureKind::ErrorAnswer(code), message);
                let refused = refused.printed(printed(&log));
                return Err(Box::new(failed(
                    self.refused.get_or_init(|| refused).clone(),
                    None,
                )));
            }
            ExchangeEnd::Interrupted => return Err(Box::new(Ended::Interrupted)),
            ExchangeEnd::Lost(WorkerLoss::Ended | WorkerLoss::EndedBefore) => match worker.end() {
                Ok(status) => {
                    let how = command::ended(&exchange::how(status));
                    failure(format!("the worker {shown} was not ready: {how}"))
                }
                Err(error) => return Err(unstarted(&error)),
            },
            ExchangeEnd::Lost(WorkerLoss::TimedOut) => Failure::new(
                FailureKind::Timeout,
                format!(
                    "the worker {shown} was not ready: {}",
                    command::timed_out(self.site.timeout)
                ),
            ),
            ExchangeEnd::Lost(loss) => failure(format!(
                "the worker {shown} was not ready: {}",
                self.loss_in_words(&loss)
            )),
        };
        Err(Box::new(failed(failure.printed(printed(&log)), None)))
    }

    /// What went wrong, in words that fit after "the worker was not ready:" and alone.
    fn loss_in_words(&self, loss: &WorkerLoss) -> String {
        match loss {
            WorkerLoss::Unreachable(error) => format!("it cannot be reached: {error}"),
            WorkerLoss::Ended | WorkerLoss::EndedBefore => "it ended".to_owned(),
            WorkerLoss::TimedOut => command::timed_out(self.site.timeout),
            WorkerLoss::OutOfProtocol(what) => format!("it {what}"),
            WorkerLoss::TooLong => format!(
                "it sent a line that is longer than `max_output_bytes` allows ({} bytes)",
                self.site.max_output_bytes
            ),
            WorkerLoss::TooLarge => format!(
                "together with the processes below it, it held more than the {} MiB that `max_memory_mb` allows",
                self.bounds.max_memory_mb.unwrap_or_default()
            ),
        }
    }

    /// The failure of a call whose worker has to be replaced. Nothing of the worker is left afterwards.
    fn lost(&self, worker: RunningWorker, loss: &WorkerLoss, log: &Tail) -> Ended {
        let words = |what: String| format!("the worker was lost during the call: {what}");
        let (kind, message, exit) = match loss {
            WorkerLoss::Ended | WorkerLoss::EndedBefore => match worker.end() {
                Ok(status) => {
                    let kind = exchange::how(status);
                    // Somebody who stops a run often stops its processes too.
                    if self.site.interrupt.tripped() {
                        return Ended::Interrupted;
                    }
                    let message = words(command::ended(&kind));
                    (FailureKind::WorkerLost, message, status.code())
                }
                Err(error) => (FailureKind::WorkerLost, words(error.to_string()), None),
            },
            loss => {
                let message = match worker.kill() {
                    Ok(_) => self.loss_in_words(loss),
                    // A process that cannot be killed is a more important message.
                    Err(error) => error.to_string(),
                };
                match loss {
                    WorkerLoss::TimedOut => (FailureKind::Timeout, message, None),
                    WorkerLoss::TooLong => (FailureKind::OutputTooLarge, message, None),
                    _ => (FailureKind::WorkerLost, words(message), None),
                }
            }
        };
        failed(Failure::new(kind, message).printed(printed(log)), exit)
    }

    /// Keeps a worker for the next call, or ends it where it has had enough of them.
    fn keep(&self, mut worker: RunningWorker) {
        worker.calls += 1;
        let most = self.bounds.recycle_after;
        if most.is_some_and(|most| worker.calls >= most) {
            worker.dismiss();
            return worker.leave(Instant::now());
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
    }
}

impl Target for WorkerTarget {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        if call.workplace.is_some() {
            let message = "a worker has no working directory of its own for a call";
            return failed(Failure::new(FailureKind::NotStarted, message), None);
        }
        let id = rpc::token();
        let message = rpc::assess(&id, call.input, &call.input_file.to_string_lossy());
        let stray = || self.note_stray();
        let mut log = Tail::default();
        let (worker, end) = loop {
            let mut worker = match self.worker() {
                Ok(worker) => worker,
                Err(ended) => return *ended,
            };
            worker.forget_log();
            let end = worker.ask(&id, &message, self.limits(), &mut log, &stray);
            match end {
                // It has ended after an earlier call, and nobody knew it.
                ExchangeEnd::Lost(WorkerLoss::EndedBefore) if worker.calls > 0 => {
                    drop(worker.end());
                    log = Tail::default();
                }
                end => break (worker, end),
            }
        };
        match end {
            ExchangeEnd::Answered(answer) => {
                self.keep(worker);
                let most = self.site.max_output_bytes;
                if answer.len() as u64 > most {
                    return failed(Failure::too_large(most).printed(printed(&log)), None);
                }
                *output = answer;
                Ended::Answered(Reply {
                    streams: printed(&log),
                    ..Reply::default()
                })
            }
            ExchangeEnd::Refused(code, message) => {
                self.keep(worker);
                let message = format!("it answered with an error: {message}");
                let failure = Failure::new(FailureKind::ErrorAnswer(code), message);
                failed(failure.printed(printed(&log)), None)
            }
            ExchangeEnd::Lost(loss) => self.lost(worker, &loss, &log),
            ExchangeEnd::Interrupted => {
                drop(worker.kill());
                Ended::Interrupted
            }
        }
    }

    fn afresh(&self) -> Option<FreshTarget<'_>> {
        let target = Box::new(Self {
            program: Arc::clone(&self.program),
            bounds: self.bounds,
            site: self.site.clone(),
            idle: Mutex::default(),
            refused: Arc::clone(&self.refused),
            remarks: Arc::clone(&self.remarks),
        });
        Some(FreshTarget {
            target,
            noun: "worker",
            remembers: false,
        })
    }

    fn notices(&self) -> Vec<Notice> {
        let stray = self.remarks.some_stray.load(Ordering::Relaxed).then(|| {
            let text = "a worker printed lines on its standard output that are no messages of the protocol; \
                        they were ignored. What is printed for people belongs on standard error";
            Notice::new(Code::own("stray_lines"), text)
        });
        let replaced = self.remarks.some_replaced.load(Ordering::Relaxed).then(|| {
            let text = "workers were replaced between two calls because they held more memory than \
                        `max_memory_mb` allows; no call was lost by it";
            Notice::new(Code::own("workers_replaced"), text).minor()
        });
        let unwatched = (self.bounds.max_memory_mb.is_some() && !held::IS_KNOWN).then(|| {
            let text = "`max_memory_mb` was not watched: only Linux tells how much memory a worker and the \
                        processes below it hold";
            Notice::new(Code::own("memory_unwatched"), text)
        });
        stray.into_iter().chain(replaced).chain(unwatched).collect()
    }
}

impl Drop for WorkerTarget {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut workers = std::mem::take(idle);
        if self.site.interrupt.tripped() {
            workers.into_iter().for_each(|worker| drop(worker.kill()));
            return;
        }
        // All of them are told before the first wait.
        workers.iter_mut().for_each(RunningWorker::dismiss);
        let since = Instant::now();
        workers.into_iter().for_each(|worker| worker.leave(since));
    }
}

/// The version of the protocol in the answer to `initialize`.
fn protocol(answer: &[u8]) -> Option<u64> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer.get("protocol")?.as_u64()
}

fn printed(log: &Tail) -> Streams {
    Streams {
        stderr: log.text(),
        ..Streams::default()
    }
}

fn failed(failure: Failure, exit: Option<i32>) -> Ended {
    Ended::Failed {
        failure: Box::new(failure),
        reply: Reply {
            exit,
            ..Reply::default()
        },
    }
}

#[cfg(test)]
mod tests;
