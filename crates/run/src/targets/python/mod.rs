//! The pipeline as a Python function: a worker that runs our own program. The function is found by its module and its
//! name, and is called with the parameters that its signature names.

mod interpreter;

use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;

use super::worker::{WorkerProgram, WorkerProgramKind, WorkerSettings};
use super::{Launch, TargetSite};
use interpreter::Interpreter;
use kelvin_base::exit::Misuse;

/// The program that serves a function. It is passed to the interpreter as an argument, so no file has to be created.
const RUNNER: &str = include_str!("runner.py");

/// What a configuration writes under the key of this target: the address of a function, or a mapping of the address and
/// of what bounds the process.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum WrittenPython {
    /// The module and the function, as `app.pipeline:decide`.
    Address(#[schemars(length(min = 1))] String),
    /// The function, and what bounds the process.
    Bounded(BoundedPython),
}

/// The function, and what bounds the process.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct BoundedPython {
    /// The module and the function, as `app.pipeline:decide`.
    #[schemars(length(min = 1))]
    function: String,
    /// The Python program. Without it: that of `.venv` or `venv`, of uv or of poetry, if the project uses one, and
    /// `python3` otherwise.
    #[schemars(length(min = 1))]
    interpreter: Option<String>,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux reports how much memory that is.
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After this many calls a worker is replaced; 1 starts a process for each call.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
    /// How many calls of an `async def` are under way at the same time, on one event loop of each process. There are
    /// `jobs` processes.
    #[schemars(range(min = 1, max = 1000))]
    concurrency: Option<usize>,
    /// The most inputs in one call, for a function that gets a list of inputs and returns a list of as many answers.
    #[schemars(range(min = 1, max = 1000))]
    batch: Option<usize>,
}

/// The kind of target whose settings name a Python function.
pub(super) struct PythonKind;

impl WorkerProgramKind for PythonKind {
    const KEY: &'static str = "python";
    const NOUN: &'static str = "function";
    const NAMED_BY: &'static str = "function";
    type Written = WrittenPython;

    fn check(function: &str) -> Result<(), Misuse> {
        let is_dotted = |text: &str| {
            text.split('.').all(|name| {
                name.chars().all(|c| c.is_alphanumeric() || c == '_')
                    && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            })
        };
        match function.split_once(':') {
            Some((module, name)) if is_dotted(module) && is_dotted(name) => Ok(()),
            _ => Err(
                Misuse::new(format!("`python` names no function: found `{function}`"))
                    .help("write the module and the function, as `app.pipeline:decide` for `decide` in `app/pipeline.py`"),
            ),
        }
    }

    fn program(settings: WorkerSettings, site: &TargetSite) -> Result<WorkerProgram, Misuse> {
        let interpreter = Interpreter::find(settings.program.as_deref(), &site.root);
        let shown = format!("`{}` by {}", settings.named, interpreter.shown);
        let mut words: Vec<OsString> = interpreter.words;
        words.extend(["-c".into(), RUNNER.into(), site.root.clone().into()]);
        words.push(settings.named.into());
        Ok(WorkerProgram::new(words, &site.root, shown))
    }

    fn look_up(settings: &WorkerSettings, root: &Path) -> Result<Launch, Misuse> {
        let interpreter = Interpreter::find(settings.program.as_deref(), root);
        Ok(Launch {
            program: Some(interpreter.program),
            found: interpreter.found,
            absent: None,
            remark: Some(format!(
                "it runs `{}`, and was taken because {}",
                settings.named, interpreter.why
            )),
            none_since: None,
        })
    }
}
