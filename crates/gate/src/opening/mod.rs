//! The opening of every page and screen about a verdict: the verdict, its subject, what happened, and what to do.

mod next;
mod page;

use std::collections::BTreeSet;

use super::changes::CaseChange;
use super::look::GUARD;
use super::policy::Attention;
use super::verdict::{Cause, Reason, ReasonCode, Status, Verdict, Word};
use super::{Judgement, sentence};
use crate::report::StoredVerdict;
use kelvin_page::{Phrase, Tone, are};
use kelvin_record::ItemComparison;

use next::next;
pub use next::part;
pub use page::{opening, opening_with};

/// The verdict in a few words, with a mark and its tone.
pub(crate) fn word(judgement: &Judgement) -> (Tone, &'static str, &'static str) {
    let verdict = &judgement.verdict;
    let warn = |word| (Tone::Caution, "⚠️", word);
    let fail = |word| (Tone::Alarm, "❌", word);
    let fine = |word| (Tone::Calm, "✅", word);
    match (verdict.passed, verdict.verdict) {
        (true, _) if verdict.tells(ReasonCode::OwnRules) => {
            warn("passes under rules that this change made")
        }
        (true, Word::Pass) if verdict.is_thin() => warn("passes on few pairs"),
        (true, Word::Pass) if verdict.tells(ReasonCode::Drift) => warn("passes, and has drifted"),
        (true, Word::Pass) if verdict.tells(ReasonCode::AddedBroken) => {
            warn("passes, but not what is new")
        }
        (true, Word::Pass) if verdict.tells(ReasonCode::EditsEvaluator) => {
            warn("passes by an evaluator that this change edits")
        }
        (true, Word::Pass) if verdict.has_lost_items() => warn("passes on what is left"),
        (true, Word::Pass) if verdict.tells_against(ReasonCode::Relabelled) => {
            warn("passes by the labels of the base")
        }
        (true, Word::Pass) if verdict.tells(ReasonCode::DoubtfulCases) => {
            warn("passes, and may have broken something")
        }
        (true, Word::Pass) => fine("pass"),
        (true, Word::Unaffected) => fine("unaffected"),
        (true, Word::NoBaseline) => (
            Tone::Caution,
            "⚪",
            "no baseline: nothing was compared, this passes",
        ),
        (true, Word::Inconclusive) => warn("inconclusive, passes"),
        (true, Word::Unmeasured) => warn("unmeasured, passes"),
        (true, Word::BaselineUnreachable) => warn("baseline unreachable, passes by policy"),
        (true, Word::Regression) if judgement.is_approved() => fine("regression, approved"),
        (true, Word::Regression) => warn("regression, passes by policy"),
        (true, Word::PendingApproval) => warn("approval asked for, passes by policy"),
        (false, Word::PendingApproval) => (Tone::Caution, "⏸️", "waiting for approval"),
        (false, Word::Pass | Word::Unaffected) => fail("fails"),
        (false, Word::NoBaseline) => fail("no baseline"),
        (false, Word::Inconclusive) => fail("inconclusive"),
        (false, Word::Unmeasured) => fail("unmeasured"),
        (false, Word::BaselineUnreachable) => fail("baseline unreachable"),
        (false, Word::Regression) => fail("regression"),
    }
}

/// The verdict in the form that is stored with the run.
pub fn stored(judgement: &Judgement) -> StoredVerdict {
    let (tone, _, words) = word(judgement);
    // A heading stands above its warnings, and a line of the history stands alone.
    let warning = match (tone, judgement.verdict.verdict, reason(judgement)) {
        (Tone::Calm, Word::Pass, Some(_)) => ", with a warning",
        _ => "",
    };
    StoredVerdict {
        passed: judgement.verdict.passed,
        words: format!("{words}{warning}"),
    }
}

