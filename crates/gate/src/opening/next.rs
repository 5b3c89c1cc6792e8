//! The next step for a reader.

use crate::Judgement;
use crate::answers::ChangedAnswers;
use crate::approval::{Approval, State};
use crate::changes::CaseChange;
use crate::differences::Difference;
use crate::policy::Attention;
use crate::verdict::{BrokenCase, Cause, CellCounts, MetricVerdict, ReasonCode, Verdict, Word};
use kelvin_page::{Phrase, and_more};
use kelvin_record::{Nouns, probe_of};

/// The next step for a reader, in sentences. For an approval it is one sentence without its full stop, since a page may
/// add where to approve.
pub(super) fn next(judgement: &Judgement) -> Phrase {
    if let Some(approval) = &judgement.approval {
        return Phrase::text(decision(approval));
    }
    let verdict = &judgement.verdict;
    let all = verdict.common_nouns().items;
    let worst = judgement.cases.iter().find(|case| case.is_worse());
    let more_would_tell = |begun: Phrase| {
        if cannot_rerun(verdict) {
            return begun.and(format!(
                "Nothing here can run again what an earlier step has left: several answers to each of the {all} in it, \
                 more {all}, or a command that the gate can start would tell more."
            ));
        }
        begun
            .and("Running the pipeline again, a larger ")
            .name("budget")
            .and(format!(", or more {all} would decide."))
    };
    match (verdict.verdict, worst) {
        _ if verdict.passed && verdict.tells(ReasonCode::OwnRules) => Phrase::text(
            "Somebody who is responsible for the rules should look at the edit before it is merged.",
        ),
        (Word::Inconclusive, _) if verdict.tells(ReasonCode::OrderMatters) => Phrase::text(
            "Nothing is compared safely as long as answers depend on the order of the calls: look for what the pipeline \
             keeps from one call to the next.",
        ),
        (Word::Inconclusive, _) if verdict.tells(ReasonCode::OneForAll) => Phrase::text(format!(
            "Read what the pipeline answers now: no metric looks at what these answers say. If one answer for all {all} \
             is right, labels that say so let this pass.",
        )),
        (Word::Inconclusive, _) if verdict.tells(ReasonCode::UnscoredAnswers) => Phrase::text(
            "Look whether what scores the answers has changed too: a scorer may lie in a file that its command only imports. \
             If the new answers are as right as those that are expected, this may be merged.",
        ),
        (Word::Inconclusive, _) if verdict.tells(ReasonCode::LessSteady) => Phrase::text(
            "Look for what makes the pipeline answer the same input in different ways: on the base it does not. A new \
             temperature, an order that is left to chance or a call that fails now and then can do that.",
        ),
        (Word::Pass, _) if verdict.is_thin() => Phrase::text(
            format!("So many inputs changed that a drop may hide behind them: change {all} and pipeline one after the other."),
        ),
        (Word::Pass, _) if verdict.tells(ReasonCode::Drift) => Phrase::text(
            "This change alone is within the limit: look at what was merged since the anchor.",
        ),
        (Word::Pass | Word::Inconclusive, _) if verdict.tells(ReasonCode::Unfinished) => {
            Phrase::text(UNFINISHED)
        }
        (Word::Pass, _) if verdict.passed => match verdict.broken_cases.first() {
            None => match worst_by_half(judgement) {
                Some(case) => look(judgement, case).and(
                    " It is worse than on the base by half or more, which a mean over all hides.",
                ),
                None => fine(judgement),
            },
            Some(broken) => may_have_broken(verdict, broken),
        },
        (Word::Unaffected, _) => Phrase::text("Nothing to do."),
        // If the baseline is turned off, no source was asked.
        (Word::NoBaseline, _) if judgement.tried.is_empty() => Phrase::text(
            "Nothing is gated as long as the baseline is turned off in the configuration.",
        ),
        (Word::NoBaseline, _) => Phrase::text(
            "A run on the base branch keeps a report to compare with; until then nothing is gated.",
        ),
        (Word::BaselineUnreachable, _) => Phrase::text(
            "Fix what is named above, then run the job again: until the base can be asked, nobody knows \
             whether this change made anything worse. ",
        )
        .setting("baseline: {unreachable: warn}")
        .and(" would let such a run pass."),
        (Word::Unmeasured, worst) => {
            let mut dropped = verdict
                .metrics
                .values()
                .filter(|metric| metric.policy != Attention::Info);
            let has_dropped = dropped.any(|metric| metric.beyond().is_some());
            let first = worst.filter(|_| has_dropped);
            let begun = first.map_or_else(Phrase::default, |case| look(judgement, case).and(" "));
            unmeasured(verdict, begun)
        }
        (Word::Inconclusive, worst) if !may_be_noise(verdict) => {
            let begun = worst.map_or_else(Phrase::default, |case| look(judgement, case).and(" "));
            undecided_by_runs(verdict, begun)
        }
        // The result does not depend on noise, so more runs of the change alone would lead to the same result.
        (Word::Inconclusive, Some(_)) if verdict.tells(ReasonCode::DoubtfulCases) => {
            match verdict.broken_cases.first() {
                Some(broken) => may_have_broken(verdict, broken),
                None => more_would_tell(Phrase::default()),
            }
        }
        (Word::Inconclusive, Some(case)) => {
            let begun = Phrase::text("It may be noise. ").then(look(judgement, case));
            more_would_tell(begun.and(" "))
        }
        (Word::Inconclusive, None) => {
            let advice = about_answers(verdict);
            let begun = advice.map_or_else(Phrase::default, |advice| advice.and(" "));
            // No further run of the others tells what became of a value that is lost.
            let open = gated(verdict).filter(|(_, metric)| metric.verdict == Word::Inconclusive);
            let mut open = open.peekable();
            match open.peek().is_some() && open.all(|(_, metric)| !metric.lost.is_empty()) {
                true => begun
                    .then(missing(verdict))
                    .and(" If a call failed by chance, another run gives it back."),
                false => more_would_tell(begun),
            }
        }
        (_, Some(case)) => {
            look(judgement, case)
        }
        (_, None) => beside_figures(verdict)
            .unwrap_or_else(|| Phrase::text("The table shows which metric fails the gate.")),
    }
}

