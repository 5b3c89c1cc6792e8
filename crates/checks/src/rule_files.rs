//! The files in the folder of the configuration that checks run: whether they have changed since the run began. A
//! pipeline that writes to such a file would itself decide the result of the check.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kelvin_base::digest::Digest;

/// The variable that names the folder of the configuration, in the forms that a command may use.
const ROOT: [&str; 2] = ["$KELVIN_ROOT/", "${KELVIN_ROOT}/"];

/// The files below the folder of the configuration that a command names. A name without the variable means a file of
/// the workspace, which the pipeline may have made.
pub(super) fn named(command: &str) -> BTreeSet<PathBuf> {
    let ends = |c: char| c.is_whitespace() || ";|&()<>'\"`".contains(c);
    let found = ROOT.iter().flat_map(|root| command.split(root).skip(1));
    let names = found.filter_map(|rest| rest.split(ends).next());
    let names = names.filter(|name| !name.is_empty());
    names.map(PathBuf::from).collect()
}

/// The content of the files when the run began.
#[derive(Debug)]
pub(super) struct RuleFiles {
    /// The folder to which the paths of the files are relative.
    folder: PathBuf,
    /// The digest of each file; a file that did not exist is not a rule.
    digests: BTreeMap<PathBuf, Digest>,
}

impl RuleFiles {
    /// Records the content of the files.
    pub(super) fn read<'f>(folder: &Path, files: impl Iterator<Item = &'f PathBuf>) -> Self {
        let read = |file: &PathBuf| Some((file.clone(), digest(&folder.join(file))?));
        Self {
            folder: folder.to_path_buf(),
            digests: files.filter_map(read).collect(),
        }
    }

    /// The first file in the list that has changed since the run began.
    pub(super) fn changed<'f>(&self, files: &'f BTreeSet<PathBuf>) -> Option<&'f Path> {
        let differs = |file: &&PathBuf| {
            let before = self.digests.get(*file);
            before.is_some_and(|before| digest(&self.folder.join(file)) != Some(*before))
        };
        files.iter().find(differs).map(PathBuf::as_path)
    }
}

fn digest(file: &Path) -> Option<Digest> {
    // Reading a pipe might never end.
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    Some(Digest::of(&fs::read(file).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_files_by_the_variable_of_the_folder() {
        let found = |command| {
            let found = named(command).into_iter();
            found
                .map(|file| file.display().to_string())
                .collect::<Vec<String>>()
        };
        assert_eq!(
            found("cd x && sh \"$KELVIN_ROOT/checks/a.sh\" made.txt; ${KELVIN_ROOT}/b.py|cat"),
            ["b.py", "checks/a.sh"]
        );
        assert_eq!(found("sh test.sh $KELVIN_ROOT"), [""; 0]);
    }
}
