//! The comparison of two retrieval runs, as people see it.

use super::{OversizedHit, QueryChange, QueryOutcome, RetrievalChange};
use kelvin_page::{Block, Column, ComparisonPage, Phrase, Table, TableRow, counted, display, safe};

/// How many rows a table has.
const LISTED: usize = 50;

/// How many queries a list in a sentence names.
const NAMED: usize = 20;

/// How many queries a screen shows.
const ON_A_SCREEN: usize = 5;

/// The maximum width of an id in columns; longer ids are shortened.
pub(super) const LONGEST_ID: usize = 60;

impl RetrievalChange {
    /// The mode, every figure with its change, and the queries that changed, worst first.
    pub(super) fn as_page(&self) -> ComparisonPage<'_> {
        let worst = self.worst_first();
        let shown = worst.iter().take(ON_A_SCREEN);
        ComparisonPage {
            title: "Retrieval",
            items: "the queries",
            summary: format!(
                "{}; hits match by {}",
                self.outcomes(),
                self.chunker_version_match.as_str()
            ),
            worst: shown
                .map(|query| Phrase::of_name(&query.id).and(": ").quote(&query.note))
                .collect(),
            blocks: self.blocks(&worst),
        }
    }

    fn blocks(&self, changed: &[&QueryChange]) -> Vec<Block<'static>> {
        let mut blocks = vec![
            Block::Heading(Phrase::text("Retrieval")),
            sentence(self.how_it_was_compared()),
            self.figures(),
            sentence(Phrase::text(format!("{}.", self.outcomes()))),
        ];
        let columns = vec![
            Column::text("query"),
            Column::text("what"),
            Column::number("base rank"),
            Column::number("head rank"),
            Column::text("note"),
        ];
        let rows = changed.iter().map(|query| query_row(query)).collect();
        blocks.extend(listed(columns, rows));
        if !self.not_compared.is_empty() {
            let what = match self.not_compared.len() {
                1 => "1 query is on one side only, or was edited: ".to_owned(),
                more => format!("{more} queries are on one side only, or were edited: "),
            };
            blocks.push(sentence(Phrase::text(what).then(names(&self.not_compared))));
        }
        if let Some(labels) = self.labels {
            let what = match self.relabelled.len() {
                1 => "The labels of 1 query were edited".to_owned(),
                more => format!("The labels of {more} queries were edited"),
            };
            let what = format!("{what}; both sides are ranked by those of the {labels}: ");
            blocks.push(sentence(Phrase::text(what).then(names(&self.relabelled))));
        }
        if let Some(judged) = self.judged.filter(|_| !self.unjudged.is_empty()) {
            let what = format!(
                "Of the hits of the head that were looked at, {} are documents that the base did not have and that no \
                 label names: {:.1} % are judged.",
                self.unjudged.len(),
                100.0 * judged
            );
            blocks.push(sentence(Phrase::text(what)));
        }
        if !self.not_aligned.is_empty() {
            let what = match self.not_aligned.len() {
                1 => "1 query could not be compared, since nothing says which document has its expected chunk: "
                    .to_owned(),
                more => format!(
                    "{more} queries could not be compared, since nothing says which documents have their expected \
                     chunks: "
                ),
            };
            blocks.push(sentence(Phrase::text(what).then(names(&self.not_aligned))));
        }
        if !self.oversized_hits.is_empty() {
            let what = "Hits that count and are many times as long as the passage:";
            blocks.push(sentence(Phrase::text(what)));
        }
        let columns = vec![
            Column::text("query"),
            Column::text("side"),
            Column::number("rank"),
            Column::number("times as long"),
        ];
        let rows = self.oversized_hits.iter().map(hit_row).collect();
        blocks.extend(listed(columns, rows));
        blocks
    }

    fn how_it_was_compared(&self) -> Phrase {
        let versions = |versions: &[String]| match versions {
            [] => Phrase::text("unknown"),
            versions => quoted(&versions.join(", "), 80),
        };
        let rule = self.span_rule.map_or_else(String::new, |rule| {
            format!(", span rule `{}`", rule.as_str())
        });
        let mode = self.chunker_version_match.as_str();
        Phrase::text(format!("Chunker version match: `{mode}`{rule} (base "))
            .then(versions(&self.base_versions))
            .and(", head ")
            .then(versions(&self.head_versions))
            .and(").")
    }

    /// Every figure that at least one side has.
    fn figures(&self) -> Block<'static> {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), display);
        let signed = |delta: Option<f64>| match delta {
            Some(delta) if delta > 0.0 && display(delta) != "0.0000" => {
                format!("+{}", display(delta))
            }
            delta => shown(delta),
        };
        let rows = self.deltas.iter().map(|(id, delta)| {
            TableRow::new([
                quoted(id, LONGEST_ID),
                Phrase::text(shown(delta.base)),
                Phrase::text(shown(delta.head)),
                Phrase::text(signed(delta.delta)),
            ])
        });
        let columns = vec![
            Column::text("metric"),
            Column::number("base"),
            Column::number("head"),
            Column::number("delta"),
        ];
        table(columns, rows.collect())
    }

    /// How many queries have each outcome, in words.
    fn outcomes(&self) -> String {
        let count = |outcome| self.counts.get(&outcome).copied().unwrap_or_default();
        let open = match count(QueryOutcome::Open) {
            0 => String::new(),
            open => format!(", {open} open"),
        };
        let losses = match count(QueryOutcome::Loss) {
            1 => "1 loss".to_owned(),
            losses => format!("{losses} losses"),
        };
        format!(
            "{}, {losses}, {}, {}{open}",
            counted(count(QueryOutcome::Win), "win"),
            counted(count(QueryOutcome::Regression), "regression"),
            counted(count(QueryOutcome::Draw), "draw")
        )
    }
}

