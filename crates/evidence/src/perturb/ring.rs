//! Consistent sampling: the position of an element on the ring depends only on the element and the seed, so that adding
//! or removing one element changes only the draws next to it.

use std::collections::HashSet;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::threads;

/// Distinct elements, each at several points of a ring.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// The elements in the order in which they were added.
    things: Vec<(Digest, T)>,
    /// The identities of all elements.
    identities: HashSet<Digest>,
    /// The points in order, each with the index of its element; each element has [`POINTS`].
    points: Vec<(u64, u32)>,
}

/// The number of digests per element; each digest gives four points.
const ROUNDS: usize = 2;

/// The number of points per element: the more points, the more evenly the elements are drawn.
const POINTS: usize = ROUNDS * 4;

/// The points are computed for this many elements at a time.
const BLOCK: usize = 256;

impl<T> Ring<T> {
    /// Puts elements on a ring; among several elements with the same identity the first one is kept. The purpose makes
    /// rings over the same elements differ. O(n log n).
    pub(super) fn of(
        purpose: &str,
        seed: u64,
        things: impl IntoIterator<Item = (Digest, T)>,
    ) -> Self
    where
        T: Sync,
    {
        let mut things: Vec<(Digest, T)> = things.into_iter().collect();
        let mut identities = HashSet::with_capacity(things.len());
        things.retain(|(identity, _)| identities.insert(*identity));
        let ring = Fields::of("kelvin/ring/v1")
            .field("purpose", purpose)
            .field("seed", seed.to_be_bytes());
        let points = threads::map_blocks(&things, BLOCK, |block| {
            let mut points = Vec::with_capacity(block.len() * POINTS);
            for (identity, _) in block {
                let thing = ring.clone().field("thing", identity.bytes());
                for round in 0..ROUNDS {
                    let digest = thing.clone().field("round", [round as u8]).digest();
                    points.extend(digest.points());
                }
            }
            points
        });
        let points = points.iter().flatten().copied().zip(0_u32..);
        let mut points: Vec<(u64, u32)> = points
            .map(|(point, at)| (point, at / POINTS as u32))
            .collect();
        points.sort_unstable();
        Self {
            points,
            identities,
            things,
        }
    }

    /// The number of distinct elements.
    pub(super) const fn len(&self) -> usize {
        self.things.len()
    }

    /// How many elements have an identity outside the given set of distinct ones. A result below `enough` is exact; a
    /// larger result is at most the true number.
    pub(super) fn besides<'a>(
        &self,
        own: impl ExactSizeIterator<Item = &'a Digest>,
        enough: usize,
    ) -> usize {
        let least = self.len().saturating_sub(own.len());
        if least >= enough {
            return least;
        }
        self.len() - own.filter(|identity| self.contains(identity)).count()
    }

    /// Whether an element with this identity is on the ring.
    fn contains(&self, identity: &Digest) -> bool {
        self.identities.contains(identity)
    }

    /// All elements, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().map(|(_, thing)| thing)
    }

    /// The `nth` draw of a variant with this key: the first allowed element from the drawn point on, with its identity,
    /// by which `allowed` decides. None if no element is allowed. To find that out, the whole ring is searched;
    /// therefore the caller first counts the remaining elements, and excludes only elements that a single case has or
    /// has drawn.
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
        let first = self.points.partition_point(|(other, _)| *other < point);
        let (before, after) = self.points.split_at(first);
        let around = after.iter().chain(before);
        let things = around.map(|(_, place)| &self.things[*place as usize]);
        #[cfg(test)]
        let things = things.inspect(|_| steps::count());
        let mut things = things;
        things.find(|(identity, _)| allowed(identity))
    }
}

/// Counts the points that draws visit, so that a test can check the growth without a clock.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    /// Returns how many points this thread has counted since the last call of this function.
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
        ring.draw(key(number), nth, |_| true)
            .map(|(_, thing)| *thing)
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
    fn of_equal_things_the_first_one_stays() {
        let same = Digest::of(b"same");
        let ring = Ring::of("test", 0, [(same, "first"), (same, "second")]);
        assert_eq!((ring.len(), ring.contains(&same)), (1, true));
        assert_eq!(ring.iter().collect::<Vec<_>>(), [&"first"]);

        let digest = |thing: u32| Digest::of(&thing.to_be_bytes());
        let things = (0..900).map(|at| (digest(at % 300), at));
        let ring = Ring::of("test", 0, things);
        assert!(ring.iter().copied().eq(0..300));
        assert!((0..300).all(|thing| ring.contains(&digest(thing))));
    }

    #[test]
    fn others_are_counted_exactly_where_there_are_few() {
        let ring = ring(0..10);
        let own: Vec<Digest> = (7..13_u32).map(|n| Digest::of(&n.to_be_bytes())).collect();
        for (enough, count) in [(0, 4), (4, 4), (5, 7), (7, 7), (usize::MAX, 7)] {
            assert_eq!(ring.besides(own.iter(), enough), count, "{enough}");
        }
        assert_eq!(ring.besides([].iter(), usize::MAX), 10);
    }

    #[test]
    fn the_order_of_the_things_and_other_rings_do_not_matter() {
        let (one, two) = (ring(0..50), ring((0..50).rev()));
        assert!((0..100).all(|number| drawn(&one, number, 2) == drawn(&two, number, 2)));
    }
}
