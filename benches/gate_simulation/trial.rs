//! One gate in one world: the looks at all its metrics and the guard for broken cases, with all the calls
//! that they ask for.

use std::collections::BTreeMap;

use crate::gate::broken::{BrokenFinding, Demand, UsualBreaks};
use crate::gate::look::{Draws, Look, LookOutcome, PairedCase, PairedCell};
use crate::gate::looks::{GatedMetric, Looks, LooksStep, Means, Rerun};
use crate::probe::{Repeats, Wanted, WantedRepeats};
use crate::world::{CaseTruth, Chance, Truth, World};

/// The limit of a drop.
pub(crate) const MAX_DROP: f64 = 0.05;

/// How often an input of the head may be run, as the configuration has it.
const HEAD_RUNS: usize = 20;

/// What re-runs of a side may cost, in runs of the whole suite, as a command has it.
const RUNS_OF_THE_SUITE: f64 = 3.0;

/// What a gate has to work with.
#[derive(Clone, Copy)]
pub(crate) struct Base {
    /// How often the stored base was run.
    pub(crate) runs: usize,
    /// Whether it can be run again.
    pub(crate) can_be_run: bool,
    /// The standard deviation of how far its mean loss is from that of today.
    pub(crate) shift: f64,
    /// Whether the pipeline keeps its own answers, so that repeats of the head count as one.
    pub(crate) keeps: bool,
    /// Whether it keeps them for as long as a report takes, and nothing tells.
    pub(crate) keeps_unseen: bool,
    /// What re-runs of a side may cost, in runs of the whole suite.
    pub(crate) budget: f64,
    /// How many other reports of the same code are stored, each with as many runs and of a day of its own; today
    /// is one more day.
    pub(crate) others: usize,
}

impl Base {
    pub(crate) const fn stored(runs: usize) -> Self {
        Self {
            runs,
            can_be_run: false,
            shift: 0.0,
            keeps: false,
            keeps_unseen: false,
            budget: RUNS_OF_THE_SUITE,
            others: 0,
        }
    }

    /// With other stored reports of the same code.
    pub(crate) const fn beside(self, others: usize) -> Self {
        Self { others, ..self }
    }

    pub(crate) const fn run_again(runs: usize) -> Self {
        Self {
            can_be_run: true,
            ..Self::stored(runs)
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The outcome of each metric.
    pub(crate) outcomes: Vec<LookOutcome>,
    /// Whether the guard calls a case broken.
    pub(crate) broken: bool,
    /// The calls of both sides beside the first run of the head, in runs of the whole suite on every side that
    /// can be run; 1 where nothing was run again.
    pub(crate) cost: f64,
    /// Whether the threshold rule would have called the first metric.
    pub(crate) simple: bool,
}

impl Trial {
    pub(crate) fn is_red(&self) -> bool {
        self.broken || self.outcomes.contains(&LookOutcome::Regression)
    }

    pub(crate) fn is_green(&self) -> bool {
        !self.broken
            && self
                .outcomes
                .iter()
                .all(|outcome| *outcome == LookOutcome::Pass)
    }
}

/// The answers on one side of a case: whether each deviated.
#[derive(Clone, Default)]
struct Answers {
    input: Vec<bool>,
    own: Vec<Vec<bool>>,
    /// Whether every repeat is answered like the first call.
    keeps: bool,
}

impl Answers {
    /// Asks until there are so many; says how many calls that took.
    fn ask(&mut self, truth: &Truth, chance: &mut Chance, wanted: Repeats) -> usize {
        let mut calls = 0;
        let keeps = self.keeps;
        let mut answer = |so_far: &[bool], rate| match so_far.first() {
            Some(first) if keeps => *first,
            _ => chance.hits(rate),
        };
        while self.input.len() < wanted.input {
            let next = answer(&self.input, truth.rate);
            self.input.push(next);
            calls += 1;
        }
        self.own.resize(truth.cells.len(), Vec::new());
        for (cell, own) in truth.cells.iter().zip(&mut self.own) {
            while own.len() < wanted.variants {
                own.push(answer(own, cell.rate));
                calls += 1;
            }
        }
        calls
    }

    fn draws(&self, truth: &Truth, cell: usize) -> Draws {
        let bad = truth.cells[cell].bad;
        let loss = |own: bool, input: bool| Some(f64::from(u8::from(bad ^ own ^ input)));
        let pairs: Vec<Vec<Option<f64>>> = self.own[cell]
            .iter()
            .map(|own| self.input.iter().map(|input| loss(*own, *input)).collect())
            .collect();
        let values = pairs.iter().map(|own| own.first().copied().flatten());
        match self.input.len() < 2 && pairs.len() < 2 {
            true => values.collect::<Vec<Option<f64>>>().into(),
            false => Draws {
                values: values.collect(),
                pairs,
                ..Draws::default()
            },
        }
    }

    /// The same for a query, which has one input.
    fn of_query(&self, truth: &Truth, cell: usize) -> Draws {
        let bad = truth.cells[cell].bad;
        let own = self.own[cell].iter();
        let losses = own.map(|own| Some(f64::from(u8::from(bad ^ own))));
        losses.collect::<Vec<Option<f64>>>().into()
    }
}

/// Both sides of all cases, as far as they were asked.
struct Suite<'w> {
    world: &'w World,
    base: Vec<Answers>,
    head: Vec<Answers>,
    /// The truth of the base that the answers are of.
    base_truth: Vec<Truth>,
    /// The answers of other stored reports, each with its truth; none of a case once its base was run again.
    others: Vec<Vec<Option<(Truth, Answers)>>>,
    queries: usize,
    calls: usize,
}

impl<'w> Suite<'w> {
    fn all(world: &World) -> impl Iterator<Item = &CaseTruth> {
        world.cases.iter().chain(&world.queries)
    }

