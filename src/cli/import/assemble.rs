//! Makes one case from each trace: the input of its root span, and the passages that were found during the trace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::messages;
use super::span::{RecordedSpan, says_something};
use kelvin_page::counted;

/// The names of the fields that an import creates.
const MESSAGES: &str = "messages";
pub(super) const PASSAGES: &str = "passages";
pub(super) const INPUT: &str = "input";

/// A case that can be made from a trace.
#[derive(Debug, Default)]
pub(super) struct TraceCase {
    pub(super) id: String,
    /// When the trace began, in nanoseconds since the epoch.
    pub(super) start: Option<i128>,
    /// The name of its root span.
    pub(super) name: String,
    /// The input fields for a pipeline.
    pub(super) fields: Map<String, Value>,
    /// The answer in production. It is neither a label nor an input.
    pub(super) answer: Option<Value>,
    /// Remarks about the case for the user.
    pub(super) remarks: Vec<String>,
}

/// A trace from which no case is made.
#[derive(Debug)]
pub(super) struct UnusedTrace {
    pub(super) id: String,
    pub(super) why: String,
}

/// The cases of all traces, sorted by time, and the traces from which no case can be made.
pub(super) fn cases(spans: Vec<RecordedSpan>) -> (Vec<TraceCase>, Vec<UnusedTrace>) {
    let mut traces: BTreeMap<String, BTreeMap<String, RecordedSpan>> = BTreeMap::new();
    let mut order = BTreeMap::new();
    for (place, span) in spans.into_iter().enumerate() {
        let trace = traces.entry(span.trace.clone()).or_default();
        // Two requests may contain the same span, and the second copy may have more data.
        let is_more = trace
            .get(&span.id)
            .is_none_or(|known| known.input.is_none() && known.found.texts.is_empty());
        if is_more {
            order
                .entry((span.trace.clone(), span.id.clone()))
                .or_insert(place);
            trace.insert(span.id.clone(), span);
        }
    }
    let (mut cases, mut unused) = (Vec::new(), Vec::new());
    for (id, spans) in traces {
        let mut spans: Vec<RecordedSpan> = spans.into_values().collect();
        spans.sort_by_cached_key(|span| {
            let place = order.get(&(span.trace.clone(), span.id.clone()));
            (span.start.is_none(), span.start, place.copied())
        });
        match case(&spans) {
            Ok(case) => cases.push(TraceCase { id, ..case }),
            Err(why) => unused.push(UnusedTrace { id, why }),
        }
    }
    cases.sort_by(|one, two| (one.start, &one.id).cmp(&(two.start, &two.id)));
    (cases, unused)
}

/// The spans of a trace, those nearest to its root first.
fn from_the_root(spans: &[RecordedSpan]) -> Vec<&RecordedSpan> {
    let parents: BTreeMap<&str, Option<&str>> = spans
        .iter()
        .map(|span| (&*span.id, span.parent.as_deref()))
        .collect();
    let has_trace = spans.iter().any(|span| span.is_trace);
    let depth = |span: &RecordedSpan| {
        let above = std::iter::successors(span.parent.as_deref(), |id| *parents.get(id)?);
        // Spans that are the parents of each other would have no end.
        let above = above
            .take_while(|id| parents.contains_key(id))
            .take(spans.len());
        above.count() + usize::from(has_trace && !span.is_trace)
    };
    let mut sorted: Vec<&RecordedSpan> = spans.iter().collect();
    sorted.sort_by_cached_key(|span| (depth(span), span.parent.is_some()));
    sorted
}

/// The case of one trace, whose spans are sorted by time. Fails with the reason why there is no case.
fn case(spans: &[RecordedSpan]) -> Result<TraceCase, String> {
    let all = from_the_root(spans);
    let Some(root) = all.first().copied() else {
        return Err("it has no span".to_owned());
    };
    let says = |span: &&&RecordedSpan| span.input.is_some() || span.cut.is_some();
    let chosen = all
        .iter()
        .filter(|span| !span.is_step)
        .find(says)
        .or_else(|| all.iter().find(says));
    let Some(chosen) = chosen.copied() else {
        return Err(
            "no span of it has an input: record the contents of messages, and export it again"
                .to_owned(),
        );
    };
    let mut case = TraceCase {
        start: spans.iter().filter_map(|span| span.start).min(),
        name: root.name.clone(),
        ..TraceCase::default()
    };
    if root.parent.is_some() {
        case.remarks.push("its root is not in the file".to_owned());
    }
    // The span that stands for the whole trace records no errors, but the spans below it do.
    let below = all.get(1).filter(|_| root.is_trace).copied();
    for span in [root, chosen].into_iter().chain(below) {
        if let Some(error) = span.error.as_deref() {
            let reason = match error.trim() {
                "" => String::new(),
                error => format!(": {error}"),
            };
            return Err(format!(
                "the span `{}` ended with an error{reason}",
                span.name
            ));
        }
    }
    if let Some(why) = &chosen.cut {
        return Err(format!("its input is not whole: {why}"));
    }
    if let Some(why) = spans.iter().find_map(|span| span.found.cut.as_ref()) {
        return Err(format!("its passages are not whole: {why}"));
    }
    if !std::ptr::eq(chosen, root) {
        case.remarks.push(format!(
            "its input is that of the span `{}`, since its root has none",
            chosen.name
        ));
    }
    take_input(&mut case, chosen)?;
    take_passages(&mut case, spans);
    case.answer = root.output.as_ref().or(chosen.output.as_ref()).map(answer);
    Ok(case)
}

