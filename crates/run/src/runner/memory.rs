//! The results that a run has from an interrupted run and from the cache, and the results that it stores itself.
//!
//! An answer is stored only after a later check of the files of the pipeline has shown that they still have the
//! fingerprint of the run. The check comes after the answer, so it covers every earlier answer.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::{RunnerSettings, Start};
use crate::cache::{self, Cache, CacheHit, Keys};
use crate::journal::{self, Header, Journal, JournalBasis, LeftByEarlier};
use crate::tree::Tree;
use crate::{AnswerSource, Outcome, Reader, Task};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::FailureKind;
use kelvin_base::notice::{Code, Notice};
use kelvin_system::git;
use kelvin_system::pipeline::{Seen, Watch};

/// The journal and the cache; neither is used if it is not known whether the code of the pipeline has changed.
pub(super) struct Memory<'a> {
    reader: &'a dyn Reader,
    /// Whether every stored answer needs an observed value.
    is_observed: bool,
    keys: Option<Keys>,
    journal: Option<Journal>,
    cache: Option<Cache>,
    notices: Vec<Notice>,
    watch: Option<&'a Watch>,
    held: Mutex<Vec<Held>>,
    /// The keys of the answers that this run has stored in the cache.
    kept: Mutex<Vec<Digest>>,
}

/// An answer, or a failure, that is not stored yet.
struct Held {
    task: Task,
    key: Digest,
    outcome: Outcome,
    /// The entry for the cache.
    entry: Option<Vec<u8>>,
}

impl<'a> Memory<'a> {
    /// Opens the journal and the cache, and removes everything from the output folder that is not known. Fails if the
    /// files cannot be accessed; a [`Misuse`](kelvin_base::exit::Misuse) if the output folder is the folder of the
    /// cache.
    pub(super) fn open(settings: &RunnerSettings<'a>, tree: &mut Tree) -> anyhow::Result<Self> {
        let rules = &settings.rules;
        let mut memory = Self {
            reader: settings.reader,
            is_observed: settings.observing.is_some(),
            keys: settings
                .fingerprint
                .map(|code| Keys::of(rules, code, settings.reader, settings.observing)),
            journal: None,
            cache: None,
            notices: Vec::new(),
            watch: settings.watch,
            held: Mutex::default(),
            kept: Mutex::default(),
        };
        let Some(code) = settings.fingerprint else {
            memory.tell_what_is_off(settings);
            tree.empty()?;
            return Ok(memory);
        };
        memory.cache = match &rules.cache {
            Some(folder) => Some(Cache::open(folder)?),
            None => None,
        };
        let header = header(settings, code);
        let left = match settings.start {
            Start::Fresh => LeftByEarlier::default(),
            Start::Resume => LeftByEarlier::load(&tree.journal(), &header)?,
        };
        if left.is_empty() {
            tree.empty()?;
            if settings.start == Start::Resume {
                let text = "there was nothing to resume: no earlier run has left a finished invocation here";
                memory.notices.push(Notice::new(Code::Cache, text));
            }
        } else {
            memory.tell_what_differs(&left);
            tree.keep(left.tasks())?;
        }
        memory.journal = Some(Journal::open(&tree.journal(), &header, left)?);
        Ok(memory)
    }

    fn tell_what_is_off(&mut self, settings: &RunnerSettings<'_>) {
        let unread = git::unread(&settings.rules.root);
        let why = unread.unwrap_or_else(|| "it is in no git repository".to_owned());
        let why = format!(
            "nothing tells whether the code of the pipeline has changed: {why}, and `fingerprint` names no files"
        );
        if settings.rules.cache.is_some() {
            self.notices.push(Notice::new(
                Code::Cache,
                format!("the cache was not used: {why}"),
            ));
        }
        if settings.start == Start::Resume {
            self.notices.push(Notice::new(
                Code::Cache,
                format!("nothing was resumed: {why}"),
            ));
        }
    }

