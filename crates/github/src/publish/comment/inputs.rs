//! The changes in the input of a case that got worse.

use std::fmt::Write as _;

use similar::TextDiff;

use crate::publish::{Excerpt, Publication};
use kelvin_gate::report::page;
use kelvin_gate::verdict::Verdict;
use kelvin_page::{capitalized, safe};

/// The most characters of one difference between two texts.
const DIFF: usize = 4_000;

/// The change of the input, and the pipeline's answers to both inputs.
pub(super) fn difference(publication: &Publication<'_>, excerpt: &Excerpt) -> String {
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

/// A name within HTML, with entities, since a backslash would be shown.
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
