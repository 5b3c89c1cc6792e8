//! The scenarios in their expanded form on the page of a run, with every check of every run.

use std::collections::BTreeMap;

use super::{cut, named, what_failed};
use crate::record::{ChecksBasis, ChecksSection, Outcome, ScenarioRecord, ScenarioRun};
use crate::scoring;
use kelvin_base::stats;
use kelvin_page::{
    Block, Column, ItemList, ItemSignal, ItemView, Phrase, Table, TableRow, display,
};

/// How many characters of an answer are shown at most, so that a browser can open a page of thousands of scenarios.
const SHOWN_OF_OUTPUT: usize = 400;

/// A scenario with the data that determine its position in the order.
struct ShownScenario<'a> {
    id: &'a str,
    scenario: &'a ScenarioRecord,
    outcome: Outcome,
    composite: Option<f64>,
}

/// Every scenario, the worst first: those that did not pass, then those whose outcome is not known.
pub(super) fn items(section: &ChecksSection) -> ItemList<'_> {
    let basis = &section.basis;
    let places: BTreeMap<&str, usize> = section.items.keys().map(String::as_str).zip(0..).collect();
    let mut shown: Vec<ShownScenario<'_>> = section
        .items
        .iter()
        .map(|(id, scenario)| {
            let composites = scenario.runs.iter().filter_map(|run| run.composite);
            ShownScenario {
                id,
                scenario,
                outcome: match scenario.runs.is_empty() {
                    true => Outcome::Skipped,
                    false => scoring::aggregated(&scenario.runs, basis),
                },
                composite: stats::mean(&composites.collect::<Vec<_>>()),
            }
        })
        .collect();
    let rank = |outcome| match outcome {
        Outcome::Failed => 0,
        Outcome::Error => 1,
        Outcome::Passed => 2,
        Outcome::Skipped => 3,
    };
    // The sort is stable, so scenarios that are equally good stay in the order of their names.
    shown.sort_by(|one, other| {
        let composite = |shown: &ShownScenario<'_>| shown.composite.unwrap_or(f64::INFINITY);
        rank(one.outcome)
            .cmp(&rank(other.outcome))
            .then(composite(one).total_cmp(&composite(other)))
    });
    let having = |wanted: Outcome| shown.iter().filter(|one| one.outcome == wanted).count();
    ItemList {
        title: "Scenarios",
        note: "Those that did not pass first. A scenario opens to what every check of every run says.",
        least: "scenarios",
        count: shown.len(),
        against: having(Outcome::Failed),
        failing: having(Outcome::Error),
        place: Box::new(move |name| places.get(name).copied()),
        each: Box::new(shown.into_iter().map(move |one| view(basis, &one))),
    }
}

fn view<'a>(basis: &ChecksBasis, one: &ShownScenario<'a>) -> ItemView<'a> {
    let runs = &one.scenario.runs;
    let together = scoring::together(runs, basis);
    let mut tags = match one.outcome {
        Outcome::Passed => vec![(true, "passes".to_owned())],
        Outcome::Failed => vec![(false, "does not pass".to_owned())],
        Outcome::Error => vec![(false, "not known".to_owned())],
        Outcome::Skipped => vec![(false, "not run".to_owned())],
    };
    if together.is_some_and(|together| together.is_flaky) {
        tags.push((false, "flaky".to_owned()));
    }
    let parameters = one.scenario.params.iter().map(|(name, value)| {
        let value = match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        Phrase::of_name(name).and(" is ").quote(cut(&value))
    });
    let parameters: Vec<Phrase> = parameters.collect();
    let mut blocks = Vec::new();
    if !parameters.is_empty() {
        blocks.push(Block::Text(parameters));
    }
    blocks.extend(of_the_question(one.scenario));
    for (number, run) in (1..).zip(runs) {
        blocks.extend(of_run(number, runs.len(), (basis, run)));
    }
    let is_against = |run: &&ScenarioRun| run.outcome == Outcome::Failed;
    let is_error = |run: &&ScenarioRun| run.outcome == Outcome::Error;
    ItemView {
        name: one.id,
        against: runs.iter().filter(is_against).count(),
        failed: runs.iter().filter(is_error).count(),
        tags,
        signals: vec![ItemSignal {
            name: "composite",
            value: one.composite,
            n: runs.iter().filter(|run| run.composite.is_some()).count(),
        }],
        blocks,
    }
}

