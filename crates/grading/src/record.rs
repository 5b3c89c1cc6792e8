//! The record of one prompt: enough to compute every figure again, and to grade again.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_base::digest::Digest;
use kelvin_base::failure::Failure;
use kelvin_base::usage::Usage;
use kelvin_record::KeptText;
use kelvin_run::judge::planted::{PlantedAnswers, Proof};
use kelvin_run::judge::{Grade, MaxErrors, Ungraded, UngradedCode};
use kelvin_run::targets::AskedModel;

/// How many characters of a reason are stored: it may quote the answer of a judge.
const KEPT_TEXT: usize = 2_000;

/// How the figures are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradingBasis {
    /// The id of the judge. It changes with the rubric, the model and the parameters of the judge.
    pub judge: String,
    /// What a score means.
    pub scoring: Scoring,
    /// The share of samples that may have no score; with more of them the score is unmeasured.
    pub max_errors: MaxErrors,
    /// What is graded: the command line or the model.
    pub candidate: String,
    /// The command line or the model that the candidate is graded next to, if that was run; missing if the candidate is
    /// graded next to the answers of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// How the model of the candidate is asked; missing if the candidate is a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedModel>,
    /// The answers with a known order that the judge graded in addition to the others; missing if nothing was gated,
    /// and if the judge asks no language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planted: Option<PlantedAnswers>,
    /// Why the judge has graded the answers of the base again in this run, so that both sides have grades of the same
    /// judge; missing if the report of the base has its grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_anew: Option<WhyAnew>,
}

/// Why the grades in the report of the base do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyAnew {
    /// The judge could not be trusted in the run of the base, or gave too few grades there; the text says why.
    Doubted(String),
    /// The judge has drifted since the run of the base; the text says how.
    Drifted(String),
    /// The base was graded by another judge, which has this id.
    OtherJudge(String),
}

impl WhyAnew {
    /// A sentence for people. Only a judge that asks a language model is tried, so only such a judge can have proved
    /// itself.
    pub(super) fn sentence(&self, is_proved: bool) -> String {
        let (why, what) = match self {
            Self::Doubted(why) => ("in the run of the base, ", why),
            Self::Drifted(how) => ("", how),
            Self::OtherJudge(judge) => {
                return format!(
                    "the base was graded by another judge, `{judge}`. So its stored answers were graded anew in this run, \
                     by the judge of this change"
                );
            }
        };
        format!(
            "{why}{what}. So the stored answers of the base were graded anew in this run, by the judge {}",
            match is_proved {
                true => "that has proved itself here",
                false => "of this change",
            }
        )
    }
}

impl GradingBasis {
    /// Why the grades of this run cannot be trusted; none if the judge passed, or was not tested.
    pub(super) fn doubt(&self) -> Option<String> {
        match self.planted.as_ref()?.proof() {
            Proof::Failed(why) => Some(why),
            Proof::Given { .. } | Proof::Drifted(_) => None,
        }
    }

    /// How the judge has drifted since the base was graded, so that the two sides cannot be compared although each can
    /// be trusted; none if it has not, or if it has graded the base again.
    pub(super) fn drift(&self) -> Option<String> {
        if self.base_anew.is_some() {
            return None;
        }
        match self.planted.as_ref()?.proof() {
            Proof::Drifted(how) => Some(how),
            Proof::Given { .. } | Proof::Failed(_) => None,
        }
    }

    /// Whether the judge passed its test with planted answers.
    pub(super) fn is_proved(&self) -> bool {
        self.planted.is_some() && self.doubt().is_none()
    }
}

/// What a score means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    /// The judge grades each answer by itself: by its criteria, or next to the reference of the prompt.
    Each,
    /// The judge says how near the answer of the candidate comes to that of the baseline.
    Likeness,
    /// The judge says which of the two answers is better. One half means that they are equally good.
    Choice,
    /// The judge grades each answer next to the other one. One half means that the grades are equal, more
    /// that the candidate has the better one.
    Exchange,
}

impl Scoring {
    /// Whether one half means that the answer is as good as the other one.
    pub const fn is_preference(self) -> bool {
        matches!(self, Self::Choice | Self::Exchange)
    }

    /// The score of an answer with this grade, in [0, 1]; none if it also needs the grade of the other answer, and that
    /// is missing.
    pub(super) fn score(self, grade: &Grade, other: Option<&Grade>) -> Option<f64> {
        match self {
            Self::Each | Self::Likeness | Self::Choice => Some(grade.score()),
            // The difference of two grades in [0, 1] is scaled to [0, 1].
            Self::Exchange => Some(0.5 + (grade.score() - other?.score()) / 2.0),
        }
    }
}

