//! The section of the toy in `kelvin.yaml`.

use kelvin_fixtures::text::lines_with;
use std::path::Path;

use super::kind;
use super::settings::ToySettings;
use crate::registry::Registry;
use kelvin_base::digest::Digest;
use kelvin_run::config::Config;

fn load(text: &str) -> anyhow::Result<Config> {
    kind::registry().configured_by(text, Path::new("kelvin.yaml"))
}

fn refusal(text: &str) -> String {
    format!("{:#}", load(text).expect_err("refused"))
}

fn measured(text: &str) -> Digest {
    load(text).expect("it is valid").measured()
}

#[test]
fn the_section_of_a_registered_kind_reaches_its_typed_settings() {
    let config = load("toy: {run: 'say {input} {output}', words: moo, volume: 2}\nseed: 4\n")
        .expect("it is valid");
    let toy: &ToySettings = config.settings().expect("it is configured");
    assert_eq!((&*toy.words, toy.volume, config.seed), ("moo", 2, 4));
    assert!(config.configures("toy") && !config.configures("evidence"));
    let without = load("gate: {max_drop: 0.1}\n").expect("it is valid");
    assert!(without.settings::<ToySettings>().is_none() && !without.configures("toy"));
}

#[test]
fn a_misspelt_key_of_a_registered_kind_is_an_error_with_its_line_and_a_hint() {
    let shown = refusal("seed: 4\ntoy:\n  wrods: moo\n  run: say {input} {output}\n");
    for part in ["kelvin.yaml:3:3", "^^^^^"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    insta::assert_snapshot!(lines_with(&shown, &["`words", "`wrods`"]), @"
    unknown key `wrods` in `toy`
      = help: did you mean `words`?
    error: the key `words` is missing in `toy`
      = help: add `words: moo`
    ");
    let top = refusal("tyo: {words: moo}\ncolour: red\n");
    insta::assert_snapshot!(lines_with(&top, &["`toy`", "= "]), @"
      = help: did you mean `toy`?
      = help: known here: baseline, cache, cases, decision_field, env, filler, fingerprint, forbidden, gate, governing_types, grading, harmless, invariants, jobs, keep_order, matrix, max_output_bytes, max_per_minute, models, name, noise_floor, packs, pad_include_governing, perturbations, quality, records, repeats, results, retrieval, retry, run, scenarios, scorer, scoring, seed, services, timeout_s, toy, varian…
    ");
    let elsewhere =
        refusal("toy: {run: 'say {input} {output}', words: moo}\nretry: {words: moo}\n");
    insta::assert_snapshot!(lines_with(&elsewhere, &["`words`"]), @"
    unknown key `words` in `retry`
      = help: known here: backoff_factor, initial_delay_s, jitter_max_s, max_attempts, model_attempts, retry_on_timeout, transient_exit_codes; `words` is a key of `toy`
    ");
}

#[test]
fn problems_of_several_parts_are_told_at_once_in_the_order_of_the_file() {
    let shown = refusal(
        "retrieval: {run: 'q {input}', golden: g.yaml}\njobs: 0\ntoy: {run: 'say {input} {output}', words: silence, volume: 10}\n\
         governing_types: [a, A]\n",
    );
    let problems: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("error: ") || line.contains("= help: "))
        .collect();
    insta::assert_snapshot!(problems.join("\n"), @"
     = help: add a line such as `run: python3 pipeline.py {input} {output}`
    error: the key `cases` is missing
     = help: add a line such as `cases: cases`
    error: the key `decision_field` is missing
     = help: add a line such as `decision_field: decision`
    error: `run` has no placeholder `{output}`
      = help: put `{output}` where the command takes the path of the JSON file to write
    error: `jobs` must be a whole number from 1 to 1024, found `0`
    error: a toy cannot say silence
      = help: name a sound
    error: `toy.volume` must be a whole number from 0 to 9, found `10`
    error: `a` and `A` are the same governing type `a`
      = help: leave one of them out
    ");
}

#[test]
fn what_a_kind_measures_enters_the_fingerprint_and_a_kind_that_is_absent_leaves_no_trace() {
    const RETRIEVAL: &str = "retrieval: {run: 'q {input} {output}', golden: golden.yaml}\n";
    let with = |toy: &str| measured(&format!("{RETRIEVAL}{toy}"));
    assert_ne!(
        with("toy: {run: 'say {input} {output}', words: moo}\n"),
        with("toy: {run: 'say {input} {output}', words: oink}\n")
    );
    assert_eq!(
        with("toy: {run: 'say {input} {output}', words: moo}\n"),
        with("toy: {run: 'say {input} {output}', words: moo, volume: 3}\n")
    );
    assert_ne!(
        with("toy: {run: 'say {input} {output}', words: moo}\n"),
        with("")
    );
    let plain = Registry::shipped()
        .configured_by(RETRIEVAL, Path::new("kelvin.yaml"))
        .expect("it is valid");
    assert_eq!(with(""), plain.measured());
}
