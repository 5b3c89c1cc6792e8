//! Measures another commit in its own folder: its code, with its own cases or with the cases of the head. Reports if
//! that is impossible.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::stage::{self, Stage};
use super::{CheckRequest, asked};
use crate::baseline::{self, CheckoutForm, CommitFiles, Hint, Login, Remote, environments};
use crate::registry::Registry;
use kelvin_base::notice::{Code, Notice};
use kelvin_gate::report::Report;
use kelvin_page::safe;
use kelvin_record::{SectionKind, Shard, WantedRepeats};
use kelvin_run::Observer;
use kelvin_run::config::{Config, GateOverrides, Overrides};
use kelvin_system::git::{Oid, Repository};

/// The commit to measure, and which of its items.
#[derive(Clone, Copy)]
pub(super) struct WantedItems<'a> {
    /// The kinds of probes that the program knows.
    pub(super) registry: Registry,
    /// The repository, and the commit.
    pub(super) commit: (&'a Repository, Oid),
    /// The token and the hint for fetching missing files of the commit.
    pub(super) fetched_with: (Option<&'a Login>, &'a Hint),
    /// The probe to measure; none for all probes.
    pub(super) probe: Option<&'static str>,
    /// The share of the items.
    pub(super) shard: Option<Shard>,
    /// The seed of the head; set if items of the head replace those of the commit.
    pub(super) of_the_head: Option<u64>,
}

