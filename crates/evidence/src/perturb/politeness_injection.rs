//! `politeness_injection`: a polite word is inserted before an instruction.

use std::ops::Range;

use super::sentence::words;
use super::sites::{is_affirmative, lowered, one_of, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::words::Words;

const WANTED: usize = 2;

/// Turns "Verify the form" into "Please verify the form".
pub(super) static KIND: Perturbation = Perturbation {
    name: "politeness_injection",
    description: "a courtesy such as please comes in before an instruction of a unit that does not govern",
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
        "instruction",
        |text| {
            let sentences = text.sentences(list).into_iter().flatten();
            text.sites(sentences, |sentence| imperative(sentence, list))
        },
        |text, site, draw| {
            let courtesy = one_of(&list.courtesies, draw)?;
            let verb = &text.body[site.range.clone()];
            let detail = vec![("courtesy", courtesy.to_owned()), ("verb", verb.to_owned())];
            let new = format!("{courtesy} {}", lowered(verb, list));
            Some((vec![(site.range.clone(), new)], detail))
        },
    )
}

/// The imperative that begins a sentence and has an object: "Record the date", not "Record keeping".
fn imperative(sentence: &str, list: &Words) -> Option<Range<usize>> {
    let words = words(sentence);
    let [verb, next, ..] = words.as_slice() else {
        return None;
    };
    let object = sentence[next.clone()].to_lowercase();
    let has_object = list
        .determiners
        .iter()
        .chain(&list.openers)
        .any(|word| word.to_lowercase() == object)
        || object == "whether";
    let is_one = verb.start == 0
        && &sentence[verb.end..next.start] == " "
        && list
            .imperatives
            .iter()
            .any(|known| *known == sentence[verb.clone()])
        && has_object
        && is_affirmative(sentence, list);
    is_one.then(|| verb.clone())
}
