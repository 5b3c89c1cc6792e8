//! Stores answers of earlier runs under a key that is made from everything on which an answer depends. Each answer is
//! one file, which is complete or does not exist.
//!
//! An entry is a line of JSON that describes it, followed by the output. Only valid answers are stored. Any number of
//! runs may use one folder at once; a damaged entry counts as a miss.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Observing, Reader, Rules};
use crate::stored::{ANSWERS, TAG, TAG_TEXT, UNFINISHED};
use crate::targets::Reply;
use crate::{Outcome, stored};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::Streams;
use kelvin_base::notice::{Code, Notice};
use kelvin_base::usage::Usage;

/// If an output is larger than this many bytes, the cache stores only the value that the reader has extracted.
pub(super) const KEPT_WHOLE: usize = 64 * 1024;
/// No entry is larger than this. A larger file is not read.
const LARGEST: u64 = 32 * 1024 * 1024;
/// A file that is still unfinished after this time was left by a run that was killed.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// The folder of the answers.
#[derive(Debug)]
pub(super) struct Cache {
    answers: PathBuf,
    unfinished: PathBuf,
    broken: AtomicUsize,
    not_kept: AtomicUsize,
    /// The notice about entries that were removed because they were too old or took too much space.
    pruned: Option<String>,
}

/// An answer that was found.
#[derive(Debug, PartialEq)]
pub(super) struct CacheHit {
    /// The output of the pipeline, or the smallest output from which the reader extracts the same value.
    pub(super) output: Vec<u8>,
    /// The exit code and all other results of the call besides the output.
    pub(super) reply: Reply,
    /// How many seconds the call with this output took.
    pub(super) seconds: f64,
    /// The value that an observer extracted from that call.
    pub(super) observed: Option<Box<Value>>,
}

/// The header of an entry, which is its first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryHead {
    /// The version of the format.
    kelvin_answer: u32,
    key: Digest,
    /// The digest of the output, which does not match a damaged or edited entry.
    output: Digest,
    seconds: f64,
    /// Whether the call was the first answer of a process that stays in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_first: bool,
    /// The exit code of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    /// The text that the call printed, if the reader needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    streams: Option<Streams>,
    /// The tokens that the call used, if it called a model. A version that does not know the field treats the entry as
    /// damaged and calls again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// The name of the model that answered, as reported by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    served: Option<String>,
    /// The value that an observer extracted from the call. For a large output only the reader's value is stored, so the
    /// call could not be observed again. The digest of the observer is part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observed: Option<Box<Value>>,
}

/// The version of the format. Version 1 had neither exit code nor streams.
const VERSION: u32 = 2;

impl Cache {
    /// Opens the folder, or creates it. Fails with a [`Misuse`] if the folder cannot be used. Without this error, a
    /// person would notice only after a whole run that nothing was cached.
    pub(super) fn open(folder: &Path) -> Result<Self, Misuse> {
        let mut cache = Self {
            answers: folder.join(ANSWERS),
            unfinished: folder.join(UNFINISHED),
            broken: AtomicUsize::new(0),
            not_kept: AtomicUsize::new(0),
            pruned: None,
        };
        cache.make(folder).map_err(|error| {
            Misuse::new(format!(
                "the cache folder `{}` cannot be used: {error}",
                folder.display()
            ))
            .help("name another folder under `cache`, or leave it off with `--no-cache`")
        })?;
        cache.pruned = match stored::prune_when_due(folder) {
            Ok(0) => None,
            Ok(removed) => Some(format!(
                "answers that no run has used for 90 days, or the oldest beyond 1 GiB, were removed from the \
                 cache: {removed}"
            )),
            Err(error) => Some(format!("the cache could not be pruned: {error:#}")),
        };
        Ok(cache)
    }

