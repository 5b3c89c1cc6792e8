//! One case of the page: its units, its variants, and what changed in those that went against
//! expectation.

use serde::Serialize;

use super::Texts;
use super::diff::{self, Line};
use super::foot::Row;
use crate::probe::evidence::perturb::Relation;
use crate::probe::{CaseRecord, Sample, VariantRecord};
use crate::report::summary::{Expected, Outcome, Phrase, Ranked, brief, decision, done};
use crate::report::{Report, safe};
use crate::stats;

/// How many diffs a page holds, and how many bytes of them: beyond that it is slow to open, and
/// nobody reads them.
const DIFFS: usize = 1_500;
const DIFF_BYTES: usize = 3_000_000;
/// How many variants a page lists before it leaves out those that did as they ought to.
const VARIANTS: usize = 15_000;
/// The most units and notices of a case that are listed.
const UNITS: usize = 200;
const NOTICES: usize = 100;

/// What a page has room for.
pub(super) struct Budget<'a> {
    texts: &'a Texts<'a>,
    expected: Expected<'a>,
    diffs: usize,
    bytes: usize,
    variants: usize,
    /// Diffs that found no room.
    pub(super) diffs_left_out: usize,
    /// Variants that found no room; all of them did as they ought to.
    pub(super) variants_left_out: usize,
}