    fn begin(world: &'w World, stored: &[World], chance: &mut Chance, base: Base) -> Self {
        let unasked = Answers {
            keeps: base.keeps_unseen,
            ..Answers::default()
        };
        let count = world.cases.len() + world.queries.len();
        let mut suite = Self {
            world,
            base: vec![unasked.clone(); count],
            head: vec![unasked.clone(); count],
            base_truth: Self::all(&stored[0])
                .map(|case| case.base.clone())
                .collect(),
            others: Vec::new(),
            queries: world.queries.len(),
            calls: 0,
        };
        for at in 0..count {
            let truth = suite.base_truth[at].clone();
            suite.base[at].ask(&truth, chance, Repeats::of_all(base.runs));
        }
        for (at, case) in Self::all(world).enumerate() {
            suite.head[at].ask(&case.head, chance, Repeats::of_all(1));
        }
        for other in &stored[1..] {
            let of_case = Self::all(other).map(|case| {
                let mut answers = unasked.clone();
                answers.ask(&case.base, chance, Repeats::of_all(base.runs));
                Some((case.base.clone(), answers))
            });
            suite.others.push(of_case.collect());
        }
        suite
    }

    fn run(&mut self, chance: &mut Chance, rerun: &Rerun, fresh: &mut [bool]) {
        let all: Vec<&CaseTruth> = Self::all(self.world).collect();
        for (name, wanted) in &rerun.base {
            let at = place(name);
            if !std::mem::replace(&mut fresh[at], true) {
                self.base[at] = Answers::default();
                self.base_truth[at] = all[at].base.clone();
                self.others.iter_mut().for_each(|other| other[at] = None);
            }
            self.calls += self.base[at].ask(&all[at].base, chance, each(wanted));
        }
        for (name, wanted) in &rerun.head {
            let at = place(name);
            self.calls += self.head[at].ask(&all[at].head, chance, each(wanted));
        }
    }

    /// How many calls a run of everything takes on a side.
    fn once(&self) -> usize {
        let cases = self.world.cases.iter();
        let inputs: usize = cases.map(|case| 1 + case.head.cells.len()).sum();
        inputs + self.queries
    }

