//! The sentences about a type.

use super::{OpenReason, Status, TypeDecision, TypeFigures, TypeVerdict};
use crate::looks::LooksEnding;
use crate::policy::Advisable;
use crate::sentence::{name, names};
use kelvin_page::display;
use kelvin_record::Nouns;

impl TypeDecision {
    /// The status of the type in a sentence.
    pub fn sentence(&self, advisable: Advisable) -> String {
        let of = name(&self.name);
        let items = &self.nouns.items;
        let seen = self.figures.sentence(items);
        match self.verdict {
            TypeVerdict::Regression if self.status == Status::Lost => {
                format!("{of} is lost: {seen}")
            }
            TypeVerdict::Regression => format!("{of} decides less often: {seen}{}", self.allowed()),
            TypeVerdict::MadeRoom => format!(
                "{of} decides less often, since {} decides now: {seen}",
                names(&self.new)
            ),
            TypeVerdict::Open(open) => self.open(open, (&of, &seen), advisable),
            TypeVerdict::Pass if self.is_unseen() => format!(
                "this suite cannot see the loss of {of}: {seen}; {items} in which it alone decides{} would show it",
                self.figures.or_more_swaps()
            ),
            TypeVerdict::Pass => match self.status {
                Status::New => format!("{of} decides now: {seen}"),
                _ => format!("{of} is followed: {seen}"),
            },
        }
    }

    /// Whether a pass does not cover the type.
    pub fn is_unseen(&self) -> bool {
        self.verdict == TypeVerdict::Pass && self.figures.is_blind()
    }

    fn open(&self, open: OpenReason, (of, seen): (&str, &str), advisable: Advisable) -> String {
        let Nouns { item, items } = &self.nouns;
        let settles = match (open, self.ending) {
            (OpenReason::Strays, _) => {
                format!("a {item} that is given such an answer, or somebody who may approve, can tell")
            }
            (OpenReason::Trade, _) => {
                "another type may stand in its way or decides more often, so that only right answers, or somebody \
                 who may approve, can tell"
                    .to_owned()
            }
            (_, LooksEnding::NoRerun) => {
                "nothing was run again; a gate that runs the pipeline (`--rerun`) would tell more".to_owned()
            }
            (_, LooksEnding::RerunBefore) => {
                format!("it stayed open when the run had run doubtful {items} again")
            }
            (_, LooksEnding::NoBudget) => "the budget allows no re-run".to_owned(),
            (_, LooksEnding::BudgetSpent) => advisable.spent().to_owned(),
            (_, LooksEnding::AnswersKept) => {
                "its re-runs came from answers that the pipeline keeps, and tell nothing of its noise"
                    .to_owned()
            }
            _ if self.base_runs < 3 => {
                let is_few = self.figures.firm < super::rule::FEWEST_TELLING as f64;
                let runs = advisable.runs_of_the_base();
                let or = match is_few {
                    true => {
                        let and = if advisable.compute { "" } else { "," };
                        format!("{and} or more {items} in which it alone decides,")
                    }
                    false => String::new(),
                };
                format!("the base was run too seldom to tell; {runs}{or} would decide more")
            }
            _ => format!("more {items} in which it alone decides would tell"),
        };
        match open {
            OpenReason::Suspected if self.figures.moved_head == 0 => {
                format!("{of} may be lost: {seen}; {settles}")
            }
            // As many swaps are moved in most runs, but each less often, or as often as noise alone moves it.
            OpenReason::Suspected if self.figures.moved_head >= self.figures.moved_base => {
                format!(
                    "{of} may be lost in part: {seen}, but by less once noise is taken out; {settles}"
                )
            }
            OpenReason::Suspected => format!("{of} may be lost in part: {seen}; {settles}"),
            OpenReason::Strays => {
                let to = match &self.strays {
                    Some(strays) => format!(
                        "and {} get answers that no {item} is given, such as {}",
                        strays.swaps,
                        name(&strays.example)
                    ),
                    None => format!("which is farther than the {items} are apart"),
                };
                format!("{of} may be lost: {seen}, {to}; {settles}")
            }
            OpenReason::Trade if self.figures.moved_head == 0 => {
                format!("{of} may be lost: {seen}; {settles}")
            }
            OpenReason::Trade => format!("{of} decides less often: {seen}; {settles}"),
            OpenReason::Wide => format!("a loss of {of} is not ruled out: {seen}; {settles}"),
            OpenReason::Noise => format!(
                "a loss of {of} could hide in noise, since many {items} are answered less steadily than on the base: \
                 {seen}"
            ),
        }
    }

    /// How many swaps may be lost without a failure of the gate.
    fn allowed(&self) -> String {
        let figures = &self.figures;
        match figures.likely_loss {
            Some(_) => {
                let most = (figures.limit * figures.swaps as f64).floor();
                format!(" (at most {most} may be lost)")
            }
            None => format!(" (at most {} may be lost)", display(figures.limit)),
        }
    }
}

/// The factor by which the number of swaps would have to grow to show the loss of a type that moves so few swaps now;
/// none if that costs more than adding other cases, or if no swap moves.
fn more_swaps(moved: usize) -> Option<usize> {
    /// With five to nine informative swaps, a loss fails the gate in two of three simulated suites; with this many
    /// swaps, in nearly all.
    const ENOUGH: usize = 2 * super::rule::FEWEST_TELLING;
    const MOST_TIMES: usize = 5;
    let times = ENOUGH.div_ceil(moved.max(1));
    (2..=MOST_TIMES).contains(&times).then_some(times)
}

impl TypeFigures {
    /// A further way to show a loss, if some swaps already move the decision; otherwise empty.
    pub fn or_more_swaps(&self) -> String {
        let is_counted = self.likely_loss.is_some();
        match more_swaps(self.moved_base).filter(|_| is_counted) {
            Some(times) => format!(", or {times} times as many swaps (`variants: {{swap: …}}`),"),
            None => String::new(),
        }
    }

    /// How many swaps moved the decision on the base and on the head; for numbers, how far.
    fn sentence(&self, items: &str) -> String {
        if self.likely_loss.is_none() && self.moved_base > 0 {
            return format!(
                "its swaps went {} of the squared way between two {items} on the base, and {} now",
                display(self.had),
                display(self.has)
            );
        }
        let (swaps, was, is) = (self.swaps, self.moved_base, self.moved_head);
        match was == is {
            true => {
                let move_it = moves(was);
                format!("{was} of {swaps} swaps of it {move_it} the decision, as on the base")
            }
            false => {
                let do_now = if is == 1 { "does" } else { "do" };
                format!(
                    "{was} of {swaps} swaps of it moved the decision on the base, {is} {do_now} now"
                )
            }
        }
    }
}

/// The verb of `1 of 9 swaps moves the decision`, `2 of 9 swaps move it`.
pub(crate) const fn moves(count: usize) -> &'static str {
    if count == 1 { "moves" } else { "move" }
}

#[cfg(test)]
mod tests {
    use super::more_swaps;

    #[test]
    fn more_swaps_are_advised_where_a_few_move_the_decision_already() {
        let times: Vec<_> = [0, 1, 2, 3, 4, 9, 10].map(more_swaps).into();
        let some = [None, None, Some(5), Some(4), Some(3), Some(2), None];
        assert_eq!(times, some);
    }
}
