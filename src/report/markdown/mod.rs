//! The report as Markdown: `report.md`, and the body of what a pull request will show.

mod case;
mod page;

use super::document::Report;
use super::summary::{
    self, DISCLAIMER, Expected, Failed, Figure, Outcome, Ranked, Summary, Table, Tone, counted,
    decision, label, poor_queries, retrieval_rows,
};
use super::{SCHEMA_VERSION, safe};
use crate::notice::Notice;
use page::{Page, name, phrase, quote};

pub(crate) use case::render as render_case;

/// The most characters of a report: a comment on GitHub takes 65,536, and has more to say.
const MOST: usize = 50_000;

/// How many cases, failures and notices are listed; the rest is counted.
struct Listed {
    cases: usize,
    failures: usize,
    notices: usize,
    /// Characters of what a failed invocation printed.
    printed: usize,
}

/// From the form for most runs to one that always fits.
const FORMS: &[Listed] = &[
    Listed {
        cases: 10,
        failures: 10,
        notices: 100,
        printed: 1_000,
    },
    Listed {
        cases: 10,
        failures: 3,
        notices: 30,
        printed: 300,
    },
    Listed {
        cases: 3,
        failures: 1,
        notices: 0,
        printed: 0,
    },
];

/// Renders a run report, in a shorter form where it would be too long for a comment.
pub(crate) fn render(report: &Report) -> String {
    let summary = Summary::of(report);
    let mut forms = FORMS.iter().map(|listed| page(&summary, listed));
    let mut text = forms.next().unwrap_or_default();
    for shorter in forms {
        if text.chars().count() <= MOST {
            break;
        }
        text = shorter;
    }
    text
}

fn page(summary: &Summary<'_>, listed: &Listed) -> String {
    let mut page = Page::default();
    page.line(&format!(
        "# Kelvin {}: {}",
        summary.command(),
        title(summary)
    ));
    page.gap();
    for diagnosis in summary.diagnoses.iter().take(3) {
        let mark = match diagnosis.tone {
            Tone::Alarm => "❗",
            Tone::Caution => "⚠️",
            Tone::Calm => "✅",
        };
        page.line(&format!("- {mark} {}", phrase(&diagnosis.text)));
    }
    page.gap();
    if summary.has_evidence() {
        headline(&mut page, summary);
    }
    retrieval(&mut page, summary);
    worst(&mut page, summary, listed);
    failures(&mut page, &summary.failed, listed);
    for table in &summary.tables {
        figures(&mut page, table);
    }
    left_out(&mut page, summary, listed);
    let run = &summary.report.run;
    page.line(&format!("{}.", summary.scope.join(", ")));
    if !run.only.is_empty() {
        let only: Vec<String> = run.only.iter().take(20).map(|case| name(case)).collect();
        let more = match run.only.len().saturating_sub(20) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        page.line(&format!("Restricted to {}{more}.", only.join(", ")));
    }
    let version = quote(&summary.report.tool.version);
    let measured = match summary.has_evidence() {
        true => format!(
            "Decision {}, seed {}, ",
            name(&run.decision_field),
            run.seed
        ),
        false => String::new(),
    };
    page.line(&format!(
        "{measured}kelvin {version}, schema {SCHEMA_VERSION}."
    ));
    page.gap();
    page.line(&format!("_{DISCLAIMER}_"));
    page.finish()
}

