//! The result of a trial, as it is stored and shown.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fitness::{self, Circumstances, Criterion, Fitness, Ruling};
use super::given;
use super::grades::{Grades, variance};
use super::measure::{TrialFigures, TrialMeasure, measure};
use super::plant::Plant;
use super::samples::Bootstrap;
use kelvin_base::digest::Digest;
use kelvin_base::stats;

/// What a trial found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Where the judge is configured: `grading.judge`.
    pub judge: String,
    /// The id of the judge, which contains everything that its grades depend on. A judge of another id was not tried.
    pub grader_id: String,
    /// The names of the models that have graded, as their servers say it; empty if no server says a name. A judge that
    /// is served under another name was not tried.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub served: BTreeSet<String>,
    /// The id of the comparison judge.
    pub compared_with: String,
    /// Whether the judge is fit to gate on.
    pub fitness: Fitness,
    /// Why.
    pub criteria: Vec<Criterion>,
    /// How many prompts there were.
    pub prompts: usize,
    /// How many answers were given.
    pub answers: usize,
    /// How many of them have a label that a person gave.
    pub labelled: usize,
    /// The digest of the given answers.
    pub answers_digest: Digest,
    /// From which score on an answer passes.
    pub pass: f64,
    /// How often the same answer was graded.
    pub repeats: usize,
    /// How many gradings were asked for.
    pub gradings: usize,
    /// Why gradings have no score, by the code of the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unscored: BTreeMap<String, usize>,
    /// Every figure.
    pub figures: TrialFigures,
    /// The smallest drop that a gate on this judge would show.
    pub smallest_drop: SmallestDrop,
}

/// The smallest drop of a mean score that would be found four times in five, with one false alarm in twenty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SmallestDrop {
    /// How far a score moves by chance between two sides of a comparison, as a standard deviation: the larger one of
    /// the noise between repeats and the noise by filler. Null if neither of the two was measured.
    pub noise: Option<f64>,
    /// The drop by the number of prompts; empty if the noise is not known.
    pub by_prompts: BTreeMap<usize, f64>,
}

/// A finished trial with all its grades.
#[derive(Debug)]
pub struct FinishedTrial<'a> {
    /// The place of the judge in the configuration.
    pub judge: String,
    /// The id of the judge.
    pub grader_id: String,
    /// The names of the models that graded, as reported by their servers.
    pub served: BTreeSet<String>,
    /// The id of the comparison judge.
    pub compared_with: String,
    /// The grades.
    pub grades: Grades<'a>,
    /// How many gradings of the tested judge were requested.
    pub gradings: usize,
    /// The number of gradings without a score, by the code of the reason.
    pub unscored: BTreeMap<String, usize>,
    /// Whether the configured judge asks in both orders.
    pub asks_both_orders: bool,
}

/// How often the clusters are drawn for an interval. With this number, the ends of a 95 % interval change by about a
/// twentieth of its width from one seed to another.
pub const RESAMPLES: usize = 2_000;

/// Computes the figures and decides whether the judge is fit.
pub fn conclude(tried: FinishedTrial<'_>, resamples: usize) -> TrialRecord {
    let grades = &tried.grades;
    let figures = measure(grades, Bootstrap { resamples });
    let prompts = grades.prompts();
    let criteria = fitness::criteria(
        &figures,
        Circumstances {
            prompts,
            asked: tried.gradings,
            unscored: tried.unscored.values().sum(),
            asks_both_orders: tried.asks_both_orders,
            shows_two: grades.shows_two,
        },
    );
    let labels = grades
        .answers
        .iter()
        .filter(|answer| answer.label.is_some());
    TrialRecord {
        judge: tried.judge,
        grader_id: tried.grader_id,
        served: tried.served,
        compared_with: tried.compared_with,
        fitness: fitness::fitness(&criteria),
        criteria,
        prompts,
        answers: grades.answers.len(),
        labelled: labels.count(),
        answers_digest: given::digest(grades.answers),
        pass: grades.settings.pass,
        repeats: grades.settings.repeats,
        gradings: tried.gradings,
        unscored: tried.unscored,
        smallest_drop: smallest_drop(grades, &figures, prompts),
        figures,
    }
}

/// Sizes of suites for which the smallest detectable drop is reported, in addition to the size of the trial itself.
const SUITES: [usize; 3] = [20, 100, 400];

fn smallest_drop(grades: &Grades<'_>, figures: &TrialFigures, prompts: usize) -> SmallestDrop {
    // A comparison of two gradings of unchanged answers contains the noise of both.
    let repeats = figures.get(&TrialMeasure::RepeatNoise);
    let repeats = repeats.and_then(|figure| Some(figure.value? * std::f64::consts::SQRT_2));
    // Answers rarely stay exactly the same. Filler changes the text but not its value, so a shift by filler that
    // differs from prompt to prompt is noise too.
    let shifts = grades.shift(Plant::Padded, Plant::Truncated).all();
    let filler = (shifts.len() > 1).then(|| variance(&shifts).sqrt());
    let noise = repeats.into_iter().chain(filler).reduce(f64::max);
    let by_prompts = noise.map_or_else(BTreeMap::new, |noise| {
        let suites = SUITES.into_iter().chain([prompts.max(2)]);
        suites
            .map(|suite| (suite, drop_seen(noise, suite)))
            .collect()
    });
    SmallestDrop { noise, by_prompts }
}

/// The smallest drop that a one-sided t test of paired differences at 0.05 detects with a power of
/// 0.8 (Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, section 2.4).
fn drop_seen(noise: f64, prompts: usize) -> f64 {
    let freedom = prompts as f64 - 1.0;
    let quantiles = stats::t_upper_quantile(0.05, freedom) + stats::t_upper_quantile(0.2, freedom);
    quantiles * noise / (prompts as f64).sqrt()
}

impl TrialRecord {
    /// The fitness that follows from the figures by the present limits; the fitness in the record is ignored.
    /// `asks_both_orders` and `shows_two` describe how the judge is configured.
    pub fn by_its_figures(&self, asks_both_orders: bool, shows_two: bool) -> Fitness {
        let circumstances = Circumstances {
            prompts: self.prompts,
            asked: self.gradings,
            unscored: self.unscored.values().sum(),
            asks_both_orders,
            shows_two,
        };
        fitness::fitness(&fitness::criteria(&self.figures, circumstances))
    }

    /// The criteria because of which the judge is not fit, in order.
    pub fn against(&self) -> impl Iterator<Item = &Criterion> {
        let wanted = match self.fitness {
            Fitness::Unfit => Ruling::Broken,
            Fitness::Fit | Fitness::Undecided => Ruling::Open,
        };
        self.criteria.iter().filter(move |one| one.ruling == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_drop_is_that_of_the_t_test() {
        // 1.7247 and 0.8600 over the root of 21.
        let seen = drop_seen(1.0, 21);
        assert!((seen - 0.564).abs() < 0.002, "{seen}");
        assert!((drop_seen(0.2, 400) - 0.0249).abs() < 0.0001);
        assert_eq!(drop_seen(0.0, 20), 0.0);
    }
}
