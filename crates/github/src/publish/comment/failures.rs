//! The items on which the pipeline failed, with the words of each failure: a figure says how many, and only the message
//! says why.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::more;
use crate::publish::Publication;
use kelvin_gate::Judgement;
use kelvin_gate::compare::Change;
use kelvin_page::safe;
use kelvin_record::{Nouns, probe_of};

/// The maximum width of a failure, in columns.
const WORDS: usize = 240;

/// The items that fail on the head and did not fail on the base; without a base, all items that fail.
pub(super) fn of_judged(
    publication: &Publication<'_>,
    judgement: &Judgement,
    most: usize,
) -> String {
    if judgement.base.is_none() {
        return of_measured(publication, most);
    }
    let verdict = &judgement.verdict;
    let gone = verdict.answers.iter().flat_map(|(probe, answers)| {
        let items = answers.gone_items.iter();
        items.map(|item| (probe.as_str(), item.as_str()))
    });
    let counts_failures = |metric: &str| {
        let metric = publication.report.metrics.get(metric);
        metric.is_some_and(|metric| metric.is_failure_rate)
    };
    let fails_more = judgement.cases.iter().filter(|case| {
        let is_new = case.change == Change::Added && case.head.is_some_and(|rate| rate > 0.0);
        (case.is_worse() || is_new) && counts_failures(&case.metric)
    });
    let fails_more = fails_more.map(|case| (probe_of(&case.metric), case.case.as_str()));
    let mut seen = BTreeSet::new();
    let items = gone.chain(fails_more).filter(|item| seen.insert(*item));
    table(publication, items, &verdict.common_nouns(), most)
}

/// The items that fail in a run that was not compared.
pub(super) fn of_measured(publication: &Publication<'_>, most: usize) -> String {
    let sections = publication.report.probes.known();
    let items = sections.iter().flat_map(|(kind, section)| {
        let ids = section.ids().into_iter();
        ids.map(|item| (kind.name(), item))
    });
    table(publication, items, &Nouns::default(), most)
}

fn table<'i>(
    publication: &Publication<'_>,
    items: impl Iterator<Item = (&'i str, &'i str)>,
    nouns: &Nouns,
    most: usize,
) -> String {
    let probes = &publication.report.probes;
    let words = |(probe, item): (&str, &'i str)| {
        let words = probes.kind(probe)?.failure(probes.of(probe)?, item)?;
        Some((item, words))
    };
    let failed: Vec<(&str, String)> = items.filter_map(words).collect();
    if failed.is_empty() {
        return String::new();
    }
    let mut page = format!(
        "| {} | what its first failed run said |\n| --- | --- |\n",
        nouns.item
    );
    for (item, words) in failed.iter().take(most) {
        let _ = writeln!(
            page,
            "| {} | {} |",
            safe::code_name(item, 60),
            safe::markdown(words, WORDS)
        );
    }
    let item = match failed.len() - most.min(failed.len()) {
        1 => &nouns.item,
        _ => &nouns.items,
    };
    more(&mut page, failed.len(), most, item);
    page
}
