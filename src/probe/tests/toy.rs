//! A kind of probe that only this test knows takes part in the configuration, with no file changed
//! for it.

use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::config::{self, Config, Configure, Part, ProbeSettings, Slip};
use crate::digest::{Digest, Fields};
use crate::probe::{AnySection, Findings, Items, Kind, configured_by, registry};
use crate::target::Address;

struct ToyKind;

#[derive(Deserialize, Serialize, JsonSchema)]
struct ToyKeys {
    /// What the toy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    toy: Option<ToySettings>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToySettings {
    /// The word that it says.
    #[schemars(length(min = 1))]
    word: String,
    /// How often.
    #[serde(default)]
    #[schemars(range(max = 9))]
    times: usize,
}

impl Kind for ToyKind {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn question(&self) -> &'static str {
        "Does it say its word?"
    }

    fn nouns(&self) -> (&'static str, &'static str) {
        ("word", "words")
    }

    fn folder(&self) -> Option<&'static str> {
        Some("toy")
    }

    fn how_to_configure(&self) -> &'static str {
        "add a section `toy`"
    }

    fn read<'c>(&self, _: &'c Config) -> anyhow::Result<Box<dyn Items + 'c>> {
        unreachable!("{NEVER_RUN}")
    }

    fn stored(
        &self,
        _: &mut dyn erased_serde::Deserializer<'_>,
    ) -> Result<Box<dyn AnySection>, erased_serde::Error> {
        unreachable!("{NEVER_RUN}")
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        unreachable!("{NEVER_RUN}")
    }

    fn chapter<'a>(
        &self,
        _: &'a dyn AnySection,
        _: crate::probe::RunView<'a>,
    ) -> crate::page::Chapter<'a> {
        unreachable!("{NEVER_RUN}")
    }

    fn recompute(&self, _: Box<dyn AnySection>) -> Findings {
        unreachable!("{NEVER_RUN}")
    }
}

const NEVER_RUN: &str = "these tests read configurations only";

impl Configure for ToyKind {
    fn required(&self) -> &'static [&'static str] {
        &["toy"]
    }

    fn keys(&self) -> Schema {
        config::schema_of::<ToyKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<config::Problem> {
        let word = part.node.text(&["toy", "word"]);
        let silent = word.filter(|(word, _)| *word == "silence");
        let tell = |at| config::Problem::new(at, "a toy cannot say silence").help("name a sound");
        silent.map(|(_, at)| tell(at.clone())).into_iter().collect()
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        (*slip == Slip::MissingKey("word")).then(|| "add `word: moo`".to_owned())
    }

    fn settle(
        &self,
        part: &Part<'_>,
        _: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let ToyKeys { toy } = part.read()?;
        Ok(toy.map(|toy| Arc::new(toy) as Arc<dyn ProbeSettings>))
    }
}

impl ProbeSettings for ToySettings {
    fn measured(&self, fields: Fields) -> Fields {
        fields.field("word", &self.word)
    }

    fn as_data(&self) -> serde_json::Map<String, serde_json::Value> {
        let data = serde_json::json!({ "toy": self });
        data.as_object().cloned().unwrap_or_default()
    }

    fn target(&self) -> Option<&Address> {
        None
    }
}

fn load(text: &str) -> anyhow::Result<Config> {
    if registry::kind("toy").is_none() {
        registry::tests_only::add(&ToyKind);
    }
    configured_by(text, Path::new("kelvin.yaml"))
}

fn refusal(text: &str) -> String {
    format!("{:#}", load(text).expect_err("refused"))
}

fn measured(text: &str) -> Digest {
    load(text).expect("it is valid").measured()
}

#[test]
fn the_section_of_a_registered_kind_reaches_its_typed_settings() {
    let config = load("toy: {word: moo, times: 2}\nseed: 4\n").expect("it is valid");
    let toy: &ToySettings = config.settings().expect("it is configured");
    assert_eq!((&*toy.word, toy.times, config.seed), ("moo", 2, 4));
    assert!(config.configures("toy") && !config.configures("evidence"));
    let without = load("gate: {max_drop: 0.1}\n").expect("it is valid");
    assert!(without.settings::<ToySettings>().is_none() && !without.configures("toy"));
}

#[test]
fn a_misspelt_key_of_a_registered_kind_is_an_error_with_its_line_and_a_hint() {
    let shown = refusal("seed: 4\ntoy:\n  wrod: moo\n");
    for part in [
        "the key `word` is missing in `toy`",
        "add `word: moo`",
        "unknown key `wrod` in `toy`",
        "kelvin.yaml:3:3",
        "^^^^",
        "did you mean `word`?",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let top = refusal("tyo: {word: moo}\ncolour: red\n");
    assert!(top.contains("did you mean `toy`?"), "{top}");
    assert!(top.contains("timeout_s, toy, variants"), "{top}");
    let elsewhere = refusal("toy: {word: moo}\nretry: {word: moo}\n");
    assert!(
        elsewhere.contains("`word` belongs under `toy`"),
        "{elsewhere}"
    );
}

#[test]
fn problems_of_several_parts_are_told_at_once_in_the_order_of_the_file() {
    let shown = refusal(
        "retrieval: {run: 'q {input}', golden: g.yaml}\njobs: 0\ntoy: {word: silence, times: 10}\n\
         governing_types: [a, A]\n",
    );
    let order = [
        "the key `run` is missing",
        "`run` has no placeholder `{output}`",
        "`jobs` must be",
        "a toy cannot say silence",
        "`toy.times` must be a whole number from 0 to 9",
        "`a` and `A` are the same governing type",
    ];
    let places = order.map(|part| {
        shown
            .find(part)
            .unwrap_or_else(|| panic!("{part}\n{shown}"))
    });
    assert!(places.is_sorted(), "{shown}");
    assert!(shown.contains("name a sound"), "{shown}");
}

#[test]
fn what_a_kind_measures_enters_the_fingerprint_and_a_kind_that_is_absent_leaves_no_trace() {
    const RETRIEVAL: &str = "retrieval: {run: 'q {input} {output}', golden: golden.yaml}\n";
    let with = |toy: &str| measured(&format!("{RETRIEVAL}{toy}"));
    assert_ne!(with("toy: {word: moo}\n"), with("toy: {word: oink}\n"));
    assert_eq!(
        with("toy: {word: moo}\n"),
        with("toy: {word: moo, times: 3}\n")
    );
    assert_ne!(with("toy: {word: moo}\n"), with(""));
    let plain = configured_by(RETRIEVAL, Path::new("kelvin.yaml")).expect("it is valid");
    assert_eq!(with(""), plain.measured());
}
