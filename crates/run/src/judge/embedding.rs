//! `embedding_similarity`: how similar the meanings of two texts are, as the cosine of the angle between their vectors.

use serde_json::{Value, json};

use super::seat::{self, Reading};
use super::{Exhibit, Grade, Judge, Question, Seat, Ungraded};
use crate::targets::ModelSettings;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::{Failure, FailureKind};

/// Asks an embedding model for the vectors of both texts, in one call.
#[derive(Debug)]
pub(super) struct EmbeddingSimilarity {
    id: String,
    seat: Seat,
}

impl EmbeddingSimilarity {
    /// Makes a judge that asks this model.
    pub(super) fn new(model: &ModelSettings) -> Self {
        let parameters = Fields::of("kelvin/judge/embedding/v2")
            .field("model", super::model::identity(model))
            .digest();
        Self {
            id: format!(
                "embedding-similarity/cosine-v1/{}-{}",
                super::model::label(model),
                parameters.short(8)
            ),
            seat: Seat::new(model.embedding(), CosineReading),
        }
    }
}

impl Judge for EmbeddingSimilarity {
    fn grader_id(&self) -> String {
        self.id.clone()
    }

    fn seats(&self) -> Vec<&Seat> {
        vec![&self.seat]
    }

    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded> {
        let reference = exhibit.needs_reference()?;
        Ok(vec![Question {
            seat: 0,
            text: json!([reference, exhibit.response]).to_string(),
            name: "vectors".to_owned(),
        }])
    }

    fn grade(
        &self,
        _: &Exhibit<'_>,
        answers: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded> {
        let answer = answers.first().ok_or_else(seat::no_answer)?;
        let (score, notes) = seat::score(answer.as_ref().map_err(Ungraded::from)?)?;
        Grade::new(score, notes, self.grader_id())
    }
}

/// The key of the cosine in the short form of an answer that the cache stores.
const COSINE: &str = "cosine";

/// Reads two vectors and returns their cosine.
#[derive(Debug)]
struct CosineReading;

impl Reading for CosineReading {
    fn digest(&self) -> Digest {
        // Version 1 did not store the model name that the server reports.
        Fields::of("kelvin/reader/cosine/v2").digest()
    }

    fn read(&self, output: &[u8]) -> Result<Value, Failure> {
        let answer: Value = serde_json::from_slice(output)
            .map_err(|error| unusable(format!("the vectors are not valid JSON: {error}")))?;
        // Only the cache contains the cosine itself: an embedding call returns a list.
        if let Some(cosine) = answer.get(COSINE).and_then(Value::as_f64) {
            return Ok(seat::read(cosine, ""));
        }
        let vectors: Vec<Vec<f64>> = serde_json::from_value(answer)
            .map_err(|error| unusable(format!("the answer is no list of vectors: {error}")))?;
        let [one, other] = &vectors[..] else {
            return Err(unusable(format!(
                "the embedder was given 2 texts and answered {} vectors",
                vectors.len()
            )));
        };
        Ok(seat::read(cosine(one, other)?.max(0.0), ""))
    }

