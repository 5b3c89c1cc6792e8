//! The words for the items of a probe in texts for people.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one item of a probe is called, and what several are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nouns {
    /// The word for one item.
    pub item: Cow<'static, str>,
    /// The word for several items.
    pub items: Cow<'static, str>,
}

impl Default for Nouns {
    /// The words for a probe that this program does not know.
    fn default() -> Self {
        Self::from(("item", "items"))
    }
}

impl From<(&'static str, &'static str)> for Nouns {
    fn from((item, items): (&'static str, &'static str)) -> Self {
        Self {
            item: Cow::Borrowed(item),
            items: Cow::Borrowed(items),
        }
    }
}

impl Nouns {
    /// The words for all probes of a run, by the name of the probe; if they differ, the words for any item.
    pub fn common(by_probe: &BTreeMap<String, Self>) -> Self {
        let mut all = by_probe.values();
        let first = all.next().cloned().unwrap_or_default();
        match all.all(|other| *other == first) {
            true => first,
            false => Self::default(),
        }
    }

    /// The singular or the plural, depending on a number.
    pub fn of(&self, count: usize) -> &str {
        match count {
            1 => &self.item,
            _ => &self.items,
        }
    }

    /// `1 query`, `2 queries`.
    pub fn counted(&self, count: usize) -> String {
        format!("{count} {}", self.of(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_that_call_their_items_otherwise_have_items_in_common() {
        let named = |all: &[(&str, (&'static str, &'static str))]| -> BTreeMap<String, Nouns> {
            let all = all.iter();
            all.map(|(probe, nouns)| ((*probe).to_owned(), (*nouns).into()))
                .collect()
        };
        let queries = ("query", "queries");
        assert_eq!(Nouns::common(&named(&[("r", queries)])), queries.into());
        let mixed = named(&[("e", ("case", "cases")), ("r", queries)]);
        assert_eq!(Nouns::common(&mixed).counted(2), "2 items");
    }
}
