//! The answers of the cases in the form in which the gate compares them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::labelled;
use super::perturb::{self, Figure};
use super::record::{CaseRecord, Sample, VariantRecord};
use super::section::EvidenceSection;
use kelvin_record::{Answer, AnsweredInput, AnsweredItem, AnsweredSwap, SectionAnswers};
use kelvin_run::judge::{self, Scorer};

/// The gated metric of a governing type.
pub(super) fn metric_of(governing: &str) -> String {
    format!("evidence.following.{governing}")
}

/// The answers of a section; none if only a judge can say which of them are equal.
pub(super) fn section_answers(section: &EvidenceSection) -> Option<SectionAnswers<'_>> {
    let scorer = judge::stored(&section.basis.scorer, &section.basis.levels)?;
    if section.basis.asked {
        return None;
    }
    let types = section.basis.governing_types.iter();
    let items = section.items.iter();
    Some(SectionAnswers {
        are_endings: false,
        are_scored_outside: false,
        types: types.map(|name| (name.as_str(), metric_of(name))).collect(),
        items: items
            .map(|(name, case)| (name.as_str(), item(section, case, &*scorer)))
            .collect(),
    })
}

fn item<'a>(
    section: &EvidenceSection,
    case: &'a CaseRecord,
    scorer: &dyn Scorer,
) -> AnsweredItem<'a> {
    let samples = case.baseline.iter().chain(&case.replays);
    let asked = |variant: &'a VariantRecord| AnsweredInput {
        variant: &variant.id,
        input: variant.input,
        answers: answers(variant.samples.iter(), scorer),
    };
    let holds = |variant: &&VariantRecord| section.basis.holds(variant);
    let swaps = case.variants.iter().filter(|variant| is_swap(variant));
    let expected = labelled::expected(case);
    AnsweredItem {
        asked: case.title.as_deref().map(Cow::Borrowed),
        is_only_compared: expected.is_none(),
        is_unjudged: expected.is_none(),
        expected: expected.map(Cow::Owned),
        itself: answers(samples, scorer),
        beside: &case.beside,
        conduct: BTreeMap::new(),
        own: case.variants.iter().filter(holds).map(asked).collect(),
        swaps: swaps
            .filter_map(|variant| {
                Some(AnsweredSwap {
                    asked: asked(variant),
                    of_type: variant.unit_type.as_deref()?,
                    donor: variant
                        .notes
                        .added
                        .iter()
                        .find_map(|added| added.from.as_deref()),
                })
            })
            .collect(),
    }
}

fn is_swap(variant: &VariantRecord) -> bool {
    perturb::find(&variant.kind).is_some_and(|kind| kind.figure == Figure::Sensitivity)
}

fn answers<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    scorer: &dyn Scorer,
) -> Vec<Option<Answer>> {
    let answer = |sample: &Sample| sample.decision.as_ref().map(|one| answer(one, scorer));
    samples.map(answer).collect()
}

fn answer(decision: &Value, scorer: &dyn Scorer) -> Answer {
    match scorer.number(decision) {
        Some(number) => Answer::Number(number),
        None if decision.is_null() => Answer::Null,
        None => Answer::Text(scorer.class(decision)),
    }
}
