//! The hits of one query: packed, put in order as trec_eval does, and found by document.

use std::cmp::Ordering;

/// What a run has retrieved for one query, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Hits {
    /// The documents, one after the other.
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<u32>,
    /// Scores in single precision, in which trec_eval compares them.
    scores: Vec<f32>,
    /// Where each stands in the file.
    lines: Vec<u64>,
}

impl Hits {
    /// Adds a hit.
    pub(super) fn push(&mut self, document: &[u8], score: f64, line: u64) -> Result<(), String> {
        self.text.extend_from_slice(document);
        let end = u32::try_from(self.text.len());
        self.ends
            .push(end.map_err(|_| "there are more than 4 GiB of documents for one query")?);
        self.scores.push(score as f32);
        self.lines.push(line);
        Ok(())
    }

    /// Forgets everything but the memory.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.scores.clear();
        self.lines.clear();
    }

    /// Adds the hits of a later part of the file, whose lines are counted from `lines` on.
    pub(super) fn extend(&mut self, other: &Self) -> Result<(), String> {
        for at in 0..other.len() {
            self.push(
                other.document(at),
                f64::from(other.scores[at]),
                other.lines[at],
            )?;
        }
        Ok(())
    }

    /// Counts the lines from another line on.
    pub(super) fn shift(&mut self, lines: u64) {
        for line in &mut self.lines {
            *line += lines;
        }
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn document(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }

    /// By score, highest first, then by document, last first: the order of trec_eval.
    fn order(&self, one: usize, other: usize) -> Ordering {
        let score = |at: usize| self.scores[at];
        score(other)
            .partial_cmp(&score(one))
            .unwrap_or(Ordering::Equal)
            .then_with(|| self.document(other).cmp(self.document(one)))
    }
}

/// Room to work in, kept from one query to the next.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// An open hash table of places in the hits, each plus 1; 0 is free.
    table: Vec<u32>,
    /// The places in the hits, in order.
    order: Vec<u32>,
    /// The rank of each place, from 1.
    ranks: Vec<u32>,
}

/// Hits in the order of trec_eval.
pub struct Ranked<'a> {
    hits: &'a Hits,
    desk: &'a Desk,
}

impl Desk {
    /// Puts hits in order.
    ///
    /// # Errors
    ///
    /// The line of a document that is there for the second time, and the error.
    pub(super) fn rank<'a>(&'a mut self, hits: &'a Hits) -> Result<Ranked<'a>, (u64, String)> {
        let size = (hits.len() * 2).next_power_of_two().max(2);
        self.table.clear();
        self.table.resize(size, 0);
        for at in 0..hits.len() {
            let slot = slot(&self.table, hits, hits.document(at));
            if self.table[slot] != 0 {
                let what = format!(
                    "the document {} is there twice for one query",
                    super::quoted(hits.document(at))
                );
                return Err((hits.lines[at], what));
            }
            self.table[slot] = at as u32 + 1;
        }
        self.order.clear();
        self.order.extend(0..hits.len() as u32);
        let by_rank = |one: &u32, other: &u32| hits.order(*one as usize, *other as usize);
        if !self
            .order
            .is_sorted_by(|one, other| by_rank(one, other).is_lt())
        {
            self.order.sort_unstable_by(by_rank);
        }
        self.ranks.clear();
        self.ranks.resize(hits.len(), 0);
        for (rank, at) in (1..).zip(&self.order) {
            self.ranks[*at as usize] = rank;
        }
        Ok(Ranked { hits, desk: self })
    }
}

impl Ranked<'_> {
    /// The rank of a document, from 1.
    pub fn rank(&self, document: &[u8]) -> Option<u32> {
        let slot = slot(&self.desk.table, self.hits, document);
        let at = self.desk.table[slot].checked_sub(1)?;
        Some(self.desk.ranks[at as usize])
    }

    /// The first `most` documents in order, each with its score.
    pub fn top(&self, most: usize) -> impl Iterator<Item = (&[u8], f32)> {
        let places = self.desk.order.iter().take(most);
        places.map(|at| {
            let at = *at as usize;
            (self.hits.document(at), self.hits.scores[at])
        })
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.hits.len()
    }
}

/// The place of a document in the table, or the free one where it belongs. Half of the table is
/// always free.
fn slot(table: &[u32], hits: &Hits, document: &[u8]) -> usize {
    let mask = table.len() - 1;
    let mut slot = hash(document) as usize & mask;
    while let Some(at) = table[slot].checked_sub(1) {
        if hits.document(at as usize) == document {
            break;
        }
        slot = (slot + 1) & mask;
    }
    slot
}

/// Spreads short texts well and quickly; nothing but speed depends on it.
fn hash(text: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = text.len() as u64;
    for piece in text.chunks(8) {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        state = (state.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(ODD);
    }
    state ^ (state >> 29)
}
