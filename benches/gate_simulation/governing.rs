//! The rule by governing types, in worlds whose truth is known: a suite answered by a rule of combination, and heads that
//! lost a type, got it back, lost it in some cases, or lost their noise.

use std::fmt::Write as _;

use crate::gate::looks::Means;
use crate::gate::types::{
    Answers, FollowUp, LossLimit, Status, SuiteCase, SuiteLooks, SuiteRules, SuiteSide, SuiteSwap,
    SwapSuite, TypeFigures, TypeVerdict,
};
use crate::probe::WantedRepeats;
use crate::promises::Promises;
use crate::tables::{self, percent};
use crate::world::{ALIKE, Chance, Spread};

/// Worlds in each cell of a row: of one rule, one number of cases, one noise and one spread.
const WORLDS: u64 = 24;

/// How often a case is answered in one run beside its swaps: as it is, and as three variants that change nothing.
const OWN: usize = 4;

/// Exchanges of each type in each case.
const SWAPS: usize = 3;

/// How often an input of the head may be run, as the configuration has it.
const HEAD_RUNS: usize = 20;

/// How many swaps of a type have to tell before its loss must be found.
const TELLING: usize = 10;

/// How the units of a case make its answer.
#[derive(Clone, Copy, PartialEq)]
enum Combination {
    /// All have to hold.
    And,
    /// One has to hold.
    Or,
    /// More than half have to hold.
    Majority,
    /// The first decides, unless it is in the middle; then the next one.
    Lexicographic,
    /// The first says which of the others is looked at.
    Route,
    /// The sum of all, as a number.
    Sum,
}

const RULES: [(Combination, usize); 7] = [
    (Combination::And, 2),
    (Combination::And, 3),
    (Combination::Or, 2),
    (Combination::Majority, 3),
    (Combination::Lexicographic, 3),
    (Combination::Route, 3),
    (Combination::Sum, 2),
];

const CASES: [usize; 3] = [12, 20, 40];

const NOISES: [f64; 3] = [0.0, 0.05, 0.15];

impl Combination {
    /// The answer to units from 0 to 99.
    fn answer(self, units: &[u32]) -> f64 {
        let holds = |unit: &u32| *unit >= 50;
        let is = |is: bool| f64::from(u8::from(is));
        match self {
            Self::And => is(units.iter().all(holds)),
            Self::Or => is(units.iter().any(holds)),
            Self::Majority => is(2 * units.iter().filter(|unit| holds(unit)).count() > units.len()),
            Self::Lexicographic => {
                let decides = units.iter().find(|unit| !(30..70).contains(*unit));
                is(decides.or(units.last()).is_some_and(holds))
            }
            Self::Route => match holds(&units[0]) {
                true => 1.0 + is(holds(&units[1])),
                false => 3.0 + is(holds(&units[2])),
            },
            Self::Sum => units.iter().map(|unit| f64::from(*unit)).sum(),
        }
    }

    const fn is_number(self) -> bool {
        matches!(self, Self::Sum)
    }

    /// What a head that does not read a unit takes it for: a condition that counts no more holds, or does not.
    const fn forgotten(self) -> u32 {
        match self {
            Self::Or => 0,
            Self::Lexicographic => 50,
            Self::Majority | Self::Route | Self::Sum => 25,
            Self::And => 99,
        }
    }
}

/// What a change does.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Nothing,
    /// A type that the base did not read is read.
    Restored,
    /// The noise of the base is gone.
    Denoised,
    /// The last type is read no more, in every so many cases.
    Lost(usize),
}

/// The cells of a row.
#[derive(Clone, Copy)]
struct Cell {
    rule: (Combination, usize),
    cases: usize,
    noise: f64,
    spread: Spread,
    base_runs: usize,
    can_be_run: bool,
}

/// One side: what it reads, and how noisy each case is.
struct Pipeline {
    rule: Combination,
    /// Every so many cases do not read the last type; 0: all do.
    forgets: usize,
    noise: Vec<f64>,
}

impl Pipeline {
    fn truth(&self, case: usize, units: &[u32]) -> f64 {
        let mut units = units.to_vec();
        if self.forgets > 0 && case.is_multiple_of(self.forgets) {
            *units.last_mut().expect("there are types") = self.rule.forgotten();
        }
        self.rule.answer(&units)
    }

