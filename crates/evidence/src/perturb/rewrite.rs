//! The common part of all kinds that rewrite single governing units: which units they rewrite, and the notice if no
//! unit could be rewritten.

use std::ops::Range;
use std::sync::Arc;

use super::{Draft, EditedUnit, PerturbedCase, Piece, Proposal};
use crate::cases::outline::outline;

/// Details of a variant that its pieces do not show.
pub(super) type Detail = Vec<(&'static str, String)>;

/// A rewrite of a unit, in one way.
pub(super) struct Rewrite {
    /// Its replacements.
    pub(super) edits: Edits,
    /// The details that the pieces do not show.
    pub(super) detail: Detail,
}

/// Proposes the rewrites of every governing unit, each as a variant; `rewrites` gets the index of the unit in the case
/// and its text. `missing` says what units without any rewrite do not have, e.g. "no amount".
pub(super) fn governing_units(
    subject: &PerturbedCase<'_>,
    wanted: usize,
    missing: &str,
    rewrites: impl Fn(usize, &str) -> Vec<Rewrite>,
) -> Proposal {
    let mut proposal = Proposal::default();
    let case = subject.case();
    for unit_type in &subject.settings.governing_types {
        let units: Vec<usize> = of_type(subject, unit_type);
        if units.is_empty() {
            let text = format!("the case has no unit of type `{unit_type}`");
            proposal.falls_short(wanted, 0, text);
            continue;
        }
        let mut without = 0;
        let mut made = 0;
        for at in &units {
            let unit = &case.units[*at];
            let body = case.body(unit);
            let before = proposal.drafts.len();
            for Rewrite { edits, detail } in rewrites(*at, body) {
                if let Some(text) = checked(body, &edits) {
                    proposal.drafts.push(Draft {
                        unit_type: Some(Arc::clone(&unit.unit_type)),
                        pieces: with_edited(case.units.len(), vec![(*at, text)]),
                        detail,
                    });
                }
            }
            without += usize::from(proposal.drafts.len() == before);
            made += proposal.drafts.len() - before;
        }
        if without > 0 {
            let text = format!(
                "{missing} in {without} of {} unit(s) of type `{unit_type}`",
                units.len()
            );
            proposal.falls_short(wanted * units.len(), made, text);
        }
    }
    proposal
}

/// The units of a type, in the order of the case.
pub(super) fn of_type(subject: &PerturbedCase<'_>, unit_type: &str) -> Vec<usize> {
    let units = subject.case().units.iter().enumerate();
    units
        .filter(|(_, unit)| &*unit.unit_type == unit_type)
        .map(|(at, _)| at)
        .collect()
}

/// The units of a case in order, some of them rewritten.
pub(super) fn with_edited(units: usize, edited: Vec<(usize, String)>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = (0..units).map(Piece::Own).collect();
    for (unit, text) in edited {
        pieces[unit] = Piece::Edited(Box::new(EditedUnit { unit, text }));
    }
    pieces
}

/// The edited text. None if the edits have no effect, or if the Markdown would be parsed differently, for instance
/// because a character at the beginning of a line becomes a quote marker.
pub(super) fn checked(body: &str, edits: &Edits) -> Option<String> {
    let text = apply_edits(body, edits).trim_end().to_owned();
    (text != body && outline(&text).shape == outline(body).shape).then_some(text)
}

/// Replacements that do not overlap, in the order of the text.
pub(super) type Edits = Vec<(Range<usize>, String)>;

/// The text after the replacements.
pub(super) fn apply_edits(text: &str, edits: &Edits) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut end = 0;
    for (range, new) in edits {
        out.push_str(&text[end..range.start]);
        out.push_str(new);
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}
