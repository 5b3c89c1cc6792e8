//! Asks every query of the golden set and keeps what came back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::RetrievalSettings;
use super::golden::GoldenQuery;
use super::output::{self, Output};
use super::record::{Citations, QueryRecord, RetrievalBasis, RetrievalRecord, Retrieved};
use crate::digest::{Digest, Fields};
use crate::notice::{Code, Notice};
use crate::page::listed;
use crate::probe::Ending;
use crate::probe::retrieval::documents::Documents;
use crate::run::kept::{self, Times};
use crate::run::{Outcome, Runner, Task};

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    /// The golden set; ids are distinct.
    pub(crate) golden: Vec<GoldenQuery>,
    /// Which of them are asked, by place.
    pub(crate) places: Vec<usize>,
    /// What exists, where that is known.
    pub(crate) corpus: Option<Documents>,
    /// How often each is asked.
    pub(crate) repeats: usize,
}

impl Questions {
    /// The digest of everything that is asked and known.
    pub(crate) fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/golden-set/v1");
        let add =
            |fields: Fields, query: &GoldenQuery| fields.field("query", query.digest().bytes());
        let fields = self.golden.iter().fold(fields, add);
        match self.corpus.as_ref().and_then(|corpus| corpus.digest) {
            Some(corpus) => fields.field("corpus", corpus.bytes()).digest(),
            None => fields.digest(),
        }
    }
}

/// A measurement under way.
pub(crate) struct Asking<'a> {
    questions: &'a Questions,
    settings: &'a RetrievalSettings,
    runner: &'a Runner<'a>,
    /// Queries that are asked more often than the others, by id.
    more: BTreeMap<String, usize>,
    outcomes: BTreeMap<(Arc<str>, usize), Outcome>,
    ending: Ending,
}

impl<'a> Asking<'a> {
    /// Nothing has been asked yet.
    pub(crate) fn new(
        questions: &'a Questions,
        settings: &'a RetrievalSettings,
        runner: &'a Runner<'a>,
    ) -> Self {
        Self {
            questions,
            settings,
            runner,
            more: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            ending: Ending::Interrupted,
        }
    }

    /// Asks every query.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(crate) fn run(&mut self) -> anyhow::Result<()> {
        self.ask()?;
        let answered = self.outcomes.values().any(|outcome| outcome.result.is_ok());
        self.ending = match (self.runner.stopped(), answered) {
            (true, _) => Ending::Interrupted,
            (false, false) if !self.questions.places.is_empty() => Ending::Failed,
            (false, _) => Ending::Complete,
        };
        Ok(())
    }

    /// Asks some queries again until each was asked `repeats` times.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(crate) fn repeat(&mut self, wanted: &BTreeMap<String, usize>) -> anyhow::Result<()> {
        for (id, repeats) in wanted {
            let so_far = self.more.entry(id.clone()).or_default();
            *so_far = (*repeats).max(*so_far);
        }
        self.ask()?;
        if self.runner.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Writes every input and asks nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    pub(crate) fn rehearse(&mut self) -> anyhow::Result<()> {
        let tasks = self.todo();
        let texts = self.texts();
        self.runner
            .write_inputs(&tasks, &|task: &Task| text(&texts, task))?;
        self.ending = Ending::DryRun;
        Ok(())
    }

    fn ask(&mut self) -> anyhow::Result<()> {
        let tasks = self.todo();
        let texts = self.texts();
        let done = self
            .runner
            .run_all("queries", &tasks, &|task: &Task| text(&texts, task))?;
        for (task, outcome) in tasks.into_iter().zip(done) {
            if let Some(outcome) = outcome {
                self.outcomes.insert((task.case, task.repeat), outcome);
            }
        }
        Ok(())
    }

    fn asked(&self) -> impl Iterator<Item = &'a GoldenQuery> {
        let questions = self.questions;
        questions
            .places
            .iter()
            .map(|place| &questions.golden[*place])
    }

    fn repeats(&self, id: &str) -> usize {
        let more = self.more.get(id).copied().unwrap_or_default();
        more.max(self.questions.repeats)
    }

    fn todo(&self) -> Vec<Task> {
        let mut tasks = Vec::new();
        for query in self.asked() {
            let case: Arc<str> = query.id.as_str().into();
            for repeat in 1..=self.repeats(&query.id) {
                if !self.outcomes.contains_key(&(Arc::clone(&case), repeat)) {
                    tasks.push(Task {
                        case: Arc::clone(&case),
                        variant: None,
                        repeat,
                    });
                }
            }
        }
        tasks
    }

    fn texts(&self) -> BTreeMap<&'a str, String> {
        let text = |query: &'a GoldenQuery| {
            let input = json!({ "id": query.id, "query": query.query });
            (query.id.as_str(), input.to_string() + "\n")
        };
        self.asked().map(text).collect()
    }

    /// The queries whose repeats were answered from memory.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let times: Vec<Option<Times>> = self
            .asked()
            .map(|query| {
                let of = |repeat| self.outcomes.get(&(query.id.as_str().into(), repeat));
                let outcomes = (1..=self.repeats(&query.id)).map_while(of);
                Times::of(&[outcomes.collect()])
            })
            .collect();
        let queries = self.asked().zip(kept::are_kept(&times));
        let notices = queries
            .filter(|(_, is_kept)| *is_kept)
            .map(|(query, _)| kept::notice(&query.id).kind("retrieval"));
        notices.collect()
    }

    /// How it ended.
    pub(crate) const fn ending(&self) -> Ending {
        self.ending
    }

    /// What came back so far, by query.
    pub(crate) fn queries(&self) -> BTreeMap<String, QueryRecord> {
        let record = |query: &GoldenQuery| {
            let runs = (1..=self.repeats(&query.id))
                .filter_map(|repeat| self.outcomes.get(&(query.id.as_str().into(), repeat)))
                .map(|outcome| self.retrieved(query, outcome));
            let record = QueryRecord {
                input: query.digest(),
                by_document: Some(query.without_chunks().digest()),
                query: query.query.clone(),
                folder: folder(&query.id),
                labels: output::labels(query, self.questions.corpus.as_ref()),
                runs: runs.collect(),
            };
            (query.id.clone(), record)
        };
        self.asked().map(record).collect()
    }

    /// How the figures are made.
    pub(crate) fn basis(&self) -> RetrievalBasis {
        RetrievalBasis {
            k: self.settings.k.clone(),
            cut_off: self.settings.cut_off,
            relevance_level: 1,
            citations: match self.questions.corpus {
                Some(_) => Citations::Corpus,
                None => Citations::Hits,
            },
            span_rule: self.settings.span_rule,
        }
    }

    fn retrieved(&self, query: &GoldenQuery, outcome: &Outcome) -> Retrieved {
        let deepest = self.settings.k.iter().copied().max().unwrap_or(0);
        let most = deepest.max(self.settings.cut_off);
        let read = outcome.result.as_ref().map(Output::read);
        let mut retrieved = match read {
            Ok(Ok(output)) => output.judged(query, self.questions.corpus.as_ref(), most),
            Ok(Err(_)) => output::unranked(query),
            Err(failure) => Retrieved {
                failure: Some(failure.clone()),
                ..output::unranked(query)
            },
        };
        if retrieved.ran() && retrieved.chunker_version.is_none() {
            retrieved
                .chunker_version
                .clone_from(&self.settings.chunker_version);
        }
        retrieved
    }
}

