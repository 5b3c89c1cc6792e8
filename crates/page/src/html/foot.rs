//! The lower part of the page: failures, omissions, and how to read the page.

use serde_json::{Value, json};

use super::SCRIPT;
use super::blocks::{PageSpace, block, notice};
use crate::{DISCLAIMER, FailedInvocation, NoticeCount, RunPage, safe};

/// How many failed invocations, and how many notices with one code, a page lists at most.
const LISTED: usize = 200;

/// The part of the page below its items.
///
/// `items` are the titles of the lists of items with the parts that are left out first; `anchors` returns the index
/// of an item of a chapter on the page. `plain` is the number of items whose details are in the page as plain HTML, if
/// those of others are packed.
pub(super) fn foot_view(
    page: RunPage<'_>,
    items: Option<(&'static str, &'static str)>,
    anchors: &dyn Fn(usize, &str) -> Option<usize>,
    plain: Option<usize>,
    budget: &mut PageSpace<'_>,
) -> Value {
    let mut failures = Vec::new();
    let mut failed = 0;
    let (mut method, mut facts) = (String::new(), Vec::new());
    let (diffs_left_out, rows_left_out) = (budget.diffs_left_out, budget.rows_left_out);
    for (at, chapter) in page.chapters.into_iter().enumerate() {
        failed += chapter.failed.len();
        let room = LISTED.saturating_sub(failures.len());
        let listed = chapter.failed.iter().take(room);
        failures.extend(listed.map(|one| failure_view(one, anchors(at, one.item))));
        for one in chapter.method {
            block(&mut method, one, 3, "", budget);
        }
        facts.extend(chapter.facts);
    }
    facts.extend(page.facts);
    for (_, text) in &mut facts {
        *text = safe::cut(text, 400);
    }
    let (items, least) = items.unwrap_or_default();
    json!({
        "has_items": !items.is_empty(),
        "items": items.to_lowercase(),
        "least": least,
        "plain": plain,
        "diffs_left_out": diffs_left_out,
        "rows_left_out": rows_left_out,
        "failed": failed,
        "failures": failures,
        "counts": page.notices.iter().map(notices_view).collect::<Vec<_>>(),
        "method": method,
        "facts": facts,
        "disclaimer": DISCLAIMER,
        "version": safe::cut(page.version, 40),
        "script": SCRIPT,
    })
}

pub(super) fn failure_view(failed: &FailedInvocation<'_>, anchor: Option<usize>) -> Value {
    json!({
        "item": safe::cut_middle(failed.item, 120),
        "anchor": anchor,
        "place": safe::cut(failed.place, 120),
        "message": safe::cut(&failed.failure.message, 400),
        "stderr": safe::lines(&failed.failure.stderr),
        "stdout": safe::lines(&failed.failure.stdout),
    })
}

fn notices_view(count: &NoticeCount<'_>) -> Value {
    let listed = count.notices.iter().take(LISTED).map(|one| {
        let mut row = String::new();
        notice(&mut row, one);
        row
    });
    json!({
        "counted": count.counted(),
        "is_warning": count.is_warning,
        "rows": listed.collect::<Vec<_>>(),
        "more": count.count.saturating_sub(LISTED),
    })
}
