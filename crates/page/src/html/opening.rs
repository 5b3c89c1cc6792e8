//! The beginning of the page if its run was judged.

use std::cmp::Ordering;
use std::io;

use minijinja::Environment;
use serde::Serialize;

use super::blocks::{PageSpace, detail, table};
use super::diff::words;
use super::foreign::shortened;
use super::rendered;
use crate::{
    ANSWERS, AnswerList, AnswerRow, Detail, FlippedAnswer, HitsBeside, Opening, Phrase, RankedRow,
    RunPage, Tone, capitalized, safe,
};

/// The maximum width of an answer, in columns.
const ANSWER: usize = 600;
/// The maximum width of the name or the title of a hit, in columns.
const HIT: usize = 100;
/// The maximum width of a reason in columns; it may contain the printed text of a program.
const REASON: usize = 400;

/// A name with the text of the base and the current one.
type FieldOfBoth = (String, Option<String>, Option<String>);

#[derive(Serialize)]
pub(super) struct OpeningView {
    tone: Tone,
    title: String,
    gist: Phrase,
    lead: Option<Phrase>,
    /// The main reason, in one sentence; then the other reasons.
    reason: Phrase,
    others: Vec<Phrase>,
    next: Phrase,
    base: Phrase,
    answers: Vec<AnswersView>,
    flips: Vec<FlipView>,
    more_flips: usize,
    caveats: Vec<Phrase>,
    /// The table of the metrics as HTML.
    metrics: Option<String>,
    again: Option<(Phrase, String)>,
}

#[derive(Serialize)]
struct AnswersView {
    title: Option<String>,
    notes: Vec<Phrase>,
    item: String,
    /// The rows as HTML. Each is rendered separately, so that their views are never in memory together.
    rows: Vec<String>,
    left: usize,
    /// Whether any answer in the list has an expected answer.
    has_expected: bool,
}

#[derive(Serialize)]
struct AnswerView {
    item: String,
    /// The index of the item on the page.
    anchor: Option<usize>,
    asked: Option<String>,
    expected: Option<String>,
    base: Vec<(bool, String)>,
    head: Vec<(bool, String)>,
    hits: Option<HitsView>,
    /// Links to files, each with its text.
    files: Vec<(&'static str, String)>,
    /// The names and texts of other fields next to the answer of the base, and next to the current answer.
    beside_base: Vec<(String, String)>,
    beside_head: Vec<(String, String)>,
    /// Whether any answer of its list has an expected answer.
    has_expected: bool,
}

/// The hits of both sides, side by side.
#[derive(Serialize)]
struct HitsView {
    expected: Vec<(String, Option<String>)>,
    sides: [SideView; 2],
}

#[derive(Serialize)]
struct SideView {
    title: &'static str,
    hits: Vec<HitView>,
    left: usize,
}

#[derive(Serialize)]
struct HitView {
    name: String,
    title: Option<String>,
    is_expected: bool,
    /// How the hit has moved: a word for the style, a symbol that only repeats the words, and the words.
    moved: Option<(&'static str, &'static str, String)>,
}

#[derive(Serialize)]
struct FlipView {
    item: String,
    /// The index of the item on the page.
    anchor: Option<usize>,
    part: String,
    count: Phrase,
    base: String,
    head: String,
    /// The difference between the inputs as HTML.
    detail: String,
}

impl OpeningView {
    /// The opening; none if the run was not judged.
    ///
    /// # Errors
    ///
    /// Fails if a row of the answers cannot be rendered, which is a bug in its template.
    pub(super) fn of(
        page: &RunPage<'_>,
        environment: &Environment<'_>,
        budget: &mut PageSpace<'_>,
    ) -> io::Result<Option<Self>> {
        let Some(opening) = &page.opening else {
            return Ok(None);
        };
        let reason = |reason: &Phrase| {
            let mut reason = reason.each_foreign(|text| safe::cut(text, REASON));
            reason.capitalize();
            reason
        };
        let reasons = opening.reasons.iter();
        let mut reasons = reasons.map(|text| reason(&Phrase::marked(text)));
        let answers = opening.answers.iter();
        let answers = answers.map(|list| AnswersView::of(list, page, environment));
        Ok(Some(Self {
            tone: opening.tone,
            title: capitalized(opening.word),
            gist: shortened(&opening.gist),
            lead: opening.lead.as_ref().map(shortened),
            reason: reasons.next().unwrap_or_default(),
            others: reasons.collect(),
            next: shortened(&opening.next),
            base: reason(&opening.base),
            answers: answers.collect::<io::Result<_>>()?,
            flips: opening
                .flips
                .iter()
                .map(|flip| FlipView::of(flip, anchor(page, &flip.item), budget))
                .collect(),
            more_flips: opening.more_flips,
            caveats: opening
                .caveats
                .iter()
                .map(|text| reason(&Phrase::marked(text)))
                .collect(),
            metrics: opening.metrics.as_ref().map(|metrics| {
                let mut html = String::new();
                table(&mut html, metrics, "metrics", budget);
                html
            }),
            again: again(opening),
        }))
    }

