//! Every figure of the probe, in tables grouped by subject.

use super::{EvidenceRun, SignalWords};
use crate::perturb;
use kelvin_page::{Estimate, FigureTable, Phrase};
use kelvin_record::{Metric, estimate, family};

/// Tables of the metrics whose id has exactly one more part than the given id: title, note, id, signal.
const FAMILIES: &[(&str, &str, &str, Option<SignalWords>)] = &[
    (
        "Following by governing type",
        "How far the decision goes where the exchanged unit leads in the case that it comes from. \
         With one governing type 1 is good; with several each can be right and well below.",
        "evidence.following",
        None,
    ),
    (
        "Sensitivity by governing type",
        "How often, or how far, the decision moves when a unit of the type is exchanged. An \
         exchange may rightly change nothing.",
        "evidence.sensitivity",
        None,
    ),
    (
        "Invariance by kind",
        "How well the decision holds under each way to present the same evidence. 1 is good.",
        "evidence.invariance",
        Some(SignalWords::Invariance),
    ),
    (
        "Mechanical sensitivity by kind",
        "How far the decision moves when numbers, comparators or opposites in a rule are turned.",
        "evidence.mechanical_sensitivity",
        None,
    ),
    (
        "Stability without one unit, by type",
        "How well the decision holds when a unit of the type is left out. Not a part of invariance \
         unless the configuration says so.",
        "evidence.drop",
        None,
    ),
    (
        "Where in an array evidence is still read",
        "How well the decision holds when the element that decides stands at each place. 1 is good at every place.",
        "evidence.position",
        None,
    ),
    (
        "Which messages are read, counted from the last",
        "How often neutral text in the place of a message changes the decision. A message that decides nothing may \
         rightly have 0.",
        "evidence.moved_at",
        None,
    ),
    (
        "Which turns are heard",
        "How often other evidence in a turn changes the decision. An exchange may rightly change nothing; a turn in which \
         none ever does is not heard.",
        MOVED_IN_TURN,
        None,
    ),
    (
        "Invariance by turn",
        "How well the decision holds when the evidence of a turn is presented otherwise. 1 is good.",
        "evidence.invariance_in_turn",
        None,
    ),
];

/// The family of the turns of a conversation.
const MOVED_IN_TURN: &str = "evidence.moved_in_turn";

/// The families whose figures form a curve, and are drawn as bars.
const CURVES: [&str; 4] = [
    "evidence.position",
    "evidence.moved_at",
    MOVED_IN_TURN,
    "evidence.invariance_in_turn",
];

/// Other figures of the evidence probe, with their names.
const FURTHER: &[(&str, &str)] = &[
    (
        "evidence.agrees_with_labels",
        "answers that agree with the label of their case",
    ),
    (
        "evidence.agrees_under_rewrites",
        "the same over the variants that should hold",
    ),
    ("evidence.failure_rate", "share of inputs without an answer"),
    (
        "evidence.donor_contrast",
        "donor contrast: how far the swaps of this suite could move the decision",
    ),
    ("evidence.noise_floor", "noise floor (eta)"),
    ("evidence.invariance_corrected", "invariance without noise"),
    (
        "evidence.sensitivity_corrected",
        "sensitivity without noise",
    ),
    (
        "evidence.kelvin_score_corrected",
        "Kelvin score without noise",
    ),
    (
        "evidence.sensitivity_condition",
        "sensitivity to conditions alone",
    ),
    ("evidence.content_effect", "content effect"),
    ("evidence.mechanical_sensitivity", "mechanical sensitivity"),
    ("evidence.hedge_invariance", "invariance under hedges"),
    (
        "evidence.invariance_case_mean",
        "invariance, mean of the cases",
    ),
    (
        "evidence.sensitivity_case_mean",
        "sensitivity, mean of the cases",
    ),
];

/// The figures at the top of every report.
const HEADLINE: [&str; 4] = [
    "evidence.invariance",
    "evidence.following",
    "evidence.sensitivity",
    "evidence.kelvin_score",
];

/// The tables of a run; a table without rows is left out.
pub(super) fn figure_tables<'a>(run: &EvidenceRun<'a>) -> Vec<FigureTable<'a>> {
    let mut tables = Vec::new();
    for (title, note, id, signal) in FAMILIES {
        let mut family = family(run.metrics, id);
        family.sort_by_key(|(name, _)| (order(name), *name));
        let rows = family.into_iter().map(|(name, metric)| {
            let figure = match *id {
                "evidence.following" => estimate(Some(metric)).within_one(),
                _ => estimate(Some(metric)),
            };
            let label = match name {
                "pad" => Phrase::text("both pads together"),
                name if CURVES.contains(id) => of_place(name),
                name => Phrase::of_name(name),
            };
            let label = match *id {
                MOVED_IN_TURN => label.and(moved_of(metric)),
                _ => label,
            };
            (
                label,
                signal
                    .iter()
                    .fold(figure, |figure, signal| figure.rated(signal.words())),
            )
        });
        tables.push(FigureTable {
            title,
            note,
            rows: rows.collect(),
            in_bars: CURVES.contains(id),
        });
    }
    let mut further: Vec<(Phrase, Estimate<'_>)> = FURTHER
        .iter()
        .filter_map(|(id, name)| {
            let metric = run.metrics.get(*id)?;
            let figure = match *id {
                "evidence.donor_contrast" => estimate(Some(metric)).within_one(),
                _ => estimate(Some(metric)),
            };
            Some((Phrase::text(*name), figure))
        })
        .collect();
    // A metric of the probe without a name here is shown with its id, so that none is left out.
    further.extend(
        run.metrics
            .iter()
            .filter(|(id, _)| id.starts_with("evidence.") && !is_named(id))
            .map(|(id, metric)| (Phrase::of_name(id), estimate(Some(metric)))),
    );
    tables.push(FigureTable {
        title: "Further figures",
        note: "",
        rows: further,
        in_bars: false,
    });
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The number of variants in which the decision moved, in words.
fn moved_of(metric: &Metric) -> String {
    let moved = metric.value.unwrap_or_default() * metric.n as f64;
    format!(": moved in {} of {}", moved.round(), metric.n)
}

/// The name of a position in a list or of a turn: `passages_03` is the third position of `passages`, and `03` the third
/// turn.
fn of_place(name: &str) -> Phrase {
    match name.rsplit_once('_') {
        Some((list, place)) => {
            Phrase::of_name(list).and(format!(" at place {}", place.trim_start_matches('0')))
        }
        None => Phrase::text(format!("turn {}", name.trim_start_matches('0'))),
    }
}

/// The position of a kind in the registry; other names come after all kinds, sorted by name.
pub(super) fn order(kind: &str) -> usize {
    let place = perturb::ALL.iter().position(|known| known.name == kind);
    place.unwrap_or(usize::MAX)
}

fn is_named(id: &str) -> bool {
    HEADLINE.contains(&id)
        || FURTHER.iter().any(|(known, _)| *known == id)
        || FAMILIES.iter().any(|(_, _, prefix, _)| {
            id.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with('.'))
        })
}
