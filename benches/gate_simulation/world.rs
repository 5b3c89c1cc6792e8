//! Worlds in which the truth is known: suites whose runs deviate by chance, and heads that are
//! worse by a given amount.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::gate::look::{Case, Cell};

/// Cells of a case.
pub(crate) const CELLS: usize = 9;

/// The share of bad cells in a suite that nothing was done to.
const BAD: f64 = 0.1;

/// How alike the cases are in their noise: their rates are Beta with this sum of parameters. With
/// a mean of 0.05, about half of the cases are then never seen to vary.
pub(crate) const ALIKE: f64 = 6.0;

/// A stream of chance.
pub(crate) struct Chance(ChaCha8Rng);

impl Chance {
    pub(crate) fn of(row: u64, world: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(row);
        rng.set_stream(world);
        Self(rng)
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn hits(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.unit().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    pub(crate) fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.gamma(a), self.gamma(b));
        x / (x + y)
    }

    /// Rounds so that the mean is kept.
    fn round(&mut self, value: f64) -> usize {
        value as usize + usize::from(self.hits(value.fract()))
    }
}

/// One suite and what the change did to it.
pub(crate) struct World {
    cases: Vec<Truth>,
}

struct Truth {
    /// The probability that an invocation deviates.
    noise: f64,
    base: [bool; CELLS],
    head: [bool; CELLS],
}

impl World {
    /// A suite whose head has a mean loss that is higher by `drop`. A few cases take the drop, each
    /// with half of the cells that it had left.
    pub(crate) fn draw(chance: &mut Chance, cases: usize, noise: f64, drop: f64) -> Self {
        let mut cases: Vec<Truth> = (0..cases)
            .map(|_| {
                let noise = if noise > 0.0 {
                    let rate = chance.beta(ALIKE * noise, ALIKE * (1.0 - noise));
                    rate.min(0.5)
                } else {
                    0.0
                };
                let base = bad_cells(chance);
                let head = base;
                Truth { noise, base, head }
            })
            .collect();
        let mut left = drop * (cases.len() * CELLS) as f64;
        let mut order: Vec<usize> = (0..cases.len()).collect();
        while left > 0.0 && !order.is_empty() {
            let case = &mut cases[order.swap_remove(chance.below(order.len()))];
            let good: Vec<usize> = (0..CELLS).filter(|cell| !case.head[*cell]).collect();
            // What a bad cell adds to the mean loss of a case that deviates that often: both the
            // cell's own invocation and the unperturbed one turn it back.
            let worth = (1.0 - 2.0 * case.noise).powi(2);
            if worth < 0.1 {
                continue;
            }
            let half = chance.round(good.len() as f64 / 2.0);
            let count = half.min(chance.round(left / worth));
            for cell in good.iter().take(count) {
                case.head[*cell] = true;
            }
            left -= if count < half {
                left
            } else {
                worth * count as f64
            };
        }
        Self { cases }
    }

    /// A suite in which nothing changed, except that one case lost every cell.
    pub(crate) fn with_a_broken_case(chance: &mut Chance, cases: usize, noise: f64) -> Self {
        let mut world = Self::draw(chance, cases, noise, 0.0);
        let at = chance.below(cases);
        world.cases[at].base = [false; CELLS];
        world.cases[at].head = [true; CELLS];
        world
    }

    /// Runs everything: the base so often, the head once.
    pub(crate) fn run(&self, chance: &mut Chance, base_runs: usize) -> Vec<Case> {
        let mut cases: Vec<Case> = self
            .cases
            .iter()
            .map(|_| Case {
                cells: vec![Cell::default(); CELLS],
                weight: 1.0,
            })
            .collect();
        for (truth, case) in self.cases.iter().zip(&mut cases) {
            for _ in 0..base_runs {
                let losses = truth.losses(chance, &truth.base);
                for (cell, loss) in case.cells.iter_mut().zip(losses) {
                    cell.base.push(Some(loss));
                }
            }
        }
        for at in 0..cases.len() {
            self.rerun(chance, &mut cases, at);
        }
        cases
    }

    /// Runs one case of the head once more.
    pub(crate) fn rerun(&self, chance: &mut Chance, cases: &mut [Case], at: usize) {
        let truth = &self.cases[at];
        let losses = truth.losses(chance, &truth.head);
        for (cell, loss) in cases[at].cells.iter_mut().zip(losses) {
            cell.head.push(Some(loss));
        }
    }
}

impl Truth {
    /// One run: every invocation may deviate, and where the unperturbed one does, every cell flips.
    fn losses(&self, chance: &mut Chance, bad: &[bool; CELLS]) -> [f64; CELLS] {
        let all = chance.hits(self.noise);
        bad.map(|bad| {
            let own = chance.hits(self.noise);
            f64::from(u8::from(bad ^ all ^ own))
        })
    }
}

/// Some bad cells, one after the other until one is not: mostly none, now and then many.
fn bad_cells(chance: &mut Chance) -> [bool; CELLS] {
    let more = BAD * CELLS as f64 / (1.0 + BAD * CELLS as f64);
    let mut cells = [false; CELLS];
    for cell in &mut cells {
        if !chance.hits(more) {
            break;
        }
        *cell = true;
    }
    cells
}
