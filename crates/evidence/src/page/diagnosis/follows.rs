//! The conclusions from the swaps: which governing types the decision follows, and when this cannot be known.

use super::{MEASURE_NOISE, MOVES, Weighted};
use crate::page::by_itself::ByItself;
use crate::page::standing::{AnswerCounts, Standing};
use crate::page::swaps::{ENOUGH_CASES, ENOUGH_SWAPS, SwapCounts, ignored_types, is_followed};
use crate::page::{EvidenceRun, QUADRANT};
use kelvin_page::{Phrase, Tone, counted};

/// If following is below this value, the only governing type is hardly followed; otherwise it is partly followed.
const HARDLY: f64 = 0.5;

/// The diagnosis for a pipeline that always gives the same answer, or for a suite that is too small to show what the
/// decision follows.
pub(super) fn not_told(run: &EvidenceRun<'_>, standing: Standing) -> Option<Weighted> {
    match standing {
        Standing::Constant => {
            let answers = AnswerCounts::of(run)?;
            Some(match answers.are_constant() {
                true => constant(&answers),
                false => constant_in_other_words(),
            })
        }
        Standing::Unclear | Standing::Unsteady => Some(unclear(run)),
        _ => None,
    }
}

/// The diagnosis for one answer to all inputs. It is neither good nor bad: in a suite with only one right answer, a
/// right pipeline gives just this answer.
fn constant(answers: &AnswerCounts<'_>) -> Weighted {
    let how = match answers.times == answers.all {
        true => format!(" in all {}", counted(answers.all, "invocation")),
        false => format!(
            " in {} of {}, and mostly in every case",
            answers.times,
            counted(answers.all, "invocation")
        ),
    };
    let text = Phrase::text(match answers.times == answers.all {
        true => "it always answers ",
        false => "it nearly always answers ",
    })
    .name(answers.most.to_string())
    .and(format!(
        "{how}: the pipeline never decides otherwise, or this suite has no case for it; add a case \
         with another right answer"
    ));
    Weighted::new(Tone::Caution, 2.0, text)
}

/// The same diagnosis, if the answers are equal in meaning but not in words, so that only a judge can see it.
fn constant_in_other_words() -> Weighted {
    let text = "all answers mean the same, whatever the case, although their words differ: the pipeline never decides \
                otherwise, or this suite has no case for it; add a case with another right answer";
    Weighted::new(Tone::Caution, 2.0, Phrase::text(text))
}

fn unclear(run: &EvidenceRun<'_>) -> Weighted {
    let types = run.governing_types.iter().map(String::as_str);
    let open = types
        .filter(|_| run.governing_types.len() > 1)
        .find(|name| !is_followed(run, name));
    let (text, swaps) = match open {
        None => (
            Phrase::text("not enough to tell whether it follows the evidence: "),
            SwapCounts::of(run, |_| true),
        ),
        Some(name) => (
            Phrase::text("not enough to tell whether ")
                .name(name)
                .and(" is followed: "),
            SwapCounts::of_type(run, name),
        ),
    };
    let setting = "variants.swap";
    let text = if swaps.are_enough() {
        let seen = format!(
            "the decision moved in {} of the {} whose unit comes from a case that is answered \
             differently, and other cases might show more or less; add cases, or raise ",
            swaps.followed,
            counted(swaps.could, "swap"),
        );
        text.and(seen).name(setting)
    } else if swaps.are_drowned() {
        text.and("the same case is answered about as differently as two cases are; more cases or ")
            .name("repeats")
            .and(" would tell, or a pipeline with less noise")
    } else {
        let lacking = format!(
            "it takes {ENOUGH_SWAPS} swaps in {ENOUGH_CASES} cases whose unit comes from a case \
             that is answered differently, and there are {} in {}; add cases with other answers, \
             or raise ",
            swaps.variants,
            counted(swaps.cases, "case"),
        );
        text.and(lacking).name(setting)
    };
    Weighted::new(Tone::Caution, 0.3, text)
}

/// The diagnosis for a single governing type that the decision follows too little.
pub(super) fn hardly_followed(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let [name] = run.governing_types else {
        return None;
    };
    let swaps = SwapCounts::of_type(run, name);
    let metric = run.metrics.get("evidence.following")?;
    let value = metric.value.filter(|value| *value < QUADRANT)?;
    if !swaps.are_enough() {
        return None;
    }
    let (verb, tone) = match value < HARDLY {
        true => (" is hardly followed", Tone::Alarm),
        false => (" is followed in part only", Tone::Caution),
    };
    let text = Phrase::of_name(name)
        .and(verb)
        .and(", or another unit decides: ")
        .then(held(run, &swaps));
    Some(Weighted::new(tone, 1.0 - value.max(0.0), text))
}

