//! The figures of the base, if the candidate was graded against the stored answers of the base.
//!
//! One half means that the two answers are equally good, so the base has one half in every prompt: a change without
//! effect would get the same. The uncertainty of the base comes from its answers, each of which is random too. So the
//! value of each of its repeats is one half, plus the amount by which the candidate lost more against that answer than
//! against all of them. docs/grading.md explains this.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{self, JUDGE_SCORE, WIN_RATE};
use super::record::{GradedSample, GradingBasis, PromptRecord, Unscored, UnscoredCode, WhyAnew};
use super::section::GradingSection;
use kelvin_base::stats;
use kelvin_page::counted;
use kelvin_record::{CaseValue, Item as _, Metric};
use kelvin_run::judge::{Grade, model_names};

/// The score of two equally good answers.
const EVEN: f64 = 0.5;

/// Adds figures to the base with which a head must be compared, if the base has not measured them itself.
pub(super) fn figures_of_base(
    base: &GradingSection,
    head: &GradingSection,
    metrics: &mut BTreeMap<String, Metric>,
) {
    let next_to_base = head.basis.scoring.is_preference() && head.basis.baseline.is_none();
    if next_to_base {
        for id in [JUDGE_SCORE, WIN_RATE] {
            metrics.insert(id.to_owned(), even(base, head, id));
        }
        return;
    }
    let Some(why) = other_measure(base, head) else {
        let score = match head.basis.base_anew {
            Some(_) => graded_anew(base, head),
            None => of_what_was_answered(base),
        };
        let score = match score.reason.as_deref() {
            Some(why) => without_score(&score, why),
            None => score,
        };
        metrics.insert(JUDGE_SCORE.to_owned(), score);
        return;
    };
    for id in [JUDGE_SCORE, WIN_RATE] {
        if let Some(metric) = metrics.get_mut(id) {
            metric.withdraw(&why);
        }
    }
}

/// The metric of a base without a score, with a reason that names the side: the words of the figure itself would be taken
/// for those of the head, which may be measured.
fn without_score(score: &Metric, why: &str) -> Metric {
    let mut score = score.clone();
    score.withdraw(&format!(
        "the base has no score, since {why}; measure the base again, with `kelvin check` at its commit"
    ));
    score
}

/// Why the grades of a report do not reach as a base: the judge gave none to more of the answers than may be without;
/// none if it graded enough.
pub(super) fn lacks_grades(section: &GradingSection) -> Option<String> {
    let mut failed = Vec::new();
    let mut answered = 0;
    for (id, prompt) in &section.items {
        let samples = prompt.samples.iter();
        for sample in samples.filter(|sample| sample.candidate.answer.is_some()) {
            answered += 1;
            let unscored = sample.unscored.as_ref();
            let by_judge = unscored.filter(|why| why.code == UnscoredCode::JudgeFailed);
            failed.extend(by_judge.map(|why| (id, &why.text)));
        }
    }
    let (id, why) = failed.first()?;
    section.basis.max_errors.exceeded(failed.len(), answered)?;
    Some(format!(
        "the judge gave no grade to {} of {}; the first is `{id}`: {why}",
        failed.len(),
        counted(answered, "answer")
    ))
}

/// The score of the base from the grades that the judge gave its answers in the run of the head.
fn graded_anew(base: &GradingSection, head: &GradingSection) -> Metric {
    let mut items = base.items.clone();
    for (id, prompt) in &mut items {
        let of_head = head.items.get(id).filter(|of_head| is_of(of_head, prompt));
        grade_as_head(prompt, of_head);
    }
    let basis = GradingBasis {
        planted: None,
        ..base.basis.clone()
    };
    let mut metrics = figures::figures(&basis, &items);
    metrics
        .remove(JUDGE_SCORE)
        .expect("there is always a score")
}

/// The score of the base over the prompts that it answered, however many those are: the head is compared with it prompt
/// by prompt, so that a selection makes nothing look better, and a change that mends the others is no worse.
fn of_what_was_answered(base: &GradingSection) -> Metric {
    let mut items = base.items.clone();
    for sample in items.values_mut().flat_map(|prompt| &mut prompt.samples) {
        let code = sample.unscored.as_ref().map(|unscored| unscored.code);
        if code == Some(UnscoredCode::CandidateFailed) {
            sample.unscored = None;
        }
    }
    figures::figures(&base.basis, &items)
        .remove(JUDGE_SCORE)
        .expect("there is always a score")
}

