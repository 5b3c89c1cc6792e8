//! `discourse_marker_injection`: a discourse marker is inserted before a sentence that follows another one.

use std::ops::Range;

use super::sentence::words;
use super::sites::{is_affirmative, is_capitalised, lowered, one_of, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::words::Words;

const WANTED: usize = 3;

/// Inserts "Additionally," or a similar marker before a sentence.
pub(super) static KIND: Perturbation = Perturbation {
    name: "discourse_marker_injection",
    description: "a word such as additionally comes in before a sentence of a unit that does not govern",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let list = &subject.settings.perturbations.words;
    one_site_each(
        subject,
        KIND.name,
        WANTED,
        "sentence that follows another one",
        |text| {
            // The first sentence of a paragraph cannot have a marker, because no sentence comes before it.
            let blocks = text.sentences(list).into_iter();
            let following = blocks.flat_map(|block| block.into_iter().skip(1));
            text.sites(following, |sentence| first_word(sentence, list))
        },
        |text, site, draw| {
            let marker = one_of(&list.discourse_markers, draw)?;
            let word = &text.body[site.range.clone()];
            let detail = vec![
                ("marker", marker.to_owned()),
                ("sentence", text.body[site.sentence.clone()].to_owned()),
            ];
            let new = format!("{marker}, {}", lowered(word, list));
            Some((vec![(site.range.clone(), new)], detail))
        },
    )
}

/// The first word of a sentence, if the sentence can get a marker.
fn first_word(sentence: &str, list: &Words) -> Option<Range<usize>> {
    let first = words(sentence).into_iter().next()?;
    // A sentence such as "However, ..." or "Note: ..." already has a marker.
    let marked = sentence[first.end..].starts_with([',', ':', ';']);
    let marker = list
        .discourse_markers
        .iter()
        .any(|marker| marker.eq_ignore_ascii_case(&sentence[first.clone()]));
    let takes_one = first.start == 0
        && is_capitalised(sentence)
        && !marked
        && !marker
        && is_affirmative(sentence, list);
    takes_one.then_some(first)
}
