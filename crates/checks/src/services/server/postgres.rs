//! PostgreSQL.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{Kind, Type};
use tokio_postgres::{Client, Config, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use serde_json::Value;

use super::address::DatabaseUrl;
use super::driver::{Driver, RequestLimits};
use crate::scenario::plain;
use crate::services::state::DatabaseState;
use crate::services::{Query, QueryAnswer, Trouble, TypedCell};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// The URL parameters that the driver knows. Others are meant for the pipeline, such as `schema`.
const PARAMETERS: [&str; 14] = [
    "user",
    "password",
    "dbname",
    "options",
    "host",
    "hostaddr",
    "port",
    "connect_timeout",
    "keepalives",
    "keepalives_idle",
    "sslnegotiation",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
];

/// PostgreSQL servers.
pub(super) struct Postgres;

/// How a connection is made.
struct Connecting {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Connecting {
    fn of(address: &DatabaseUrl) -> Result<Self, String> {
        let url = address.for_driver("postgres", &PARAMETERS);
        let mut config: Config = url
            .parse()
            .map_err(|error| format!("the URL cannot be used: {}", error_text(&error)))?;
        let authorities = address.parameter(&["sslrootcert"]).map(PathBuf::from);
        let mode = address.parameter(&["sslmode"]);
        let tls = match mode.as_deref() {
            Some("verify-full") => tls_that_verifies(authorities.as_deref())?,
            None | Some("disable" | "allow" | "prefer" | "require") if authorities.is_none() => {
                tls_that_trusts()?
            }
            None | Some("disable" | "allow" | "prefer" | "require") => {
                return Err("`sslrootcert` needs `sslmode=verify-full`".to_owned());
            }
            Some(_) => {
                return Err(
                    "`sslmode` is one of disable, prefer, require and verify-full".to_owned(),
                );
            }
        };
        config.ssl_mode(match mode.as_deref() {
            Some("disable") => SslMode::Disable,
            None | Some("allow" | "prefer") => SslMode::Prefer,
            Some(_) => SslMode::Require,
        });
        config.application_name("kelvin");
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(tls),
        })
    }

    async fn connect(self) -> Result<Client, Trouble> {
        let connected = self.config.connect(self.tls).await;
        let (client, connection) =
            connected.map_err(|error| Trouble::Unreached(error_text(&error)))?;
        // The connection ends with the client, which also receives its errors.
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Driver for Postgres {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn check(&self, address: &DatabaseUrl) -> Result<(), String> {
        Connecting::of(address).map(|_| ())
    }

    fn first(
        &self,
        address: &DatabaseUrl,
        query: &Query<'_>,
        settings: &BTreeMap<String, String>,
    ) -> Result<QueryAnswer, Trouble> {
        let limits = RequestLimits::of(query);
        let connecting = Connecting::of(address)?;
        let session = session(&limits, settings);
        limits.wait(async move {
            let client = connecting.connect().await?;
            client.batch_execute(&session).await.map_err(failed)?;
            // The server accepts only one statement, and reports the types of its columns.
            let statement = client.prepare(query.text).await.map_err(failed)?;
            let column = statement.columns().first();
            let kind = column.ok_or("the query brings no column")?.type_();
            let asked = with_values(&client, query, statement.params()).await?;
            // The result is requested as text, the only form that all types have.
            let brought = client.simple_query_raw(&asked).await.map_err(failed)?;
            let mut brought = pin!(brought);
            while let Some(message) = brought.try_next().await.map_err(failed)? {
                if let SimpleQueryMessage::Row(row) = message {
                    return Ok(QueryAnswer::Value(cell(row.get(0), kind)));
                }
            }
            // The connection ends here, and the transaction with it.
            Ok(QueryAnswer::NoRows)
        })
    }

    fn state(
        &self,
        address: &DatabaseUrl,
        before: Option<&DatabaseState>,
        limits: &RequestLimits<'_>,
    ) -> Result<DatabaseState, Trouble> {
        let connecting = Connecting::of(address)?;
        limits.wait(async move {
            let client = connecting.connect().await?;
            // This statement contains no function or operator, because with a changed search path it could be a
            // function that somebody else has created.
            let settings = rows(&client, "SHOW ALL").await?;
            let mut state = DatabaseState {
                settings,
                relations: BTreeMap::new(),
            };
            let restored = before.map(|before| state.restoring(before));
            let session = restoring(&restored.unwrap_or_default());
            client.batch_execute(&session).await.map_err(failed)?;
            state.relations = rows(&client, RELATIONS).await?;
            Ok(state)
        })
    }

    fn rows(
        &self,
        address: &DatabaseUrl,
        queries: &[&str],
        limits: &RequestLimits<'_>,
    ) -> Result<Vec<BTreeMap<String, String>>, Trouble> {
        let connecting = Connecting::of(address)?;
        limits.wait(async move {
            let client = connecting.connect().await?;
            let mut all = Vec::new();
            for query in queries {
                all.push(rows(&client, query).await?);
            }
            Ok(all)
        })
    }

    fn restores_settings(&self) -> bool {
        true
    }

    fn tables(&self) -> &'static str {
        // Objects of an extension do not count: they are nobody's content.
        "SELECT CASE n.nspname WHEN 'public' THEN c.relname::text \
                     ELSE n.nspname || '.' || c.relname END, '' \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') \
           AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' \
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d \
                           WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass \
                             AND d.objid = c.oid AND d.deptype = 'e')"
    }

    fn place(&self) -> &'static str {
        "SELECT pg_catalog.current_database(), 'PostgreSQL ' || pg_catalog.current_setting('server_version')"
    }

    fn lacks_right(&self, why: &str) -> bool {
        // The code of `insufficient_privilege`.
        why.ends_with("(42501)")
    }

    fn run(
        &self,
        address: &DatabaseUrl,
        values: &[(String, Value)],
        script: &str,
        limits: &RequestLimits<'_>,
    ) -> Result<(), Trouble> {
        let connecting = Connecting::of(address)?;
        let session = format!(
            "SET statement_timeout = {}",
            limits.of_the_server().as_millis()
        );
        limits.wait(async move {
            let client = connecting.connect().await?;
            client.batch_execute(&session).await.map_err(failed)?;
            for (name, value) in values {
                let kind = match value {
                    Value::Bool(_) => "pg_catalog.bool",
                    Value::Number(_) => "pg_catalog.numeric",
                    _ => "pg_catalog.text",
                };
                let table = format!("CREATE TEMPORARY TABLE {name} (value {kind})");
                client.batch_execute(&table).await.map_err(failed)?;
                let insert =
                    format!("INSERT INTO pg_temp.{name} VALUES ($1::pg_catalog.text::{kind})");
                let inserted = client.execute(&insert, &[&bound(value)]).await;
                inserted.map_err(failed)?;
            }
            client.batch_execute(script).await.map_err(failed)
        })
    }

    fn remove(&self, name: &str) -> String {
        format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    }
}

