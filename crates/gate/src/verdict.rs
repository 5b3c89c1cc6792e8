//! The verdict: one word, whether the job passes, and the reasons, each a code for machines and a sentence for
//! people.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::ChangedAnswers;
pub use super::governing::Status;
use super::look::GUARD;
use super::policy::{Attention, Effect, Policy};
use super::{losses, sentence};
use crate::compare::Turnover;
use kelvin_base::exit::Exit;
use kelvin_record::{ItemComparison, ItemComparisons, Nouns, probe_of};

/// The result of a comparison by the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst word of all gated metrics.
    pub verdict: Word,
    /// Whether the job passes; the policy decides this from the word.
    pub passed: bool,
    /// The reasons, one sentence each; those that fail the job come first.
    pub reasons: Vec<Reason>,
    /// Every metric of either side, by id.
    pub metrics: BTreeMap<String, MetricVerdict>,
    /// The cases that broke completely, or may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_cases: Vec<BrokenCase>,
    /// The items of each probe that are answered otherwise than on the base, by the name of the probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, ChangedAnswers>,
    /// How the change edited, added or removed the items of each probe, by the name of the probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub turnover: BTreeMap<String, Turnover>,
    /// What the items of each probe are called, by the name of the probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nouns: BTreeMap<String, Nouns>,
    /// Whether `baseline: {compute: true}` is set already or cannot be used, so that nobody is advised to set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_compute: bool,
}

/// A verdict in one word.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The head is not worse by more than is allowed.
    Pass,
    /// Nothing was run: the change touches only files that the configuration of the base lists as harmless.
    Unaffected,
    /// There is nothing to compare with: every source was asked, and no source has a baseline.
    NoBaseline,
    /// Neither a regression nor its absence can be shown.
    Inconclusive,
    /// The metric was not measured, or not in enough cases.
    Unmeasured,
    /// Whether there is something to compare with is not known: a source could not be asked.
    BaselineUnreachable,
    /// The head is worse, and noise does not explain it.
    Regression,
    /// The head is worse, and somebody with the right to decide has to approve or reject this.
    PendingApproval,
}

/// What a gated metric does to the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing: it passes.
    Passes,
    /// It is a warning, and the job passes as far as this metric is concerned.
    Warns,
    /// It fails the job.
    Fails,
}

impl Consequence {
    /// The mark before a word in a table.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Passes => "✅ ",
            Self::Warns => "⚠️ ",
            Self::Fails => "❌ ",
        }
    }
}

/// The verdict on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricVerdict {
    /// The verdict in one word.
    pub verdict: Word,
    /// Why.
    pub cause: Cause,
    /// Whether the metric can fail the job, can lead to a warning, or is only shown.
    pub policy: Attention,
    /// Whether it is among the first metrics that people are shown, whatever its policy is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
    /// Whether a smaller value is better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower_is_better: bool,
    /// The value of the base over the cells that both sides measured; if there are no such cells, the reported value.
    pub base: Option<f64>,
    /// The value of the head, in the same way.
    pub head: Option<f64>,
    /// How much worse the head is; a positive number is worse, whichever direction is better.
    pub drop: Option<f64>,
    /// The drop that is allowed.
    pub max_drop: f64,
    /// A lower bound of the drop, with the confidence in `confidence`.
    pub at_least: Option<f64>,
    /// The confidence of the lower bound.
    pub confidence: Option<f64>,
    /// An upper bound of the drop, with confidence 0.9.
    pub at_most: Option<f64>,
    /// The smallest drop that this suite would have shown four times in five.
    pub detectable: Option<f64>,
    /// How much the value changes when one cell changes completely.
    pub resolution: Option<f64>,
    /// How many cases were judged.
    pub cases: usize,
    /// How many cells were judged.
    pub cells: usize,
    /// The standard deviation between stored reports of the base, if several serve as repeats of the base and their own
    /// noise does not explain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_reports: Option<f64>,
    /// The cases that lost a cell: it failed, or the case, its kind or its type was withdrawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// How many of the cells that the base measured are paired, lost or changed.
    #[serde(default)]
    pub coverage: CellCounts,
    /// Whether the figures compare the cases with the same name, each side with its own inputs, instead of pairs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpaired: bool,
    /// Whether so many inputs changed that the pairs alone are not enough for a conclusion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_thin: bool,
    /// Whether the head's values were read from what an earlier step has left, so that no re-run can add to them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_rerun: bool,
    /// Whether every value of this gated metric is the worst possible one on both sides, so that nothing can be lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_at_worst: bool,
    /// The verdict on the governing type of the metric, if the metric is judged by the swaps of a type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swaps: Option<SwapsVerdict>,
    /// The cases that cause the drop, the largest contribution first; at most as many as fit into a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<Driver>,
}

