//! Reads spans in OTLP/JSON: requests of the protocol, one per file or one per line, or single spans as the SDK prints
//! them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Map, Value};

use super::messages;
use super::span::{FoundDocuments, RecordedSpan, first_keys, meant, moment, says_something};

/// Collects all spans in a value. Fails with the reason why the value contains none.
pub(super) fn take(value: &Value, spans: &mut Vec<RecordedSpan>) -> Result<(), String> {
    let before = spans.len();
    walk(value, spans);
    let has_room = ROOMS
        .iter()
        .any(|names| field(value, names).is_some_and(Value::is_array));
    if spans.len() > before || has_room {
        return Ok(());
    }
    let keys = value.as_object().map(first_keys).unwrap_or_default();
    Err(format!(
        "no span in it; a request has `resourceSpans`, and this has {keys}"
    ))
}

/// The nested keys that contain spans, from the outside to the inside, in both spellings of the protocol and in those
/// of other tools.
const ROOMS: [&[&str]; 4] = [
    &["resourceSpans", "resource_spans", "batches"],
    &[
        "scopeSpans",
        "scope_spans",
        "instrumentationLibrarySpans",
        "instrumentation_library_spans",
    ],
    &["spans"],
    &["trace"],
];

fn walk(value: &Value, spans: &mut Vec<RecordedSpan>) {
    if let Value::Array(values) = value {
        return values.iter().for_each(|value| walk(value, spans));
    }
    let mut rooms = ROOMS
        .iter()
        .filter_map(|names| field(value, names))
        .peekable();
    if rooms.peek().is_none() {
        spans.extend(span(value));
    }
    rooms.for_each(|room| walk(room, spans));
}

/// The value of the first of the given fields that the object has.
fn field<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| value.get(*name))
}

fn span(value: &Value) -> Option<RecordedSpan> {
    let context = value.get("context").unwrap_or(value);
    let attributes = attributes(field(value, &["attributes"]));
    let events = Events::of_span(value);
    let kind = text(&attributes, "openinference.span.kind")
        .or_else(|| text(&attributes, "traceloop.span.kind"))
        .or_else(|| text(&attributes, "langfuse.observation.type"))
        .or_else(|| text(&attributes, "mlflow.spanType"))
        .or_else(|| text(&attributes, "gen_ai.operation.name"));
    let kind = kind.unwrap_or_default().trim_matches('"').to_lowercase();
    let mut span = RecordedSpan {
        trace: id(field(context, &["traceId", "trace_id"])?)?,
        id: id(field(context, &["spanId", "span_id"])?)?,
        parent: field(value, &["parentSpanId", "parent_span_id", "parent_id"]).and_then(id),
        name: value["name"].as_str().unwrap_or_default().to_owned(),
        start: field(
            value,
            &["startTimeUnixNano", "start_time_unix_nano", "start_time"],
        )
        .and_then(moment),
        error: value.get("status").and_then(error),
        is_step: [
            "retriever",
            "retrieval",
            "reranker",
            "embedding",
            "embeddings",
            "tool",
            "execute_tool",
        ]
        .contains(&&*kind),
        ..RecordedSpan::default()
    };
    let dropped = |names: &[&str]| {
        let count = field(value, names);
        count
            .and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok()))
            .unwrap_or(0)
    };
    let dropped = dropped(&["droppedAttributesCount", "dropped_attributes_count"])
        + dropped(&["droppedEventsCount", "dropped_events_count"]);
    let incomplete = (dropped > 0).then(|| {
        format!(
            "{dropped} attributes or events of the span `{}` were dropped",
            span.name
        )
    });
    let (input, cut) = match input(&attributes, &events) {
        // A list that is split over many attributes may lack one of them.
        Ok(Some((input, is_spread))) => (Some(input), incomplete.clone().filter(|_| is_spread)),
        Ok(None) => (None, incomplete.clone()),
        Err(why) => (None, Some(why)),
    };
    (span.input, span.cut) = (input, cut);
    span.output = output(&attributes, &events);
    span.found = documents(&attributes, &kind);
    let is_search = !span.found.texts.is_empty() || kind == "retriever" || kind == "retrieval";
    if incomplete.is_some() && is_search {
        span.found.cut = incomplete;
    }
    Some(span)
}

