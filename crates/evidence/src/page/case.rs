//! The page of one case, with all its variants and any outcome of them.

use super::cases::{Expectations, signal};
use super::item::{columns, decisions, row};
use crate::{CaseRecord, Sample, labelled};
use kelvin_page::{Block, ItemPage, PartView, Phrase, Table, counted, safe};

/// The page of one case.
pub(crate) fn case_page<'a>(
    name: &'a str,
    case: &'a CaseRecord,
    expected: &Expectations<'_>,
) -> ItemPage<'a> {
    let mut signals = vec![Phrase::text(format!(
        "Invariance {}, sensitivity {}, {}.",
        signal(case.invariance, case.invariance_n),
        signal(case.sensitivity, case.sensitivity_n),
        counted(case.failed, "failed invocation"),
    ))];
    if case.insufficient {
        signals.push(Phrase::text(
            "More than a fifth of the invocations failed: too many to judge this case.",
        ));
    }
    let units = case.units.iter().map(|unit| unit.unit_type.as_ref());
    let own = Phrase::text("Decision on it as it is: ").then(decisions(&case.baseline));
    let own = match labelled::expected(case) {
        Some(label) => own.and("; expected ").name(label),
        None => own,
    };
    let mut facts = vec![
        Phrase::text("File ").name(&case.file).and("."),
        Phrase::text("Units: ").names(units).and("."),
        own.and("."),
    ];
    if let Some(sigma) = case.sigma {
        let again = Phrase::text("The same input again: ").then(decisions(&case.replays));
        facts.push(again.and(format!(
            "; two answers are {sigma:.4} apart on average (n={}).",
            case.replays.len() + 1
        )));
    }
    let mut blocks = vec![
        Block::Text(signals),
        Block::Text(facts),
        Block::Table(variants(case, expected)),
    ];
    blocks.extend(failures(case));
    if !case.notices.is_empty() {
        blocks.push(Block::Heading(Phrase::text("Caps, skips and warnings")));
        blocks.push(Block::Notices(case.notices.iter().collect()));
    }
    ItemPage { name, blocks }
}

/// One variant compared with its case; none if the case has no such variant.
pub fn part(case: &CaseRecord, variant: &str) -> Option<PartView> {
    let known = case.variants.iter().find(|known| *known.id == *variant)?;
    let decision = |sample: Option<&Sample>| {
        let decision = sample.and_then(|sample| sample.decision.as_ref());
        decision.map_or_else(
            || Phrase::text("no answer"),
            |value| Phrase::of_name(value.to_string()),
        )
    };
    let answers = Phrase::text("The pipeline decided ")
        .then(decision(case.baseline.first()))
        .and(" on the case and ")
        .then(decision(known.samples.first()))
        .and(" on the variant.");
    Some(PartView {
        before: format!("{}/baseline/{}", case.folder, case.input_name()),
        after: format!(
            "{}/perturbations/{}/{}",
            case.folder,
            known.id,
            case.input_name()
        ),
        answers,
    })
}

fn variants(case: &CaseRecord, expected: &Expectations<'_>) -> Table {
    let rows = case
        .variants
        .iter()
        .map(|variant| row(case, variant, expected.status(variant)));
    Table {
        title: Phrase::default(),
        columns: columns(""),
        rows: rows.collect(),
        most: Some(usize::MAX),
        noun: "variant",
        left: 0,
        elsewhere: None,
    }
}

fn failures(case: &CaseRecord) -> Vec<Block<'_>> {
    let baselines = case.baseline.iter().chain(&case.replays);
    let of_variants = case.variants.iter().flat_map(|variant| {
        let samples = variant.samples.iter();
        samples.map(move |sample| (&*variant.id, sample))
    });
    let all = baselines
        .map(|sample| ("baseline", sample))
        .chain(of_variants);
    let failed = all.filter_map(|(place, sample)| Some((place, sample.failure.as_ref()?)));
    let mut blocks = Vec::new();
    for (place, failure) in failed {
        if blocks.is_empty() {
            let title = Phrase::text("Failed invocations");
            blocks.push(Block::Heading(title));
        }
        let message = Phrase::of_name(place).and(": ").quote(&failure.message);
        blocks.push(match safe::lines(&failure.stderr).trim().is_empty() {
            true => Block::Text(vec![message]),
            false => Block::Printed(message, &failure.stderr),
        });
    }
    blocks
}
