//! Checks of the general keys that a schema cannot express, and the conversion from their written to their
//! checked form.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::diagnostic::Problem;
use super::raw::{RawCache, RawConfig, cache_dir};
use super::yaml::{Content, Node};
use super::{CacheSettings, Config, Limits, Overrides, Retry, approval, harmless, models, service};

/// All problems of the values of the general keys. Values of a wrong type are skipped, since the schema reports
/// them.
pub(super) fn problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    env(file, &mut found);
    fingerprint(file, &mut found);
    found.extend(harmless::problems(file));
    distinct(&file.texts(&["harmless"]), "pattern", &mut found);
    anchor(file, &mut found);
    metric_rules(file, &mut found);
    found.extend(models::problems(file));
    found.extend(service::problems(file));
    found.extend(approval::problems(file));
    found
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

fn anchor(file: &Node, found: &mut Vec<Problem>) {
    let Some((text, at)) = file.text(&["baseline", "anchor"]) else {
        return;
    };
    let days = text.strip_suffix('d').unwrap_or_default();
    let is_number = !days.starts_with('0') && days.bytes().all(|digit| digit.is_ascii_digit());
    if text != "tag" && !(is_number && (1..=4).contains(&days.len())) {
        let message = format!("`baseline.anchor` names no report, found `{text}`");
        found.push(Problem::new(at.clone(), message).help(
            "write `tag` for the last tag, a number of days such as `30d`, or a number of merges such as `20`",
        ));
    }
}

/// Reports limits on metrics that are only shown: such a limit would decide nothing.
fn metric_rules(file: &Node, found: &mut Vec<Problem>) {
    let metrics = file.get(&["gate", "metrics"]);
    let Some(Content::Map(rules)) = metrics.map(|node| &node.content) else {
        return;
    };
    for (id, rule) in rules {
        let Some((_, at)) = rule.text(&["policy"]).filter(|(text, _)| *text == "info") else {
            continue;
        };
        let limits = ["min", "max_drop"];
        if let Some(limit) = limits
            .into_iter()
            .find(|limit| rule.get(&[limit]).is_some())
        {
            let message = format!(
                "`{limit}` of `{}` decides nothing under `policy: info`",
                id.text
            );
            found.push(
                Problem::new(at.clone(), message)
                    .help(format!("write `policy: gate`, or leave `{limit}` out")),
            );
        }
    }
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

/// Reports the entries of a list of strings that have no text.
pub fn blank(texts: &[(&str, &Range<usize>)], key: &str, found: &mut Vec<Problem>) {
    for (text, at) in texts {
        if text.trim().is_empty() {
            found.push(Problem::new(
                (*at).clone(),
                format!("an entry of `{key}` must not be empty"),
            ));
        }
    }
}

/// Reports the entries of a list of strings that repeat an earlier one; the noun says what they are.
pub fn distinct(texts: &[(&str, &Range<usize>)], noun: &str, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (text, at) in texts {
        if !seen.insert(text) {
            let message = format!("the {noun} `{text}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
}

/// The checked form of the general keys of a file without problems.
pub(super) fn settle(raw: RawConfig, file: &Path, root: &Path, overrides: &Overrides) -> Config {
    let (mut baseline, mut gate) = (raw.baseline, raw.gate);
    overrides.gate.apply(&mut baseline, &mut gate);
    let dir = match raw.cache {
        RawCache::Switch(false) => overrides.cache.then(cache_dir),
        RawCache::Switch(true) => Some(cache_dir()),
        RawCache::Folder(folder) => Some(folder.dir),
    };
    let repeats = overrides.repeats.unwrap_or(raw.repeats);
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Config {
        file: file.to_path_buf(),
        root: root.to_path_buf(),
        rules: overrides.rules.clone(),
        seed: overrides.seed.unwrap_or(raw.seed),
        repeats: match overrides.is_base {
            true => repeats.max(baseline.repeats),
            false => repeats,
        },
        replicas: repeats,
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
            model_attempts: raw.retry.model_attempts,
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
        harmless: raw.harmless,
        around: overrides.around.clone(),
        env: raw.env,
        models: models::settle(raw.models, root),
        name: overrides.name.clone().or(raw.name),
        baseline,
        gate,
        probes: Vec::new(),
    }
}