    /// Adds a notice with the variables that differ from those of the journal.
    fn tell_what_differs(&mut self, left: &LeftByEarlier) {
        let names: Vec<String> = left.variables().map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return;
        }
        let text = format!(
            "since the resumed run began, these environment variables have changed: {}. What \
             had finished was answered with their old values. Where one of them changes answers, begin anew \
             without `--resume`, and name it under `env`",
            names.join(", ")
        );
        self.notices.push(Notice::new(Code::Cache, text));
    }

    /// The key of an input.
    pub(super) fn key(&self, text: &str) -> Option<Digest> {
        self.keys.as_ref().map(|keys| keys.key(text))
    }

    /// The stored outcome of a task from an interrupted run.
    pub(super) fn resumed(&self, task: &Task, key: Option<&Digest>) -> Option<Outcome> {
        let outcome = self.journal.as_ref()?.find(task, key?)?;
        (!self.is_observed || outcome.observed.is_some()).then_some(outcome)
    }

    /// The answer in the cache, with its output. A repeat is never answered from the cache.
    pub(super) fn cached(&self, task: &Task, key: Option<&Digest>) -> Option<(Outcome, Vec<u8>)> {
        let cache = self.cache_for(task)?;
        let CacheHit {
            output,
            seconds,
            reply,
            observed,
        } = cache.find(key?)?;
        if self.is_observed && observed.is_none() {
            cache.refuse();
            return None;
        }
        match self.reader.read(&output, &reply) {
            Ok(value) => {
                let outcome = Outcome {
                    result: Ok(value),
                    exit: reply.exit,
                    streams: self.reader.keeps_streams().then(|| Box::new(reply.streams)),
                    source: AnswerSource::Cached,
                    attempts: 0,
                    seconds,
                    is_first: reply.is_first,
                    usage: reply.usage.map(Box::new),
                    served: reply.served.map(String::into_boxed_str),
                    observed,
                };
                Some((outcome, output))
            }
            Err(failure) => {
                // The scorer is not part of the key. If it rejects the decision of another scorer, the entry is not
                // damaged.
                if failure.kind != FailureKind::DecisionRefused {
                    cache.refuse();
                }
                None
            }
        }
    }

    /// Records a finished task in the journal, and an answer with its output also in the cache. Fails if the files
    /// cannot be written.
    pub(super) fn remember(
        &self,
        task: &Task,
        key: Option<&Digest>,
        outcome: &Outcome,
        output: &[u8],
    ) -> anyhow::Result<()> {
        let Some(key) = key else {
            return Ok(());
        };
        let held = Held {
            task: task.clone(),
            key: *key,
            outcome: outcome.clone(),
            entry: self.entry(task, outcome, output),
        };
        // A stored answer does not depend on the present code: no call was made for it.
        if outcome.source != AnswerSource::Called {
            return self.keep(&held);
        }
        locked(&self.held).push(held);
        let call = Duration::try_from_secs_f64(outcome.seconds).unwrap_or_default();
        match self.watch.is_none_or(|watch| watch.is_due(call)) {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// The findings of an earlier run about the order of the calls.
    pub(super) fn known_order(&self, key: Option<&Digest>) -> Option<Vec<Notice>> {
        let journal = self.journal.as_ref().and_then(Journal::order);
        journal.or_else(|| {
            let hit = self.cache.as_ref()?.find(key?)?;
            serde_json::from_slice(&hit.output).ok()
        })
    }

    /// Records the findings about the order of the calls. Fails if the file cannot be written.
    pub(super) fn note_order(
        &self,
        key: Option<&Digest>,
        notices: &[Notice],
    ) -> anyhow::Result<()> {
        if let (Some(cache), Some(key)) = (&self.cache, key) {
            locked(&self.kept).push(*key);
            let outcome = Outcome {
                result: Ok(Value::Null),
                exit: None,
                streams: None,
                source: AnswerSource::Called,
                attempts: 1,
                seconds: 0.0,
                is_first: false,
                usage: None,
                served: None,
                observed: None,
            };
            cache.keep(key, &serde_json::to_vec(notices)?, &outcome);
        }
        match &self.journal {
            Some(journal) => journal.note_order(notices),
            None => Ok(()),
        }
    }

    /// Stores the waiting answers if the code of the pipeline is still the same. Fails if the files cannot be written.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        let mut held = mem::take(&mut *locked(&self.held));
        if held.is_empty() {
            return Ok(());
        }
        match self.watch.map_or(Seen::Same, Watch::look) {
            Seen::Same => held.iter().try_for_each(|held| self.keep(held)),
            Seen::Unsure => {
                locked(&self.held).append(&mut held);
                Ok(())
            }
            Seen::Changed => Ok(()),
        }
    }

    /// Stores the waiting answers that certainly come from the code with which the run began. If that code has changed,
    /// removes all answers that this run has stored. Fails if the files cannot be written: the remaining answers would
    /// later be used for this code.
    pub(super) fn conclude(&self) -> anyhow::Result<()> {
        let held = mem::take(&mut *locked(&self.held));
        match self.is_broken() {
            true => self.take_back(),
            false => held.iter().try_for_each(|held| self.keep(held)),
        }
    }

    /// Returns whether the next call is the first one and has to be made alone. After that call, records the files that
    /// it created. Fails if the files cannot be accessed.
    pub(super) fn learns(&self, is_alone: bool) -> anyhow::Result<()> {
        let Some(watch) = self.watch else {
            return Ok(());
        };
        let has_learned = watch.learns(is_alone);
        match (&self.journal, watch.made()) {
            (Some(journal), made) if has_learned && !made.is_empty() => journal.note_made(made),
            _ => Ok(()),
        }
    }

    /// Whether the code of the pipeline has changed.
    pub(super) fn is_broken(&self) -> bool {
        self.watch.is_some_and(Watch::is_broken)
    }

    fn take_back(&self) -> anyhow::Result<()> {
        if let Some(cache) = &self.cache {
            for key in mem::take(&mut *locked(&self.kept)) {
                cache.remove(&key)?;
            }
        }
        self.journal.as_ref().map_or(Ok(()), Journal::clear)
    }

    fn keep(&self, held: &Held) -> anyhow::Result<()> {
        if let (Some(cache), Some(entry)) = (&self.cache, &held.entry) {
            locked(&self.kept).push(held.key);
            cache.keep(&held.key, entry, &held.outcome);
        }
        match &self.journal {
            Some(journal) => journal.note(&held.task, &held.key, &held.outcome),
            None => Ok(()),
        }
    }

    /// The cache entry for an outcome; for a large output it contains only the value that the reader extracted.
    fn entry(&self, task: &Task, outcome: &Outcome, output: &[u8]) -> Option<Vec<u8>> {
        self.cache_for(task)?;
        let value = outcome.result.as_ref().ok()?;
        if outcome.source != AnswerSource::Called || !self.reader.may_be_kept(value) {
            return None;
        }
        Some(match output.len() <= cache::KEPT_WHOLE {
            true => output.to_vec(),
            false => self.reader.smallest(value),
        })
    }

    /// Adds a notice for the user.
    pub(super) fn add_notice(&mut self, notice: Option<Notice>) {
        self.notices.extend(notice);
    }

    /// Notices about the cache and the resumption.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let cache = self.cache.iter().flat_map(Cache::notices);
        self.notices.iter().cloned().chain(cache).collect()
    }

    fn cache_for(&self, task: &Task) -> Option<&Cache> {
        self.cache.as_ref().filter(|_| task.repeat <= 1)
    }
}

