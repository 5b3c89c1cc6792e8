//! Reads the requested probes and items, divides them among shards, and lists the files in the folder of the pipeline
//! that are not its code. Both a check and the list of its calls begin with this.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::CheckRequest;
use crate::history;
use kelvin_base::exit::Misuse;
use kelvin_probe::{Items, Kind};
use kelvin_record::Listing;
use kelvin_run::config::Config;
use kelvin_run::{Step, calls_of_an_order};

/// A probe that is run, with the items that it is run on.
pub(super) struct AskedProbe<'c> {
    /// The kind of the probe.
    pub(super) kind: &'static dyn Kind,
    /// The items of the probe that were asked for.
    pub(super) items: Box<dyn Items + 'c>,
    /// How many items were chosen, before they were shared out among shards.
    pub(super) chosen: usize,
}

/// Reads the items of every configured probe, or only of the requested probe, and then leaves out the items that were
/// not requested. Fails with a [`Misuse`] if the items or the request are wrong.
pub(super) fn read<'c>(
    request: &CheckRequest,
    config: &'c Config,
) -> anyhow::Result<Vec<AskedProbe<'c>>> {
    let mut sides = Vec::new();
    for kind in kinds(config, request)? {
        sides.push(AskedProbe {
            kind,
            items: kind.read(config)?,
            chosen: 0,
        });
    }
    keep_folders_apart(&sides)?;
    all_are_known(&sides, &request.only)?;
    for side in &mut sides {
        side.chosen = side.items.choose(&request.only, request.shard);
    }
    // If items are requested by name, a probe without such an item is left out.
    sides.retain(|side| request.only.is_empty() || side.chosen > 0 || side.kind.observes());
    Ok(sides)
}

/// The kinds of the probes that are run.
pub(super) fn kinds(
    config: &Config,
    request: &CheckRequest,
) -> Result<Vec<&'static dyn Kind>, Misuse> {
    let asked = request.probe;
    let mut kinds = request.registry.kinds().to_vec();
    kinds.retain(|kind| asked.is_none_or(|asked| asked == kind.name()));
    let helps: Vec<&str> = kinds.iter().map(|kind| kind.how_to_configure()).collect();
    kinds.retain(|kind| config.configures(kind.name()));
    let nothing_of_the_base = kinds.is_empty() && request.is_base && asked.is_some();
    if nothing_of_the_base || kinds.iter().any(|kind| !kind.observes()) {
        return Ok(kinds);
    }
    if let Some(observing) = kinds.first() {
        let name = observing.name();
        let file = config.file.display();
        let what =
            format!("`{file}`: the {name} probe runs nothing and looks at what other probes run");
        let runs = request.registry.kinds().iter();
        let runs = runs.filter(|kind| !kind.observes());
        let helps: Vec<&str> = runs.map(|kind| kind.how_to_configure()).collect();
        let help = match asked {
            Some(_) => "leave `--probe` out".to_owned(),
            None => helps.join(", or "),
        };
        return Err(Misuse::new(what).help(help));
    }
    let what = asked.map_or_else(|| "probe".to_owned(), |asked| format!("{asked} probe"));
    let file = config.file.display();
    Err(Misuse::new(format!("`{file}` configures no {what}")).help(helps.join(", or ")))
}