/// The next step if a case may have broken, but the usual noise of the base is not known well enough to be certain.
fn may_have_broken(verdict: &Verdict, broken: &BrokenCase) -> Phrase {
    let Nouns { item, items } = verdict.nouns_of(&broken.metric);
    Phrase::text(format!("Look at {item} "))
        .name(&broken.case)
        .and(format!(": it may have broken, and a mean over all {items} hides one. Where the same input always gets the same answer, "))
        .setting("gate: {deterministic: true}")
        .and(" decides; else ")
        .setting("baseline: {repeats: 5}")
        .and(" tells what is usual on the base.")
}

/// The next step if no metric fails the gate, so that no table can show the cause.
fn beside_figures(verdict: &Verdict) -> Option<Phrase> {
    if gated(verdict).any(|(_, metric)| metric.verdict >= Word::Regression) {
        return None;
    }
    if let Some(broken) = verdict.broken_cases.iter().find(|case| case.certain) {
        let item = verdict.nouns_of(&broken.metric).item;
        let look = Phrase::text(format!("Look first at {item} "));
        return Some(look.name(&broken.case).and("."));
    }
    about_answers(verdict)
}

/// Where to look at answers that differ from those of the base. Labels would add nothing where a metric of the probe
/// says already what its answers are worth, as checks and grades do.
fn about_answers(verdict: &Verdict) -> Option<Phrase> {
    verdict.answers.iter().find_map(|(probe, changed)| {
        let moves = |(id, metric): (&String, &MetricVerdict)| {
            probe_of(id) == probe && metric.swaps.is_some()
        };
        let is_judged = !verdict.metrics.iter().any(moves);
        changed.advice(is_judged, !verdict.cannot_compute)
    })
}

/// The first item that is worse by half of the scale, in a metric that is judged by its mean.
fn worst_by_half(judgement: &Judgement) -> Option<&CaseChange> {
    let mut cases = judgement.cases.iter();
    cases.find(|case| {
        let metric = judgement.verdict.metrics.get(&case.metric);
        let is_by_mean = metric.is_some_and(|metric| metric.swaps.is_none());
        case.is_worse() && case.is_by_half() && is_by_mean
    })
}

/// The gated metrics of a verdict.
fn gated(verdict: &Verdict) -> impl Iterator<Item = (&String, &MetricVerdict)> {
    let metrics = verdict.metrics.iter();
    metrics.filter(|(_, metric)| metric.policy == Attention::Gate)
}

