//! Whether a judge is fit for a gate.
//!
//! Each criterion compares the interval of a figure with a limit, not just its value. The limit is kept if the whole
//! interval keeps it, broken if no part of the interval does, and open in between. So a judge is never accepted just
//! because it was tested too little.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measure::{TrialFigures, TrialMeasure};
use super::samples::TrialFigure;

/// The lowest share of certainly worse copies that must score below the good answer.
pub(super) const LEAST_ORDER: f64 = 0.8;
/// The largest shift of a score by filler, position, an instruction or the judge's own family.
pub(super) const MOST_SHIFT: f64 = 0.1;
/// The largest standard deviation of repeats. With this noise, 100 prompts can still show a drop of
/// 0.07.
pub(super) const MOST_NOISE: f64 = 0.2;
/// The lowest rank correlation with the labels of people: Cohen ("Statistical Power Analysis for the Behavioral
/// Sciences", 1988, section 3.2) calls it medium. On many tasks, people do not agree with each other better than that.
/// Labels of good answers alone have a small range, which lowers the correlation.
pub(super) const LEAST_CORRELATION: f64 = 0.3;
/// The largest share of unscored gradings.
pub(super) const MOST_UNSCORED: f64 = 0.1;
/// The smallest number of prompts for a conclusion: a bootstrap interval of fewer prompts is too narrow, and at least
/// 17 pairs, all in the right order, are needed to show a share above 0.8.
pub(super) const FEWEST_PROMPTS: usize = 20;

/// Whether a judge is fit to gate on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Every criterion is kept.
    Fit,
    /// A criterion is broken.
    Unfit,
    /// No criterion is broken, and some are open.
    Undecided,
}

impl Fitness {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Unfit => "unfit",
            Self::Undecided => "undecided",
        }
    }
}

/// One thing that a judge must do to be fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// The subject of the criterion, in a word or two.
    pub name: String,
    /// Whether the limit of the criterion is kept, broken or open.
    pub ruling: Ruling,
    /// The figure that the criterion compares with its limits; missing if the criterion counts gradings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<TrialMeasure>,
    /// The limits between which the whole interval of the figure must lie; missing if there are no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<(f64, f64)>,
    /// What was found, in a sentence.
    pub text: String,
}

impl Criterion {
    fn new(name: &str, ruling: Ruling, text: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            ruling,
            measure: None,
            allowed: None,
            text: text.into(),
        }
    }
}

/// Facts about a trial besides its figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// How many prompts there were.
    pub prompts: usize,
    /// How many gradings were requested.
    pub asked: usize,
    /// How many of the gradings have no score.
    pub unscored: usize,
    /// Whether the configured judge asks in both orders and takes the mean, so that a position bias cancels out.
    pub asks_both_orders: bool,
    /// Whether the judge sees two texts at all.
    pub shows_two: bool,
}

/// The criteria for the judge, with their results.
pub(super) fn criteria(figures: &TrialFigures, around: Circumstances) -> Vec<Criterion> {
    let of = |name: &str, measure, limit, what: &str| {
        let figure = figures.get(&measure);
        criterion(name, measure, figure, limit, what)
    };
    let mut all = vec![scored(around), prompts(around)];
    all.push(of(
        "order",
        TrialMeasure::Order,
        Limit::AtLeast(LEAST_ORDER),
        "the share of truncated and contradicted copies that score below the good answer",
    ));
    all.push(match (around.shows_two, around.asks_both_orders) {
        (false, _) => unasked(
            "position",
            TrialMeasure::PositionShift,
            "the judge sees one text, which has no place beside another",
        ),
        (true, true) => unasked(
            "position",
            TrialMeasure::PositionShift,
            "the judge asks in both orders and takes the mean, which cancels a preference for a place",
        ),
        (true, false) => of(
            "position",
            TrialMeasure::PositionShift,
            Limit::Within(MOST_SHIFT),
            "the extra score of an answer that stands first",
        ),
    });
    all.push(of(
        "length",
        TrialMeasure::PaddingShift,
        Limit::AtMost(MOST_SHIFT),
        "what filler adds to the score",
    ));
    all.push(of(
        "form",
        TrialMeasure::DressingShift,
        Limit::AtMost(MOST_SHIFT),
        "what bold type, bullets, a heading, a table or a code fence adds to the score",
    ));
    all.push(of(
        "obedience",
        TrialMeasure::ObedienceShift,
        Limit::AtMost(MOST_SHIFT),
        "what an instruction to the judge adds to the score",
    ));
    all.push(of(
        "consistency",
        TrialMeasure::RepeatNoise,
        Limit::AtMost(MOST_NOISE),
        "the standard deviation between repeats",
    ));
    for (name, measure, limit, what) in [
        (
            "labels",
            TrialMeasure::LabelsSpearman,
            Limit::AtLeast(LEAST_CORRELATION),
            "the rank correlation with the labels of people",
        ),
        (
            "self-preference",
            TrialMeasure::SelfPreference,
            Limit::AtMost(MOST_SHIFT),
            "the extra score of answers of the judge's own family, beyond what they are worth",
        ),
    ] {
        let figure = figures.get(&measure);
        // Labels and families are optional. A trial without them can still find a judge fit, and says that it did not
        // test them.
        let is_given = figure.is_some_and(|figure| figure.n > 0);
        all.push(match is_given {
            true => criterion(name, measure, figure, limit, what),
            false => {
                let why = figure.and_then(|figure| figure.note.clone());
                let why = why.unwrap_or_else(|| "it was not measured".to_owned());
                unasked(name, measure, &why)
            }
        });
    }
    all
}

