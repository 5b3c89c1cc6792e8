//! Shows the cases in the expanded form on the page of a run.

use std::collections::BTreeMap;

use super::EvidenceRun;
use super::cases::{Expectations, RankedCase, decision, done, word};
use crate::perturb::Relation;
use crate::{CaseRecord, Sample, VariantRecord, labelled};
use kelvin_base::stats;
use kelvin_page::{
    Block, Chip, Column, Detail, ItemList, ItemSignal, ItemView, Phrase, Status, Table, TableCell,
    TableRow,
};

/// How many units of a case are listed at most.
const UNITS: usize = 200;

/// The columns for the variants of a case; the last column has the outcome of each variant.
pub(super) fn columns(last: &'static str) -> Vec<Column> {
    vec![
        Column::text("variant"),
        Column::text("what was done"),
        Column::text("ought to"),
        Column::text("decision"),
        Column::number("distance"),
        Column::text(last),
    ]
}

/// Every case, worst first.
pub(super) fn list<'a>(run: EvidenceRun<'a>) -> ItemList<'a> {
    let ranked = RankedCase::all(&run);
    let expected = Expectations::of(&run);
    let places: BTreeMap<&str, usize> = run.cases.keys().map(String::as_str).zip(0..).collect();
    ItemList {
        title: "Cases",
        note: "Worst first. A case opens to its units, every variant, and what changed in those that \
               went against expectation.",
        least: "variants that did as they ought to",
        count: ranked.len(),
        against: ranked.iter().filter(|one| one.against > 0).count(),
        failing: ranked.iter().filter(|one| one.case.failed > 0).count(),
        place: Box::new(move |name| places.get(name).copied()),
        each: Box::new(
            ranked
                .into_iter()
                .map(move |one| view(&run, &expected, &one)),
        ),
    }
}

fn view<'a>(
    run: &EvidenceRun<'a>,
    expected: &Expectations<'_>,
    ranked: &RankedCase<'a>,
) -> ItemView<'a> {
    let case = ranked.case;
    let mut tags = Vec::new();
    if ranked.against > 0 {
        tags.push((false, format!("{} against", ranked.against)));
    }
    if case.failed > 0 {
        tags.push((false, format!("{} failed", case.failed)));
    }
    if case.insufficient {
        tags.push((false, "too many failures".to_owned()));
    }
    if ranked.against == 0 && case.failed == 0 {
        tags.push((true, "as expected".to_owned()));
    }
    let signal = |name, value, n| ItemSignal { name, value, n };
    let mut blocks = vec![
        Block::Text(vec![own_decision(case)]),
        Block::Aside(
            Phrase::text("File ")
                .name(&case.file)
                .and(", inputs and outputs in ")
                .name(format!("{}/", case.folder)),
        ),
        Block::Chips(units(run, case)),
        Block::Table(variants(ranked.name, case, expected)),
    ];
    if !case.notices.is_empty() {
        blocks.push(Block::Heading(Phrase::text("Caps, skips and warnings")));
        blocks.push(Block::Notices(case.notices.iter().collect()));
    }
    ItemView {
        name: ranked.name,
        against: ranked.against,
        failed: case.failed,
        tags,
        signals: vec![
            signal("invariance", case.invariance, case.invariance_n),
            signal("sensitivity", case.sensitivity, case.sensitivity_n),
        ],
        blocks,
    }
}

fn own_decision(case: &CaseRecord) -> Phrase {
    let first = case.baseline.first();
    let own = first.map_or_else(|| Phrase::text("not run"), decision);
    let text = Phrase::text("Decision on the case as it is: ").then(own);
    let text = match labelled::expected(case) {
        Some(label) => text.and("; expected ").name(label),
        None => text,
    };
    match case.sigma {
        None => text,
        Some(sigma) => {
            let runs = case.replays.len() + 1;
            text.and(format!(
                "; run {runs} times: two answers are {sigma:.4} apart on average (n={runs})"
            ))
        }
    }
}

fn units(run: &EvidenceRun<'_>, case: &CaseRecord) -> Vec<Chip> {
    let governs = |name: &str| run.governing_types.iter().any(|one| one == name);
    let units = case.units.iter().take(UNITS).map(|unit| Chip {
        text: unit.unit_type.to_string(),
        title: Some(format!("line {}", unit.line)),
        badge: governs(&unit.unit_type).then(|| "governs".to_owned()),
    });
    let mut chips: Vec<Chip> = units.collect();
    let more = case.units.len().saturating_sub(UNITS);
    if more > 0 {
        chips.push(Chip {
            text: format!("and {more} more"),
            title: None,
            badge: None,
        });
    }
    chips
}

fn variants(name: &str, case: &CaseRecord, expected: &Expectations<'_>) -> Table {
    let rows = case.variants.iter().map(|variant| {
        let status = expected.status(variant);
        let mut row = row(case, variant, status);
        if status == Status::Against {
            row.cells[3].before = case.baseline.first().map(decision);
            row.detail = Some(detail(name, case, variant));
        }
        row
    });
    Table {
        title: Phrase::text("Variants of ").name(name),
        columns: columns("outcome"),
        rows: rows.collect(),
        most: None,
        noun: "variant",
        left: 0,
        elsewhere: Some(Phrase::text("see ").name(format!("{}/report.md", case.folder))),
    }
}

/// A row for a variant: its change, the expected effect on the decision, and the actual effect.
pub(super) fn row(case: &CaseRecord, variant: &VariantRecord, status: Status) -> TableRow {
    let ought = match variant.relation {
        Relation::Invariance => "hold",
        Relation::Sensitivity => "move",
        Relation::Observation => "either",
    };
    let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
    let distance = stats::mean(&distances);
    let distance = distance.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.2}"));
    let cells = [
        Phrase::of_name(&*variant.id),
        done(case, variant),
        Phrase::text(ought),
        decisions(&variant.samples),
        Phrase::text(distance),
        Phrase::text(word(status)),
    ];
    TableRow {
        cells: cells.into_iter().map(TableCell::from).collect(),
        status: Some(status),
        detail: None,
        anchor: None,
    }
}

/// The decisions of all repeats; equal decisions are shown once.
pub(super) fn decisions(samples: &[Sample]) -> Phrase {
    let mut seen: Vec<(Phrase, usize)> = Vec::new();
    for sample in samples {
        let shown = decision(sample);
        match seen.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, count)) => *count += 1,
            None => seen.push((shown, 1)),
        }
    }
    let each = seen.into_iter().map(|(shown, count)| match count {
        1 => shown,
        count => shown.and(format!(" ×{count}")),
    });
    let all = each.reduce(|all, one| all.and(", ").then(one));
    all.unwrap_or_else(|| Phrase::text("not run"))
}

/// The change of the input. A new order changes no word, so the page says where each unit came from, which is more
/// useful than a comparison of the texts.
fn detail(name: &str, case: &CaseRecord, variant: &VariantRecord) -> Detail {
    let places = variant.notes.order.iter().enumerate().take(UNITS);
    let order = places.map(|(at, from)| Chip {
        text: case
            .units
            .get(*from)
            .map_or_else(|| "?".to_owned(), |unit| unit.unit_type.to_string()),
        title: None,
        badge: (at != *from).then(|| format!("was {}", from + 1)),
    });
    match variant.notes.order.is_empty() {
        false => Detail::Chips("the new order", order.collect()),
        true => Detail::Difference {
            title: "what changed in the input",
            item: name.to_owned(),
            part: variant.id.to_string(),
            file: format!(
                "{}/perturbations/{}/{}",
                case.folder,
                variant.id,
                case.input_name()
            ),
        },
    }
}
