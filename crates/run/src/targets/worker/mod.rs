//! The pipeline as a process that stays in memory: it is started once, and called by messages on its standard streams.
//! Each job has its own process, and by default a process handles one call at a time.

mod company;
mod exchange;
mod kind;
mod rpc;
mod source;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::command::Tail;
use super::handed::{self, HandedInput};
use super::{Ended, FreshTarget, Invocation, Reply, Target, TargetSite};
use crate::Premises;
use company::{Company, SharedEnd};
use exchange::{ExchangeEnd, RunningWorker, WorkerLoss};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_base::notice::Notice;
pub(super) use kind::{WorkerKind, WorkerProgramKind, WorkerSettings, schema};
#[cfg(feature = "models")]
pub(super) use rpc::output;
pub(super) use source::{WorkerProgram, check};
use source::{WorkerSource, printed};

/// How a process gets several calls at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::targets) enum InCompany {
    /// At most this many messages may wait for answers at the same time.
    Concurrent(usize),
    /// One message at a time is sent; it contains at most this many calls.
    Batch(usize),
}

impl InCompany {
    /// How many calls a process handles at the same time.
    pub(super) const fn most(self) -> usize {
        match self {
            Self::Concurrent(most) | Self::Batch(most) => most,
        }
    }

    /// The key that the configuration and the worker use for it.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Concurrent(_) => "concurrency",
            Self::Batch(_) => "batch",
        }
    }

    /// The same way of getting calls, with fewer calls at once.
    pub(super) fn at_most(self, most: usize) -> Self {
        match self {
            Self::Concurrent(asked) => Self::Concurrent(asked.min(most)),
            Self::Batch(asked) => Self::Batch(asked.min(most)),
        }
    }
}

/// The limits of a worker process, besides the time limit of a call, and how it gets its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkerBounds {
    /// The maximum memory, in MiB.
    pub(super) max_memory_mb: Option<u64>,
    /// The number of calls after which a worker is replaced.
    pub(super) recycle_after: Option<u64>,
    /// How the worker gets several calls at once; none if it gets them one after the other.
    pub(super) company: Option<InCompany>,
}

impl WorkerBounds {
    /// Checks that a call can be a conversation. Fails with a [`Misuse`] if several calls are sent in one message: a
    /// turn has to wait for the answer to the turn before it.
    pub(super) fn take_turns(&self, key: &str) -> Result<(), Misuse> {
        match self.company {
            Some(InCompany::Batch(most)) => Err(Misuse::new(format!(
                "`{key}` has `batch: {most}`, and a turn waits for the answer to the one before it"
            ))
            .help("leave `batch` out; with `concurrency` several conversations are under way at the same time")),
            _ => Ok(()),
        }
    }

    /// How many calls a process handles at the same time.
    pub(super) fn at_once(&self) -> usize {
        self.company.map_or(1, InCompany::most)
    }
}

/// Calls workers.
pub(super) struct WorkerTarget {
    source: Arc<WorkerSource>,
    /// The workers without a call.
    idle: Mutex<Vec<RunningWorker>>,
    /// The workers that get several calls at once.
    company: Option<Company>,
    /// Locked by a call that is repeated alone.
    alone: Mutex<()>,
}

impl WorkerTarget {
    pub(super) fn new(program: WorkerProgram, bounds: WorkerBounds, site: &TargetSite) -> Self {
        let source = Arc::new(WorkerSource::new(program, bounds, site));
        Self::from_source(source, site.jobs.get())
    }

    fn from_source(source: Arc<WorkerSource>, processes: usize) -> Self {
        let way = source.bounds.company;
        let company = way.map(|way| Company::new(Arc::clone(&source), way, processes));
        Self {
            source,
            idle: Mutex::default(),
            company,
            alone: Mutex::default(),
        }
    }

    /// The end of a call that was made together with others; if its result is unknown, the call is repeated alone.
    fn shared(&self, call: &Invocation<'_>, end: SharedEnd, output: &mut Vec<u8>) -> Ended {
        match end {
            SharedEnd::Answered(answer, reply) => self.answered(answer, *reply, output),
            SharedEnd::Ended(ended) => *ended,
            SharedEnd::Unknown => {
                let _one = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
                self.call_alone(call, output)
            }
        }
    }

    fn answered(&self, answer: Vec<u8>, reply: Reply, output: &mut Vec<u8>) -> Ended {
        let most = self.source.site.max_output_bytes;
        if answer.len() as u64 > most {
            let failure = Failure::too_large(most).printed(reply.streams);
            return Ended::failed(failure, None).after(reply.earlier);
        }
        *output = answer;
        Ended::Answered(reply)
    }

    /// An idle worker, or a new one.
    fn worker(&self) -> Result<RunningWorker, Box<Ended>> {
        loop {
            let idle = self
                .idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let Some(mut worker) = idle else {
                return Ok(self.source.start()?.0);
            };
            match worker.is_fit(self.source.max_memory()) {
                Ok(()) => return Ok(worker),
                Err(loss) => {
                    if matches!(loss, WorkerLoss::TooLarge) {
                        self.source.note_replaced();
                    }
                    // The worker had no call, so no answer is lost.
                    drop(worker.kill());
                }
            }
        }
    }

