//! Holds a report of the branch of reports against the commit that it is kept for. Whoever may write to
//! that branch may write any report there; this finds one that is of another commit, other cases or
//! another configuration, or whose figures are not those of its records.
//!
//! What the commit alone does not tell is said, and is no accusation: a job may have made files that git
//! does not keep, or an older kelvin may have made its fingerprints otherwise.

use std::path::{Path, PathBuf};

use super::{Request, asked, beside, record};
use crate::baseline;
use crate::baseline::{Claims, Form, Hint, Login};
use crate::registry::Registry;
use kelvin_gate::policy::Effect;
use kelvin_gate::provenance::Provenance;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{Reason, ReasonCode};
use kelvin_page::safe;
use kelvin_record::{Cell, Metric, Nouns};
use kelvin_run::config::{Config, Overrides};
use kelvin_system::git::Oid;
use kelvin_system::git::Repository;
use kelvin_system::pipeline;

/// How far two figures may be apart that were written and read once.
const GUARD: f64 = 1e-9;

/// That the items are others; it is said with what the probes call them.
const ITEMS: &str = "items";
/// What is said of a report that has no digest of the code.
const NO_CODE: &str = "it does not say of which code it is";

/// What a commit says of a report.
struct Against {
    /// What does not agree with it, in words that fit after "its".
    differs: Vec<&'static str>,
    /// Why no more of it can be told, where that is so.
    unknown: Option<String>,
}

/// Holds a report against a commit. `config`: the configuration of the head, whose file the commit is
/// asked for.
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
    // Whoever wrote a file may have it as it is stored, whatever a work tree that is checked out has.
    let found = match against(Form::OfAWorkTree) {
        Ok(found) if found.differs.contains(&ITEMS) => against(Form::AsStored),
        found => found,
    };
    let against = match found {
        Ok(against) => against,
        Err(error) => return Claims::Unknown(format!("{error:#}")),
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

/// What to do about a report that is not what it says it is.
const MEND: &str = "check who may push to that branch, and replace the report by running the job of \
                    that commit again";

/// What is said of a report that `is_forged`.
pub(super) const FORGED: &str = "figures that its own records do not give";

/// Whether somebody has written other figures into a report than its records give. The formulas of another version may
/// give others.
pub(super) fn is_forged(report: &Report) -> bool {
    report.tool.version == env!("CARGO_PKG_VERSION") && !figures_follow(report)
}

/// Checks the commit out and makes the fingerprints that a report of it has.
fn against(
    (registry, config): (Registry, &Config),
    (repo, commit): (&Repository, Oid),
    (report, form): (&Report, Form),
    fetched_with: (Option<&Login>, &Hint),
) -> anyhow::Result<Against> {
    let folder = tempfile::tempdir()?;
    let into = (folder.path(), form);
    let root = baseline::checkout(repo, commit, &config.root, into, fetched_with)?;
    let base = registry.configured(&Overrides {
        file: Some(root.join(Path::new(config.file.file_name().unwrap_or_default()))),
        seed: Some(report.run.seed),
        around: config.around.clone(),
        no_cache: true,
        ..Overrides::default()
    })?;
    let mut against = Against {
        differs: Vec::new(),
        unknown: None,
    };
    if base.measured() != report.run.fingerprints.config {
        against.differs.push("settings");
    }
    let request = Request {
        probe: only_probe(report),
        is_base: true,
        ..Request::new(registry)
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
        let exclude = beside::not_pipeline(&base, &sides, &out);
        pipeline::committed(&base.root, &base.fingerprint, &exclude)
    };
    // A run leaves its own output out, wherever that lies.
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

/// The probe of a report that has one only: it may have been asked for.
fn only_probe(report: &Report) -> Option<&'static str> {
    let mut names = report.probes.iter().map(|(name, _)| name);
    let first = names.next()?;
    if names.next().is_some() {
        return None;
    }
    Some(report.probes.kind(first)?.name())
}

/// Why the settings and the cases of a commit may not be those of its report, as the head shows: a file
/// that says what is measured, and that git does not keep as it is.
fn of_no_commit(
    repo: &Repository,
    config: &Config,
    request: &Request,
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

/// The sentence that says that nobody knows whether the base's report is that of its commit. It warns where
/// only the report's own word keeps it from being known, and the head gives no such word.
pub(super) fn told(provenance: &Provenance, base: &Report, head: &Report) -> Option<Reason> {
    let why = provenance.unchecked.as_deref()?;
    let by_its_word =
        base.run.session.dirty || base.tool.version != head.tool.version || why == NO_CODE;
    let warns = by_its_word && !head.run.session.dirty;
    let text = format!("whether the report of the base is that of its commit is not known: {why}");
    Some(Reason {
        code: ReasonCode::BaseNotChecked,
        effect: warns.then_some(Effect::Warn),
        metric: None,
        text: safe::line(&text),
    })
}

/// Whether the figures of a report are those that its records give.
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