    fn answer(&self, chance: &mut Chance, case: usize, units: &[u32]) -> f64 {
        let truth = self.truth(case, units);
        if self.rule.is_number() {
            // A share of the width of all answers.
            return truth + 100.0 * self.noise[case] * chance.normal();
        }
        match chance.hits(self.noise[case]) {
            false => truth,
            true if self.rule == Combination::Route => {
                1.0 + (truth + (chance.unit() * 3.0).floor()) % 4.0
            }
            true => 1.0 - truth,
        }
    }
}

/// The inputs of a suite: the units of its cases and of its swaps.
struct Inputs {
    cases: Vec<Vec<u32>>,
    items: Vec<SuiteSwap>,
    units: Vec<Vec<u32>>,
}

impl Inputs {
    fn draw(chance: &mut Chance, types: usize, cases: usize) -> Self {
        let unit = |chance: &mut Chance| (100.0 * chance.unit()) as u32;
        let all: Vec<Vec<u32>> = (0..cases)
            .map(|_| (0..types).map(|_| unit(chance)).collect())
            .collect();
        let (mut items, mut units) = (Vec::new(), Vec::new());
        for case in 0..cases {
            for of_type in 0..types {
                for swap in 0..SWAPS {
                    let other = (chance.unit() * (cases - 1) as f64) as usize;
                    let donor = other + usize::from(other >= case);
                    let mut changed = all[case].clone();
                    changed[of_type] = all[donor][of_type];
                    let name = format!("{of_type}-{swap}");
                    items.push(SuiteSwap {
                        case,
                        of_type,
                        donor: Some(donor),
                        variants: (name.clone(), name),
                    });
                    units.push(changed);
                }
            }
        }
        Self {
            cases: all,
            items,
            units,
        }
    }

    /// How many swaps of the last type move the decision of a pipeline.
    fn telling(&self, of_type: usize, pipeline: &Pipeline) -> Vec<usize> {
        let places = 0..self.items.len();
        let tells = |place: &usize| {
            let item = &self.items[*place];
            let own = pipeline.truth(item.case, &self.cases[item.case]);
            item.of_type == of_type
                && (pipeline.truth(item.case, &self.units[*place]) - own).abs() > 1e-9
        };
        places.filter(tells).collect()
    }
}

/// The answers of a side so far, run after run.
struct Drawn<'w> {
    inputs: &'w Inputs,
    pipeline: &'w Pipeline,
    own: Vec<Vec<f64>>,
    swaps: Vec<Vec<f64>>,
    calls: usize,
}

impl<'w> Drawn<'w> {
    fn new(inputs: &'w Inputs, pipeline: &'w Pipeline) -> Self {
        Self {
            inputs,
            pipeline,
            own: vec![Vec::new(); inputs.cases.len()],
            swaps: vec![Vec::new(); inputs.items.len()],
            calls: 0,
        }
    }

    fn run_all(&mut self, chance: &mut Chance, runs: usize) {
        for case in 0..self.own.len() {
            self.run_case(chance, case, runs);
        }
        for place in 0..self.swaps.len() {
            self.run_swap(chance, place, runs);
        }
    }

    fn run_case(&mut self, chance: &mut Chance, case: usize, runs: usize) {
        while self.own[case].len() < runs * OWN {
            let answer = self.pipeline.answer(chance, case, &self.inputs.cases[case]);
            self.own[case].push(answer);
            self.calls += 1;
        }
    }

    fn run_swap(&mut self, chance: &mut Chance, place: usize, runs: usize) {
        while self.swaps[place].len() < runs {
            let case = self.inputs.items[place].case;
            let answer = self
                .pipeline
                .answer(chance, case, &self.inputs.units[place]);
            self.swaps[place].push(answer);
            self.calls += 1;
        }
    }

    fn run(&mut self, chance: &mut Chance, wanted: &WantedRepeats) {
        for (name, wanted) in wanted {
            let case: usize = name.parse().expect("a number");
            self.run_case(chance, case, wanted.input);
            let places =
                (0..self.swaps.len()).filter(|place| self.inputs.items[*place].case == case);
            for place in places.collect::<Vec<_>>() {
                let name = &self.inputs.items[place].variants.0;
                if let Some(runs) = wanted.single.get(name) {
                    self.run_swap(chance, place, *runs);
                }
            }
        }
    }

    fn side<A>(&self, answer: impl Fn(f64) -> A) -> SuiteSide<A> {
        let all = |of: &[Vec<f64>]| -> Vec<Vec<A>> {
            let each = of.iter();
            each.map(|answers| answers.iter().map(|one| answer(*one)).collect())
                .collect()
        };
        let runs = self.swaps.iter().map(Vec::len);
        SuiteSide {
            own: all(&self.own),
            swaps: all(&self.swaps),
            draws: runs.max().unwrap_or(0),
        }
    }
}

