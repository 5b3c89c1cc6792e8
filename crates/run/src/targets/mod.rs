//! How a pipeline is reached. A [`Target`] makes one call of the pipeline; what happens around the
//! call (retries, the cache, the rate limit, the files of the run) is the work of `run`.
//!
//! A target is one file in this folder, or one folder, and one line in the registry.

mod address;
mod command;
mod declared;
mod limits;
mod meter;
mod model;
mod registry;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use kelvin_base::exit::Misuse;
use kelvin_system::signal::Interrupt;

pub use address::Address;
#[cfg(any(test, feature = "fixtures"))]
pub use command::serve_the_tests;
pub use command::{SUPERVISE, SideCommand, SideEnd, SideProgram, dismiss, serve, setup};
use kelvin_base::failure::{Failure, Streams};
use kelvin_base::usage::Usage;
pub use limits::CallLimits;
pub use meter::{Entry, Meter, Pass};
pub use model::{Asking, Endpoint, ModelName, ModelSettings, base_url};
#[cfg(test)]
pub use registry::tests_only;

/// The system under test, ready to be called. Several threads call it at the same time.
pub trait Target: Sync {
    /// Calls the pipeline once, and puts what it answers into `output`, which is empty before.
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended;

    /// Whether the pipeline itself writes the output file of a call. Where it does not, the run
    /// writes that file, because the folder of a run has every output.
    fn writes_the_output_file(&self) -> bool {
        false
    }

    /// Whether calls can be made. It is asked before the first one, and not for a rehearsal.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that says what is missing, e.g. the key of a model's server.
    fn ready(&self) -> Result<(), Misuse> {
        Ok(())
    }

    /// What bounds the calls of the model that is called; none where no model is. The run asks it before
    /// every call, so a target around another one has to hand it on.
    fn meter(&self) -> Option<&Meter> {
        None
    }
}

/// One call of the pipeline. The input is there as a value and as a file, and the target takes
/// whichever of the two it can hand over.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The input.
    pub input: &'a str,
    /// A file that holds the input, where nothing tells whether it is an original or a variant.
    pub input_file: &'a Path,
    /// The file that the output belongs into. It does not exist before the call.
    pub output_file: &'a Path,
    /// Which run of this input it is, from 1. A pipeline that is given variants must not know it.
    pub repeat: usize,
    /// A text that differs between the repeats of an input and depends on nothing else. The
    /// pipeline is to see it as `KELVIN_SAMPLE`.
    pub sample: &'a str,
    /// Where the call is made; none for the folder of the configuration.
    pub workplace: Option<Workplace<'a>>,
}

/// The place of a call that has one of its own. A target that starts no process has no use for it.
#[derive(Clone, Copy, Debug)]
pub struct Workplace<'a> {
    /// The working directory, which the command line can name as `{workspace}`.
    pub folder: &'a Path,
    /// Further variables of the environment.
    pub variables: &'a [(String, OsString)],
    /// Takes what the call prints on its standard output, whether it answers or fails.
    pub printed: &'a RefCell<StandardOutput>,
}

/// What a call printed on its standard output.
#[derive(Debug, Default)]
pub struct StandardOutput {
    /// From its beginning, as much as an output may have.
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
}

/// How one call of the pipeline ended.
#[derive(Debug)]
pub enum Ended {
    /// With an output, which nobody has read yet.
    Answered(Reply),
    /// Without an output.
    Failed {
        /// Why there is none, with what the call has printed.
        failure: Box<Failure>,
        /// What it has brought back all the same. What it printed is in the failure.
        reply: Reply,
    },
    /// The run was interrupted, and the call was stopped with it. This is neither an answer nor a
    /// failure of the pipeline.
    Interrupted,
}

/// What a call has brought back beside its output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The exit code; none where the call was stopped, or the target starts no process.
    pub exit: Option<i32>,
    /// The ends of what it printed.
    pub streams: Streams,
    /// The tokens that it has used, where a model was called.
    pub usage: Option<Usage>,
    /// How long the other side asks to wait before another attempt.
    pub retry_after: Option<Duration>,
    /// What the pipeline itself has answered, where a target around that of the pipeline has put something
    /// else into the output.
    pub own_output: Option<Vec<u8>>,
}

/// What every target is opened with.
#[derive(Clone, Debug)]
pub struct Site {
    /// The folder of the configuration: the working directory of a process, and the base of paths.
    pub root: PathBuf,
    /// A call that takes longer is stopped.
    pub timeout: Duration,
    /// A larger output is a failure.
    pub max_output_bytes: u64,
    /// Tells when the run is to stop. A target has to end its calls soon after.
    pub interrupt: Arc<Interrupt>,
}

/// A kind of target, as the registry knows it.
pub trait TargetKind: Sync {
    /// The key that its settings stand under, as in `run: {KEY: SETTINGS}`. The command has none:
    /// the text under `run` is the command line.
    fn key(&self) -> Option<&'static str>;

    /// The JSON schema of its settings. The configuration is checked against it, and editors use it.
    fn schema(&self) -> Value;

    /// Opens the target. The settings fit the schema.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that says what is wrong with the settings.
    fn open(&self, settings: &Value, site: &Site) -> Result<Box<dyn Target>, Misuse>;

    /// What of the settings the answers depend on. Everything, unless a kind says otherwise: a price, for
    /// instance, changes no answer, and an answer of the cache stays one when it changes.
    fn identity(&self, settings: &Value) -> Value {
        settings.clone()
    }

    /// Whether its answers may depend on files of the repository. Those of a server do not.
    fn runs_code(&self, settings: &Value) -> bool {
        let _ = settings;
        true
    }

    /// Finds out what the target would start, without starting it.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] where [`open`](Self::open) would refuse the settings.
    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse>;
}

/// What a target starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program, as it is written; none where that is not known before the call.
    pub program: Option<String>,
    /// Where the program is; none where it was not found, or is not known.
    pub found: Option<PathBuf>,
    /// The file that the program is to run and that does not exist.
    pub absent: Option<String>,
}
