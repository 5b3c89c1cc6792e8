//! The pipeline as a function of a JavaScript module: a worker that runs our own program in Node.

use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;

use super::command::{find_program, locate_program};
use super::worker::{WorkerProgram, WorkerProgramKind, WorkerSettings};
use super::{Launch, TargetSite};
use kelvin_base::exit::Misuse;

/// The program that serves a function. It is passed to Node as an argument, so no file has to be created.
const RUNNER: &str = include_str!("runner.mjs");
/// Starts Node with the messages on separate descriptors. The text that it or its children print goes to its log.
const APART: &str = "exec \"$@\" 4<&0 </dev/null 3>&1 >&2";
/// The program that runs JavaScript.
const PROGRAM: &str = "node";

/// What a configuration writes under the key of this target: the address of a function, or a mapping of the address and
/// of what bounds the process.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum WrittenNode {
    /// The file and the exported function, as `app.mjs:decide`.
    Address(#[schemars(length(min = 1))] String),
    /// The function, and what bounds the process.
    Bounded(BoundedNode),
}

/// The function, and what bounds the process.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct BoundedNode {
    /// The file and the exported function, as `app.mjs:decide`. The file is relative to that of the configuration.
    #[schemars(length(min = 1))]
    function: String,
    /// The program that runs it. Without it: `node`.
    #[schemars(length(min = 1))]
    program: Option<String>,
    /// The most memory, in MiB, that a worker and the processes below it may hold. One that holds more is replaced.
    /// Only Linux reports how much memory that is.
    #[schemars(range(min = 1, max = 100_000_000))]
    max_memory_mb: Option<u64>,
    /// After this many calls a worker is replaced; 1 starts a process for each call.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    recycle_after: Option<u64>,
    /// How many calls are under way at the same time, on the event loop of each process. There are `jobs` processes.
    #[schemars(range(min = 1, max = 1000))]
    concurrency: Option<usize>,
    /// The most inputs in one call, for a function that gets a list of inputs and returns a list of as many answers.
    #[schemars(range(min = 1, max = 1000))]
    batch: Option<usize>,
}

/// The program that runs a function.
fn runtime(settings: &WorkerSettings) -> &str {
    settings.program.as_deref().unwrap_or(PROGRAM)
}

/// The kind of target whose settings name a function of a JavaScript module.
pub(super) struct NodeKind;

impl WorkerProgramKind for NodeKind {
    const KEY: &'static str = "node";
    const NOUN: &'static str = "function";
    const NAMED_BY: &'static str = "function";
    type Written = WrittenNode;

    fn check(function: &str) -> Result<(), Misuse> {
        let is_name = |name: &str| {
            name.chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '$')
                && !name.is_empty()
        };
        match function.rsplit_once(':') {
            Some((file, name)) if file.contains('.') && is_name(name) => Ok(()),
            _ => Err(
                Misuse::new(format!("`node` names no function: found `{function}`"))
                    .help("write the file and the exported function, as `app.mjs:decide`"),
            ),
        }
    }

    fn program(settings: WorkerSettings, site: &TargetSite) -> Result<WorkerProgram, Misuse> {
        let program = runtime(&settings);
        let shown = format!("`{}` by `{program}`", settings.named);
        let mut words: Vec<OsString> = ["/bin/sh", "-c", APART, "sh"].map(Into::into).into();
        words.push(find_program(program, &site.root).into());
        words.extend(["--input-type=module", "-e", RUNNER, "--"].map(OsString::from));
        words.extend([site.root.clone().into(), settings.named.into()]);
        Ok(WorkerProgram::new(words, &site.root, shown))
    }

    fn look_up(settings: &WorkerSettings, root: &Path) -> Result<Launch, Misuse> {
        let function = &settings.named;
        let (file, _) = function.rsplit_once(':').unwrap_or((function, ""));
        Ok(Launch {
            program: Some(runtime(settings).to_owned()),
            found: locate_program(runtime(settings), root),
            absent: (!root.join(file).is_file()).then(|| file.to_owned()),
            remark: Some(format!("it runs `{function}`")),
            ..Launch::default()
        })
    }
}

#[cfg(test)]
mod tests;