/// One prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromptRecord {
    /// The digest of the prompt and its reference: a different one means that one of them was edited.
    pub input: Digest,
    /// The prompt.
    pub prompt: KeptText,
    /// An answer that is known to be good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<KeptText>,
    /// Words to sort prompts by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The results, one for each repeat.
    pub samples: Vec<GradedSample>,
}

/// One repeat of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradedSample {
    /// What the candidate answered.
    pub candidate: Answered,
    /// The answer that the candidate's answer was graded next to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Answered>,
    /// The repeat in the report of the base from which that answer comes, from 1; missing if the baseline was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_repeat: Option<usize>,
    /// The grade of the candidate's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// The grade of the candidate's answer by the reference of the base, if the change has another one. Both sides are
    /// judged by each of the two references, so that nobody makes a wrong answer right by another reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade_by_old_reference: Option<Grade>,
    /// The grade of the baseline's answer, if that was graded too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_grade: Option<Grade>,
    /// The tokens that the judge used for both grades, if it told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_usage: Option<Usage>,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unscored: Option<Unscored>,
}

/// An answer of a pipeline, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<KeptText>,
    /// The passages that it was made from, the best first, if the pipeline told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passages: Option<Vec<KeptText>>,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// The tokens that the call used, if the pipeline told them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Answered {
    /// The passages from which the answer was made; none if they are not known, or if one of them was shortened when it
    /// was stored, because a judge must not use a part instead of the whole.
    pub(super) fn whole_passages(&self) -> Option<Arc<[String]>> {
        let passages = self.passages.as_ref()?.iter();
        passages
            .map(|passage| passage.whole().map(str::to_owned))
            .collect()
    }
}

/// Why a sample has no score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unscored {
    /// What went wrong.
    pub code: UnscoredCode,
    /// What went wrong with the judge, if the judge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<UngradedCode>,
    /// The reason in words for people, with what was found.
    pub text: String,
}

/// What went wrong with a sample that has no score.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UnscoredCode {
    /// The candidate gave no answer.
    CandidateFailed,
    /// The baseline gave no answer.
    BaselineFailed,
    /// The report of the base has only the beginning of the answer.
    BaselineCut,
    /// The judge gave no valid grade.
    JudgeFailed,
    /// The change edits the prompt together with its reference, so that neither reference tells how the answers of the
    /// two sides compare.
    ReferenceEdited,
    /// There is no answer of a base to grade the candidate's answer next to: the prompt is new, or there is no base.
    /// Such a sample counts neither as scored nor as an error.
    NoBaseline,
}

impl Unscored {
    /// A reason, with a limited part of its text.
    pub fn new(code: UnscoredCode, text: &str) -> Self {
        Self {
            code,
            judge: None,
            text: KeptText::beginning(text, KEPT_TEXT).text.to_string(),
        }
    }
}

impl From<&Ungraded> for Unscored {
    fn from(ungraded: &Ungraded) -> Self {
        Self {
            judge: Some(ungraded.code),
            ..Self::new(UnscoredCode::JudgeFailed, &ungraded.text)
        }
    }
}

impl GradedSample {
    /// The score of the candidate's answer; none if there is none.
    pub fn score(&self, scoring: Scoring) -> Option<f64> {
        scoring.score(self.grade.as_ref()?, self.baseline_grade.as_ref())
    }

    /// Whether the candidate's answer is better than the other one: 1, 0, or one half for a tie. None if this is not
    /// known.
    pub fn win(&self, scoring: Scoring) -> Option<f64> {
        let (own, other) = match scoring {
            Scoring::Each => (self.score(scoring)?, self.baseline_grade.as_ref()?.score()),
            Scoring::Choice | Scoring::Exchange => (self.score(scoring)?, 0.5),
            // The likeness of two answers does not show which one is better.
            Scoring::Likeness => return None,
        };
        Some(match own - other {
            difference if difference.abs() <= TIE => 0.5,
            difference if difference > 0.0 => 1.0,
            _ => 0.0,
        })
    }

    /// Whether the sample should have a score but has none.
    pub fn is_error(&self) -> bool {
        self.unscored
            .as_ref()
            .is_some_and(|unscored| unscored.code != UnscoredCode::NoBaseline)
    }
}

/// Two grades that differ by at most this count as equal: rounding must not decide which answer wins.
const TIE: f64 = 1e-9;
