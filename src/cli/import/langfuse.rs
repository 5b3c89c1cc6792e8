//! Reads traces in the export formats of Langfuse (web page, API or files): traces with their observations, or
//! observations alone.

use serde_json::Value;

use super::messages;
use super::span::{FoundDocuments, RecordedSpan, first_keys, meant, moment, says_something};

/// Collects all traces and observations in a value. Fails with the reason why the value contains none.
pub(super) fn take(value: &Value, spans: &mut Vec<RecordedSpan>) -> Result<(), String> {
    if let Value::Array(values) = value {
        let refused: Vec<String> = values
            .iter()
            .filter_map(|value| take(value, spans).err())
            .collect();
        return match refused.first() {
            Some(why) => Err(format!(
                "{} of {} elements: {why}",
                refused.len(),
                values.len()
            )),
            None => Ok(()),
        };
    }
    let Value::Object(fields) = value else {
        return Err(
            "no trace in it; a trace is an object with `id`, `input` and `observations`".to_owned(),
        );
    };
    // The value is a page of the API.
    if let Some(page @ Value::Array(_)) = fields.get("data") {
        return take(page, spans);
    }
    let observations = fields.get("observations").and_then(Value::as_array);
    let observations = || {
        observations
            .into_iter()
            .flatten()
            .filter(|found| found.is_object())
    };
    if let Some(trace @ Value::Object(_)) = fields.get("trace") {
        take(trace, spans)?;
        return observations().try_for_each(|found| take(found, spans));
    }
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| value[*name].as_str())
            .filter(|text| !text.is_empty())
    };
    let Some(id) = text(&["id"]) else {
        return Err(format!(
            "no trace in it: it has no `id`, but {}",
            first_keys(fields)
        ));
    };
    let of_trace = text(&["traceId", "trace_id"]);
    if of_trace.is_none()
        && !["input", "output", "observations", "timestamp"]
            .iter()
            .any(|key| fields.contains_key(*key))
    {
        return Err(format!(
            "`{id}` has neither `input` nor `observations`, and so is no trace"
        ));
    }
    let kind = text(&["type"]).unwrap_or_default().to_lowercase();
    let mut span = RecordedSpan {
        trace: of_trace.unwrap_or(id).to_owned(),
        id: match of_trace {
            Some(_) => id.to_owned(),
            None => format!("trace {id}"),
        },
        parent: text(&["parentObservationId", "parent_observation_id"]).map(str::to_owned),
        name: text(&["name"]).unwrap_or(&kind).to_owned(),
        start: ["startTime", "start_time", "timestamp"]
            .iter()
            .find_map(|name| moment(&value[*name])),
        error: (text(&["level"]) == Some("ERROR")).then(|| {
            text(&["statusMessage", "status_message"])
                .unwrap_or_default()
                .to_owned()
        }),
        is_trace: of_trace.is_none(),
        is_step: ["retriever", "embedding", "tool", "event"].contains(&&*kind),
        ..RecordedSpan::default()
    };
    match meant(&value["input"], false) {
        Ok(input) => span.input = Some(input).filter(says_something),
        Err(why) => span.cut = Some(format!("`input`: {why}")),
    }
    let output = meant(&value["output"], false);
    let is_list = |output: &Value| {
        let items = output.as_array().filter(|items| !items.is_empty());
        items.is_some_and(|items| items.iter().all(|item| item.get("page_content").is_some()))
    };
    match output {
        // Before Langfuse had an observation type for a search, it was recorded as a general span.
        Ok(output) if kind == "retriever" || of_trace.is_some() && is_list(&output) => {
            span.is_step = true;
            span.found = FoundDocuments::of_output(&output);
        }
        Ok(output) => span.output = Some(output).filter(says_something),
        Err(why) if kind == "retriever" => span.found.cut = Some(format!("the documents: {why}")),
        Err(_) => {}
    }
    // A call of the OpenAI interface is recorded with its messages in a field.
    if let Some(Value::Object(fields)) = &span.input
        && kind == "generation"
        && let Some(messages) = fields
            .get("messages")
            .filter(|value| messages::conversation(value).is_some())
    {
        span.input = Some(messages.clone());
    }
    spans.push(span);
    observations().try_for_each(|found| {
        let mut inside = found.clone();
        // If a file has only one trace, its parts need not name the trace.
        if let Value::Object(fields) = &mut inside {
            let has_own = ["traceId", "trace_id"]
                .iter()
                .any(|key| fields.get(*key).is_some_and(Value::is_string));
            if !has_own {
                fields.insert("traceId".to_owned(), Value::from(id));
            }
        }
        take(&inside, spans)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_exports_of_the_page_of_the_api_and_of_files_are_the_same_spans() {
        let trace = json!({"id": "t1", "timestamp": "2026-11-02T10:00:00.000Z", "name": "answer", "input": "{\"question\": \"Why?\"}", "output": "So."});
        let search = json!({"id": "o1", "traceId": "t1", "type": "RETRIEVER", "name": "search", "startTime": "2026-11-02T10:00:01Z", "output": [{"page_content": "a"}]});
        let mut within = trace.clone();
        within["observations"] = json!([search]);
        let mut ids = trace.clone();
        ids["observations"] = json!(["o1"]);
        let snake = json!({"id": "o1", "trace_id": "t1", "type": "RETRIEVER", "name": "search", "start_time": "2026-11-02T10:00:01Z", "output": "[{\"page_content\": \"a\"}]", "parent_observation_id": ""});
        for value in [
            json!([within]),
            json!({"data": [within], "meta": {"page": 1}}),
            json!({"trace": trace, "observations": [search]}),
            json!([ids, snake]),
        ] {
            let mut spans = Vec::new();
            take(&value, &mut spans).expect("taken");
            assert_eq!(spans.len(), 2, "{value}");
            assert!(
                spans[0].is_trace && spans[0].input == Some(json!({"question": "Why?"})),
                "{:?}",
                spans[0]
            );
            assert!(
                spans[1].is_step && spans[1].found.texts == ["a"] && spans[1].trace == "t1",
                "{:?}",
                spans[1]
            );
        }
    }

    #[test]
    fn what_is_no_trace_says_why() {
        let mut told = Vec::new();
        for value in [
            json!({"question": "x"}),
            json!({"id": "a", "rule": "x"}),
            json!([{"id": "a", "input": "x"}, 3]),
        ] {
            let said = take(&value, &mut Vec::new()).expect_err("refused");
            told.push(said.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @"
        no trace in it: it has no `id`, but `question`
        `a` has neither `input` nor `observations`, and so is no trace
        1 of 2 elements: no trace in it; a trace is an object with `id`, `input` and `observations`
        ");
        let mut spans = Vec::new();
        let cut = json!({"id": "a", "input": "<truncated due to size exceeding limit>", "observations": [{"id": "b", "level": "ERROR", "statusMessage": "late", "type": "SPAN"}]});
        take(&cut, &mut spans).expect("taken");
        assert!(spans[0].cut.is_some());
        assert_eq!(
            (spans[1].error.as_deref(), &*spans[1].trace),
            (Some("late"), "a")
        );
    }
}