/// Gives the answers of the base the grades that they got in the run of the head, and takes all other grades away.
pub(super) fn grade_as_head(base: &mut PromptRecord, head: Option<&PromptRecord>) {
    for sample in &mut base.samples {
        sample.grade = None;
        sample.unscored = None;
    }
    for graded in head.iter().flat_map(|head| &head.samples) {
        let place = graded.base_repeat.and_then(|repeat| repeat.checked_sub(1));
        let Some(sample) = place.and_then(|place| base.samples.get_mut(place)) else {
            continue;
        };
        sample.grade.clone_from(&graded.baseline_grade);
        sample.unscored = graded.baseline_grade.is_none().then(|| {
            let why = "the judge gave the answer of the base no grade in the run of the head";
            Unscored::new(UnscoredCode::JudgeFailed, why)
        });
    }
}

/// Why the scores of the two sides have different meanings; none if they have the same meaning.
fn other_measure(base: &GradingSection, head: &GradingSection) -> Option<String> {
    let (old, new) = (&base.basis, &head.basis);
    let is_anew = match &new.base_anew {
        Some(WhyAnew::OtherJudge(judge)) => *judge == old.judge,
        _ => false,
    };
    // A judge that is no judge in this run is of no use for the answers of the base either.
    if old.judge != new.judge
        && !is_anew
        && let Some(doubt) = new.doubt()
    {
        return Some(format!(
            "the head has another judge than the base, and {doubt}; keep the judge of the base, or mend this one"
        ));
    }
    let differs = if old.judge != new.judge && !is_anew {
        format!(
            "the base was graded by `{}`, the head by `{}`",
            old.judge, new.judge
        )
    } else if old.scoring != new.scoring {
        "the scores of the base and of the head mean different things, because one of them was graded next to \
         references or to another kind of baseline"
            .to_owned()
    } else if old.baseline != new.baseline {
        "the base and the head were graded next to different baselines".to_owned()
    } else if is_anew {
        return None;
    } else {
        // A drift concerns only the comparison of the two sides. The grades of the head are valid, and can be used
        // later as those of a base.
        served_otherwise(base, head).or_else(|| new.drift())?
    };
    Some(format!(
        "{differs}: grade the answers of the base anew with `kelvin rescore grades REV`, where REV is its commit, and compare \
         with what that writes (`--baseline kelvin-rejudged/report.json`), or measure the base again"
    ))
}

/// A message that the servers of the judge report other model names for the grades of the head than for those of the
/// base; none if they report the same names. Then the settings are equal, but the judge is a different one.
fn served_otherwise(base: &GradingSection, head: &GradingSection) -> Option<String> {
    let (old, new) = (served(&base.items)?, served(&head.items)?);
    (old != new).then(|| {
        format!(
            "the judge is another one: the base was graded by {}, as the server names it, and the head by {}",
            model_names(old),
            model_names(new)
        )
    })
}

/// The names of the models that graded these prompts; none if there are no grades.
pub(super) fn served(prompts: &BTreeMap<String, PromptRecord>) -> Option<BTreeSet<&str>> {
    let samples = prompts.values().flat_map(|prompt| &prompt.samples);
    let mut grades = samples
        .filter_map(|sample| sample.grade.as_ref())
        .peekable();
    grades.peek()?;
    Some(grades.flat_map(Grade::served).map(String::as_str).collect())
}

/// The system fingerprints that the judge's servers reported when these prompts were graded.
pub(super) fn fingerprints(prompts: &BTreeMap<String, PromptRecord>) -> BTreeSet<String> {
    let samples = prompts.values().flat_map(|prompt| &prompt.samples);
    let grades = samples.filter_map(|sample| sample.grade.as_ref());
    grades.flat_map(Grade::fingerprints).cloned().collect()
}

