//! The texts that a check can examine: the output of the pipeline, its printed text, or a file of the workspace.

use std::path::{Path, PathBuf};

use kelvin_base::file::beneath;

/// The source of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// The output file; if there is none, the printed text.
    AgentOutput,
    /// The text that was printed on the standard output.
    Stdout,
    /// A file, relative to the workspace.
    File(PathBuf),
}

impl Selector {
    /// Parses a selector. Fails with what is wrong with the selector.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "agent_output" => Ok(Self::AgentOutput),
            "stdout" => Ok(Self::Stdout),
            text => match text.strip_prefix("file:") {
                Some(path) => relative_path(path).map(Self::File),
                None => Err(format!(
                    "`{text}` names nothing to look at: write `agent_output`, `stdout` or `file:PATH`"
                )),
            },
        }
    }
}

/// A path within the workspace. Fails if it leads out of the workspace.
pub(super) fn relative_path(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    match beneath::is_inside(path) {
        true => Ok(path.to_path_buf()),
        false => Err(format!(
            "`{text}` leads out of the workspace: a path is relative to it, without `..`"
        )),
    }
}
