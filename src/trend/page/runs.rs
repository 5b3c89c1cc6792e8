//! Shows the runs of each configuration over time as a page: value, verdict and cost of each run.

use std::collections::BTreeMap;

use super::statements::{fell, time};
use super::{cost, heading, read, table};
use crate::trend::course::{RunTurn, Runs};
use crate::trend::past::{PastRun, live};
use crate::trend::summary::ReadReports;
use crate::trend::{course, lasting};
use kelvin_base::calendar;
use kelvin_page::{
    Article, Block, Column, Phrase, Statement, TableCell, TableRow, Tone, Trend, TrendLine,
    TrendStep, counted, display,
};
use kelvin_record::Direction;

/// How many runs of a configuration are shown.
const RUNS: usize = 100;
/// How many metrics are plotted at most; the others are not on the page, but in each report.
const PLOTS: usize = 6;
/// How many cases that changed from one run to the next are named at most.
const MOVED: usize = 3;
/// How many falls of a configuration are named at most.
const FALLS: usize = 10;

/// The tags of each commit.
type Releases = BTreeMap<String, Vec<String>>;

/// The page of all runs that were read, with the reasons why some could not be read. `line`: the runs of the default
/// branch, in the order of its history, in which falls are searched.
pub(crate) fn history(
    (runs, line): (&[PastRun], &[PastRun]),
    found: &ReadReports,
    releases: &Releases,
    metrics: &[String],
) -> Article<'static> {
    let configurations = course::runs_of_each(runs, metrics, RUNS);
    let mut blocks = Vec::new();
    for one in &configurations {
        blocks.extend(configuration(one, releases));
    }
    blocks.push(heading("What was read"));
    blocks.push(Block::Text(read(found)));
    let first = runs.iter().map(|run| run.at).min();
    let last = runs.iter().map(|run| run.at).max();
    let scope = match first.zip(last) {
        Some((first, last)) => format!("{} to {} (UTC)", when(first), when(last)),
        None => "no run was found".to_owned(),
    };
    Article {
        title: Phrase::text("Kelvin: every run"),
        scope: vec![scope],
        statements: configurations
            .iter()
            .flat_map(|one| statements(one, line))
            .collect(),
        blocks,
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// The result of the newest run of a configuration, and its lasting falls.
fn statements(one: &Runs<'_>, line: &[PastRun]) -> Vec<Statement> {
    let own = line.iter().filter(|run| run.configuration == one.name);
    let falls = lasting::find(&live(own), &one.metrics);
    let falls = falls.iter().take(FALLS).map(|fall| {
        Statement::new(
            Tone::Alarm,
            Phrase::of_name(one.name).and(": ").then(fell(fall, "fell")),
        )
    });
    [statement(one)].into_iter().chain(falls).collect()
}

/// The result of the newest run of a configuration.
fn statement(one: &Runs<'_>) -> Statement {
    let text = Phrase::of_name(one.name).and(format!(": {}", counted(one.runs.len(), "run")));
    let verdict = one.runs.last().and_then(|last| last.verdict.as_ref());
    let (tone, text) = match verdict {
        Some(verdict) if verdict.passed => (Tone::Calm, text.and(", the newest: ")),
        Some(_) => (Tone::Alarm, text.and(", the newest: ")),
        None => (Tone::Caution, text.and(", the newest was not judged")),
    };
    let words = verdict.map_or("", |verdict| verdict.words.as_str());
    Statement::new(tone, text.and(kelvin_page::safe::line(words)))
}

fn configuration(one: &Runs<'_>, releases: &Releases) -> Vec<Block<'static>> {
    let mut blocks = vec![Block::Heading(Phrase::of_name(one.name))];
    if one.older > 0 {
        blocks.push(Block::Aside(Phrase::text(format!(
            "The newest {}; {} older.",
            counted(one.runs.len(), "run"),
            one.older
        ))));
    }
    let steps: Vec<TrendStep> = one
        .runs
        .iter()
        .map(|run| step(one, run, releases))
        .collect();
    for (metric, ends) in plotted(one) {
        let points = one.runs.iter().map(|run| {
            let figure = run.figures.get(metric)?;
            Some((figure.value?, figure.cases.len().max(1)))
        });
        let title = Phrase::of_name(metric);
        blocks.push(plot(title, ends, steps.clone(), points.collect()));
    }
    blocks.extend(spending(one, steps));
    blocks.push(Block::Table(rows(one, releases)));
    blocks
}

/// A plot with a value of each run, and the number of its samples.
fn plot(
    title: Phrase,
    ends: (f64, f64),
    steps: Vec<TrendStep>,
    points: Vec<Option<(f64, usize)>>,
) -> Block<'static> {
    Block::Trend(Trend {
        title,
        ends,
        steps,
        step: "run",
        begin: 0,
        is_tabled: true,
        lines: vec![TrendLine {
            name: Phrase::text("the whole run"),
            points,
        }],
    })
}

/// The metrics that have a scale, first those for which higher is better.
fn plotted<'a>(one: &Runs<'a>) -> Vec<(&'a str, (f64, f64))> {
    let mut metrics: Vec<_> = one.metrics.iter().collect();
    metrics.sort_by_key(|(id, scale)| (scale.direction == Direction::Lower, **id));
    let scaled = metrics
        .into_iter()
        .filter_map(|(id, scale)| Some((*id, scale.ends?)));
    scaled.take(PLOTS).collect()
}

