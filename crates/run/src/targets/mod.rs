//! The ways to reach a pipeline. A [`Target`] makes one call of the pipeline; everything around the call (retries, the
//! cache, the rate limit, the files of the run) is done by `run`.
//!
//! Each target is one file or one folder in this folder, and one line in the registry.

mod address;
mod command;
mod handed;
mod http;
mod meter;
mod model;
mod node;
mod python;
mod registry;
mod worker;

use std::cell::RefCell;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::tree::Premises;
use kelvin_base::exit::Misuse;
use kelvin_system::signal::Interrupt;

pub use address::Address;
pub use command::{
    SUPERVISE, SideCommand, SideEnd, SideProgram, dismiss, know_word, serve, serve_the_tests, setup,
};
pub use handed::TurnsPlace;
pub(crate) use http::{HttpProblem, example_of, http_problems};
use kelvin_base::failure::{Failure, Streams};
use kelvin_base::notice::Notice;
use kelvin_base::usage::Usage;
pub use meter::{Admission, CallLimits, Meter, Pass};
pub use model::{AskedModel, Asking, Endpoint, ModelName, ModelSettings, base_url};
pub(crate) use registry::has_added;
#[cfg(test)]
pub use registry::tests_only;

/// The system under test, ready to be called. Several threads call it at the same time.
pub trait Target: Sync {
    /// Calls the pipeline once, and puts its answer into `output`, which is empty before.
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended;

    /// Whether the pipeline itself writes the output file of a call. If not, the run writes that file, because the
    /// folder of a run contains every output.
    fn writes_the_output_file(&self) -> bool {
        false
    }

    /// The files and folders that a call needs besides the text of its input.
    fn premises(&self) -> Premises {
        Premises::Folder
    }

    /// Checks that calls can be made. The run asks before the first call, but not for a dry run.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that names the missing thing, e.g. the key of a model's server.
    fn ready(&self) -> Result<(), Misuse> {
        Ok(())
    }

    /// The limits of the called model; none if no model is called. The run asks for them before every call, so a target
    /// that wraps another one has to forward this.
    fn meter(&self) -> Option<&Meter> {
        None
    }

    /// The same pipeline in the state before its first call. None if no call can leave data in memory for the next one,
    /// because each has its own process, or because a model is called.
    fn afresh(&self) -> Option<FreshTarget<'_>> {
        None
    }

    /// Makes calls that start at the same time, in this order, in one process that handles several. Only called if
    /// [`afresh`](Self::afresh) says that this is possible.
    fn call_together(&self, calls: &[Invocation<'_>]) -> Vec<(Ended, Vec<u8>)> {
        let one = |call| {
            let mut output = Vec::new();
            (self.call(call, &mut output), output)
        };
        calls.iter().map(one).collect()
    }

    /// Describes whether the service behind the target answers; none if there is no service.
    fn answers(&self) -> Option<Result<String, String>> {
        None
    }

    /// Notices about the calls so far.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// A pipeline without earlier calls, if there can be one.
pub struct FreshTarget<'a> {
    /// The pipeline.
    pub target: Box<dyn Target + 'a>,
    /// The word for the process or service that stays in memory from one call to the next, for messages.
    pub noun: &'static str,
    /// Whether this is the same process or service as before, because there can be only one.
    pub remembers: bool,
    /// The key of the configuration that lets one process handle several calls at once; none if it handles one at a
    /// time.
    pub together: Option<&'static str>,
}

/// One call of the pipeline. The input is given as a value and as a file, and the target uses the
/// form that it can pass on.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The input.
    pub input: &'a str,
    /// A file with the input, unless the target [needs none](Target::premises). Its path does not reveal whether the
    /// input is an original or a variant.
    pub input_file: &'a Path,
    /// The file for the output. It does not exist before the call.
    pub output_file: &'a Path,
    /// The number of this repeat of the input, from 1. A pipeline that gets variants must not know it.
    pub repeat: usize,
    /// A text that differs between the repeats of an input and depends only on the input and the repeat. The pipeline
    /// gets it as `KELVIN_SAMPLE`.
    pub sample: &'a str,
    /// The folder in which the call is made; none for the folder of the configuration.
    pub workplace: Option<Workplace<'a>>,
}

/// The separate working folder of a call. A target that starts no process does not use it.
#[derive(Clone, Copy, Debug)]
pub struct Workplace<'a> {
    /// The working directory, for which the command line can use `{workspace}`.
    pub folder: &'a Path,
    /// Additional variables of the environment.
    pub variables: &'a [(String, OsString)],
    /// Receives the standard output of the call, whether it answers or fails.
    pub printed: &'a RefCell<StandardOutput>,
}

/// The standard output of a call.
#[derive(Debug, Default)]
pub struct StandardOutput {
    /// The bytes from the beginning, as many as an output may have.
    pub bytes: Vec<u8>,
    /// Whether the call printed more bytes than an output may have.
    pub is_cut: bool,
}

/// How one call of the pipeline ended.
#[derive(Debug)]
pub enum Ended {
    /// The call has an output, which has not been read yet.
    Answered(Reply),
    /// The call has no output.
    Failed {
        /// The reason, with the text that the call printed.
        failure: Box<Failure>,
        /// The other results of the call, without the printed text, which is in the failure.
        reply: Reply,
    },
    /// The run was interrupted, and the call was stopped with it. This is neither an answer nor a
    /// failure of the pipeline.
    Interrupted,
}

