//! Checks a stored report from the branch of reports against the commit for which it is stored. Everybody who may write
//! to that branch can write any report. This check finds a report of another commit, of other cases or of another
//! configuration, and one with figures that do not follow from its records.
//!
//! If the commit alone does not show whether a claim is true, the result says so without an accusation: a job may have
//! made files that git does not store, or an older Kelvin may have computed its fingerprints in another way.

use std::path::{Path, PathBuf};

use super::why::reason;
use super::{CheckRequest, asked, record};
use crate::baseline::{self, CheckoutForm, Claims, Hint, Login};
use crate::registry::Registry;
use crate::sentence::in_a_sentence;
use kelvin_gate::policy::Effect;
use kelvin_gate::provenance::Provenance;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{Reason, ReasonCode};
use kelvin_record::{Cell, Metric, Nouns};
use kelvin_run::config::{Config, Overrides};
use kelvin_system::git::{Oid, Repository};
use kelvin_system::pipeline;

/// The tolerance when a figure is compared with its stored copy.
const GUARD: f64 = 1e-9;

/// Stands for "the items differ"; the message replaces it by the noun of each probe.
const ITEMS: &str = "items";
/// The text for a report that has no digest of the code.
const NO_CODE: &str = "it does not say of which code it is";

/// The result of checking a report against a commit.
struct ClaimCheck {
    /// The parts that differ from the commit, in words that fit after "its".
    differs: Vec<&'static str>,
    /// Why the check could not be completed; none if it was completed.
    unknown: Option<String>,
}

/// Checks a report against a commit. `config`: the configuration of the head; the file of the same name is read from
/// the commit.
pub(super) fn hold(
    (registry, config): (Registry, &Config),
    (repo, commit): (&Repository, Oid),
    report: &Report,
    fetched_with: (Option<&Login>, &Hint),
) -> Claims {
    let of = report.run.session.commit.as_deref();
    if let Some(of) = of.filter(|of| *of != commit.to_string()) {
        let of: String = of.chars().take(7).collect();
        return Claims::Differ(format!("says that it is of {of}; {MEND}"));
    }
    if report.run.session.copied_from.is_some() {
        return Claims::Differ(format!(
            "repeats the figures of another commit, for which nothing was run; {MEND}"
        ));
    }
    if is_forged(report) {
        return Claims::Differ(format!("has {FORGED}; {MEND}"));
    }
    let against = |form| {
        against(
            (registry, config),
            (repo, commit),
            (report, form),
            fetched_with,
        )
    };
    // The files may have been measured with the line endings in git, even if a checkout changes line endings.
    let found = match against(CheckoutForm::OfAWorkTree) {
        Ok(found) if found.differs.contains(&ITEMS) => against(CheckoutForm::AsStored),
        found => found,
    };
    let against = match found {
        Ok(against) => against,
        Err(error) => return Claims::Unknown(in_a_sentence(&error)),
    };
    let nouns = Nouns::common(&report.probes.nouns());
    let claims = against.differs.iter().map(|what| match *what {
        ITEMS => &*nouns.items,
        other => other,
    });
    let claims = claims.collect::<Vec<_>>().join(" and ");
    let unknown = |why: String| match claims.is_empty() {
        true => Claims::Unknown(why),
        false => Claims::Unknown(format!(
            "it differs from its commit in its {claims}, but {why}"
        )),
    };
    if let Some(why) = against.unknown {
        return unknown(why);
    }
    if claims.is_empty() {
        return Claims::Hold;
    }
    if report.tool.version != env!("CARGO_PKG_VERSION") {
        return unknown(format!(
            "it was made by kelvin {}, which may compute digests in another way",
            report.tool.version
        ));
    }
    if report.run.session.dirty {
        let why = "it was made while files differed from the commit";
        return unknown(why.to_owned());
    }
    Claims::Differ(format!(
        "is not of that commit, which has other {claims}; {MEND}"
    ))
}

/// The advice about a report whose claims are false.
const MEND: &str = "check who may push to that branch, and replace the report by running the job of \
                    that commit again";

/// The text for a report that [`is_forged`].
pub(super) const FORGED: &str = "figures that its own records do not give";

/// Whether somebody has written figures into a report that do not follow from its records. Another version of Kelvin
/// may compute other figures, so its reports are not judged.
pub(super) fn is_forged(report: &Report) -> bool {
    report.tool.version == env!("CARGO_PKG_VERSION") && !figures_follow(report)
}

/// Fails unless the figures of a report that a run left follow from its records. Another version of Kelvin may compute
/// figures differently; then it is not known whether they are true.
pub(super) fn demand_figures(report: &Report) -> anyhow::Result<()> {
    anyhow::ensure!(
        figures_follow(report),
        "the report has {FORGED} (kelvin {} wrote it, and this is kelvin {}; use one version of the action in both \
         workflows)",
        report.tool.version,
        env!("CARGO_PKG_VERSION")
    );
    Ok(())
}