fn title(summary: &Summary<'_>) -> &'static str {
    match summary.standing {
        Some(standing) => standing.name(),
        None if summary.report.run.ending == crate::probe::Ending::DryRun => "dry run",
        None if !summary.has_evidence() => "retrieval",
        None => "not measured in full",
    }
}

fn headline(page: &mut Page, summary: &Summary<'_>) {
    page.line("| signal | value | 95 % interval | sample | in words |");
    page.line("| --- | ---: | --- | --- | --- |");
    let kelvin_word = summary
        .standing
        .map(|standing| standing.meaning().to_owned());
    let word = |figure: &Figure<'_>| figure.word.unwrap_or_default().to_owned();
    let mut rows = vec![
        (
            "**Invariance**: holds when it should",
            &summary.invariance,
            word(&summary.invariance),
        ),
        (
            "**Following**: goes where the evidence leads",
            &summary.following,
            word(&summary.following),
        ),
        (
            "**Sensitivity**: moves when other evidence comes in",
            &summary.sensitivity,
            summary.swaps.sentence().unwrap_or_default(),
        ),
        (
            "**Kelvin score**: 0 is best, 2 worst",
            &summary.kelvin,
            match summary.kelvin_parts() {
                Some([drift, still]) => {
                    format!("{drift} + {still}; {}", kelvin_word.unwrap_or_default())
                }
                None => String::new(),
            },
        ),
    ];
    if let Some(noise) = &summary.noise {
        rows.push(("Noise floor", &noise.floor, String::new()));
        rows.push((
            "Invariance without noise",
            &noise.invariance,
            word(&noise.invariance),
        ));
        rows.push((
            "Sensitivity without noise",
            &noise.sensitivity,
            String::new(),
        ));
        rows.push(("Kelvin score without noise", &noise.kelvin, String::new()));
    }
    for (name, figure, word) in rows {
        let word = figure.reason.map_or(word, quote);
        page.line(&format!("| {name} | {} | {word} |", cells(figure)));
    }
    page.gap();
}

fn retrieval(page: &mut Page, summary: &Summary<'_>) {
    let rows = retrieval_rows(summary.report);
    if rows.is_empty() {
        return;
    }
    page.line("| retrieval | value | 95 % interval | sample | |");
    page.line("| --- | ---: | --- | --- | --- |");
    for (label, figure) in &rows {
        let reason = figure.reason.map(quote).unwrap_or_default();
        page.line(&format!("| {label} | {} | {reason} |", cells(figure)));
    }
    page.gap();
    let poor = poor_queries(summary.report);
    if poor.is_empty() {
        return;
    }
    page.line(&format!(
        "## Queries that did not do as they should ({})",
        poor.len()
    ));
    page.gap();
    page.line("| query | what |");
    page.line("| --- | --- |");
    for (id, wrong) in poor.iter().take(MOST_QUERIES) {
        page.line(&format!("| {} | {} |", name(id), quote(wrong)));
    }
    page.more(poor.len(), MOST_QUERIES, "row");
    page.gap();
}

/// So many queries are listed.
const MOST_QUERIES: usize = 30;

/// The value, the interval and the sample: they never stand apart.
fn cells(figure: &Figure<'_>) -> String {
    let interval = figure.interval.as_deref().unwrap_or("-");
    format!("{} | {interval} | {}", figure.shown, figure.sample)
}

fn figures(page: &mut Page, table: &Table<'_>) {
    page.fold(&format!("{} ({})", table.title, table.rows.len()));
    if !table.note.is_empty() {
        page.line(table.note);
        page.gap();
    }
    page.line("| | value | 95 % interval | sample | |");
    page.line("| --- | ---: | --- | --- | --- |");
    for (label, figure) in table.rows.iter().take(100) {
        let word = figure
            .reason
            .map_or_else(|| figure.word.unwrap_or_default().to_owned(), quote);
        page.line(&format!(
            "| {} | {} | {word} |",
            phrase(label),
            cells(figure)
        ));
    }
    page.more(table.rows.len(), 100, "figure");
    page.unfold();
}

fn worst(page: &mut Page, summary: &Summary<'_>, listed: &Listed) {
    let cases: Vec<Ranked<'_>> = Ranked::all(summary.report)
        .into_iter()
        .filter(|case| case.against > 0)
        .collect();
    if cases.is_empty() {
        return;
    }
    let expected = Expected::of(summary.report);
    page.line(&format!(
        "## {} against expectation",
        counted(cases.len(), "case")
    ));
    page.gap();
    page.line("| case | invariance | sensitivity | against | e.g. |");
    page.line("| --- | ---: | ---: | ---: | --- |");
    for ranked in cases.iter().take(listed.cases) {
        let case = ranked.case;
        let example = case
            .variants
            .iter()
            .find(|variant| expected.outcome(variant) == Outcome::Against);
        let example = example.map_or_else(String::new, |variant| {
            let sample = variant
                .samples
                .iter()
                .find(|sample| sample.distance.is_some());
            let after = sample
                .map(|sample| phrase(&decision(sample)))
                .unwrap_or_default();
            let before = case
                .baseline
                .first()
                .map(|sample| phrase(&decision(sample)));
            match before {
                Some(before) if before != after => {
                    format!("{}: {before} → {after}", name(&variant.id))
                }
                _ => format!("{}: stays {after}", name(&variant.id)),
            }
        });
        page.line(&format!(
            "| {} | {} | {} | {} of {} | {example} |",
            name(ranked.name),
            signal(case.invariance, case.invariance_n),
            signal(case.sensitivity, case.sensitivity_n),
            ranked.against,
            case.variants.len(),
        ));
    }
    page.more(cases.len(), listed.cases, "case");
    page.gap();
}

/// A signal of one case with its sample.
fn signal(value: Option<f64>, n: usize) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| format!("{} (n={n})", summary::brief(value)),
    )
}

