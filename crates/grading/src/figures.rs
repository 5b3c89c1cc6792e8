//! Computes figures from records: the mean score over the prompts, how often the candidate wins, and the number of
//! unmeasured samples.

use std::collections::BTreeMap;

use super::record::{GradedSample, GradingBasis, PromptRecord, Scoring};
use kelvin_base::stats::{self, Balanced};
use kelvin_record::{CaseValue, Cells, Interval, Metric, Range, Unit};

/// The family of all figures of this probe.
const ALL: &str = "grading";
/// The ids of the figures.
pub(super) const JUDGE_SCORE: &str = "grading.judge_score";
pub(super) const WIN_RATE: &str = "grading.win_rate";
pub(super) const FAILURE_RATE: &str = "grading.failure_rate";
pub(super) const UNSCORED: &str = "grading.unscored";
pub(super) const FLIP_RATE: &str = "grading.flip_rate";

/// Every figure of the probe, by id.
pub(super) fn figures(
    basis: &GradingBasis,
    prompts: &BTreeMap<String, PromptRecord>,
) -> BTreeMap<String, Metric> {
    let scoring = basis.scoring;
    let score = mean(prompts, &|sample| sample.score(scoring));
    let mut metrics = BTreeMap::from([
        (JUDGE_SCORE.to_owned(), judge_score(basis, prompts, score)),
        (WIN_RATE.to_owned(), win_rate(basis, prompts)),
        (FAILURE_RATE.to_owned(), failure_rate(prompts)),
        (UNSCORED.to_owned(), unscored(prompts)),
    ]);
    let flips = mean(prompts, &|sample| flipped(sample));
    if !flips.per_case.is_empty() {
        metrics.insert(
            FLIP_RATE.to_owned(),
            flips.metric("no sample").lower_is_better(),
        );
    }
    metrics
}

/// The mean over the prompts, each with the mean of its measured samples, and the values by prompt.
pub(super) struct PromptMeans {
    all: Balanced,
    per_case: BTreeMap<String, CaseValue>,
    errors: usize,
}

/// The mean of `value` over the samples.
pub(super) fn mean(
    prompts: &BTreeMap<String, PromptRecord>,
    value: &dyn Fn(&GradedSample) -> Option<f64>,
) -> PromptMeans {
    let mut mean = PromptMeans {
        all: Balanced::default(),
        per_case: BTreeMap::new(),
        errors: 0,
    };
    for (id, prompt) in prompts {
        let repeats: Vec<Option<f64>> = prompt.samples.iter().map(value).collect();
        mean.errors += prompt
            .samples
            .iter()
            .filter(|sample| sample.is_error())
            .count();
        let case = case(repeats);
        if case.value.is_some() {
            mean.all
                .add([case.repeats.iter().copied().flatten().collect()]);
            mean.per_case.insert(id.clone(), case);
        }
    }
    mean
}

/// The values of the repeats of one prompt.
pub(super) fn case(repeats: Vec<Option<f64>>) -> CaseValue {
    let here: Vec<f64> = repeats.iter().copied().flatten().collect();
    CaseValue {
        value: stats::mean(&here),
        n: here.len(),
        repeats,
        cells: Cells::default(),
    }
}

impl PromptMeans {
    /// The metric, with its interval by prompt; `reason` is used if there was no measurement.
    pub(super) fn metric(self, reason: &str) -> Metric {
        let value = self.all.value().ok_or_else(|| reason.to_owned());
        let mut metric = Metric::new(value, self.all.samples(), self.errors)
            .of_family(ALL)
            .interval(
                self.all
                    .interval()
                    .map(|(low, high)| Interval { low, high }),
            );
        metric.per_case = self.per_case.into();
        metric
    }
}

