//! Reports of `kelvin-eval` 0.2 and 0.3: a run report and, in the same folder, a report of each case.
//!
//! Their figures are computed again from the distances of the cases. The variants of `kelvin-eval` differ from ours, so
//! reports are paired by case and not by variant.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::bytes::{ReadReport, bytes};
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_evidence as evidence;
use kelvin_evidence::perturb;
use kelvin_evidence::perturb::Relation;
use kelvin_evidence::{Basis, EvidenceKind, EvidenceSection, Settings};
use kelvin_evidence::{CaseRecord, Sample, VariantRecord};
use kelvin_gate::report::{Fingerprints, Report, Run, Session};
use kelvin_record::SectionKind as _;
use kelvin_record::{Cells, Ending, Kinds, SectionFingerprint, Sections};

/// The version of the reports of `kelvin-eval` that this module understands.
const SCHEMA_VERSION: u64 = 1;
/// How many cases are read at most.
const MOST_CASES: usize = 10_000;

/// A run report of `kelvin-eval`: the fields that are used.
#[derive(Debug, Deserialize)]
struct RunReport {
    schema_version: u64,
    seed: u64,
    only: Option<Value>,
    decision_field: String,
    governing_types: Vec<String>,
    cases: Cases,
    #[serde(default)]
    dry_run: bool,
    invariance: Option<f64>,
    sensitivity: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Cases {
    run: Vec<String>,
}

/// A report of `kelvin-eval` on one case: the fields that are used.
#[derive(Debug, Deserialize)]
struct CaseReport {
    baseline: PeerInvocation,
    perturbations: Vec<PeerPerturbation>,
}

#[derive(Debug, Deserialize)]
struct PeerPerturbation {
    variant_id: String,
    kind: String,
    invocation: PeerInvocation,
    distance: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct PeerInvocation {
    ok: bool,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    decision_value: Value,
}

/// Whether the text is a run report of `kelvin-eval`. Our own reports contain another tool name.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Marks {
        tool: Option<Value>,
        decision_field: Option<Value>,
        governing_types: Option<Value>,
        invariance_sample: Option<Value>,
    }
    bytes.trim_ascii_start().first() == Some(&b'{')
        && serde_json::from_slice::<Marks>(bytes).is_ok_and(|marks| {
            marks.tool.is_none()
                && marks.decision_field.is_some()
                && marks.governing_types.is_some()
                && marks.invariance_sample.is_some()
        })
}

/// Reads a report of `kelvin-eval`, with the reports of its cases in the folders beside it.
///
/// # Errors
///
/// Fails if the report has another version, or a report of a case is missing or damaged.
pub(super) fn read(path: &Path, text: &[u8], kinds: &Kinds) -> anyhow::Result<ReadReport> {
    let run: RunReport =
        serde_json::from_slice(text).context("it is no whole report of kelvin-eval")?;
    ensure!(
        run.schema_version == SCHEMA_VERSION,
        "it is a report of kelvin-eval of version {}, and version {SCHEMA_VERSION} is understood",
        run.schema_version
    );
    ensure!(
        run.cases.run.len() <= MOST_CASES,
        "it has {} cases, and {MOST_CASES} are read at most",
        run.cases.run.len()
    );
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut cases = BTreeMap::new();
    for name in &run.cases.run {
        let record =
            case(folder, name).with_context(|| format!("the case `{name}` of kelvin-eval"))?;
        cases.insert(name.clone(), record);
    }
    let mut notices = vec![
        "a report of kelvin-eval: the cases are compared as a whole, because its variants are not \
         those of kelvin; which pipeline, configuration, model, commit and time it is of is not \
         known"
            .to_owned(),
    ];
    let report = figures(&run, cases, kinds);
    for (id, stored) in [
        ("evidence.invariance", run.invariance),
        ("evidence.sensitivity", run.sensitivity),
    ] {
        let now = report.metrics.get(id).and_then(|metric| metric.value);
        let same = match (stored, now) {
            (Some(stored), Some(now)) => (stored - now).abs() <= 1e-9,
            (stored, now) => stored.is_none() && now.is_none(),
        };
        if !same {
            let shown =
                |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.4}"));
            notices.push(format!(
                "`{id}` is {} in the report of kelvin-eval and {} by the distances of its cases, \
                 which is what is compared",
                shown(stored),
                shown(now)
            ));
        }
    }
    Ok(ReadReport { report, notices })
}