/// How the influence of a governing type changed, by its swaps on both sides, corrected for noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwapsVerdict {
    /// The name of the type.
    pub of_type: String,
    /// The status of the type, in one word.
    pub status: Status,
    /// How many swaps were compared.
    pub swaps: usize,
    /// How many of the swaps moved the decision on the base.
    pub moved_base: usize,
    /// How many of the swaps move the decision on the head.
    pub moved_head: usize,
    /// The share that was lost, minus the share that was won; for numbers, the share of the squared distances.
    pub drop: f64,
    /// The share that may be lost: `max_drop`, or a third of the share on the base if that is less.
    pub limit: f64,
    /// Whether a pass does not cover the type, because the suite could not detect its loss.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// The cases that were left out, because their answers vary too much on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsteady: Vec<String>,
}

/// How many of the cells that the base measured are paired, lost or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellCounts {
    /// How many cells the base measured.
    pub base: usize,
    /// How many of these cells the head measured with the same input.
    pub paired: usize,
    /// How many of these cells were lost.
    pub lost: usize,
    /// How many of these cells have another input on the head.
    pub turned: usize,
    /// How many cases have a cell that the head measured with the same input.
    pub paired_cases: usize,
}

/// A case that causes a part of a drop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Driver {
    /// Its name.
    pub case: String,
    /// The contribution of the case to the drop of the metric.
    pub share: f64,
    /// The variants of the case that got worse, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}

/// The cause of the verdict on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The drop is beyond the limit and beyond its noise.
    Drop,
    /// The upper bound of the drop is below the limit.
    Bounded,
    /// The drop is beyond the limit, and noise may explain it.
    Suspected,
    /// A drop beyond the limit is not ruled out.
    Wide,
    /// The head is worse than the configuration allows at all.
    Minimum,
    /// So many more items were lost than won that chance does not explain it.
    Items,
    /// A drop beyond the limit can hide in cells without a value.
    Missing,
    /// The drop is beyond the limit, and hits that nobody has judged may explain it.
    Unjudged,
    /// Too many inputs have no value, or were withdrawn.
    Coverage,
    /// A governing type was withdrawn.
    Withdrawn,
    /// So many inputs changed that the pairs are not enough for a conclusion, and the configuration makes the gate fail
    /// in this case.
    Edited,
    /// One side has no value for the metric.
    NoValue,
    /// The metric does not mean the same on both sides.
    Incomparable,
    /// The base does not have the metric.
    New,
    /// Nothing was run, and the value is that of the base.
    Unaffected,
}

/// A case that broke completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenCase {
    /// Its name.
    pub case: String,
    /// The metric in which it broke.
    pub metric: String,
    /// Whether it is certain that the case broke.
    pub certain: bool,
    /// How many runs were worse than the base by half or more, or had no value.
    pub bad: usize,
    /// How many runs there were.
    pub runs: usize,
    /// Whether no run has a value, although the base has one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub valueless: bool,
}

impl MetricVerdict {
    /// By how much the drop exceeds the limit; none if it does not exceed it.
    pub fn beyond(&self) -> Option<f64> {
        let beyond = match &self.swaps {
            Some(swaps) => swaps.drop - swaps.limit,
            None => self.drop? - self.max_drop,
        };
        (beyond > GUARD).then_some(beyond)
    }

