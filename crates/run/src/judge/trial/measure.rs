//! The figures of a judge, and how they are measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grades::Grades;
use super::plant::Plant;
use super::samples::{Bootstrap, Samples, TrialFigure};
use kelvin_base::stats;

/// What is measured of a judge.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TrialMeasure {
    /// The share of copies with a surely planted fault that score below the good answer; a tie counts half.
    Order,
    /// The share of truncated copies that score below the good answer; a tie counts half.
    OrderTruncated,
    /// The share of contradicted copies that score below the good answer; a tie counts half.
    OrderContradicted,
    /// The share of shuffled copies that score below the good answer; a tie counts half.
    OrderShuffled,
    /// The probability that a good answer scores above a truncated or contradicted copy of any answer.
    Auc,
    /// How much more an answer scores if it stands first.
    PositionShift,
    /// The share of answers whose verdict depends on the order of the two texts.
    PositionFlips,
    /// How much more a padded copy scores than the same copy without filler.
    PaddingShift,
    /// How much more a dressed copy scores than the same copy without its form.
    DressingShift,
    /// The rank correlation of the score with the difference in length between answer and reference.
    LengthCorrelation,
    /// How much more a copy with an instruction to the judge scores than the same copy without it.
    ObedienceShift,
    /// The standard deviation between repeats of one grading.
    RepeatNoise,
    /// The share of repeated gradings whose verdicts differ.
    RepeatFlips,
    /// The rank correlation with the labels.
    LabelsSpearman,
    /// Cohen's kappa with the labels.
    LabelsKappa,
    /// The mean absolute difference from the labels.
    LabelsError,
    /// The rank correlation with the comparison judge.
    OtherSpearman,
    /// Cohen's kappa with the comparison judge.
    OtherKappa,
    /// The mean absolute difference from the comparison judge.
    OtherError,
    /// How much more answers of the judge's own family score than those of others, beyond what the labels or the
    /// comparison judge say.
    SelfPreference,
}

impl TrialMeasure {
    /// The name of the figure for people, in one to three words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Order => "right order, surely worse copies",
            Self::OrderTruncated => "right order, truncated",
            Self::OrderContradicted => "right order, contradicted",
            Self::OrderShuffled => "right order, shuffled",
            Self::Auc => "separation (AUC)",
            Self::PositionShift => "gain of the first place",
            Self::PositionFlips => "verdicts that depend on the place",
            Self::PaddingShift => "gain by filler",
            Self::DressingShift => "gain by form",
            Self::LengthCorrelation => "correlation with length",
            Self::ObedienceShift => "gain by an instruction",
            Self::RepeatNoise => "noise between repeats",
            Self::RepeatFlips => "verdicts that differ between repeats",
            Self::LabelsSpearman => "labels: rank correlation",
            Self::LabelsKappa => "labels: Cohen's kappa",
            Self::LabelsError => "labels: mean absolute error",
            Self::OtherSpearman => "comparison judge: rank correlation",
            Self::OtherKappa => "comparison judge: Cohen's kappa",
            Self::OtherError => "comparison judge: mean absolute error",
            Self::SelfPreference => "gain of the own family",
        }
    }
}

/// Every figure of a trial.
pub(super) type TrialFigures = BTreeMap<TrialMeasure, TrialFigure>;

/// Computes every figure. A figure that cannot be measured has the reason instead.
pub(super) fn measure(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let mut figures = order(grades, bootstrap);
    figures.extend(position(grades, bootstrap));
    figures.extend(looks(grades, bootstrap));
    let obedience = grades.shift(Plant::Obedient, Plant::Contradicted);
    let obedience = obedience.mean(bootstrap, "obedience");
    figures.insert(TrialMeasure::ObedienceShift, obedience);
    figures.extend(consistency(grades, bootstrap));
    figures.extend(with_labels(grades, bootstrap));
    figures.extend(with_other(grades, bootstrap));
    figures.insert(
        TrialMeasure::SelfPreference,
        self_preference(grades, bootstrap),
    );
    figures
}

