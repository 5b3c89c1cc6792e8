//! What stands first: in every mixture of metrics the one that dropped most beyond its limit.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use kelvin_base::digest::Digest;
use kelvin_fixtures::report as fixture;
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::judgement::AnswersShown;
use kelvin_gate::policy::Policy;
use kelvin_gate::{Gate, Next, changes};
use kelvin_record::{CaseValue, Cell, Cells, Metric};

/// How a metric came out. There are thirty cases of three cells, so a cell is worth 0.0111.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Same,
    Rose,
    /// By 0.0333, which is allowed.
    DroppedALittle,
    /// By 0.1.
    Dropped,
    /// By 0.2.
    DroppedMost,
    /// The head has no value.
    Unmeasured,
    /// One case lost everything, and others gained more.
    BrokeAndRose,
}

const SHAPES: [Shape; 7] = [
    Shape::Same,
    Shape::Rose,
    Shape::DroppedALittle,
    Shape::Dropped,
    Shape::DroppedMost,
    Shape::Unmeasured,
    Shape::BrokeAndRose,
];

/// In another order than that of their drops; the second is better where it is lower.
const METRICS: [&str; 3] = ["a.groundedness", "b.empty_rate", "c.mrr"];

const CASES: usize = 30;

impl Shape {
    /// The losses of a cell on the base and on the head; the cases begin at another place in each
    /// metric, so that each has a worst case of its own.
    fn losses(self, place: usize, cell: usize) -> (f64, Option<f64>) {
        let bad = |is: bool| f64::from(u8::from(is));
        let first = |count: usize| bad(place < count && cell == 0);
        match self {
            Self::Same => (0.0, Some(0.0)),
            Self::Rose => (first(9), Some(0.0)),
            Self::DroppedALittle => (0.0, Some(first(3))),
            Self::Dropped => (0.0, Some(first(9))),
            Self::DroppedMost => (0.0, Some(first(18))),
            Self::Unmeasured => (0.0, None),
            Self::BrokeAndRose => (
                bad((10..20).contains(&place) && cell == 0),
                Some(bad(place == 3)),
            ),
        }
    }

    fn drop(self) -> f64 {
        match self {
            Self::Dropped => 0.1,
            Self::DroppedMost => 0.2,
            _ => 0.0,
        }
    }
}

fn metric(at: usize, shape: Shape, is_head: bool) -> Metric {
    let lower = at == 1;
    let value = |loss: f64| if lower { loss } else { 1.0 - loss };
    let per_case: BTreeMap<String, CaseValue> = (0..CASES)
        .map(|case| {
            let place = (case + CASES - 7 * at) % CASES;
            let cells: Cells = (0..3)
                .map(|cell| {
                    let (base, head) = shape.losses(place, cell);
                    let loss = if is_head { head } else { Some(base) };
                    let cell_value = Cell {
                        input: Digest::of(format!("{case} {cell}").as_bytes()),
                        values: vec![loss.map(value)],
                        pairs: None,
                    };
                    (format!("reorder-{cell:02}").into(), cell_value)
                })
                .collect();
            let known: Vec<f64> = cells.values().filter_map(|cell| cell.values[0]).collect();
            let case_value = CaseValue {
                value: kelvin_base::stats::mean(&known),
                n: known.len(),
                repeats: Vec::new(),
                cells,
            };
            (format!("case-{case:02}"), case_value)
        })
        .collect();
    let known: Vec<f64> = per_case.values().filter_map(|case| case.value).collect();
    let mean = kelvin_base::stats::mean(&known).ok_or_else(|| "no answer is grounded".to_owned());
    let mut metric = Metric::new(mean, 3 * known.len(), 0);
    metric.gated = true;
    metric.per_case = per_case.into();
    if lower {
        metric.lower_is_better()
    } else {
        metric
    }
}

fn report(shapes: [Shape; 3], is_head: bool) -> Report {
    let mut report = fixture::good();
    report.metrics = METRICS
        .iter()
        .zip(shapes)
        .enumerate()
        .map(|(at, (id, shape))| ((*id).to_owned(), metric(at, shape, is_head)))
        .collect();
    report
}

fn judged(base: &Report, head: &Report) -> Judgement {
    let (old, new) = (Measured::from(base), Measured::from(head));
    let comparison = compare(&old, &new);
    let policy = Policy {
        deterministic: true,
        ..Policy::default()
    };
    let Next::Verdict(verdict) = Gate::new(&policy, false, false, None).next(&comparison, 0) else {
        panic!("a deterministic pipeline is not run again");
    };
    Judgement {
        cases: changes::case_changes(&comparison, &verdict),
        ..Judgement::without_base(*verdict, Vec::new())
    }
}

