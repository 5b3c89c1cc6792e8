//! `pad_content`: units of other cases come in, as evidence about something else.

use super::pads::{ATTEMPTS, FEWEST, MOST, scatter};
use super::{Draft, Figure, Perturbation, PerturbedCase, Piece, Proposal};
use kelvin_base::digest::Digest;
use kelvin_base::draw::Draw;
use kelvin_base::notice::{Code, Notice};

/// Adds units of other cases.
pub(super) struct PadContent;

impl Perturbation for PadContent {
    fn name(&self) -> &'static str {
        "pad_content"
    }

    fn describe(&self) -> &'static str {
        "2 to 4 units of other cases come in at random places; the units keep their order"
    }

    fn figure(&self) -> Figure {
        Figure::Invariance
    }

    fn is_default(&self) -> bool {
        true
    }

    fn propose(&self, subject: &PerturbedCase<'_>) -> Proposal {
        let mut proposal = Proposal::default();
        let case = subject.case();
        let wanted = subject.settings.perturbations.variants.pad_content;
        let ring = &subject.peers.padding;
        if wanted == 0 {
            return proposal;
        }
        let mut own: Vec<Digest> = case.units.iter().map(|unit| unit.content).collect();
        own.sort_unstable();
        own.dedup();
        let pool = ring.besides(own.iter(), MOST);
        if pool < FEWEST {
            let reason = if subject.corpus.cases.len() < 2 {
                "this is the only case".to_owned()
            } else if pool == 0 {
                "the other cases have no unit that can come in".to_owned()
            } else {
                "the other cases have only 1 unit that can come in, and 2 are needed".to_owned()
            };
            let reason = if subject.settings.keep_order.is_empty() {
                reason
            } else {
                reason + "; no unit of a type in `keep_order` comes into another case"
            };
            proposal
                .notices
                .push(Notice::new(Code::Skip, reason).counts(wanted, 0));
            return proposal;
        }
        if pool < MOST {
            let text = format!(
                "at most {pool} units come in, not {MOST}: the other cases have no more that can"
            );
            proposal
                .notices
                .push(Notice::new(Code::Cap, text).counts(MOST, pool));
        }
        for number in 1..=wanted {
            let key = subject.key(self.name(), number);
            let mut draw = Draw::of(key);
            let mut choose = |attempt| {
                let count = draw.between(FEWEST, MOST).min(pool);
                let added = chosen(subject, &own, key, attempt, count);
                scatter(subject, added, &mut draw)
            };
            let mut pieces = choose(0);
            for attempt in 1..ATTEMPTS {
                if proposal.drafts.iter().all(|draft| draft.pieces != pieces) {
                    break;
                }
                pieces = choose(attempt);
            }
            proposal.drafts.push(Draft {
                unit_type: None,
                pieces,
                detail: Vec::new(),
            });
        }
        proposal
    }
}

/// Draws units whose contents differ from each other and from those of the case.
fn chosen(
    subject: &PerturbedCase<'_>,
    own: &[Digest],
    key: Digest,
    attempt: usize,
    count: usize,
) -> Vec<Piece> {
    let ring = &subject.peers.padding;
    let mut taken: Vec<Digest> = Vec::with_capacity(count);
    let mut added = Vec::with_capacity(count);
    for nth in 0..count {
        let drawn = ring.draw(key, attempt * MOST + nth, |content| {
            own.binary_search(content).is_err() && !taken.contains(content)
        });
        if let Some((content, place)) = drawn {
            taken.push(*content);
            added.push(Piece::Peer(*place));
        }
    }
    added
}
