//! Compares the answers with the labels of the cases, if there are labels.
//!
//! A failed call counts as a completely wrong answer, because it does not help a user who expects an answer.

use std::collections::BTreeMap;

use super::aggregate::{Figures, ends};
use super::basis::{Basis, Settings};
use crate::label::Label;
use crate::{CaseRecord, Sample, VariantRecord};
use kelvin_base::notice::{Code, Notice};
use kelvin_base::stats::{self, Balanced};
use kelvin_page::{counted, have};
use kelvin_record::{CaseValue, Cells, Metric};
use kelvin_run::judge::Scorer;

/// The names of the metrics after the name of the probe: one for the unchanged cases, and one for the variants that
/// should get the same answers.
pub(super) const AGREES: &str = "agrees_with_labels";
pub(super) const UNDER_REWRITES: &str = "agrees_under_rewrites";

/// The metrics by name. None if no case has a label, or if a judge computes the distances, because the judge would have
/// to be asked again about every answer.
pub(super) fn metrics(
    settings: &Settings<'_>,
    cases: &BTreeMap<String, CaseRecord>,
) -> Vec<(&'static str, Metric)> {
    if !is_measured(settings, cases) {
        return Vec::new();
    }
    let itself = |case: &CaseRecord, label: &Label, scorer: &dyn Scorer| {
        let samples = case.baseline.iter().chain(&case.replays);
        vec![agreements(label, samples, scorer)]
    };
    let rewritten = |case: &CaseRecord, label: &Label, scorer: &dyn Scorer| {
        let variants = case.variants.iter();
        let hold = variants.filter(|variant| settings.basis.holds(variant));
        let parts =
            hold.map(|variant: &VariantRecord| agreements(label, variant.samples.iter(), scorer));
        parts.collect()
    };
    let mut agrees = metric(settings, cases, &itself);
    // A label declares the right answer of a case, so one good run of the base is enough to show that the base gave it.
    agrees.is_declared = true;
    let mut under_rewrites = metric(settings, cases, &rewritten);
    let figures = Figures { settings, cases };
    under_rewrites.gated = !figures.has_none(&|variant| settings.basis.holds(variant));
    vec![(AGREES, agrees), (UNDER_REWRITES, under_rewrites)]
}

/// Whether answers are compared with labels.
pub(super) fn is_measured(settings: &Settings<'_>, cases: &BTreeMap<String, CaseRecord>) -> bool {
    !settings.basis.asked && cases.values().any(|case| case.expected.is_some())
}

/// A notice that no answer is compared with the labels, if that is the case.
pub(super) fn notice(
    settings: &Settings<'_>,
    cases: &BTreeMap<String, CaseRecord>,
) -> Option<Notice> {
    let have = label_count(cases).filter(|_| settings.basis.asked)?;
    let text = format!(
        "{have}, and no figure is made of them: a judge says how far two answers are apart, and it is not asked about \
         labels"
    );
    Some(Notice::new(Code::own("labels_not_compared"), text))
}

/// The label of a case, in the format of its decisions.
pub(super) fn expected(case: &CaseRecord) -> Option<String> {
    let label = case.expected.as_deref()?;
    Some(Label::of(label).to_string())
}

/// How many cases have a label, in words; none if no case has one.
pub(super) fn label_count(cases: &BTreeMap<String, CaseRecord>) -> Option<String> {
    let labelled = cases.values().filter(|case| case.expected.is_some());
    let labelled = labelled.count();
    let have = have(labelled);
    let all = counted(cases.len(), "case");
    (labelled > 0).then(|| format!("{labelled} of {all} {have} a label"))
}

/// The answers to a case to which the label applies, by input, each with how far its runs agree.
type Parts<'p> = dyn Fn(&CaseRecord, &Label, &dyn Scorer) -> Vec<Vec<f64>> + 'p;