impl<'a> Budget<'a> {
    /// All of it.
    pub(super) fn new(texts: &'a Texts<'a>, report: &'a Report) -> Self {
        Self {
            texts,
            expected: Expected::of(report),
            diffs: DIFFS,
            bytes: DIFF_BYTES,
            variants: VARIANTS,
            diffs_left_out: 0,
            variants_left_out: 0,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Case {
    name: String,
    file: String,
    folder: String,
    anchor: usize,
    against: usize,
    failed: usize,
    insufficient: bool,
    signals: [Mini; 2],
    units: Vec<Unit>,
    units_more: usize,
    decision: Phrase,
    replays: Option<String>,
    variants: Vec<Variant>,
    variants_more: usize,
    notices: Vec<Row>,
    notices_more: usize,
}

/// A signal of a case.
#[derive(Serialize)]
struct Mini {
    name: &'static str,
    shown: String,
    percent: f64,
    n: usize,
}

#[derive(Serialize)]
struct Unit {
    unit_type: String,
    line: usize,
    governs: bool,
}

#[derive(Serialize)]
struct Variant {
    id: String,
    done: Phrase,
    ought: &'static str,
    decisions: Vec<(Phrase, usize)>,
    before: Option<Phrase>,
    distance: String,
    outcome: Outcome,
    word: &'static str,
    order: Vec<Moved>,
    diff: Vec<Line>,
    diff_more: usize,
    diff_note: Option<&'static str>,
}

/// A unit in its new place.
#[derive(Serialize)]
struct Moved {
    unit_type: String,
    /// Its old place from 1, where that is another one.
    was: Option<usize>,
}

impl Case {
    pub(super) fn of(
        anchor: usize,
        ranked: &Ranked<'_>,
        report: &Report,
        budget: &mut Budget<'_>,
    ) -> Self {
        let case = ranked.case;
        let mini = |name, value: Option<f64>, n| Mini {
            name,
            shown: value.map_or_else(|| "–".to_owned(), brief),
            percent: (value.unwrap_or(0.0) * 1000.0).round() / 10.0,
            n,
        };
        let mut variants = Vec::new();
        let mut variants_more = 0;
        for variant in &case.variants {
            if budget.variants == 0 && budget.expected.outcome(variant) != Outcome::Against {
                variants_more += 1;
                continue;
            }
            budget.variants = budget.variants.saturating_sub(1);
            variants.push(Variant::of(ranked.name, case, variant, budget));
        }
        budget.variants_left_out += variants_more;
        let governs = |name: &str| report.run.governing_types.iter().any(|one| one == name);
        Self {
            name: safe::cut(ranked.name, 120),
            file: safe::cut(&case.file, 200),
            folder: safe::cut(&case.folder, 120),
            anchor,
            against: ranked.against,
            failed: case.failed,
            insufficient: case.insufficient,
            signals: [
                mini("invariance", case.invariance, case.invariance_n),
                mini("sensitivity", case.sensitivity, case.sensitivity_n),
            ],
            units: case
                .units
                .iter()
                .take(UNITS)
                .map(|unit| Unit {
                    unit_type: safe::cut(&unit.unit_type, 80),
                    line: unit.line,
                    governs: governs(&unit.unit_type),
                })
                .collect(),
            units_more: case.units.len().saturating_sub(UNITS),
            decision: case
                .baseline
                .first()
                .map_or_else(|| Phrase::text("not run"), shown_decision),
            replays: case.sigma.map(|sigma| {
                let runs = case.replays.len() + 1;
                format!("run {runs} times: two answers are {sigma:.4} apart on average (n={runs})")
            }),
            variants,
            variants_more,
            notices: case.notices.iter().take(NOTICES).map(Row::of).collect(),
            notices_more: case.notices.len().saturating_sub(NOTICES),
        }
    }
}

impl Variant {
    fn of(name: &str, case: &CaseRecord, variant: &VariantRecord, budget: &mut Budget<'_>) -> Self {
        let outcome = budget.expected.outcome(variant);
        let against = outcome == Outcome::Against;
        let mut decisions: Vec<(Phrase, usize)> = Vec::new();
        for sample in &variant.samples {
            let shown = shown_decision(sample);
            match decisions.iter_mut().find(|(other, _)| *other == shown) {
                Some((_, count)) => *count += 1,
                None => decisions.push((shown, 1)),
            }
        }
        let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
        let mut view = Self {
            id: safe::cut(&variant.id, 120),
            done: shortened(&done(case, variant)),
            ought: match variant.relation {
                Relation::Invariance => "hold",
                Relation::Sensitivity => "move",
            },
            before: case
                .baseline
                .first()
                .filter(|_| against)
                .map(shown_decision),
            decisions,
            distance: stats::mean(&distances).map_or_else(|| "–".to_owned(), |d| format!("{d:.2}")),
            outcome,
            word: outcome.word(),
            order: Vec::new(),
            diff: Vec::new(),
            diff_more: 0,
            diff_note: None,
        };
        if against && !variant.notes.order.is_empty() {
            view.order = order(case, variant);
        } else if against {
            view.compare(name, variant, budget);
        }
        view
    }

    fn compare(&mut self, name: &str, variant: &VariantRecord, budget: &mut Budget<'_>) {
        if budget.diffs == 0 || budget.bytes == 0 {
            budget.diffs_left_out += 1;
            self.diff_note = Some("The diff was left out to keep this page quick.");
            return;
        }
        let texts = budget.texts;
        let (Some(before), Some(after)) = (texts(name, None), texts(name, Some(&variant.id)))
        else {
            self.diff_note = Some("The inputs are not at hand.");
            return;
        };
        if before.len().max(after.len()) > diff::LONGEST {
            budget.diffs_left_out += 1;
            self.diff_note = Some("The inputs are too long to compare here.");
            return;
        }
        (self.diff, self.diff_more) = diff::lines(&before, &after);
        budget.diffs -= 1;
        let bytes: usize = self.diff.iter().map(Line::len).sum();
        budget.bytes = budget.bytes.saturating_sub(bytes);
    }
}

/// A new order changes no word: where each unit came from says more than a diff.
fn order(case: &CaseRecord, variant: &VariantRecord) -> Vec<Moved> {
    let places = variant.notes.order.iter().enumerate().take(UNITS);
    places
        .map(|(at, from)| Moved {
            unit_type: case
                .units
                .get(*from)
                .map_or_else(|| "?".to_owned(), |unit| safe::cut(&unit.unit_type, 60)),
            was: (at != *from).then_some(from + 1),
        })
        .collect()
}

/// A decision without what a page cannot show.
pub(super) fn shown_decision(sample: &Sample) -> Phrase {
    shortened(&decision(sample))
}

/// A phrase without what a page cannot show, each name and text cut.
pub(super) fn shortened(phrase: &Phrase) -> Phrase {
    phrase.each_foreign(|text| safe::cut(text, 200))
}