/// Checks the commit out and computes the fingerprints that its report should have.
fn against(
    (registry, config): (Registry, &Config),
    (repo, commit): (&Repository, Oid),
    (report, form): (&Report, CheckoutForm),
    fetched_with: (Option<&Login>, &Hint),
) -> anyhow::Result<ClaimCheck> {
    let folder = tempfile::tempdir()?;
    let into = (folder.path(), form);
    let written = baseline::checkout(repo, commit, &config.root, into, fetched_with)?;
    let base = registry.configured(&Overrides {
        file: Some(
            written
                .root
                .join(Path::new(config.file.file_name().unwrap_or_default())),
        ),
        seed: Some(report.run.seed),
        around: config.around.clone(),
        no_cache: true,
        ..Overrides::default()
    })?;
    let mut against = ClaimCheck {
        differs: Vec::new(),
        unknown: None,
    };
    if base.measured() != report.run.fingerprints.config {
        against.differs.push("settings");
    }
    let request = CheckRequest {
        probe: only_probe(report),
        is_base: true,
        ..CheckRequest::new(registry)
    };
    let sides = asked::read(&request, &base)?;
    let items_agree = sides.iter().all(|side| {
        let section = report.probes.of(side.kind.name());
        section.is_none_or(|section| section.fingerprint().items == side.items.fingerprint().items)
    });
    if !items_agree {
        against.differs.push(ITEMS);
    }
    if !against.differs.is_empty() {
        against.unknown = of_no_commit(repo, config, &request)?;
    }
    let code = |out: PathBuf| -> anyhow::Result<_> {
        let exclude = asked::not_pipeline(&base, &sides, &out);
        pipeline::committed(&base.root, &base.fingerprint, &exclude)
    };
    // A run excludes its own output folder from the fingerprint, at any position.
    let inside = code(base.root.join("kelvin"))?;
    let Some(stored) = report.run.fingerprints.pipeline else {
        against.unknown = against.unknown.or(Some(NO_CODE.to_owned()));
        return Ok(against);
    };
    let why = match inside {
        None => Some("the repository holds other repositories"),
        Some(digest) if digest == stored => return Ok(against),
        Some(_) if code(folder.path().join("out"))? == Some(stored) => return Ok(against),
        Some(_) if !base.fingerprint.is_empty() => {
            Some("`fingerprint` may name files that git does not keep")
        }
        Some(_) => None,
    };
    against.differs.push("code");
    against.unknown = against.unknown.or(why.map(str::to_owned));
    Ok(against)
}

/// The only probe of a report; the run may have measured only this probe.
fn only_probe(report: &Report) -> Option<&'static str> {
    let mut names = report.probes.iter().map(|(name, _)| name);
    let first = names.next()?;
    if names.next().is_some() {
        return None;
    }
    Some(report.probes.kind(first)?.name())
}

/// Why settings and cases of a report may differ from its commit, judging by the head: a file that says what is
/// measured differs between git and the work tree.
fn of_no_commit(
    repo: &Repository,
    config: &Config,
    request: &CheckRequest,
) -> anyhow::Result<Option<String>> {
    let sides = asked::read(request, config)?;
    let mut files = vec![
        config
            .root
            .join(config.file.file_name().unwrap_or_default()),
    ];
    files.extend(sides.iter().flat_map(|side| side.items.files()));
    let measured = config.measured_files().into_iter();
    files.extend(measured.map(|(_, path)| config.root.join(path)));
    let changed = baseline::first_not_kept(repo, &files)?;
    Ok(changed.map(|file| {
        let shown = file.strip_prefix(&config.root).unwrap_or(file).display();
        format!("in this checkout too, `{shown}` is not committed as it is")
    }))
}

/// The sentence that it is not known whether the base's report belongs to its commit. It is a warning only if nothing
/// but statements in this report prevents the check, and the head has no such statement.
pub(super) fn unchecked_base(
    provenance: &Provenance,
    base: &Report,
    head: &Report,
) -> Option<Reason> {
    let why = provenance.unchecked.as_deref()?;
    let by_its_word =
        base.run.session.dirty || base.tool.version != head.tool.version || why == NO_CODE;
    let warns = by_its_word && !head.run.session.dirty;
    let text = format!("whether the report of the base is that of its commit is not known: {why}");
    let effect = warns.then_some(Effect::Warn);
    Some(reason(ReasonCode::BaseNotChecked, effect, &text))
}

/// Whether the figures of a report follow from its records.
pub(super) fn figures_follow(report: &Report) -> bool {
    let changed = record::recompute("", report.clone()).changed;
    let is_close = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= GUARD,
        (one, other) => one == other,
    };
    let are_close = |stored: &[Option<f64>], now: &[Option<f64>]| {
        let mut values = stored.iter().zip(now);
        stored.len() == now.len() && values.all(|(stored, now)| is_close(*stored, *now))
    };
    let is_same_cell = |stored: &Cell, now: &Cell| {
        let mut pairs = stored.pairs().iter().zip(now.pairs());
        stored.input == now.input
            && are_close(&stored.values, &now.values)
            && stored.pairs().len() == now.pairs().len()
            && pairs.all(|(stored, now)| are_close(stored, now))
    };
    let is_same = |stored: &Metric, now: &Metric| {
        let cases = now.per_case.iter();
        let mut cases = cases.map(|(name, case)| (stored.per_case.get(name), case));
        is_close(stored.value, now.value)
            && stored.gated == now.gated
            && stored.direction == now.direction
            && stored.by_rank == now.by_rank
            && stored.is_failure_rate == now.is_failure_rate
            && stored.exact_at == now.exact_at
            && stored.per_case.len() == now.per_case.len()
            && cases.all(|(stored, now)| {
                stored.is_some_and(|stored| {
                    is_close(stored.value, now.value)
                        && stored.cells.len() == now.cells.len()
                        && now.cells.iter().all(|(name, now)| {
                            let stored = stored.cells.get(name);
                            stored.is_some_and(|stored| is_same_cell(stored, now))
                        })
                })
            })
    };
    changed
        .values()
        .all(|changed| match (&changed.stored, &changed.now) {
            (Some(stored), Some(now)) => is_same(stored, now),
            _ => false,
        })
}
