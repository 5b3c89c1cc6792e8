//! Reads the file, and reports everything that is wrong with it at once.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::configure::{self, Owner, Part, Slip};
use super::diagnostic::{self, Problem};
use super::raw::RawConfig;
use super::yaml::{self, Content, Node};
use super::{Config, Overrides, ProbeConfig, check, hints, shape};
use kelvin_base::exit::Misuse;
use kelvin_record::{metric_name, probe_of};

/// The file that is read by default.
const FILE: &str = "kelvin.yaml";

/// The keys that say how a finished report is judged. A file with only these keys configures no probe, so no key of a
/// probe is missing.
const OF_JUDGEMENT: [&str; 2] = ["gate", "baseline"];

impl Config {
    /// Reads and checks the configuration. Each kind of probe checks its own keys.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] that shows every problem, each with its line, a caret and advice.
    pub fn load(overrides: &Overrides, owners: &[Owner]) -> anyhow::Result<Self> {
        let file = overrides
            .file
            .clone()
            .unwrap_or_else(|| PathBuf::from(FILE));
        match &overrides.text {
            Some(text) => parse(text, &file, overrides, owners),
            None => parse(&read(&file)?, &file, overrides, owners),
        }
    }

    /// Checks a text that is to become `file`.
    ///
    /// # Errors
    ///
    /// Fails like [`load`](Self::load).
    pub fn parse(text: &str, file: &Path, owners: &[Owner]) -> anyhow::Result<Self> {
        parse(text, file, &Overrides::default(), owners)
    }
}

