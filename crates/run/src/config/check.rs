//! Checks of the general keys, of `gate.approval` and of the pipelines behind HTTP that a schema cannot express, and
//! the conversion from their written to their checked form.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::diagnostic::Problem;
use super::raw::{RawCache, RawConfig, cache_dir};
use super::yaml::{Content, Node};
use super::{CacheSettings, Config, Limits, Overrides, Retry, harmless, models};
use crate::targets::{HttpProblem, base_url, example_of, http_problems};
use kelvin_record::approval::{LABEL, LONGEST, seconds};

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
    found.extend(service_problems(file));
    found.extend(approval_problems(file));
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

/// Reports limits on metrics that the gate does not check: such a limit would have no effect.
fn metric_rules(file: &Node, found: &mut Vec<Problem>) {
    for (id, rule) in file.entries(&["gate", "metrics"]) {
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

/// Reports the empty entries of a list of strings.
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

/// Reports the entries of a list of strings that repeat an earlier entry; `noun` is the word for the entries.
pub fn distinct(texts: &[(&str, &Range<usize>)], noun: &str, found: &mut Vec<Problem>) {
    let mut seen = BTreeSet::new();
    for (text, at) in texts {
        if !seen.insert(text) {
            let message = format!("the {noun} `{text}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
}

/// Converts the general keys of a file without problems to their checked form.
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

/// The problems of every `http` under a `run`.
fn service_problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    find_services(file, &mut found);
    found
}

fn find_services(node: &Node, found: &mut Vec<Problem>) {
    match &node.content {
        Content::Map(entries) => {
            for (key, value) in entries {
                match value.get(&["http"]).filter(|_| key.text == "run") {
                    Some(service) => check_service(service, found),
                    None => find_services(value, found),
                }
            }
        }
        Content::List(items) => items.iter().for_each(|item| find_services(item, found)),
        _ => {}
    }
}

fn check_service(service: &Node, found: &mut Vec<Problem>) {
    let text = |key: &str| service.text(&[key]).map(|(text, _)| text);
    if let Some((url, at)) = service.text(&["url"]) {
        let read = base_url::check_whole(&example_of(url));
        models::address(service, at, read, found);
    }
    models::key(service, found);
    models::headers(service, found);
    for (name, value) in service.entries(&["headers"]) {
        if let Content::Text(text) = &value.content
            && text.contains("${")
        {
            let what = format!("`{}` is sent as it is, with its `${{`", name.text);
            found.push(Problem::new(value.at.clone(), what).help(
                "name the environment variable of a key in `api_key_env`, and its header in `api_key_header`",
            ));
        }
    }
    let of_keys = http_problems(&text, service.get(&["headers"]).is_some());
    found.extend(of_keys.into_iter().map(|HttpProblem { key, what, help }| {
        Problem::new(service.place(&[key]), what).help(help)
    }));
}

/// The problems of the section. Values of a wrong type are skipped, since the schema reports them.
fn approval_problems(file: &Node) -> Vec<Problem> {
    let mut found = Vec::new();
    let Some(section) = file.get(&["gate", "approval"]) else {
        return found;
    };
    let mut seen = BTreeSet::new();
    for (name, at) in section.texts(&["by"]) {
        if let Some((message, help)) = wrong_name(name) {
            found.push(Problem::new(at.clone(), message).help(help));
        } else if !seen.insert(name.to_lowercase()) {
            let message = format!("`{name}` is listed twice");
            found.push(Problem::new(at.clone(), message).help("leave one of them out"));
        }
    }
    let ways = section.texts(&["how"]);
    for (index, (way, at)) in ways.iter().enumerate() {
        if ways[..index].iter().any(|(other, _)| other == way) {
            let message = format!("`{way}` is listed twice");
            found.push(Problem::new((*at).clone(), message).help("leave one of them out"));
        }
    }
    if let Some((label, at)) = section.text(&["label"]) {
        let is_plain = label.trim() == label && !label.chars().any(char::is_control);
        if label.trim().is_empty() || !is_plain || label.chars().count() > LABEL {
            let message = format!("`{}` cannot be the name of a label", label.escape_default());
            let help = "a label has 1 to 50 characters, and no space at its ends";
            found.push(Problem::new(at.clone(), message).help(help));
        }
    }
    if let Some((text, at)) = section.text(&["timeout"])
        && seconds(text).is_some_and(|seconds| seconds > LONGEST)
    {
        let message = format!("`{text}` is longer than 30 days");
        let help = "write at most `30d`: GitHub does not run a job again after 30 days";
        found.push(Problem::new(at.clone(), message).help(help));
    }
    found
}

/// The problem of an entry of `by`, and what to do about it.
fn wrong_name(name: &str) -> Option<(String, String)> {
    let is_login = |text: &str| {
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !text.is_empty() && text.len() <= 100 && text.chars().all(inside) && !text.starts_with('-')
    };
    let is_slug = |text: &str| is_login(text) || text.split('.').all(is_login);
    if let Some(bare) = name.strip_prefix('@') {
        let message = format!("`{name}` begins with `@`");
        return Some((message, format!("write `{bare}`")));
    }
    if name.ends_with("[bot]") {
        let message = format!("`{name}` is a bot");
        return Some((
            message,
            "only people may approve: name a user or a team".to_owned(),
        ));
    }
    let is_right = match name.split_once('/') {
        Some((org, team)) => is_login(org) && is_slug(team),
        None => is_login(name),
    };
    (!is_right).then(|| {
        (
            format!(
                "`{}` names neither a user nor a team",
                name.escape_default()
            ),
            "write `write`, the login of a user, or a team as `org/team`".to_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml;

    fn problem_of(section: &str) -> String {
        let tree = yaml::parse(&format!("gate:\n  approval: {section}\n"));
        let tree = tree.unwrap_or_else(|_| panic!("`{section}` is YAML"));
        let problems = approval_problems(&tree);
        let texts: Vec<String> = problems
            .iter()
            .map(|problem| format!("{problem:?}"))
            .collect();
        texts.join("\n")
    }

    #[test]
    fn users_teams_and_everybody_who_may_push_are_names_and_nothing_else_is() {
        for good in [
            "write",
            "alice",
            "al-ice",
            "al_ice",
            "acme/leads",
            "acme/lead.team",
        ] {
            assert_eq!(problem_of(&format!("{{ by: [{good}] }}")), "", "{good}");
        }
        for wrong in [
            "\"@alice\"",
            "\"dependabot[bot]\"",
            "\"a b\"",
            "\"\"",
            "acme/",
            "/leads",
            "a/b/c",
            "-a",
            "\"../x\"",
        ] {
            assert_ne!(problem_of(&format!("{{ by: [{wrong}] }}")), "", "{wrong}");
        }
        assert!(problem_of("{ by: [alice, Alice] }").contains("twice"));
    }

    #[test]
    fn a_time_is_read_in_minutes_hours_and_days_and_no_longer_than_a_job_can_be_run_again() {
        assert_eq!(seconds("90m"), Some(5_400));
        assert_eq!(seconds("72h"), Some(259_200));
        assert_eq!(seconds("30d"), Some(LONGEST));
        assert_eq!(problem_of("{ by: [write], timeout: 30d }"), "");
        assert!(problem_of("{ by: [write], timeout: 31d }").contains("30 days"));
        assert!(problem_of("{ by: [write], timeout: 721h }").contains("30 days"));
    }

    #[test]
    fn a_label_is_a_name_that_github_takes() {
        assert_eq!(problem_of("{ by: [write], label: may pass }"), "");
        for wrong in [" x", "x\\n", &"x".repeat(51)] {
            let text = problem_of(&format!("{{ by: [write], label: \"{wrong}\" }}"));
            assert!(text.contains("label"), "{wrong}: {text}");
        }
    }
}
