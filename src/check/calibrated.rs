//! Warns if a gate depends on the grades of a language model that has not been shown to be a fit judge.

use std::collections::BTreeSet;
use std::path::Path;

use super::GateRequest;
use super::why::reason;
use crate::baseline;
use kelvin_base::exit::Misuse;
use kelvin_gate::policy::{Attention, Effect};
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{Cause, Reason, ReasonCode, Verdict, Word};
use kelvin_page::safe;
use kelvin_record::settings::UnfitJudge;
use kelvin_run::config::Config;
use kelvin_run::judge::calibration::{Calibration, JudgeStanding};
use kelvin_run::judge::trial::Fitness;
use kelvin_run::judge::{JudgeSettings, calibration, model_names};

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

/// The judge that is to be tested, with its place. Fails with a [`Misuse`] if there is no such judge, or if several
/// match.
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

/// Adds to the verdict what is known about the judges behind its gated metrics. A judge that is not known to be fit
/// leads to a warning. If the configuration requires a calibration, it fails the gate instead, because grades of an
/// untested judge are no measurement. Metrics of a judge that is known to be unfit never pass.
pub(super) fn judge_the_judges(
    config: &Config,
    request: &GateRequest,
    head: &Report,
    verdict: &mut Verdict,
) {
    let judges: Vec<(PlacedJudge<'_>, BTreeSet<String>)> = language_models(config)
        .into_iter()
        .map(|judge| {
            let metrics = gated_metrics(config, &judge, verdict);
            (judge, metrics)
        })
        .filter(|(_, metrics)| !metrics.is_empty())
        .collect();
    if judges.is_empty() {
        return;
    }
    let records = Records {
        of_head: stored(config),
        of_base: stored_on_base(config, request),
    };
    let effect = match config.gate.require_calibration {
        true => Effect::Fail,
        false => Effect::Warn,
    };
    let mut reasons = Vec::new();
    for (judge, metrics) in judges {
        let served = served(request, head, &judge);
        match doubt(config, &judge, &served, &records) {
            None => {}
            Some(Doubt::Unfit(text)) => {
                rule_out(config.gate.unfit_judge, verdict, &metrics, &text);
            }
            Some(Doubt::Unknown(text)) => {
                reasons.push(reason(ReasonCode::UncalibratedJudge, Some(effect), &text));
            }
            Some(Doubt::Undecided(text)) => {
                reasons.push(reason(ReasonCode::UndecidedJudge, Some(effect), &text));
            }
        }
    }
    if reasons.is_empty() {
        return;
    }
    if effect == Effect::Fail {
        verdict.passed = false;
        verdict.verdict = verdict.verdict.max(Word::Unmeasured);
    }
    // What fails stands first; among warnings, what is told of the change stands before what is told of its judge.
    let is_before = |reason: &Reason| match effect {
        Effect::Fail => reason.effect == Some(Effect::Fail),
        Effect::Warn => reason.effect.is_some(),
    };
    let last = verdict.reasons.iter().rposition(is_before);
    let at = last.map_or(0, |last| last + 1);
    verdict.reasons.splice(at..at, reasons);
}

/// The entries for each judge that asks a language model, from the file of calibrations; they are read before the run.
pub(super) fn on_record(config: &Config) -> Vec<JudgeOnRecord> {
    let records = Records {
        of_head: stored(config),
        of_base: Calibration::default(),
    };
    let nobody = BTreeSet::new();
    let judges = language_models(config).into_iter();
    judges
        .map(|judge| match doubt(config, &judge, &nobody, &records) {
            None => JudgeOnRecord {
                text: format!("the judge `{}` was calibrated as fit", judge.place),
                fails: None,
            },
            Some(Doubt::Unfit(text)) => JudgeOnRecord {
                text,
                fails: Some(config.gate.unfit_judge == UnfitJudge::Refused),
            },
            Some(Doubt::Unknown(text) | Doubt::Undecided(text)) => JudgeOnRecord {
                text,
                fails: Some(config.gate.require_calibration),
            },
        })
        .collect()
}

/// The entry for a judge in the file of calibrations.
pub(super) struct JudgeOnRecord {
    /// The record in a sentence.
    pub(super) text: String,
    /// Whether a gate that uses this judge fails because of the record; none if the judge was found fit.
    pub(super) fails: Option<bool>,
}

/// The gated metrics that depend on the grades of a judge.
fn gated_metrics(config: &Config, judge: &PlacedJudge<'_>, verdict: &Verdict) -> BTreeSet<String> {
    let gated = verdict.metrics.iter();
    let gated = gated.filter(|(_, metric)| metric.policy == Attention::Gate);
    gated
        .map(|(id, _)| id)
        .filter(|id| config.is_graded(judge.probe, &judge.place, id))
        .cloned()
        .collect()
}

/// The names of the models that graded the answers of the head, as reported by their servers.
fn served(request: &GateRequest, head: &Report, judge: &PlacedJudge<'_>) -> BTreeSet<String> {
    let known = request.check.registry.known(&head.probes);
    let of_probe = known
        .into_iter()
        .filter(|(kind, _)| kind.name() == judge.probe);
    of_probe
        .flat_map(|(kind, section)| kind.served(section, &judge.place))
        .collect()
}

/// The stored results of `kelvin calibrate` on both sides.
struct Records {
    /// The results of the change: none if there is no file, and an error if the file cannot be used.
    of_head: Result<Option<Calibration>, String>,
    /// The results of the base; empty if the base is not available or has none.
    of_base: Calibration,
}

/// A problem with a judge.
enum Doubt {
    /// The file of calibrations says that the judge is unfit.
    Unfit(String),
    /// The judge is not known to be fit.
    Unknown(String),
    /// The judge was on trial, and the trial did not decide.
    Undecided(String),
}

/// The stored results of `kelvin calibrate`; none if there is no file, and an error if the file cannot be used.
fn stored(config: &Config) -> Result<Option<Calibration>, String> {
    let path = config.root.join(&config.gate.calibration);
    match std::fs::read(&path) {
        Ok(bytes) => calibration::read(&bytes).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// The stored results at the base commit. If they cannot be read, a sentence about edits says so.
fn stored_on_base(config: &Config, request: &GateRequest) -> Calibration {
    let with = (request.login.as_ref(), &request.hint);
    let name = Path::new(&config.gate.calibration);
    let found = baseline::base_files(&config.root, with, &[name]);
    let bytes = found.ok().and_then(|(_, mut files)| files.remove(0).ok()?);
    let stored = bytes.and_then(|bytes| calibration::read(&bytes).ok());
    stored.unwrap_or_default()
}

/// Why a gate should not depend on a judge; none if it may.
fn doubt(
    config: &Config,
    judge: &PlacedJudge<'_>,
    served: &BTreeSet<String>,
    records: &Records,
) -> Option<Doubt> {
    const CURE: &str = "`kelvin calibrate` tells how far its grades can be trusted";
    let place = &judge.place;
    let file = &config.gate.calibration;
    let not_known = |why: &str| {
        Some(Doubt::Unknown(format!(
            "whether the judge `{place}` is fit to gate on is not known: {why}"
        )))
    };
    let stored = match &records.of_head {
        Ok(stored) => stored.clone().unwrap_or_default(),
        Err(error) => return not_known(&format!("`{file}` cannot be used, because {error}")),
    };
    let grader_id = match judge.settings.open(config) {
        Ok(opened) => opened.grader_id(),
        Err(error) => return not_known(&error),
    };
    // Everybody can write any word into the file, so the word proves nothing: the fitness is computed again from the
    // figures of the trial.
    let by_its_figures = |calibration: &Calibration| {
        let trial = calibration.trial(&grader_id)?;
        let (both, two) = (
            judge.settings.asks_in_both_orders(),
            judge.settings.shows_two_texts(),
        );
        Some(trial.by_its_figures(both, two))
    };
    let found = by_its_figures(&stored);
    let standing = stored.stands_for(place, &grader_id, served);
    let is_tried = !matches!(standing, JudgeStanding::Untried | JudgeStanding::Void(_));
    if !is_tried && by_its_figures(&records.of_base) == Some(Fitness::Unfit) {
        return Some(Doubt::Unfit(format!(
            "the judge `{place}` is on record as unfit in `{file}` of the base, and this change takes the record away"
        )));
    }
    let text = match standing {
        JudgeStanding::Fit => {
            let found = found.filter(|found| *found != Fitness::Fit)?;
            let text = format!(
                "`{file}` calls the judge `{place}` fit, and the figures there say {}: the file was edited by hand, or \
                 another version wrote it; {CURE}",
                found.as_str()
            );
            return Some(match found {
                Fitness::Unfit => Doubt::Unfit(text),
                _ => Doubt::Unknown(text),
            });
        }
        JudgeStanding::Untried => format!("the judge `{place}` was never calibrated; {CURE}"),
        JudgeStanding::Void(before) => format!(
            "the calibration in `{file}` is of the judge `{before}`, and the judge `{place}` is now `{grader_id}`; {CURE}"
        ),
        JudgeStanding::ServedOtherwise(before) => format!(
            "the calibration in `{file}` is of a judge that was served as {}, and the judge `{place}` is now served as \
             {}; {CURE}",
            model_names(&before),
            model_names(served)
        ),
        JudgeStanding::NotFit(fitness, against) => {
            let why = against.first().cloned().unwrap_or_default();
            let more = match against.len() {
                0 | 1 => String::new(),
                all => format!(" (and {} more in `{file}`)", all - 1),
            };
            let text = format!(
                "the judge `{place}` was calibrated as {}: {why}{more}",
                fitness.as_str()
            );
            let is_unfit = fitness == Fitness::Unfit || found == Some(Fitness::Unfit);
            return Some(match is_unfit {
                true => Doubt::Unfit(text),
                false => Doubt::Undecided(text),
            });
        }
    };
    Some(Doubt::Unknown(text))
}

/// Makes the metrics of an unfit judge unmeasured. If their figures are refused, they fail the gate and show no
/// figures. If their figures are shown, they do not count, and the gate fails only if no other metric is gated.
pub(super) fn rule_out(
    rule: UnfitJudge,
    verdict: &mut Verdict,
    metrics: &BTreeSet<String>,
    why: &str,
) {
    let is_graded =
        |metric: &Option<String>| metric.as_ref().is_some_and(|id| metrics.contains(id));
    let refuses = rule == UnfitJudge::Refused;
    for (_, metric) in verdict
        .metrics
        .iter_mut()
        .filter(|(id, _)| metrics.contains(*id))
    {
        metric.verdict = Word::Unmeasured;
        metric.cause = Cause::NoValue;
        if refuses {
            (metric.base, metric.head, metric.drop) = (None, None, None);
            (metric.at_least, metric.confidence, metric.at_most) = (None, None, None);
            metric.detectable = None;
            metric.drivers.clear();
        } else {
            metric.policy = Attention::Info;
        }
    }
    verdict
        .broken_cases
        .retain(|case| !metrics.contains(&case.metric));
    verdict
        .reasons
        .retain(|reason| !refuses || !is_graded(&reason.metric));
    for reason in verdict
        .reasons
        .iter_mut()
        .filter(|reason| is_graded(&reason.metric))
    {
        reason.effect = None;
    }
    // Reasons without an effect go last; apart from that the order stays.
    verdict
        .reasons
        .sort_by_key(|reason| reason.effect.is_none());

    let others: Vec<Word> = verdict
        .metrics
        .iter()
        .filter(|(id, metric)| metric.policy == Attention::Gate && !id.ends_with(".failure_rate"))
        .filter(|(id, _)| !metrics.contains(*id))
        .map(|(_, metric)| metric.verdict)
        .collect();
    let fails = refuses || others.is_empty();
    let mut reasons = verdict.reasons.iter();
    let others_fail = reasons.any(|reason| reason.effect == Some(Effect::Fail));
    verdict.verdict = match others_fail {
        true => verdict.verdict.max(Word::Unmeasured),
        false if fails => Word::Unmeasured,
        false => others.into_iter().max().unwrap_or(Word::Unmeasured),
    };
    verdict.passed = !fails && !others_fail;
    let text = match (refuses, fails) {
        (true, _) => format!(
            "{why}; an unfit judge decides nothing: take another judge, or gate on other metrics \
             (`gate.unfit_judge: shown` shows its figures)"
        ),
        (false, true) => {
            format!("{why}; its figures are shown and decide nothing, and no other metric is gated")
        }
        (false, false) => format!("{why}; its figures are shown and decide nothing"),
    };
    let reason = Reason {
        code: ReasonCode::UncalibratedJudge,
        effect: Some(match fails {
            true => Effect::Fail,
            false => Effect::Warn,
        }),
        metric: metrics.first().cloned(),
        text: safe::line(&text),
    };
    // This reason explains why the figures have no meaning, so it is the first one.
    verdict.reasons.insert(0, reason);
}