/// Copies the input of the pipeline from a span into the case.
fn take_input(case: &mut TraceCase, span: &RecordedSpan) -> Result<(), String> {
    let mut left_out = 0;
    let mut unanswered = |value: &Value| {
        let (kept, answered) = messages::unanswered(messages::conversation(value)?);
        left_out += answered;
        Some(Value::Array(kept))
    };
    let input = span.input.as_ref().unwrap_or(&Value::Null);
    match (unanswered(input), input) {
        (Some(messages), _) => {
            if !says_something(&messages) {
                return Err("its conversation has no message that is to be answered".to_owned());
            }
            case.fields.insert(MESSAGES.to_owned(), messages);
        }
        (None, Value::Object(fields)) => {
            for (key, value) in fields {
                let value = unanswered(value).unwrap_or_else(|| value.clone());
                case.fields.insert(key.clone(), value);
            }
        }
        (None, value) => {
            case.fields.insert(INPUT.to_owned(), value.clone());
        }
    }
    if left_out > 0 {
        let messages = counted(left_out, "message");
        case.remarks.push(format!(
            "{messages} behind the last one of the user left out"
        ));
    }
    Ok(())
}

/// Copies the retrieved passages into the case, without duplicates: a search within a search records them twice.
fn take_passages(case: &mut TraceCase, spans: &[RecordedSpan]) {
    let reranked = spans
        .iter()
        .rfind(|span| span.found.reranked && !span.found.texts.is_empty());
    let found: Vec<&RecordedSpan> = match reranked {
        Some(span) => vec![span],
        None => spans.iter().collect(),
    };
    let textless: usize = found.iter().map(|span| span.found.textless).sum();
    if textless > 0 {
        let documents = counted(textless, "document");
        case.remarks
            .push(format!("{documents} found without a text, so no passage"));
    }
    let mut seen = BTreeSet::new();
    let texts = found.iter().flat_map(|span| &span.found.texts);
    let texts: Vec<Value> = texts
        .filter(|text| seen.insert(*text))
        .map(|text| Value::from(&**text))
        .collect();
    if texts.is_empty() {
        return;
    }
    if case.fields.contains_key(PASSAGES) {
        case.remarks.push(format!(
            "its input has `{PASSAGES}` already, so those of the search are left out"
        ));
        return;
    }
    case.fields.insert(PASSAGES.to_owned(), Value::Array(texts));
}

