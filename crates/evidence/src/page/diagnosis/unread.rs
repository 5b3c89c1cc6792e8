//! The conclusions about evidence that the pipeline does not read: earlier turns of a conversation, and parts of a list.

use std::collections::BTreeSet;

use super::{MOVES, Weighted};
use crate::page::EvidenceRun;
use crate::page::standing::Standing;
use crate::places;
use crate::turns::{self, TurnTrial};
use kelvin_page::{Phrase, Tone, counted};

/// Evidence that is not read explains the other figures and shows where to search for the cause, so it comes first.
const WEIGHT: f64 = 5.0;
/// The weight if there is also the diagnosis of one constant answer, which may have this cause.
const BESIDE_CONSTANT: f64 = 1.9;
/// With at least this many answers in this many cases, there is a diagnosis.
const ANSWERS: usize = 8;
const CASES: usize = 3;
/// A turn is ignored if its content moves the decision at most this often.
const UNHEARD: f64 = 0.05;

/// The diagnosis for a pipeline that forgets or ignores some turns.
pub(super) fn turns(run: &EvidenceRun<'_>, standing: Option<Standing>) -> Option<Weighted> {
    let most = run.cases.values().map(turns::count).max()?;
    if most < 2 {
        return None;
    }
    if standing == Some(Standing::Constant) {
        let text = "one answer everywhere is also what is given by a pipeline that forgets what was said before the last \
                    turn: look whether it keeps a conversation by its ";
        let text = Phrase::text(text).name("conversation_id");
        return Some(Weighted::new(Tone::Caution, BESIDE_CONSTANT, text));
    }
    let trials = turns::trials(run.cases, run.governing_types);
    let (last, earlier): (Vec<_>, Vec<_>) = trials.iter().partition(|one| one.turn == one.of);
    if is_unheard(&earlier) && (last.is_empty() || share(&last) >= MOVES) {
        let same = run.cases.values().all(|case| turns::count(case) == most);
        let of = if same { "of" } else { "of up to" };
        let text = format!(
            "it forgets what was said before the last {of} {most} turns: {}",
            said(&earlier)
        );
        return Some(Weighted::new(Tone::Alarm, WEIGHT, Phrase::text(text)));
    }
    let of_turn = |turn: usize| -> Vec<&TurnTrial<'_>> {
        trials.iter().filter(|one| one.turn == turn).collect()
    };
    let (silent, others): (Vec<usize>, Vec<usize>) =
        (1..=most).partition(|turn| is_unheard(&of_turn(*turn)));
    let is_heard = |turn: &usize| {
        let trials = of_turn(*turn);
        !trials.is_empty() && share(&trials) >= MOVES
    };
    if silent.is_empty() || !others.iter().any(is_heard) {
        return None;
    }
    let all: Vec<&TurnTrial<'_>> = silent.iter().flat_map(|turn| of_turn(*turn)).collect();
    let numbers: Vec<String> = silent.iter().map(usize::to_string).collect();
    let turns = match &numbers[..] {
        [only] => format!("turn {only}"),
        [before @ .., last] => format!("turns {} and {last}", before.join(", ")),
        [] => return None,
    };
    let text = format!("it never hears {turns}: {}", said(&all));
    Some(Weighted::new(Tone::Alarm, WEIGHT, Phrase::text(text)))
}

/// Whether enough is known about some turns, and they hardly ever moved the decision.
fn is_unheard(trials: &[&TurnTrial<'_>]) -> bool {
    let cases: BTreeSet<&str> = trials.iter().map(|one| one.case).collect();
    trials.len() >= ANSWERS && cases.len() >= CASES && share(trials) <= UNHEARD
}

fn share(trials: &[&TurnTrial<'_>]) -> f64 {
    moved(trials) as f64 / trials.len().max(1) as f64
}

fn moved(trials: &[&TurnTrial<'_>]) -> usize {
    trials.iter().filter(|one| one.moved).count()
}

fn said(trials: &[&TurnTrial<'_>]) -> String {
    format!(
        "other evidence there changed the decision in {} of {}",
        moved(trials),
        counted(trials.len(), "variant")
    )
}

/// The diagnosis for every list of which only a part is used.
pub(super) fn parts(run: &EvidenceRun<'_>) -> Vec<Weighted> {
    let seen = places::seen(run.cases, run.governing_types);
    let parts = seen.iter().filter_map(|(list, seen)| {
        // If the list is a conversation, its results are reported together with the results for turns.
        let part = seen.part().filter(|_| !seen.are_turns)?;
        let end = if part.at_the_end { "last" } else { "first" };
        let text = match part.count {
            1 => format!("it reads only the {end}"),
            count => format!("it reads only the {end} {count}"),
        };
        let length = match part.is_exact {
            true => format!(" of {} ", part.length),
            false => format!(" of up to {} ", part.length),
        };
        let text = Phrase::text(text + &length).name(&**list);
        let text = match seen.moved_there.is_empty() {
            false => text.and(format!(
                ": with the deciding one elsewhere the decision held in {} of {} variants",
                part.read_outside, part.outside
            )),
            true => text.and(format!(
                ": neutral text in place of another of a governing type changed the decision in {} of {} variants",
                part.read_outside, part.outside
            )),
        };
        Some(Weighted::new(Tone::Alarm, WEIGHT, text))
    });
    parts.collect()
}
