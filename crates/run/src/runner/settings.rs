//! The settings of a runner, and a check that its output folder contains no files worth keeping.

use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::config::{Around, Config, Limits, Retry};
use crate::targets::{Address, TurnsPlace};
use crate::tools::Tools;
use crate::{Observer, Observing, Reader};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_system::pipeline::Watch;

/// How a runner starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Start with an empty output folder.
    Fresh,
    /// Start with the results that an interrupted run has left in the folder.
    Resume,
}

/// The program that a probe calls, and its files.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The address of the pipeline.
    pub target: &'a Address,
    /// Where the decision is in the output; empty for the whole output.
    pub decision_field: &'a str,
    /// The name of the files that the pipeline reads.
    pub input_name: &'static str,
    /// The file or folder from which the inputs are made, relative to the root.
    pub inputs: &'a str,
    /// Where the turns of a conversation are in each input; none if an input is passed unchanged.
    pub turns: Option<&'a TurnsPlace>,
}

/// A target that a probe calls, with the reader of its answers. Each step has its own runner, and so its own output
/// folder, journal, cache and retries.
#[derive(Clone)]
pub struct Step<'a> {
    /// The folder of its files within the folder of the probe; none for the first step, whose files are in the folder
    /// of the probe itself.
    pub folder: Option<String>,
    /// The program that is called.
    pub program: Program<'a>,
    /// Extracts from the answers the value that the probe needs.
    pub reader: &'a dyn Reader,
}

impl Program<'_> {
    /// The digest of the target and the declared environment: everything on which an answer depends besides the input
    /// and the code. An unset variable differs from an empty one.
    pub fn digest(&self, config: &Config) -> Digest {
        let mut fields = Fields::of("kelvin/command/v1")
            .field("run", &*self.target.text())
            .field("decision_field", self.decision_field);
        if let Some(turns) = self.turns {
            fields = fields.field("turns", turns.pointer());
        }
        for name in &config.env {
            fields = match env::var_os(name) {
                Some(value) => fields.field(name, value.as_encoded_bytes()),
                None => fields.field("unset", name),
            };
        }
        fields.digest()
    }
}

/// The rules of a configuration for its calls: their limits, and the conditions on which their answers depend.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The path of the configuration as it was given, for messages.
    pub file: PathBuf,
    /// The folder of the configuration; absolute.
    pub root: PathBuf,
    /// How many processes of the pipeline run at the same time.
    pub jobs: NonZeroUsize,
    /// How many calls each process handles at the same time.
    pub at_once: NonZeroUsize,
    /// The limits of one call, and of the rate of calls.
    pub limits: Limits,
    /// When a failed call is repeated.
    pub retry: Retry,
    /// The folder of the cache, if there is one.
    pub cache: Option<PathBuf>,
    /// The digest of the target and of the declared environment.
    pub command: Digest,
    /// The variables that are declared to change answers.
    pub env: Vec<String>,
    /// The programs that the command starts and that are not part of the code.
    pub tools: Tools,
    /// The digest of the environment of the job, if there is one.
    pub around: Option<Digest>,
    /// The digest of everything that defines what is measured. A run continues an earlier run only if the digests are
    /// equal.
    pub measured: Digest,
    /// Where the inputs of the probe come from; absolute.
    pub cases: PathBuf,
    /// The name of the files that the pipeline reads.
    pub input_name: &'static str,
    /// Where the decision is in the output; empty for the whole output.
    pub decision_field: String,
    /// Where the turns of a conversation are in each input.
    pub turns: Option<TurnsPlace>,
}

impl Rules {
    /// The rules of a configuration for the calls of one probe.
    pub fn of(config: &Config, program: &Program<'_>) -> Self {
        let root = std::path::absolute(&config.root).unwrap_or_else(|_| config.root.clone());
        let cache = config.cache.as_ref();
        let around = config.around.as_ref();
        Self {
            file: config.file.clone(),
            jobs: config.jobs,
            at_once: NonZeroUsize::new(program.target.at_once()).unwrap_or(NonZeroUsize::MIN),
            limits: config.limits.clone(),
            retry: config.retry.clone(),
            cache: cache.map(|cache| root.join(&cache.dir)),
            command: program.digest(config),
            env: config.env.clone(),
            tools: Tools::of(
                program.target,
                &root,
                config.fingerprint.is_empty(),
                around.map(Around::setup),
            ),
            around: around.map(|around| around.digest(&config.env)),
            measured: config.measured(),
            cases: root.join(program.inputs),
            input_name: program.input_name,
            decision_field: program.decision_field.to_owned(),
            turns: program.turns.cloned(),
            root,
        }
    }

    /// Adds the file that declares a target to an error about that target.
    pub(super) fn in_file(&self, misuse: Misuse) -> Misuse {
        Misuse {
            what: format!("{}: {}", self.file.display(), misuse.what),
            ..misuse
        }
    }
}

/// The data that a runner needs besides the target.
pub struct RunnerSettings<'a> {
    /// The settings of the configuration for the calls.
    pub rules: Rules,
    /// The output folder; absolute. The runner creates it if it does not exist, locks it, and marks it as an output of
    /// this program.
    pub out: &'a Path,
    /// Whether the folder is emptied, or the run continues from its content.
    pub start: Start,
    /// The fingerprint of the pipeline's code; without it, no answer is cached or reused.
    pub fingerprint: Option<Digest>,
    /// Detects a change of this code; after a change, no answer is stored and no more calls are made.
    pub watch: Option<&'a Watch>,
    /// Extracts from the answers the value that the probe needs.
    pub reader: &'a dyn Reader,
    /// Receives the events of the run.
    pub observer: &'a dyn Observer,
    /// Extracts from every invocation the value that another probe needs; none if no other probe needs one.
    pub observing: Option<Observing<'a>>,
}

impl RunnerSettings<'_> {
    /// Rejects an output folder with files worth keeping, because its content would be removed.
    pub(super) fn keep_files_apart(&self) -> Result<(), Misuse> {
        let rules = &self.rules;
        let inside = |what: &str, path: &Path| {
            if !path.starts_with(self.out) {
                return Ok(());
            }
            Err(Misuse::new(format!(
                "the output folder `{}` holds {what}, and its content is removed by every run",
                self.out.display()
            ))
            .help("name another output folder with `--out`"))
        };
        inside("the configuration", &rules.root)?;
        inside("the cases", &rules.cases)?;
        match &rules.cache {
            Some(cache) => inside("the cache", cache),
            None => Ok(()),
        }
    }
}
