//! What the page shows, worked out before the template sees it.

use serde::Serialize;

use super::Texts;
use super::diff::{self, Line};
use super::heat::{self, Heat};
use crate::notice::Notice;
use crate::probe::{CaseRecord, Metric, Sample, VariantRecord};
use crate::report::markdown::done;
use crate::report::summary::{self, INVARIANCE_WORDS, SENSITIVITY_WORDS};
use crate::report::{Report, safe};

/// How many diffs a page holds: beyond that it is slow to open, and nobody reads them.
const DIFFS: usize = 1500;

#[derive(Serialize)]
pub(super) struct View {
    title: String,
    diagnoses: Vec<String>,
    facts: Vec<(&'static str, String)>,
    signals: Vec<Signal>,
    tables: Vec<Table>,
    heat: Heat,
    cases: Vec<Case>,
    failed: Vec<Failed>,
    notices: Vec<Row>,
    diffs_left_out: usize,
    seed: u64,
}

#[derive(Serialize)]
struct Signal {
    name: &'static str,
    question: &'static str,
    value: Option<String>,
    fraction: f64,
    word: String,
    sample: String,
    interval: Option<String>,
}

#[derive(Serialize)]
struct Table {
    title: &'static str,
    rows: Vec<(String, String, String, String)>,
}

#[derive(Serialize)]
struct Case {
    name: String,
    file: String,
    anchor: usize,
    against: usize,
    decision: String,
    invariance: Option<String>,
    invariance_n: usize,
    sensitivity: Option<String>,
    sensitivity_n: usize,
    failed: usize,
    insufficient: bool,
    units: Vec<String>,
    variants: Vec<Variant>,
    notices: Vec<Row>,
}

#[derive(Serialize)]
struct Variant {
    id: String,
    done: String,
    decisions: Vec<String>,
    distance: String,
    expected: &'static str,
    ought: &'static str,
    diff: Vec<Line>,
    diff_more: usize,
}

#[derive(Serialize)]
struct Failed {
    case: String,
    place: String,
    message: String,
    printed: String,
}

#[derive(Serialize)]
struct Row {
    code: String,
    place: String,
    text: String,
}

impl View {
    pub(super) fn of(report: &Report, texts: &Texts<'_>) -> Self {
        let mut diffs = Diffs {
            texts,
            left: DIFFS,
            left_out: 0,
        };
        let cases = report
            .cases
            .iter()
            .enumerate()
            .map(|(anchor, (name, case))| Case::of(anchor, name, case, &mut diffs))
            .collect();
        Self {
            title: format!("Kelvin: {} cases", report.cases.len()),
            diagnoses: summary::diagnoses(report),
            facts: facts(report),
            signals: signals(report),
            tables: tables(report),
            heat: heat::map(report),
            cases,
            failed: summary::failed(report)
                .iter()
                .filter_map(Failed::of)
                .collect(),
            notices: report.notices.iter().map(Row::of).collect(),
            diffs_left_out: diffs.left_out,
            seed: report.run.seed,
        }
    }
}

fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let cost = report.run.session.cost;
    let mut facts = vec![
        ("Cases", report.cases.len().to_string()),
        ("Variants", summary::variants(report).to_string()),
        ("Invocations", cost.invocations.to_string()),
    ];
    if cost.cache_hits > 0 {
        facts.push(("From the cache", cost.cache_hits.to_string()));
    }
    facts.push(("Decision", safe::cut(&report.run.decision_field, 60)));
    facts.push((
        "Governing",
        safe::cut(&report.run.governing_types.join(", "), 200),
    ));
    facts.push(("Scorer", report.run.scorer.clone()));
    facts.push(("Seed", report.run.seed.to_string()));
    if let Some(commit) = &report.run.session.commit {
        let dirty = if report.run.session.dirty {
            ", with changes"
        } else {
            ""
        };
        facts.push(("Commit", format!("{}{dirty}", safe::cut(commit, 12))));
    }
    facts.push(("Started", report.run.session.started_at.clone()));
    facts.push(("Took", summary::seconds(report.run.session.seconds)));
    facts
}

