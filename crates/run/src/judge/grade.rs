//! A grade, which is checked when it is made.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ungraded, UngradedCode};
use kelvin_base::stats;

/// A grade. Its score is a number from 0 to 1, and its judge has a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RawGrade")]
#[schemars(!try_from)]
pub struct Grade {
    /// From 0, the worst, to 1. In the mode `pairwise`, 1 if the response wins, 0.5 for a tie.
    #[schemars(range(min = 0, max = 1))]
    score: f64,
    /// What the judge had to say; empty if it said nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    notes: String,
    /// The judge, with everything that its grades depend on.
    grader_id: String,
    /// The answers from which the score is made, if there is more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<GradePart>,
    /// Whether the judge saw only a part of a text, because the text is longer than the judge's limit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    /// The names of the models that have answered, as their servers say it; empty if no server was asked or no server
    /// said a name. A declared name may be an alias, so these names can change while the settings stay the same.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    served: BTreeSet<String>,
    /// The names that the servers gave to the state of their systems (`system_fingerprint`) when they answered. The
    /// state changes often, so it is not a part of the judge's id; if it has changed, more answers of the base are
    /// graded again.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    fingerprints: BTreeSet<String>,
}

/// One of several answers that a grade is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GradePart {
    /// The member of the panel, from 1; missing without a panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<usize>,
    /// In which order the two texts were shown.
    #[serde(default, skip_serializing_if = "Order::is_given")]
    pub order: Order,
    /// The number of the vote among several, from 1.
    pub vote: usize,
    /// Its score.
    pub score: f64,
    /// What the judge had to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// In which order a judge was shown the two texts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The reference first, then the response.
    #[default]
    Given,
    /// The response first.
    Swapped,
}

impl Order {
    /// Whether this is the usual order. The parameter is a reference because serde requires one.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde's `skip_serializing_if` hands over a reference"
    )]
    const fn is_given(&self) -> bool {
        matches!(self, Self::Given)
    }
}

impl Grade {
    /// A grade of one answer.
    ///
    /// # Errors
    ///
    /// Fails if the score is not a number from 0 to 1, or the judge has no name.
    pub fn new(
        score: f64,
        notes: impl Into<String>,
        grader_id: impl Into<String>,
    ) -> Result<Self, Ungraded> {
        let grader_id = grader_id.into();
        if !(0.0..=1.0).contains(&score) {
            let text = format!("the score is {score}, not a number from 0 to 1");
            return Err(Ungraded::new(UngradedCode::Invalid, text));
        }
        if grader_id.trim().is_empty() {
            let text = "the grade does not say which judge gave it";
            return Err(Ungraded::new(UngradedCode::Invalid, text));
        }
        Ok(Self {
            score,
            notes: notes.into(),
            grader_id,
            parts: Vec::new(),
            cut: false,
            served: BTreeSet::new(),
            fingerprints: BTreeSet::new(),
        })
    }

    /// Adds the parts from which the score is made.
    #[must_use]
    pub(super) fn made_from(mut self, parts: Vec<GradePart>) -> Self {
        self.parts = parts;
        self
    }

    /// Notes whether the judge saw only a part of the texts.
    #[must_use]
    pub(super) const fn cut_if(mut self, cut: bool) -> Self {
        self.cut = cut;
        self
    }

    /// Adds the names of the models that answered.
    #[must_use]
    pub(crate) fn served_by(mut self, names: BTreeSet<String>) -> Self {
        self.served = names;
        self
    }

    /// Adds the system fingerprints that the servers reported.
    #[must_use]
    pub(crate) fn in_states(mut self, fingerprints: BTreeSet<String>) -> Self {
        self.fingerprints = fingerprints;
        self
    }

    /// The system fingerprints that the servers reported.
    pub const fn fingerprints(&self) -> &BTreeSet<String> {
        &self.fingerprints
    }

    /// The names of the models that answered, as reported by their servers.
    pub const fn served(&self) -> &BTreeSet<String> {
        &self.served
    }

    /// The score, from 0 to 1.
    pub const fn score(&self) -> f64 {
        self.score
    }

    /// The notes of the judge.
    pub fn notes(&self) -> &str {
        &self.notes
    }

    /// Changes all notes of the judge, including those of the single answers behind the score. A judge quotes the
    /// graded texts, so its notes are shortened together with the answers.
    pub fn change_notes(&mut self, change: impl Fn(&str) -> String) {
        let parts = self.parts.iter_mut().map(|part| &mut part.notes);
        for notes in std::iter::once(&mut self.notes).chain(parts) {
            *notes = change(notes);
        }
    }

    /// The id of the judge, with everything on which its grades depend.
    pub fn grader_id(&self) -> &str {
        &self.grader_id
    }

    /// The parts from which the score is made, if there is more than one.
    pub fn parts(&self) -> &[GradePart] {
        &self.parts
    }

    /// Whether the judge saw only a part of the texts.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// How much higher the score was in the usual order than in the swapped order; none if the judge was asked in only
    /// one order.
    pub fn order_effect(&self) -> Option<f64> {
        Some(self.mean(Order::Given)? - self.mean(Order::Swapped)?)
    }

    /// Whether the two orders lead to different verdicts, i.e. whether one half lies between their scores. None if the
    /// judge was asked in only one order.
    pub fn is_flipped(&self) -> Option<bool> {
        let side = |score: f64| score.partial_cmp(&0.5);
        Some(side(self.mean(Order::Given)?) != side(self.mean(Order::Swapped)?))
    }

