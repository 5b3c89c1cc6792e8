//! What was answered before the questions were broken off, for the next `kelvin init`: whoever closes the terminal
//! does not read what is printed there.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::request::Request;
use crate::cli::ask;
use crate::cli::ask::{Ask, Back};
use crate::history;
use kelvin_base::file;
use kelvin_page::safe;

/// The answers, as the file has them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Kept {
    /// The same as a command, for a person who opens the file.
    command: String,
    run: Option<String>,
    cases: Option<String>,
    decision_field: Option<String>,
    governing_types: Vec<String>,
    probe: Option<bool>,
    gitignore: Option<bool>,
    workflow: Option<bool>,
}

/// The file, in the folder of the configuration.
fn place(root: &Path) -> PathBuf {
    root.join(".kelvin/init.json")
}

/// Keeps what was said, readable by nobody else: a command may have a password in it.
pub(super) fn keep(root: &Path, said: &Request) -> anyhow::Result<()> {
    let kept = Kept {
        command: said.command_line(),
        run: said.run.clone(),
        cases: said.cases.clone(),
        decision_field: said.decision_field.clone(),
        governing_types: said.governing_types.clone(),
        probe: said.probe,
        gitignore: said.gitignore,
        workflow: said.workflow,
    };
    let path = place(root);
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    history::ignore(folder, Some("/init.json"))?;
    file::write_private(
        &path,
        (serde_json::to_string_pretty(&kept)? + "\n").as_bytes(),
    )
}

/// Removes what was kept, and the folder where nothing else is in it.
pub(super) fn forget(root: &Path) {
    let path = place(root);
    // What stays is asked about once more, and nothing else comes of it.
    let Some(folder) = path.parent().filter(|_| fs::remove_file(&path).is_ok()) else {
        return;
    };
    let mut others = fs::read_dir(folder).into_iter().flatten().flatten();
    if others.all(|entry| entry.file_name() == ".gitignore") {
        let _ = fs::remove_file(folder.join(".gitignore"));
        let _ = fs::remove_dir(folder);
    }
}

/// Adds to a request that says nothing what was answered before, where the person wants that.
///
/// # Errors
///
/// As asking.
pub(super) fn offer(
    root: &Path,
    request: &mut Request,
    ask: &dyn Ask,
    out: &mut dyn std::io::Write,
) -> anyhow::Result<()> {
    if !request.is_silent() {
        return Ok(());
    }
    let path = place(root);
    let shown = safe::line(&path.display().to_string());
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            writeln!(out, "the answers in `{shown}` cannot be read: {error}")?;
            return Ok(());
        }
    };
    let kept: Kept = match serde_json::from_str(&text) {
        Ok(kept) => kept,
        Err(error) => {
            writeln!(
                out,
                "the answers in `{shown}` are damaged, so every question is asked: {error}"
            )?;
            return Ok(());
        }
    };
    let Kept {
        command: _,
        run,
        cases,
        decision_field,
        governing_types,
        probe,
        gitignore,
        workflow,
    } = kept;
    let before = Request {
        run,
        cases,
        decision_field,
        governing_types,
        probe,
        gitignore,
        workflow,
        ..request.clone()
    };
    let command = safe::line(&before.command_line());
    ask.show(&[
        "The questions were interrupted the last time. The answers so far:".to_owned(),
        format!("  {command}"),
    ]);
    loop {
        match ask::yes(ask, "Go on where you stopped?", true) {
            Ok(true) => *request = before,
            Ok(false) => {}
            Err(error) if error.is::<Back>() => {
                writeln!(out, "this is the first question")?;
                continue;
            }
            Err(error) => return Err(error),
        }
        return Ok(());
    }
}
