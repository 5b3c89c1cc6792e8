//! An older report of the branch, with which a change is compared in addition to its base. Only such a comparison shows
//! a series of drops if each of them is within the limit.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use kelvin_system::git::Oid;

use super::ancestry::{parents, short};
use super::remote::Remote;
use super::search::{Claims, Search};
use super::{commit, tree};
use kelvin_gate::report::Report;
use kelvin_record::settings::Anchor;

/// How many commits are searched for an anchor.
const MOST_STEPS: usize = 10_000;
/// How often a shallow clone is deepened to find the anchor, each time four times as far.
const MOST_FETCHES: usize = 6;

/// The report that was found.
pub(crate) struct Anchored {
    /// The report.
    pub(crate) report: Report,
    /// Its commit.
    pub(crate) commit: String,
    /// How many merges there are between this commit and the base.
    pub(crate) merges: usize,
    /// How many days this commit is older than the base, by the dates of the commits.
    pub(crate) days: i64,
    /// The tag by which the anchor was found.
    pub(crate) tag: Option<String>,
    /// Whether the report is younger than configured, because no older one is stored.
    pub(crate) is_oldest: bool,
}

/// A stored report, on the way back from the base along first parents.
struct AncestorReport {
    commit: Oid,
    blob: Oid,
    merges: usize,
    days: i64,
    /// The last tag at or after the commit.
    tag: Option<String>,
}

impl AncestorReport {
    /// Whether this step is old enough.
    fn serves(&self, wanted: &Anchor) -> bool {
        match (wanted, wanted.days()) {
            (Anchor::Merges(merges), _) => self.merges >= *merges,
            (Anchor::Named(_), Some(days)) => self.days >= days,
            (Anchor::Named(_), None) => self.tag.is_some(),
        }
    }
}

/// Finds the anchor. Fails with the reason why there is no anchor.
pub(crate) fn anchor(search: &Search<'_>, wanted: &Anchor) -> anyhow::Result<Anchored> {
    let repo = super::open(search.root)?;
    let remote = Remote::of(&repo).with(search.login, search.hint);
    let base = commit::base(&remote, search.hint)?.commit;
    let tags = match wanted.is_tag() {
        true => tags(&remote, search.hint.in_workflow)?,
        false => BTreeMap::new(),
    };
    let kept = kept(search, &remote)?;
    let (step, is_oldest) = match back(&remote, base, (&kept, &tags), wanted)? {
        (Some(step), _) => (step, false),
        (None, Some(oldest)) if !wanted.is_tag() => (oldest, true),
        (None, _) if wanted.is_tag() => {
            bail!("no report was found at or before any tag that is before the base")
        }
        (None, _) => bail!(
            "the branch `{}` keeps no report of a commit before the base",
            search.settings.branch
        ),
    };
    let bytes = tree::blob(&remote, step.blob)?;
    let report = search
        .registry
        .report(&bytes)
        .with_context(|| format!("the report of {}", short(step.commit)))?;
    if let Claims::Differ(why) = (search.hold)(&repo, step.commit, &report) {
        bail!("the report of {} {why}", short(step.commit));
    }
    Ok(Anchored {
        report,
        commit: step.commit.to_string(),
        merges: step.merges,
        days: step.days,
        tag: step.tag,
        is_oldest,
    })
}

/// The reports of the configuration on the branch: the blob of each, by its commit.
fn kept(search: &Search<'_>, remote: &Remote<'_>) -> anyhow::Result<BTreeMap<Oid, Oid>> {
    let kept = search.kept(remote)?;
    let own = kept.iter().rev();
    let own = own.filter(|kept| kept.configuration == search.configuration);
    Ok(own.map(|kept| (kept.commit, kept.blob)).collect())
}

/// Goes back from the base along first parents until a report is old enough. Returns that report, and the oldest report
/// on the way.
fn back(
    remote: &Remote<'_>,
    base: Oid,
    (kept, tags): (&BTreeMap<Oid, Oid>, &BTreeMap<Oid, String>),
    wanted: &Anchor,
) -> anyhow::Result<(Option<AncestorReport>, Option<AncestorReport>)> {
    let repo = remote.repo();
    let time = |commit| Some(repo.find_commit(commit).ok()?.time().seconds());
    let (mut oldest, mut met, mut fetches) = (None, 0, 0);
    let (mut commit, mut tag) = (base, None);
    let mut begins = None;
    for merges in 0..MOST_STEPS {
        let mut before = parents(repo, commit);
        while before.is_err() && fetches < MOST_FETCHES {
            // A shallow clone ends here.
            fetches += 1;
            remote.fetch(&[&base.to_string()], Some((merges + 2) * 4))?;
            before = parents(repo, commit);
        }
        let before = before?;
        let now = time(commit).context("a commit has no time")?;
        let begins = *begins.get_or_insert(now);
        tag = tags.get(&commit).cloned().or(tag);
        if let Some(blob) = kept.get(&commit) {
            let step = AncestorReport {
                commit,
                blob: *blob,
                merges,
                days: (begins - now) / 86_400,
                tag: tag.clone(),
            };
            if step.serves(wanted) {
                return Ok((Some(step), oldest));
            }
            oldest = Some(step);
            met += 1;
        }
        match before.first() {
            Some(parent) if met < kept.len() => commit = *parent,
            _ => break,
        }
    }
    Ok((None, oldest))
}

/// The tags of the remote and, on a laptop, those of this clone, by their commits.
fn tags(remote: &Remote<'_>, in_workflow: bool) -> anyhow::Result<BTreeMap<Oid, String>> {
    let mut tags = BTreeMap::new();
    if !in_workflow {
        let repo = remote.repo();
        for name in repo.tag_names(None)?.iter().flatten().flatten() {
            let found = repo.revparse_single(&format!("refs/tags/{name}"));
            if let Ok(commit) = found.and_then(|found| found.peel_to_commit()) {
                tags.insert(commit.id(), name.to_owned());
            }
        }
    }
    match remote.tags() {
        Ok(found) => tags.extend(found),
        Err(error) if in_workflow => return Err(error),
        Err(_) => {}
    }
    Ok(tags)
}
