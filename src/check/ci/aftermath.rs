//! Cleans up what the code of the change may leave behind: processes that keep running, and text in the files through
//! which a step gives commands to the workflow.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, ensure};

use kelvin_base::file;
use kelvin_github::publish::event::Variables;
use kelvin_run::targets as target;
use kelvin_system::confine;

/// The variables with the files of the runner. A pipeline does not get these variables, but can find the folder.
const FILES: [&str; 5] = [
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_OUTPUT",
    "GITHUB_STEP_SUMMARY",
];

/// The content of the runner's files before any code of the change ran.
#[derive(Debug)]
pub(super) struct RunnerFilesBefore(Vec<RunnerFile>);

#[derive(Debug)]
struct RunnerFile {
    path: PathBuf,
    /// The content of the file; none if the file did not exist.
    bytes: Option<Vec<u8>>,
    /// The identity of the folder; another folder of the same name has another identity.
    folder: Option<(u64, u64)>,
}

impl RunnerFilesBefore {
    /// Records the state of the files.
    pub(super) fn of(variables: &Variables<'_>) -> Self {
        let known = FILES.iter().filter_map(|name| variables(name));
        Self(
            known
                .map(|path| {
                    let path = PathBuf::from(path);
                    RunnerFile {
                        bytes: fs::read(&path).ok(),
                        folder: identity(&path),
                        path,
                    }
                })
                .collect(),
        )
    }

    /// Ends every process that the run has started, and restores the files. Each file is made anew: the path may have
    /// become a link to another place. Fails if a process keeps running, or a file cannot be restored.
    pub(super) fn again(&self) -> anyhow::Result<()> {
        target::dismiss();
        let left = confine::end_all();
        ensure!(
            left == 0,
            "the run has left {left} processes that cannot be ended, so its figures are not published"
        );
        for known in &self.0 {
            known.restore().with_context(|| {
                format!(
                    "`{}`, a file through which this step passes values to the workflow, cannot be restored",
                    known.path.display()
                )
            })?;
        }
        Ok(())
    }
}

impl RunnerFile {
    fn restore(&self) -> anyhow::Result<()> {
        ensure!(
            identity(&self.path) == self.folder,
            "its folder is another one than at the beginning"
        );
        let there = fs::symlink_metadata(&self.path);
        if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
            fs::remove_dir_all(&self.path)?;
        }
        match &self.bytes {
            Some(bytes) => file::write(&self.path, bytes),
            None => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            },
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let folder = fs::metadata(path.parent()?).ok()?;
    Some((folder.dev(), folder.ino()))
}

#[cfg(test)]
mod tests {
    use kelvin_fixtures::text::redacted;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whatever_stands_in_its_place_a_file_is_what_it_was_and_leads_nowhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let commands = folder.path().join("commands");
        fs::create_dir(&commands).expect("made");
        let path = |name: &str| commands.join(name.to_lowercase());
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").expect("written");
        for name in [
            "GITHUB_ENV",
            "GITHUB_PATH",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_STATE",
        ] {
            fs::write(path(name), format!("{name}\n")).expect("written");
        }
        let variables = |name: &str| {
            FILES
                .contains(&name)
                .then(|| path(name).display().to_string())
        };
        let before = RunnerFilesBefore::of(&variables);
        fs::write(path("GITHUB_ENV"), "LD_PRELOAD=/tmp/evil.so\n").expect("written");
        fs::remove_file(path("GITHUB_PATH")).expect("removed");
        symlink(&victim, path("GITHUB_PATH")).expect("linked");
        fs::remove_file(path("GITHUB_STATE")).expect("removed");
        fs::create_dir_all(path("GITHUB_STATE").join("deep")).expect("made");
        fs::write(path("GITHUB_OUTPUT"), "verdict=pass\n").expect("written");
        fs::remove_file(path("GITHUB_STEP_SUMMARY")).expect("removed");
        before.again().expect("made what they were");
        for name in [
            "GITHUB_ENV",
            "GITHUB_PATH",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_STATE",
        ] {
            let kind = fs::symlink_metadata(path(name)).expect("it is there");
            assert!(kind.is_file(), "{name}");
            let text = fs::read_to_string(path(name)).expect("read");
            assert_eq!(text, format!("{name}\n"));
        }
        assert!(!path("GITHUB_OUTPUT").exists(), "there was none");
        assert_eq!(fs::read_to_string(&victim).expect("read"), "precious");
        // The folder itself is another one.
        fs::rename(&commands, folder.path().join("away")).expect("moved");
        fs::create_dir(&commands).expect("made");
        let error = before.again().expect_err("it is noticed");
        insta::assert_snapshot!(redacted(&format!("{error:#}")), @"`[TEMP]/commands/github_env`, a file through which this step passes values to the workflow, cannot be restored: its folder is another one than at the beginning");
    }
}
