//! Makes a sentence for each reason: the metric, its two values, the cases that caused the drop, and how certain the
//! drop is.

use super::governing::TypeDecision;
use super::look::{BoundsSource, GUARD, Look, UPPER_CONFIDENCE};
use super::looks::LooksEnding;
use super::policy::{Advisable, Effect, OnSuspected, Rule};
use super::verdict::{BrokenCase, Cause, MetricVerdict};
use kelvin_base::stats;
use kelvin_page::{are, display, safe};
use kelvin_record::{Direction, Nouns};

/// Longer names are shortened.
const LONGEST_NAME: usize = 60;

/// How many cases are named at most; the others are only counted.
const MOST_NAMES: usize = 3;

/// The parts of a sentence about a metric.
pub(super) struct Subject<'a> {
    pub(super) id: &'a str,
    /// The words for the items on which the metric is measured.
    pub(super) nouns: &'a Nouns,
    pub(super) direction: Direction,
    pub(super) verdict: &'a MetricVerdict,
    /// The look and how the looks ended, if there was one.
    pub(super) look: Option<(&'a Look, LooksEnding)>,
    pub(super) rule: Rule,
    /// The effect of a drop that noise may explain.
    pub(super) on_suspected: OnSuspected,
    /// What may be advised.
    pub(super) advisable: Advisable,
    /// The minimum that was not reached, if there is one.
    pub(super) min: Option<f64>,
    /// Why there is no value, in the words of the report that lacks it.
    pub(super) why: Option<&'a str>,
    /// Whether the head has no value although some of it was measured, so that no cell is named as the missing one.
    pub(super) is_withheld: bool,
    /// The decision about a governing type, if the metric is judged by its swaps.
    pub(super) of_type: Option<&'a TypeDecision>,
}

