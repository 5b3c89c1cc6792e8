//! `non_governing_duplication`: a sentence is repeated.

use super::sentence::words;
use super::sites::{InsertionSite, Text, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::MASK;
use crate::words::Words;

/// Repeats a sentence right after itself.
pub(super) struct NonGoverningDuplication;

const WANTED: usize = 3;

/// The least number of words: a shorter text is hardly a sentence.
const FEWEST_WORDS: usize = 3;

impl Perturbation for NonGoverningDuplication {
    fn name(&self) -> &'static str {
        "non_governing_duplication"
    }

    fn describe(&self) -> &'static str {
        "a sentence of a unit that does not govern is repeated right after itself"
    }

    fn figure(&self) -> Figure {
        Figure::Invariance
    }

    fn propose(&self, subject: &PerturbedCase<'_>) -> Proposal {
        let list = &subject.settings.perturbations.words;
        one_site_each(
            subject,
            self.name(),
            WANTED,
            "sentence without markup",
            |at, text| sites(at, text, list),
            |text, site, _| {
                let sentence = &text.masked(site.sentence.clone());
                let lines: Vec<&str> = sentence.split_whitespace().collect();
                let again = lines.join(" ");
                let detail = vec![("sentence", again.clone())];
                Some((vec![(site.range.clone(), format!(" {again}"))], detail))
            },
        )
    }
}

fn sites(at: usize, text: &Text<'_>, list: &Words) -> Vec<InsertionSite> {
    let mut sites = Vec::new();
    for sentence in text.sentences(list).into_iter().flatten() {
        let masked = text.masked(sentence.clone());
        if masked.ends_with(['.', '!', '?'])
            && !masked.contains(MASK)
            && masked.starts_with(|c: char| c.is_uppercase() || c.is_numeric())
            && words(masked).len() >= FEWEST_WORDS
        {
            sites.push(InsertionSite {
                text: at,
                range: sentence.end..sentence.end,
                sentence,
            });
        }
    }
    sites
}
