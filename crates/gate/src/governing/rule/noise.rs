//! How often the answer to a case differs from its usual one, by case and side.

use super::SuiteSide;

/// How many answers the noise of the whole suite counts as in the estimate for one case.
pub(super) const SHRINK: f64 = 8.0;

/// The lowest and the highest noise rate of a case.
pub const E_MIN: f64 = 0.002;
const E_MAX: f64 = 0.45;

/// The distance of the upper bound of the noise, in standard errors.
const E_UP: f64 = 1.64;

/// The usual answers of a side, and the noise rate of each case.
#[derive(Clone, Debug)]
pub struct UsualAnswers {
    /// The most frequent answer of each case.
    pub answers: Vec<u32>,
    /// The probability that an answer differs from the usual one.
    pub e: Vec<f64>,
    /// The upper bound of that probability.
    pub upper: Vec<f64>,
    /// How many answers each case got.
    pub count: Vec<usize>,
}

impl UsualAnswers {
    /// Computes the noise from all answers of a side to its cases.
    pub fn of(side: &SuiteSide<u32>) -> Self {
        let counted: Vec<Counted> = side.own.iter().map(|own| Counted::of(own)).collect();
        let weights: f64 = counted.iter().map(Counted::weight).sum();
        let differing: f64 = counted.iter().map(|one| one.differ * one.weight()).sum();
        let suite = differing / weights.max(1.0);
        let (mut e, mut upper) = (Vec::new(), Vec::new());
        for one in &counted {
            let weight = one.weight();
            let shrunk = (one.differ * weight + SHRINK * suite) / (weight + SHRINK);
            let rate = rate(shrunk);
            let all = weight + SHRINK;
            let error = match one.differ > 0.0 {
                true => (rate * (1.0 - rate) / all * (weight / all)).sqrt(),
                false => 0.0,
            };
            e.push(rate.clamp(E_MIN, E_MAX));
            upper.push((rate + E_UP * error + 1.0 / (weights + 2.0)).clamp(E_MIN, E_MAX));
        }
        Self {
            answers: counted.iter().map(|one| one.mode).collect(),
            e,
            upper,
            count: counted.iter().map(|one| one.count).collect(),
        }
    }

    /// Raises the noise to at least the noise of another side: if every item was run only once, the noise is hardly
    /// known.
    pub fn at_least(&mut self, other: &Self) {
        let raise = |own: &mut Vec<f64>, other: &[f64]| {
            for (own, other) in own.iter_mut().zip(other) {
                *own = own.max(*other);
            }
        };
        raise(&mut self.e, &other.e);
        raise(&mut self.upper, &other.upper);
    }

    /// Takes the noise that was seen for all that there is: the pipeline is declared to have none that is not.
    pub fn as_seen(&mut self) {
        self.upper.clone_from(&self.e);
    }

    /// Whether answers were observed to vary.
    pub fn is_noisy(&self) -> bool {
        self.e.iter().any(|e| *e > 2.0 * E_MIN)
    }
}

/// The probability that the most frequent of this many answers to a case is not its usual answer.
pub(super) fn wrong_own(e: f64, count: usize) -> f64 {
    let mut chance = 0.0;
    for wrong in count.div_ceil(2)..=count {
        let halves = if 2 * wrong == count { 0.5 } else { 1.0 };
        chance += halves * binomial(count, wrong, e);
    }
    chance.min(0.5)
}

/// The probability of exactly `hits` hits among `n` draws.
pub(super) fn binomial(n: usize, hits: usize, p: f64) -> f64 {
    let mut ways = 1.0;
    for at in 0..hits {
        ways *= (n - at) as f64 / (at + 1) as f64;
    }
    ways * p.powi(hits as i32) * (1.0 - p).powi((n - hits) as i32)
}

/// The noise rate at which two answers differ in this share of the pairs: each answer is the usual one or, with that
/// probability, another.
fn rate(differ: f64) -> f64 {
    let within = (1.0 - 2.0 * differ.min(0.495)).max(0.0);
    f64::midpoint(1.0, -within.sqrt())
}

/// Statistics of the answers to one case.
struct Counted {
    mode: u32,
    count: usize,
    /// The share of all pairs of answers that differ.
    differ: f64,
}

impl Counted {
    fn of(own: &[u32]) -> Self {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for answer in own {
            match counts.iter_mut().find(|(known, _)| known == answer) {
                Some((_, count)) => *count += 1,
                None => counts.push((*answer, 1)),
            }
        }
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
        // Among equally frequent answers, the first counts.
        let first = counts.iter().find(|(_, count)| *count == most);
        let all = own.len() as f64;
        let same: f64 = counts.iter().map(|(_, count)| (count * count) as f64).sum();
        Self {
            mode: first.map_or(0, |(answer, _)| *answer),
            count: own.len(),
            differ: (all * all - same) / (all * (all - 1.0)).max(1.0),
        }
    }

    fn weight(&self) -> f64 {
        self.count.saturating_sub(1) as f64
    }
}