fn query_row(query: &QueryChange) -> TableRow {
    let what = match query.outcome {
        QueryOutcome::Regression => "regression",
        QueryOutcome::Open => "open",
        QueryOutcome::Loss => "loss",
        QueryOutcome::Win => "win",
        QueryOutcome::Draw => "draw",
    };
    let rank = |rank: Option<u32>| {
        Phrase::text(rank.map_or_else(|| "miss".to_owned(), |rank| rank.to_string()))
    };
    TableRow::new([
        quoted(&query.id, LONGEST_ID),
        Phrase::text(what),
        rank(query.base_rank),
        rank(query.head_rank),
        quoted(&query.note, 200),
    ])
}

fn hit_row(hit: &OversizedHit) -> TableRow {
    TableRow::new([
        quoted(&hit.query, LONGEST_ID),
        Phrase::text(hit.side.to_string()),
        Phrase::text(hit.rank.to_string()),
        Phrase::text(format!("{:.1}", hit.times)),
    ])
}

/// A table with at most `LISTED` rows, since a comment has no space for more, and the number of other rows; empty if
/// there are no rows.
fn listed(columns: Vec<Column>, mut rows: Vec<TableRow>) -> Vec<Block<'static>> {
    let more = rows.len().saturating_sub(LISTED);
    rows.truncate(LISTED);
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(table(columns, rows));
    }
    if more > 0 {
        blocks.push(sentence(Phrase::text(format!("And {more} more."))));
    }
    blocks
}

fn table(columns: Vec<Column>, rows: Vec<TableRow>) -> Block<'static> {
    Block::Table(Table {
        title: Phrase::default(),
        columns,
        rows,
        most: None,
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

fn sentence(text: Phrase) -> Block<'static> {
    Block::Text(vec![text])
}

/// A quote of an external text, cut to `most` columns.
fn quoted(text: &str, most: usize) -> Phrase {
    Phrase::default().quote(safe::cut(text, most))
}

/// The first queries of a list, and how many others there are, for a page. Each is a separate quote, since a page
/// shortens every quote.
fn names(ids: &[String]) -> Phrase {
    let line = safe::cut(&enumerated(ids, NAMED), 400);
    let mut each = line.split(", ");
    let first = Phrase::default().quote(each.next().unwrap_or_default());
    each.fold(first, |phrase, id| phrase.and(", ").quote(id))
}

/// The first few ids, and how many others there are, in words.
pub(super) fn enumerated(ids: &[String], most: usize) -> String {
    let shown = ids[..ids.len().min(most)].join(", ");
    match ids.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::SpanRule;
    use crate::compare::{ChunkerVersionMatch, Delta};
    use kelvin_page::{markdown, terminal};
    use kelvin_record::ComparedSide;

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
            worse_by_own_labels: Vec::new(),
            relabelled: Vec::new(),
            labels: None,
            answers_apart: Vec::new(),
            by_own_label: Vec::new(),
            in_part: Vec::new(),
            judged: None,
            unjudged: Vec::new(),
        }
    }

    #[test]
    fn the_page_has_the_mode_the_deltas_and_the_longest_hurt_first() {
        let change = change();
        let page = markdown::render_comparison(&change.as_page());
        let rows: Vec<&str> = page.lines().collect();
        insta::assert_snapshot!(rows[2], @"Chunker version match: `fallback_doc_span`, span rule `half_together` (base 1, head unknown).");
        let deltas = [
            "| retrieval.mrr | 0.5000 | 0.2500 | -0.2500 |",
            "| retrieval.success@1 | 0.3333 | 0.6667 | +0.3333 |",
        ];
        for (row, expected) in rows[6..8].iter().zip(deltas) {
            // The metrics' names are made safe, and look the same.
            let shown = row.replace("&#8203;", "");
            assert_eq!(shown, expected);
        }
        assert_eq!(rows[9], "1 win, 2 losses, 1 regression, 0 draws.");
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
        let change = change();
        let page = terminal::render_comparison(&change.as_page());
        assert!(
            page.contains("1 win, 2 losses, 1 regression, 0 draws"),
            "{page}"
        );
        assert!(page.contains("fallback_doc_span"), "{page}");
        let first = page.lines().nth(1).unwrap_or_default();
        insta::assert_snapshot!(first, @"  c | @all: rank 9, now missed");
    }
}
