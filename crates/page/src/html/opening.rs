//! What the page opens with where its run was judged.

use serde::Serialize;

use super::blocks::{Budget, DetailView, TableView};
use super::foreign::shortened;
use crate::{Detail, FlippedAnswer, Opening, Phrase, RunPage, Tone, capitalized, safe};

/// Columns of a reason, which may hold what a program printed.
const REASON: usize = 400;

#[derive(Serialize)]
pub(super) struct OpeningView {
    tone: Tone,
    title: String,
    gist: Phrase,
    lead: Option<Phrase>,
    /// Why, in one sentence; then the further reasons.
    reason: Phrase,
    others: Vec<Phrase>,
    next: Phrase,
    base: Phrase,
    flips: Vec<FlipView>,
    more_flips: usize,
    metrics: Option<TableView>,
    again: Option<(Phrase, String)>,
}

#[derive(Serialize)]
struct FlipView {
    item: String,
    /// The place of the item on the page.
    anchor: Option<usize>,
    part: String,
    count: Phrase,
    base: String,
    head: String,
    detail: DetailView,
}

impl OpeningView {
    /// `None` where the run was not judged.
    pub(super) fn of(page: &RunPage<'_>, budget: &mut Budget<'_>) -> Option<Self> {
        let opening = page.opening.as_ref()?;
        let reason = |reason: &Phrase| reason.each_foreign(|text| safe::cut(text, REASON));
        let reasons = opening.reasons.iter();
        let mut reasons = reasons.map(|text| reason(&Phrase::marked(text)));
        Some(Self {
            tone: opening.tone,
            title: capitalized(opening.word),
            gist: shortened(&opening.gist),
            lead: opening.lead.as_ref().map(shortened),
            reason: reasons.next().unwrap_or_default(),
            others: reasons.collect(),
            next: shortened(&opening.next),
            base: reason(&opening.base),
            flips: opening
                .flips
                .iter()
                .map(|flip| FlipView::of(flip, anchor(page, &flip.item), budget))
                .collect(),
            more_flips: opening.more_flips,
            metrics: opening
                .metrics
                .as_ref()
                .map(|table| TableView::of(table, "metrics", budget)),
            again: again(opening),
        })
    }

    /// The first words of the title of the page.
    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

fn again(opening: &Opening) -> Option<(Phrase, String)> {
    let (place, command) = opening.again.as_ref()?;
    Some((shortened(place), safe::line(command)))
}

impl FlipView {
    fn of(flip: &FlippedAnswer, anchor: Option<usize>, budget: &mut Budget<'_>) -> Self {
        const ANSWER: usize = 600;
        let detail = Detail::Difference {
            title: "what was changed in the input",
            item: flip.item.clone(),
            part: flip.part.clone(),
            file: "report.json".to_owned(),
        };
        Self {
            item: safe::cut(&flip.item, 120),
            anchor,
            part: safe::cut(&flip.part, 120),
            count: shortened(&flip.count),
            base: safe::cut(&flip.base, ANSWER),
            head: safe::cut(&flip.head, ANSWER),
            detail: DetailView::of(&detail, budget),
        }
    }
}

/// The place of an item in the list of all chapters.
fn anchor(page: &RunPage<'_>, item: &str) -> Option<usize> {
    let mut begin = 0;
    for list in page.chapters.iter().filter_map(|one| one.items.as_ref()) {
        if let Some(place) = (list.place)(item) {
            return Some(begin + place);
        }
        begin += list.count;
    }
    None
}