    fn smallest(&self, read: &Value) -> Vec<u8> {
        match seat::score(read) {
            Ok((score, _)) => json!({ COSINE: score }).to_string().into_bytes(),
            Err(_) => Vec::new(),
        }
    }
}

/// The cosine of the angle between two vectors, from -1 to 1.
fn cosine(one: &[f64], other: &[f64]) -> Result<f64, Failure> {
    if one.len() != other.len() {
        return Err(unusable(format!(
            "the vectors have {} and {} numbers",
            one.len(),
            other.len()
        )));
    }
    let (one, other) = (unit(one)?, unit(other)?);
    let product: f64 = one.iter().zip(&other).map(|(a, b)| a * b).sum();
    // Because of rounding, the product of a vector with itself is not always exactly 1.
    Ok(if one == other {
        1.0
    } else {
        product.clamp(-1.0, 1.0)
    })
}

/// The vector of length 1 in the same direction. All numbers are divided by the largest first, so that no square
/// overflows or underflows.
fn unit(vector: &[f64]) -> Result<Vec<f64>, Failure> {
    let largest = vector
        .iter()
        .fold(0.0_f64, |most, number| most.max(number.abs()));
    if largest == 0.0 || !largest.is_finite() {
        let what = match vector.is_empty() {
            true => "a vector is empty",
            false => "a vector is zero: it has no direction",
        };
        return Err(unusable(what.to_owned()));
    }
    let scaled: Vec<f64> = vector.iter().map(|number| number / largest).collect();
    let length = scaled
        .iter()
        .map(|number| number * number)
        .sum::<f64>()
        .sqrt();
    Ok(scaled.into_iter().map(|number| number / length).collect())
}

fn unusable(what: String) -> Failure {
    Failure::new(FailureKind::VectorsUnusable, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::settings::tests_only::model;

    fn read(answer: &str) -> Result<f64, Failure> {
        let read = CosineReading.read(answer.as_bytes())?;
        Ok(seat::score(&read).expect("it has a score").0)
    }

    fn refused(answer: &str) -> String {
        let failure = read(answer).expect_err("it is refused");
        assert_eq!(failure.kind, FailureKind::VectorsUnusable, "{answer}");
        failure.message
    }

    #[test]
    fn jdg_05_both_texts_go_to_the_embedder_in_one_call() {
        let judge = EmbeddingSimilarity::new(&model("vectors"));
        let exhibit = Exhibit {
            passages: None,
            prompt: "not sent",
            response: "the \"response\"",
            reference: Some("the reference\n"),
            criteria: None,
            turn: 0,
        };
        let questions = judge.questions(&exhibit).expect("there are two texts");
        let texts: Vec<&str> = questions.iter().map(|asked| asked.text.as_str()).collect();
        assert_eq!(texts, [r#"["the reference\n","the \"response\""]"#]);
        let alone = Exhibit {
            reference: None,
            ..exhibit
        };
        assert!(judge.questions(&alone).is_err());
    }

    #[test]
    fn jdg_06_the_score_is_the_cosine_and_never_below_zero() {
        assert_eq!(read("[[1, 2], [1, 2]]").expect("read"), 1.0);
        assert_eq!(
            read("[[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]").expect("read"),
            1.0
        );
        assert_eq!(read("[[1, 2], [-1, -2]]").expect("read"), 0.0);
        assert_eq!(read("[[1, 0], [0, 1]]").expect("read"), 0.0);
        assert!((read("[[1, 0], [1, 1]]").expect("read") - 0.5_f64.sqrt()).abs() < 1e-15);
        assert!(
            (read("[[1e300, 0], [1e300, 1e300]]").expect("read") - 0.5_f64.sqrt()).abs() < 1e-15
        );
        assert!(
            (read("[[1e-300, 0], [1e-300, 1e-300]]").expect("read") - 0.5_f64.sqrt()).abs() < 1e-15
        );
    }

    #[test]
    fn jdg_06_one_or_three_vectors_are_an_error() {
        assert!(refused("[[1, 2]]").contains("answered 1 vectors"));
        assert!(refused("[[1], [1], [1]]").contains("answered 3 vectors"));
        refused("[]");
    }

    #[test]
    fn jdg_07_a_zero_vector_and_vectors_of_two_lengths_are_an_error() {
        assert!(refused("[[0, 0], [1, 2]]").contains("zero"));
        assert!(refused("[[1, 2], [0, -0.0]]").contains("zero"));
        assert!(refused("[[], []]").contains("empty"));
        assert!(refused("[[1, 2], [1, 2, 3]]").contains("2 and 3 numbers"));
    }

    #[test]
    fn what_are_no_two_vectors_is_an_error() {
        for answer in [
            "",
            "not JSON",
            "null",
            "0.9",
            "[1, 2]",
            r#"[["1"], ["2"]]"#,
            "[[null], [1]]",
            "[[NaN], [1]]",
            "[[1e999], [1]]",
            r#"{"data": [[1], [1]]}"#,
        ] {
            refused(answer);
        }
    }

    #[test]
    fn the_short_form_of_a_long_answer_has_the_same_score() {
        let read = CosineReading.read(b"[[1, 0.3], [1, 0.7]]").expect("read");
        assert_eq!(CosineReading.read(&CosineReading.smallest(&read)), Ok(read));
    }
}
