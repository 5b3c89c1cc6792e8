//! The comment: what happened, where, and what to do, within a number of bytes.
//!
//! A page is a list of sections. Where they are too long together, whole sections go, the least
//! important first: the differences between texts, then the further cases, the notices, what differs
//! beside the figures, the further reasons, the cost, how to reproduce it, and last the table. The
//! first lines always stay, and a line says what is left out and where it is.

use std::fmt::Write as _;
use std::path::Path;

use similar::TextDiff;

use super::{Context, Excerpt, Publication};
use crate::baseline::compare::Change;
use crate::gate::Judgement;
use crate::gate::judgement::{CaseChange, prose};
use crate::gate::policy::{Attention, Effect};
use crate::gate::queries;
use crate::gate::verdict::{MetricVerdict, Word};
use crate::report::{Report, safe};

/// How long lists may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    pub(super) metrics: usize,
    pub(super) cases: usize,
    pub(super) excerpts: usize,
    pub(super) notices: usize,
}

const OF_A_COMMENT: Lists = Lists {
    metrics: 20,
    cases: 10,
    excerpts: 2,
    notices: 20,
};
/// Characters of one difference between two texts.
const DIFF: usize = 4_000;

/// A part of a page that is shown whole or not at all.
pub(super) struct Section {
    /// The larger, the sooner it goes; 0 always stays.
    rank: u8,
    /// What it is, for the line that says what is left out.
    name: &'static str,
    text: String,
}

/// The longest comment, in bytes: GitHub refuses 65,536 characters.
const BYTES: usize = 60_000;
/// The first lines are at most so many bytes long, whatever others wrote into them.
const HEAD: usize = 1_650;

/// The comment, at most so many bytes long; below 2,000 it may be longer.
pub(crate) fn render(publication: &Publication<'_>, budget: usize) -> String {
    fit(sections(publication, OF_A_COMMENT), budget)
}

/// The same page where there is no workflow to speak of: `gate.md`, `kelvin compare`.
pub(crate) fn alone(report: &Report, judgement: &Judgement, out: &Path) -> String {
    let publication = Publication {
        report,
        judgement: Some(judgement),
        context: &Context::default(),
        out,
        folder: "",
        excerpts: &[],
        warnings: &[],
    };
    render(&publication, BYTES)
}

