//! Worlds in which the truth is known: suites whose answers deviate by chance, and heads that are
//! worse by a given amount.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Cells of a case in the first metric, and in the second one.
pub(crate) const CELLS: [usize; 2] = [9, 3];

/// How alike the cases are in their noise, where it is spread: their rates are Beta with this sum of
/// parameters. With a mean of 0.05, about half of the cases are then never seen to vary.
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

    pub(crate) fn normal(&mut self) -> f64 {
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

/// How the noise is spread over the cases.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Spread {
    /// Every case alike.
    Uniform,
    /// Most cases hardly, some much.
    Beta,
}

/// A suite and what a change does to it.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) cases: usize,
    /// The mean probability that an invocation deviates.
    pub(crate) noise: f64,
    pub(crate) spread: Spread,
    /// How many metrics: invariance, sensitivity, and two of a second probe with a cell a case.
    pub(crate) metrics: usize,
    /// The mean sensitivity.
    pub(crate) sensitivity: f64,
    /// By how much the loss of a metric is higher on the head, and of which.
    pub(crate) drop: f64,
    pub(crate) dropped: usize,
}

/// One side of a case: how often the answer to its input deviates, and its cells.
#[derive(Clone, Default)]
pub(crate) struct Truth {
    pub(crate) rate: f64,
    pub(crate) cells: Vec<CellTruth>,
}

/// A cell: its loss is 1 where an odd number of these holds: it is bad, its own answer deviates, the answer to
/// the input of the case deviates.
#[derive(Clone, Copy)]
pub(crate) struct CellTruth {
    pub(crate) metric: usize,
    pub(crate) bad: bool,
    pub(crate) rate: f64,
}

/// A case on both sides.
#[derive(Clone, Default)]
pub(crate) struct CaseTruth {
    pub(crate) base: Truth,
    pub(crate) head: Truth,
}

/// The cases of the first probe, and the queries of the second one, if there is one.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) cases: Vec<CaseTruth>,
    pub(crate) queries: Vec<CaseTruth>,
}

/// The share of bad cells in a suite that nothing was done to.
const BAD: f64 = 0.1;

impl World {
    /// A suite whose head has a mean loss that is higher by the drop. A few cases take it, each with half of the
    /// cells that it had left.
    pub(crate) fn draw(chance: &mut Chance, setting: &Setting) -> Self {
        let rate = |chance: &mut Chance| match (setting.noise > 0.0, setting.spread) {
            (false, _) => 0.0,
            (true, Spread::Uniform) => setting.noise,
            (true, Spread::Beta) => {
                let (a, b) = (ALIKE * setting.noise, ALIKE * (1.0 - setting.noise));
                chance.beta(a, b).min(0.5)
            }
        };
        let cases = (0..setting.cases).map(|_| {
            let rate = rate(chance);
            let mut cells = Vec::new();
            let mut put = |metric, bad| cells.push(CellTruth { metric, bad, rate });
            bad_cells(chance).into_iter().for_each(|bad| put(0, bad));
            if setting.metrics > 1 {
                for _ in 0..CELLS[1] {
                    put(1, !chance.hits(setting.sensitivity));
                }
            }
            same(Truth { rate, cells })
        });
        let cases: Vec<CaseTruth> = cases.collect();
        let queries = (0..if setting.metrics > 2 {
            setting.cases
        } else {
            0
        })
            .map(|_| {
                let rate = rate(chance);
                let cells = (2..setting.metrics).map(|metric| CellTruth {
                    metric,
                    bad: chance.hits(BAD),
                    rate,
                });
                let cells = cells.collect();
                // A query has one input, so that only its own answer deviates.
                same(Truth { rate: 0.0, cells })
            });
        let mut world = Self {
            queries: queries.collect(),
            cases,
        };
        world.plant(chance, setting);
        world
    }

    fn plant(&mut self, chance: &mut Chance, setting: &Setting) {
        let cases = match setting.dropped {
            0 | 1 => &mut self.cases,
            _ => &mut self.queries,
        };
        let is_of = |cell: &CellTruth| cell.metric == setting.dropped;
        let all = cases.iter().flat_map(|case| &case.base.cells);
        let mut left = setting.drop * all.filter(|cell| is_of(cell)).count() as f64;
        // A second time around where halves are not enough.
        let mut order: Vec<usize> = (0..cases.len()).collect();
        let mut again = true;
        while left > 0.0 && (!order.is_empty() || std::mem::take(&mut again)) {
            if order.is_empty() {
                order = (0..cases.len()).collect();
            }
            let case = &mut cases[order.swap_remove(chance.below(order.len()))];
            let rate = case.head.rate;
            let good = case.head.cells.iter_mut();
            let good: Vec<&mut CellTruth> = good.filter(|cell| is_of(cell) && !cell.bad).collect();
            // What a bad cell adds to the mean loss of a case that deviates that often: both the
            // cell's own answer and that to the input turn it back.
            let own = good.first().map_or(rate, |cell| cell.rate);
            let worth = (1.0 - 2.0 * rate) * (1.0 - 2.0 * own);
            if worth < 0.1 {
                continue;
            }
            let share = if again { 2.0 } else { 1.0 };
            let half = chance.round(good.len() as f64 / share);
            let count = half.min(chance.round(left / worth));
            for cell in good.into_iter().take(count) {
                cell.bad = true;
            }
            left -= if count < half {
                left
            } else {
                worth * count as f64
            };
        }
    }

    /// A suite in which nothing changed, except that one case lost every cell.
    pub(crate) fn with_a_broken_case(chance: &mut Chance, setting: &Setting) -> Self {
        let mut world = Self::draw(chance, setting);
        let at = chance.below(world.cases.len());
        let case = &mut world.cases[at];
        case.base.cells.iter_mut().for_each(|cell| cell.bad = false);
        case.head.cells.iter_mut().for_each(|cell| cell.bad = true);
        world
    }

    /// The base as it was on another day, when its loss was lower by so much, or higher.
    pub(crate) fn of_another_day(&self, chance: &mut Chance, shift: f64) -> Self {
        let of = |chance: &mut Chance, case: &CaseTruth| {
            let mut case = case.clone();
            for cell in &mut case.base.cells {
                // Bad cells are turned good, or good ones bad, so that the mean moves by the shift.
                let share = if cell.metric == 1 { 0.5 } else { BAD };
                let turned = if shift > 0.0 { share } else { 1.0 - share };
                if cell.bad == (shift > 0.0) && chance.hits(shift.abs() / turned) {
                    cell.bad = !cell.bad;
                }
            }
            case
        };
        Self {
            cases: self.cases.iter().map(|case| of(chance, case)).collect(),
            queries: self.queries.clone(),
        }
    }
}

fn same(truth: Truth) -> CaseTruth {
    CaseTruth {
        base: truth.clone(),
        head: truth,
    }
}

/// Some bad cells, one after the other until one is not: mostly none, now and then many.
fn bad_cells(chance: &mut Chance) -> [bool; CELLS[0]] {
    let mean = BAD * CELLS[0] as f64;
    let more = mean / (1.0 + mean);
    let mut cells = [false; CELLS[0]];
    for cell in &mut cells {
        if !chance.hits(more) {
            break;
        }
        *cell = true;
    }
    cells
}
