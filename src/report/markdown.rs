//! The report as Markdown: `report.md`, and the body of what a pull request will show.

use std::fmt::Write as _;

use super::document::Report;
use super::summary::{self, INVARIANCE_WORDS, SENSITIVITY_WORDS};
use super::{SCHEMA_VERSION, safe};
use crate::notice::Notice;
use crate::probe::{CaseRecord, Metric, Sample, VariantRecord};

/// How many characters of a name are shown.
const NAME: usize = 60;
/// How many characters of a decision are shown.
const DECISION: usize = 80;
/// How many cases, failures and notices are listed; the rest is counted.
const LISTED: usize = 20;

/// Renders a run report.
pub(crate) fn render(report: &Report) -> String {
    let mut page = String::from("# Kelvin check\n\n");
    for diagnosis in summary::diagnoses(report) {
        line(
            &mut page,
            &format!("**{}**\n", safe::markdown(&diagnosis, 300)),
        );
    }
    line(&mut page, &format!("{}\n", measured(report)));
    headline(&mut page, report);
    for (title, prefix) in [
        ("Invariance by kind", "evidence.invariance"),
        ("Sensitivity by governing type", "evidence.sensitivity"),
        (
            "Mechanical sensitivity by kind",
            "evidence.mechanical_sensitivity",
        ),
        (
            "Stability when one unit is left out, by type",
            "evidence.drop",
        ),
    ] {
        breakdown(&mut page, title, &summary::family(report, prefix));
    }
    worst(&mut page, report);
    failures(&mut page, report);
    notices(&mut page, &summary::notices(report).collect::<Vec<_>>());
    line(
        &mut page,
        &format!(
            "_Diagnostic signals, not truth metrics. Seed {}, schema {SCHEMA_VERSION}, kelvin {}._",
            report.run.seed,
            safe::markdown(&report.tool.version, 20)
        ),
    );
    page
}

/// Renders the report of one case.
pub(crate) fn render_case(name: &str, case: &CaseRecord) -> String {
    let mut page = format!("# {}\n\n", safe::markdown(name, NAME));
    let shown = |value: Option<f64>| value.map_or_else(|| "not measured".to_owned(), percent);
    line(
        &mut page,
        &format!(
            "Invariance {} (n={}), sensitivity {} (n={}), {} failed.\n",
            shown(case.invariance),
            case.invariance_n,
            shown(case.sensitivity),
            case.sensitivity_n,
            case.failed
        ),
    );
    if let Some(baseline) = case.baseline.first() {
        line(
            &mut page,
            &format!("Baseline decision: {}\n", decision(baseline)),
        );
    }
    line(
        &mut page,
        "| variant | what was done | decision | distance | as expected |",
    );
    line(&mut page, "| --- | --- | --- | ---: | --- |");
    for variant in &case.variants {
        for sample in &variant.samples {
            line(
                &mut page,
                &format!(
                    "| {} | {} | {} | {} | {} |",
                    safe::markdown(&variant.id, NAME),
                    safe::markdown(&done(case, variant), 200),
                    decision(sample),
                    sample
                        .distance
                        .map_or_else(|| "-".to_owned(), |d| format!("{d:.2}")),
                    match summary::as_expected(variant, sample) {
                        Some(true) => "yes",
                        Some(false) => "**no**",
                        None => "failed",
                    }
                ),
            );
        }
    }
    page.push('\n');
    notices(&mut page, &case.notices.iter().collect::<Vec<_>>());
    page
}

