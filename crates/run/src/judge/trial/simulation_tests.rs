//! Judges whose faults are known are put on trial: each fault is found, and a judge that has none is
//! cleared, in at least 95 of 100 trials.
//!
//! The sizes: a score has a noise of 0.1, so the mean of 50 differences of two has a standard error of 0.02. No shift
//! is found if its interval of 1.96 standard errors stays below the limit of 0.1, and a shift is found if the whole
//! interval is above the limit. Without a bias, and with one of 0.2, each happens in 99.9 % of trials; a judge must
//! keep to four such limits, so it is cleared in 99.5 %.

use std::collections::{BTreeMap, BTreeSet};

use super::fitness::{Fitness, Ruling};
use super::given::GivenAnswer;
use super::grades::{Grades, Scored};
use super::plan::{TrialSettings, TrialTask, tasks};
use super::plant::Plant;
use super::record::{FinishedTrial, TrialRecord, conclude};
use kelvin_base::digest::Fields;
use kelvin_base::draw::Draw;

const TRIALS: u64 = 100;
const ENOUGH: usize = 95;
const PROMPTS: usize = 50;
const NOISE: f64 = 0.1;
const BIAS: f64 = 0.2;
/// Fewer resamples than a user has, for speed; the ends of an interval are a little less certain.
const RESAMPLES: usize = 200;

/// A judge that knows what a copy is worth, and where it goes wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Simulated {
    /// By how much the text that stands first is graded too high, and the other too low.
    for_the_first: f64,
    /// By how much filler raises a score.
    for_length: f64,
    /// By how much form raises a score.
    for_form: f64,
    /// By how much an instruction raises a score.
    for_orders: f64,
    /// By how much answers of the family `own` are graded too high.
    for_its_own: f64,
    /// The standard deviation of every grade.
    noise: f64,
    /// Whether the judge gives every copy the same score.
    is_constant: bool,
}

impl Simulated {
    fn grade(&self, answer: &GivenAnswer, plant: Plant, draw: &mut Draw) -> f64 {
        let worth = answer.label.unwrap_or(0.8)
            * match plant {
                Plant::Given | Plant::Whole => 1.0,
                Plant::Shuffled => 0.9,
                Plant::Truncated | Plant::Padded | Plant::Dressed => 0.5,
                Plant::Contradicted | Plant::Obedient => 0.3,
            };
        let gain = match plant {
            Plant::Padded => self.for_length,
            Plant::Dressed => self.for_form,
            Plant::Obedient => self.for_orders,
            Plant::Given if answer.family.as_deref() == Some("own") => self.for_its_own,
            _ => 0.0,
        };
        let score = match self.is_constant {
            true => 0.7,
            false => worth + gain,
        };
        score + self.noise * normal(draw)
    }
}

/// A standard normal number (Box and Muller, "A note on the generation of random normal deviates", 1958).
fn normal(draw: &mut Draw) -> f64 {
    let (one, other) = (1.0 - draw.unit(), draw.unit());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

/// The answers of a simulated trial: whether people labelled them, and which families wrote them.
#[derive(Clone, Copy, Debug, Default)]
struct Suite {
    labels: Option<(f64, f64)>,
    families: &'static [&'static str],
}

/// Answers that a person found good, some more than others.
fn answers(suite: Suite, draw: &mut Draw) -> Vec<GivenAnswer> {
    let families: Vec<Option<&str>> = match suite.families {
        [] => vec![None],
        families => families.iter().copied().map(Some).collect(),
    };
    let each = (0..PROMPTS).flat_map(|prompt| families.iter().map(move |family| (prompt, *family)));
    each.map(|(prompt, family)| GivenAnswer {
        prompt: format!("Question {prompt}?"),
        response: "The drawer is the second one. It is on the left. There are 3 keys in it."
            .to_owned(),
        reference: None,
        label: suite
            .labels
            .map(|(low, high)| low + (high - low) * draw.unit()),
        family: family.map(str::to_owned),
    })
    .collect()
}

fn tried(judge: Simulated, suite: Suite, trial: u64) -> TrialRecord {
    let key = Fields::of("kelvin/simulated/v1").field("trial", trial.to_be_bytes());
    let mut draw = Draw::of(key.digest());
    let answers = answers(suite, &mut draw);
    let settings = TrialSettings {
        pass: 0.5,
        repeats: 3,
    };
    let planned: Vec<TrialTask> = tasks(&answers, settings).into_keys().collect();
    let mut judged = BTreeMap::new();
    for task in &planned {
        let answer = &answers[task.answer];
        let mut grade =
            |place: f64| (judge.grade(answer, task.plant, &mut draw) + place).clamp(0.0, 1.0);
        // In the usual order the reference comes first.
        let second = grade(-judge.for_the_first);
        let first = grade(judge.for_the_first);
        let orders = (task.plant == Plant::Truncated).then_some([first, second]);
        judged.insert(
            *task,
            Scored {
                score: second,
                orders,
            },
        );
    }
    let finished = FinishedTrial {
        served: BTreeSet::new(),
        judge: "grading.judge".to_owned(),
        grader_id: "llm/v1".to_owned(),
        compared_with: "exact-match/ws-v1".to_owned(),
        gradings: planned.len(),
        unscored: BTreeMap::new(),
        asks_both_orders: false,
        grades: Grades {
            answers: &answers,
            settings,
            judge: judged,
            other: BTreeMap::new(),
            own_family: Some("own"),
            shows_two: true,
        },
    };
    conclude(finished, RESAMPLES)
}

