//! Actions that no scenario may take: writing files without permission, or revealing a secret.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use globset::GlobSet;

use super::services::Secret;
use kelvin_base::digest::Digest;
use kelvin_page::and_more;

/// The content of a larger file is not read: its size and its time show whether it was written.
const MOST_READ: u64 = 16 << 20;
/// How many files are named at most.
const NAMED: usize = 5;
/// Values that are shorter than this are too likely to be ordinary words.
const SHORTEST: usize = 8;

/// The rules about forbidden actions.
#[derive(Clone, Debug, Default)]
pub(super) struct Forbidden {
    /// The files that may be written, if that is limited.
    pub(super) writable: Option<GlobSet>,
    /// The secrets in the environment, by the name of their variable; none if they may be revealed.
    pub(super) secrets: Option<BTreeMap<String, String>>,
}

/// Every file of a folder, with data that show whether it was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<PathBuf, ForbiddenMark>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ForbiddenMark {
    Content(Digest),
    Large(u64, i64, i64),
    Link(PathBuf),
    Other,
}

impl Snapshot {
    /// Takes a snapshot of a folder, without following a link. Fails if something cannot be read.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(folder.join(&inside))? {
                let entry = entry?;
                let path = inside.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mark = match () {
                    () if kind.is_symlink() => ForbiddenMark::Link(fs::read_link(entry.path())?),
                    () if kind.is_file() => Self::content(&entry)?,
                    () => ForbiddenMark::Other,
                };
                files.insert(path, mark);
            }
        }
        Ok(Self(files))
    }

    fn content(entry: &fs::DirEntry) -> io::Result<ForbiddenMark> {
        let data = entry.metadata()?;
        if data.len() > MOST_READ {
            return Ok(ForbiddenMark::Large(
                data.len(),
                data.mtime(),
                data.mtime_nsec(),
            ));
        }
        Ok(ForbiddenMark::Content(Digest::of(&fs::read(entry.path())?)))
    }

    /// The files that were created, changed or removed between this snapshot and `after`.
    fn changed<'s>(&'s self, after: &'s Self) -> impl Iterator<Item = &'s Path> {
        let written = after
            .0
            .iter()
            .filter(|(path, mark)| self.0.get(*path) != Some(mark));
        let removed = self
            .0
            .iter()
            .filter(|(path, _)| !after.0.contains_key(*path));
        written.chain(removed).map(|(path, _)| path.as_path())
    }
}

impl Forbidden {
    /// The files that were written without permission, in a sentence.
    pub(super) fn writes(&self, before: &Snapshot, after: &Snapshot) -> Option<String> {
        let writable = self.writable.as_ref()?;
        let outside = before
            .changed(after)
            .filter(|path| !writable.is_match(path));
        let mut outside: Vec<String> = outside.map(|path| path.display().to_string()).collect();
        outside.sort();
        let more = and_more(outside.len().saturating_sub(NAMED));
        let shown: Vec<String> = outside
            .iter()
            .take(NAMED)
            .map(|path| format!("`{path}`"))
            .collect();
        (!outside.is_empty()).then(|| {
            format!(
                "it wrote {}{more}, outside of what `file_writes_outside` allows",
                shown.join(", ")
            )
        })
    }

    /// The secrets that must not be revealed: those of the environment, and those that the services gave to the
    /// scenario.
    pub(super) fn kept_secret(&self, of_services: impl FnOnce() -> Vec<Secret>) -> Vec<Secret> {
        let Some(variables) = &self.secrets else {
            return Vec::new();
        };
        let variables = variables.iter().map(|(name, value)| Secret {
            what: format!("the value of the variable `{name}`"),
            text: value.clone(),
        });
        variables.chain(of_services()).collect()
    }
}

/// The secrets that occur in one of the texts, one sentence for each.
pub(super) fn leaks(secrets: &[Secret], texts: &[(&str, &[u8])]) -> Vec<String> {
    // The names of the secrets in order, each with its forms: a secret may be known in several forms.
    let mut named: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for secret in secrets {
        let forms = secret.forms();
        match named.iter_mut().find(|(what, _)| *what == secret.what) {
            Some((_, known)) => known.extend(forms),
            None => named.push((&secret.what, forms)),
        }
    }
    let mut leaks = Vec::new();
    for (what, forms) in named {
        let holds = |text: &[u8]| {
            let mut forms = forms.iter();
            forms.any(|form| memchr::memmem::find(text, form.as_bytes()).is_some())
        };
        let places = texts.iter().filter(|(_, text)| holds(text));
        let places: Vec<&str> = places.map(|(place, _)| *place).collect();
        if !places.is_empty() {
            leaks.push(format!("{what} stands in {}", places.join(" and in ")));
        }
    }
    leaks
}

/// The environment variables that contain secrets, judging by their names, and those that the checks use.
pub(super) fn secrets(
    variables: impl Iterator<Item = (String, String)>,
    used: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    const WORDS: [&str; 7] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "CREDENTIALS",
    ];
    let is_secret = |name: &str| {
        let name = name.to_uppercase();
        let mut parts = name.split('_');
        parts.any(|part| WORDS.contains(&part) || part.ends_with("APIKEY"))
    };
    let told = variables.filter(|(name, _)| is_secret(name));
    let used = used
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    // A file or a number is not a secret, for any name of its variable.
    let matters = |value: &str| {
        value.len() >= SHORTEST && !value.starts_with('/') && value.parse::<f64>().is_err()
    };
    told.chain(used)
        .filter(|(_, value)| matters(value))
        .collect()
}
