//! Changes of the code since a run began.

use std::fmt;
use std::path::{Path, PathBuf};

/// One change; all paths are relative to the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathChange {
    /// A file, and how it changed.
    File(PathBuf, &'static str),
    /// A folder, and how it changed.
    Folder(PathBuf, &'static str),
    /// The files cannot be listed any more, for this reason.
    Unlisted(String),
}

impl PathChange {
    /// The path of the file, where the change is about a file.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Folder(..) | Self::Unlisted(_) => None,
        }
    }
}

impl fmt::Display for PathChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| match path.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => path.display().to_string(),
        };
        match self {
            Self::File(path, what) => write!(f, "`{}` {what}", shown(path)),
            Self::Folder(path, what) => write!(f, "the folder `{}` {what}", shown(path)),
            Self::Unlisted(why) => write!(f, "the files cannot be listed any more{why}"),
        }
    }
}
