//! The answers of both sides where an answer got worse.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::more;
use crate::publish::Publication;
use kelvin_gate::Judgement;
use kelvin_gate::report::page;
use kelvin_page::safe;
use kelvin_record::probe_of;

/// The most columns of an answer: enough to see the problem, and few enough for a table.
const ANSWER: usize = 240;
/// The most columns of the judge's remark.
const SAID: usize = 120;

/// The answers of both sides to the items that got worse, worst first, for the probes that keep answers.
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
            safe::code(case, 60),
            safe::markdown(&view.after, ANSWER),
            safe::markdown(&view.said, SAID),
        );
    }
    more(&mut text, rows.len(), most, "answers");
    text.push_str("\n</details>\n");
    text
}
