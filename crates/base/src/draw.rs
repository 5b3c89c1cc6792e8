//! Seeded choices that are the same on every platform and in every release.
//!
//! Random words come from ChaCha8, with a digest of the purpose as the key. The bounded integers and the shuffle are
//! our own code, because the `rand` crate may change its algorithms between minor versions.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::digest::Digest;

/// A stream of choices for one purpose.
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream that belongs to `key`.
    pub fn of(key: Digest) -> Self {
        Self(ChaCha8Rng::from_seed(*key.bytes()))
    }

    /// A word of 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An integer in `0..bound`, without bias (Lemire, "Fast random integer generation in an
    /// interval", 2019). A bound of 0 gives 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        loop {
            let wide = u128::from(self.word()) * u128::from(bound);
            let low = wide as u64;
            if low >= bound.wrapping_neg() % bound {
                return (wide >> 64) as usize;
            }
        }
    }

    /// An integer in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// A real number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moving these values is a breaking change: every variant of every user would change.
    #[test]
    fn the_stream_is_pinned() {
        let mut draw = Draw::of(Digest::of(b"kelvin"));
        let mut list: Vec<u8> = (0..10).collect();
        draw.shuffle(&mut list);
        let small: Vec<usize> = (0..8).map(|_| draw.below(7)).collect();
        assert_eq!(list, [3, 0, 8, 7, 2, 5, 6, 4, 9, 1]);
        assert_eq!(small, [0, 2, 5, 5, 1, 2, 3, 5]);
        assert_eq!(draw.word(), 15_527_684_581_109_382_805);
    }

    #[test]
    fn bounded_integers_cover_their_range_evenly() {
        let mut draw = Draw::of(Digest::of(b"even"));
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[draw.below(6)] += 1;
        }
        assert!(
            seen.iter().all(|count| (9_500..10_500).contains(count)),
            "{seen:?}"
        );
    }
}