/// Whether a verdict is open because of noise, so that more runs would decide it.
fn may_be_noise(verdict: &Verdict) -> bool {
    let is_wide = |(id, metric): (&String, &MetricVerdict)| {
        metric.verdict == Word::Inconclusive
            && !metric.unpaired
            && !matches!(metric.cause, Cause::Unjudged | Cause::Edited)
            && !lacks_what_was_removed(verdict, id, metric)
    };
    verdict.tells(ReasonCode::DoubtfulCases) || gated(verdict).any(is_wide)
}

/// Whether nothing here can make the values of the open metrics again.
fn cannot_rerun(verdict: &Verdict) -> bool {
    let mut open = gated(verdict)
        .filter(|(_, metric)| metric.verdict == Word::Inconclusive)
        .peekable();
    open.peek().is_some() && open.all(|(_, metric)| metric.cannot_rerun)
}

/// Whether a metric is open because of items that the change removed: these are missing in every run.
fn lacks_what_was_removed(verdict: &Verdict, id: &str, metric: &MetricVerdict) -> bool {
    let turnover = verdict.turnover.get(probe_of(id));
    metric.cause == Cause::Missing && turnover.is_some_and(|turnover| turnover.removed > 0)
}

/// The advice if the change edits what is measured together with other files, so that a measurement with the settings
/// of the base cannot tell the two apart.
const ALONE: &str = "Edit what is measured in a change of its own: then both can be judged. Where something only gets \
                     another name, let the old one stay beside it until that is merged.";

/// The advice if a run ended before it came to all items.
const UNFINISHED: &str = "Look at why it ended early: what it did not come to was not removed, and nobody knows what it would \
                          have shown.";

/// The next step if a verdict is open and more runs cannot decide it.
fn undecided_by_runs(verdict: &Verdict, begun: Phrase) -> Phrase {
    let mut as_base = verdict.reasons.iter();
    let as_base = as_base.find(|reason| reason.code == ReasonCode::MeasuredAsBase);
    match as_base.map(|reason| reason.effect) {
        // By the files of the base it is no worse, so the edit alone makes the difference.
        Some(None) => {
            return begun.and(
                "Look whether the edit of what is measured is right: more runs would not decide it.",
            );
        }
        Some(_) => return begun.and(ALONE),
        None => {}
    }
    if gated(verdict).any(|(id, metric)| lacks_what_was_removed(verdict, id, metric)) {
        return missing(verdict);
    }
    begun.and(match verdict.tells(ReasonCode::NotMeasured) {
        true => "Measure what this change is now, then judge that.",
        false => "Look at what the reasons name: more runs would not decide it.",
    })
}

/// The next step if a measurement failed.
fn unmeasured(verdict: &Verdict, begun: Phrase) -> Phrase {
    let items = verdict.common_nouns().items;
    if verdict.tells(ReasonCode::MeasuredAsBase) {
        return begun.and(ALONE);
    }
    if verdict.tells(ReasonCode::Unfinished) {
        return begun.and(UNFINISHED);
    }
    let begun = begun.and("The reasons say what could not be measured.");
    // A run that failed has no figures; one that measured something else has.
    let has_failed = |(id, metric): (&String, &MetricVerdict)| {
        (metric.cause == Cause::Incomparable && metric.head.is_none())
            || (id.ends_with("failure_rate") && metric.head.is_some_and(|head| head > 0.0))
    };
    if gated(verdict).any(has_failed) {
        return begun.and(
            " Where calls failed, the log of the run has the last lines that the pipeline printed.",
        );
    }
    if gated(verdict).any(|(_, metric)| metric.cause == Cause::Incomparable) {
        return begun.and(
            " Where both runs came to their end, no further one compares them: once this is merged, the base measures what \
             this change measures.",
        );
    }
    let is_withdrawn = |metric: &MetricVerdict| {
        metric.cause == Cause::NoValue && metric.base.is_some() && metric.head.is_none()
    };
    let gone = gated(verdict).filter(|(_, metric)| is_withdrawn(metric));
    let gone: Vec<&str> = gone.map(|(id, _)| id.as_str()).collect();
    if let Some((first, others)) = gone.split_first() {
        let more = and_more(others.len());
        let rules: Vec<String> = gone
            .iter()
            .map(|id| format!("{id}: {{policy: info}}"))
            .collect();
        return begun
            .and(" The head lacks ")
            .name(*first)
            .and(format!(
                "{more}. If this is only another name, give back that of the base; what is meant to go, gate no more: "
            ))
            .setting(format!("gate: {{metrics: {{{}}}}}", rules.join(", ")))
            .and(".");
    }
    let share = most_missing(verdict);
    match verdict.has_removed_items() {
        // With all of them gone nothing can be compared, whatever is allowed.
        true if share >= 1.0 => begun.and(format!(
            " None of the {items} of the base is left to compare with. Where they were only renamed, give them the names of \
             the base: they are compared by name, and records without an `id` by what they say. Where they are new, add them beside those of the base, and take these \
             away in a later change."
        )),
        true => begun
            .and(format!(
                " Where {items} were only renamed, give them the names of the base: they are compared by name, and records \
                 without an `id` by what they say. Where they are meant to go, allow for it in this change: "
            ))
            .setting(format!("gate: {{max_missing: {share}}}"))
            .and("."),
        false => begun,
    }
}

