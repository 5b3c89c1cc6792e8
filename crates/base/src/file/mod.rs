//! Reads and writes files with their path in the error: whole reads, atomic writes, safe names for folders.

pub mod beneath;

use anyhow::Context as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::digest::Digest;

/// The file that marks a folder as the output of runs: this program owns its content, which is neither a case nor code
/// of the pipeline, and is removed by the next run.
pub const OUTPUT_MARK: &str = ".kelvin-run";

/// Reads a whole file as text.
pub fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))
}

/// Whether a path is the file to which this program prints, as in `kelvin check > log`.
pub fn is_printed_to(path: &Path) -> bool {
    let Ok(data) = fs::symlink_metadata(path) else {
        return false;
    };
    let is_it = |stream: BorrowedFd<'_>| {
        let stream = stream.try_clone_to_owned().map(fs::File::from);
        let printed = stream.and_then(|stream| stream.metadata());
        printed.is_ok_and(|printed| (printed.dev(), printed.ino()) == (data.dev(), data.ino()))
    };
    is_it(io::stdout().as_fd()) || is_it(io::stderr().as_fd())
}

/// Writes a file completely or not at all: first a temporary file in the same folder, then a rename.
pub fn write(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    write_with(path, |file| file.write_all(text))
}

/// Writes a file that only its owner may read, completely or not at all.
pub fn write_private(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(text).with_context(failed)?;
    file.persist(path)
        .map_err(|error| error.error)
        .with_context(failed)?;
    Ok(())
}

/// Writes a file through a writer, e.g. a serializer, so that a large text is never in memory.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).with_context(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".kelvin-")
        .permissions(default_mode())
        .tempfile_in(folder)
        .with_context(failed)?;
    {
        let mut writer = std::io::BufWriter::new(file.as_file_mut());
        fill(&mut writer).with_context(failed)?;
        writer.flush().with_context(failed)?;
    }
    file.persist(path)
        .map_err(|error| error.error)
        .with_context(failed)?;
    Ok(())
}

/// A temporary file is private, but a report may be read by everybody whom the umask allows.
fn default_mode() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

/// A path without `.` and `..`; none if it leaves its base folder, or is not relative.
pub fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// A name that is one folder on every platform: letters, digits, `_`, `-` and inner dots, at most
/// 80 bytes. A changed name gets a hash of the original, so two names never share a folder.
pub fn slug(name: &str) -> String {
    const MOST: usize = 80;
    let mut slug = String::with_capacity(name.len());
    slug.extend(name.chars().map(|c| {
        if c.is_alphanumeric() || c == '_' || c == '-' || c == '.' {
            c
        } else {
            '-'
        }
    }));
    while slug.starts_with('.') {
        slug.replace_range(..1, "-");
    }
    while slug.len() > MOST {
        slug.pop();
    }
    if slug == name && !slug.is_empty() {
        return slug;
    }
    format!("{slug}~{}", Digest::of(name.as_bytes()).short(8))
}

/// How many bytes can still be written to the file system of a folder; none if it does not say.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let data = rustix::fs::statvfs(folder).ok()?;
    data.f_bavail.checked_mul(data.f_frsize)
}

/// The first part of a path that is a symbolic link, within the working directory. Folders above it
/// belong to the machine and may be links.
pub fn link_on_the_way(path: &Path) -> Option<PathBuf> {
    let below = match std::env::current_dir() {
        Ok(here) => path.strip_prefix(here).unwrap_or(path),
        Err(_) => path,
    };
    if below.is_absolute() {
        return None;
    }
    let is_link = |part: &&Path| part.is_symlink();
    let mut parts: Vec<&Path> = below.ancestors().collect();
    parts.reverse();
    parts.iter().find(|part| is_link(part)).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_its_own_slug() {
        assert_eq!(slug("gate_rule-2.b"), "gate_rule-2.b");
        assert_eq!(slug("règle"), "règle");
    }

    #[test]
    fn a_slug_never_leaves_its_folder_and_never_collides() {
        for name in ["", ".", "..", "../../pwn", "a/b", "a b", "a\nb", "nul\0"] {
            let slug = slug(name);
            assert!(!slug.contains('/') && !slug.starts_with('.'), "{slug}");
            assert!(!slug.chars().any(char::is_control), "{slug}");
        }
        assert_ne!(slug("a/b"), slug("a b"));
        assert!(slug(&"x".repeat(4000)).len() < 100);
    }

    #[test]
    fn a_failed_fill_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report.json");
        write(&path, b"old").expect("written");
        let failed = write_with(&path, |_| Err(std::io::Error::other("disk full")));
        assert!(format!("{:#}", failed.unwrap_err()).contains("report.json"));
        assert_eq!(read(&path).expect("read"), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}
