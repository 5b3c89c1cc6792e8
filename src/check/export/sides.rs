//! Decides on which side of the split an example is. All examples of one item are on the same side: its repeats, its
//! variants, and the scenarios that a matrix makes of it. Items with the same input are on the same side too. The side
//! depends only on the item, so adding an item moves no other.

use std::collections::BTreeMap;

use super::Example;
use kelvin_base::digest::Digest;

/// The sides: training examples, and test examples that show whether the training has helped.
pub(super) const NAMES: [&str; 2] = ["test", "train"];
/// One of this many items is on the test side of the split.
const ONE_IN: u64 = 5;

/// Chooses a side for each example.
pub(super) fn choose(examples: &mut [Example]) {
    // If several items have the same input, the first of their names decides the side of all.
    let mut leaders: BTreeMap<String, String> = BTreeMap::new();
    let mut by_input: BTreeMap<Digest, String> = BTreeMap::new();
    for example in examples.iter() {
        let name = item(example);
        let first = by_input
            .entry(input(example))
            .or_insert_with(|| name.clone());
        let (one, other) = (leader(&leaders, first), leader(&leaders, &name));
        if one != other {
            let (low, high) = (one.clone().min(other.clone()), one.max(other));
            leaders.insert(high, low);
        }
    }
    for example in examples {
        let name = leader(&leaders, &item(example));
        let drawn = Digest::of(format!("kelvin/export/split/{name}").as_bytes()).point();
        example.split = match drawn % ONE_IN {
            0 => NAMES[0],
            _ => NAMES[1],
        };
    }
}

/// The item of an example, without the matrix values in its name.
fn item(example: &Example) -> String {
    let case = &example.of.case;
    let name = case.split_once('[').filter(|_| case.ends_with(']'));
    name.map_or(case.clone(), |(name, _)| name.to_owned())
}

fn input(example: &Example) -> Digest {
    let text = serde_json::Value::Object(example.inputs.clone()).to_string();
    Digest::of(text.as_bytes())
}

/// The representative of the group that a name belongs to.
fn leader(leaders: &BTreeMap<String, String>, name: &str) -> String {
    let mut name = name;
    while let Some(next) = leaders.get(name) {
        name = next;
    }
    name.to_owned()
}
