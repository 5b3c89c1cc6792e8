//! The reasons for a verdict: a code for machines, and a sentence for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::policy::Effect;

/// One sentence of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// What it is about.
    #[serde(default)]
    pub code: ReasonCode,
    /// What it does; null where it does nothing.
    pub effect: Option<Effect>,
    /// The metric, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// The sentence; names in it are tamed for a terminal, not for Markdown or HTML.
    pub text: String,
}

/// What a reason is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// How a metric came out; its `cause` says why.
    Metric,
    /// A metric was judged without inputs that were lost.
    LostInputs,
    /// A metric has other inputs than on the base.
    OtherInputs,
    /// Cases broke completely.
    BrokenCases,
    /// Cases may have broken; that is not certain.
    DoubtfulCases,
    /// Items are answered otherwise, and the configuration asks for the same answers.
    OtherAnswers,
    /// New cases do not do what is demanded of every case.
    AddedBroken,
    /// No metric is gated.
    NothingGated,
    /// There is nothing to compare with.
    NoBaseline,
    /// Whether there is something to compare with is not known.
    BaselineUnreachable,
    /// Nothing is known of the change.
    NotMeasured,
    /// The records of two runs could not be aligned in every item, or in a coarse way only.
    Alignment,
    /// Nobody knows whether the report of the base is that of its commit.
    BaseNotChecked,
    /// The change passes by the rules that it has made, and not by those of the base.
    OwnRules,
    /// The change edits the rules that it is judged by, and is judged by those of the base, since a regression by them
    /// needs an approval.
    JudgedByTheBase,
    /// What the settings of the base say of a change that edits what is measured.
    MeasuredAsBase,
    /// The base has measured something that was not asked for, so that nothing is said of it.
    LeftOut,
    /// What the labels of the other side say of a change that edits labels.
    Relabelled,
    /// How much of a drop may come from what nobody has judged.
    Unjudged,
    /// A metric is worse by more than is allowed than it was at the anchor, an older report.
    Drift,
    /// The change could not be held against the anchor.
    DriftUnknown,
    /// The change edits the rules that it is judged by, or may do so.
    EditsRules,
    /// The change edits what is measured.
    EditsMeasure,
    /// A gated metric is graded by a language model that was not found fit to gate on.
    UncalibratedJudge,
    /// The answers of a side depend on the order in which its inputs were asked.
    OrderMatters,
    /// Whether somebody has approved, or can approve, what regressed.
    Approval,
    /// The change touches only files that the configuration of the base lists as harmless, so nothing was run.
    Unaffected,
    /// Something that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}