/// What came of one world.
struct Judged {
    types: Vec<(TypeFigures, Status, TypeVerdict)>,
    /// The calls beside the first run of the head, in runs of the suite, and 1.
    cost: f64,
}

impl Judged {
    fn is_red(&self) -> bool {
        let mut types = self.types.iter();
        types.any(|(.., verdict)| *verdict == TypeVerdict::Regression)
    }

    fn is_open(&self) -> bool {
        let mut types = self.types.iter();
        !self.is_red() && types.any(|(.., verdict)| matches!(verdict, TypeVerdict::Open(_)))
    }

    fn is_blind(&self) -> bool {
        let mut types = self.types.iter();
        !self.is_red() && !self.is_open() && types.any(|(figures, ..)| figures.is_blind())
    }
}

/// Judges one world by the engine, with all the runs that it asks for.
fn judge(
    chance: &mut Chance,
    inputs: &Inputs,
    sides: (&Pipeline, &Pipeline),
    cell: &Cell,
) -> Judged {
    let mut stored = Drawn::new(inputs, sides.0);
    stored.run_all(chance, cell.base_runs);
    let mut fresh: Option<Drawn<'_>> = None;
    let mut head = Drawn::new(inputs, sides.1);
    head.run_all(chance, 1);
    let once = head.calls;
    let types = inputs.cases[0].len();
    let max_drop = vec![
        LossLimit {
            max_drop: 0.05,
            is_whole: false
        };
        types
    ];
    let rules = SuiteRules {
        max_drop: &max_drop,
        is_exact: false,
    };
    let means = Means {
        head_runs: HEAD_RUNS,
        base: cell.can_be_run,
    };
    let name = |at: usize| at.to_string();
    let suite = |base: &Drawn<'_>, head: &Drawn<'_>| SwapSuite {
        types: (0..types).map(name).collect(),
        cases: (0..inputs.cases.len())
            .map(|at| SuiteCase {
                name: name(at),
                own: (vec!["own".to_owned()], vec!["own".to_owned()]),
            })
            .collect(),
        items: inputs.items.clone(),
        answers: match cell.rule.0.is_number() {
            true => Answers::Numbers(base.side(|one| one), head.side(|one| one)),
            false => Answers::Classes(base.side(|one| one as u32), head.side(|one| one as u32)),
        },
    };
    let mut looks = SuiteLooks::default();
    let ended = loop {
        let base = fresh.as_ref().unwrap_or(&stored);
        match looks.next(&suite(base, &head), &rules, (means, false)) {
            FollowUp::Decided(ended) => break ended,
            FollowUp::Rerun(rerun) => {
                if !rerun.base.is_empty() {
                    let fresh = fresh.get_or_insert_with(|| {
                        let mut drawn = Drawn::new(inputs, sides.0);
                        // What is not run again stays as it was stored.
                        drawn.own.clone_from(&stored.own);
                        drawn.swaps.clone_from(&stored.swaps);
                        drawn
                    });
                    fresh.run(chance, &rerun.base);
                }
                head.run(chance, &rerun.head);
            }
        }
    };
    let more = head.calls - once + fresh.map_or(0, |fresh| fresh.calls);
    Judged {
        types: ended.types,
        cost: 1.0 + more as f64 / once as f64,
    }
}

/// Shares of the worlds of a row.
#[derive(Clone, Copy, Default)]
struct Shares {
    worlds: f64,
    red: f64,
    open: f64,
    blind: f64,
    cost: f64,
    /// Worlds that passed though more was lost than may be, and nothing was said of a type that is not seen.
    missed: f64,
}

impl Shares {
    fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.red += other.red;
        self.open += other.open;
        self.blind += other.blind;
        self.cost += other.cost;
        self.missed += other.missed;
    }

    fn share(&self, part: f64) -> f64 {
        part / self.worlds.max(1.0)
    }

    fn pass(&self) -> f64 {
        self.worlds - self.red - self.open - self.blind
    }
}