/// The results of a call besides its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The exit code; none if the call was stopped, or the target starts no process.
    pub exit: Option<i32>,
    /// The last part of the printed text.
    pub streams: Streams,
    /// The tokens that the call used, if a model was called.
    pub usage: Option<Usage>,
    /// The name of the model that answered, as reported by the server; none if the server reports none, and for a
    /// command. It may differ from the declared name, which can be an alias.
    pub served: Option<String>,
    /// The server's identification of its system state (`system_fingerprint`), if it reports one.
    pub fingerprint: Option<String>,
    /// How long the server asks to wait before another attempt.
    pub retry_after: Option<Duration>,
    /// Whether this call was the first answer of a process or service that stays in memory. The time of such a call
    /// includes starting, importing and loading.
    pub is_first: bool,
    /// The answer of the pipeline itself, if a wrapping target has replaced the output.
    pub own_output: Option<Vec<u8>>,
    /// The outputs of the earlier turns, in order, without the output of the last turn.
    pub earlier: Vec<Vec<u8>>,
}

impl Ended {
    /// A failed call whose only other result is the exit code, if there is one.
    fn failed(failure: Failure, exit: Option<i32>) -> Self {
        Self::Failed {
            failure: Box::new(failure),
            reply: Reply {
                exit,
                ..Reply::default()
            },
        }
    }

    /// Adds the outputs of the earlier turns of the conversation to this end of a call.
    fn after(mut self, earlier: Vec<Vec<u8>>) -> Self {
        if let Self::Answered(reply) | Self::Failed { reply, .. } = &mut self {
            reply.earlier = earlier;
        }
        self
    }
}

/// The settings with which every target is opened.
#[derive(Clone, Debug)]
pub struct TargetSite {
    /// The folder of the configuration: the working directory of a process, and the base of paths.
    pub root: PathBuf,
    /// The time after which a call is stopped.
    pub timeout: Duration,
    /// The limit of an output. A larger output is a failure.
    pub max_output_bytes: u64,
    /// Where the decision is in the output; empty for the whole output.
    pub decision_field: String,
    /// The maximum number of processes that answer at the same time.
    pub jobs: NonZeroUsize,
    /// Where the turns of a conversation are in each input; none if an input is passed unchanged.
    pub turns: Option<TurnsPlace>,
    /// Signals that the run is stopped. A target has to end its calls soon after that.
    pub interrupt: Arc<Interrupt>,
}

/// A kind of target in the registry.
pub trait TargetKind: Sync {
    /// The key for the settings of this kind, as in `run: {KEY: SETTINGS}`. The command has none:
    /// the text under `run` is the command line.
    fn key(&self) -> Option<&'static str>;

    /// The JSON schema of the settings. The configuration is checked against it, and editors use it.
    fn schema(&self) -> Value;

    /// Opens the target. The settings match the schema.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that describes the problem of the settings.
    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse>;

    /// The settings on which the answers depend. By default these are all settings. A kind can leave some out: a price,
    /// for instance, changes no answer, so stored answers stay valid when it changes.
    fn identity(&self, settings: &Value) -> Value {
        settings.clone()
    }

    /// Whether the answers may depend on files of the repository. The answers of a server do not.
    fn runs_code(&self, settings: &Value) -> bool {
        let _ = settings;
        true
    }

    /// The command line that is started, in which programs and files are searched for; none if the settings are
    /// searched instead.
    fn line(&self, settings: &Value) -> Option<String> {
        let _ = settings;
        None
    }

    /// Whether a process of the pipeline stays in memory between calls, so that it may remember earlier calls.
    fn stays(&self) -> bool {
        false
    }

    /// How many calls one process handles at the same time.
    fn at_once(&self, settings: &Value) -> usize {
        let _ = settings;
        1
    }

    /// Whether a call can pass several inputs one after the other, as the turns of a conversation.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot, and advice.
    fn takes_turns(&self, settings: &Value) -> Result<(), Misuse> {
        let _ = settings;
        let what = match self.key() {
            Some(key) => format!("`run: {{{key}: ...}}` gets one input a call"),
            None => "a command gets one input a call, and ends with it".to_owned(),
        };
        Err(Misuse::new(what).help(
            "reach the pipeline by `worker`, `python`, `node` or `http`, which can keep a conversation from one turn to the \
             next, or leave `turns` out: then it gets the whole record",
        ))
    }

    /// Whether the same process answers, regardless of the checked-out commit: then measuring both a base and a change
    /// now shows no difference.
    fn is_of_no_commit(&self, settings: &Value) -> bool {
        let _ = settings;
        false
    }

    /// Whether a call can have its own working directory and variables.
    fn has_workplaces(&self) -> bool {
        true
    }

    /// Finds out which program the target would start, without starting it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if [`open`](Self::open) would reject the settings.
    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse>;
}

/// The program or service that a target would start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The name of the program in the configuration; none if it is not known before the call.
    pub program: Option<String>,
    /// The path of the program; none if it was not found, or is not known.
    pub found: Option<PathBuf>,
    /// A missing file that the program would run.
    pub absent: Option<String>,
    /// Why the program cannot find what it is to call, as a sentence, if that is certain without a call.
    pub lacks: Option<String>,
    /// A remark about the program, in words that fit after its name.
    pub remark: Option<String>,
    /// Why no program is started, in words that fit after "none, since".
    pub none_since: Option<String>,
}
