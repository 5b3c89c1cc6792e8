//! Opens paths that come from outside, or contain links from outside, without ever leaving a folder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, statat};
use rustix::io::Errno;

/// A folder that is held open. Lookups never leave it, even if another program replaces names by links between two of
/// them: every lookup begins at the folder itself, and none follows a link to the outside.
#[derive(Debug)]
pub struct Beneath {
    folder: OwnedFd,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name within the folder.
    pub name: OsString,
    /// The kind of the entry; a link is reported as a link, for any kind of target.
    pub kind: EntryKind,
    /// The size in bytes, for a file.
    pub size: u64,
}

/// The kinds of entries of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
    /// The entry cannot be inspected.
    Unreadable,
}

impl FolderEntry {
    /// An entry that cannot be inspected.
    pub fn unreadable() -> Self {
        Self {
            name: OsString::new(),
            kind: EntryKind::Unreadable,
            size: 0,
        }
    }
}

/// Why a path was not opened.
#[derive(Debug)]
pub enum NotOpened {
    /// The path does not exist.
    Absent,
    /// The path points outside the folder, by a link or by its own components.
    Escapes,
    /// The path exists but cannot be opened.
    Refused(io::Error),
}

impl Beneath {
    /// Opens a folder and keeps it open.
    ///
    /// # Errors
    ///
    /// Fails if it is not a folder, or cannot be opened.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let folder = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Self { folder })
    }

    /// Opens a relative path of any kind for reading. It does not wait for the other end of a pipe.
    ///
    /// # Errors
    ///
    /// Fails if the path does not exist, leads outside, or cannot be opened.
    pub fn open(&self, path: &Path) -> Result<File, NotOpened> {
        if !is_inside(path) {
            return Err(NotOpened::Escapes);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.resolve(path, flags).map_err(not_opened)?;
        Ok(File::from(opened))
    }

    /// Whether a relative path exists; an entry that cannot be read counts as existing.
    ///
    /// # Errors
    ///
    /// Fails if the path leads outside, or if the system cannot tell.
    pub fn exists(&self, path: &Path) -> Result<bool, NotOpened> {
        match self.open(path) {
            Ok(_) => Ok(true),
            Err(NotOpened::Absent) => Ok(false),
            // The last component was reached: it is a file without read permission, or a socket.
            Err(NotOpened::Refused(error)) if is_there(&error) => Ok(true),
            Err(other) => Err(other),
        }
    }

    /// The entries of a folder, at most this many, sorted by name. No link is followed.
    ///
    /// # Errors
    ///
    /// Fails if the folder does not exist, leads outside, or cannot be read.
    pub fn entries(&self, folder: &Path, most: usize) -> Result<Vec<FolderEntry>, NotOpened> {
        let opened = self.open(folder)?;
        let listed = Dir::read_from(&opened).map_err(not_opened)?;
        let mut entries = Vec::new();
        for listed in listed {
            if entries.len() == most {
                break;
            }
            let listed = listed.map_err(not_opened)?;
            let name = listed.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut entry = FolderEntry {
                name: OsStr::from_bytes(name).to_os_string(),
                ..FolderEntry::unreadable()
            };
            if let Ok(stat) = statat(&opened, listed.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                entry.kind = match FileType::from_raw_mode(stat.st_mode) {
                    FileType::RegularFile => EntryKind::File,
                    FileType::Directory => EntryKind::Folder,
                    FileType::Symlink => EntryKind::Link,
                    _ => EntryKind::Other,
                };
                entry.size = u64::try_from(stat.st_size).unwrap_or_default();
            }
            entries.push(entry);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    #[cfg(target_os = "linux")]
    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        loop {
            match openat2(&self.folder, path, flags, Mode::empty(), resolve) {
                // A path was renamed in the meantime, and the kernel does not know whether it is inside.
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Linux before 5.6 and strict sandboxes do not have the system call.
                Err(Errno::NOSYS | Errno::PERM) => return self.walk(path, flags),
                opened => return opened,
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.walk(path, flags)
    }

    /// Opens one component after the other and follows no link at all: without help from the system, the target of a
    /// link may change before it is followed.
    fn walk(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        use rustix::fs::openat;
        let names: Vec<_> = path
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        let folder = flags | OFlags::NOFOLLOW | OFlags::DIRECTORY;
        let mut here = openat(&self.folder, ".", folder, Mode::empty())?;
        for (at, name) in names.iter().enumerate() {
            let flags = match at + 1 == names.len() {
                true => flags | OFlags::NOFOLLOW,
                false => folder,
            };
            here = openat(&here, name.as_os_str(), flags, Mode::empty())?;
        }
        Ok(here)
    }
}

/// Whether a path stays below the folder in which it starts, judging only by its text.
pub fn is_inside(path: &Path) -> bool {
    let mut parts = path.components();
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.as_os_str().is_empty() && parts.all(stays)
}

/// Whether an error shows that the last component exists.
fn is_there(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::ACCESS, Errno::NXIO, Errno::ISDIR]
        .iter()
        .any(|errno| code == Some(errno.raw_os_error()))
}

fn not_opened(errno: Errno) -> NotOpened {
    match errno {
        Errno::NOENT | Errno::NOTDIR => NotOpened::Absent,
        Errno::XDEV | Errno::LOOP => NotOpened::Escapes,
        other => NotOpened::Refused(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn read(beneath: &Beneath, path: &str) -> Result<String, NotOpened> {
        let mut text = String::new();
        let mut file = beneath.open(Path::new(path))?;
        file.read_to_string(&mut text).expect("it is text");
        Ok(text)
    }

    /// A folder `inside`, and beside it a file `secret` that nothing inside may lead to.
    fn folder() -> (tempfile::TempDir, Beneath) {
        let outer = tempfile::tempdir().expect("a folder");
        let inside = outer.path().join("inside");
        fs::create_dir_all(inside.join("a/b")).expect("made");
        fs::write(outer.path().join("secret"), "secret").expect("written");
        fs::write(inside.join("a/b/c"), "inside").expect("written");
        let beneath = Beneath::of(&inside).expect("it is a folder");
        (outer, beneath)
    }

    #[test]
    fn inv_07_nothing_outside_of_the_folder_is_opened() {
        let (outer, beneath) = folder();
        let inside = outer.path().join("inside");
        let secret = outer.path().join("secret");
        symlink(&secret, inside.join("absolute")).expect("linked");
        symlink("../secret", inside.join("relative")).expect("linked");
        symlink("..", inside.join("up")).expect("linked");
        symlink("loop", inside.join("loop")).expect("linked");
        symlink("/proc/self/root", inside.join("magic")).expect("linked");
        let absolute = secret.display().to_string();
        for path in [
            "../secret",
            "a/../../secret",
            "a/..",
            "",
            "..",
            &absolute,
            "absolute",
            "relative",
            "up/secret",
            "up",
            "loop",
            "magic/etc/passwd",
        ] {
            let opened = read(&beneath, path);
            assert!(
                matches!(opened, Err(NotOpened::Escapes)),
                "{path}: {opened:?}"
            );
        }
    }

    #[test]
    fn what_is_inside_is_found_and_what_is_nowhere_is_absent() {
        let (outer, beneath) = folder();
        let inside = outer.path().join("inside");
        assert_eq!(read(&beneath, "a/b/c").expect("opened"), "inside");
        assert_eq!(read(&beneath, "./a//b/./c").expect("opened"), "inside");
        symlink("nowhere", inside.join("dangling")).expect("linked");
        for (path, is_there) in [
            ("a", true),
            ("a/b/", true),
            ("a/x", false),
            ("a/b/c/d", false),
            ("dangling", false),
        ] {
            let exists = beneath.exists(Path::new(path)).expect("it can be told");
            assert_eq!(exists, is_there, "{path}");
        }
        #[cfg(target_os = "linux")]
        {
            symlink("a/b", inside.join("link")).expect("linked");
            assert_eq!(read(&beneath, "link/c").expect("opened"), "inside");
        }
    }

    #[test]
    fn without_the_help_of_the_system_no_link_is_followed() {
        let (outer, beneath) = folder();
        symlink("../secret", outer.path().join("inside/relative")).expect("linked");
        symlink("a/b", outer.path().join("inside/link")).expect("linked");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let walk = |path: &str| beneath.walk(Path::new(path), flags).err();
        assert_eq!(walk("a/b/c"), None);
        assert_eq!(walk("relative"), Some(Errno::LOOP));
        assert!(matches!(walk("link/c"), Some(Errno::LOOP | Errno::NOTDIR)));
    }

    #[test]
    fn a_name_that_is_exchanged_for_a_link_all_the_time_never_leads_out() {
        let (outer, beneath) = folder();
        let inside = outer.path().join("inside");
        let stop = AtomicBool::new(false);
        let mut seen = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (swap, link) = (inside.join("swap"), inside.join("link"));
                while !stop.load(Ordering::Relaxed) {
                    let _ = fs::write(&swap, "inside");
                    let _ = fs::remove_file(&link);
                    let _ = symlink("../secret", &link);
                    let _ = fs::rename(&link, &swap);
                    let _ = fs::remove_file(&swap);
                }
            });
            for _ in 0..20_000 {
                match read(&beneath, "swap") {
                    Ok(text) => {
                        assert!(text.is_empty() || text == "inside", "{text}");
                        seen += 1;
                    }
                    Err(NotOpened::Absent | NotOpened::Escapes) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(seen > 0, "the file was never there");
    }
}
