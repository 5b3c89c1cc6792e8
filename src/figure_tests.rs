//! Every figure of the probes that make most of them: its family, and its range.

use kelvin_fixtures::report::EvidenceReport as _;
use std::collections::BTreeMap;

use kelvin_evidence as evidence;
use kelvin_evidence::{Basis, Settings, perturb};
use kelvin_fixtures::report as fixture;
use kelvin_record::{Ending, Metric, Range, SectionFingerprint};
use kelvin_retrieval as retrieval;
use kelvin_retrieval::{Citations, RetrievalBasis, RetrievalSection, SpanRule, StoredBasis};

/// Every figure that the two probes make, each by its probe.
fn every_figure() -> BTreeMap<String, Metric> {
    let report = fixture::bad();
    let cases = report.cases().clone();
    let enabled = perturb::ALL.iter().map(|kind| kind.name.to_owned());
    let basis = Basis {
        governing_types: vec!["release_rule".to_owned()],
        cases: cases.len(),
        enabled: enabled.collect(),
        noise_floor: true,
        ..Basis::default()
    };
    let settings = Settings {
        basis: &basis,
        ending: Ending::Complete,
        scorer: None,
    };
    let section = RetrievalSection {
        ending: Ending::Complete,
        fingerprint: SectionFingerprint {
            items: None,
            command: None,
        },
        basis: StoredBasis {
            figures: RetrievalBasis {
                k: vec![1, 3],
                cut_off: 10,
                relevance_level: 1,
                citations: Citations::Hits,
                span_rule: SpanRule::default(),
            },
            unknown: Vec::new(),
            corpus: None,
        },
        items: BTreeMap::new().into(),
    };
    let mut metrics = evidence::recompute(cases, &settings).metrics;
    metrics.extend(retrieval::figures(&section));
    metrics
}

#[test]
fn every_figure_says_which_family_it_is_of_and_has_a_value_within_its_range() {
    let metrics = every_figure();
    assert!(metrics.len() > 35, "{:?}", metrics.keys());
    for (id, metric) in &metrics {
        let rest = id.strip_prefix(&metric.family);
        assert!(rest.is_some_and(|rest| rest.starts_with('.')), "{id}");
        let Some(value) = metric.value else { continue };
        let Range { low, high } = metric.range;
        assert!(low.is_none_or(|low| low <= value + 1e-9), "{id}");
        assert!(high.is_none_or(|high| value <= high + 1e-9), "{id}");
    }
    let first: Vec<&String> = metrics
        .iter()
        .filter(|(_, metric)| metric.headline)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(first, ["evidence.kelvin_score", "evidence.sensitivity"]);
}
