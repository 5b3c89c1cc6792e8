//! The tables: the metrics, and the cases that changed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::more;
use crate::publish::Publication;
use kelvin_gate::answers::ChangedAnswers;
use kelvin_gate::compare::Change;
use kelvin_gate::judgement::{prose, said, sense};
use kelvin_gate::policy::Attention;
use kelvin_gate::verdict::{Consequence, MetricVerdict};
use kelvin_gate::{Judgement, answers};
use kelvin_page::{capitalized, counted, safe};
use kelvin_record::{Nouns, metric_name, probe_of};

/// How many answers that became wrong are shown above the metrics.
const FLIPPED: usize = 5;

/// The maximum width of each shown answer, in columns.
const FLIPPED_ANSWER: usize = 120;

/// The answers that became wrong, one for each case.
pub(super) fn wrong_answers(judgement: &Judgement) -> String {
    if judgement.flips.is_empty() {
        return String::new();
    }
    let Nouns { item, items } = judgement.verdict.common_nouns();
    let mut page = format!(
        "| {item} | for example in | answer on the base | answer now | wrong in |\n| --- | --- | --- | --- | --- |\n",
    );
    for flip in judgement.flips.iter().take(FLIPPED) {
        let (base, head) = answers::beside_each_other(&flip.base, &flip.head);
        let (base, head) = answers::from_difference(&base, &head, FLIPPED_ANSWER);
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} of {} |",
            safe::code_name(&flip.item, 60),
            safe::code(&flip.part, 60),
            safe::markdown(&base, FLIPPED_ANSWER),
            safe::markdown(&head, FLIPPED_ANSWER),
            flip.flipped,
            flip.of,
        );
    }
    more(&mut page, judgement.flips.len(), FLIPPED, &items);
    page
}

/// The first items with other answers than on the base, with both answers.
pub(super) fn other_answers(judgement: &Judgement) -> String {
    const LISTED: usize = 3;
    const ANSWER: usize = 160;
    const QUESTION: usize = 100;
    let mut page = String::new();
    // If the answers to rewritten inputs are shown above, these are additional information.
    let is_folded = !judgement.flips.is_empty();
    let answers = judgement.verdict.answers.values();
    for list in answers.filter_map(ChangedAnswers::list) {
        let is_folded = is_folded && !list.rows.is_empty();
        if is_folded {
            let title = capitalized(&safe::markdown(
                list.title.as_deref().unwrap_or_default(),
                200,
            ));
            let _ = writeln!(page, "<details><summary>{title}</summary>\n");
        }
        let text = |text: &str| safe::markdown(text, ANSWER);
        let is_labelled = list.rows.iter().any(|row| row.expected.is_some());
        if !list.rows.is_empty() {
            let item = safe::markdown(&list.item, 60);
            let (expected, rule) = if is_labelled {
                (" expected |", " --- |")
            } else {
                ("", "")
            };
            let _ = writeln!(
                page,
                "| {item} |{expected} on the base | now |\n| --- |{rule} --- | --- |"
            );
        }
        for row in list.rows.iter().take(LISTED) {
            let asked = row.asked.as_deref().map_or_else(String::new, |asked| {
                format!("<br>{}", safe::markdown(asked, QUESTION))
            });
            let expected = match is_labelled {
                true => format!(" {} |", text(row.expected.as_deref().unwrap_or("-"))),
                false => String::new(),
            };
            let (base, head) = answers::from_difference(&row.base, &row.head, ANSWER);
            let _ = writeln!(
                page,
                "| {}{asked} |{expected} {} | {} |",
                safe::code_name(&row.item, 60),
                text(&base),
                text(&head),
            );
        }
        more(&mut page, list.rows.len() + list.left, LISTED, "answers");
        for note in &list.notes {
            let _ = writeln!(page, "\n{}.", capitalized(&prose(&safe::cut(note, 200))));
        }
        if is_folded {
            page.push_str("\n</details>\n");
        }
        page.push('\n');
    }
    page
}

/// The metrics that changed, or that one side does not have, in a table; the unchanged ones in a second, folded table.
pub(super) fn metrics(publication: &Publication<'_>, judgement: &Judgement, most: usize) -> String {
    let shown = judgement.verdict.shown();
    if shown.is_empty() {
        return figures(publication, most);
    }
    let (stayed, moved): (Vec<_>, Vec<_>) = shown
        .iter()
        .take(most)
        .partition(|(_, metric)| has_stayed(metric));
    let row = |(id, metric): &&(&String, &MetricVerdict)| {
        let mark = judgement
            .verdict
            .consequence(id)
            .map_or("", Consequence::mark);
        metric_row(publication, id, metric, mark)
    };
    let mut page = String::new();
    if !moved.is_empty() {
        page = HEADINGS.to_owned() + &moved.iter().map(row).collect::<String>();
    }
    more(&mut page, shown.len(), most, "metrics");
    if !stayed.is_empty() {
        let _ = write!(
            page,
            "\n<details><summary>{} as on the base</summary>\n\n{HEADINGS}{}\n</details>\n",
            counted(stayed.len(), "metric"),
            stayed.iter().map(row).collect::<String>()
        );
    }
    page
}

