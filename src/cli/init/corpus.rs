//! The question for the cases of a pipeline that decides: a folder of Markdown files, or a file with records.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::governing;
use super::governing::unit_type;
use super::kind::{CONVERSATIONS, are_turns, is_name, is_right_answer, labels};
use super::steps::{Steps, settings};
use super::survey::{DataFile, Survey, field};
use crate::cli::again::Again;
use kelvin_base::exit::Misuse;
use kelvin_evidence::cases::{self, Corpus};
use kelvin_page::{counted, safe};
use kelvin_probe::rows::{self, RowForm, words};

/// The role of the field with the label.
const EXPECTED: &str = "expected";

/// Names of fields that may contain the name of a case, besides `id`.
const IDS: [&str; 2] = ["case_id", "case"];

/// Determines where the cases are, and reads them.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<Corpus> {
    if steps.said.cases.is_none() && survey.cases.is_none() && survey.data.is_empty() {
        for (flag, path) in &survey.traces {
            let command = Again::kelvin("import").flag(flag, path);
            if let Some(command) = command.command() {
                steps.print(&format!(
                    "`{}` has traces: `{command}` makes cases of them",
                    safe::line(path)
                ))?;
            }
        }
    }
    // A file that could not be read is not used again without a question.
    let mut is_refused = false;
    let certain = survey.certain(steps.ask.is_some());
    let certain = certain.filter(|_| survey.cases.is_none());
    loop {
        let named = steps.said.cases.take();
        let cases = match (named, steps.ask) {
            (Some(cases), _) => cases,
            // If exactly one file has records and no folder has cases, no question is needed. If nobody can be asked,
            // one that alone is named like a golden set is taken.
            (None, _) if !is_refused && certain.is_some() => {
                let path = certain.map(|file| file.path.clone()).unwrap_or_default();
                let shown = safe::line(&path);
                steps.print(&format!(
                    "the cases are the records of `{shown}` (`--cases` names others)"
                ))?;
                path
            }
            (None, None) => match survey.cases.as_deref() {
                Some(folder) if folder != "cases" => {
                    let shown = safe::line(folder);
                    steps.print(&format!(
                        "the cases are the pages of `{shown}` (`--cases` names others)"
                    ))?;
                    folder.to_owned()
                }
                _ => "cases".to_owned(),
            },
            (None, Some(ask)) => {
                let default = match (&survey.cases, survey.data.first()) {
                    (None, Some(file)) => file.path.clone(),
                    (folder, _) => folder.clone().unwrap_or_else(|| "cases".to_owned()),
                };
                let root = steps.target.root.clone();
                let question = "Which folder or file holds the cases?";
                ask.line(question, Some(&default), &|text| {
                    let path = root.join(text);
                    match in_the_way(&path) {
                        Some(file) if file != path || survey.file(text).is_none() => {
                            let file = file.strip_prefix(&root).unwrap_or(&file);
                            Err(no_cases(&safe::line(&file.to_string_lossy())))
                        }
                        _ => Ok(()),
                    }
                })?
            }
        };
        take_fields(steps, survey, &cases)?;
        let loaded = steps
            .try_with(|said| {
                said.cases = Some(cases.clone());
                said.decision_field = None;
                said.governing_types.clear();
            })
            .and_then(|config| cases::load(&config.root, settings(&config)));
        match loaded {
            Ok((corpus, notices)) => {
                let count = counted(corpus.cases.len(), "case");
                let types = counted(governing::types(&corpus).len(), "type");
                steps.print(&format!("{count} with {types} of units"))?;
                let mut told: Vec<(String, usize)> = Vec::new();
                for notice in notices {
                    let text = safe::line(&notice.text);
                    match told.iter_mut().find(|(known, _)| *known == text) {
                        Some((_, cases)) => *cases += 1,
                        None => told.push((text, 1)),
                    }
                }
                for (text, cases) in told {
                    let count = match cases {
                        1 => String::new(),
                        many => format!(" ({many} cases)"),
                    };
                    steps.print(&format!("  {text}{count}"))?;
                }
                steps.said.cases = Some(cases);
                return Ok(corpus);
            }
            Err(error) if steps.ask.is_none() => {
                return Err(match survey.data.as_slice() {
                    [] => error,
                    files => {
                        let names = files.iter().map(|file| format!("`--cases {}`", file.path));
                        let names = safe::line(&names.collect::<Vec<_>>().join(" or "));
                        Misuse::new(format!("{error:#}"))
                            .help(format!("a file with records can be the cases: {names}"))
                            .into()
                    }
                });
            }
            Err(error) => {
                is_refused = true;
                steps.print(&safe::lines(&format!("{error:#}")))?;
            }
        }
    }
}

/// Determines which fields of a record are the name, the label and the turns of a case. A label is never given to the
/// pipeline, and turns are given only to a pipeline that asks for its conversation.
fn take_fields(steps: &mut Steps<'_>, survey: &Survey, cases: &str) -> anyhow::Result<()> {
    steps.said.fields.clear();
    let Some(file) = survey.file(cases) else {
        return Ok(());
    };
    let record = &file.record;
    if let Some(id) = name_of_case(&steps.target.root, file) {
        let shown = safe::line(&id);
        steps.print(&format!("the cases are named by `{shown}`"))?;
        steps.said.fields.push(("id".to_owned(), id));
    }
    let decision = steps.said.decision_field.as_deref();
    if let Some(label) = labels(record, decision).into_iter().next() {
        let shown = safe::line(&label);
        steps.print(&format!(
            "`{shown}` is the label of a case: the pipeline is not given it, and its decisions are held against it"
        ))?;
        take_label(steps, label);
    }
    let run = steps.said.run.as_deref().unwrap_or_default();
    if survey.converses(run)
        && let Some(turns) = field(record, &CONVERSATIONS, &are_turns)
    {
        let shown = safe::line(&turns);
        steps.print(&format!(
            "`{shown}` has the turns of a conversation: the pipeline is given one after the other"
        ))?;
        steps.said.fields.push(("turns".to_owned(), turns));
    }
    Ok(())
}

