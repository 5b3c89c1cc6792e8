//! A whole kind of probe: it asks the pipeline how loud each of some words is, from 0 to 1.

use std::sync::Arc;

use anyhow::Result;
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};
use kelvin_probe::{Items, Kind, PlainItems};
use kelvin_record::{
    AnySection, Findings, Item, Metric, Repeats, Section, SectionForm, SectionKind,
};
use kelvin_run::config::{Config, Configure, Part, ProbeSettings, schema_of};
use kelvin_run::targets::{Address, Reply};
use kelvin_run::{Outcome, Reader};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How loud is each word?
pub struct Toy;

#[derive(Deserialize, JsonSchema)]
struct Keys {
    toy: Option<Settings>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The command that says how loud a word is.
    run: Address,
    words: Vec<String>,
}

impl Configure for Toy {
    fn required(&self) -> &'static [&'static str] {
        &["toy"]
    }
    fn keys(&self) -> &'static Schema {
        schema_of::<Keys>()
    }
    fn settle(&self, part: &Part<'_>, _: &Config) -> Result<Option<Arc<dyn ProbeSettings>>> {
        let keys: Keys = part.read()?;
        Ok(keys.toy.map(|toy| Arc::new(toy) as Arc<dyn ProbeSettings>))
    }
}

impl ProbeSettings for Settings {
    fn as_data(&self) -> Map<String, Value> {
        Map::from_iter([("toy".to_owned(), json!({ "words": self.words }))])
    }
    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}

/// Takes a number from an output.
struct Number;

impl Reader for Number {
    fn digest(&self) -> Digest {
        Digest::of(b"toy/number/v1")
    }
    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let value = serde_json::from_slice(output).ok().filter(Value::is_number);
        value.ok_or_else(|| Failure::new(FailureKind::OutputNotJson, "its output is no number"))
    }
}

/// What the pipeline said of a word, once a repeat; none where it failed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Word {
    input: Digest,
    loudness: Vec<Option<f64>>,
    notices: Vec<Notice>,
}

type Words = Section<(), Word>;

impl Item for Word {
    fn digest(&self) -> Digest {
        self.input
    }
    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.loudness.len())
    }
    fn has_answer(&self) -> bool {
        self.loudness.iter().any(Option::is_some)
    }
    fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

fn record(id: &str, text: &str, outcomes: &[&Outcome]) -> Word {
    let value = |said: &&Outcome| said.result.as_ref().ok()?.as_f64();
    let loudness: Vec<Option<f64>> = outcomes.iter().map(value).collect();
    let silent = loudness.iter().filter(|said| said.is_none());
    let tell = |_| Notice::new(Code::own("words_unsaid"), "it was not said").case(id);
    Word {
        input: Digest::of(text.as_bytes()),
        notices: silent.map(tell).collect(),
        loudness,
    }
}

impl Kind for Toy {
    fn how_to_configure(&self) -> &'static str {
        "add a section `toy`"
    }
    fn read<'c>(&self, config: &'c Config) -> Result<Box<dyn Items + 'c>> {
        let toy = config.settings::<Settings>().expect("it is configured");
        let texts = toy.words.iter().map(|word| (&**word, &**word)).collect();
        let (kind, target, reader) = (&Self, &toy.run, &Number);
        Ok(PlainItems {
            config,
            kind,
            target,
            reader,
            texts,
            record,
        }
        .boxed())
    }
}

impl SectionKind for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn question(&self) -> &'static str {
        "How loud is each word?"
    }
    fn nouns(&self) -> (&'static str, &'static str) {
        ("word", "words")
    }
    fn form(&self) -> SectionForm {
        SectionForm::of::<Words>()
    }
    fn recompute(&self, section: Box<dyn AnySection>) -> Findings {
        let section = section.into_own::<Words>();
        let words = section.items.iter();
        let words = words.map(|(word, record)| (&**word, &*record.loudness));
        let loudness = Metric::mean_of_items(words).of_family("toy");
        Findings::of_records(section, [("toy.loudness".to_owned(), loudness)].into())
    }
}
