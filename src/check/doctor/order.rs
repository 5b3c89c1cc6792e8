//! Checks whether a pipeline that stays in memory answers an input differently after other inputs.

use super::DoctorFinding;
use crate::registry::Registry;
use kelvin_base::notice::Notice;
use kelvin_probe::Items;
use kelvin_run::config::Config;
use kelvin_run::{Rules, Runner, RunnerSettings, Silent, Start};

/// The subject of these findings.
const SUBJECT: &str = "order";

/// Gives each pipeline that stays in memory a few inputs, alone and in two orders. A command that starts anew for each
/// call is not run.
pub(super) fn look(config: &Config, registry: Registry, findings: &mut Vec<DoctorFinding>) {
    for kind in registry.kinds() {
        if !config.configures(kind.name()) || kind.observes() {
            continue;
        }
        // Files that cannot be read were already reported by another finding.
        let Ok(items) = kind.read(config) else {
            continue;
        };
        match ask(config, &*items) {
            Ok(None) => {}
            Ok(Some(notices)) if notices.is_empty() => findings.push(DoctorFinding::ok(
                SUBJECT,
                "a few inputs were asked alone and in two orders, and each was answered alike",
            )),
            Ok(Some(notices)) => {
                let finding = |notice: Notice| DoctorFinding::warn(SUBJECT, notice.text);
                findings.extend(notices.into_iter().map(finding));
            }
            Err(error) => findings.push(DoctorFinding::warn(
                SUBJECT,
                format!("whether the order of the inputs matters was not found out: {error:#}"),
            )),
        }
    }
}

/// The effects of the order in the answers of a pipeline; none if each of its calls has its own process.
fn ask(config: &Config, items: &dyn Items) -> anyhow::Result<Option<Vec<Notice>>> {
    let planned = items.plan();
    let steps = planned.steps();
    if steps
        .first()
        .is_none_or(|step| !step.program.target.stays())
    {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let outs: Vec<_> = (0..steps.len())
        .map(|at| folder.path().join(format!("kelvin-{at}")))
        .collect();
    let mut runners = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let settings = RunnerSettings {
            rules: Rules {
                cache: None,
                ..Rules::of(config, &step.program)
            },
            out: &outs[at],
            start: Start::Fresh,
            fingerprint: None,
            watch: None,
            reader: step.reader,
            observer: &Silent,
            observing: None,
        };
        runners.push(Runner::open(|site| planned.open(at, site), settings)?);
    }
    let probe = planned.begin(&runners);
    let mut inputs: Vec<(String, String)> = Vec::new();
    for id in items.ids() {
        let Some(text) = probe.text(id, None) else {
            continue;
        };
        if inputs.iter().all(|(_, other)| *other != text) {
            inputs.push((id.to_owned(), text.into_owned()));
        }
        if inputs.len() == Runner::INPUTS_OF_AN_ORDER {
            break;
        }
    }
    match (runners.first(), inputs.len()) {
        (Some(runner), 2..) => runner.ask_in_two_orders(&inputs),
        _ => Ok(None),
    }
}
