//! The local history: every run with its items, in an embedded database beside the configuration.
//!
//! A run is stored as its report without the items, and each item (a case or a query) separately, both compressed. The
//! stored data contain everything that a metric is computed from, so that it can be computed again.

mod ledger;
mod list;
mod migrate;
mod read;
mod write;

use anyhow::{Context as _, anyhow, ensure};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde_json::Value;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use kelvin_base::exit::Misuse;

pub(crate) use ledger::{LedgerEntry, LedgerFilter, LedgerSummary, summaries};
pub(crate) use list::{ListedMetric, ListedRun, sparkline};
pub(crate) use read::WantedRun;

pub(crate) use write::RunScene;

/// The path of the database, relative to the folder of the configuration.
const FILE: &str = ".kelvin/history.db";
/// The files beside the database that git ignores.
const IGNORED: &str = "/history.db*\n/.gitignore\n";
/// How many runs are kept; the oldest is removed when a new one is recorded.
pub(crate) const KEPT: usize = 200;

/// The files of the database, beside the configuration; the pipeline does not read them.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    ["", "-wal", "-shm", "-journal"]
        .iter()
        .map(|end| root.join(format!("{FILE}{end}")))
        .chain([root.join(FILE).with_file_name(".gitignore")])
        .collect()
}

/// Makes git ignore the files that belong only to this machine; a report beside them can be committed. A file that a
/// user has changed is not overwritten.
fn ignore(folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(".gitignore");
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            kelvin_base::file::write(&path, IGNORED.as_bytes())
        }
        _ => Ok(()),
    }
}

/// An open history.
pub(crate) struct History {
    connection: Connection,
    file: PathBuf,
}

impl History {
    /// Opens the history beside a configuration, and creates it if there is none. Fails if the disk does not allow it,
    /// if the file is not a database of kelvin, or if a newer version has written it; such a file is not changed.
    pub(crate) fn create(root: &Path) -> anyhow::Result<Self> {
        let file = root.join(FILE);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("failed to make `{}`", folder.display()))?;
            ignore(folder)?;
        }
        Self::open_at(file, OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the history beside a configuration; none if no run was recorded yet. Fails like [`History::create`].
    pub(crate) fn open(root: &Path) -> anyhow::Result<Option<Self>> {
        let file = root.join(FILE);
        match std::fs::symlink_metadata(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            _ => Self::open_at(file, OpenFlags::empty()).map(Some),
        }
    }

    fn open_at(file: PathBuf, flags: OpenFlags) -> anyhow::Result<Self> {
        let shown = file.display().to_string();
        refuse(&file, migrate::version())?;
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> anyhow::Result<Connection> {
            let mut connection = Connection::open_with_flags(&file, flags)?;
            connection.busy_handler(Some(wait_once_more))?;
            // Only a new file accepts this page size. With it, several items fit on a page.
            connection.pragma_update(None, "page_size", 16384)?;
            migrate::run(&mut connection, migrate::STEPS)?;
            write::ahead(&connection)?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let connection = open().with_context(|| format!("failed to open the history `{shown}`"))?;
        Ok(Self { connection, file })
    }

    /// The path of the database, for messages.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// Advice for an error that reports a damaged database; none for other errors.
pub(crate) fn cure(error: &anyhow::Error) -> Option<String> {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let said = error.chain().find_map(|cause| {
        let error = cause.downcast_ref::<rusqlite::Error>()?;
        error.sqlite_error_code()
    })?;
    matches!(said, DatabaseCorrupt | NotADatabase).then(|| {
        format!(
            "the history is damaged: move `{FILE}` away, with `{FILE}-wal` and `{FILE}-shm` where they \
             are there; the next check begins a new one"
        )
    })
}

/// Rejects a file that is not a database, or that a newer version has written. Only the first bytes of the file are
/// read, because opening it as a database would already write files beside it.
fn refuse(file: &Path, known: u32) -> anyhow::Result<()> {
    let shown = file.display();
    match std::fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(Misuse::new(format!("the history `{shown}` is no file")).into()),
        Err(error) => {
            return Err(anyhow!(error).context(format!("failed to read the history `{shown}`")));
        }
    }
    let mut head = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(100).read_to_end(&mut head))
        .with_context(|| format!("failed to read the history `{shown}`"))?;
    if head.is_empty() {
        return Ok(());
    }
    // https://www.sqlite.org/fileformat.html, section 1.3: the user version is at byte 60.
    let version = head.get(60..64).and_then(|bytes| bytes.try_into().ok());
    let (true, Some(version)) = (head.starts_with(b"SQLite format 3\0"), version) else {
        return Err(Misuse::new(format!("`{shown}` is no history of kelvin"))
            .help("move it away; the next check makes a new one")
            .into());
    };
    match u32::from_be_bytes(version) {
        version if version > known => Err(newer(version, known, &shown.to_string())),
        _ => Ok(()),
    }
}

fn newer(version: u32, known: u32, shown: &str) -> anyhow::Error {
    Misuse::new(format!(
        "the history `{shown}` was written by a newer kelvin (version {version}, this one knows up \
         to {known}) and is left as it is"
    ))
    .help("update kelvin, or move the file away to begin a new history")
    .into()
}

/// The maximum size of an unpacked value; a larger one is damaged.
const MOST: u64 = 128 * 1024 * 1024;

/// Compresses a value.
pub(super) fn pack(value: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let json = serde_json::to_vec(value)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json)?;
    Ok(encoder.finish()?)
}

/// Decompresses a value. Fails if the value is damaged, or larger than a report may be.
pub(super) fn unpack(bytes: &[u8]) -> anyhow::Result<Value> {
    let mut text = Vec::new();
    ZlibDecoder::new(bytes)
        .take(MOST + 1)
        .read_to_end(&mut text)
        .context("what was stored is damaged")?;
    ensure!(
        text.len() as u64 <= MOST,
        "what was stored is over {MOST} bytes"
    );
    serde_json::from_slice(&text).context("what was stored is damaged")
}

/// How long one wait takes.
const STEP: Duration = Duration::from_millis(20);
/// How long a wait continues before it is reported.
const SILENT: Duration = Duration::from_secs(1);
/// How long a writer waits for another one at most.
const PATIENCE: Duration = Duration::from_secs(30);

/// The function that reports a long wait to the user.
static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the function that reports a long wait; only the first call counts.
pub(crate) fn report_waits_by(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// Waits once more, after `times` waits. Returns false when the maximum time is over.
pub(super) fn wait_once_more(times: i32) -> bool {
    let waited = STEP * u32::try_from(times).unwrap_or(0);
    if waited >= PATIENCE {
        return false;
    }
    if waited == SILENT
        && let Some(tell) = TELL.get()
    {
        tell(&format!(
            "waiting for another process that writes to the history `{}`, for at most {} s",
            FILE,
            PATIENCE.as_secs()
        ));
    }
    std::thread::sleep(STEP);
    true
}

#[cfg(test)]
mod tests;
