//! Connects the evidence probe with the rest of the program.

use std::collections::BTreeMap;

use super::basis::Basis;
use super::course::CasesToRun;
use super::labels_edited::{self, EditedLabels};
use super::page::{self, EvidenceRun, Expectations};
use super::section::{EvidenceSection, findings};
use super::{EvidenceKind, answered, flip, labelled, renamed};
use crate::CaseRecord;
use kelvin_page::{Chapter, ItemPage, PartView, in_one_line};
use kelvin_probe::{Items, Kind};
use kelvin_record::{
    AlignedSections, AnySection, ComparisonForm, Ending, Findings, Flip, RunView, SectionAnswers,
    SectionForm, SectionKind, SettingDiffers, Surroundings, Viewpoint,
};
use kelvin_run::config::Config;
use kelvin_run::judge;

impl Kind for EvidenceKind {
    fn how_to_configure(&self) -> &'static str {
        "add `run`, `cases`, `decision_field` and `governing_types`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        Ok(Box::new(CasesToRun::read(config)?))
    }
}

impl SectionKind for EvidenceKind {
    fn folder(&self) -> Option<&'static str> {
        None
    }

    fn name(&self) -> &'static str {
        "evidence"
    }

    fn question(&self) -> &'static str {
        "Does the decision move only when the evidence moves?"
    }

    fn metric_names(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "agrees_under_rewrites",
                "agrees with the labels under rewrites",
            ),
            ("agrees_with_labels", "agrees with the labels"),
            ("content_effect", "moves with the wording around a rule"),
            ("donor_contrast", "how far the cases of a swap are apart"),
            ("drop", "stays when a unit is missing"),
            ("failure_rate", "calls without an answer"),
            ("following", "follows the evidence"),
            ("hedge_invariance", "holds under hedges"),
            ("invariance", "holds under rewrites"),
            (
                "invariance_case_mean",
                "holds under rewrites, each case alike",
            ),
            (
                "invariance_corrected",
                "holds under rewrites, but for noise",
            ),
            ("invariance_in_turn", "holds under rewrites of this turn"),
            ("kelvin_score", "moves or stays where it should not"),
            (
                "kelvin_score_corrected",
                "moves or stays where it should not, but for noise",
            ),
            (
                "mechanical_sensitivity",
                "moves with a changed number or comparison",
            ),
            ("moved_at", "moves with evidence at this place from the end"),
            ("moved_in_turn", "moves with evidence in this turn"),
            ("noise_floor", "differs between equal calls"),
            ("position", "moves with evidence at this place"),
            ("sensitivity", "moves with other facts"),
            (
                "sensitivity_case_mean",
                "moves with other facts, each case alike",
            ),
            ("sensitivity_condition", "moves with one other condition"),
            (
                "sensitivity_corrected",
                "moves with other facts, but for noise",
            ),
        ]
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("case", "cases")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Cases", "Command")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<EvidenceSection>()
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
            (case.folder.as_str(), page::case_page(name, case, &expected))
        };
        Box::new(run.cases.iter().map(page))
    }

    fn flip(
        &self,
        (base, head): (&dyn AnySection, &dyn AnySection),
        item: &str,
        metric: &str,
    ) -> Option<Flip> {
        let [base, head] = [base, head].map(|side| side.as_kind::<EvidenceSection>());
        let (base, head) = (base?, head?);
        flip::case_flip(base.items.get(item)?, head.items.get(item)?, item, metric)
    }

    fn part(&self, section: &dyn AnySection, item: &str, part: &str) -> Option<PartView> {
        page::part(own(section).items.get(item)?, part)
    }

    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<SectionAnswers<'a>> {
        answered::section_answers(section.as_kind()?)
    }

    fn why(&self, section: &dyn AnySection, item: &str, metric: &str) -> Option<String> {
        let section: &EvidenceSection = section.as_kind()?;
        let scorer = judge::stored(&section.basis.scorer, &section.basis.levels)?;
        labelled::why((&section.basis, &*scorer), section.items.get(item)?, metric)
    }

    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let case = own(section).items.get(item)?;
        let itself = case.baseline.iter().chain(&case.replays);
        let variants = case.variants.iter().flat_map(|variant| &variant.samples);
        let mut failures = itself
            .chain(variants)
            .filter_map(|one| one.failure.as_ref());
        Some(in_one_line(failures.next()?))
    }

    fn renamed(&self, base: &dyn AnySection, head: &dyn AnySection) -> BTreeMap<String, String> {
        renamed::renamed(own(base), own(head))
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        _: Surroundings,
        reading: Viewpoint,
    ) -> Option<AlignedSections> {
        let [old, new] = [base, head].map(|side| side.as_kind::<EvidenceSection>());
        labels_edited::align(old?, new?, reading)
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        let meaning = "The labels of the evidence probe, where the change edits some.";
        Some(ComparisonForm::of::<EditedLabels>(meaning))
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = *section.into_own::<EvidenceSection>();
        let scorer = judge::stored(&section.basis.scorer, &section.basis.levels);
        findings(section, scorer.as_deref())
    }
}

fn own(section: &dyn AnySection) -> &EvidenceSection {
    section.own()
}

/// The data for a page of the probe.
fn view<'a>(section: &'a dyn AnySection, run: RunView<'a>) -> EvidenceRun<'a> {
    let section = own(section);
    EvidenceRun {
        metrics: run.metrics,
        cases: &section.items,
        ending: own_ending(run.ending, section),
        governing_types: &section.basis.governing_types,
        decision_field: &section.basis.decision_field,
        scorer: &section.basis.scorer,
        seed: run.seed,
    }
}

/// How the run of the cases ended. A run of several probes has failed if one of them got no answer at all, but that
/// does not mean that the others failed.
fn own_ending(ending: Ending, section: &EvidenceSection) -> Ending {
    let samples = section.items.values().flat_map(|case| &case.baseline);
    let mut decisions = samples.filter(|sample| sample.decision.is_some());
    match ending {
        Ending::Failed if decisions.next().is_some() => Ending::Complete,
        ending => ending,
    }
}

/// The conditions on which the figures of two sections of this kind depend.
fn both<'a>(base: &'a dyn AnySection, head: &'a dyn AnySection) -> Option<(&'a Basis, &'a Basis)> {
    let of = |section: &'a dyn AnySection| {
        let section = section.as_kind::<EvidenceSection>()?;
        Some(&section.basis)
    };
    of(base).zip(of(head))
}
