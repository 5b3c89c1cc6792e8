//! References that a change edits. A reference is a label: both sides are judged by those of one side, so that nobody
//! can turn a wrong answer into a right one by another reference. The run of the change has all grades that are needed
//! for this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::base::{figures_of_base, grade_as_head};
use super::figures::figures;
use super::record::{PromptRecord, Scoring};
use super::section::GradingSection;
use kelvin_page::{counted, safe};
use kelvin_record::{
    AlignedSection, AlignedSections, AlignmentWarning, ComparedSide, ItemComparison, Viewpoint,
};

/// The references that a change edits, and the side whose references the figures use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct EditedReferences {
    /// The prompts whose references differ, and whose texts do not.
    pub relabelled: Vec<String>,
    /// Those of them whose answers have no grade by the references of the base, and which are therefore left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<String>,
    /// The side whose references the figures use.
    pub labels: ComparedSide,
}

/// Has both sides graded by the references of one of them; none if every common prompt has the same reference on both
/// sides, or if an answer is graded next to another answer, so that references play no part.
pub(super) fn align(
    base: &GradingSection,
    head: &GradingSection,
    reading: Viewpoint,
) -> Option<AlignedSections> {
    let sides = [base, head];
    if sides.iter().any(|side| side.basis.scoring != Scoring::Each) {
        return None;
    }
    let differing: Vec<String> = head
        .items
        .iter()
        .filter(|(id, after)| {
            let before = base.items.get(*id);
            before.is_some_and(|before| is_relabelled(before, after))
        })
        .map(|(id, _)| id.clone())
        .collect();
    if differing.is_empty() {
        return None;
    }
    // Next to a baseline of its own, the answers of the base are not there to be graded by the references of the change.
    let labels = match head.basis.baseline {
        Some(_) => ComparedSide::Base,
        None => reading.labels,
    };
    let (mut base, mut head) = (base.clone(), head.clone());
    let mut unjudged = Vec::new();
    for id in &differing {
        let (Some(before), Some(after)) = (base.items.get_mut(id), head.items.get_mut(id)) else {
            continue;
        };
        match labels {
            // The answers of a base that was graded anew have grades by the references of the change only.
            ComparedSide::Base if head.basis.base_anew.is_none() && has_old_grades(after) => {
                grade_as_base(after, before);
            }
            ComparedSide::Base => {
                for record in [before, after] {
                    take_grades_away(record);
                }
                unjudged.push(id.clone());
            }
            ComparedSide::Head => {
                grade_as_head(before, Some(&*after));
                before.reference.clone_from(&after.reference);
            }
        }
    }
    let mut metrics = figures(&base.basis, &base.items);
    figures_of_base(&base, &head, &mut metrics);
    Some(AlignedSections {
        base: AlignedSection {
            metrics,
            section: Box::new(base),
        },
        head: AlignedSection {
            metrics: figures(&head.basis, &head.items),
            section: Box::new(head),
        },
        items: std::sync::Arc::new(EditedReferences {
            relabelled: differing,
            unjudged,
            labels,
        }),
    })
}

/// Whether the change has another reference for the same prompt.
fn is_relabelled(before: &PromptRecord, after: &PromptRecord) -> bool {
    before.prompt.digest == after.prompt.digest && before.input != after.input
}

/// Whether every graded answer of the head also has a grade by the reference of the base.
fn has_old_grades(record: &PromptRecord) -> bool {
    let mut samples = record.samples.iter();
    samples.all(|sample| sample.grade.is_none() || sample.grade_by_old_reference.is_some())
}

/// Gives the answers of the head the grades by the reference of the base.
fn grade_as_base(head: &mut PromptRecord, base: &PromptRecord) {
    for sample in &mut head.samples {
        sample.grade = sample.grade_by_old_reference.take();
        let place = sample.base_repeat.and_then(|repeat| repeat.checked_sub(1));
        let of_base = place.and_then(|place| base.samples.get(place));
        sample.baseline_grade = of_base.and_then(|stored| stored.grade.clone());
    }
    head.reference.clone_from(&base.reference);
}