/// The mean over the inputs of all labelled cases; each input counts with the mean of its runs. There is no value for
/// single variants: all of them share the label, so a wrong answer concerns the case.
fn metric(
    settings: &Settings<'_>,
    cases: &BTreeMap<String, CaseRecord>,
    parts: &Parts<'_>,
) -> Metric {
    let Some(scorer) = settings.scorer else {
        let reason = format!(
            "this kelvin does not know the scorer `{}`, by which labels are compared",
            settings.basis.scorer
        );
        return Metric::new(Err(reason), 0, 0);
    };
    let mut all = Balanced::default();
    let mut per_case = BTreeMap::new();
    for (name, case) in cases {
        let Some(label) = case.expected.as_deref().map(Label::of) else {
            continue;
        };
        let parts = parts(case, &label, scorer);
        let mut of_case = Balanced::default();
        of_case.add(parts.iter().cloned());
        if let Some(value) = of_case.value() {
            let value = CaseValue {
                value: Some(value),
                n: of_case.samples(),
                repeats: by_round(&parts),
                cells: Cells::default(),
            };
            per_case.insert(name.clone(), value);
            all.add(parts);
        }
    }
    let figures = Figures { settings, cases };
    let value = all.value().ok_or_else(|| figures.why_nothing_ran());
    let mut metric = Metric::new(value, all.samples(), 0).interval(ends(all.interval()));
    metric.per_case = per_case.into();
    metric.gated = true;
    metric
}

/// The mean of each repeat, over the inputs that were run in that repeat.
fn by_round(parts: &[Vec<f64>]) -> Vec<Option<f64>> {
    let rounds = parts.iter().map(Vec::len).max().unwrap_or(0);
    let of_round = |round: usize| -> Option<f64> {
        let values = parts.iter().filter_map(|part| part.get(round).copied());
        stats::mean(&values.collect::<Vec<f64>>())
    };
    (0..rounds).map(of_round).collect()
}

/// The mean agreement of the answers to the unperturbed case with a label; none if the case was not run.
pub(super) fn agreement(case: &CaseRecord, label: &Label, scorer: &dyn Scorer) -> Option<f64> {
    let samples = case.baseline.iter().chain(&case.replays);
    stats::mean(&agreements(label, samples, scorer))
}

/// The agreement of each run, from 0 to 1; a run without an answer counts as 0.
fn agreements<'s>(
    label: &Label,
    samples: impl Iterator<Item = &'s Sample>,
    scorer: &dyn Scorer,
) -> Vec<f64> {
    let agreement = |sample: &Sample| {
        let decision = sample.decision.as_ref();
        decision.and_then(|decision| label.agreement(decision, scorer))
    };
    samples
        .map(|sample| agreement(sample).unwrap_or(0.0))
        .collect()
}

