//! Makes the summary of a period.

use std::collections::{BTreeMap, BTreeSet};

use super::fall::{MetricScale, is_fall};
use super::mean::{Mean, mean_of, value_in};
use super::past::{PastRun, live};
use super::summary::{
    Candidate, Course, Of, OfConfiguration, Period, ReadReports, Since, Summary, SummaryInputs,
    SummaryRow, TrendWord,
};
use super::{change, flaky, lasting, mean, past};
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_record::probe_of;

/// How many candidates are plotted beside the mean of the run.
const PLOTTED: usize = 4;

/// Makes the summary of some runs, in whatever order they are given.
pub(crate) fn summarize(runs: &[PastRun], read: ReadReports, asked: SummaryInputs<'_>) -> Summary {
    let Period { since, until } = asked.period;
    let names: BTreeSet<&str> = runs.iter().map(|run| run.configuration.as_str()).collect();
    let mut candidates = Vec::new();
    let mut configurations = Vec::new();
    for name in names {
        let own = runs.iter().filter(|run| run.configuration == name);
        // Runs after the period belong to another one.
        let own: Vec<&PastRun> = own.filter(|run| run.at < until).collect();
        let (found, worst) = of_configuration(name, &own, asked);
        configurations.push(found);
        candidates.extend(worst);
    }
    candidates.sort_by(|one, other| {
        let rank = |of: &Candidate| (of.row.word != TrendWord::Fell, of.row.worse_by.is_none());
        rank(one)
            .cmp(&rank(other))
            .then(other.row.fall().total_cmp(&one.row.fall()))
    });
    Summary {
        before: calendar::written(asked.period.before().since),
        since: calendar::written(since),
        until: calendar::written(until),
        weeks: (calendar::week(since), calendar::week(until - 1)),
        read,
        configurations,
        candidates,
        validation: Vec::new(),
    }
}

fn of_configuration(
    name: &str,
    own: &[&PastRun],
    asked: SummaryInputs<'_>,
) -> (OfConfiguration, Vec<Candidate>) {
    let period = asked.period;
    let until = period.until;
    let within = |period: Period| own.iter().copied().filter(move |run| period.has(run.at));
    let (all_now, all_before): (Vec<_>, Vec<_>) =
        (within(period).collect(), within(period.before()).collect());
    let (now, before) = (live(all_now.clone()), live(all_before.clone()));
    let course = live(own.iter().copied());
    let looked_at: Vec<&PastRun> = before.iter().chain(&now).copied().collect();
    let metrics = metrics(&looked_at, asked.metrics);
    let mut rows = Vec::new();
    for (metric, scale) in &metrics {
        rows.extend(rows_of(metric, *scale, &before, &now));
    }
    // A fall before the first run of both periods was reported in an earlier summary.
    let first = looked_at.first().map_or(until, |run| run.at);
    let falls = lasting::find(&course, &metrics);
    for fall in falls.into_iter().filter(|fall| fall.began > first) {
        let mut rows = rows.iter_mut();
        let own = rows.find(|row| row.metric == fall.metric && row.of == fall.of);
        if let Some(row) = own.filter(|row| row.now.value.is_some()) {
            row.word = TrendWord::Fell;
            row.lasting = Some(fall);
        }
    }
    let mut suspected = lasting::suspected(&looked_at, &metrics);
    suspected.retain(|fall| {
        let mut rows = rows.iter();
        let own = rows.find(|row| row.metric == fall.metric && row.of == fall.of);
        own.is_none_or(|row| row.word != TrendWord::Fell)
    });
    let candidates: Vec<Candidate> = rows
        .iter()
        .filter(|row| row.is_poor || matches!(row.word, TrendWord::Fell | TrendWord::Unmeasured))
        .map(|row| Candidate {
            configuration: name.to_owned(),
            row: row.clone(),
            since: since(row, metrics[row.metric.as_str()], &course, period),
        })
        .collect();
    let ids = metrics.keys().copied().collect();
    let mut flaky = flaky::find(&looked_at, &ids);
    // A case that was flaky and is not run any more needs no attention.
    flaky.retain(|one| now.is_empty() || !mean::of_case(&now, &one.metric, &one.case).is_absent);
    // The first run of the period is compared with the last one before it, however long ago that was.
    let first = course.iter().position(|run| period.has(run.at));
    let changes = first.map_or_else(Vec::new, |first| {
        change::find_changes(&course[first.saturating_sub(1)..])
    });
    let cost = |runs: &[&PastRun]| {
        let costs = runs.iter().map(|run| run.cost);
        costs.fold(Cost::default(), Cost::plus)
    };
    let found = OfConfiguration {
        name: name.to_owned(),
        runs: now.len(),
        runs_before: before.len(),
        cost: cost(&all_now),
        cost_before: cost(&all_before),
        nouns: course
            .last()
            .map(|run| run.nouns.clone())
            .unwrap_or_default(),
        courses: courses(&metrics, &candidates, &course, period),
        rows,
        suspected,
        flaky,
        changes,
        decisions: past::find_decided(&all_now),
    };
    (found, candidates)
}

/// The metrics to use, each with the scale of its newest run.
pub(super) fn metrics<'a>(
    runs: &[&'a PastRun],
    named: &[String],
) -> BTreeMap<&'a str, MetricScale> {
    let mut metrics = BTreeMap::new();
    for (id, figure) in runs.iter().flat_map(|run| &run.figures) {
        let is_wanted = match named.is_empty() {
            true => figure.shown_first,
            false => named.contains(id),
        };
        if is_wanted {
            metrics.insert(id.as_str(), figure.scale);
        }
    }
    metrics
}

