//! The lower part of the page: failures, omissions, and how to read the page.

use serde::Serialize;

use super::SCRIPT;
use super::blocks::{PageSpace, block, notice};
use crate::{DISCLAIMER, FailedInvocation, NoticeCount, RunPage, safe};

/// How many failed invocations, and how many notices with one code, a page lists at most.
const LISTED: usize = 200;

#[derive(Serialize)]
pub(super) struct Foot {
    has_items: bool,
    /// The noun for the items, and the parts of them that are left out first.
    items: String,
    least: &'static str,
    /// The number of items whose details are in the page as plain HTML, if those of others are packed.
    plain: Option<usize>,
    diffs_left_out: usize,
    rows_left_out: usize,
    failed: usize,
    failures: Vec<FailureView>,
    counts: Vec<NoticeCountView>,
    /// How the figures are computed, as HTML.
    method: String,
    facts: Vec<(&'static str, String)>,
    disclaimer: &'static str,
    version: String,
    script: &'static str,
}

#[derive(Serialize)]
pub(super) struct FailureView {
    item: String,
    anchor: Option<usize>,
    place: String,
    message: String,
    stderr: String,
    stdout: String,
}

#[derive(Serialize)]
struct NoticeCountView {
    counted: String,
    is_warning: bool,
    /// The notices as HTML.
    rows: Vec<String>,
    more: usize,
}

impl Foot {
    /// `items` are the titles of the lists of items with the parts that are left out first; `anchors` returns the index
    /// of an item of a chapter on the page.
    pub(super) fn of(
        page: RunPage<'_>,
        items: Option<(&'static str, &'static str)>,
        anchors: &dyn Fn(usize, &str) -> Option<usize>,
        budget: &mut PageSpace<'_>,
    ) -> Self {
        let mut failures = Vec::new();
        let mut failed = 0;
        let (mut method, mut facts) = (String::new(), Vec::new());
        let (diffs_left_out, rows_left_out) = (budget.diffs_left_out, budget.rows_left_out);
        for (at, chapter) in page.chapters.into_iter().enumerate() {
            failed += chapter.failed.len();
            let room = LISTED.saturating_sub(failures.len());
            let listed = chapter.failed.iter().take(room);
            failures.extend(listed.map(|one| FailureView::of(one, anchors(at, one.item))));
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
        Self {
            has_items: !items.is_empty(),
            items: items.to_lowercase(),
            least,
            plain: None,
            diffs_left_out,
            rows_left_out,
            failed,
            failures,
            counts: page.notices.iter().map(NoticeCountView::of).collect(),
            method,
            facts,
            disclaimer: DISCLAIMER,
            version: safe::cut(page.version, 40),
            script: SCRIPT,
        }
    }

    /// The foot that says how many items show their details without the script; none if all of them do.
    pub(super) fn with_plain(self, plain: Option<usize>) -> Self {
        Self { plain, ..self }
    }
}

impl FailureView {
    pub(super) fn of(failed: &FailedInvocation<'_>, anchor: Option<usize>) -> Self {
        Self {
            item: safe::cut_middle(failed.item, 120),
            anchor,
            place: safe::cut(failed.place, 120),
            message: safe::cut(&failed.failure.message, 400),
            stderr: safe::lines(&failed.failure.stderr),
            stdout: safe::lines(&failed.failure.stdout),
        }
    }
}

impl NoticeCountView {
    fn of(count: &NoticeCount<'_>) -> Self {
        let listed = count.notices.iter().take(LISTED).map(|one| {
            let mut row = String::new();
            notice(&mut row, one);
            row
        });
        Self {
            counted: count.counted(),
            is_warning: count.is_warning,
            rows: listed.collect(),
            more: count.count.saturating_sub(LISTED),
        }
    }
}
