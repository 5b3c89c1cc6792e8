//! The first lines: what happened, why, and what to do.

use crate::baseline::compare::Change;
use crate::gate::Judgement;
use crate::gate::judgement::{CaseChange, prose};
use crate::gate::policy::Attention;
use crate::gate::verdict::Word;
use crate::publish::Publication;
use crate::report::safe;

/// The first lines are at most so many bytes long, whatever others wrote into them.
const HEAD: usize = 1_650;

/// The first lines, with names and the reason cut as far as it takes.
pub(super) fn head(publication: &Publication<'_>) -> String {
    const COLUMNS: [usize; 4] = [400, 120, 60, 20];
    COLUMNS
        .iter()
        .map(|columns| verdict(publication, *columns))
        .find(|head| head.len() <= HEAD)
        .unwrap_or_else(|| verdict(publication, 10))
}

/// The verdict with its reason in one line, and what to do in the next.
fn verdict(publication: &Publication<'_>, columns: usize) -> String {
    let Some(judgement) = publication.judgement else {
        return "### Kelvin: measured\n\nNothing was compared in this run.\n".to_owned();
    };
    let verdict = &judgement.verdict;
    let (mark, word) = match (verdict.passed, verdict.verdict) {
        (true, Word::Pass) if verdict.is_thin() => ("⚠️", "passes on few pairs"),
        (true, Word::Pass) => ("✅", "pass"),
        (true, Word::NoBaseline) => ("⚪", "no baseline"),
        (true, Word::Inconclusive) => ("⚠️", "inconclusive, passes"),
        (true, Word::Unmeasured) => ("⚠️", "unmeasured, passes"),
        (true, Word::BaselineUnreachable) => ("⚠️", "baseline unreachable, passes by policy"),
        (true, Word::Regression) => ("⚠️", "regression, passes by policy"),
        (false, Word::Pass) => ("❌", "fails"),
        (false, Word::NoBaseline) => ("❌", "no baseline"),
        (false, Word::Inconclusive) => ("❌", "inconclusive"),
        (false, Word::Unmeasured) => ("❌", "unmeasured"),
        (false, Word::BaselineUnreachable) => ("❌", "baseline unreachable"),
        (false, Word::Regression) => ("❌", "regression"),
    };
    let name = match publication.context.configuration.as_str() {
        "" | "kelvin" => String::new(),
        name => format!(" ({})", safe::markdown(name, columns.min(40))),
    };
    let reason = match verdict.reasons.first() {
        Some(reason) if reason.effect.is_some() => prose(&safe::cut(&reason.text, columns)),
        _ => calm(judgement),
    };
    format!(
        "### {mark} Kelvin{name}: {word}{}{}\n\n**{reason}**\n\n{}\n",
        gist(judgement, columns),
        verdict
            .edits()
            .map_or_else(String::new, |edits| format!(", {edits}")),
        advice(publication, judgement, columns.min(60))
    )
}

/// The metric of the first reason in two figures, so that a heading says what happened: it is all
/// that a list of notifications shows.
fn gist(judgement: &Judgement, columns: usize) -> String {
    let verdict = &judgement.verdict;
    if !matches!(verdict.verdict, Word::Regression | Word::Inconclusive) {
        return String::new();
    }
    let mut moved = verdict
        .reasons
        .iter()
        .filter(|reason| reason.effect.is_some())
        .filter_map(|reason| reason.metric.as_ref());
    let Some(first) = moved.next() else {
        return String::new();
    };
    let Some(metric) = verdict.metrics.get(first) else {
        return String::new();
    };
    let (Some(base), Some(head)) = (metric.base, metric.head) else {
        return String::new();
    };
    let more = match moved.filter(|id| *id != first).count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let id = safe::code(first, columns.min(60));
    format!(", {id} {base:.2} → {head:.2}{more}")
}

/// What is said where there is no reason to say anything.
fn calm(judgement: &Judgement) -> String {
    let gated = judgement
        .verdict
        .metrics
        .values()
        .filter(|metric| metric.policy == Attention::Gate)
        .count();
    match gated {
        1 => "The gated metric did not drop beyond what is allowed".to_owned(),
        count => format!("None of {count} gated metrics dropped beyond what is allowed"),
    }
}

/// What a reader does next.
fn advice(publication: &Publication<'_>, judgement: &Judgement, columns: usize) -> String {
    let worst = judgement
        .cases
        .iter()
        .find(|case| matches!(case.change, Change::Regression | Change::Loss));
    let look = |case: &CaseChange| {
        let shown = publication
            .excerpts
            .iter()
            .find(|shown| shown.case == case.case);
        let first = || case.flipped.first().and_then(|text| text.split(' ').next());
        let variant = shown.map(|shown| shown.variant.as_str()).or_else(first);
        let variant = variant.map_or_else(String::new, |variant| {
            format!(", variant {}", safe::code(variant, columns))
        });
        format!(
            "Look first at case {}{variant}.",
            safe::code(&case.case, columns)
        )
    };
    match (judgement.verdict.verdict, worst) {
        (Word::Pass, _) if judgement.verdict.is_thin() => "So many inputs changed that a drop may \
                                  hide behind them: change cases and pipeline one after the other."
            .to_owned(),
        (Word::Pass, _) if judgement.verdict.passed => "Nothing to do.".to_owned(),
        (Word::NoBaseline, _) => "A run on the base branch keeps a report to compare with; until \
                                  then nothing is gated."
            .to_owned(),
        (Word::BaselineUnreachable, _) => {
            "Mend what is named above, then run the job again: until \
                                           the base can be asked, nobody knows whether this change \
                                           made anything worse. `baseline: {unreachable: warn}` \
                                           would let such a run pass."
                .to_owned()
        }
        (Word::Unmeasured, _) => {
            "See below what failed; the log of the run has the last lines that \
                                  the pipeline printed."
                .to_owned()
        }
        (Word::Inconclusive, Some(case)) => format!(
            "It may be noise. {} Running the job again, a larger `budget`, or more cases would tell.",
            look(case)
        ),
        (Word::Inconclusive, None) => {
            "Running the job again, a larger `budget`, or more cases would tell.".to_owned()
        }
        (_, Some(case)) => look(case),
        (_, None) => "The table shows which metric it is.".to_owned(),
    }
}