/// Reads one case, with the digest of its input if the file of the input is beside the report.
fn case(folder: &Path, name: &str) -> anyhow::Result<CaseRecord> {
    let mut parts = Path::new(name).components();
    let is_plain = matches!(parts.next(), Some(std::path::Component::Normal(_)));
    if !is_plain || parts.next().is_some() {
        bail!("it is no name of a case");
    }
    let folder = folder.join(name);
    let text = bytes(&folder.join("report.json"))?;
    let case: CaseReport = serde_json::from_slice(&text)
        .with_context(|| format!("`{name}/report.json` is no report of a case"))?;
    let input = bytes(&folder.join("baseline/input.md"))
        .map(|input| Digest::of(&input))
        .with_context(|| "its input is needed to tell whether the case was edited".to_owned())?;
    let mut variants = Vec::new();
    for variant in &case.perturbations {
        let Some(kind) = perturb::find(&variant.kind) else {
            bail!("`{}` is no kind of perturbation", variant.kind);
        };
        if let Some(distance) = variant.distance {
            ensure!(
                (0.0..=1.0).contains(&distance),
                "the distance of `{}` is {distance}, which is not within 0 and 1",
                variant.variant_id
            );
        }
        let relation = kind.figure.relation();
        variants.push(VariantRecord {
            id: variant.variant_id.as_str().into(),
            kind: variant.kind.clone().into(),
            relation,
            unit_type: governing(&variant.variant_id).filter(|_| relation == Relation::Sensitivity),
            input,
            notes: Arc::default(),
            samples: vec![Sample {
                distance: variant.distance,
                ..sample(&variant.invocation)
            }],
            swap: None,
        });
    }
    variants.sort_by(|a, b| a.id.cmp(&b.id));
    let failed = variants.iter().flat_map(|variant| &variant.samples);
    let failed = failed.filter(|sample| sample.failure.is_some()).count();
    Ok(CaseRecord {
        file: format!("{name}.md"),
        folder: name.to_owned(),
        title: None,
        expected: None,
        input,
        units: Vec::new(),
        failed: failed + usize::from(!case.baseline.ok),
        baseline: vec![sample(&case.baseline)],
        beside: Vec::new(),
        replays: Vec::new(),
        sigma: None,
        variants,
        invariance: None,
        invariance_n: 0,
        sensitivity: None,
        sensitivity_n: 0,
        insufficient: false,
        notices: Vec::new(),
    })
}

/// The governing type of a swap. Only the id of the swap contains it: `swap-rule-01`.
fn governing(id: &str) -> Option<Arc<str>> {
    let name = id.strip_prefix("swap-")?;
    let (name, _) = name.rsplit_once('-')?;
    Some(name.into())
}

fn sample(invocation: &PeerInvocation) -> Sample {
    let failure = || {
        let said = match &invocation.error {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "it failed".to_owned(),
        };
        Failure {
            kind: FailureKind::OutputUnreadable,
            message: kelvin_page::safe::cut(&said, 400),
            stderr: String::new(),
            stdout: String::new(),
        }
    };
    Sample {
        decision: invocation.ok.then(|| invocation.decision_value.clone()),
        distance: None,
        failure: (!invocation.ok).then(failure).map(Box::new),
    }
}

/// The figures, computed with the current formulas. The cells are left out, because the reports are paired by case.
fn figures(run: &RunReport, cases: BTreeMap<String, CaseRecord>, kinds: &Kinds) -> Report {
    let basis = Basis {
        decision_field: run.decision_field.clone(),
        governing_types: run.governing_types.clone(),
        // The only scorer of `kelvin-eval`: two decisions are equal or not, and numbers differ by their relative
        // difference.
        scorer: "exact/v1".to_owned(),
        cases: cases.len(),
        ..Basis::default()
    };
    let answered = cases.values().any(|case| {
        let first = case.baseline.first();
        first.is_some_and(|sample| sample.decision.is_some())
    });
    let ending = match (run.dry_run, answered) {
        (true, _) => Ending::DryRun,
        (false, true) => Ending::Complete,
        (false, false) => Ending::Failed,
    };
    let mut evidence = evidence::recompute(
        cases,
        &Settings {
            basis: &basis,
            ending,
            scorer: None,
        },
    );
    for case in evidence
        .metrics
        .values_mut()
        .flat_map(|metric| metric.per_case.values_mut())
    {
        case.cells = Cells::default();
    }
    let run = Run {
        ending,
        seed: run.seed,
        only: match &run.only {
            Some(Value::String(only)) => vec![only.clone()],
            Some(Value::Array(list)) => {
                let names = list.iter().filter_map(Value::as_str);
                names.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        },
        shard: None,
        repeats: 1,
        fingerprints: Fingerprints {
            config: Digest::of(b"kelvin-eval"),
            pipeline: None,
        },
        session: Session {
            started_at: "1970-01-01T00:00:00Z".to_owned(),
            ..Session::default()
        },
    };
    let section = EvidenceSection {
        ending,
        fingerprint: SectionFingerprint {
            items: None,
            command: None,
        },
        basis,
        items: evidence.cases.into(),
    };
    let mut probes = Sections::new(kinds.clone());
    probes.put(EvidenceKind.name(), Box::new(section));
    let mut report = Report::new(run, probes, evidence.metrics, evidence.notices);
    report.tool.name = "kelvin-eval".to_owned();
    report.tool.version = "0.2 or 0.3".to_owned();
    report
}

#[cfg(test)]
mod tests;