    /// The order in which metrics are reported, smallest first. First come drops beyond their limit: the certain ones
    /// before those that noise may explain, and the largest excess first. Then come metrics that are below their
    /// minimum, were not measured, or are open; then the others, the largest drop first.
    pub fn rank(&self) -> Rank {
        let (urgency, size) = match (self.verdict, self.cause, self.beyond()) {
            (Word::Regression | Word::PendingApproval, _, Some(beyond)) => (Urgency::Drop, beyond),
            (_, Cause::Suspected, beyond) => (Urgency::Suspected, beyond.unwrap_or(0.0)),
            (Word::Regression | Word::PendingApproval, _, None) => {
                (Urgency::Minimum, self.drop.unwrap_or(0.0))
            }
            (Word::Unmeasured, _, _) => (Urgency::Unmeasured, 0.0),
            (Word::Inconclusive, _, _) => (Urgency::Open, self.drop.unwrap_or(0.0)),
            (
                Word::Pass | Word::Unaffected | Word::NoBaseline | Word::BaselineUnreachable,
                _,
                _,
            ) => (Urgency::None, self.drop.unwrap_or(0.0)),
        };
        Rank { urgency, size }
    }
}

/// The position of a finding in the order of reporting; the smallest comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rank {
    /// The kind of the finding.
    pub urgency: Urgency,
    /// The size of the finding; larger ones come first.
    pub size: f64,
}

/// The kinds of findings, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A drop beyond the limit and beyond noise.
    Drop,
    /// A drop beyond the limit that noise may explain.
    Suspected,
    /// A value below the minimum, without a drop beyond the limit.
    Minimum,
    /// A case that broke completely.
    Broken,
    /// A value that is missing.
    Unmeasured,
    /// A doubt that needs attention: a case that may have broken, or cases that were lost.
    Doubt,
    /// A drop that cannot be excluded.
    Open,
    /// No finding.
    None,
}

impl Rank {
    /// A finding without a size.
    pub const fn of(urgency: Urgency) -> Self {
        Self { urgency, size: 0.0 }
    }

    /// Which of two comes first.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_size = || other.size.total_cmp(&self.size);
        self.urgency.cmp(&other.urgency).then_with(by_size)
    }
}

impl Word {
    /// The word in reports and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unaffected => "unaffected",
            Self::NoBaseline => "no_baseline",
            Self::Inconclusive => "inconclusive",
            Self::Unmeasured => "unmeasured",
            Self::BaselineUnreachable => "baseline_unreachable",
            Self::Regression => "regression",
            Self::PendingApproval => "pending_approval",
        }
    }

    /// Whether no result counts against the change: it was compared and is not worse, or it cannot be worse.
    pub const fn is_fine(self) -> bool {
        matches!(self, Self::Pass | Self::Unaffected)
    }
}

impl Verdict {
    /// The words for the items on which a metric is measured.
    pub fn nouns_of(&self, metric: &str) -> Nouns {
        let nouns = self.nouns.get(probe_of(metric));
        nouns.cloned().unwrap_or_default()
    }

    /// The words for the items of all probes in the verdict.
    pub fn common_nouns(&self) -> Nouns {
        Nouns::common(&self.nouns)
    }

    /// A verdict without a comparison, with the reason and what would help.
    pub fn without_base(word: Word, effect: Effect, text: impl Into<String>) -> Self {
        Self {
            verdict: word,
            passed: effect != Effect::Fail,
            reasons: vec![Reason::new(
                match word {
                    Word::NoBaseline => ReasonCode::NoBaseline,
                    Word::BaselineUnreachable => ReasonCode::BaselineUnreachable,
                    Word::Unaffected => ReasonCode::Unaffected,
                    Word::Pass
                    | Word::Inconclusive
                    | Word::Unmeasured
                    | Word::Regression
                    | Word::PendingApproval => ReasonCode::NotMeasured,
                },
                Some(effect),
                text.into(),
            )],
            metrics: BTreeMap::new(),
            broken_cases: Vec::new(),
            answers: BTreeMap::new(),
            turnover: BTreeMap::new(),
            nouns: BTreeMap::new(),
            cannot_compute: false,
        }
    }

