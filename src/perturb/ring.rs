//! Consistent sampling: things stand on a ring at points that depend on nothing but themselves and
//! the seed, so that one thing more or less moves only the draws that fall next to it.

use crate::digest::{Digest, Fields};
use crate::threads;

/// Distinct things, each at a few points of a ring.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// Sorted by identity.
    things: Vec<(Digest, T)>,
    /// Where on the ring, and which thing; sorted.
    points: Vec<(u64, u32)>,
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
    ) -> Self {
        let mut things: Vec<(Digest, T)> = things.into_iter().collect();
        things.sort_by_key(|(identity, _)| *identity);
        things.dedup_by_key(|(identity, _)| *identity);
        let identities: Vec<Digest> = things.iter().map(|(identity, _)| *identity).collect();
        let digests = threads::map(&identities, |identity| {
            std::array::from_fn::<_, ROUNDS, _>(|round| {
                Fields::of("kelvin/ring/v1")
                    .field("purpose", purpose)
                    .field("seed", seed.to_be_bytes())
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
        Self { things, points }
    }

    /// How many distinct things there are.
    pub(super) const fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether a thing is there, by its identity.
    pub(super) fn contains(&self, identity: &Digest) -> bool {
        self.things
            .binary_search_by_key(identity, |(known, _)| *known)
            .is_ok()
    }

    /// Every thing, in the order of the identities.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().map(|(_, thing)| thing)
    }

    /// The `nth` draw of a variant with this key: the first allowed thing from the drawn point on.
    /// None where nothing is allowed, found out by going all the way round: the caller counts first
    /// what is left, so that it refuses only what a single case holds or has drawn.
    pub(super) fn draw(
        &self,
        key: Digest,
        nth: usize,
        mut allowed: impl FnMut(&T) -> bool,
    ) -> Option<&T> {
        let point = Fields::of("kelvin/draw/v1")
            .field("key", key.bytes())
            .field("nth", (nth as u64).to_be_bytes())
            .digest()
            .point();
        let start = self.points.partition_point(|(at, _)| *at < point);
        let (before, after) = self.points.split_at(start);
        after.iter().chain(before).find_map(|(_, at)| {
            #[cfg(test)]
            steps::count();
            let (_, thing) = self.things.get(*at as usize)?;
            allowed(thing).then_some(thing)
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

    fn key(number: u32) -> Digest {
        Digest::of(format!("key {number}").as_bytes())
    }

    #[test]
    fn one_thing_more_moves_few_draws_and_only_towards_itself() {
        let (small, large) = (ring(0..200), ring(0..201));
        let mut moved = 0;
        for number in 0..5_000 {
            let was = small.draw(key(number), 0, |_| true);
            let is = large.draw(key(number), 0, |_| true);
            if was != is {
                assert_eq!(is, Some(&200));
                moved += 1;
            }
        }
        // 1 in 201 is expected, i.e. 25.
        assert!((1..100).contains(&moved), "{moved}");
    }

    #[test]
    fn every_thing_is_drawn_and_none_much_too_often() {
        let ring = ring(0..20);
        let mut drawn = [0_u32; 20];
        for number in 0..20_000 {
            let thing = ring
                .draw(key(number), 1, |_| true)
                .expect("the ring is not empty");
            drawn[*thing as usize] += 1;
        }
        assert!(
            drawn.iter().all(|count| (150..4_000).contains(count)),
            "{drawn:?}"
        );
    }

    #[test]
    fn what_is_not_allowed_is_passed_over() {
        let ring = ring(0..5);
        for number in 0..200 {
            assert_eq!(ring.draw(key(number), 0, |thing| *thing == 3), Some(&3));
        }
        assert_eq!(ring.draw(key(0), 0, |_| false), None);
        assert_eq!(
            super::Ring::<u32>::of("test", 7, []).draw(key(0), 0, |_| true),
            None
        );
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
        assert!((0..100).all(|n| one.draw(key(n), 2, |_| true) == two.draw(key(n), 2, |_| true)));
    }
}
