//! The questions of the golden set, and the records of the results.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::RetrievalSettings;
use super::fields::OutputFields;
use super::golden::GoldenQuery;
use super::output::{self, Output};
use super::record::{
    Citations, QueryRecord, RetrievalBasis, RetrievalSection, Retrieved, StrayCitations,
    chunker_versions,
};
use crate::documents::Documents;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{are, listed, safe};
use kelvin_probe::{RepeatedItems, answer};
use kelvin_record::SharedMap;
use kelvin_run::targets::Reply;
use kelvin_run::{Outcome, Reader, kept};

/// The questions of a run.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    /// The golden set; ids are distinct.
    pub golden: Vec<GoldenQuery>,
    /// The indices in the golden set of the queries that are run.
    pub places: Vec<usize>,
    /// The documents and chunks that exist, if they are known.
    pub corpus: Option<Documents>,
    /// How often each query is run.
    pub repeats: usize,
}

impl Questions {
    /// The digest of everything that is asked and known. The order of the queries is no part of it.
    pub(crate) fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/golden-set/v1");
        let mut golden: Vec<&GoldenQuery> = self.golden.iter().collect();
        golden.sort_by_key(|query| &query.id);
        let add =
            |fields: Fields, query: &GoldenQuery| fields.field("query", query.digest().bytes());
        let fields = golden.into_iter().fold(fields, add);
        match self.corpus.as_ref().and_then(|corpus| corpus.digest) {
            Some(corpus) => fields.field("corpus", corpus.bytes()).digest(),
            None => fields.digest(),
        }
    }

    /// The queries that are asked.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &GoldenQuery> {
        self.places.iter().map(|place| &self.golden[*place])
    }

    /// The same queries in the form for the pipeline.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.asked()
            .map(|query| (query.id.as_str(), Cow::Owned(query.input())))
    }
}

/// Notices about the queries whose repeats were answered from the pipeline's own cache, and about fields of the outputs
/// that were not read.
pub(crate) fn notices_of_the_run(
    answers: &RepeatedItems<'_>,
    unread: &BTreeSet<String>,
) -> Vec<Notice> {
    let notice = |id| kept::notice(id).kind("retrieval");
    let kept = answers.kept().into_iter().map(notice);
    let unread = unread.iter().map(|path| {
        let path = safe::line(path);
        let text = format!(
            "outputs have `{path}`, which is not read: an answer that is a text counts as given unless `grounded` beside it \
             is false; if `{path}` is true for an answer and false for a refusal, write `retrieval: {{output_fields: \
             {{grounded: {path}}}}}`"
        );
        Notice::new(Code::own("unread_grounded"), text)
    });
    kept.chain(unread).collect()
}

/// The records of the queries before they are run, by id.
pub(crate) fn queries(questions: &Questions) -> BTreeMap<String, QueryRecord> {
    let record = |query: &GoldenQuery| {
        let record = QueryRecord {
            input: query.digest(),
            by_document: Some(query.without_chunks().digest()),
            of_answer: Some(query.of_answer()),
            query: query.query.clone(),
            folder: folder(&query.id),
            expected_titles: output::titles(query, questions.corpus.as_ref()),
            labels: output::labels(query, questions.corpus.as_ref()),
            runs: Vec::new(),
        };
        (query.id.clone(), record)
    };
    questions.asked().map(record).collect()
}

/// Adds new results to the records of the queries, and to `unread` the fields called `grounded` that were not read.
pub(crate) fn take_in(
    (records, unread): (&mut SharedMap<QueryRecord>, &mut BTreeSet<String>),
    (questions, settings): (&Questions, &RetrievalSettings),
    answers: &mut RepeatedItems<'_>,
) {
    let asked = questions.asked().map(|query| (query.id.as_str(), query));
    let by_id: BTreeMap<&str, &GoldenQuery> = asked.collect();
    let records = &mut **records;
    answers.take(|id, outcome| {
        let record = records.get_mut(id).expect("each query has a record");
        // Most queries are run once, and there are thousands of them.
        record.runs.reserve_exact(1);
        let run = retrieved(questions, settings, by_id[id], outcome, unread);
        record.runs.push(run);
    });
}

/// The rules for the figures.
pub(crate) fn basis(questions: &Questions, settings: &RetrievalSettings) -> RetrievalBasis {
    RetrievalBasis {
        k: settings.k.clone(),
        cut_off: settings.cut_off,
        relevance_level: 1,
        citations: match questions.corpus {
            Some(_) => Citations::Corpus,
            None => Citations::Hits,
        },
        span_rule: settings.span_rule,
    }
}

fn retrieved(
    questions: &Questions,
    settings: &RetrievalSettings,
    query: &GoldenQuery,
    outcome: &Outcome,
    unread: &mut BTreeSet<String>,
) -> Retrieved {
    let deepest = settings.k.iter().copied().max().unwrap_or(0);
    let most = deepest.max(settings.cut_off);
    let read = outcome.result.as_ref().map(Output::of_held);
    let mut retrieved = match read {
        Ok(Ok(output)) => {
            unread.extend(output.unread_grounded().map(str::to_owned));
            output.judged(query, questions.corpus.as_ref(), (most, settings.span_rule))
        }
        Ok(Err(_)) => output::unranked(query, questions.corpus.as_ref()),
        Err(failure) => Retrieved {
            failure: Some(failure.clone()),
            ..output::unranked(query, questions.corpus.as_ref())
        },
    };
    if retrieved.ran() && retrieved.chunker_version.is_none() {
        retrieved
            .chunker_version
            .clone_from(&settings.chunker_version);
    }
    retrieved
}