    /// A verdict for a change without any known result, with the reason.
    pub fn unmeasured(text: impl Into<String>) -> Self {
        Self::without_base(Word::Unmeasured, Effect::Fail, text)
    }

    /// Adds a warning from the alignment of two runs. `is_open`: whether it makes a passing verdict open, so that no
    /// change passes unnoticed; a worse verdict stays.
    fn warn(&mut self, text: String, is_open: bool) {
        let comes_first = |reason: &&Reason| {
            let code = reason.code;
            reason.effect == Some(Effect::Fail)
                || matches!(code, ReasonCode::Relabelled | ReasonCode::Unjudged)
        };
        let at = self.reasons.iter().take_while(comes_first).count();
        self.reasons.insert(
            at,
            Reason::new(ReasonCode::Alignment, Some(Effect::Warn), text),
        );
        if is_open {
            self.verdict = self.verdict.max(Word::Inconclusive);
        }
    }

    /// Adds the warnings about how the items of each probe were compared.
    pub fn warn_of_alignment(&mut self, comparisons: &ItemComparisons, policy: &Policy) {
        if !policy.deterministic {
            for text in comparisons.each().flat_map(ItemComparison::noise_warnings) {
                self.warn(text, false);
            }
        }
        for warning in comparisons.each().flat_map(ItemComparison::warnings) {
            self.warn(warning.text, warning.is_open);
        }
        // What was not reached looks like items that were taken away, so that this comes before all that follows from it.
        for run in comparisons.each().flat_map(ItemComparison::unfinished) {
            self.verdict = self.verdict.max(Word::Inconclusive);
            let unfinished = Reason::new(ReasonCode::Unfinished, Some(Effect::Warn), run.text);
            self.reasons.insert(0, unfinished);
        }
    }