/// The share of the cells of the base that a metric lacks at most, as a setting that allows for it.
fn most_missing(verdict: &Verdict) -> f64 {
    let shares = gated(verdict).map(|(_, metric)| {
        let CellCounts { base, lost, .. } = metric.coverage;
        lost as f64 / base.max(1) as f64
    });
    (shares.fold(0.0, f64::max) * 100.0).ceil() / 100.0
}

/// The next step for a change that passes. "Nothing to do" is a strong claim: it is made only if everything was
/// examined, and no answer differs.
fn fine(judgement: &Judgement) -> Phrase {
    let verdict = &judgement.verdict;
    if let Some(advice) = about_answers(verdict) {
        return advice;
    }
    if verdict.tells_against(ReasonCode::Relabelled) {
        return Phrase::text("Look at the labels that this change edits.");
    }
    let items = verdict.common_nouns().items;
    if verdict.tells(ReasonCode::LeftOut) {
        return Phrase::text("Run the gate without ")
            .name("--probe")
            .and(" before this is merged: nothing is said of what was left out.");
    }
    if verdict.tells(ReasonCode::AddedBroken) {
        return Phrase::text(
            "Look at what is new: it fails from the start, and once this is merged nothing tells of it any more.",
        );
    }
    if verdict.tells(ReasonCode::EditsEvaluator) {
        return Phrase::text(
            "Read the edit of the evaluator: a softer one looks like a better pipeline. With a command for ",
        )
        .name("rescore")
        .and(" the evaluator of the base scores the answers as well.");
    }
    if verdict.has_lost_items() {
        return missing(verdict);
    }
    if gated(verdict).any(|(_, metric)| metric.cause == Cause::New) {
        return Phrase::text(
            "Look at the figures that are new: the base has none to compare them with.",
        );
    }
    let mut answers = verdict.answers.values();
    if let Some(varied) = answers.find(|answers| answers.began_to_vary()) {
        let or = match varied.rewritten {
            true => ", or when they are rewritten",
            false => "",
        };
        return Phrase::text(format!(
            "Look at why some {items} are answered in different ways from run to run{or}: on the base none is.",
        ));
    }
    let mut asides = verdict.answers.values();
    if let Some(advice) = asides.find_map(ChangedAnswers::advice_on_aside) {
        return advice;
    }
    if verdict.tells(ReasonCode::UncalibratedJudge) {
        return Phrase::text("Put the judge on trial once, with ")
            .setting("kelvin calibrate --report kelvin/report.json")
            .and(".");
    }
    if verdict.tells(ReasonCode::UndecidedJudge) {
        return Phrase::text("Put the judge on trial with more answers than its last trial had: ")
            .setting("kelvin calibrate --answers FILE")
            .and(" takes them from a file, with a report of more items it takes them from there.");
    }
    // Where most cases are answered too unsteadily, a lack of cases is not what hides a loss.
    let is_noise = |metric: &&MetricVerdict| {
        let unseen = metric.swaps.as_ref().filter(|swaps| swaps.unseen);
        let is_most = |unsteady: usize| metric.cases > 0 && 2 * unsteady > metric.cases;
        unseen.is_some_and(|swaps| is_most(swaps.unsteady.len()))
    };
    let noisy = verdict.metrics.values().find(is_noise);
    if let Some((metric, swaps)) = noisy.and_then(|metric| Some((metric, metric.swaps.as_ref()?))) {
        return Phrase::text(format!(
            "The base answers {} of {} {items} too unsteadily to show a loss of ",
            swaps.unsteady.len(),
            metric.cases
        ))
        .name(&swaps.of_type)
        .and(
            ": other runs of them, or rewrites that should change nothing, get other answers. With a steadier pipeline the suite \
             would see it.",
        );
    }
    let types: Vec<&str> = verdict.unseen_types().collect();
    match types.as_slice() {
        [] => match verdict.at_worst().next() {
            Some(metric) => Phrase::text("Look at why ")
                .name(metric)
                .and(" is at its worst everywhere: no change can make it worse, so that it guards nothing."),
            // Another program may be an older copy of the pipeline, or one that is made for the suite.
            None if judgement.difference_codes.contains(&Difference::Command) => Phrase::text(
                "This change calls the pipeline in another way: see that what is called is what you ship.",
            ),
            None if judgement.difference_codes.iter().any(Difference::is_slower) => {
                Phrase::text("Look at why a call takes so much longer than on the base.")
            }
            // Below a warning these words would take it back.
            None if verdict.tells_against(ReasonCode::Alignment) => {
                Phrase::text("Read what is said above: no gated metric dropped beyond its limit.")
            }
            None => Phrase::text("Nothing to do."),
        },
        [first, others @ ..] => {
            let begun = Phrase::text(format!("Add {items} in which ")).name(*first);
            let all = others
                .iter()
                .fold(begun, |all, other| all.and(" or ").name(*other));
            all.and(" alone decides: this suite cannot see its loss.")
        }
    }
}