/// Joins sections, leaving out as many as it takes.
pub(super) fn fit(mut sections: Vec<Section>, budget: usize) -> String {
    const NOTE: usize = 300;
    let length = |sections: &[Section]| {
        sections
            .iter()
            .map(|section| section.text.trim_end().len() + 2)
            .sum::<usize>()
    };
    let mut left_out = Vec::new();
    while length(&sections) + if left_out.is_empty() { 0 } else { NOTE } > budget {
        let Some(most) = sections
            .iter()
            .map(|section| section.rank)
            .max()
            .filter(|rank| *rank > 0)
        else {
            break;
        };
        let at = sections
            .iter()
            .rposition(|section| section.rank == most)
            .unwrap_or_default();
        let name = sections.remove(at).name;
        if !left_out.contains(&name) {
            left_out.push(name);
        }
    }
    let mut page = String::new();
    for section in &sections {
        page.push_str(section.text.trim_end());
        page.push_str("\n\n");
    }
    if !left_out.is_empty() {
        let _ = writeln!(
            page,
            "<sub>Left out for length: {}. All of it is in `report.html` and `gate.json` of the run.</sub>",
            left_out.join(", ")
        );
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Every section, in the order in which they are shown.
pub(super) fn sections(publication: &Publication<'_>, lists: Lists) -> Vec<Section> {
    let section = |rank, name, text: String| Section { rank, name, text };
    let mut sections = vec![section(0, "the verdict", head(publication))];
    if let Some(judgement) = publication.judgement {
        sections.push(section(
            1,
            "the metrics",
            metrics(publication, judgement, lists.metrics),
        ));
        sections.push(section(4, "further reasons", reasons(judgement)));
        let queries = judgement.retrieval.as_ref().map(queries::markdown);
        sections.push(section(7, "the queries", queries.unwrap_or_default()));
        sections.push(section(7, "the cases", cases(judgement, lists.cases)));
        for excerpt in publication.excerpts.iter().take(lists.excerpts) {
            sections.push(section(
                9,
                "what changed in the inputs",
                difference(publication, excerpt),
            ));
        }
        sections.push(section(5, "what else differs", differences(judgement)));
    } else {
        sections.push(section(
            1,
            "the metrics",
            figures(publication, lists.metrics),
        ));
    }
    sections.push(section(1, "who may post", unposted(publication)));
    sections.push(section(6, "notices", notices(publication, lists.notices)));
    sections.push(section(2, "how to reproduce it", reproduce(publication)));
    sections.push(section(3, "the baseline and the cost", foot(publication)));
    sections.retain(|section| !section.text.is_empty());
    sections
}

/// The first lines, with names and the reason cut as far as it takes.
fn head(publication: &Publication<'_>) -> String {
    const COLUMNS: [usize; 4] = [400, 120, 60, 20];
    COLUMNS
        .iter()
        .map(|columns| verdict(publication, *columns))
        .find(|head| head.len() <= HEAD)
        .unwrap_or_else(|| verdict(publication, 10))
}

/// The verdict with its reason in one line, and what to do in the next.
fn verdict(publication: &Publication<'_>, columns: usize) -> String {
    let Some(judgement) = publication.judgement else {
        return "### Kelvin: measured\n\nNothing was compared in this run.\n".to_owned();
    };
    let verdict = &judgement.verdict;
    let (mark, word) = match (verdict.passed, verdict.verdict) {
        (true, Word::Pass) => ("✅", "pass"),
        (true, Word::NoBaseline) => ("⚪", "no baseline"),
        (true, Word::Inconclusive) => ("⚠️", "inconclusive, passes"),
        (true, Word::Unmeasured) => ("⚠️", "unmeasured, passes"),
        (true, Word::Regression) => ("⚠️", "regression, passes by policy"),
        (false, Word::Pass) => ("❌", "fails"),
        (false, Word::NoBaseline) => ("❌", "no baseline"),
        (false, Word::Inconclusive) => ("❌", "inconclusive"),
        (false, Word::Unmeasured) => ("❌", "unmeasured"),
        (false, Word::Regression) => ("❌", "regression"),
    };
    let name = match publication.context.configuration.as_str() {
        "" | "kelvin" => String::new(),
        name => format!(" ({})", safe::markdown(name, columns.min(40))),
    };
    let reason = match verdict.reasons.first() {
        Some(reason) if reason.effect.is_some() => prose(&safe::cut(&reason.text, columns)),
        _ => calm(judgement),
    };
    format!(
        "### {mark} Kelvin{name}: {word}{}\n\n**{reason}**\n\n{}\n",
        gist(judgement, columns),
        advice(publication, judgement, columns.min(60))
    )
}

/// The metric of the first reason in two figures, so that a heading says what happened: it is all
/// that a list of notifications shows.
fn gist(judgement: &Judgement, columns: usize) -> String {
    let verdict = &judgement.verdict;
    if !matches!(verdict.verdict, Word::Regression | Word::Inconclusive) {
        return String::new();
    }
    let mut moved = verdict
        .reasons
        .iter()
        .filter(|reason| reason.effect.is_some())
        .filter_map(|reason| reason.metric.as_ref());
    let Some(first) = moved.next() else {
        return String::new();
    };
    let Some(metric) = verdict.metrics.get(first) else {
        return String::new();
    };
    let (Some(base), Some(head)) = (metric.base, metric.head) else {
        return String::new();
    };
    let more = match moved.filter(|id| *id != first).count() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let id = safe::code(first, columns.min(60));
    format!(", {id} {base:.2} → {head:.2}{more}")
}

/// What is said where there is no reason to say anything.
fn calm(judgement: &Judgement) -> String {
    let gated = judgement
        .verdict
        .metrics
        .values()
        .filter(|metric| metric.policy == Attention::Gate)
        .count();
    match gated {
        1 => "The gated metric did not drop beyond what is allowed".to_owned(),
        count => format!("None of {count} gated metrics dropped beyond what is allowed"),
    }
}

/// What a reader does next.
fn advice(publication: &Publication<'_>, judgement: &Judgement, columns: usize) -> String {
    let worst = judgement
        .cases
        .iter()
        .find(|case| matches!(case.change, Change::Regression | Change::Loss));
    let look = |case: &CaseChange| {
        let shown = publication
            .excerpts
            .iter()
            .find(|shown| shown.case == case.case);
        let first = || case.flipped.first().and_then(|text| text.split(' ').next());
        let variant = shown.map(|shown| shown.variant.as_str()).or_else(first);
        let variant = variant.map_or_else(String::new, |variant| {
            format!(", variant {}", safe::code(variant, columns))
        });
        format!(
            "Look first at case {}{variant}.",
            safe::code(&case.case, columns)
        )
    };
    match (judgement.verdict.verdict, worst) {
        (Word::Pass, _) if judgement.verdict.passed => "Nothing to do.".to_owned(),
        (Word::NoBaseline, _) => "A run on the base branch keeps a report to compare with; until \
                                  then nothing is gated."
            .to_owned(),
        (Word::Unmeasured, _) => {
            "See below what failed; the log of the run has the last lines that \
                                  the pipeline printed."
                .to_owned()
        }
        (Word::Inconclusive, Some(case)) => format!(
            "It may be noise. {} Running the job again, a larger `budget`, or more cases would tell.",
            look(case)
        ),
        (Word::Inconclusive, None) => {
            "Running the job again, a larger `budget`, or more cases would tell.".to_owned()
        }
        (_, Some(case)) => look(case),
        (_, None) => "The table shows which metric it is.".to_owned(),
    }
}

fn shown(judgement: &Judgement) -> Vec<(&String, &MetricVerdict)> {
    let mut shown: Vec<(&String, &MetricVerdict)> = judgement
        .verdict
        .metrics
        .iter()
        .filter(|(id, metric)| metric.policy != Attention::Info || id.ends_with("kelvin_score"))
        .collect();
    let badness = |metric: &MetricVerdict| match metric.verdict {
        Word::Regression => 0,
        Word::Unmeasured => 1,
        Word::Inconclusive => 2,
        Word::NoBaseline | Word::Pass => 3,
    };
    shown.sort_by_key(|(_, metric)| (metric.policy != Attention::Gate, badness(metric)));
    shown
}

fn metrics(publication: &Publication<'_>, judgement: &Judgement, most: usize) -> String {
    let shown = shown(judgement);
    if shown.is_empty() {
        return figures(publication, most);
    }
    let mut page = String::from(
        "| metric | base | head | change | n | verdict |\n| --- | ---: | ---: | ---: | ---: | --- |\n",
    );
    for (id, metric) in shown.iter().take(most) {
        let measured = publication.report.metrics.get(*id);
        let n = measured.map_or(0, |metric| metric.n);
        let failed = measured.map_or(0, |metric| metric.n_failed);
        let n = match failed {
            0 => n.to_string(),
            failed => format!("{n}, {failed} failed"),
        };
        let verdict = match (metric.verdict, metric.policy) {
            (Word::Pass, Attention::Gate) => "✅ pass".to_owned(),
            (word, Attention::Gate) => format!("❌ {}", word.as_str().replace('_', " ")),
            (_, _) => "shown only".to_owned(),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {n} | {verdict} |",
            safe::code(id, 80),
            value(metric.base),
            value(metric.head),
            change(metric),
        );
    }
    more(&mut page, shown.len(), most, "metrics");
    page
}

/// The figures alone, where there is nothing to compare with.
fn figures(publication: &Publication<'_>, most: usize) -> String {
    let gated: Vec<_> = publication
        .report
        .metrics
        .iter()
        .filter(|(id, metric)| metric.gated || id.ends_with("kelvin_score"))
        .collect();
    if gated.is_empty() {
        return String::new();
    }
    let mut page = String::from("| metric | value | n |\n| --- | ---: | ---: |\n");
    for (id, metric) in gated.iter().take(most) {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            safe::code(id, 80),
            value(metric.value),
            metric.n
        );
    }
    more(&mut page, gated.len(), most, "metrics");
    page
}

fn cases(judgement: &Judgement, most: usize) -> String {
    if judgement.cases.is_empty() {
        return String::new();
    }
    let worse = judgement
        .cases
        .iter()
        .filter(|case| matches!(case.change, Change::Regression | Change::Loss))
        .count();
    let open = if worse > 0 && worse <= most {
        " open"
    } else {
        ""
    };
    let mut page = format!(
        "<details{open}><summary>{worse} got worse, {} changed in all (worst first)</summary>\n\n",
        judgement.cases.len()
    );
    page.push_str("| case | metric | what | base | head | variants that changed (1.00 is as it should be) |\n| --- | --- | --- | ---: | ---: | --- |\n");
    for case in judgement.cases.iter().take(most) {
        let word = serde_json::to_value(case.change).unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} |",
            safe::code(&case.case, 60),
            safe::code(&case.metric, 60),
            safe::markdown(word.as_str().unwrap_or("-"), 30),
            value(case.base),
            value(case.head),
            flipped(&case.flipped)
        );
    }
    more(&mut page, judgement.cases.len(), most, "changes");
    page.push_str("\n</details>\n");
    page
}

