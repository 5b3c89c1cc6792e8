//! Makes the first report: after the files are written, the pipeline is measured on a few items, if the person agrees.

use super::kind::PipelineKind::{Decides, Scores};
use super::steps::Steps;
use crate::check::{self, CheckRequest};
use crate::cli::ask;
use crate::registry::overrides_naming;
use kelvin_page::counted;

/// How many items are measured if each of them is independent of the others.
const ITEMS: usize = 3;

/// How many seconds the first report may take, judging by the time of the trial call. This limit applies if cases
/// exchange units with each other: then the more cases are measured, the more the report shows.
const SECONDS: f64 = 60.0;

/// Asks whether the first items should be measured now. `seconds` is the time of one call, if one was made. Returns
/// their names, or an empty list for all of them; none if the person does not agree.
pub(super) fn offer(
    steps: &mut Steps<'_>,
    seconds: Option<f64>,
) -> anyhow::Result<Option<Vec<String>>> {
    // Somebody who did not want to run the pipeline once does not want to run it many times.
    let decides = steps.said.kind.is_none_or(|kind| kind == Decides);
    // An evaluator has just been run on all its cases.
    let is_wanted = match steps.said.kind {
        Some(Scores) => false,
        _ => !decides || steps.said.probe == Some(true),
    };
    let Some(ask) = steps.ask.filter(|_| is_wanted) else {
        return Ok(None);
    };
    let registry = steps.registry;
    let overrides = overrides_naming(&steps.target.config);
    let config = registry.configured(&overrides)?;
    let asked = registry
        .kinds()
        .iter()
        .find(|kind| config.configures(kind.name()));
    let Some(kind) = asked else { return Ok(None) };
    let items = kind.read(&config)?;
    let ids: Vec<String> = items.ids().iter().map(|id| (*id).to_owned()).collect();
    let mut request = CheckRequest {
        overrides,
        ..CheckRequest::new(registry)
    };
    let calls = |request: &CheckRequest| -> anyhow::Result<usize> {
        Ok(check::list(request, false)?.invocations.values().sum())
    };
    let most = match (decides, seconds) {
        (true, Some(seconds)) => {
            let each = seconds.max(0.001) * calls(&request)? as f64 / ids.len().max(1) as f64;
            ((SECONDS / each) as usize).max(ITEMS)
        }
        _ => ITEMS,
    };
    if ids.len() > most {
        request.only = ids[..most].to_vec();
    }
    let calls = counted(calls(&request)?, "call");
    let noun = kind.nouns();
    let which = match ids.len() {
        1 => format!("the {}", noun.0),
        all if request.only.is_empty() => format!("all {all} {}", noun.1),
        all => format!("the first {most} of {all} {}", noun.1),
    };
    let question = format!("Measure {which} now, with at least {calls}?");
    Ok(ask::yes(ask, &question, true)?.then_some(request.only))
}
