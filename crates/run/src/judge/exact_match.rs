//! `exact_match`: whether two texts have the same content. It makes no calls.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Exhibit, Grade, Judge, Question, Seat, Ungraded};
use kelvin_base::failure::Failure;

/// 1 if the response has the same content as the reference, otherwise 0.
#[derive(Debug)]
pub(super) struct ExactMatch {
    normalize: Normalize,
}

/// Which differences between two texts are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Normalize {
    /// No difference: every byte counts.
    None,
    /// White space at the ends, and the amount of white space between words.
    #[default]
    Whitespace,
    /// White space as above, and the difference between upper and lower case.
    Casefold,
}

impl Normalize {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(text),
            Self::Whitespace => Cow::Owned(words(text)),
            // Upper case comes first, because some letters differ from the lower case of their own capital, e.g. the
            // German sharp s.
            Self::Casefold => Cow::Owned(words(text).to_uppercase().to_lowercase()),
        }
    }

    /// The rule with its version, as part of the id of the judge.
    const fn id(self) -> &'static str {
        match self {
            Self::None => "none-v1",
            Self::Whitespace => "ws-v1",
            Self::Casefold => "casefold-v1",
        }
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl ExactMatch {
    /// A judge with a rule for which texts count as equal.
    pub(super) const fn new(normalize: Normalize) -> Self {
        Self { normalize }
    }
}

impl Judge for ExactMatch {
    fn grader_id(&self) -> String {
        format!("exact-match/{}", self.normalize.id())
    }

    fn seats(&self) -> Vec<&Seat> {
        Vec::new()
    }

    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded> {
        exhibit.needs_reference()?;
        Ok(Vec::new())
    }

    fn grade(
        &self,
        exhibit: &Exhibit<'_>,
        _: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded> {
        let reference = exhibit.needs_reference()?;
        let is_same = self.normalize.of(exhibit.response) == self.normalize.of(reference);
        Grade::new(f64::from(is_same), "", self.grader_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::UngradedCode;

    fn score(normalize: Normalize, response: &str, reference: &str) -> f64 {
        let exhibit = Exhibit {
            passages: None,
            prompt: "",
            response,
            reference: Some(reference),
            criteria: None,
            turn: 0,
        };
        let grade = ExactMatch::new(normalize).grade(&exhibit, &[]);
        grade.expect("there is a reference").score()
    }

    #[test]
    fn jdg_04_white_space_does_not_count_and_case_does() {
        let by = |one, other| score(Normalize::Whitespace, one, other);
        assert_eq!(by("a  b\n", "a b"), 1.0);
        assert_eq!(by("A", "a"), 0.0);
        assert_eq!(by("a b", "ab"), 0.0);
        assert_eq!(by(" \n", ""), 1.0);
    }

    #[test]
    fn each_rule_passes_over_what_it_says_and_no_more() {
        assert_eq!(score(Normalize::None, "a b", "a  b"), 0.0);
        assert_eq!(score(Normalize::None, "a b", "a b"), 1.0);
        assert_eq!(
            score(Normalize::Casefold, "GROSSE  Straße", "große strasse"),
            1.0
        );
        assert_eq!(score(Normalize::Casefold, "a b", "ab"), 0.0);
    }

    #[test]
    fn the_rule_is_part_of_the_id() {
        let id = |normalize| ExactMatch::new(normalize).grader_id();
        assert_eq!(id(Normalize::Whitespace), "exact-match/ws-v1");
        assert_eq!(id(Normalize::None), "exact-match/none-v1");
        assert_eq!(id(Normalize::Casefold), "exact-match/casefold-v1");
    }

    #[test]
    fn jdg_23_nobody_is_asked_whatever_the_texts_are() {
        for (response, reference) in [("a", "a"), ("a", "b"), ("", "")] {
            let exhibit = Exhibit {
                passages: None,
                prompt: "p",
                response,
                reference: Some(reference),
                criteria: None,
                turn: 0,
            };
            let judge = ExactMatch::new(Normalize::default());
            assert!(judge.seats().is_empty());
            assert_eq!(judge.questions(&exhibit), Ok(Vec::new()));
        }
    }

    #[test]
    fn without_a_reference_the_sample_is_unscored() {
        let exhibit = Exhibit {
            passages: None,
            prompt: "p",
            response: "r",
            reference: None,
            criteria: None,
            turn: 0,
        };
        let judge = ExactMatch::new(Normalize::default());
        let error = judge.questions(&exhibit).expect_err("nothing to compare");
        assert_eq!(error.code, UngradedCode::NoReference);
        assert!(judge.grade(&exhibit, &[]).is_err());
    }
}
