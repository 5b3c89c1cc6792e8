//! The script that prepares the machine for the pipeline, before anything is measured.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::private;
use crate::exit::Misuse;

/// Runs a script in a folder with bash, which stops at the first command that fails. What it prints
/// goes where this program prints.
///
/// # Errors
///
/// A [`Misuse`] where it ends with anything but 0.
pub(crate) fn setup(script: &str, folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new("bash");
    private::withhold(&mut command, &private::names());
    let status = command
        .args(["-eo", "pipefail", "-c", script])
        .current_dir(folder)
        .stdin(Stdio::null())
        .status()
        .context("failed to start `bash`, which `setup` is run with")?;
    let how = match (status.code(), status.signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) => format!("with {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "unexpectedly".to_owned(),
    };
    Err(Misuse::new(format!("`setup` ended {how}"))
        .help("its output is above; nothing was measured")
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_stops_at_the_first_failure_and_says_how_it_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        setup("touch first", folder.path()).expect("it ended well");
        let error = setup("false | true; touch second", folder.path()).expect_err("it failed");
        assert!(error.to_string().contains("ended with 1"), "{error}");
        let error = setup("kill -9 $$", folder.path()).expect_err("it was killed");
        assert!(error.to_string().contains("signal 9"), "{error}");
        assert!(folder.path().join("first").exists());
        assert!(!folder.path().join("second").exists());
    }
}