/// What was done to a case, in words.
pub(crate) fn done(case: &CaseRecord, variant: &VariantRecord) -> String {
    let name = |place: &usize| {
        let unit = case.units.get(*place);
        unit.map_or("?", |unit| unit.unit_type.as_str()).to_owned()
    };
    let notes = &variant.notes;
    let mut parts = Vec::new();
    if !notes.order.is_empty() {
        let order: Vec<String> = notes.order.iter().map(name).collect();
        parts.push(format!("order: {}", order.join(", ")));
    }
    if !notes.removed.is_empty() {
        let removed: Vec<String> = notes.removed.iter().map(name).collect();
        parts.push(format!("out: {}", removed.join(", ")));
    }
    if !notes.added.is_empty() {
        let added: Vec<String> = notes
            .added
            .iter()
            .map(|added| match &added.from {
                Some(from) => format!("{} of {from}", added.unit_type),
                None => added.unit_type.clone(),
            })
            .collect();
        parts.push(format!("in: {}", added.join(", ")));
    }
    if !notes.edited.is_empty() {
        let edited: Vec<String> = notes.edited.iter().map(name).collect();
        parts.push(format!("rewritten: {}", edited.join(", ")));
    }
    parts.extend(
        notes
            .detail
            .iter()
            .map(|(key, value)| format!("{key} {value}")),
    );
    parts.join("; ")
}

fn measured(report: &Report) -> String {
    let cost = report.run.session.cost;
    let mut text = format!(
        "{} cases, {} variants, {} invocations",
        report.cases.len(),
        summary::variants(report),
        cost.invocations
    );
    if cost.cache_hits > 0 {
        let _ = write!(text, ", {} answers from the cache", cost.cache_hits);
    }
    if !report.run.only.is_empty() {
        let only: Vec<String> = report
            .run
            .only
            .iter()
            .map(|name| safe::markdown(name, NAME))
            .collect();
        let _ = write!(text, ", only {}", only.join(", "));
    }
    text.push('.');
    text
}

