//! A map that its copies share, so that two reports of thousands of items can be prepared for their comparison without
//! a second copy of what is the same in it.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map from names. Its copies share the values; whoever changes a copy that is shared gets values of its own first.
#[derive(Debug, PartialEq, Eq)]
pub struct SharedMap<V>(Arc<BTreeMap<String, V>>);

impl<V> SharedMap<V> {
    /// Whether there is nothing in it; serde asks by this path.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Clone> SharedMap<V> {
    /// The map alone.
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

impl<V> From<BTreeMap<String, V>> for SharedMap<V> {
    fn from(map: BTreeMap<String, V>) -> Self {
        Self(Arc::new(map))
    }
}

impl<V> FromIterator<(String, V)> for SharedMap<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        Self::from(entries.into_iter().collect::<BTreeMap<_, _>>())
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

impl<V: Serialize> Serialize for SharedMap<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for SharedMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Self::from)
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
        let read: SharedMap<u32> = serde_json::from_str(&text).expect("reads");
        assert_eq!(read, copy);
    }
}