impl Subject<'_> {
    /// The sentence that gives the cause of the metric's outcome.
    pub(super) fn sentence(&self) -> String {
        let id = name(self.id);
        match self.verdict.cause {
            Cause::Drop | Cause::Bounded | Cause::Suspected | Cause::Wide
                if self.of_type.is_some() =>
            {
                self.of_type
                    .map_or_else(String::new, |decided| decided.sentence(self.advisable))
            }
            Cause::Drop => self.regression(),
            Cause::Bounded => self.pass(),
            Cause::Suspected | Cause::Unjudged => self.suspected(),
            Cause::Wide => self.wide(),
            Cause::Minimum => beyond(self.id, self.direction, (self.verdict.head, self.min)),
            Cause::Items | Cause::Missing => {
                format!("{id} {}", self.why.unwrap_or("has lost items"))
            }
            Cause::NoValue => self.unmeasured(),
            Cause::Coverage if self.is_withheld => self.unmeasured(),
            Cause::Coverage if self.verdict.lost.is_empty() => {
                format!("{id} {}", self.why.unwrap_or("has no value"))
            }
            Cause::Coverage => {
                let lost = names(&self.verdict.lost);
                match self.why {
                    Some(why) => format!("{id} {why}: {lost}"),
                    None => format!(
                        "{id} could not be compared in {} that the base has: {lost}",
                        self.nouns.items
                    ),
                }
            }
            Cause::Edited => self.turned(),
            Cause::Withdrawn => format!("{id} {}", self.why.unwrap_or("was withdrawn in part")),
            Cause::Incomparable => match self.why {
                Some(why) => format!("{id} cannot be compared: {}", safe::line(why)),
                None => format!(
                    "{id} cannot be compared: the two sides disagree whether a higher value is better"
                ),
            },
            Cause::Unaffected => format!("{id} is as on the base, since nothing was run"),
            Cause::New => format!("{id} is new: the base does not have it"),
        }
    }

    fn unmeasured(&self) -> String {
        let id = name(self.id);
        match self.why {
            Some(why) => format!("{id} was not measured: {}", safe::line(why)),
            None => format!("{id} has no value that both sides measured"),
        }
    }

    /// A note on the lost values, if the rest was judged in spite of them.
    pub(super) fn losses(&self) -> String {
        let counts = &self.verdict.coverage;
        format!(
            "{} was judged without {} of the {} that the base has, in {}: {}",
            name(self.id),
            counts.lost.max(1),
            cells(counts.base),
            self.nouns.counted(self.verdict.lost.len()),
            names(&self.verdict.lost),
        )
    }

    /// How many inputs changed, and how many cases can still be paired.
    pub(super) fn turned(&self) -> String {
        let counts = &self.verdict.coverage;
        let whole = format!(
            "its {} of the same name were compared as a whole too",
            self.nouns.items
        );
        if self.verdict.is_thin {
            return format!(
                "{} rests on few pairs: only {} of {}, in {}, have the same input on both sides; \
                 {whole}",
                name(self.id),
                counts.paired,
                cells(counts.base),
                self.nouns.counted(counts.paired_cases),
            );
        }
        format!(
            "{} has other inputs in {} of {}; {whole}",
            name(self.id),
            counts.turned,
            cells(counts.base),
        )
    }

    fn regression(&self) -> String {
        let sure = match self.look {
            _ if self.rule == Rule::Threshold => "by the threshold rule".to_owned(),
            Some((look, _)) if look.chance.is_some() => {
                format!("and {}", look.chance.map_or_else(String::new, of_chance))
            }
            Some((look, _)) => match (look.basis, look.lower) {
                (BoundsSource::Declared, _) => {
                    "and the pipeline is declared deterministic".to_owned()
                }
                (BoundsSource::Still, _) => "and all repeats agreed".to_owned(),
                (_, Some(lower)) => format!(
                    "at least {} with {} confidence",
                    display(lower),
                    percent(1.0 - look.alpha)
                ),
                (_, None) => "beyond its noise".to_owned(),
            },
            None => format!("with no values by {}", self.nouns.item),
        };
        format!("{}, {sure}{}", self.movement(), self.driven())
    }

    fn pass(&self) -> String {
        let Some((look, _)) = self.look else {
            return self.movement();
        };
        let bound = match look.basis {
            BoundsSource::Identical => {
                return format!(
                    "{} did not change: every value is the same on both sides",
                    name(self.id)
                );
            }
            BoundsSource::Declared | BoundsSource::Still => String::new(),
            BoundsSource::Repeats | BoundsSource::Cases => match look.upper {
                Some(upper) if upper > 0.0 => format!(
                    ", at most {}{} with {} confidence",
                    display(upper),
                    // After an improvement, the word would seem to describe the improvement.
                    if look.drop > 0.0 { "" } else { " worse" },
                    percent(UPPER_CONFIDENCE)
                ),
                _ => format!(", no worse with {} confidence", percent(UPPER_CONFIDENCE)),
            },
        };
        let power = look.detectable.map_or_else(String::new, |least| {
            let worse = match self.direction {
                Direction::Higher => "drop",
                Direction::Lower => "rise",
            };
            // Without noise, the limit itself is allowed. A single case that breaks is told whatever the mean does.
            match least <= self.verdict.max_drop + GUARD {
                true => format!(
                    "; its mean can show a {worse} of more than {}",
                    display(least)
                ),
                false => format!(
                    "; its mean can show a {worse} of {} or more",
                    display(least)
                ),
            }
        });
        format!("{}{bound}{power}", self.movement())
    }

    fn suspected(&self) -> String {
        let why = match self.look {
            Some((look, ending)) => self.range_and_ending(look, ending),
            None => format!(
                ", and there are no values of single {} to measure noise with",
                self.nouns.items
            ),
        };
        let causes = if self.verdict.unpaired {
            "the inputs that changed or noise"
        } else {
            "noise"
        };
        format!(
            "{}, which {causes} may explain{why}{}{}",
            self.movement(),
            self.rule_for_suspected(),
            self.driven()
        )
    }

    /// The rule for a drop that noise may explain, and what would help to decide.
    fn rule_for_suspected(&self) -> &'static str {
        let ending = self.look.map(|(_, ending)| ending);
        match (self.on_suspected, ending) {
            (OnSuspected::Always(Effect::Fail), _) => "; by `on_suspected: fail` it fails",
            (OnSuspected::Always(Effect::Warn), _) => "; by `on_suspected: warn` it warns",
            (OnSuspected::Auto, Some(ending)) if ending.was_rerun() => {
                "; after re-runs such a drop warns (`on_suspected: auto`)"
            }
            (OnSuspected::Auto, None) => {
                "; without re-runs the limit alone decides (`on_suspected: auto`); \
                 set `deterministic: true` if nothing varies"
            }
            (OnSuspected::Auto, Some(LooksEnding::CannotRerun)) => {
                "; without re-runs the limit alone decides (`on_suspected: auto`); several repeats in what that step \
                 leaves, a command that the gate can start, or `deterministic: true` if nothing varies, would decide more"
            }
            (OnSuspected::Auto, Some(LooksEnding::NoBudget)) => {
                "; without re-runs the limit alone decides (`on_suspected: auto`); a larger `budget` would decide more"
            }
            (OnSuspected::Auto, Some(_)) => {
                "; without re-runs the limit alone decides (`on_suspected: auto`); a gate that \
                 runs the pipeline (`--rerun`), `baseline: {repeats: 5}`, or `deterministic: true` if nothing varies, \
                 would decide more"
            }
        }
    }

    fn wide(&self) -> String {
        let limit = display(self.verdict.max_drop);
        let why = self.look.map_or_else(String::new, |(look, ending)| {
            let repeated = matches!(look.basis, BoundsSource::Still | BoundsSource::Repeats);
            let bounded = look
                .upper
                .is_some_and(|upper| upper <= self.verdict.max_drop);
            if repeated && bounded {
                return format!(
                    ": other {} gained as much, but against one run of the base, which may \
                     have been a bad one; `baseline: {{repeats: 5}}` would decide",
                    self.nouns.items
                );
            }
            self.range_and_ending(look, ending)
        });
        format!(
            "{}; a drop of more than {limit} is not ruled out{why}",
            self.movement()
        )
    }

    /// The range of the drop, and why the metric stayed open.
    fn range_and_ending(&self, look: &Look, ending: LooksEnding) -> String {
        let range = match look.chance {
            Some(chance) => format!(": {}", of_chance(chance)),
            None => range(look, self.nouns),
        };
        format!("{range}{}", self.after(look, ending))
    }

    /// Why the metric stayed open, and what would decide it.
    fn after(&self, look: &Look, ending: LooksEnding) -> String {
        let Nouns { item, items } = self.nouns;
        match ending {
            LooksEnding::Decided => String::new(),
            LooksEnding::NoRerun => format!("; no {item} was run again"),
            LooksEnding::CannotRerun => {
                "; an earlier step has left its values, and nothing here can make them again"
                    .to_owned()
            }
            LooksEnding::RerunBefore => {
                format!("; it stayed open when the run had run doubtful {items} again")
            }
            LooksEnding::NoBudget => "; the budget allows no re-run".to_owned(),
            LooksEnding::BudgetSpent => format!("; {}", self.advisable.spent()),
            LooksEnding::AnswersKept => {
                "; its re-runs came from answers that the pipeline keeps, and tell nothing of its noise"
                    .to_owned()
            }
            LooksEnding::RerunsFailed => {
                format!("; the re-runs of the {items} that dropped failed")
            }
            LooksEnding::StillOpen if look.rests_on_single_bases => {
                let runs = self.advisable.runs_of_the_base();
                format!("; the base was run once, and that is what leaves it open: {runs} would decide more")
            }
            // Neither more runs nor more items tell what the other inputs do.
            LooksEnding::StillOpen if self.verdict.unpaired => String::new(),
            LooksEnding::StillOpen => still_open(look, self.verdict.max_drop, self.nouns),
        }
    }

    /// The two values of the metric.
    fn movement(&self) -> String {
        let (id, verdict) = (name(self.id), self.verdict);
        let drop = verdict.drop.unwrap_or(0.0);
        let verb = match (drop > 0.0, self.direction) {
            _ if display(drop.abs()) == display(0.0) => {
                return format!(
                    "{id} stayed at {} over {}",
                    shown(verdict.head),
                    self.nouns.counted(verdict.cases)
                );
            }
            (true, Direction::Higher) | (false, Direction::Lower) => "fell",
            (true, Direction::Lower) | (false, Direction::Higher) => "rose",
        };
        let values = format!("from {} to {}", shown(verdict.base), shown(verdict.head));
        let over = match verdict.cases {
            0 => String::new(),
            count if verdict.unpaired => {
                format!(
                    " over {} of the same name, with the inputs that changed",
                    self.nouns.counted(count)
                )
            }
            count => format!(" over {}", self.nouns.counted(count)),
        };
        if drop <= 0.0 {
            return format!("{id} {verb} {values}{over}");
        }
        format!(
            "{id} {verb} {values}{over}, by {} (the limit is {})",
            display(drop),
            display(verdict.max_drop)
        )
    }

    /// The cases that caused the drop.
    fn driven(&self) -> String {
        let drivers = &self.verdict.drivers;
        if drivers.is_empty() {
            return String::new();
        }
        let named: Vec<String> = drivers.iter().map(|driver| driver.case.clone()).collect();
        let theirs: f64 = drivers.iter().map(|driver| driver.share).sum();
        if 2.0 * theirs >= self.verdict.drop.unwrap_or(0.0) {
            return format!("; most of it in {}", names(&named));
        }
        format!(
            "; spread over many {}, most in {}",
            self.nouns.items,
            names(&named)
        )
    }
}