/// Takes a prompt out of the figures about grades.
fn take_grades_away(record: &mut PromptRecord) {
    for sample in &mut record.samples {
        sample.grade = None;
        sample.grade_by_old_reference = None;
        sample.baseline = None;
        sample.base_repeat = None;
        sample.baseline_grade = None;
        if sample.candidate.answer.is_some() {
            sample.unscored = None;
        }
    }
}

impl ItemComparison for EditedReferences {
    fn relabelled(&self) -> &[String] {
        &self.relabelled
    }

    fn labels(&self) -> &'static str {
        "references"
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let warning = self.unjudged.first().map(|first| AlignmentWarning {
            text: format!(
                "this change edits the references of {}, the first of them of `{}`, whose answers have no grade by the \
                 references of the base: whether they got worse is not known",
                counted(self.unjudged.len(), "prompt"),
                safe::line(first)
            ),
            is_open: true,
        });
        warning.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::figures::JUDGE_SCORE;
    use kelvin_base::digest::Digest;
    use kelvin_record::KeptText;

    /// A section with one prompt, whose answer has these grades: its own, that by the reference of the base, and that of
    /// the answer of the base by the reference of the change.
    fn section(reference: &str, grades: [Option<f64>; 3]) -> GradingSection {
        let text = |text: &str| json!(KeptText::of(text));
        let grade =
            |score: Option<f64>| score.map(|score| json!({"score": score, "grader_id": "judge"}));
        let [own, by_old, of_base] = grades.map(grade);
        let mut sample = json!({"candidate": {"answer": text("an answer")}, "grade": own});
        if by_old.is_some() {
            sample["grade_by_old_reference"] = json!(by_old);
            sample["baseline"] = json!({"answer": text("an answer")});
            sample["base_repeat"] = json!(1);
            sample["baseline_grade"] = json!(of_base);
        }
        let section = json!({
            "ending": "complete",
            "fingerprint": {"items": null, "command": null},
            "basis": {"judge": "judge", "scoring": "each", "max_errors": 0.1, "candidate": "c"},
            "items": {"p": {
                "input": Digest::of(reference.as_bytes()),
                "prompt": text("a prompt"),
                "reference": text(reference),
                "samples": [sample],
            }},
        });
        serde_json::from_value(section).expect("it fits the type")
    }

    fn scores(
        base: &GradingSection,
        head: &GradingSection,
        labels: ComparedSide,
    ) -> [Option<f64>; 2] {
        let reading = Viewpoint {
            labels,
            ..Viewpoint::default()
        };
        let aligned = align(base, head, reading).expect("the references differ");
        assert_eq!(aligned.items.relabelled(), ["p"]);
        [aligned.base, aligned.head].map(|side| side.metrics[JUDGE_SCORE].value)
    }

    #[test]
    fn both_sides_are_graded_by_the_references_of_one_of_them() {
        // The answer was right by the reference of the base, and is the same: by the one of the change both are wrong.
        let base = section("old", [Some(1.0), None, None]);
        let head = section("new", [Some(0.2), Some(1.0), Some(0.2)]);
        assert_eq!(
            scores(&base, &head, ComparedSide::Base),
            [Some(1.0), Some(1.0)]
        );
        assert_eq!(
            scores(&base, &head, ComparedSide::Head),
            [Some(0.2), Some(0.2)]
        );
        // An answer that got worse is worse by the old reference, whatever the new one says.
        let bent = section("new", [Some(1.0), Some(0.1), Some(0.0)]);
        assert_eq!(
            scores(&base, &bent, ComparedSide::Base),
            [Some(1.0), Some(0.1)]
        );
        assert!(align(&base, &base, Viewpoint::default()).is_none());
    }

    #[test]
    fn answers_without_a_grade_by_the_reference_of_the_base_leave_the_verdict_open() {
        let base = section("old", [Some(1.0), None, None]);
        let head = section("new", [Some(1.0), None, None]);
        assert_eq!(scores(&base, &head, ComparedSide::Base), [None, None]);
        let aligned = align(&base, &head, Viewpoint::default()).expect("they differ");
        let warnings = aligned.items.warnings();
        assert!(
            warnings[0].is_open && warnings[0].text.contains("of 1 prompt"),
            "{warnings:?}"
        );
    }
}
