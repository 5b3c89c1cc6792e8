//! How long it takes to compare two reports of 1,000 cases with 30 variants and 5 repeats on both
//! sides and to judge them, and how much memory: at most 2 s and 500 MB, or it fails.
//!
//! `cargo bench --bench compare_scale`

#![allow(
    dead_code,
    unused_imports,
    reason = "the engine's modules are taken whole"
)]
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the benchmark is for"
)]

mod baseline;
mod config;
#[path = "../../src/digest/mod.rs"]
mod digest;
#[path = "../../src/exit.rs"]
mod exit;
#[path = "../../src/gate/mod.rs"]
mod gate;
mod probe;
mod report;
#[path = "../../src/stats/mod.rs"]
mod stats;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use baseline::compare::{Measured, compare};
use digest::Digest;
use gate::policy::Policy;
use gate::{Gate, Next};
use probe::{CaseValue, Cell, Metric};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const CASES: usize = 1_000;
const VARIANTS: usize = 30;
const REPEATS: usize = 5;
const ROUNDS: usize = 7;
const MOST_SECONDS: f64 = 2.0;
const MOST_MEGABYTES: f64 = 500.0;

fn main() -> ExitCode {
    let (base, head) = (metrics(1, 0.10), metrics(2, 0.16));
    let mut seconds: Vec<f64> = (0..ROUNDS).map(|_| judged(&base, &head)).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let median = seconds[ROUNDS / 2];
    println!(
        "{CASES} cases, {VARIANTS} variants, {REPEATS} repeats on both sides, {ROUNDS} rounds"
    );
    println!(
        "compare and judge: median {median:.3} s, {:.3} to {:.3} s",
        seconds[0],
        seconds[ROUNDS - 1]
    );
    let megabytes = peak_megabytes();
    match megabytes {
        Some(megabytes) => println!("peak memory with both sides in it: {megabytes:.0} MB"),
        None => println!("peak memory: not told by this system"),
    }
    if median > MOST_SECONDS || megabytes.is_some_and(|megabytes| megabytes > MOST_MEGABYTES) {
        println!("too much: {MOST_SECONDS} s and {MOST_MEGABYTES} MB are allowed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Compares and judges once; how many seconds that took.
fn judged(base: &BTreeMap<String, Metric>, head: &BTreeMap<String, Metric>) -> f64 {
    let started = Instant::now();
    let comparison = compare(&side(base), &side(head));
    let policy = Policy::default();
    let next = Gate::new(&policy, false, false, None).next(&comparison);
    let seconds = started.elapsed().as_secs_f64();
    let Next::Verdict(verdict) = next else {
        panic!("nothing can be run again");
    };
    assert!(!verdict.passed && verdict.metrics.len() == 2, "{verdict:?}");
    seconds
}

fn side(metrics: &BTreeMap<String, Metric>) -> Measured<'_> {
    let names = metrics["evidence.invariance"].per_case.keys();
    Measured {
        metrics,
        inputs: names
            .map(|name| (name.as_str(), Digest::of(name.as_bytes())))
            .collect(),
        only: &[],
    }
}

/// Two metrics that share the variants, with this share of bad cells.
fn metrics(seed: u64, bad: f64) -> BTreeMap<String, Metric> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    [
        ("evidence.invariance", 0..18),
        ("evidence.sensitivity", 18..VARIANTS),
    ]
    .into_iter()
    .map(|(id, variants)| {
        let mut metric = Metric::new(Ok(1.0 - bad), CASES * variants.len() * REPEATS, 0);
        metric.gated = true;
        metric.per_case = (0..CASES)
            .map(|case| {
                (
                    format!("case-{case:04}"),
                    case_value(&mut rng, case, variants.clone(), bad),
                )
            })
            .collect();
        (id.to_owned(), metric)
    })
    .collect()
}

fn case_value(
    rng: &mut ChaCha8Rng,
    case: usize,
    variants: std::ops::Range<usize>,
    bad: f64,
) -> CaseValue {
    let mut unit = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let cells: BTreeMap<String, Cell> = variants
        .map(|variant| {
            let values = (0..REPEATS)
                .map(|_| Some(f64::from(u8::from(unit() >= bad))))
                .collect();
            let input = Digest::of(format!("{case} {variant}").as_bytes());
            (format!("variant-{variant:02}"), Cell { input, values })
        })
        .collect();
    let all: Vec<f64> = cells
        .values()
        .flat_map(|cell| cell.values.iter().flatten())
        .copied()
        .collect();
    CaseValue {
        value: stats::mean(&all),
        n: all.len(),
        repeats: Vec::new(),
        cells,
    }
}

/// The largest resident set so far, where the system tells it.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1_024.0)
}
