//! The services that scenarios use, as written, each with its `type`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::http_mock::HttpMockKeys;

/// What scenarios use besides their workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServiceKeys {
    /// A database of a PostgreSQL server that runs already.
    Postgres(ServerKeys),
    /// A database of a MySQL or MariaDB server that runs already.
    Mysql(ServerKeys),
    /// A file with an SQLite database.
    Sqlite(SqliteKeys),
    /// An HTTP server that takes the place of another one.
    HttpMock(HttpMockKeys),
}

/// A database server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerKeys {
    /// The address of the server, with the user, such as `${DATABASE_URL}`.
    #[schemars(length(min = 1))]
    pub(crate) url: String,
    /// What keeps scenarios apart: every one has a database of its own (`database`), or one runs after the
    /// other on the database of `url` (`serial`).
    #[serde(default)]
    pub(crate) isolation: Isolation,
    /// With `isolation: serial`: the name of the database of `url`, to confirm that `init` may be run in it although it
    /// is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) confirm: Option<String>,
    /// A file with SQL that is run in the database before every scenario, relative to the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) init: Option<String>,
    /// What tells that the server is ready. Without it the server has to answer at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ready: Option<ReadyKeys>,
    /// Seconds that the server may take until it is ready, and that `init` may take.
    #[serde(default = "minute")]
    #[schemars(range(max = 86_400), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
}

/// What keeps scenarios apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Isolation {
    /// Every scenario has a database of its own.
    #[default]
    Database,
    /// One scenario runs after the other.
    Serial,
}

/// What tells that a server is ready: one of the three keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReadyKeys {
    /// A command, which `sh -c` runs in the folder of the configuration, ends with exit code 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) command: Option<String>,
    /// A program listens on this port of the host of `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) port: Option<u16>,
    /// The server answers this query.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) query: Option<String>,
}

/// A file with a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SqliteKeys {
    /// Where the file is, relative to the workspace. Without it every scenario has a file beside its
    /// workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) path: Option<String>,
    /// A file with SQL that is run in the database before every scenario, relative to the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub(crate) init: Option<String>,
    /// Seconds that `init` may take.
    #[serde(default = "minute")]
    #[schemars(range(max = 86_400), extend("exclusiveMinimum" = 0))]
    pub(crate) timeout_s: f64,
}

impl ServiceKeys {
    /// The word under `type`.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Mysql(_) => "mysql",
            Self::Sqlite(_) => "sqlite",
            Self::HttpMock(_) => "http_mock",
        }
    }

    /// Whether the service records the requests that it receives.
    pub(crate) const fn records(&self) -> bool {
        match self {
            Self::HttpMock(keys) => keys.record,
            Self::Postgres(_) | Self::Mysql(_) | Self::Sqlite(_) => false,
        }
    }

    /// The file with SQL that puts the database into its initial state.
    pub(crate) fn init(&self) -> Option<&str> {
        match self {
            Self::Postgres(keys) | Self::Mysql(keys) => keys.init.as_deref(),
            Self::Sqlite(keys) => keys.init.as_deref(),
            Self::HttpMock(_) => None,
        }
    }

    /// The command that checks whether the service is ready.
    pub(crate) fn ready_command(&self) -> Option<&str> {
        match self {
            Self::Postgres(keys) | Self::Mysql(keys) => keys.ready.as_ref()?.command.as_deref(),
            Self::Sqlite(_) | Self::HttpMock(_) => None,
        }
    }

    /// The same keys without the address of the service, which is not part of what is measured, and may contain a
    /// password.
    pub(crate) fn without_place(&self) -> Self {
        let mut keys = self.clone();
        match &mut keys {
            Self::Postgres(keys) | Self::Mysql(keys) => {
                keys.url = String::new();
                keys.confirm = None;
            }
            Self::Sqlite(_) | Self::HttpMock(_) => {}
        }
        keys
    }
}

const fn minute() -> f64 {
    60.0
}
