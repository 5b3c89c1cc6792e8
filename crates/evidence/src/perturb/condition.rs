//! Parses a rule of the form `... requires: CONDITIONS. STATE. DETAILS`.

use std::ops::Range;

use super::sentence::{sentences, words};
use crate::cases::outline::markers;
use crate::cases::prose::{BlockPlace, MaskedText, ProseBlock, prose};
use crate::words::Words;

/// The conditions of a rule, as a part of its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conditions {
    /// The range of the conditions, without the full stop after them.
    pub(super) range: Range<usize>,
    /// The form of the conditions: two rules can exchange them only if both have the same form.
    pub(super) form: ConditionForm,
}

/// The form of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConditionForm {
    /// The conditions are in the same sentence as "requires:".
    Inline,
    /// The conditions are in a list below that sentence.
    List,
}

/// The conditions of a unit; none if the unit does not have the form of such a rule.
pub(super) fn conditions(body: &str, list: &Words) -> Option<Conditions> {
    let prose = prose(body);
    prose.blocks.iter().enumerate().find_map(|(at, block)| {
        let start = requires(&prose, block)?;
        inline(&prose, block, start, list).or_else(|| listed(body, &prose, at, start, list))
    })
}

/// The position in a paragraph right after the word "requires" and its colon.
fn requires(prose: &MaskedText, block: &ProseBlock) -> Option<usize> {
    if !matches!(block.place, BlockPlace::Top { .. }) {
        return None;
    }
    let text = &prose.masked[block.range.clone()];
    let word = words(text).into_iter().find(|word| {
        matches!(
            &*text[word.clone()].to_lowercase(),
            "requires" | "require" | "required"
        ) && text[word.end..].starts_with(':')
            && text[word.end + 1..]
                .chars()
                .next()
                .is_none_or(char::is_whitespace)
    })?;
    Some(block.range.start + word.end + 1)
}

fn inline(
    prose: &MaskedText,
    block: &ProseBlock,
    start: usize,
    list: &Words,
) -> Option<Conditions> {
    let rest = start..block.range.end;
    let starts: Vec<usize> = sentences(&prose.masked, rest.clone(), &list.abbreviations)
        .into_iter()
        .map(|sentence| sentence.start)
        .collect();
    let text = &prose.masked[rest];
    let state = text.char_indices().map(|(at, _)| start + at).find(|at| {
        let after_stop = prose.masked[start..*at]
            .trim_end()
            .ends_with(['.', ';', '!', '?', ')', '"', '”']);
        let spaced = prose.masked[start..*at].ends_with(char::is_whitespace);
        let tail = &prose.masked[*at..block.range.end];
        spaced
            && after_stop
            && (begins_with_known_state(tail, list)
                || (starts.contains(at) && has_shape_of_state(tail, list)))
    })?;
    let written = prose.masked[start..state].trim();
    let begin = start + prose.masked[start..].len() - prose.masked[start..].trim_start().len();
    let end = begin
        + written
            .trim_end_matches(['.', ';', '!', '?'])
            .trim_end()
            .len();
    (begin < end).then_some(Conditions {
        range: begin..end,
        form: ConditionForm::Inline,
    })
}

/// Conditions as a list between "requires:" and a paragraph that begins with the state.
fn listed(
    body: &str,
    prose: &MaskedText,
    at: usize,
    start: usize,
    list: &Words,
) -> Option<Conditions> {
    let intro = &prose.blocks[at];
    if !prose.masked[start..intro.range.end].trim().is_empty() {
        return None;
    }
    let items = prose.blocks[at + 1..]
        .iter()
        .take_while(|block| block.place == BlockPlace::Nested)
        .count();
    let last = &prose.blocks[(at + 1..at + 1 + items).next_back()?];
    let state = prose.blocks.get(at + 1 + items)?;
    let text = &prose.masked[state.range.clone()];
    let marker = markers(body)
        .into_iter()
        .find(|marker| marker.start >= intro.range.end)?;
    let stated = begins_with_known_state(text, list) || has_shape_of_state(text, list);
    (stated && marker.start < last.range.start).then_some(Conditions {
        range: marker.start..last.range.end,
        form: ConditionForm::List,
    })
}

