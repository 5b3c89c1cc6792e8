//! Rejects shards that do not together form one run, and names them.

use std::fmt::Display;
use std::path::{Component, Path};

use super::gather::FoundShard;
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_record::{Ending, Nouns, Shard};

/// How to run the shards again.
const AGAIN: &str = "run its shards again on one commit with one configuration, and merge then";

/// Checks that every shard exists exactly once, that all belong to the same run, and that each contains only its own
/// cases.
pub(super) fn check(found: &[FoundShard]) -> Result<(), Misuse> {
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

/// Whether two shards belong to the same run.
fn same(one: &FoundShard, other: &FoundShard) -> Result<(), Misuse> {
    let (a, b) = (&one.report, &other.report);
    let digests = (&a.run.fingerprints, &b.run.fingerprints);
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let told: [(&str, String, String); 8] = [
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
            "commit",
            commit(one.report.run.session.commit.as_deref()),
            commit(other.report.run.session.commit.as_deref()),
        ),
        (
            "choice of items (`--only`)",
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
    probes_agree(one, other)?;
    // The digests include these values, so they differ only if somebody edited a report by hand.
    let rest = one.share.cases == other.share.cases
        && (a.run.ending == Ending::DryRun) == (b.run.ending == Ending::DryRun)
        && digests.0 == digests.1;
    match rest {
        true => Ok(()),
        false => Err(differ_somehow(one, other)),
    }
}

/// Whether two shards ran the same probes, on the same items and in the same way.
fn probes_agree(one: &FoundShard, other: &FoundShard) -> Result<(), Misuse> {
    let names = |found: &FoundShard| -> Vec<String> {
        let probes = found.report.probes.iter();
        probes.map(|(name, _)| name.to_owned()).collect()
    };
    let (ours, theirs) = (names(one), names(other));
    if ours != theirs {
        let (ours, theirs) = (ours.join(", "), theirs.join(", "));
        return Err(differ(one, other, "choice of probes", ours, theirs));
    }
    let short = |digest: Option<Digest>| {
        digest.map_or_else(|| "unknown".to_owned(), |digest| digest.short(12))
    };
    let of_both = one.report.probes.iter().zip(other.report.probes.iter());
    for ((name, ours), (_, theirs)) in of_both {
        let nouns = one
            .report
            .probes
            .kind(name)
            .map_or("items", |kind| kind.nouns().1);
        let (before, after) = (ours.fingerprint(), theirs.fingerprint());
        for (what, left, right) in [
            (format!("digest of the {nouns}"), before.items, after.items),
            (
                "digest of the command and its environment".to_owned(),
                before.command,
                after.command,
            ),
        ] {
            if left != right {
                return Err(differ(one, other, &what, short(left), short(right)));
            }
        }
        if !ours.is_like(theirs) {
            return Err(differ_somehow(one, other));
        }
    }
    Ok(())
}

fn differ_somehow(one: &FoundShard, other: &FoundShard) -> Misuse {
    Misuse::new(format!(
        "{one} and {other} are not of the same run: they differ in what they measured or how"
    ))
    .help(AGAIN)
}

fn commit(commit: Option<&str>) -> String {
    let commit = commit.unwrap_or("unknown");
    commit.chars().take(12).collect()
}

fn differ(
    one: &FoundShard,
    other: &FoundShard,
    what: &str,
    a: impl Display,
    b: impl Display,
) -> Misuse {
    Misuse::new(format!(
        "{one} and {other} are not of the same run: the {what} is `{a}` in the first and `{b}` in \
         the second"
    ))
    .help(AGAIN)
}

/// Checks that no shard is missing.
fn complete(found: &[FoundShard]) -> Result<(), Misuse> {
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

/// Checks that a shard contains only its own items, each with its own folders.
fn own_cases(found: &FoundShard) -> Result<(), Misuse> {
    for (probe, section) in found.report.probes.iter() {
        let noun = found
            .report
            .probes
            .kind(probe)
            .map_or("item", |kind| kind.nouns().0);
        for id in section.ids() {
            let home = Shard::of(id, found.share.count);
            if home != found.shard() {
                return Err(Misuse::new(format!(
                    "{found} holds the {noun} `{id}`, which belongs to shard {home}"
                ))
                .help("the report was changed after it was written; run that shard again"));
            }
            for folder in section.item(id).map_or(Vec::new(), |item| item.folders) {
                let mut parts = Path::new(folder).components();
                let is_one = matches!(parts.next(), Some(Component::Normal(_)));
                if !is_one || parts.next().is_some() {
                    return Err(Misuse::new(format!(
                        "{found} names `{folder}`, which is no folder of its own"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Checks that the shards together contain all items of the run.
fn whole(found: &[FoundShard]) -> Result<(), Misuse> {
    let held = |found: &FoundShard| {
        let probes = found.report.probes.iter();
        // A probe that observes uses the items of the other probes.
        let is_own = |name: &str| {
            !found
                .report
                .probes
                .kind(name)
                .is_some_and(|kind| kind.observes())
        };
        let probes = probes.filter(|(name, _)| is_own(name));
        probes
            .map(|(_, section)| section.ids().len())
            .sum::<usize>()
    };
    let held: usize = found.iter().map(held).sum();
    let wanted = found.first().map_or(0, |found| found.share.cases);
    if held == wanted {
        return Ok(());
    }
    let nouns = found.first().map(|found| found.report.probes.nouns());
    let nouns = Nouns::common(&nouns.unwrap_or_default()).items;
    Err(Misuse::new(format!(
        "the shards hold {held} {nouns} together, and should hold {wanted}"
    ))
    .help(AGAIN))
}
