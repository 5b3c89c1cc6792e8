//! What a report stores of the toy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::digest::Digest;
use kelvin_base::notice::Notice;
use kelvin_record::{Item, ItemPlace, Repeats, Section};

/// What a report stores of the toy.
pub(super) type ToySection = Section<(), Word>;

/// What the pipeline said of a word, once a repeat; none where it failed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub(super) struct Word {
    pub(super) input: Digest,
    pub(super) loudness: Vec<Option<f64>>,
    /// What the listener said of it next to the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) louder: Option<f64>,
    /// Which repeats have no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notices: Vec<Notice>,
}

impl Word {
    /// What the pipeline said first.
    pub(super) fn first(&self) -> Option<f64> {
        self.loudness.first().copied().flatten()
    }
}

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

    fn place(&self, _: Option<&str>) -> Option<ItemPlace<'_>> {
        Some(ItemPlace {
            file: "kelvin.yaml",
            line: 1,
        })
    }
}
