//! A new scorer costs one file and one line in the registry: this one is added by the test, and goes
//! through the configuration and a check.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{CheckRequest, check};
use crate::registry::Registry;
use kelvin_evidence::EvidenceSettings;
use kelvin_gate::report::Report;
use kelvin_run::Silent;
use kelvin_run::config::Overrides;
use kelvin_run::judge::{Scorer, ScorerKind, stored, tests_only};

/// Compares the first letters of two texts.
#[derive(Debug)]
struct Prefix {
    letters: usize,
}

impl Scorer for Prefix {
    fn id(&self) -> String {
        format!("prefix/v1-{}", self.letters)
    }

    fn accepts(&self, decision: &Value) -> Result<(), String> {
        match decision.as_str() {
            Some(_) => Ok(()),
            None => Err("not a text".to_owned()),
        }
    }

    fn distance(&self, one: &Value, other: &Value) -> Option<f64> {
        let first = |value: &Value| -> String {
            let text = value.as_str().unwrap_or_default();
            text.chars().take(self.letters).collect()
        };
        Some(f64::from(first(one) != first(other)))
    }
}

struct PrefixKind;

impl ScorerKind for PrefixKind {
    fn name(&self) -> &'static str {
        "prefix"
    }

    fn description(&self) -> &'static str {
        "The first letters of two texts."
    }

    fn schema(&self) -> Option<Value> {
        Some(json!({ "type": "integer", "minimum": 1 }))
    }

    fn open(&self, settings: &Value) -> Result<Box<dyn Scorer>, String> {
        let letters = settings
            .as_u64()
            .and_then(|letters| letters.try_into().ok());
        match letters {
            Some(letters) if letters < 10 => Ok(Box::new(Prefix { letters })),
            _ => Err(format!("{settings} letters are too many to compare")),
        }
    }
}

/// A check of a pipeline that answers `yes-` and the number of its process.
fn measured(root: &Path, scorer: &str) -> anyhow::Result<Report> {
    let file = root.join("kelvin.yaml");
    let text = format!(
        "run: sh pipeline.sh {{input}} {{output}}\ncases: cases\ndecision_field: decision\n\
         governing_types: [rule]\nvariants: {{reorder: 2, pad_length: 1, pad_content: 0, swap: 1}}\n\
         scorer: {scorer}\n"
    );
    fs::write(&file, text)?;
    let request = CheckRequest {
        overrides: Overrides {
            file: Some(file),
            ..Overrides::default()
        },
        ..CheckRequest::new(Registry::shipped())
    };
    Ok(check(&request, &Silent, &|_| true)?.report)
}

#[test]
fn a_new_scorer_goes_through_configuration_and_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("cases")).expect("made");
    for (name, rule) in [("a", "x"), ("b", "y")] {
        let text = format!("## Rule\n\n{rule}\n\n## Note\n\nn\n\n## Other\n\no\n");
        fs::write(root.join(format!("cases/{name}.md")), text).expect("written");
    }
    let script = "printf '{\"decision\": \"yes-%s\"}' $$ > \"$2\"";
    fs::write(root.join("pipeline.sh"), script).expect("written");
    let invariance = |report: &Report| report.metrics["evidence.invariance"].value;
    let refused = |scorer: &str| {
        let error = measured(root, scorer).expect_err("refused");
        error.to_string()
    };

    // Nobody is offered a scorer that there is not.
    assert!(refused("{prefix: 3}").contains("unknown key `prefix`"));

    tests_only::add(&PrefixKind);
    assert!(refused("{prefix: 0}").contains("`scorer.prefix` must be a whole number from 1"));
    let said = refused("{prefix: 12}");
    assert!(said.contains("12 letters are too many"), "{said}");
    assert!(
        said.contains("scorer: {prefix: 12}"),
        "the line is shown: {said}"
    );

    let exact = measured(root, "exact").expect("measured");
    let prefix = measured(root, "{prefix: 3}").expect("measured");
    assert_eq!(invariance(&exact), Some(0.0));
    assert_eq!(invariance(&prefix), Some(1.0));
    assert_eq!(
        (&*exact.basis().scorer, &*prefix.basis().scorer),
        ("exact/v1", "prefix/v1-3")
    );
    assert_ne!(
        exact.run.fingerprints.config,
        prefix.run.fingerprints.config
    );
    // The report does not hold its settings, so figures of shards cannot be made again.
    assert!(stored("prefix/v1-3", &[]).is_none());
    // Both ways to write it are read.
    let read = |scorer: &str| {
        let text = format!(
            "run: p {{input}} {{output}}\ncases: c\ndecision_field: d\ngoverning_types: [a]\n\
             scorer: {scorer}\n"
        );
        let config = Registry::shipped()
            .configured_by(&text, Path::new("kelvin.yaml"))
            .expect("it is valid");
        let settings: &EvidenceSettings = config.settings().expect("it is configured");
        settings.scorer.to_string()
    };
    assert_eq!(read("set"), "set");
    assert_eq!(read("{prefix: 4}"), "prefix 4");
    assert_eq!(
        read("{ordinal: [low, high]}"),
        "ordinal [\"low\", \"high\"]"
    );
}
