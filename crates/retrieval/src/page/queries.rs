//! The queries in their expanded form on the page of a run, with the expected results and the hits in order.

use std::collections::{BTreeMap, BTreeSet};

use super::{Demands, RetrievalRun, first_rank, wrong};
use crate::{Cited, Hit, Labels, QueryRecord, Retrieved};
use kelvin_base::stats;
use kelvin_page::{
    Block, Column, HeatCell, HeatGrid, HeatRow, ItemList, ItemSignal, ItemView, Phrase, Status,
    Table, TableRow, display, safe,
};

/// How many hits of a run are listed at most.
const HITS: usize = 20;
/// The maximum width of an answer in columns, which keeps the page of thousands of queries small.
const LONGEST: usize = 600;
/// The groups of ranks in the map, each with its name; the last group has no end.
const RANKS: [(u32, &str); 6] = [
    (1, "1"),
    (2, "2"),
    (3, "3"),
    (5, "4 to 5"),
    (10, "6 to 10"),
    (u32::MAX, "later"),
];

/// The ranks of the first expected hit, over the runs of all queries that expect one; none if no query does.
pub(super) fn ranks(queries: &BTreeMap<String, QueryRecord>, depth: usize) -> Option<HeatGrid> {
    let expecting = queries.values().filter(|query| expects(&query.labels));
    let runs = expecting.flat_map(|query| query.runs.iter().map(|run| (&query.labels, run)));
    // The last count is for the runs that found no expected hit.
    let mut counts = [0_usize; RANKS.len() + 1];
    for (labels, run) in runs {
        let rank = first_rank(labels, run).filter(|rank| *rank as usize <= depth);
        let place = rank.and_then(|rank| RANKS.iter().position(|(last, _)| rank <= *last));
        counts[place.unwrap_or(RANKS.len())] += 1;
    }
    let all: usize = counts.iter().sum();
    let names = RANKS.iter().map(|(_, name)| (*name).to_owned());
    (all > 0).then(|| HeatGrid {
        title: "Where the first expected hit stands",
        note: "The share of the queries, with how many they are. Repeats of a query count each.",
        row: ["what", "rows"],
        groups: vec![
            ("found at rank", names.collect()),
            ("not found", vec![format!("in {depth} hits")]),
        ],
        rows: vec![HeatRow {
            name: "queries".to_owned(),
            badge: None,
            cells: counts
                .iter()
                .enumerate()
                .map(|(at, count)| {
                    let share = *count as f64 / all as f64;
                    let is_lost = at == RANKS.len();
                    (*count > 0).then_some(HeatCell {
                        off: Some(if is_lost { share } else { 0.0 }),
                        mean: share,
                        n: *count,
                    })
                })
                .collect(),
        }],
    })
}

const fn expects(labels: &Labels) -> bool {
    labels.chunks || labels.docs
}

/// A query in the order in which it is shown.
struct ShownQuery<'a> {
    id: &'a str,
    query: &'a QueryRecord,
    failed: usize,
    /// All problems of the query except failed calls; each sentence occurs once.
    wrong: BTreeSet<String>,
    /// One divided by the rank of the first expected hit, as the mean of the runs; none if no hit is expected.
    reciprocal: Option<f64>,
}

