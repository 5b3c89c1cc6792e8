//! Keys in order, told apart by their first bits.

use std::iter;
use std::ops::Range;

/// Keys that are spread evenly, as digests are: their first bits tell their bucket, and buckets are
/// so small that what comes next in one is found by looking at all of it. So putting keys in order
/// takes O(n), and finding one the same few steps however many there are.
#[derive(Debug)]
pub(super) struct Order {
    /// How many bits of a key tell its bucket.
    bits: u32,
    /// Where each bucket begins; one more than there are buckets.
    starts: Vec<u32>,
    /// Bucket by bucket, in no order within one: the 32 bits of a key that follow those of the
    /// bucket, and below them the place of the key. Keys that agree in all these bits are in the
    /// order of their places.
    keys: Vec<u64>,
}

impl Order {
    /// Of so many keys, by their places, with one or two a bucket.
    pub(super) fn of(length: usize, keys: impl Iterator<Item = u64> + Clone) -> Self {
        let bits = length.max(2).ilog2();
        let mut order = Self {
            bits,
            starts: vec![0; (1 << bits) + 1],
            keys: vec![0; length],
        };
        for key in keys.clone() {
            let (bucket, _) = order.cut(key);
            order.starts[bucket] += 1;
        }
        let mut end = 0;
        for start in &mut order.starts {
            end += *start;
            *start = end;
        }
        // From the ends of the buckets to their starts.
        for (place, key) in (0_u64..).zip(keys) {
            let (bucket, rest) = order.cut(key);
            let start = &mut order.starts[bucket];
            *start -= 1;
            order.keys[*start as usize] = rest | place;
        }
        order
    }

    /// The bucket of a key, and where its 32 bits that follow belong.
    const fn cut(&self, key: u64) -> (usize, u64) {
        let bucket = key >> (u64::BITS - self.bits);
        let rest = (key << self.bits) & REST;
        (bucket as usize, rest)
    }

    /// The bounds of a bucket.
    fn bucket(&self, bucket: usize) -> Range<usize> {
        self.starts[bucket] as usize..self.starts[bucket + 1] as usize
    }

    /// The places of the keys of a bucket that lie within these bounds, in order.
    fn within(&self, bucket: usize, bounds: Range<u64>) -> impl Iterator<Item = usize> {
        let near = &self.keys[self.bucket(bucket)];
        let mut bounds = bounds;
        iter::from_fn(move || {
            let left = near.iter().filter(|key| bounds.contains(*key));
            let next = *left.min()?;
            bounds.start = next + 1;
            Some((next & !REST) as usize)
        })
    }

    /// The place of every key, in order from this key on, all the way round.
    pub(super) fn from(&self, key: u64) -> impl Iterator<Item = usize> {
        let (first, rest) = self.cut(key);
        let buckets = self.starts.len() - 1;
        let others = (1..buckets).flat_map(move |step| {
            let bucket = (first + step) % buckets;
            self.within(bucket, 0..u64::MAX)
        });
        let after = self.within(first, rest..u64::MAX);
        after.chain(others).chain(self.within(first, 0..rest))
    }

    /// The places of the keys that may be this one, in order.
    pub(super) fn like(&self, key: u64) -> impl Iterator<Item = usize> {
        let (bucket, rest) = self.cut(key);
        self.within(bucket, rest..rest | !REST)
    }

    /// The places of keys that may be one and the same, in order: two or more at a time.
    pub(super) fn alike(&mut self) -> impl Iterator<Item = Vec<usize>> {
        for bucket in 0..self.starts.len() - 1 {
            let bounds = self.bucket(bucket);
            self.keys[bounds].sort_unstable();
        }
        let buckets = (0..self.starts.len() - 1).map(|bucket| &self.keys[self.bucket(bucket)]);
        let runs = buckets.flat_map(|keys| keys.chunk_by(|one, other| one & REST == other & REST));
        let several = runs.filter(|run| run.len() > 1);
        several.map(|run| run.iter().map(|key| (key & !REST) as usize).collect())
    }
}

/// The bits of a key that are not its place. No place has all of its own bits set: there are fewer.
const REST: u64 = !(u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn keys_are_in_order_from_any_key_on() {
        for length in [0_u32, 1, 2, 3, 7, 8, 9, 1000] {
            let mut keys: Vec<u64> = (0..length)
                .map(|n| Digest::of(&n.to_be_bytes()).point())
                .collect();
            keys.extend((length > 2).then_some([0, u64::MAX]).into_iter().flatten());
            keys.extend_from_within(..keys.len() / 2);
            let order = Order::of(keys.len(), keys.iter().copied());
            let mut sorted: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            for wanted in keys.iter().copied().chain([0, 1 << 63, u64::MAX]) {
                let start = sorted.partition_point(|(key, _)| *key < wanted);
                sorted.rotate_left(start);
                let found: Vec<usize> = order.from(wanted).collect();
                let expected: Vec<usize> = sorted.iter().map(|(_, place)| *place).collect();
                assert_eq!(found, expected, "{length}");
                let alike: Vec<usize> = order.like(wanted).collect();
                let equal = sorted.iter().filter(|(key, _)| *key == wanted).count();
                assert_eq!(alike, expected[..equal], "{length}");
                sorted.rotate_right(start);
            }
            let mut order = order;
            let mut repeated: Vec<Vec<usize>> = order.alike().collect();
            repeated.sort();
            let mut expected: Vec<Vec<usize>> = sorted
                .chunk_by(|one, two| one.0 == two.0)
                .filter(|run| run.len() > 1)
                .map(|run| run.iter().map(|(_, place)| *place).collect())
                .collect();
            expected.sort();
            assert_eq!(repeated, expected, "{length}");
        }
    }
}
