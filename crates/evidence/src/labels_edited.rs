//! Labels that a change edits. Both sides are judged by the labels of one side, so that nobody can turn a wrong answer
//! into a right one by changing the label. The answers of both sides are in their records, so no pipeline is run for
//! this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::is_file_of_records;
use super::section::{EvidenceSection, findings};
use crate::label::Label;
use crate::{CaseRecord, labelled};
use kelvin_page::{counted, have, safe};
use kelvin_record::{
    AlignedSection, AlignedSections, AlignmentWarning, ComparedSide, ItemComparison, Viewpoint,
};
use kelvin_run::judge;

/// How many cases a sentence names at most; names longer than [`LONGEST`] are shortened.
const FIRST: usize = 3;
const LONGEST: usize = 60;

/// The labels that a change edits, and the side whose labels the figures use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct EditedLabels {
    /// The cases whose labels differ, also if only one side has a label.
    pub relabelled: Vec<String>,
    /// How many of them have another text as well.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub edited_too: usize,
    /// The cases whose text the change edits too, and whose answers agree less with the label of the base than before.
    /// No side's label can judge both texts, so these cases are left out of the figures about labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<String>,
    /// How many cases the change labels, if the base has no label at all: then the labels of the change count for both
    /// sides.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub first: usize,
    /// The cases that the base labels, if the change labels no case at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostLabels>,
    /// The side whose labels the figures use.
    pub labels: ComparedSide,
}

/// Labels of the base of which the change has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct LostLabels {
    /// How many cases the base labels.
    pub cases: usize,
    /// Whether the labels are a field of records.
    pub of_records: bool,
}

impl LostLabels {
    /// None if the base has no label, or the change has one.
    fn between(base: &EvidenceSection, head: &EvidenceSection) -> Option<Self> {
        let is_labelled = |case: &&CaseRecord| case.expected.is_some();
        let cases = base.items.values().filter(is_labelled).count();
        if cases == 0 || head.items.values().any(|case| is_labelled(&case)) {
            return None;
        }
        let mut files = head.items.values().map(|case| &case.file);
        Some(Self {
            cases,
            of_records: files.any(|file| is_file_of_records(file)),
        })
    }

    fn sentence(&self) -> String {
        let renamed = match self.of_records {
            true => {
                ": no record has the field of the labels. One that was renamed is given to the pipeline until `records: \
                 {expected: FIELD}` names it"
            }
            false => "",
        };
        let (cases, have) = (counted(self.cases, "case"), have(self.cases));
        format!("no case has a label any more, where {cases} of the base {have} one{renamed}")
    }
}

/// Gives both sides the labels of one of them; none if every common case has the same label on both sides.
pub(super) fn align(
    base: &EvidenceSection,
    head: &EvidenceSection,
    reading: Viewpoint,
) -> Option<AlignedSections> {
    // If a judge computes the distances, there is no figure about labels.
    if base.basis.asked || head.basis.asked {
        return None;
    }
    let differing: Vec<String> = head
        .items
        .iter()
        .filter(|(id, after)| {
            let before = base.items.get(*id);
            before.is_some_and(|before| label(before) != label(after))
        })
        .map(|(id, _)| id.clone())
        .collect();
    if differing.is_empty() {
        return None;
    }
    let are_first = base.items.values().all(|case| case.expected.is_none());
    let labels = match are_first {
        true => ComparedSide::Head,
        false => reading.labels,
    };
    let lost = LostLabels::between(base, head);
    let (mut base, mut head) = (base.clone(), head.clone());
    let scorer = judge::stored(&base.basis.scorer, &base.basis.levels);
    let mut unjudged = Vec::new();
    let mut edited_too = 0;
    for id in &differing {
        let (Some(before), Some(after)) = (base.items.get_mut(id), head.items.get_mut(id)) else {
            continue;
        };
        let is_same_text = before.input == after.input;
        edited_too += usize::from(!is_same_text);
        let agrees_less = || {
            let scorer = scorer.as_deref()?;
            let label = label(before)?;
            let was = labelled::agreement(before, &label, scorer)?;
            let is = labelled::agreement(after, &label, scorer)?;
            Some(is < was)
        };
        match labels {
            ComparedSide::Base if !is_same_text && agrees_less() == Some(true) => {
                before.expected = None;
                after.expected = None;
                unjudged.push(id.clone());
            }
            ComparedSide::Base => after.expected.clone_from(&before.expected),
            ComparedSide::Head if is_same_text || are_first || after.expected.is_none() => {
                before.expected.clone_from(&after.expected);
            }
            // Two texts may rightly have two labels, so each text is judged by its own label.
            ComparedSide::Head => {}
        }
    }
    let first = if are_first { differing.len() } else { 0 };
    Some(AlignedSections {
        base: side(base),
        head: side(head),
        items: std::sync::Arc::new(EditedLabels {
            relabelled: if are_first { Vec::new() } else { differing },
            edited_too,
            unjudged,
            first,
            lost,
            labels,
        }),
    })
}

fn label(case: &CaseRecord) -> Option<Label> {
    case.expected.as_deref().map(Label::of)
}

/// The figures of a side, computed with its present labels.
fn side(section: EvidenceSection) -> AlignedSection {
    let scorer = judge::stored(&section.basis.scorer, &section.basis.levels);
    let found = findings(section, scorer.as_deref());
    AlignedSection {
        section: found.section,
        metrics: found.metrics,
    }
}

impl ItemComparison for EditedLabels {
    fn relabelled(&self) -> &[String] {
        &self.relabelled
    }

    fn edited_too(&self) -> usize {
        self.edited_too
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let mut warnings = Vec::new();
        if !self.unjudged.is_empty() {
            let (those, text) = match self.unjudged.as_slice() {
                [case] => (
                    format!("case `{}`", safe::cut_middle(case, LONGEST)),
                    "another text",
                ),
                cases => {
                    let first = cases.iter().take(FIRST);
                    let first: Vec<String> = first
                        .map(|case| format!("`{}`", safe::cut_middle(case, LONGEST)))
                        .collect();
                    let more = if cases.len() > FIRST { ", …" } else { "" };
                    let those = format!("{} cases ({}{more})", cases.len(), first.join(", "));
                    (those, "other texts")
                }
            };
            warnings.push(AlignmentWarning {
                text: format!(
                    "this change gives {those} {text} and other labels, and the answers do not agree with the labels of \
                     the base any more: whether they got worse is not known; `baseline: {{compute: true}}` asks the code \
                     of the base too"
                ),
                is_open: true,
            });
        }
        let warning = (self.first > 0).then(|| AlignmentWarning {
            text: format!(
                "this change brings the first labels, of {}: the answers of both sides are judged by them",
                counted(self.first, "case")
            ),
            is_open: false,
        });
        warnings.extend(warning);
        warnings.extend(self.lost.as_ref().map(|lost| AlignmentWarning {
            text: lost.sentence(),
            is_open: false,
        }));
        warnings
    }
}
