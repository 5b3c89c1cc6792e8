//! Refuses shards that do not make up one run, by name.

use std::fmt::Display;
use std::path::{Component, Path};

use super::gather::Found;
use crate::config::Shard;
use crate::exit::Misuse;
use crate::probe::Ending;
use crate::report::Report;

/// How a shard is run again.
const AGAIN: &str = "run its shards again on one commit with one configuration, and merge then";

/// Checks that every shard is there once, that all are of the same run, and that each holds its own
/// cases and no other.
pub(super) fn check(found: &[Found]) -> Result<(), Misuse> {
    for pair in found.windows(2) {
        let [one, other] = pair else { continue };
        same(one, other)?;
        if one.shard() == other.shard() {
            return Err(Misuse::new(format!(
                "shard {} is there twice: `{}` and `{}`",
                one.shard(),
                one.file.display(),
                other.file.display()
            ))
            .help("leave one of them out; of two attempts of a job, the later one counts"));
        }
    }
    complete(found)?;
    found.iter().try_for_each(own_cases)?;
    whole(found)
}

/// Whether two shards are of the same run.
fn same(one: &Found, other: &Found) -> Result<(), Misuse> {
    let (a, b) = (&one.report, &other.report);
    let digests = (&a.run.fingerprints, &b.run.fingerprints);
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let told: [(&str, String, String); 10] = [
        (
            "number of shards",
            one.share.count.to_string(),
            other.share.count.to_string(),
        ),
        (
            "version of kelvin",
            a.tool.version.clone(),
            b.tool.version.clone(),
        ),
        ("seed", a.run.seed.to_string(), b.run.seed.to_string()),
        (
            "digest of the cases",
            digests.0.cases.short(12),
            digests.1.cases.short(12),
        ),
        (
            "digest of the configuration",
            digests.0.config.short(12),
            digests.1.config.short(12),
        ),
        (
            "digest of the pipeline",
            digests
                .0
                .pipeline
                .map_or_else(|| "unknown".to_owned(), |digest| digest.short(12)),
            digests
                .1
                .pipeline
                .map_or_else(|| "unknown".to_owned(), |digest| digest.short(12)),
        ),
        (
            "digest of the command and its environment",
            digests.0.command.short(12),
            digests.1.command.short(12),
        ),
        (
            "commit",
            commit(one.report.run.session.commit.as_deref()),
            commit(other.report.run.session.commit.as_deref()),
        ),
        (
            "choice of cases (`--only`)",
            list(&a.run.only),
            list(&b.run.only),
        ),
        (
            "number of repeats",
            a.run.repeats.to_string(),
            b.run.repeats.to_string(),
        ),
    ];
    for (what, left, right) in told {
        if left != right {
            return Err(differ(one, other, what, left, right));
        }
    }
    // What the digests cover, and a report that was edited by hand would still have wrong.
    let rest = a.run.decision_field == b.run.decision_field
        && a.run.governing_types == b.run.governing_types
        && a.run.scorer == b.run.scorer
        && a.run.basis == b.run.basis
        && one.share.cases == other.share.cases
        && (a.run.ending == Ending::DryRun) == (b.run.ending == Ending::DryRun)
        && digests.0 == digests.1;
    if rest {
        return Ok(());
    }
    Err(Misuse::new(format!(
        "{one} and {other} are not of the same run: they differ in what they measured or how"
    ))
    .help(AGAIN))
}

fn commit(commit: Option<&str>) -> String {
    let commit = commit.unwrap_or("unknown");
    commit.chars().take(12).collect()
}

fn differ(one: &Found, other: &Found, what: &str, a: impl Display, b: impl Display) -> Misuse {
    Misuse::new(format!(
        "{one} and {other} are not of the same run: the {what} is `{a}` in the first and `{b}` in \
         the second"
    ))
    .help(AGAIN)
}

/// Whether no shard is missing.
fn complete(found: &[Found]) -> Result<(), Misuse> {
    let Some(first) = found.first() else {
        return Err(Misuse::new("no shards were named"));
    };
    let count = first.share.count;
    let missing: Vec<String> = (1..=count)
        .map(|index| Shard { index, count })
        .filter(|shard| !found.iter().any(|found| found.shard() == *shard))
        .map(|shard| shard.to_string())
        .collect();
    let what = match missing.as_slice() {
        [] => return Ok(()),
        [one] => format!("shard {one} is missing: its job left no report"),
        [others @ .., last] => format!(
            "the shards {} and {last} are missing: their jobs left no report",
            others.join(", ")
        ),
    };
    let again: Vec<String> = missing
        .iter()
        .map(|shard| format!("`kelvin check --shard {shard} --out FOLDER`"))
        .collect();
    Err(Misuse::new(what).help(format!(
        "on GitHub, `Re-run failed jobs` runs them again; elsewhere {}; then merge again",
        again.join(", ")
    )))
}

/// Whether a shard holds its own cases only, each under a name that is a folder.
fn own_cases(found: &Found) -> Result<(), Misuse> {
    let queries = found
        .report
        .retrieval
        .iter()
        .flat_map(|record| record.queries.keys());
    for name in queries {
        let home = Shard::of(name, found.share.count);
        if home != found.shard() {
            return Err(Misuse::new(format!(
                "{found} holds the query `{name}`, which belongs to shard {home}"
            ))
            .help("the report was changed after it was written; run that shard again"));
        }
    }
    for (name, case) in &found.report.cases {
        let home = Shard::of(name, found.share.count);
        if home != found.shard() {
            return Err(Misuse::new(format!(
                "{found} holds the case `{name}`, which belongs to shard {home}"
            ))
            .help("the report was changed after it was written; run that shard again"));
        }
        let variants = case.variants.iter().map(|variant| variant.id.as_str());
        for folder in [case.folder.as_str()].into_iter().chain(variants) {
            let mut parts = Path::new(folder).components();
            let is_one = matches!(parts.next(), Some(Component::Normal(_)));
            if !is_one || parts.next().is_some() {
                return Err(Misuse::new(format!(
                    "{found} names `{folder}`, which is no folder of its own"
                )));
            }
        }
    }
    Ok(())
}

/// Whether the shards have all the cases that they should have together.
fn whole(found: &[Found]) -> Result<(), Misuse> {
    let queries = |report: &Report| report.retrieval.as_ref().map_or(0, |all| all.queries.len());
    let held = |found: &Found| found.report.cases.len() + queries(&found.report);
    let held: usize = found.iter().map(held).sum();
    let wanted = found.first().map_or(0, |found| found.share.cases);
    if held == wanted {
        return Ok(());
    }
    Err(Misuse::new(format!(
        "the shards hold {held} cases together, and should hold {wanted}"
    ))
    .help(AGAIN))
}
