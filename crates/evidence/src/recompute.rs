//! Computes figures from records: the figures at the end of a run can be computed again from its report, or from the
//! reports of its shards.

use std::collections::BTreeMap;

use super::basis::Settings;
use super::{Evidence, figures, following, labelled, noise};
use crate::{CaseRecord, VariantRecord};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::stats;
use kelvin_record::Ending;
use kelvin_run::judge::{MaxErrors, Scorer};

/// Computes every figure, the scores of every case, and the notices about the whole run. The notices of the cases stay
/// unchanged.
pub fn recompute(mut cases: BTreeMap<String, CaseRecord>, settings: &Settings<'_>) -> Evidence {
    for case in cases.values_mut() {
        if let Some(scorer) = settings.scorer {
            match settings.crossing() {
                Some(scorer) => cross(case, scorer),
                None => compare(case, scorer),
            }
            case.sigma = noise::sigma(settings.basis, scorer, case);
        }
        figures::score_case(settings.basis, case);
    }
    if let Some(scorer) = settings.scorer {
        let holds = |variant: &VariantRecord| settings.basis.holds(variant);
        match settings.crossing() {
            Some(scorer) => following::compare(&mut cases, &holds, scorer),
            None => following::compare_judged(&mut cases, &holds, scorer),
        }
    }
    let mut metrics = figures::metrics(settings, &cases);
    if let Some(reason) = too_many_unscored(&cases, settings) {
        let of_distances = metrics.iter_mut().filter(|(id, _)| *id != FAILURE_RATE);
        of_distances.for_each(|(_, metric)| metric.withdraw(&reason));
    }
    Evidence {
        metrics,
        notices: notices(&cases, settings),
        cases,
    }
}

/// Fills in the distance of every answer to a variant: the mean over its distances from the answers to the case itself.
fn cross(case: &mut CaseRecord, scorer: &dyn Scorer) {
    let baselines = case.baseline.iter();
    let baselines: Vec<_> = baselines
        .filter_map(|sample| sample.decision.as_ref())
        .collect();
    for variant in &mut case.variants {
        for sample in &mut variant.samples {
            let after = sample.decision.as_ref();
            let distances: Vec<f64> = after
                .into_iter()
                .flat_map(|after| baselines.iter().map(move |before| (*before, after)))
                .filter_map(|(before, after)| scorer.distance(before, after))
                .collect();
            sample.distance = stats::mean(&distances);
        }
    }
}

/// Fills in the distance of every answer to a variant from the baseline of the same repeat.
fn compare(case: &mut CaseRecord, scorer: &dyn Scorer) {
    for variant in &mut case.variants {
        for (sample, before) in variant.samples.iter_mut().zip(&case.baseline) {
            sample.distance = before
                .decision
                .as_ref()
                .zip(sample.decision.as_ref())
                .and_then(|(before, after)| scorer.distance(before, after));
        }
    }
}

/// The only figure that uses no distances.
const FAILURE_RATE: &str = "evidence.failure_rate";

/// Why a judge has given too few scores for any figure; none if there are enough. A stopped run had no time to ask the
/// judge about everything, and its figures cover the pairs that were asked.
fn too_many_unscored(
    cases: &BTreeMap<String, CaseRecord>,
    settings: &Settings<'_>,
) -> Option<String> {
    if !settings.basis.asked || settings.ending != Ending::Complete {
        return None;
    }
    let mut compared = 0;
    let mut unscored = 0;
    for case in cases.values() {
        for variant in &case.variants {
            for (sample, before) in variant.samples.iter().zip(&case.baseline) {
                let has_both = sample.decision.is_some() && before.decision.is_some();
                compared += usize::from(has_both);
                unscored += usize::from(has_both && sample.distance.is_none());
            }
        }
    }
    let exceeded = (compared > 0).then(|| MaxErrors::default().exceeded(unscored, compared));
    exceeded.flatten()
}

fn notices(cases: &BTreeMap<String, CaseRecord>, settings: &Settings<'_>) -> Vec<Notice> {
    let mut notices: Vec<Notice> = labelled::notice(settings, cases).into_iter().collect();
    notices.extend(baseline_failed(cases, settings));
    if settings.ending == Ending::Interrupted {
        notices.push(Notice::new(
            Code::Interrupted,
            "the run was stopped before its end; the figures cover what had finished, and \
             `--resume` goes on from there",
        ));
    }
    notices
}

