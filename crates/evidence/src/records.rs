//! Makes records from outcomes: the results of each case.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::schedule::{self, Outcomes, Rounds};
use super::survey::Survey;
use crate::cases::Case;
use crate::perturb::Plan;
use crate::{CaseRecord, Sample, UnitRecord, VariantRecord};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::threads;
use kelvin_page::have;
use kelvin_run::kept::{self, Times};
use kelvin_run::{Outcome, Task};

/// A case whose share of failed invocations is above this is marked as insufficient.
const INSUFFICIENT_ABOVE: f64 = 0.2;

/// Turns outcomes into records; distances and scores are computed from the records later.
pub(super) fn of_cases(
    survey: &Survey<'_>,
    plans: &BTreeMap<usize, Plan>,
    rounds: &Rounds,
    (outcomes, outputs): (&Outcomes, &Outputs<'_>),
) -> BTreeMap<String, CaseRecord> {
    let told = threads::map(survey.places, |&place| {
        let name = survey.corpus.cases[place].name.to_string();
        let mut record = record(survey, place, &plans[&place], rounds, outcomes);
        record.beside = beside(&survey.corpus.cases[place].name, &record.baseline, outputs);
        (name, record)
    });
    let mut cases: BTreeMap<String, CaseRecord> = told.into_iter().collect();
    let times = threads::map(survey.places, |&place| {
        let case = &survey.corpus.cases[place];
        times(case, &plans[&place], outcomes, rounds.most_of(place))
    });
    for (place, is_kept) in survey.places.iter().zip(kept::are_kept(&times)) {
        let name = &*survey.corpus.cases[*place].name;
        if let Some(case) = cases.get_mut(name).filter(|_| is_kept) {
            case.notices.push(kept::notice(name));
        }
    }
    cases
}

fn record(
    survey: &Survey<'_>,
    place: usize,
    plan: &Plan,
    rounds: &Rounds,
    outcomes: &Outcomes,
) -> CaseRecord {
    let case = &survey.corpus.cases[place];
    let (inputs, baselines) = (rounds.inputs(place), rounds.baselines(place));
    let of = |variant: Option<&Arc<str>>, repeat| outcomes.get(&case.name, variant, repeat);
    let baseline = samples(inputs, |repeat| of(None, repeat));
    let replays: Vec<Sample> = (inputs + 1..=baselines)
        .filter_map(|repeat| of(None, repeat).map(sample))
        .collect();
    let variants: Vec<VariantRecord> = plan
        .variants
        .iter()
        .map(|variant| VariantRecord {
            id: Arc::clone(&variant.id),
            kind: variant.kind.into(),
            relation: variant.figure.relation(),
            unit_type: variant.unit_type.clone(),
            input: variant.digest(survey.corpus, place, survey.settings),
            notes: Arc::new(variant.notes(survey.corpus, place, survey.settings)),
            samples: samples(rounds.of_variant(place, &variant.id), |repeat| {
                of(Some(&variant.id), repeat)
            }),
            swap: None,
        })
        .collect();
    let all = baseline
        .iter()
        .chain(&replays)
        .chain(variants.iter().flat_map(|variant| &variant.samples));
    let (made, failed) = all.fold((0, 0), |(made, failed), sample| {
        (made + 1, failed + usize::from(sample.failure.is_some()))
    });
    let insufficient = failed as f64 > INSUFFICIENT_ABOVE * made as f64;
    let mut notices = plan.notices.clone();
    notices.extend(failure_notices(
        &case.name,
        &variants,
        made,
        failed,
        insufficient,
    ));
    CaseRecord {
        file: case.file.to_string(),
        folder: case.name.to_string(),
        title: case.title(),
        expected: case.expected.clone(),
        input: case.digest(),
        units: case
            .units
            .iter()
            .map(|unit| UnitRecord {
                unit_type: Arc::clone(&unit.unit_type),
                line: unit.line,
                list: unit.list,
                turn: unit.turn,
            })
            .collect(),
        sigma: None,
        beside: Vec::new(),
        baseline,
        replays,
        variants,
        invariance: None,
        invariance_n: 0,
        sensitivity: None,
        sensitivity_n: 0,
        failed,
        insufficient,
        notices,
    }
}

/// Finds the fields besides the decision in the output of a finished task.
pub(super) type Outputs<'o> = dyn Fn(&Task) -> Option<BTreeMap<String, String>> + Sync + 'o;

/// The fields besides the decision in the outputs of a case, one entry per repeat; empty if no output has any.
fn beside(
    name: &Arc<str>,
    baseline: &[Sample],
    outputs: &Outputs<'_>,
) -> Vec<BTreeMap<String, String>> {
    let repeats = (1..).zip(baseline);
    let said: Vec<BTreeMap<String, String>> = repeats
        .map(|(repeat, sample)| match sample.decision {
            Some(_) => outputs(&schedule::baseline(name, repeat)).unwrap_or_default(),
            None => BTreeMap::new(),
        })
        .collect();
    match said.iter().all(BTreeMap::is_empty) {
        true => Vec::new(),
        false => said,
    }
}

/// How long the repeats of a case took; none if the answers vary or one of them failed.
fn times(case: &Case, plan: &Plan, outcomes: &Outcomes, rounds: usize) -> Option<Times> {
    if rounds < 2 {
        return None;
    }
    let variants = plan.variants.iter().map(|variant| Some(&variant.id));
    let cells: Vec<Vec<&Outcome>> = std::iter::once(None)
        .chain(variants)
        .map(|variant| {
            let outcomes = (1..=rounds).map_while(|at| outcomes.get(&case.name, variant, at));
            outcomes.collect()
        })
        .collect();
    Times::of(&cells)
}

/// The first repeats, if they were run, in a list without unused capacity: every variant of the run has such a list.
fn samples<'o>(repeats: usize, of: impl Fn(usize) -> Option<&'o Outcome>) -> Vec<Sample> {
    let mut samples = Vec::with_capacity(repeats);
    samples.extend((1..=repeats).map_while(|repeat| of(repeat).map(sample)));
    samples
}

fn sample(outcome: &Outcome) -> Sample {
    match &outcome.result {
        Ok(decision) => Sample {
            decision: Some(decision.clone()),
            ..Sample::default()
        },
        Err(failure) => Sample {
            failure: Some(failure.clone()),
            ..Sample::default()
        },
    }
}

fn failure_notices(
    name: &str,
    variants: &[VariantRecord],
    made: usize,
    failed: usize,
    insufficient: bool,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let by_kind = variants.iter().fold(BTreeMap::new(), |mut kinds, variant| {
        let (made, failed) = kinds.entry(&*variant.kind).or_insert((0, 0));
        *made += variant.samples.len();
        *failed += variant
            .samples
            .iter()
            .filter(|s| s.failure.is_some())
            .count();
        kinds
    });
    for (kind, (made, failed)) in by_kind {
        if failed > 0 {
            notices.push(
                Notice::new(
                    Code::VariantsFailed,
                    format!(
                        "{failed} of {made} invocations failed and {} no answer to compare",
                        have(failed)
                    ),
                )
                .case(name)
                .kind(kind)
                .counts(made, made - failed),
            );
        }
    }
    if insufficient {
        notices.push(
            Notice::new(
                Code::Insufficient,
                format!("{failed} of {made} invocations failed: too many to judge this case"),
            )
            .case(name)
            .counts(made, made - failed),
        );
    }
    notices
}
