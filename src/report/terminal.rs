//! The report for a terminal: one screen of 80 by 24.

use super::document::Report;
use super::safe;
use super::summary::{self, INVARIANCE_WORDS, SENSITIVITY_WORDS};
use crate::notice::Code;
use crate::probe::Metric;

/// Columns of a line.
const WIDTH: usize = 80;
/// Cells of a bar.
const CELLS: usize = 10;

/// Renders a report whose files are in `folder`. Colours are in it as escape codes; whoever prints
/// it takes them out where they are not wanted.
pub(crate) fn render(report: &Report, folder: &str) -> String {
    let bold = anstyle::Style::new().bold();
    let dim = anstyle::Style::new().dimmed();
    let yellow = anstyle::AnsiColor::Yellow.on_default();
    let mut page = Page::default();
    page.line(
        &format!("{bold}{}{bold:#}", heading(report)),
        &heading(report),
    );
    page.plain("");
    let of = |id: &str| report.metrics.get(id);
    for (id, name, question, words) in [
        (
            "evidence.invariance",
            "Invariance",
            "does the decision hold while the governing evidence is the same?",
            INVARIANCE_WORDS,
        ),
        (
            "evidence.sensitivity",
            "Sensitivity",
            "does it move when the governing evidence changes?",
            SENSITIVITY_WORDS,
        ),
    ] {
        if let Some(metric) = of(id) {
            signal(&mut page, name, metric, words);
            page.line(&format!("{dim}             {question}{dim:#}"), question);
        }
    }
    if let Some(metric) = of("evidence.kelvin_score") {
        page.plain(&kelvin(report, metric));
    }
    if let (Some(eta), Some(inv), Some(sens)) = (
        of("evidence.noise_floor"),
        of("evidence.invariance_corrected"),
        of("evidence.sensitivity_corrected"),
    ) {
        page.plain(&format!(
            "Noise floor  {}  without it: invariance {}, sensitivity {}",
            eta.display, inv.display, sens.display
        ));
    }
    page.plain("");
    for (label, prefix) in [
        ("by kind", "evidence.invariance"),
        ("by type", "evidence.sensitivity"),
    ] {
        breakdown(&mut page, label, &summary::family(report, prefix));
    }
    page.plain("");
    for diagnosis in summary::diagnoses(report) {
        for (at, text) in wrapped(&diagnosis, WIDTH - 2)
            .into_iter()
            .take(2)
            .enumerate()
        {
            let mark = if at == 0 { "> " } else { "  " };
            page.line(
                &format!("{yellow}{mark}{text}{yellow:#}"),
                &format!("{mark}{text}"),
            );
        }
    }
    failures(&mut page, report);
    notices(&mut page, report);
    page.plain("");
    page.plain("Diagnostic signals, not truth metrics.");
    page.plain(&format!(
        "Report: {}/report.html (and .md, .json)",
        safe::cut(folder, 40)
    ));
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// A line with escape codes; `shown` is what a person sees of it.
    fn line(&mut self, styled: &str, shown: &str) {
        if shown.chars().count() > WIDTH {
            self.plain(shown);
        } else {
            self.text.push_str(styled);
            self.text.push('\n');
        }
    }

    fn plain(&mut self, text: &str) {
        let cut: String = if text.chars().count() > WIDTH {
            text.chars().take(WIDTH - 1).chain(['…']).collect()
        } else {
            text.to_owned()
        };
        self.text.push_str(cut.trim_end());
        self.text.push('\n');
    }
}

