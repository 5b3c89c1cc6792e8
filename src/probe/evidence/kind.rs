//! The evidence probe as the rest of the program knows it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};

use super::EvidenceSettings;
use super::cases::{self, Corpus};
use super::decision::DecisionReader;
use super::failures::failure_rate;
use super::measure::{Measurement, Survey, plan, plan_each};
use super::page::{self, EvidenceRun, Expectations};
use super::perturb::{self, Plan, Relation, Variant};
use super::recompute::{Basis, Settings, recompute};
use crate::config::{Config, Shard};
use crate::digest::{Digest, Fields};
use crate::judge::{self, Judge};
use crate::notice::{Code, Notice};
use crate::page::{Chapter, ItemPage, PartView};
use crate::probe::{
    AnySection, CaseRecord, Findings, Forecast, Item, Items, Kind, ListedVariant, Listing, Metric,
    Planned, Probe, RunView, Section, SectionFingerprint, SettingDiffers, VariantPart, probe_of,
};
use crate::run::{Program, Reader, Runner};

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
        let settings: &EvidenceSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        let (corpus, notices) = cases::load(&config.root, settings)?;
        let all: Vec<usize> = (0..corpus.cases.len()).collect();
        Ok(Box::new(Cases {
            config,
            settings,
            scorer: judge::of(&settings.scorer),
            corpus,
            notices,
            begins: true,
            places: all,
        }))
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
fn findings(mut section: EvidenceSection, scorer: Option<&dyn Judge>) -> Findings {
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

/// The cases of a configuration.
struct Cases<'c> {
    config: &'c Config,
    settings: &'c EvidenceSettings,
    scorer: Arc<dyn Judge>,
    corpus: Corpus,
    notices: Vec<Notice>,
    /// Whether the first case that was chosen is measured here; another shard may have it.
    begins: bool,
    /// The places of the cases to measure, ascending.
    places: Vec<usize>,
}

impl Cases<'_> {
    fn survey(&self) -> Survey<'_> {
        Survey {
            config: self.config,
            settings: self.settings,
            corpus: &self.corpus,
            places: &self.places,
            begins: self.begins,
            scorer: &*self.scorer,
        }
    }
}

impl Items for Cases<'_> {
    fn ids(&self) -> Vec<&str> {
        self.corpus.cases.iter().map(|case| &*case.name).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }

    fn files(&self) -> Vec<PathBuf> {
        // One by one, since their folder may be that of the pipeline.
        let files = self.corpus.cases.iter().map(|case| &*case.file);
        files.map(|file| self.config.root.join(file)).collect()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let cases = self.corpus.cases.iter();
        let fields = cases.fold(Fields::of("kelvin/cases/v1"), |fields, case| {
            fields
                .field("name", &*case.name)
                .field("content", case.digest().bytes())
        });
        SectionFingerprint {
            items: Some(fields.digest()),
            command: Some(self.settings.program().digest(self.config)),
        }
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let mut chosen: Vec<usize> = match only {
            [] => (0..self.corpus.cases.len()).collect(),
            only => only
                .iter()
                .filter_map(|name| self.corpus.place(name))
                .collect(),
        };
        chosen.sort_unstable();
        chosen.dedup();
        let is_ours = |place: &usize| {
            let name = &self.corpus.cases[*place].name;
            shard.is_none_or(|shard| shard.takes(name))
        };
        self.places = chosen.iter().copied().filter(is_ours).collect();
        self.begins = chosen.first() == self.places.first();
        chosen.len()
    }

    fn list(&self, with_digests: bool) -> Listing {
        let survey = self.survey();
        let of_each = plan_each(&survey, |place, plan| {
            let counts: Vec<(&'static str, usize)> = plan
                .variants
                .chunk_by(|one, two| one.kind == two.kind)
                .map(|of_kind| (of_kind[0].kind, of_kind.len()))
                .collect();
            let listed = |variant: &Variant| ListedVariant {
                case: Arc::clone(&survey.corpus.cases[place].name),
                variant: Arc::clone(&variant.id),
                relation: variant.figure.relation().name(),
                input: with_digests.then(|| variant.digest(survey.corpus, place, survey.settings)),
            };
            let variants: Vec<ListedVariant> = plan.variants.iter().map(listed).collect();
            (variants, counts, plan.notices)
        });
        let repeats = self.config.repeats.get();
        // The replays of the noise floor include the first invocation of the baseline.
        let replays = self.settings.noise_floor.map_or(0, |floor| floor.get());
        let mut listing = Listing::default();
        let baselines = self.places.len() * replays.max(repeats);
        listing.invocations.insert("baseline", baselines);
        for (variants, counts, notices) in of_each {
            listing.variants.extend(variants);
            listing.notices.extend(notices);
            for (kind, count) in counts {
                *listing.invocations.entry(kind).or_default() += count * repeats;
            }
        }
        listing
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        let survey = self.survey();
        Box::new(Variants {
            plans: plan(&survey),
            basis: Basis::of(self.settings, &*self.scorer, self.corpus.cases.len()),
            fingerprint: self.fingerprint(),
            reader: DecisionReader::new(survey.settings, survey.scorer),
            survey,
        })
    }
}

/// The variants of the cases, planned.
struct Variants<'a> {
    survey: Survey<'a>,
    reader: DecisionReader<'a>,
    plans: BTreeMap<usize, Plan>,
    basis: Basis,
    fingerprint: SectionFingerprint,
}

impl Planned for Variants<'_> {
    fn program(&self) -> Program<'_> {
        self.survey.settings.program()
    }

    fn reader(&self) -> &dyn Reader {
        &self.reader
    }

    fn begin<'r>(&'r self, runner: &'r Runner<'r>) -> Box<dyn Probe + 'r> {
        Box::new(AtWork {
            measurement: Measurement::new(&self.survey, &self.plans, runner),
            planned: self,
        })
    }
}

/// The probe while it runs.
struct AtWork<'a> {
    measurement: Measurement<'a>,
    planned: &'a Variants<'a>,
}

impl Probe for AtWork<'_> {
    fn run(&mut self, proceed: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()> {
        self.measurement.run(proceed)
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.measurement.rehearse()
    }

    fn repeat(&mut self, wanted: &BTreeMap<String, usize>) -> anyhow::Result<()> {
        let corpus = self.planned.survey.corpus;
        for repeats in wanted.values().copied().collect::<BTreeSet<_>>() {
            let names = wanted.iter().filter(|(_, wanted)| **wanted == repeats);
            let places: Vec<usize> = names.filter_map(|(name, _)| corpus.place(name)).collect();
            if !places.is_empty() {
                self.measurement.repeat(&places, repeats)?;
            }
        }
        Ok(())
    }

    fn findings(&self) -> Findings {
        let section = EvidenceSection {
            ending: self.measurement.ending(),
            fingerprint: self.planned.fingerprint,
            basis: self.planned.basis.clone(),
            items: self.measurement.records(),
        };
        findings(section, Some(self.planned.survey.scorer))
    }

    fn text(&self, item: &str, variant: Option<&str>) -> Option<Cow<'_, str>> {
        self.measurement.inputs().find(item, variant)
    }
}