/// Refuses items whose folder would be the folder of another probe.
pub(super) fn keep_folders_apart(sides: &[AskedProbe<'_>]) -> Result<(), Misuse> {
    let folders = sides.iter().filter_map(|side| side.kind.folder());
    for folder in folders {
        let at_the_top = sides.iter().filter(|side| side.kind.folder().is_none());
        for side in at_the_top {
            if side.items.ids().contains(&folder) {
                let noun = side.kind.nouns().0;
                return Err(Misuse::new(format!("a {noun} is called `{folder}`")).help(format!(
                    "that is where the {folder} probe keeps its files; give the {noun} another name"
                )));
            }
        }
    }
    Ok(())
}

/// The folders of the steps of a probe, relative to the output folder. Fails with a [`Misuse`] if an item has the same
/// name as the folder of a step, because both folders lie side by side.
pub(super) fn folders(side: &AskedProbe<'_>, steps: &[Step<'_>]) -> Result<Vec<PathBuf>, Misuse> {
    let ids = side.items.ids();
    let of_probe = PathBuf::from(side.kind.folder().unwrap_or_default());
    let of_step = |step: &Step<'_>| {
        let Some(folder) = &step.folder else {
            return Ok(of_probe.clone());
        };
        if ids.contains(&folder.as_str()) {
            let (probe, noun) = (side.kind.name(), side.kind.nouns().0);
            return Err(Misuse::new(format!("a {noun} is called `{folder}`")).help(format!(
                "the {probe} probe keeps files of its own in a folder of that name; give the {noun} \
                 another name"
            )));
        }
        Ok(of_probe.join(folder))
    };
    steps.iter().map(of_step).collect()
}

/// Refuses names that no item has, and lists the names that exist.
fn all_are_known(sides: &[AskedProbe<'_>], only: &[String]) -> Result<(), Misuse> {
    if only.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> = sides.iter().flat_map(|side| side.items.ids()).collect();
    let unknown: Vec<&str> = only
        .iter()
        .map(String::as_str)
        .filter(|name| !sides.iter().any(|side| side.items.has(name)))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let noun = sides.first().map_or("item", |side| side.kind.nouns().0);
    let nouns: Vec<&str> = sides.iter().map(|side| side.kind.nouns().1).collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(
        Misuse::new(format!("there is no {noun} `{}`", unknown.join("`, `"))).help(format!(
            "the {} are: {}",
            nouns.join(" and "),
            known.join(", ")
        )),
    )
}

/// Lists what [`super::check`] would run, including repeats and replays. Fails with a [`Misuse`] if the configuration,
/// the items or the request are wrong.
pub(crate) fn list(request: &CheckRequest, with_digests: bool) -> anyhow::Result<Listing> {
    let config = request.registry.configured(&request.overrides)?;
    let mut listing = Listing::default();
    for side in read(request, &config)? {
        let of_side = side.items.list(with_digests);
        for (what, count) in of_side.invocations {
            *listing.invocations.entry(what).or_default() += count;
        }
        listing.more_reruns += of_side.more_reruns;
        listing.further_turns += of_side.further_turns;
        // A variant is another input than its item; without variants, each item is an input.
        listing.of_the_order += of_the_order(&side, side.chosen + of_side.variants.len());
        listing.judge_trial = listing.judge_trial.or(of_side.judge_trial);
        listing.variants.extend(of_side.variants);
        listing.notices.extend(side.items.notices());
        listing.notices.extend(of_side.notices);
    }
    listing.notices.sort();
    Ok(listing)
}

/// How many calls find out whether the answers to a probe's inputs depend on the order of the calls.
fn of_the_order(side: &AskedProbe<'_>, inputs: usize) -> usize {
    let plan = side.items.plan();
    let steps = plan.steps();
    let stays = steps.iter().enumerate().filter(|(at, _)| plan.stays(*at));
    stays
        .map(|(_, step)| calls_of_an_order(inputs, step.program.target.at_once() > 1))
        .sum()
}

/// Files beside the pipeline that do not belong to its code: a change to such a file changes no answer.
pub(super) fn not_pipeline(config: &Config, sides: &[AskedProbe<'_>], out: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = sides.iter().flat_map(|side| side.items.files()).collect();
    paths.extend(not_code(config, out));
    paths
}

/// The same files as [`not_pipeline`], without the items of probes.
pub(crate) fn not_code(config: &Config, out: &Path) -> Vec<PathBuf> {
    let mut paths = vec![out.to_path_buf()];
    paths.push(config.root.join(&config.gate.calibration));
    paths.extend(config.file.file_name().map(|name| config.root.join(name)));
    paths.extend(history::files(&config.root));
    paths.extend(config.cache.as_ref().map(|cache| cache.dir.clone()));
    paths
}