fn headline(page: &mut String, report: &Report) {
    line(
        page,
        "| signal | value | 95 % interval | sample | in words |",
    );
    line(page, "| --- | ---: | --- | --- | --- |");
    let value = |id: &str| report.metrics.get(id).and_then(|metric| metric.value);
    let quadrant = summary::quadrant(value("evidence.invariance"), value("evidence.sensitivity"));
    for (id, name) in [
        ("evidence.invariance", "Invariance"),
        ("evidence.sensitivity", "Sensitivity"),
        ("evidence.kelvin_score", "Kelvin score (0 is best, 2 worst)"),
        ("evidence.noise_floor", "Noise floor"),
        ("evidence.invariance_corrected", "Invariance without noise"),
        (
            "evidence.sensitivity_corrected",
            "Sensitivity without noise",
        ),
        (
            "evidence.sensitivity_condition",
            "Sensitivity to conditions alone",
        ),
        ("evidence.content_effect", "Content effect"),
        ("evidence.mechanical_sensitivity", "Mechanical sensitivity"),
        ("evidence.failure_rate", "Failed invocations"),
    ] {
        let Some(metric) = report.metrics.get(id) else {
            continue;
        };
        let word = match (id, metric.value) {
            (_, None) => safe::markdown(metric.reason.as_deref().unwrap_or("not measured"), 200),
            ("evidence.invariance", Some(value)) => summary::band(value, INVARIANCE_WORDS).into(),
            ("evidence.sensitivity", Some(value)) => summary::band(value, SENSITIVITY_WORDS).into(),
            ("evidence.kelvin_score", Some(_)) => quadrant.unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        row(page, name, metric, Some(&word));
    }
    page.push('\n');
}

fn row(page: &mut String, name: &str, metric: &Metric, word: Option<&str>) {
    let value = metric
        .value
        .map_or_else(|| "-".to_owned(), |_| metric.display.clone());
    let interval = metric.interval.map_or_else(
        || "-".to_owned(),
        |interval| format!("{:.2} to {:.2}", interval.low, interval.high),
    );
    let word = word.map_or_else(String::new, |word| format!(" {word} |"));
    line(
        page,
        &format!(
            "| {name} | {value} | {interval} | {} |{word}",
            summary::sample(metric)
        ),
    );
}

fn breakdown(page: &mut String, title: &str, metrics: &[(&str, &Metric)]) {
    if metrics.is_empty() {
        return;
    }
    line(page, &format!("## {title}\n"));
    line(page, "| | value | 95 % interval | sample |");
    line(page, "| --- | ---: | --- | --- |");
    for (name, metric) in metrics {
        row(page, &safe::markdown(name, NAME), metric, None);
    }
    page.push('\n');
}

fn worst(page: &mut String, report: &Report) {
    let worst = summary::worst_cases(report);
    if worst.is_empty() {
        return;
    }
    line(page, "## Cases that went against expectation\n");
    line(
        page,
        "| case | invariance | sensitivity | smallest sign of it |",
    );
    line(page, "| --- | ---: | ---: | --- |");
    for (name, case) in worst.iter().take(LISTED) {
        let shown = |value: Option<f64>, n: usize| {
            value.map_or_else(
                || "-".to_owned(),
                |value| format!("{} (n={n})", percent(value)),
            )
        };
        let sign = case.variants.iter().find_map(|variant| {
            let sample = variant
                .samples
                .iter()
                .find(|sample| summary::as_expected(variant, sample) == Some(false))?;
            let before = case.baseline.first().map(decision).unwrap_or_default();
            Some(format!(
                "{}: {before} to {}",
                safe::markdown(&variant.id, NAME),
                decision(sample)
            ))
        });
        line(
            page,
            &format!(
                "| {} | {} | {} | {} |",
                safe::markdown(name, NAME),
                shown(case.invariance, case.invariance_n),
                shown(case.sensitivity, case.sensitivity_n),
                sign.unwrap_or_default()
            ),
        );
    }
    more(page, worst.len(), "cases");
    page.push('\n');
}

fn failures(page: &mut String, report: &Report) {
    let failed = summary::failed(report);
    if failed.is_empty() {
        return;
    }
    line(page, &format!("## {} failed invocations\n", failed.len()));
    for one in failed.iter().take(LISTED) {
        let Some(failure) = &one.sample.failure else {
            continue;
        };
        line(
            page,
            &format!(
                "- {} {}: {}",
                safe::markdown(one.case, NAME),
                safe::markdown(one.place, NAME),
                safe::markdown(&failure.message, 300)
            ),
        );
    }
    more(page, failed.len(), "failed invocations");
    page.push('\n');
}

fn notices(page: &mut String, notices: &[&Notice]) {
    if notices.is_empty() {
        return;
    }
    line(
        page,
        &format!(
            "<details><summary>{} caps, skips and warnings</summary>\n",
            notices.len()
        ),
    );
    for notice in notices.iter().take(10 * LISTED) {
        let case = notice
            .case
            .as_deref()
            .map(|case| format!("{}: ", safe::markdown(case, NAME)));
        let kind = notice
            .kind
            .as_deref()
            .map(|kind| format!("{}: ", safe::markdown(kind, NAME)));
        line(
            page,
            &format!(
                "- {}{}{}",
                case.unwrap_or_default(),
                kind.unwrap_or_default(),
                safe::markdown(&notice.text, 400)
            ),
        );
    }
    if notices.len() > 10 * LISTED {
        line(
            page,
            &format!(
                "- and {} more, in `report.json`",
                notices.len() - 10 * LISTED
            ),
        );
    }
    line(page, "\n</details>\n");
}

fn more(page: &mut String, all: usize, what: &str) {
    if all > LISTED {
        line(
            page,
            &format!("\nAnd {} more {what}, in `report.json`.", all - LISTED),
        );
    }
}

fn decision(sample: &Sample) -> String {
    match (&sample.decision, &sample.failure) {
        (Some(decision), _) => safe::markdown(&decision.to_string(), DECISION),
        (None, Some(failure)) => safe::markdown(&failure.message, DECISION),
        (None, None) => "not run".to_owned(),
    }
}

fn percent(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}
