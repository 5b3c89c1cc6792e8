//! The task of the pipeline. It decides which questions follow and which section is written.

use clap::ValueEnum;
use serde_json::{Map, Value};

use super::request::Request;
use super::steps::Steps;
use super::survey::{Survey, field};
use crate::cli::again::name_of;
use crate::cli::ask;
use kelvin_probe::rows::words;

/// What a pipeline does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PipelineKind {
    /// It decides: a class, an approval, a number.
    Decides,
    /// It searches: documents or passages for a question.
    Searches,
    /// It answers in prose.
    Answers,
    /// It acts: what it leaves behind is checked.
    Acts,
    /// It is scored already: an evaluator writes a file with the scores.
    Scores,
}

use PipelineKind::{Acts, Answers, Decides, Scores, Searches};

impl PipelineKind {
    /// The kind as a choice in a question.
    const fn shown(self) -> &'static str {
        match self {
            Decides => "It decides: a class, an approval, a number",
            Searches => "It searches: documents or passages for a question",
            Answers => "It answers in prose: a summary, a reply",
            Acts => "It acts: what an agent leaves behind is checked",
            Scores => "It is scored already: a script of yours writes the scores into a file",
        }
    }

    /// Words that occur in the names of such pipeline functions, the most likely first.
    pub(super) const fn verbs(self) -> &'static [&'static str] {
        match self {
            Decides => &[
                "decide", "classify", "predict", "triage", "route", "approve", "assess", "label",
                "score", "moderate", "extract", "infer", "run", "process", "handle", "pipeline",
            ],
            Searches => &[
                "search", "retrieve", "find", "lookup", "query", "ask", "run",
            ],
            Answers => &[
                "answer",
                "ask",
                "reply",
                "respond",
                "summarize",
                "summarise",
                "generate",
                "chat",
                "complete",
                "write",
                "run",
            ],
            Acts => &["run", "act", "agent", "solve", "handle"],
            // An evaluator is a command.
            Scores => &[],
        }
    }
}

/// Names of fields that may contain the question.
pub(super) const QUESTIONS: [&str; 7] = [
    "query",
    "question",
    "prompt",
    "q",
    "search",
    "input",
    "instruction",
];

/// Names of fields that may contain the documents that should be found.
pub(super) const DOCUMENTS: [&str; 38] = [
    "expected_doc_ids",
    "expected_doc_id",
    "expected_docs",
    "expected_doc",
    "expected_documents",
    "expected_document",
    "expected_sources",
    "expected_source",
    "expected_files",
    "expected_file",
    "doc_ids",
    "doc_id",
    "document_ids",
    "document_id",
    "relevant_doc_ids",
    "relevant_docs",
    "relevant_documents",
    "relevant_sources",
    "relevant",
    "gold_docs",
    "gold_doc",
    "gold_sources",
    "gold_source",
    "source_docs",
    "source_doc",
    "source_documents",
    "source_document",
    "source_files",
    "source_file",
    "documents",
    "document",
    "docs",
    "doc",
    "sources",
    "source",
    "page",
    "url",
    "article",
];

/// Names of fields that may contain an answer that is known to be good.
pub(super) const REFERENCES: [&str; 8] = [
    "reference",
    "reference_answer",
    "expected_output",
    "expected_answer",
    "ideal",
    "ground_truth",
    "answer",
    "expected",
];

/// Names of fields that may contain the label of a case.
pub(super) const LABELS: [&str; 12] = [
    "expected",
    "label",
    "gold_label",
    "gold",
    "target",
    "category",
    "class",
    "decision",
    "verdict",
    "intent",
    "expected_output",
    "ground_truth",
];

/// The words with which the name of a label may begin, before that of the decision: `expected_code`, `trueDepartment`.
const BEFORE_DECISION: [&str; 6] = ["expected", "true", "gold", "golden", "correct", "target"];

/// The words with which the name of a label may end, after that of the decision: `department_label`.
const AFTER_DECISION: [&str; 3] = ["label", "expected", "gold"];

/// Names of fields that may contain the turns of a conversation.
pub(super) const CONVERSATIONS: [&str; 3] = ["turns", "conversation", "messages"];

/// The maximum length of a label, or of the name of a document, in characters.
const NAME: usize = 60;

/// The number of words from which an answer counts as prose.
const PROSE: usize = 6;

/// What the name of a label says of the decision, as words: `code` of `expected_code`. None if it is not the name of a
/// label with such a beginning or end.
fn labelled(words: &[String]) -> Option<&[String]> {
    let rest = match words {
        [first, rest @ ..] if BEFORE_DECISION.contains(&first.as_str()) => rest,
        [rest @ .., last] if AFTER_DECISION.contains(&last.as_str()) => rest,
        _ => return None,
    };
    (!rest.is_empty()).then_some(rest)
}

