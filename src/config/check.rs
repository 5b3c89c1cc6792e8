//! From `kelvin.yaml` as written to its checked form: what a schema cannot say is checked here.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::diagnostic::Problem;
use super::raw::{EVIDENCE, OptIn, RawCache, RawConfig, RawSwap, cache_dir};
use super::words::Words;
use super::yaml::{Kind, Node};
use super::{
    CacheSettings, Config, Counts, DecisionField, Limits, Overrides, Perturbations, Retrieval,
    Retry, SwapCount, hints, placeholder, unit_type,
};

/// Everything that is wrong with the values, whatever their types; types that are wrong are passed
/// over.
pub(super) fn problems(file: &Node, source: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if let Some((run, at)) = file.text(&["run"]) {
        found.extend(placeholder::problems(run, at, source));
    }
    if let Some((run, at)) = file.text(&["retrieval", "run"]) {
        found.extend(placeholder::problems(run, at, source));
    }
    found.extend(missing(file));
    if let Some((field, at)) = file.text(&["decision_field"]) {
        found.extend(pointer(field, at));
    }
    governing_types(file, &mut found);
    env(file, &mut found);
    fingerprint(file, &mut found);
    enabled(file, &mut found);
    distinct(&file.texts(&["packs"]), "pack", &mut found);
    if let Some(Kind::Map(entries)) = file.get(&["scorer"]).map(|node| &node.kind) {
        for (name, _) in entries {
            distinct(&file.texts(&["scorer", &name.text]), "level", &mut found);
        }
    }
    blank(&file.texts(&["packs"]), "packs", &mut found);
    found
}

/// Whether the evidence probe is configured: by any of its keys, or because nothing else is. A
/// file that only says how a finished report is judged configures no probe.
fn has_evidence(file: &Node) -> bool {
    let has = |key: &&str| file.get(&[*key]).is_some();
    EVIDENCE.iter().any(has) || !["retrieval", "gate", "baseline"].iter().any(has)
}

/// The keys that the evidence probe lacks, where it is configured.
fn missing(file: &Node) -> Vec<Problem> {
    if !matches!(file.kind, Kind::Map(_)) || !has_evidence(file) {
        return Vec::new();
    }
    let absent = EVIDENCE.iter().filter(|key| file.get(&[**key]).is_none());
    absent
        .map(|key| {
            let problem = Problem::new(0..0, format!("the key `{key}` is missing"));
            match hints::example(key) {
                Some(line) => problem.help(format!("add a line such as `{line}`")),
                None => problem,
            }
        })
        .collect()
}

/// RFC 6901: after `~` comes `0` or `1`.
fn pointer(field: &str, at: &Range<usize>) -> Option<Problem> {
    let broken = field.starts_with('/')
        && field
            .split('~')
            .skip(1)
            .any(|after| !after.starts_with(['0', '1']));
    broken.then(|| {
        Problem::new(at.clone(), format!("`{field}` is not a JSON pointer"))
            .help("in a pointer `~` is written as `~0` and a `/` within a key as `~1`")
    })
}

fn governing_types(file: &Node, found: &mut Vec<Problem>) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (written, at) in file.texts(&["governing_types"]) {
        let name = unit_type(written);
        if name.is_empty() {
            found.push(Problem::new(
                at.clone(),
                "a governing type must not be empty",
            ));
        } else if name.starts_with('#') {
            let bare = written.trim_start_matches(['#', ' ']);
            found.push(
                Problem::new(
                    at.clone(),
                    format!("a type is named without the `#` of its heading, found `{written}`"),
                )
                .help(format!("write `{bare}`")),
            );
        } else if let Some(first) = seen.insert(name.clone(), written) {
            let what = if first == written {
                format!("the governing type `{written}` is listed twice")
            } else {
                format!("`{first}` and `{written}` are the same governing type `{name}`")
            };
            found.push(Problem::new(at.clone(), what).help("leave one of them out"));
        }
    }
}

fn env(file: &Node, found: &mut Vec<Problem>) {
    let names = file.texts(&["env"]);
    for (name, at) in &names {
        if let Some((bare, _)) = name.split_once('=') {
            let problem = Problem::new(
                (*at).clone(),
                format!("`{name}` is not the name of a variable"),
            );
            found.push(problem.help(format!(
                "`env` lists names only: write `{bare}`; its value is taken from the environment"
            )));
        } else if let Some(bare) = name.strip_prefix('$') {
            let problem = Problem::new(
                (*at).clone(),
                format!("`{name}` is not the name of a variable"),
            );
            found.push(problem.help(format!("write `{bare}`")));
        } else if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            found.push(Problem::new(
                (*at).clone(),
                format!("`{name}` is not the name of a variable"),
            ));
        }
    }
    distinct(&names, "variable", found);
}

