//! Makes invocations: what is known is not asked again, what fails may be tried again, what
//! finishes is remembered.

mod failure;
mod memory;
mod settings;
mod tally;

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::command::CommandPipeline;
use super::pace::Pace;
use super::signal::Interrupt;
use super::tree::{Leaf, Tree};
use super::{
    Captured, Cost, Ended, Event, Failure, FailureKind, Invocation, Outcome, Pipeline, Source,
    Task, answer, open_files, pool, retry,
};
use crate::digest::{Digest, Fields};
use crate::notice::Notice;
use memory::Memory;
use tally::Tally;

pub(crate) use settings::{Settings, Start};

/// Makes invocations, with the output folder, the cache, the journal and the rate limit behind it.
pub(crate) struct Runner<'a> {
    settings: Settings<'a>,
    pipeline: Box<dyn Pipeline + 'a>,
    interrupt: Arc<Interrupt>,
    tree: Tree,
    memory: Memory<'a>,
    pace: Option<Pace>,
    tally: Tally,
}

/// Text of an input, made when it is its turn.
type Input<'a, 'b> = dyn Fn(&Task) -> Cow<'a, str> + Sync + 'b;

thread_local! {
    /// The output that is being read; kept from one to the next.
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<'a> Runner<'a> {
    /// Locks and prepares the output folder.
    ///
    /// # Errors
    ///
    /// A [`Misuse`](crate::exit::Misuse) where the folder is not ours or another run holds it, and
    /// where the command cannot be run safely.
    pub(crate) fn open(settings: Settings<'a>) -> anyhow::Result<Self> {
        let interrupt = Interrupt::of_process()?;
        let pipeline = CommandPipeline::of(settings.config, Arc::clone(&interrupt))?;
        open_files::make_room(settings.config.jobs);
        Self::with(settings, Box::new(pipeline), interrupt)
    }

    /// The same for any pipeline and a way to stop it.
    pub(super) fn with(
        settings: Settings<'a>,
        pipeline: Box<dyn Pipeline + 'a>,
        interrupt: Arc<Interrupt>,
    ) -> anyhow::Result<Self> {
        settings.keep_files_apart()?;
        let mut tree = Tree::lock(settings.out)?.with_input(settings.config.input_name());
        let memory = Memory::open(&settings, &mut tree)?;
        Ok(Self {
            pace: settings.config.limits.max_per_minute.map(Pace::of),
            tree,
            memory,
            interrupt,
            pipeline,
            settings,
            tally: Tally::default(),
        })
    }

    /// Writes the inputs of `tasks` and runs them, `jobs` at a time. The outcomes are in the order
    /// of the tasks; none for a task that an interruption left undone. The phase is what observers
    /// are told.
    ///
    /// # Errors
    ///
    /// Only where the run cannot go on, e.g. an input cannot be written.
    pub(crate) fn run_all<'t>(
        &self,
        phase: &'static str,
        tasks: &[Task],
        input: &Input<'t, '_>,
    ) -> anyhow::Result<Vec<Option<Outcome>>> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        self.tell(&Event::Phase {
            name: phase,
            tasks: tasks.len(),
        });
        let outcomes = pool::run(tasks.len(), self.settings.config.jobs, &|at| {
            let task = &tasks[at];
            let outcome = self.perform(task, input)?;
            if let Some(outcome) = &outcome {
                self.tally.finished(outcome);
                self.tell(&Event::Finished { task, outcome });
            }
            Ok(outcome)
        })?;
        self.memory.settle()?;
        Ok(outcomes)
    }

    /// Comes to an end after the last look at the code of the pipeline: keeps the answers that wait
    /// for it, or takes back what this run has kept, where that code has changed.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(crate) fn conclude(&self) -> anyhow::Result<()> {
        self.memory.conclude()
    }

    /// Writes the inputs of `tasks` and runs nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    pub(crate) fn write_inputs<'t>(
        &self,
        tasks: &[Task],
        input: &Input<'t, '_>,
    ) -> anyhow::Result<()> {
        pool::run(tasks.len(), self.settings.config.jobs, &|at| {
            if self.interrupted() {
                return Ok(());
            }
            let leaf = self.tree.make(&tasks[at])?;
            leaf.clear()?;
            leaf.write_input(&input(&tasks[at]))
        })?;
        Ok(())
    }

    /// Whether nothing more is called: a signal has asked to stop, or the code of the pipeline has
    /// changed.
    pub(crate) fn stopped(&self) -> bool {
        self.interrupted() || self.memory.is_broken()
    }

    /// Whether a signal has asked to stop.
    fn interrupted(&self) -> bool {
        self.interrupt.tripped()
    }

    /// What was called and saved so far.
    pub(crate) fn cost(&self) -> Cost {
        self.tally.cost()
    }

    /// What there is to tell about the cache and the resumption.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.memory.notices()
    }

    fn tell(&self, event: &Event<'_>) {
        self.settings.observer.event(event);
    }

    /// One task, from its input to its outcome.
    fn perform(&self, task: &Task, input: &Input<'_, '_>) -> anyhow::Result<Option<Outcome>> {
        if self.stopped() {
            return Ok(None);
        }
        let text = input(task);
        let key = self.memory.key(&text);
        if let Some(outcome) = self.memory.resumed(task, key.as_ref()) {
            return Ok(Some(self.judged(outcome)));
        }
        let leaf = self.tree.make(task)?;
        let outcome = match self.cached(task, key.as_ref(), &text, &leaf)? {
            Some(outcome) => outcome,
            None => match self.call(task, &text, &leaf)? {
                Some(outcome) => outcome,
                None => return Ok(None),
            },
        };
        OUTPUT.with_borrow(|output| self.memory.remember(task, key.as_ref(), &outcome, output))?;
        Ok(Some(outcome))
    }

    /// The answer of the cache, with its files where a call would have left them.
    fn cached(
        &self,
        task: &Task,
        key: Option<&Digest>,
        text: &str,
        leaf: &Leaf,
    ) -> anyhow::Result<Option<Outcome>> {
        let Some((hit, decision)) = self.memory.cached(task, key) else {
            return Ok(None);
        };
        if (self.settings.accepts)(&decision).is_err() {
            return Ok(None);
        }
        leaf.write_input(text)?;
        leaf.write_output(&hit.output)?;
        Ok(Some(Outcome {
            result: Ok(decision),
            source: Source::Cached,
            attempts: 0,
            seconds: hit.seconds,
        }))
    }

    /// An outcome of an earlier run under the scorer of this one.
    fn judged(&self, mut outcome: Outcome) -> Outcome {
        if let Ok(decision) = outcome.result {
            outcome.result = self
                .judge(decision)
                .map_err(|refusal| Box::new(failure::with(refusal, Captured::default())));
        }
        outcome
    }

    /// Calls the pipeline until it answers, or fails for good.
    fn call(&self, task: &Task, text: &str, leaf: &Leaf) -> anyhow::Result<Option<Outcome>> {
        leaf.clear()?;
        let sample = sample(text, task.repeat);
        let mut seconds = 0.0;
        let mut attempt = 1;
        while self.may_start() {
            // Each attempt finds its input as it was, whatever the one before did to it.
            leaf.write_input(text)?;
            let output = leaf.output(attempt);
            let start = Instant::now();
            let ended = self.pipeline.run(&Invocation {
                input: leaf.input(),
                output: &output,
                repeat: task.repeat,
                sample: &sample,
            });
            let time = start.elapsed();
            seconds += time.as_secs_f64();
            self.tally.called(time, attempt);
            let Some(result) = self.read(ended, &output) else {
                break;
            };
            let delay = result
                .as_ref()
                .err()
                .and_then(|failure| self.delay(task, attempt, failure));
            let Some(delay) = delay else {
                leaf.settle(attempt)?;
                return Ok(Some(Outcome {
                    result: result.map_err(Box::new),
                    source: Source::Called,
                    attempts: attempt,
                    seconds,
                }));
            };
            if !self.interrupt.sleep(delay) {
                break;
            }
            attempt += 1;
        }
        leaf.discard(attempt)?;
        Ok(None)
    }

    /// Waits for its turn where there is a rate limit. Not after an interruption.
    fn may_start(&self) -> bool {
        if self.memory.is_broken() {
            return false;
        }
        match &self.pace {
            Some(pace) => pace.wait(&self.interrupt),
            None => !self.interrupted(),
        }
    }

    /// The delay before another attempt, told of; none where this failure is final.
    fn delay(&self, task: &Task, attempt: usize, failure: &Failure) -> Option<Duration> {
        let retry = &self.settings.config.retry;
        let delay = retry::delay(retry, &task.to_string(), attempt, &failure.kind)?;
        self.tell(&Event::Retrying {
            task,
            attempt: attempt + 1,
            delay: delay.as_secs_f64(),
            failure,
        });
        Some(delay)
    }

    /// The answer of a call, or why there is none; nothing where it was interrupted.
    fn read(&self, ended: Ended, output: &Path) -> Option<Result<Value, Failure>> {
        let config = self.settings.config;
        let captured = match ended {
            Ended::Done(captured) => captured,
            Ended::Interrupted => return None,
            // Whoever stops a run often stops what it has started too: no failure of the pipeline.
            Ended::Failed(FailureKind::Signal(_) | FailureKind::Exit(129..=143), _)
                if self.interrupted() =>
            {
                return None;
            }
            ended => return Some(Err(failure::of(ended, config.limits.timeout))),
        };
        let answer = OUTPUT.with_borrow_mut(|bytes| {
            answer::read(output, config.limits.max_output_bytes, bytes)
                .and_then(|()| answer::decision(bytes, &config.decision_field))
                .and_then(|decision| self.judge(decision))
        });
        Some(answer.map_err(|refusal| failure::with(refusal, captured)))
    }

    /// Lets the scorer refuse a decision.
    fn judge(&self, decision: Value) -> Result<Value, answer::Refusal> {
        match (self.settings.accepts)(&decision) {
            Ok(()) => Ok(decision),
            Err(what) => Err(failure::refused(
                &self.settings.config.decision_field,
                &what,
            )),
        }
    }
}

/// A text that differs between the repeats of an input. It depends on nothing else, above all not on
/// the seed: what the cache keeps under the key of an input was answered with the text of its first
/// run, whichever run asks for it, and a resumed repeat with the text that it would have now.
fn sample(input: &str, repeat: usize) -> String {
    let fields = Fields::of("kelvin/sample/v1")
        .field("input", input)
        .field("repeat", repeat.to_be_bytes());
    fields.digest().short(16)
}

#[cfg(test)]
mod tests;
