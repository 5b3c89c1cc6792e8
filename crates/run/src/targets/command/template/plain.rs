//! Paths that every shell reads as one word, in any context.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// Gives names to paths so that they need no quotes. A path that needs quotes, e.g. below `My Projects`, is reached
/// through a link in a folder of this process. The folder is removed with the value.
#[derive(Debug, Default)]
pub(in crate::targets) struct PlainPaths {
    links: Mutex<Option<Links>>,
}

#[derive(Debug)]
struct Links {
    folder: TempDir,
    /// The link that was made for each path.
    to: BTreeMap<PathBuf, PathBuf>,
}

impl PlainPaths {
    /// A name for this path that needs no quotes.
    ///
    /// # Errors
    ///
    /// Fails if no link can be made.
    pub(super) fn name(&self, path: &Path) -> io::Result<PathBuf> {
        if is_plain(path) {
            return Ok(path.to_owned());
        }
        // The part that needs quotes is nearly always a folder near the root, so one link to that folder is enough for
        // every call.
        let path = absolute(path)?;
        let mut odd = &*path;
        let mut rest = Path::new("");
        for above in path.ancestors() {
            let below = path.strip_prefix(above).unwrap_or(rest);
            if !is_plain(below) {
                break;
            }
            (odd, rest) = (above, below);
        }
        let link = self.link(odd)?;
        // Joining an empty path would add a slash to the link of a file.
        Ok(match rest.as_os_str().is_empty() {
            true => link,
            false => link.join(rest),
        })
    }

    fn link(&self, to: &Path) -> io::Result<PathBuf> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let links = match &mut *links {
            Some(links) => links,
            none => none.insert(Links {
                folder: folder()?,
                to: BTreeMap::new(),
            }),
        };
        if let Some(link) = links.to.get(to) {
            return Ok(link.clone());
        }
        let link = links.folder.path().join(links.to.len().to_string());
        symlink(to, &link)?;
        links.to.insert(to.to_owned(), link.clone());
        Ok(link)
    }
}

/// The folder of the links. If the path of the folder for temporary files needs quotes too, `/tmp` is used.
fn folder() -> io::Result<TempDir> {
    let usual = env::temp_dir();
    let place = match is_plain(&usual) {
        true => &usual,
        false => Path::new("/tmp"),
    };
    tempfile::Builder::new().prefix("kelvin-").tempdir_in(place)
}

/// Whether every shell reads a path unchanged: outside of quotes, inside quotes, and in scripts for other shells.
fn is_plain(path: &Path) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+,@:%".contains(&byte);
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .copied()
        .all(is_fine)
}