/// The first few variants that changed, and how many more there are.
fn flipped(variants: &[String]) -> String {
    const SHOWN: usize = 2;
    let first: Vec<String> = variants
        .iter()
        .take(SHOWN)
        .map(|text| safe::markdown(text, 80))
        .collect();
    match variants.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// What was changed in the input, and what the pipeline made of both.
fn difference(publication: &Publication<'_>, excerpt: &Excerpt) -> String {
    let case = publication.report.cases.get(&excerpt.case);
    let decision = |sample: Option<&crate::probe::Sample>| {
        sample
            .and_then(|sample| sample.decision.as_ref())
            .map_or_else(
                || "no answer".to_owned(),
                |value| safe::code(&value.to_string(), 80),
            )
    };
    let before = decision(case.and_then(|case| case.baseline.first()));
    let after = decision(case.and_then(|case| {
        let of = |variant: &&crate::probe::VariantRecord| variant.id == excerpt.variant;
        case.variants.iter().find(of)?.samples.first()
    }));
    let diff = TextDiff::from_lines(excerpt.before.as_str(), excerpt.after.as_str());
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(1).iter_hunks() {
        let _ = write!(text, "{hunk}");
    }
    if text.chars().count() > DIFF {
        text = text.chars().take(DIFF).collect();
        text.push_str("\n…");
    }
    format!(
        "<details><summary>Case {}, variant {}: what changed in the input</summary>\n\n\
         The pipeline decided {before} on the case and {after} on the variant.\n\n{}\n</details>\n",
        html(&excerpt.case),
        html(&excerpt.variant),
        safe::fenced(&text, DIFF + 10)
    )
}

/// How many lines a reader of the difference between two texts has to look at.
pub(crate) fn changed_lines(before: &str, after: &str) -> usize {
    let changed = |change: &similar::Change<&str>| change.tag() != similar::ChangeTag::Equal;
    TextDiff::from_lines(before, after)
        .iter_all_changes()
        .filter(changed)
        .count()
}

/// A name within HTML, where a backslash would be shown: entities instead.
fn html(text: &str) -> String {
    let escaped = safe::markdown(text, 60);
    let mut shown = String::with_capacity(escaped.len());
    let mut rest = escaped.chars();
    while let Some(c) = rest.next() {
        match (c, rest.as_str().chars().next()) {
            ('\\', Some(next)) => {
                let _ = write!(shown, "&#{};", u32::from(next));
                rest.next();
            }
            _ => shown.push(c),
        }
    }
    shown
}

fn reasons(judgement: &Judgement) -> String {
    let mut page = String::new();
    // The first one stands above, unless it does nothing.
    let first = judgement.verdict.reasons.first();
    let shown = usize::from(first.is_some_and(|reason| reason.effect.is_some()));
    for reason in judgement.verdict.reasons.iter().skip(shown).take(20) {
        let mark = match reason.effect {
            Some(Effect::Fail) => "❌ ",
            Some(Effect::Warn) => "⚠️ ",
            None => "",
        };
        let _ = writeln!(page, "- {mark}{}", prose(&reason.text));
    }
    page
}

fn differences(judgement: &Judgement) -> String {
    let mut page = String::new();
    for difference in judgement.differences.iter().take(20) {
        let _ = writeln!(page, "- {}", prose(difference));
    }
    match page.is_empty() {
        true => page,
        false => format!("Since the base:\n\n{page}"),
    }
}

fn notices(publication: &Publication<'_>, most: usize) -> String {
    let cases = publication
        .report
        .cases
        .values()
        .flat_map(|case| &case.notices);
    let all: Vec<String> = publication
        .warnings
        .iter()
        .map(|text| prose(text))
        .chain(
            publication
                .report
                .notices
                .iter()
                .chain(cases)
                .map(|notice| prose(&notice.text)),
        )
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut page = format!(
        "<details><summary>{} notices: caps, skips, warnings</summary>\n\n",
        all.len()
    );
    for notice in all.iter().take(most) {
        let _ = writeln!(page, "- {notice}");
    }
    more(&mut page, all.len(), most, "notices");
    page.push_str("\n</details>\n");
    page
}

/// Why there is no comment, where the run may not write one.
fn unposted(publication: &Publication<'_>) -> String {
    let context = publication.context;
    if !context.read_only || context.pull_request.is_none() {
        return String::new();
    }
    let who = match context.is_fork {
        true => "a run of a fork",
        false => "a run with this token",
    };
    format!(
        "> GitHub does not let {who} comment. The verdict counts all the same; a workflow with \
         `org/kelvin-action/post@v1` posts this page.\n"
    )
}

fn reproduce(publication: &Publication<'_>) -> String {
    let Some(judgement) = publication.judgement else {
        return String::new();
    };
    // Nobody but its user knows how a run that was made elsewhere comes about.
    if publication.report.is_evaluation() {
        return String::new();
    }
    let commit = judgement
        .base
        .as_ref()
        .and_then(|base| base.commit.as_deref());
    let hex =
        |commit: &&str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let base = commit.filter(hex).map_or_else(String::new, |commit| {
        format!(" --base {}", &commit[..commit.len().min(12)])
    });
    let plain = |name: &&String| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && !name.starts_with('-')
    };
    let only = judgement
        .cases
        .iter()
        .find(|case| matches!(case.change, Change::Regression | Change::Loss))
        .map(|case| &case.case)
        .filter(plain)
        .map_or_else(String::new, |case| format!(" --only {case}"));
    format!(
        "Reproduce: `kelvin gate{base}{only} --seed {}`\n",
        publication.report.run.seed
    )
}

