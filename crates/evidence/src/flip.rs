//! Finds which answers of a case a change made wrong, and the new answers.

use std::collections::BTreeMap;

use super::perturb::{self, Figure, Relation};
use super::record::{CaseRecord, Sample, VariantRecord};
use kelvin_base::digest::Digest;
use kelvin_record::{Flip, Ought};

/// The answer of the base, if it is needed, and the answer of the head.
type Answers = (Option<String>, String);

/// The answers that got worse, among the variants of a case that contribute to a metric; none if no answer got worse,
/// or if the metric does not concern variants.
pub(super) fn case_flip(
    base: &CaseRecord,
    head: &CaseRecord,
    item: &str,
    metric: &str,
) -> Option<Flip> {
    let (name, part) = match metric.strip_prefix("evidence.")?.split_once('.') {
        Some((name, part)) => (name, Some(part)),
        None => (metric.strip_prefix("evidence.")?, None),
    };
    let (relation, ought) = match name {
        "invariance" => (Relation::Invariance, Ought::Hold),
        "sensitivity" | "following" => (Relation::Sensitivity, Ought::Move),
        _ => return None,
    };
    let counts = |variant: &&VariantRecord| {
        let is_part =
            |part: &str| variant.kind == part || variant.unit_type.as_deref() == Some(part);
        variant.relation == relation && !is_hedge(variant) && part.is_none_or(is_part)
    };
    let before: BTreeMap<&Digest, &VariantRecord> = base
        .variants
        .iter()
        .filter(counts)
        .map(|variant| (&variant.input, variant))
        .collect();
    let mut of = 0;
    // The key is the answer of the head; for variants that should not move the decision, it also contains the answer of
    // the base.
    let mut flips: BTreeMap<Answers, Vec<(&str, String)>> = BTreeMap::new();
    for variant in head.variants.iter().filter(counts) {
        let Some(old) = before.get(&variant.input) else {
            continue;
        };
        let (Some(moved_then), Some(moved_now)) = (moved(old), moved(variant)) else {
            continue;
        };
        of += 1;
        let (Some(was), Some(is)) = (answer(old), answer(variant)) else {
            continue;
        };
        let key = match ought {
            Ought::Hold if moved_now > moved_then && was != is => (Some(was.clone()), is),
            // If the variant gets the same answer as before, the answer to the case itself has changed.
            Ought::Move if moved_now == 0.0 && moved_then > 0.0 && was != is => (None, is),
            _ => continue,
        };
        flips.entry(key).or_default().push((&variant.id, was));
    }
    // The flip that most variants share; if there are several, the first by its answers.
    let ((_, is), mut parts) = flips
        .into_iter()
        .rev()
        .max_by_key(|(_, parts)| parts.len())?;
    parts.sort();
    let (part, was) = parts.first()?.clone();
    Some(Flip {
        metric: metric.to_owned(),
        item: item.to_owned(),
        ought,
        flipped: parts.len(),
        of,
        part: part.to_owned(),
        base: was,
        head: is,
    })
}

/// Whether a variant contains hedges: such variants should not change the decision either, but all figures count them
/// separately.
fn is_hedge(variant: &VariantRecord) -> bool {
    perturb::find(&variant.kind).is_some_and(|kind| kind.figure == Figure::Hedge)
}

/// The mean distance between the answers to a variant and the answers to the case; none if no distance is known.
fn moved(variant: &VariantRecord) -> Option<f64> {
    let distances = variant.samples.iter().filter_map(|sample| sample.distance);
    let (sum, n) = distances.fold((0.0, 0_u32), |(sum, n), one| (sum + one, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// The most frequent answer to a variant, as JSON; among equally frequent answers the first.
fn answer(variant: &VariantRecord) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let compared = |sample: &&Sample| sample.distance.is_some();
    for sample in variant.samples.iter().filter(compared) {
        let text = sample.decision.as_ref()?.to_string();
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(decision: &str, distance: f64) -> serde_json::Value {
        json!({"decision": decision, "distance": distance})
    }

    /// A case with variants of the relation; each has its answers with their distances.
    fn case(relation: &str, variants: &[&[(&str, f64)]]) -> CaseRecord {
        let variants: Vec<_> = variants
            .iter()
            .enumerate()
            .map(|(at, samples)| {
                json!({
                    "id": format!("reorder-{at:02}"), "kind": "reorder", "relation": relation,
                    "input": Digest::of(&[u8::try_from(at).expect("few")]).to_string(), "notes": {},
                    "samples": samples.iter().map(|(d, x)| sample(d, *x)).collect::<Vec<_>>(),
                })
            })
            .collect();
        serde_json::from_value(json!({
            "file": "a.md", "folder": "a", "input": Digest::of(b"a").to_string(), "units": [],
            "baseline": [{"decision": "deny"}], "variants": variants,
            "invariance": 1.0, "invariance_n": 1, "sensitivity": null, "sensitivity_n": 0, "failed": 0,
        }))
        .expect("a case")
    }

    #[test]
    fn the_flip_that_most_variants_share_is_told_with_its_answers() {
        let held: &[(&str, f64)] = &[("deny", 0.0)];
        let base = case("invariance", &[held; 5]);
        let head = case(
            "invariance",
            &[
                held,
                &[("maybe", 1.0)],
                &[("approve", 1.0), ("deny", 0.0), ("approve", 1.0)],
                &[("approve", 1.0)],
                held,
            ],
        );
        let flip = case_flip(&base, &head, "ben", "evidence.invariance").expect("it flipped");
        assert_eq!(
            (flip.flipped, flip.of, flip.part.as_str()),
            (2, 5, "reorder-02")
        );
        assert_eq!(
            (flip.base.as_str(), flip.head.as_str()),
            ("\"deny\"", "\"approve\"")
        );
        assert_eq!(flip.ought, Ought::Hold);
        // The other way round nothing got worse, and of sensitivity these variants say nothing.
        assert_eq!(case_flip(&head, &base, "ben", "evidence.invariance"), None);
        assert_eq!(case_flip(&base, &head, "ben", "evidence.sensitivity"), None);
        assert_eq!(
            case_flip(&base, &head, "ben", "evidence.invariance.pad_length"),
            None
        );
        assert_eq!(case_flip(&base, &head, "ben", "retrieval.recall"), None);
    }

    #[test]
    fn an_answer_that_no_longer_moves_is_a_flip_and_noise_that_changes_no_answer_is_none() {
        let base = case("sensitivity", &[&[("approve", 1.0)], &[("deny", 0.0)]]);
        let head = case("sensitivity", &[&[("deny", 0.0)], &[("deny", 0.0)]]);
        let flip = case_flip(&base, &head, "ben", "evidence.following").expect("it flipped");
        assert_eq!((flip.flipped, flip.of, flip.ought), (1, 2, Ought::Move));
        assert_eq!(
            (flip.base.as_str(), flip.head.as_str()),
            ("\"approve\"", "\"deny\"")
        );
        // Where the case itself is answered otherwise, the answer to the variant is as it was.
        let turned = case("sensitivity", &[&[("approve", 0.0)], &[("deny", 1.0)]]);
        assert_eq!(case_flip(&base, &turned, "ben", "evidence.following"), None);
        let base = case(
            "invariance",
            &[&[("deny", 0.0), ("deny", 0.0), ("deny", 0.0)]],
        );
        let head = case(
            "invariance",
            &[&[("deny", 0.0), ("approve", 1.0), ("deny", 0.0)]],
        );
        assert_eq!(case_flip(&base, &head, "ben", "evidence.invariance"), None);
    }
}