/// An id as hexadecimal digits. A generic writer of protocol buffers encodes it in base64.
fn id(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let text = text.strip_prefix("0x").unwrap_or(text);
    if text.is_empty() || text.bytes().all(|byte| byte == b'0') {
        return None;
    }
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && [16, 32].contains(&text.len()) {
        return Some(text.to_lowercase());
    }
    let bytes = STANDARD
        .decode(text)
        .or_else(|_| URL_SAFE.decode(text))
        .ok();
    match bytes.filter(|bytes| [8, 16].contains(&bytes.len())) {
        Some(bytes) if bytes.iter().all(|byte| *byte == 0) => None,
        Some(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        None => Some(text.to_owned()),
    }
}

fn error(status: &Value) -> Option<String> {
    let code = field(status, &["code", "status_code"])?;
    let is_error = code == &Value::from(2)
        || code.as_str().is_some_and(|code| {
            ["2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR"].contains(&code)
        });
    let message = field(status, &["message", "description"]).and_then(Value::as_str);
    is_error.then(|| message.unwrap_or_default().to_owned())
}

/// The attributes of a span or an event, by their names.
type Attributes = BTreeMap<String, Value>;

fn attributes(list: Option<&Value>) -> Attributes {
    match list {
        Some(Value::Array(pairs)) => {
            let pairs = pairs
                .iter()
                .filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), any(&pair["value"]))));
            pairs.collect()
        }
        Some(Value::Object(fields)) => fields
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        _ => Attributes::new(),
    }
}

/// A value of the protocol as plain JSON.
fn any(value: &Value) -> Value {
    let Some((kind, inside)) = value.as_object().and_then(|fields| fields.iter().next()) else {
        return Value::Null;
    };
    match &**kind {
        // The protocol writes a 64-bit integer as a string.
        "intValue" | "int_value" => {
            let number = inside.as_str().and_then(|text| text.parse::<i64>().ok());
            number.map_or_else(|| inside.clone(), Value::from)
        }
        "arrayValue" | "array_value" => {
            let values = inside.get("values").unwrap_or(inside).as_array();
            values.into_iter().flatten().map(any).collect()
        }
        "kvlistValue" | "kvlist_value" => {
            let pairs = attributes(Some(inside.get("values").unwrap_or(inside)));
            Value::Object(pairs.into_iter().collect())
        }
        _ => inside.clone(),
    }
}

fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    attributes.get(name)?.as_str()
}

/// The events of a span, in the order of their times.
struct Events(Vec<(String, Attributes)>);

impl Events {
    fn of_span(span: &Value) -> Self {
        let events = span["events"].as_array().map_or(&[][..], Vec::as_slice);
        let mut events: Vec<(Option<i128>, String, Attributes)> = events
            .iter()
            .map(|event| {
                let time =
                    field(event, &["timeUnixNano", "time_unix_nano", "timestamp"]).and_then(moment);
                let name = event["name"].as_str().unwrap_or_default().to_owned();
                (time, name, attributes(event.get("attributes")))
            })
            .collect();
        events.sort_by_key(|(time, _, _)| *time);
        Self(
            events
                .into_iter()
                .map(|(_, name, attributes)| (name, attributes))
                .collect(),
        )
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Attributes> {
        let events = self.0.iter().filter(move |(found, _)| found == name);
        events.map(|(_, attributes)| attributes)
    }

    /// The messages in the events of the older conventions, one message per event.
    fn messages(&self) -> Result<Vec<Value>, String> {
        let mut found = Vec::new();
        for (name, attributes) in &self.0 {
            let role = match &**name {
                "gen_ai.system.message" => "system",
                "gen_ai.user.message" => "user",
                "gen_ai.assistant.message" => "assistant",
                "gen_ai.tool.message" => "tool",
                _ => continue,
            };
            let mut message = Map::new();
            message.insert(
                "role".to_owned(),
                Value::from(text(attributes, "role").unwrap_or(role)),
            );
            for (key, name) in [
                ("content", "content"),
                ("tool_calls", "tool_calls"),
                ("tool_call_id", "id"),
            ] {
                if let Some(value) = attributes.get(name) {
                    message.insert(key.to_owned(), meant(value, false)?);
                }
            }
            message.entry("content").or_insert(Value::Null);
            found.push(Value::Object(message));
        }
        Ok(found)
    }
}

/// Joins a list that is split over many attributes, such as `llm.input_messages.0.message.role`, into its objects.
fn spread(attributes: &Attributes, list: &str, inside: &str) -> Vec<Map<String, Value>> {
    let mut items: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    for (name, value) in attributes.range(format!("{list}.")..) {
        let Some(rest) = name
            .strip_prefix(list)
            .and_then(|rest| rest.strip_prefix('.'))
        else {
            break;
        };
        let Some((number, key)) = rest.split_once('.') else {
            continue;
        };
        let key = key.strip_prefix(inside).unwrap_or(key);
        if let Ok(number) = number.parse() {
            items
                .entry(number)
                .or_default()
                .insert(key.to_owned(), value.clone());
        }
    }
    items.into_values().collect()
}

/// Joins messages that are split over many attributes. The parts of one message are split again.
fn spread_messages(attributes: &Attributes, list: &str, inside: &str) -> Vec<Value> {
    let messages = spread(attributes, list, inside).into_iter().map(|fields| {
        let fields: Attributes = fields.into_iter().collect();
        let mut message = Map::new();
        for key in ["role", "content", "name", "tool_call_id"] {
            if let Some(value) = fields.get(key) {
                message.insert(key.to_owned(), value.clone());
            }
        }
        let mut parts = spread(&fields, "contents", "message_content.")
            .into_iter()
            .map(Value::Object)
            .peekable();
        if parts.peek().is_some() {
            message.insert("content".to_owned(), parts.collect());
        }
        let calls: Map<String, Value> = fields
            .into_iter()
            .filter(|(key, _)| key.starts_with("tool_calls."))
            .collect();
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Object(calls));
        }
        message.entry("content").or_insert(Value::Null);
        Value::Object(message)
    });
    messages.collect()
}

