//! The common part of all kinds that edit units of non-governing types: the prose of these units, the choice of a
//! place, and the check that the Markdown is still parsed in the same way.

use std::ops::Range;

use super::rewrite::{Detail, Edits, checked, with_edited};
use super::sentence::{sentences, words};
use super::{Draft, PerturbedCase, Proposal};
use crate::cases::prose::{MaskedText, ProseBlock, prose};
use crate::words::Words;
use kelvin_base::draw::Draw;

/// A unit of a non-governing type, with its prose.
pub(super) struct Text<'a> {
    /// The index of the unit in the case.
    pub(super) unit: usize,
    /// The text of the unit, with its heading line.
    pub(super) body: &'a str,
    /// The prose, in which edits may be made.
    pub(super) prose: MaskedText,
}

/// A place where text can be inserted.
pub(super) struct InsertionSite {
    /// The range to replace; empty if text is only inserted.
    pub(super) range: Range<usize>,
    /// The sentence to which the site belongs.
    pub(super) sentence: Range<usize>,
}

/// The units of the case whose types do not govern.
pub(super) fn texts<'a>(subject: &PerturbedCase<'a>) -> Vec<Text<'a>> {
    let case = subject.case();
    let units = case.units.iter().enumerate();
    units
        .filter(|(_, unit)| !subject.governs(&unit.unit_type))
        .map(|(unit, cut)| {
            let body = case.body(cut);
            let prose = prose(body);
            Text { unit, body, prose }
        })
        .collect()
}

impl Text<'_> {
    /// The blocks of the running text.
    pub(super) fn running_text(&self) -> impl Iterator<Item = &ProseBlock> {
        let blocks = self.prose.blocks.iter();
        blocks.filter(|block| block.place.is_running_text())
    }

    /// The sentences of the running text, grouped by block.
    pub(super) fn sentences(&self, words: &Words) -> Vec<Vec<Range<usize>>> {
        self.running_text()
            .map(|block| {
                sentences(
                    &self.prose.masked,
                    block.range.clone(),
                    &words.abbreviations,
                )
            })
            .collect()
    }

    /// The sites in some of the sentences. `place` finds the site of a sentence, which it gets in masked form: the
    /// range of the sentence that is replaced.
    pub(super) fn sites(
        &self,
        sentences: impl Iterator<Item = Range<usize>>,
        place: impl Fn(&str) -> Option<Range<usize>>,
    ) -> Vec<InsertionSite> {
        sentences
            .filter_map(|sentence| {
                let place = place(self.masked(sentence.clone()))?;
                Some(InsertionSite {
                    range: sentence.start + place.start..sentence.start + place.end,
                    sentence,
                })
            })
            .collect()
    }

    /// A range of the text, in its masked form.
    pub(super) fn masked(&self, range: Range<usize>) -> &str {
        &self.prose.masked[range]
    }
}

/// Proposes variants with an edit at one site each; every variant tries the sites in its own order.
pub(super) fn one_site_each(
    subject: &PerturbedCase<'_>,
    kind: &'static str,
    wanted: usize,
    missing: &str,
    sites: impl Fn(&Text<'_>) -> Vec<InsertionSite>,
    write: impl Fn(&Text<'_>, &InsertionSite, &mut Draw) -> Option<(Edits, Detail)>,
) -> Proposal {
    let mut proposal = Proposal::default();
    let texts = texts(subject);
    if texts.is_empty() {
        return Proposal::skipped(wanted, "every unit of the case governs");
    }
    let all: Vec<(&Text<'_>, InsertionSite)> = texts
        .iter()
        .flat_map(|text| sites(text).into_iter().map(move |site| (text, site)))
        .collect();
    let mut used = vec![false; all.len()];
    for number in 1..=wanted {
        let mut draw = subject.draw(kind, number);
        let mut order: Vec<usize> = (0..all.len()).collect();
        draw.shuffle(&mut order);
        for at in order {
            if std::mem::replace(&mut used[at], true) {
                continue;
            }
            let (text, site) = &all[at];
            let Some((edits, detail)) = write(text, site, &mut draw) else {
                continue;
            };
            if let Some(edited) = checked(text.body, &edits) {
                let units = subject.case().units.len();
                proposal.drafts.push(Draft {
                    unit_type: None,
                    pieces: with_edited(units, vec![(text.unit, edited)]),
                    detail,
                });
                break;
            }
        }
    }
    note_missing_sites(&mut proposal, wanted, missing);
    proposal
}

/// Proposes variants in which every unit of a non-governing type is edited, if possible.
pub(super) fn everywhere(
    subject: &PerturbedCase<'_>,
    kind: &'static str,
    wanted: usize,
    missing: &str,
    edit: impl Fn(usize, &Text<'_>, &mut Draw) -> Edits,
) -> Proposal {
    let mut proposal = Proposal::default();
    let texts = texts(subject);
    if texts.is_empty() {
        return Proposal::skipped(wanted, "every unit of the case governs");
    }
    for number in 1..=wanted {
        let mut draw = subject.draw(kind, number);
        let edited: Vec<(usize, String)> = texts
            .iter()
            .filter_map(|text| {
                let edits = edit(number, text, &mut draw);
                Some((text.unit, checked(text.body, &edits)?))
            })
            .collect();
        if !edited.is_empty() {
            proposal.drafts.push(Draft::plain(with_edited(
                subject.case().units.len(),
                edited,
            )));
        }
    }
    note_missing_sites(&mut proposal, wanted, missing);
    proposal
}

fn note_missing_sites(proposal: &mut Proposal, wanted: usize, missing: &str) {
    let made = proposal.drafts.len();
    let reason = match made {
        0 => format!("no {missing} in a unit that does not govern"),
        _ => format!("only {made} variant(s): no further {missing} in units that do not govern"),
    };
    if made < wanted {
        proposal.falls_short(wanted, made, reason);
    }
}

/// Whether a sentence contains none of the negations.
pub(super) fn is_affirmative(sentence: &str, list: &Words) -> bool {
    let plain: Vec<String> = words(sentence)
        .into_iter()
        .map(|word| sentence[word].to_lowercase().replace('’', "'"))
        .collect();
    let joined = format!(" {} ", plain.join(" "));
    !list
        .negations
        .iter()
        .any(|negation| joined.contains(&format!(" {} ", negation.to_lowercase())))
        && !joined.contains(" no-")
        && !joined.contains(" non-")
}

/// Whether a sentence begins with a capital letter that belongs to the prose.
pub(super) fn is_capitalised(sentence: &str) -> bool {
    sentence.starts_with(char::is_uppercase)
}

/// The first word of a sentence in lower case, if it cannot be a name.
pub(super) fn lowered(word: &str, list: &Words) -> String {
    let known = list
        .openers
        .iter()
        .chain(&list.imperatives)
        .any(|known| known == word);
    if known {
        word.to_lowercase()
    } else {
        word.to_owned()
    }
}

/// A random entry of a list.
pub(super) fn one_of<'a>(list: &'a [String], draw: &mut Draw) -> Option<&'a str> {
    list.get(draw.below(list.len())).map(String::as_str)
}
