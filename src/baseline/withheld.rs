//! Removes the credentials that a checkout has left for git from the repository, as long as code of the change could
//! read them there. This program uses the token of the action instead.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use git2::Config;

use super::{Login, Remote};
use kelvin_base::file;

/// How many levels of nested submodule folders are searched.
const DEEPEST: usize = 6;

/// The removed settings and files. When this value is dropped, they are restored for later steps.
#[derive(Debug, Default)]
pub(crate) struct Withheld {
    /// Settings: the file, the name and the value of each.
    settings: Vec<(PathBuf, String, String)>,
    /// Whole files.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Withheld {
    /// Removes the credentials that a checkout has left, if the token of the action can replace them. Fails if there
    /// are credentials that cannot be removed.
    pub(crate) fn take(root: &Path, login: Option<&Login>) -> anyhow::Result<Self> {
        let mut withheld = Self::default();
        let (Ok(repo), Some(login)) = (super::open(root), login) else {
            return Ok(withheld);
        };
        if !Remote::of(&repo).url().is_some_and(|url| login.serves(url)) {
            return Ok(withheld);
        }
        let mut configs = vec![repo.commondir().join("config")];
        below(&repo.commondir().join("modules"), DEEPEST, &mut configs);
        for config in configs {
            withheld
                .of(&config)
                .with_context(|| format!("failed to take a login out of `{}`", config.display()))?;
        }
        Ok(withheld)
    }

    fn of(&mut self, path: &Path) -> anyhow::Result<()> {
        let mut config = Config::open(path)?;
        let mut found = Vec::new();
        config.snapshot()?.entries(None)?.for_each(|entry| {
            if let (Ok(name), Ok(value)) = (entry.name(), entry.value()) {
                found.push((name.to_owned(), value.to_owned()));
            }
        })?;
        for (name, value) in found {
            if is_login(&name, &value) {
                self.settings
                    .push((path.to_owned(), name.clone(), value.clone()));
                // The setting may have occurred more than once, and may already be removed.
                let _ = config.remove_multivar(&name, ".*");
            }
            let included = Path::new(&value);
            if is_of_a_checkout(&name, included) && included.is_file() {
                self.files.push((included.to_owned(), fs::read(included)?));
                fs::remove_file(included)?;
            }
        }
        Ok(())
    }
}

impl Drop for Withheld {
    fn drop(&mut self) {
        // A failure is ignored here: this run has its result, and a later step that needs the setting reports that it
        // is missing.
        for (path, name, value) in &self.settings {
            if let Ok(mut config) = Config::open(path) {
                let _ = config.set_multivar(name, "^$", value);
            }
        }
        for (path, bytes) in &self.files {
            let _ = file::write_private(path, bytes);
        }
    }
}

/// Whether this setting is the header that `actions/checkout` leaves.
fn is_login(name: &str, value: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with("http.")
        && name.ends_with(".extraheader")
        && value.to_lowercase().starts_with("authorization:")
}

/// Whether a setting includes the file that newer versions of `actions/checkout` leave.
fn is_of_a_checkout(name: &str, included: &Path) -> bool {
    let file = included.file_name().and_then(OsStr::to_str);
    let name = name.to_lowercase();
    (name.starts_with("includeif.") || name.starts_with("include."))
        && name.ends_with(".path")
        && included.is_absolute()
        && file
            .is_some_and(|file| file.starts_with("git-credentials-") && file.ends_with(".config"))
}

/// Adds the configuration files of submodules.
fn below(folder: &Path, deep: usize, found: &mut Vec<PathBuf>) {
    if deep == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match path.join("config").is_file() {
            true => found.push(path.join("config")),
            false => below(&path, deep - 1, found),
        }
        below(&path.join("modules"), deep - 1, found);
    }
}

#[cfg(test)]
mod tests {
    use git2::Repository;

    use super::*;

    #[test]
    fn what_a_checkout_has_left_is_gone_for_the_time_and_comes_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("widgets");
        let repo = Repository::init(&root).expect("made");
        repo.remote("origin", "https://github.com/acme/widgets")
            .expect("added");
        let credentials = folder.path().join("git-credentials-1.config");
        let theirs = folder.path().join("theirs.config");
        fs::write(&credentials, "[http \"https://github.com/\"]\n").expect("written");
        fs::write(&theirs, "[user]\n").expect("written");
        let config = root.join(".git/config");
        let module = root.join(".git/modules/deep/library/config");
        fs::create_dir_all(module.parent().expect("it has one")).expect("made");
        let header = "AUTHORIZATION: basic c2VjcmV0";
        let name = "http.https://github.com/.extraheader";
        for file in [&config, &module] {
            let mut config = Config::open(file).expect("opened");
            config.set_str(name, header).expect("set");
        }
        let mut own = Config::open(&config).expect("opened");
        for (key, value) in [
            ("http.https://other.example/.extraheader", "X-Trace: 1"),
            ("user.name", "somebody"),
            ("include.path", theirs.to_str().expect("text")),
            (
                "includeif.gitdir:/github/workspace/.git.path",
                credentials.to_str().expect("text"),
            ),
        ] {
            own.set_str(key, value).expect("set");
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let before = [&config, &module].map(|file| Config::open(file).expect("opened"));
        let headers = |configs: &[Config; 2]| -> Vec<Option<String>> {
            configs
                .iter()
                .map(|config| config.get_string(name).ok())
                .collect()
        };
        assert_eq!(headers(&before), vec![Some(header.to_owned()); 2]);
        let login = Login::new("https://github.com", "acme/widgets", "ghs_x").expect("a token");
        let other = Login::new("https://github.com", "acme/other", "ghs_x").expect("a token");
        // Without a token that does the same, this program needs it too.
        for login in [None, Some(&other)] {
            drop(Withheld::take(&root, login).expect("nothing to do"));
            let withheld = Withheld::take(&root, login).expect("nothing to do");
            assert!(withheld.settings.is_empty() && withheld.files.is_empty());
        }
        let withheld = Withheld::take(&root, Some(&login)).expect("taken out");
        assert!(!text(&config).contains("c2VjcmV0") && !text(&module).contains("c2VjcmV0"));
        assert!(!credentials.exists() && theirs.exists());
        assert!(text(&config).contains("X-Trace: 1") && text(&config).contains("somebody"));
        drop(withheld);
        let after = [&config, &module].map(|file| Config::open(file).expect("opened"));
        assert_eq!(headers(&after), vec![Some(header.to_owned()); 2]);
        assert_eq!(text(&credentials), "[http \"https://github.com/\"]\n");
    }
}