/// A value of a scenario as a text; none for null.
fn bound(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| plain(value))
}

/// A query in which each place contains an expression that reads a setting of the session. A query with a text result
/// cannot have placeholders. So a separate statement with placeholders passes the values, and no value is ever a part
/// of a text. The server has reported the type for each place.
async fn with_values(
    client: &Client,
    query: &Query<'_>,
    types: &[Type],
) -> Result<String, Trouble> {
    if query.values.is_empty() {
        return Ok(query.text.to_owned());
    }
    if types.len() != query.values.len() {
        return Err("the query has a placeholder of its own".into());
    }
    let mut text = String::new();
    let mut between = query.between.iter();
    text.extend(between.next().map(String::as_str));
    let places = query.values.iter().zip(types).zip(between);
    for (at, ((value, kind), after)) in places.enumerate() {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let kind = format!("{}.{}", quoted(kind.schema()), quoted(kind.name()));
        match bound(value) {
            None => text.push_str(&format!("(NULL::{kind})")),
            Some(value) => {
                let set = "SELECT pg_catalog.set_config($1, $2, false)";
                let name = format!("kelvin.value_{at}");
                client.query(set, &[&name, &value]).await.map_err(failed)?;
                let read = format!("(pg_catalog.current_setting('{name}')::{kind})");
                text.push_str(&read);
            }
        }
        text.push_str(after);
    }
    Ok(text)
}

