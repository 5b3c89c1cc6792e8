//! Stable content hashes: labelled, length-prefixed SHA-256, the same on every platform.

use std::cmp::Ordering;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; formatted as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of plain bytes, as `sha256sum` prints it.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The raw bytes, e.g. to seed a generator.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 8 bytes as a big-endian number: a position on a ring, never an identity.
    pub fn point(&self) -> u64 {
        self.points()[0]
    }

    /// Every 8 bytes, big-endian: four positions on a ring.
    pub fn points(&self) -> [u64; 4] {
        let eight = |at: usize| std::array::from_fn(|byte| self.0[8 * at + byte]);
        std::array::from_fn(|at| u64::from_be_bytes(eight(at)))
    }

    /// The first `digits` hex digits, for messages.
    pub fn short(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits);
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// Compares the bytes, eight at a time.
impl Ord for Digest {
    fn cmp(&self, other: &Self) -> Ordering {
        self.points().cmp(&other.points())
    }
}

impl PartialOrd for Digest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A report has thousands of digests, so that the digits are written at once and not byte by byte.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        let text: String = digits
            .map(|digit| char::from(DIGITS[usize::from(digit)]))
            .collect();
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("expected 64 hex digits"))
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
    }
}

/// Collects labelled fields into one digest.
///
/// Every label and value is stored with its length, so no two different sequences of fields have the same bytes. The
/// domain names the purpose and its version; it must change when the meaning changes.
#[derive(Clone)]
pub struct Fields(Sha256);

impl Fields {
    /// Starts a digest for one purpose, e.g. `kelvin/cache/v1`.
    pub fn of(domain: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.put(domain.as_bytes());
        fields
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, label: &str, value: impl AsRef<[u8]>) -> Self {
        self.put(label.as_bytes());
        self.put(value.as_ref());
        self
    }

    /// The digest of all added fields.
    pub fn digest(self) -> Digest {
        Digest(self.0.finalize().into())
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_bytes_give_the_published_test_vector() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            Digest::of(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn moving_a_byte_between_fields_changes_the_digest() {
        let one = Fields::of("t").field("a", "bc").field("d", "").digest();
        let two = Fields::of("t").field("a", "b").field("d", "c").digest();
        assert_ne!(one, two);
    }

    #[test]
    fn digests_are_in_the_order_of_their_bytes() {
        let mut digests: Vec<Digest> = (0..200_u8).map(|byte| Digest::of(&[byte])).collect();
        for at in 0..32 {
            let mut bytes = [7; 32];
            bytes[at] += 1;
            digests.push(Digest(bytes));
        }
        digests.sort_unstable();
        assert!(digests.is_sorted_by_key(|digest| *digest.bytes()));
    }

    #[test]
    fn hex_is_read_back() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("zz"), None);
    }
}
