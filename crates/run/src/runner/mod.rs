//! Makes invocations: stored answers are used again, failed calls may be repeated, and finished calls are recorded.

mod memory;
mod order;
mod permit;
mod settings;
mod tally;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::tree::{AttemptPlace, Leaf, Tree};
use super::{AnswerSource, Event, Observing, Outcome, Task, cache, pool, retry};
use crate::targets::{Ended, Invocation, Reply, Target, TargetSite};
use kelvin_base::cost::Cost;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::usage::Usage;
use kelvin_system::signal::Interrupt;
use memory::Memory;
use permit::Pace;
use tally::Tally;

pub use order::calls_of_an_order;
pub use settings::{Program, Rules, RunnerSettings, Start, Step};

/// Makes invocations, and owns the output folder, the cache, the journal and the rate limit.
pub struct Runner<'a> {
    settings: RunnerSettings<'a>,
    target: Box<dyn Target + 'a>,
    interrupt: Arc<Interrupt>,
    tree: Tree,
    memory: Memory<'a>,
    pace: Option<Pace>,
    tally: Tally,
    /// Why no more calls of the model are allowed; set once its limit is reached.
    spent: OnceLock<String>,
    /// The findings about the order of the calls.
    order: OnceLock<Vec<Notice>>,
    /// The first input with its name, if it was called alone at the beginning.
    first_input: OnceLock<(String, String)>,
}

/// Makes the text of an input when its task is run.
type Input<'a, 'b> = dyn Fn(&Task) -> Cow<'a, str> + Sync + 'b;

/// A conversation of more bytes is not read again.
const LARGEST_CONVERSATION: u64 = 1 << 20;

/// The capacity of the output buffer that a thread reuses for the next call.
const KEPT_ROOM: usize = 256 * 1024;

