//! The sections `baseline` and `gate` as written.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::KeptTexts;

use crate::approval::ApprovalSettings;

/// Where the report that a change is compared with comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BaselineSettings {
    /// The source; `auto` tries `tree`, `branch`, `artifact` in a workflow, and `compute` if it is allowed.
    pub from: BaselineSource,
    /// A report to compare with, whatever `from` says; for a laptop, not for pull requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub file: Option<String>,
    /// The committed report that `tree` reads from the base commit.
    #[schemars(length(min = 1))]
    pub path: String,
    /// The branch that `branch` reads and `kelvin baseline save` writes.
    #[schemars(length(min = 1))]
    pub branch: String,
    /// How many reports of each configuration stay on the branch.
    #[schemars(range(max = 10_000))]
    pub keep: NonZeroUsize,
    /// How much of the texts of the pipeline a report on the branch has: `short` keeps the first 80 characters of each
    /// and its digest, `full` what the report of the run has; decisions and graded answers stay as they are. `none`
    /// keeps the digest alone, also of decisions and graded answers, and not only on the branch: everything that
    /// `kelvin ci` reports, its artifact, comment, summary, annotations and check run, is without these texts (the
    /// outputs stay in the folder of the run, which is not uploaded), and a verdict names an item that is answered
    /// otherwise and the digests of its answers. Numbers, `true`, `false` and `null` are no texts, nor are the names of
    /// documents and chunks that a search finds. Whoever can guess an answer can check the guess by its digest. A judge
    /// then has no answers of the base to compare with, and `compute` has to make them anew.
    pub texts: KeptTexts,
    /// How many commits before the base a report may be.
    #[schemars(range(max = 10_000))]
    pub max_age_commits: usize,
    /// How many days before the base a report's commit may be.
    #[schemars(range(max = 36_500))]
    pub max_age_days: u64,
    /// How often each input of a base is run, if that is more than `repeats`: on a push of a branch, whose report is
    /// kept, and when the gate measures the base itself. With 5 the gate decides more changes; with less than 12 cases,
    /// use 10.
    #[schemars(range(max = 1_000))]
    pub repeats: NonZeroUsize,
    /// Whether the base commit may be checked out and measured if no report serves.
    pub compute: bool,
    /// An older report of the branch that a change is also compared with, so that many small drops in a row are
    /// noticed: `tag` for the last tag that has one, a number of days such as `30d`, or a number of merges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// How far a gated metric may drop against the anchor.
    #[schemars(range(min = 0, max = 2))]
    pub max_drift: f64,
    /// Whether the gate fails or warns if a metric dropped by more than `max_drift` since the anchor. With `fail`, the
    /// gate also warns if the anchor cannot be obtained.
    pub on_drift: FailOrWarn,
    /// Whether the gate fails if there is no baseline at all.
    pub require: bool,
    /// What the gate does if a source of baselines could not be asked, or has a report that cannot be read, and no
    /// other source has one.
    pub unreachable: FailOrWarn,
}

impl Default for BaselineSettings {
    fn default() -> Self {
        Self {
            from: BaselineSource::Auto,
            file: None,
            path: ".kelvin/baseline.json".to_owned(),
            branch: "kelvin-reports".to_owned(),
            keep: NonZeroUsize::new(50).unwrap_or(NonZeroUsize::MIN),
            texts: KeptTexts::Short,
            max_age_commits: 50,
            max_age_days: 90,
            repeats: NonZeroUsize::MIN,
            compute: false,
            anchor: None,
            max_drift: 0.1,
            on_drift: FailOrWarn::Warn,
            require: false,
            unreachable: FailOrWarn::Fail,
        }
    }
}

/// Which older report a change is also compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Anchor {
    /// The nearest report that is at least this many merges old.
    Merges(#[schemars(range(min = 1, max = 10_000))] usize),
    /// The report of the last tag, or the nearest one that is at least this many days old.
    Named(#[schemars(regex(pattern = r"^(tag|[1-9][0-9]{0,3}d)$"))] String),
}

impl Anchor {
    /// The minimum age of the baseline in days; none if its age does not matter.
    pub fn days(&self) -> Option<i64> {
        match self {
            Self::Merges(_) => None,
            Self::Named(text) => text.strip_suffix('d')?.parse().ok(),
        }
    }

    /// Whether the baseline is the report of the last tag.
    pub fn is_tag(&self) -> bool {
        matches!(self, Self::Named(_)) && self.days().is_none()
    }
}

/// A source of baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum BaselineSource {
    Auto,
    Tree,
    Branch,
    Artifact,
    Compute,
    Off,
}

