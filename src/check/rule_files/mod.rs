//! Finds the files that define what is measured and that a change edits: those that a setting names, and those that a
//! check reads or runs without a setting.
//!
//! Without running a program, nobody can know which files it reads. So texts are searched for file names: the command
//! lines of the checks, every file that they name, and so on. A file that is found by mistake costs another
//! measurement; a file that is missed is an edit that nobody judges. Therefore some texts count as reading a whole
//! folder, except the known files of the pipeline: a text that names or lists a folder, and one that starts a tool
//! which finds its files itself.

mod commands;
mod mentions;
mod programs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::baseline::{self, Hint, Login};
use commands::NamedFiles;
pub(super) use commands::option_and_file;
use kelvin_run::config::{self, Config};
use kelvin_system::git::Oid;
use mentions::{Files, Reached};
use programs::Programs;

/// Labels of files that are reported but not used for a measurement: items, which are compared one by one.
const OF_ITEMS: [&str; 3] = ["golden set", "corpus", "prompts"];
/// The label of the file of scenarios. Only its expectations define what is measured: the expected value, the
/// scenario's own invariants, and its template.
const SCENARIOS: &str = "scenarios";
/// Whether a label is that of a file of items.
pub(super) fn is_of_items(what: &str) -> bool {
    OF_ITEMS.contains(&what) || what == SCENARIOS
}

/// The label of the template.
pub(super) const TEMPLATE: &str = "template of the workspace";
/// The label of a file of an evaluator.
pub(super) const EVALUATOR: &str = "evaluator";
/// The label of any other file.
const READ: &str = "file that a check reads or runs";

/// A file that defines what is measured and that the change edits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EditedRule {
    /// The label of the file.
    pub(super) what: &'static str,
    /// The path of the file within the repository.
    pub(super) path: PathBuf,
}

/// The edits of a change in the files that define what is measured.
#[derive(Debug, Default)]
pub(super) struct EditedRules {
    /// The files that the change edits.
    pub(super) files: Vec<EditedRule>,
    /// The program of the pipeline, if it is in the template.
    pub(super) pipeline_inside: Option<String>,
}

/// Finds the edited files, for a configuration of the base. `items`: the files with the items of the change, which are
/// compared one by one. Fails if the base cannot be read.
pub(super) fn edited(
    config: &Config,
    items: &dyn Fn() -> Vec<PathBuf>,
    with: (Option<&Login>, &Hint),
) -> anyhow::Result<EditedRules> {
    if !looks(config) {
        return Ok(EditedRules::default());
    }
    let (_, Some(against)) = baseline::edited(&config.root, with)? else {
        anyhow::bail!("the files of the repository cannot be listed");
    };
    if against.changed.is_empty() {
        return Ok(EditedRules::default());
    }
    let top = against.top.canonicalize().unwrap_or(against.top);
    let root = config.root.canonicalize()?;
    let below = root
        .strip_prefix(&top)
        .unwrap_or(Path::new(""))
        .to_path_buf();
    let mut all = against.files;
    all.extend(against.changed.iter().cloned());
    let files = Files::of(&top, &below, &all);
    let templates: Vec<PathBuf> = config
        .measured_folders()
        .iter()
        .flat_map(|(_, folder)| places(&top, &root.join(folder)))
        .collect();
    let mut scripts = BTreeMap::new();
    for (what, path) in config.measured_files() {
        for place in places(&top, &root.join(path)) {
            scripts.insert(place, what);
        }
    }
    let evaluators = edited_evaluators(config, &config.rescored_evaluators(), with)?;
    let pipeline = pipeline(config, &files);
    let checks = checks(config, &files, &templates, scripts.keys());
    let in_workspace = checks_in_workspace(config, &files, &templates);
    let is_checked = |path: &PathBuf| checks.names(path) || in_workspace.names(path);
    let mut programs = Programs::default();
    for line in config.targets().filter_map(|target| target.command_line()) {
        for folder in &templates {
            programs.find(line, (&top, &below), folder, &is_checked);
        }
    }
    let in_template = |path: &Path| templates.iter().any(|folder| path.starts_with(folder));
    // A file of the template is what a scenario begins with, whoever else names it. Only where the program of the
    // pipeline is such a file, the files that it names there are a part of it.
    let is_of_the_program = |path: &PathBuf| {
        let is_part = programs.are_inside() && pipeline.names(path) && !is_checked(path);
        programs.have(path) || is_part
    };
    let own = config.file.file_name().map(|name| below.join(name));
    let calibration = below.join(&config.gate.calibration);
    let mut found = EditedRules {
        files: Vec::new(),
        pipeline_inside: programs.shown(&templates),
    };
    let mut read = Vec::new();
    for path in &against.changed {
        if Some(path) == own.as_ref() || *path == calibration {
            continue;
        }
        let what = match scripts.get(path) {
            Some(what) if OF_ITEMS.contains(what) => continue,
            Some(&SCENARIOS) if !expects_otherwise(config, path, &top, with)? => continue,
            Some(what) => *what,
            // Edits of the pipeline's own files are judged by the behaviour of the pipeline.
            None if in_template(path) && is_of_the_program(path) => continue,
            None if in_template(path) => TEMPLATE,
            None if checks.names(path) => READ,
            None if evaluators.iter().any(|file| file.path == *path) => EVALUATOR,
            None if pipeline.names(path) || pipeline.may_read(path) => continue,
            None if checks.may_read(path) => {
                read.push(path.clone());
                continue;
            }
            None => continue,
        };
        found.files.push(EditedRule {
            what,
            path: path.clone(),
        });
    }
    if !read.is_empty() {
        let items: BTreeSet<PathBuf> = items()
            .iter()
            .filter_map(|item| item.canonicalize().ok())
            .collect();
        read.retain(|path| !items.contains(&top.join(path)));
        found
            .files
            .extend(read.into_iter().map(|path| EditedRule { what: READ, path }));
    }
    found.files.sort();
    Ok(found)
}