/// The worlds of a cell. A loss is counted where so many swaps tell: at least the first, less than the second.
fn cell(cell: &Cell, change: Change, telling: (usize, usize)) -> Shares {
    let (rule, types) = cell.rule;
    let mut shares = Shares::default();
    for world in 0..WORLDS {
        let number = RULES
            .iter()
            .position(|one| *one == cell.rule)
            .expect("it is one");
        let seed = [
            number as u64,
            cell.cases as u64,
            (1_000.0 * cell.noise) as u64,
            u64::from(cell.spread == Spread::Uniform),
            cell.base_runs as u64,
            u64::from(cell.can_be_run),
            match change {
                Change::Nothing => 0,
                Change::Restored => 1,
                Change::Denoised => 2,
                Change::Lost(every) => 2 + every as u64,
            },
            telling.0 as u64,
        ];
        let seed = seed.iter().fold(28, |seed: u64, part| {
            seed.wrapping_mul(1_009).wrapping_add(*part)
        });
        let mut chance = Chance::of(seed, world);
        let inputs = Inputs::draw(&mut chance, types, cell.cases);
        let noise: Vec<f64> = (0..cell.cases)
            .map(|_| match cell.spread {
                _ if cell.noise <= 0.0 => 0.0,
                Spread::Uniform => cell.noise,
                Spread::Beta => chance
                    .beta(ALIKE * cell.noise, ALIKE * (1.0 - cell.noise))
                    .min(0.45),
            })
            .collect();
        let pipeline = |forgets: usize, noise: &[f64]| Pipeline {
            rule,
            forgets,
            noise: noise.to_vec(),
        };
        let none = vec![0.0; cell.cases];
        let (base, head) = match change {
            Change::Nothing => (pipeline(0, &noise), pipeline(0, &noise)),
            Change::Restored => (pipeline(1, &noise), pipeline(0, &noise)),
            Change::Denoised => (pipeline(0, &noise), pipeline(0, &none)),
            Change::Lost(every) => (pipeline(0, &noise), pipeline(every, &noise)),
        };
        let mut is_beyond = false;
        if matches!(change, Change::Lost(_)) {
            let before = inputs.telling(types - 1, &base);
            if !(telling.0..telling.1).contains(&before.len()) {
                continue;
            }
            let after = inputs.telling(types - 1, &head);
            let lost = before.iter().filter(|place| !after.contains(place)).count();
            let swaps = (cell.cases * SWAPS) as f64;
            let limit = 0.05_f64.min(before.len() as f64 / swaps / 3.0);
            is_beyond = lost as f64 - (after.len() + lost - before.len()) as f64 > limit * swaps;
        }
        let judged = judge(&mut chance, &inputs, (&base, &head), cell);
        let is = |is: bool| f64::from(u8::from(is));
        let passes = !judged.is_red() && !judged.is_open() && !judged.is_blind();
        shares.add(&Shares {
            worlds: 1.0,
            red: is(judged.is_red()),
            open: is(judged.is_open()),
            blind: is(judged.is_blind()),
            cost: judged.cost,
            missed: is(is_beyond && passes),
        });
    }
    shares
}

/// All cells of some rules, cases and noises, on two threads.
fn row(
    (rules, cases, noises): (&[(Combination, usize)], &[usize], &[f64]),
    (base_runs, can_be_run): (usize, bool),
    change: Change,
    telling: (usize, usize),
) -> Shares {
    let mut cells = Vec::new();
    for rule in rules {
        for cases in cases {
            for noise in noises {
                let spreads: &[Spread] = match *noise > 0.0 {
                    true => &[Spread::Uniform, Spread::Beta],
                    false => &[Spread::Uniform],
                };
                for spread in spreads {
                    cells.push(Cell {
                        rule: *rule,
                        cases: *cases,
                        noise: *noise,
                        spread: *spread,
                        base_runs,
                        can_be_run,
                    });
                }
            }
        }
    }
    let sums = std::thread::scope(|scope| {
        let cells = &cells;
        let running = [0, 1].map(|first| {
            scope.spawn(move || {
                let mut sum = Shares::default();
                for one in cells.iter().skip(first).step_by(2) {
                    sum.add(&cell(one, change, telling));
                }
                sum
            })
        });
        running.map(|thread| thread.join().expect("a simulation does not panic"))
    });
    let mut all = Shares::default();
    sums.iter().for_each(|sum| all.add(sum));
    all
}

fn line(table: &mut String, name: &str, shares: &Shares) {
    let parts =
        [shares.red, shares.open, shares.pass(), shares.blind].map(|part| shares.share(part));
    let _ = writeln!(
        table,
        "| {name} | {} | {} | {:.2}x |",
        shares.worlds,
        percent(&parts),
        shares.share(shares.cost)
    );
}

const ANY: (usize, usize) = (0, usize::MAX);
const ENOUGH: (usize, usize) = (TELLING, usize::MAX);
const FEW: (usize, usize) = (5, TELLING);

