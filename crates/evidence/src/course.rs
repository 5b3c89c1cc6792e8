//! The cases during a run: read, chosen, planned, run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::basis::Basis;
use super::cases::{self, Corpus};
use super::decision::DecisionReader;
use super::judged::JudgedPairs;
use super::measure::Measurement;
use super::perturb::{Plan, Variant};
use super::section::{EvidenceSection, findings};
use super::survey::{Survey, plan, plan_each};
use super::{EvidenceSettings, following};
use kelvin_base::digest::Fields;
use kelvin_base::notice::Notice;
use kelvin_probe::{ChosenItems, Items, Planned, Probe};
use kelvin_record::Shard;
use kelvin_record::{
    Ending, Findings, ListedVariant, Listing, Repeats, SectionFingerprint, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::judge::{self, Scorer};
use kelvin_run::{Runner, Step, judging};

/// The cases of a configuration, and which of them are measured.
pub(super) struct CasesToRun<'c> {
    config: &'c Config,
    settings: &'c EvidenceSettings,
    scorer: Arc<dyn Scorer>,
    corpus: Corpus,
    notices: Vec<Notice>,
    /// Whether this shard measures the first chosen case.
    begins: bool,
    /// The indices of the cases to measure, in ascending order.
    places: Vec<usize>,
}

impl<'c> CasesToRun<'c> {
    /// Reads every case of a configuration; all of them are chosen. Fails with a [`Misuse`](kelvin_base::exit::Misuse)
    /// that lists every case that cannot be used.
    pub(super) fn read(config: &'c Config) -> anyhow::Result<Self> {
        let settings: &EvidenceSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        let (corpus, notices) = cases::load(&config.root, settings)?;
        let all = (0..corpus.cases.len()).collect();
        Ok(Self {
            config,
            settings,
            scorer: judge::chosen_scorer(&settings.scorer),
            corpus,
            notices,
            begins: true,
            places: all,
        })
    }

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

    /// How many inputs a call passes for a case.
    fn turns_of(&self, place: usize) -> usize {
        let input = self.corpus.cases[place].input();
        let turns = self.settings.records.turns.as_ref();
        turns.map_or(1, |turns| turns.place.count(input))
    }
}

impl Items for CasesToRun<'_> {
    fn ids(&self) -> Vec<&str> {
        self.corpus.cases.iter().map(|case| &*case.name).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.clone()
    }

    fn remarks(&self) -> Vec<Notice> {
        self.corpus.remarks.clone()
    }

    fn files(&self) -> Vec<PathBuf> {
        // The files are listed one by one, since their folder may also be the folder of the pipeline. The records of
        // one file are next to each other.
        let cases = self.corpus.cases.chunk_by(|one, two| one.file == two.file);
        let files = cases.map(|of_file| &*of_file[0].file);
        let tables = self.corpus.labels.iter().map(|table| &**table);
        let files = files.chain(tables);
        files.map(|file| self.config.root.join(file)).collect()
    }

    fn fingerprint(&self) -> SectionFingerprint {
        let cases = self.corpus.cases.iter();
        let fields = cases.fold(Fields::of("kelvin/cases/v1"), |fields, case| {
            let fields = fields
                .field("name", &*case.name)
                .field("content", case.digest().bytes());
            match &case.expected {
                Some(label) => fields.field("expected", label),
                None => fields,
            }
        });
        SectionFingerprint {
            items: Some(fields.digest()),
            command: Some(self.settings.program().digest(self.config)),
        }
    }

    fn size(&self) -> Option<String> {
        let units: usize = self.corpus.cases.iter().map(|case| case.units.len()).sum();
        Some(format!("with {units} units"))
    }

    fn too_few(&self) -> Option<&'static str> {
        let is_single = self.corpus.cases.len() == 1;
        is_single.then_some("there is no other to take evidence from")
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let ids = self.corpus.cases.iter().map(|case| &*case.name);
        let chosen = ChosenItems::of(ids, only, shard);
        self.begins = chosen.all.first() == chosen.ours.first();
        self.places = chosen.ours;
        chosen.all.len()
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
        let compared: usize = of_each.iter().map(|(variants, ..)| variants.len()).sum();
        if let Some(asked) = self.scorer.asked() {
            let runs = replays.max(repeats);
            let of_noise = match replays {
                0 => 0,
                _ => self.places.len() * (runs * (runs - 1) / 2),
            };
            // Each swap is compared with its donor, too.
            let swaps = of_each.iter().flat_map(|(_, counts, _)| counts);
            let swaps = swaps.filter(|(kind, _)| following::is_swap(kind));
            let donors: usize = swaps.map(|(_, count)| count).sum();
            let calls = ((compared + donors) * repeats + of_noise) * asked.calls();
            listing.invocations.insert("judge (at most)", calls);
        }
        let baselines = self.places.len() * replays.max(repeats);
        listing.invocations.insert("baseline", baselines);
        // The variants of a case have as many turns as the case.
        listing.further_turns = of_each
            .iter()
            .zip(&self.places)
            .map(|((variants, ..), &place)| {
                let calls = replays.max(repeats) + variants.len() * repeats;
                calls * (self.turns_of(place) - 1)
            })
            .sum();
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

