//! Makes the first statements about a run of the retrieval probe: how many queries had good results.

use std::collections::BTreeMap;

use super::{Demands, RetrievalRun, counted, first_rank, shown, wrong};
use crate::{AnswerRecord, Labels, QueryRecord, Retrieved};
use kelvin_page::{Phrase, Statement, Tone, and_more, are};

/// How many ids a sentence names.
const NAMED: usize = 3;

/// States how many answers could not be checked, how many queries had bad results, which queries these are, and the
/// problem of the first of them.
pub(super) fn statements(run: RetrievalRun<'_>) -> Vec<Statement> {
    let texts = Texts::of(run.queries);
    texts
        .unchecked()
        .into_iter()
        .chain(done(run, texts))
        .collect()
}

/// The texts of the answers.
#[derive(Clone, Copy)]
struct Texts {
    /// How many queries have a text as their answer.
    all: usize,
    /// How many of these texts are checked.
    checked: usize,
}

impl Texts {
    fn of(queries: &BTreeMap<String, QueryRecord>) -> Self {
        let has_text = |run: &Retrieved| {
            let answer = run.answer.as_ref().filter(|answer| answer.grounded);
            answer.is_some_and(|answer| answer.text.whole() != Some(""))
        };
        let answered = queries
            .values()
            .filter(|query| query.runs.iter().any(has_text));
        let (mut all, mut checked) = (0, 0);
        for QueryRecord { labels, .. } in answered {
            all += 1;
            // If a refusal is expected, any text is wrong.
            checked += usize::from(labels.content || labels.refuse);
        }
        Self { all, checked }
    }

    /// A statement that the texts were not checked: otherwise a reader of good figures would assume that they were.
    fn unchecked(self) -> Option<Statement> {
        let unchecked = self.all - self.checked;
        let of = match self.all {
            1 => "the one answer".to_owned(),
            all if all == unchecked => format!("all {all} answers"),
            all => format!("{unchecked} of {all} answers"),
        };
        let text = Phrase::text(format!(
            "the text of {of} is checked by nothing in the golden set: add "
        ))
        .name("must_contain")
        .and(", or let a judge grade the answers");
        (unchecked > 0).then_some(Statement::new(Tone::Caution, text))
    }
}

/// States how many queries had bad results, and how the first of them was answered.
fn done(run: RetrievalRun<'_>, texts: Texts) -> Vec<Statement> {
    let (queries, demands) = (run.queries, run.demands());
    let ran = queries.iter().filter(|(_, query)| !query.runs.is_empty());
    let ran: Vec<(&str, Option<Poor<'_>>)> = ran
        .map(|(id, query)| {
            let mut runs = query.runs.iter();
            let poor = runs.find_map(|run| {
                let why = wrong(&query.labels, run, demands).into_iter().next()?;
                let answer = run.answer.as_ref();
                Some(Poor { why, answer })
            });
            (id.as_str(), poor)
        })
        .collect();
    let poor: Vec<(&str, &Poor<'_>)> = ran
        .iter()
        .filter_map(|(id, poor)| Some((*id, poor.as_ref()?)))
        .collect();
    let found = FoundCounts::of(queries, demands.depth);
    let done = match (ran.len(), poor.first()) {
        (0, _) => None,
        (total, None) => Some(Statement::new(
            Tone::Calm,
            Phrase::text(fine(queries, total, (demands, texts), &found)),
        )),
        (total, Some((_, first))) => {
            let what = format!(
                "{} of {} did not do as they should: ",
                poor.len(),
                counted(total)
            );
            let ids = poor.iter().take(NAMED).map(|(id, _)| *id);
            let more = and_more(poor.len().saturating_sub(NAMED));
            let text = Phrase::text(what).names(ids).and(more);
            Some(Statement {
                // A few such queries need attention; if every second query has a bad result, the system is probably
                // broken.
                tone: if poor.len() * 2 >= total {
                    Tone::Alarm
                } else {
                    Tone::Caution
                },
                text: text.and("; the first one: ").quote(first.why.clone()),
            })
        }
    };
    let first = poor.first().and_then(|(id, first)| {
        let given = first.answer?;
        let how = match given.grounded {
            true => " was answered “",
            false => " was refused with “",
        };
        Some(Statement::new(
            Tone::Caution,
            Phrase::text("query ")
                .name(*id)
                .and(how)
                .then(shown(&given.text.shown()))
                .and("”"),
        ))
    });
    // Without queries with bad results, the first sentence has these counts.
    let counts = found.in_words().filter(|_| !poor.is_empty());
    let counts = counts.map(|counts| Statement::new(Tone::Caution, Phrase::text(counts)));
    done.into_iter().chain(first).chain(counts).collect()
}

/// How much of what one query expects is among the hits that are looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FoundShare {
    Nothing,
    Part,
    All,
}

impl FoundShare {
    /// The share in the worst run of a query, since a query does as it should only if it always does; none for a query
    /// that expects no hit, or was not run.
    fn of(query: &QueryRecord, depth: usize) -> Option<Self> {
        let labels = &query.labels;
        let in_run = |run: &Retrieved| {
            let is_found = first_rank(labels, run).is_some_and(|rank| rank as usize <= depth);
            // If neither documents nor existing chunks are expected, the rank of the spans alone is known.
            let mut known = [&run.docs, &run.judged]
                .into_iter()
                .filter_map(|ranking| ranking.recall(depth));
            match (run.ran() && is_found, known.all(|recall| recall >= 1.0)) {
                (false, _) => Self::Nothing,
                (true, false) => Self::Part,
                (true, true) => Self::All,
            }
        };
        let expects = labels.chunks || labels.docs;
        let runs = query.runs.iter().filter(|_| expects);
        runs.map(in_run).min()
    }
}

/// How many queries found all, some or none of what they expect.
struct FoundCounts {
    all: usize,
    some: usize,
    nothing: usize,
    /// What is expected, in the plural.
    noun: &'static str,
}

impl FoundCounts {
    fn of(queries: &BTreeMap<String, QueryRecord>, depth: usize) -> Self {
        let shares: Vec<FoundShare> = queries
            .values()
            .filter_map(|query| FoundShare::of(query, depth))
            .collect();
        let count = |meant| shares.iter().filter(|share| **share == meant).count();
        let some_expect = |is_it: &dyn Fn(&Labels) -> bool| {
            let mut labels = queries.values().map(|query| &query.labels);
            labels.any(is_it)
        };
        let chunks = some_expect(&|labels| !labels.cut_anew && !labels.expected_chunks.is_empty());
        Self {
            all: count(FoundShare::All),
            some: count(FoundShare::Part),
            nothing: count(FoundShare::Nothing),
            noun: match (chunks, some_expect(&|labels| labels.docs)) {
                (false, _) => "documents",
                (true, false) => "chunks",
                (true, true) => "documents and chunks",
            },
        }
    }

    /// The counts, if some query found only a part of what it expects: "all found what they should" would be false.
    fn in_words(&self) -> Option<String> {
        let Self {
            all,
            some,
            nothing,
            noun,
        } = self;
        let found = format!("found some of the expected {noun}, and not all");
        let total = all + some + nothing;
        match (some, total) {
            (0, _) => None,
            (_, 1) => Some(format!("the query {found}")),
            (some, total) if *some == total => Some(format!("each of the {total} queries {found}")),
            (some, total) => {
                let nothing = match nothing {
                    0 => String::new(),
                    nothing => format!(" and {nothing} none"),
                };
                Some(format!(
                    "{all} of {total} queries found all expected {noun}, {some} found some of them{nothing}"
                ))
            }
        }
    }
}

/// A query with bad results.
struct Poor<'a> {
    /// The problem of the first query with a bad result.
    why: String,
    /// The answer in that run.
    answer: Option<&'a AnswerRecord>,
}

