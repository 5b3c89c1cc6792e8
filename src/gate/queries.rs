//! The queries of two retrieval runs, for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::verdict::Verdict;
use crate::page::safe;
use crate::probe::ComparedSide;
use crate::probe::retrieval::compare::{QueryOutcome, RetrievalChange};

/// How many rows a table has.
const LISTED: usize = 50;

/// How many queries a list in a sentence names.
const NAMED: usize = 20;

/// Longer ids are cut.
const LONGEST_ID: usize = 60;

/// As Markdown: the mode, every figure with its change, and the queries that changed, longest hurt
/// first.
pub(crate) fn markdown(change: &RetrievalChange) -> String {
    let mut page = String::from("## Retrieval\n\n");
    let versions = |versions: &[String]| match versions {
        [] => "unknown".to_owned(),
        versions => safe::markdown(&versions.join(", "), 80).to_string(),
    };
    let rule = change.span_rule.map_or_else(String::new, |rule| {
        format!(", span rule `{}`", rule.as_str())
    });
    let _ = writeln!(
        page,
        "Chunker version match: `{}`{rule} (base {}, head {}).\n",
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
        let _ = writeln!(
            page,
            "{} queries are on one side only, or were edited: {}\n",
            change.not_compared.len(),
            safe::markdown(&listed(&change.not_compared, NAMED), 400)
        );
    }
    if !change.not_aligned.is_empty() {
        let _ = writeln!(
            page,
            "{} queries could not be compared, since nothing tells the documents of their expected \
             chunks: {}\n",
            change.not_aligned.len(),
            safe::markdown(&listed(&change.not_aligned, NAMED), 400)
        );
    }
    if !change.oversized_hits.is_empty() {
        page.push_str("Hits that count and are many times as long as the passage:\n\n");
        page.push_str("| query | side | rank | times as long |\n| --- | --- | ---: | ---: |\n");
    }
    for hit in change.oversized_hits.iter().take(LISTED) {
        let side = hit.side;
        let (query, rank) = (safe::markdown(&hit.query, 60), hit.rank);
        let _ = writeln!(page, "| {query} | {side} | {rank} | {:.1} |", hit.times);
    }
    if change.oversized_hits.len() > LISTED {
        let _ = writeln!(page, "\nAnd {} more.", change.oversized_hits.len() - LISTED);
    }
    if !change.oversized_hits.is_empty() {
        page.push('\n');
    }
    page
}

/// Adds to a verdict what the comparison of the queries leaves open, and what a reader must know
/// of how it was made.
pub(crate) fn tell(change: &RetrievalChange, verdict: &mut Verdict) {
    let queries = |ids: &[String]| match ids {
        [id] => format!("query `{}`", safe::cut(id, LONGEST_ID)),
        ids => format!("{} queries ({})", ids.len(), safe::line(&listed(ids, 3))),
    };
    if !change.not_aligned.is_empty() {
        let text = format!(
            "the chunkers of base and head differ, and nothing tells the documents of the chunks \
             that {} expect: give `expected_doc_ids`, or a `corpus`",
            queries(&change.not_aligned)
        );
        verdict.warn(text, false);
    }
    let of = |side: ComparedSide| -> BTreeSet<&str> {
        let hits = change.oversized_hits.iter().filter(|hit| hit.side == side);
        hits.map(|hit| hit.query.as_str()).collect()
    };
    let oversized: Vec<String> = of(ComparedSide::Head)
        .difference(&of(ComparedSide::Base))
        .map(|id| (*id).to_owned())
        .collect();
    if !oversized.is_empty() {
        let text = format!(
            "in {} a hit of the head counts that is more than 10 times as long as the expected \
             passage, which any hit of such a length would have",
            queries(&oversized)
        );
        verdict.warn(text, false);
    }
    if change.spans_gone {
        let text = "the hits of the base tell their spans and those of the head do not: the \
                    queries were compared by document alone, so that a wrong part of the right \
                    document is not seen"
            .to_owned();
        verdict.warn(text, true);
    }
    if !change.worse_by_chunk.is_empty() {
        let text = format!(
            "the head names another chunker, but most of its chunks are called as those of the \
             base: by document nothing was lost, by chunk {} got worse; only spans in the hits \
             would tell which is right",
            queries(&change.worse_by_chunk)
        );
        verdict.warn(text, true);
    }
}