/// The planned variants of the cases.
struct Variants<'a> {
    survey: Survey<'a>,
    reader: DecisionReader<'a>,
    plans: BTreeMap<usize, Plan>,
    basis: Basis,
    fingerprint: SectionFingerprint,
}

impl Planned for Variants<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = vec![Step {
            folder: None,
            program: self.survey.settings.program(),
            reader: &self.reader,
        }];
        if let Some(asked) = self.survey.scorer.asked() {
            steps.extend(judging::steps(asked.judge()));
        }
        steps
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let Some((pipeline, judges)) = runners.split_first() else {
            unreachable!("there is a runner for each step")
        };
        Box::new(EvidenceAtWork {
            measurement: Measurement::new(&self.survey, &self.plans, pipeline),
            judged: JudgedPairs::begin(self.survey.scorer, judges),
            planned: self,
        })
    }
}

/// The probe while it runs.
struct EvidenceAtWork<'a> {
    measurement: Measurement<'a>,
    /// Asks the judge of the scorer, if the scorer has one.
    judged: Option<JudgedPairs<'a>>,
    planned: &'a Variants<'a>,
}

impl EvidenceAtWork<'_> {
    /// Asks the judge about the answers so far, if there is a judge.
    fn ask(&mut self) -> anyhow::Result<()> {
        match &mut self.judged {
            Some(judged) => judged.ask(&self.measurement.records(), self.planned.basis.noise_floor),
            None => Ok(()),
        }
    }

    /// How the run ended, including the calls of the judge.
    fn ending(&self) -> Ending {
        let stopped = self.judged.as_ref().is_some_and(JudgedPairs::stopped);
        match self.measurement.ending() {
            Ending::Complete if stopped => Ending::Interrupted,
            ending => ending,
        }
    }
}

impl Probe for EvidenceAtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.measurement.run()?;
        self.ask()
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.measurement.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        let survey = &self.planned.survey;
        let of_ours = wanted.iter().filter_map(|(name, repeats)| {
            // A judge compares two answers of the same repeat, so the case and its variants need the same number of
            // repeats.
            let repeats = match self.judged.is_some() {
                true => Repeats::of_all(repeats.most()).into(),
                false => repeats.clone(),
            };
            Some((survey.corpus.place(name)?, repeats))
        });
        self.measurement.repeat(&of_ours.collect())?;
        self.ask()
    }

    fn findings(&self) -> Findings {
        let mut section = EvidenceSection {
            ending: self.ending(),
            fingerprint: self.planned.fingerprint,
            basis: self.planned.basis.clone(),
            items: self.measurement.records().into(),
        };
        match &self.judged {
            None => findings(section, Some(self.planned.survey.scorer)),
            Some(judged) => {
                judged.note_unscored(&mut section.items, section.basis.noise_floor);
                findings(section, Some(&judged.known()))
            }
        }
    }

    fn text(&self, item: &str, variant: Option<&str>) -> Option<Cow<'_, str>> {
        self.measurement.inputs().find(item, variant)
    }
}