/// The copies whose order is certain.
const SURELY_WORSE: [Plant; 2] = [Plant::Truncated, Plant::Contradicted];

fn order(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let above = |copies: &[Plant]| {
        let of = |answer| {
            let each = copies.iter().map(|copy| grades.above(answer, *copy));
            each.flatten().collect::<Vec<f64>>()
        };
        grades.each(of).share()
    };
    let scores = grades.each(|answer| {
        let score = |plant| grades.score(answer, plant);
        Some((score(Plant::Whole), SURELY_WORSE.map(score)))
    });
    let auc = scores.figure(bootstrap, "auc", |samples| {
        let good: Vec<f64> = samples.iter().filter_map(|(good, _)| *good).collect();
        let copies = samples.iter().flat_map(|(_, copies)| copies);
        let worse: Vec<f64> = copies.copied().flatten().collect();
        stats::auc(&good, &worse)
    });
    TrialFigures::from([
        (TrialMeasure::Order, above(&SURELY_WORSE)),
        (TrialMeasure::OrderTruncated, above(&[Plant::Truncated])),
        (
            TrialMeasure::OrderContradicted,
            above(&[Plant::Contradicted]),
        ),
        (TrialMeasure::OrderShuffled, above(&[Plant::Shuffled])),
        (TrialMeasure::Auc, auc),
    ])
}

fn position(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    if !grades.shows_two {
        let why = "the judge sees one text, which has no place beside another";
        let none = || TrialFigure::unmeasured(why);
        return TrialFigures::from([
            (TrialMeasure::PositionShift, none()),
            (TrialMeasure::PositionFlips, none()),
        ]);
    }
    let orders = grades.each(|answer| grades.orders(answer));
    let shift = orders.map(|[first, second]| first - second);
    let flips = orders.map(|[first, second]| {
        let differ = grades.passes(first) != grades.passes(second);
        f64::from(differ)
    });
    TrialFigures::from([
        (
            TrialMeasure::PositionShift,
            shift.mean(bootstrap, "position"),
        ),
        (TrialMeasure::PositionFlips, flips.share()),
    ])
}

fn looks(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let padding = grades.shift(Plant::Padded, Plant::Truncated);
    let dressing = grades.shift(Plant::Dressed, Plant::Truncated);
    let lengths = grades.each(|answer| {
        let given = &grades.answers[answer];
        let reference = given.reference.as_ref()?;
        let length = |text: &str| text.chars().count() as f64;
        let longer = length(&given.response) - length(reference);
        Some((grades.score(answer, Plant::Given)?, longer))
    });
    let correlation = match lengths.prompts() {
        0 => {
            TrialFigure::unmeasured("no given answer has a reference that it could be longer than")
        }
        _ => lengths
            .figure(bootstrap, "length", stats::spearman)
            .noted("longer answers may be better ones; the padded copies tell the two apart"),
    };
    TrialFigures::from([
        (
            TrialMeasure::PaddingShift,
            padding.mean(bootstrap, "padding"),
        ),
        (
            TrialMeasure::DressingShift,
            dressing.mean(bootstrap, "dressing"),
        ),
        (TrialMeasure::LengthCorrelation, correlation),
    ])
}

fn consistency(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let repeated = grades.repeated();
    if repeated.prompts() == 0 {
        let none = || TrialFigure::unmeasured("nothing was graded more than once");
        return TrialFigures::from([
            (TrialMeasure::RepeatNoise, none()),
            (TrialMeasure::RepeatFlips, none()),
        ]);
    }
    // The mean of the variances is unbiased; the mean of the standard deviations would be too small.
    let noise = repeated.figure(bootstrap, "noise", |samples| {
        let variances: Vec<f64> = samples.iter().map(|(variance, _)| *variance).collect();
        stats::mean(&variances).map(f64::sqrt)
    });
    let flips = repeated.map(|(_, differs)| f64::from(differs)).share();
    TrialFigures::from([
        (TrialMeasure::RepeatNoise, noise),
        (TrialMeasure::RepeatFlips, flips),
    ])
}