/// A figure of the base that comes from grading the head against it.
fn even(base: &GradingSection, head: &GradingSection, id: &str) -> Metric {
    let scoring = head.basis.scoring;
    let mut per_case = BTreeMap::new();
    let mut others = 0;
    for (name, prompt) in &head.items {
        let Some(of_base) = base.items.get(name) else {
            continue;
        };
        if !is_of(prompt, of_base) {
            others += 1;
            continue;
        }
        let value = |sample: &GradedSample| match id {
            JUDGE_SCORE => sample.score(scoring),
            _ => sample.win(scoring),
        };
        let case = match of_prompt(prompt, &value) {
            None if is_lost(prompt, of_base) => Some(figures::case(vec![Some(EVEN)])),
            case => case,
        };
        per_case.extend(case.map(|case| (name.clone(), case)));
    }
    let n = per_case.values().map(|case| case.n).sum();
    let value = match (per_case.is_empty(), others) {
        (false, _) => Ok(EVEN),
        (true, 0) => Err("no prompt was graded next to an answer of the base".to_owned()),
        (true, others) => Err(format!(
            "{} graded next to other answers than those of this base: run `kelvin gate` with this base",
            match others {
                1 => "the head was".to_owned(),
                _ => format!("{} of the head were", counted(others, "prompt")),
            }
        )),
    };
    let mut metric = Metric::new(value, n, 0).of_family("grading");
    metric.gated = id == JUDGE_SCORE;
    metric.headline = id == JUDGE_SCORE;
    metric.per_case = per_case.into();
    metric
}

/// Whether the base has an answer to a prompt, and the head has no score only because its own answer is missing or the
/// judge gave it no grade. Then the base keeps its value, so that the comparison counts the prompt as lost: otherwise a
/// judge that refuses the worst answers would hide them.
fn is_lost(head: &PromptRecord, base: &PromptRecord) -> bool {
    let is_of_head = |sample: &GradedSample| {
        let unscored = sample.unscored.as_ref().map(|unscored| unscored.code);
        matches!(
            unscored,
            Some(
                UnscoredCode::JudgeFailed
                    | UnscoredCode::CandidateFailed
                    | UnscoredCode::ReferenceEdited
            )
        )
    };
    base.has_answer() && head.samples.iter().any(is_of_head)
}

/// Whether a prompt was graded against answers of this base.
fn is_of(prompt: &PromptRecord, base: &PromptRecord) -> bool {
    prompt.samples.iter().all(|sample| {
        let (Some(repeat), Some(next_to)) = (sample.base_repeat, &sample.baseline) else {
            return true;
        };
        let stored = base.samples.get(repeat - 1).map(|stored| &stored.candidate);
        let digest =
            |answer: &super::record::Answered| answer.answer.as_ref().map(|text| text.digest);
        stored.is_some_and(|stored| digest(stored) == digest(next_to))
    })
}

