//! A valid file, and a table of invalid files.

use std::fmt::Write as _;

use kelvin_fixtures::text::{lines_with, problems, redacted};
use proptest::prelude::*;

use super::bad::{self, LEAST};
use super::bad_values;
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_evidence::config::{AllPairs, EvidenceSettings, SwapCount};
use kelvin_probe::DecisionField;
use kelvin_run::config::{Config, Overrides};

fn load_text(text: impl AsRef<[u8]>) -> anyhow::Result<Config> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("kelvin.yaml");
    std::fs::write(&path, text).expect("written");
    Registry::shipped().configured(&Overrides {
        file: Some(path),
        ..Overrides::default()
    })
}

fn refusal(text: impl AsRef<[u8]>) -> String {
    let error = load_text(text).expect_err("the file is refused");
    assert_eq!(Exit::of(&error), Exit::Misused, "{error:#}");
    format!("error: {error:#}")
}

/// The settings of the evidence probe.
fn evidence(config: &Config) -> &EvidenceSettings {
    config.settings().expect("the probe is configured")
}

#[test]
fn a_rule_that_lets_a_metric_go_may_be_one_of_a_probe_that_is_gone() {
    for (rule, is_fine) in [
        ("retrieval.found: {policy: info}", true),
        ("retrieval.found: {policy: gate}", false),
        ("retrieval.found: {max_drop: 0.1}", false),
        ("retreival.found: {policy: info}", false),
    ] {
        let text = format!("{LEAST}gate: {{metrics: {{{rule}}}}}\n");
        assert_eq!(load_text(text).is_ok(), is_fine, "{rule}");
    }
}

