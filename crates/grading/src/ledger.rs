//! The graded answers of a section, for the ledger.

use std::collections::BTreeMap;

use super::section::GradingSection;
use kelvin_record::{GradedPair, RivalAnswers};

/// The name of the baseline if the stored answers of the base were used.
const OF_THE_BASE: &str = "the report of the base";

/// Every answer of a section that has a score.
pub(super) fn pairs(
    section: &GradingSection,
    seconds: &BTreeMap<String, Vec<f64>>,
) -> Vec<GradedPair> {
    let basis = &section.basis;
    let mut pairs = Vec::new();
    for (id, prompt) in &section.items {
        for (place, sample) in prompt.samples.iter().enumerate() {
            let (Some(score), Some(grade)) = (sample.score(basis.scoring), &sample.grade) else {
                continue;
            };
            let of_base = sample.base_repeat.map(|_| OF_THE_BASE.to_owned());
            pairs.push(GradedPair {
                prompt: id.clone(),
                prompt_digest: prompt.prompt.digest,
                candidate: basis.candidate.clone(),
                baseline: basis.baseline.clone().or(of_base),
                score,
                grader: grade.grader_id().to_owned(),
                seconds: seconds.get(id).and_then(|all| all.get(place)).copied(),
                usage: sample.candidate.usage,
                judge_usage: sample.judge_usage,
                tags: prompt.tags.clone(),
            });
        }
    }
    pairs
}

/// The pairs of two different answers to one prompt, each pair once. An answer that is stored only in part is not
/// included, because a person must not decide by its beginning.
pub(super) fn rivals(section: &GradingSection) -> Vec<RivalAnswers> {
    let basis = &section.basis;
    let mut rivals: Vec<RivalAnswers> = Vec::new();
    for (id, prompt) in &section.items {
        for sample in &prompt.samples {
            let whole = |answered: Option<&super::record::Answered>| {
                answered?.answer.as_ref()?.whole().map(str::to_owned)
            };
            let answers = (
                whole(Some(&sample.candidate)),
                whole(sample.baseline.as_ref()),
            );
            let ((Some(answer), Some(other)), Some(asked)) = (answers, prompt.prompt.whole())
            else {
                continue;
            };
            let is_there = |one: &RivalAnswers| {
                one.prompt == *id && one.answer == answer && one.other == other
            };
            if answer == other || rivals.iter().any(is_there) {
                continue;
            }
            let of_base = sample.base_repeat.map(|_| OF_THE_BASE.to_owned());
            rivals.push(RivalAnswers {
                prompt: id.clone(),
                prompt_digest: prompt.prompt.digest,
                asked: asked.to_owned(),
                answer,
                other,
                candidate: basis.candidate.clone(),
                baseline: basis.baseline.clone().or(of_base),
                judged: sample.win(basis.scoring),
                grader: basis.judge.clone(),
            });
        }
    }
    rivals
}
