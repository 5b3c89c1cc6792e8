//! The evidence probe as the rest of the program knows it.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator};

use super::course::CasesToRun;
use super::failures::failure_rate;
use super::page::{self, EvidenceRun, Expectations};
use super::perturb::{self, Relation};
use super::recompute::{Basis, Settings, recompute};
use crate::config::Config;
use crate::digest::Digest;
use crate::judge::{self, Scorer};
use crate::notice::{Code, Notice};
use crate::page::{Chapter, ItemPage, PartView};
use crate::probe::{
    AnySection, CaseRecord, Findings, Item, Items, Kind, Metric, RunView, Section, SettingDiffers,
    VariantPart, probe_of,
};

/// Does the decision move only when the evidence that should govern it moves?
pub(crate) struct EvidenceKind;

/// A figure that only a report has in which hedges counted into invariance.
const HEDGES_IN_INVARIANCE: &str = "evidence.invariance.hedge_injection";

/// What a report stores of this probe.
pub(crate) type EvidenceSection = Section<Basis, CaseRecord>;

impl Item for CaseRecord {
    fn digest(&self) -> Digest {
        self.input
    }

    fn inputs(&self) -> usize {
        1 + self.variants.len()
    }

    fn repeats(&self) -> usize {
        self.baseline.len()
    }

    fn has_answer(&self) -> bool {
        let first = self.baseline.first();
        first.is_some_and(|sample| sample.decision.is_some())
    }

    fn is_kept(&self) -> bool {
        let mut notices = self.notices.iter();
        notices.any(|notice| notice.code == Code::AnswersKept)
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
                (variant.id.as_str(), part)
            })
            .collect()
    }

    fn folders(&self) -> Vec<&str> {
        let variants = self.variants.iter().map(|variant| variant.id.as_str());
        std::iter::once(self.folder.as_str())
            .chain(variants)
            .collect()
    }
}

impl Kind for EvidenceKind {
    fn name(&self) -> &'static str {
        "evidence"
    }

    fn question(&self) -> &'static str {
        "Does the decision move only when the evidence moves?"
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("case", "cases")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Cases", "Command")
    }

    fn folder(&self) -> Option<&'static str> {
        None
    }

    fn how_to_configure(&self) -> &'static str {
        "add `run`, `cases`, `decision_field` and `governing_types`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        Ok(Box::new(CasesToRun::read(config)?))
    }

    fn stored(
        &self,
        text: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<Box<dyn AnySection>, erased_serde::Error> {
        let section: EvidenceSection = erased_serde::deserialize(text)?;
        Ok(Box::new(section))
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<EvidenceSection>()
    }

    fn complete(&self, section: &dyn AnySection, metrics: &mut BTreeMap<String, Metric>) {
        let Some(section) = section.as_any().downcast_ref::<EvidenceSection>() else {
            return;
        };
        let known = metrics.get("evidence.failure_rate");
        let has_cases = known.is_some_and(|metric| !metric.per_case.is_empty());
        if !section.items.is_empty() && !has_cases {
            let rate = failure_rate(&section.items);
            metrics.insert("evidence.failure_rate".to_owned(), rate);
        }
    }

    fn is_of_earlier_rules(&self, ids: &[&str]) -> bool {
        ids.contains(&HEDGES_IN_INVARIANCE)
    }

    fn renew(
        &self,
        section: Box<dyn AnySection>,
        metrics: &mut BTreeMap<String, Metric>,
    ) -> (Box<dyn AnySection>, Option<Notice>) {
        if !metrics.contains_key(HEDGES_IN_INVARIANCE) {
            return (section, None);
        }
        let section = *section
            .into_any()
            .downcast::<EvidenceSection>()
            .expect("a kind is given sections of its own");
        // The distances stay: only what counts into which figure has changed.
        let again = findings(section, None);
        metrics.retain(|id, _| probe_of(id) != self.name());
        metrics.extend(again.metrics);
        let notice = Notice::new(
            Code::Recomputed,
            "the report is of an earlier version, in which `hedge_injection` counted into \
             evidence.invariance; its figures were computed again without it",
        );
        (again.section, Some(notice))
    }

    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        let Some((base, head)) = both(base, head) else {
            return Vec::new();
        };
        let (base, head) = (&base.governing_types, &head.governing_types);
        let differs = SettingDiffers {
            name: "governing types",
            base: base.clone(),
            head: head.clone(),
        };
        (base != head).then_some(differs).into_iter().collect()
    }

    fn incomparable(&self, base: &dyn AnySection, head: &dyn AnySection) -> Option<SettingDiffers> {
        let (base, head) = both(base, head)?;
        let settings = [
            ("scorer", &base.scorer, &head.scorer),
            ("decision field", &base.decision_field, &head.decision_field),
        ];
        let (name, base, head) = settings.into_iter().find(|(_, base, head)| base != head)?;
        Some(SettingDiffers {
            name,
            base: vec![base.clone()],
            head: vec![head.clone()],
        })
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        page::chapter(view(section, run))
    }

    fn item_pages<'a>(
        &self,
        section: &'a dyn AnySection,
        run: RunView<'a>,
    ) -> Box<dyn Iterator<Item = (&'a str, ItemPage<'a>)> + 'a> {
        let run = view(section, run);
        let expected = Expectations::of(&run);
        let page = move |(name, case): (&'a String, &'a CaseRecord)| {
            (case.folder.as_str(), page::case(name, case, &expected))
        };
        Box::new(run.cases.iter().map(page))
    }

    fn part(&self, section: &dyn AnySection, item: &str, part: &str) -> Option<PartView> {
        page::part(own(section).items.get(item)?, part)
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = *section
            .into_any()
            .downcast::<EvidenceSection>()
            .expect("a kind is given sections of its own");
        let scorer = judge::stored(&section.basis.scorer, &section.basis.levels);
        findings(section, scorer.as_deref())
    }
}

fn own(section: &dyn AnySection) -> &EvidenceSection {
    section
        .as_any()
        .downcast_ref()
        .expect("a kind is given sections of its own")
}

/// What a page of the probe is made from.
fn view<'a>(section: &'a dyn AnySection, run: RunView<'a>) -> EvidenceRun<'a> {
    let section = own(section);
    EvidenceRun {
        metrics: run.metrics,
        cases: &section.items,
        ending: run.ending,
        governing_types: &section.basis.governing_types,
        decision_field: &section.basis.decision_field,
        scorer: &section.basis.scorer,
        seed: run.seed,
    }
}

/// What the figures of two sections of this kind depend on.
fn both<'a>(base: &'a dyn AnySection, head: &'a dyn AnySection) -> Option<(&'a Basis, &'a Basis)> {
    let of = |section: &'a dyn AnySection| {
        let section = section.as_any().downcast_ref::<EvidenceSection>()?;
        Some(&section.basis)
    };
    of(base).zip(of(head))
}

/// The figures of a section; without a scorer the distances in its records stay.
pub(super) fn findings(mut section: EvidenceSection, scorer: Option<&dyn Scorer>) -> Findings {
    let evidence = recompute(
        std::mem::take(&mut section.items),
        &Settings {
            basis: &section.basis,
            ending: section.ending,
            scorer,
        },
    );
    section.items = evidence.cases;
    Findings {
        section: Box::new(section),
        metrics: evidence.metrics,
        notices: evidence.notices,
        of_the_run: Vec::new(),
        compared: scorer.is_some(),
    }
}