#[test]
fn kel_01_kel_02_kel_03_every_bad_configuration_is_refused_with_its_place_and_a_cure() {
    let table: Vec<String> = bad::keys()
        .into_iter()
        .chain(bad_values::values())
        .chain(bad::syntax())
        .collect();
    assert!(table.len() > 60);
    let mut told = String::new();
    for file in &table {
        let shown = refusal(file);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(hidden), "{shown:?}");
        assert!(shown.len() < 20_000, "{} bytes", shown.len());
        // What the file has instead of a line of the shortest one, or besides.
        let own = file
            .lines()
            .filter(|line| !LEAST.lines().any(|least| least == *line));
        let own: String = own
            .collect::<Vec<_>>()
            .join("\n")
            .chars()
            .take(100)
            .collect();
        let _ = writeln!(told, "{own:?}\n{}\n", problems(&shown));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_the_file() {
    let shown = refusal("run: p {input}\nsead: 4\njobs: many\ngoverning_types: [a, A]\n");
    let folder = shown.find("`cases`").expect("told of");
    let order: Vec<usize> = ["`{output}`", "`sead`", "`jobs`", "`a` and `A`"]
        .iter()
        .map(|part| {
            shown
                .find(part)
                .unwrap_or_else(|| panic!("{part} in {shown}"))
        })
        .collect();
    assert!(folder < order[0] && order.is_sorted(), "{shown}");
    assert_eq!(shown.matches("error: ").count(), 6, "{shown}");
}

#[test]
fn a_problem_looks_like_one_of_a_compiler() {
    let shown = refusal(format!("{LEAST}retry:\n  max_attempt: 3\n"));
    let shown = shown.lines().filter(|line| !line.contains("-->"));
    let shown: Vec<&str> = shown.collect();
    assert_eq!(
        shown.join("\n"),
        "error: unknown key `max_attempt` in `retry`\n  \
         |\n\
         6 |   max_attempt: 3\n  \
         |   ^^^^^^^^^^^\n  \
         |\n  \
         = help: did you mean `max_attempts`?"
    );
}

#[test]
fn more_problems_than_one_can_read_are_counted() {
    let many: String = (0..200).map(|place| format!("key{place}: 1\n")).collect();
    let shown = refusal(format!("{LEAST}{many}"));
    insta::assert_snapshot!(redacted(shown.lines().last().expect("a line")), @"error: 160 more problems in `[TEMP]/kelvin.yaml`");
}

#[test]
fn a_file_that_is_not_utf_8_is_refused_with_the_line() {
    let shown = refusal(b"run: a\ncases: \xff\n");
    assert!(
        shown.contains("not UTF-8") && shown.contains("line 2"),
        "{shown}"
    );
    insta::assert_snapshot!(redacted(&refusal(b"\xff\xfer\0u\0n\0")), @"
    error: `[TEMP]/kelvin.yaml` is not UTF-8 text: byte 0, in line 1
      help: save the file as UTF-8
    ");
}

#[test]
fn a_file_that_is_not_there_or_a_folder_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let load_file = |name: &str| {
        let file = Some(folder.path().join(name));
        let error = Registry::shipped()
            .configured(&Overrides {
                file,
                ..Overrides::default()
            })
            .expect_err("refused");
        assert_eq!(Exit::of(&error), Exit::Misused);
        format!("{error:#}")
    };
    assert!(load_file("kelvin.yaml").contains("`kelvin init`"));
    insta::assert_snapshot!(redacted(&load_file("")), @"
    `[TEMP]/` is a folder
      help: name the file: `--config FOLDER/kelvin.yaml`
    ");
    std::fs::write(folder.path().join("kelvin.yml"), LEAST).expect("written");
    insta::assert_snapshot!(redacted(&load_file("kelvin.yaml")), @"
    there is no file `[TEMP]/kelvin.yaml`
      help: there is `[TEMP]/kelvin.yml`: rename it, or use `--config [TEMP]/kelvin.yml`
    ");
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).expect("linked");
    insta::assert_snapshot!(redacted(&load_file("dangling")), @"
    there is no file `[TEMP]/dangling`
      help: `kelvin init` writes one, and `--config FILE` names another
    ");
}

#[test]
fn the_least_configuration_gets_the_documented_defaults() {
    let config = load_text(LEAST).expect("loaded");
    let settings = evidence(&config);
    assert_eq!(settings.run.text(), "pipeline {input} {output}");
    assert_eq!(
        settings.decision_field,
        DecisionField::Key("decision".to_owned())
    );
    assert_eq!(settings.governing_types, ["gate_rule"]);
    assert_eq!((config.seed, config.repeats.get()), (0, 1));
    assert_eq!(config.limits.timeout.as_secs(), 150);
    assert_eq!(config.limits.max_output_bytes, 16 << 20);
    assert_eq!(config.retry.max_attempts.get(), 1);
    assert_eq!(settings.perturbations.variants.swap, SwapCount::UpTo(3));
    assert_eq!(settings.scorer.to_string(), "exact");
    assert!(config.cache.is_none() && settings.noise_floor.is_none());
    assert!(config.limits.max_per_minute.is_none() && settings.perturbations.enable.is_empty());
    assert!(config.root.is_absolute() && config.root.is_dir() == config.root.exists());
}

#[test]
fn every_key_reaches_the_checked_form() {
    let config = load_text(
        "run: |\n  sh -c 'run {input} > {output}'\ncases: cases/**/*.md\n\
         decision_field: /a/b~1c\ngoverning_types: [' Gate\t Rule ', Prüfregel]\nseed: 7\nrepeats: 2\n\
         jobs: 3\ntimeout_s: 0.25\nmax_output_bytes: 10\nmax_per_minute: 60\n\
         retry: {max_attempts: 3, initial_delay_s: 0, backoff_factor: 1, jitter_max_s: 0,\n  \
         transient_exit_codes: [75], retry_on_timeout: true}\n\
         cache: {dir: ../shared}\nenv: [MODEL]\nfingerprint: ['src/**']\n\
         variants: {reorder: 0, pad_length: 1, pad_content: 2, swap: all}\n\
         perturbations: {enable: [drop, swap_condition], count_drop: true}\n\
         pad_include_governing: true\nnoise_floor: {replications: 5}\n\
         scorer: {ordinal: [low, high]}\n",
    )
    .expect("loaded");
    let settings = evidence(&config);
    assert_eq!(settings.run.text(), "sh -c 'run {input} > {output}'");
    assert_eq!(
        settings.decision_field,
        DecisionField::Pointer("/a/b~1c".to_owned())
    );
    assert_eq!(settings.governing_types, ["gate_rule", "prüfregel"]);
    assert_eq!(
        (config.seed, config.repeats.get(), config.jobs.get()),
        (7, 2, 3)
    );
    assert_eq!(config.limits.timeout.as_millis(), 250);
    assert_eq!(config.limits.max_output_bytes, 10);
    assert_eq!(
        config.limits.max_per_minute.map(|most| most.get()),
        Some(60)
    );
    assert_eq!(config.retry.max_attempts.get(), 3);
    assert_eq!(config.retry.transient_exit_codes, [75]);
    assert!(config.retry.retry_on_timeout && config.retry.initial_delay.is_zero());
    let dir = config.root.join("../shared");
    assert_eq!(config.cache.as_ref().expect("on").dir, dir);
    assert_eq!(
        (&*config.env, &*config.fingerprint),
        (&["MODEL".to_owned()][..], &["src/**".to_owned()][..])
    );
    let kinds = &settings.perturbations;
    assert_eq!(kinds.enable, ["swap_condition", "drop"]);
    assert!(kinds.count_drop && kinds.pad_include_governing);
    assert_eq!((kinds.variants.reorder, kinds.variants.pad_length), (0, 1));
    assert_eq!(
        (kinds.variants.pad_content, kinds.variants.swap),
        (2, SwapCount::Every(AllPairs::All))
    );
    assert_eq!(settings.noise_floor.map(|times| times.get()), Some(5));
    let levels = settings.scorer.to_string();
    assert_eq!(levels, "ordinal [\"low\", \"high\"]");
}

#[test]
fn kel_05_the_command_line_overrides_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("other.yaml");
    std::fs::write(&path, format!("{LEAST}seed: 4\njobs: 2\ncache: true\n")).expect("written");
    let load_with = |overrides: Overrides| {
        Registry::shipped()
            .configured(&Overrides {
                file: Some(path.clone()),
                ..overrides
            })
            .expect("loaded")
    };
    let config = load_with(Overrides::default());
    assert_eq!((config.seed, config.jobs.get()), (4, 2));
    assert_eq!(
        config.cache.expect("on").dir,
        folder.path().join(".kelvin-cache")
    );
    let config = load_with(Overrides {
        seed: Some(9),
        jobs: std::num::NonZeroUsize::new(5),
        no_cache: true,
        ..Overrides::default()
    });
    assert_eq!((config.seed, config.jobs.get()), (9, 5));
    assert!(config.cache.is_none());
}

#[test]
fn braces_that_are_no_placeholder_are_left_to_the_command() {
    let run = "awk '{print $1}' {input} | jq '{decision: .}' > {output}; echo ${HOME}";
    let config = load_text(LEAST.replace("pipeline {input} {output}", &format!("\"{run}\"")));
    assert_eq!(evidence(&config.expect("loaded")).run.text(), run);
}

#[test]
fn aliases_and_merge_keys_are_followed() {
    let config = load_text(format!("{LEAST}seed: &n 4\nrepeats: *n\n")).expect("loaded");
    assert_eq!((config.seed, config.repeats.get()), (4, 4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,40}|[-a-c0-2 :#{}\\[\\],&*!|>'\"%@`~?.\\\\\n\t<]{0,60}") {
        let _ = load_text(&text);
    }

    #[test]
    fn no_value_makes_the_reader_panic(
        key in prop::sample::select(vec![
            "run", "cases", "decision_field", "governing_types", "seed", "retry", "cache", "env",
            "fingerprint", "variants", "perturbations", "noise_floor", "scorer", "packs", "filler",
        ]),
        value in "[-a-c0-2 :{}\\[\\],'\"~?.\\\\$é漢\n]{0,24}",
    ) {
        let lines: Vec<&str> = LEAST.lines().filter(|line| !line.starts_with(key)).collect();
        let _ = load_text(format!("{}\n{key}: {value}\n", lines.join("\n")));
        let _ = load_text(format!("{key}: {value}\n{}\n", lines.join("\n")));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = load_text(bytes);
    }
}

#[test]
fn long_lines_with_many_problems_are_shown_in_part() {
    let list = vec!["5"; 40_000].join(", ");
    let shown = refusal(format!("{LEAST}env: [{list}]\n"));
    insta::assert_snapshot!(redacted(&lines_with(&shown, &["39960"])), @"error: 39960 more problems in `[TEMP]/kelvin.yaml`");
    assert!(shown.len() < 40_000, "{}", shown.len());
    let names: Vec<String> = (0..40_000).map(|place| format!("A{place}")).collect();
    let config = load_text(format!("{LEAST}env: [{}]\n", names.join(", ")));
    assert_eq!(config.expect("loaded").env, names);
}
