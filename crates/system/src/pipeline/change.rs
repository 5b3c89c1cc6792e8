//! What is not as it was when a run began.

use std::fmt;
use std::path::{Path, PathBuf};

/// One change; the path is relative to the folder that all are relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A file, and what was done to it.
    File(PathBuf, &'static str),
    /// The same of a folder.
    Folder(PathBuf, &'static str),
    /// The files cannot be listed any more, and why.
    Unlisted(String),
}

impl Change {
    /// The file, where it is one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Folder(..) | Self::Unlisted(_) => None,
        }
    }
}

impl fmt::Display for Change {
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
