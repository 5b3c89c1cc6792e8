//! A service that replaces a real server: it gives the configured answers, and records the requests that it receives.
//!
//! Only the record of the server itself counts. The audit log, to which the server appends, is in a place where the
//! pipeline can write too.

mod dotted;
mod field;
mod filter;
mod ledger;
mod record;
mod routes;
mod server;

use std::fs::OpenOptions;
use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::{RunningService, Service, ServiceSite, Trouble};
use crate::keys::HttpMockKeys;
use routes::Routes;
use server::MockServer;

pub(crate) use field::{FieldSeen, RequestField};
pub(crate) use filter::Filter;
pub(crate) use record::MockRecord;

/// The word under `type`.
const KIND: &str = "http_mock";

/// A server in the form of its declaration.
#[derive(Debug)]
struct HttpMock {
    routes: Arc<Routes>,
    records: bool,
}

/// The server of one scenario.
struct MockAtWork {
    name: String,
    server: MockServer,
    records: bool,
}

/// Opens a declaration. Fails with the problem of one of its keys: the key, and the message.
pub(super) fn open(keys: &HttpMockKeys) -> Result<Box<dyn Service>, (&'static str, String)> {
    let routes = Routes::of(keys).map_err(|(at, what)| match at {
        Some(at) => ("routes", format!("route {}: {what}", at + 1)),
        None => ("default_response", what),
    })?;
    Ok(Box::new(HttpMock {
        routes: Arc::new(routes),
        records: keys.record,
    }))
}

impl Service for HttpMock {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn open<'s>(&'s self, site: &ServiceSite<'s>) -> Result<Box<dyn RunningService + 's>, Trouble> {
        let start = || -> io::Result<MockServer> {
            // The file is opened before the pipeline starts, and stays open, so that lines are always appended to this
            // file.
            let log = match self.records {
                true => Some(OpenOptions::new().append(true).open(site.audit_log)?),
                false => None,
            };
            MockServer::start(site.name, Arc::clone(&self.routes), log)
        };
        let server = start().map_err(|error| Trouble::Failed(error.to_string()))?;
        Ok(Box::new(MockAtWork {
            name: site.name.to_owned(),
            server,
            records: self.records,
        }))
    }
}

impl RunningService for MockAtWork {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn url(&self) -> Option<String> {
        Some(self.server.url())
    }

    /// The port, which differs from run to run and occurs in the header `host`.
    fn hidden(&self) -> Vec<(String, String)> {
        vec![(self.server.address(), format!("{{{}}}", self.name))]
    }

    fn field(&self, path: &str) -> Result<Value, String> {
        let field = RequestField::parse(path)?;
        match field.of(&*self.record()?, &Filter::default()) {
            FieldSeen::Value(value) => Ok(value),
            FieldSeen::Body { mut texts, .. } => Ok(texts.swap_remove(0).into()),
            FieldSeen::Nothing(why) | FieldSeen::Unknown(why) => Err(format!("`{path}` {why}")),
        }
    }

    fn settle(&self) -> Result<(), Trouble> {
        self.server.settle().map(|_| ()).map_err(Trouble::Failed)
    }

    fn record(&self) -> Result<Arc<MockRecord>, String> {
        match self.records {
            true => self.server.settle(),
            false => Err("it has no `record: true`".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
