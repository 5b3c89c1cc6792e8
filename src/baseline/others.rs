//! Other reports of the base's code on the branch of reports. If nothing changed between them and the base, their
//! answers are repeats of the base at no cost.

use super::ancestry::short;
use super::remote::Remote;
use super::search::{Claims, Search, SearchPosition};
use super::{commit, rename, tree};
use kelvin_gate::differences::{Difference, differences};
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::report::Report;
use kelvin_system::git;

/// How many reports are used at most, including the report of the base.
const MOST: usize = 5;
/// How many reports of the branch the search reads at most.
const MOST_READ: usize = 20;
/// How many reports are checked against their commit at most.
const MOST_HELD: usize = 8;

/// If calls took less than this share of the time of another report's calls, a cache answered them.
const SHARE: f64 = 0.01;
/// Calls that are faster than this, in seconds, do not show whether a cache answered.
const SLOW_ENOUGH: f64 = 0.1;

/// The usable reports, and notes on the others.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// The reports, newest first.
    pub(crate) reports: Vec<OtherReport>,
    /// Notes for the reader on the reports that cannot be used.
    pub(crate) told: Vec<Difference>,
}

/// A report of the base's code.
#[derive(Debug)]
pub(crate) struct OtherReport {
    /// The report.
    pub(crate) report: Report,
    /// Whether its first answers may be copies of another report's answers, from the cache of kelvin.
    pub(crate) first_is_copied: bool,
}

/// Finds other reports of the base's code, nearest to the base first. Fails if the branch cannot be fetched or read.
pub(crate) fn others(
    search: &Search<'_>,
    base: &Report,
    provenance: &Provenance,
) -> anyhow::Result<Others> {
    let repo = super::open(search.root)?;
    let remote = Remote::of(&repo).with(search.login, search.hint);
    let own = provenance.commit.as_deref().map(git::id).transpose()?;
    let start = commit::base(&remote, search.hint)?;
    let place = SearchPosition {
        search,
        remote: &remote,
        base: &start,
    };
    let kept = search.kept(&remote)?;
    let (ancestors, _) = place.ancestors();
    if kept.is_empty() {
        return Ok(Others::default());
    }
    let Ok(configuration) = rename::name(&place, &kept, &ancestors) else {
        // No report of the branch belongs to this configuration.
        return Ok(Others::default());
    };
    let mut others = Others::default();
    let (mut read, mut held) = (0, 0);
    for (commit, behind) in ancestors {
        let is_of = |kept: &&super::branch::KeptOnBranch| {
            kept.commit == commit && kept.configuration == configuration
        };
        let Some(found) = kept.iter().find(is_of).filter(|_| Some(commit) != own) else {
            continue;
        };
        let days = place
            .provenance(Source::Branch, String::new(), commit, behind)
            .days;
        if days.is_some_and(|days| days > search.settings.max_age_days) {
            continue;
        }
        if others.reports.len() + 1 >= MOST || read >= MOST_READ || held >= MOST_HELD {
            break;
        }
        read += 1;
        let bytes = tree::blob(&remote, found.blob)?;
        // If a report cannot be read, it is not known whether it belongs to this code.
        let Ok(report) = search.registry.report(&bytes) else {
            continue;
        };
        let first_is_copied = is_of_memory(base) || is_of_memory(&report);
        if !is_same(base, &report) || first_is_copied && report.run.repeats < 2 {
            continue;
        }
        held += 1;
        match (search.hold)(&repo, commit, &report) {
            Claims::Hold => others.reports.push(OtherReport {
                first_is_copied,
                report,
            }),
            Claims::Unknown(_) => {}
            Claims::Differ(why) => others.told.push(Difference::StoredNotBelieved {
                commit: short(commit),
                why,
            }),
        }
    }
    others.leave_out_what_tells_nothing(base);
    Ok(others)
}