/// The cost of each run: in money if it is known for any run, otherwise in seconds of the pipeline.
fn spending(one: &Runs<'_>, steps: Vec<TrendStep>) -> Option<Block<'static>> {
    let usd = |run: &&PastRun| run.cost.usage.as_ref().and_then(|usage| usage.usd);
    let is_known = one.runs.iter().any(|run| usd(run).is_some());
    let points: Vec<Option<(f64, usize)>> = one
        .runs
        .iter()
        .map(|run| match is_known {
            true => usd(run).map(|usd| (usd, run.cost.invocations)),
            false => Some((run.cost.pipeline_seconds, run.cost.invocations)),
        })
        .collect();
    let most = points
        .iter()
        .flatten()
        .map(|(value, _)| *value)
        .fold(0.0, f64::max);
    let title = match is_known {
        true => "Cost in US dollars",
        false => "Seconds in calls of the pipeline",
    };
    let ends = (0.0, above(most));
    (most > 0.0).then(|| plot(Phrase::text(title), ends, steps, points))
}

/// The next round number: 1, 2 or 5 times a power of ten. With it, the axis does not change when the values change
/// slightly.
fn above(most: f64) -> f64 {
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power);
    let mut steps = steps.filter(|step| *step >= most);
    steps.next().unwrap_or(most)
}

fn step(one: &Runs<'_>, run: &PastRun, releases: &Releases) -> TrendStep {
    TrendStep {
        name: short(run).unwrap_or_else(|| when(run.at)),
        mark: tags(run, releases),
        anchor: Some(anchor(one, run)),
        word: run
            .verdict
            .as_ref()
            .map(|verdict| (verdict.words.clone(), !verdict.passed)),
    }
}

/// The anchor of a run on the page. It contains no index of the run or the configuration, because an index would change
/// with every new run.
fn anchor(one: &Runs<'_>, run: &PastRun) -> String {
    let name = kelvin_base::digest::Digest::of(one.name.as_bytes()).short(8);
    let twins = one
        .runs
        .iter()
        .take_while(|other| !std::ptr::eq(**other, run));
    let twins = twins.filter(|other| other.at == run.at).count();
    format!("run-{name}-{}-{twins}", run.at)
}

fn short(run: &PastRun) -> Option<String> {
    let commit = run.commit.as_deref()?;
    let dirty = if run.dirty { "+" } else { "" };
    Some(format!("{}{dirty}", commit.get(..7).unwrap_or(commit)))
}

fn tags(run: &PastRun, releases: &Releases) -> Option<String> {
    // A run with uncommitted changes was not released.
    let commit = run.commit.as_deref().filter(|_| !run.dirty)?;
    Some(releases.get(commit)?.join(", "))
}

/// The rows of the table, newest first.
fn rows(one: &Runs<'_>, releases: &Releases) -> kelvin_page::Table {
    let metrics: Vec<&str> = plotted(one).into_iter().map(|(id, _)| id).collect();
    let rows = (0..one.runs.len()).rev().map(|at| {
        let run = one.runs[at];
        let before = at.checked_sub(1).map(|before| one.runs[before]);
        let turn = before.map(|before| course::turn(before, run, &one.metrics));
        let name = match (short(run), tags(run, releases)) {
            (Some(commit), Some(tags)) => Phrase::of_name(commit).and(" ").name(tags),
            (Some(commit), None) => Phrase::of_name(commit),
            (None, _) => Phrase::text("-"),
        };
        let mut cells: Vec<TableCell> = vec![name.into(), Phrase::text(when(run.at)).into()];
        cells.push(values(run, &metrics).into());
        cells.push(verdict(run).into());
        cells.push(Phrase::text(cost(&run.cost)).into());
        cells.push(changed(turn).into());
        TableRow {
            cells,
            status: None,
            detail: None,
            anchor: Some(anchor(one, run)),
        }
    });
    table(
        "Runs, the newest first",
        [
            Column::text("commit"),
            Column::text("when (UTC)"),
            Column::text("values"),
            Column::text("verdict"),
            Column::text("cost"),
            Column::text("what changed since the run before"),
        ],
        rows.collect(),
    )
}

fn values(run: &PastRun, metrics: &[&str]) -> Phrase {
    let known = metrics
        .iter()
        .filter_map(|id| Some((*id, run.figures.get(*id)?)));
    known.fold(Phrase::default(), |phrase, (id, figure)| {
        let phrase = if phrase.is_empty() {
            phrase
        } else {
            phrase.and(", ")
        };
        let value = figure.value.map_or_else(|| "null".to_owned(), display);
        phrase.name(id).and(format!(" {value}"))
    })
}

fn verdict(run: &PastRun) -> Phrase {
    match (&run.verdict, &run.decision) {
        (None, _) => Phrase::text("not judged"),
        (Some(verdict), None) => Phrase::default().quote(verdict.words.as_str()),
        (Some(verdict), Some(decision)) => Phrase::default()
            .quote(verdict.words.as_str())
            .and(", decided by ")
            .name(decision.by.as_str()),
    }
}

fn changed(turn: Option<RunTurn<'_>>) -> Phrase {
    let Some(turn) = turn else {
        return Phrase::text("-");
    };
    let mut phrase = Phrase::text(match turn.what.is_empty() {
        true => "nothing that the figures depend on".to_owned(),
        false => turn.what.join(", "),
    });
    for (number, moved) in turn.moved.iter().take(MOVED).enumerate() {
        let begin = if number == 0 { "; " } else { ", " };
        let word = if moved.worse_by > 0.0 {
            "worse"
        } else {
            "better"
        };
        let (before, now) = (display(moved.before), display(moved.now));
        phrase = phrase
            .and(begin)
            .name(moved.case)
            .and(format!(" is {word} in "))
            .name(moved.metric)
            .and(format!(": {before} → {now}"));
    }
    match turn.moved.len().saturating_sub(MOVED) {
        0 => phrase,
        more => phrase.and(format!(", and {more} more")),
    }
}

fn when(at: i64) -> String {
    time(&calendar::written(at))
}
