//! Servers that are really asked, over sockets, by clients that behave well and by others.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::record::MockRecord;
use super::routes::Routes;
use super::server::MockServer;
use super::*;
use crate::keys::HttpMockKeys;

mod fields;
mod limits;
mod wire;

/// A server with its log.
struct Mock {
    folder: TempDir,
    server: MockServer,
}

fn keys(mock: Value) -> HttpMockKeys {
    serde_json::from_value(mock).expect("the keys of a mock")
}

fn log(folder: &TempDir) -> File {
    let path = folder.path().join("audit.jsonl");
    let log = OpenOptions::new().create(true).append(true).open(path);
    log.expect("the log is made")
}

impl Mock {
    fn of(mock: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let routes = Routes::of(&keys(mock)).expect("nothing is wrong with it");
        let server =
            MockServer::start("smtp", Arc::new(routes), Some(log(&folder))).expect("started");
        Self { folder, server }
    }

    fn plain() -> Self {
        Self::of(json!({"record": true}))
    }

    fn connect(&self) -> TcpStream {
        let address = self.server.url();
        let address = address.strip_prefix("http://").expect("an address");
        TcpStream::connect(address).expect("somebody listens")
    }

    /// Sends bytes and reads until the server closes the connection.
    fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Makes one request on a connection of its own.
    fn ask(&self, line: &str, headers: &str, body: &str) -> String {
        let length = body.len();
        self.send(format!(
            "{line} HTTP/1.1\r\nHost: mock\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }

    fn record(&self) -> Arc<MockRecord> {
        self.server.settle().expect("it was recorded")
    }

    fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.jsonl")).expect("a log");
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .collect()
    }
}

/// What stands in a field of the requests that a filter takes.
fn seen(record: &MockRecord, field: &str, filters: Value) -> FieldSeen {
    let filters = serde_json::from_value(filters).expect("a mapping");
    let filter = Filter::of(&filters).expect("a filter");
    RequestField::parse(field)
        .expect("a field")
        .of(record, &filter)
}

fn value(record: &MockRecord, field: &str, filters: Value) -> Value {
    match seen(record, field, filters) {
        FieldSeen::Value(value) => value,
        other => unreachable!("{field}: {other:?}"),
    }
}
