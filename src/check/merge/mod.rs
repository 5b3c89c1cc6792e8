//! Joins the reports of the shards of one run into the report of an undivided run. No pipeline is run: figures are
//! computed again from the records.

mod agree;
mod gather;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Checked, record, stage, write};
use crate::registry::Registry;
use gather::FoundShard;
use kelvin_base::cost::Cost;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;
use kelvin_gate::report::{Report, Run, Session};
use kelvin_record::{AnySection, Ending};
use kelvin_run as run;

/// The inputs of a merge.
#[derive(Debug)]
pub(crate) struct MergeRequest {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// Reports of shards, their folders, or folders of such folders.
    pub(crate) shards: Vec<PathBuf>,
    /// The output folder; `kelvin` in the working directory unless given.
    pub(crate) out: Option<PathBuf>,
}

/// Joins shards, and writes the report with the files of every case. Fails with a [`Misuse`] that names the shards that
/// are missing, that overlap or that do not belong together; any other error if a file cannot be read or written.
pub(crate) fn merge(request: &MergeRequest) -> anyhow::Result<Checked> {
    let out = request
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("kelvin"));
    let out = std::path::absolute(out)?;
    let found = gather::shards(&request.shards, request.registry)?;
    agree::check(&found)?;
    for shard in &found {
        // The output folder is emptied first, so it must not contain a shard.
        let folder = std::path::absolute(&shard.folder)?;
        if folder.starts_with(&out) {
            return Err(Misuse::new(format!(
                "the output folder `{}` holds {shard}, and its content is removed first",
                out.display()
            ))
            .help("name another output folder with `--out`")
            .into());
        }
    }
    let report = reports(&found)?;
    let _claim = run::claim(&out)?;
    copy_files(&found, &out)?;
    let texts = |item: &str, part: Option<&str>| write::text(&report, &out, item, part);
    write::files(&report, &out, &texts, None)?;
    Ok(Checked::of(report, out))
}

/// Joins reports that agree. Fails with a [`Misuse`] if a shard has a figure that does not follow from the records of
/// its items.
fn reports(found: &[FoundShard]) -> Result<Report, Misuse> {
    let Some(first) = found.first() else {
        return Err(Misuse::new("no shards were named"));
    };
    let mut findings = Vec::new();
    for kind in first.report.probes.kinds().iter() {
        let shares = found.iter().filter_map(|found| {
            let share = found.report.probes.of(kind.name())?;
            Some(share.boxed())
        });
        if let Some(whole) = joined(shares.collect()) {
            findings.push((kind.name(), kind.recompute(whole)));
        }
    }
    let run = Run {
        ending: stage::joined(
            // A change of the code belongs to the run as a whole, and not to one of its probes.
            stopped(found).chain(findings.iter().map(|(_, found)| found.section.ending())),
        ),
        shard: None,
        session: session(found),
        ..first.report.run.clone()
    };
    let report = stage::assemble(
        first.report.probes.kinds().clone(),
        run,
        findings,
        notices(found),
    );
    for shard in found {
        let strange = |id: &&String| !report.metrics.contains_key(*id);
        if let Some(id) = shard.report.metrics.keys().find(strange) {
            return Err(Misuse::new(format!(
                "{shard} has the figure `{id}`, which cannot be joined from shards"
            ))
            .help("measure it in a run of its own, without `--shard`"));
        }
    }
    Ok(report)
}

/// The endings of the shards that stopped early.
fn stopped(found: &[FoundShard]) -> impl Iterator<Item = Ending> {
    let endings = found.iter().map(|found| found.report.run.ending);
    endings.filter(|ending| !matches!(ending, Ending::Complete | Ending::Failed))
}

/// Joins the sections of one probe from all shards. A shard without any measurement does not make the whole fail.
fn joined(shares: Vec<Box<dyn AnySection>>) -> Option<Box<dyn AnySection>> {
    let endings: Vec<Ending> = shares.iter().map(|share| share.ending()).collect();
    let mut shares = shares.into_iter();
    let mut whole = shares.next()?;
    shares.for_each(|share| whole.take_in(share));
    let is_answered = |id: &str| whole.item(id).is_some_and(|item| item.has_answer);
    let has_answer = whole.ids().into_iter().any(is_answered);
    let stopped = [Ending::Changed, Ending::DryRun, Ending::Interrupted];
    let stopped = stopped.into_iter().find(|ending| endings.contains(ending));
    whole.set_ending(match (stopped, has_answer) {
        (Some(ending), _) => ending,
        (None, true) => Ending::Complete,
        (None, false) => Ending::Failed,
    });
    Some(whole)
}

