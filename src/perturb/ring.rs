//! Consistent sampling: things stand on a ring at points that depend on nothing but themselves and
//! the seed, so that one thing more or less moves only the draws that fall next to it.

use std::iter;
use std::ops::Range;

use crate::digest::{Digest, Fields};
use crate::threads;

/// Distinct things, each at a few points of a ring.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// In the order in which they came.
    things: Vec<(Digest, T)>,
    /// Finds a thing by its identity.
    identities: Order,
    /// Finds the points that follow one; each thing has [`POINTS`] of them.
    points: Order,
}

/// Keys that are spread evenly, as digests are: their first bits tell their bucket, and buckets are
/// so small that what comes next in one is found by looking at all of it. So putting keys in order
/// takes O(n), and finding one the same few steps however many there are.
#[derive(Debug)]
struct Order {
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
    fn of(length: usize, keys: impl Iterator<Item = u64> + Clone) -> Self {
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
    fn from(&self, key: u64) -> impl Iterator<Item = usize> {
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
    fn like(&self, key: u64) -> impl Iterator<Item = usize> {
        let (bucket, rest) = self.cut(key);
        self.within(bucket, rest..rest | !REST)
    }

    /// The places of keys that may be one and the same, in order: two or more at a time.
    fn alike(&mut self) -> impl Iterator<Item = Vec<usize>> {
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

/// Digests per thing, of four points each.
const ROUNDS: usize = 2;

/// More points even out how often each thing is drawn.
const POINTS: usize = ROUNDS * 4;

/// The points of so many things are made at a time.
const BLOCK: usize = 256;

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
        let (things, identities) = distinct(things.into_iter().collect());
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
        let points = points.iter().flatten().copied();
        Self {
            points: Order::of(things.len() * POINTS, points),
            identities,
            things,
        }
    }

    /// How many distinct things there are.
    pub(super) const fn len(&self) -> usize {
        self.things.len()
    }

    /// How many things there are besides those of these distinct identities: exactly, where there
    /// are fewer than `enough`, and else no more than there are.
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

    /// Whether a thing is there, by its identity.
    fn contains(&self, identity: &Digest) -> bool {
        let mut places = self.identities.like(identity.point());
        places.any(|place| self.things[place].0 == *identity)
    }

    /// Every thing, in the order in which they came.
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
        let things = self.points.from(point).map(|at| &self.things[at / POINTS]);
        #[cfg(test)]
        let things = things.inspect(|_| steps::count());
        let mut things = things;
        things.find(|(identity, _)| allowed(identity))
    }
}

/// Things without the later ones of the same identity, and the order of the identities.
fn distinct<T>(mut things: Vec<(Digest, T)>) -> (Vec<(Digest, T)>, Order) {
    let order = |things: &[(Digest, T)]| {
        let identities = things.iter().map(|(identity, _)| identity.point());
        Order::of(things.len(), identities)
    };
    let mut identities = order(&things);
    let mut repeats = vec![false; things.len()];
    let mut any = false;
    for alike in identities.alike() {
        let mut first: Vec<usize> = Vec::with_capacity(1);
        for place in alike {
            if first
                .iter()
                .any(|known| things[*known].0 == things[place].0)
            {
                repeats[place] = true;
                any = true;
            } else {
                first.push(place);
            }
        }
    }
    if any {
        let mut repeats = repeats.into_iter();
        things.retain(|_| repeats.next() == Some(false));
        identities = order(&things);
    }
    (things, identities)
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
    fn keys_are_in_order_from_any_key_on() {
        for length in [0, 1, 2, 3, 7, 8, 9, 1000] {
            let mut keys: Vec<u64> = (0..length).map(|n| key(n).point()).collect();
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
