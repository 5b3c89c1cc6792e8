//! The summary of a period, and how it is made: every mean compared with that of the previous period, and the
//! candidates for closer examination.

pub(crate) use super::mean::Of;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fall::{MetricScale, is_fall};
use super::flaky::{self, Flaky};
use super::lasting::{self, LastingFall};
use super::mean::{self, Mean, mean_of, value_in};
use super::past::{self, ConditionChange, DecidedRun, LeftOutReason, PastRun, live};
use kelvin_base::calendar;
use kelvin_base::cost::Cost;
use kelvin_record::{Nouns, probe_of};

/// The reports that were read, and those that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ReadReports {
    /// How many reports came from each place.
    pub(crate) places: Vec<(String, usize)>,
    /// The reports that could not be read: where each one is, and the reason.
    pub(crate) unread: Vec<(String, String)>,
    /// How many reports were left out for each reason.
    pub(crate) left: BTreeMap<LeftOutReason, usize>,
    /// How many runs were found in two places; each counts once.
    pub(crate) twice: usize,
    /// Notes on the places that a reader must know.
    pub(crate) notices: Vec<String>,
}

/// The inputs of a summary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryInputs<'a> {
    /// The period.
    pub(crate) period: Period,
    /// The metrics to use; if empty, those that are shown first.
    pub(crate) metrics: &'a [String],
}

/// The summary of a period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// When the previous period began.
    pub(crate) before: String,
    /// The beginning of the period.
    pub(crate) since: String,
    /// The end of the period, which is excluded.
    pub(crate) until: String,
    /// The first and the last ISO week that the period touches.
    pub(crate) weeks: (String, String),
    /// The reports that were read.
    pub(crate) read: ReadReports,
    /// The results of each configuration.
    pub(crate) configurations: Vec<OfConfiguration>,
    /// The candidates for closer examination, the worst first.
    pub(crate) candidates: Vec<Candidate>,
    /// Whether the configuration can be run today: the state of each part, and the result of its check.
    pub(crate) validation: Vec<(String, String)>,
}

/// The results of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct OfConfiguration {
    /// The name of the configuration.
    pub(crate) name: String,
    /// How many runs the period has.
    pub(crate) runs: usize,
    /// How many runs the period before has.
    pub(crate) runs_before: usize,
    /// The cost of all runs of the period.
    pub(crate) cost: Cost,
    /// The cost of all runs of the period before.
    pub(crate) cost_before: Cost,
    /// The nouns for the items of its newest run.
    #[serde(skip)]
    pub(crate) nouns: Nouns,
    /// The means of whole runs, of groups and of cases.
    pub(crate) rows: Vec<SummaryRow>,
    /// Whole runs and groups of cases whose mean may have fallen, with too few runs to rule out noise.
    pub(crate) suspected: Vec<LastingFall>,
    /// The flaky cases.
    pub(crate) flaky: Vec<Flaky>,
    /// The changes of properties on which the figures depend.
    pub(crate) changes: Vec<ConditionChange>,
    /// The decisions of people about regressions that these runs found.
    pub(crate) decisions: Vec<DecidedRun>,
    /// Each metric and its candidates over time.
    pub(crate) courses: Vec<Course>,
}

/// A mean compared with that of the previous period.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SummaryRow {
    /// The metric.
    pub(crate) metric: String,
    /// The subject of the mean.
    #[serde(flatten)]
    pub(crate) of: Of,
    /// The mean of the period before.
    pub(crate) before: Mean,
    /// The mean of the period.
    pub(crate) now: Mean,
    /// By how much the mean is worse, as a share of the scale; negative if it is better.
    pub(crate) worse_by: Option<f64>,
    /// The result of the comparison.
    pub(crate) word: TrendWord,
    /// Whether the mean is poor, whatever the earlier mean was.
    pub(crate) is_poor: bool,
    /// The lasting fall that began in one of the two periods; it may be in the middle of a period, where the means of
    /// the periods hide it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lasting: Option<LastingFall>,
}

impl SummaryRow {
    /// By how much the mean is worse: between the means of both periods, or since the fall.
    pub(crate) fn fall(&self) -> f64 {
        let lasting = self.lasting.as_ref().map_or(0.0, |fall| fall.worse_by);
        self.worse_by.unwrap_or(0.0).max(lasting)
    }
}