fn signals(report: &Report) -> Vec<Signal> {
    let value = |id: &str| report.metrics.get(id).and_then(|metric| metric.value);
    let quadrant = summary::quadrant(value("evidence.invariance"), value("evidence.sensitivity"));
    [
        (
            "evidence.invariance",
            "Invariance",
            "Does the decision hold while the governing evidence is the same?",
            1.0,
        ),
        (
            "evidence.sensitivity",
            "Sensitivity",
            "Does it move when the governing evidence changes?",
            1.0,
        ),
        (
            "evidence.kelvin_score",
            "Kelvin score",
            "Both in one: 0 is best, 1 is a constant, 2 is worst.",
            2.0,
        ),
    ]
    .into_iter()
    .filter_map(|(id, name, question, most)| {
        let metric = report.metrics.get(id)?;
        let word = match (id, metric.value) {
            (_, None) => metric.reason.clone().unwrap_or_default(),
            ("evidence.invariance", Some(value)) => summary::band(value, INVARIANCE_WORDS).into(),
            ("evidence.sensitivity", Some(value)) => summary::band(value, SENSITIVITY_WORDS).into(),
            (_, Some(_)) => quadrant.unwrap_or_default().to_owned(),
        };
        Some(Signal {
            name,
            question,
            value: metric.value.map(|_| metric.display.clone()),
            fraction: metric.value.unwrap_or(0.0) / most,
            word,
            sample: summary::sample(metric),
            interval: metric
                .interval
                .map(|interval| format!("{:.2} to {:.2}", interval.low, interval.high)),
        })
    })
    .collect()
}

fn tables(report: &Report) -> Vec<Table> {
    let row = |(name, metric): &(&str, &Metric)| {
        let value = metric.value.map_or_else(
            || {
                format!(
                    "not measured: {}",
                    metric.reason.as_deref().unwrap_or("no reason known")
                )
            },
            |_| metric.display.clone(),
        );
        let interval = metric.interval.map_or_else(String::new, |interval| {
            format!("{:.2} to {:.2}", interval.low, interval.high)
        });
        (
            safe::cut(name, 80),
            value,
            interval,
            summary::sample(metric),
        )
    };
    let further: Vec<(&str, &Metric)> = [
        (
            "evidence.invariance_case_mean",
            "invariance, mean of the cases",
        ),
        (
            "evidence.sensitivity_case_mean",
            "sensitivity, mean of the cases",
        ),
        ("evidence.noise_floor", "noise floor"),
        ("evidence.invariance_corrected", "invariance without noise"),
        (
            "evidence.sensitivity_corrected",
            "sensitivity without noise",
        ),
        (
            "evidence.kelvin_score_corrected",
            "Kelvin score without noise",
        ),
        (
            "evidence.sensitivity_condition",
            "sensitivity to conditions alone",
        ),
        ("evidence.content_effect", "content effect"),
        ("evidence.mechanical_sensitivity", "mechanical sensitivity"),
        ("evidence.failure_rate", "failed invocations"),
    ]
    .into_iter()
    .filter_map(|(id, name)| Some((name, report.metrics.get(id)?)))
    .collect();
    [
        (
            "Invariance by kind",
            summary::family(report, "evidence.invariance"),
        ),
        (
            "Sensitivity by governing type",
            summary::family(report, "evidence.sensitivity"),
        ),
        (
            "Mechanical sensitivity",
            summary::family(report, "evidence.mechanical_sensitivity"),
        ),
        (
            "Stability when one unit is left out",
            summary::family(report, "evidence.drop"),
        ),
        ("Further figures", further),
    ]
    .into_iter()
    .filter(|(_, metrics)| !metrics.is_empty())
    .map(|(title, metrics)| Table {
        title,
        rows: metrics.iter().map(row).collect(),
    })
    .collect()
}

struct Diffs<'a> {
    texts: &'a Texts<'a>,
    left: usize,
    left_out: usize,
}