/// The files of evaluators that the change edits: those that one of the commands names, itself or through a wrapper. New,
/// deleted and renamed files are reported elsewhere: with the items that they score, or with the edited command. Fails
/// if the base, or a file of it, cannot be read.
pub(super) fn edited_evaluators(
    config: &Config,
    commands: &[&str],
    with: (Option<&Login>, &Hint),
) -> anyhow::Result<Vec<EditedRule>> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    let (_, Some(against)) = baseline::edited(&config.root, with)? else {
        anyhow::bail!("the files of the repository cannot be listed");
    };
    let root = config.root.canonicalize()?;
    let top = against.top.canonicalize()?;
    let below = root.strip_prefix(&top)?;
    let mut all = against.files;
    all.extend(against.changed.iter().cloned());
    let files = Files::of(&top, below, &all);
    let others = [config.evaluators(), config.rescored_evaluators()].concat();
    let pipelines = config.targets().filter_map(|target| target.command_line());
    let pipelines = pipelines.filter(|line| !others.contains(line));
    let named = NamedFiles::of(commands.iter().copied(), &files)
        .without(&NamedFiles::of(pipelines, &files));
    let changed: Vec<&PathBuf> = against
        .changed
        .iter()
        .filter(|path| named.have(path))
        .collect();
    let up: PathBuf = below.components().map(|_| "..").collect();
    let names = changed.iter().map(|path| match path.strip_prefix(below) {
        Ok(name) => name.to_path_buf(),
        Err(_) => up.join(path),
    });
    let names: Vec<PathBuf> = names.collect();
    let names: Vec<&Path> = names.iter().map(PathBuf::as_path).collect();
    let (_, base_files) = baseline::base_files(&config.root, with, &names)?;
    let mut edited = Vec::new();
    for (path, base) in changed.into_iter().zip(base_files) {
        let Some(base) = base? else {
            continue;
        };
        let head = match std::fs::read(top.join(path)) {
            Ok(head) => head,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            // What cannot be compared counts as edited.
            Err(_) => Vec::new(),
        };
        if named.differ(path, &base, &head) {
            edited.push(EditedRule {
                what: EVALUATOR,
                path: path.clone(),
            });
        }
    }
    Ok(edited)
}

/// The files that a renamed command moves to another folder, each with its new path. `base` and `head`: two commands that
/// differ in names of files alone.
pub(super) fn moved<'c>(base: &'c str, head: &'c str) -> impl Iterator<Item = [&'c str; 2]> {
    let words = base.split_whitespace().zip(head.split_whitespace());
    let files = words.map(|(one, other)| [one, other].map(|word| option_and_file(word).1));
    files.filter(|files| {
        let [one, other] = files.map(|name| Path::new(name).parent());
        one != other
    })
}

/// Whether the measurement is defined by anything else than settings.
fn looks(config: &Config) -> bool {
    let mut files = config.measured_files().into_iter();
    files.any(|(what, _)| !OF_ITEMS.contains(&what))
        || !config.measured_folders().is_empty()
        || !config.checking_commands().is_empty()
        || !judges(config).is_empty()
}

/// A path within the repository, and the path that it links to.
fn places(top: &Path, path: &Path) -> Vec<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    let real = path.canonicalize().ok();
    let both = [Some(plain), real].into_iter().flatten();
    let mut both: Vec<PathBuf> = both
        .filter_map(|path| path.strip_prefix(top).ok().map(Path::to_path_buf))
        .collect();
    both.dedup();
    both
}

/// The commands of the judges of all probes.
fn judges(config: &Config) -> Vec<String> {
    let settings = config.judges();
    let judges = settings.filter_map(|(_, _, settings)| settings.open(config).ok());
    let texts = judges.flat_map(|judge| {
        let seats = judge.seats().into_iter();
        let texts = seats.map(|seat| seat.address().text().into_owned());
        texts.collect::<Vec<_>>()
    });
    texts.collect()
}