/// The names of tables and views with the objects to which they refer. A name without a schema refers to the first
/// match in the search path. After the unit separator come all other data that affect the result of a query.
const RELATIONS: &str = "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text \
            ELSE n.nspname || '.' || c.relname END, \
       CASE c.relkind WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view' \
                      WHEN 'f' THEN 'a foreign table' ELSE 'a table' END \
       || ' of the schema ' || n.nspname \
       || CASE WHEN c.relrowsecurity THEN ' with row security' ELSE '' END \
       || CASE WHEN c.relforcerowsecurity THEN ' for its owner too' ELSE '' END \
       || E'\\x1f' || CASE WHEN c.relkind IN ('v', 'm') \
                         THEN pg_catalog.md5(pg_catalog.pg_get_viewdef(c.oid)) ELSE '' END \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') \
       AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";

/// The rows of a query with two columns.
async fn rows(client: &Client, query: &str) -> Result<BTreeMap<String, String>, Trouble> {
    let mut rows = BTreeMap::new();
    for message in client.simple_query(query).await.map_err(failed)? {
        if let SimpleQueryMessage::Row(row) = message {
            let text = |column| row.get(column).unwrap_or_default().to_owned();
            rows.insert(text(0), text(1));
        }
    }
    Ok(rows)
}

/// The statements that give a session other settings than those with which it begins.
fn restoring(settings: &BTreeMap<String, String>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let each = settings.iter().map(|(name, value)| {
        let (name, value) = (quoted(name), quoted(value));
        format!("SELECT pg_catalog.set_config({name}, {value}, false); ")
    });
    // A setting also determines how quoted texts are parsed, so it is set first.
    format!(
        "SET standard_conforming_strings = on; {}",
        each.collect::<String>()
    )
}

/// The statements that prepare a session for a check. They restore the settings with which sessions began before the
/// pipeline ran, then make answers comparable, and make the session read-only.
fn session(limits: &RequestLimits<'_>, settings: &BTreeMap<String, String>) -> String {
    format!(
        "{}SET default_transaction_read_only = on; SET standard_conforming_strings = on; \
         SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC'; \
         SET bytea_output = 'hex'; SET extra_float_digits = 1; SET statement_timeout = {}; \
         BEGIN TRANSACTION READ ONLY",
        restoring(settings),
        limits.of_the_server().as_millis()
    )
}

fn failed(error: tokio_postgres::Error) -> Trouble {
    Trouble::Failed(error_text(&error))
}

/// Makes a value from the text that the server has sent and its type.
fn cell(text: Option<&str>, kind: &Type) -> TypedCell {
    let Some(text) = text else {
        return TypedCell::Null;
    };
    if let Kind::Domain(base) = kind.kind() {
        return cell(Some(text), base);
    }
    match *kind {
        Type::BOOL => TypedCell::Bool(text == "t"),
        Type::INT2
        | Type::INT4
        | Type::INT8
        | Type::OID
        | Type::FLOAT4
        | Type::FLOAT8
        | Type::NUMERIC => TypedCell::Number(text.to_owned()),
        Type::JSON | Type::JSONB => TypedCell::json(text),
        _ => TypedCell::Text(text.to_owned()),
    }
}

/// An error in words: the server's own words, if it sent any.
fn error_text(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            use std::error::Error as _;
            let cause = error.source().map(|cause| format!(": {cause}"));
            let text = error.to_string();
            match cause.filter(|cause| !text.ends_with(cause.as_str())) {
                Some(cause) => text + &cause,
                None => text,
            }
        }
    }
}

/// A client that verifies the certificate of the server: that one of the known authorities, or one from a file, has
/// signed it, and that it is for the host.
fn tls_that_verifies(authorities: Option<&Path>) -> Result<ClientConfig, String> {
    let roots = match authorities {
        None => webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect(),
        Some(file) => kelvin_system::proxy::authorities(file)?,
    };
    Ok(builder()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// A client that accepts any certificate, as database clients do by default. Nobody can read the traffic on the way,
/// but an attacker in between can answer in place of the server.
fn tls_that_trusts() -> Result<ClientConfig, String> {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    let builder = builder()?.dangerous();
    Ok(builder
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