/// The sentence for a metric whose value is worse than the worst allowed one.
pub(super) fn beyond(
    id: &str,
    direction: Direction,
    (value, worst): (Option<f64>, Option<f64>),
) -> String {
    format!(
        "{} is {}, {} the {} that the configuration allows",
        name(id),
        shown(value),
        match direction {
            Direction::Higher => "below",
            Direction::Lower => "above",
        },
        shown(worst),
    )
}

/// The probability that chance produces a drop of single runs.
fn of_chance(chance: f64) -> String {
    let shown = match chance < 0.000_1 {
        true => "below 0.0001".to_owned(),
        false => display(chance),
    };
    format!("of single runs chance alone makes as much with a probability of {shown}")
}

/// The range of the drop.
fn range(look: &Look, nouns: &Nouns) -> String {
    match (look.lower, look.upper) {
        (Some(lower), Some(upper)) => {
            format!(": it is between {} and {}", display(lower), display(upper))
        }
        (None, Some(upper)) => format!(": it is at most {}", display(upper)),
        (_, None) => format!(": one {} with one run is not enough", nouns.item),
    }
}

/// What would decide a metric that is open after all re-runs, if drop and noise are as they seem. The noise of a mean
/// shrinks with more runs as it does with more cases, so that neither is advised where so many would be needed of the
/// one that as many would be needed of the other.
fn still_open(look: &Look, max_drop: f64, nouns: &Nouns) -> String {
    let Nouns { items, .. } = nouns;
    let (is_beyond, most) = (look.drop > max_drop, MOST_TIMES);
    let room = if is_beyond {
        look.drop
    } else {
        max_drop - look.drop
    };
    if room <= GUARD {
        return format!(
            "; it lies at the limit itself, where neither more runs nor more {items} decide"
        );
    }
    // The differences between single cases are known from all their runs: only more cases reduce this noise.
    let is_between_cases = look.basis == BoundsSource::Cases;
    let what = if is_between_cases { items } else { "runs" };
    match times_to_decide(look, is_beyond, room) {
        Some(1) => String::new(),
        Some(times) => format!("; about {times} times as many {what} would decide"),
        None if look.fixed.sqrt() >= room => {
            "; the reports of the base differ from each other by more than their own noise, which no further run of the \
             change takes away"
                .to_owned()
        }
        None if is_between_cases => {
            format!("; more than {most} times as many {items} would be needed to decide")
        }
        None => format!(
            "; it is so {} that more than {most} times as many runs, or as many {items}, would be needed to decide",
            match is_beyond {
                true => "small next to its noise",
                false => "close to the limit, next to its noise,",
            },
        ),
    }
}

