//! Single cases: those with unexpected results, and the change that was made to each.

use std::collections::{BTreeMap, BTreeSet};

use super::EvidenceRun;
use super::swaps::ignored_types;
use crate::perturb::{self, Added, Figure, Relation};
use crate::{CaseRecord, Sample, VariantRecord};
use kelvin_page::{Column, LISTED, Phrase, Status, Table, TableRow, brief, counted};

/// The word for the outcome of a variant. `Open` is a variant whose evidence changed and whose decision did not move,
/// which may be right: the exchanged unit may lead to the same decision. `Apart` is a variant with hedges whose
/// decision moved, which may be right too: a hedge can change the meaning of a sentence, so it counts in a separate
/// figure.
pub(super) const fn word(status: Status) -> &'static str {
    match status {
        Status::Expected => "as expected",
        Status::Against => "against",
        Status::Open => "may hold",
        Status::Apart => "moved, counted apart",
        Status::Failed => "failed",
        Status::NotRun => "not run",
    }
}

/// The expected effect of the variants of a run.
pub(crate) struct Expectations<'a> {
    /// Whether there are several governing types: then a swap of a unit of one type may rightly have no effect, because
    /// another type decides.
    several: bool,
    /// If there are several governing types, those that the pipeline ignores.
    ignored: BTreeSet<&'a str>,
}

impl<'a> Expectations<'a> {
    /// The expected effect of the variants of a run.
    pub(crate) fn of(run: &EvidenceRun<'a>) -> Self {
        Self {
            several: run.governing_types.len() > 1,
            ignored: ignored_types(run),
        }
    }

    /// The outcome of a variant.
    pub(super) fn status(&self, variant: &VariantRecord) -> Status {
        let samples = variant.samples.iter();
        let mut status = match samples.clone().any(|sample| sample.failure.is_some()) {
            true => Status::Failed,
            false => Status::NotRun,
        };
        for distance in samples.filter_map(|sample| sample.distance) {
            let moved = distance > 0.0;
            status = match (variant.relation, moved) {
                (Relation::Invariance, true) if is_hedge(variant) => return Status::Apart,
                (Relation::Invariance, true) => return Status::Against,
                (Relation::Invariance, false) | (Relation::Sensitivity, true) => Status::Expected,
                (Relation::Sensitivity, false) if self.had_to_move(variant) => {
                    return Status::Against;
                }
                (Relation::Sensitivity | Relation::Observation, false) => Status::Open,
                (Relation::Observation, true) => Status::Apart,
            };
        }
        status
    }

    /// Whether a variant with other evidence should have moved the decision: its unit comes from a case with another
    /// answer, and no other type could have prevented the move.
    fn had_to_move(&self, variant: &VariantRecord) -> bool {
        let differs = variant.swap.as_ref().is_some_and(|swap| swap.donor_differs);
        let ignored = variant
            .unit_type
            .as_deref()
            .is_some_and(|name| self.ignored.contains(name));
        differs && (!self.several || ignored)
    }
}

/// Whether a variant counts only for invariance under hedges.
fn is_hedge(variant: &VariantRecord) -> bool {
    perturb::find(&variant.kind).is_some_and(|kind| kind.figure == Figure::Hedge)
}

/// A case and how many of its variants had an unexpected result.
pub(super) struct RankedCase<'a> {
    /// Its name.
    pub name: &'a str,
    /// The case.
    pub case: &'a CaseRecord,
    /// How many variants of the case had an unexpected result.
    pub against: usize,
}

impl<'a> RankedCase<'a> {
    /// Every case of a run, worst first: sorted by the distance from the expected result, then by the number of
    /// unexpected variants, then by failures, then by name.
    pub(super) fn all(run: &EvidenceRun<'a>) -> Vec<Self> {
        let expected = Expectations::of(run);
        let mut cases: Vec<Self> = run
            .cases
            .iter()
            .map(|(name, case)| Self {
                name,
                case,
                against: case
                    .variants
                    .iter()
                    .filter(|variant| expected.status(variant) == Status::Against)
                    .count(),
            })
            .collect();
        cases.sort_by(|a, b| {
            let lack = b.lack().total_cmp(&a.lack());
            lack.then_with(|| b.against.cmp(&a.against))
                .then_with(|| b.case.failed.cmp(&a.case.failed))
                .then_with(|| a.name.cmp(b.name))
        });
        cases
    }

    /// The distance of the case from the expected result, at most 2: 0 if everything was as expected. A case without
    /// any answer to its unperturbed input gets 2.
    fn lack(&self) -> f64 {
        let is_answered = |sample: &Sample| sample.failure.is_none();
        if !self.case.baseline.iter().any(is_answered) {
            return 2.0;
        }
        let drift = 1.0 - self.case.invariance.unwrap_or(1.0);
        let wrong = self.against + self.failed();
        drift + wrong as f64 / self.case.variants.len().max(1) as f64
    }

    /// How many variants of the case have a call without an answer.
    pub(super) fn failed(&self) -> usize {
        let has_failed = |variant: &&VariantRecord| {
            let mut samples = variant.samples.iter();
            samples.any(|sample| sample.failure.is_some())
        };
        self.case.variants.iter().filter(has_failed).count()
    }
}