/// Attributes that contain the whole input of a span, ordered by the tools that write them.
const INPUTS: [&str; 8] = [
    "langfuse.trace.input",
    "langfuse.observation.input",
    "input.value",
    "traceloop.entity.input",
    "mlflow.spanInputs",
    "ai.prompt.messages",
    "ai.prompt",
    "gen_ai.prompt",
];

/// Attributes that contain the whole output of a span.
const OUTPUTS: [&str; 7] = [
    "langfuse.trace.output",
    "langfuse.observation.output",
    "output.value",
    "traceloop.entity.output",
    "mlflow.spanOutputs",
    "ai.response.text",
    "ai.response.object",
];

/// The input of a span, and whether it is split over many attributes or events. Fails with the reason why the input is
/// incomplete.
fn input(attributes: &Attributes, events: &Events) -> Result<Option<(Value, bool)>, String> {
    let details = events.named("gen_ai.client.inference.operation.details");
    for source in std::iter::once(attributes).chain(details) {
        let Some(recorded) = source.get("gen_ai.input.messages") else {
            continue;
        };
        let wrong = |name: &str, why: String| format!("`{name}`: {why}");
        let recorded = meant(recorded, true).map_err(|why| wrong("gen_ai.input.messages", why))?;
        let mut messages = recorded.as_array().cloned().unwrap_or_default();
        if let Some(system) = source.get("gen_ai.system_instructions") {
            let system =
                meant(system, false).map_err(|why| wrong("gen_ai.system_instructions", why))?;
            let content = match &system {
                Value::Array(parts) => {
                    messages::joined(parts).map_or_else(|| system.clone(), Value::String)
                }
                _ => system,
            };
            messages.insert(0, serde_json::json!({"role": "system", "content": content}));
        }
        if !messages.is_empty() {
            return Ok(Some((Value::Array(messages), false)));
        }
    }
    for (list, inside) in [("llm.input_messages", "message."), ("gen_ai.prompt", "")] {
        let messages = spread_messages(attributes, list, inside);
        if !messages.is_empty() {
            return Ok(Some((Value::Array(messages), true)));
        }
    }
    let messages = events.messages()?;
    if !messages.is_empty() {
        return Ok(Some((Value::Array(messages), true)));
    }
    let whole = INPUTS
        .iter()
        .filter_map(|name| Some((*name, attributes.get(*name)?)));
    for (name, value) in whole {
        let is_json = name == "input.value"
            && text(attributes, "input.mime_type") == Some("application/json");
        let value = meant(value, is_json).map_err(|why| format!("`{name}`: {why}"))?;
        // OpenLLMetry records the arguments of a call together with other data about it.
        let value = match (name, value) {
            ("traceloop.entity.input", Value::Object(mut fields))
                if fields.contains_key("inputs") =>
            {
                fields.remove("inputs").unwrap_or_default()
            }
            (_, value) => value,
        };
        if says_something(&value) {
            return Ok(Some((value, false)));
        }
    }
    Ok(None)
}