/// The result of comparing a mean with that of the previous period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrendWord {
    /// The mean is worse by more than a twentieth of its scale, compared with the previous period or since some run in
    /// one of the two periods.
    Fell,
    /// The metric was measured before; the runs of this period have the metric but could not measure it.
    Unmeasured,
    /// The runs of this period do not have the metric any more.
    Gone,
    /// The mean is neither worse nor better by more than a twentieth of its scale.
    Held,
    /// The mean is better by more than a twentieth of its scale.
    Improved,
    /// There is no earlier mean to compare with.
    New,
    /// The metric counts something without a scale, so it cannot be said whether a difference is large.
    NoScale,
}

impl TrendWord {
    /// The text for people.
    pub(crate) const fn shown(self) -> &'static str {
        match self {
            Self::Fell => "fell",
            Self::Unmeasured => "not measured",
            Self::Gone => "not run any more",
            Self::Held => "held",
            Self::Improved => "improved",
            Self::New => "new",
            Self::NoScale => "no scale",
        }
    }
}

/// A case, a group or a metric that should be examined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Candidate {
    /// The configuration.
    pub(crate) configuration: String,
    /// The row with the mean.
    pub(crate) row: SummaryRow,
    /// The first run of the last unbroken series of runs that are all as bad as now.
    pub(crate) since: Option<Since>,
}

/// The run since which the value is as bad as now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Since {
    /// When the run started.
    pub(crate) at: String,
    /// The commit of that run.
    pub(crate) commit: Option<String>,
    /// Whether the last run is better again.
    pub(crate) recovered: bool,
}

/// A metric over time, by week.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Course {
    /// The metric.
    pub(crate) metric: String,
    /// The ends of its scale.
    pub(crate) ends: (f64, f64),
    /// The weeks.
    pub(crate) weeks: Vec<String>,
    /// The first week of the period.
    pub(crate) begin: usize,
    /// The lines: first the whole run, then the candidates.
    pub(crate) lines: Vec<(Of, Vec<Mean>)>,
}

/// The minimum and the maximum number of weeks in a plot.
const WEEKS: (usize, usize) = (8, 26);

/// A period from one time to another, which is excluded; in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    /// The beginning.
    pub(crate) since: i64,
    /// The end, which is excluded.
    pub(crate) until: i64,
}

impl Period {
    /// The period of the same length before this one.
    pub(crate) const fn before(self) -> Self {
        Self {
            since: self.since - (self.until - self.since),
            until: self.since,
        }
    }

    /// Whether a time is within the period.
    pub(crate) const fn has(self, at: i64) -> bool {
        self.since <= at && at < self.until
    }

    /// The beginnings of the weeks in a plot: the weeks of both periods, and at least eight, so that two plots can be
    /// compared.
    pub(super) fn weeks(self) -> Vec<i64> {
        const WEEK: i64 = 7 * 24 * 60 * 60;
        let last = calendar::monday(self.until - 1);
        let first = calendar::monday(self.before().since);
        let wanted = usize::try_from((last - first) / WEEK + 1).unwrap_or(WEEKS.1);
        let count = wanted.clamp(WEEKS.0, WEEKS.1);
        let back = (0..count).rev();
        back.map(|weeks| last - weeks as i64 * WEEK).collect()
    }
}

/// How many candidates are plotted together with the mean of the run.
const PLOTTED: usize = 4;

/// Makes the summary of some runs, which may be in any order.
pub(crate) fn summarize(runs: &[PastRun], read: ReadReports, asked: SummaryInputs<'_>) -> Summary {
    let Period { since, until } = asked.period;
    let names: BTreeSet<&str> = runs.iter().map(|run| run.configuration.as_str()).collect();
    let mut candidates = Vec::new();
    let mut configurations = Vec::new();
    for name in names {
        let own = runs.iter().filter(|run| run.configuration == name);
        // Runs after the period belong to a later period.
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
    // A flaky case that is not run any more needs no attention.
    flaky.retain(|one| now.is_empty() || !mean::of_case(&now, &one.metric, &one.case).is_absent);
    // The first run of the period is compared with the last run before it, even if that was long ago.
    let first = course.iter().position(|run| period.has(run.at));
    let changes = first.map_or_else(Vec::new, |first| {
        past::find_changes(&course[first.saturating_sub(1)..])
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
        // A group is compared by the cases that both periods have: otherwise a new easy case would hide a fall.
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