/// The score, unless too many samples have none: the remaining samples would be a biased selection.
fn judge_score(
    basis: &GradingBasis,
    prompts: &BTreeMap<String, PromptRecord>,
    score: PromptMeans,
) -> Metric {
    let (errors, all) = of_every_prompt(basis, prompts);
    let mut metric = score.metric(&nothing(basis, prompts));
    // If no answer could be graded at all, there is already another reason.
    let exceeded = basis.max_errors.exceeded(errors, all).filter(|_| all > 0);
    if let Some(why) = exceeded {
        let first = samples(prompts).find_map(|(id, sample)| {
            let unscored = sample.unscored.as_ref().filter(|_| sample.is_error())?;
            Some(format!("; the first is `{id}`: {}", unscored.text))
        });
        metric.withdraw(&format!("{why}{}", first.unwrap_or_default()));
    } else if let Some(why) = basis.doubt().filter(|_| metric.value.is_some()) {
        metric.withdraw(&why);
    }
    metric.gated = true;
    metric.headline = true;
    // A preference between two answers behaves like a rank: if one answer always loses against an answer of the base
    // that happened to be good, the prompt did not break.
    metric.by_rank = basis.scoring.is_preference();
    metric
}

/// How many samples have no score, and how many should have one, in the repeats that every prompt has. A gate runs only
/// the prompts without a score again: if those repeats counted, their share would automatically grow.
fn of_every_prompt(
    basis: &GradingBasis,
    prompts: &BTreeMap<String, PromptRecord>,
) -> (usize, usize) {
    let asked = prompts.values().map(|prompt| prompt.samples.len());
    let repeats = asked
        .filter(|repeats| *repeats > 0)
        .min()
        .unwrap_or_default();
    let samples = prompts
        .values()
        .flat_map(|prompt| prompt.samples.iter().take(repeats));
    samples.fold((0, 0), |(errors, all), sample| {
        let is_scored = sample.score(basis.scoring).is_some();
        let error = usize::from(sample.is_error());
        (
            errors + error,
            all + error + usize::from(is_scored && error == 0),
        )
    })
}

/// Why there is no score at all.
fn nothing(basis: &GradingBasis, prompts: &BTreeMap<String, PromptRecord>) -> String {
    let is_alone = basis.baseline.is_none() && basis.scoring.is_preference();
    let waits = samples(prompts).any(|(_, sample)| sample.unscored.is_some() && !sample.is_error());
    match () {
        () if is_alone && waits => "there is no answer of a base to grade next to: `kelvin gate` compares with the \
                           answers of the base branch, and `baseline` names a pipeline to compare with"
            .to_owned(),
        () => "no sample has a score".to_owned(),
    }
}

/// Every sample with the id of its prompt.
fn samples(
    prompts: &BTreeMap<String, PromptRecord>,
) -> impl Iterator<Item = (&str, &GradedSample)> {
    prompts.iter().flat_map(|(id, prompt)| {
        prompt
            .samples
            .iter()
            .map(move |sample| (id.as_str(), sample))
    })
}

/// How often the candidate's answer is the better one; a tie counts one half.
fn win_rate(basis: &GradingBasis, prompts: &BTreeMap<String, PromptRecord>) -> Metric {
    let scoring = basis.scoring;
    let wins = mean(prompts, &|sample| sample.win(scoring));
    let mut metric = wins.metric(match scoring {
        Scoring::Likeness => {
            "the judge says how near an answer is to that of the baseline, not which is better: give the prompts \
             a `reference`, or let the judge choose between the two"
        }
        _ => "no two answers to one prompt were graded next to each other",
    });
    if let Some(why) = basis.doubt().filter(|_| metric.value.is_some()) {
        metric.withdraw(&why);
    }
    metric
}

/// The share of the samples for which the candidate gave no answer.
fn failure_rate(prompts: &BTreeMap<String, PromptRecord>) -> Metric {
    let failed =
        |sample: &GradedSample| Some(f64::from(u8::from(sample.candidate.failure.is_some())));
    let mut rate = mean(prompts, &failed);
    rate.errors = samples(prompts)
        .filter(|(_, sample)| sample.candidate.failure.is_some())
        .count();
    let mut metric = rate.metric("nothing was run").lower_is_better();
    // The score already reports that a run has no measurement.
    metric.gated = metric.value.is_some();
    metric.is_failure_rate = true;
    metric
}