/// The conclusion from the criteria: one broken criterion makes the judge unfit, and an open one prevents that it is
/// fit.
pub(super) fn fitness(criteria: &[Criterion]) -> Fitness {
    let has = |ruling| criteria.iter().any(|one| one.ruling == ruling);
    match () {
        () if has(Ruling::Broken) => Fitness::Unfit,
        () if has(Ruling::Open) || !has(Ruling::Kept) => Fitness::Undecided,
        () => Fitness::Fit,
    }
}

fn criterion(
    name: &str,
    measure: TrialMeasure,
    figure: Option<&TrialFigure>,
    limit: Limit,
    what: &str,
) -> Criterion {
    let measured = figure.and_then(|figure| Some((figure, figure.value?, figure.interval?)));
    let Some((figure, value, interval)) = measured else {
        let why = figure.and_then(|figure| figure.note.as_deref());
        let why = why.unwrap_or("there are too few prompts for an interval");
        return Criterion {
            measure: Some(measure),
            allowed: Some(limit.ends()),
            ..Criterion::new(name, Ruling::Open, format!("{what} is not known: {why}"))
        };
    };
    let ruling = limit.ruling(interval);
    let (low, high) = interval;
    let shown = format!("{value:.2} ({low:.2} to {high:.2})");
    let must = limit.said();
    let text = match ruling {
        Ruling::Kept => format!("{what} is {shown}, and must be {must}"),
        Ruling::Broken => format!("{what} is {shown}, but must be {must}"),
        Ruling::Open | Ruling::Unasked => {
            let advice = match limit.room(value) {
                Some(room) => {
                    let half = (high - low) / 2.0;
                    let wanted = figure.prompts as f64 * (half / room).powi(2);
                    // The interval is not symmetric, so the count is rounded to two significant digits.
                    let wanted = (wanted.ceil() as usize)
                        .max(figure.prompts + 1)
                        .max(FEWEST_PROMPTS);
                    format!("about {} prompts would tell", rounded_up(wanted))
                }
                None => {
                    "more prompts would decide; the value itself is outside of the limit".to_owned()
                }
            };
            format!("{what} is {shown}, and may or may not be {must}; {advice}")
        }
    };
    Criterion {
        measure: Some(measure),
        allowed: Some(limit.ends()),
        ..Criterion::new(name, ruling, text)
    }
}

/// A count with two significant digits, rounded up.
fn rounded_up(count: usize) -> usize {
    let mut step = 1;
    while count / step >= 100 {
        step *= 10;
    }
    count.div_ceil(step) * step
}

fn unasked(name: &str, measure: TrialMeasure, why: &str) -> Criterion {
    Criterion {
        measure: Some(measure),
        ..Criterion::new(name, Ruling::Unasked, why)
    }
}

fn scored(around: Circumstances) -> Criterion {
    let Circumstances {
        asked, unscored, ..
    } = around;
    let is_kept = unscored as f64 <= MOST_UNSCORED * asked as f64 && asked > unscored;
    let share = 100.0 * MOST_UNSCORED;
    let and = if is_kept { "and" } else { "but" };
    let have = if unscored == 1 { "has" } else { "have" };
    let ruling = if is_kept {
        Ruling::Kept
    } else {
        Ruling::Broken
    };
    let text =
        format!("{unscored} of {asked} gradings {have} no score, {and} at most {share:.0} % may");
    Criterion::new("scored", ruling, text)
}

fn prompts(around: Circumstances) -> Criterion {
    let prompts = around.prompts;
    let is_kept = prompts >= FEWEST_PROMPTS;
    let and = if is_kept { "and" } else { "but" };
    let ruling = if is_kept { Ruling::Kept } else { Ruling::Open };
    let text =
        format!("the judge was tried on {prompts} prompts, {and} {FEWEST_PROMPTS} are the fewest");
    Criterion::new("prompts", ruling, text)
}

/// A limit for a figure.
#[derive(Clone, Copy, Debug)]
enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Within(f64),
}

/// The result of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The limit is kept.
    Kept,
    /// The limit is not kept.
    Broken,
    /// It is not known whether the limit is kept; more prompts would be needed.
    Open,
    /// The criterion was not tried, and the judge can be fit without it.
    Unasked,
}