/// The next step if a part that the base measured is missing.
fn missing(verdict: &Verdict) -> Phrase {
    let unseen = ": what is missing is compared with nothing, so that a drop there does not show.";
    let mut metrics = verdict.metrics.iter();
    let of_metrics = metrics.find_map(|(id, metric)| {
        let first = metric.lost.first()?;
        Some((verdict.nouns_of(id).item.to_string(), first))
    });
    let mut answers = verdict.answers.values();
    let of_answers = answers.find_map(|answers| {
        let first = answers.gone_items.first()?;
        Some((answers.item.clone(), first))
    });
    match of_metrics.or(of_answers) {
        Some((item, first)) => {
            let look = Phrase::text(format!("Look first at {item} "));
            look.name(first).and(unseen)
        }
        None => Phrase::text("Look at what was removed").and(unseen),
    }
}

/// The item that a reader should examine first.
fn look(judgement: &Judgement, case: &CaseChange) -> Phrase {
    let item = judgement.verdict.nouns_of(&case.metric).item;
    let look = Phrase::text(format!("Look first at {item} ")).name(&case.case);
    // The item as it is has a name among its variants, which says nothing to a reader.
    match part(judgement, case).filter(|part| *part != "baseline") {
        Some(part) => look.and(", variant ").name(part).and("."),
        None => look.and("."),
    }
}

/// The part of a case that every page names and shows: the part whose answers are shown side by side, or the first that
/// changed.
pub fn part<'a>(judgement: &'a Judgement, case: &'a CaseChange) -> Option<&'a str> {
    let mut flips = judgement.flips.iter();
    if let Some(flip) = flips.find(|flip| flip.item == case.case) {
        return Some(&flip.part);
    }
    // The answer to the item itself may have changed while the answer to a part of it has not.
    let answers = judgement.verdict.answers.get(probe_of(&case.metric));
    let mut others = answers.into_iter().flat_map(|changed| &changed.answers);
    if others.any(|other| other.item == case.case) {
        return None;
    }
    case.variants.first()?.variant.as_deref()
}