fn rows_of(
    metric: &str,
    scale: MetricScale,
    before: &[&PastRun],
    now: &[&PastRun],
) -> Vec<SummaryRow> {
    let row = |of: Of, before: Mean, now: Mean| SummaryRow {
        metric: metric.to_owned(),
        of,
        worse_by: before
            .value
            .zip(now.value)
            .and_then(|(before, now)| scale.worse_by(before, now)),
        word: word(&before, &now, scale),
        is_poor: now.value.is_some_and(|value| scale.is_poor(value)),
        before,
        now,
        lasting: None,
    };
    let both: Vec<&PastRun> = before.iter().chain(now).copied().collect();
    let mut rows = vec![row(
        Of::Run,
        mean::of_runs(before, metric),
        mean::of_runs(now, metric),
    )];
    for (label, cases) in mean::groups(&both, probe_of(metric)) {
        // A group is compared by the cases that both periods have: a new easy case would hide a fall.
        let shared = |of: &[&PastRun]| -> BTreeSet<&str> {
            let measured = cases.iter().copied();
            measured
                .filter(|case| mean::of_case(of, metric, case).value.is_some())
                .collect()
        };
        let (old, new) = (shared(before), shared(now));
        let in_both: BTreeSet<&str> = old.intersection(&new).copied().collect();
        let (old, new) = match in_both.is_empty() {
            true => (&old, &new),
            false => (&in_both, &in_both),
        };
        rows.push(row(
            Of::Group(label.to_owned()),
            mean::of_cases(before, metric, old),
            mean::of_cases(now, metric, new),
        ));
    }
    for case in mean::cases(&both, metric) {
        rows.push(row(
            Of::Case(case.to_owned()),
            mean::of_case(before, metric, case),
            mean::of_case(now, metric, case),
        ));
    }
    rows
}

fn word(before: &Mean, now: &Mean, scale: MetricScale) -> TrendWord {
    match (before.value, now.value) {
        (_, None) if now.is_absent && before.value.is_some() => TrendWord::Gone,
        (_, None) => TrendWord::Unmeasured,
        (None, Some(_)) => TrendWord::New,
        (Some(before), Some(now)) => match scale.worse_by(before, now) {
            None => TrendWord::NoScale,
            Some(worse) if is_fall(worse) => TrendWord::Fell,
            Some(worse) if is_fall(-worse) => TrendWord::Improved,
            Some(_) => TrendWord::Held,
        },
    }
}

/// The run since which a row is as bad as now.
fn since(
    row: &SummaryRow,
    scale: MetricScale,
    course: &[&PastRun],
    period: Period,
) -> Option<Since> {
    if let Some(fall) = &row.lasting {
        return Some(Since {
            at: fall.at.clone(),
            commit: fall.commit.clone(),
            recovered: false,
        });
    }
    let is_bad = |value: f64| {
        let fell = row
            .before
            .value
            .and_then(|before| scale.worse_by(before, value))
            .is_some_and(is_fall);
        match row.word {
            TrendWord::Fell => fell,
            _ => scale.is_poor(value),
        }
    };
    let value = |run: &&&PastRun| value_in(run, &row.metric, &row.of);
    let measured = course.iter().filter_map(|run| Some((run, value(&run)?)));
    let measured: Vec<_> = measured.collect();
    let tail = measured
        .iter()
        .rev()
        .take_while(|(_, value)| is_bad(*value));
    let first_of_tail = tail.last();
    let found = first_of_tail.or_else(|| {
        let mut within = measured.iter().filter(|(run, _)| period.has(run.at));
        within.find(|(_, value)| is_bad(*value))
    });
    found.map(|(run, _)| Since {
        at: calendar::written(run.at),
        commit: run.commit.clone(),
        recovered: first_of_tail.is_none(),
    })
}

fn courses(
    metrics: &BTreeMap<&str, MetricScale>,
    candidates: &[Candidate],
    course: &[&PastRun],
    period: Period,
) -> Vec<Course> {
    let weeks = period.weeks();
    let with_ends = metrics
        .iter()
        .filter_map(|(id, scale)| Some((*id, scale.ends?)));
    let of_metric = |(metric, ends): (&str, (f64, f64))| {
        let named = candidates.iter().filter(|one| one.row.metric == metric);
        let named = named.map(|one| one.row.of.clone());
        let named = named.filter(|of| *of != Of::Run).take(PLOTTED);
        let lines = [Of::Run].into_iter().chain(named);
        Course {
            metric: metric.to_owned(),
            ends,
            weeks: weeks.iter().map(|week| calendar::week(*week)).collect(),
            begin: weeks
                .iter()
                .position(|week| *week >= calendar::monday(period.since))
                .unwrap_or(0),
            lines: lines
                .map(|of| {
                    let means = weeks.iter().map(|week| {
                        let in_week = |run: &&&PastRun| calendar::monday(run.at) == *week;
                        let runs: Vec<&PastRun> = course.iter().filter(in_week).copied().collect();
                        mean_of(&runs, metric, &of)
                    });
                    let means = means.collect();
                    (of, means)
                })
                .collect(),
        }
    };
    with_ends.map(of_metric).collect()
}