    /// The beginning of the title of the page.
    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

fn again(opening: &Opening) -> Option<(Phrase, String)> {
    let (place, command) = opening.again.as_ref()?;
    Some((shortened(place), safe::line(command)))
}

impl AnswersView {
    fn of(
        list: &AnswerList,
        page: &RunPage<'_>,
        environment: &Environment<'_>,
    ) -> io::Result<Self> {
        let has_expected = list.rows.iter().any(|row| row.expected.is_some());
        let rows = list.rows.iter().take(ANSWERS).map(|row| {
            let view = AnswerView::of(row, anchor(page, &row.item), has_expected);
            rendered(environment, "answer.html", &view)
        });
        Ok(Self {
            title: list.title.as_deref().map(capitalized),
            notes: list
                .notes
                .iter()
                .map(|note| Phrase::marked(&capitalized(note)))
                .collect(),
            item: safe::cut_middle(&list.item, 60),
            rows: rows.collect::<io::Result<_>>()?,
            left: list.left + list.rows.len().saturating_sub(ANSWERS),
            has_expected,
        })
    }
}

impl AnswerView {
    fn of(row: &AnswerRow, anchor: Option<usize>, has_expected: bool) -> Self {
        let text = |text: &String| safe::cut(text, ANSWER);
        let [base, head] = words(&text(&row.base), &text(&row.head));
        let beside = |side: fn(&FieldOfBoth) -> Option<&String>| {
            let told = row
                .beside
                .iter()
                .filter_map(|field| Some((&field.0, side(field)?)));
            told.map(|(name, told)| (safe::cut(name, 60), text(told)))
                .collect()
        };
        Self {
            item: safe::cut_middle(&row.item, 120),
            anchor,
            asked: row.asked.as_ref().map(text),
            expected: row.expected.as_ref().map(text),
            base,
            head,
            hits: row.hits.as_ref().map(HitsView::of),
            files: row
                .files
                .iter()
                .map(|(what, path)| (*what, link(path)))
                .collect(),
            beside_base: beside(|field| field.1.as_ref()),
            beside_head: beside(|field| field.2.as_ref()),
            has_expected,
        }
    }
}

impl HitsView {
    fn of(beside: &HitsBeside) -> Self {
        let short = |text: &String| safe::cut(text, HIT);
        let side = |title, (rows, left): &(Vec<RankedRow>, usize), is_head| SideView {
            title,
            hits: rows
                .iter()
                .map(|row| HitView {
                    name: short(&row.name),
                    title: row.title.as_ref().map(short),
                    is_expected: row.is_expected,
                    moved: moved(row, is_head),
                })
                .collect(),
            left: *left,
        };
        let expected = beside.expected.iter();
        Self {
            expected: expected
                .map(|(name, title)| (short(name), title.as_ref().map(short)))
                .collect(),
            sides: [
                side("on the base", &beside.base, false),
                side("now", &beside.head, true),
            ],
        }
    }
}

/// How a hit has moved from the base to the head; none if both ranks are equal.
fn moved(row: &RankedRow, is_head: bool) -> Option<(&'static str, &'static str, String)> {
    let Some(other) = row.other_rank else {
        return Some(match is_head {
            true => ("new", "+", "new".to_owned()),
            false => ("gone", "−", "gone".to_owned()),
        });
    };
    let (before, after) = match is_head {
        true => (other, row.rank),
        false => (row.rank, other),
    };
    let words = |way: &str| match is_head {
        true => format!("{way} from {before}"),
        false => format!("{way} to {after}"),
    };
    match after.cmp(&before) {
        Ordering::Less => Some(("up", "▲", words("up"))),
        Ordering::Greater => Some(("down", "▼", words("down"))),
        Ordering::Equal => None,
    }
}

/// A path relative to the page as the target of a link. Every character that could end the target or give it another
/// meaning is encoded.
fn link(path: &str) -> String {
    let mut address = String::from("./");
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                address.push(char::from(byte));
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

impl FlipView {
    fn of(flip: &FlippedAnswer, anchor: Option<usize>, budget: &mut PageSpace<'_>) -> Self {
        let difference = Detail::Difference {
            title: "what was changed in the input",
            item: flip.item.clone(),
            part: flip.part.clone(),
            file: "report.json".to_owned(),
        };
        let mut html = String::new();
        detail(&mut html, &difference, budget);
        Self {
            item: safe::cut_middle(&flip.item, 120),
            anchor,
            part: safe::cut(&flip.part, 120),
            count: shortened(&flip.count),
            base: safe::cut(&flip.base, ANSWER),
            head: safe::cut(&flip.head, ANSWER),
            detail: html,
        }
    }
}

/// The index of an item in the list of all chapters.
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