const fn decision(approval: &Approval) -> &'static str {
    match approval.state {
        State::Pending => {
            "Somebody named above decides; the next run of this job takes the decision over"
        }
        State::Approved => "The lower figures become the base once this is merged",
        State::Rejected => "A new commit asks again",
        State::TimedOut => "Nothing is ever approved by waiting; a new commit asks again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Change, Turnover};
    use crate::opening::{stored, word};
    use crate::policy::Effect;
    use crate::verdict::{CellCounts, Reason};
    use kelvin_page::Tone;

    fn passed(code: ReasonCode) -> Verdict {
        let mut verdict = Verdict::without_base(Word::Pass, Effect::Warn, "");
        verdict.reasons = vec![Reason {
            code,
            effect: Some(Effect::Warn),
            metric: None,
            text: String::new(),
        }];
        verdict
    }

    /// The tone and the next step of a verdict.
    fn said(verdict: Verdict) -> (Tone, String) {
        let judgement = Judgement::without_base(verdict, Vec::new());
        let (tone, _, _) = word(&judgement);
        (tone, next(&judgement).show(|_, name| format!("`{name}`")))
    }

    #[test]
    fn a_pass_without_something_of_the_base_is_never_calm_and_leaves_something_to_do() {
        let removed = || {
            let mut verdict = Verdict::without_base(Word::Pass, Effect::Warn, "");
            let turnover = Turnover {
                removed: 1,
                ..Turnover::default()
            };
            verdict.turnover.insert("evidence".to_owned(), turnover);
            verdict
        };
        let mut steps = Vec::new();
        let lacking = [
            removed(),
            passed(ReasonCode::LostInputs),
            passed(ReasonCode::AddedBroken),
            passed(ReasonCode::Relabelled),
        ];
        for verdict in lacking {
            let (tone, step) = said(verdict);
            assert_eq!(tone, Tone::Caution, "{step}");
            steps.push(step);
        }
        insta::assert_snapshot!(steps.join("\n"), @"
        Look at what was removed: what is missing is compared with nothing, so that a drop there does not show.
        Look at what was removed: what is missing is compared with nothing, so that a drop there does not show.
        Look at what is new: it fails from the start, and once this is merged nothing tells of it any more.
        Look at the labels that this change edits.
        ");
        let whole = Verdict::without_base(Word::Pass, Effect::Warn, "");
        assert_eq!(said(whole), (Tone::Calm, "Nothing to do.".to_owned()));
    }

    #[test]
    fn another_command_leaves_something_to_look_at() {
        let verdict = Verdict::without_base(Word::Pass, Effect::Warn, "");
        let mut judgement = Judgement::without_base(verdict, Vec::new());
        judgement.difference_codes = vec![Difference::PIPELINE, Difference::Command];
        let step = next(&judgement).show(|_, name| format!("`{name}`"));
        insta::assert_snapshot!(step, @"This change calls the pipeline in another way: see that what is called is what you ship.");
    }

    #[test]
    fn nothing_is_allowed_for_that_would_still_leave_nothing_to_compare() {
        let mut verdict = Verdict::without_base(Word::Unmeasured, Effect::Fail, "");
        let turnover = Turnover {
            removed: 24,
            ..Turnover::default()
        };
        verdict.turnover.insert("evidence".to_owned(), turnover);
        let mut metric = open_for_what_is_missing().metrics["results.qa.pass"].clone();
        metric.coverage = CellCounts {
            base: 24,
            lost: 24,
            ..CellCounts::default()
        };
        verdict
            .metrics
            .insert("evidence.following".to_owned(), metric);
        let (_, step) = said(verdict);
        assert!(!step.contains("max_missing"), "{step}");
    }

    /// Open, since a drop can hide in an item that has no value.
    fn open_for_what_is_missing() -> Verdict {
        let mut verdict = Verdict::without_base(Word::Inconclusive, Effect::Warn, "");
        let metric = MetricVerdict {
            verdict: Word::Inconclusive,
            cause: Cause::Missing,
            policy: Attention::Gate,
            headline: true,
            lower_is_better: false,
            base: Some(1.0),
            head: Some(1.0),
            drop: Some(0.0),
            max_drop: 0.05,
            at_least: None,
            confidence: None,
            at_most: None,
            detectable: None,
            resolution: None,
            cases: 9,
            cells: 9,
            between_reports: None,
            lost: vec!["qa/a".to_owned()],
            coverage: CellCounts::default(),
            unpaired: false,
            is_thin: false,
            cannot_rerun: false,
            is_at_worst: false,
            swaps: None,
            drivers: Vec::new(),
        };
        verdict.metrics.insert("results.qa.pass".to_owned(), metric);
        verdict
    }

    #[test]
    fn no_run_is_advised_to_decide_about_an_item_that_was_taken_away() {
        let mut verdict = open_for_what_is_missing();
        let turnover = Turnover {
            removed: 1,
            ..Turnover::default()
        };
        verdict.turnover.insert("results".to_owned(), turnover);
        insta::assert_snapshot!(said(verdict).1, @"Look first at item `qa/a`: what is missing is compared with nothing, so that a drop there does not show.");
        // What failed may succeed in the next run.
        let step = said(open_for_what_is_missing()).1;
        insta::assert_snapshot!(step, @"Look first at item `qa/a`: what is missing is compared with nothing, so that a drop there does not show. If a call failed by chance, another run gives it back.");
    }

    #[test]
    fn who_retires_more_items_than_may_be_missing_is_told_the_setting_that_allows_for_it() {
        let mut verdict = open_for_what_is_missing();
        verdict.verdict = Word::Unmeasured;
        verdict.passed = false;
        let turnover = Turnover {
            removed: 3,
            ..Turnover::default()
        };
        verdict.turnover.insert("results".to_owned(), turnover);
        let metric = verdict.metrics.get_mut("results.qa.pass").expect("it");
        metric.verdict = Word::Unmeasured;
        metric.cause = Cause::Coverage;
        metric.coverage.base = 16;
        metric.coverage.lost = 3;
        let step = said(verdict).1;
        insta::assert_snapshot!(step, @"The reasons say what could not be measured. Where items were only renamed, give them the names of the base: they are compared by name, and records without an `id` by what they say. Where they are meant to go, allow for it in this change: `gate: {max_missing: 0.19}`.");
    }

    #[test]
    fn labels_are_advised_only_where_nothing_says_what_the_answers_are_worth() {
        let answers = serde_json::json!({
            "item": "item", "items": "items", "same": 0, "other": 1, "gone": 0, "new": 0,
            "answers": [{"item": "a", "base": "failed: tidy", "head": "passed 1 check"}],
        });
        let mut verdict = open_for_what_is_missing();
        verdict.verdict = Word::Pass;
        let answers = serde_json::from_value(answers).expect("it fits");
        verdict.answers.insert("results".to_owned(), answers);
        let step = said(verdict.clone()).1;
        insta::assert_snapshot!(step, @"Look whether the other answers are right, first that of item `a`.");
        // Whether a decision follows its evidence says nothing of whether it is right.
        let metric = verdict.metrics.get_mut("results.qa.pass").expect("it");
        let swaps = serde_json::json!({
            "of_type": "rule", "status": "followed", "swaps": 9, "moved_base": 9, "moved_head": 9, "drop": 0.0, "limit": 0.05,
        });
        metric.swaps = serde_json::from_value(swaps).expect("it fits");
        let step = said(verdict).1;
        insta::assert_snapshot!(step, @"Look whether the other answers are right, first that of item `a`. With labels of what is right, the gate would judge them itself.");
    }

    #[test]
    fn more_cases_are_advised_only_where_noise_does_not_hide_the_type() {
        let mut verdict = open_for_what_is_missing();
        verdict.verdict = Word::Pass;
        let metric = verdict.metrics.get_mut("results.qa.pass").expect("it");
        metric.verdict = Word::Pass;
        metric.cause = Cause::Bounded;
        metric.lost.clear();
        let mut told = |unsteady: &[&str]| {
            let swaps = serde_json::json!({
                "of_type": "rule", "status": "unseen", "swaps": 9, "moved_base": 9, "moved_head": 9, "drop": 0.0,
                "limit": 0.05, "unseen": true, "unsteady": unsteady,
            });
            let metric = verdict.metrics.get_mut("results.qa.pass").expect("it");
            metric.swaps = serde_json::from_value(swaps).expect("it fits");
            said(verdict.clone()).1
        };
        let few = told(&["a", "b"]);
        insta::assert_snapshot!(few, @"Add items in which `rule` alone decides: this suite cannot see its loss.");
        let most = told(&["a", "b", "c", "d", "e"]);
        insta::assert_snapshot!(most, @"The base answers 5 of 9 items too unsteadily to show a loss of `rule`: other runs of them, or rewrites that should change nothing, get other answers. With a steadier pipeline the suite would see it.");
    }

    #[test]
    fn a_metric_that_is_gone_gets_its_name_back_or_is_gated_no_more() {
        let mut verdict = open_for_what_is_missing();
        verdict.verdict = Word::Unmeasured;
        verdict.passed = false;
        let mut metric = verdict.metrics.remove("results.qa.pass").expect("it");
        metric.verdict = Word::Unmeasured;
        metric.cause = Cause::NoValue;
        metric.head = None;
        let told = |metric: &MetricVerdict| {
            let mut verdict = verdict.clone();
            let name = "checks.done".to_owned();
            verdict.metrics.insert(name, metric.clone());
            said(verdict).1
        };
        let gone = told(&metric);
        insta::assert_snapshot!(gone, @"The reasons say what could not be measured. The head lacks `checks.done`. If this is only another name, give back that of the base; what is meant to go, gate no more: `gate: {metrics: {checks.done: {policy: info}}}`.");
        let both = {
            let mut verdict = verdict.clone();
            for name in ["results.qb.failure_rate", "results.qb.pass"] {
                verdict.metrics.insert(name.to_owned(), metric.clone());
            }
            said(verdict).1
        };
        insta::assert_snapshot!(both, @"The reasons say what could not be measured. The head lacks `results.qb.failure_rate` and 1 more. If this is only another name, give back that of the base; what is meant to go, gate no more: `gate: {metrics: {results.qb.failure_rate: {policy: info}, results.qb.pass: {policy: info}}}`.");
        // Both sides have figures, of something else each.
        metric.cause = Cause::Incomparable;
        metric.head = Some(1.0);
        let other = told(&metric);
        insta::assert_snapshot!(other, @"The reasons say what could not be measured. Where both runs came to their end, no further one compares them: once this is merged, the base measures what this change measures.");
        metric.head = None;
        let failed = told(&metric);
        insta::assert_snapshot!(failed, @"The reasons say what could not be measured. Where calls failed, the log of the run has the last lines that the pipeline printed.");
    }

    #[test]
    fn what_was_measured_of_another_commit_is_to_be_measured_anew() {
        let mut verdict = passed(ReasonCode::NotMeasured);
        verdict.verdict = Word::Inconclusive;
        let (tone, step) = said(verdict);
        assert_eq!(tone, Tone::Caution, "{step}");
        insta::assert_snapshot!(step, @"Measure what this change is now, then judge that.");
    }

    #[test]
    fn what_is_usual_on_the_base_is_asked_for_where_more_runs_of_the_change_find_the_same() {
        let mut verdict = passed(ReasonCode::DoubtfulCases);
        verdict.verdict = Word::Inconclusive;
        verdict.broken_cases = vec![BrokenCase {
            case: "alder".to_owned(),
            metric: "retrieval.found".to_owned(),
            certain: false,
            bad: 20,
            runs: 20,
            valueless: false,
        }];
        let mut judgement = Judgement::without_base(verdict, Vec::new());
        judgement.cases = vec![CaseChange {
            case: "alder".to_owned(),
            metric: "retrieval.found".to_owned(),
            change: Change::Regression,
            base: Some(1.0),
            head: Some(0.0),
            flipped: Vec::new(),
            variants: Vec::new(),
            not_comparable: 0,
        }];
        let step = next(&judgement).show(|_, name| format!("`{name}`"));
        insta::assert_snapshot!(step, @"Look at item `alder`: it may have broken, and a mean over all items hides one. Where the same input always gets the same answer, `gate: {deterministic: true}` decides; else `baseline: {repeats: 5}` tells what is usual on the base.");
    }

    #[test]
    fn a_pass_with_a_case_that_may_have_broken_is_never_calm() {
        let (tone, _) = said(passed(ReasonCode::DoubtfulCases));
        assert_eq!(tone, Tone::Caution);
    }

    #[test]
    fn what_is_kept_of_a_pass_says_that_a_warning_stood_below_it() {
        let words = |verdict| stored(&Judgement::without_base(verdict, Vec::new())).words;
        let mut calm = Verdict::without_base(Word::Pass, Effect::Warn, "");
        calm.reasons.clear();
        assert_eq!(words(calm), "pass");
        assert_eq!(
            words(passed(ReasonCode::EditsMeasure)),
            "pass, with a warning"
        );
    }

    #[test]
    fn a_case_that_broke_is_where_to_look_if_no_metric_fails() {
        let mut verdict = Verdict::without_base(Word::Regression, Effect::Fail, "");
        verdict.broken_cases = vec![BrokenCase {
            case: "alder".to_owned(),
            metric: "evidence.agrees_with_labels".to_owned(),
            certain: true,
            bad: 5,
            runs: 5,
            valueless: false,
        }];
        assert_eq!(said(verdict).1, "Look first at item `alder`.");
    }
}
