//! The samples of a metric in one case, by variant.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use kelvin_base::digest::Digest;

/// One variant's part in a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The digest of the variant's input and the baseline's: two sides are paired where it is equal.
    pub input: Digest,
    /// The value of each repeat, in the direction of the metric; null where it failed.
    pub values: Vec<Option<f64>>,
    /// The value of each pair of answers: a list for each answer to the variant, and in it a value for each
    /// answer to the input of the case. Missing where there is one pair, or each repeat was compared with
    /// itself alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Box<Pairs>>,
}

/// The values of all pairs of answers: a list for each answer to a variant, in it a value for each answer to
/// the input of the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pairs(pub Vec<Vec<Option<f64>>>);

impl Cell {
    /// The values of all pairs; empty where there are none.
    pub fn pairs(&self) -> &[Vec<Option<f64>>] {
        self.pairs.as_ref().map_or(&[], |pairs| &pairs.0)
    }
}

/// A read-only map from the names of variants to their samples.
///
/// It is a sorted list: a run has one of these for every case of every gated metric, many of them hold one variant, and
/// a `BTreeMap` needs the space of eleven for it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<Arc<str>, Cell>")]
pub struct Cells(Box<[(Arc<str>, Cell)]>);

impl Cells {
    /// How many variants there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no variant, as in metrics that are not gated.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every variant with its samples, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Cell)> {
        self.0.iter().map(|(variant, cell)| (variant, cell))
    }

    /// The samples of one variant.
    pub fn get(&self, variant: &str) -> Option<&Cell> {
        let at = self.0.binary_search_by(|(name, _)| (**name).cmp(variant));
        Some(&self.0[at.ok()?].1)
    }

    /// The samples of every variant, in the order of the names.
    pub fn values(&self) -> impl Iterator<Item = &Cell> {
        self.0.iter().map(|(_, cell)| cell)
    }

    /// The samples of every variant, to change them.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.0.iter_mut().map(|(_, cell)| cell)
    }
}

impl From<BTreeMap<Arc<str>, Cell>> for Cells {
    fn from(cells: BTreeMap<Arc<str>, Cell>) -> Self {
        Self(cells.into_iter().collect())
    }
}

impl FromIterator<(Arc<str>, Cell)> for Cells {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Cell)>>(cells: I) -> Self {
        Self::from(cells.into_iter().collect::<BTreeMap<_, _>>())
    }
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl JsonSchema for Cells {
    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<Arc<str>, Cell>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<Arc<str>, Cell>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: f64) -> Cell {
        Cell {
            input: Digest::of(b"input"),
            values: vec![Some(value)],
            pairs: None,
        }
    }

    #[test]
    fn cells_read_and_write_as_a_map_that_is_in_order_and_names_each_once() {
        let names = ["b", "a", "b"].map(Arc::from);
        let cells: Cells = names.into_iter().zip([0.0, 0.5, 1.0].map(cell)).collect();
        assert_eq!(cells.len(), 2);
        let text = serde_json::to_string(&cells).expect("writes");
        let input = Digest::of(b"input");
        let expected = format!(
            r#"{{"a":{{"input":"{input}","values":[0.5]}},"b":{{"input":"{input}","values":[1.0]}}}}"#
        );
        assert_eq!(text, expected);
        let again: Cells = serde_json::from_str(&text).expect("reads");
        assert_eq!(again, cells);
        assert!(
            serde_json::from_str::<Cells>("{}")
                .expect("reads")
                .is_empty()
        );
    }
}
