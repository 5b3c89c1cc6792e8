//! The messages between this program and a worker: JSON-RPC 2.0, one message per line.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::InCompany;
use crate::targets::handed::HandedInput;
pub(in crate::targets) use crate::targets::handed::token;

/// The version of the protocol.
pub(super) const PROTOCOL: u64 = 1;

/// The input of a call.
#[derive(Serialize)]
struct Asked<'a> {
    call: &'a str,
    input: AskedInput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<usize>,
}

/// An input in the form for a worker.
#[derive(Serialize)]
#[serde(untagged)]
enum AskedInput<'a> {
    Text(&'a str),
    /// A record without its line breaks; otherwise unchanged, so that its numbers keep their form.
    Record(&'a RawValue),
}

/// The first message to a worker, which says how it will get several calls at once.
pub(super) fn initialize(id: &str, company: Option<InCompany>) -> Vec<u8> {
    let mut asked = json!({ "protocol": PROTOCOL });
    if let Some(company) = company {
        asked[company.key()] = json!(company.most());
    }
    line(id, "initialize", &asked)
}

/// The answer of a worker that is ready.
#[derive(Deserialize)]
pub(super) struct Ready {
    /// The version of the protocol.
    pub(super) protocol: u64,
    /// How many messages the worker can handle at once.
    #[serde(default)]
    pub(super) concurrency: Option<usize>,
    /// How many calls the worker accepts in one message.
    #[serde(default)]
    pub(super) batch: Option<usize>,
}

/// The answer to the first message; none if it has no version.
pub(super) fn ready(answer: &[u8]) -> Option<Ready> {
    serde_json::from_slice(answer).ok()
}

/// The parameters of a call. A record is passed as a JSON value; every other input is a string.
pub(super) fn asked(id: &str, input: &HandedInput<'_>) -> Box<RawValue> {
    // A message is one line; valid JSON has no line break inside a string.
    let flat = input.text.replace(['\n', '\r'], " ");
    let record = match input.is_record {
        true => serde_json::from_str(&flat).ok(),
        false => None,
    };
    let turn = input.turn.as_ref();
    let asked = Asked {
        call: id,
        input: record.map_or(AskedInput::Text(&input.text), AskedInput::Record),
        input_path: input.file.map(|file| file.to_string_lossy()),
        conversation_id: turn.map(|turn| &*turn.conversation),
        turn: turn.map(|turn| turn.number),
    };
    serde_json::value::to_raw_value(&asked).unwrap_or_default()
}

/// The message that asks for the answer to an input.
pub(super) fn assess(id: &str, asked: &RawValue) -> Vec<u8> {
    line(id, "assess", asked)
}

/// The message that asks for the answers to several inputs.
pub(super) fn assess_batch(id: &str, calls: Vec<&RawValue>) -> Vec<u8> {
    #[derive(Serialize)]
    struct AskedList<'a> {
        calls: Vec<&'a RawValue>,
    }
    line(id, "assess_batch", &AskedList { calls })
}

/// The last message to a worker.
pub(super) fn shutdown(id: &str) -> Vec<u8> {
    line(id, "shutdown", &json!({}))
}

fn line(id: &str, method: &str, params: &(impl Serialize + ?Sized)) -> Vec<u8> {
    #[derive(Serialize)]
    struct Request<'a, P: ?Sized> {
        jsonrpc: &'a str,
        id: &'a str,
        method: &'a str,
        params: &'a P,
    }
    let request = Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    let mut bytes = serde_json::to_vec(&request).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The meaning of a line from a worker, for a caller that waits for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerLine {
    /// The answer, as the bytes of an output.
    Result(Vec<u8>),
    /// The worker has answered with an error: its code and its message.
    Error(i32, String),
    /// A message that needs no answer, e.g. about progress.
    Notification,
    /// A line that is not a message.
    Stray,
    /// A message that the protocol does not allow here, in words that fit after "the worker".
    Wrong(&'static str),
}

/// Reads a line from a worker that has one call.
pub(super) fn read(line: &[u8], id: &str) -> WorkerLine {
    match message(line) {
        WorkerMessage::Stray => WorkerLine::Stray,
        WorkerMessage::Notification => WorkerLine::Notification,
        WorkerMessage::Wrong(what) => WorkerLine::Wrong(what),
        WorkerMessage::Answer(other, _) if other.as_deref() != Some(id) => {
            WorkerLine::Wrong(OTHER_CALL)
        }
        WorkerMessage::Answer(_, Ok(result)) => match output(&result) {
            Some(output) => WorkerLine::Result(output),
            None => WorkerLine::Wrong(NO_TEXT),
        },
        WorkerMessage::Answer(_, Err((code, message))) => WorkerLine::Error(code, message),
    }
}

/// The message about an answer whose id belongs to no waiting call, in words that fit after "the worker".
pub(super) const OTHER_CALL: &str = "answered with the id of another call";
/// The message about a string that is not valid text, in words that fit after "the worker".
pub(super) const NO_TEXT: &str = "answered with a text that is not Unicode";

/// The end of a call: the JSON of its result, or the code and the message of its error.
pub(super) type RpcEnd = Result<String, (i32, String)>;

/// The meaning of a line from a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerMessage {
    /// A line that is not a message.
    Stray,
    /// A message that needs no answer.
    Notification,
    /// A message that the protocol does not allow, in words that fit after "the worker".
    Wrong(&'static str),
    /// The answer to the message with this id.
    Answer(Option<String>, RpcEnd),
}

/// Reads a line.
pub(super) fn message(line: &[u8]) -> WorkerMessage {
    let message = std::str::from_utf8(line).ok();
    let message = message.and_then(|line| serde_json::from_str(line).ok());
    let Some::<BTreeMap<String, &RawValue>>(message) = message else {
        return WorkerMessage::Stray;
    };
    if text(&message, "jsonrpc").as_deref() != Some("2.0") {
        return WorkerMessage::Stray;
    }
    if message.contains_key("method") {
        return match message.contains_key("id") {
            true => WorkerMessage::Wrong("sent a request of its own"),
            false => WorkerMessage::Notification,
        };
    }
    match end(&message) {
        Ok(end) => WorkerMessage::Answer(text(&message, "id"), end),
        Err(what) => WorkerMessage::Wrong(what),
    }
}

/// The ends of the calls in a list, by call. Fails with what is wrong with the list, in words that fit after "the
/// worker".
pub(super) fn batch(list: &str) -> Result<BTreeMap<String, RpcEnd>, String> {
    let items: Vec<BTreeMap<String, &RawValue>> = serde_json::from_str(list)
        .map_err(|_| "answered a list of calls with no list of objects".to_owned())?;
    let mut ends = BTreeMap::new();
    for item in items {
        let call = text(&item, "call");
        let call = call.ok_or("answered a list of calls with an answer that names no `call`")?;
        if ends.insert(call, end(&item)?).is_some() {
            return Err("answered one call of a list twice".to_owned());
        }
    }
    Ok(ends)
}

fn text(message: &BTreeMap<String, &RawValue>, key: &str) -> Option<String> {
    serde_json::from_str(message.get(key)?.get()).ok()
}

/// The result or the error of an object.
fn end(message: &BTreeMap<String, &RawValue>) -> Result<RpcEnd, &'static str> {
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => Ok(Ok(result.get().to_owned())),
        (None, Some(error)) => {
            #[derive(Deserialize)]
            struct RpcError {
                code: Value,
                message: String,
            }
            let error: Option<RpcError> = serde_json::from_str(error.get()).ok();
            let read = error.and_then(|error| {
                let code = i32::try_from(error.code.as_i64()?).ok()?;
                Some(Err((code, error.message)))
            });
            read.ok_or("answered with an error that has no code and message")
        }
        _ => Err("answered with neither a result nor an error, or with both"),
    }
}

