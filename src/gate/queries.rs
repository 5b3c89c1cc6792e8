//! The queries of two retrieval runs, for people.

use std::fmt::Write as _;

use crate::baseline::retrieval::{QueryOutcome, RetrievalChange};
use crate::report::safe;

/// How many rows a table has.
const LISTED: usize = 50;

/// As Markdown: the mode, every figure with its change, and the queries that changed, longest hurt
/// first.
pub(crate) fn markdown(change: &RetrievalChange) -> String {
    let mut page = String::from("## Retrieval\n\n");
    let versions = |versions: &[String]| match versions {
        [] => "unknown".to_owned(),
        versions => safe::markdown(&versions.join(", "), 80).to_string(),
    };
    let _ = writeln!(
        page,
        "Chunker version match: `{}` (base {}, head {}).\n",
        change.chunker_version_match.as_str(),
        versions(&change.base_versions),
        versions(&change.head_versions)
    );
    page.push_str("| metric | base | head | delta |\n| --- | ---: | ---: | ---: |\n");
    for (id, delta) in &change.deltas {
        let shown =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), crate::probe::display);
        let signed = delta.delta.map_or_else(
            || "-".to_owned(),
            |delta| {
                let text = crate::probe::display(delta);
                if delta > 0.0 && text != "0.0000" {
                    format!("+{text}")
                } else {
                    text
                }
            },
        );
        let (base, head) = (shown(delta.base), shown(delta.head));
        let _ = writeln!(
            page,
            "| {} | {base} | {head} | {signed} |",
            safe::markdown(id, 60)
        );
    }
    let count = |outcome| change.counts.get(&outcome).copied().unwrap_or_default();
    let _ = writeln!(
        page,
        "\n{} wins, {} losses, {} regressions, {} draws.\n",
        count(QueryOutcome::Win),
        count(QueryOutcome::Loss),
        count(QueryOutcome::Regression),
        count(QueryOutcome::Draw)
    );
    let changed = change.worst_first();
    if !changed.is_empty() {
        page.push_str("| query | what | base rank | head rank | note |\n");
        page.push_str("| --- | --- | ---: | ---: | --- |\n");
    }
    for query in changed.iter().take(LISTED) {
        let what = match query.outcome {
            QueryOutcome::Regression => "regression",
            QueryOutcome::Loss => "loss",
            QueryOutcome::Win => "win",
            QueryOutcome::Draw => "draw",
        };
        let rank =
            |rank: Option<u32>| rank.map_or_else(|| "miss".to_owned(), |rank| rank.to_string());
        let _ = writeln!(
            page,
            "| {} | {what} | {} | {} | {} |",
            safe::markdown(&query.id, 60),
            rank(query.base_rank),
            rank(query.head_rank),
            safe::markdown(&query.note, 200)
        );
    }
    if changed.len() > LISTED {
        let _ = writeln!(page, "\nAnd {} more.", changed.len() - LISTED);
    }
    if !changed.is_empty() {
        page.push('\n');
    }
    if !change.not_compared.is_empty() {
        let ids: Vec<&str> = change
            .not_compared
            .iter()
            .take(20)
            .map(String::as_str)
            .collect();
        let _ = writeln!(
            page,
            "{} queries are on one side only, or were edited: {}\n",
            change.not_compared.len(),
            safe::markdown(&ids.join(", "), 400)
        );
    }
    page
}

/// For a terminal: the mode, the counts, and the queries that are hurt longest.
pub(super) fn terminal(change: &RetrievalChange) -> String {
    let count = |outcome| change.counts.get(&outcome).copied().unwrap_or_default();
    let mut page = format!(
        "Retrieval    {} wins, {} losses, {} regressions, {} draws; hits match by {}\n",
        count(QueryOutcome::Win),
        count(QueryOutcome::Loss),
        count(QueryOutcome::Regression),
        count(QueryOutcome::Draw),
        change.chunker_version_match.as_str()
    );
    for query in change.worst_first().iter().take(5) {
        let text = format!("{}: {}", query.id, query.note);
        let _ = writeln!(page, "  {}", safe::cut(&text, 76));
    }
    page
}