fn foot(publication: &Publication<'_>) -> String {
    let cost = &publication.report.run.session.cost;
    let mut parts = Vec::new();
    if let Some(judgement) = publication.judgement {
        parts.push(prose(&judgement.provenance()));
    }
    let mut calls = format!(
        "{} invocations, {} answered by the cache",
        cost.invocations, cost.cache_hits
    );
    if let Some(judgement) = publication
        .judgement
        .filter(|judgement| judgement.reruns > 0)
    {
        let _ = write!(
            calls,
            ", {} of them to look again at doubtful cases",
            judgement.reruns
        );
    }
    let of_the_base = publication
        .judgement
        .and_then(|judgement| judgement.base_invocations);
    if let Some(base) = of_the_base {
        let _ = write!(calls, "; the base took {base} invocations");
    }
    parts.push(calls);
    if let Some(url) = publication.context.run_url() {
        parts.push(format!(
            "[run]({})",
            url.replace([' ', '(', ')', '<', '>'], "")
        ));
    }
    format!("<sub>{}</sub>\n", parts.join(" · "))
}

fn more(page: &mut String, all: usize, listed: usize, word: &str) {
    if all > listed {
        let _ = writeln!(page, "\nand {} more {word}, in `report.html`", all - listed);
    }
}

fn value(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

fn change(metric: &MetricVerdict) -> String {
    match (metric.base, metric.head) {
        (Some(base), Some(head)) => format!("{:+.4}", head - base),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests;