/// The number of samples that should have a score but have none.
fn unscored(prompts: &BTreeMap<String, PromptRecord>) -> Metric {
    let errors = samples(prompts)
        .filter(|(_, sample)| sample.is_error())
        .count();
    Metric::new(Ok(errors as f64), samples(prompts).count(), errors)
        .counts_in(Unit::Count, Range::COUNT)
        .of_family(ALL)
        .lower_is_better()
}

/// Whether the verdict of the judge changed with the order of the two answers; none if it was not asked in both orders.
fn flipped(sample: &GradedSample) -> Option<f64> {
    sample.grade.as_ref()?.is_flipped().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Answered, Unscored, UnscoredCode};
    use kelvin_base::digest::Digest;
    use kelvin_base::failure::{Failure, FailureKind};
    use kelvin_record::KeptText;
    use kelvin_run::judge::{Grade, MaxErrors};

    fn grade(score: f64) -> Option<Grade> {
        Grade::new(score, "", "judge/v1").ok()
    }

    fn answer(text: &str) -> Answered {
        Answered {
            answer: Some(KeptText::of(text)),
            passages: None,
            failure: None,
            usage: None,
        }
    }

    /// A sample with the grades of the candidate and of the baseline.
    fn sample(own: f64, other: Option<f64>) -> GradedSample {
        GradedSample {
            candidate: answer("a"),
            baseline: other.map(|_| answer("b")),
            base_repeat: None,
            grade: grade(own),
            grade_by_old_reference: None,
            baseline_grade: other.and_then(grade),
            judge_usage: None,
            unscored: None,
        }
    }

    fn without(code: UnscoredCode) -> GradedSample {
        let failed = code == UnscoredCode::CandidateFailed;
        let failure = failed.then(|| Box::new(Failure::new(FailureKind::Timeout, "too slow")));
        GradedSample {
            candidate: Answered {
                answer: (!failed).then(|| KeptText::of("a")),
                passages: None,
                failure,
                usage: None,
            },
            grade: None,
            unscored: Some(Unscored::new(code, "there is a reason")),
            ..sample(0.0, None)
        }
    }

    fn made(scoring: Scoring, prompts: Vec<Vec<GradedSample>>) -> BTreeMap<String, Metric> {
        let basis = GradingBasis {
            judge: "judge/v1".to_owned(),
            scoring,
            max_errors: MaxErrors::default(),
            candidate: "candidate".to_owned(),
            baseline: None,
            asked: None,
            planted: None,
            base_anew: None,
        };
        let record = |(at, samples): (usize, Vec<GradedSample>)| {
            let record = PromptRecord {
                input: Digest::of(b"prompt"),
                prompt: KeptText::of("prompt"),
                reference: None,
                tags: Vec::new(),
                samples,
            };
            (format!("p{at:02}"), record)
        };
        let prompts: BTreeMap<String, PromptRecord> =
            prompts.into_iter().enumerate().map(record).collect();
        figures(&basis, &prompts)
    }

    fn value(metrics: &BTreeMap<String, Metric>, id: &str) -> Option<f64> {
        metrics[id].value
    }

    #[test]
    fn the_score_is_the_mean_over_the_prompts_and_a_tie_is_half_a_win() {
        let prompts = vec![
            vec![sample(1.0, Some(0.5)), sample(0.5, Some(0.5))],
            vec![sample(0.0, Some(0.25))],
        ];
        let metrics = made(Scoring::Each, prompts);
        // A prompt that was run twice has the same weight as one that was run once.
        assert_eq!(value(&metrics, JUDGE_SCORE), Some(0.375));
        assert_eq!(value(&metrics, WIN_RATE), Some(0.375));
        let score = &metrics[JUDGE_SCORE];
        assert_eq!((score.n, score.gated, score.headline), (3, true, true));
        assert_eq!(score.per_case["p00"].repeats, [Some(1.0), Some(0.5)]);
        assert!(score.interval.is_some() && !metrics.contains_key(FLIP_RATE));
    }

    #[test]
    fn an_exchange_makes_one_half_of_equal_grades_and_a_choice_is_taken_as_it_is() {
        let both = || vec![vec![sample(0.7, Some(0.7)), sample(0.2, Some(1.0))]];
        let metrics = made(Scoring::Exchange, both());
        let repeats = &metrics[JUDGE_SCORE].per_case["p00"].repeats;
        assert_eq!(repeats[0], Some(0.5));
        assert!(
            repeats[1].is_some_and(|score| (score - 0.1).abs() < 1e-12),
            "{repeats:?}"
        );
        assert_eq!(value(&metrics, WIN_RATE), Some(0.25));
        let metrics = made(
            Scoring::Choice,
            vec![vec![sample(1.0, None), sample(0.5, None)]],
        );
        assert_eq!(value(&metrics, JUDGE_SCORE), Some(0.75));
        assert_eq!(value(&metrics, WIN_RATE), Some(0.75));
        // The likeness of two answers does not tell which one is better.
        let metrics = made(Scoring::Likeness, vec![vec![sample(0.4, None)]]);
        assert_eq!(
            (value(&metrics, JUDGE_SCORE), value(&metrics, WIN_RATE)),
            (Some(0.4), None)
        );
    }

    #[test]
    fn a_prompt_without_a_score_that_is_run_again_does_not_count_more_for_it() {
        let mut prompts: Vec<_> = (0..19).map(|_| vec![sample(0.75, None)]).collect();
        prompts.push(vec![without(UnscoredCode::JudgeFailed); 5]);
        let metrics = made(Scoring::Each, prompts);
        assert_eq!(value(&metrics, JUDGE_SCORE), Some(0.75));
        assert_eq!(value(&metrics, UNSCORED), Some(5.0));
    }

    #[test]
    fn unscored_samples_are_counted_and_in_no_mean_and_too_many_leave_nothing_measured() {
        let graded = || vec![sample(0.75, None)];
        let mut prompts: Vec<_> = (0..9).map(|_| graded()).collect();
        prompts.push(vec![without(UnscoredCode::JudgeFailed)]);
        let metrics = made(Scoring::Each, prompts.clone());
        assert_eq!(value(&metrics, JUDGE_SCORE), Some(0.75));
        assert_eq!(
            (value(&metrics, UNSCORED), metrics[JUDGE_SCORE].n_failed),
            (Some(1.0), 1)
        );
        assert_eq!(value(&metrics, FAILURE_RATE), Some(0.0));
        prompts.push(vec![without(UnscoredCode::CandidateFailed)]);
        let metrics = made(Scoring::Each, prompts);
        let score = &metrics[JUDGE_SCORE];
        assert_eq!(
            (score.value, score.gated, score.per_case.len()),
            (None, true, 0)
        );
        let reason = score.reason.as_deref().unwrap_or_default();
        insta::assert_snapshot!(reason, @"2 of 11 samples are unscored, more than `max_errors` (10 %) allows; the first is `p09`: there is a reason");
        assert_eq!(value(&metrics, FAILURE_RATE), Some(1.0 / 11.0));
    }

    #[test]
    fn a_prompt_that_the_base_does_not_have_is_no_error_and_nothing_at_all_is_unmeasured() {
        let prompts = vec![
            vec![sample(1.0, None)],
            vec![without(UnscoredCode::NoBaseline)],
        ];
        let metrics = made(Scoring::Choice, prompts);
        assert_eq!(
            (value(&metrics, JUDGE_SCORE), value(&metrics, UNSCORED)),
            (Some(1.0), Some(0.0))
        );
        let metrics = made(
            Scoring::Choice,
            vec![vec![without(UnscoredCode::NoBaseline)]],
        );
        let reason = metrics[JUDGE_SCORE].reason.as_deref().unwrap_or_default();
        insta::assert_snapshot!(reason, @"there is no answer of a base to grade next to: `kelvin gate` compares with the answers of the base branch, and `baseline` names a pipeline to compare with");
        assert_eq!(value(&made(Scoring::Each, Vec::new()), JUDGE_SCORE), None);
        // One ungraded answer of the only prompt makes all of them ungraded.
        let metrics = made(
            Scoring::Each,
            vec![vec![without(UnscoredCode::JudgeFailed)]],
        );
        assert_eq!(value(&metrics, JUDGE_SCORE), None);
    }
}
