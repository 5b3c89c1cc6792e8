//! The pipeline as a Python function: a worker whose program is ours. The function is found by its module and its name,
//! and gets the parameters that it names.

mod interpreter;

use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::worker::{self, WorkerBounds, WorkerProgram, WorkerTarget};
use super::{Launch, Target, TargetKind, TargetSite};
use interpreter::Interpreter;
use kelvin_base::exit::Misuse;

/// The program that serves a function. It is an argument of the interpreter, so no file of it is left behind.
const RUNNER: &str = include_str!("runner.py");

/// What a configuration writes under the key of this target: the address of a function, or a mapping of the address and
/// of what bounds the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenPython {
    /// The module and the function, as `app.pipeline:decide`.
    Address(#[schemars(length(min = 1))] String),
    /// The function, and what bounds the process.
    Bounded(BoundedPython),
}

/// The function, and what bounds the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundedPython {
    /// The module and the function, as `app.pipeline:decide`.
    #[schemars(length(min = 1))]
    function: String,
    /// The program of Python. Without it: that of `.venv` or `venv`, of uv or of poetry, where the project uses one, and
    /// `python3` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    interpreter: Option<String>,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux tells how much that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After so many calls a worker is replaced; 1 starts a process for each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
    /// How many calls of an `async def` are under way at the same time, on one event loop of each process. There are
    /// `jobs` processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    concurrency: Option<usize>,
    /// The most inputs of a function that gets a list of them, and returns a list of as many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    batch: Option<usize>,
}

impl BoundedPython {
    fn bounds(&self) -> Result<WorkerBounds, Misuse> {
        WorkerBounds::new(
            "python",
            (self.max_memory_mb, self.recycle_after),
            (self.concurrency, self.batch),
        )
    }
}

/// The kind of target whose settings name a Python function.
pub(super) struct PythonKind;

impl PythonKind {
    /// The checked settings. The schema allows nothing else.
    fn read(settings: &Value) -> Result<BoundedPython, Misuse> {
        let written = match WrittenPython::deserialize(settings) {
            Ok(WrittenPython::Address(function)) => BoundedPython {
                function,
                interpreter: None,
                max_memory_mb: None,
                recycle_after: None,
                concurrency: None,
                batch: None,
            },
            Ok(WrittenPython::Bounded(written)) => written,
            Err(error) => {
                return Err(Misuse::new(format!("`python` names no function: {error}")));
            }
        };
        let is_dotted = |text: &str| {
            text.split('.').all(|name| {
                name.chars().all(|c| c.is_alphanumeric() || c == '_')
                    && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            })
        };
        match written.function.split_once(':') {
            Some((module, name)) if is_dotted(module) && is_dotted(name) => {
                written.bounds()?;
                Ok(written)
            }
            _ => Err(Misuse::new(format!(
                "`python` names no function: found `{}`",
                written.function
            ))
            .help("write the module and the function, as `app.pipeline:decide` for `decide` in `app/pipeline.py`")),
        }
    }
}

impl TargetKind for PythonKind {
    fn key(&self) -> Option<&'static str> {
        Some("python")
    }

    fn schema(&self) -> Value {
        worker::schema::<WrittenPython>()
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let settings = Self::read(settings)?;
        let interpreter = Interpreter::find(settings.interpreter.as_deref(), &site.root);
        let shown = format!("`{}` by {}", settings.function, interpreter.shown);
        let mut words: Vec<OsString> = interpreter.words;
        words.extend(["-c".into(), RUNNER.into(), site.root.clone().into()]);
        let bounds = settings.bounds()?;
        words.push(settings.function.into());
        let program = WorkerProgram::new(words, &site.root, shown);
        Ok(Box::new(WorkerTarget::new(program, bounds, site)))
    }

    /// As of a worker. Which Python is taken tells by its program and its packages, wherever they are.
    fn identity(&self, settings: &Value) -> Value {
        match Self::read(settings) {
            Ok(settings) => {
                let several = |most: &usize| *most > 1;
                let settings = BoundedPython {
                    max_memory_mb: None,
                    concurrency: settings.concurrency.filter(several),
                    batch: settings.batch.filter(several),
                    ..settings
                };
                let plain = BoundedPython {
                    interpreter: None,
                    recycle_after: None,
                    concurrency: None,
                    batch: None,
                    ..settings.clone()
                };
                match settings == plain {
                    true => json!(settings.function),
                    false => json!(settings),
                }
            }
            Err(_) => settings.clone(),
        }
    }

    fn at_once(&self, settings: &Value) -> usize {
        let bounds = Self::read(settings).and_then(|settings| settings.bounds());
        bounds.map_or(1, |bounds| bounds.at_once())
    }

    fn look_up(&self, settings: &Value, root: &Path) -> Result<Launch, Misuse> {
        let settings = Self::read(settings)?;
        let interpreter = Interpreter::find(settings.interpreter.as_deref(), root);
        Ok(Launch {
            program: Some(interpreter.program),
            found: interpreter.found,
            absent: None,
            remark: Some(format!(
                "it runs `{}`, and was taken because {}",
                settings.function, interpreter.why
            )),
            none_since: None,
        })
    }

    /// The program is looked up, and names nothing else.
    fn line(&self, _: &Value) -> Option<String> {
        Some(String::new())
    }

    fn stays(&self) -> bool {
        true
    }

    fn takes_turns(&self, settings: &Value) -> Result<(), Misuse> {
        let bounds = Self::read(settings).and_then(|settings| settings.bounds());
        bounds?.take_turns("python")
    }

    fn has_workplaces(&self) -> bool {
        false
    }
}