/// When a change does not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GateSettings {
    /// How far a metric may drop; a drop of exactly this much passes.
    #[schemars(range(min = 0, max = 2))]
    pub max_drop: f64,
    /// Rules for single metrics, by their id, e.g. `evidence.sensitivity`.
    pub metrics: BTreeMap<String, MetricRule>,
    /// `auto` weighs a drop against the noise; `threshold` looks at the drop alone.
    pub rule: GateRule,
    /// What happens if items get another answer than on the base: `any` reports them, `same` fails, as a snapshot test
    /// would; a right change then needs an approval, and is the base once it is merged.
    pub answers: AnswersRule,
    /// A drop that the noise may explain: `auto` fails if no case was run again.
    pub on_suspected: OnSuspected,
    /// The effect of a case that broke completely although the mean hides this.
    pub on_broken_case: FailOrWarn,
    /// The effect of a gated metric that could not be measured.
    pub on_unmeasured: FailOrWarn,
    /// The share of a metric's cells, in all and of each governing type, that may be lost.
    #[schemars(range(min = 0, max = 1))]
    pub max_missing: f64,
    /// The effect of edited cases, if so many were edited that less than half of a metric, or fewer than 5 cases, can
    /// be paired with the base.
    pub on_edited: FailOrWarn,
    /// Whether the pipeline always gives the same answer to the same input, so that one run is enough.
    pub deterministic: bool,
    /// The file in which `kelvin calibrate` keeps which language models are fit to grade.
    #[schemars(length(min = 1))]
    pub calibration: String,
    /// Whether the gate fails if a gated metric is graded by a language model that was not found fit. Without it the
    /// gate warns.
    pub require_calibration: bool,
    /// What happens to metrics graded by a language model that `kelvin calibrate` found unfit. They never pass:
    /// `refused` withholds their figures and fails the gate; `shown` shows the figures and lets the other gated metrics
    /// decide. If no other metric is gated, the gate fails all the same.
    pub unfit_judge: UnfitJudge,
    /// What the gate may spend on running doubtful cases again.
    pub budget: Budget,
    /// Who may let a regression pass, and how. Without it: nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSettings>,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            max_drop: 0.05,
            metrics: BTreeMap::new(),
            rule: GateRule::Auto,
            answers: AnswersRule::Any,
            on_suspected: OnSuspected::Auto,
            on_broken_case: FailOrWarn::Fail,
            on_unmeasured: FailOrWarn::Fail,
            max_missing: 0.1,
            on_edited: FailOrWarn::Warn,
            deterministic: false,
            calibration: "calibration.json".to_owned(),
            require_calibration: false,
            unfit_judge: UnfitJudge::Refused,
            budget: Budget::default(),
            approval: None,
        }
    }
}

/// Which answers may differ from those of the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswersRule {
    /// Any; they are reported.
    #[default]
    Any,
    /// No answer, except by the noise of both sides.
    Same,
}

/// The rule for one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricRule {
    /// How far this metric may drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub max_drop: Option<f64>,
    /// Whether a drop fails the job, warns, or is only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<MetricPolicy>,
    /// The value that this metric of the report must reach, whatever the baseline is; for a metric whose lower
    /// values are better, the value that it must not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 2))]
    pub min: Option<f64>,
}

/// The effect of a drop of a metric on the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum MetricPolicy {
    Gate,
    Warn,
    Info,
}

/// How a drop is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum GateRule {
    Auto,
    Threshold,
}

/// The effect of a suspected drop on the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum OnSuspected {
    Auto,
    Fail,
    Warn,
}

/// Fail or warn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum FailOrWarn {
    Fail,
    Warn,
}

/// What becomes of metrics whose judge is unfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum UnfitJudge {
    Refused,
    Shown,
}

/// What the gate may spend on running doubtful cases again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// How often an input of the head may be run in all; 1 means never again.
    #[schemars(range(max = 100))]
    pub head_repeats: NonZeroUsize,
    /// The largest number of additional invocations, of both sides together. Without it: three times what running every
    /// case once takes, for each side that can be run again; for the results of an evaluator six times its samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<usize>,
    /// The longest time of these invocations, in minutes. Without it: as many as those invocations take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_080))]
    pub minutes: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            head_repeats: NonZeroUsize::new(20).unwrap_or(NonZeroUsize::MIN),
            calls: None,
            minutes: None,
        }
    }
}
