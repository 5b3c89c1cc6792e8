//! The part of a page about a run of the retrieval probe.

mod queries;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::measures::CITATIONS;
use super::{AnswerRecord, Citations, Labels, QueryRecord, Retrieved, figures};
use kelvin_page::{
    Block, Chapter, Column, Estimate, FailedInvocation, FigureTable, Headword, Phrase, Table,
    TableRow, listed, safe,
};
use kelvin_record::{Metric, estimate, family, spread};

/// The order of the measures, without their `@k`.
const ORDER: [&str; 15] = [
    "success",
    "found",
    "mrr",
    "recall_doc",
    "precision",
    "ndcg",
    "map",
    "citation_coverage",
    "citation_precision",
    "groundedness",
    "answered_rate",
    "refusal_correctness",
    "empty_result_rate",
    "total_queries",
    "failed_queries",
];

/// How the measures are computed.
const NOTE: &str = "Means over the queries that count for each; a failed query counts 0 in the \
                    measures of ranking.";
/// How many queries a text lists.
const LISTED: usize = 30;
/// How many columns of a question or an answer a table cell shows.
const CELL: usize = 120;
/// How many hits a table cell shows.
const FIRST_HITS: usize = 3;

/// The requirements for every query of a run, besides those of its own labels.
#[derive(Clone, Copy)]
struct Demands {
    /// An expected hit must be among this many first hits.
    depth: usize,
    /// Whether there must be an answer. A pipeline that only searches need not give one.
    answers: bool,
    /// Whether an answer must cite. A pipeline that never cites need not.
    citations: bool,
    /// The allowed targets of citations.
    lead_to: Citations,
}

impl RetrievalRun<'_> {
    fn demands(&self) -> Demands {
        Demands {
            depth: self.depth,
            answers: figures::answers(self.queries),
            citations: figures::cites(self.queries),
            lead_to: self.citations,
        }
    }
}

/// The data for a page of the retrieval probe.
#[derive(Clone, Copy)]
pub struct RetrievalRun<'a> {
    /// Every figure of the run, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// How many hits were examined.
    pub depth: usize,
    /// The allowed targets of citations.
    pub citations: Citations,
    /// Every query, by id.
    pub queries: &'a BTreeMap<String, QueryRecord>,
}

/// The part of the page of a whole run about the retrieval probe.
pub fn chapter<'a>(run: RetrievalRun<'a>) -> Chapter<'a> {
    let mut chapter = Chapter::new(Headword {
        word: "retrieval",
        title: "Retrieval",
        meaning: "how much is found of what there is to find",
        is_judgement: false,
    });
    chapter.scope = vec![counted(run.queries.len())];
    chapter.statements = statements::statements(run);
    chapter.spread = spread("mrr", "queries", run.metrics.get("retrieval.mrr"));
    let rows = rows(run.metrics);
    chapter.measures = (!rows.is_empty()).then_some(FigureTable {
        in_bars: false,
        title: "Retrieval",
        note: NOTE,
        rows,
    });
    chapter.lists = poor(run).into_iter().collect();
    chapter.first_failure = first_failure(run.queries);
    chapter.heat = queries::ranks(run.queries, run.depth);
    chapter.items = Some(queries::items(run));
    chapter.method = vec![
        Block::Heading(Phrase::text("Retrieval")),
        Block::Text(vec![Phrase::text(NOTE)]),
    ];
    chapter
}

/// The first call that failed, sorted by id.
fn first_failure(queries: &BTreeMap<String, QueryRecord>) -> Option<FailedInvocation<'_>> {
    queries.iter().find_map(|(id, query)| {
        let failure = query.runs.iter().find_map(|run| run.failure.as_deref())?;
        Some(FailedInvocation {
            item: id,
            place: "the query",
            failure,
            folder: query.folder.as_ref().map(PathBuf::from),
        })
    })
}

/// A number of queries, in words.
fn counted(queries: usize) -> String {
    match queries {
        1 => "1 query".to_owned(),
        more => format!("{more} queries"),
    }
}

/// The figures with their names; `success@k` is also known as `hit@k`.
fn rows(metrics: &BTreeMap<String, Metric>) -> Vec<(Phrase, Estimate<'_>)> {
    let mut rows: Vec<_> = family(metrics, "retrieval");
    // Nobody requires citations of a pipeline that never cites, so no zeros are shown for them.
    rows.retain(|(name, metric)| metric.gated || !CITATIONS.contains(name));
    rows.sort_by_key(|(name, _)| place(name));
    let shown = rows.into_iter().map(|(name, metric)| {
        let shown = match name.strip_prefix("success@") {
            Some(k) => format!("{name} (hit@{k})"),
            None => name.to_owned(),
        };
        let mut figure = estimate(Some(metric));
        if name.ends_with("_queries") {
            figure.shown = metric.value.unwrap_or_default().to_string();
        }
        (Phrase::text(shown), figure)
    });
    shown.collect()
}

/// The sort key of a figure: its measure, then its `k` as a number.
fn place(name: &str) -> (usize, usize) {
    let (measure, k) = name.split_once('@').unwrap_or((name, "0"));
    let at = ORDER.iter().position(|known| *known == measure);
    (at.unwrap_or(ORDER.len()), k.parse().unwrap_or(0))
}

