use super::*;
use crate::score::Factor;
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
    for (quality, line, told) in [
        ("  live_runs: 3\n", 6, "looks at nothing"),
        (
            "  output_schema: schema.json\n  contract: {a: string}\n",
            7,
            "both say what form",
        ),
        ("  output_schema: nowhere.json\n", 6, "nowhere.json"),
        ("  output_schema: broken.json\n", 6, "twice"),
        ("  output_schema: remote.json\n", 6, "no JSON schema"),
        ("  contract: {a: text}\n", 6, "contract"),
        (
            "  contract: {a: {type: string, min: 1}}\n",
            6,
            "bounds a number",
        ),
        (
            "  contract:\n    a: {type: string, pattern: '('}\n",
            7,
            "output `a`",
        ),
        ("  contract: {a: {type: string, sise: 1}}\n", 6, "contract"),
        ("  required_outputs: [decision]\n", 6, "no JSON pointer"),
        ("  required_outputs: [/a~2]\n", 6, "no JSON pointer"),
        ("  required_outputs: [/a, /a]\n", 6, "required twice"),
        ("  usage: {input: /a}\n", 6, "output"),
        (
            "  usage: {input: /a, output: b}\n",
            6,
            "`b` is no JSON pointer",
        ),
        (
            "  required_outputs: [/a]\n  weights: {conformance: 0.5, completeness: 0.6}\n",
            7,
            "add up to 1.1",
        ),
        (
            "  required_outputs: [/a]\n  weights: {conformance: 1}\n",
            7,
            "no factor that has weight",
        ),
        (
            "  required_outputs: [/a]\n  weights: {correctness: 1}\n",
            7,
            "correctness",
        ),
        ("  required_outputs: [/a]\n  live_runs: 0\n", 7, "live_runs"),
        ("  required_outputs: [/a]\n  scorer: best\n", 7, "best"),
        (
            "  required_outputs: [/a]\n  dry_runs: 3\n",
            7,
            "`recorded` names none",
        ),
        (
            "  required_outputs: [/a]\n  recorded: cases\n",
            7,
            "no `dry_runs`",
        ),
        (
            "  required_outputs: [/a]\n  dry_runs: 3\n  recorded: nowhere\n",
            8,
            "nowhere",
        ),
        (
            "  required_outputs: [/a]\n  groups: {'a b': ['*']}\n",
            7,
            "no name of a group",
        ),
        (
            "  required_outputs: [/a]\n  groups: {a: ['[']}\n",
            7,
            "no glob",
        ),
    ] {
        let refused = load(quality).expect_err(quality);
        let shown = format!("{refused:#}");
        assert!(shown.contains(told), "{quality}: {shown}");
        assert!(
            shown.contains(&format!("kelvin.yaml:{line}:")),
            "{quality}: {shown}"
        );
    }
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
