//! Remarks at the case files: which unit a drop comes from.

use super::{Annotation, Level, Publication};
use crate::gate::policy::Effect;
use crate::page::safe;

/// Remarks in all.
const MOST: usize = 100;

/// A remark for each case that got worse, worst first.
pub(crate) fn of(publication: &Publication<'_>) -> Vec<Annotation> {
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
            let case = publication.report.cases().get(&change.case)?;
            let first = change.variants.first();
            let flipped = first.and_then(|first| first.variant.as_deref());
            let variant = case
                .variants
                .iter()
                .find(|variant| flipped == Some(variant.id.as_str()));
            let unit_type = variant.and_then(|variant| variant.unit_type.as_deref());
            let unit = case
                .units
                .iter()
                .find(|unit| Some(unit.unit_type.as_ref()) == unit_type)
                .or(case.units.first());
            let (base, head) = (change.base?, change.head?);
            let what = match first {
                Some(first) => format!("; for example {first}"),
                None => String::new(),
            };
            Some(Annotation {
                level: match judgement.verdict.passed {
                    false if fails(&change.metric) => Level::Failure,
                    false => Level::Warning,
                    // Within what is allowed: worth knowing, nothing to warn of.
                    true => Level::Notice,
                },
                path: file(publication, &case.file),
                line: unit.map_or(1, |unit| unit.line),
                title: safe::cut(&format!("{} got worse", change.metric), 100),
                message: safe::cut(
                    &format!(
                        "{} of case {} went from {base:.4} to {head:.4}{what}",
                        change.metric, change.case
                    ),
                    500,
                ),
            })
        })
        .take(MOST)
        .collect()
}

/// A case file as the repository names it.
fn file(publication: &Publication<'_>, file: &str) -> String {
    let folder = publication.folder.trim_matches('/');
    match folder {
        "" => file.to_owned(),
        folder => format!("{folder}/{file}"),
    }
}