    fn mean(&self, order: Order) -> Option<f64> {
        let scores = self.parts.iter().filter(|part| part.order == order);
        let scores: Vec<f64> = scores.map(|part| part.score).collect();
        let asked_in_both = self.parts.iter().any(|part| part.order == Order::Swapped);
        stats::mean(&scores).filter(|_| asked_in_both)
    }
}

/// The model names that servers report, for a sentence.
pub fn model_names<'n>(
    names: impl IntoIterator<Item = &'n (impl AsRef<str> + 'n + ?Sized)>,
) -> String {
    let names = names.into_iter();
    let names: Vec<String> = names.map(|name| format!("`{}`", name.as_ref())).collect();
    match names.as_slice() {
        [] => "a model without a name".to_owned(),
        names => names.join(" and "),
    }
}

/// The share of grades whose two orders lead to different verdicts, with the number of grades that were asked in both
/// orders; none if there is no such grade.
pub fn flip_rate<'g>(grades: impl Iterator<Item = &'g Grade>) -> Option<(f64, usize)> {
    let flips: Vec<f64> = grades
        .filter_map(Grade::is_flipped)
        .map(f64::from)
        .collect();
    Some((stats::mean(&flips)?, flips.len()))
}

/// A grade in a report; it is checked like a new one.
#[derive(Deserialize)]
struct RawGrade {
    score: f64,
    #[serde(default)]
    notes: String,
    grader_id: String,
    #[serde(default)]
    parts: Vec<GradePart>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    served: BTreeSet<String>,
    #[serde(default)]
    fingerprints: BTreeSet<String>,
}

impl TryFrom<RawGrade> for Grade {
    type Error = Ungraded;

    fn try_from(raw: RawGrade) -> Result<Self, Ungraded> {
        let checked = |score| Self::new(score, "", raw.grader_id.as_str());
        for part in &raw.parts {
            checked(part.score)?;
        }
        Ok(Self {
            notes: raw.notes.clone(),
            ..checked(raw.score)?
        }
        .made_from(raw.parts)
        .cut_if(raw.cut)
        .served_by(raw.served)
        .in_states(raw.fingerprints))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(order: Order, score: f64) -> GradePart {
        GradePart {
            member: None,
            order,
            vote: 1,
            score,
            notes: String::new(),
        }
    }

    fn both(given: f64, swapped: f64) -> Grade {
        let parts = vec![part(Order::Given, given), part(Order::Swapped, swapped)];
        let mean = f64::midpoint(given, swapped);
        let grade = Grade::new(mean, "", "judge/v1").expect("it is valid");
        grade.made_from(parts)
    }

    #[test]
    fn jdg_01_a_score_that_is_no_number_from_0_to_1_is_refused() {
        let refused = [
            -0.1,
            1.1,
            1.000_000_1,
            -f64::MIN_POSITIVE,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        for score in refused {
            let error = Grade::new(score, "", "judge/v1").expect_err("it is no score");
            assert_eq!(error.code, UngradedCode::Invalid, "{score}");
        }
        for score in [0.0, -0.0, 0.5, 1.0] {
            assert!(Grade::new(score, "", "judge/v1").is_ok(), "{score}");
        }
    }

    #[test]
    fn jdg_02_a_grade_without_a_judge_is_refused() {
        for name in ["", " ", "\n\t"] {
            assert!(Grade::new(1.0, "", name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_stored_grade_is_checked_like_a_new_one() {
        let read = |text: &str| serde_json::from_str::<Grade>(text);
        let stored = r#"{"score":0.5,"notes":"so so","grader_id":"judge/v1"}"#;
        let grade = read(stored).expect("it is valid");
        assert_eq!((grade.score(), grade.notes()), (0.5, "so so"));
        assert_eq!(serde_json::to_string(&grade).expect("written"), stored);
        // A later version may store more.
        let later = r#"{"score":0.5,"grader_id":"judge/v1","parts":[{"vote":1,"score":0,"mood":2}],"new":1}"#;
        assert!(read(later).is_ok());
        for wrong in [
            r#"{"score":1.5,"grader_id":"judge/v1"}"#,
            r#"{"score":true,"grader_id":"judge/v1"}"#,
            r#"{"score":"0.5","grader_id":"judge/v1"}"#,
            r#"{"score":null,"grader_id":"judge/v1"}"#,
            r#"{"score":0.5,"grader_id":" "}"#,
            r#"{"grader_id":"judge/v1"}"#,
            r#"{"score":0.5,"grader_id":"judge/v1","parts":[{"vote":1,"score":2}]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn jdg_15_the_flip_rate_counts_verdicts_that_change_with_the_order() {
        let grades = [
            both(1.0, 0.0),
            both(0.9, 0.6),
            both(0.5, 0.7),
            both(0.2, 0.2),
        ];
        assert_eq!(flip_rate(grades.iter()), Some((0.5, 4)));
        assert_eq!(grades[0].order_effect(), Some(1.0));
        assert_eq!(grades[3].order_effect(), Some(0.0));
        let once = Grade::new(1.0, "", "judge/v1").expect("it is valid");
        assert_eq!((once.order_effect(), once.is_flipped()), (None, None));
        assert_eq!(flip_rate([once].iter()), None);
    }
}
