//! Runs pipelines whose right answer is known, in memory: with real cases, real plans and real figures, but with a
//! function instead of a process.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate as evidence;
use crate::page::EvidenceRun;
use crate::perturb::{Peers, Planner};
use crate::{Basis, Evidence, EvidenceSettings, Settings, cases};
use crate::{CaseRecord, Sample, UnitRecord, VariantRecord};
use kelvin_base::digest::Digest;
use kelvin_record::Ending;
use kelvin_run::judge;

/// A pipeline: a function from the text of an input to its answer.
pub type Pipeline<'a> = dyn FnMut(&str) -> Value + 'a;

/// The result of a run on some cases.
pub struct Trial {
    /// The figures, and the records from which they are computed.
    pub evidence: Evidence,
    governing_types: Vec<String>,
}

impl Trial {
    /// The data for a page.
    pub fn run(&self) -> EvidenceRun<'_> {
        EvidenceRun {
            metrics: &self.evidence.metrics,
            cases: &self.evidence.cases,
            ending: Ending::Complete,
            governing_types: &self.governing_types,
            decision_field: "decision",
            scorer: "exact",
            seed: 0,
        }
    }
}

/// Runs a pipeline once on every baseline and variant of some cases, and on this many replays of each baseline.
pub fn run(
    texts: &[(String, String)],
    settings: &EvidenceSettings,
    replays: usize,
    pipeline: &mut Pipeline<'_>,
) -> Trial {
    let corpus = cases::fixture::corpus(texts);
    let peers = Peers::of(&corpus, settings);
    let mut planner = Planner::new(&corpus, settings, &peers);
    let mut answer = |text: &str| Sample {
        decision: Some(pipeline(text)),
        ..Sample::default()
    };
    let mut records: BTreeMap<String, CaseRecord> = BTreeMap::new();
    for (at, case) in corpus.cases.iter().enumerate() {
        let plan = planner.plan(at);
        let baseline = vec![answer(case.input())];
        let variants = plan.variants.iter().map(|variant| VariantRecord {
            id: Arc::clone(&variant.id),
            kind: variant.kind.into(),
            relation: variant.figure.relation(),
            unit_type: variant.unit_type.clone(),
            // No variants are paired here, so the digest of the text is not needed; it would take most of the time.
            input: Digest::of(variant.id.as_bytes()),
            notes: variant.notes(&corpus, at, settings).into(),
            samples: vec![answer(&variant.render(&corpus, at, settings))],
            swap: None,
        });
        let variants: Vec<VariantRecord> = variants.collect();
        let replays = (0..replays).map(|_| answer(case.input())).collect();
        let units = case.units.iter().map(|unit| UnitRecord {
            unit_type: unit.unit_type.clone(),
            line: unit.line,
            list: unit.list,
            turn: unit.turn,
        });
        let record = CaseRecord {
            file: case.file.to_string(),
            folder: case.name.to_string(),
            title: None,
            expected: None,
            input: case.digest(),
            units: units.collect(),
            baseline,
            beside: Vec::new(),
            replays,
            sigma: None,
            variants,
            invariance: None,
            invariance_n: 0,
            sensitivity: None,
            sensitivity_n: 0,
            failed: 0,
            insufficient: false,
            notices: plan.notices,
        };
        records.insert(case.name.to_string(), record);
    }
    let scorer = judge::chosen_scorer(&settings.scorer);
    let mut basis = Basis::of(settings, &*scorer, records.len());
    basis.noise_floor = replays > 0;
    let evidence = evidence::recompute(
        records,
        &Settings {
            basis: &basis,
            ending: Ending::Complete,
            scorer: Some(&*scorer),
        },
    );
    Trial {
        evidence,
        governing_types: settings.governing_types.clone(),
    }
}
