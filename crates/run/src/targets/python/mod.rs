//! The pipeline as a Python function: a worker that runs our own program. The function is found by its module and its
//! name, and is called with the parameters that its signature names. It is run by the Python that the project
//! itself uses.

mod named;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;

use self::named::NamedPlace;
use super::worker::{WorkerProgram, WorkerProgramKind, WorkerSettings};
use super::{Launch, TargetSite};
use crate::targets::command::locate_program;
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
        let place = named::place(&settings.named, root);
        let elsewhere = match &place {
            NamedPlace::Elsewhere(module) => format!(
                "; there is no `{module}` in the folder of the configuration, so it has to be an installed package"
            ),
            _ => String::new(),
        };
        Ok(Launch {
            program: Some(interpreter.program),
            found: interpreter.found,
            lacks: match place {
                NamedPlace::Nowhere(why) => Some(why),
                _ => None,
            },
            remark: Some(format!(
                "it runs `{}`, and was taken because {}{elsewhere}",
                settings.named, interpreter.why
            )),
            ..Launch::default()
        })
    }
}

/// The folders of virtual environments.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// The names of Python in the search path.
const NAMES: [&str; 2] = ["python3", "python"];

/// The Python of a project.
struct Interpreter {
    /// The words of the command that starts this Python.
    pub(super) words: Vec<OsString>,
    /// The first word, for people.
    pub(super) program: String,
    /// All words, for people.
    pub(super) shown: String,
    /// The path of the program; none if it was not found.
    pub(super) found: Option<PathBuf>,
    /// Why this Python was chosen, in words that fit after "because".
    pub(super) why: String,
}

impl Interpreter {
    /// Determines the Python without starting a program.
    pub(super) fn find(written: Option<&str>, root: &Path) -> Self {
        if let Some(written) = written {
            let why = "`interpreter` names it";
            return Self::started_by(&[written], root, why.to_owned());
        }
        let top = root
            .ancestors()
            .position(|folder| folder.join(".git").exists());
        let folders = || root.ancestors().take(top.unwrap_or(0) + 1).enumerate();
        for (above, folder) in folders() {
            for environment in ENVIRONMENTS {
                let program = folder.join(environment).join("bin/python");
                if program.is_file() {
                    // The path is relative to the project, which may be checked out anywhere.
                    let shown = format!("{}{environment}/bin/python", "../".repeat(above));
                    return Self {
                        words: vec![program.clone().into()],
                        program: shown.clone(),
                        shown: format!("`{shown}`"),
                        found: Some(program),
                        why: format!("the project has the environment `{environment}`"),
                    };
                }
            }
        }
        for (_, folder) in folders() {
            let project = fs::read_to_string(folder.join("pyproject.toml")).unwrap_or_default();
            for (tool, lock) in [("uv", "uv.lock"), ("poetry", "poetry.lock")] {
                let has_lock = folder.join(lock).is_file();
                let table = format!("[tool.{tool}");
                let has_table = project.lines().any(|line| line.trim().starts_with(&table));
                if (has_lock || has_table) && locate_program(tool, root).is_some() {
                    let file = if has_lock { lock } else { "pyproject.toml" };
                    let why = format!("`{file}` is one of {tool}");
                    return Self::started_by(&[tool, "run", "python"], root, why);
                }
            }
        }
        let name = NAMES
            .into_iter()
            .find(|name| locate_program(name, root).is_some())
            .unwrap_or(NAMES[0]);
        let why = "the project has no `.venv`, and is none of uv or poetry that are installed";
        Self::started_by(&[name], root, why.to_owned())
    }

    fn started_by(words: &[&str], root: &Path, why: String) -> Self {
        let program = words.first().copied().unwrap_or_default();
        let found = locate_program(program, root);
        let first = found.clone().map_or_else(|| program.into(), OsString::from);
        let rest = words.iter().skip(1).map(OsString::from);
        Self {
            words: std::iter::once(first).chain(rest).collect(),
            program: program.to_owned(),
            shown: format!("`{}`", words.join(" ")),
            found,
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_python_of_the_project_comes_before_that_of_the_machine() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path();
        let root = top.join("pipelines/one");
        fs::create_dir_all(&root).expect("made");
        let find = || Interpreter::find(None, &root);
        assert!(find().program.starts_with("python"), "{}", find().program);
        assert!(find().why.contains("no `.venv`"));
        let program = |path: PathBuf| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, "").expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        };
        // A folder above belongs to the project only within its repository.
        program(top.join(".venv/bin/python"));
        assert!(find().program.starts_with("python"));
        fs::create_dir(top.join(".git")).expect("made");
        assert_eq!(find().program, "../../.venv/bin/python");
        assert_eq!(find().found, Some(top.join(".venv/bin/python")));
        program(root.join("venv/bin/python"));
        assert_eq!(find().program, "venv/bin/python");
        let named = Interpreter::find(Some("bin/mine"), &root);
        assert_eq!((named.program.as_str(), named.found), ("bin/mine", None));
    }
}
