//! `hedge_injection`: a hedge is inserted into a sentence that is already an opinion.

use std::ops::Range;

use super::sentence::words;
use super::sites::{InsertionSite, Text, is_affirmative, one_of, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::words::Words;

const WANTED: usize = 3;

/// No hedge is inserted within this many words of a number.
const DISTANCE: usize = 3;

/// The minimum length of a noun: a shorter word after a determiner is hardly a noun.
const SHORTEST_NOUN: usize = 3;

/// Inserts "perhaps" or a similar word into "the tone is pleasant" or "we prefer the old one". Sentences that state a
/// fact, ask, order or count are not changed: a hedge would change their meaning.
pub(super) static KIND: Perturbation = Perturbation {
    name: "hedge_injection",
    description: "a word such as perhaps comes into an opinion or a judgement of a unit that does not govern",
    figure: Figure::Hedge,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let list = &subject.settings.perturbations.words;
    one_site_each(
        subject,
        KIND.name,
        WANTED,
        "opinion or judgement that takes a hedge",
        |text| sites(text, list),
        |text, site, draw| {
            let hedge = one_of(&list.hedges, draw)?.to_lowercase();
            let detail = vec![
                ("hedge", hedge.clone()),
                ("before", text.body[site.sentence.clone()].to_owned()),
            ];
            Some((vec![(site.range.clone(), format!("{hedge} "))], detail))
        },
    )
}

fn sites(text: &Text<'_>, list: &Words) -> Vec<InsertionSite> {
    let mut sites = Vec::new();
    for sentence in text.sentences(list).into_iter().flatten() {
        let places = places(text.masked(sentence.clone()), list);
        sites.extend(places.into_iter().map(|place| {
            let start = sentence.start + place.start;
            InsertionSite {
                range: start..start,
                sentence: start..sentence.start + place.end,
            }
        }));
    }
    sites
}

/// The parts of a sentence before which a hedge can be inserted: a judgement, or the object of an opinion.
fn places(sentence: &str, list: &Words) -> Vec<Range<usize>> {
    let words = words(sentence);
    let word = |at: usize| sentence[words[at].clone()].to_lowercase();
    if !takes_a_hedge(sentence, &words, list) {
        return Vec::new();
    }
    let among = |list: &[String], word: &str| list.iter().any(|known| *known == word);
    let mut places = Vec::new();
    for first in 0..words.len() {
        let Some(second) = words.get(first + 1) else {
            break;
        };
        let end = if is_copula(&word(first)) {
            // "is pleasant", "is very pleasant"
            let degree = usize::from(is_degree(&word(first + 1)));
            let judgement = first + 1 + degree;
            let is_judgement = judgement < words.len() && among(&list.judgements, &word(judgement));
            is_judgement.then_some(judgement)
        } else {
            // "we prefer the old tone"
            let is_opinion = among(&list.opinions, &word(first))
                && among(&list.determiners, &word(first + 1))
                && words
                    .get(first + 2)
                    .is_some_and(|noun| noun.len() >= SHORTEST_NOUN)
                && !is_count(&word(first + 2));
            is_opinion.then_some(first + 2)
        };
        let Some(end) = end else {
            continue;
        };
        let place = second.start..words[end].end;
        let near = first.saturating_sub(DISTANCE - 1)..(end + DISTANCE).min(words.len());
        let plain = sentence[words[first].start..place.end]
            .chars()
            .all(|c| c.is_alphabetic() || c == ' ' || c == '-');
        if plain && !near.into_iter().any(|at| is_number(&word(at))) {
            places.push(place);
        }
    }
    places
}

/// Whether a sentence is a plain statement: not a question, an order or a condition, and without a hedge.
fn takes_a_hedge(sentence: &str, words: &[Range<usize>], list: &Words) -> bool {
    const OTHERS: &[&str] = &[
        "if", "unless", "when", "whenever", "whether", "provided", "must", "shall", "should",
        "may", "might", "could", "maybe", "probably", "likely", "unlikely", "seems", "appears",
        "who", "what", "why", "how",
    ];
    let asks = sentence
        .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?')
        .ends_with('?');
    let hedged = words.iter().any(|word| {
        let word = sentence[word.clone()].to_lowercase();
        OTHERS.contains(&&*word) || list.hedges.iter().any(|hedge| hedge.to_lowercase() == word)
    });
    let instructs = words.first().is_some_and(|first| {
        list.imperatives
            .contains(&sentence[first.clone()].to_owned())
    });
    !asks && !hedged && !instructs && is_affirmative(sentence, list)
}

fn is_copula(word: &str) -> bool {
    ["is", "are", "was", "were", "feels", "looks", "sounds"].contains(&word)
}

fn is_degree(word: &str) -> bool {
    ["very", "quite", "rather", "too", "so", "more", "less"].contains(&word)
}

/// Whether "a" with this word is a quantity: "we prefer a week" says how long.
fn is_count(word: &str) -> bool {
    [
        "bit", "couple", "day", "dozen", "few", "half", "hour", "little", "lot", "minute", "month",
        "pair", "quarter", "second", "third", "week", "year",
    ]
    .contains(&word)
}

fn is_number(word: &str) -> bool {
    const NUMBERS: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve", "twenty", "thirty", "forty", "fifty", "hundred", "thousand", "once", "twice",
    ];
    word.contains(|c: char| c.is_numeric()) || NUMBERS.contains(&word)
}