impl Others {
    /// Leaves out reports that are not independent runs: reports that agree in every answer, and reports of a pipeline
    /// that has answered one of them from a cache.
    fn leave_out_what_tells_nothing(&mut self, base: &Report) {
        let count = self.reports.len();
        if count == 0 {
            return;
        }
        let times = || {
            let others = self.reports.iter().map(|other| &other.report);
            others.chain([base]).filter_map(seconds_of_a_call)
        };
        let slowest = times().fold(0.0, f64::max);
        let fastest = times().fold(f64::INFINITY, f64::min);
        if slowest >= SLOW_ENOUGH && fastest < SHARE * slowest {
            self.reports.clear();
            self.told
                .push(Difference::StoredFromACache { reports: count });
            return;
        }
        if self
            .reports
            .iter()
            .all(|other| has_same_answers(base, &other.report))
        {
            self.reports.clear();
        }
    }
}

/// Whether a report has the same code, and the same measurement.
fn is_same(base: &Report, other: &Report) -> bool {
    let found = differences(base, other);
    found.told.is_empty()
        && found.incomparable.is_none()
        && base.tool.name == other.tool.name
        && base.run.only == other.run.only
        && base.run.shard == other.run.shard
        && base.suite().is_like(&other.suite())
        && !other.is_evaluation()
}

/// Whether some answers of a report existed before the run.
const fn is_of_memory(report: &Report) -> bool {
    let cost = &report.run.session.cost;
    cost.cache_hits + cost.resumed > 0
}

/// How long a call took; none if no call was made.
fn seconds_of_a_call(report: &Report) -> Option<f64> {
    let cost = &report.run.session.cost;
    let calls = cost.invocations as f64;
    (calls > 0.0).then(|| cost.pipeline_seconds / calls)
}

/// Whether no value of any case differs.
fn has_same_answers(base: &Report, other: &Report) -> bool {
    base.metrics.len() == other.metrics.len()
        && base.metrics.iter().all(|(id, metric)| {
            let same = other.metrics.get(id);
            same.is_some_and(|same| same.per_case == metric.per_case)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_fixtures::report as fixture;

    /// A report of so many calls that took so long.
    fn report(calls: usize, seconds: f64) -> Report {
        let mut report = fixture::good();
        report.run.session.cost.invocations = calls;
        report.run.session.cost.pipeline_seconds = seconds;
        report
    }

    /// What is left of some reports beside a base, and what is told.
    fn left(base: &Report, others: Vec<Report>) -> (usize, Vec<Difference>) {
        let reports = others.into_iter().map(|report| OtherReport {
            report,
            first_is_copied: false,
        });
        let mut found = Others {
            reports: reports.collect(),
            told: Vec::new(),
        };
        found.leave_out_what_tells_nothing(base);
        (found.reports.len(), found.told)
    }

    /// The same with another value.
    fn moved(mut report: Report) -> Report {
        let metric = report
            .metrics
            .values_mut()
            .find(|metric| !metric.per_case.is_empty());
        let case = metric.and_then(|metric| metric.per_case.values_mut().next());
        case.expect("the fixture has cases").value = Some(0.123);
        report
    }

    #[test]
    fn reports_whose_calls_took_a_hundredth_of_the_time_come_from_a_cache_of_the_pipeline() {
        let base = report(100, 90.0);
        // Slower or faster machines, and what is too fast to tell.
        for seconds in [9.0, 1.1, 900.0] {
            let (count, told) = left(&base, vec![moved(report(100, seconds))]);
            assert_eq!((count, told), (1, Vec::new()), "{seconds}");
        }
        let fast = report(100, 5.0);
        assert_eq!(left(&fast, vec![moved(report(100, 0.01))]).0, 1);
        let (count, told) = left(
            &base,
            vec![moved(report(100, 80.0)), moved(report(50, 0.3))],
        );
        assert_eq!(
            (count, told),
            (0, vec![Difference::StoredFromACache { reports: 2 }])
        );
    }

    #[test]
    fn reports_that_agree_in_every_answer_tell_nothing_and_one_that_differs_makes_all_count() {
        let base = report(100, 90.0);
        let same = || report(100, 91.0);
        assert_eq!(left(&base, vec![same(), same()]), (0, Vec::new()));
        assert_eq!(left(&base, vec![same(), moved(same())]), (2, Vec::new()));
    }
}
