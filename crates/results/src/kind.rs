//! Connects the results probe with the rest of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::change::{self, ResultsChange};
use super::config::ResultsSettings;
use super::figures::{self, PROBE};
use super::measure::Suites;
use super::record::{ResultsSection, answered, id, nouns, own};
use super::{ResultsKind, foreign, page};
use kelvin_page::Chapter;
use kelvin_probe::{Items, Kind};
use kelvin_record::{
    AlignedSections, AnySection, ComparisonForm, Findings, Metric, Nouns, RunView, SectionAnswers,
    SectionForm, SectionKind, SettingDiffers, Surroundings, Viewpoint,
};
use kelvin_run::config::Config;

impl Kind for ResultsKind {
    fn how_to_configure(&self) -> &'static str {
        "add a section `results`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings: &ResultsSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        Ok(Box::new(Suites::new(config, settings)))
    }

    fn foreign(&self, file: &Path, config: Option<&Config>) -> Option<anyhow::Result<Findings>> {
        foreign::findings(file, config.and_then(Config::settings))
    }
}

impl SectionKind for ResultsKind {
    fn name(&self) -> &'static str {
        PROBE
    }

    fn question(&self) -> &'static str {
        "Does your own evaluator find the answers as good as before?"
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("case", "cases")
    }

    fn nouns_of(&self, section: &dyn AnySection) -> Nouns {
        nouns(own(section))
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Cases", "Commands of the evaluators")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<ResultsSection>()
    }

    fn differing_settings(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
    ) -> Vec<SettingDiffers> {
        change::differing_settings(own(base), own(head))
    }

    fn figures_of_base(
        &self,
        base: &dyn AnySection,
        _head: &dyn AnySection,
        metrics: &mut BTreeMap<String, Metric>,
    ) {
        metrics.extend(figures::figures_of_base(own(base)));
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        _around: Surroundings,
        _reading: Viewpoint,
    ) -> Option<AlignedSections> {
        change::align(own(base), own(head))
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        let meaning = "The cases of the results probe, where a change scores them otherwise or leaves many of them out.";
        Some(ComparisonForm::of::<ResultsChange>(meaning))
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        page::chapter(own(section), run)
    }

    fn why(&self, section: &dyn AnySection, item: &str, _metric: &str) -> Option<String> {
        self.failure(section, item)
    }

    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let record = own(section).items.get(item)?;
        let mut errors = record
            .samples
            .iter()
            .filter_map(|sample| sample.error.as_ref());
        errors.next().map(|error| error.shown().into_owned())
    }

    fn skipped(&self, section: &dyn AnySection) -> BTreeSet<String> {
        let suites = own(section).basis.suites.iter();
        let ids = suites.flat_map(|(suite, basis)| {
            let skipped = basis.skipped.iter();
            skipped.map(move |case| id(suite, case))
        });
        ids.collect()
    }

    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<SectionAnswers<'a>> {
        Some(answered(own(section)))
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<ResultsSection>();
        Findings {
            metrics: figures::figures(&section),
            notices: figures::notices(&section),
            section,
            of_the_run: Vec::new(),
            compared: true,
        }
    }
}