    /// The edits, and how many items have another answer, for a headline.
    pub fn changes(&self) -> Option<String> {
        let answers = self.answers.values().filter_map(ChangedAnswers::sentence);
        let told: Vec<String> = self.edits().into_iter().chain(answers).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// The edits of the change to cases, queries and other items, for a headline; none if there are none.
    pub fn edits(&self) -> Option<String> {
        // What a run did not come to was not removed.
        let gone = match self.tells(ReasonCode::Unfinished) {
            true => "not measured",
            false => "removed",
        };
        let turnover = self.turnover.values();
        let told: Vec<String> = turnover
            .filter_map(|turnover| losses::edits(turnover, gone))
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Whether a gated metric is based on few pairs because inputs changed.
    pub fn is_thin(&self) -> bool {
        self.metrics
            .values()
            .any(|metric| metric.policy == Attention::Gate && metric.is_thin)
    }

    /// Whether an item of the base is gone.
    pub(crate) fn has_removed_items(&self) -> bool {
        self.turnover.values().any(|turnover| turnover.removed > 0)
    }

    /// Whether an item of the base is gone, or an input that the base answered has no value.
    pub fn has_lost_items(&self) -> bool {
        self.has_removed_items()
            || self.tells(ReasonCode::LostInputs)
            || self.answers.values().any(|answers| answers.gone > 0)
    }

    /// The governing types whose loss this suite could not detect, so that a pass does not cover them.
    pub fn unseen_types(&self) -> impl Iterator<Item = &str> {
        let swaps = self
            .metrics
            .values()
            .filter_map(|metric| metric.swaps.as_ref());
        swaps
            .filter(|swaps| swaps.unseen)
            .map(|swaps| swaps.of_type.as_str())
    }

    /// The gated metrics that cannot get worse: every value is the worst possible one.
    pub(crate) fn at_worst(&self) -> impl Iterator<Item = &str> {
        let metrics = self.metrics.iter();
        metrics
            .filter(|(_, metric)| metric.is_at_worst)
            .map(|(id, _)| id.as_str())
    }

    /// The governing types that decide now but did not decide on the base.
    pub(crate) fn new_types(&self) -> impl Iterator<Item = &str> {
        let swaps = self
            .metrics
            .values()
            .filter_map(|metric| metric.swaps.as_ref());
        swaps
            .filter(|swaps| swaps.status == Status::New)
            .map(|swaps| swaps.of_type.as_str())
    }

    /// Whether there is a reason with this code.
    pub fn tells(&self, code: ReasonCode) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// Whether there is a reason with this code that counts against the change.
    pub fn tells_against(&self, code: ReasonCode) -> bool {
        let mut reasons = self.reasons.iter();
        reasons.any(|reason| reason.code == code && reason.effect.is_some())
    }

    /// Lets the job pass: every failing reason becomes a warning.
    pub fn let_pass(&mut self) {
        self.passed = true;
        for reason in &mut self.reasons {
            if reason.effect == Some(Effect::Fail) {
                reason.effect = Some(Effect::Warn);
            }
        }
    }

    /// The first reason with an effect on a metric or a case, which is the subject of a headline. Reasons about
    /// the change as a whole, such as an edit of the gate, do not count.
    pub fn leading(&self) -> Option<&Reason> {
        let mut reasons = self.reasons.iter();
        reasons.find(|reason| reason.effect.is_some() && reason.metric.is_some())
    }

    /// What a gated metric does to the job; none for a metric that is not gated.
    pub fn consequence(&self, id: &str) -> Option<Consequence> {
        let metric = self.metrics.get(id)?;
        if metric.policy != Attention::Gate {
            return None;
        }
        let own = self.reasons.iter();
        let own = own.filter(|reason| reason.metric.as_deref() == Some(id));
        let effect = own.filter_map(|reason| reason.effect).min();
        Some(match (metric.verdict.is_fine(), effect) {
            (true, _) => Consequence::Passes,
            (false, _) if self.passed => Consequence::Warns,
            (false, Some(Effect::Warn)) => Consequence::Warns,
            (false, _) => Consequence::Fails,
        })
    }

    /// The reasons for a page, each with its effect. Reasons that say the same of several metrics become one, which
    /// stands at the place of the first.
    pub fn shared_reasons(&self) -> Vec<(Option<Effect>, String)> {
        let mut told: Vec<(&Reason, &str, Vec<String>)> = Vec::new();
        for reason in &self.reasons {
            let metric = reason.metric.as_deref().map(sentence::name);
            let same = metric
                .as_ref()
                .and_then(|metric| reason.text.strip_prefix(metric));
            let (Some(metric), Some(same)) = (metric, same) else {
                told.push((reason, "", Vec::new()));
                continue;
            };
            let is_same = |one: &&mut (&Reason, &str, Vec<String>)| {
                one.1 == same && one.0.effect == reason.effect
            };
            match told.iter_mut().find(is_same) {
                Some((_, _, others)) => others.push(metric),
                None => told.push((reason, same, Vec::new())),
            }
        }
        let told = told.into_iter().map(|(reason, _, others)| {
            let text = match others.as_slice() {
                [] => reason.text.clone(),
                [other] => format!("{}; the same of {other}", reason.text),
                [first, others @ ..] => {
                    format!(
                        "{}; the same of {first} and {} more",
                        reason.text,
                        others.len()
                    )
                }
            };
            (reason.effect, text)
        });
        told.collect()
    }

    /// Whether a case broke in this metric for certain.
    pub(crate) fn is_broken_in(&self, metric: &str) -> bool {
        let mut cases = self.broken_cases.iter();
        cases.any(|case| case.certain && case.metric == metric)
    }

    /// The metrics that are shown, by rank: gated ones, then those that warn, then those that are only shown.
    pub fn shown(&self) -> Vec<(&String, &MetricVerdict)> {
        let mut shown: Vec<(&String, &MetricVerdict)> = self
            .metrics
            .iter()
            .filter(|(_, metric)| metric.policy != Attention::Info || metric.headline)
            .collect();
        shown.sort_by(|(_, one), (_, other)| {
            let attention = |metric: &MetricVerdict| metric.policy as u8;
            let by_rank = || one.rank().order(&other.rank());
            attention(one).cmp(&attention(other)).then_with(by_rank)
        });
        shown
    }

    /// How the process ends.
    pub const fn exit(&self) -> Exit {
        if self.passed {
            Exit::Passed
        } else {
            Exit::GateFailed
        }
    }
}

/// A reason for a verdict, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The subject of the reason.
    #[serde(default)]
    pub code: ReasonCode,
    /// Whether it fails the job or warns; null if it does neither.
    pub effect: Option<Effect>,
    /// The metric, if the reason is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The sentence; names in it are made safe for a terminal, not for Markdown or HTML.
    pub text: String,
}

impl Reason {
    /// A reason that is about no single metric.
    pub fn new(code: ReasonCode, effect: Option<Effect>, text: impl Into<String>) -> Self {
        Self {
            code,
            effect,
            metric: None,
            text: text.into(),
        }
    }