/// The first few ids, and how many more there are.
fn listed(ids: &[String], most: usize) -> String {
    let shown = ids[..ids.len().min(most)].join(", ");
    match ids.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::probe::retrieval::SpanRule;
    use crate::probe::retrieval::compare::{ChunkerVersionMatch, Delta, OversizedHit, QueryChange};

    fn change() -> RetrievalChange {
        let query = |id: &str, outcome, base_rank, head_rank, note: &str| QueryChange {
            id: id.to_owned(),
            outcome,
            base_rank,
            head_rank,
            note: note.to_owned(),
        };
        let delta = |base, head| Delta {
            base: Some(base),
            head: Some(head),
            delta: Some(head - base),
        };
        RetrievalChange {
            chunker_version_match: ChunkerVersionMatch::FallbackDocSpan,
            base_versions: vec!["1".to_owned()],
            head_versions: Vec::new(),
            deltas: BTreeMap::from([
                ("retrieval.mrr".to_owned(), delta(0.5, 0.25)),
                (
                    "retrieval.success@1".to_owned(),
                    delta(1.0 / 3.0, 2.0 / 3.0),
                ),
            ]),
            counts: BTreeMap::from([
                (QueryOutcome::Regression, 1),
                (QueryOutcome::Loss, 2),
                (QueryOutcome::Win, 1),
            ]),
            queries: vec![
                query("a", QueryOutcome::Loss, Some(3), Some(4), "rank 3, now 4"),
                query("b", QueryOutcome::Loss, Some(1), Some(4), "rank 1, now 4"),
                query(
                    "c | @all",
                    QueryOutcome::Regression,
                    Some(9),
                    None,
                    "rank 9, now missed",
                ),
                query("d", QueryOutcome::Win, None, Some(1), "missed, now rank 1"),
            ],
            not_compared: vec!["new".to_owned()],
            span_rule: Some(SpanRule::HalfTogether),
            not_aligned: vec!["lost".to_owned()],
            oversized_hits: vec![OversizedHit {
                query: "a".to_owned(),
                side: ComparedSide::Head,
                rank: 4,
                times: 12.5,
            }],
            spans_gone: false,
            worse_by_chunk: Vec::new(),
        }
    }

    #[test]
    fn the_page_has_the_mode_the_deltas_and_the_longest_hurt_first() {
        let page = markdown(&change());
        let rows: Vec<&str> = page.lines().collect();
        assert_eq!(
            rows[2],
            "Chunker version match: `fallback_doc_span`, span rule `half_together` (base 1, head unknown)."
        );
        let deltas = [
            "| retrieval.mrr | 0.5000 | 0.2500 | -0.2500 |",
            "| retrieval.success@1 | 0.3333 | 0.6667 | +0.3333 |",
        ];
        for (row, expected) in rows[6..8].iter().zip(deltas) {
            // The metrics' names are made safe, and look the same.
            let shown = row.replace("&#8203;", "");
            assert_eq!(shown, expected);
        }
        assert_eq!(rows[9], "1 wins, 2 losses, 1 regressions, 0 draws.");
        let what: Vec<&str> = rows[13..17]
            .iter()
            .map(|row| {
                row.split(" | ")
                    .nth(row.split(" | ").count() - 4)
                    .unwrap_or_default()
            })
            .collect();
        assert_eq!(what, ["regression", "loss", "loss", "win"]);
        assert!(rows[14].starts_with("| b | loss | 1 | 4 |"), "{}", rows[14]);
        assert!(
            rows[16].starts_with("| d | win | miss | 1 |"),
            "{}",
            rows[16]
        );
        assert!(!page.contains("c | @all"), "a name cannot make a column");
    }

    #[test]
    fn a_terminal_has_the_counts_and_the_worst() {
        let page = terminal(&change());
        assert!(
            page.contains("1 wins, 2 losses, 1 regressions, 0 draws"),
            "{page}"
        );
        assert!(page.contains("fallback_doc_span"), "{page}");
        let first = page.lines().nth(1).unwrap_or_default();
        assert!(first.contains("rank 9, now missed"), "{page}");
    }
}