/// The folder with the files of a query; none if the id cannot be the name of a folder.
fn folder(id: &str) -> Option<String> {
    let is_folder = id != "." && id != ".." && id.len() <= 255 && !id.contains(['/', '\0']);
    is_folder.then(|| format!("retrieval/{id}/baseline"))
}

/// Notices about a section, besides its figures.
pub fn notices(section: &RetrievalSection) -> Vec<Notice> {
    let mut notices = Vec::new();
    let total = section.items.len();
    let mut tell = |code, ids: Vec<&str>, what: &str| {
        if !ids.is_empty() {
            let text = format!("{} of {total} queries {what}: {}", ids.len(), listed(&ids));
            notices.push(Notice::new(code, text).counts(total, total - ids.len()));
        }
    };
    let those = |is_it: &dyn Fn(&Retrieved) -> bool| -> Vec<&str> {
        let queries = section.items.iter();
        queries
            .filter(|(_, query)| query.runs.iter().any(is_it))
            .map(|(id, _)| id.as_str())
            .collect()
    };
    let failures = |query: &QueryRecord| {
        let runs = query.runs.iter();
        runs.filter(|run| run.failure.is_some()).count()
    };
    let (failed, in_part): (Vec<&str>, Vec<&str>) = those(&|run| run.failure.is_some())
        .into_iter()
        .partition(|id| {
            let query = &section.items[*id];
            failures(query) == query.runs.len()
        });
    let count = |ids: &[&str]| if ids.len() == 1 { "counts" } else { "count" };
    let fails = format!("failed, and {} 0 in the ranking measures", count(&failed));
    tell(Code::own("queries_failed"), failed, &fails);
    // The results of a query in its other runs count.
    let shares = in_part.iter().map(|id| &section.items[*id]);
    let shares: BTreeSet<(usize, usize)> = shares
        .map(|query| (failures(query), query.runs.len()))
        .collect();
    let which = match shares.first() {
        Some((failed, runs)) if shares.len() == 1 => format!("{failed} of {runs}"),
        _ => "some of their".to_owned(),
    };
    tell(
        Code::own("queries_failed"),
        in_part,
        &format!("failed in {which} runs, which count 0 in the ranking measures"),
    );
    let missing = those(&|run| run.missing);
    let (are, count) = (are(missing.len()), count(&missing));
    let is_missing = format!("{are} not in the run, and {count} 0");
    tell(Code::own("missing_queries"), missing, &is_missing);
    let with_stray = |is_it: &dyn Fn(StrayCitations<'_>) -> bool| -> Vec<&str> {
        let queries = section.items.iter();
        let queries = queries.filter(|(_, query)| {
            let mut runs = query.runs.iter();
            runs.any(|run| is_it(run.stray(&query.labels)))
        });
        queries.map(|(id, _)| id.as_str()).collect()
    };
    tell(
        Code::own("citations_not_retrieved"),
        with_stray(&|stray| !stray.not_retrieved.is_empty()),
        "got an answer that cites what was not retrieved",
    );
    tell(
        Code::own("citations_elsewhere"),
        with_stray(&|stray| !stray.elsewhere.is_empty()),
        "got an answer that cites no expected document, although one was found",
    );
    let items = section.items.iter();
    let cut_anew = items.filter(|(_, query)| query.labels.cut_anew);
    let cut_anew: Vec<&str> = cut_anew.map(|(id, _)| id.as_str()).collect();
    tell(
        Code::own("stale_labels"),
        cut_anew,
        "expect chunks that the corpus does not have, and are judged by the documents and spans that they name; where the \
         documents were cut anew, name the new chunks, or give `expected_spans`",
    );
    let versions: Vec<&str> = chunker_versions(section).into_iter().collect();
    if versions.len() > 1 {
        let text = format!(
            "the answers name {} versions of the chunker: {}; hits are compared by chunk only where \
             base and head name the same",
            versions.len(),
            listed(&versions)
        );
        notices.push(Notice::new(Code::own("chunker_versions"), text));
    }
    if !section.basis.unknown.is_empty() {
        let unknown: Vec<&str> = section.basis.unknown.iter().map(String::as_str).collect();
        let what = match unknown.len() {
            1 => "1 query of the run is".to_owned(),
            many => format!("{many} queries of the run are"),
        };
        let text = format!("{what} not judged and in no figure: {}", listed(&unknown));
        notices.push(Notice::new(Code::own("unknown_queries"), text));
    }
    notices
}

/// Reads the whole output, if the retrieval probe can parse it. Which parts are judged depends on the query.
pub(crate) struct HitsReader<'s> {
    /// The names that the pipeline has for the fields of its output.
    pub(crate) fields: &'s OutputFields,
}

impl Reader for HitsReader<'_> {
    fn digest(&self) -> Digest {
        let reader = Fields::of("kelvin/reader/hits/v2");
        self.fields.add_to(reader).digest()
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let output = answer::whole(output)?;
        let read = self.fields.renamed(output).and_then(|output| {
            Output::read(&output)?;
            Ok(output)
        });
        read.map_err(|what| {
            Failure::new(FailureKind::DecisionRefused, format!("its output {what}"))
        })
    }

    fn held(&self, value: Value) -> Value {
        Output::held(&value)
    }

    fn compared(&self, value: Value) -> Value {
        // The reader has parsed this output already.
        Output::read(&value).map_or(value, |output| output.deciding())
    }
}
