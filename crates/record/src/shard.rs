//! A share of the cases, for a run that is divided among several machines.

use std::fmt;
use std::str::FromStr;

use kelvin_base::digest::Fields;

/// The maximum number of shards: more than the jobs that GitHub allows in a matrix (256) would be a mistake.
const MOST: usize = 256;

/// One of several shares of the cases. The share of a case depends only on its name and on the number of shares, so if
/// a case is added or removed, no other case moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shard {
    /// The number of this share, from 1.
    pub index: usize,
    /// The number of shares.
    pub count: usize,
}

impl Shard {
    /// The share of a case, among `count` shares.
    pub fn of(case: &str, count: usize) -> Self {
        let digest = Fields::of("kelvin/shard/v1").field("case", case).digest();
        let count = count.max(1);
        let index = digest.point() % count as u64;
        Self {
            index: usize::try_from(index).expect("it is below the count") + 1,
            count,
        }
    }

    /// Whether a case belongs to the share.
    pub fn takes(self, case: &str) -> bool {
        Self::of(case, self.count) == self
    }

    /// Whether a share with these numbers can exist.
    pub const fn is_sound(self) -> bool {
        1 <= self.index && self.index <= self.count && self.count <= MOST
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        text.split_once('/')
            .and_then(|(index, count)| {
                let (index, count) = (number(index)?, number(count)?);
                Some(Self { index, count })
            })
            .filter(|shard| shard.is_sound())
            .ok_or_else(|| {
                format!(
                    "expected the number of the shard and how many there are, such as `3/8`: from \
                     `1/N` to `N/N`, with N at most {MOST}"
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_falls_into_exactly_one_shard() {
        for count in [1, 2, 3, 8] {
            let shards: Vec<Shard> = (1..=count).map(|index| Shard { index, count }).collect();
            let mut sizes = vec![0; count];
            for number in 0..400 {
                let name = format!("case-{number}");
                let takers: Vec<usize> = (0..count).filter(|at| shards[*at].takes(&name)).collect();
                assert_eq!(takers.len(), 1, "{name} of {count}");
                sizes[takers[0]] += 1;
            }
            // The shares are even enough: each has at least half of the fair share.
            assert!(
                sizes.iter().all(|size| size * count > 200),
                "{count}: {sizes:?}"
            );
        }
    }

    /// A pin: another hash would move every case, and no cache or baseline would say why.
    #[test]
    fn where_a_case_falls_never_changes() {
        let indices: Vec<usize> = ["alder", "birch", "cedar", "dogwood"]
            .iter()
            .map(|name| Shard::of(name, 8).index)
            .collect();
        assert_eq!(indices, [8, 3, 6, 8]);
    }

    #[test]
    fn a_shard_is_written_as_its_number_and_how_many_there_are() {
        assert_eq!("3/8".parse(), Ok(Shard { index: 3, count: 8 }));
        assert_eq!(Shard { index: 3, count: 8 }.to_string(), "3/8");
        for wrong in [
            "", "3", "0/8", "9/8", "3/0", "-1/8", "3/8/1", "a/b", "1/257",
        ] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
