//! MySQL and MariaDB.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Column, Conn, Opts, OptsBuilder, Params, SslOpts, Value};
use serde_json::Value as Json;

use super::address::DatabaseUrl;
use super::driver::{Driver, RequestLimits};
use crate::scenario::plain;
use crate::services::state::DatabaseState;
use crate::services::{Query, QueryAnswer, Trouble, TypedCell};

/// The maximum size of a value in bytes.
const LONGEST_VALUE: usize = 64 << 20;

/// MySQL and MariaDB servers.
pub(super) struct Mysql;

fn options(address: &DatabaseUrl) -> Result<OptsBuilder, String> {
    let url = address.for_driver("mysql", &[]);
    // The error of the driver contains the URL, so it is not passed on.
    let options = Opts::from_url(&url).map_err(|_| "the URL cannot be used".to_owned())?;
    let builder = OptsBuilder::from_opts(options)
        .socket(address.parameter(&["socket", "unix_socket"]))
        .prefer_socket(false)
        .max_allowed_packet(Some(LONGEST_VALUE));
    let authorities = address.parameter(&["ssl-ca", "ssl_ca"]);
    let authorities: Vec<_> = authorities.map(PathBuf::from).into_iter().collect();
    let with_authorities = |options: SslOpts| match authorities.is_empty() {
        true => options,
        false => options
            .with_root_certs(authorities.iter().map(|path| path.clone().into()).collect())
            .with_disable_built_in_roots(true),
    };
    let mode = address.parameter(&["ssl-mode", "ssl_mode", "sslmode"]);
    let mode = mode.map(|mode| mode.to_uppercase().replace('-', "_"));
    let tls = match mode.as_deref() {
        None | Some("DISABLED" | "DISABLE") => None,
        Some("REQUIRED" | "REQUIRE") => {
            Some(SslOpts::default().with_danger_accept_invalid_certs(true))
        }
        Some("VERIFY_IDENTITY") => Some(with_authorities(SslOpts::default())),
        Some(_) => {
            return Err("`ssl-mode` is one of DISABLED, REQUIRED and VERIFY_IDENTITY".to_owned());
        }
    };
    Ok(builder.ssl_opts(tls))
}

impl Driver for Mysql {
    fn kind(&self) -> &'static str {
        "mysql"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["mysql", "mariadb"]
    }

    fn check(&self, address: &DatabaseUrl) -> Result<(), String> {
        options(address).map(|_| ())
    }

    fn first(
        &self,
        address: &DatabaseUrl,
        query: &Query<'_>,
        _: &BTreeMap<String, String>,
    ) -> Result<QueryAnswer, Trouble> {
        let limits = RequestLimits::of(query);
        let options = options(address)?;
        let time = limits.of_the_server();
        let values: Vec<Value> = query.values.iter().map(bound).collect();
        limits.wait(async move {
            let mut client = Conn::new(options).await.map_err(unreached)?;
            let version: Option<String> = client
                .query_first("SELECT VERSION()")
                .await
                .map_err(failed)?;
            let time = match version.is_some_and(|version| version.contains("MariaDB")) {
                true => format!("max_statement_time = {}", time.as_secs_f64()),
                false => format!("max_execution_time = {}", time.as_millis()),
            };
            for statement in [
                format!("SET SESSION {time}, time_zone = '+00:00'"),
                "SET SESSION TRANSACTION READ ONLY".to_owned(),
                "START TRANSACTION READ ONLY".to_owned(),
            ] {
                client.query_drop(statement).await.map_err(failed)?;
            }
            // The server accepts only one statement.
            let statement = client.prep(query.text).await.map_err(failed)?;
            if statement.columns().is_empty() {
                return Err("the query brings no column".into());
            }
            let values = match &values[..] {
                [] => Params::Empty,
                values => Params::Positional(values.to_vec()),
            };
            let brought = client.exec_iter(&statement, values).await;
            let mut brought = brought.map_err(failed)?;
            let columns = brought.columns();
            let column = columns.as_ref().and_then(|columns| columns.first());
            let column = column.ok_or("the query brings no column")?;
            // The connection ends here, and the transaction with it.
            Ok(match brought.next().await.map_err(failed)? {
                Some(row) => {
                    QueryAnswer::Value(cell(row.as_ref(0).unwrap_or(&Value::NULL), column))
                }
                None => QueryAnswer::NoRows,
            })
        })
    }

    fn rows(
        &self,
        address: &DatabaseUrl,
        queries: &[&str],
        limits: &RequestLimits<'_>,
    ) -> Result<Vec<BTreeMap<String, String>>, Trouble> {
        let options = options(address)?;
        limits.wait(async move {
            let mut client = Conn::new(options).await.map_err(unreached)?;
            let mut all = Vec::new();
            for query in queries {
                let rows: Vec<(Option<String>, Option<String>)> =
                    client.query(*query).await.map_err(failed)?;
                let rows = rows.into_iter();
                let rows =
                    rows.map(|(one, other)| (one.unwrap_or_default(), other.unwrap_or_default()));
                all.push(rows.collect());
            }
            client.disconnect().await.map_err(failed)?;
            Ok(all)
        })
    }

    fn state(
        &self,
        address: &DatabaseUrl,
        _: Option<&DatabaseState>,
        limits: &RequestLimits<'_>,
    ) -> Result<DatabaseState, Trouble> {
        let mut rows = self.rows(address, &[SETTINGS, RELATIONS], limits)?;
        let relations = rows.pop().unwrap_or_default();
        let settings = rows.pop().unwrap_or_default();
        Ok(DatabaseState {
            settings,
            relations,
        })
    }

    fn restores_settings(&self) -> bool {
        false
    }

    fn tables(&self) -> &'static str {
        "SELECT TABLE_NAME, '' FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
    }

    fn place(&self) -> &'static str {
        "SELECT DATABASE(), CONCAT(CASE WHEN VERSION() LIKE '%MariaDB%' THEN '' ELSE 'MySQL ' END, VERSION())"
    }

    fn lacks_right(&self, why: &str) -> bool {
        // The code of `ER_DBACCESS_DENIED_ERROR`; a wrong password has another code.
        why.ends_with("(1044)")
    }

    fn run(
        &self,
        address: &DatabaseUrl,
        values: &[(String, Json)],
        script: &str,
        limits: &RequestLimits<'_>,
    ) -> Result<(), Trouble> {
        let options = options(address)?;
        limits.wait(async move {
            let mut client = Conn::new(options).await.map_err(unreached)?;
            for (name, value) in values {
                let set = format!("SET @{name} = ?");
                let bound = client.exec_drop(set, (bound(value),)).await;
                bound.map_err(failed)?;
            }
            client.query_drop(script).await.map_err(failed)?;
            client.disconnect().await.map_err(failed)
        })
    }

    fn remove(&self, name: &str) -> String {
        format!("DROP DATABASE IF EXISTS {name}")
    }
}