/// The sum of all costs. The time is the time of the longest shard, since shards run in parallel.
fn session(found: &[FoundShard]) -> Session {
    let sessions = || found.iter().map(|found| &found.report.run.session);
    let costs = sessions().map(|session| session.cost);
    let cost = costs.fold(Cost::default(), Cost::plus);
    Session {
        started_at: sessions()
            .map(|session| session.started_at.clone())
            .min()
            .unwrap_or_default(),
        seconds: sessions()
            .map(|session| session.seconds)
            .fold(0.0, f64::max),
        configuration: sessions().find_map(|session| session.configuration.clone()),
        commit: sessions().find_map(|session| session.commit.clone()),
        dirty: sessions().any(|session| session.dirty),
        copied_from: None,
        texts_withheld: sessions().any(|session| session.texts_withheld),
        cost,
        judge_cost: sessions()
            .filter_map(|session| session.judge_cost)
            .reduce(Cost::plus),
        item_seconds: item_seconds(found),
        decision: None,
        verdict: None,
    }
}

/// The times of all items: no item is in two shards.
fn item_seconds(found: &[FoundShard]) -> BTreeMap<String, BTreeMap<String, Vec<f64>>> {
    let mut all: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for one in found {
        for (probe, of_probe) in &one.report.run.session.item_seconds {
            let items = all.entry(probe.clone()).or_default();
            items.extend(of_probe.clone());
        }
    }
    all
}

/// The notices of the shards about their items, without duplicates. Notices about figures are made again from the
/// joined figures.
fn notices(found: &[FoundShard]) -> Vec<Notice> {
    let mut most: BTreeMap<&Notice, usize> = BTreeMap::new();
    let told_anew: Vec<BTreeSet<Notice>> = found
        .iter()
        .map(|shard| record::notices_of_figures(&shard.report))
        .collect();
    for (shard, told_anew) in found.iter().zip(&told_anew) {
        let mut here: BTreeMap<&Notice, usize> = BTreeMap::new();
        let is_kept =
            |notice: &&Notice| !told_anew.contains(notice) && !stage::is_assembled(notice);
        for notice in shard.report.notices.iter().filter(is_kept) {
            *here.entry(notice).or_default() += 1;
        }
        for (notice, times) in here {
            let so_far = most.entry(notice).or_default();
            *so_far = times.max(*so_far);
        }
    }
    most.into_iter()
        .flat_map(|(notice, times)| std::iter::repeat_n(notice.clone(), times))
        .collect()
}

/// The content of an item's folder besides its reports.
const PARTS: [&str; 2] = ["baseline", "perturbations"];

/// Copies the files of every item. A shard that consists only of a report has no such files.
fn copy_files(found: &[FoundShard], out: &Path) -> anyhow::Result<()> {
    for shard in found {
        for (_, section) in shard.report.probes.iter() {
            for item in section.ids().into_iter().filter_map(|id| section.item(id)) {
                let Some(folder) = item.folders.first() else {
                    continue;
                };
                for part in PARTS {
                    let from = shard.folder.join(folder).join(part);
                    tree(&from, &out.join(folder).join(part))?;
                }
            }
        }
    }
    Ok(())
}

/// Copies a folder with its content, except links, which could point to any place.
fn tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    let is_folder = fs::symlink_metadata(from).is_ok_and(|data| data.is_dir());
    if !is_folder {
        return Ok(());
    }
    fs::create_dir_all(to).with_context(|| format!("failed to make `{}`", to.display()))?;
    let failed = || format!("failed to copy `{}`", from.display());
    for entry in fs::read_dir(from).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let kind = entry.file_type().with_context(failed)?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target).with_context(failed)?;
        }
    }
    Ok(())
}