/// Whether a case got worse in a metric.
fn is_worse(at: usize, shape: Shape, case: &str) -> bool {
    let case: usize = case["case-".len()..].parse().expect("a number");
    let place = (case + CASES - 7 * at) % CASES;
    (0..3).any(|cell| {
        let (base, head) = shape.losses(place, cell);
        head.is_some_and(|head| head > base)
    })
}

#[test]
fn the_metric_that_dropped_most_stands_first_everywhere_and_none_that_did_not() {
    for one in SHAPES {
        for two in SHAPES {
            for three in SHAPES {
                stands_first([one, two, three]);
            }
        }
    }
}

fn stands_first(shapes: [Shape; 3]) {
    let (base, head) = (report(shapes, false), report(shapes, true));
    let judgement = judged(&base, &head);
    let page = alone(&head, &judgement, Path::new("kelvin"));
    let said = format!("{shapes:?}\n{page}");
    let heading = page.lines().next().expect("a heading");
    let reason = page.lines().nth(2).expect("a reason");
    let row = page
        .lines()
        .find(|line| line.starts_with("| `"))
        .expect("a row");
    let looked_at = page
        .lines()
        .nth(4)
        .and_then(|step| step.split_once('`'))
        .and_then(|(_, rest)| rest.split_once('`'))
        .map(|(case, _)| case);
    let worst = (0..3).max_by(|one, other| {
        let drop = |at: &usize| shapes[*at].drop();
        drop(one).total_cmp(&drop(other)).then(other.cmp(one))
    });
    let worst = worst.expect("there are three");
    let broke = shapes.contains(&Shape::BrokeAndRose);
    if shapes[worst].drop() > 0.0 {
        let id = METRICS[worst];
        assert!(heading.contains(&format!("regression, `{id}` ")), "{said}");
        assert!(reason.starts_with(&format!("**`{id}` ")), "{said}");
        assert!(row.starts_with(&format!("| `{id}` ")), "{said}");
        let case = looked_at.expect("a case to look at");
        assert!(is_worse(worst, shapes[worst], case), "{case}: {said}");
        let first = judgement.terminal(AnswersShown::OTHERS_ON_THE_PAGE);
        let first = first.lines().nth(1).expect("a reason");
        assert!(first.contains(id), "{first}: {said}");
        let more = shapes.iter().filter(|shape| shape.drop() > 0.0).count() - 1;
        assert_eq!(
            heading.contains(&format!(" and {more} more")),
            more > 0,
            "{said}"
        );
    } else if broke {
        assert!(heading.contains("regression, item `case-"), "{said}");
        assert!(reason.contains("broke: "), "{said}");
        let case = looked_at.expect("a case to look at");
        let broken = shapes
            .iter()
            .enumerate()
            .any(|(at, shape)| *shape == Shape::BrokeAndRose && is_worse(at, *shape, case));
        assert!(broken, "{case}: {said}");
    } else if shapes.contains(&Shape::Unmeasured) {
        assert!(heading.ends_with("Kelvin: unmeasured"), "{said}");
        assert_eq!(looked_at, None, "{said}");
    } else {
        assert!(heading.ends_with("Kelvin: pass"), "{said}");
    }
    // A heading never shows a metric that is as good as it was.
    for (id, shape) in METRICS.iter().zip(shapes) {
        assert!(shape.drop() > 0.0 || !heading.contains(id), "{said}");
    }
}

#[test]
fn a_drop_that_noise_may_explain_is_told_before_what_was_not_measured() {
    let shapes = [Shape::Unmeasured, Shape::Dropped, Shape::Same];
    let (base, head) = (report(shapes, false), report(shapes, true));
    let (old, new) = (Measured::from(&base), Measured::from(&head));
    let comparison = compare(&old, &new);
    // A single case that moved is not enough to be sure of a drop.
    let policy = Policy {
        max_drop: 0.05,
        ..Policy::default()
    };
    let Next::Verdict(verdict) = Gate::new(&policy, false, false, None).next(&comparison, 0) else {
        panic!("nothing can be run again");
    };
    assert_eq!(
        verdict.reasons[0].metric.as_deref(),
        Some(METRICS[1]),
        "{verdict:?}"
    );
}
