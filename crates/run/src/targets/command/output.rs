//! Reads the output file of a process.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use kelvin_base::failure::{Failure, FailureKind};

/// Reads an output file of at most `most` bytes into `bytes`, which is emptied first.
///
/// # Errors
///
/// Fails if the file does not exist, or is not a regular file.
pub(super) fn read(path: &Path, most: u64, bytes: &mut Vec<u8>) -> Result<(), Failure> {
    bytes.clear();
    let unreadable = |what: String| Failure::new(FailureKind::OutputUnreadable, what);
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::new(
                FailureKind::OutputMissing,
                "it ended with exit code 0, but wrote no output file",
            ));
        }
        // A link could point to any file, even to an answer that another program has written.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(unreadable(
                "its output is a symbolic link, not a file".to_owned(),
            ));
        }
        Err(error) => return Err(unreadable(format!("its output cannot be opened: {error}"))),
    };
    let failed = |error: io::Error| unreadable(format!("its output cannot be read: {error}"));
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err(unreadable("its output is not a regular file".to_owned()));
    }
    // The bytes are counted while they are read, because the file may still grow.
    file.take(most.saturating_add(1))
        .read_to_end(bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > most {
        // Many output files over the limit would fill the disk without any use. The bytes in memory are dropped too.
        *bytes = Vec::new();
        std::fs::remove_file(path).map_err(failed)?;
        return Err(Failure::too_large(most));
    }
    Ok(())
}

/// Opens a file without following a link and without waiting for the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn p14_only_a_regular_file_of_bounded_size_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("whole"), b"{}").expect("written");
        symlink(path("whole"), path("link")).expect("linked");
        symlink(path("nowhere"), path("dangling")).expect("linked");
        fs::create_dir(path("folder")).expect("made");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a pipe");
        let mut bytes = vec![1, 2, 3];
        let mut kind =
            |name: &str, most| read(&path(name), most, &mut bytes).map_err(|failure| failure.kind);
        assert_eq!(kind("whole", 2), Ok(()));
        fs::write(path("large"), b"{}").expect("written");
        assert_eq!(kind("large", 1), Err(FailureKind::OutputTooLarge));
        assert!(!path("large").exists(), "it is not kept");
        assert_eq!(kind("absent", 1), Err(FailureKind::OutputMissing));
        for name in ["link", "dangling", "folder", "pipe"] {
            assert_eq!(kind(name, 9), Err(FailureKind::OutputUnreadable), "{name}");
        }
        read(&path("whole"), 2, &mut bytes).expect("read");
        assert_eq!(bytes, b"{}", "what was there before is gone");
    }
}
