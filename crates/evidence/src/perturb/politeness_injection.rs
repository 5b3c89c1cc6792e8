//! `politeness_injection`: a courtesy is put before an instruction.

use super::sentence::words;
use super::sites::{InsertionSite, Text, is_affirmative, lowered, one_of, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::words::Words;

/// Turns "Verify the form" into "Please verify the form".
pub(super) struct PolitenessInjection;

const WANTED: usize = 2;

impl Perturbation for PolitenessInjection {
    fn name(&self) -> &'static str {
        "politeness_injection"
    }

    fn describe(&self) -> &'static str {
        "a courtesy such as please comes in before an instruction of a unit that does not govern"
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
            "instruction",
            |at, text| sites(at, text, list),
            |text, site, draw| {
                let courtesy = one_of(&list.courtesies, draw)?;
                let verb = &text.body[site.range.clone()];
                let detail = vec![("courtesy", courtesy.to_owned()), ("verb", verb.to_owned())];
                let new = format!("{courtesy} {}", lowered(verb, list));
                Some((vec![(site.range.clone(), new)], detail))
            },
        )
    }
}

/// The imperatives that begin a sentence and have an object: "Record the date", not "Record keeping".
fn sites(at: usize, text: &Text<'_>, list: &Words) -> Vec<InsertionSite> {
    let mut sites = Vec::new();
    for sentence in text.sentences(list).into_iter().flatten() {
        let masked = text.masked(sentence.clone());
        let words = words(masked);
        let [verb, next, ..] = words.as_slice() else {
            continue;
        };
        let object = masked[next.clone()].to_lowercase();
        let has_object = list
            .determiners
            .iter()
            .chain(&list.openers)
            .any(|word| word.to_lowercase() == object)
            || object == "whether";
        if verb.start == 0
            && &masked[verb.end..next.start] == " "
            && list
                .imperatives
                .iter()
                .any(|known| *known == masked[verb.clone()])
            && has_object
            && is_affirmative(masked, list)
        {
            sites.push(InsertionSite {
                text: at,
                range: sentence.start..sentence.start + verb.end,
                sentence,
            });
        }
    }
    sites
}