/// Checks a commit out into a folder beside the work tree and measures it there, as often as the head or
/// `baseline.repeats` says. Answers may come from the cache; the caller has to check how many did. Fails if the commit
/// cannot be checked out, or cannot be checked.
pub(super) fn commit(
    config: &Config,
    what: WantedItems<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<Report> {
    let how = Overrides {
        repeats: Some(config.replicas),
        gate: GateOverrides {
            base_repeats: Some(config.baseline.repeats),
            ..GateOverrides::default()
        },
        is_base: true,
        no_cache: config.cache.is_none(),
        ..Overrides::default()
    };
    let mut report = with(config, what, how, Vec::new(), observer, |stage| {
        stage.measure()?;
        Ok(stage.report())
    })?;
    if let Some(lists) = edited_lists(config, what)? {
        let text = format!(
            "the base was run with the packages of the change, since the change edits {lists}: what other versions of \
             packages do to the answers was not looked at. A stored report of the base tells it (`kelvin baseline save` on \
             the base branch)"
        );
        report
            .notices
            .push(Notice::new(Code::own(OTHER_PACKAGES), text));
    }
    Ok(report)
}

/// The most characters of the path of a list.
const LONGEST: usize = 80;

/// The code of the notice of a base that was run with the packages of the change.
pub(super) const OTHER_PACKAGES: &str = "other_packages";

/// The lists of packages that the change edits, in words; none if it edits none. Fails if the commit or the work tree
/// cannot be read.
fn edited_lists(config: &Config, what: WantedItems<'_>) -> anyhow::Result<Option<String>> {
    let ((repo, commit), (login, hint)) = (what.commit, what.fetched_with);
    let remote = Remote::of(repo).with(login, hint);
    let lists = baseline::edited_lists(&remote, commit, &config.root)?;
    let shown = |list: &PathBuf| safe::code_name(&list.display().to_string(), LONGEST);
    Ok(match &*lists {
        [] => None,
        [only] => Some(shown(only)),
        [first, second] => Some(format!("{} and {}", shown(first), shown(second))),
        [first, rest @ ..] => Some(format!("{} and {} other lists", shown(first), rest.len())),
    })
}

/// Why the code of a base with a stored report is not run beside the change: its packages are not those of the change. None
/// if they are, and for a commit that cannot be had: its code cannot be run either, which is an error where it is to be.
pub(super) fn has_other_packages(config: &Config, what: WantedItems<'_>) -> Option<String> {
    let lists = edited_lists(config, what).ok().flatten();
    lists.map(|lists| {
        format!(
            "the base was not run again beside the change, since the change edits {lists}: it would run with the packages of \
             the change. Its stored answers count, and they say more with `baseline: {{repeats: 5}}`"
        )
    })
}

/// Measures some items of the head with the code of a commit, `repeats` times each, so that both versions of the code
/// get the same inputs. Fails if the commit cannot be checked out, the items cannot be put there, or the check is
/// impossible.
pub(super) fn on_items_of_the_head(
    config: &Config,
    what: WantedItems<'_>,
    (names, repeats, seed): (&[String], NonZeroUsize, u64),
    observer: &dyn Observer,
) -> anyhow::Result<Report> {
    let what = WantedItems {
        of_the_head: Some(seed),
        ..what
    };
    let how = Overrides {
        repeats: Some(repeats),
        no_cache: config.cache.is_none(),
        ..Overrides::default()
    };
    with(config, what, how, names.to_vec(), observer, |stage| {
        stage.measure()?;
        Ok(stage.report())
    })
}

/// Some items of a commit, while they are measured together with the head.
pub(super) struct ItemsBeside<'s, 'a> {
    stage: &'s mut Stage<'a>,
    has_begun: bool,
}

impl ItemsBeside<'_, '_> {
    /// Runs items until each was run as often as wanted, and returns everything that was measured so far. Fails if the
    /// run cannot continue.
    pub(super) fn run(&mut self, wanted: &WantedRepeats) -> anyhow::Result<Report> {
        if !self.has_begun {
            self.has_begun = true;
            self.stage.measure()?;
        }
        self.stage.repeat(wanted)?;
        Ok(self.stage.report())
    }
}

/// Checks a commit out into a folder beside the work tree, and measures there the items that `then` asks for. The cache
/// is not used, since its answers may be older than those of the head. Fails if the commit cannot be checked out, if
/// its check is impossible, or if `then` fails.
pub(super) fn beside<T>(
    config: &Config,
    what: WantedItems<'_>,
    items: Vec<String>,
    observer: &dyn Observer,
    then: impl FnOnce(&mut ItemsBeside<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let how = Overrides {
        repeats: Some(NonZeroUsize::MIN),
        no_cache: true,
        ..Overrides::default()
    };
    with(config, what, how, items, observer, |stage| {
        then(&mut ItemsBeside {
            stage,
            has_begun: false,
        })
    })
}

fn with<T>(
    config: &Config,
    what: WantedItems<'_>,
    how: Overrides,
    only: Vec<String>,
    observer: &dyn Observer,
    then: impl FnOnce(&mut Stage<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let (repo, commit) = what.commit;
    let into = (folder.path(), CheckoutForm::OfAWorkTree);
    let written = baseline::checkout(repo, commit, &config.root, into, what.fetched_with)?;
    let name = config.file.file_name().unwrap_or_default();
    environments::provide(repo, &written.top)?;
    if what.of_the_head.is_some() {
        put_items(config, repo, &written, (what.registry, what.probe))?;
    }
    let request = CheckRequest {
        overrides: Overrides {
            file: Some(written.root.join(Path::new(name))),
            jobs: Some(config.jobs),
            seed: what.of_the_head,
            around: config.around.clone(),
            cache: config.cache.is_some(),
            cache_dir: config.cache.as_ref().map(|cache| cache.dir.clone()),
            ..how
        },
        probe: what.probe,
        only,
        shard: what.shard,
        out: Some(folder.path().join("kelvin")),
        is_base: true,
        ..CheckRequest::new(what.registry)
    };
    let base = what.registry.configured(&request.overrides)?;
    if let Some(why) = why_not(&base, config) {
        anyhow::bail!(why);
    }
    stage::with(&request, observer, then)
}

/// Replaces stored cases by cases that were measured again.
pub(super) fn replace(base: &mut Report, again: Report) {
    for (id, metric) in again.metrics {
        if let Some(old) = base.metrics.get_mut(&id) {
            old.per_case.extend(metric.per_case);
        }
    }
    let mut again = again.probes;
    let kinds = base.probes.kinds().clone();
    for name in kinds.iter().map(SectionKind::name) {
        if let (Some(mut section), Some(again)) = (base.probes.take(name), again.take(name)) {
            section.take_in(again);
            base.probes.put(name, section);
        }
    }
}

/// Why the base cannot be measured now although `baseline.compute` asks for it; none if it can be measured. Otherwise a
/// measurement of the base would measure the change instead.
pub(super) fn why_not(base: &Config, head: &Config) -> Option<String> {
    if !head.baseline.compute {
        return None;
    }
    same_service(base, head).or_else(|| {
        let repo = baseline::open(&head.root).ok()?;
        environments::leads_to_the_change(head, repo.workdir()?)
    })
}

/// Why one service would answer for both sides: one that runs already does not depend on the checked-out commit.
fn same_service(base: &Config, head: &Config) -> Option<String> {
    let mut services = head.targets().filter(|target| target.is_of_no_commit());
    let is_same = services.any(|here| base.targets().any(|there| there.text() == here.text()));
    is_same.then(|| {
        "the base cannot be measured beside the change: without `start` under `run.http`, the same service answers for \
         both. Name the command that starts it in `start`, or compare with a stored report (`baseline.compute: false`)"
            .to_owned()
    })
}

/// Whether somebody may be advised to set `baseline.compute`: it is not set yet, and the base could be measured.
pub(super) fn may_be_advised(config: &Config) -> bool {
    !config.baseline.compute && same_service(config, config).is_none()
}

/// The same reason as a notice.
pub(super) fn why_not_notice(config: &Config) -> Option<Notice> {
    Some(Notice::new(
        Code::own("same_code"),
        why_not(config, config)?,
    ))
}

/// Replaces the files of the base's items by the files of the head's items. `written`: the files of the base. Fails if
/// the items of a side cannot be read, or if those of the head lie outside the repository.
fn put_items(
    head: &Config,
    repo: &Repository,
    written: &CommitFiles,
    (registry, probe): (Registry, Option<&'static str>),
) -> anyhow::Result<()> {
    let base = registry.configured(&Overrides {
        file: Some(written.root.join(head.file.file_name().unwrap_or_default())),
        no_cache: true,
        ..Overrides::default()
    })?;
    let top = repo.workdir().context("the repository has no work tree")?;
    let top = top.canonicalize().context("failed to find the work tree")?;
    for old in item_files(&base, registry, probe)? {
        fs::remove_file(&old).with_context(|| format!("failed to remove `{}`", old.display()))?;
    }
    for item in item_files(head, registry, probe)? {
        let shown = item.display();
        let real = item.canonicalize();
        let real = real.with_context(|| format!("failed to find `{shown}`"))?;
        let name = real.strip_prefix(&top);
        let name = name.with_context(|| format!("`{shown}` is outside the repository"))?;
        let to = written.top.join(name);
        fs::create_dir_all(to.parent().unwrap_or(&written.top))
            .and_then(|()| fs::copy(&real, &to))
            .with_context(|| format!("failed to copy `{shown}`"))?;
    }
    Ok(())
}

/// The files from which the items are read.
fn item_files(
    config: &Config,
    registry: Registry,
    probe: Option<&'static str>,
) -> anyhow::Result<Vec<PathBuf>> {
    let request = CheckRequest {
        probe,
        is_base: true,
        ..CheckRequest::new(registry)
    };
    let sides = asked::read(&request, config)?;
    let mut files: Vec<PathBuf> = sides.iter().flat_map(|side| side.items.files()).collect();
    files.sort();
    // Several probes may read the same file.
    files.dedup();
    Ok(files)
}