fn failures(page: &mut Page, failed: &[Failed<'_>], listed: &Listed) {
    if failed.is_empty() {
        return;
    }
    page.line(&format!(
        "## {}, in no score",
        counted(failed.len(), "failed invocation")
    ));
    page.gap();
    for one in failed.iter().take(listed.failures) {
        page.line(&format!(
            "- {} {}: {}",
            name(one.case),
            name(one.place()),
            quote(&one.failure.message)
        ));
    }
    page.more(failed.len(), listed.failures, "failed invocation");
    page.gap();
    let printed = failed
        .iter()
        .take(listed.failures)
        .filter(|one| one.last_line().is_some());
    let printed: Vec<&Failed<'_>> = printed.take(3).collect();
    if printed.is_empty() || listed.printed == 0 {
        return;
    }
    page.fold("What they printed last on standard error");
    for one in printed {
        page.line(&format!("{} {}:", name(one.case), name(one.place())));
        page.gap();
        page.block(&safe::fenced(&one.failure.stderr, listed.printed));
        page.gap();
    }
    page.unfold();
}

/// Every notice, folded, the counts in the line that stays.
fn left_out(page: &mut Page, summary: &Summary<'_>, listed: &Listed) {
    if summary.tallies.is_empty() {
        return;
    }
    let counts: Vec<String> = summary
        .tallies
        .iter()
        .map(summary::Tally::counted)
        .collect();
    page.fold(&format!("Caps, skips and warnings: {}", counts.join(", ")));
    let all: usize = summary.tallies.iter().map(|tally| tally.count).sum();
    // Some of every code before many of one.
    let share = listed.notices.div_ceil(summary.tallies.len());
    let mut shown = 0;
    for tally in &summary.tallies {
        for notice in tally.notices.iter().take(share) {
            page.line(&format!("- {}", told(notice)));
            shown += 1;
        }
    }
    page.more(all, shown, "notice");
    page.unfold();
}

/// A notice with its place.
fn told(notice: &Notice) -> String {
    let place = [notice.case.as_deref(), notice.kind.as_deref()];
    let place: Vec<String> = place.into_iter().flatten().map(name).collect();
    let place = if place.is_empty() {
        String::new()
    } else {
        format!("{}: ", place.join(" "))
    };
    format!("**{}** {place}{}", label(notice.code), quote(&notice.text))
}

#[cfg(test)]
mod tests;
