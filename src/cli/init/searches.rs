//! Sets up the probe for a search: the golden questions, and the roles of their fields.

use serde_json::{Map, Value};

use super::kind::{DOCUMENTS, QUESTIONS, is_text, names_documents};
use super::steps::Steps;
use super::survey::{Survey, field};
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// Determines the golden set and the names of its fields.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
    let path = steps.records(
        survey,
        "Which file has the questions, each with the documents that should be found?",
    )?;
    let Some(file) = survey.file(&path) else {
        // A golden set in YAML already uses the expected names.
        return steps.config().map(|_| ());
    };
    let record = &file.record;
    let mut named = Vec::new();
    let question = field(record, &QUESTIONS, &is_text);
    let question = match (question, steps.ask) {
        (Some(question), _) => question,
        (None, Some(ask)) => pick(ask, record, "Which field is the question?", &is_text)?,
        (None, None) => return Err(unknown(&path, "the question", "query")),
    };
    named.push(("query", question.clone()));
    let is_other = |name: &String| *name != question;
    let documents = field(record, &DOCUMENTS, &names_documents).filter(is_other);
    let documents = match (documents, steps.ask) {
        (Some(documents), _) => documents,
        (None, Some(ask)) => {
            let question = "Which field names the documents that should be found?";
            pick(ask, record, question, &names_documents)?
        }
        (None, None) => {
            return Err(unknown(
                &path,
                "the documents that should be found",
                "expected_doc_ids",
            ));
        }
    };
    named.push(("expected_doc_ids", documents));
    for name in ["id", "expected_chunk_ids", "must_contain"] {
        named.extend(field(record, &[name], &|_| true).map(|field| (name, field)));
    }
    name(steps, record, named)?;
    steps.config().map(|_| ())
}

/// Records the roles of the fields in a file. If all fields already have the expected names and there are no other
/// fields, the file is not needed.
pub(super) fn name(
    steps: &mut Steps<'_>,
    record: &Map<String, Value>,
    named: Vec<(&str, String)>,
) -> anyhow::Result<()> {
    let others: Vec<_> = named.iter().filter(|(name, field)| name != field).collect();
    for (name, field) in &others {
        steps.print(&format!("`{}` is taken for `{name}`", safe::line(field)))?;
    }
    let is_as_read = others.is_empty() && record.len() == named.len();
    let written = named.into_iter().filter(|_| !is_as_read);
    steps.said.fields = written
        .map(|(name, field)| (name.to_owned(), field))
        .collect();
    Ok(())
}

/// Asks for one of the fields of a record whose values fit.
pub(super) fn pick(
    ask: &dyn ask::Ask,
    record: &Map<String, Value>,
    question: &str,
    fits: &dyn Fn(&Value) -> bool,
) -> anyhow::Result<String> {
    let fields: Vec<&String> = record
        .iter()
        .filter(|(_, value)| fits(value))
        .map(|(key, _)| key)
        .collect();
    let choices: Vec<String> = fields
        .iter()
        .map(|key| {
            let value = safe::cut(&record[key.as_str()].to_string(), 60);
            format!("{}: {}", safe::line(key), safe::line(&value))
        })
        .collect();
    if choices.is_empty() {
        return Err(Misuse::new("no field of the first record can be it")
            .help("name another file")
            .into());
    }
    Ok(fields[ask::one(ask, question, &choices, None)?].clone())
}

/// The error for a field whose name does not show its role, if nobody can be asked.
pub(super) fn unknown(path: &str, what: &str, name: &str) -> anyhow::Error {
    Misuse::new(format!(
        "which field of `{}` is {what} is not known",
        safe::line(path)
    ))
    .help(format!(
        "call it `{name}`, or run `kelvin init` on a terminal, where you are asked for it"
    ))
    .into()
}