const HEADINGS: &str =
    "| metric | base | head | change | n | verdict |\n| --- | ---: | ---: | ---: | ---: | --- |\n";

/// Whether both sides have the same value and there is no remark about it; or no value, if the metric is only shown.
fn has_stayed(metric: &MetricVerdict) -> bool {
    let is_shown_only = metric.policy != Attention::Gate;
    let is_fine = is_shown_only || metric.verdict.is_fine();
    is_fine && metric.base == metric.head && (is_shown_only || metric.base.is_some())
}

fn metric_row(
    publication: &Publication<'_>,
    id: &str,
    metric: &MetricVerdict,
    mark: &str,
) -> String {
    let measured = publication.report.metrics.get(id);
    let n = measured.map_or(0, |metric| metric.n);
    let failed = measured.map_or(0, |metric| metric.n_failed);
    let n = match failed {
        0 => n.to_string(),
        failed => format!("{n}, {failed} failed"),
    };
    let (base, head, change) = rounded(metric.base, metric.head);
    format!(
        "| {}{}{} | {base} | {head} | {change} | {n} | {mark}{} |\n",
        in_words(publication, id),
        safe::code_name(id, 80),
        sense(metric),
        said(metric),
    )
}

/// The meaning of a metric in plain words, in a line above its id; empty if users have chosen its name.
fn in_words(publication: &Publication<'_>, id: &str) -> String {
    let kind = publication.report.probes.kind(probe_of(id));
    let names = kind.map_or(&[][..], |kind| kind.metric_names());
    let words = names.iter().find(|(name, _)| *name == metric_name(id));
    words.map_or_else(String::new, |(_, words)| {
        format!("{}<br>", capitalized(words))
    })
}

/// Both values and their difference with two decimals; with four if two decimals would hide the difference.
fn rounded(base: Option<f64>, head: Option<f64>) -> (String, String, String) {
    let (before, after) = (base.unwrap_or_default(), head.unwrap_or_default());
    let both = base.is_some() && head.is_some();
    let hides = both && before != after && format!("{before:.2}") == format!("{after:.2}");
    let digits = if hides { 4 } else { 2 };
    let show = |value: Option<f64>| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let change = match format!("{:+.digits$}", after - before) {
        _ if !both => "-".to_owned(),
        // After rounding, only the sign of the value may be left.
        none if none.trim_matches(['-', '+', '0', '.']).is_empty() => "0".to_owned(),
        change => change,
    };
    (show(base), show(head), change)
}

/// A table with only the figures, if there is no base.
pub(super) fn figures(publication: &Publication<'_>, most: usize) -> String {
    let gated: Vec<_> = publication
        .report
        .metrics
        .iter()
        .filter(|(_, metric)| metric.is_shown_first())
        .collect();
    if gated.is_empty() {
        return String::new();
    }
    let mut page = String::from("| metric | value | n |\n| --- | ---: | ---: |\n");
    for (id, metric) in gated.iter().take(most) {
        let _ = writeln!(
            page,
            "| {}{} | {} | {} |",
            in_words(publication, id),
            safe::code_name(id, 80),
            rounded(metric.value, None).0,
            metric.n
        );
    }
    more(&mut page, gated.len(), most, "metrics");
    page
}

pub(super) fn cases(publication: &Publication<'_>, judgement: &Judgement, most: usize) -> String {
    if judgement.cases.is_empty() {
        return String::new();
    }
    let sections = publication.report.probes.known().into_iter();
    let skipped = sections.flat_map(|(kind, section)| kind.skipped(section));
    let skipped: BTreeSet<String> = skipped.collect();
    let worse = judgement
        .cases
        .iter()
        .filter(|case| case.is_worse())
        .count();
    let item = judgement.verdict.common_nouns().item;
    let mut page = format!(
        "<details><summary>{} by {item}: {} changed, {worse} got worse (worst first)</summary>\n\n",
        capitalized(&item),
        counted(judgement.cases.len(), "value")
    );
    let _ = write!(
        page,
        "| {item} | metric | what | base | head | variants that changed (1.00 is as it should be; of a failure rate 0.00) |\n| --- | --- | --- | ---: | ---: | --- |\n"
    );
    for case in judgement.cases.iter().take(most) {
        // A larger move of the decision under a swap is not an improvement: nobody knows how far it should move.
        let metric = judgement.verdict.metrics.get(&case.metric);
        let is_by_swaps = metric.is_some_and(|metric| metric.swaps.is_some());
        let word = match case.change {
            Change::Win if is_by_swaps => "moves further".into(),
            Change::Loss if is_by_swaps => "moves less far".into(),
            Change::Removed if skipped.contains(&case.case) => "skipped".into(),
            change => serde_json::to_value(change).unwrap_or_default(),
        };
        let (base, head, _) = rounded(case.base, case.head);
        let _ = writeln!(
            page,
            "| {} | {} | {} | {base} | {head} | {} |",
            safe::code_name(&case.case, 60),
            safe::code_name(&case.metric, 60),
            safe::markdown(word.as_str().unwrap_or("-"), 30),
            flipped(&case.flipped)
        );
    }
    more(&mut page, judgement.cases.len(), most, "changes");
    page.push_str("\n</details>\n");
    page
}

/// The names of the first few variants that changed, and the number of the others.
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
