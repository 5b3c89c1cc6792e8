//! The graded answers of a section, for the ledger.

use std::collections::BTreeMap;

use super::section::GradingSection;
use kelvin_record::GradedPair;

/// The name of the baseline where the stored answers of the base were used.
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