    fn make(&self, folder: &Path) -> io::Result<()> {
        for folder in [&self.answers, &self.unfinished] {
            fs::create_dir_all(folder)?;
        }
        // The tag file makes backup programs skip the folder, and the ignore file makes git skip it.
        for (name, text) in [(TAG, TAG_TEXT), (".gitignore", "*\n")] {
            match fs::File::create_new(folder.join(name)) {
                Ok(mut file) => file.write_all(text.as_bytes())?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        for entry in fs::read_dir(&self.unfinished)?.flatten() {
            let age = entry
                .metadata()
                .and_then(|data| data.modified())
                .map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
            if age.is_ok_and(|age| age > ABANDONED_AFTER) {
                // Another run may have removed the file in the meantime.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Searches for an answer. A damaged entry is counted, and is not returned.
    pub(super) fn find(&self, key: &Digest) -> Option<CacheHit> {
        let file = match fs::File::open(self.path(key)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => {
                self.broken.fetch_add(1, Ordering::Relaxed);
                return None;
            }
        };
        let hit = read(file, key);
        if hit.is_none() {
            self.broken.fetch_add(1, Ordering::Relaxed);
        }
        hit
    }

    /// Counts an entry whose output turned out to be no valid answer.
    pub(super) fn refuse(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// Stores an answer. If the write fails, the failure is counted and the run continues.
    pub(super) fn keep(&self, key: &Digest, output: &[u8], outcome: &Outcome) {
        if self.write(key, output, outcome).is_err() {
            self.not_kept.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes an answer. It is not an error if the answer does not exist. Fails if the file cannot be removed.
    pub(super) fn remove(&self, key: &Digest) -> anyhow::Result<()> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| {
                    format!(
                        "failed to remove `{}` from the cache, an answer that no code of the \
                         pipeline is known to give",
                        path.display()
                    )
                })
            }
            _ => Ok(()),
        }
    }

    fn write(&self, key: &Digest, output: &[u8], outcome: &Outcome) -> io::Result<()> {
        let head = EntryHead {
            kelvin_answer: VERSION,
            key: *key,
            output: Digest::of(output),
            seconds: outcome.seconds,
            is_first: outcome.is_first,
            exit: outcome.exit,
            streams: outcome.streams.as_deref().cloned(),
            usage: outcome.usage.as_deref().copied(),
            served: outcome.served.as_deref().map(str::to_owned),
            observed: outcome.observed.clone(),
        };
        let mut entry = serde_json::to_vec(&head)?;
        entry.push(b'\n');
        entry.extend_from_slice(output);
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(&self.unfinished)?;
        file.write_all(&entry)?;
        let path = self.path(key);
        let file = match file.persist(&path) {
            Ok(_) => return Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::NotFound => error.file,
            Err(error) => return Err(error.error),
        };
        fs::create_dir_all(path.parent().unwrap_or(&self.answers))?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }

    /// The file of an entry. The entries are divided among 256 folders, so that no folder has too many files.
    fn path(&self, key: &Digest) -> PathBuf {
        let name = key.to_string();
        let (folder, rest) = name.split_at(2);
        self.answers.join(folder).join(rest)
    }

    /// The notices about the cache for the user.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let told = |count: &AtomicUsize, what: &str| {
            let count = count.load(Ordering::Relaxed);
            let text = match count {
                1 => format!("1 answer in the cache {what}"),
                _ => format!("{count} answers in the cache {what}"),
            };
            (count > 0).then(|| Notice::new(Code::Cache, text))
        };
        [
            told(&self.broken, "could not be read and was asked for again"),
            told(&self.not_kept, "could not be written"),
        ]
        .into_iter()
        .flatten()
        .chain(
            self.pruned
                .clone()
                .map(|text| Notice::new(Code::Cache, text)),
        )
        .collect()
    }
}

fn read(mut file: fs::File, key: &Digest) -> Option<CacheHit> {
    let size = file.metadata().ok()?.len();
    if size > LARGEST {
        return None;
    }
    // The buffer has one extra byte: the last read, which detects the end, then needs no larger buffer.
    let mut entry = Vec::with_capacity(usize::try_from(size).ok()? + 1);
    file.read_to_end(&mut entry).ok()?;
    let end = entry.iter().position(|byte| *byte == b'\n')?;
    let head: EntryHead = serde_json::from_slice(&entry[..end]).ok()?;
    let output = entry.split_off(end + 1);
    stored::used(&file);
    let agrees =
        head.kelvin_answer == VERSION && head.key == *key && head.output == Digest::of(&output);
    agrees.then_some(CacheHit {
        output,
        reply: Reply {
            exit: head.exit,
            streams: head.streams.unwrap_or_default(),
            usage: head.usage,
            served: head.served,
            is_first: head.is_first,
            ..Reply::default()
        },
        seconds: head.seconds,
        observed: head.observed,
    })
}

/// Computes the keys of a run.
///
/// The version of this program does not belong to the key: the cache stores the output of the pipeline, and the reader
/// extracts its value from that output again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    command: Digest,
    fingerprint: Digest,
    tools: Digest,
    reader: Digest,
    around: Option<Digest>,
    observer: Option<Digest>,
}

impl Keys {
    /// The keys for a command: they depend on its environment, the code of the pipeline, and the values that are read
    /// from its outputs.
    pub(super) fn of(
        rules: &Rules,
        fingerprint: Digest,
        reader: &dyn Reader,
        observing: Option<Observing<'_>>,
    ) -> Self {
        Self {
            command: rules.command,
            fingerprint,
            tools: rules.tools.digest(),
            reader: reader.digest(),
            around: rules.around,
            observer: observing.map(|observing| observing.observer.digest()),
        }
    }