thread_local! {
    /// The output of the last call of this thread. The next call reuses the buffer.
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<'a> Runner<'a> {
    /// Opens the target with `open`, then locks and prepares the output folder.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if the folder was not made by this program, if another run has locked it, or if the target cannot
    /// be used.
    pub fn open(
        open: impl FnOnce(&TargetSite) -> Result<Box<dyn Target + 'a>, Misuse>,
        settings: RunnerSettings<'a>,
    ) -> anyhow::Result<Self> {
        Self::stopped_by(Interrupt::of_process()?, open, settings)
    }

    /// The same as [`open`](Self::open), with the interrupt that stops the run.
    ///
    /// # Errors
    ///
    /// Fails like [`open`](Self::open).
    pub fn stopped_by(
        interrupt: Arc<Interrupt>,
        open: impl FnOnce(&TargetSite) -> Result<Box<dyn Target + 'a>, Misuse>,
        mut settings: RunnerSettings<'a>,
    ) -> anyhow::Result<Self> {
        let rules = &mut settings.rules;
        let fewer = pool::fit_open_files(&mut rules.jobs, rules.at_once);
        let rules = &settings.rules;
        let target = open(&TargetSite {
            root: rules.root.clone(),
            timeout: rules.limits.timeout,
            max_output_bytes: rules.limits.max_output_bytes,
            decision_field: rules.decision_field.clone(),
            jobs: rules.jobs,
            turns: rules.turns.clone(),
            interrupt: Arc::clone(&interrupt),
        });
        let target = target.map_err(|misuse| rules.in_file(misuse))?;
        settings.keep_files_apart()?;
        let mut tree = Tree::lock(settings.out)?.with_input(rules.input_name);
        let mut memory = Memory::open(&settings, &mut tree)?;
        memory.add_notice(fewer);
        Ok(Self {
            pace: rules.limits.max_per_minute.map(Pace::of),
            tree,
            memory,
            interrupt,
            target,
            settings,
            tally: Tally::default(),
            spent: OnceLock::new(),
            order: OnceLock::new(),
            first_input: OnceLock::new(),
        })
    }

    /// Writes the inputs of `tasks` and runs them, `jobs` at a time. The outcomes are in the order of the tasks; none
    /// for a task that was not finished because of an interruption. The observer receives the name of the phase.
    ///
    /// # Errors
    ///
    /// Fails only if the run cannot continue, e.g. because an input cannot be written.
    pub fn run_all<'t>(
        &self,
        phase: &'static str,
        tasks: &[Task],
        input: &Input<'t, '_>,
    ) -> anyhow::Result<Vec<Option<Outcome>>> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        self.target
            .ready()
            .map_err(|misuse| self.settings.rules.in_file(misuse))?;
        self.emit(&Event::Phase {
            name: phase,
            tasks: tasks.len(),
        });
        let is_first = tasks.len() == 1 && self.cost() == Cost::default();
        self.memory.learns(is_first)?;
        self.look_at_the_order(tasks, input)?;
        let rules = &self.settings.rules;
        let calls = rules.jobs.saturating_mul(rules.at_once);
        let outcomes = pool::run(tasks.len(), calls, &|at| {
            let task = &tasks[at];
            let Some(mut outcome) = self.perform(task, input)? else {
                return Ok(None);
            };
            self.tally.finished(&outcome);
            self.emit(&Event::Finished { outcome: &outcome });
            outcome.result = outcome.result.map(|value| self.settings.reader.held(value));
            Ok(Some(outcome))
        })?;
        self.memory.settle()?;
        self.memory.learns(false)?;
        Ok(outcomes)
    }

    /// Ends the run after the last check of the code of the pipeline: stores the answers that wait for that check, or,
    /// if the code has changed, removes all answers that this run has stored.
    ///
    /// # Errors
    ///
    /// Fails if the files cannot be written.
    pub fn conclude(&self) -> anyhow::Result<()> {
        self.memory.conclude()
    }

    /// Writes the inputs of the tasks without running them.
    ///
    /// # Errors
    ///
    /// Fails if an input cannot be written.
    pub fn write_inputs<'t>(&self, tasks: &[Task], input: &Input<'t, '_>) -> anyhow::Result<()> {
        pool::run(tasks.len(), self.settings.rules.jobs, &|at| {
            if self.interrupted() {
                return Ok(());
            }
            let leaf = self.tree.prepare(&tasks[at])?;
            leaf.clear()?;
            leaf.write_input(&input(&tasks[at]))
        })?;
        Ok(())
    }

    /// Whether no more calls are made: a signal has requested a stop, the code of the pipeline has changed, or the
    /// limit of the model's calls is reached.
    pub fn stopped(&self) -> bool {
        self.halted() || self.spent().is_some()
    }

    /// Why the limit for calls of models has ended the run; none if it has not ended it.
    pub fn spent(&self) -> Option<&str> {
        self.spent.get().map(String::as_str)
    }

    /// Whether the run has stopped completely. After a limit is reached, stored answers are still used.
    fn halted(&self) -> bool {
        self.interrupted() || self.memory.is_broken()
    }

    /// Whether a signal has requested a stop.
    fn interrupted(&self) -> bool {
        self.interrupt.tripped()
    }

    /// The cost of the run so far.
    pub fn cost(&self) -> Cost {
        self.tally.cost()
    }

    /// The output of a finished task, from its folder. None if it is too large for the cache to store completely, so
    /// that an answer from the cache is as complete as one from the pipeline.
    pub fn output(&self, task: &Task) -> Option<Vec<u8>> {
        self.tree.output(task, cache::KEPT_WHOLE as u64)
    }

    /// The turns of a finished task with their outputs, a JSON array from its folder. None if its input has no turns, if
    /// the answer is one of the cache, or if the file is too large.
    pub fn conversation(&self, task: &Task) -> Option<Vec<u8>> {
        self.settings.rules.turns.as_ref()?;
        self.tree.conversation(task, LARGEST_CONVERSATION)
    }

    /// Whether this runner calls a judge.
    pub fn is_of_a_judge(&self) -> bool {
        self.settings.reader.is_of_a_judge()
    }

    /// Notices about the cache, the resumption and the processes of the pipeline.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = self.memory.notices();
        notices.extend(self.order.get().into_iter().flatten().cloned());
        notices.extend(self.target.notices());
        notices.extend(self.spent().map(|why| {
            let text = format!("{why}; what had finished by then is in this report");
            Notice::new(Code::Spent, text)
        }));
        notices
    }

    fn emit(&self, event: &Event<'_>) {
        self.settings.observer.event(event);
    }

    /// Performs one task, from its input to its outcome.
    fn perform(&self, task: &Task, input: &Input<'_, '_>) -> anyhow::Result<Option<Outcome>> {
        if self.halted() {
            return Ok(None);
        }
        let text = input(task);
        let key = self.memory.key(&text);
        if let Some(outcome) = self.memory.resumed(task, key.as_ref()) {
            return Ok(Some(self.handed_on(task, &text, outcome)));
        }
        let leaf = self.tree.prepare(task)?;
        let outcome = match self.cached(task, key.as_ref(), &text, &leaf)? {
            Some(outcome) => outcome,
            None => match self.call(task, &text, &leaf)? {
                Some(outcome) => outcome,
                None => return Ok(None),
            },
        };
        OUTPUT.with_borrow(|output| self.memory.remember(task, key.as_ref(), &outcome, output))?;
        Ok(Some(self.handed_on(task, &text, outcome)))
    }

    /// The outcome without the observed value, which is passed to the observer.
    fn handed_on(&self, task: &Task, text: &str, mut outcome: Outcome) -> Outcome {
        let observed = outcome.observed.take();
        if let Some((observing, observed)) = self.settings.observing.zip(observed) {
            let input = Digest::of(text.as_bytes());
            let Observing { probe, observer } = observing;
            observer.keep(probe, task, input, &observed);
        }
        outcome
    }

    /// The answer from the cache, with its files where a call would have left them.
    fn cached(
        &self,
        task: &Task,
        key: Option<&Digest>,
        text: &str,
        leaf: &Leaf,
    ) -> anyhow::Result<Option<Outcome>> {
        let Some((outcome, output)) = self.memory.cached(task, key) else {
            return Ok(None);
        };
        leaf.write_input(text)?;
        leaf.write_output(&output)?;
        Ok(Some(outcome))
    }

    /// Calls the pipeline until it answers, or fails for the last time.
    fn call(&self, task: &Task, text: &str, leaf: &Leaf) -> anyhow::Result<Option<Outcome>> {
        leaf.clear()?;
        let sample = sample(text, task.repeat);
        let mut seconds = 0.0;
        let mut usage = None;
        let mut unreadable = 0;
        let mut attempt = 1;
        while let Some(pass) = self.may_start(text) {
            let place = self.place(text, &sample, attempt)?;
            let call = Invocation {
                input: text,
                input_file: place.input(),
                output_file: place.output(),
                repeat: task.repeat,
                sample: &sample,
                workplace: None,
            };
            let start = Instant::now();
            let (ended, names_its_place) = Self::invoke(&*self.target, &call, &place);
            let time = start.elapsed();
            seconds += time.as_secs_f64();
            let has_output = matches!(ended, Ended::Answered(_));
            let (result, reply) = match ended {
                Ended::Answered(reply) => (self.read(&reply), reply),
                Ended::Failed { failure, reply } => (Err(failure), reply),
                Ended::Interrupted => {
                    self.tally.called(time, attempt, None);
                    leaf.write_input(text)?;
                    return Ok(None);
                }
            };
            pass.used(reply.usage);
            self.tally.called(time, attempt, reply.usage);
            usage = Usage::sum(usage, reply.usage);
            let delay = result.as_ref().err().and_then(|failure| {
                unreadable += usize::from(failure.kind == FailureKind::GradeUnreadable);
                self.delay(task, (attempt, unreadable), failure, reply.retry_after)
            });
            let Some(delay) = delay else {
                place.hand_over(leaf, text)?;
                let is_written = self.target.writes_the_output_file() && !names_its_place;
                if has_output && !is_written {
                    OUTPUT.with_borrow(|output| leaf.write_output(output))?;
                }
                if let Some(turns) = &self.settings.rules.turns {
                    OUTPUT.with_borrow(|last| {
                        let earlier = reply.earlier.iter().map(Vec::as_slice);
                        let last = has_output.then_some(&**last);
                        let outputs: Vec<&[u8]> = earlier.chain(last).collect();
                        leaf.write_conversation(&turns.conversation(text, &outputs))
                    })?;
                }
                let observed = self.observe(has_output, &reply);
                let keeps = result.is_ok() && self.settings.reader.keeps_streams();
                return Ok(Some(Outcome {
                    result,
                    exit: reply.exit,
                    streams: keeps.then(|| Box::new(reply.streams)),
                    source: AnswerSource::Called,
                    attempts: attempt,
                    seconds,
                    is_first: reply.is_first,
                    usage: usage.map(Box::new),
                    served: reply.served.map(String::into_boxed_str),
                    observed,
                }));
            };
            drop(place);
            if !self.interrupt.sleep(delay) {
                leaf.write_input(text)?;
                return Ok(None);
            }
            attempt += 1;
        }
        Ok(None)
    }

    /// The working place of a call.
    fn place(&self, text: &str, sample: &str, attempt: usize) -> anyhow::Result<AttemptPlace> {
        let premises = self.target.premises();
        self.tree.place(text, sample, attempt, premises)
    }

    /// Makes one call. Afterwards its output is in the buffer of this thread, with the path of its place removed.
    /// Returns whether the path was in the output.
    fn invoke(target: &dyn Target, call: &Invocation<'_>, place: &AttemptPlace) -> (Ended, bool) {
        OUTPUT.with_borrow_mut(|output| {
            output.clear();
            // The memory of a single large answer is released immediately.
            output.shrink_to(KEPT_ROOM);
            let mut ended = target.call(call, output);
            let names_its_place = Self::unname(&mut ended, output, place);
            (ended, names_its_place)
        })
    }

    /// Removes the path of a place from everything that the call returned. Returns whether the path was in the output.
    fn unname(ended: &mut Ended, output: &mut Vec<u8>, place: &AttemptPlace) -> bool {
        match ended {
            Ended::Answered(reply) => {
                place.unname(&mut reply.streams.stdout);
                place.unname(&mut reply.streams.stderr);
            }
            Ended::Failed { failure, .. } => {
                place.unname(&mut failure.message);
                place.unname(&mut failure.stdout);
                place.unname(&mut failure.stderr);
            }
            Ended::Interrupted => {}
        }
        let unnamed = place.without_name(output);
        let names_its_place = unnamed.is_some();
        if let Some(unnamed) = unnamed {
            *output = unnamed;
        }
        names_its_place
    }

    /// The value that the reader extracts from the output of this thread's last call.
    fn read(&self, reply: &Reply) -> Result<Value, Box<Failure>> {
        let read = OUTPUT.with_borrow(|output| self.settings.reader.read(output, reply));
        read.map_err(|failure| Box::new(failure.printed(reply.streams.clone())))
    }

    /// The value that the observer extracts from this thread's last call.
    fn observe(&self, has_output: bool, reply: &Reply) -> Option<Box<Value>> {
        let Observing { observer, .. } = self.settings.observing?;
        let observed = OUTPUT.with_borrow(|output| {
            let output = reply.own_output.as_deref().unwrap_or(output);
            observer.observe(has_output.then_some(output), reply)
        });
        Some(Box::new(observed))
    }

    /// The delay before another attempt, which is reported to the observer; none if the failure is final.
    fn delay(
        &self,
        task: &Task,
        (attempt, unreadable): (usize, usize),
        failure: &Failure,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let retry = &self.settings.rules.retry;
        let delay = match failure.kind {
            FailureKind::GradeUnreadable => retry::once_more(unreadable)?,
            _ => retry::delay(retry, &task.to_string(), attempt, &failure.kind, asked)?,
        };
        self.emit(&Event::Retrying {
            task,
            attempt: attempt + 1,
            delay: delay.as_secs_f64(),
            failure,
        });
        Some(delay)
    }
}

/// A text that differs between the repeats of an input and depends only on the input and the repeat. In particular it
/// does not depend on the seed: a stored answer must be usable in any run that would send the same text.
fn sample(input: &str, repeat: usize) -> String {
    let fields = Fields::of("kelvin/sample/v1")
        .field("input", input)
        .field("repeat", repeat.to_be_bytes());
    fields.digest().short(16)
}

#[cfg(test)]
mod tests;