/// Counts the trials of this judge that end in this way.
fn count(
    trials: u64,
    judge: Simulated,
    suite: Suite,
    is_right: impl Fn(&TrialRecord) -> bool,
) -> usize {
    let records = (0..trials).map(|trial| tried(judge, suite, trial));
    records.filter(is_right).count()
}

/// Whether the judge is unfit for this reason.
fn is_found(record: &TrialRecord, criterion: &str) -> bool {
    let mut against = record.against();
    record.fitness == Fitness::Unfit && against.any(|one| one.name == criterion)
}

const UNBIASED: Simulated = Simulated {
    for_the_first: 0.0,
    for_length: 0.0,
    for_form: 0.0,
    for_orders: 0.0,
    for_its_own: 0.0,
    noise: NOISE,
    is_constant: false,
};

/// A suite without labels and families.
const PLAIN: Suite = Suite {
    labels: None,
    families: &[],
};

#[test]
fn an_unbiased_noisy_judge_is_cleared() {
    let labelled = Suite {
        labels: Some((0.5, 0.95)),
        ..PLAIN
    };
    let records = (0..TRIALS).map(|trial| tried(UNBIASED, labelled, trial));
    let (fit, other): (Vec<_>, Vec<_>) = records.partition(|one| one.fitness == Fitness::Fit);
    let why = other.iter().flat_map(TrialRecord::against);
    let why: Vec<&str> = why.map(|one| one.text.as_str()).collect();
    assert!(fit.len() >= ENOUGH, "cleared {}: {why:#?}", fit.len());
}

#[test]
fn a_judge_that_prefers_the_first_is_found() {
    let judge = Simulated {
        for_the_first: BIAS / 2.0,
        ..UNBIASED
    };
    let found = count(TRIALS, judge, PLAIN, |record| is_found(record, "position"));
    assert!(found >= ENOUGH, "found {found} of {TRIALS}");
}

#[test]
fn a_judge_that_prefers_the_longer_is_found() {
    let judge = Simulated {
        for_length: BIAS,
        ..UNBIASED
    };
    let found = count(TRIALS, judge, PLAIN, |record| is_found(record, "length"));
    assert!(found >= ENOUGH, "found {found} of {TRIALS}");
}

#[test]
fn a_judge_that_prefers_bold_type_and_bullets_is_found() {
    let judge = Simulated {
        for_form: BIAS,
        ..UNBIASED
    };
    let found = count(TRIALS, judge, PLAIN, |record| is_found(record, "form"));
    assert!(found >= ENOUGH, "found {found} of {TRIALS}");
}

#[test]
fn an_obedient_judge_is_found() {
    let judge = Simulated {
        for_orders: BIAS,
        ..UNBIASED
    };
    let found = count(TRIALS, judge, PLAIN, |record| is_found(record, "obedience"));
    assert!(found >= ENOUGH, "found {found} of {TRIALS}");
}

#[test]
fn a_judge_that_prefers_its_own_family_is_found_and_one_that_does_not_is_cleared() {
    let suite = Suite {
        // Even with the bias added, the scores stay below 1.
        labels: Some((0.45, 0.65)),
        families: &["other", "own"],
    };
    let judge = Simulated {
        for_its_own: BIAS,
        ..UNBIASED
    };
    let found = count(TRIALS, judge, suite, |record| {
        is_found(record, "self-preference")
    });
    assert!(found >= ENOUGH, "found {found} of {TRIALS}");
    let is_kept = |record: &TrialRecord| {
        let mut criteria = record.criteria.iter();
        let own = criteria.find(|one| one.name == "self-preference");
        own.is_some_and(|own| own.ruling == Ruling::Kept)
    };
    let cleared = count(TRIALS, UNBIASED, suite, is_kept);
    assert!(cleared >= ENOUGH, "cleared {cleared} of {TRIALS}");
}

#[test]
fn a_judge_that_tells_nothing_apart_is_found() {
    let constant = Simulated {
        is_constant: true,
        noise: 0.0,
        ..UNBIASED
    };
    let record = tried(constant, PLAIN, 0);
    assert!(is_found(&record, "order"), "{:?}", record.criteria);
    let noise_alone = Simulated {
        is_constant: true,
        ..UNBIASED
    };
    let found = count(20, noise_alone, PLAIN, |record| is_found(record, "order"));
    assert_eq!(found, 20);
}

#[test]
fn a_judge_of_much_noise_is_not_cleared() {
    let noisy = Simulated {
        noise: 0.35,
        ..UNBIASED
    };
    let cleared = count(20, noisy, PLAIN, |record| record.fitness == Fitness::Fit);
    assert_eq!(cleared, 0);
}
