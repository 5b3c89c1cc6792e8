//! The answers of both sides for items whose answer got worse.

use super::more;
use crate::publish::{Excerpt, Publication};
use kelvin_gate::Judgement;
use kelvin_gate::report::page;
use kelvin_gate::verdict::Verdict;
use kelvin_page::{capitalized, safe};
use kelvin_record::probe_of;
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The maximum width of an answer in columns: enough to see the problem, and narrow enough for a table.
const ANSWER: usize = 240;
/// The maximum width of the judge's remark, in columns.
const SAID: usize = 120;

/// The answers of both sides to the items that got worse, worst first, for probes that store answers.
pub(super) fn answers(publication: &Publication<'_>, judgement: &Judgement, most: usize) -> String {
    let worse = judgement.cases.iter().filter(|case| case.is_worse());
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for case in worse {
        let probe = probe_of(&case.metric);
        if !seen.insert((probe, case.case.as_str())) {
            continue;
        }
        if let Some(view) = page::answers(publication.report, probe, &case.case) {
            rows.push((case.case.as_str(), view));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let item = judgement.verdict.common_nouns().item;
    let mut text = format!(
        "<details><summary>What both sides answered</summary>\n\n| {item} | before | now | what the judge said |\n| \
         --- | --- | --- | --- |\n",
    );
    for (case, view) in rows.iter().take(most) {
        let before = view.before.as_deref();
        let before = before.map_or_else(|| "-".to_owned(), |text| safe::markdown(text, ANSWER));
        let _ = writeln!(
            text,
            "| {} | {before} | {} | {} |",
            safe::code_name(case, 60),
            safe::markdown(&view.after, ANSWER),
            safe::markdown(&view.said, SAID),
        );
    }
    more(&mut text, rows.len(), most, "answers");
    text.push_str("\n</details>\n");
    text
}

/// The maximum length of one difference between two texts, in characters.
const DIFF: usize = 4_000;

/// The change of the input, and the pipeline's answers to both inputs.
pub(super) fn input_difference(publication: &Publication<'_>, excerpt: &Excerpt) -> String {
    let part = page::part(publication.report, &excerpt.case, &excerpt.variant);
    let answers = part.map_or_else(String::new, |part| {
        let answers = part.answers.show(|_, text| safe::code(text, 80));
        format!("{answers}\n\n")
    });
    let diff = TextDiff::from_lines(excerpt.before.as_str(), excerpt.after.as_str());
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(1).iter_hunks() {
        let _ = write!(text, "{hunk}");
    }
    if text.chars().count() > DIFF {
        text = text.chars().take(DIFF).collect();
        text.push_str("\n…");
    }
    let verdict = publication.judgement.map(|judgement| &judgement.verdict);
    let item = verdict.map(Verdict::common_nouns).unwrap_or_default().item;
    format!(
        "<details><summary>{} {}, variant {}: what changed in the input</summary>\n\n\
         {answers}{}\n</details>\n",
        capitalized(&item),
        html(&excerpt.case),
        html(&excerpt.variant),
        safe::fenced(&text, DIFF + 10)
    )
}

/// A name inside HTML, with entities, since a backslash would be visible.
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