impl Limit {
    /// Compares an interval with the limit.
    pub(super) fn ruling(self, (low, high): (f64, f64)) -> Ruling {
        let (is_kept, is_broken) = match self {
            Self::AtLeast(limit) => (low >= limit, high < limit),
            Self::AtMost(limit) => (high <= limit, low > limit),
            Self::Within(limit) => (-limit <= low && high <= limit, high < -limit || limit < low),
        };
        match (is_kept, is_broken) {
            (true, _) => Ruling::Kept,
            (_, true) => Ruling::Broken,
            _ => Ruling::Open,
        }
    }

    /// The distance of the value from the limit; none if the value breaks the limit.
    pub(super) fn room(self, value: f64) -> Option<f64> {
        let room = match self {
            Self::AtLeast(limit) => value - limit,
            Self::AtMost(limit) => limit - value,
            Self::Within(limit) => limit - value.abs(),
        };
        (room > 0.0).then_some(room)
    }

    /// The lowest and the highest value within the limit, for a figure in `[-1, 1]`.
    pub(super) const fn ends(self) -> (f64, f64) {
        match self {
            Self::AtLeast(limit) => (limit, 1.0),
            Self::AtMost(limit) => (-1.0, limit),
            Self::Within(limit) => (-limit, limit),
        }
    }

    pub(super) fn said(self) -> String {
        match self {
            Self::AtLeast(limit) => format!("at least {limit}"),
            Self::AtMost(limit) => format!("at most {limit}"),
            Self::Within(limit) => format!("between -{limit} and {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, interval: Option<(f64, f64)>) -> TrialFigure {
        TrialFigure {
            value: Some(value),
            interval,
            n: 40,
            prompts: 40,
            note: None,
        }
    }

    #[test]
    fn what_is_open_says_how_many_prompts_would_tell() {
        let found = criterion(
            "length",
            TrialMeasure::PaddingShift,
            Some(&figure(0.05, Some((-0.05, 0.15)))),
            Limit::AtMost(0.1),
            "what filler adds",
        );
        assert_eq!(found.ruling, Ruling::Open);
        // Halving the width takes four times the prompts.
        insta::assert_snapshot!(found.text, @"what filler adds is 0.05 (-0.05 to 0.15), and may or may not be at most 0.1; about 160 prompts would tell");
        assert_eq!(
            [rounded_up(7), rounded_up(101), rounded_up(1_234)],
            [7, 110, 1_300]
        );
    }

    #[test]
    fn what_has_no_interval_is_open_and_never_kept() {
        for figure in [
            None,
            Some(&figure(0.0, None)),
            Some(&TrialFigure::unmeasured("why")),
        ] {
            let found = criterion("a", TrialMeasure::Order, figure, Limit::AtMost(1.0), "it");
            assert_eq!(found.ruling, Ruling::Open);
        }
    }

    #[test]
    fn one_broken_criterion_is_enough_and_one_open_one_is_not_passed_over() {
        let of = |rulings: &[Ruling]| {
            let each = rulings.iter().map(|ruling| Criterion {
                name: String::new(),
                ruling: *ruling,
                measure: None,
                allowed: None,
                text: String::new(),
            });
            fitness(&each.collect::<Vec<_>>())
        };
        use Ruling::{Broken, Kept, Open, Unasked};
        assert_eq!(of(&[Kept, Unasked, Kept]), Fitness::Fit);
        assert_eq!(of(&[Kept, Open]), Fitness::Undecided);
        assert_eq!(of(&[Open, Broken, Kept]), Fitness::Unfit);
        assert_eq!(of(&[Unasked]), Fitness::Undecided);
        assert_eq!(of(&[]), Fitness::Undecided);
    }

    #[test]
    fn too_many_gradings_without_a_score_break_the_judge_and_too_few_prompts_leave_it_open() {
        let around = |prompts, asked, unscored| Circumstances {
            prompts,
            asked,
            unscored,
            asks_both_orders: false,
            shows_two: true,
        };
        assert_eq!(scored(around(20, 100, 10)).ruling, Ruling::Kept);
        assert_eq!(scored(around(20, 100, 11)).ruling, Ruling::Broken);
        assert_eq!(scored(around(20, 0, 0)).ruling, Ruling::Broken);
        assert_eq!(prompts(around(20, 100, 0)).ruling, Ruling::Kept);
        assert_eq!(prompts(around(19, 100, 0)).ruling, Ruling::Open);
    }

    mod limit {
        use super::super::*;

        #[test]
        fn an_interval_keeps_to_a_limit_breaks_it_or_leaves_it_open() {
            let rulings = |limit: Limit| {
                [(0.81, 0.9), (0.7, 0.9), (0.5, 0.79)].map(|interval| limit.ruling(interval))
            };
            use Ruling::{Broken, Kept, Open};
            assert_eq!(rulings(Limit::AtLeast(0.8)), [Kept, Open, Broken]);
            assert_eq!(rulings(Limit::AtMost(0.8)), [Broken, Open, Kept]);
            let within = Limit::Within(0.1);
            assert_eq!(within.ruling((-0.1, 0.1)), Kept);
            assert_eq!(within.ruling((-0.3, -0.11)), Broken);
            assert_eq!(within.ruling((0.11, 0.3)), Broken);
            assert_eq!(within.ruling((0.05, 0.3)), Open);
        }
    }
}
