//! The cases as items.

use std::collections::BTreeMap;

use super::EvidenceKind;
use super::perturb::{self, Relation};
use crate::digest::Digest;
use crate::notice::Code;
use crate::probe::{CaseRecord, ComparedItem, ComparedItems, Kind as _, Part};

/// The cases of a report. `settings`: the digest of the settings that say which variants are made.
pub(crate) fn items(cases: &BTreeMap<String, CaseRecord>, settings: Digest) -> ComparedItems<'_> {
    ComparedItems {
        nouns: EvidenceKind.nouns(),
        settings: Some(settings),
        by_name: cases
            .iter()
            .map(|(name, case)| (name.as_str(), item(case)))
            .collect(),
    }
}

fn item(case: &CaseRecord) -> ComparedItem<'_> {
    let mut notices = case.notices.iter();
    ComparedItem {
        digest: case.input,
        counts_once: notices.any(|notice| notice.code == Code::AnswersKept),
        variants: case
            .variants
            .iter()
            .map(|variant| {
                let moves = variant.relation == Relation::Sensitivity;
                let part = Part {
                    kind: Some(&variant.kind),
                    is_known: perturb::find(&variant.kind).is_some(),
                    unit_type: variant.unit_type.as_deref().filter(|_| moves),
                };
                (variant.id.as_str(), part)
            })
            .collect(),
    }
}
