//! Tells where a gate rests on the grades of a language model that was not shown to be fit.

use std::collections::BTreeSet;

use kelvin_base::exit::Misuse;
use kelvin_gate::policy::{Attention, Effect};
use kelvin_gate::verdict::{Reason, ReasonCode, Verdict, Word};
use kelvin_page::safe;
use kelvin_run::config::Config;
use kelvin_run::judge::JudgeSettings;
use kelvin_run::judge::calibration;
use kelvin_run::judge::calibration::{Calibration, Standing};
use kelvin_run::judge::trial::Fitness;

/// A judge that asks a language model.
#[derive(Clone, Debug)]
pub(super) struct PlacedJudge<'c> {
    /// The name of the probe for which the judge grades.
    probe: &'static str,
    /// The place of the judge in the configuration.
    place: String,
    settings: &'c JudgeSettings,
}

/// The judges of a configuration that ask a language model.
pub(super) fn language_models(config: &Config) -> Vec<PlacedJudge<'_>> {
    let judges = config.judges();
    let judges = judges.map(|(probe, place, settings)| PlacedJudge {
        probe,
        place,
        settings,
    });
    judges
        .filter(|judge| judge.settings.asks_a_language_model())
        .collect()
}

/// The judge that is to be tested, with its place.
///
/// # Errors
///
/// A [`Misuse`] where there is no such judge, or where several could be meant.
pub(super) fn chosen<'p, 'c>(
    placed: &'p [PlacedJudge<'c>],
    wanted: Option<&str>,
) -> Result<(&'p str, &'c JudgeSettings), Misuse> {
    let places: Vec<&str> = placed.iter().map(|judge| judge.place.as_str()).collect();
    let found = match (wanted, placed) {
        (_, []) => {
            return Err(
                Misuse::new("the configuration has no judge that asks a language model").help(
                    "add `judge: {type: llm, model: NAME}` to a section that grades, such as `grading`",
                ),
            );
        }
        (None, [only]) => Some(only),
        (None, _) => None,
        (Some(wanted), all) => all.iter().find(|judge| judge.place == wanted),
    };
    found
        .map(|judge| (judge.place.as_str(), judge.settings))
        .ok_or_else(|| {
            let what = match wanted {
                Some(wanted) => format!("there is no judge `{wanted}` that asks a language model"),
                None => format!("{} judges ask a language model", places.len()),
            };
            let help = format!("name one of {} by `--judge`", places.join(", "));
            Misuse::new(what).help(help)
        })
}

/// Adds to the verdict what is known of the judges behind its gated metrics. A judge that is not known to be fit leads
/// to a warning, or fails the gate where the configuration requires a calibration: without one, what such a judge says
/// is no measurement.
pub(super) fn tell(config: &Config, verdict: &mut Verdict) {
    let gated: BTreeSet<&str> = verdict
        .metrics
        .iter()
        .filter(|(_, metric)| metric.policy == Attention::Gate)
        .filter_map(|(id, _)| Some(id.split_once('.')?.0))
        .collect();
    let judges: Vec<PlacedJudge<'_>> = language_models(config)
        .into_iter()
        .filter(|judge| gated.contains(judge.probe))
        .collect();
    if judges.is_empty() {
        return;
    }
    let stored = stored(config);
    let texts: Vec<String> = judges
        .iter()
        .filter_map(|judge| doubt(config, judge, &stored))
        .collect();
    if texts.is_empty() {
        return;
    }
    let effect = match config.gate.require_calibration {
        true => Effect::Fail,
        false => Effect::Warn,
    };
    if effect == Effect::Fail {
        verdict.passed = false;
        verdict.verdict = verdict.verdict.max(Word::Unmeasured);
    }
    let reasons = texts.into_iter().map(|text| Reason {
        code: ReasonCode::UncalibratedJudge,
        effect: Some(effect),
        metric: None,
        text: safe::line(&text),
    });
    // Reasons that fail the job come first; a more important reason stays before this one.
    let failing = |reason: &Reason| reason.effect == Some(Effect::Fail);
    let at = verdict
        .reasons
        .iter()
        .filter(|reason| failing(reason))
        .count();
    verdict.reasons.splice(at..at, reasons);
}

/// The stored results of `kelvin calibrate`; none where there is no file, and an error where the file cannot be used.
fn stored(config: &Config) -> Result<Option<Calibration>, String> {
    let path = config.root.join(&config.gate.calibration);
    match std::fs::read(&path) {
        Ok(bytes) => calibration::read(&bytes).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a gate should not rest on a judge; none where it may rest on it.
fn doubt(
    config: &Config,
    judge: &PlacedJudge<'_>,
    stored: &Result<Option<Calibration>, String>,
) -> Option<String> {
    const CURE: &str = "`kelvin calibrate` tells how far its grades can be trusted";
    let place = &judge.place;
    let file = &config.gate.calibration;
    let stored = match stored {
        Ok(stored) => stored.clone().unwrap_or_default(),
        Err(error) => {
            return Some(format!(
                "whether the judge `{place}` is fit to gate on is not known: `{file}` cannot be used, \
                 because {error}"
            ));
        }
    };
    let grader_id = match judge.settings.open(config) {
        Ok(opened) => opened.grader_id(),
        Err(error) => {
            return Some(format!(
                "whether the judge `{place}` is fit to gate on is not known: {error}"
            ));
        }
    };
    match stored.stands_for(place, &grader_id) {
        Standing::Fit => {
            // The word `fit` in the file proves nothing, since anybody may write it: the trial is judged again.
            let trial = stored.trial(&grader_id)?;
            let settings = judge.settings;
            let found =
                trial.by_its_figures(settings.asks_in_both_orders(), settings.shows_two_texts());
            (found != Fitness::Fit).then(|| {
                format!(
                    "`{file}` calls the judge `{place}` fit, and the figures there say {}: the file was edited by \
                     hand, or another version wrote it; {CURE}",
                    found.as_str()
                )
            })
        }
        Standing::Untried => Some(format!("the judge `{place}` was never calibrated; {CURE}")),
        Standing::Void(before) => Some(format!(
            "the calibration in `{file}` is of the judge `{before}`, and the judge `{place}` is now \
             `{grader_id}`; {CURE}"
        )),
        Standing::NotFit(fitness, against) => {
            let why = against.first().cloned().unwrap_or_default();
            let more = match against.len() {
                0 | 1 => String::new(),
                all => format!(" (and {} more in `{file}`)", all - 1),
            };
            Some(format!(
                "the judge `{place}` was calibrated as {}: {why}{more}",
                fitness.as_str()
            ))
        }
    }
}