    /// The same reason, about one metric.
    #[must_use]
    pub fn about(self, metric: impl Into<String>) -> Self {
        Self {
            metric: Some(metric.into()),
            ..self
        }
    }
}

/// The subject of a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// The verdict on a metric, whose `cause` says why.
    Metric,
    /// A metric was judged without inputs that were lost.
    LostInputs,
    /// A metric has other inputs than on the base.
    OtherInputs,
    /// Cases broke completely.
    BrokenCases,
    /// Cases may have broken, but this is not certain.
    DoubtfulCases,
    /// Items are answered otherwise, and the configuration asks for the same answers.
    OtherAnswers,
    /// Nearly all items get one and the same answer, which the base answers differently and nothing else judges.
    OneForAll,
    /// The answers of the head vary from run to run where those of the base do not.
    LessSteady,
    /// Items no longer get exactly the expected answer, as they did on the base, and no score of theirs fell.
    UnscoredAnswers,
    /// New cases fail from the start.
    AddedBroken,
    /// No metric is gated.
    NothingGated,
    /// There is nothing to compare with.
    NoBaseline,
    /// It is not known whether there is a baseline: a source could not be asked.
    BaselineUnreachable,
    /// The change was not measured.
    NotMeasured,
    /// Some items of two runs could not be aligned, or only roughly.
    Alignment,
    /// A run of the head ended before it came to all items.
    Unfinished,
    /// It is not known whether the report of the base is that of its commit.
    BaseNotChecked,
    /// The change passes by its own new rules, but not by the rules of the base.
    OwnRules,
    /// The change edits the rules that it is judged by, and is judged by those of the base, since a regression by them
    /// needs an approval.
    JudgedByTheBase,
    /// The result with the settings of the base, for a change that edits what is measured.
    MeasuredAsBase,
    /// The base measured a probe that this run was not asked to run, so it is not compared.
    LeftOut,
    /// The result with the labels of the other side, for a change that edits labels.
    Relabelled,
    /// How much of a drop may come from hits that nobody has judged.
    Unjudged,
    /// A metric is worse by more than is allowed than it was at the anchor, an older report.
    Drift,
    /// The change could not be compared with the anchor.
    DriftUnknown,
    /// The change edits the rules that it is judged by, or may do so.
    EditsRules,
    /// The change edits what is measured.
    EditsMeasure,
    /// The change edits an evaluator, and nothing but the edited evaluator has scored the answers.
    EditsEvaluator,
    /// A gated metric is graded by a language model that was not found fit to gate on.
    UncalibratedJudge,
    /// A gated metric is graded by a language model whose trial had too little to tell whether it is fit.
    UndecidedJudge,
    /// The answers of a side depend on the order in which its inputs were asked.
    OrderMatters,
    /// Whether somebody has approved, or can approve, what regressed.
    Approval,
    /// The change touches only files that the configuration of the base lists as harmless, so nothing was run.
    Unaffected,
    /// A subject that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}
