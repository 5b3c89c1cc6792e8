//! Reads the file, and reports everything that is wrong with it at once.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::diagnostic::{self, Problem};
use super::raw::{self, RawConfig};
use super::yaml::{self, Kind};
use super::{Config, Overrides, check, shape};
use crate::exit::Misuse;
use crate::judge::Choice;

/// The file that is read unless another one is named.
const FILE: &str = "kelvin.yaml";

/// Reads, checks and settles the configuration.
pub(super) fn load(overrides: &Overrides) -> anyhow::Result<Config> {
    let file = overrides
        .file
        .clone()
        .unwrap_or_else(|| PathBuf::from(FILE));
    parse(&read(&file)?, &file, overrides)
}

/// Checks and settles the text of a file.
pub(super) fn parse(source: &str, file: &Path, overrides: &Overrides) -> anyhow::Result<Config> {
    let absolute = std::path::absolute(file)
        .with_context(|| format!("failed to find the folder of `{}`", file.display()))?;
    let root = absolute.parent().unwrap_or(Path::new("/"));
    let raw = understand(source).map_err(|found| diagnostic::misuse(file, source, found))?;
    // A command may turn on what the file does not speak of, and nothing that it turns off.
    let says = yaml::parse(source).is_ok_and(|tree| tree.get(&["cache"]).is_some());
    let overrides = Overrides {
        cache: overrides.cache && !says,
        ..overrides.clone()
    };
    check::settle(raw, file, root, &overrides)
}

/// The settings of a text as they are written.
pub(super) fn raw(source: &str, file: &Path) -> anyhow::Result<RawConfig> {
    understand(source).map_err(|found| diagnostic::misuse(file, source, found).into())
}

/// The file as written, if nothing is wrong with it.
fn understand(source: &str) -> Result<RawConfig, Vec<Problem>> {
    let tree = yaml::parse(source).map_err(|problem| vec![problem])?;
    if matches!(tree.kind, Kind::Null) {
        let empty = Problem::new(0..0, "the file is empty");
        return Err(vec![empty.help("`kelvin init --force` writes a new one")]);
    }
    let mut problems = shape::problems(&tree, raw::schema().as_value(), source);
    problems.extend(check::problems(&tree, source));
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(scorer) = tree.get(&["scorer"])
        && let Err(what) = Choice::read(&scorer.to_json())
    {
        return Err(vec![Problem::new(scorer.at.clone(), what)]);
    }
    // The schema is made from the same types, so this cannot find anything new; if it ever does,
    // the user is told rather than let down.
    serde_json::from_value(tree.to_json())
        .map_err(|error| vec![Problem::new(0..0, error.to_string())])
}

/// The `name` that a configuration gives itself, as far as the text can be read at all.
pub(super) fn name(source: &str) -> Option<String> {
    if let Ok(tree) = yaml::parse(source) {
        return tree.text(&["name"]).map(|(name, _)| name.to_owned());
    }
    let value = source.lines().find_map(|line| line.strip_prefix("name:"))?;
    let value = value.split(" #").next()?.trim();
    let value = value.trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Reads the file as text.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let name = diagnostic::tame(&file.display().to_string());
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| {
        file.take(yaml::MOST_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
    });
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

/// What to do where there is no file.
fn absent(file: &Path) -> String {
    let other = file.with_extension("yml");
    if file.extension().is_some_and(|ending| ending == "yaml") && other.is_file() {
        return format!(
            "there is `{0}`: rename it, or use `--config {0}`",
            diagnostic::tame(&other.display().to_string())
        );
    }
    "`kelvin init` writes one, and `--config FILE` names another".to_owned()
}

#[cfg(test)]
mod tests;
