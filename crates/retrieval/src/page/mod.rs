//! What a page says of a run of the retrieval probe.

mod queries;
mod statements;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Labels, QueryRecord, Retrieved, figures};
use kelvin_page::{
    Block, Chapter, Column, Estimate, FailedInvocation, FigureTable, Headword, Phrase, Table,
    TableRow,
};
use kelvin_record::{Metric, estimate, family, spread};

/// The order of the measures, without their `@k`.
const ORDER: [&str; 14] = [
    "success",
    "found",
    "mrr",
    "recall_doc",
    "precision",
    "ndcg",
    "map",
    "citation_coverage",
    "groundedness",
    "answered_rate",
    "refusal_correctness",
    "empty_result_rate",
    "total_queries",
    "failed_queries",
];

/// How the measures are made.
const NOTE: &str = "Means over the queries that count for each; a failed query counts 0 in the \
                    measures of ranking.";
/// So many queries are listed in a text.
const LISTED: usize = 30;

/// What every query of a run has to do, beside what its own labels say.
#[derive(Clone, Copy)]
struct Demands {
    /// An expected hit is among so many.
    depth: usize,
    /// An answer cites. Of a pipeline that never does nobody asks it.
    citations: bool,
}

impl RetrievalRun<'_> {
    fn demands(&self) -> Demands {
        Demands {
            depth: self.depth,
            citations: figures::cites(self.queries),
        }
    }
}

/// What a page of the retrieval probe is made from.
#[derive(Clone, Copy)]
pub struct RetrievalRun<'a> {
    /// Every figure of the run, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// How many hits were looked at.
    pub depth: usize,
    /// Every query, by id.
    pub queries: &'a BTreeMap<String, QueryRecord>,
}

/// What the page of a whole run says of the retrieval probe.
pub fn chapter<'a>(run: RetrievalRun<'a>) -> Chapter<'a> {
    let mut chapter = Chapter::new(Headword {
        word: "retrieval",
        title: "Retrieval",
        meaning: "how much is found of what there is to find",
        is_judgement: false,
    });
    chapter.scope = vec![counted(run.queries.len())];
    chapter.statements = statements::of(run);
    chapter.spread = spread("mrr", "queries", run.metrics.get("retrieval.mrr"));
    let rows = rows(run.metrics);
    chapter.measures = (!rows.is_empty()).then_some(FigureTable {
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

/// The first call that failed, in the order of the ids.
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

/// So many queries, in words.
fn counted(queries: usize) -> String {
    match queries {
        1 => "1 query".to_owned(),
        more => format!("{more} queries"),
    }
}

/// The figures with their names; `success@k` is also known as `hit@k`.
fn rows(metrics: &BTreeMap<String, Metric>) -> Vec<(Phrase, Estimate<'_>)> {
    let mut rows: Vec<_> = family(metrics, "retrieval");
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

/// By measure, then by `k` as a number.
fn place(name: &str) -> (usize, usize) {
    let (measure, k) = name.split_once('@').unwrap_or((name, "0"));
    let at = ORDER.iter().position(|known| *known == measure);
    (at.unwrap_or(ORDER.len()), k.parse().unwrap_or(0))
}

/// Queries that did not do as they should, by id, each with what is wrong.
fn poor(run: RetrievalRun<'_>) -> Option<Table> {
    let demands = run.demands();
    let rows = run.queries.iter().filter_map(|(id, query)| {
        let runs = query.runs.iter();
        let wrong: Vec<String> = runs
            .flat_map(|run| wrong(&query.labels, run, demands))
            .collect();
        (!wrong.is_empty()).then(|| {
            TableRow::new([
                Phrase::of_name(id),
                Phrase::default().quote(wrong.join("; ")),
            ])
        })
    });
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!(
            "Queries that did not do as they should ({})",
            rows.len()
        )),
        columns: vec![Column::text("query"), Column::text("what")],
        rows,
        most: Some(LISTED),
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

/// The rank of the first expected chunk where chunks are expected, else of the first expected document.
fn first_rank(labels: &Labels, run: &Retrieved) -> Option<u32> {
    match labels.chunks {
        true => run.rank,
        false => run.docs.first(),
    }
}

fn wrong(labels: &Labels, run: &Retrieved, demands: Demands) -> Vec<String> {
    let Demands { depth, citations } = demands;
    if run.missing {
        return vec!["not in the run".to_owned()];
    }
    if let Some(failure) = &run.failure {
        return vec![format!("failed: {}", failure.message)];
    }
    let mut wrong = Vec::new();
    let found = first_rank(labels, run).is_some_and(|rank| rank as usize <= depth);
    if (labels.chunks || labels.docs) && !found {
        wrong.push(format!("no expected hit among the first {depth}"));
    }
    let Some(answer) = &run.answer else {
        return wrong;
    };
    if labels.refuse && answer.grounded {
        wrong.push("answered, and should have been refused".to_owned());
    }
    if labels.wants_an_answer() && !answer.grounded {
        wrong.push("refused, and should have been answered".to_owned());
    }
    if answer.grounded && answer.citations == 0 && citations {
        wrong.push("no citation".to_owned());
    }
    let quoted = |what: &str, texts: &[String]| {
        (!texts.is_empty()).then(|| format!("{what} {}", texts.join(", ")))
    };
    wrong.extend(quoted("cites what does not exist:", &answer.broken).filter(|_| answer.grounded));
    if labels.content {
        wrong.extend(quoted("the answer lacks", &answer.lacks));
        wrong.extend(quoted("the answer says", &answer.forbidden));
    }
    wrong
}
