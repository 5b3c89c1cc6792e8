//! The data of this probe in a report, and the figures that are computed from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::basis::{Basis, Settings};
use super::decision;
use super::perturb::{self, Relation};
use super::recompute::recompute;
use crate::{CaseRecord, VariantRecord};
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};
use kelvin_record::{
    Findings, Item, ItemPlace, KeptTexts, Repeats, Section, StoredInput, VariantPart,
};
use kelvin_run::judge::Scorer;

/// The data of this probe in a report.
pub type EvidenceSection = Section<Basis, CaseRecord>;

impl Item for CaseRecord {
    fn digest(&self) -> Digest {
        self.input
    }

    fn inputs(&self) -> usize {
        1 + self.variants.len()
    }

    fn repeats(&self) -> Repeats {
        let variants = self.variants.iter().map(|variant| variant.samples.len());
        Repeats {
            input: self.baseline.len(),
            // Single variants may have been run more often than the others.
            variants: variants.min().unwrap_or(self.baseline.len()),
        }
    }

    fn runs_of(&self, variant: &str) -> usize {
        self.variant(variant)
            .map_or(0, |variant| variant.samples.len())
    }

    /// Decisions stay unchanged, since they are compared with others. If no text may be kept, their placeholders can be
    /// compared in the same way.
    fn shorten(&mut self, texts: KeptTexts) {
        match texts {
            KeptTexts::Full => return,
            KeptTexts::Short => {
                let texts = self.beside.iter_mut().flat_map(BTreeMap::values_mut);
                texts.for_each(|text| *text = decision::beginning(text, KeptTexts::SHORT));
                return;
            }
            KeptTexts::None => self.beside.clear(),
        }
        let variants = self.variants.iter_mut();
        let of_variants = variants.flat_map(|variant| &mut variant.samples);
        let own = self.baseline.iter_mut().chain(&mut self.replays);
        for sample in own.chain(of_variants) {
            sample.decision = sample.decision.take().map(decision::withheld_decision);
            if let Some(failure) = &mut sample.failure {
                failure.withhold_texts();
            }
        }
        // The reason why a judge gave no score may quote the decisions in its question.
        let of_the_judge = |notice: &&mut Notice| notice.code == Code::Unscored;
        for notice in self.notices.iter_mut().filter(of_the_judge) {
            let end = notice.text.find(": ").unwrap_or(notice.text.len());
            notice.text.truncate(end);
        }
    }

    fn has_answer(&self) -> bool {
        let mut samples = self.baseline.iter();
        samples.any(|sample| sample.decision.is_some())
    }

    fn parts(&self) -> BTreeMap<&str, VariantPart<'_>> {
        let variants = self.variants.iter();
        variants
            .map(|variant| {
                let moves = variant.relation == Relation::Sensitivity;
                let part = VariantPart {
                    kind: Some(&variant.kind),
                    is_known: perturb::find(&variant.kind).is_some(),
                    unit_type: variant.unit_type.as_deref().filter(|_| moves),
                };
                (&*variant.id, part)
            })
            .collect()
    }

    fn folders(&self) -> Vec<&str> {
        let variants = self.variants.iter().map(|variant| &*variant.id);
        std::iter::once(self.folder.as_str())
            .chain(variants)
            .collect()
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The unit that a variant changed, otherwise the first unit.
    fn place(&self, variant: Option<&str>) -> Option<ItemPlace<'_>> {
        let variant = variant.and_then(|id| self.variant(id));
        let unit_type = variant.and_then(|variant| variant.unit_type.as_deref());
        let mut units = self.units.iter();
        let unit = units
            .find(|unit| Some(unit.unit_type.as_ref()) == unit_type)
            .or(self.units.first());
        Some(ItemPlace {
            file: &self.file,
            line: unit.map_or(1, |unit| unit.line),
        })
    }

    /// The code of the base is run on edited cases with the labels of the change. The old labels of the base must stay
    /// known, since both sides are also judged by them.
    fn take_over(&mut self, before: &Self) {
        self.expected.clone_from(&before.expected);
    }

    /// The units of swaps come from other cases.
    fn rename_others(&mut self, ids: &BTreeMap<String, String>) {
        let of_others = |variant: &VariantRecord| {
            let mut added = variant.notes.added.iter();
            added.any(|unit| {
                unit.from
                    .as_deref()
                    .is_some_and(|from| ids.contains_key(from))
            })
        };
        for variant in self.variants.iter_mut().filter(|one| of_others(one)) {
            let added = &mut Arc::make_mut(&mut variant.notes).added;
            for from in added.iter_mut().flat_map(|unit| &mut unit.from) {
                if let Some(id) = ids.get(&**from) {
                    *from = id.as_str().into();
                }
            }
        }
    }

    fn input(&self, variant: Option<&str>) -> Option<StoredInput> {
        let (folder, digest) = match variant {
            None => ("baseline".to_owned(), self.input),
            Some(id) => (format!("perturbations/{id}"), self.variant(id)?.input),
        };
        Some(StoredInput {
            file: format!("{}/{folder}/{}", self.folder, self.input_name()),
            digest,
        })
    }
}

impl CaseRecord {
    fn variant(&self, id: &str) -> Option<&VariantRecord> {
        self.variants.iter().find(|variant| *variant.id == *id)
    }
}

/// The figures of a section; without a scorer the distances in its records stay.
pub(super) fn findings(mut section: EvidenceSection, scorer: Option<&dyn Scorer>) -> Findings {
    let evidence = recompute(
        std::mem::take(&mut section.items).into_map(),
        &Settings {
            basis: &section.basis,
            ending: section.ending,
            scorer,
        },
    );
    section.items = evidence.cases.into();
    Findings {
        section: Box::new(section),
        metrics: evidence.metrics,
        notices: evidence.notices,
        of_the_run: Vec::new(),
        compared: scorer.is_some(),
    }
}