/// The settings that determine the meaning of a query and the database in which it runs. If a user may set them for all
/// sessions, or can make the server run statements at the beginning of each session, the settings change for the checks
/// too.
const SETTINGS: &str = "SELECT 'database', DATABASE() UNION ALL SELECT 'sql_mode', @@sql_mode \
     UNION ALL SELECT 'init_connect', @@init_connect \
     UNION ALL SELECT 'collation_connection', @@collation_connection \
     UNION ALL SELECT 'sql_select_limit', CAST(@@sql_select_limit AS CHAR)";

/// The names of tables and views with their types. After the unit separator comes the definition of a view.
const RELATIONS: &str = "SELECT t.TABLE_NAME, CONCAT(\
       CASE t.TABLE_TYPE WHEN 'BASE TABLE' THEN 'a table' ELSE LOWER(CONCAT('a ', t.TABLE_TYPE)) END, \
       CHAR(31), COALESCE(MD5(v.VIEW_DEFINITION), '')) \
     FROM information_schema.TABLES t LEFT JOIN information_schema.VIEWS v \
       ON v.TABLE_SCHEMA = t.TABLE_SCHEMA AND v.TABLE_NAME = t.TABLE_NAME \
     WHERE t.TABLE_SCHEMA = DATABASE()";

/// A value of a scenario as a MySQL value.
fn bound(value: &Json) -> Value {
    match value {
        Json::Null => Value::NULL,
        Json::Bool(value) => Value::Int(i64::from(*value)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(real)) => Value::Double(real),
            (None, None) => Value::Bytes(number.to_string().into_bytes()),
        },
        other => Value::Bytes(plain(other).into_bytes()),
    }
}

fn failed(error: mysql_async::Error) -> Trouble {
    Trouble::Failed(error_text(&error))
}

fn unreached(error: mysql_async::Error) -> Trouble {
    Trouble::Unreached(error_text(&error))
}

/// Makes a value from the data of the server and the type of its column.
fn cell(value: &Value, column: &Column) -> TypedCell {
    match value {
        Value::NULL => TypedCell::Null,
        Value::Int(number) => TypedCell::Number(number.to_string()),
        Value::UInt(number) => TypedCell::Number(number.to_string()),
        Value::Float(number) => TypedCell::Number(number.to_string()),
        Value::Double(number) => TypedCell::Number(number.to_string()),
        Value::Bytes(bytes) => of_bytes(bytes, column.column_type()),
        Value::Date(year, month, day, ..)
            if column.column_type() == ColumnType::MYSQL_TYPE_DATE =>
        {
            TypedCell::Text(format!("{year:04}-{month:02}-{day:02}"))
        }
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let fraction = fraction(*micros, column.decimals());
            TypedCell::Text(format!(
                "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}"
            ))
        }
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if *is_negative { "-" } else { "" };
            let hours = days * 24 + u32::from(*hours);
            let fraction = fraction(*micros, column.decimals());
            TypedCell::Text(format!(
                "{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"
            ))
        }
    }
}

/// Fractions of a second, with as many digits as the column has.
fn fraction(micros: u32, digits: u8) -> String {
    match usize::from(digits.min(6)) {
        0 => String::new(),
        digits => format!(".{}", &format!("{micros:06}")[..digits]),
    }
}

fn of_bytes(bytes: &[u8], kind: ColumnType) -> TypedCell {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return match kind {
            ColumnType::MYSQL_TYPE_BIT => bits(bytes),
            _ => TypedCell::bytes(bytes),
        };
    };
    match kind {
        ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
            TypedCell::Number(text.to_owned())
        }
        ColumnType::MYSQL_TYPE_JSON => TypedCell::json(text),
        ColumnType::MYSQL_TYPE_BIT => bits(bytes),
        ColumnType::MYSQL_TYPE_GEOMETRY => TypedCell::bytes(bytes),
        _ => TypedCell::Text(text.to_owned()),
    }
}

/// A number of up to 64 bits, the highest first.
fn bits(bytes: &[u8]) -> TypedCell {
    let number = bytes
        .iter()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    TypedCell::Number(number.to_string())
}

/// An error in words: the server's own words, if it sent any.
fn error_text(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(said) => format!("{} ({})", said.message, said.code),
        mysql_async::Error::Driver(error) => error.to_string(),
        mysql_async::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}