/// Beyond this factor nobody is advised to make more runs.
const MOST_TIMES: u32 = 10;

/// The factor by which the number of runs would have to grow so that the open bound decides, if drop and noise are as
/// they seem: the error shrinks with the square root of the number of runs, and with more runs the error itself is
/// known better. None if the factor is larger than [`MOST_TIMES`].
fn times_to_decide(look: &Look, is_beyond: bool, room: f64) -> Option<u32> {
    let alpha = match is_beyond {
        true if look.alpha > 0.0 => look.alpha,
        // The look could use no alpha, so that there is no bound which more runs would move.
        true => return Some(1),
        false => 1.0 - UPPER_CONFIDENCE,
    };
    let of_runs = (look.error * look.error - look.fixed).max(0.0);
    (1..=MOST_TIMES).find(|times| {
        let times = f64::from(*times);
        let error = (look.fixed + of_runs / times).sqrt();
        stats::t_upper_quantile(alpha, look.freedom * times) * error < room
    })
}

/// The cases that broke in a metric, or those that may have broken. `of_failures`: whether the metric counts missing
/// answers.
pub(super) fn broken(
    cases: &[&BrokenCase],
    nouns: &Nouns,
    certain: bool,
    of_failures: bool,
) -> String {
    let all: Vec<String> = cases.iter().map(|case| case.case.clone()).collect();
    let metric = cases
        .first()
        .map_or_else(String::new, |case| name(&case.metric));
    let by_half = format!("worse than on the base by half or more in {metric}");
    let valueless = cases.iter().filter(|case| case.valueless).count();
    let worse = match (of_failures, valueless) {
        (true, _) => "without the answers that the base gave".to_owned(),
        (false, 0) => by_half,
        (false, all) if all == cases.len() => format!("without a value of {metric}"),
        (false, _) => format!("{by_half}, or without a value of it"),
    };
    let seen = match cases {
        [BrokenCase { bad, runs: 1, .. }] if *bad == 1 => format!("its one run is {worse}"),
        [BrokenCase { bad, runs, .. }] => {
            format!("{bad} of its {runs} runs {} {worse}", are(*bad))
        }
        _ => format!("their runs are {worse}"),
    };
    let case = nouns.of(cases.len());
    let its = if cases.len() == 1 { "its" } else { "their" };
    if certain {
        return format!("{case} {} broke: {seen}", names(&all));
    }
    format!(
        "{case} {} may have broken: {seen}, and {its} usual noise is not known well enough",
        names(&all)
    )
}