/// Describes in words how a variant differs from its case.
pub(super) fn done(case: &CaseRecord, variant: &VariantRecord) -> Phrase {
    let unit = |place: usize| {
        let unit = case.units.get(place);
        unit.map_or("?", |unit| unit.unit_type.as_ref())
    };
    let notes = &variant.notes;
    let mut parts = Vec::new();
    if !notes.order.is_empty() {
        let order = notes.order.iter().map(|place| unit(*place));
        parts.push(Phrase::text("new order: ").names(order));
    }
    let (mut removed, mut added) = (notes.removed.as_slice(), notes.added.as_slice());
    // One unit was replaced by a unit of another case.
    if let ([out], [came]) = (removed, added)
        && let Some(from) = &came.from
    {
        parts.push(
            Phrase::of_name(unit(*out))
                .and(" exchanged for the one of ")
                .name(&**from),
        );
        (removed, added) = (&[], &[]);
    }
    // The elements of a whole array were replaced.
    let types: BTreeSet<&str> = removed.iter().map(|place| unit(*place)).collect();
    let is_same = |came: &Added| came.from == added[0].from && types.contains(&*came.unit_type);
    if let ([_, _, ..], [first, ..], 1) = (removed, added, types.len())
        && let Some(from) = &first.from
        && added.iter().all(is_same)
    {
        parts.push(
            Phrase::text("all ")
                .names(types)
                .and(" exchanged for those of ")
                .name(&**from),
        );
        (removed, added) = (&[], &[]);
    }
    if !removed.is_empty() {
        let removed = removed.iter().map(|place| unit(*place));
        parts.push(Phrase::text("without ").names(removed));
    }
    let filler = added.iter().filter(|added| added.from.is_none()).count();
    if filler > 0 {
        parts.push(Phrase::text(format!(
            "{} added",
            counted(filler, "neutral section")
        )));
    }
    let mut from: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for added in added {
        if let Some(case) = &added.from {
            from.entry(case).or_default().push(&added.unit_type);
        }
    }
    if !from.is_empty() {
        let units = from.into_iter().enumerate();
        parts.push(
            units.fold(Phrase::text("added "), |phrase, (at, (case, types))| {
                let phrase = if at == 0 { phrase } else { phrase.and("; ") };
                phrase.names(types).and(" of ").name(case)
            }),
        );
    }
    if !notes.edited.is_empty() {
        let edited = notes.edited.iter().map(|place| unit(*place));
        parts.push(Phrase::text("rewritten: ").names(edited));
    }
    for (key, value) in &notes.detail {
        parts.push(
            Phrase::default()
                .quote(key.replace('_', " "))
                .and(" ")
                .quote(value),
        );
    }
    parts
        .into_iter()
        .reduce(|all, part| all.and("; ").then(part))
        .unwrap_or_default()
}

/// A decision as JSON, so that `"1"` differs from `1`; or the reason why there is none.
pub(super) fn decision(sample: &Sample) -> Phrase {
    match (&sample.decision, &sample.failure) {
        (Some(decision), _) => Phrase::of_name(decision.to_string()),
        (None, Some(failure)) => Phrase::text("failed: ").quote(&failure.message),
        (None, None) => Phrase::text("not run"),
    }
}

/// A signal of one case, with its number of samples.
pub(super) fn signal(value: Option<f64>, n: usize) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| format!("{} (n={n})", brief(value)),
    )
}

/// The worst cases with an unexpected result, each with an example. There may be thousands of such cases, so this list
/// is limited.
pub(super) fn worst(run: &EvidenceRun<'_>) -> Option<Table> {
    let expected = Expectations::of(run);
    let mut cases = RankedCase::all(run);
    cases.retain(|case| case.against > 0);
    let rows = cases.iter().take(LISTED).map(|ranked| {
        let case = ranked.case;
        let mut variants = case.variants.iter();
        let example = variants.find(|variant| expected.status(variant) == Status::Against);
        TableRow::new([
            Phrase::of_name(ranked.name),
            Phrase::text(signal(case.invariance, case.invariance_n)),
            Phrase::text(signal(case.sensitivity, case.sensitivity_n)),
            Phrase::text(format!("{} of {}", ranked.against, case.variants.len())),
            example.map_or_else(Phrase::default, |variant| change(case, variant)),
        ])
    });
    (!cases.is_empty()).then(|| Table {
        title: Phrase::text(format!(
            "{} against expectation",
            counted(cases.len(), "case")
        )),
        columns: vec![
            Column::text("case"),
            Column::number("invariance"),
            Column::number("sensitivity"),
            Column::number("against"),
            Column::text("e.g."),
        ],
        rows: rows.collect(),
        left: cases.len().saturating_sub(LISTED),
        most: None,
        noun: "case",
        elsewhere: None,
    })
}

/// A variant with the decisions before and after it.
fn change(case: &CaseRecord, variant: &VariantRecord) -> Phrase {
    let mut samples = variant.samples.iter();
    let after = samples.find(|sample| sample.distance.is_some());
    let after = after.map(decision).unwrap_or_default();
    let before = case.baseline.first().map(decision);
    let id = Phrase::of_name(&*variant.id);
    match before {
        Some(before) if before != after => id.and(": ").then(before).and(" → ").then(after),
        _ => id.and(": stays ").then(after),
    }
}