/// The bytes of the output: for a string its text, for any other value the JSON exactly as the worker wrote it.
pub(in crate::targets) fn output(result: &str) -> Option<Vec<u8>> {
    match result.starts_with('"') {
        true => serde_json::from_str(result).ok().map(String::into_bytes),
        false => Some(result.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_has_the_bytes_of_the_result_and_a_text_is_the_output_itself() {
        let result = |result: &str| {
            let line = format!(r#" {{"id": "a", "result": {result}, "jsonrpc": "2.0"}}"#);
            match read(line.as_bytes(), "a") {
                WorkerLine::Result(output) => String::from_utf8(output).expect("text"),
                other => panic!("{other:?}"),
            }
        };
        for same in [
            r#"{"decision":  1.50, "n": 123456789012345678901234567890}"#,
            "null",
            "[1, 2]",
            "7",
        ] {
            assert_eq!(result(same), same);
        }
        assert_eq!(result(r#""a\n\u00fc""#), "a\nü");
        let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
        assert_eq!(result(&deep), deep);
    }

    #[test]
    fn a_line_that_is_no_message_is_stray_and_a_wrong_message_is_named() {
        for stray in ["", "Loading model ...", "{}", "[1]", "{\"id\": \"a\"}", "3"] {
            assert_eq!(read(stray.as_bytes(), "a"), WorkerLine::Stray, "{stray}");
        }
        assert_eq!(read(b"\xff", "a"), WorkerLine::Stray);
        let of = |rest: &str| read(format!(r#"{{"jsonrpc":"2.0",{rest}}}"#).as_bytes(), "a");
        assert_eq!(of(r#""method":"progress""#), WorkerLine::Notification);
        for wrong in [
            r#""id":"b","result":1"#,
            r#""id":1,"result":1"#,
            r#""id":null,"error":{"code":-32700,"message":"what?"}"#,
            r#""id":"a""#,
            r#""id":"a","result":1,"error":{"code":1,"message":""}"#,
            r#""id":"a","error":"no""#,
            r#""id":"a","result":"\ud800""#,
            r#""id":"c","method":"ask""#,
        ] {
            assert!(matches!(of(wrong), WorkerLine::Wrong(_)), "{wrong}");
        }
        let error = of(r#""id":"a","error":{"code":75,"message":"busy","data":[]}"#);
        assert_eq!(error, WorkerLine::Error(75, "busy".to_owned()));
    }

    #[test]
    fn a_request_is_one_line_whatever_the_input_is_and_no_token_comes_twice() {
        let input = "a\nb \u{2028} \"x\" ü\u{0}";
        let assess = |input: &str, path: &str| {
            let handed = HandedInput {
                text: input.into(),
                is_record: path.ends_with(".json"),
                file: Some(path.as_ref()),
                turn: None,
            };
            assess("t", &asked("t", &handed))
        };
        let line = assess(input, "/tmp/in put.md");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!(value["params"]["input"], input);
        assert_eq!(value["params"]["call"], value["id"]);
        let record = "{\n \"a\": 1.50,\r\n \"b\": \"x\\ny\"}";
        let line = String::from_utf8(assess(record, "/tmp/input.json")).expect("text");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(
            line.contains(r#""input":{  "a": 1.50,   "b": "x\ny"}"#),
            "{line}"
        );
        let broken = assess("{", "/tmp/input.json");
        let value: Value = serde_json::from_slice(&broken).expect("JSON");
        assert_eq!(value["params"]["input"], "{");
        let tokens: std::collections::BTreeSet<_> = (0..1000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 1000);
    }
}