/// The output of a span; only a part of it if it is incomplete.
fn output(attributes: &Attributes, events: &Events) -> Option<Value> {
    let details = events.named("gen_ai.client.inference.operation.details");
    let sources = std::iter::once(attributes).chain(details);
    let recorded = sources
        .filter_map(|source| source.get("gen_ai.output.messages"))
        .next();
    if let Some(Ok(recorded)) = recorded.map(|recorded| meant(recorded, false)) {
        return Some(recorded);
    }
    for (list, inside) in [
        ("llm.output_messages", "message."),
        ("gen_ai.completion", ""),
    ] {
        let messages = spread_messages(attributes, list, inside);
        if !messages.is_empty() {
            return Some(Value::Array(messages));
        }
    }
    let choice = events.named("gen_ai.choice").find_map(|event| {
        let message = meant(event.get("message")?, false).ok()?;
        Some(message.get("content").cloned().unwrap_or(message))
    });
    let whole = || {
        let found = OUTPUTS.iter().find_map(|name| attributes.get(*name))?;
        let found = meant(found, false).unwrap_or_else(|_| found.clone());
        Some(found).filter(says_something)
    };
    choice.or_else(whole)
}

/// The documents that the search of a span returned.
fn documents(attributes: &Attributes, kind: &str) -> FoundDocuments {
    let mut found = FoundDocuments::default();
    for (list, reranked) in [
        ("reranker.output_documents", true),
        ("retrieval.documents", false),
    ] {
        for document in spread(attributes, list, "document.") {
            found.reranked = reranked;
            found.push(document.get("content").and_then(Value::as_str));
        }
        if !found.texts.is_empty() {
            return found;
        }
    }
    let is_search = ["retriever", "retrieval", "reranker"].contains(&kind);
    let listed = attributes.get("gen_ai.retrieval.documents");
    let whole = || {
        OUTPUTS
            .iter()
            .find_map(|name| attributes.get(*name))
            .filter(|_| is_search)
    };
    if let Some(value) = listed.or_else(whole) {
        match meant(value, false) {
            Ok(value) => found = FoundDocuments::of_output(&value),
            Err(why) => found.cut = Some(format!("the documents: {why}")),
        }
    }
    found.reranked = kind == "reranker";
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The one span of a list of attributes.
    fn of_attributes(attributes: &Value) -> RecordedSpan {
        let mut spans = Vec::new();
        let value = json!({"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "x", "attributes": attributes});
        take(&value, &mut spans).expect("a span");
        spans.remove(0)
    }

    #[test]
    fn ids_in_every_form_are_the_same_id() {
        let hex = Some("5b8efff798038103d269b633813fc60c".to_owned());
        for text in [
            "5B8EFFF798038103D269B633813FC60C",
            "0x5b8efff798038103d269b633813fc60c",
            "W47/95gDgQPSabYzgT/GDA==",
        ] {
            assert_eq!(id(&json!(text)), hex, "{text}");
        }
        assert_eq!(
            id(&json!("7uGbfsPBsXQ=")),
            Some("eee19b7ec3c1b174".to_owned())
        );
        for none in [
            json!(""),
            json!("0000000000000000"),
            json!(null),
            json!("AAAAAAAAAAA="),
        ] {
            assert_eq!(id(&none), None, "{none}");
        }
    }

    #[test]
    fn the_messages_of_every_convention_are_the_same_conversation() {
        let text = |text: &str| json!({"stringValue": text});
        let pair = |key: &str, value: Value| json!({"key": key, "value": value});
        let parts = json!([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]);
        let structured = json!({"arrayValue": {"values": [{"kvlistValue": {"values": [
            pair("role", text("user")),
            pair("parts", json!({"arrayValue": {"values": [{"kvlistValue": {"values": [pair("type", text("text")), pair("content", text("Hi"))]}}]}})),
        ]}}]}});
        let system = r#"[{"type": "text", "content": "Be kind."}]"#;
        for attributes in [
            json!([
                pair("gen_ai.input.messages", text(&parts.to_string())),
                pair("gen_ai.system_instructions", text(system))
            ]),
            json!([
                pair("gen_ai.input.messages", structured),
                pair("gen_ai.system_instructions", text("Be kind."))
            ]),
            json!({
                "llm.input_messages.1.message.role": "user",
                "llm.input_messages.1.message.contents.0.message_content.type": "text",
                "llm.input_messages.1.message.contents.0.message_content.text": "Hi",
                "llm.input_messages.0.message.role": "system",
                "llm.input_messages.0.message.content": "Be kind.",
            }),
            json!({
                "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be kind.",
                "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Hi",
            }),
            json!({"input.value": r#"[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]"#}),
        ] {
            let input = of_attributes(&attributes).input.expect("an input");
            let found = messages::conversation(&input).expect("a conversation");
            let wanted = json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]);
            assert_eq!(Value::Array(found), wanted, "{attributes}");
        }
        // Events, out of their order.
        let event = |time: u64, name: &str, content: &str| json!({"timeUnixNano": time.to_string(), "name": name, "attributes": [pair("content", text(content))]});
        let span = json!({"traceId": "a", "spanId": "b", "name": "chat", "status": {"code": "STATUS_CODE_ERROR", "message": "no"}, "events": [
            event(3, "gen_ai.choice", "no"), event(2, "gen_ai.user.message", "Hi"), event(1, "gen_ai.system.message", "Be kind."),
        ]});
        let mut spans = Vec::new();
        take(&span, &mut spans).expect("a span");
        let found = messages::conversation(spans[0].input.as_ref().expect("an input"))
            .expect("a conversation");
        assert_eq!(
            (&found[0]["role"], &found[1]["content"]),
            (&json!("system"), &json!("Hi"))
        );
        assert_eq!(spans[0].error.as_deref(), Some("no"));
    }

    #[test]
    fn a_list_that_lacks_attributes_is_told_and_a_whole_one_is_not() {
        let of = |attributes: Value| {
            let mut spans = Vec::new();
            let span = json!({"traceId": "a", "spanId": "b", "name": "s", "droppedAttributesCount": "3", "attributes": attributes});
            take(&span, &mut spans).expect("a span");
            spans.remove(0)
        };
        let spread = of(json!({"llm.input_messages.0.message.role": "user"}));
        assert!(spread.cut.expect("told").contains("3 attributes"));
        assert_eq!(of(json!({"input.value": "Hi"})).cut, None);
        assert!(
            of(json!({"openinference.span.kind": "RETRIEVER", "input.value": "q"}))
                .found
                .cut
                .is_some()
        );
        let cut = of_attributes(
            &json!({"gen_ai.input.messages": "[{\"role\": \"user\", \"parts\": [{\"ty"}),
        );
        insta::assert_snapshot!(cut.cut.expect("told"), @"`gen_ai.input.messages`: it is no whole JSON, as where a limit has cut it off: EOF while parsing a string at line 1 column 32");
    }

    #[test]
    fn documents_are_found_in_every_convention() {
        for attributes in [
            json!({"retrieval.documents.0.document.content": "a", "retrieval.documents.0.document.id": 1, "retrieval.documents.1.document.content": "b"}),
            json!({"openinference.span.kind": "RETRIEVER", "output.value": "[{\"page_content\": \"a\"}, {\"page_content\": \"b\"}]"}),
            json!({"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": "[{\"id\": \"1\", \"content\": \"a\"}, {\"content\": \"b\"}]"}),
        ] {
            let span = of_attributes(&attributes);
            assert_eq!(span.found.texts, ["a", "b"], "{attributes}");
        }
        let ids = of_attributes(
            &json!({"gen_ai.retrieval.documents": "[{\"id\": \"1\", \"score\": 0.5}]"}),
        );
        assert_eq!((ids.found.texts.len(), ids.found.textless), (0, 1));
        let plain = of_attributes(&json!({"output.value": "[\"a\"]", "count": {"a": 1}}));
        assert!(plain.found.texts.is_empty());
    }

    #[test]
    fn what_has_no_spans_says_what_it_has() {
        let said = take(&json!({"resourceLogs": []}), &mut Vec::new()).expect_err("refused");
        insta::assert_snapshot!(said, @"no span in it; a request has `resourceSpans`, and this has `resourceLogs`");
        take(&json!({"resourceSpans": []}), &mut Vec::new())
            .expect("an empty request is no mistake");
        assert_eq!(any(&json!({"intValue": "12"})), json!(12));
    }
}
