mod boundaries;
mod evaluators;
mod policies;
mod properties;
mod sentences;

use std::collections::BTreeMap;

use super::looks::Rerun;
use super::policy::{Attention, Effect, MetricPolicy, OnSuspected, Policy, Rule};
use super::verdict::{Cause, Verdict, Word};
use super::{Gate, Next};
use crate::compare::{Measured, compare};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Exit;
use kelvin_record::{CaseValue, Cell, ComparedItem, ComparedItems, Metric, probe_of};

/// A report as far as the gate sees it: its metrics, and the text of its cases.
#[derive(Clone, Debug, Default)]
struct Report {
    metrics: BTreeMap<String, Metric>,
    texts: BTreeMap<String, String>,
}

impl Report {
    /// Adds a gated metric whose cells have these values, by case, cell and repeat.
    fn with(mut self, id: &str, cases: &[(&str, Vec<Vec<Option<f64>>>)]) -> Self {
        let all: Vec<f64> = cases
            .iter()
            .flat_map(|(_, cells)| cells.iter().flatten().flatten().copied())
            .collect();
        let value = kelvin_base::stats::mean(&all).ok_or_else(|| "nothing was run".to_owned());
        let mut metric = Metric::new(value, all.len(), 0);
        metric.gated = true;
        for (name, cells) in cases {
            self.texts.entry((*name).to_owned()).or_default();
            metric
                .per_case
                .insert((*name).to_owned(), case_value(name, cells));
        }
        self.metrics.insert(id.to_owned(), metric);
        self
    }

    /// Turns a metric: lower is better.
    fn lower(mut self, id: &str) -> Self {
        let metric = self.metrics.remove(id).unwrap().lower_is_better();
        self.metrics.insert(id.to_owned(), metric);
        self
    }

    /// Takes a case away.
    fn without(mut self, case: &str) -> Self {
        self.texts.remove(case);
        for metric in self.metrics.values_mut() {
            metric.per_case.remove(case);
        }
        self
    }

    fn side(&self) -> Measured<'_> {
        let item = |text: &String| ComparedItem {
            digest: Digest::of(text.as_bytes()),
            counts_once: false,
            variants: BTreeMap::new(),
        };
        let texts = self.texts.iter();
        let items = ComparedItems {
            are_of_others: false,
            nouns: ("case", "cases").into(),
            settings: None,
            by_name: texts
                .map(|(name, text)| (name.as_str(), item(text)))
                .collect(),
        };
        let probes = self.metrics.keys().map(|id| probe_of(id));
        Measured {
            answered: BTreeMap::new(),
            metrics: &self.metrics,
            items: probes.map(|probe| (probe, items.clone())).collect(),
            only: &[],
            shard: None,
        }
    }
}

fn case_value(name: &str, cells: &[Vec<Option<f64>>]) -> CaseValue {
    let all: Vec<f64> = cells.iter().flatten().flatten().copied().collect();
    CaseValue {
        value: kelvin_base::stats::mean(&all),
        n: all.len(),
        repeats: Vec::new(),
        cells: cells
            .iter()
            .enumerate()
            .map(|(at, values)| {
                let cell = Cell {
                    input: Digest::of(format!("{name} {at}").as_bytes()),
                    values: values.clone(),
                    pairs: None,
                };
                (format!("variant-{at:02}").into(), cell)
            })
            .collect(),
    }
}

/// Nine cells of which the last `bad` are 0 and the others 1, so often.
fn nine(bad: usize, repeats: usize) -> Vec<Vec<Option<f64>>> {
    (0..9)
        .map(|cell| vec![Some(f64::from(u8::from(cell + bad < 9))); repeats])
        .collect()
}

/// So many cases, of which the first `moved` have `bad` bad cells of nine.
fn suite(count: usize, moved: usize, bad: usize, repeats: usize) -> Report {
    let names: Vec<String> = (0..count).map(|at| format!("case-{at:02}")).collect();
    let cases: Vec<(&str, Vec<Vec<Option<f64>>>)> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            (
                name.as_str(),
                nine(if at < moved { bad } else { 0 }, repeats),
            )
        })
        .collect();
    Report::default().with("m", &cases)
}

/// The verdict where nothing can be run again.
fn stored(policy: &Policy, base: &Report, head: &Report) -> Verdict {
    let comparison = compare(&base.side(), &head.side());
    match Gate::new(policy, false, false, None).next(&comparison, 0) {
        Next::Verdict(verdict) => *verdict,
        Next::Rerun(rerun) => panic!("asked for a re-run that is not possible: {rerun:?}"),
    }
}

/// The verdict where `run` gives the head after so many runs of the given cases; and what was asked.
fn rerun(
    policy: &Policy,
    base: &Report,
    head: &Report,
    run: impl Fn(&Rerun) -> Report,
) -> (Verdict, Vec<Rerun>) {
    let mut gate = Gate::new(policy, true, false, None);
    let mut head = head.clone();
    let mut asked = Vec::new();
    loop {
        assert!(asked.len() < 20, "it asks for ever: {asked:?}");
        match gate.next(&compare(&base.side(), &head.side()), 10_000) {
            Next::Verdict(verdict) => return (*verdict, asked),
            Next::Rerun(rerun) => {
                assert!(rerun.base.is_empty());
                head = run(&rerun);
                asked.push(rerun);
            }
        }
    }
}

/// How often the case is to be run that is to be run most often.
fn most_runs(rerun: &Rerun) -> usize {
    rerun
        .head
        .values()
        .map(|runs| runs.input)
        .max()
        .unwrap_or(0)
}

/// One run tells.
fn exact() -> Policy {
    Policy {
        deterministic: true,
        ..Policy::default()
    }
}

/// One case with one cell.
fn single(id: &str, value: f64) -> Report {
    Report::default().with(id, &[("c", vec![vec![Some(value)]])])
}

/// Gates a metric whatever its size.
fn gating(policy: Policy, id: &str) -> Policy {
    with_metric(
        policy,
        id,
        MetricPolicy {
            policy: Some(Attention::Gate),
            ..MetricPolicy::default()
        },
    )
}

fn with_metric(mut policy: Policy, id: &str, metric: MetricPolicy) -> Policy {
    policy.metrics.insert(id.to_owned(), metric);
    policy
}
