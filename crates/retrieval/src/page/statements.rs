//! What is told first of a run of the retrieval probe: how many queries did as they should.

use std::collections::BTreeMap;

use super::{RetrievalRun, counted, wrong};
use crate::QueryRecord;
use kelvin_page::{Phrase, Statement, Tone};

/// So many ids are named in a sentence.
const NAMED: usize = 3;

/// How many queries did not do as they should, which, and what was wrong with the first of them.
pub(super) fn of(run: RetrievalRun<'_>) -> Vec<Statement> {
    let (queries, demands) = (run.queries, run.demands());
    let ran = queries.iter().filter(|(_, query)| !query.runs.is_empty());
    let ran: Vec<(&str, Option<String>)> = ran
        .map(|(id, query)| {
            let mut runs = query.runs.iter();
            let why = runs.find_map(|run| wrong(&query.labels, run, demands).into_iter().next());
            (id.as_str(), why)
        })
        .collect();
    let poor: Vec<(&str, &str)> = ran
        .iter()
        .filter_map(|(id, why)| Some((*id, why.as_deref()?)))
        .collect();
    let statement = match (ran.len(), poor.first()) {
        (0, _) => return Vec::new(),
        (total, None) => Statement {
            tone: Tone::Calm,
            text: Phrase::text(fine(queries, total, demands.citations)),
        },
        (total, Some((_, why))) => {
            let what = format!(
                "{} of {} did not do as they should: ",
                poor.len(),
                counted(total)
            );
            let ids = poor.iter().take(NAMED).map(|(id, _)| *id);
            let more = match poor.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = Phrase::text(what).names(ids).and(more);
            Statement {
                // Single queries are for a look; where it is every second one, something is broken.
                tone: if poor.len() * 2 >= total {
                    Tone::Alarm
                } else {
                    Tone::Caution
                },
                text: text.and("; the first one: ").quote((*why).to_owned()),
            }
        }
    };
    vec![statement]
}

/// What is said where nothing went wrong: no more than was looked at.
fn fine(queries: &BTreeMap<String, QueryRecord>, total: usize, cites: bool) -> String {
    let expects = |query: &&QueryRecord| {
        let labels = &query.labels;
        labels.chunks || labels.docs || labels.refuse || labels.content
    };
    let expecting = queries.values().filter(expects).count();
    let mut answers = queries.values().flat_map(|query| &query.runs);
    let has_answer = answers.any(|run| run.answer.is_some());
    let is_asked = |query: &QueryRecord| query.labels.content || query.labels.refuse;
    let looked_at = match (has_answer, queries.values().any(is_asked)) {
        (false, _) => "; nothing of an answer was looked at",
        (true, false) if cites => "; of the answers the citations alone were looked at",
        (true, false) => "; of the answers nothing was looked at but that there is one",
        (true, true) => "",
    };
    let what = match (expecting, total) {
        (0, 1) => return format!("nothing is expected of the query{looked_at}"),
        (0, total) => return format!("nothing is expected of the {total} queries{looked_at}"),
        (1, 1) => "the query did as it should".to_owned(),
        (expecting, total) if expecting < total => format!(
            "{expecting} of {total} queries did as they should, and of the others nothing is expected"
        ),
        (_, total) => format!("all {total} queries did as they should"),
    };
    // Where no answer was looked at, finding is all that they did.
    match has_answer {
        true => format!("{what}{looked_at}"),
        false => format!("{}{looked_at}", what.replace(" did as ", " found what ")),
    }
}
