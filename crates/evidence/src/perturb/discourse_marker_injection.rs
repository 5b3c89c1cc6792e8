//! `discourse_marker_injection`: a marker before a sentence that follows another one.

use super::sentence::words;
use super::sites::{
    InsertionSite, Text, is_affirmative, is_capitalised, lowered, one_of, one_site_each,
};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::words::Words;

/// Puts "Additionally," or the like before a sentence.
pub(super) struct DiscourseMarkerInjection;

const WANTED: usize = 3;

impl Perturbation for DiscourseMarkerInjection {
    fn name(&self) -> &'static str {
        "discourse_marker_injection"
    }

    fn describe(&self) -> &'static str {
        "a word such as additionally comes in before a sentence of a unit that does not govern"
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
            "sentence that follows another one",
            |at, text| sites(at, text, list),
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
}

/// The first words of those sentences that do not begin their paragraph.
fn sites(at: usize, text: &Text<'_>, list: &Words) -> Vec<InsertionSite> {
    let mut sites = Vec::new();
    for sentence in text
        .sentences(list)
        .into_iter()
        .flat_map(|block| block.into_iter().skip(1))
    {
        let masked = text.masked(sentence.clone());
        let Some(first) = words(masked).into_iter().next() else {
            continue;
        };
        // A sentence such as "However, ..." or "Note: ..." already has a marker.
        let marked = masked[first.end..].starts_with([',', ':', ';']);
        let marker = list
            .discourse_markers
            .iter()
            .any(|marker| marker.eq_ignore_ascii_case(&masked[first.clone()]));
        if first.start == 0
            && is_capitalised(masked)
            && !marked
            && !marker
            && is_affirmative(masked, list)
        {
            sites.push(InsertionSite {
                text: at,
                range: sentence.start..sentence.start + first.end,
                sentence,
            });
        }
    }
    sites
}
