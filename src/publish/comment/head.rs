//! The first lines: what happened, why, and what to do.

use std::collections::BTreeSet;

use crate::gate::Judgement;
use crate::gate::approval::{Approval, State};
use crate::gate::changes::CaseChange;
use crate::gate::flips;
use crate::gate::judgement::prose;
use crate::gate::look::GUARD;
use crate::gate::policy::Attention;
use crate::gate::verdict::{Cause, ReasonCode, Verdict, Word};
use crate::page::safe;
use crate::publish::Publication;

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
        (true, _) if verdict.tells(ReasonCode::OwnRules) => {
            ("⚠️", "passes under rules that this change made")
        }
        (true, Word::Pass) if verdict.is_thin() => ("⚠️", "passes on few pairs"),
        (true, Word::Pass) if verdict.tells(ReasonCode::Drift) => ("⚠️", "passes, and has drifted"),
        (true, Word::Pass) => ("✅", "pass"),
        (true, Word::NoBaseline) => ("⚪", "no baseline"),
        (true, Word::Inconclusive) => ("⚠️", "inconclusive, passes"),
        (true, Word::Unmeasured) => ("⚠️", "unmeasured, passes"),
        (true, Word::BaselineUnreachable) => ("⚠️", "baseline unreachable, passes by policy"),
        (true, Word::Regression) if judgement.is_approved() => ("✅", "regression, approved"),
        (true, Word::Regression) => ("⚠️", "regression, passes by policy"),
        (true, Word::PendingApproval) => ("⚠️", "approval asked for, passes by policy"),
        (false, Word::PendingApproval) => ("⏸️", "waiting for approval"),
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
    let answer = |text: &str| format!("*{}*", safe::markdown(&flips::bare(text), columns.min(60)));
    let lead = flips::lead(
        &judgement.flips,
        |item| safe::code(item, columns.min(60)),
        answer,
    );
    let reason = match lead {
        Some(lead) => format!("**{lead}**\n\n{reason}"),
        None => format!("**{reason}**"),
    };
    format!(
        "### {mark} Kelvin{name}: {word}{}{}\n\n{reason}\n\n{}\n",
        gist(judgement, columns),
        verdict
            .edits()
            .map_or_else(String::new, |edits| format!(", {edits}")),
        advice(publication, judgement, columns.min(60))
    )
}

/// What the first reason is about in a few words, so that a heading says what happened: it is all
/// that a list of notifications shows. A metric stands there only if it dropped.
fn gist(judgement: &Judgement, columns: usize) -> String {
    let verdict = &judgement.verdict;
    if matches!(verdict.verdict, Word::Pass | Word::NoBaseline) {
        return String::new();
    }
    let told: Vec<&str> = verdict
        .reasons
        .iter()
        .filter(|reason| reason.effect.is_some())
        .filter_map(|reason| reason.metric.as_deref())
        .collect();
    let beyond = |id: &str| {
        let metric = verdict.metrics.get(id);
        metric.is_some_and(|metric| metric.beyond().is_some())
    };
    let about = told
        .iter()
        .find(|id| beyond(id) || verdict.is_broken_in(id));
    match about.or(told.first()) {
        Some(id) if beyond(id) || !verdict.is_broken_in(id) => {
            let others: BTreeSet<&str> = told.iter().copied().filter(|id| beyond(id)).collect();
            figures(
                verdict,
                id,
                columns,
                others.iter().filter(|other| *other != id).count(),
            )
        }
        Some(id) => broken(verdict, id, columns),
        None => String::new(),
    }
}

/// A metric that dropped, with both values and how many more dropped beyond what is allowed.
fn figures(verdict: &Verdict, id: &str, columns: usize, more: usize) -> String {
    let Some(metric) = verdict.metrics.get(id) else {
        return String::new();
    };
    let id = safe::code(id, columns.min(60));
    let dropped = metric.drop.is_some_and(|drop| drop > GUARD);
    match (metric.base, metric.head) {
        (Some(base), Some(head)) if dropped => {
            let more = match more {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            format!(", {id} {base:.2} → {head:.2}{more}")
        }
        (_, Some(head)) if metric.cause == Cause::Minimum => format!(", {id} at {head:.2}"),
        _ => String::new(),
    }
}

/// The cases that broke in a metric whose mean does not show it.
fn broken(verdict: &Verdict, id: &str, columns: usize) -> String {
    let mut cases = verdict
        .broken_cases
        .iter()
        .filter(|case| case.certain && case.metric == id);
    let Some(first) = cases.next() else {
        return String::new();
    };
    let first = safe::code(&first.case, columns.min(60));
    match cases.count() {
        0 => format!(", case {first} broke"),
        more => format!(", case {first} and {more} more broke"),
    }
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
    let worst = judgement.cases.iter().find(|case| case.is_worse());
    let look = |case: &CaseChange| {
        let shown = publication
            .excerpts
            .iter()
            .find(|shown| shown.case == case.case);
        let first = || case.variants.first()?.variant.as_deref();
        let variant = shown.map(|shown| shown.variant.as_str()).or_else(first);
        let variant = variant.map_or_else(String::new, |variant| {
            format!(", variant {}", safe::code(variant, columns))
        });
        format!(
            "Look first at case {}{variant}.",
            safe::code(&case.case, columns)
        )
    };
    if let Some(approval) = &judgement.approval {
        return decision(approval);
    }
    match (judgement.verdict.verdict, worst) {
        _ if judgement.verdict.tells(ReasonCode::OwnRules) => {
            "Somebody who answers for the rules should look at the edit before it is merged."
                .to_owned()
        }
        (Word::Pass, _) if judgement.verdict.is_thin() => "So many inputs changed that a drop may \
                                  hide behind them: change cases and pipeline one after the other."
            .to_owned(),
        (Word::Pass, _) if judgement.verdict.tells(ReasonCode::Drift) => {
            "This change alone is within the limit: look at what was merged since the anchor."
                .to_owned()
        }
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
        (Word::Unmeasured, worst) => {
            let dropped = judgement.verdict.metrics.values();
            let mut dropped = dropped.filter(|metric| metric.policy != Attention::Info);
            let has_dropped = dropped.any(|metric| metric.beyond().is_some());
            let first = worst.filter(|_| has_dropped);
            let first = first.map_or_else(String::new, |case| format!("{} ", look(case)));
            format!(
                "{first}See below what failed; the log of the run has the last lines that the \
                 pipeline printed."
            )
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

/// What a reader does about a request for approval.
fn decision(approval: &Approval) -> String {
    let at = match &approval.comment {
        Some(url) => format!(
            " ([request]({}))",
            url.replace([' ', '(', ')', '<', '>'], "")
        ),
        None => String::new(),
    };
    let said = approval.ignored.iter().take(5);
    let said: String = said.map(|text| format!("\n- {}", prose(text))).collect();
    let said = match said.is_empty() {
        true => said,
        false => format!("\n\nWhat was said and does not count:\n{said}"),
    };
    let what = match approval.state {
        State::Pending => {
            "Somebody named above decides; the next run of this job takes the decision over"
        }
        State::Approved => "The lower figures become the base once this is merged",
        State::Rejected => "A new commit asks again",
        State::TimedOut => "Nothing is ever approved by waiting; a new commit asks again",
    };
    format!("{what}{at}.{said}")
}