/// Where the files of a query are; none where its id is no name of a folder.
fn folder(id: &str) -> Option<String> {
    let is_folder = id != "." && id != ".." && id.len() <= 255 && !id.contains(['/', '\0']);
    is_folder.then(|| format!("retrieval/{id}/baseline"))
}

fn text<'t>(texts: &BTreeMap<&str, String>, task: &Task) -> Cow<'t, str> {
    Cow::Owned(texts.get(&*task.case).cloned().unwrap_or_default())
}

/// What there is to tell of a record beside its figures.
pub(crate) fn notices(record: &RetrievalRecord) -> Vec<Notice> {
    let mut notices = Vec::new();
    let total = record.queries.len();
    let mut tell = |code, ids: Vec<&str>, what: &str| {
        if !ids.is_empty() {
            let text = format!("{} of {total} queries {what}: {}", ids.len(), listed(&ids));
            notices.push(Notice::new(code, text).counts(total, total - ids.len()));
        }
    };
    let those = |is_it: &dyn Fn(&Retrieved) -> bool| -> Vec<&str> {
        let queries = record.queries.iter();
        queries
            .filter(|(_, query)| query.runs.iter().any(is_it))
            .map(|(id, _)| id.as_str())
            .collect()
    };
    let failed = those(&|run| run.failure.is_some());
    tell(
        Code::QueriesFailed,
        failed,
        "failed, and count 0 in the ranking measures",
    );
    let missing = those(&|run| run.missing);
    tell(
        Code::MissingQueries,
        missing,
        "are not in the run, and count 0",
    );
    if record.chunker_versions.len() > 1 {
        let versions: Vec<&str> = record.chunker_versions.iter().map(String::as_str).collect();
        let text = format!(
            "the answers name {} versions of the chunker: {}; hits are compared by chunk only where \
             base and head name the same",
            versions.len(),
            listed(&versions)
        );
        notices.push(Notice::new(Code::ChunkerVersions, text));
    }
    if !record.unknown.is_empty() {
        let unknown: Vec<&str> = record.unknown.iter().map(String::as_str).collect();
        let text = format!(
            "{} queries of the run are not judged and in no figure: {}",
            unknown.len(),
            listed(&unknown)
        );
        notices.push(Notice::new(Code::UnknownQueries, text));
    }
    notices
}
