//! Connects the quality score with the rest of the program.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::config::QualitySettings;
use super::figures::{figures, score_all};
use super::indicators::Expected;
use super::observer::Indicators;
use super::record::{QualityBasis, QualityItem, QualitySection};
use super::recorded::Recorded;
use super::{QualityKind, page, rescore, scorer};
use kelvin_base::exit::Misuse;
use kelvin_page::Chapter;
use kelvin_probe::{Items, Kind, Planned, Probe, Rescoring};
use kelvin_record::{
    AnySection, Ending, Findings, Listing, Metric, RunView, ScoredInvocation, SectionFingerprint,
    SectionForm, SectionKind, SettingDiffers, Shard, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::{OutputObserver, Runner, Step};

impl Kind for QualityKind {
    fn how_to_configure(&self) -> &'static str {
        "add `quality` beside another probe"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings: &QualitySettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        Ok(Box::new(Observed {
            basis: &settings.basis,
            recorded: (&settings.recorded, &settings.expected),
            indicators: Indicators::of(&settings.expected),
        }))
    }

    fn rescored(
        &self,
        section: &dyn AnySection,
        rules: &Rescoring<'_>,
    ) -> Result<Option<Box<dyn AnySection>>, Misuse> {
        let section = rescore::rescored(own(section), rules)?;
        Ok(Some(Box::new(section)))
    }
}

impl SectionKind for QualityKind {
    fn name(&self) -> &'static str {
        "quality"
    }

    fn question(&self) -> &'static str {
        "Do the outputs have the form and the content that was agreed on, and at what cost?"
    }

    fn metric_names(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("completeness", "has everything that was asked for"),
            ("conformance", "has the agreed form"),
            ("dry_runs", "the score of the recorded outputs"),
            ("efficiency", "tokens that were of use"),
            ("group", "the quality score of a group"),
            ("quality_score", "the quality score"),
            ("variants", "the quality score under rewrites"),
        ]
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("case", "cases")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Cases of the quality score", "Command of the quality score")
    }

    fn observes(&self) -> bool {
        true
    }

    fn scored(&self, section: &dyn AnySection) -> Vec<ScoredInvocation> {
        scorer::scored_invocations(own(section))
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<QualitySection>()
    }

    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        let (base, head) = (&own(base).basis, &own(head).basis);
        let settings = [
            ("weights of the quality score", weights(base), weights(head)),
            ("contract of the outputs", contract(base), contract(head)),
            ("required outputs", required(base), required(head)),
            ("places of the token counts", usage(base), usage(head)),
            ("live runs of a case", live_runs(base), live_runs(head)),
        ];
        let differing = settings.into_iter().filter(|(_, base, head)| base != head);
        let differing = differing.map(|(name, base, head)| SettingDiffers { name, base, head });
        differing.collect()
    }

    /// Scores with different rules, or of different factors, are not compared. Different weights are not a problem: the
    /// base is scored with those of the head.
    fn incomparable(&self, base: &dyn AnySection, head: &dyn AnySection) -> Option<SettingDiffers> {
        let (base, head) = (&own(base).basis, &own(head).basis);
        let factors = |basis: &QualityBasis| -> Vec<String> {
            let factors = basis.factors.iter();
            factors.map(|factor| factor.as_str().to_owned()).collect()
        };
        let settings = [
            (
                "scorer of the quality",
                vec![base.scorer.clone()],
                vec![head.scorer.clone()],
            ),
            (
                "set of the factors of the quality score",
                factors(base),
                factors(head),
            ),
        ];
        let mut differing = settings.into_iter().filter(|(_, base, head)| base != head);
        let (name, base, head) = differing.next()?;
        Some(SettingDiffers { name, base, head })
    }

    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        let (base, head) = (own(base), &own(head).basis);
        if base.basis.weights == head.weights || base.basis.scorer != head.scorer {
            return;
        }
        let mut section = base.clone();
        section.basis.weights = head.weights;
        metrics.extend(findings(section).metrics);
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        page::chapter(own(section), run.metrics)
    }

    fn why(&self, section: &dyn AnySection, item: &str, metric: &str) -> Option<String> {
        page::why(own(section), item, metric)
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<QualitySection>();
        findings(*section)
    }
}