/// The subject of the first reason in a few words, so that a heading says what happened, because a list of
/// notifications shows only the heading. A metric is named only if it dropped. Empty if there is nothing to add.
fn gist(judgement: &Judgement) -> Phrase {
    let verdict = &judgement.verdict;
    if verdict.verdict.is_fine() || verdict.verdict == Word::NoBaseline {
        return Phrase::default();
    }
    // Where a drop was found as well, that is what happened.
    let mut unfinished = judgement
        .comparisons
        .each()
        .flat_map(ItemComparison::unfinished);
    if verdict.verdict != Word::Regression
        && verdict.tells(ReasonCode::Unfinished)
        && let Some(run) = unfinished.next()
    {
        return run.headline;
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
    if let Some(gist) = about.or(told.first()).and_then(|id| of_type(verdict, id)) {
        return gist;
    }
    match about.or(told.first()) {
        Some(id) if beyond(id) || !verdict.is_broken_in(id) => {
            let others: BTreeSet<&str> = told.iter().copied().filter(|id| beyond(id)).collect();
            let others = others.iter().filter(|other| *other != id);
            figures(verdict, id, others.count())
        }
        Some(id) => broken(verdict, id),
        None => Phrase::default(),
    }
}

/// The words for a governing type that was lost, or decides less often than before.
fn of_type(verdict: &Verdict, id: &str) -> Option<Phrase> {
    let metric = verdict.metrics.get(id)?;
    let swaps = metric
        .swaps
        .as_ref()
        .filter(|_| metric.verdict == Word::Regression)?;
    let what = match swaps.status {
        Status::Lost => " is lost",
        _ => " decides less often",
    };
    Some(Phrase::of_name(&swaps.of_type).and(what))
}

/// The words for a metric that dropped, with both values and the number of other metrics that dropped too far.
fn figures(verdict: &Verdict, id: &str, more: usize) -> Phrase {
    let Some(metric) = verdict.metrics.get(id) else {
        return Phrase::default();
    };
    let dropped = metric.drop.is_some_and(|drop| drop > GUARD);
    match (metric.base, metric.head) {
        (Some(base), Some(head)) if dropped => {
            let more = match more {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            Phrase::of_name(id).and(format!(" {base:.2} → {head:.2}{more}"))
        }
        (_, Some(head)) if metric.cause == Cause::Minimum => {
            Phrase::of_name(id).and(format!(" at {head:.2}"))
        }
        _ => Phrase::default(),
    }
}

/// The words for the cases that broke in a metric whose mean does not show it.
fn broken(verdict: &Verdict, id: &str) -> Phrase {
    let mut cases = verdict
        .broken_cases
        .iter()
        .filter(|case| case.certain && case.metric == id);
    let Some(first) = cases.next() else {
        return Phrase::default();
    };
    let first = Phrase::text(format!("{} ", verdict.nouns_of(id).item)).name(&first.case);
    match cases.count() {
        0 => first.and(" broke"),
        more => first.and(format!(" and {more} more broke")),
    }
}

/// The first reason as a text for people; none if no reason counts against the change, in which case [`calm`] is shown.
fn reason(judgement: &Judgement) -> Option<&Reason> {
    let first = judgement.verdict.reasons.first();
    first.filter(|reason| reason.effect.is_some())
}

/// The text if no reason counts against the change.
fn calm(judgement: &Judgement) -> String {
    let gated = judgement
        .verdict
        .metrics
        .values()
        .filter(|metric| metric.policy == Attention::Gate)
        .count();
    let calm = match gated {
        1 => "The gated metric did not drop beyond what is allowed".to_owned(),
        count => format!("None of {count} gated metrics dropped beyond what is allowed"),
    };
    let listed = |names: Vec<&str>| -> Option<String> {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        (!names.is_empty()).then(|| sentence::names(&names))
    };
    // The improvements come first, unless some result is unknown.
    let turned = turned(judgement).map_or_else(String::new, |items| format!("; {items}"));
    let new: Vec<&str> = judgement.verdict.new_types().collect();
    let decide = if new.len() == 1 { "decides" } else { "decide" };
    let better = listed(new);
    let unseen = listed(judgement.verdict.unseen_types().collect());
    let better = better.map_or_else(String::new, |types| format!("{types} {decide} now. "));
    let unseen = unseen.map_or_else(String::new, |types| {
        format!("; this suite cannot see the loss of {types}")
    });
    let labels = match judgement.verdict.tells(ReasonCode::Relabelled) {
        true => ", by the labels of the base",
        false => "",
    };
    let at_worst =
        at_worst(&judgement.verdict).map_or_else(String::new, |text| format!("; {text}"));
    format!("{better}{calm}{labels}{turned}{unseen}{at_worst}")
}

/// The metrics of which no loss can be seen, since they are at their worst already; none if there are no such metrics.
fn at_worst(verdict: &Verdict) -> Option<String> {
    let mut metrics = verdict.at_worst();
    let first = sentence::name(metrics.next()?);
    Some(match metrics.count() {
        0 => format!("{first} is at its worst everywhere, so that no loss of it can be seen"),
        more => format!(
            "{first} and {more} more are at their worst everywhere, so that no loss of them can be seen"
        ),
    })
}

/// The items that are worse by at least half of the scale although no metric dropped beyond its limit, with the number
/// of items that are better by as much; none if no item is worse.
fn turned(judgement: &Judgement) -> Option<String> {
    let is_by_mean = |case: &&CaseChange| {
        let metric = judgement.verdict.metrics.get(&case.metric);
        metric.is_some_and(|metric| metric.swaps.is_none())
    };
    let by_half = judgement.cases.iter().filter(|case| case.is_by_half());
    let by_half: Vec<&CaseChange> = by_half.filter(is_by_mean).collect();
    let named = |is_worse: bool| -> BTreeSet<&str> {
        let of_kind = by_half.iter().filter(|case| case.is_worse() == is_worse);
        of_kind.map(|case| case.case.as_str()).collect()
    };
    let (worse, better) = (named(true), named(false));
    let names: Vec<String> = worse.iter().map(|name| (*name).to_owned()).collect();
    let better = match better.len() {
        0 => "none is better".to_owned(),
        1 => "1 is better".to_owned(),
        count => format!("{count} are better"),
    };
    let are = are(names.len());
    (!names.is_empty()).then(|| {
        format!(
            "{} {are} worse by half or more and {better} by as much",
            sentence::names(&names)
        )
    })
}