/// Checks the text of a file and makes the settings.
fn parse(
    source: &str,
    file: &Path,
    overrides: &Overrides,
    owners: &[Owner],
) -> anyhow::Result<Config> {
    let absolute = std::path::absolute(file)
        .with_context(|| format!("failed to find the folder of `{}`", file.display()))?;
    let root = absolute.parent().unwrap_or(Path::new("/"));
    let misuse = |problems| diagnostic::misuse(file, source, problems);
    let tree = tree(source).map_err(|problem| misuse(vec![problem]))?;
    let schema = configure::schema(owners);
    let meant = meant(&tree, schema);
    let configured = configure::configured(owners, &tree, &meant);
    let parts: Vec<(Owner, Part<'_>)> = owners
        .iter()
        .zip(configured)
        .map(|(owner, is_configured)| (*owner, owner.part(&tree, is_configured, source, file)))
        .collect();
    let problems = problems(&tree, source, &parts, (schema, &meant));
    if !problems.is_empty() {
        return Err(misuse(problems).into());
    }
    // The command line may turn on the cache if the file does not mention it, but not if the file turns it off.
    let overrides = Overrides {
        cache: overrides.cache && tree.get(&["cache"]).is_none(),
        ..overrides.clone()
    };
    let raw = general(&tree).map_err(|problem| misuse(vec![problem]))?;
    let mut config = check::settle(raw, file, root, &overrides);
    for (owner, part) in &parts {
        if let Some(settings) = owner.kind.settle(part, &config)? {
            for (metric, rule) in settings.rules(&config.gate) {
                config.gate.metrics.entry(metric).or_insert(rule);
            }
            config.probes.push(ProbeConfig {
                name: owner.name,
                is_configured: part.is_configured,
                settings,
            });
        }
    }
    Ok(config)
}

/// The file as a tree.
fn tree(source: &str) -> Result<Node, Problem> {
    let tree = yaml::parse(source)?;
    if matches!(tree.content, Content::Null) {
        let empty = Problem::new(0..0, "the file is empty");
        return Err(empty.help("`kelvin init --force` writes a new one"));
    }
    Ok(tree)
}

/// All problems in all parts of the file.
fn problems(
    tree: &Node,
    source: &str,
    parts: &[(Owner, Part<'_>)],
    (schema, meant): (&Value, &[&str]),
) -> Vec<Problem> {
    let owners: Vec<Owner> = parts.iter().map(|(owner, _)| *owner).collect();
    let hint = |slip: &Slip<'_>| {
        let mut of_kinds = owners.iter().filter_map(|owner| owner.kind.hint(slip));
        hints::general(slip).or_else(|| of_kinds.next())
    };
    let mut found = shape::problems(tree, schema, source, &hint);
    found.extend(missing(tree, parts, meant, &hint));
    found.extend(check::problems(tree));
    found.extend(rules_of_nothing(tree, parts));
    let of_kinds = parts.iter();
    found.extend(of_kinds.flat_map(|(owner, part)| owner.kind.problems(part)));
    for problem in &mut found {
        problem.key = problem.key.take().or_else(|| tree.key_at(&problem.at));
    }
    found
}

/// The rules for metrics of a probe that the file does not configure: such a rule would have no effect, but its author
/// would think that it applies. Rules for metrics that the probe cannot have are also reported. If users choose the
/// names of metrics, only a run shows whether a name exists.
fn rules_of_nothing(tree: &Node, parts: &[(Owner, Part<'_>)]) -> Vec<Problem> {
    let rules = tree.entries(&["gate", "metrics"]);
    let configured = parts.iter().filter(|(_, part)| part.is_configured);
    let mut names: Vec<&str> = configured.map(|(owner, _)| owner.name).collect();
    if names.is_empty() {
        // A file that only judges does not say which probes are in the report.
        names.extend(parts.iter().map(|(owner, _)| owner.name));
    }
    // A change that takes a probe away says with such a rule that its metrics are meant to go.
    let is_farewell = |id: &str| {
        let policy = tree.get(&["gate", "metrics", id, "policy"]);
        let is_known = parts.iter().any(|(owner, _)| owner.name == probe_of(id));
        is_known && policy.is_some_and(|policy| policy.to_json() == "info")
    };
    let of_nothing = |id: &str| !names.contains(&probe_of(id)) && !is_farewell(id);
    let strange = rules.iter().filter(|(id, _)| of_nothing(&id.text));
    let mut found: Vec<Problem> = rules
        .iter()
        .filter_map(|(id, _)| {
            let mut owners = parts.iter().map(|(owner, _)| owner);
            let owner = owners.find(|owner| owner.name == probe_of(&id.text))?;
            let mut known = owner.metrics.iter().map(|(name, _)| *name);
            if owner.metrics.is_empty() || known.any(|name| name == metric_name(&id.text)) {
                return None;
            }
            let message = format!(
                "`{}` is a rule for a metric that `{}` does not have",
                id.text, owner.name
            );
            let names: Vec<&str> = owner.metrics.iter().map(|(name, _)| *name).collect();
            let help = match hints::nearest(metric_name(&id.text), &names) {
                Some(near) => format!("did you mean `{}.{near}`?", owner.name),
                None => format!("its metrics are: {}", names.join(", ")),
            };
            Some(Problem::new(id.at.clone(), message).help(help))
        })
        .collect();
    let of_no_probe = strange.map(|(id, _)| {
        let probe = probe_of(&id.text);
        let message = format!(
            "`{}` is a rule for a metric of `{probe}`, and this file configures no such probe",
            id.text
        );
        let help = match hints::nearest(probe, &names) {
            Some(near) => format!("did you mean `{near}{}`?", &id.text[probe.len()..]),
            None => format!("its probes are: {}", names.join(", ")),
        };
        Problem::new(id.at.clone(), message).help(help)
    });
    found.extend(of_no_probe);
    found
}

/// The known top-level keys that the file contains only in a wrong spelling.
fn meant<'s>(tree: &Node, schema: &'s Value) -> Vec<&'s str> {
    let known: Vec<&str> = shape::properties(schema).map(|(name, _)| name).collect();
    let unknown = tree
        .entries(&[])
        .iter()
        .filter(|(key, _)| !known.contains(&&*key.text));
    let near = unknown.filter_map(|(key, _)| hints::nearest(&key.text, &known));
    near.filter(|name| tree.get(&[name]).is_none()).collect()
}

/// The required keys of probes that are missing. A file that configures no probe is treated as if it should configure
/// the first kind.
fn missing(
    tree: &Node,
    parts: &[(Owner, Part<'_>)],
    meant: &[&str],
    hint: &shape::Hint<'_>,
) -> Vec<Problem> {
    if !matches!(tree.content, Content::Map(_)) {
        return Vec::new();
    }
    let has = |key: &str| tree.get(&[key]).is_some() || meant.contains(&key);
    let configured = parts.iter().filter(|(_, part)| part.is_configured);
    let mut needed: Vec<&Owner> = configured.map(|(owner, _)| owner).collect();
    if needed.is_empty() && !OF_JUDGEMENT.into_iter().any(has) {
        needed.extend(parts.first().map(|(owner, _)| owner));
    }
    let keys = needed.iter().flat_map(|owner| owner.kind.required());
    // A key that several kinds need is reported as missing only once.
    let mut told = BTreeSet::new();
    let absent = keys.filter(|key| !has(key) && told.insert(**key));
    absent
        .map(|key| {
            let problem = Problem {
                key: Some((*key).to_owned()),
                ..Problem::new(0..0, format!("the key `{key}` is missing"))
            };
            match hint(&Slip::MissingKey(key)) {
                Some(help) => problem.help(help),
                None => problem,
            }
        })
        .collect()
}

/// The general keys as written, from a file without problems.
fn general(tree: &Node) -> Result<RawConfig, Problem> {
    let schema = configure::schema_of::<RawConfig>().as_value();
    let mut values = tree.to_json();
    if let Some(values) = values.as_object_mut() {
        values.retain(|key, _| shape::properties(schema).any(|(own, _)| own == key));
    }
    // The schema is made from the same types, so this should never fail. If it does, the user gets an error instead of
    // a panic.
    serde_json::from_value(values).map_err(|error| Problem::new(0..0, error.to_string()))
}

/// The `name` in the text of a configuration, even if the rest of the text cannot be read.
pub fn name(source: &str) -> Option<String> {
    if let Ok(tree) = yaml::parse(source) {
        return tree.text(&["name"]).map(|(name, _)| name.to_owned());
    }
    let value = source.lines().find_map(|line| line.strip_prefix("name:"))?;
    let value = value.split(" #").next()?.trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Reads the file as text.
pub fn read(file: &Path) -> anyhow::Result<String> {
    read_within(file, yaml::YamlLimits::CONFIGURATION)
}

/// Reads a file like [`read`], with another limit.
///
/// # Errors
///
/// Fails like [`read`].
pub fn read_within(file: &Path, room: yaml::YamlLimits) -> anyhow::Result<String> {
    let name = diagnostic::tame(&file.display().to_string());
    let mut bytes = Vec::new();
    let read =
        File::open(file).and_then(|file| file.take(room.bytes as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Misuse::new(format!("there is no file `{name}`"))
                .help(absent(file))
                .into());
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            return Err(Misuse::new(format!("`{name}` is a folder"))
                .help("name the file: `--config FOLDER/kelvin.yaml`")
                .into());
        }
        Err(error) => return Err(Misuse::new(format!("failed to read `{name}`: {error}")).into()),
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = 1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count();
        Misuse::new(format!(
            "`{name}` is not UTF-8 text: byte {valid}, in line {line}"
        ))
        .help("save the file as UTF-8")
        .at(file, line)
        .into()
    })
}

/// Advice for a missing file.
fn absent(file: &Path) -> String {
    let other = file.with_extension("yml");
    if file.extension().is_some_and(|ending| ending == "yaml") && other.is_file() {
        return format!(
            "there is `{0}`: rename it, or use `--config {0}`",
            diagnostic::tame(&other.display().to_string())
        );
    }
    if let Some(above) = above(file) {
        return format!(
            "there is `{0}`: go to its folder, or use `--config {0}`",
            diagnostic::tame(&above.display().to_string())
        );
    }
    "`kelvin init` writes one, and `--config FILE` names another".to_owned()
}

/// The file of the same name in the nearest folder above, for a command that was started in a folder of the project; none
/// for a path with folders. The search ends at the root of the repository, since what lies above belongs to something
/// else.
fn above(file: &Path) -> Option<PathBuf> {
    if file.components().count() > 1 || file.is_absolute() {
        return None;
    }
    let here = std::env::current_dir().ok()?;
    let within = here
        .ancestors()
        .take_while(|folder| !folder.join(".git").exists())
        .count();
    (1..=within)
        .map(|levels| PathBuf::from("../".repeat(levels)).join(file))
        .find(|path| path.is_file())
}