/// Every query, worst first: those that failed or had bad results, then by the rank of the first hit.
pub(super) fn items(run: RetrievalRun<'_>) -> ItemList<'_> {
    let (queries, demands) = (run.queries, run.demands());
    let places: BTreeMap<&str, usize> = queries.keys().map(String::as_str).zip(0..).collect();
    let mut shown: Vec<ShownQuery<'_>> = queries
        .iter()
        .map(|(id, query)| ShownQuery::of(id, query, demands))
        .collect();
    // The sort is stable, so queries that are equally good stay in the order of their names.
    shown.sort_by(|one, other| {
        let reciprocal = |shown: &ShownQuery<'_>| shown.reciprocal.unwrap_or(f64::INFINITY);
        let goes_wrong = |shown: &ShownQuery<'_>| shown.failed > 0 || !shown.wrong.is_empty();
        goes_wrong(other)
            .cmp(&goes_wrong(one))
            .then(reciprocal(one).total_cmp(&reciprocal(other)))
    });
    ItemList {
        title: "Queries",
        note: "Worst first. A query opens to what was expected and what came back.",
        least: "hits",
        count: shown.len(),
        against: shown.iter().filter(|one| !one.wrong.is_empty()).count(),
        failing: shown.iter().filter(|one| one.failed > 0).count(),
        place: Box::new(move |name| places.get(name).copied()),
        each: Box::new(shown.into_iter().map(|one| one.view())),
    }
}

impl<'a> ShownQuery<'a> {
    fn of(id: &'a str, query: &'a QueryRecord, demands: Demands) -> Self {
        let depth = demands.depth;
        let labels = &query.labels;
        let ran = query.runs.iter().filter(|run| run.ran());
        let reciprocals: Vec<f64> = query
            .runs
            .iter()
            .map(|run| first_rank(labels, run).filter(|rank| *rank as usize <= depth))
            .map(|rank| rank.map_or(0.0, |rank| 1.0 / f64::from(rank)))
            .collect();
        Self {
            id,
            query,
            failed: query.runs.iter().filter(|run| !run.ran()).count(),
            wrong: ran.flat_map(|run| wrong(labels, run, demands)).collect(),
            reciprocal: stats::mean(&reciprocals).filter(|_| expects(labels)),
        }
    }

    fn view(self) -> ItemView<'a> {
        let Self { query, .. } = self;
        let runs = &query.runs;
        let mut tags = Vec::new();
        if self.failed > 0 {
            tags.push((false, format!("{} failed", self.failed)));
        }
        match (self.wrong.is_empty(), self.failed) {
            (true, 0) => tags.push((true, "as it should".to_owned())),
            (true, _) => {}
            (false, _) => tags.push((false, format!("{} wrong", self.wrong.len()))),
        }
        let mut sentences = Vec::new();
        if !query.query.is_empty() {
            sentences.push(Phrase::text("Asked: ").quote(&query.query));
        }
        let labels = &query.labels;
        let chunks = labels.expected_chunks.keys().map(String::as_str);
        let expected = chunks.chain(labels.expected_docs.iter().map(String::as_str));
        let expected: Vec<&str> = expected.take(HITS).collect();
        if !expected.is_empty() {
            sentences.push(Phrase::text("Expected: ").names(expected));
        }
        if !labels.must_contain.is_empty() {
            let texts = labels.must_contain.join(", ");
            sentences.push(Phrase::text("Must contain: ").quote(safe::cut(&texts, LONGEST)));
        }
        let wrong = self.wrong.iter();
        sentences.extend(wrong.map(|text| Phrase::text("Wrong: ").quote(text)));
        let mut blocks: Vec<Block<'_>> = sentences
            .into_iter()
            .map(|sentence| Block::Text(vec![sentence]))
            .collect();
        for (number, run) in (1..).zip(runs) {
            blocks.extend(of_run(number, runs.len(), labels, run));
        }
        ItemView {
            name: self.id,
            against: self.wrong.len(),
            failed: self.failed,
            tags,
            signals: vec![ItemSignal {
                name: "reciprocal rank",
                value: self.reciprocal,
                n: runs.len(),
            }],
            blocks,
        }
    }
}

/// The answer of a run with its citations, and the hits in order.
fn of_run<'a>(number: usize, of: usize, labels: &Labels, run: &Retrieved) -> Vec<Block<'a>> {
    let in_run = match of {
        1 => String::new(),
        _ => format!(" in run {number}"),
    };
    let mut sentences = Vec::new();
    if let Some(answer) = &run.answer {
        let what = if answer.grounded {
            "Answered"
        } else {
            "Refused"
        };
        let text = safe::cut(&answer.text.shown(), LONGEST);
        let said = Phrase::text(format!("{what}{in_run}"));
        sentences.push(match text.is_empty() {
            true => said.and(" without a text"),
            false => said.and(": ").quote(text),
        });
        let cited: Vec<String> = answer.cited.iter().take(HITS).map(Cited::name).collect();
        if !cited.is_empty() {
            let cited = cited.iter().map(String::as_str);
            sentences.push(Phrase::text(format!("Cited{in_run}: ")).names(cited));
        }
    }
    let sentences = sentences.into_iter();
    let mut blocks: Vec<Block<'a>> = sentences.map(|one| Block::Text(vec![one])).collect();
    blocks.extend(hits(&in_run, labels, run));
    blocks
}

/// The hits of a run in order.
fn hits<'a>(in_run: &str, labels: &Labels, run: &Retrieved) -> Option<Block<'a>> {
    let rows: Vec<TableRow> = (1..)
        .zip(&run.hits)
        .take(HITS)
        .map(|(rank, hit)| row(rank, hit, labels))
        .collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            title: Phrase::text(format!("What came back{in_run}")),
            columns: vec![
                Column::text("rank"),
                Column::text("document"),
                Column::text("chunk"),
                Column::text("title"),
                Column::number("score"),
                Column::text("expected"),
            ],
            left: run.count.saturating_sub(rows.len()),
            rows,
            most: None,
            noun: "hit",
            elsewhere: None,
        })
    })
}