/// The files that are known to belong to the pipeline.
fn pipeline<'f>(config: &Config, files: &'f Files<'f>) -> Reached<'f> {
    let mut reached = Reached::of(files);
    for target in config.targets() {
        reached.look_through(
            &target.text().replace("{root}", "$KELVIN_ROOT"),
            Some(files.own()),
        );
    }
    reached.follow();
    reached.with_neighbours()
}

/// The files that the commands of pipelines, judges and checks name, and those that such files name in turn, each with
/// its text. `all`: the files of the repository, relative to `top`; `below`: the folder of the configuration.
pub(super) fn scripts(
    config: &Config,
    (top, below): (&Path, &Path),
    all: &BTreeSet<PathBuf>,
) -> Vec<(PathBuf, String)> {
    let files = Files::of(top, below, all);
    let mut reached = Reached::of(&files);
    let targets = config.targets().map(|target| target.text().into_owned());
    let checks = config.checking_commands().into_iter().map(str::to_owned);
    for command in targets.chain(judges(config)).chain(checks) {
        reached.look_through(
            &command.replace("{root}", "$KELVIN_ROOT"),
            Some(files.own()),
        );
    }
    reached.follow();
    reached.texts()
}

/// The files that checks read or run.
fn checks<'f, 's>(
    config: &Config,
    files: &'f Files<'f>,
    templates: &[PathBuf],
    scripts: impl Iterator<Item = &'s PathBuf>,
) -> Reached<'f> {
    let mut reached = Reached::of(files);
    for command in config.checking_commands() {
        // A command with a file of answers as its input scores that file beside the configuration; all other commands
        // run in a workspace.
        match command.contains("{input}") {
            true => reached.look_through(
                &command.replace("{root}", "$KELVIN_ROOT"),
                Some(files.own()),
            ),
            false => reached.look_through(command, None),
        }
    }
    for judge in judges(config) {
        reached.look_through(&judge, Some(files.own()));
    }
    for script in scripts {
        reached.reach(script);
    }
    // Commands call the files of a workspace, and these files may call others in the folder of the configuration.
    let in_templates = files.below(templates);
    for path in in_templates {
        reached.reach_where(path, |text| text.contains("KELVIN_ROOT"));
    }
    reached.follow();
    reached
}

/// The files that the commands of checks name where they are run, which is in a copy of a template, and those that such
/// files name.
fn checks_in_workspace<'f>(
    config: &Config,
    files: &'f Files<'f>,
    templates: &[PathBuf],
) -> Reached<'f> {
    let mut reached = Reached::of(files);
    let commands = config.checking_commands().into_iter();
    for command in commands.filter(|command| !command.contains("{input}")) {
        for folder in templates {
            reached.look_through(command, Some(folder));
        }
    }
    reached.follow();
    reached
}

/// Whether a scenario that exists on both sides has another expectation on the base.
fn expects_otherwise(
    config: &Config,
    path: &Path,
    top: &Path,
    with: (Option<&Login>, &Hint),
) -> anyhow::Result<bool> {
    let root = config.root.canonicalize()?;
    let name = match top.join(path).strip_prefix(&root) {
        Ok(name) => name.to_path_buf(),
        Err(_) => return Ok(true),
    };
    let (_, mut base) = baseline::base_files(&config.root, with, &[&name])?;
    let Some(base) = base.remove(0)? else {
        return Ok(false);
    };
    let head = std::fs::read(top.join(path)).unwrap_or_default();
    if config::is_same_data(&base, &head) {
        return Ok(false);
    }
    let expected = |bytes: &[u8]| -> BTreeMap<String, [Value; 3]> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines
            .filter_map(|line| {
                let expected = ["expected", "invariants", "template"].map(|key| line[key].clone());
                Some((line["id"].as_str()?.to_owned(), expected))
            })
            .collect()
    };
    let (base, head) = (expected(&base), expected(&head));
    let mut both = base
        .iter()
        .filter_map(|(id, before)| Some((before, head.get(id)?)));
    Ok(both.any(|(before, after)| before != after))
}

/// A checkout of a commit with links to the untracked files; it exists during a measurement.
#[derive(Debug)]
pub(super) struct Furnished {
    /// Removes the whole folder when it is dropped.
    _folder: tempfile::TempDir,
    /// The folder of the configuration in the checkout.
    pub(super) root: PathBuf,
}

impl Furnished {
    /// Writes the checkout. Fails if the commit is not available, or the files cannot be written.
    pub(super) fn of(
        root: &Path,
        commit: Oid,
        with: (Option<&Login>, &Hint),
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        // The path contains no links, so that it is recognised in an output.
        let into = folder.path().canonicalize()?;
        let root = baseline::furnished(root, commit, &into, with)?;
        Ok(Self {
            _folder: folder,
            root,
        })
    }
}
