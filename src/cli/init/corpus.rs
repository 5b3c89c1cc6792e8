//! The question for the cases, and what is offered where there are none.

use super::governing;
use super::steps::{Steps, counted, settings};
use crate::cli::ask::{self, Back, Stopped};
use crate::cli::import;
use crate::exit::Misuse;
use crate::page::safe;
use crate::probe::evidence::cases;

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
                let default = before.as_deref().unwrap_or("cases");
                let question = "Which folder holds the cases?";
                ask::text(ask, question, Some(default), &|_| Ok(()))?
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
    let into = steps.target.root.join(folder);
    let has_cases = std::fs::read_dir(&into).is_ok_and(|mut files| files.next().is_some());
    let file =
        import::candidate(&steps.target.root).filter(|_| !has_cases && !folder.contains('*'));
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
    let question = format!("Make cases of the records in `{name}`?");
    if ask::yes(ask, &question, true)? {
        match import::offer(&file, &into, ask, steps.out) {
            Err(error) if error.is::<Stopped>() || error.is::<Back>() => return Err(error),
            Err(error) => writeln!(steps.out, "{}", safe::lines(&format!("{error:#}")))?,
            Ok(()) => return Ok(Some(folder.to_owned())),
        }
    }
    Ok(None)
}