/// The statement if there was no problem: it only claims what was examined.
fn fine(
    queries: &BTreeMap<String, QueryRecord>,
    total: usize,
    (demands, texts): (Demands, Texts),
    found: &FoundCounts,
) -> String {
    // Only an answer shows whether a query was refused.
    let is_unseen = |query: &&QueryRecord| {
        let labels = &query.labels;
        !demands.answers && labels.refuse && !(labels.chunks || labels.docs || labels.content)
    };
    let expects = |query: &&QueryRecord| {
        let labels = &query.labels;
        labels.chunks || labels.docs || labels.refuse || labels.content
    };
    let unseen = queries.values().filter(is_unseen).count();
    let expecting = queries.values().filter(expects).count() - unseen;
    let total = total.saturating_sub(unseen);
    let refuses = queries.values().any(|query| query.labels.refuse);
    let is_all_checked = texts.checked == texts.all;
    let looked_at = match (demands.answers, demands.citations) {
        (false, _) if unseen > 0 => format!(
            "; the pipeline gives no answers, so that nothing says whether {unseen} more {} refused as {} should be",
            are(unseen),
            if unseen == 1 { "it" } else { "they" },
        ),
        (false, _) => "; nothing of an answer was looked at".to_owned(),
        (true, _) if is_all_checked => String::new(),
        (true, cites) if texts.checked > 0 => {
            let citations = if cites { "the citations and " } else { "" };
            format!(
                "; of the answers {citations}{} of {} texts were looked at",
                texts.checked, texts.all
            )
        }
        (true, true) => "; of the answers the citations alone were looked at".to_owned(),
        (true, false) => "; of the answers nothing was looked at but that there is one".to_owned(),
    };
    // A statement about the whole run must not claim more than was examined.
    let did = match (
        demands.answers && is_all_checked,
        demands.answers && refuses,
    ) {
        (true, _) => "did as",
        (false, true) => "found or refused all that",
        (false, false) => "found all that",
    };
    if let Some(counts) = found.in_words() {
        let rest = match (demands.answers && is_all_checked, expecting < total) {
            (true, _) => ", and nothing else is wrong",
            (false, true) => ", and of the others nothing is expected",
            (false, false) => "",
        };
        return format!("{counts}{rest}{looked_at}");
    }
    let what = match (expecting, total) {
        (0, 0) => return looked_at.trim_start_matches("; ").to_owned(),
        (0, 1) => return format!("nothing is expected of the query{looked_at}"),
        (0, total) => return format!("nothing is expected of the {total} queries{looked_at}"),
        (1, 1) => format!("the query {did} it should"),
        (expecting, total) if expecting < total => format!(
            "{expecting} of {total} queries {did} they should, and of the others nothing is expected"
        ),
        (_, total) => format!("all {total} queries {did} they should"),
    };
    format!("{what}{looked_at}")
}
