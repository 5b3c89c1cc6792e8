//! The report of one case: every variant, whatever became of it.

use super::page::{Page, name, phrase, quote};
use super::{signal, told};
use crate::probe::evidence::perturb::Relation;
use crate::probe::{CaseRecord, Sample, VariantRecord};
use crate::report::safe;
use crate::report::summary::{DISCLAIMER, Expected, Outcome, Phrase, counted, decision, done};

/// Renders the report of one case.
pub(crate) fn render(case_name: &str, case: &CaseRecord, expected: &Expected<'_>) -> String {
    let mut page = Page::default();
    page.line(&format!("# {}", name(case_name)));
    page.gap();
    page.line(&format!(
        "Invariance {}, sensitivity {}, {}.",
        signal(case.invariance, case.invariance_n),
        signal(case.sensitivity, case.sensitivity_n),
        counted(case.failed, "failed invocation"),
    ));
    if case.insufficient {
        page.line("More than a fifth of the invocations failed: too many to judge this case.");
    }
    page.gap();
    page.line(&format!("File {}.", name(&case.file)));
    let units = case.units.iter().map(|unit| unit.unit_type.as_ref());
    let units = Phrase::text("Units: ").names(units);
    page.line(&format!("{}.", phrase(&units)));
    page.line(&format!(
        "Decision on it as it is: {}.",
        decisions(&case.baseline)
    ));
    if let Some(sigma) = case.sigma {
        page.line(&format!(
            "The same input again: {}; two answers are {sigma:.4} apart on average (n={}).",
            decisions(&case.replays),
            case.replays.len() + 1
        ));
    }
    page.gap();
    page.line("| variant | what was done | ought to | decision | distance | |");
    page.line("| --- | --- | --- | --- | ---: | --- |");
    for variant in &case.variants {
        page.line(&format!(
            "| {} | {} | {} | {} | {} | {} |",
            name(&variant.id),
            phrase(&done(case, variant)),
            ought(variant.relation),
            decisions(&variant.samples),
            distances(variant),
            match expected.outcome(variant) {
                Outcome::Against => "**against**",
                other => other.word(),
            }
        ));
    }
    page.gap();
    failures(&mut page, case);
    if !case.notices.is_empty() {
        page.line("## Caps, skips and warnings");
        page.gap();
        for notice in &case.notices {
            page.line(&format!("- {}", told(notice)));
        }
        page.gap();
    }
    page.line(&format!("_{DISCLAIMER}_"));
    page.finish()
}

fn failures(page: &mut Page, case: &CaseRecord) {
    let baselines = case.baseline.iter().chain(&case.replays);
    let of_variants = case.variants.iter().flat_map(|variant| {
        variant
            .samples
            .iter()
            .map(move |sample| (variant.id.as_str(), sample))
    });
    let all = baselines
        .map(|sample| ("baseline", sample))
        .chain(of_variants);
    let failed: Vec<_> = all
        .filter_map(|(place, sample)| Some((place, sample.failure.as_ref()?)))
        .collect();
    if failed.is_empty() {
        return;
    }
    page.line("## Failed invocations, in no score");
    page.gap();
    for (place, failure) in failed {
        page.line(&format!("{}: {}", name(place), quote(&failure.message)));
        page.gap();
        if !safe::lines(&failure.stderr).trim().is_empty() {
            page.block(&safe::fenced(&failure.stderr, 4_000));
            page.gap();
        }
    }
}

/// What a decision ought to do.
fn ought(relation: Relation) -> &'static str {
    match relation {
        Relation::Invariance => "hold",
        Relation::Sensitivity => "move",
    }
}

/// The decisions of all repeats, equal ones once.
fn decisions(samples: &[Sample]) -> String {
    let mut seen: Vec<(String, usize)> = Vec::new();
    for sample in samples {
        let shown = phrase(&decision(sample));
        match seen.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, count)) => *count += 1,
            None => seen.push((shown, 1)),
        }
    }
    let seen: Vec<String> = seen
        .into_iter()
        .map(|(shown, count)| match count {
            1 => shown,
            count => format!("{shown} ×{count}"),
        })
        .collect();
    if seen.is_empty() {
        "not run".to_owned()
    } else {
        seen.join(", ")
    }
}

fn distances(variant: &VariantRecord) -> String {
    let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
    match crate::stats::mean(&distances) {
        Some(mean) => format!("{mean:.2}"),
        None => "-".to_owned(),
    }
}
