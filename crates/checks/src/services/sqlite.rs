//! SQLite: a database in a file of the workspace, or in a separate file for every scenario.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::Value;

use super::state::{DatabaseState, Init};
use super::{Query, QueryAnswer, RunningService, Service, ServiceSite, Trouble, TypedCell};
use crate::keys::{SqliteKeys, limit};
use crate::scenario::{Scenario, plain};
use crate::selector::relative_path;
use crate::sql::Dialect;
use kelvin_base::file::beneath::{Beneath, NotOpened};
use kelvin_system::signal::Interrupt;

/// A larger database is not copied, and cannot be queried.
const MOST_COPIED: u64 = 1 << 30;
/// The maximum size of a value in bytes.
const LONGEST_VALUE: i32 = 64 << 20;
/// How many steps of the virtual machine pass between two checks of the clock.
const STEPS: i32 = 10_000;
/// The suffixes of the database file and of the other files of SQLite: the latter contain changes that are not in the
/// database file yet, or that must be undone.
const BESIDE: [&str; 3] = ["", "-wal", "-journal"];

/// A declared SQLite database.
#[derive(Debug)]
struct Sqlite {
    path: Option<PathBuf>,
    init: Option<Init>,
    timeout: Duration,
}

/// Opens the declaration of a database.
pub(super) fn open(
    written: &SqliteKeys,
    keys: &SqliteKeys,
    init: Option<&str>,
) -> Result<Box<dyn Service>, (&'static str, String)> {
    let path = match (&written.path, &keys.path) {
        (Some(written), Some(path)) => Some(relative_path(path).map_err(|_| {
            let what = format!("`{written}` leads out of the workspace: a path is relative to it");
            ("path", what)
        })?),
        _ => None,
    };
    Ok(Box::new(Sqlite {
        path,
        init: init
            .map(|text| Init::of(text, Dialect::Sqlite))
            .transpose()?,
        timeout: limit(keys.timeout_s),
    }))
}

impl Service for Sqlite {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        let init = self.init.as_ref();
        init.map_or(Ok(()), |init| init.values(scenario).map(|_| ()))
    }

    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn RunningService + 's>, Trouble> {
        let failed = |error: io::Error| Trouble::Failed(error.to_string());
        let (folder, path) = match &self.path {
            Some(path) => (site.folder, path.clone()),
            None => {
                let beside = site.private.parent().unwrap_or(site.private);
                (beside, PathBuf::from(format!("{}.sqlite", site.name)))
            }
        };
        let mut file = SqliteFile {
            beneath: Beneath::of(folder).map_err(failed)?,
            whole: folder.join(&path),
            path,
            copies: site.private.join(format!("{}.sqlite", site.name)),
            before: Ok(DatabaseState::default()),
        };
        if let Some(init) = &self.init {
            // A link from the template may point outside.
            file.beneath.exists(&file.path).map_err(not_opened)?;
            let values = init.values(site.scenario).map_err(Trouble::Failed)?;
            let connection = Connection::open(&file.whole);
            let run = connection.map_err(|error| Trouble::Failed(error.to_string()));
            let run = run.and_then(|mut connection| {
                let limits = ConnectionLimits::begin(self.timeout, site.interrupt);
                limits.within(&mut connection, |connection| {
                    for (name, value) in &values {
                        connection.execute_batch(&format!("CREATE TEMP TABLE {name} (value)"))?;
                        let insert = format!("INSERT INTO temp.{name} VALUES (?1)");
                        connection.execute(&insert, [bound(value)])?;
                    }
                    connection.execute_batch(init.text())
                })
            });
            run.map_err(|trouble| trouble.of("`init`"))?;
        }
        file.before = file.state(&ConnectionLimits::begin(self.timeout, site.interrupt));
        match file.before {
            Err(Trouble::Stopped) => Err(Trouble::Stopped),
            _ => Ok(Box::new(file)),
        }
    }
}

/// A database file of a scenario.
struct SqliteFile {
    /// The folder to which the path is relative.
    beneath: Beneath,
    path: PathBuf,
    whole: PathBuf,
    /// The folder of the copies on which queries are run.
    copies: PathBuf,
    /// The state of the database before the pipeline ran.
    before: Result<DatabaseState, Trouble>,
}

/// A value of a scenario as an SQLite value.
fn bound(value: &Value) -> rusqlite::types::Value {
    use rusqlite::types::Value as Bound;
    match value {
        Value::Null => Bound::Null,
        Value::Bool(value) => Bound::Integer(i64::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Bound::Integer(whole),
            (None, Some(real)) => Bound::Real(real),
            (None, None) => Bound::Text(number.to_string()),
        },
        other => Bound::Text(plain(other)),
    }
}

fn not_opened(error: NotOpened) -> Trouble {
    Trouble::Failed(match error {
        NotOpened::Absent => "the file is not there".to_owned(),
        NotOpened::Escapes => "the file is a link that leads out of the workspace".to_owned(),
        NotOpened::Refused(error) => format!("the file cannot be read: {error}"),
    })
}