/// The answer in an output; for a list of messages, the text of the last one.
fn answer(output: &Value) -> Value {
    let last = messages::conversation(output).and_then(|messages| messages.into_iter().next_back());
    match last {
        Some(message) => message["content"].clone(),
        None => output.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::span::FoundDocuments;
    use super::*;

    fn span(id: &str, parent: Option<&str>, start: i128, input: Value) -> RecordedSpan {
        RecordedSpan {
            trace: "t".to_owned(),
            id: id.to_owned(),
            name: format!("span {id}"),
            parent: parent.map(str::to_owned),
            start: Some(start),
            input: Some(input).filter(says_something),
            ..RecordedSpan::default()
        }
    }

    fn one(spans: Vec<RecordedSpan>) -> TraceCase {
        let (mut cases, unused) = cases(spans);
        assert!(
            unused.is_empty() && cases.len() == 1,
            "{unused:?} {cases:?}"
        );
        cases.remove(0)
    }

    fn refused(spans: Vec<RecordedSpan>) -> String {
        let (cases, mut unused) = cases(spans);
        assert!(cases.is_empty() && unused.len() == 1, "{cases:?}");
        unused.remove(0).why
    }

    #[test]
    fn the_input_is_that_of_the_root_or_of_the_nearest_span_that_has_one() {
        let all = |root: Value| {
            vec![
                span("c", Some("b"), 3, json!("deep")),
                span("b", Some("a"), 2, json!({"question": "Why?"})),
                span("a", None, 1, root),
            ]
        };
        assert_eq!(
            Value::Object(one(all(json!("Hi"))).fields),
            json!({"input": "Hi"})
        );
        let case = one(all(json!(null)));
        assert_eq!(Value::Object(case.fields), json!({"question": "Why?"}));
        insta::assert_snapshot!(case.remarks[0], @"its input is that of the span `span b`, since its root has none");
        // A search is asked what the pipeline has made.
        let mut spans = all(json!(null));
        spans[1].is_step = true;
        assert_eq!(Value::Object(one(spans).fields), json!({"input": "deep"}));
        insta::assert_snapshot!(refused(vec![span("a", None, 1, json!(" "))]), @"no span of it has an input: record the contents of messages, and export it again");
    }

    #[test]
    fn odd_trees_are_told() {
        let mut texts = Vec::new();
        for spans in [
            vec![span("b", Some("a"), 1, json!("x"))],
            vec![
                span("a", Some("b"), 1, json!("x")),
                span("b", Some("a"), 2, json!("y")),
            ],
        ] {
            let case = one(spans);
            texts.push(case.remarks[0].to_string());
            assert_eq!(case.fields["input"], "x");
        }
        insta::assert_snapshot!(texts.join("\n"), @"
        its root is not in the file
        its root is not in the file
        ");
        // The same span in two requests is one.
        let twice = || span("a", None, 1, json!("x"));
        assert_eq!(one(vec![twice(), twice()]).remarks, Vec::<String>::new());
        // The record of a trace is its root, and what has no parent stands below it.
        let mut trace = span("trace t", None, 5, json!(null));
        trace.is_trace = true;
        let case = one(vec![
            span("a", None, 1, json!("x")),
            trace,
            span("b", None, 2, json!("y")),
        ]);
        assert_eq!(
            (case.fields["input"].as_str(), case.remarks.len()),
            (Some("x"), 1)
        );
    }

    #[test]
    fn a_trace_that_failed_or_is_not_whole_is_left_out() {
        let with = |change: &dyn Fn(&mut RecordedSpan)| {
            let mut root = span("a", None, 1, json!("x"));
            change(&mut root);
            vec![root, span("b", Some("a"), 2, json!("y"))]
        };
        let failed = with(&|span| span.error = Some("late".to_owned()));
        insta::assert_snapshot!(refused(failed), @"the span `span a` ended with an error: late");
        let failed = with(&|span| span.error = Some(String::new()));
        insta::assert_snapshot!(refused(failed), @"the span `span a` ended with an error");
        let input = refused(with(&|span| span.cut = Some("cut".to_owned())));
        insta::assert_snapshot!(input, @"its input is not whole: cut");
        let passages = refused(with(&|span| span.found.cut = Some("cut".to_owned())));
        insta::assert_snapshot!(passages, @"its passages are not whole: cut");
        // What fails on the way and is tried again is no failure of the whole.
        let mut tried = with(&|_| {});
        tried[1].error = Some("late".to_owned());
        one(tried);
    }

    #[test]
    fn the_answer_is_no_part_of_the_case() {
        let mut root = span(
            "a",
            None,
            1,
            json!([
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "You may cancel it within thirty days."},
            ]),
        );
        root.output = Some(
            json!([{"role": "assistant", "parts": [{"type": "text", "content": "You may cancel it within thirty days."}]}]),
        );
        let case = one(vec![root]);
        assert_eq!(
            Value::Object(case.fields),
            json!({"messages": [{"role": "user", "content": "Hi"}]})
        );
        assert_eq!(
            case.answer,
            Some(json!("You may cancel it within thirty days."))
        );
        insta::assert_snapshot!(case.remarks.join("\n"), @"1 message behind the last one of the user left out");
        let all = vec![span(
            "a",
            None,
            1,
            json!([{"role": "assistant", "content": "Hi"}]),
        )];
        insta::assert_snapshot!(refused(all), @"its conversation has no message that is to be answered");
    }

    #[test]
    fn passages_are_those_that_were_read_each_once() {
        let found = |id: &str, texts: &[&str], reranked: bool| {
            let mut search = span(id, Some("a"), 2, json!("q"));
            search.is_step = true;
            search.found = FoundDocuments {
                texts: texts.iter().map(|text| (*text).to_owned()).collect(),
                reranked,
                ..FoundDocuments::default()
            };
            search
        };
        let root = || span("a", None, 1, json!("x"));
        let case = one(vec![
            found("c", &["q", "p"], false),
            found("b", &["p", "o"], false),
            root(),
        ]);
        assert_eq!(case.fields["passages"], json!(["q", "p", "o"]));
        let case = one(vec![
            found("c", &["p", "q"], false),
            found("d", &["q"], true),
            root(),
        ]);
        assert_eq!(case.fields["passages"], json!(["q"]));
        let own = span("a", None, 1, json!({"passages": ["own"]}));
        let case = one(vec![found("c", &["p"], false), own]);
        assert_eq!(case.fields["passages"], json!(["own"]));
        assert_eq!(case.remarks.len(), 1);
    }
}
