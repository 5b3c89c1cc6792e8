//! The figures of the retrieval probe, in the order in which people read them.

use super::{Figure, family};
use crate::probe::retrieval::{Labels, Retrieved};
use crate::report::Report;

/// The order of the measures, without their `@k`.
const ORDER: [&str; 13] = [
    "success",
    "found",
    "mrr",
    "recall_doc",
    "precision",
    "ndcg",
    "map",
    "citation_coverage",
    "groundedness",
    "refusal_correctness",
    "empty_result_rate",
    "total_queries",
    "failed_queries",
];

/// The figures with their names; `success@k` is also known as `hit@k`.
pub(crate) fn rows(report: &Report) -> Vec<(String, Figure<'_>)> {
    let mut rows: Vec<_> = family(report, "retrieval");
    rows.sort_by_key(|(name, _)| place(name));
    rows.into_iter()
        .map(|(name, metric)| {
            let shown = match name.strip_prefix("success@") {
                Some(k) => format!("{name} (hit@{k})"),
                None => name.to_owned(),
            };
            let mut figure = Figure::of(Some(metric));
            if name.ends_with("_queries") {
                figure.shown = metric.value.unwrap_or_default().to_string();
            }
            (shown, figure)
        })
        .collect()
}

/// By measure, then by `k` as a number.
fn place(name: &str) -> (usize, usize) {
    let (measure, k) = name.split_once('@').unwrap_or((name, "0"));
    let at = ORDER.iter().position(|known| *known == measure);
    (at.unwrap_or(ORDER.len()), k.parse().unwrap_or(0))
}

/// How many queries there are, in words.
pub(super) fn counted(queries: usize) -> String {
    match queries {
        1 => "1 query".to_owned(),
        more => format!("{more} queries"),
    }
}

/// Queries that did not do as they should, by id, each with what is wrong. It quotes the user.
pub(crate) fn poor(report: &Report) -> Vec<(&str, String)> {
    let Some(record) = &report.retrieval else {
        return Vec::new();
    };
    let depth = record.basis.depth();
    let queries = record.queries.iter();
    queries
        .filter_map(|(id, query)| {
            let wrong: Vec<String> = query
                .runs
                .iter()
                .flat_map(|run| wrong(&query.labels, run, depth))
                .collect();
            (!wrong.is_empty()).then(|| (id.as_str(), wrong.join("; ")))
        })
        .collect()
}

fn wrong(labels: &Labels, run: &Retrieved, depth: usize) -> Vec<String> {
    if run.missing {
        return vec!["not in the run".to_owned()];
    }
    if let Some(failure) = &run.failure {
        return vec![format!("failed: {}", failure.message)];
    }
    let mut wrong = Vec::new();
    let rank = if labels.chunks {
        run.rank
    } else {
        run.docs.first()
    };
    let found = rank.is_some_and(|rank| rank as usize <= depth);
    if (labels.chunks || labels.docs) && !found {
        wrong.push(format!("nothing expected among the first {depth} hits"));
    }
    let Some(answer) = &run.answer else {
        return wrong;
    };
    if labels.refuse && answer.grounded {
        wrong.push("answered, and should have been refused".to_owned());
    }
    if answer.grounded && answer.citations == 0 {
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
