//! A report as a comparison sees it: its metrics, and the items of each probe.

use std::collections::BTreeMap;

use super::compare::Measured;
use crate::report::{Report, Share};
use kelvin_record::{ComparedItems, SectionAnswers, SectionKind};

impl<'a> From<&'a Report> for Measured<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            metrics: &report.metrics,
            items: items(report),
            answered: answered(report),
            only: &report.run.only,
            shard: report.run.shard.map(Share::shard),
        }
    }
}

/// The answers to the items of each probe.
fn answered(report: &Report) -> BTreeMap<&str, SectionAnswers<'_>> {
    let sections = report.probes.iter();
    let answered = sections
        .filter_map(|(name, section)| Some((name, report.probes.kind(name)?.answered(section)?)));
    answered.collect()
}

/// The items of each probe of the run.
fn items(report: &Report) -> BTreeMap<&str, ComparedItems<'_>> {
    let sections = report.probes.iter();
    sections
        .map(|(name, section)| {
            let kept = report.kept(name);
            let mut by_name = section.compared();
            for (id, item) in &mut by_name {
                item.counts_once |= kept.contains(id);
            }
            let kind = report.probes.kind(name);
            let items = ComparedItems {
                nouns: kind.map(|kind| kind.nouns_of(section)).unwrap_or_default(),
                are_of_others: kind.is_some_and(SectionKind::observes),
                settings: Some(report.run.fingerprints.config),
                by_name,
            };
            (name, items)
        })
        .collect()
}