fn own(section: &dyn AnySection) -> &QualitySection {
    section.own()
}

/// The figures of a section.
pub(super) fn findings(mut section: QualitySection) -> Findings {
    score_all(&mut section.items, &section.basis);
    Findings {
        metrics: figures(&section.items, &section.basis),
        notices: page::notices(&section),
        section: Box::new(section),
        of_the_run: Vec::new(),
        compared: true,
    }
}

fn weights(basis: &QualityBasis) -> Vec<String> {
    page::weights(basis)
}

fn contract(basis: &QualityBasis) -> Vec<String> {
    let contract = basis.contract.iter();
    contract.map(|contract| contract.short(12)).collect()
}

fn required(basis: &QualityBasis) -> Vec<String> {
    basis.required_outputs.clone().unwrap_or_default()
}

fn usage(basis: &QualityBasis) -> Vec<String> {
    let Some(usage) = &basis.usage else {
        return Vec::new();
    };
    [
        Some(&usage.input),
        Some(&usage.output),
        usage.useful.as_ref(),
        usage.total.as_ref(),
    ]
    .into_iter()
    .zip(["input", "output", "useful", "total"])
    .filter_map(|(pointer, name)| Some(format!("{name} {}", pointer?)))
    .collect()
}

fn live_runs(basis: &QualityBasis) -> Vec<String> {
    vec![basis.live_runs.to_string()]
}

/// The observer of the other probes.
struct Observed<'c> {
    basis: &'c QualityBasis,
    /// The outputs that were recorded earlier, and their expected properties.
    recorded: (&'c Recorded, &'c Expected),
    indicators: Indicators<'c>,
}

impl Observed<'_> {
    fn items(&self) -> BTreeMap<String, QualityItem> {
        let (recorded, expected) = self.recorded;
        let mut items = self.indicators.items();
        for (case, item) in &mut items {
            item.dry_runs = recorded.of(case, expected);
        }
        items
    }
}

impl Items for Observed<'_> {
    /// The cases belong to the other probes, which choose them and divide them among shards.
    fn ids(&self) -> Vec<&str> {
        Vec::new()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.recorded.0.files()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        SectionFingerprint {
            items: None,
            command: None,
        }
    }

    fn choose(&mut self, _only: &[String], _shard: Option<Shard>) -> usize {
        0
    }

    fn list(&self, _with_digests: bool) -> Listing {
        Listing::default()
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(NothingToRun { observed: self })
    }

    fn observer(&self) -> Option<&dyn OutputObserver> {
        Some(&self.indicators)
    }
}

/// The probe has no calls of its own.
struct NothingToRun<'a> {
    observed: &'a Observed<'a>,
}

impl Planned for NothingToRun<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        Vec::new()
    }

    fn begin<'r>(&'r self, _runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        Box::new(Watching {
            observed: self.observed,
            is_rehearsal: false,
        })
    }
}

/// The probe while the other probes run.
struct Watching<'a> {
    observed: &'a Observed<'a>,
    is_rehearsal: bool,
}

impl Probe for Watching<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.is_rehearsal = true;
        Ok(())
    }

    /// The other probes run their cases again, and the answers are then observed.
    fn repeat(&mut self, _wanted: &WantedRepeats) -> anyhow::Result<()> {
        Ok(())
    }

    fn findings(&self) -> Findings {
        let items = self.observed.items();
        let is_answered = |item: &QualityItem| item.runs().any(|run| !run.failed);
        let ending = match self.is_rehearsal {
            true => Ending::DryRun,
            // Only the answers of the cases decide the ending, as when the section is joined from shards.
            false if items.values().any(is_answered) => Ending::Complete,
            false => Ending::Failed,
        };
        findings(QualitySection {
            ending,
            fingerprint: SectionFingerprint {
                items: None,
                command: None,
            },
            basis: self.observed.basis.clone(),
            items: items.into(),
        })
    }

    fn text(&self, _item: &str, _variant: Option<&str>) -> Option<Cow<'_, str>> {
        None
    }
}
