//! The question for the cases, and what is offered where there are none.

use std::path::Path;

use super::governing;
use super::steps::{Steps, counted, settings};
use crate::cli::ask;
use crate::cli::ask::{Back, Stopped};
use crate::cli::import;
use kelvin_base::exit::Misuse;
use kelvin_evidence::cases;
use kelvin_page::safe;

/// Settles which cases there are, and reads them.
pub(super) fn settle(steps: &mut Steps<'_>) -> anyhow::Result<()> {
    // Where cases were just made, for the next turn alone.
    let mut made = None;
    loop {
        let before = steps.said.cases.clone();
        let asked = match (made.take().or_else(|| steps.given.cases.clone()), steps.ask) {
            (Some(cases), _) => cases,
            (None, None) => "cases".to_owned(),
            (None, Some(ask)) => {
                steps.asked = true;
                let root = &steps.target.root;
                let default = before.clone().unwrap_or_else(|| match root.join("cases") {
                    cases if import::in_the_way(&cases).is_some() => free(root),
                    _ => "cases".to_owned(),
                });
                let question = "Which folder holds the cases?";
                ask::text(ask, question, Some(&default), &|text| check(root, text))?
            }
        };
        steps.said.cases = Some(asked);
        let loaded = steps
            .try_with(|said| {
                said.decision_field = None;
                said.governing_types.clear();
            })
            .and_then(|config| cases::load(&config.root, settings(&config)));
        match loaded {
            Ok((corpus, notices)) => {
                let types = governing::types(&corpus).len();
                writeln!(
                    steps.out,
                    "{} with {}",
                    counted(corpus.cases.len(), "case"),
                    counted(types, "type") + " of units"
                )?;
                for notice in notices {
                    writeln!(steps.out, "  {}", safe::line(&notice.text))?;
                }
                steps.corpus = Some(corpus);
                return Ok(());
            }
            Err(error) => {
                let folder = std::mem::replace(&mut steps.said.cases, before);
                made = cannot_read(steps, error, &folder.unwrap_or_default())?;
                // What cannot be read is asked for, also where a flag has named it.
                steps.given.cases = None;
            }
        }
    }
}

/// Tells why there are no cases. Where a file beside the configuration may become some, it is offered; hands
/// back the folder where that was done.
fn cannot_read(
    steps: &mut Steps<'_>,
    error: anyhow::Error,
    folder: &str,
) -> anyhow::Result<Option<String>> {
    let root = &steps.target.root;
    let named = root.join(folder);
    let (file, folder, error) = match import::has_records(&named) {
        // The file itself was named. Its cases go into a folder beside it.
        true => (Some(named), free(root), no_folder(folder)),
        false => {
            let has_cases = std::fs::read_dir(&named).is_ok_and(|mut files| files.next().is_some());
            let is_free = import::in_the_way(&named).is_none() && !folder.contains('*');
            let file = import::candidate(root).filter(|_| !has_cases && is_free);
            (file, folder.to_owned(), error)
        }
    };
    let into = root.join(&folder);
    let Some(ask) = steps.ask.filter(|_| steps.asked || file.is_some()) else {
        return match file {
            Some(file) => Err(Misuse::new(format!("{error:#}"))
                .help(import::command(&file, &into))
                .into()),
            None => Err(error),
        };
    };
    steps.asked = true;
    writeln!(steps.out, "{}", safe::lines(&format!("{error:#}")))?;
    let Some(file) = file else { return Ok(None) };
    let name = safe::line(&steps.target.shown(&file));
    writeln!(steps.out, "The records in `{name}` can be made into cases:")?;
    match import::offer(&file, &into, ask, steps.out) {
        Err(error) if error.is::<Stopped>() || error.is::<Back>() => Err(error),
        Err(error) => {
            writeln!(steps.out, "{}", safe::lines(&format!("{error:#}")))?;
            Ok(None)
        }
        Ok(are_made) => Ok(are_made.then_some(folder)),
    }
}

/// What is against an answer before anything is read: a file is no folder. One with records is taken, since cases can be
/// made of it.
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

/// The name of a folder that new cases can go into: nothing is there, or a folder with nothing in it.
fn free(root: &Path) -> String {
    let names = (1..).map(|number| match number {
        1 => "cases".to_owned(),
        _ => format!("cases-{number}"),
    });
    let is_free = |name: &String| {
        let path = root.join(name);
        let is_empty = std::fs::read_dir(&path).is_ok_and(|mut files| files.next().is_none());
        path.symlink_metadata().is_err() || is_empty
    };
    let mut names = names.filter(is_free);
    names.next().unwrap_or_default()
}