/// Queries with bad results, by id, each with its problem.
fn poor(run: RetrievalRun<'_>) -> Option<Table> {
    let demands = run.demands();
    let rows = run.queries.iter().filter_map(|(id, query)| {
        let runs = query.runs.iter();
        let poor = runs.map(|run| (run, wrong(&query.labels, run, demands)));
        let poor: Vec<(&Retrieved, Vec<String>)> =
            poor.filter(|(_, wrong)| !wrong.is_empty()).collect();
        let (first, _) = poor.first()?;
        let mut wrong: Vec<&str> = Vec::new();
        for what in poor.iter().flat_map(|(_, wrong)| wrong) {
            if !wrong.contains(&what.as_str()) {
                wrong.push(what);
            }
        }
        Some(TableRow::new([
            Phrase::of_name(id),
            shown(&query.query),
            first.answer.as_ref().map_or_else(|| shown(""), answer),
            first_hits(first),
            Phrase::default().quote(wrong.join("; ")),
        ]))
    });
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!(
            "Queries that did not do as they should ({})",
            rows.len()
        )),
        columns: vec![
            Column::text("query"),
            Column::text("asked"),
            Column::text("answered"),
            Column::text("first hits"),
            Column::text("what"),
        ],
        rows,
        most: Some(LISTED),
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

/// The rank of the first expected chunk if chunks are expected, otherwise of the first expected document.
fn first_rank(labels: &Labels, run: &Retrieved) -> Option<u32> {
    match labels.chunks {
        true => run.rank,
        false => run.docs.first(),
    }
}

/// An external text, shortened for a table cell.
fn shown(text: &str) -> Phrase {
    match safe::cut(text, CELL) {
        empty if empty.is_empty() => Phrase::text("–"),
        text => Phrase::default().quote(text),
    }
}

/// The answer, in short.
fn answer(answer: &AnswerRecord) -> Phrase {
    let text = shown(&answer.text.shown());
    match answer.grounded {
        true => text,
        false => Phrase::text("refused: ").then(text),
    }
}

/// The first hits with their titles.
fn first_hits(run: &Retrieved) -> Phrase {
    let first = run.hits.iter().take(FIRST_HITS).enumerate();
    let all = first.fold(Phrase::default(), |all, (at, hit)| {
        let all = if at == 0 { all } else { all.and("; ") };
        let all = all.name(safe::cut_middle(&hit.name(), CELL));
        match &hit.title {
            Some(title) => all.and(": ").quote(title.clone()),
            None => all,
        }
    });
    if all.is_empty() { shown("") } else { all }
}

/// All problems of a run of a query.
fn wrong(labels: &Labels, run: &Retrieved, demands: Demands) -> Vec<String> {
    if run.missing {
        return vec!["not in the run".to_owned()];
    }
    if let Some(failure) = &run.failure {
        return vec![format!("failed: {}", failure.message)];
    }
    let mut wrong = Vec::new();
    let depth = demands.depth;
    let found = first_rank(labels, run).is_some_and(|rank| rank as usize <= depth);
    if (labels.chunks || labels.docs) && !found {
        wrong.push(format!("no expected hit among the first {depth}"));
    }
    let Some(answer) = &run.answer else {
        if labels.wants_an_answer() && demands.answers {
            wrong.push("no answer, and should have been answered".to_owned());
        }
        return wrong;
    };
    if labels.refuse && answer.grounded {
        wrong.push("answered, and should have been refused".to_owned());
    }
    if labels.wants_an_answer() && !answer.grounded {
        wrong.push("refused, and should have been answered".to_owned());
    }
    let quoted = |what: &str, texts: &[String]| {
        (!texts.is_empty()).then(|| format!("{what} {}", texts.join(", ")))
    };
    wrong.extend(citations(labels, run, answer, demands));
    if labels.content {
        wrong.extend(quoted("the answer lacks", &answer.lacks));
        wrong.extend(quoted("the answer says", &answer.forbidden));
    }
    wrong
}

/// The problem in the citations of an answer that claims to use the hits.
fn citations(
    labels: &Labels,
    run: &Retrieved,
    answer: &AnswerRecord,
    demands: Demands,
) -> Vec<String> {
    if !answer.grounded {
        return Vec::new();
    }
    if answer.citations == 0 {
        let is_asked = demands.citations;
        return is_asked
            .then(|| "no citation".to_owned())
            .into_iter()
            .collect();
    }
    let broken: BTreeSet<&str> = answer.broken.iter().map(String::as_str).collect();
    let stray = run.stray(labels);
    let not_retrieved: BTreeSet<String> =
        stray.not_retrieved.iter().map(|one| one.name()).collect();
    let not_retrieved = not_retrieved.iter().map(String::as_str);
    let (nowhere, not_retrieved): (Vec<&str>, Vec<&str>) = match demands.lead_to {
        Citations::Corpus => {
            let others = not_retrieved.filter(|name| !broken.contains(name));
            let others = others.collect();
            (broken.into_iter().collect(), others)
        }
        // Without a corpus it is not known which documents exist.
        Citations::Hits => (
            Vec::new(),
            broken
                .into_iter()
                .chain(not_retrieved)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
        ),
    };
    let elsewhere: Vec<String> = stray.elsewhere.iter().map(|one| one.name()).collect();
    let elsewhere = elsewhere.iter().map(String::as_str).collect();
    [
        ("cites what does not exist:", nowhere),
        ("cites what was not retrieved:", not_retrieved),
        (
            "cites no expected document, although one was found, but",
            elsewhere,
        ),
    ]
    .into_iter()
    .filter(|(_, names): &(&str, Vec<&str>)| !names.is_empty())
    .map(|(what, names)| format!("{what} {}", listed(&names)))
    .collect()
}
