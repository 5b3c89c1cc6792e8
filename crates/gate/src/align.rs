//! Prepares two reports for their comparison: each kind of probe aligns its own sections.

use std::collections::BTreeMap;

use super::compare::Measured;
use crate::report::{Report, Share};
use kelvin_record::{
    ComparedItems, ItemComparisons, SectionAnswers, SectionKind, Surroundings, Viewpoint, probe_of,
};

/// Two reports that can be compared.
#[derive(Clone, Debug)]
pub struct AlignedReports {
    /// The report with which the change is compared.
    pub base: Report,
    /// The report of the change.
    pub head: Report,
    /// The comparison of the items of each probe that both sides have and that aligns its sections.
    pub comparisons: ItemComparisons,
}

/// Renames the items of the base that have another id on the head, and returns their old ids by the new ones. Nothing is
/// renamed if one side has run only some of the items, since it does not know the others.
pub fn with_ids_of_the_head(base: &mut Report, head: &Report) -> BTreeMap<String, String> {
    let is_whole = |report: &Report| report.run.only.is_empty() && report.run.shard.is_none();
    if !is_whole(base) || !is_whole(head) {
        return BTreeMap::new();
    }
    let kinds = head.probes.kinds().iter();
    let renamed = kinds.filter_map(|kind| {
        let [old, new] = [&*base, head].map(|report| report.probes.of(kind.name()));
        Some(kind.renamed(old?, new?))
    });
    let ids: BTreeMap<String, String> = renamed.flatten().collect();
    base.probes.rename(&ids);
    for metric in base.metrics.values_mut() {
        metric.per_case.rename(&ids);
    }
    for case in base.notices.iter_mut().flat_map(|notice| &mut notice.case) {
        if let Some(id) = ids.get(case) {
            case.clone_from(id);
        }
    }
    ids.into_iter().map(|(old, new)| (new, old)).collect()
}

/// Aligns the sections that both reports have of the same probe, by the labels of the base and the known values.
pub fn align(base: &Report, head: &Report) -> AlignedReports {
    align_by(base, head, Viewpoint::default())
}

/// Aligns the two reports from the given viewpoint, which says whose labels count and how unknown values are read.
pub fn align_by(base: &Report, head: &Report, reading: Viewpoint) -> AlignedReports {
    let mut aligned = AlignedReports {
        base: base.clone(),
        head: head.clone(),
        comparisons: ItemComparisons::default(),
    };
    for kind in head.probes.kinds().iter() {
        let name = kind.name();
        let (Some(old), Some(new)) = (base.probes.of(name), head.probes.of(name)) else {
            continue;
        };
        kind.figures_of_base(old, new, &mut aligned.base.metrics);
        let around = Surroundings {
            configuration: base.run.fingerprints.config != head.run.fingerprints.config,
            command: old.fingerprint().command != new.fingerprint().command,
        };
        let Some(sections) = kind.align(old, new, around, reading) else {
            continue;
        };
        let sides = [
            (&mut aligned.base, sections.base),
            (&mut aligned.head, sections.head),
        ];
        for (report, mut side) in sides {
            // Aligning leaves most figures as they are in the report. Those share the report's values by case, so that
            // thousands of values are stored only once.
            for (id, metric) in &mut side.metrics {
                if let Some(before) = report.metrics.get(id) {
                    metric.per_case.share(&before.per_case);
                }
            }
            report.metrics.retain(|id, _| probe_of(id) != name);
            report.metrics.extend(side.metrics);
            report.probes.put(name, side.section);
        }
        aligned.comparisons.put(name, sections.items);
    }
    aligned
}

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