    fn subjects(&self, metrics: usize) -> BTreeMap<String, GatedMetric> {
        let of_metric = |metric: usize| {
            let is_query = metric > 1;
            let first = if is_query { self.world.cases.len() } else { 0 };
            let truths = if is_query {
                &self.world.queries
            } else {
                &self.world.cases
            };
            let cases = truths.iter().enumerate().map(|(at, truth)| {
                let at = first + at;
                let cells = truth.head.cells.iter().enumerate();
                let of_it = cells.filter(|(_, cell)| cell.metric == metric);
                let cells = of_it.map(|(cell, _)| {
                    let draws = |truth: &Truth, answers: &Answers| match is_query {
                        true => answers.of_query(truth, cell),
                        false => answers.draws(truth, cell),
                    };
                    let others = self.others.iter().filter_map(|other| other[at].as_ref());
                    let others = others.map(|(truth, answers)| draws(truth, answers));
                    let own = draws(&self.base_truth[at], &self.base[at]);
                    let mut reports: Vec<Draws> = [own].into_iter().chain(others).collect();
                    PairedCell {
                        base: match reports.len() {
                            1 => reports.remove(0),
                            _ => Draws::joined(reports, !is_query),
                        },
                        head: draws(&truth.head, &self.head[at]),
                    }
                });
                PairedCase {
                    cells: cells.collect(),
                    weight: 1.0,
                    variants: if is_query { 0 } else { truth.head.cells.len() },
                    crosses: !is_query,
                }
            });
            let subject = GatedMetric {
                names: (0..truths.len()).map(|at| name(first + at)).collect(),
                cases: cases.collect(),
                max_drop: MAX_DROP,
                widest: 1.0,
                is_failure_rate: false,
                by_rank: false,
                cannot_rerun: false,
                exact_at: None,
            };
            (format!("m{metric}"), subject)
        };
        (0..metrics).map(of_metric).collect()
    }
}

/// Lets a gate judge a world.
pub(crate) fn judge(world: &World, chance: &mut Chance, base: Base, metrics: usize) -> Trial {
    let has_days = base.shift > 0.0;
    let today = match has_days && base.others > 0 {
        true => chance.normal(),
        false => 0.0,
    };
    let report = |chance: &mut Chance| match has_days {
        true => {
            let shift = base.shift * (chance.normal() - today);
            world.of_another_day(chance, shift)
        }
        false => world.clone(),
    };
    let stored: Vec<World> = (0..=base.others).map(|_| report(chance)).collect();
    let mut suite = Suite::begin(world, &stored, chance, base);
    let mut fresh = vec![false; suite.base.len()];
    let means = Means {
        head_runs: HEAD_RUNS,
        base: base.can_be_run,
    };
    let sides = 1 + usize::from(base.can_be_run);
    let budget = (base.budget * (sides * suite.once()) as f64) as usize;
    let mut looks = Looks::new(means, false, 0.1);
    looks.answers_are_kept(base.keeps);
    let first = suite.subjects(metrics);
    let simple = simple_rule(&first["m0"].cases);
    let decisions = loop {
        let subjects = suite.subjects(metrics);
        match looks.next(&subjects, budget - suite.calls) {
            LooksStep::Decided(decisions) => break decisions,
            // The pipeline would say the same again, and that would count as one run.
            LooksStep::Rerun(_) if base.keeps => break looks.give_up(&subjects),
            LooksStep::Rerun(rerun) => suite.run(chance, &rerun, &mut fresh),
        }
    };
    let look = |decision: &crate::gate::looks::MetricDecision| -> Look {
        decision.look.clone().expect("every case was measured")
    };
    let outcomes: Vec<LookOutcome> = decisions.values().map(|one| look(one).outcome).collect();
    let broken = !base.keeps && guard(&mut suite, chance, &outcomes, &mut fresh);
    Trial {
        outcomes,
        broken,
        cost: 1.0 + suite.calls as f64 / (sides * suite.once()) as f64,
        simple,
    }
}

/// The looks at means ask for all variants alike.
const fn each(wanted: &Wanted) -> Repeats {
    Repeats {
        input: wanted.input,
        variants: wanted.variants,
    }
}

/// Whether the guard calls a case broken, in a metric that is no regression already.
fn guard(
    suite: &mut Suite<'_>,
    chance: &mut Chance,
    outcomes: &[LookOutcome],
    fresh: &mut [bool],
) -> bool {
    loop {
        let subjects = suite.subjects(outcomes.len());
        let mut wanted = WantedRepeats::new();
        for (subject, outcome) in subjects.values().zip(outcomes) {
            if *outcome == LookOutcome::Regression {
                continue;
            }
            let guard = UsualBreaks::of(&subject.cases, subjects.len(), (false, Demand::default()));
            for (name, case) in subject.names.iter().zip(&subject.cases) {
                match guard.judge(case, true) {
                    BrokenFinding::Broken { .. } => return true,
                    BrokenFinding::Rerun(runs) => {
                        let most = wanted.entry(name.clone()).or_default();
                        most.raise(&Repeats::of_all(runs).into());
                    }
                    BrokenFinding::Clear | BrokenFinding::Suspected { .. } => {}
                }
            }
        }
        if wanted.is_empty() {
            return false;
        }
        let rerun = Rerun {
            base: WantedRepeats::new(),
            head: wanted,
        };
        suite.run(chance, &rerun, fresh);
    }
}

/// Whether one run on each side differs by more than the limit.
fn simple_rule(cases: &[PairedCase]) -> bool {
    let mean = |of: fn(&PairedCell) -> Option<f64>| {
        let losses = cases.iter().flat_map(|case| &case.cells).filter_map(of);
        let losses: Vec<f64> = losses.collect();
        losses.iter().sum::<f64>() / losses.len() as f64
    };
    mean(|cell| once(&cell.head)) - mean(|cell| once(&cell.base)) > MAX_DROP + 1e-9
}

/// The loss of the first run.
fn once(draws: &Draws) -> Option<f64> {
    match draws.pairs.first() {
        Some(own) => own[0],
        None => draws.values[0],
    }
}

/// The name of a case, by its place.
pub(crate) fn name(at: usize) -> String {
    format!("{at:04}")
}

fn place(name: &str) -> usize {
    name.parse().expect("names are numbers")
}