/// The content of a list, even if a thread has panicked while it held the lock: every change of these lists is a single
/// call, which a panic cannot interrupt.
fn locked<T>(list: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The header of a journal: the conditions under which its records are valid.
fn header(settings: &RunnerSettings<'_>, code: Digest) -> Header {
    let rules = &settings.rules;
    let limits = &rules.limits;
    let mut parts = vec![
        ("the command", "command", rules.command),
        ("the code of the pipeline", "code", code),
        ("the configuration", "measured", rules.measured),
        (
            "a program or file that the command names",
            "tools",
            rules.tools.lasting(),
        ),
        (
            "what is read of an output",
            "reader",
            settings.reader.digest(),
        ),
    ];
    if let Some(observing) = &settings.observing {
        let digest = observing.observer.digest();
        parts.push(("what observes the calls", "observer", digest));
    }
    let pipeline = parts.iter().fold(
        Fields::of("kelvin/journal/v3"),
        |fields, (_, label, digest)| fields.field(label, digest.bytes()),
    );
    let files = settings.watch.map(Watch::listed).unwrap_or_default();
    let files = files
        .into_iter()
        .map(|(name, digest)| (format!("`{name}`"), digest));
    // A file that is both code and tool counts as code.
    let files = rules.tools.listed().chain(files).collect();
    let shown = parts
        .iter()
        .map(|(shown, _, digest)| (*shown, digest.short(16)));
    Header {
        kelvin_journal: journal::VERSION,
        pipeline: pipeline.digest(),
        basis: JournalBasis::of(shown, files),
        variables: journal::variables_of_process(&rules.env),
        limits: Fields::of("kelvin/limits/v1")
            .field("timeout", limits.timeout.as_nanos().to_be_bytes())
            .field("max_output_bytes", limits.max_output_bytes.to_be_bytes())
            .field("retry", format!("{:?}", rules.retry))
            .digest(),
    }
}
