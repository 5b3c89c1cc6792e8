//! Connects the retrieval probe with the rest of the program.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::compare::{self, RetrievalChange};
use super::documents::{Documents, KnownDocuments};
use super::figures::figures;
use super::measure::{self, HitsReader, Questions};
use super::page::{self, RetrievalRun};
use super::record::{QueryRecord, RetrievalSection, StoredBasis};
use super::{RetrievalKind, RetrievalSettings, answered, golden};
use kelvin_base::notice::Notice;
use kelvin_page::{Chapter, in_one_line};
use kelvin_probe::{ChosenItems, Items, Kind, Planned, Probe, RepeatedItems};
use kelvin_record::{
    AlignedSection, AlignedSections, AnySection, ComparisonForm, Findings, Listing, RankedHits,
    RunView, SectionAnswers, SectionFingerprint, SectionForm, SectionKind, Shard, SharedMap,
    Surroundings, Viewpoint, WantedRepeats,
};
use kelvin_run::config::Config;
use kelvin_run::{Runner, Step};

impl Kind for RetrievalKind {
    fn how_to_configure(&self) -> &'static str {
        "add a section `retrieval`"
    }

    fn read<'c>(&self, config: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        let settings: &RetrievalSettings = config
            .settings()
            .expect("a kind reads the items of a configuration that asks for it");
        config.demand_file(&["retrieval", "golden"], &settings.golden, "golden set")?;
        if let Some(corpus) = &settings.corpus {
            config.demand_file(&["retrieval", "corpus"], corpus, "corpus")?;
        }
        let mut corpus = match &settings.corpus {
            Some(corpus) => Some(Documents::load(&config.root.join(corpus))?),
            None => None,
        };
        let exist = corpus
            .as_ref()
            .map(|corpus| (&corpus.documents, &corpus.chunks));
        let golden = golden::read(
            &config.root.join(&settings.golden),
            &settings.golden_fields,
            exist,
        )?;
        if let Some(corpus) = &mut corpus {
            corpus.keep_titles(&golden.queries);
        }
        Ok(Box::new(Queries {
            config,
            settings,
            unclear: golden.unclear_cells(),
            separated: golden.separated_cells(),
            questions: Questions {
                places: (0..golden.queries.len()).collect(),
                golden: golden.queries,
                corpus,
                repeats: config.repeats.get(),
            },
        }))
    }
}

impl SectionKind for RetrievalKind {
    fn name(&self) -> &'static str {
        "retrieval"
    }

    fn question(&self) -> &'static str {
        "Does the search find what the golden set says it should?"
    }

    fn metric_names(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("answered_rate", "answers what can be answered"),
            ("citation_coverage", "cites what it says"),
            ("citation_precision", "cites the right passages"),
            ("empty_result_rate", "finds nothing at all"),
            ("failed_queries", "queries without a result"),
            ("failure_rate", "calls without an answer"),
            ("found", "finds what is expected"),
            ("groundedness", "says what it must, and nothing forbidden"),
            ("map", "ranks the relevant hits first"),
            ("mrr", "how early the expected hit stands"),
            ("ndcg", "ranks the relevant hits first"),
            ("precision", "hits that are relevant"),
            ("recall_doc", "expected documents that are found"),
            ("refusal_correctness", "refuses what it should refuse"),
            ("success", "finds the expected chunk"),
            ("total_queries", "queries"),
        ]
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("query", "queries")
    }

    fn fact_names(&self) -> (&'static str, &'static str) {
        ("Queries", "Command of the queries")
    }

    fn form(&self) -> SectionForm {
        SectionForm::of::<RetrievalSection>()
    }

    fn align(
        &self,
        base: &dyn AnySection,
        head: &dyn AnySection,
        around: Surroundings,
        reading: Viewpoint,
    ) -> Option<AlignedSections> {
        let [old, new] = [base, head].map(|side| side.as_kind::<RetrievalSection>());
        let (old, new) = (old?, new?);
        let (base, head, change) = compare::align(old, new, around, reading);
        let side = |side: compare::Aligned| AlignedSection {
            section: Box::new(side.section),
            metrics: side.metrics,
        };
        Some(AlignedSections {
            base: side(base),
            head: side(head),
            items: Arc::new(change),
        })
    }

    fn comparison_form(&self) -> Option<ComparisonForm> {
        let meaning = "The queries of the retrieval probe, where both sides have it.";
        Some(ComparisonForm::of::<RetrievalChange>(meaning))
    }

    fn chapter<'a>(&self, section: &'a dyn AnySection, run: RunView<'a>) -> Chapter<'a> {
        let section = section.own::<RetrievalSection>();
        page::chapter(RetrievalRun {
            metrics: run.metrics,
            depth: section.basis.figures.depth(),
            citations: section.basis.figures.citations,
            queries: &section.items,
        })
    }

    fn failure(&self, section: &dyn AnySection, item: &str) -> Option<String> {
        let section = section.as_kind::<RetrievalSection>()?;
        let runs = &section.items.get(item)?.runs;
        let mut failures = runs.iter().filter_map(|run| run.failure.as_deref());
        Some(in_one_line(failures.next()?))
    }

    fn answered<'a>(&self, section: &'a dyn AnySection) -> Option<SectionAnswers<'a>> {
        let section = section.as_kind::<RetrievalSection>()?;
        Some(answered::section_answers(section))
    }

    fn ranked_hits(
        &self,
        (base, head): (&dyn AnySection, &dyn AnySection),
        item: &str,
    ) -> Option<RankedHits> {
        let base = base.as_kind::<RetrievalSection>()?;
        let head = head.as_kind::<RetrievalSection>()?;
        compare::ranked((base, head), item)
    }

    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<RetrievalSection>();
        findings(*section, Vec::new())
    }
}

