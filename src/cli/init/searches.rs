//! Sets up the probe for a search: the golden questions with the roles of their fields, and the names in an output.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::kind::{DOCUMENTS, QUESTIONS, is_text, names_documents};
use super::steps::Steps;
use super::survey::{Survey, field};
use super::trial::{self, OutputForm, TrialSubject};
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;
use kelvin_retrieval::{OutputFields, first_question};
use kelvin_run::config::Config;

/// Determines the golden set, the names of its fields and those of an output. Returns the files that a trial has left in
/// the repository, as lines for `.gitignore`.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<BTreeSet<String>> {
    golden(steps, survey)?;
    let config = steps.config()?;
    let first = first_question(&config)?;
    for note in &first.notes {
        steps.print(note)?;
    }
    let run = |config: &Config| {
        let first = first_question(config)?;
        let asked = trial::TrialInput {
            tried: TrialSubject::Input("query", first.id.into()),
            input: &first.input,
            program: first.program,
            reader: &trial::WholeOutput,
            form: OutputForm::Structure,
        };
        trial::run(config, &asked)
    };
    let trial = trial::settle(steps, &TrialSubject::Input("query", first.id.into()), &run)?;
    if let Some(output) = trial.look.and_then(|look| look.output) {
        output_fields(steps, &output, &first.expected)?;
    }
    Ok(trial.left)
}

/// Records the names that an output has for its hits and their documents, and says which they are. If these cannot be
/// told, the check explains how to give them.
fn output_fields(
    steps: &mut Steps<'_>,
    output: &Value,
    expected: &BTreeSet<String>,
) -> anyhow::Result<()> {
    let Some(fields) = OutputFields::proposed(output, expected) else {
        return steps.print(
            "nothing in the output is a list of hits with their documents; write into `output_fields` of `kelvin.yaml` \
             which names it has for `hits` and `doc_id`, before `kelvin check`: docs/retrieval.md",
        );
    };
    for (name, own) in fields.pairs() {
        steps.print(&format!(
            "`{}` of the output is taken for `{name}`",
            safe::line(own)
        ))?;
    }
    let documents = fields.documents(output);
    let of_the_first = |found: &String| {
        let alike = expected.iter().find(|id| found.contains(id.as_str()));
        alike.or(expected.first())
    };
    if let Some(found) = documents.first()
        && let Some(wanted) = of_the_first(found)
        && !documents.iter().any(|id| expected.contains(id))
    {
        steps.print(&format!(
            "No hit names a document that any question expects: the first hit names `{}`, and one of the questions \
             expects `{}`. As long as the two are written differently, every figure is 0.",
            safe::cut(&safe::line(found), 60),
            safe::cut(&safe::line(wanted), 60)
        ))?;
    }
    if !fields.is_empty() {
        steps.said.output_fields = fields.written();
    }
    Ok(())
}

/// Determines the golden set and the names of its fields.
fn golden(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
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
        (None, None) => return Err(unknown(&path, "the question", ("query", "golden_fields"))),
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
                ("expected_doc_ids", "golden_fields"),
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

/// The error for a field whose name does not show its role, if nobody can be asked. `key` of the configuration gives
/// such a field its role.
pub(super) fn unknown(path: &str, what: &str, (name, key): (&str, &str)) -> anyhow::Error {
    Misuse::new(format!(
        "which field of `{}` is {what} is not known",
        safe::line(path)
    ))
    .help(format!(
        "write a `kelvin.yaml` with `{key}: {{{name}: ITS_NAME}}` for a field of another name, call the field `{name}`, \
         or run `kelvin init` on a terminal, where you are asked for it"
    ))
    .into()
}
