//! The pipeline as a function of a JavaScript module: a worker whose program is ours, run by Node.

use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::command::find_program;
use super::worker::{self, WorkerBounds, WorkerProgram, WorkerTarget};
use super::{Launch, Target, TargetKind, TargetSite};
use kelvin_base::exit::Misuse;

/// The program that serves a function. It is an argument of Node, so no file of it is left behind.
const RUNNER: &str = include_str!("runner.mjs");
/// Starts it with the messages on descriptors of their own. What it prints goes to its log, also what its children print.
const APART: &str = "exec \"$@\" 4<&0 </dev/null 3>&1 >&2";
/// The program that runs JavaScript.
const PROGRAM: &str = "node";

/// What a configuration writes under the key of this target: the address of a function, or a mapping of the address and
/// of what bounds the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenNode {
    /// The file and the exported function, as `app.mjs:decide`.
    Address(#[schemars(length(min = 1))] String),
    /// The function, and what bounds the process.
    Bounded(BoundedNode),
}

/// The function, and what bounds the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundedNode {
    /// The file and the exported function, as `app.mjs:decide`. The file is relative to that of the configuration.
    #[schemars(length(min = 1))]
    function: String,
    /// The program that runs it. Without it: `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    program: Option<String>,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux tells how much that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After so many calls a worker is replaced; 1 starts a process for each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
    /// How many calls are under way at the same time, on the event loop of each process. There are `jobs` processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    concurrency: Option<usize>,
    /// The most inputs of a function that gets a list of them, and returns a list of as many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    batch: Option<usize>,
}

impl BoundedNode {
    fn bounds(&self) -> Result<WorkerBounds, Misuse> {
        WorkerBounds::new(
            "node",
            (self.max_memory_mb, self.recycle_after),
            (self.concurrency, self.batch),
        )
    }

    fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(PROGRAM)
    }
}

/// The kind of target whose settings name a function of a JavaScript module.
pub(super) struct NodeKind;

impl NodeKind {
    /// The checked settings. The schema allows nothing else.
    fn read(settings: &Value) -> Result<BoundedNode, Misuse> {
        let written = match WrittenNode::deserialize(settings) {
            Ok(WrittenNode::Address(function)) => BoundedNode {
                function,
                ..BoundedNode::default()
            },
            Ok(WrittenNode::Bounded(written)) => written,
            Err(error) => return Err(Misuse::new(format!("`node` names no function: {error}"))),
        };
        let is_name = |name: &str| {
            name.chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '$')
                && !name.is_empty()
        };
        match written.function.rsplit_once(':') {
            Some((file, name)) if file.contains('.') && is_name(name) => {
                written.bounds()?;
                Ok(written)
            }
            _ => Err(Misuse::new(format!(
                "`node` names no function: found `{}`",
                written.function
            ))
            .help("write the file and the exported function, as `app.mjs:decide`")),
        }
    }
}

impl TargetKind for NodeKind {
    fn key(&self) -> Option<&'static str> {
        Some("node")
    }

    fn schema(&self) -> Value {
        worker::schema::<WrittenNode>()
    }

    fn open(&self, settings: &Value, site: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let settings = Self::read(settings)?;
        let program = settings.program();
        let shown = format!("`{}` by `{program}`", settings.function);
        let mut words: Vec<OsString> = ["/bin/sh", "-c", APART, "sh"].map(Into::into).into();
        words.push(find_program(program, &site.root).into());
        words.extend(["--input-type=module", "-e", RUNNER, "--"].map(OsString::from));
        let bounds = settings.bounds()?;
        words.extend([site.root.clone().into(), settings.function.into()]);
        let program = WorkerProgram::new(words, &site.root, shown);
        Ok(Box::new(WorkerTarget::new(program, bounds, site)))
    }

    /// As of a Python function.
    fn identity(&self, settings: &Value) -> Value {
        match Self::read(settings) {
            Ok(settings) => {
                let several = |most: &usize| *most > 1;
                let settings = BoundedNode {
                    max_memory_mb: None,
                    concurrency: settings.concurrency.filter(several),
                    batch: settings.batch.filter(several),
                    ..settings
                };
                let plain = BoundedNode {
                    function: settings.function.clone(),
                    ..BoundedNode::default()
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
        let path = find_program(settings.program(), root);
        let (file, _) = settings
            .function
            .rsplit_once(':')
            .unwrap_or((&settings.function, ""));
        Ok(Launch {
            program: Some(settings.program().to_owned()),
            found: (path.is_absolute() && path.is_file()).then_some(path),
            absent: (!root.join(file).is_file()).then(|| file.to_owned()),
            remark: Some(format!("it runs `{}`", settings.function)),
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
        bounds?.take_turns("node")
    }

    fn has_workplaces(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
