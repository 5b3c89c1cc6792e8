//! `meta_commentary_injection`: a sentence about the text is inserted at the beginning of a section.

use super::sites::{InsertionSite, Text, one_of, one_site_each};
use super::{Figure, Perturbation, PerturbedCase, Proposal};
use crate::cases::prose::BlockPlace;

const WANTED: usize = 2;

/// Inserts a sentence about a section at the beginning of the section.
pub(super) static KIND: Perturbation = Perturbation {
    name: "meta_commentary_injection",
    description: "a unit that does not govern begins with a sentence about the text",
    figure: Figure::Invariance,
    is_default: false,
    propose,
};

fn propose(subject: &PerturbedCase<'_>) -> Proposal {
    let comments = &subject.settings.perturbations.words.meta_comments;
    one_site_each(
        subject,
        KIND.name,
        WANTED,
        "unit that begins with a paragraph",
        sites,
        |_, site, draw| {
            let comment = one_of(comments, draw)?;
            let detail = vec![("comment", comment.to_owned())];
            // The inserted comment is a whole sentence, so the sentence after it keeps its capital letter.
            Some((vec![(site.range.clone(), format!("{comment} "))], detail))
        },
    )
}

fn sites(text: &Text<'_>) -> Vec<InsertionSite> {
    let first = text.prose.blocks.first();
    first
        .filter(|block| block.place == BlockPlace::Top { first: true })
        .map(|block| InsertionSite {
            range: block.range.start..block.range.start,
            sentence: block.range.clone(),
        })
        .into_iter()
        .collect()
}