fn heading(report: &Report) -> String {
    let cost = report.run.session.cost;
    let mut parts = vec![
        counted(report.cases.len(), "case"),
        counted(summary::variants(report), "variant"),
        counted(cost.invocations, "invocation"),
    ];
    for (count, word) in [(cost.cache_hits, "cached"), (cost.resumed, "resumed")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.push(summary::seconds(report.run.session.seconds));
    format!("kelvin check: {}", parts.join(", "))
}

fn signal(page: &mut Page, name: &str, metric: &Metric, words: [&'static str; 5]) {
    let Some(value) = metric.value else {
        let reason = metric.reason.as_deref().unwrap_or("no reason is known");
        page.plain(&format!(
            "{name:<12} not measured ({}): {reason}",
            summary::sample(metric)
        ));
        return;
    };
    let word = summary::band(value, words);
    let interval = metric.interval.map_or_else(String::new, |interval| {
        format!(", 95 % {:.2} to {:.2}", interval.low, interval.high)
    });
    let (bar, sample) = (bar(value), summary::sample(metric));
    let bold = anstyle::Style::new().bold();
    let shown = format!(
        "{name:<12} {} {bar} {word} ({sample}{interval})",
        metric.display
    );
    let styled = format!(
        "{name:<12} {bold}{}{bold:#} {bar} {word} ({sample}{interval})",
        metric.display
    );
    page.line(&styled, &shown);
}

fn bar(value: f64) -> String {
    let full = (value * CELLS as f64).round() as usize;
    format!(
        "[{}{}]",
        "#".repeat(full.min(CELLS)),
        "-".repeat(CELLS - full.min(CELLS))
    )
}

fn kelvin(report: &Report, metric: &Metric) -> String {
    let value = |id: &str| report.metrics.get(id).and_then(|metric| metric.value);
    let parts = (value("evidence.invariance"), value("evidence.sensitivity"));
    match (metric.value, summary::quadrant(parts.0, parts.1)) {
        (Some(_), Some(quadrant)) => {
            format!(
                "Kelvin score {} (0 is best, 2 worst)  {quadrant}",
                metric.display
            )
        }
        _ => "Kelvin score not measured, since one of its two parts is not".to_owned(),
    }
}

fn breakdown(page: &mut Page, label: &str, metrics: &[(&str, &Metric)]) {
    /// Lines that a breakdown may take.
    const LINES: usize = 2;
    let mut lines = vec![format!("  {label:<8}")];
    let mut left = metrics.iter().filter(|(name, _)| *name != "pad").count();
    for (name, metric) in metrics.iter().filter(|(name, _)| *name != "pad") {
        let value = metric
            .value
            .map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        let part = format!(
            "  {} {value} ({})",
            safe::cut(name, 24),
            summary::sample(metric)
        );
        let is_last = lines.len() == LINES;
        let last = lines.last_mut().expect("there is always one");
        if last.chars().count() + part.chars().count() <= WIDTH - 9 {
            last.push_str(&part);
        } else if is_last {
            last.push_str(&format!("  +{left} more"));
            break;
        } else {
            lines.push(format!("{:10}{part}", ""));
        }
        left -= 1;
    }
    for line in lines.iter().filter(|_| !metrics.is_empty()) {
        page.plain(line);
    }
}

fn failures(page: &mut Page, report: &Report) {
    let failed = summary::failed(report);
    for one in failed.iter().take(2) {
        let Some(failure) = &one.sample.failure else {
            continue;
        };
        let said = failure
            .stderr
            .lines()
            .last()
            .map(safe::line)
            .filter(|line| !line.is_empty());
        let said = said.map_or_else(String::new, |line| format!(": {line}"));
        page.plain(&format!(
            "! {} {}: {}{said}",
            safe::cut(one.case, 30),
            safe::cut(one.place, 30),
            safe::line(&failure.message),
        ));
    }
    if failed.len() > 2 {
        page.plain(&format!(
            "! and {} more failed invocations",
            failed.len() - 2
        ));
    }
}

fn notices(page: &mut Page, report: &Report) {
    let warnings = report.notices.iter().filter(|notice| {
        // Failures have their own lines, and a missing figure has its reason beside it.
        notice.code.is_warning() && !matches!(notice.code, Code::Unmeasured | Code::Interrupted)
    });
    for notice in warnings.take(2) {
        page.plain(&format!("! {}", safe::line(&notice.text)));
    }
    let counts = summary::notice_counts(report);
    let told: Vec<String> = counts
        .iter()
        .filter(|(code, _)| !code.is_warning())
        .map(|(code, count)| format!("{count} {}", label(*code)))
        .collect();
    if !told.is_empty() {
        page.plain(&format!(
            "Notices: {}; the reasons are in the report",
            told.join(", ")
        ));
    }
}

/// What a code is called where notices are counted.
fn label(code: Code) -> String {
    serde_json::to_value(code)
        .ok()
        .and_then(|value| value.as_str().map(|text| text.replace('_', " ")))
        .unwrap_or_default()
}

fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in safe::line(text).split(' ') {
        let last = lines.last_mut().expect("there is always one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
