//! Checks that a file of the workspace exists, does not exist, or has a certain content.

use std::path::PathBuf;

use regex::Regex;

use super::{Check, CheckFinding, EarlyEnd, pattern};
use crate::keys::{FileContentKeys, FileKeys};
use crate::scene::Scene;
use crate::selector::relative_path;
use kelvin_base::file::beneath::NotOpened;

/// A file or folder that has to exist, or must not exist.
#[derive(Debug)]
pub(super) struct FileIs {
    shown: String,
    path: PathBuf,
    wanted: bool,
}

impl FileIs {
    pub(super) fn of(
        written: &FileKeys,
        keys: &FileKeys,
        wanted: bool,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            shown: written.path.clone(),
            path: relative_path(&keys.path).map_err(|what| ("path", what))?,
            wanted,
        })
    }
}

impl Check for FileIs {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let shown = &self.shown;
        Ok(match scene.beneath.exists(&self.path) {
            Ok(true) => CheckFinding::of(self.wanted, format!("`{shown}` is there")),
            Ok(false) => CheckFinding::of(!self.wanted, format!("`{shown}` is not there")),
            Err(NotOpened::Escapes) => CheckFinding::error(format!(
                "`{shown}` is a link that leads out of the workspace"
            )),
            Err(NotOpened::Absent) => unreachable!("that is told as not being there"),
            Err(NotOpened::Refused(error)) => {
                CheckFinding::error(format!("`{shown}` cannot be looked at: {error}"))
            }
        })
    }
}

/// A file with conditions, all of which have to hold.
#[derive(Debug)]
pub(super) struct FileContent {
    written: FileContentKeys,
    path: PathBuf,
    contains: Option<String>,
    not_contains: Option<String>,
    pattern: Option<Regex>,
}

impl FileContent {
    pub(super) fn of(
        written: &FileContentKeys,
        keys: &FileContentKeys,
    ) -> Result<Self, (&'static str, String)> {
        if keys.contains.is_none() && keys.not_contains.is_none() && keys.pattern.is_none() {
            let what = "nothing is asked of the file: give `contains`, `not_contains` or `pattern`";
            return Err(("", what.to_owned()));
        }
        let compiled = keys.pattern.as_deref().map(pattern).transpose();
        Ok(Self {
            path: relative_path(&keys.path).map_err(|what| ("path", what))?,
            contains: keys.contains.clone(),
            not_contains: keys.not_contains.clone(),
            pattern: compiled.map_err(|what| ("pattern", what))?,
            written: written.clone(),
        })
    }
}

impl Check for FileContent {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let shown = &self.written.path;
        let text = scene.file(&self.path);
        let text = text.map_err(|unread| CheckFinding::unread(unread, &format!("`{shown}`")))?;
        let mut wrong = Vec::new();
        let quoted = |text: &Option<String>| text.as_deref().unwrap_or_default().to_owned();
        if let Some(wanted) = &self.contains
            && !text.contains(wanted.as_str())
        {
            wrong.push(format!(
                "does not contain `{}`",
                quoted(&self.written.contains)
            ));
        }
        if let Some(unwanted) = &self.not_contains
            && text.contains(unwanted.as_str())
        {
            wrong.push(format!("contains `{}`", quoted(&self.written.not_contains)));
        }
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(&text)
        {
            wrong.push(format!(
                "does not match `{}`",
                quoted(&self.written.pattern)
            ));
        }
        let noted = match text.contains(char::REPLACEMENT_CHARACTER) {
            true => " (bytes that are not UTF-8 were replaced)",
            false => "",
        };
        Ok(match wrong.is_empty() {
            true => CheckFinding::of(true, format!("`{shown}` is as it should be{noted}")),
            false => CheckFinding::of(false, format!("`{shown}` {}{noted}", wrong.join(" and "))),
        })
    }
}
