//! Remarks in the files of the items, which show the part of a file that caused a drop.

use super::{Annotation, Level, Publication};
use kelvin_gate::policy::Effect;
use kelvin_page::safe;
use kelvin_record::probe_of;

/// The maximum number of remarks.
const MOST: usize = 100;

/// A remark for each item that got worse and whose position in a file is known, worst first.
pub fn annotations(publication: &Publication<'_>) -> Vec<Annotation> {
    let Some(judgement) = publication.judgement else {
        return Vec::new();
    };
    let fails = |metric: &str| {
        judgement.verdict.reasons.iter().any(|reason| {
            reason.effect == Some(Effect::Fail)
                && reason.metric.as_deref().is_none_or(|id| id == metric)
        })
    };
    judgement
        .cases
        .iter()
        .filter(|case| case.is_worse())
        .filter_map(|change| {
            let probe = probe_of(&change.metric);
            let section = publication.report.probes.of(probe)?;
            let first = change.variants.first();
            let variant = first.and_then(|first| first.variant.as_deref());
            let place = section.place(&change.case, variant)?;
            let noun = publication
                .report
                .probes
                .kind(probe)
                .map_or("item", |kind| kind.nouns().0);
            let (base, head) = (change.base?, change.head?);
            let what = match first {
                Some(first) => format!("; for example {first}"),
                None => String::new(),
            };
            Some(Annotation {
                level: match judgement.verdict.passed {
                    false if fails(&change.metric) => Level::Failure,
                    false => Level::Warning,
                    // The change is within the limit: it is interesting, but does not deserve a warning.
                    true => Level::Notice,
                },
                path: file(publication, place.file),
                line: place.line,
                title: safe::cut(&format!("{} got worse", change.metric), 100),
                message: safe::cut(
                    &format!(
                        "{} of {noun} {} went from {base:.4} to {head:.4}{what}",
                        change.metric, change.case
                    ),
                    500,
                ),
            })
        })
        .take(MOST)
        .collect()
}

/// The path of a file within the repository.
fn file(publication: &Publication<'_>, file: &str) -> String {
    let folder = publication.folder.trim_matches('/');
    match folder {
        "" => file.to_owned(),
        folder => format!("{folder}/{file}"),
    }
}
