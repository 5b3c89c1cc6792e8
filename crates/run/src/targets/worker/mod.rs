//! The pipeline as a process that stays in memory: it is started once, and called by messages on its standard streams.
//! There are as many processes as jobs, and by default a process handles one call at a time.

mod company;
mod exchange;
mod kind;
mod rpc;
mod source;

use std::sync::Arc;

use super::{Ended, FreshTarget, Invocation, Target, TargetSite};
use crate::Premises;
use company::{Company, SharedEnd};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind, Streams};
use kelvin_base::notice::Notice;
pub(super) use kind::{WorkerKind, WorkerProgramKind, WorkerSettings, schema};
#[cfg(feature = "models")]
pub(super) use rpc::output;
use source::WorkerSource;
pub(super) use source::{WorkerProgram, check};

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
    /// The workers.
    company: Company,
    /// The worker for calls that are repeated alone, each without another call in its process.
    alone: Company,
}

impl WorkerTarget {
    pub(super) fn new(program: WorkerProgram, bounds: WorkerBounds, site: &TargetSite) -> Self {
        let source = Arc::new(WorkerSource::new(program, bounds, site));
        Self::from_source(source, site.jobs.get())
    }

    fn from_source(source: Arc<WorkerSource>, processes: usize) -> Self {
        const ONE: InCompany = InCompany::Concurrent(1);
        let way = source.bounds.company.unwrap_or(ONE);
        Self {
            company: Company::new(Arc::clone(&source), way, processes),
            alone: Company::new(Arc::clone(&source), ONE, 1),
            source,
        }
    }

    /// The end of a call; if its result is unknown because it had company, it is repeated alone.
    fn ended(&self, call: &Invocation<'_>, end: SharedEnd, output: &mut Vec<u8>) -> Ended {
        let again = || self.alone.ask(std::slice::from_ref(call)).pop();
        let end = match end {
            SharedEnd::Unknown => again().unwrap_or(end),
            end => end,
        };
        let (answer, reply) = match end {
            SharedEnd::Answered(answer, reply) => (answer, *reply),
            SharedEnd::Ended(ended) => return *ended,
            SharedEnd::Unknown => unreachable!("a call without company has a result of its own"),
        };
        let most = self.source.site.max_output_bytes;
        if answer.len() as u64 > most {
            let failure = Failure::too_large(most).printed(reply.streams);
            return Ended::failed(failure, None).after(reply.earlier);
        }
        *output = answer;
        Ended::Answered(reply)
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
        let end = self.company.ask(std::slice::from_ref(call)).pop();
        self.ended(call, end.unwrap_or(SharedEnd::Unknown), output)
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
        let ends = calls.iter().zip(self.company.ask(calls));
        ends.map(|(call, end)| {
            let mut output = Vec::new();
            (self.ended(call, end, &mut output), output)
        })
        .collect()
    }
}

#[cfg(test)]
mod company_tests;
#[cfg(test)]
mod tests;
