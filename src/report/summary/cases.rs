//! Single cases: which went against expectation, and what was done to them.

use std::collections::{BTreeMap, BTreeSet};

use super::swaps::ignored_types;
use super::words::{Phrase, counted};
use crate::perturb::{self, Figure, Relation};
use crate::probe::{CaseRecord, Sample, VariantRecord};
use crate::report::Report;

/// What became of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Every sample did what it ought to.
    Expected,
    /// At least one did not.
    Against,
    /// The evidence changed, the decision held, and that may be right: the exchanged unit may lead
    /// to the same decision.
    Open,
    /// Hedges were put in and the decision moved, which may be right: a hedge can change what a
    /// sentence says, so it counts in a figure of its own.
    Apart,
    /// There is no sample with a distance, and a failure.
    Failed,
    /// It was not run.
    NotRun,
}

impl Outcome {
    /// In words.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Expected => "as expected",
            Self::Against => "against",
            Self::Open => "may hold",
            Self::Apart => "moved, counted apart",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// What can be expected of the variants of a run.
pub(crate) struct Expected<'a> {
    /// Whether there are several governing types: a swap of one may then rightly move nothing,
    /// because another one decides.
    several: bool,
    /// Those of several types that the pipeline ignores.
    ignored: BTreeSet<&'a str>,
}

impl<'a> Expected<'a> {
    /// Of the variants of a report.
    pub(crate) fn of(report: &'a Report) -> Self {
        Self {
            several: report.run.governing_types.len() > 1,
            ignored: ignored_types(report),
        }
    }

    /// What became of a variant.
    pub(crate) fn outcome(&self, variant: &VariantRecord) -> Outcome {
        let samples = variant.samples.iter();
        let mut outcome = match samples.clone().any(|sample| sample.failure.is_some()) {
            true => Outcome::Failed,
            false => Outcome::NotRun,
        };
        for distance in samples.filter_map(|sample| sample.distance) {
            let moved = distance > 0.0;
            outcome = match (variant.relation, moved) {
                (Relation::Invariance, true) if is_hedge(variant) => return Outcome::Apart,
                (Relation::Invariance, true) => return Outcome::Against,
                (Relation::Invariance, false) | (Relation::Sensitivity, true) => Outcome::Expected,
                (Relation::Sensitivity, false) if self.had_to_move(variant) => {
                    return Outcome::Against;
                }
                (Relation::Sensitivity, false) => Outcome::Open,
            };
        }
        outcome
    }

    /// Whether a variant with other evidence had to move the decision: its unit comes from a case
    /// that is answered differently, and nothing else could have held the decision.
    fn had_to_move(&self, variant: &VariantRecord) -> bool {
        let differs = variant.swap.is_some_and(|swap| swap.donor_differs);
        let ignored = variant
            .unit_type
            .as_deref()
            .is_some_and(|name| self.ignored.contains(name));
        differs && (!self.several || ignored)
    }
}

/// Whether a variant counts into invariance under hedges, and into nothing else.
fn is_hedge(variant: &VariantRecord) -> bool {
    perturb::find(&variant.kind).is_some_and(|kind| kind.figure() == Figure::Hedge)
}

/// A case with what counts against it.
pub(crate) struct Ranked<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The case.
    pub(crate) case: &'a CaseRecord,
    /// How many of its variants went against expectation.
    pub(crate) against: usize,
}

impl<'a> Ranked<'a> {
    /// Every case of a report, worst first: by what went against expectation, then by what failed, then by
    /// name.
    pub(crate) fn all(report: &'a Report) -> Vec<Self> {
        let expected = Expected::of(report);
        let mut cases: Vec<Self> = report
            .cases
            .iter()
            .map(|(name, case)| Self {
                name,
                case,
                against: case
                    .variants
                    .iter()
                    .filter(|variant| expected.outcome(variant) == Outcome::Against)
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

    /// How much of what could be expected of this case did not come true.
    fn lack(&self) -> f64 {
        let drift = 1.0 - self.case.invariance.unwrap_or(1.0);
        drift + self.against as f64 / self.case.variants.len().max(1) as f64
    }
}

/// What was done to a case, in words.
pub(crate) fn done(case: &CaseRecord, variant: &VariantRecord) -> Phrase {
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
    // One out and one in at its place is an exchange.
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

/// A decision as JSON, so that `"1"` is not `1`; or why there is none.
pub(crate) fn decision(sample: &Sample) -> Phrase {
    match (&sample.decision, &sample.failure) {
        (Some(decision), _) => Phrase::of_name(decision.to_string()),
        (None, Some(failure)) => Phrase::text("failed: ").quote(&failure.message),
        (None, None) => Phrase::text("not run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_hedge_that_moves_the_decision_is_not_against_expectation() {
        let mut report = fixture::bad();
        let against = |report: &Report| -> usize {
            let ranked = Ranked::all(report);
            ranked.iter().map(|case| case.against).sum()
        };
        let before = against(&report);
        let expected = Expected::of(&report);
        let moves = |variant: &VariantRecord| {
            variant.relation == Relation::Invariance
                && expected.outcome(variant) == Outcome::Against
        };
        let (name, place) = report
            .cases
            .iter()
            .find_map(|(name, case)| Some((name.clone(), case.variants.iter().position(moves)?)))
            .expect("one moves");
        let case = report.cases.get_mut(&name).expect("it is there");
        "hedge_injection".clone_into(&mut case.variants[place].kind);
        assert_eq!(against(&report), before - 1);
        let variant = &report.cases[&name].variants[place];
        assert_eq!(Expected::of(&report).outcome(variant), Outcome::Apart);
        assert_eq!(Outcome::Apart.word(), "moved, counted apart");
    }
}
