//! What the page shows below its cases: what failed, what was left out, and how to read it all.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::case::Budget;
use super::script;
use crate::notice::Notice;
use crate::probe::evidence::perturb;
use crate::report::safe;
use crate::report::summary::{BANDS, DISCLAIMER, Failed, Signal, Summary, label};

/// Failed invocations and notices of one code that a page lists.
const LISTED: usize = 200;

#[derive(Serialize)]
pub(super) struct Foot {
    diffs_left_out: usize,
    variants_left_out: usize,
    failed: usize,
    failures: Vec<Failure>,
    tallies: Vec<Tally>,
    kinds: Vec<(&'static str, &'static str, &'static str)>,
    bands: Vec<(String, &'static str, &'static str)>,
    facts: Vec<(&'static str, String)>,
    disclaimer: &'static str,
    version: String,
    script: &'static str,
}

#[derive(Serialize)]
struct Failure {
    case: String,
    anchor: usize,
    place: String,
    message: String,
    stderr: String,
    stdout: String,
}

#[derive(Serialize)]
struct Tally {
    counted: String,
    is_warning: bool,
    rows: Vec<Row>,
    more: usize,
}

/// A notice.
#[derive(Serialize)]
pub(super) struct Row {
    label: &'static str,
    place: Vec<String>,
    counts: Option<(u64, u64)>,
    text: String,
}

impl Foot {
    pub(super) fn of(
        summary: &Summary<'_>,
        places: &BTreeMap<&str, usize>,
        budget: &Budget<'_>,
    ) -> Self {
        let failure = |failed: &Failed<'_>| Failure {
            case: safe::cut(failed.case, 120),
            anchor: places.get(failed.case).copied().unwrap_or_default(),
            place: safe::cut(failed.place(), 120),
            message: safe::cut(&failed.failure.message, 400),
            stderr: safe::lines(&failed.failure.stderr),
            stdout: safe::lines(&failed.failure.stdout),
        };
        let tallies = summary.tallies.iter().map(|tally| Tally {
            counted: tally.counted(),
            is_warning: tally.code.is_warning(),
            rows: tally
                .notices
                .iter()
                .take(LISTED)
                .map(|one| Row::of(one))
                .collect(),
            more: tally.count.saturating_sub(LISTED),
        });
        Self {
            diffs_left_out: budget.diffs_left_out,
            variants_left_out: budget.variants_left_out,
            failed: summary.failed.len(),
            failures: summary.failed.iter().take(LISTED).map(failure).collect(),
            tallies: tallies.collect(),
            kinds: kinds(summary),
            bands: bands(),
            facts: facts(summary),
            disclaimer: DISCLAIMER,
            version: safe::cut(&summary.report.tool.version, 40),
            script: script::SCRIPT,
        }
    }
}

/// The kinds that this run made: name, what they do, what the decision ought to do.
fn kinds(summary: &Summary<'_>) -> Vec<(&'static str, &'static str, &'static str)> {
    let cases = summary.report.cases.values();
    let made: BTreeSet<&str> = cases
        .flat_map(|case| case.variants.iter().map(|variant| variant.kind.as_str()))
        .collect();
    let known = perturb::ALL
        .iter()
        .filter(|kind| made.contains(kind.name()));
    known
        .map(|kind| {
            let ought = match kind.figure().relation() {
                perturb::Relation::Invariance => "hold",
                perturb::Relation::Sensitivity => "move",
            };
            (kind.name(), kind.describe(), ought)
        })
        .collect()
}

/// The bands: from where, and the words of both signals.
fn bands() -> Vec<(String, &'static str, &'static str)> {
    let lows = BANDS.iter().map(|low| format!("{low:.2} and more"));
    let last = BANDS.last().map(|low| format!("less than {low:.2}"));
    lows.chain(last)
        .zip(Signal::Invariance.words())
        .zip(Signal::Following.words())
        .map(|((from, holds), moves)| (from, holds, moves))
        .collect()
}

fn facts(summary: &Summary<'_>) -> Vec<(&'static str, String)> {
    let run = &summary.report.run;
    let mut facts = vec![
        ("Decision field", safe::cut(&run.decision_field, 80)),
        (
            "Governing types",
            safe::cut(&run.governing_types.join(", "), 400),
        ),
        ("Scorer", safe::cut(&run.scorer, 80)),
        ("Seed", run.seed.to_string()),
        ("Repeats", run.repeats.to_string()),
        ("Started", safe::cut(&run.session.started_at, 40)),
    ];
    if let Some(commit) = &run.session.commit {
        let dirty = if run.session.dirty {
            ", with changes"
        } else {
            ""
        };
        facts.push(("Commit", format!("{}{dirty}", safe::cut(commit, 41))));
    }
    let prints = &run.fingerprints;
    facts.push(("Cases", prints.cases.short(16)));
    facts.push(("Configuration", prints.config.short(16)));
    facts.push(("Command", prints.command.short(16)));
    let pipeline = prints.pipeline.as_ref();
    facts.push((
        "Pipeline code",
        pipeline.map_or_else(|| "unknown".to_owned(), |print| print.short(16)),
    ));
    facts
}

impl Row {
    pub(super) fn of(notice: &Notice) -> Self {
        let place = [&notice.case, &notice.kind].into_iter().flatten();
        Self {
            label: label(notice.code),
            place: place.map(|part| safe::cut(part, 120)).collect(),
            counts: notice.wanted.zip(notice.got),
            text: safe::cut(&notice.text, 600),
        }
    }
}
