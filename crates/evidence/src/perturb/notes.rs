//! Reads from the pieces of a variant what it did to its case.

use std::sync::Arc;

use super::{Added, Notes, Piece};
use crate::EvidenceSettings;
use crate::cases;
use crate::cases::Corpus;

impl Notes {
    /// Compares the pieces of a variant with the units of its case.
    pub(super) fn of(
        corpus: &Corpus,
        at: usize,
        settings: &EvidenceSettings,
        pieces: &[Piece],
        detail: &[(&'static str, String)],
    ) -> Self {
        let mut notes = Self::default();
        let mut order = Vec::with_capacity(pieces.len());
        for (place, piece) in pieces.iter().enumerate() {
            let (unit_type, from) = match piece {
                Piece::Own(unit) => {
                    order.push(*unit);
                    continue;
                }
                Piece::Edited(edited) => {
                    order.push(edited.unit);
                    notes.edited.push(edited.unit);
                    continue;
                }
                Piece::Peer(place, _) => {
                    let (from, unit) = place.find(corpus);
                    let unit_type = Arc::clone(&unit.unit_type);
                    (unit_type, Some(Arc::clone(&from.name)))
                }
                Piece::Filler(section, _) => {
                    let heading = &settings.perturbations.words.filler[*section].heading;
                    (cases::type_of(&format!("## {heading}")).into(), None)
                }
            };
            notes.added.push(Added {
                at: place,
                unit_type,
                from,
            });
        }
        // The spare room is given back, since every variant of the run has its own notes.
        notes.added.shrink_to_fit();
        let units = corpus.cases[at].units.len();
        let mut stayed = vec![false; units];
        for unit in &order {
            stayed[*unit] = true;
        }
        notes.removed = (0..units).filter(|unit| !stayed[*unit]).collect();
        notes.edited.sort_unstable();
        if !order.is_sorted() {
            notes.order = order;
        }
        for (name, value) in detail {
            notes.detail.insert((*name).to_owned(), value.clone());
        }
        notes
    }
}
