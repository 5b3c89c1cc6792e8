//! A kind of probe that only tests know: it asks the pipeline how loud each of some words is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::comparison::{self, WordComparison};
use super::reader::NumberReader;
use super::record::{ToySection, Word};
use super::settings::ToySettings;
use crate::registry::Registry;
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};
use kelvin_base::stats;

use kelvin_probe::{ChosenItems, Items, Kind, Planned, Probe, RepeatedItems};
use kelvin_record::Shard;
use kelvin_record::{
    AlignedSections, AnySection, ComparisonForm, Findings, Listing, Metric, SectionFingerprint,
    SectionForm, SectionKind, Surroundings, Viewpoint, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::{Program, Runner, Step};

/// The kinds of a program that knows the toy too.
pub(super) fn registry() -> Registry {
    Registry::shipped().with(&ToyKind)
}

/// How loud is each word?
pub(super) struct ToyKind;

impl Kind for ToyKind {
    fn how_to_configure(&self) -> &'static str {
        "add a section `toy`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings = config
            .settings::<ToySettings>()
            .expect("a kind reads the items of a configuration that asks for it");
        let words: Vec<&str> = settings.words.split(',').map(str::trim).collect();
        Ok(Box::new(Words {
            config,
            settings,
            chosen: words.clone(),
            words,
        }))
    }
}

impl SectionKind for ToyKind {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn question(&self) -> &'static str {
        "How loud is each word?"
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("word", "words")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<ToySection>()
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        _: Surroundings,
        _: Viewpoint,
    ) -> Option<AlignedSections> {
        comparison::align(base, head)
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        Some(ComparisonForm::of::<WordComparison>(
            "The words of the toy.",
        ))
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<ToySection>();
        findings(*section)
    }
}

/// The mean loudness, gated.
pub(super) fn findings(section: ToySection) -> Findings {
    let words = section.items.iter();
    let words = words.map(|(word, record)| (&**word, &*record.loudness));
    let metric = Metric::mean_of_items(words).of_family("toy");
    let mut metrics = BTreeMap::from([("toy.loudness".to_owned(), metric)]);
    let louder = section.items.values().filter_map(|word| word.louder);
    let louder: Vec<f64> = louder.collect();
    if let Some(mean) = stats::mean(&louder) {
        let metric = Metric::new(Ok(mean), louder.len(), 0).of_family("toy");
        metrics.insert("toy.louder".to_owned(), metric);
    }
    Findings::of_records(Box::new(section), metrics)
}

/// The words of a configuration.
struct Words<'c> {
    config: &'c Config,
    settings: &'c ToySettings,
    words: Vec<&'c str>,
    chosen: Vec<&'c str>,
}

impl Items for Words<'_> {
    fn ids(&self) -> Vec<&str> {
        self.words.clone()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        SectionFingerprint {
            items: Some(Digest::of(self.settings.words.as_bytes())),
            command: Some(Digest::of(self.settings.run.text().as_bytes())),
        }
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let chosen = ChosenItems::of(self.words.iter().copied(), only, shard);
        self.chosen = chosen.ours.iter().map(|place| self.words[*place]).collect();
        chosen.all.len()
    }

    fn list(&self, _: bool) -> Listing {
        let calls = self.chosen.len() * self.config.repeats.get();
        Listing {
            invocations: BTreeMap::from([("word", calls)]),
            ..Listing::default()
        }
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(Said { words: self })
    }
}

struct Said<'a> {
    words: &'a Words<'a>,
}

impl Planned for Said<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        let program = Program {
            turns: None,
            target: &self.words.settings.run,
            decision_field: "",
            input_name: "input.txt",
            inputs: "words",
        };
        let pipeline = Step {
            folder: None,
            program,
            reader: &NumberReader,
        };
        let listener = self.words.settings.listener.as_ref().map(|target| Step {
            folder: Some("listener".to_owned()),
            program: Program { target, ..program },
            reader: &NumberReader,
        });
        std::iter::once(pipeline).chain(listener).collect()
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let chosen = self.words.chosen.iter();
        let words = chosen.map(|word| (*word, Cow::Borrowed(*word)));
        let repeats = self.words.config.repeats.get();
        Box::new(AtWork {
            words: self.words,
            asked: RepeatedItems::new(&runners[0], "words", repeats, words),
            listener: runners.get(1),
            louder: BTreeMap::new(),
        })
    }
}

struct AtWork<'a> {
    words: &'a Words<'a>,
    asked: RepeatedItems<'a>,
    listener: Option<&'a Runner<'a>>,
    louder: BTreeMap<String, f64>,
}

impl AtWork<'_> {
    fn record(&self, word: &str) -> Word {
        let loudness: Vec<Option<f64>> = self
            .asked
            .outcomes(word)
            .map(|outcome| outcome.result.as_ref().ok()?.as_f64())
            .collect();
        let silent = loudness.iter().zip(1..).filter(|(said, _)| said.is_none());
        let notice = |repeat: i32| {
            let text = format!("repeat {repeat} was not said");
            Notice::new(Code::own("words_not_said"), text).case(word)
        };
        Word {
            input: Digest::of(word.as_bytes()),
            louder: self.louder.get(word).copied(),
            notices: silent.map(|(_, repeat)| notice(repeat)).collect(),
            loudness,
        }
    }
}

impl Probe for AtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.asked.run()
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.asked.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.asked.repeat(wanted)
    }

    fn against(&mut self, base: &dyn AnySection) -> anyhow::Result<()> {
        let base = base.as_kind::<ToySection>();
        let (Some(listener), Some(base)) = (self.listener, base) else {
            return Ok(());
        };
        let heard = self.words.chosen.iter().map(|word| {
            let both = (base.items.get(*word), Some(self.record(word)));
            (*word, Cow::Owned(format!("{both:?}")))
        });
        let mut heard = RepeatedItems::new(listener, "listener", 1, heard);
        heard.run()?;
        for word in &self.words.chosen {
            let said = heard.outcomes(word).next();
            let louder = said.and_then(|said| said.result.as_ref().ok()?.as_f64());
            self.louder
                .extend(louder.map(|louder| ((*word).to_owned(), louder)));
        }
        Ok(())
    }

    fn findings(&self) -> Findings {
        let items = self.words.chosen.iter();
        findings(ToySection {
            ending: self.asked.ending(),
            fingerprint: self.words.fingerprint(),
            basis: (),
            items: items
                .map(|word| ((*word).to_owned(), self.record(word)))
                .collect(),
        })
    }
}