impl Case {
    fn of(anchor: usize, name: &str, case: &CaseRecord, diffs: &mut Diffs<'_>) -> Self {
        let shown = |value: Option<f64>| value.map(|value| format!("{value:.2}"));
        let against = case
            .variants
            .iter()
            .filter(|variant| is_against(variant))
            .count();
        Self {
            name: safe::cut(name, 120),
            file: safe::cut(&case.file, 200),
            anchor,
            against,
            decision: case.baseline.first().map(decision).unwrap_or_default(),
            invariance: shown(case.invariance),
            invariance_n: case.invariance_n,
            sensitivity: shown(case.sensitivity),
            sensitivity_n: case.sensitivity_n,
            failed: case.failed,
            insufficient: case.insufficient,
            units: case
                .units
                .iter()
                .map(|unit| format!("{} (line {})", safe::cut(&unit.unit_type, 80), unit.line))
                .collect(),
            variants: case
                .variants
                .iter()
                .map(|variant| Variant::of(name, case, variant, diffs))
                .collect(),
            notices: case.notices.iter().map(Row::of).collect(),
        }
    }
}

fn is_against(variant: &VariantRecord) -> bool {
    variant
        .samples
        .iter()
        .any(|sample| summary::as_expected(variant, sample) == Some(false))
}

impl Variant {
    fn of(name: &str, case: &CaseRecord, variant: &VariantRecord, diffs: &mut Diffs<'_>) -> Self {
        let against = is_against(variant);
        let (mut diff, mut diff_more) = (Vec::new(), 0);
        // A new order changes no word: what was done says it better than a diff.
        if against && variant.notes.order.is_empty() {
            if diffs.left == 0 {
                diffs.left_out += 1;
            } else if let (Some(before), Some(after)) = (
                (diffs.texts)(name, None),
                (diffs.texts)(name, Some(&variant.id)),
            ) {
                diffs.left -= 1;
                (diff, diff_more) = diff::lines(&before, &after);
            }
        }
        let distances: Vec<f64> = variant.samples.iter().filter_map(|s| s.distance).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        Self {
            id: safe::cut(&variant.id, 120),
            done: safe::cut(&done(case, variant), 400),
            decisions: variant.samples.iter().map(decision).collect(),
            distance: if distances.is_empty() {
                "-".to_owned()
            } else {
                format!("{mean:.2}")
            },
            expected: match (distances.is_empty(), against) {
                (true, _) => "none",
                (false, true) => "against",
                (false, false) => "as expected",
            },
            ought: match variant.relation {
                crate::perturb::Relation::Invariance => "hold",
                crate::perturb::Relation::Sensitivity => "move",
            },
            diff,
            diff_more,
        }
    }
}

impl Failed {
    fn of(failed: &summary::Failed<'_>) -> Option<Self> {
        let failure = failed.sample.failure.as_ref()?;
        let printed: Vec<&str> = [&failure.stderr, &failure.stdout]
            .into_iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        Some(Self {
            case: safe::cut(failed.case, 120),
            place: safe::cut(failed.place, 120),
            message: safe::cut(&failure.message, 400),
            printed: safe::lines(&printed.join("\n")),
        })
    }
}

impl Row {
    fn of(notice: &Notice) -> Self {
        let code = serde_json::to_value(notice.code);
        let code = code
            .ok()
            .and_then(|value| value.as_str().map(str::to_owned));
        let place = [&notice.case, &notice.kind].into_iter().flatten();
        let place: Vec<String> = place.map(|part| safe::cut(part, 120)).collect();
        Self {
            code: code.unwrap_or_default().replace('_', " "),
            place: place.join(", "),
            text: safe::cut(&notice.text, 600),
        }
    }
}

fn decision(sample: &Sample) -> String {
    match (&sample.decision, &sample.failure) {
        (Some(decision), _) => safe::cut(&decision.to_string(), 200),
        (None, Some(failure)) => format!("failed: {}", safe::cut(&failure.message, 120)),
        (None, None) => String::new(),
    }
}