/// One half for every used repeat of the base, more if the candidate lost more against that answer than on average. The
/// mean of the repeats is one half.
fn of_prompt(
    prompt: &PromptRecord,
    value: &dyn Fn(&GradedSample) -> Option<f64>,
) -> Option<CaseValue> {
    let mut by_repeat: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for sample in &prompt.samples {
        if let (Some(repeat), Some(value)) = (sample.base_repeat, value(sample)) {
            by_repeat.entry(repeat).or_default().push(value);
        }
    }
    let means: Vec<f64> = by_repeat
        .values()
        .filter_map(|values| stats::mean(values))
        .collect();
    let all = stats::mean(&means)?;
    let repeats = means.iter().map(|mean| Some(EVEN + (all - mean)));
    let mut case = figures::case(repeats.collect());
    case.value = Some(EVEN);
    Some(case)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A section with the samples of two prompts.
    fn section(scoring: &str, first: &Value, second: &Value) -> GradingSection {
        let digest = "0".repeat(64);
        let prompt = |sample: &Value| {
            json!({
                "input": digest,
                "prompt": {"text": "p", "digest": digest},
                "samples": [sample],
            })
        };
        let section = json!({
            "ending": "complete",
            "fingerprint": {"items": null, "command": null},
            "basis": {"judge": "llm/v2", "scoring": scoring, "max_errors": 0.1, "candidate": "c"},
            "items": {"a": prompt(first), "b": prompt(second)},
        });
        serde_json::from_value(section).expect("it fits the type")
    }

    fn answered(more: Value) -> Value {
        let digest = "0".repeat(64);
        let mut sample = json!({"candidate": {"answer": {"text": "x", "digest": digest}}});
        let Value::Object(more) = more else {
            panic!("the test names fields");
        };
        sample.as_object_mut().expect("a mapping").extend(more);
        sample
    }

    fn graded(score: f64, served: &str) -> Value {
        answered(json!({"grade": {"score": score, "grader_id": "llm/v2", "served": [served]}}))
    }

    #[test]
    fn models_of_other_names_make_another_judge_of_the_same_settings() {
        let both = |served: &str| section("each", &graded(0.5, served), &graded(0.7, served));
        let why = |base: &GradingSection, head: &GradingSection| other_measure(base, head);
        assert_eq!(why(&both("m-1"), &both("m-1")), None);
        let text = why(&both("m-1"), &both("m-2")).expect("another judge");
        insta::assert_snapshot!(text, @"the judge is another one: the base was graded by `m-1`, as the server names it, and the head by `m-2`: grade the answers of the base anew with `kelvin rescore grades REV`, where REV is its commit, and compare with what that writes (`--baseline kelvin-rejudged/report.json`), or measure the base again");
        // In part by another model is another judge too.
        let mixed = section("each", &graded(0.5, "m-1"), &graded(0.7, "m-2"));
        let text = why(&both("m-1"), &mixed).expect("another judge");
        assert!(text.contains("`m-1` and `m-2`"), "{text}");
        // A server that no longer says a name is not taken for the same.
        let silent = answered(json!({"grade": {"score": 0.5, "grader_id": "llm/v2"}}));
        let silent = section("each", &silent, &silent);
        assert!(why(&both("m-1"), &silent).is_some());
        assert_eq!(why(&silent, &silent), None);
        // Where one side has no grade at all, nothing tells of another judge.
        let without = section("each", &answered(json!({})), &answered(json!({})));
        assert_eq!(why(&both("m-1"), &without), None);
    }

    #[test]
    fn a_base_that_answered_a_half_is_compared_with_in_that_half() {
        let unanswered = json!({
            "candidate": {},
            "unscored": {"code": "candidate_failed", "text": "its answer is empty"},
        });
        let base = section("each", &graded(0.5, "m-1"), &unanswered);
        let head = section("each", &graded(0.6, "m-1"), &graded(0.7, "m-1"));
        let mut metrics = figures::figures(&base.basis, &base.items);
        assert_eq!(metrics[JUDGE_SCORE].value, None);
        figures_of_base(&base, &head, &mut metrics);
        let score = &metrics[JUDGE_SCORE];
        assert_eq!((score.value, score.per_case.len()), (Some(0.5), 1));
        // A judge that gave no grade tells nothing of the answer.
        let refused = answered(json!({"unscored": {"code": "judge_failed", "text": "no"}}));
        let base = section("each", &graded(0.5, "m-1"), &refused);
        figures_of_base(&base, &head, &mut metrics);
        assert_eq!(metrics[JUDGE_SCORE].value, None);
    }

    #[test]
    fn a_pair_that_the_judge_refused_is_lost_and_one_without_an_answer_of_the_base_is_not() {
        let refused = |code: &str| answered(json!({"unscored": {"code": code, "text": "no"}}));
        let base = section("choice", &answered(json!({})), &answered(json!({})));
        let values = |second: &Value| {
            let head = section("choice", &graded(0.5, "m-1"), second);
            let metric = even(&base, &head, JUDGE_SCORE);
            let values = metric.per_case.into_iter();
            values
                .map(|(id, case)| (id, case.value))
                .collect::<Vec<_>>()
        };
        let lost = vec![("b".to_owned(), Some(EVEN))];
        assert_eq!(values(&refused("judge_failed")), lost);
        assert_eq!(values(&refused("candidate_failed")), lost);
        assert_eq!(values(&refused("no_baseline")), []);
        assert_eq!(values(&refused("baseline_cut")), []);
    }
}
