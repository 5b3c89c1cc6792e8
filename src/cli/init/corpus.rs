//! The question for the cases, and the offer where there are none.

use std::path::Path;

use super::governing;
use super::steps::{Steps, settings};
use crate::cli::ask::Stopped;
use crate::cli::import;
use kelvin_base::exit::Misuse;
use kelvin_evidence::cases::{self, Corpus};
use kelvin_page::{counted, safe};

/// Determines the folder of the cases, and reads them.
pub(super) fn settle(steps: &mut Steps<'_>) -> anyhow::Result<Corpus> {
    loop {
        let folder = match (steps.said.cases.take(), steps.ask) {
            (Some(cases), _) => cases,
            (None, None) => "cases".to_owned(),
            (None, Some(ask)) => {
                let root = &steps.target.root;
                let default = match import::in_the_way(&root.join("cases")) {
                    Some(_) => free(root),
                    None => "cases".to_owned(),
                };
                let question = "Which folder holds the cases?";
                ask.line(question, Some(&default), &|text| check(root, text))?
            }
        };
        let loaded = steps
            .try_with(|said| {
                said.cases = Some(folder.clone());
                said.decision_field = None;
                said.governing_types.clear();
            })
            .and_then(|config| cases::load(&config.root, settings(&config)));
        match loaded {
            Ok((corpus, notices)) => {
                let count = counted(corpus.cases.len(), "case");
                let types = counted(governing::types(&corpus).len(), "type");
                steps.tell(&format!("{count} with {types} of units"))?;
                for notice in notices {
                    steps.tell(&format!("  {}", safe::line(&notice.text)))?;
                }
                steps.said.cases = Some(folder);
                return Ok(corpus);
            }
            Err(error) => steps.said.cases = cannot_read(steps, error, &folder)?,
        }
    }
}

/// Shows why there are no cases. If cases can be made from a file beside the configuration, that is offered; returns
/// the folder if it was done.
fn cannot_read(
    steps: &mut Steps<'_>,
    error: anyhow::Error,
    folder: &str,
) -> anyhow::Result<Option<String>> {
    let root = &steps.target.root;
    let named = root.join(folder);
    let (file, folder, error) = match import::has_records(&named) {
        // The answer names the file itself. Its cases go into a folder beside it.
        true => (Some(named), free(root), no_folder(folder)),
        false => {
            let has_cases = std::fs::read_dir(&named).is_ok_and(|mut files| files.next().is_some());
            let is_free = import::in_the_way(&named).is_none() && !folder.contains('*');
            let file = import::candidate(root).filter(|_| !has_cases && is_free);
            (file, folder.to_owned(), error)
        }
    };
    let into = root.join(&folder);
    let Some(ask) = steps.ask else {
        return Err(match file {
            Some(file) => Misuse::new(format!("{error:#}"))
                .help(import::command(&file, &into))
                .into(),
            None => error,
        });
    };
    steps.tell(&safe::lines(&format!("{error:#}")))?;
    let Some(file) = file else { return Ok(None) };
    let name = safe::line(&steps.target.shown(&file));
    steps.tell(&format!("The records in `{name}` can be made into cases:"))?;
    match import::offer(&file, &into, ask, steps.out) {
        Err(error) if error.is::<Stopped>() => Err(error),
        Err(error) => {
            steps.tell(&safe::lines(&format!("{error:#}")))?;
            Ok(None)
        }
        Ok(are_made) => Ok(are_made.then_some(folder)),
    }
}

/// An objection to an answer before anything is read: a file is no folder. A file with records is accepted, since cases
/// can be made from it.
fn check(root: &Path, text: &str) -> Result<(), String> {
    let path = root.join(text);
    match import::in_the_way(&path) {
        Some(file) if file != path || !import::has_records(&path) => {
            let file = file.strip_prefix(root).unwrap_or(&file);
            Err(no_folder(&safe::line(&file.to_string_lossy())).to_string())
        }
        _ => Ok(()),
    }
}

fn no_folder(file: &str) -> anyhow::Error {
    Misuse::new(format!(
        "`{file}` is a file; the cases are a folder with one file for each case"
    ))
    .into()
}

/// The name of a folder for new cases: one that does not exist, or is empty.
fn free(root: &Path) -> String {
    let numbered = (2..).map(|number| format!("cases-{number}"));
    let mut names = std::iter::once("cases".to_owned()).chain(numbered);
    let is_free = |name: &String| {
        let path = root.join(name);
        let is_empty = std::fs::read_dir(&path).is_ok_and(|mut files| files.next().is_none());
        path.symlink_metadata().is_err() || is_empty
    };
    names.find(is_free).unwrap_or_default()
}
