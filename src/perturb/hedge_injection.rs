//! `hedge_injection`: a hedge before a noun phrase.

use super::sentence::words;
use super::sites::{Site, Text, is_affirmative, one_of, one_site_each};
use super::{Figure, Perturbation, Proposal, Subject};
use crate::config::words::Words;

/// Puts "perhaps" or the like before "the report".
pub(super) struct HedgeInjection;

const WANTED: usize = 3;

/// No digit stands within so many words of a hedge.
const DISTANCE: usize = 3;

/// A shorter word after a determiner is hardly a noun.
const SHORTEST_NOUN: usize = 3;

impl Perturbation for HedgeInjection {
    fn name(&self) -> &'static str {
        "hedge_injection"
    }

    fn describe(&self) -> &'static str {
        "a word such as perhaps comes in before a noun phrase of a unit that does not govern"
    }

    fn figure(&self) -> Figure {
        Figure::Invariance
    }

    fn propose(&self, subject: &Subject<'_>) -> Proposal {
        let list = &subject.config.perturbations.words;
        one_site_each(
            subject,
            self.name(),
            WANTED,
            "place for a hedge",
            |at, text| sites(at, text, list),
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
}

/// Determiners within a sentence, away from negations, numbers, markup and other hedges.
fn sites(at: usize, text: &Text<'_>, list: &Words) -> Vec<Site> {
    let mut sites = Vec::new();
    for sentence in text.sentences(list).into_iter().flatten() {
        let masked = text.masked(sentence.clone());
        let among =
            |list: &[String], word: &str| list.iter().any(|known| *known == word.to_lowercase());
        let words = words(masked);
        let hedged = words
            .iter()
            .any(|word| among(&list.hedges, &masked[word.clone()]));
        // "Verify perhaps the date" would change what is asked for.
        let instructs = words.first().is_some_and(|first| {
            list.imperatives
                .iter()
                .any(|verb| *verb == masked[first.clone()])
        });
        if hedged || instructs || !is_affirmative(masked, list) {
            continue;
        }
        for (place, pair) in words.windows(3).enumerate() {
            let [last, determiner, noun] = pair else {
                continue;
            };
            let near =
                &words[place.saturating_sub(DISTANCE - 1)..words.len().min(place + 2 + DISTANCE)];
            let span = &masked[near[0].start..near[near.len() - 1].end];
            let plain = masked[last.start..noun.end]
                .chars()
                .all(|c| c.is_alphanumeric() || c == ' ' || c == '-');
            if plain
                && among(&list.determiners, &masked[determiner.clone()])
                && masked[determiner.clone()].chars().all(char::is_lowercase)
                && !among(&list.prepositions, &masked[last.clone()])
                && !among(&list.determiners, &masked[last.clone()])
                && noun.len() >= SHORTEST_NOUN
                && masked[noun.clone()].chars().all(char::is_alphabetic)
                && !span.contains(|c: char| c.is_numeric())
            {
                let start = sentence.start + determiner.start;
                sites.push(Site {
                    text: at,
                    range: start..start,
                    sentence: start..sentence.start + noun.end,
                });
            }
        }
    }
    sites
}
