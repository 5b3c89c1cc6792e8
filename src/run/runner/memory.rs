//! What is known already: from an interrupted run, and from the cache.

use serde_json::Value;

use super::{Settings, Start};
use crate::config::Config;
use crate::digest::{Digest, Fields};
use crate::notice::{Code, Notice};
use crate::run::cache::{self, Cache, Hit};
use crate::run::journal::{Header, Journal, Left};
use crate::run::keys::Keys;
use crate::run::tree::Tree;
use crate::run::{Outcome, Task, answer};

/// The journal and the cache; neither where nothing tells the code of the pipeline.
pub(super) struct Memory {
    config: Config,
    keys: Option<Keys>,
    journal: Option<Journal>,
    cache: Option<Cache>,
    notices: Vec<Notice>,
}

impl Memory {
    /// Opens both, and empties the output folder of what is not known.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it; a [`Misuse`](crate::exit::Misuse) where it is the folder of the
    /// cache.
    pub(super) fn open(settings: &Settings<'_>, tree: &mut Tree) -> anyhow::Result<Self> {
        let config = settings.config;
        let mut memory = Self {
            config: config.clone(),
            keys: settings.fingerprint.map(|code| Keys::of(config, code)),
            journal: None,
            cache: None,
            notices: Vec::new(),
        };
        let Some(code) = settings.fingerprint else {
            memory.tell_what_is_off(settings);
            tree.empty()?;
            return Ok(memory);
        };
        memory.cache = match &config.cache {
            Some(cache) => Some(Cache::open(&config.root.join(&cache.dir))?),
            None => None,
        };
        let header = header(config, code);
        let left = match settings.start {
            Start::Fresh => Left::default(),
            Start::Resume => Left::load(&tree.journal(), &header)?,
        };
        if left.is_empty() {
            tree.empty()?;
            if settings.start == Start::Resume {
                memory.notices.push(Notice::new(
                    Code::Cache,
                    "there was nothing to resume: no earlier run with this command, code and \
                     configuration has left a finished invocation here",
                ));
            }
        } else {
            tree.keep(left.tasks())?;
        }
        memory.journal = Some(Journal::open(&tree.journal(), &header, left)?);
        Ok(memory)
    }

    fn tell_what_is_off(&mut self, settings: &Settings<'_>) {
        let why = "nothing tells whether the code of the pipeline has changed: it is in no git \
                   repository, and `fingerprint` names no files";
        if settings.config.cache.is_some() {
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

    /// The key of an input.
    pub(super) fn key(&self, text: &str) -> Option<Digest> {
        self.keys.as_ref().map(|keys| keys.key(text))
    }

    /// What an interrupted run has found out about a task.
    pub(super) fn resumed(&self, task: &Task, key: Option<&Digest>) -> Option<Outcome> {
        self.journal.as_ref()?.find(task, key?)
    }

    /// What the cache has, with the decision in it. A repeat is never answered.
    pub(super) fn cached(&self, task: &Task, key: Option<&Digest>) -> Option<(Hit, Value)> {
        let cache = self.cache_for(task)?;
        let hit = cache.find(key?)?;
        match answer::decision(&hit.output, &self.config.decision_field) {
            Ok(decision) => Some((hit, decision)),
            Err(_) => {
                cache.refuse();
                None
            }
        }
    }

    /// Keeps an answer for later runs; of a large output only the decision.
    pub(super) fn keep(
        &self,
        task: &Task,
        key: Option<&Digest>,
        output: &[u8],
        decision: &Value,
        seconds: f64,
    ) {
        let (Some(cache), Some(key)) = (self.cache_for(task), key) else {
            return;
        };
        if output.len() <= cache::KEPT_WHOLE {
            cache.keep(key, output, seconds);
        } else {
            let smallest = answer::smallest(decision, &self.config.decision_field);
            cache.keep(key, smallest.to_string().as_bytes(), seconds);
        }
    }

    /// Notes down what has finished.
    ///
    /// # Errors
    ///
    /// Where the disk refuses it.
    pub(super) fn note(
        &self,
        task: &Task,
        key: Option<&Digest>,
        outcome: &Outcome,
    ) -> anyhow::Result<()> {
        match (&self.journal, key) {
            (Some(journal), Some(key)) => journal.note(task, key, outcome),
            _ => Ok(()),
        }
    }

    /// What there is to tell.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let cache = self.cache.iter().flat_map(Cache::notices);
        self.notices.iter().cloned().chain(cache).collect()
    }

    fn cache_for(&self, task: &Task) -> Option<&Cache> {
        self.cache.as_ref().filter(|_| task.repeat <= 1)
    }
}

/// What a journal holds for.
fn header(config: &Config, code: Digest) -> Header {
    let limits = &config.limits;
    Header {
        kelvin_journal: 1,
        pipeline: Fields::of("kelvin/journal/v1")
            .field("command", config.command().bytes())
            .field("code", code.bytes())
            .field("measured", config.measured().bytes())
            .digest(),
        limits: Fields::of("kelvin/limits/v1")
            .field("timeout", limits.timeout.as_nanos().to_be_bytes())
            .field("max_output_bytes", limits.max_output_bytes.to_be_bytes())
            .field("retry", format!("{:?}", config.retry))
            .digest(),
    }
}