/// Whether a text begins with one of the listed sentences, without regard to case and white space.
fn begins_with_known_state(text: &str, list: &Words) -> bool {
    list.condition_states.iter().any(|state| {
        let mut rest = text;
        let mut begins = true;
        for word in state.split_whitespace() {
            let found = rest
                .get(..word.len())
                .filter(|found| found.eq_ignore_ascii_case(word));
            begins &= found.is_some();
            rest = found.map_or(rest, |found| rest[found.len()..].trim_start());
        }
        begins
    })
}

/// Whether a text is a sentence such as "None of the criteria hold.", which contains a quantity, a noun and a state.
fn has_shape_of_state(text: &str, list: &Words) -> bool {
    const HOW_MANY: &[&str] = &[
        "all", "any", "both", "each", "every", "few", "four", "half", "most", "neither", "no",
        "none", "not", "one", "only", "several", "some", "the", "these", "three", "two",
    ];
    const WHAT: &[&str] = &[
        "condition",
        "conditions",
        "criteria",
        "criterion",
        "items",
        "prerequisites",
        "requirement",
        "requirements",
        "them",
        "these",
    ];
    const BE: &[&str] = &[
        "apply", "applies", "are", "fail", "fails", "has", "have", "hold", "holds", "is", "remain",
        "remains", "were",
    ];
    let Some(sentence) = sentences(text, 0..text.len(), &list.abbreviations)
        .into_iter()
        .next()
    else {
        return false;
    };
    let sentence = text[sentence].to_lowercase();
    let words: Vec<&str> = words(&sentence)
        .into_iter()
        .map(|word| &sentence[word])
        .collect();
    let place = |list: &[&str]| words.iter().position(|word| list.contains(word));
    words.first().is_some_and(|word| HOW_MANY.contains(word))
        && place(WHAT)
            .zip(place(BE))
            .is_some_and(|(what, be)| what < be)
        && words.len() <= 14
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, ConditionForm)> {
        let words = Words::load(std::path::Path::new(""), &[], None).expect("the lists load");
        let body = format!("## Gate Rule\n\n{text}");
        let found = conditions(&body, &words)?;
        Some((body[found.range].to_owned(), found.form))
    }

    fn inline(text: &str) -> Option<(String, ConditionForm)> {
        Some((text.to_owned(), ConditionForm::Inline))
    }

    #[test]
    fn decimals_and_abbreviations_do_not_end_the_conditions() {
        for conditions in [
            "a ratio below 2. 5 and a score over 0.75",
            "a document (e.g. a passport), proof of address, etc",
            "three items; no. 7 signed by J. Doe",
            "a signed form.\nA second signature",
        ] {
            let text =
                format!("Release requires: {conditions}. All conditions are met. Then some.");
            assert_eq!(read(&text), inline(conditions), "{text}");
        }
        let text = "It requires: proof, etc. None of these\nconditions are currently met.";
        assert_eq!(read(text), inline("proof, etc"));
    }

    #[test]
    fn case_and_wording_of_the_state_do_not_matter() {
        for state in [
            "all conditions are met.",
            "ALL CONDITIONS ARE MET.",
            "Two of the three criteria hold.",
            "Not every requirement is satisfied!",
            "The conditions remain open.",
        ] {
            let text = format!("Approval REQUIRES: a, b and c. {state} More.");
            assert_eq!(read(&text), inline("a, b and c"), "{text}");
        }
    }

    #[test]
    fn a_list_of_conditions_is_read_as_a_whole() {
        let text = "Approval requires:\n\n- a **signed** form\n- a score of 2.5\n\nAll conditions are \
            met. Details.";
        let expected = "- a **signed** form\n- a score of 2.5".to_owned();
        assert_eq!(read(text), Some((expected, ConditionForm::List)));
    }

    #[test]
    fn other_shapes_are_not_read() {
        for text in [
            "Approval requires a, b and c. All conditions are met.",
            "Approval requires: a, b and c. It was a long day.",
            "Approval requires: a, b and c.",
            "Approval requires: All conditions are met.",
            "`requires: a.` All conditions are met.",
            "Approval requires:\n\n- a\n- b\n\nIt was a long day.",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
