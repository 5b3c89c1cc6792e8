//! Starts workers, and describes how a worker was lost.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::exchange::{AROUND, ExchangeEnd, RunningWorker, WorkerLimits, WorkerLoss};
use super::{InCompany, WorkerBounds, exchange, rpc};
use crate::targets::command::{
    self, CommandTemplate, CommandWord, Paths, PlainPaths, SupervisedProgram, Tail,
};
use crate::targets::{Ended, TargetSite};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_base::notice::{Code, Notice};

/// The program of a worker.
#[derive(Debug)]
pub(in crate::targets) struct WorkerProgram {
    words: Vec<OsString>,
    folder: PathBuf,
    /// The name for messages, in words that fit after "the worker".
    shown: String,
    /// Keeps the links to which a script refers.
    _names: PlainPaths,
}

impl WorkerProgram {
    /// A program with its arguments.
    pub(in crate::targets) fn new(words: Vec<OsString>, folder: &Path, shown: String) -> Self {
        Self {
            words,
            folder: folder.to_owned(),
            shown,
            _names: PlainPaths::default(),
        }
    }

    /// The program of a command line under a key. Fails with a [`Misuse`] if the quotes do not match, or a placeholder
    /// has no meaning here.
    pub(in crate::targets) fn of_line(
        line: &str,
        key: &str,
        site: &TargetSite,
    ) -> Result<Self, Misuse> {
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

    pub(in crate::targets) fn supervised(&self) -> SupervisedProgram {
        let first = self.words.first().cloned().unwrap_or_default();
        let mut program = SupervisedProgram::new(first, &self.folder);
        program.args(self.words.iter().skip(1));
        program
    }

    pub(in crate::targets) fn first(&self) -> String {
        let first = self.words.first().map_or(OsStr::new(""), |word| word);
        first.to_string_lossy().into_owned()
    }
}

/// Rejects a command line under a key with placeholders that have no meaning for a process that stays in memory.
pub(in crate::targets) fn check(line: &str, key: &str) -> Result<(), Misuse> {
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

/// Remarks about all workers of a run, each made once.
#[derive(Debug, Default)]
struct WorkerRemarks {
    /// Whether a line was not a message.
    some_stray: AtomicBool,
    /// Whether a worker was replaced after a call because of its memory.
    some_replaced: AtomicBool,
    /// How many calls a worker handles at once, if that is fewer than configured.
    fewer: OnceLock<usize>,
    /// Why a call was first repeated alone, and how many calls were.
    alone: Mutex<Option<(String, usize)>>,
}

/// Starts the workers.
pub(super) struct WorkerSource {
    pub(super) program: WorkerProgram,
    pub(super) bounds: WorkerBounds,
    pub(super) site: TargetSite,
    /// Why a worker reported that it cannot answer any call; a new worker could not either.
    refused: OnceLock<Failure>,
    remarks: WorkerRemarks,
}

impl WorkerSource {
    pub(super) fn new(program: WorkerProgram, bounds: WorkerBounds, site: &TargetSite) -> Self {
        Self {
            program,
            bounds,
            site: site.clone(),
            refused: OnceLock::new(),
            remarks: WorkerRemarks::default(),
        }
    }

    pub(super) fn limits(&self) -> WorkerLimits<'_> {
        WorkerLimits {
            timeout: self.site.timeout,
            longest: self.longest_message(),
            max_memory: self.max_memory(),
            interrupt: &self.site.interrupt,
        }
    }

    pub(super) fn max_memory(&self) -> Option<u64> {
        let mebibytes = self.bounds.max_memory_mb?;
        exchange::IS_KNOWN.then(|| mebibytes.saturating_mul(1024 * 1024))
    }

    pub(super) fn note_stray(&self) {
        self.remarks.some_stray.store(true, Ordering::Relaxed);
    }

    /// Records that a worker was replaced because of its memory while it had no call.
    pub(super) fn note_replaced(&self) {
        self.remarks.some_replaced.store(true, Ordering::Relaxed);
    }

    /// Records that a call is repeated alone, and why.
    pub(super) fn note_asked_alone(&self, why: &str) {
        let alone = self.remarks.alone.lock();
        let mut alone = alone.unwrap_or_else(PoisonError::into_inner);
        alone.get_or_insert_with(|| (why.to_owned(), 0)).1 += 1;
    }

    /// The maximum length of a message with an answer.
    pub(super) fn longest_message(&self) -> usize {
        let most = usize::try_from(self.site.max_output_bytes).unwrap_or(usize::MAX);
        // JSON needs up to six bytes for one byte of text.
        most.saturating_mul(6).saturating_add(AROUND)
    }

    /// How a worker gets several calls at once, according to the configuration and to the worker's own answer.
    fn agreed(&self, ready: &rpc::Ready) -> Option<InCompany> {
        let asked = self.bounds.company?;
        let takes = match asked {
            InCompany::Concurrent(_) => ready.concurrency,
            InCompany::Batch(_) => ready.batch,
        };
        let agreed = asked.at_most(takes.unwrap_or(1).max(1));
        if agreed != asked {
            let _ = self.remarks.fewer.set(agreed.most());
        }
        Some(agreed)
    }

    /// Starts a worker, and waits until it is ready. Also returns how it gets several calls at once, if it does. Fails
    /// with the end of the call, because no worker can answer it.
    pub(super) fn start(&self) -> Result<(RunningWorker, Option<InCompany>), Box<Ended>> {
        if let Some(refused) = self.refused.get() {
            return Err(Box::new(Ended::failed(refused.clone(), None)));
        }
        let unstarted = |error: &io::Error| {
            let message = command::not_started(&self.program.first(), error);
            Box::new(Ended::failed(
                Failure::new(FailureKind::NotStarted, message),
                None,
            ))
        };
        let mut worker =
            RunningWorker::start(&self.program.supervised()).map_err(|error| unstarted(&error))?;
        let id = rpc::token();
        let mut log = Tail::default();
        let stray = || self.note_stray();
        let end = worker.ask(
            &id,
            &rpc::initialize(&id, self.bounds.company),
            self.limits(),
            &mut log,
            &stray,
        );
        let shown = &self.program.shown;
        let failure = |what: String| Failure::new(FailureKind::NotStarted, what);
        let failure = match end {
            ExchangeEnd::Answered(answer) => match rpc::ready(&answer) {
                Some(ready) if ready.protocol == rpc::PROTOCOL => {
                    return Ok((worker, self.agreed(&ready)));
                }
                found => {
                    let found = found.map(|ready| ready.protocol);
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
                return Err(Box::new(Ended::failed(
                    self.refused.get_or_init(|| refused).clone(),
                    None,
                )));
            }
            ExchangeEnd::Interrupted => return Err(Box::new(Ended::Interrupted)),
            ExchangeEnd::Lost(WorkerLoss::Ended) => match worker.end() {
                Ok(status) => {
                    let how = command::ended(&command::how(status));
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
        Err(Box::new(Ended::failed(
            failure.printed(printed(&log)),
            None,
        )))
    }

    /// Describes what went wrong, in words that fit after "the worker was not ready:" and also alone.
    pub(super) fn loss_in_words(&self, loss: &WorkerLoss) -> String {
        match loss {
            WorkerLoss::Unreachable(error) => format!("it cannot be reached: {error}"),
            WorkerLoss::Ended => "it ended".to_owned(),
            WorkerLoss::TimedOut => command::timed_out(self.site.timeout),
            WorkerLoss::OutOfProtocol(what) => format!("it {what}"),
            WorkerLoss::WrongList(what) => format!("it {what}"),
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

    /// The failure of a call whose worker has to be replaced. Afterwards none of the worker's processes is left.
    pub(super) fn lost(&self, worker: RunningWorker, loss: &WorkerLoss, log: &Tail) -> Ended {
        let words = |what: String| format!("the worker was lost during the call: {what}");
        let (kind, message, exit) = match loss {
            WorkerLoss::Ended => match worker.end() {
                Ok(status) => {
                    let kind = command::how(status);
                    // When people stop a run, they often stop its processes too.
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
                    // The error about a process that cannot be killed is more important.
                    Err(error) => error.to_string(),
                };
                match loss {
                    WorkerLoss::TimedOut => (FailureKind::Timeout, message, None),
                    WorkerLoss::TooLong => (FailureKind::OutputTooLarge, message, None),
                    _ => (FailureKind::WorkerLost, words(message), None),
                }
            }
        };
        Ended::failed(Failure::new(kind, message).printed(printed(log)), exit)
    }

    /// Notices about the workers so far.
    pub(super) fn notices(&self) -> Vec<Notice> {
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
        let unwatched = (self.bounds.max_memory_mb.is_some() && !exchange::IS_KNOWN).then(|| {
            let text = "`max_memory_mb` was not watched: only Linux tells how much memory a worker and the \
                        processes below it hold";
            Notice::new(Code::own("memory_unwatched"), text)
        });
        let fewer = self.remarks.fewer.get().map(|got| {
            let asked = self.bounds.company.map_or(1, InCompany::most);
            let key = self.bounds.company.map_or("concurrency", InCompany::key);
            let text = format!(
                "a worker gets {got} instead of {asked} calls at once, as `{key}` asks for: its answer to `initialize` \
                 says {}",
                match got {
                    1 => format!("no `{key}`"),
                    got => format!("`{key}` {got}"),
                }
            );
            Notice::new(Code::own("fewer_at_once"), text)
        });
        let alone = self.remarks.alone.lock();
        let alone = alone.unwrap_or_else(PoisonError::into_inner);
        let alone = alone.as_ref().map(|(why, calls)| {
            let text = format!(
                "calls were asked again alone, since they were in company when something went wrong, which tells \
                 nothing of each: {calls} in all. The first reason: {why}"
            );
            Notice::new(Code::own("asked_alone"), text)
        });
        let all = [stray, replaced, unwatched, fewer, alone];
        all.into_iter().flatten().collect()
    }
}

pub(super) fn printed(log: &Tail) -> Streams {
    Streams {
        stderr: log.text(),
        ..Streams::default()
    }
}
