use super::*;
use crate::score::Factor;
use kelvin_fixtures::text::{problems, redacted};
use kelvin_probe::configured;
use kelvin_run::config::Overrides;

fn load(quality: &str) -> anyhow::Result<Config> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kelvin.yaml");
    let text = format!(
        "run: sh p.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
         governing_types: [rule]\nquality:\n{quality}"
    );
    std::fs::write(&path, text).expect("written");
    let schema = folder.path().join("schema.json");
    std::fs::write(schema, r#"{"type": "object", "required": ["decision"]}"#).expect("written");
    let broken = folder.path().join("broken.json");
    std::fs::write(broken, "{\"type\": \"object\", \"type\": \"array\"}").expect("written");
    let remote = folder.path().join("remote.json");
    std::fs::write(remote, r#"{"$ref": "https://example.com/schema.json"}"#).expect("written");
    configured(
        &Overrides {
            file: Some(path),
            ..Overrides::default()
        },
        &[&kelvin_evidence::EvidenceKind, &crate::QualityKind],
    )
}

fn settings(config: &Config) -> &QualitySettings {
    config.settings().expect("it is configured")
}

fn basis(quality: &str) -> QualityBasis {
    let config = load(quality).unwrap_or_else(|error| panic!("{error:#}"));
    settings(&config).basis.clone()
}

const WHOLE: &str = "  output_schema: schema.json\n\
    \x20 required_outputs: [/decision, /reasons]\n\
    \x20 usage: {input: /usage/input_tokens, output: /usage/output_tokens, useful: /usage/useful}\n";

#[test]
fn qlt_15_a_section_without_further_words_has_the_weights_and_the_runs_of_the_method() {
    let basis = basis(WHOLE);
    assert_eq!(basis.weights, Weights::default());
    assert_eq!(basis.factors, Factor::ALL);
    assert_eq!(
        (basis.live_runs, basis.scorer.as_str()),
        (3, "weighted_sum/1")
    );
    for name in SCORERS.iter().map(|scorer| scorer.name()) {
        let basis = self::basis(&format!("{WHOLE}  scorer: {name}\n"));
        assert!(basis.scorer.starts_with(name), "{name}");
    }
}

#[test]
fn qlt_15_every_slip_is_told_with_its_line_and_a_cure() {
    let mut refusals = Vec::new();
    for (quality, line) in [
        ("  live_runs: 3\n", 6),
        ("  output_schema: schema.json\n  contract: {a: string}\n", 7),
        ("  output_schema: nowhere.json\n", 6),
        ("  output_schema: broken.json\n", 6),
        ("  output_schema: remote.json\n", 6),
        ("  contract: {a: text}\n", 6),
        ("  contract: {a: {type: string, min: 1}}\n", 6),
        ("  contract:\n    a: {type: string, pattern: '('}\n", 7),
        ("  contract: {a: {type: string, sise: 1}}\n", 6),
        ("  required_outputs: [decision]\n", 6),
        ("  required_outputs: [/a~2]\n", 6),
        ("  required_outputs: [/a, /a]\n", 6),
        ("  usage: {input: /a}\n", 6),
        ("  usage: {input: /a, output: b}\n", 6),
        (
            "  required_outputs: [/a]\n  weights: {conformance: 0.5, completeness: 0.6}\n",
            7,
        ),
        ("  required_outputs: [/a]\n  weights: {conformance: 1}\n", 7),
        ("  required_outputs: [/a]\n  weights: {correctness: 1}\n", 7),
        ("  required_outputs: [/a]\n  live_runs: 0\n", 7),
        ("  required_outputs: [/a]\n  scorer: best\n", 7),
        ("  required_outputs: [/a]\n  dry_runs: 3\n", 7),
        ("  required_outputs: [/a]\n  recorded: cases\n", 7),
        (
            "  required_outputs: [/a]\n  dry_runs: 3\n  recorded: nowhere\n",
            8,
        ),
        ("  required_outputs: [/a]\n  groups: {'a b': ['*']}\n", 7),
        ("  required_outputs: [/a]\n  groups: {a: ['[']}\n", 7),
    ] {
        let refused = load(quality).expect_err(quality);
        let shown = format!("{refused:#}");
        refusals.push(problems(&shown));
        assert!(
            shown.contains(&format!("kelvin.yaml:{line}:")),
            "{quality}: {shown}"
        );
    }
    insta::assert_snapshot!(redacted(&refusals.join("\n")), @r#"
    `quality` looks at nothing
     --> kelvin.yaml:6:3
      = help: name `output_schema` or `contract`, `required_outputs`, or `usage`
    `output_schema` and `contract` both say what form an output has
     --> kelvin.yaml:7:13
      = help: leave one of the two out
    `nowhere.json`: No such file or directory (os error 2)
     --> kelvin.yaml:6:18
      = help: name a file, relative to the configuration, that holds one JSON schema
    `broken.json`: line 1: the key `type` is there twice
     --> kelvin.yaml:6:18
      = help: name a file, relative to the configuration, that holds one JSON schema
    `remote.json`: this is no JSON schema: Resource 'https://example.com/schema.json' is not present in a registry and retrieving it failed: `resolve-http` feature …
     --> kelvin.yaml:6:18
      = help: name a file, relative to the configuration, that holds one JSON schema
    `quality.contract.a` must be `string`, `integer`, `float`, `boolean`, `document`, `array`, `object` or a mapping, found `text`
     --> kelvin.yaml:6:17
      = help: known names: string, integer, float, boolean, document, array, object
    output `a`: `min` bounds a number, and this is of type string
     --> kelvin.yaml:6:37
    output `a`: this is no JSON schema: "(" is not a "regex"
     --> kelvin.yaml:7:32
      = help: a pattern is a regular expression without look-around and back references
    unknown key `sise` in `quality.contract.a`
     --> kelvin.yaml:6:32
      = help: known here: enum, length, max, min, pattern, required, type
    `decision` is no JSON pointer
     --> kelvin.yaml:6:22
      = help: a JSON pointer begins with `/`, as `/usage/input_tokens`; `~0` stands for `~` and `~1` for `/` in a key
    `/a~2` is no JSON pointer
     --> kelvin.yaml:6:22
      = help: a JSON pointer begins with `/`, as `/usage/input_tokens`; `~0` stands for `~` and `~1` for `/` in a key
    `/a` is required twice, and would count twice
     --> kelvin.yaml:6:26
      = help: leave one of them out
    the key `output` is missing in `quality.usage`
     --> kelvin.yaml:6:10
      = help: write `usage: {input: /usage/input_tokens, output: /usage/output_tokens}`
    `b` is no JSON pointer
     --> kelvin.yaml:6:30
      = help: a JSON pointer begins with `/`, as `/usage/input_tokens`; `~0` stands for `~` and `~1` for `/` in a key
    the weights add up to 1.1 and not to 1
     --> kelvin.yaml:7:12
      = help: write `weights: {conformance: 0.40, completeness: 0.35, efficiency: 0.25}`
    no factor that has weight is provided for, so nothing could be scored
     --> kelvin.yaml:7:12
      = help: `output_schema` or `contract` is for conformance, `required_outputs` for completeness, and `usage` for efficiency
    unknown key `correctness` in `quality.weights`
     --> kelvin.yaml:7:13
      = help: known here: completeness, conformance, efficiency
    `quality.live_runs` must be a whole number from 1 to 1000, found `0`
     --> kelvin.yaml:7:14
    `quality.scorer` must be `weighted_sum` or `weighted_product`, found `best`
     --> kelvin.yaml:7:11
    `dry_runs` looks at recorded outputs, and `recorded` names none
     --> kelvin.yaml:7:13
      = help: add `recorded: FOLDER`, with the outputs of each case as `CASE.json`
    `recorded` names outputs, and no `dry_runs` says how many of each case are looked at
     --> kelvin.yaml:7:13
      = help: add `dry_runs: 3`
    failed to list the recorded outputs in `[TEMP]/nowhere`: No such file or directory (os error 2)
     --> kelvin.yaml:8:13
      = help: name a folder, relative to the configuration, with `CASE.json`
    `a b` is no name of a group
     --> kelvin.yaml:7:12
      = help: a name has letters, digits, `_` and `-` only: it is a part of the id of a metric
    `[` is no glob: unclosed character class; missing ']'
     --> kelvin.yaml:7:16
      = help: write one such as `intake-*`
    "#);
}

#[test]
fn weights_change_no_measurement_and_what_is_looked_at_does() {
    let measured = |quality: &str| load(quality).expect("it loads").measured();
    let whole = measured(WHOLE);
    for same in [
        "  weights: {conformance: 1}\n",
        "  live_runs: 1\n",
        "  scorer: weighted_product\n",
        "  groups: {a: ['a*']}\n",
    ] {
        assert_eq!(measured(&format!("{WHOLE}{same}")), whole, "{same}");
    }
    for other in [
        WHOLE.replace("schema.json", "schema.json\n  live_runs: 2"),
        WHOLE.replace("output_schema: schema.json", "contract: {decision: string}"),
        WHOLE.replace(", /reasons", ""),
        WHOLE.replace("/usage/output_tokens", "/usage/out"),
    ] {
        let is_same = other.contains("live_runs");
        assert_eq!(measured(&other) == whole, is_same, "{other}");
    }
    let observer = |quality: &str| {
        settings(&load(quality).expect("it loads"))
            .expected
            .digest()
    };
    assert_eq!(
        observer(WHOLE),
        observer(&format!("{WHOLE}  weights: {{conformance: 1}}\n"))
    );
    assert_ne!(observer(WHOLE), observer(&WHOLE.replace(", /reasons", "")));
}
