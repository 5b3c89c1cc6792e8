//! The part of a page about the results: the figures of each suite, the worst cases of each metric, and the cases
//! themselves.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::figures::{PROBE, metric_id};
use super::record::{ResultRecord, ResultsSection, cases, nouns, nouns_of_tool, parts};
use kelvin_page::{
    Block, Chapter, Column, FailedInvocation, FigureTable, Headword, ItemList, ItemSignal,
    ItemView, Phrase, Statement, Table, TableRow, Tone, counted, display,
};
use kelvin_record::{Direction, Metric, RunView, estimate, family, spread};

/// How the figures are computed.
const NOTE: &str = "Means over the cases; the value of a case is the mean of its samples. An error is no failure: it is in no \
                    mean, and in the failure rate.";
/// How many cases a text lists for each metric.
const LISTED: usize = 10;
/// How many cases of a metric are listed in total.
const MOST: usize = 200;

/// The chapter about the results on the page of a whole run.
pub(super) fn chapter<'a>(section: &'a ResultsSection, run: RunView<'a>) -> Chapter<'a> {
    let mut chapter = Chapter::new(Headword {
        word: PROBE,
        title: "Results",
        meaning: "what the evaluators of the project found",
        is_judgement: false,
    });
    let suites = &section.basis.suites;
    chapter.scope = vec![format!(
        "{} of {}",
        nouns(section).counted(section.items.len()),
        counted(suites.len(), "suite")
    )];
    chapter.statements = statements(section);
    let mut first = gated(section, run.metrics);
    chapter.spread = first
        .next()
        .and_then(|(_, _, metric)| spread("score", "cases", Some(metric)));
    let rows = family(run.metrics, PROBE).into_iter();
    let rows: Vec<_> = rows
        .map(|(name, metric)| (Phrase::of_name(name), estimate(Some(metric))))
        .collect();
    chapter.measures = (!rows.is_empty()).then_some(FigureTable {
        in_bars: false,
        title: "Results",
        note: NOTE,
        rows,
    });
    chapter.lists = gated(section, run.metrics)
        .filter_map(|(suite, name, metric)| worst(section, suite, name, metric))
        .collect();
    chapter.first_failure = suites.iter().find_map(|(suite, basis)| {
        Some(FailedInvocation {
            item: suite,
            place: "the suite",
            failure: basis.failure.as_deref()?,
            folder: None::<PathBuf>,
        })
    });
    chapter.items = Some(items(section, run.metrics));
    chapter.facts = suites
        .iter()
        .filter(|(_, basis)| !basis.tool.is_empty())
        .map(|(suite, basis)| {
            let version = basis.tool_version.as_deref().unwrap_or_default();
            (
                "Evaluator",
                format!("{suite}: {} {version}", basis.tool)
                    .trim_end()
                    .to_owned(),
            )
        })
        .collect();
    chapter.method = vec![
        Block::Heading(Phrase::text("Results")),
        Block::Text(vec![Phrase::text(NOTE)]),
    ];
    chapter
}

/// The gated metrics of the suites, without those that every suite has.
fn gated<'a>(
    section: &'a ResultsSection,
    metrics: &'a BTreeMap<String, Metric>,
) -> impl Iterator<Item = (&'a str, &'a str, &'a Metric)> {
    section.basis.suites.iter().flat_map(move |(suite, basis)| {
        let own = basis.metrics.iter().filter(|(_, metric)| metric.gated);
        own.filter_map(move |(name, _)| {
            let metric = metrics.get(&metric_id(suite, name))?;
            Some((suite.as_str(), name.as_str(), metric))
        })
    })
}

fn statements(section: &ResultsSection) -> Vec<Statement> {
    let mut statements = Vec::new();
    for (suite, basis) in &section.basis.suites {
        if let Some(failure) = &basis.failure {
            statements.push(Statement::new(
                Tone::Alarm,
                Phrase::text("the suite ")
                    .name(suite)
                    .and(" has no results: ")
                    .quote(failure.message.clone()),
            ));
            continue;
        }
        let errors = cases(section, suite)
            .filter(|(_, _, record)| record.samples.iter().any(|sample| sample.error.is_some()));
        let errors: Vec<&str> = errors.map(|(_, case, _)| case).collect();
        if !errors.is_empty() {
            statements.push(Statement::new(
                Tone::Caution,
                Phrase::text(format!(
                    "{} of the suite ",
                    nouns_of_tool(&basis.tool).counted(errors.len())
                ))
                .name(suite)
                .and(match errors.len() {
                    1 => " has errors: ",
                    _ => " have errors: ",
                })
                .names(errors.into_iter().take(3)),
            ));
        }
    }
    statements
}

/// A value whose loss is larger for a worse one.
fn loss(metric: &Metric, value: f64) -> f64 {
    match metric.direction {
        Direction::Higher => -value,
        Direction::Lower => value,
    }
}