fn fingerprint(file: &Node, found: &mut Vec<Problem>) {
    for (glob, at) in file.texts(&["fingerprint"]) {
        if glob.trim().is_empty() {
            found.push(Problem::new(at.clone(), "a glob must not be empty"));
        } else if let Err(error) = globset::Glob::new(glob) {
            found.push(Problem::new(
                at.clone(),
                format!("`{glob}` is not a glob: {}", error.kind()),
            ));
        }
    }
}

fn enabled(file: &Node, found: &mut Vec<Problem>) {
    let names = file.texts(&["perturbations", "enable"]);
    distinct(&names, "kind", found);
    let counts = file.get(&["perturbations", "count_drop"]);
    if let Some(node) = counts.filter(|node| node.to_json() == true)
        && !names.iter().any(|(name, _)| *name == "drop")
    {
        found.push(
            Problem::new(
                node.at.clone(),
                "`count_drop` has no effect while `drop` is not enabled",
            )
            .help("add `drop` to `perturbations.enable`, or leave `count_drop` out"),
        );
    }
}

fn blank(texts: &[(&str, &Range<usize>)], key: &str, found: &mut Vec<Problem>) {
    for (text, at) in texts {
        if text.trim().is_empty() {
            found.push(Problem::new(
                (*at).clone(),
                format!("an entry of `{key}` must not be empty"),
            ));
        }
    }
}

fn distinct(texts: &[(&str, &Range<usize>)], noun: &str, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (text, at) in texts {
        if !seen.insert(text) {
            let message = format!("the {noun} `{text}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
}

/// The checked form of a file without problems.
///
/// # Errors
///
/// Where a word list cannot be loaded.
pub(super) fn settle(
    raw: RawConfig,
    file: &Path,
    root: &Path,
    overrides: &Overrides,
) -> anyhow::Result<Config> {
    let (mut baseline, mut gate) = (raw.baseline, raw.gate);
    overrides.gate.apply(&mut baseline, &mut gate);
    let words = Words::load(root, &raw.packs, raw.filler.as_deref())?;
    let mut enable = raw.perturbations.enable;
    enable.sort_unstable();
    let dir = match raw.cache {
        RawCache::Switch(false) => overrides.cache.then(cache_dir),
        RawCache::Switch(true) => Some(cache_dir()),
        RawCache::Folder(folder) => Some(folder.dir),
    };
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(Config {
        evidence: !raw.run.is_empty(),
        retrieval: raw.retrieval.map(Retrieval::from),
        file: file.to_path_buf(),
        root: root.to_path_buf(),
        run: raw.run.trimmed(),
        cases: raw.cases,
        decision_field: if raw.decision_field.starts_with('/') {
            DecisionField::Pointer(raw.decision_field)
        } else {
            DecisionField::Key(raw.decision_field)
        },
        governing_types: raw
            .governing_types
            .iter()
            .map(|name| unit_type(name))
            .collect(),
        seed: overrides.seed.unwrap_or(raw.seed),
        repeats: overrides.repeats.unwrap_or(raw.repeats),
        jobs: overrides.jobs.or(raw.jobs).unwrap_or_else(cores),
        limits: Limits {
            timeout: Duration::from_secs_f64(raw.timeout_s),
            max_output_bytes: raw.max_output_bytes,
            max_per_minute: raw.max_per_minute,
        },
        retry: Retry {
            max_attempts: raw.retry.max_attempts,
            initial_delay: Duration::from_secs_f64(raw.retry.initial_delay_s),
            backoff_factor: raw.retry.backoff_factor,
            jitter_max: Duration::from_secs_f64(raw.retry.jitter_max_s),
            transient_exit_codes: raw.retry.transient_exit_codes,
            retry_on_timeout: raw.retry.retry_on_timeout,
        },
        cache: dir
            .filter(|_| !overrides.no_cache)
            .map(|dir| CacheSettings {
                dir: overrides
                    .cache_dir
                    .clone()
                    .unwrap_or_else(|| root.join(dir)),
            }),
        fingerprint: raw.fingerprint,
        around: overrides.around,
        env: raw.env,
        perturbations: Perturbations {
            enable: enable
                .into_iter()
                .map(|kind| OptIn::name(kind).to_owned())
                .collect(),
            count_drop: raw.perturbations.count_drop,
            variants: Counts {
                reorder: raw.variants.reorder,
                pad_length: raw.variants.pad_length,
                pad_content: raw.variants.pad_content,
                swap: match raw.variants.swap {
                    RawSwap::UpTo(most) => SwapCount::UpTo(most),
                    RawSwap::Every(_) => SwapCount::All,
                },
            },
            pad_include_governing: raw.pad_include_governing,
            words,
        },
        noise_floor: raw
            .noise_floor
            .enabled
            .then(|| NonZeroUsize::new(raw.noise_floor.replications))
            .flatten(),
        name: overrides.name.clone().or(raw.name),
        baseline,
        gate,
        scorer: raw.scorer,
    })
}
