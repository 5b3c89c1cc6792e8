//! Ownership of an output folder: a marker file of this program, and a lock on it during a run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use rustix::fs::OFlags;

use kelvin_base::exit::Misuse;
use kelvin_base::file::OUTPUT_MARK;

/// The journal of the run.
pub(super) const JOURNAL: &str = ".journal.jsonl";
/// Files that a person may put into an output folder.
const THEIRS: [&str; 4] = [".gitignore", ".gitattributes", ".gitkeep", ".DS_Store"];

const MARK: &str = "kelvin output folder, format 1: its content is removed by the next run\n";

/// Whether a file at the top of the folder is kept after a run.
pub(super) fn stays(name: &str) -> bool {
    name == OUTPUT_MARK || THEIRS.contains(&name)
}

/// Whether a folder inside is an output folder itself, which its own runs clean up.
pub(super) fn is_another(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(OUTPUT_MARK)).is_ok_and(|data| data.is_file())
}

/// Creates the folder if necessary, and locks it. Fails with a [`Misuse`] if it is a link or a file, if it contains
/// files that this program did not write, or if another run has locked it.
pub(super) fn take(out: &Path) -> anyhow::Result<File> {
    let shown = out.display();
    let elsewhere = "name another folder with `--out`";
    match fs::symlink_metadata(out) {
        Ok(data) if data.is_symlink() => {
            return Err(
                Misuse::new(format!("the output folder `{shown}` is a symbolic link"))
                    .help(format!("remove the link, or {elsewhere}"))
                    .into(),
            );
        }
        Ok(data) if !data.is_dir() => {
            return Err(
                Misuse::new(format!("the output folder `{shown}` is a file"))
                    .help(format!("remove the file, or {elsewhere}"))
                    .into(),
            );
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(out).map_err(|error| {
                Misuse::new(format!(
                    "the output folder `{shown}` cannot be made: {error}"
                ))
                .help(format!("let this user write beside it, or {elsewhere}"))
            })?;
        }
        Err(error) => {
            return Err(error).with_context(|| format!("failed to look at `{shown}`"));
        }
    }
    let marker = out.join(OUTPUT_MARK);
    if fs::symlink_metadata(&marker).is_err()
        && let Some(name) = somebody_elses(out)?
    {
        return Err(Misuse::new(format!(
            "the output folder `{shown}` was not made by kelvin and is not empty: it has `{name}`"
        ))
        .help(format!(
            "move its content away, or {elsewhere}; its content would be removed"
        ))
        .into());
    }
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(&marker)
        .map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Misuse::new(
                format!("the output folder `{shown}` cannot be written to: {error}"),
            )
            .help(format!("let this user write there, or {elsewhere}"))
            .into(),
            _ => {
                anyhow::Error::new(error).context(format!("failed to open `{}`", marker.display()))
            }
        })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(
                Misuse::new(format!("another run of kelvin is using `{shown}`"))
                    .help(format!("wait for its end, or {elsewhere}"))
                    .into(),
            );
        }
        // Not every file system supports locks; a run without a lock is still useful.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("failed to lock `{}`", marker.display()));
        }
    }
    if file.metadata().is_ok_and(|data| data.len() == 0) {
        hide(out).with_context(|| format!("failed to write into `{shown}`"))?;
        (&file)
            .write_all(MARK.as_bytes())
            .with_context(|| format!("failed to write `{}`", marker.display()))?;
    }
    Ok(file)
}

/// Makes git skip a new output folder. If somebody committed a report, the next run would change a file that git knows,
/// and no later report would be that of a commit. A `.gitignore` that is there already is kept, and one that somebody
/// removes is not written again.
fn hide(out: &Path) -> io::Result<()> {
    match File::create_new(out.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The name of a file in the folder that this program did not write.
fn somebody_elses(out: &Path) -> anyhow::Result<Option<String>> {
    let failed = || format!("failed to list `{}`", out.display());
    for entry in fs::read_dir(out).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        let name = name.to_string_lossy();
        if !THEIRS.contains(&&*name) {
            return Ok(Some(
                name.chars().filter(|c| !c.is_control()).take(80).collect(),
            ));
        }
    }
    Ok(None)
}
