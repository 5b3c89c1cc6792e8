//! A map whose values are shared by its copies, so that two reports of thousands of items can be prepared for
//! comparison without copying the values that do not change.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

/// A map by name. Its copies share the values; a copy that is changed gets its own values first.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, V>")]
pub struct SharedMap<V>(Arc<BTreeMap<String, V>>);

impl<V> SharedMap<V> {
    /// Whether the map is empty; serde refers to this function by its path.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: PartialEq> SharedMap<V> {
    /// Shares the values of another map if all of them are equal, so that they are stored only once.
    pub fn share(&mut self, other: &Self) {
        if !Arc::ptr_eq(&self.0, &other.0) && self == other {
            self.0 = Arc::clone(&other.0);
        }
    }
}

impl<V: Clone> SharedMap<V> {
    /// Gives some values other names. `names`: the new ones by the old ones.
    pub fn rename(&mut self, names: &BTreeMap<String, String>) {
        if names.keys().any(|name| self.0.contains_key(name)) {
            let values = std::mem::take(self).into_map().into_iter();
            let renamed = values.map(|(name, value)| match names.get(&name) {
                Some(new) => (new.clone(), value),
                None => (name, value),
            });
            *self = renamed.collect::<BTreeMap<_, _>>().into();
        }
    }

    /// The plain map.
    pub fn into_map(self) -> BTreeMap<String, V> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<V> Clone for SharedMap<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> Default for SharedMap<V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<V> Deref for SharedMap<V> {
    type Target = BTreeMap<String, V>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<V: Clone> DerefMut for SharedMap<V> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

/// The map is built anew from a sorted list, which fills its nodes completely. A map that was filled in the order of
/// its names has nodes that are half empty.
impl<V> From<BTreeMap<String, V>> for SharedMap<V> {
    fn from(map: BTreeMap<String, V>) -> Self {
        Self(Arc::new(map.into_iter().collect()))
    }
}

impl<V> FromIterator<(String, V)> for SharedMap<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        Self(Arc::new(entries.into_iter().collect()))
    }
}

impl<V: Clone> IntoIterator for SharedMap<V> {
    type Item = (String, V);
    type IntoIter = btree_map::IntoIter<String, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_map().into_iter()
    }
}

impl<'a, V> IntoIterator for &'a SharedMap<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = btree_map::Iter<'a, String, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, V: Clone> IntoIterator for &'a mut SharedMap<V> {
    type Item = (&'a String, &'a mut V);
    type IntoIter = btree_map::IterMut<'a, String, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<V: JsonSchema> JsonSchema for SharedMap<V> {
    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<String, V>::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, V>::json_schema(generator)
    }
}

/// Deserializes a list without unused capacity; for lists that every item of a report has.
///
/// # Errors
///
/// Fails like the deserialization of the list.
pub fn fitted<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<V>, D::Error> {
    let mut list = Vec::deserialize(deserializer)?;
    list.shrink_to_fit();
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_their_values_until_one_of_them_changes() {
        let map: SharedMap<u32> = [("a".to_owned(), 1), ("b".to_owned(), 2)]
            .into_iter()
            .collect();
        let mut copy = map.clone();
        assert!(Arc::ptr_eq(&map.0, &copy.0));
        copy.insert("a".to_owned(), 3);
        assert!(!Arc::ptr_eq(&map.0, &copy.0));
        assert_eq!((map["a"], copy["a"], copy["b"]), (1, 3, 2));
        let text = serde_json::to_string(&copy).expect("writes");
        assert_eq!(text, r#"{"a":3,"b":2}"#);
        let mut read: SharedMap<u32> = serde_json::from_str(&text).expect("reads");
        assert_eq!(read, copy);
        read.share(&map);
        assert!(!Arc::ptr_eq(&read.0, &map.0), "one value differs");
        read.share(&copy);
        assert!(Arc::ptr_eq(&read.0, &copy.0));
    }
}
