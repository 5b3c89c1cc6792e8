//! Reads the reports of earlier runs: from the branch of reports, which a workflow writes, and from the local history.

use std::path::Path;

use super::claims;
use crate::baseline::{self, Branch, Hint, Login, Remote};
use crate::history::{self, History};
use crate::registry::Registry;
use crate::sentence::in_a_sentence;
use crate::trend::{PastRun, Place, ReadReports, placed};
use kelvin_gate::report::Report;
use kelvin_record::settings::BaselineSettings;
use kelvin_run::config::Config;
use kelvin_run::trace;

/// The places to search for earlier runs.
pub(crate) struct Sources<'a> {
    /// The kinds of probes whose reports are read.
    pub(crate) registry: Registry,
    /// The folder of the configuration.
    pub(crate) root: &'a Path,
    /// The configuration. It may be missing: even if a configuration cannot be read today, the old measurements stay
    /// valid.
    pub(crate) config: Option<&'a Config>,
    /// The configuration whose reports are read; none for all of them.
    pub(crate) name: Option<&'a str>,
    /// The token of the action, which git may need.
    pub(crate) login: Option<&'a Login>,
}

/// Reads the traces of chains that another tool has recorded, in place of reports. Fails if the path does not exist, or
/// a folder cannot be listed.
pub(crate) fn read_traces(path: &Path) -> anyhow::Result<(Vec<PastRun>, ReadReports)> {
    let traces = trace::read(path)?;
    let mut found = FoundRuns::default();
    let place = path.display().to_string();
    found.read.places.push((place, traces.traces.len()));
    for one in &traces.traces {
        if let Some(left) = PastRun::trace_left(one) {
            *found.read.left.entry(left).or_default() += 1;
            continue;
        }
        match PastRun::of_trace(one) {
            Ok(run) => found.runs.push(run),
            Err(why) => found.read.unread.push((one.trace_id.clone(), why)),
        }
    }
    let malformed = traces.malformed.into_iter().map(|one| {
        let number = one
            .number
            .map_or_else(String::new, |number| format!(", trace {number}"));
        (format!("{}{number}", one.file.display()), one.why)
    });
    found.read.unread.extend(malformed);
    Ok((found.runs, found.read))
}

/// Reads every run once, and reports which runs could not be read. Each report is dropped as soon as its figures are
/// copied, because many reports together may be larger than the memory.
pub(crate) fn read(sources: &Sources<'_>) -> (Vec<PastRun>, ReadReports) {
    let mut found = FoundRuns::default();
    branch(sources, &mut found);
    if let Err(error) = local(sources, &mut found) {
        let place = "the local history".to_owned();
        found.read.unread.push((place, in_a_sentence(&error)));
    }
    (found.runs, found.read)
}

/// Reads the runs in the order of the default branch, without runs of commits outside it. Every judgement over several
/// runs uses this order. `now` is in seconds since 1970.
pub(crate) fn in_order(sources: &Sources<'_>, now: i64) -> (Vec<PastRun>, ReadReports) {
    let (runs, mut read) = read(sources);
    let runs = ordered(sources.root, runs, now, &mut read);
    (runs, read)
}

/// Sorts runs by the order of the default branch.
pub(crate) fn ordered(
    root: &Path,
    runs: Vec<PastRun>,
    now: i64,
    read: &mut ReadReports,
) -> Vec<PastRun> {
    let commits = runs.iter().filter_map(|run| run.commit.as_deref());
    let commits: Vec<&str> = commits.collect();
    let line = baseline::main_line(root, &commits);
    placed(runs, &line, now, read)
}

#[derive(Default)]
struct FoundRuns {
    runs: Vec<PastRun>,
    read: ReadReports,
}

impl FoundRuns {
    fn take(&mut self, place: (Place, String), name: &str, report: anyhow::Result<Report>) {
        let (from, place) = place;
        let report = match report {
            Ok(report) => report,
            Err(error) => return self.read.unread.push((place, in_a_sentence(&error))),
        };
        if let Some(left) = PastRun::left(&report) {
            *self.read.left.entry(left).or_default() += 1;
            return;
        }
        // Everybody who may write to the branch may write any figure there. A report on this machine was written by its
        // own user.
        if from == Place::Branch && claims::is_forged(&report) {
            return self.read.unread.push((place, claims::FORGED.to_owned()));
        }
        match PastRun::of(&report, name, from) {
            Err(why) => self.read.unread.push((place, why)),
            Ok(run) if self.runs.iter().any(|known| known.is_same(&run)) => self.read.twice += 1,
            Ok(run) => self.runs.push(run),
        }
    }
}

fn branch(sources: &Sources<'_>, found: &mut FoundRuns) {
    let mut say = |text: String| found.read.notices.push(text);
    let repo = match baseline::open(sources.root) {
        Ok(repo) => repo,
        Err(error) => {
            return say(format!(
                "the branch of reports was not read: {}",
                in_a_sentence(&error)
            ));
        }
    };
    let nothing = Hint::default();
    let remote = Remote::of(&repo).with(sources.login, &nothing);
    let defaults = BaselineSettings::default();
    let settings = sources.config.map_or(&defaults, |config| &config.baseline);
    let name = settings.branch.as_str();
    if remote.url().is_none() {
        say(format!(
            "there is no remote `{}`, so what others have measured on `{name}` is not counted",
            remote.name()
        ));
    }
    for branch in [Branch::new(&remote, name), Branch::local(&remote, name)] {
        if remote.url().is_some()
            && let Err(error) = branch.fetch().and_then(|()| branch.complete())
        {
            let text = format!(
                "the branch `{name}` could not be asked for ({})",
                in_a_sentence(&error)
            );
            found
                .read
                .notices
                .push(format!("{text}; what an earlier fetch has left is read"));
        }
        let kept = match branch.kept() {
            Ok(kept) => kept,
            Err(error) => {
                let place = format!("the branch `{name}`");
                found.read.unread.push((place, in_a_sentence(&error)));
                continue;
            }
        };
        let mut count = 0;
        for kept in kept {
            if sources.name.is_some_and(|name| name != kept.configuration) {
                continue;
            }
            count += 1;
            let place = format!("{name}:{}/{}.json", kept.configuration, kept.commit);
            let report = branch
                .bytes(&kept)
                .and_then(|bytes| sources.registry.report(&bytes));
            found.take((Place::Branch, place), &kept.configuration, report);
        }
        if count > 0 || !branch.is_local() {
            found.read.places.push((branch.reference(), count));
        }
    }
}

fn local(sources: &Sources<'_>, found: &mut FoundRuns) -> anyhow::Result<()> {
    let Some(history) = History::open(sources.root)? else {
        found.read.places.push(("the local history".to_owned(), 0));
        return Ok(());
    };
    let mut count = 0;
    for run in history.runs(history::KEPT)? {
        if sources.name.is_some_and(|name| name != run.configuration) {
            continue;
        }
        count += 1;
        let place = format!("run {} of the local history", run.id);
        let report = history.report(&run.id, sources.registry);
        found.take((Place::History, place), &run.configuration, report);
    }
    found
        .read
        .places
        .push(("the local history".to_owned(), count));
    Ok(())
}
