//! `non_governing_duplication`: a sentence is repeated.

use super::sentence::words;
use super::sites::one_site_each;
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::MASK;

const WANTED: usize = 3;

/// The minimum number of words: a shorter text is hardly a sentence.
const FEWEST_WORDS: usize = 3;

/// Repeats a sentence right after itself.
pub(super) static KIND: Perturbation = Perturbation {
    name: "non_governing_duplication",
    description: "a sentence of a unit that does not govern is repeated right after itself",
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
        "sentence without markup",
        |text| {
            let sentences = text.sentences(list).into_iter().flatten();
            text.sites(sentences, |sentence| {
                is_plain(sentence).then_some(sentence.len()..sentence.len())
            })
        },
        |text, site, _| {
            let sentence = &text.masked(site.sentence.clone());
            let lines: Vec<&str> = sentence.split_whitespace().collect();
            let again = lines.join(" ");
            let detail = vec![("sentence", again.clone())];
            Some((vec![(site.range.clone(), format!(" {again}"))], detail))
        },
    )
}

/// Whether a text is a whole sentence without markup.
fn is_plain(sentence: &str) -> bool {
    sentence.ends_with(['.', '!', '?'])
        && !sentence.contains(MASK)
        && sentence.starts_with(|c: char| c.is_uppercase() || c.is_numeric())
        && words(sentence).len() >= FEWEST_WORDS
}