/// The cases whose unperturbed input failed. What they count in depends on whether another repeat of them succeeded,
/// and on whether answers are compared with labels, where a failure is a wrong answer.
fn baseline_failed(
    cases: &BTreeMap<String, CaseRecord>,
    settings: &Settings<'_>,
) -> Option<Notice> {
    let first_failed = |case: &CaseRecord| {
        case.baseline
            .first()
            .is_some_and(|one| one.failure.is_some())
    };
    let failed = cases.iter().filter(|(_, case)| first_failed(case));
    let (answered, failed): (Vec<_>, Vec<_>) =
        failed.partition(|(_, case)| case.baseline.iter().any(|one| one.failure.is_none()));
    let names = |cases: &[(&String, &CaseRecord)]| -> String {
        let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let is_labelled = |(_, case): &(&String, &CaseRecord)| case.expected.is_some();
    let in_scores = match labelled::is_measured(settings, cases) && failed.iter().any(is_labelled) {
        true => "which count as wrong beside their labels and are in no other score",
        false => "which are in no score",
    };
    let (all, count) = (cases.len(), failed.len());
    let text = match (failed.is_empty(), answered.is_empty()) {
        (true, true) => return None,
        (false, true) => {
            format!(
                "the baseline failed in {count} of {all} cases, {in_scores}: {}",
                names(&failed)
            )
        }
        (true, false) => format!(
            "the first baseline run failed in {} of {all} cases, whose scores rest on their other runs: {}",
            answered.len(),
            names(&answered)
        ),
        (false, false) => format!(
            "the baseline failed in {count} of {all} cases, {in_scores}: {}; in {} more its first run alone failed: {}",
            names(&failed),
            answered.len(),
            names(&answered)
        ),
    };
    let succeeded = all - count - answered.len();
    Some(Notice::new(Code::own("baseline_failed"), text).counts(all, succeeded))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::Sample;
    use crate::basis::Basis;
    use crate::perturb::Relation;
    use kelvin_base::digest::Digest;
    use kelvin_run::judge;

    fn answer(decision: &str) -> Sample {
        Sample {
            decision: Some(json!(decision)),
            ..Sample::default()
        }
    }

    /// Two repeats, of which the second one moves where it should not.
    fn cases() -> BTreeMap<String, CaseRecord> {
        let variant = VariantRecord {
            id: "reorder-01".into(),
            kind: "reorder".into(),
            relation: Relation::Invariance,
            unit_type: None,
            input: Digest::of(b"variant"),
            notes: Arc::default(),
            samples: vec![answer("a"), answer("a")],
            swap: None,
        };
        let case = CaseRecord {
            file: "cases/one.md".to_owned(),
            folder: "one".to_owned(),
            title: None,
            expected: None,
            input: Digest::of(b"case"),
            units: Vec::new(),
            baseline: vec![answer("a"), answer("b")],
            beside: Vec::new(),
            replays: Vec::new(),
            sigma: None,
            variants: vec![variant],
            invariance: None,
            invariance_n: 0,
            sensitivity: None,
            sensitivity_n: 0,
            failed: 0,
            insufficient: false,
            notices: Vec::new(),
        };
        BTreeMap::from([("one".to_owned(), case)])
    }

    fn settings<'a>(basis: &'a Basis, scorer: Option<&'a dyn Scorer>) -> Settings<'a> {
        Settings {
            basis,
            ending: Ending::Complete,
            scorer,
        }
    }

    #[test]
    fn a_scorer_compares_the_decisions_anew_and_without_one_distances_stay() {
        let basis = Basis {
            cases: 1,
            noise_floor: true,
            ..Basis::default()
        };
        let scorer = judge::chosen_scorer(&judge::Choice::default());
        let scored = recompute(cases(), &settings(&basis, Some(&*scorer)));
        let case = &scored.cases["one"];
        let distances: Vec<Option<f64>> = case.variants[0]
            .samples
            .iter()
            .map(|sample| sample.distance)
            .collect();
        // Each answer is compared with those of both repeats.
        assert_eq!(distances, [Some(0.5), Some(0.5)]);
        assert_eq!((case.invariance, case.sigma), (Some(0.5), Some(1.0)));
        assert_eq!(scored.metrics["evidence.invariance"].value, Some(0.5));

        let again = recompute(scored.cases.clone(), &settings(&basis, None));
        assert_eq!(again.cases, scored.cases);
        // The pairs of answers are not stored, but what was made of them is.
        let values = |evidence: &Evidence| -> Vec<Option<f64>> {
            evidence
                .metrics
                .values()
                .map(|metric| metric.value)
                .collect()
        };
        assert_eq!(values(&again), values(&scored));

        let bare = recompute(cases(), &settings(&basis, None));
        assert_eq!(bare.metrics["evidence.invariance"].value, None);
    }

    #[test]
    fn a_failed_baseline_is_told_to_count_where_it_counts() {
        use kelvin_base::failure::{Failure, FailureKind};
        let failed = || Sample {
            failure: Some(Box::new(Failure::new(FailureKind::Exit(1), "it ended"))),
            ..Sample::default()
        };
        let scorer = judge::chosen_scorer(&judge::Choice::default());
        let basis = Basis::default();
        let told = |baseline: Vec<Sample>, expected: Option<&str>| {
            let mut cases = cases();
            let case = cases.get_mut("one").expect("there");
            case.baseline = baseline;
            case.expected = expected.map(str::to_owned);
            let found = recompute(cases, &settings(&basis, Some(&*scorer)));
            let mut notices = found.notices.into_iter();
            let notice = notices.find(|notice| notice.code == Code::own("baseline_failed"));
            notice.map(|notice| notice.text).unwrap_or_default()
        };
        insta::assert_snapshot!(told(vec![failed(), failed()], None), @"the baseline failed in 1 of 1 cases, which are in no score: one");
        insta::assert_snapshot!(told(vec![failed(), failed()], Some("a")), @"the baseline failed in 1 of 1 cases, which count as wrong beside their labels and are in no other score: one");
        insta::assert_snapshot!(told(vec![failed(), answer("a")], None), @"the first baseline run failed in 1 of 1 cases, whose scores rest on their other runs: one");
        assert_eq!(told(vec![answer("a"), failed()], None), "");
    }

    #[test]
    fn an_empty_shard_and_a_run_that_was_stopped_say_why_there_is_no_figure() {
        let basis = Basis::default();
        let empty = recompute(BTreeMap::new(), &settings(&basis, None));
        let reason = empty.metrics["evidence.invariance"].reason.as_deref();
        insta::assert_snapshot!(reason.expect("it is told"), @"this shard has no cases");
        assert!(empty.notices.is_empty());
        let stopped = Settings {
            ending: Ending::Interrupted,
            ..settings(&basis, None)
        };
        let stopped = recompute(cases(), &stopped);
        assert_eq!(stopped.notices[0].code, Code::Interrupted);
    }
}