/// The task and the expected value, if the record contains them.
fn of_the_question(scenario: &ScenarioRecord) -> Option<Block<'_>> {
    let mut texts = Vec::new();
    if !scenario.prompt.is_empty() {
        texts.push((Phrase::text("asked"), scenario.prompt.as_str()));
    }
    if let Some(expected) = &scenario.expected {
        texts.push((Phrase::text("expected"), expected.as_str()));
    }
    (!texts.is_empty()).then_some(Block::Beside(texts))
}

fn of_run<'a>(
    number: usize,
    of: usize,
    (basis, run): (&ChecksBasis, &'a ScenarioRun),
) -> Vec<Block<'a>> {
    let which = match of {
        1 => "The run ".to_owned(),
        _ => format!("Run {number} "),
    };
    let said = match (run.outcome, run.composite) {
        (Outcome::Passed, Some(composite)) => {
            format!("passes with a composite of {}", display(composite))
        }
        (Outcome::Failed, Some(composite)) => {
            format!("does not pass, with a composite of {}", display(composite))
        }
        (outcome, _) => format!("has no composite: {}", outcome.as_str()),
    };
    let mut blocks = vec![Block::Heading(Phrase::text(which + &said))];
    if let Some(failure) = &run.failure {
        let ended = Phrase::text(format!(
            "The run ended early, since {} failed: ",
            what_failed(failure)
        ))
        .quote(failure.message.clone());
        blocks.push(Block::Printed(ended, &failure.stderr));
    }
    if let Some(output) = run.output.as_ref().filter(|output| !output.text.is_empty()) {
        let all = match output.characters {
            Some(all) => all,
            None => output.text.chars().count(),
        };
        let (shown, how_much) = match output.text.char_indices().nth(SHOWN_OF_OUTPUT) {
            Some((end, _)) => (
                &output.text[..end],
                format!("answered, the first {SHOWN_OF_OUTPUT} of {all} characters"),
            ),
            None if output.characters.is_some() => (
                &*output.text,
                format!("answered, the beginning of {all} characters"),
            ),
            None => (&*output.text, "answered".to_owned()),
        };
        blocks.push(Block::Beside(vec![(Phrase::text(how_much), shown)]));
    }
    if !run.forbidden.is_empty() {
        let forbidden = run.forbidden.iter();
        let told = forbidden.map(|what| Phrase::text("Forbidden: ").quote(cut(what)));
        blocks.push(Block::Text(told.collect()));
    }
    let rows = run.checks.iter().map(|(name, check)| {
        TableRow::new([
            match check.outcome {
                Outcome::Failed | Outcome::Error => named(basis, name),
                Outcome::Passed | Outcome::Skipped => Phrase::of_name(name),
            },
            Phrase::text(check.outcome.as_str()),
            Phrase::text(check.score.map_or_else(|| "-".to_owned(), display)),
            Phrase::default().quote(cut(&check.reason)),
        ])
    });
    let rows: Vec<TableRow> = rows.collect();
    if !rows.is_empty() {
        blocks.push(Block::Table(Table {
            title: Phrase::default(),
            columns: vec![
                Column::text("invariant"),
                Column::text("outcome"),
                Column::number("score"),
                Column::text("why"),
            ],
            rows,
            most: None,
            noun: "check",
            left: 0,
            elsewhere: None,
        }));
    }
    blocks
}