/// The sentence for new cases that fail from the start.
pub(super) fn added_broken(cases: &[String], metric: &str, of_failures: bool) -> String {
    let (are, get, fail) = match cases.len() {
        1 => ("is", "gets", "fails"),
        _ => ("are", "get", "fail"),
    };
    match of_failures {
        true => format!("{} {are} new and {get} no answer in any run", names(cases)),
        false => format!(
            "{} {are} new and {fail} {} in every run",
            names(cases),
            name(metric)
        ),
    }
}

/// A name from outside, between backticks.
pub(super) fn name(text: &str) -> String {
    format!("`{}`", safe::cut_middle(text, LONGEST_NAME))
}

pub(super) fn names(all: &[String]) -> String {
    let shown: Vec<String> = all.iter().take(MOST_NAMES).map(|text| name(text)).collect();
    match all.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn cells(count: usize) -> String {
    match count {
        1 => "1 cell".to_owned(),
        count => format!("{count} cells"),
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "null".to_owned(), display)
}

/// A share as a percentage with at most one decimal. It is rounded down, so that no share ever looks completely
/// certain.
pub(super) fn percent(share: f64) -> String {
    let tenths = (1_000.0 * share + super::look::GUARD).floor();
    if tenths % 10.0 == 0.0 {
        format!("{:.0} %", tenths / 10.0)
    } else {
        format!("{:.1} %", tenths / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::look::{self, LookOutcome, LookSettings, Noise, PairedCase, PairedCell};
    use kelvin_base::digest::Digest;
    use kelvin_base::draw::Draw;

    const LIMIT: f64 = 0.05;

    /// Cases of which each run fails with a known chance, on the head more often by a known drop.
    fn drawn(
        seed: u64,
        (cases, runs): (usize, usize),
        (chance, drop): (f64, f64),
    ) -> Vec<PairedCase> {
        let side = |at: usize, name: &str, chance: f64| -> Vec<Option<f64>> {
            let key = format!("{seed}/{at}/{name}");
            let mut draw = Draw::of(Digest::of(key.as_bytes()));
            let draws = (0..runs).map(|_| Some(f64::from(u8::from(draw.unit() < chance))));
            draws.collect()
        };
        let case = |at: usize| PairedCase {
            cells: vec![PairedCell {
                base: side(at, "base", chance).into(),
                head: side(at, "head", chance + drop).into(),
            }],
            weight: 1.0,
            ..PairedCase::default()
        };
        (0..cases).map(case).collect()
    }

    fn seen(cases: &[PairedCase]) -> Look {
        let settings = LookSettings {
            max_drop: LIMIT,
            widest: 1.0,
            alpha: 0.012,
            gated: 1,
            noise: Noise::Repeats,
            max_missing: 0.1,
        };
        look::look(cases, &settings).expect("it was measured")
    }

    /// Of many suites of this size the one whose drop is closest to the true one: the advice supposes that drop and noise
    /// are as they seem.
    fn typical(size: (usize, usize), (chance, drop): (f64, f64)) -> Look {
        let suites = (0..200).map(|seed| seen(&drawn(seed, size, (chance, drop))));
        let off = |look: &Look| (look.drop - drop).abs();
        let typical = suites.min_by(|one, other| off(one).total_cmp(&off(other)));
        typical.expect("there are suites")
    }

    fn is_open(size: (usize, usize), world: (f64, f64)) -> bool {
        typical(size, world).outcome == LookOutcome::Inconclusive
    }

    fn advice(size: (usize, usize), world: (f64, f64)) -> String {
        assert!(is_open(size, world), "{:?}", typical(size, world));
        let nouns = Nouns::from(("case", "cases"));
        still_open(&typical(size, world), LIMIT, &nouns)
    }

    #[test]
    fn what_is_said_to_decide_does_decide_and_what_is_said_not_to_does_not() {
        // A clear drop that three runs of twelve cases do not show.
        let clear = (0.1, 0.2);
        insta::assert_snapshot!(advice((12, 3), clear), @"; about 2 times as many runs would decide");
        assert!(!is_open((12, 6), clear));
        // With two runs of each side the error itself is hardly known, and some more runs tell it.
        insta::assert_snapshot!(advice((4, 2), (0.0, 0.5)), @"; about 2 times as many runs would decide");
        assert!(!is_open((4, 4), (0.0, 0.5)));
        // A drop at the limit: ten times as many runs do not tell on which side it is, nor do ten times as many cases.
        let close = (0.2, 0.045);
        insta::assert_snapshot!(advice((40, 3), close), @"; it is so close to the limit, next to its noise, that more than 10 times as many runs, or as many cases, would be needed to decide");
        assert!(is_open((40, 30), close) && is_open((400, 3), close));
        // A drop that is beyond the limit, and little beside its noise.
        let small = (0.4, 0.06);
        insta::assert_snapshot!(advice((12, 3), small), @"; it is so small next to its noise that more than 10 times as many runs, or as many cases, would be needed to decide");
        assert!(is_open((12, 30), small) && is_open((120, 3), small));
    }

    #[test]
    fn a_drop_at_the_limit_itself_is_decided_by_nothing() {
        let mut look = typical((12, 3), (0.1, 0.2));
        look.drop = LIMIT;
        let told = still_open(&look, LIMIT, &Nouns::from(("case", "cases")));
        insta::assert_snapshot!(told, @"; it lies at the limit itself, where neither more runs nor more cases decide");
    }
}