/// What each change comes to, against a base that was run five times.
pub(crate) fn changes(promises: &mut Promises) -> String {
    let mut table = tables::table(&[
        "change",
        "worlds",
        "red",
        "open",
        "pass",
        "pass that names an unseen type",
        "cost",
    ]);
    let all = (&RULES[..], &CASES[..], &NOISES[..]);
    let noisy = (&RULES[..], &CASES[..], &NOISES[1..]);
    let five = (5, false);
    let unchanged = row(all, five, Change::Nothing, ANY);
    line(&mut table, "unchanged", &unchanged);
    promises.at_most(
        unchanged.share(unchanged.red),
        0.01,
        "types: unchanged, red",
    );
    promises.at_most(
        unchanged.share(unchanged.open),
        0.12,
        "types: unchanged, open",
    );
    let denoised = row(noisy, five, Change::Denoised, ANY);
    line(&mut table, "noise removed", &denoised);
    promises.at_most(
        denoised.share(denoised.red),
        0.01,
        "types: noise removed, red",
    );
    let restored = row(all, five, Change::Restored, ANY);
    line(&mut table, "a type restored", &restored);
    promises.at_most(restored.share(restored.red), 0.01, "types: restored, red");
    let lost = row(all, five, Change::Lost(1), ENOUGH);
    line(&mut table, "a type lost, ten telling swaps", &lost);
    promises.at_least(lost.share(lost.red), 0.95, "types: lost, red");
    promises.at_most(lost.share(lost.missed), 0.02, "types: lost, plain pass");
    let few = row(all, five, Change::Lost(1), FEW);
    line(&mut table, "a type lost, five to nine", &few);
    promises.at_most(
        few.share(few.missed),
        0.02,
        "types: lost by few, plain pass",
    );
    for (every, name) in [(2, "half"), (3, "a third"), (4, "a quarter")] {
        let part = row(all, five, Change::Lost(every), ENOUGH);
        line(&mut table, &format!("lost in {name} of the cases"), &part);
        let what = format!("types: lost in {name}, plain pass");
        promises.at_most(part.share(part.missed), 0.02, &what);
    }
    table
}

/// What more runs of the base do.
pub(crate) fn bases(promises: &mut Promises) -> String {
    let mut table = tables::table(&[
        "runs of the base",
        "unchanged: red",
        "open",
        "cost",
        "lost: red",
        "half lost: passes plainly",
    ]);
    let all = (&RULES[..], &CASES[..], &NOISES[..]);
    for (name, base) in [
        ("1", (1, false)),
        ("3", (3, false)),
        ("5", (5, false)),
        ("1, and can be run again", (1, true)),
    ] {
        let unchanged = row(all, base, Change::Nothing, ANY);
        let lost = row(all, base, Change::Lost(1), ENOUGH);
        let part = row(all, base, Change::Lost(2), ENOUGH);
        let _ = writeln!(
            table,
            "| {name} | {} | {:.2}x | {} |",
            percent(&[
                unchanged.share(unchanged.red),
                unchanged.share(unchanged.open)
            ]),
            unchanged.share(unchanged.cost),
            percent(&[lost.share(lost.red), part.share(part.missed)])
        );
        let what = format!("types: {name} runs of the base, unchanged, red");
        promises.at_most(unchanged.share(unchanged.red), 0.01, &what);
        let what = format!("types: {name} runs of the base, half lost, plain pass");
        promises.at_most(part.share(part.missed), 0.02, &what);
    }
    table
}

/// By rule and by noise.
pub(crate) fn rules(_: &mut Promises) -> String {
    let mut table = tables::table(&[
        "rule and noise",
        "unchanged: red",
        "open",
        "lost: red",
        "open",
        "passes",
    ]);
    let names = [
        "and 2",
        "and 3",
        "or 2",
        "majority 3",
        "lexicographic 3",
        "routing 3",
        "sum 2",
    ];
    let five = (5, false);
    let mut add = |name: &str, cells: (&[(Combination, usize)], &[usize], &[f64])| {
        let unchanged = row(cells, five, Change::Nothing, ANY);
        let lost = row(cells, five, Change::Lost(1), ENOUGH);
        let _ = writeln!(
            table,
            "| {name} | {} |",
            percent(&[
                unchanged.share(unchanged.red),
                unchanged.share(unchanged.open),
                lost.share(lost.red),
                lost.share(lost.open),
                lost.share(lost.pass() + lost.blind),
            ])
        );
    };
    for (rule, name) in RULES.iter().zip(names) {
        add(name, (std::slice::from_ref(rule), &CASES, &NOISES));
    }
    for noise in NOISES {
        add(&format!("noise {noise}"), (&RULES, &CASES, &[noise]));
    }
    table
}
