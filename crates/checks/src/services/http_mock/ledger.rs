//! Records the requests to a mocked server, within limits: in memory for the checks, and in the audit log for scripts.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::record::{MockRecord, ReceivedRequest};

/// How many bytes of a body are stored at most.
pub(super) const MOST_BODY: usize = 1 << 20;
/// How many requests are stored at most; the others are only counted.
pub(super) const MOST_REQUESTS: usize = 10_000;
/// How many bytes of requests and of audit log lines are stored at most.
pub(super) const MOST_BYTES: usize = 32 << 20;
/// How many bytes of a body are written to a line of the audit log at most.
pub(super) const MOST_LOGGED: usize = 64 << 10;

/// A record while the scenario is running.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The name of the service.
    service: String,
    record: MockRecord,
    /// How many requests have started.
    begun: u64,
    bytes: usize,
    log: Option<File>,
    log_failure: Option<String>,
    /// The record up to the end of the pipeline; none before the end.
    settled: Option<Arc<MockRecord>>,
}

/// The answer to a request.
pub(super) struct AnsweredRequest<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
}

impl Ledger {
    /// An empty ledger, with the log to which lines are appended.
    pub(super) fn new(service: &str, log: Option<File>) -> Self {
        Self {
            service: service.to_owned(),
            log,
            ..Self::default()
        }
    }

    /// Counts a request that has started.
    pub(super) const fn begin(&mut self) {
        if self.settled.is_none() {
            self.begun += 1;
        }
    }

    /// Counts a connection on which the client did not send HTTP.
    pub(super) const fn garbled(&mut self) {
        if self.settled.is_none() {
            self.record.garbled += 1;
        }
    }

    /// Records a request that was read completely, with its answer.
    pub(super) fn note(&mut self, request: ReceivedRequest, answered: &AnsweredRequest<'_>) {
        if self.settled.is_some() {
            return;
        }
        self.record.total += 1;
        // After the first request that is not stored, none is.
        if self.record.lost() > 1 {
            return;
        }
        let is_within =
            self.record.requests.len() < MOST_REQUESTS && self.bytes + request.cost() <= MOST_BYTES;
        if !is_within {
            let kept = self.record.requests.len();
            let details = json!({"service": self.service, "kept": kept});
            let line = json!({"type": "http_calls_cut", "details": details}).to_string();
            self.append(&line);
            return;
        }
        let line = self.line(&request, answered);
        self.bytes += request.cost() + line.len();
        self.append(&line);
        self.record.requests.push(request);
    }

    fn line(&self, request: &ReceivedRequest, answered: &AnsweredRequest<'_>) -> String {
        let (request_body, response_body) = (logged(&request.body), logged(answered.body));
        let is_cut = request.size > MOST_LOGGED as u64 || answered.body.len() > MOST_LOGGED;
        let mut details = json!({
            "service": self.service,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "status": answered.status,
            "request_body": request_body,
            "response_body": response_body,
        });
        if is_cut {
            details["is_cut"] = Value::Bool(true);
        }
        json!({"type": "http_call", "details": details}).to_string()
    }

    /// Appends a whole line in one write, since the pipeline appends too.
    fn append(&mut self, line: &str) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.write_all(format!("{line}\n").as_bytes())
        {
            self.log_failure.get_or_insert_with(|| error.to_string());
        }
    }

    /// Records that the pipeline has ended: a later request does not belong to it. Fails if the audit log is
    /// incomplete, since it could not be written.
    pub(super) fn settle(&mut self) -> Result<Arc<MockRecord>, String> {
        if let Some(why) = &self.log_failure {
            return Err(format!("the audit log could not be written: {why}"));
        }
        if let Some(settled) = &self.settled {
            return Ok(Arc::clone(settled));
        }
        let mut record = std::mem::take(&mut self.record);
        record.incomplete = self.begun - record.total;
        self.log = None;
        Ok(Arc::clone(self.settled.insert(Arc::new(record))))
    }
}

/// A body in the form for the audit log: a JSON object or list unchanged, any other value as a string.
fn logged(body: &[u8]) -> Value {
    let is_cut = body.len() > MOST_LOGGED;
    let json = (!is_cut).then(|| serde_json::from_slice::<Value>(body).ok());
    match json.flatten() {
        Some(value) if value.is_object() || value.is_array() => value,
        _ if body.is_empty() => Value::Null,
        _ => {
            let kept = &body[..body.len().min(MOST_LOGGED)];
            Value::String(String::from_utf8_lossy(kept).into_owned())
        }
    }
}
