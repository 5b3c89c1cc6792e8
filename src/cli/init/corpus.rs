//! The question for the cases of a pipeline that decides: a folder of Markdown files, or a file with records.

use std::path::{Path, PathBuf};

use super::governing;
use super::kind::{CONVERSATIONS, LABELS, are_turns, is_name};
use super::steps::{Steps, settings};
use super::survey::{Survey, field};
use crate::cli::again::Again;
use kelvin_base::exit::Misuse;
use kelvin_evidence::cases::{self, Corpus};
use kelvin_page::{counted, safe};

/// Names of fields that may contain the name of a case, besides `id`.
const IDS: [&str; 2] = ["case_id", "case"];

/// Determines where the cases are, and reads them.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<Corpus> {
    if steps.said.cases.is_none() && !survey.has_cases && survey.data.is_empty() {
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
    loop {
        let named = steps.said.cases.take();
        let cases = match (named, steps.ask) {
            (Some(cases), _) => cases,
            // If exactly one file has records and no folder has cases, no question is needed.
            (None, _) if !is_refused && !survey.has_cases && survey.data.len() == 1 => {
                let path = survey.data[0].path.clone();
                let shown = safe::line(&path);
                steps.print(&format!(
                    "the cases are the records of `{shown}` (`--cases` names others)"
                ))?;
                path
            }
            (None, None) => "cases".to_owned(),
            (None, Some(ask)) => {
                let default = match survey.data.first() {
                    Some(file) if !survey.has_cases => file.path.clone(),
                    _ => "cases".to_owned(),
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
    if let (None, Some(id)) = (record.get("id"), field(record, &IDS, &is_name)) {
        steps.said.fields.push(("id".to_owned(), id));
    }
    if let Some(label) = field(record, &LABELS, &is_name) {
        let shown = safe::line(&label);
        steps.print(&format!(
            "`{shown}` is the label of a case: the pipeline is not given it, and its decisions are held against it"
        ))?;
        if label != "expected" {
            steps.said.fields.push(("expected".to_owned(), label));
        }
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
