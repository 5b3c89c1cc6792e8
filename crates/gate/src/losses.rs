//! Describes withdrawn, lost and edited inputs in words.

use super::sentence::{cells, name, names, percent};
use crate::compare::Turnover;
use kelvin_page::display;

/// The governing types that were withdrawn, and how much was lost with them.
pub(super) fn withdrawn(types: &[String], lost: usize) -> String {
    let (which, them) = match types {
        [_] => ("type", "it"),
        _ => ("types", "them"),
    };
    format!(
        "lost the governing {which} {} with {} of the base: what a change withdraws cannot be \
         compared, and a drop may have gone with {them}",
        names(types),
        cells(lost)
    )
}

/// How much was lost, in total or of one type.
pub(super) fn missing(
    (lost, of): (usize, usize),
    of_type: Option<&str>,
    most: f64,
    kinds: &[&str],
) -> String {
    let whose = of_type.map_or_else(String::new, |of_type| {
        format!(" of the type {}", name(of_type))
    });
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let gone = match kinds.as_slice() {
        [] => String::new(),
        [_] => format!(", with the kind {}", names(&kinds)),
        _ => format!(", with the kinds {}", names(&kinds)),
    };
    format!(
        "has no value for {lost} of {}{whose}, where {} may be missing{gone}",
        cells(of),
        percent(most)
    )
}

/// The lost items, with the number of items that were won.
pub(super) fn lost_items(lost: &[&str], won: usize) -> String {
    let names_of: Vec<String> = lost.iter().map(|name| (*name).to_owned()).collect();
    let won = match won {
        0 => "none was won".to_owned(),
        1 => "1 was won".to_owned(),
        won => format!("{won} were won"),
    };
    format!(
        "lost {} items and {won}, which is not chance: {}",
        lost.len(),
        names(&names_of)
    )
}

/// How many values of the base are missing on the head, and how large a drop they may hide.
pub(super) fn bound(lost: usize, of: usize, drop: Option<f64>) -> String {
    let hidden = match drop {
        Some(drop) => format!("at their worst the drop would be {}", display(drop)),
        None => "there is no worst value that would bound the drop".to_owned(),
    };
    format!("has no value for {lost} of {of}, and the base has; {hidden}")
}

/// The changes to the items of a probe, for a headline. `gone`: what became of the items that the head lacks.
pub(super) fn edits(turnover: &Turnover, gone: &str) -> Option<String> {
    let Turnover {
        item: one,
        items: many,
        base,
        edited,
        removed,
        skipped,
        added,
    } = turnover;
    let (base, edited, added) = (*base, *edited, *added);
    let (skipped, removed) = (*skipped, removed.saturating_sub(*skipped));
    let were = |count: usize| if count == 1 { "was" } else { "were" };
    let mut parts = Vec::new();
    for (count, what) in [(edited, "edited"), (removed, gone), (skipped, "skipped")] {
        match (count, parts.is_empty()) {
            (0, _) => {}
            (count, true) => {
                let noun = if base == 1 { one } else { many };
                parts.push(format!("{count} of {base} {noun} {} {what}", were(count)));
            }
            (count, false) => parts.push(format!("{count} {what}")),
        }
    }
    match (added, parts.is_empty()) {
        (0, _) => {}
        (added, true) => {
            let noun = if added == 1 { one } else { many };
            parts.push(format!("{added} {noun} {} added", were(added)));
        }
        (added, false) => parts.push(format!("{added} added")),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}