/// Why a case has a bad result: the expected answer and the answers that differ from it, the most frequent first.
pub(super) fn why(
    (basis, scorer): (&Basis, &dyn Scorer),
    case: &CaseRecord,
    metric: &str,
) -> Option<String> {
    let label = Label::of(case.expected.as_deref()?);
    let mut wrong: BTreeMap<String, usize> = BTreeMap::new();
    let samples: Vec<&Sample> = match metric.strip_prefix("evidence.")? {
        AGREES => case.baseline.iter().chain(&case.replays).collect(),
        UNDER_REWRITES => {
            let variants = case.variants.iter();
            let hold = variants.filter(|variant| basis.holds(variant));
            hold.flat_map(|variant| &variant.samples).collect()
        }
        _ => return None,
    };
    for sample in &samples {
        let answer = match &sample.decision {
            Some(decision) if label.agreement(decision, scorer) == Some(1.0) => continue,
            Some(decision) => decision.to_string(),
            None => "nothing".to_owned(),
        };
        *wrong.entry(answer).or_default() += 1;
    }
    let (answer, times) = wrong.iter().rev().max_by_key(|(_, times)| **times)?;
    Some(format!(
        "expected {label}, answered {answer} in {times} of {} runs",
        samples.len()
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kelvin_record::Ending;
    use kelvin_run::judge;

    fn case(label: Option<&str>, answers: &[&str], rewritten: &[&str]) -> CaseRecord {
        let samples = |answers: &[&str]| -> Vec<_> {
            let answers = answers.iter();
            answers
                .map(|answer| match *answer {
                    "failed" => json!({}),
                    answer => json!({"decision": answer}),
                })
                .collect()
        };
        let digest = kelvin_base::digest::Digest::of(b"case").to_string();
        let variant = |kind: &str, relation: &str| {
            json!({
                "id": kind, "kind": kind, "relation": relation, "input": digest, "notes": {},
                "samples": samples(rewritten),
            })
        };
        let case = json!({
            "file": "cases/a.md", "folder": "a", "input": digest, "units": [], "expected": label,
            "baseline": samples(answers), "failed": 0, "invariance": null, "invariance_n": 0,
            "sensitivity": null, "sensitivity_n": 0,
            "variants": [variant("reorder", "invariance"), variant("swap", "sensitivity")],
        });
        serde_json::from_value(case).expect("a record")
    }

    fn cases() -> BTreeMap<String, CaseRecord> {
        BTreeMap::from([
            ("a".to_owned(), case(Some("yes"), &["yes", "no"], &["yes"])),
            ("b".to_owned(), case(Some("no"), &["failed"], &["yes"])),
            ("c".to_owned(), case(None, &["maybe"], &["maybe"])),
        ])
    }

    fn settings<'s>(basis: &'s Basis, scorer: Option<&'s dyn Scorer>) -> Settings<'s> {
        Settings {
            basis,
            ending: Ending::Complete,
            scorer,
        }
    }

    #[test]
    fn failures_are_wrong_and_cases_without_a_label_and_exchanges_are_in_no_figure() {
        let scorer = judge::chosen_scorer(&judge::Choice::default());
        let basis = Basis::default();
        let metrics = metrics(&settings(&basis, Some(&*scorer)), &cases());
        let values: Vec<_> = metrics
            .iter()
            .map(|(name, metric)| (*name, metric.value, metric.n, metric.gated))
            .collect();
        let wanted = [
            (AGREES, Some(0.25), 3, true),
            (UNDER_REWRITES, Some(0.5), 2, true),
        ];
        assert_eq!(values, wanted);
        let of_a = &metrics[0].1.per_case["a"];
        assert_eq!(of_a.repeats, [Some(1.0), Some(0.0)]);
        assert!(!metrics[0].1.per_case.contains_key("c"));
        let told = why(
            (&basis, &*scorer),
            &cases()["b"],
            "evidence.agrees_with_labels",
        );
        insta::assert_snapshot!(told.as_deref().expect("it is told"), @r#"expected "no", answered nothing in 1 of 1 runs"#);
    }

    #[test]
    fn without_labels_there_is_no_figure_and_what_cannot_be_compared_says_so() {
        let scorer = judge::chosen_scorer(&judge::Choice::default());
        let basis = Basis::default();
        let mut none = cases();
        none.values_mut().for_each(|case| case.expected = None);
        assert!(metrics(&settings(&basis, Some(&*scorer)), &none).is_empty());
        let unknown = metrics(&settings(&basis, None), &cases());
        let reason = unknown[0].1.reason.as_deref().unwrap_or_default();
        insta::assert_snapshot!(reason, @"this kelvin does not know the scorer ``, by which labels are compared");
        let asked = Basis {
            asked: true,
            ..Basis::default()
        };
        let asked = settings(&asked, Some(&*scorer));
        assert!(metrics(&asked, &cases()).is_empty());
        let told = notice(&asked, &cases()).expect("a notice").text;
        insta::assert_snapshot!(told, @"2 of 3 cases have a label, and no figure is made of them: a judge says how far two answers are apart, and it is not asked about labels");
    }
}