/// The fields of a record that may have the label of its case, the most likely first. A field whose name ends with that
/// of the decision comes before the usual names, and these before names that only begin or end like a label.
pub(super) fn labels(record: &Map<String, Value>, decision: Option<&str>) -> Vec<String> {
    let decision = decision.and_then(|field| field.rsplit('/').next());
    let decision = words(decision.unwrap_or_default());
    let names_it = |rest: &[String]| {
        !decision.is_empty() && (rest.ends_with(&decision) || decision.ends_with(rest))
    };
    let likelihood = |name: &str| {
        let words = words(name);
        let rest = labelled(&words);
        let usual = LABELS.iter().position(|usual| self::words(usual) == words);
        match (rest.is_some_and(names_it), usual, rest) {
            (true, ..) => Some(0),
            (false, Some(place), _) => Some(1 + place),
            (false, None, Some(_)) => Some(1 + LABELS.len()),
            (false, None, None) => None,
        }
    };
    let named = record.iter().filter(|(_, value)| is_name(value));
    let mut found: Vec<(usize, &String)> = named
        .filter_map(|(name, _)| Some((likelihood(name)?, name)))
        .collect();
    found.sort_by_key(|(likelihood, _)| *likelihood);
    found.into_iter().map(|(_, name)| name.clone()).collect()
}

/// Whether the name of a field says that it has a right answer. A usual name, as `category`, or one such as
/// `target_language` may be that of an input as well.
pub(super) fn is_right_answer(name: &str) -> bool {
    let words = words(name);
    labelled(&words).is_some() && words.first().is_none_or(|first| first != "target")
}

/// Whether a value is a short text or a number.
pub(super) fn is_name(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => {
            !text.trim().is_empty() && !text.contains('\n') && text.chars().count() <= NAME
        }
        _ => false,
    }
}

/// Whether a value names documents: a name, or a list of names.
pub(super) fn names_documents(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(is_name),
        // A cell of a table may have several names.
        Value::String(text) if text.contains(';') => !text.contains('\n'),
        value => is_name(value) && !value.is_boolean(),
    }
}

/// Whether a value is a list of turns that can be given to a pipeline one after the other. A list that contains answers
/// of the pipeline is not one.
pub(super) fn are_turns(value: &Value) -> bool {
    let is_turn = |turn: &Value| match turn {
        Value::Object(fields) => fields.get("role").is_none_or(|role| role != "assistant"),
        turn => turn.is_string(),
    };
    let turns = value.as_array();
    turns.is_some_and(|turns| !turns.is_empty() && turns.iter().all(is_turn))
}

/// Whether a value is a text.
pub(super) fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Determines the task of the pipeline: from the command line, from answers about decisions, or from a folder of
/// Markdown cases. Otherwise the person is asked, and the form of the records decides which task is proposed.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<PipelineKind> {
    if let Some(kind) = steps.said.kind {
        return Ok(kind);
    }
    let (likely, is_decided) = likely(&steps.said, survey);
    let kind = match steps.ask {
        Some(ask) if !is_decided => {
            let kinds = PipelineKind::value_variants();
            let choices: Vec<String> = kinds.iter().map(|kind| kind.shown().to_owned()).collect();
            let default = kinds.iter().position(|kind| *kind == likely);
            let question = "What does your pipeline do?";
            kinds[ask::one(ask, question, &choices, default)?]
        }
        _ => likely,
    };
    if steps.ask.is_none() && kind != Decides {
        let name = name_of(kind);
        steps.print(&format!(
            "by its records the pipeline {name} (`--kind` says otherwise)"
        ))?;
    }
    steps.said.kind = Some(kind);
    Ok(kind)
}

/// The most likely task of the pipeline, and whether no other task is possible.
pub(super) fn likely(said: &Request, survey: &Survey) -> (PipelineKind, bool) {
    if let Some(kind) = said.kind {
        return (kind, true);
    }
    let named = said.cases.as_deref().and_then(|path| survey.file(path));
    let is_decided = said.decision_field.is_some()
        || !said.governing_types.is_empty()
        || said.cases.is_some() && named.is_none()
        || said.cases.is_none() && survey.cases.is_some();
    let record = named.or_else(|| survey.data.first());
    let of_record = record.map_or(Decides, |file| of_record(&file.record));
    (if is_decided { Decides } else { of_record }, is_decided)
}

/// The task of a pipeline that has such records, judging by the names of their fields.
fn of_record(record: &Map<String, Value>) -> PipelineKind {
    let has = |names: &[&str], fits: &dyn Fn(&Value) -> bool| field(record, names, fits).is_some();
    let asks = has(&QUESTIONS, &is_text);
    let is_prose = |value: &Value| {
        value
            .as_str()
            .is_some_and(|text| text.split_whitespace().count() >= PROSE)
    };
    match () {
        () if asks && has(&DOCUMENTS, &names_documents) => Searches,
        () if asks && has(&REFERENCES, &is_prose) => Answers,
        () => Decides,
    }
}
