//! What is told first of a run of the retrieval probe: how many queries did as they should.

use std::collections::BTreeMap;

use super::{counted, wrong};
use crate::page::{Phrase, Statement, Tone};
use crate::probe::retrieval::QueryRecord;

/// So many ids are named in a sentence.
const NAMED: usize = 3;

/// How many queries did not do as they should, which, and what was wrong with the first of them.
pub(super) fn of(queries: &BTreeMap<String, QueryRecord>, depth: usize) -> Vec<Statement> {
    let ran = queries.iter().filter(|(_, query)| !query.runs.is_empty());
    let ran: Vec<(&str, Option<String>)> = ran
        .map(|(id, query)| {
            let mut runs = query.runs.iter();
            let why = runs.find_map(|run| wrong(&query.labels, run, depth).into_iter().next());
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
            text: Phrase::text(match total {
                1 => "the query did as it should".to_owned(),
                total => format!("all {total} queries did as they should"),
            }),
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
