//! Consistent sampling: things stand on a ring at points that depend on nothing but themselves and
//! the seed, so that one thing more or less moves only the draws that fall next to it.

use crate::digest::{Digest, Fields};
use crate::threads;

/// Distinct things, each at a few points of a ring.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// Sorted by identity.
    things: Vec<(Digest, T)>,
    /// Where among the things the identities begin.
    identities: Starts,
    /// Where on the ring, and which thing; sorted.
    points: Vec<(u64, u32)>,
    /// Where among the points they begin.
    starts: Starts,
}

/// Finds places in a sorted list of keys that are spread evenly, as digests are: the first bits of
/// a key tell where to look, so that it takes the same few steps in a list of any length.
#[derive(Debug)]
struct Starts {
    /// How far a key is shifted to give its bucket.
    shift: u32,
    /// Where the keys of each bucket begin; one more than there are buckets.
    starts: Vec<u32>,
}

impl Starts {
    /// Over sorted keys, about one a bucket.
    fn of(keys: impl ExactSizeIterator<Item = u64>) -> Self {
        let bits = usize::BITS - keys.len().leading_zeros();
        let shift = u64::BITS - bits.max(1);
        let mut starts = vec![0_u32; (1 << bits.max(1)) + 1];
        for key in keys {
            starts[(key >> shift) as usize + 1] += 1;
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        Self { shift, starts }
    }

    /// Where the keys stand that begin with the same bits.
    fn near(&self, key: u64) -> std::ops::Range<usize> {
        let bucket = (key >> self.shift) as usize;
        self.starts[bucket] as usize..self.starts[bucket + 1] as usize
    }
}

/// Digests per thing, of four points each: more points even out how often each thing is drawn.
const ROUNDS: usize = 2;

impl<T> Ring<T> {
    /// Puts things on a ring; of several with the same identity the first one stays. The purpose
    /// keeps rings over the same things apart. O(n log n).
    pub(super) fn of(
        purpose: &str,
        seed: u64,
        things: impl IntoIterator<Item = (Digest, T)>,
    ) -> Self
    where
        T: Sync,
    {
        let mut things: Vec<(Digest, T)> = things.into_iter().collect();
        things.sort_by_key(|(identity, _)| *identity);
        things.dedup_by_key(|(identity, _)| *identity);
        let ring = Fields::of("kelvin/ring/v1")
            .field("purpose", purpose)
            .field("seed", seed.to_be_bytes());
        let digests = threads::map(&things, |(identity, _)| {
            std::array::from_fn::<_, ROUNDS, _>(|round| {
                ring.clone()
                    .field("thing", identity.bytes())
                    .field("round", [round as u8])
                    .digest()
            })
        });
        let mut points = Vec::with_capacity(things.len() * ROUNDS * 4);
        for (at, digest) in (0_u32..).zip(&digests) {
            let chunks = digest
                .iter()
                .flat_map(|digest| digest.bytes().chunks_exact(8));
            points.extend(chunks.map(|chunk| {
                let point = chunk
                    .iter()
                    .fold(0, |point, byte| point << 8 | u64::from(*byte));
                (point, at)
            }));
        }
        points.sort_unstable();
        Self {
            identities: Starts::of(things.iter().map(|(identity, _)| identity.point())),
            starts: Starts::of(points.iter().map(|(point, _)| *point)),
            things,
            points,
        }
    }

    /// How many distinct things there are.
    pub(super) const fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether a thing is there, by its identity.
    pub(super) fn contains(&self, identity: &Digest) -> bool {
        let near = self.identities.near(identity.point());
        self.things[near].iter().any(|(known, _)| known == identity)
    }

    /// Every thing, in the order of the identities.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().map(|(_, thing)| thing)
    }