/// The figures of a section.
fn findings(section: RetrievalSection, of_the_run: Vec<Notice>) -> Findings {
    Findings {
        metrics: figures(&section),
        notices: measure::notices(&section),
        section: Box::new(section),
        of_the_run,
        compared: true,
    }
}

/// The queries of a golden set.
struct Queries<'c> {
    config: &'c Config,
    settings: &'c RetrievalSettings,
    questions: Questions,
    /// A notice about cells of the golden set that may name several documents and are read as one.
    unclear: Option<Notice>,
    /// A notice about cells that are read as several.
    separated: Option<Notice>,
}

impl Items for Queries<'_> {
    fn ids(&self) -> Vec<&str> {
        let golden = self.questions.golden.iter();
        golden.map(|query| query.id.as_str()).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        self.unclear.iter().cloned().collect()
    }

    fn remarks(&self) -> Vec<Notice> {
        self.separated.iter().cloned().collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.config.root.join(&self.settings.golden)]
    }

    fn fingerprint(&self) -> SectionFingerprint {
        SectionFingerprint {
            items: Some(self.questions.digest()),
            command: Some(self.settings.program().digest(self.config)),
        }
    }

    fn choose(&mut self, only: &[String], shard: Option<Shard>) -> usize {
        let ids = self.questions.golden.iter().map(|query| query.id.as_str());
        let chosen = ChosenItems::of(ids, only, shard);
        self.questions.places = chosen.ours;
        chosen.all.len()
    }

    fn list(&self, _with_digests: bool) -> Listing {
        let mut listing = Listing::default();
        let asked = self.questions.places.len() * self.questions.repeats;
        listing.invocations.insert("query", asked);
        listing
    }

    fn plan(&self) -> Box<dyn Planned + '_> {
        Box::new(PlannedQueries {
            queries: self,
            reader: HitsReader {
                fields: &self.settings.output_fields,
            },
        })
    }
}

/// The planned queries. There is nothing to plan: each query is sent unchanged.
struct PlannedQueries<'a> {
    queries: &'a Queries<'a>,
    reader: HitsReader<'a>,
}

impl Planned for PlannedQueries<'_> {
    fn steps(&self) -> Vec<Step<'_>> {
        vec![Step {
            folder: None,
            program: self.queries.settings.program(),
            reader: &self.reader,
        }]
    }

    fn begin<'r>(&'r self, runners: &'r [Runner<'r>]) -> Box<dyn Probe + 'r> {
        let [pipeline] = runners else {
            unreachable!("there is a runner for each step")
        };
        let questions = &self.queries.questions;
        Box::new(RetrievalAtWork {
            answers: RepeatedItems::new(pipeline, "queries", questions.repeats, questions.inputs()),
            records: measure::queries(questions).into(),
            unread: BTreeSet::new(),
            queries: self.queries,
        })
    }
}

/// The probe while it runs.
struct RetrievalAtWork<'a> {
    queries: &'a Queries<'a>,
    answers: RepeatedItems<'a>,
    /// The records of the results; the outputs themselves are dropped.
    records: SharedMap<QueryRecord>,
    /// The fields of outputs that are called `grounded` and were not read.
    unread: BTreeSet<String>,
}

impl RetrievalAtWork<'_> {
    fn take_in(&mut self) {
        let asked = (&self.queries.questions, self.queries.settings);
        let kept = (&mut self.records, &mut self.unread);
        measure::take_in(kept, asked, &mut self.answers);
    }
}

impl Probe for RetrievalAtWork<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        self.answers.run()?;
        self.take_in();
        Ok(())
    }

    fn rehearse(&mut self) -> anyhow::Result<()> {
        self.answers.rehearse()
    }

    fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.answers.repeat(wanted)?;
        self.take_in();
        Ok(())
    }

    fn findings(&self) -> Findings {
        let Queries {
            settings,
            questions,
            ..
        } = self.queries;
        let section = RetrievalSection {
            ending: self.answers.ending(),
            fingerprint: self.queries.fingerprint(),
            basis: StoredBasis {
                figures: measure::basis(questions, settings),
                unknown: Vec::new(),
                corpus: questions.corpus.as_ref().and_then(KnownDocuments::of),
            },
            items: self.records.clone(),
        };
        let notices = measure::notices_of_the_run(&self.answers, &self.unread);
        findings(section, notices)
    }
}