    /// Keeps a worker for the next call, or ends it if it has reached its maximum number of calls.
    fn keep(&self, mut worker: RunningWorker) {
        worker.calls += 1;
        let most = self.source.bounds.recycle_after;
        if most.is_some_and(|most| worker.calls >= most) {
            worker.dismiss();
            return worker.leave(Instant::now());
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(worker);
    }

    /// Makes a call in a process that has no other call.
    fn call_alone(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let source = &*self.source;
        let inputs = match handed::inputs(call, source.site.turns.as_ref()) {
            Ok(inputs) => inputs,
            Err(failure) => return Ended::failed(failure, None),
        };
        let Some((first, later)) = inputs.split_first() else {
            return Ended::Interrupted;
        };
        let message = |input: &HandedInput<'_>| {
            let id = rpc::token();
            let asked = rpc::asked(&id, input);
            let message = rpc::assess(&id, &asked);
            (id, message)
        };
        let (id, asked) = message(first);
        let stray = || source.note_stray();
        let mut log = Tail::default();
        let (mut worker, mut end) = loop {
            let mut worker = match self.worker() {
                Ok(worker) => worker,
                Err(ended) => return *ended,
            };
            worker.forget_log();
            let end = worker.ask(&id, &asked, source.limits(), &mut log, &stray);
            match end {
                // The worker had ended unnoticed after an earlier call.
                ExchangeEnd::Lost(WorkerLoss::EndedBefore) if worker.calls > 0 => {
                    drop(worker.end());
                    log = Tail::default();
                }
                end => break (worker, end),
            }
        };
        // The turns of a conversation must all go to the same process.
        let mut input = first;
        let mut earlier = Vec::new();
        for next in later {
            let ExchangeEnd::Answered(answer) = end else {
                break;
            };
            earlier.push(answer);
            input = next;
            let (id, asked) = message(next);
            end = worker.ask(&id, &asked, source.limits(), &mut log, &stray);
        }
        let ended = match end {
            ExchangeEnd::Answered(answer) => {
                let is_first = worker.calls <= 1;
                self.keep(worker);
                let reply = Reply {
                    streams: printed(&log),
                    is_first,
                    ..Reply::default()
                };
                self.answered(answer, reply, output)
            }
            ExchangeEnd::Refused(code, message) => {
                self.keep(worker);
                refused(code, &message, printed(&log))
            }
            ExchangeEnd::Lost(loss) => source.lost(worker, &loss, &log),
            ExchangeEnd::Interrupted => {
                drop(worker.kill());
                Ended::Interrupted
            }
        };
        input.ended(ended).after(earlier)
    }
}

/// The end of a call that was answered with an error.
fn refused(code: i32, message: &str, streams: Streams) -> Ended {
    let message = format!("it answered with an error: {message}");
    let failure = Failure::new(FailureKind::ErrorAnswer(code), message);
    Ended::failed(failure.printed(streams), None)
}

impl Target for WorkerTarget {
    /// A turn is passed only as a message: a file with the whole input would reveal the later turns.
    fn premises(&self) -> Premises {
        match self.source.site.turns {
            Some(_) => Premises::Name,
            None => Premises::File,
        }
    }

    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        if call.workplace.is_some() {
            let message = "a worker has no working directory of its own for a call";
            return Ended::failed(Failure::new(FailureKind::NotStarted, message), None);
        }
        let Some(company) = &self.company else {
            return self.call_alone(call, output);
        };
        let ends = company.ask(std::slice::from_ref(call));
        let end = ends.into_iter().next();
        self.shared(call, end.unwrap_or(SharedEnd::Unknown), output)
    }

    fn afresh(&self) -> Option<FreshTarget<'_>> {
        Some(FreshTarget {
            target: Box::new(Self::from_source(Arc::clone(&self.source), 1)),
            noun: "worker",
            remembers: false,
            together: self.source.bounds.company.map(InCompany::key),
        })
    }

    fn notices(&self) -> Vec<Notice> {
        self.source.notices()
    }

    fn call_together(&self, calls: &[Invocation<'_>]) -> Vec<(Ended, Vec<u8>)> {
        let ends = match &self.company {
            Some(company) => company.ask(calls),
            None => calls.iter().map(|_| SharedEnd::Unknown).collect(),
        };
        let ends = calls.iter().zip(ends);
        ends.map(|(call, end)| {
            let mut output = Vec::new();
            (self.shared(call, end, &mut output), output)
        })
        .collect()
    }
}

impl Drop for WorkerTarget {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut workers = std::mem::take(idle);
        if self.source.site.interrupt.tripped() {
            workers.into_iter().for_each(|worker| drop(worker.kill()));
            return;
        }
        // All workers are asked to end before the program waits for the first one.
        workers.iter_mut().for_each(RunningWorker::dismiss);
        let since = Instant::now();
        workers.into_iter().for_each(|worker| worker.leave(since));
    }
}

#[cfg(test)]
mod company_tests;
#[cfg(test)]
mod tests;
