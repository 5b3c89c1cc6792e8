//! The beginning of the page if its run was judged.

use std::cmp::Ordering;
use std::io;

use minijinja::Environment;
use serde_json::{Value, json};

use super::blocks::{PageSpace, detail, table};
use super::diff::words;
use super::foreign::shortened;
use super::rendered;
use crate::{
    ANSWERS, AnswerList, AnswerRow, Detail, FlippedAnswer, HitsBeside, Phrase, RankedRow, RunPage,
    capitalized, safe,
};

/// The maximum width of an answer, in columns.
const ANSWER: usize = 600;
/// The maximum width of the name or the title of a hit, in columns.
const HIT: usize = 100;
/// The maximum width of a reason in columns; it may contain the printed text of a program.
const REASON: usize = 400;

/// A name with the text of the base and the current one.
type FieldOfBoth = (String, Option<String>, Option<String>);

/// The opening; none if the run was not judged. Fails if a row of the answers cannot be rendered, which is a bug in its
/// template.
pub(super) fn opening_view(
    page: &RunPage<'_>,
    environment: &Environment<'_>,
    budget: &mut PageSpace<'_>,
) -> io::Result<Option<Value>> {
    let Some(opening) = &page.opening else {
        return Ok(None);
    };
    let reason = |reason: &Phrase| {
        let mut reason = reason.each_foreign(|text| safe::cut(text, REASON));
        reason.capitalize();
        reason
    };
    let marked = |text: &String| reason(&Phrase::marked(text));
    let mut reasons = opening.reasons.iter().map(marked);
    let answers = opening.answers.iter();
    let answers = answers.map(|list| answers_view(list, page, environment));
    let flips = opening.flips.iter();
    let flips = flips.map(|flip| flip_view(flip, anchor(page, &flip.item), budget));
    let flips: Vec<Value> = flips.collect();
    let metrics = opening.metrics.as_ref().map(|metrics| {
        let mut html = String::new();
        table(&mut html, metrics, "metrics", budget);
        html
    });
    let again = opening.again.as_ref();
    Ok(Some(json!({
        "tone": opening.tone,
        "title": capitalized(opening.word),
        "gist": shortened(&opening.gist),
        "lead": opening.lead.as_ref().map(shortened),
        // The main reason, in one sentence; then the other reasons.
        "reason": reasons.next().unwrap_or_default(),
        "others": reasons.collect::<Vec<_>>(),
        "next": shortened(&opening.next),
        "base": reason(&opening.base),
        "answers": answers.collect::<io::Result<Vec<_>>>()?,
        "flips": flips,
        "more_flips": opening.more_flips,
        "caveats": opening.caveats.iter().map(marked).collect::<Vec<_>>(),
        "metrics": metrics,
        "again": again.map(|(place, command)| (shortened(place), safe::line(command))),
    })))
}

fn answers_view(
    list: &AnswerList,
    page: &RunPage<'_>,
    environment: &Environment<'_>,
) -> io::Result<Value> {
    let has_expected = list.rows.iter().any(|row| row.expected.is_some());
    // Each row is rendered separately, so that their views are never in memory together.
    let rows = list.rows.iter().take(ANSWERS).map(|row| {
        let view = answer_view(row, anchor(page, &row.item), has_expected);
        rendered(environment, "answer.html", &view)
    });
    let notes = list.notes.iter();
    let notes = notes.map(|note| Phrase::marked(&capitalized(note)));
    Ok(json!({
        "title": list.title.as_deref().map(capitalized),
        "notes": notes.collect::<Vec<_>>(),
        "item": safe::cut_middle(&list.item, 60),
        "rows": rows.collect::<io::Result<Vec<_>>>()?,
        "left": list.left + list.rows.len().saturating_sub(ANSWERS),
        "has_expected": has_expected,
    }))
}

/// One answer; `has_expected` says whether any answer of its list has an expected answer.
fn answer_view(row: &AnswerRow, anchor: Option<usize>, has_expected: bool) -> Value {
    let text = |text: &String| safe::cut(text, ANSWER);
    let [base, head] = words(&text(&row.base), &text(&row.head));
    let beside = |side: fn(&FieldOfBoth) -> Option<&String>| {
        let told = row.beside.iter();
        let told = told.filter_map(|field| Some((safe::cut(&field.0, 60), text(side(field)?))));
        told.collect::<Vec<_>>()
    };
    let files = row.files.iter().map(|(what, path)| (*what, link(path)));
    json!({
        "item": safe::cut_middle(&row.item, 120),
        "anchor": anchor,
        "asked": row.asked.as_ref().map(text),
        "expected": row.expected.as_ref().map(text),
        "base": base,
        "head": head,
        "hits": row.hits.as_ref().map(hits_view),
        "files": files.collect::<Vec<_>>(),
        "beside_base": beside(|field| field.1.as_ref()),
        "beside_head": beside(|field| field.2.as_ref()),
        "has_expected": has_expected,
    })
}

/// The hits of both sides, side by side.
fn hits_view(beside: &HitsBeside) -> Value {
    let short = |text: &String| safe::cut(text, HIT);
    let side = |title, (rows, left): &(Vec<RankedRow>, usize), is_head| {
        let hits = rows.iter().map(|row| {
            json!({
                "name": short(&row.name),
                "title": row.title.as_ref().map(short),
                "is_expected": row.is_expected,
                "moved": moved(row, is_head),
            })
        });
        json!({ "title": title, "hits": hits.collect::<Vec<_>>(), "left": left })
    };
    let expected = beside.expected.iter();
    let expected = expected.map(|(name, title)| (short(name), title.as_ref().map(short)));
    json!({
        "expected": expected.collect::<Vec<_>>(),
        "sides": [
            side("on the base", &beside.base, false),
            side("now", &beside.head, true),
        ],
    })
}

/// How a hit has moved from the base to the head: a word for the style, a symbol that only repeats the words, and the
/// words. None if both ranks are equal.
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

fn flip_view(flip: &FlippedAnswer, anchor: Option<usize>, budget: &mut PageSpace<'_>) -> Value {
    let difference = Detail::Difference {
        title: "what was changed in the input",
        item: flip.item.clone(),
        part: flip.part.clone(),
        file: "report.json".to_owned(),
    };
    let mut html = String::new();
    detail(&mut html, &difference, budget);
    json!({
        "item": safe::cut_middle(&flip.item, 120),
        "anchor": anchor,
        "part": safe::cut(&flip.part, 120),
        "count": shortened(&flip.count),
        "base": safe::cut(&flip.base, ANSWER),
        "head": safe::cut(&flip.head, ANSWER),
        "detail": html,
    })
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