fn row(rank: usize, hit: &Hit, labels: &Labels) -> TableRow {
    let by_chunk = hit.chunk_id.as_ref();
    let is_expected = labels.expects(hit);
    TableRow {
        status: is_expected.then_some(Status::Expected),
        ..TableRow::new([
            Phrase::text(rank.to_string()),
            Phrase::of_name(&hit.doc_id),
            by_chunk.map_or_else(|| Phrase::text("–"), Phrase::of_name),
            hit.title
                .as_ref()
                .map_or_else(|| Phrase::text("–"), |title| Phrase::default().quote(title)),
            Phrase::text(hit.score.map_or_else(|| "–".to_owned(), display)),
            Phrase::text(if is_expected { "yes" } else { "" }),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Citations, Ranking};
    use kelvin_base::digest::Digest;

    fn query(rank: Option<u32>) -> QueryRecord {
        let hit = |rank: u32, doc: &str| Hit {
            chunk_id: None,
            doc_id: format!("{doc}-{rank}"),
            title: None,
            score: Some(1.0 / f64::from(rank)),
            spans: Vec::new(),
        };
        let hits = (1..=12).map(|at| match Some(at) == rank {
            true => hit(at, "wanted"),
            false => hit(at, "other"),
        });
        QueryRecord {
            input: Digest::of(b"a query"),
            by_document: None,
            of_answer: None,
            query: "Where is it?".to_owned(),
            folder: None,
            labels: Labels {
                docs: true,
                expected_docs: vec![format!("wanted-{}", rank.unwrap_or(1))],
                ..Labels::default()
            },
            expected_titles: BTreeMap::new(),
            runs: vec![Retrieved {
                count: 12,
                hits: hits.collect(),
                docs: Ranking::new(rank.map(|rank| (rank, 1)), [1], 1),
                ..Retrieved::default()
            }],
        }
    }

    fn queries() -> BTreeMap<String, QueryRecord> {
        let ranks = [("a", Some(1)), ("b", None), ("c", Some(4)), ("d", Some(12))];
        let each = ranks.map(|(id, rank)| (id.to_owned(), query(rank)));
        each.into_iter().collect()
    }

    #[test]
    fn queries_that_found_nothing_come_first_and_the_others_by_their_rank() {
        let queries = queries();
        let metrics = BTreeMap::new();
        let list = items(RetrievalRun {
            metrics: &metrics,
            depth: 10,
            citations: Citations::Hits,
            queries: &queries,
        });
        assert_eq!((list.count, list.against, list.failing), (4, 2, 0));
        assert_eq!((list.place)("c"), Some(2));
        let shown: Vec<ItemView<'_>> = list.each.collect();
        let names: Vec<&str> = shown.iter().map(|one| one.name).collect();
        // What stands behind the tenth hit is not found by a run that looks at ten.
        assert_eq!(names, ["b", "d", "c", "a"]);
        let values: Vec<_> = shown.iter().map(|one| one.signals[0].value).collect();
        assert_eq!(values, [Some(0.0), Some(0.0), Some(0.25), Some(1.0)]);
        let Some(Block::Table(table)) = shown[2].blocks.last() else {
            panic!("the hits are listed");
        };
        let expected = |row: &TableRow| row.status == Some(Status::Expected);
        assert_eq!(table.rows.iter().position(expected), Some(3));
        assert_eq!(table.rows.iter().filter(|row| expected(row)).count(), 1);
    }

    #[test]
    fn the_map_counts_each_run_once_where_its_first_hit_stands() {
        let mut queries = queries();
        let mut refused = query(None);
        refused.labels = Labels {
            refuse: true,
            ..Labels::default()
        };
        queries.insert("e".to_owned(), refused);
        let map = ranks(&queries, 10).expect("four expect a document");
        let counts: Vec<usize> = map.rows[0]
            .cells
            .iter()
            .map(|cell| cell.map_or(0, |cell| cell.n))
            .collect();
        assert_eq!(counts, [1, 0, 0, 1, 0, 0, 2]);
        queries.retain(|id, _| id == "e");
        assert_eq!(ranks(&queries, 10), None);
    }
}