/// The field with the name of a case, if the records have no `id`: one with a usual name, or one like `ticket_id` whose
/// value differs from record to record.
fn name_of_case(root: &Path, file: &DataFile) -> Option<String> {
    let record = &file.record;
    if record.contains_key("id") {
        return None;
    }
    if let Some(id) = field(record, &IDS, &is_name) {
        return Some(id);
    }
    let is_named = |name: &str| words(name).last().is_some_and(|word| word == "id");
    let mut named = record
        .iter()
        .filter(|(name, value)| is_named(name) && is_name(value));
    let (first, _) = named.next()?;
    let text = fs::read_to_string(root.join(&file.path)).ok()?;
    let rows = rows::split(&text, RowForm::of_file(Path::new(&file.path))?).ok()?;
    let records = rows.iter().map(|row| serde_json::from_str(&row.text).ok());
    let records: Vec<Map<String, Value>> = records.collect::<Option<_>>()?;
    let differs = |name: &&String| {
        let mut known = BTreeSet::new();
        let mut values = records
            .iter()
            .map(|record| record.get(*name).and_then(plain));
        values.all(|value| value.is_some_and(|value| known.insert(value)))
    };
    let rest = named.map(|(name, _)| name);
    std::iter::once(first).chain(rest).find(differs).cloned()
}

/// Records which field is the label.
fn take_label(steps: &mut Steps<'_>, label: String) {
    let fields = &mut steps.said.fields;
    fields.retain(|(role, _)| role != EXPECTED);
    if label != EXPECTED {
        let place = fields.iter().position(|(role, _)| role == "turns");
        let place = place.unwrap_or(fields.len());
        fields.insert(place, (EXPECTED.to_owned(), label));
    }
}

/// Looks at the label again now that the name of the decision is known, and finds the other fields of a record that may
/// tell the pipeline the right answer. Returns the types of their units, which should not govern the decision, and the
/// cases, read again if another field is the label now. `first` is the decision of the first case, if it was run.
pub(super) fn settle_label(
    steps: &mut Steps<'_>,
    survey: &Survey,
    corpus: Corpus,
    first: Option<&Value>,
) -> anyhow::Result<(Corpus, BTreeSet<String>)> {
    let cases = steps.said.cases.clone().unwrap_or_default();
    let (Some(file), Some(decision)) = (survey.file(&cases), steps.said.decision_field.clone())
    else {
        return Ok((corpus, BTreeSet::new()));
    };
    let found = labels(&file.record, Some(&decision));
    let role = steps.said.fields.iter().find(|(role, _)| role == EXPECTED);
    let taken = role.map_or_else(|| EXPECTED.to_owned(), |(_, field)| field.clone());
    let mut corpus = corpus;
    if let Some(label) = found.first().filter(|label| **label != taken) {
        steps.print(&format!(
            "`{}` is the label and not `{}`, since its name is that of the decision `{}`",
            safe::line(label),
            safe::line(&taken),
            safe::line(&decision)
        ))?;
        take_label(steps, label.clone());
        let config = steps.config()?;
        (corpus, _) = cases::load(&config.root, settings(&config))?;
    }
    let mut suspects = BTreeSet::new();
    for other in found.iter().skip(1).filter(|name| is_right_answer(name)) {
        let shown = safe::line(other);
        steps.print(&format!(
            "`{shown}` may have a right answer too, and the pipeline is given it: leave it out of the records, or let \
             `records: {{expected: ...}}` name it in place of the other"
        ))?;
        suspects.insert(unit_type(other));
    }
    let decided = first.and_then(plain);
    for (name, value) in &file.record {
        let has_its_name = words(name) == words(decision.rsplit('/').next().unwrap_or_default());
        let is_equal = decided.is_some() && plain(value) == decided;
        if found.is_empty() && (has_its_name || is_equal) {
            let why = match is_equal {
                true => "is the decision itself in the first case",
                false => "has the name of the decision",
            };
            let shown = safe::line(name);
            steps.print(&format!(
                "`{shown}` {why}, and the pipeline is given it: if it has the right answers, let `kelvin.yaml` say \
                 `records: {{expected: {shown}}}`"
            ))?;
            suspects.insert(unit_type(name));
        }
    }
    Ok((corpus, suspects))
}

/// A short value as a text, for a comparison: a table has all its values as texts.
fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    is_name(value).then(|| text.trim().to_lowercase())
}

/// The path at which a folder is needed but something else exists: the path itself, or one of its parents.
fn in_the_way(folder: &Path) -> Option<PathBuf> {
    let is_no_folder = |path: &&Path| path.symlink_metadata().is_ok() && !path.is_dir();
    folder.ancestors().find(is_no_folder).map(Path::to_path_buf)
}

fn no_cases(file: &str) -> String {
    format!(
        "`{file}` is a file without records; the cases are a folder with one Markdown file for each, or a file of JSON \
         lines, JSON or CSV"
    )
}