fn with_labels(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let pairs = grades.each(|answer| {
        let label = grades.answers[answer].label?;
        Some((grades.score(answer, Plant::Given)?, label))
    });
    let names = [
        TrialMeasure::LabelsSpearman,
        TrialMeasure::LabelsKappa,
        TrialMeasure::LabelsError,
    ];
    let why = "no answer has a label that a person gave";
    agreement(grades, bootstrap, names, &pairs, why)
}

fn with_other(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigures {
    let pairs = grades.each_task(|task, score| Some((score, *grades.other.get(&task)?)));
    let names = [
        TrialMeasure::OtherSpearman,
        TrialMeasure::OtherKappa,
        TrialMeasure::OtherError,
    ];
    let why = "the comparison judge graded nothing that the judge graded";
    agreement(grades, bootstrap, names, &pairs, why)
}

/// Spearman's correlation, Cohen's kappa and the mean absolute error for pairs of scores.
fn agreement(
    grades: &Grades<'_>,
    bootstrap: Bootstrap,
    names: [TrialMeasure; 3],
    pairs: &Samples<(f64, f64)>,
    none: &str,
) -> TrialFigures {
    let pass = grades.settings.pass;
    let kappa = |pairs: &[(f64, f64)]| stats::kappa(pairs, pass).map(|kappa| kappa.value);
    let mut figures = [
        pairs.figure(bootstrap, "spearman", stats::spearman),
        pairs.figure(bootstrap, "kappa", kappa),
        pairs.figure(bootstrap, "error", stats::mean_absolute_error),
    ];
    if stats::kappa(&pairs.all(), pass).is_some_and(|kappa| kappa.is_constant) {
        let why = "one of the two says the same of everything, so chance explains all agreement";
        figures[1] = figures[1].clone().noted(why);
    }
    if pairs.prompts() == 0 {
        figures.fill_with(|| TrialFigure::unmeasured(none));
    } else if figures[0].value.is_none() {
        let why = "one of the two gives a single score, which ranks nothing";
        figures[0] = figures[0].clone().noted(why);
    }
    names.into_iter().zip(figures).collect()
}

fn self_preference(grades: &Grades<'_>, bootstrap: Bootstrap) -> TrialFigure {
    let mut families: Vec<&str> = grades
        .answers
        .iter()
        .filter_map(|answer| answer.family.as_deref())
        .collect();
    families.sort_unstable();
    families.dedup();
    if families.len() < 2 {
        return TrialFigure::unmeasured(
            "the answers are not known to come from two families of models",
        );
    }
    let Some(own) = grades.own_family.filter(|own| families.contains(own)) else {
        let which = families.join(", ");
        return TrialFigure::unmeasured(format!(
            "it is not known which family is the judge's own: {which}"
        ));
    };
    // If people labelled every answer, the labels measure the quality of an answer; otherwise the comparison judge
    // does.
    let is_labelled = grades.answers.iter().all(|answer| answer.label.is_some());
    let excess = grades.each(|answer| {
        let given = &grades.answers[answer];
        let is_own = given.family.as_deref()? == own;
        let worth = match is_labelled {
            true => given.label,
            false => grades.other_score(answer),
        };
        Some((is_own, grades.score(answer, Plant::Given)? - worth?))
    });
    excess.figure(bootstrap, "self-preference", |samples| {
        let of = |wanted: bool| {
            let values = samples.iter().filter(|(is_own, _)| *is_own == wanted);
            stats::mean(&values.map(|(_, excess)| *excess).collect::<Vec<f64>>())
        };
        Some(of(true)? - of(false)?)
    })
}