/// The diagnosis for a single governing type whose exchange moves the decision although the donor has the same answer:
/// the decision does not depend on the content of the unit.
pub(super) fn moves_without_cause(run: &EvidenceRun<'_>) -> Option<Weighted> {
    let [name] = run.governing_types else {
        return None;
    };
    let swaps = SwapCounts::of_type(run, name);
    let (same, moved) = (swaps.samples - swaps.could, swaps.moved - swaps.followed);
    let share = moved as f64 / same.max(1) as f64;
    // Presentation and noise move the decision too; the diagnosis about invariance covers that.
    let invariance = run.metrics.get("evidence.invariance")?.value?;
    let excess = share - (1.0 - invariance);
    if !swaps.are_enough() || same < ENOUGH_SWAPS || excess < MOVES {
        return None;
    }
    let text = Phrase::text("an exchange of ").name(name).and(format!(
        " moves the decision also where it need not: {moved} of the {} whose unit comes from a case \
         that is answered the same",
        counted(same, "swap"),
    ));
    Some(Weighted::new(Tone::Caution, excess, text))
}

/// Diagnoses for several governing types: those that the pipeline ignores, or that move the decision too rarely to
/// count or only by chance.
pub(super) fn ignored(run: &EvidenceRun<'_>) -> Vec<Weighted> {
    let by_itself = ByItself::of(run);
    let (mut still, mut found): (Vec<(&str, SwapCounts)>, _) = (Vec::new(), Vec::new());
    for name in ignored_types(run) {
        let swaps = SwapCounts::of_type(run, name);
        let text = if swaps.mostly_moved() {
            let text = Phrase::of_name(name).and(" is ignored, or another unit decides: ");
            text.then(held(run, &swaps))
        } else if swaps.moved > 0 && by_itself.is_surpassed_by(&swaps) {
            Phrase::of_name(name).and(format!(
                " rarely decides: {} of {} moved it",
                swaps.moved,
                counted(swaps.samples, "swap")
            ))
        } else if swaps.moved > 0 && by_itself.is_unknown() {
            let text = Phrase::of_name(name).and(format!(
                " decides in few cases, unless noise moved it: {} of {} moved the decision; ",
                swaps.moved,
                counted(swaps.samples, "swap")
            ));
            let text = text.name(MEASURE_NOISE).and(" would tell");
            found.push(Weighted::new(Tone::Caution, 0.6, text));
            continue;
        } else {
            still.push((name, swaps));
            continue;
        };
        found.push(Weighted::new(Tone::Alarm, 1.0, text));
    }
    let mut names = still.iter();
    let Some((first, swaps)) = names.next() else {
        return found;
    };
    let text = Phrase::of_name(*first)
        .and(" is ignored, or another unit decides: ")
        .then(held(run, swaps));
    let others: Vec<&str> = names.map(|(name, _)| *name).collect();
    let text = match others.as_slice() {
        [] => text,
        [other] => text.and("; so is ").name(*other),
        more => text.and(format!("; so are {}", counted(more.len(), "other type"))),
    };
    found.insert(0, Weighted::new(Tone::Alarm, 1.0, text));
    found
}

/// How many of the swaps that could move the decision did not move it. If most of them moved it, but not towards the
/// answer of the other case, the text says that this is noise.
fn held(run: &EvidenceRun<'_>, swaps: &SwapCounts) -> Phrase {
    if !swaps.mostly_moved() {
        return Phrase::text(format!(
            "{} of the {} whose unit comes from a case that is answered differently left the decision \
             as it was",
            swaps.could - swaps.followed,
            counted(swaps.could, "swap"),
        ));
    }
    let by_itself = ByItself::of(run);
    let text = Phrase::text(format!(
        "{} of the {} whose unit comes from a case that is answered differently moved the decision, \
         but hardly towards the answer of that case; {}",
        swaps.followed,
        counted(swaps.could, "swap"),
        by_itself.sentence()
    ));
    match by_itself.is_open() {
        true => text
            .and("; ")
            .name(MEASURE_NOISE)
            .and(" would tell how much"),
        false => text,
    }
}
