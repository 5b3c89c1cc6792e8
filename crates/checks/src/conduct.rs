//! What an agent did in a run beside its answer: its requests to the mocked servers that record them, and the events that
//! it has logged. No check has to look at them, so the gate tells where they are others than before. Only names are kept,
//! in their order: what a call says may have other words in every run.

use serde_json::{Map, Value};

use super::services::RunningServices;
use kelvin_record::{Conduct, KeptText};

/// How many characters of all names are stored; the digest is that of all of them.
const MOST: usize = 600;
/// How many characters of one name are stored at most.
const LONGEST: usize = 60;
/// The keys with the kind of an event.
const KINDS: [&str; 2] = ["type", "event"];
/// The keys with the name of the tool in an event, or in its `details`.
const TOOLS: [&str; 5] = ["tool", "tool_name", "name", "function", "action"];

/// The requests to each server that records them, as a text; none if there is no such server. `masked` leaves out what
/// must not be shown.
pub(super) fn calls(
    services: &RunningServices<'_>,
    masked: &dyn Fn(&str) -> String,
) -> Option<KeptText> {
    let records = services.records();
    let mut names = Vec::new();
    for (service, record) in &records {
        let named = |(method, path)| format!("{service} {method} {}", without_ids(path));
        names.extend(record.calls().map(named));
        // An agent that never stops makes more requests than are stored.
        if record.lost() > 0 {
            names.push(format!("{service} further requests"));
        }
    }
    (!records.is_empty()).then(|| KeptText::beginning(&masked(&in_words(&names)), MOST))
}

/// The events in an audit log, as a text, apart from the calls that a server has logged there; none if there are none.
pub(super) fn events(log: &[u8], masked: &dyn Fn(&str) -> String) -> Option<KeptText> {
    let log = String::from_utf8_lossy(log);
    let names: Vec<String> = log.lines().filter_map(event).collect();
    (!names.is_empty()).then(|| KeptText::beginning(&masked(&in_words(&names)), MOST))
}

/// The kind of an event, and the name of its tool if it has one.
fn event(line: &str) -> Option<String> {
    let line: Map<String, Value> = serde_json::from_str(line).ok()?;
    let word = |fields: &Map<String, Value>, keys: &[&str]| {
        let mut texts = keys.iter().filter_map(|key| fields.get(*key)?.as_str());
        let text: Option<String> = texts
            .next()
            .map(|text| text.chars().take(LONGEST).collect());
        text
    };
    let kind = word(&line, &KINDS);
    if kind
        .as_deref()
        .is_some_and(|kind| kind.starts_with("http_call"))
    {
        return None;
    }
    let details = line.get("details").and_then(Value::as_object);
    let tool = details.and_then(|details| word(details, &TOOLS));
    let parts = [kind, tool.or_else(|| word(&line, &TOOLS))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Names in their order; how often one stands right after itself is counted.
fn in_words(names: &[String]) -> String {
    let runs = names.chunk_by(|one, next| one == next);
    let told: Vec<String> = runs
        .map(|run| match run.len() {
            1 => run[0].clone(),
            2 => format!("{} twice", run[0]),
            times => format!("{} {times} times", run[0]),
        })
        .collect();
    match told.is_empty() {
        true => Conduct::NOTHING.to_owned(),
        false => told.join(", "),
    }
}

/// A path with a mark for each part that looks like an identifier which is drawn anew in every run.
fn without_ids(path: &str) -> String {
    let parts = path.split('/').map(|part| match is_drawn(part) {
        true => "{id}",
        false => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

fn is_drawn(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let has = |is: fn(&u8) -> bool| part.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    match part.len() {
        16.. => digits > 0 || is_mixed,
        10.. => digits >= 4,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_in_order_and_counted() {
        let log = r#"{"type": "tool_call", "details": {"tool": "look_up", "order": 17}}
{"type": "http_call", "details": {"service": "bank", "method": "POST"}}
{"type": "tool_call", "details": {"tool": "pay", "sum": 5}}
{"name": "pay", "type": "tool_call"}
no JSON
{"sum": 1}
{"event": "done"}
"#;
        let told = events(log.as_bytes(), &str::to_owned).expect("events");
        assert_eq!(&*told.text, "tool_call look_up, tool_call pay twice, done");
        assert_eq!(events(b"{\"sum\": 1}\n", &str::to_owned), None);
        let many = "{\"type\": \"a\"}\n{\"type\": \"b\"}\n".repeat(1_000);
        let (one, other) = (
            events(many.as_bytes(), &str::to_owned).expect("events"),
            events(
                format!("{many}{{\"type\": \"c\"}}").as_bytes(),
                &str::to_owned,
            )
            .expect("events"),
        );
        assert!(
            one.text.len() <= MOST && one.digest != other.digest,
            "{one:?}"
        );
        assert_eq!(
            in_words(&["a", "a", "a", "b", "a"].map(str::to_owned)),
            "a 3 times, b, a"
        );
        assert_eq!(in_words(&[]), Conduct::NOTHING);
    }

    #[test]
    fn what_is_drawn_anew_in_every_run_is_no_part_of_a_path() {
        for (path, ought) in [
            ("/v1/orders/17/pay", "/v1/orders/17/pay"),
            (
                "/orders/1b4e28ba-2fa1-11d2-883f-0016d3cca427/pay",
                "/orders/{id}/pay",
            ),
            ("/at/1764513444", "/at/{id}"),
            ("/V1StGXRoZkdHiMyTAyBz", "/{id}"),
            ("/subscriptions/cancel", "/subscriptions/cancel"),
            ("/payment-confirmations", "/payment-confirmations"),
        ] {
            assert_eq!(without_ids(path), ought, "{path}");
        }
    }
}
