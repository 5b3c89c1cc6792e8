//! Writes the workflows for an existing configuration. No questions are asked, since workflows only name the
//! configuration.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::files::Target;
use super::request::Request;
use super::trigger::WorkflowTrigger;
use crate::cli::again::Again;
use crate::cli::check::shown;
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_page::safe;

/// Whether only the workflows are requested, and the configuration exists.
pub(super) fn are_all(request: &Request, target: &Target) -> bool {
    let rest = Request {
        workflow: None,
        on: WorkflowTrigger::Push,
        ..request.clone()
    };
    let is_alone = request.workflow == Some(true) && rest.is_silent() && !request.force;
    is_alone && target.config.is_file()
}

/// Whether the workflows exist with exactly the text that would be written, so that a second `init` succeeds.
pub(super) fn are_written(request: &Request, target: &Target) -> bool {
    let is_there = |(path, text): &(PathBuf, String)| {
        std::fs::read(path).is_ok_and(|there| there == text.as_bytes())
    };
    target.workflows(request.on).iter().all(is_there)
}

/// Writes the workflows that do not exist yet.
///
/// # Errors
///
/// A [`Misuse`] if the configuration is not valid, or if a workflow of that name has different content.
pub(super) fn write(
    registry: Registry,
    request: &Request,
    target: &Target,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // A workflow whose configuration cannot be read would fail on every pull request.
    registry.configured_in(&request.file)?;
    let mut absent = Vec::new();
    for (path, text) in target.workflows(request.on) {
        let shown = shown(&path);
        match std::fs::read(&path) {
            Ok(there) if there == text.as_bytes() => {
                writeln!(out, "{} is there already", safe::line(&shown))?;
            }
            _ if path.symlink_metadata().is_ok() => {
                return Err(Misuse::new(format!(
                    "`{shown}` is there already, and is not what `kelvin init --workflow` would write"
                ))
                .help("move it away first; nothing was written")
                .into());
            }
            _ => absent.push((path, text, shown)),
        }
    }
    for (path, text, shown) in absent {
        file::write(&path, text.as_bytes())?;
        writeln!(out, "wrote {}", safe::line(&shown))?;
    }
    let file = shown(&target.config);
    let doctor = Again::kelvin("doctor").config(Path::new(&file));
    write!(out, "{}", doctor.next())?;
    Ok(())
}