/// The cases that are worse than the best one in a metric, the worst first.
fn worst(section: &ResultsSection, suite: &str, name: &str, metric: &Metric) -> Option<Table> {
    let values = metric.per_case.iter();
    let mut ranked: Vec<(&str, f64, usize)> = values
        .filter_map(|(id, case)| Some((id.as_str(), case.value?, case.n)))
        .collect();
    ranked.sort_by(|one, other| {
        let order = loss(metric, other.1).total_cmp(&loss(metric, one.1));
        order.then_with(|| one.0.cmp(other.0))
    });
    let best = loss(metric, ranked.last()?.1);
    ranked.retain(|(_, value, _)| loss(metric, *value) > best);
    let left = ranked.len().saturating_sub(MOST);
    ranked.truncate(MOST);
    let rows = ranked.iter().map(|(id, value, n)| {
        let record = section.items.get(*id);
        let asked = record.and_then(|record| record.asked.as_ref());
        TableRow::new([
            Phrase::of_name(parts(id).1),
            Phrase::text(display(*value)),
            Phrase::text(n.to_string()),
            Phrase::default().quote(asked.map_or_else(String::new, |asked| {
                kelvin_page::safe::cut(&asked.shown(), 120)
            })),
        ])
    });
    let rows: Vec<TableRow> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text("Lowest first: ").name(format!("{suite}.{name}")),
        columns: vec![
            Column::text("case"),
            Column::number("value"),
            Column::number("samples"),
            Column::text("input"),
        ],
        rows,
        most: Some(LISTED),
        noun: "case",
        left,
        elsewhere: None,
    })
}

/// A number for how bad a case is: its largest loss in any gated metric with a known scale, and whether it has errors.
fn badness(id: &str, record: &ResultRecord, metrics: &[&Metric]) -> (usize, f64) {
    let errors = record
        .samples
        .iter()
        .filter(|sample| sample.error.is_some());
    let losses = metrics.iter().filter_map(|metric| {
        let (low, high) = metric.ends()?;
        let value = (metric.per_case.get(id)?.value? - low) / (high - low);
        Some(match metric.direction {
            Direction::Higher => 1.0 - value,
            Direction::Lower => value,
        })
    });
    (errors.count(), losses.fold(0.0, f64::max))
}

/// Every case, the worst first, with its texts.
fn items<'a>(section: &'a ResultsSection, metrics: &'a BTreeMap<String, Metric>) -> ItemList<'a> {
    let gated: Vec<&Metric> = gated(section, metrics)
        .map(|(_, _, metric)| metric)
        .collect();
    let mut ranked: Vec<(&str, &ResultRecord, (usize, f64))> = section
        .items
        .iter()
        .map(|(id, record)| (id.as_str(), record, badness(id, record, &gated)))
        .collect();
    ranked.sort_by(|one, other| {
        let order = other.2.1.total_cmp(&one.2.1);
        order.then(other.2.0.cmp(&one.2.0)).then(one.0.cmp(other.0))
    });
    let places: BTreeMap<&str, usize> = section.items.keys().map(String::as_str).zip(0..).collect();
    ItemList {
        title: "Cases",
        note: "The lowest scores first. A case opens to its input, what was expected, and each answer with its scores.",
        least: "cases",
        count: ranked.len(),
        against: ranked.iter().filter(|(_, _, bad)| bad.1 > 0.5).count(),
        failing: ranked.iter().filter(|(_, _, bad)| bad.0 > 0).count(),
        place: Box::new(move |name| places.get(name).copied()),
        each: Box::new(
            ranked
                .into_iter()
                .map(|(id, record, bad)| view(id, record, bad)),
        ),
    }
}

fn view<'a>(id: &'a str, record: &'a ResultRecord, (errors, loss): (usize, f64)) -> ItemView<'a> {
    let mut blocks = Vec::new();
    for (title, text) in [
        ("The input:", &record.asked),
        ("Expected:", &record.expected),
    ] {
        if let Some(text) = text {
            blocks.push(Block::Printed(Phrase::text(title), &text.text));
        }
    }
    for (at, sample) in (1..).zip(&record.samples) {
        let scores = sample.scores.iter();
        let scores: Vec<String> = scores
            .map(|(name, score)| format!("{name} {}", display(*score)))
            .collect();
        let heading = format!("Sample {at} of {}: ", record.samples.len());
        let heading = match &sample.error {
            Some(error) => Phrase::text(heading).and("error: ").quote(error.shown()),
            None => Phrase::text(heading).quote(scores.join(", ")),
        };
        blocks.push(match &sample.answer {
            Some(answer) => Block::Printed(heading, &answer.text),
            None => Block::Text(vec![heading]),
        });
    }
    let mut tags = Vec::new();
    if errors > 0 {
        tags.push((false, counted(errors, "error")));
    }
    ItemView {
        name: id,
        against: usize::from(loss > 0.5),
        failed: errors,
        tags,
        signals: vec![ItemSignal {
            name: "score",
            value: Some(1.0 - loss),
            n: record.samples.len(),
        }],
        blocks,
    }
}