    /// The `nth` draw of a variant with this key: the first allowed thing from the drawn point on,
    /// with its identity, which is what it is allowed by.
    /// None where nothing is allowed, found out by going all the way round: the caller counts first
    /// what is left, so that it refuses only what a single case holds or has drawn.
    pub(super) fn draw(
        &self,
        key: Digest,
        nth: usize,
        mut allowed: impl FnMut(&Digest) -> bool,
    ) -> Option<&(Digest, T)> {
        let point = Fields::of("kelvin/draw/v1")
            .field("key", key.bytes())
            .field("nth", (nth as u64).to_be_bytes())
            .digest()
            .point();
        let near = self.starts.near(point);
        let start = near.start + self.points[near].partition_point(|(at, _)| *at < point);
        let (before, after) = self.points.split_at(start);
        after.iter().chain(before).find_map(|(_, at)| {
            #[cfg(test)]
            steps::count();
            let thing = self.things.get(*at as usize)?;
            allowed(&thing.0).then_some(thing)
        })
    }
}

/// Counts the points that draws look at, for a test of the growth that needs no clock.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    /// What this thread has counted since it was last asked.
    pub(in super::super) fn take() -> u64 {
        STEPS.replace(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(things: impl Iterator<Item = u32>) -> Ring<u32> {
        Ring::of(
            "test",
            7,
            things.map(|thing| (Digest::of(&thing.to_be_bytes()), thing)),
        )
    }

    /// Where everything is allowed.
    fn drawn(ring: &Ring<u32>, number: u32, nth: usize) -> Option<u32> {
        ring.draw(key(number), nth, |_| true).map(|(_, thing)| *thing)
    }

    fn key(number: u32) -> Digest {
        Digest::of(format!("key {number}").as_bytes())
    }

    #[test]
    fn one_thing_more_moves_few_draws_and_only_towards_itself() {
        let (small, large) = (ring(0..200), ring(0..201));
        let mut moved = 0;
        for number in 0..5_000 {
            let (was, is) = (drawn(&small, number, 0), drawn(&large, number, 0));
            if was != is {
                assert_eq!(is, Some(200));
                moved += 1;
            }
        }
        // 1 in 201 is expected, i.e. 25.
        assert!((1..100).contains(&moved), "{moved}");
    }

    #[test]
    fn every_thing_is_drawn_and_none_much_too_often() {
        let ring = ring(0..20);
        let mut times = [0_u32; 20];
        for number in 0..20_000 {
            let thing = drawn(&ring, number, 1).expect("the ring is not empty");
            times[thing as usize] += 1;
        }
        assert!(
            times.iter().all(|count| (150..4_000).contains(count)),
            "{times:?}"
        );
    }

    #[test]
    fn what_is_not_allowed_is_passed_over() {
        let three = Digest::of(&3_u32.to_be_bytes());
        let ring = ring(0..5);
        for number in 0..200 {
            let drawn = ring.draw(key(number), 0, |identity| *identity == three);
            assert_eq!(drawn, Some(&(three, 3)));
        }
        assert_eq!(ring.draw(key(0), 0, |_| false), None);
        assert_eq!(drawn(&Ring::of("test", 7, []), 0, 0), None);
    }

    #[test]
    fn places_are_found_in_lists_of_any_length() {
        for length in [0, 1, 2, 3, 7, 8, 9, 1000] {
            let mut keys: Vec<u64> = (0..length).map(|n| key(n).point()).collect();
            keys.extend((length > 2).then_some([0, u64::MAX]).into_iter().flatten());
            keys.sort_unstable();
            let starts = Starts::of(keys.iter().copied());
            for wanted in keys.iter().copied().chain([0, 1 << 63, u64::MAX]) {
                let near = starts.near(wanted);
                let found = near.start + keys[near].partition_point(|key| *key < wanted);
                assert_eq!(found, keys.partition_point(|key| *key < wanted), "{length}");
            }
        }
    }

    #[test]
    fn of_equal_things_the_first_one_stays() {
        let same = Digest::of(b"same");
        let ring = Ring::of("test", 0, [(same, "first"), (same, "second")]);
        assert_eq!((ring.len(), ring.contains(&same)), (1, true));
        assert_eq!(ring.iter().collect::<Vec<_>>(), [&"first"]);
    }

    #[test]
    fn the_order_of_the_things_and_other_rings_do_not_matter() {
        let (one, two) = (ring(0..50), ring((0..50).rev()));
        assert!((0..100).all(|number| drawn(&one, number, 2) == drawn(&two, number, 2)));
    }
}