impl SqliteFile {
    /// Copies the database, and returns whether there is one. Queries are run on the copy. So no file outside the
    /// workspace is read, even if the pipeline has changed the names (links, or a file in place of another one). And no
    /// file in the workspace is written, which SQLite does even for reading if a transaction was interrupted.
    fn copied(&self) -> Result<bool, Trouble> {
        let failed = |error: io::Error| Trouble::Failed(format!("copying the file: {error}"));
        match fs::remove_dir_all(&self.copies) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => fs::create_dir(&self.copies).map_err(failed)?,
        }
        for ending in BESIDE {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            let file = match self.beneath.open(Path::new(&path)) {
                Ok(file) => file,
                Err(NotOpened::Absent) if ending.is_empty() => return Ok(false),
                Err(NotOpened::Absent) => continue,
                Err(error) => return Err(not_opened(error)),
            };
            let too_large = || {
                let most = MOST_COPIED >> 30;
                let what = format!("the file has more than the {most} GiB that a check reads");
                Err(Trouble::Failed(what))
            };
            let data = file.metadata().map_err(failed)?;
            if !data.is_file() {
                return Err(Trouble::Failed("the file is no regular file".to_owned()));
            }
            if data.len() > MOST_COPIED {
                return too_large();
            }
            let mut copy =
                File::create(self.copies.join(format!("copy{ending}"))).map_err(failed)?;
            // The bytes are counted while they are read, because the file may still grow.
            let bytes = io::copy(&mut file.take(MOST_COPIED + 1), &mut copy).map_err(failed)?;
            if bytes > MOST_COPIED {
                return too_large();
            }
        }
        Ok(true)
    }

    /// The state of the database; an empty state if there is no database.
    fn state(&self, limits: &ConnectionLimits<'_>) -> Result<DatabaseState, Trouble> {
        match self.copied()? {
            true => self.of_the_copy(limits),
            false => Ok(DatabaseState::default()),
        }
    }

    fn of_the_copy(&self, limits: &ConnectionLimits<'_>) -> Result<DatabaseState, Trouble> {
        let failed = |error: rusqlite::Error| Trouble::Failed(error.to_string());
        // SQLite first cleans up after an interrupted transaction, which requires write access.
        let copy = self.copies.join("copy");
        let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE);
        limits.within(&mut connection.map_err(failed)?, |connection| {
            // A virtual table is distinguished from a table, since its module may read from anywhere.
            let mut statement = connection.prepare(
                "SELECT name, CASE WHEN type = 'view' THEN 'a view' \
                                   WHEN sql LIKE 'CREATE VIRTUAL%' THEN 'a virtual table' \
                                   ELSE 'a table' END \
                        || char(31) || CASE type WHEN 'view' THEN sql ELSE '' END \
                 FROM sqlite_schema WHERE type IN ('table', 'view')",
            )?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(DatabaseState {
                relations: rows.collect::<rusqlite::Result<_>>()?,
                ..DatabaseState::default()
            })
        })
    }
}

impl RunningService for SqliteFile {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn url(&self) -> Option<String> {
        // The URL has four slashes: SQLAlchemy reads three as a relative path, and all other clients accept both.
        Some(format!("sqlite:///{}", self.whole.display()))
    }

    fn hidden(&self) -> Vec<(String, String)> {
        vec![(self.copies.display().to_string(), "{database}".to_owned())]
    }

    fn ask(&self, query: &Query<'_>) -> Result<QueryAnswer, Trouble> {
        if !self.copied()? {
            return Ok(QueryAnswer::Absent);
        }
        let copy = self.copies.join("copy");
        let failed = |error: rusqlite::Error| Trouble::Failed(error.to_string());
        let limits = ConnectionLimits::begin(query.timeout, query.interrupt);
        let after = self.of_the_copy(&limits)?;
        let before = self.before.as_ref().map_err(Clone::clone)?;
        if let Some(what) = after.replaced(before, query.text) {
            return Err(Trouble::Failed(what));
        }
        let connection = Connection::open_with_flags(&copy, OpenFlags::SQLITE_OPEN_READ_ONLY);
        limits.within(&mut connection.map_err(failed)?, |connection| {
            let mut statement = connection.prepare(query.text)?;
            let values = query.values.iter().map(bound);
            let mut rows = statement.query(rusqlite::params_from_iter(values))?;
            let Some(row) = rows.next()? else {
                return Ok(QueryAnswer::NoRows);
            };
            Ok(QueryAnswer::Value(match row.get_ref(0)? {
                ValueRef::Null => TypedCell::Null,
                ValueRef::Integer(number) => TypedCell::Number(number.to_string()),
                ValueRef::Real(number) => TypedCell::Number(number.to_string()),
                ValueRef::Text(text) => TypedCell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(bytes) => TypedCell::bytes(bytes),
            }))
        })
    }
}

/// The limits for the work of a connection.
struct ConnectionLimits<'a> {
    begun: Instant,
    timeout: Duration,
    interrupt: &'a Arc<Interrupt>,
}

impl<'a> ConnectionLimits<'a> {
    fn begin(timeout: Duration, interrupt: &'a Arc<Interrupt>) -> Self {
        Self {
            begun: Instant::now(),
            timeout,
            interrupt,
        }
    }

    fn within<T>(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        let (begun, timeout, interrupt) = (self.begun, self.timeout, Arc::clone(self.interrupt));
        let is_over = move || interrupt.tripped() || begun.elapsed() >= timeout;
        let guarded = connection.progress_handler(STEPS, Some(is_over));
        let guarded = guarded.and_then(|()| {
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
            // With this setting, a hostile view can only use harmless functions.
            connection.pragma_update(None, "trusted_schema", false)
        });
        guarded
            .and_then(|()| work(connection))
            .map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::OperationInterrupted) if self.interrupt.tripped() => {
                    Trouble::Stopped
                }
                Some(ErrorCode::OperationInterrupted) => Trouble::TimedOut(self.timeout),
                _ => Trouble::Failed(error.to_string()),
            })
    }
}