    /// The key of one input. Entries of older versions are never found again. Version 1 had no reader, and its entries
    /// had no exit code. Version 2 ignored the programs that the command starts, and version 3 included only the first
    /// of them. In version 4 the path of the input revealed the variant.
    pub(super) fn key(&self, input: &str) -> Digest {
        let fields = Fields::of("kelvin/cache/v5")
            .field("command", self.command.bytes())
            .field("pipeline", self.fingerprint.bytes())
            .field("tools", self.tools.bytes())
            .field("reader", self.reader.bytes())
            .field("input", input);
        let fields = match &self.around {
            Some(around) => fields.field("around", around.bytes()),
            None => fields,
        };
        match &self.observer {
            Some(observer) => fields.field("observer", observer.bytes()).digest(),
            None => fields.digest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::AnswerSource;

    fn key(name: &str) -> Digest {
        Digest::of(name.as_bytes())
    }

    fn outcome(seconds: f64) -> Outcome {
        Outcome {
            result: Ok(Value::Null),
            exit: Some(0),
            streams: None,
            source: AnswerSource::Called,
            attempts: 1,
            seconds,
            is_first: false,
            usage: None,
            served: Some("a-model-2026".into()),
            observed: None,
        }
    }

    #[test]
    fn an_answer_is_found_again_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path()).expect("opened");
        assert_eq!(cache.find(&key("a")), None);
        cache.keep(&key("a"), b"{\"d\":\n1}\n", &outcome(0.25));
        let again = Cache::open(folder.path()).expect("opened");
        let hit = again.find(&key("a")).expect("kept");
        assert_eq!(
            (hit.output.as_slice(), hit.seconds, hit.reply.exit),
            (&b"{\"d\":\n1}\n"[..], 0.25, Some(0))
        );
        assert_eq!(hit.reply.served.as_deref(), Some("a-model-2026"));
        assert_eq!(again.find(&key("b")), None);
        assert!(again.notices().is_empty());
        assert_eq!(
            fs::read_dir(folder.path().join("unfinished"))
                .expect("listed")
                .count(),
            0
        );
    }

    #[test]
    fn a_broken_or_foreign_entry_is_a_miss_and_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path()).expect("opened");
        cache.keep(&key("a"), b"{\"d\":1}", &outcome(0.0));
        let path = cache.path(&key("a"));
        let whole = fs::read(&path).expect("kept");
        let mut flipped = whole.clone();
        *flipped.last_mut().expect("not empty") ^= 1;
        let other_version = String::from_utf8_lossy(&whole).replacen(":2,", ":1,", 1);
        for bytes in [
            &whole[..whole.len() - 1],
            &whole[..10],
            b"",
            b"\xff\xfe\n{}",
            flipped.as_slice(),
            other_version.as_bytes(),
        ] {
            fs::write(&path, bytes).expect("written");
            assert_eq!(cache.find(&key("a")), None);
        }
        // An entry under the name of another key.
        fs::write(&path, &whole).expect("written");
        let other = cache.path(&key("b"));
        fs::create_dir_all(other.parent().expect("a folder")).expect("made");
        fs::copy(&path, &other).expect("copied");
        assert_eq!(cache.find(&key("b")), None);
        assert!(
            cache.notices()[0].text.starts_with("7 answers"),
            "{:?}",
            cache.notices()
        );
    }

    #[test]
    fn concurrent_caches_in_one_folder_never_show_half_an_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let caches: Vec<_> = (0..2)
            .map(|_| Cache::open(folder.path()).expect("opened"))
            .collect();
        let output = vec![b'x'; 20_000];
        thread::scope(|scope| {
            for cache in caches.iter().chain(&caches) {
                scope.spawn(|| {
                    for n in 0..200 {
                        let key = key(&(n % 20).to_string());
                        cache.keep(&key, &output, &outcome(0.0));
                        assert_eq!(cache.find(&key).expect("kept").output, output);
                    }
                });
            }
        });
        assert!(caches.iter().all(|cache| cache.notices().is_empty()));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told_before_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        let refused = Cache::open(&file.join("cache")).expect_err("a file is in the way");
        assert!(refused.to_string().contains("--no-cache"), "{refused}");
    }
}
