//! How much of an expected passage the hits contain, however the documents were split into chunks.

use std::collections::BTreeSet;

use crate::{Hit, Span, SpanRule};

/// A hit contributes to a passage if it contains at least one part in this many of the passage, i.e. half of the
/// required half. The overlap with a neighbouring chunk, which most chunkers create, is smaller than that.
const CONTRIBUTES: u128 = 4;

/// A hit that is more than this many times as long as its passage is reported as oversized.
const OVERSIZED: f64 = 10.0;

/// A half-open range of a document.
type Range = (u64, u64);

/// A passage of a document that should be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    doc: String,
    /// The ranges, ascending and without overlap; at least one, and none of them empty.
    ranges: Vec<Range>,
}

/// How much the hits contain of a passage, if it is less than half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InPart {
    /// The rank of the first hit that the run's own labels expect, and that has at least half of its length in the
    /// passage or contains half of the passage.
    pub(super) confirmed: Option<u32>,
    /// The rank of the first hit that contains enough of the passage to include the answer.
    pub(super) possible: Option<u32>,
}

/// Where a passage was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PassagePlace {
    /// The rank of the first hit that contributes.
    pub(super) rank: u32,
    /// The rank at which at least half of the passage has been found.
    pub(super) held: u32,
    /// The hits that contribute and are many times as long as the passage: each by its rank and the factor.
    pub(super) oversized: Vec<(u32, f64)>,
}

/// The overlap of one hit with a passage.
struct HitOverlap {
    rank: u32,
    /// The ranges of the passage that the hit contains.
    common: Vec<Range>,
    /// The length of the hit in the document of the passage.
    length: u128,
}

impl Passage {
    /// The passage that consists of these spans; none if they are empty.
    pub(super) fn new(doc: &str, spans: &[Range]) -> Option<Self> {
        let ranges = united(spans.to_vec());
        (!ranges.is_empty()).then(|| Self {
            doc: doc.to_owned(),
            ranges,
        })
    }

    /// The document.
    pub(super) fn doc(&self) -> &str {
        &self.doc
    }

    /// Finds where the hits contain at least half of the passage; none if they contain less.
    pub(super) fn find(&self, hits: &[Hit], rule: SpanRule) -> Option<PassagePlace> {
        let parts = (1..).zip(hits).map(|(rank, hit)| self.part(rank, hit));
        let parts: Vec<HitOverlap> = parts.filter(|part| !part.common.is_empty()).collect();
        match rule {
            SpanRule::HalfOfExpected => {
                let part = parts.iter().find(|part| self.is_half(&part.common))?;
                Some(PassagePlace {
                    rank: part.rank,
                    held: part.rank,
                    oversized: self.oversized(std::slice::from_ref(part)),
                })
            }
            SpanRule::HalfTogether => self.together(&parts),
        }
    }

    /// How much the hits contain of a passage that is only known as a chunk: the answer is somewhere in it. `own`: the
    /// chunks that the labels of this run expect.
    pub(super) fn in_part(&self, hits: &[Hit], own: &BTreeSet<String>) -> InPart {
        let mut found = InPart::default();
        for (rank, hit) in (1..).zip(hits) {
            let part = self.part(rank, hit);
            let common = length(&part.common);
            if common == 0 {
                continue;
            }
            let is_own = hit.chunk_id.as_ref().is_some_and(|id| own.contains(id));
            if is_own && 2 * common >= part.length.min(length(&self.ranges)) {
                found.confirmed.get_or_insert(rank);
            }
            if is_own || self.contributes(&part) {
                found.possible.get_or_insert(rank);
            }
        }
        found
    }

    fn together(&self, parts: &[HitOverlap]) -> Option<PassagePlace> {
        let mut seen: Vec<Range> = Vec::new();
        let last = parts.iter().position(|part| {
            seen = united([seen.as_slice(), &part.common].concat());
            self.is_half(&seen)
        })?;
        let parts = &parts[..=last];
        let held = parts[last].rank;
        let first = parts.iter().find(|part| self.contributes(part));
        Some(PassagePlace {
            // Pieces that are each too small to contribute count together.
            rank: first.map_or(held, |part| part.rank),
            held,
            oversized: self.oversized(parts),
        })
    }

    fn part(&self, rank: u32, hit: &Hit) -> HitOverlap {
        let is_here = |span: &&Span| match span.doc_id.as_str() {
            "" => hit.doc_id == self.doc,
            doc => doc == self.doc,
        };
        let own: Vec<Range> = hit
            .spans
            .iter()
            .filter(is_here)
            .map(|span| (span.start, span.end))
            .collect();
        let own = united(own);
        let common = own
            .iter()
            .flat_map(|(start, end)| {
                let within = move |range: &Range| (range.0.max(*start), range.1.min(*end));
                self.ranges.iter().map(within)
            })
            .collect();
        HitOverlap {
            rank,
            common: united(common),
            length: length(&own),
        }
    }

    fn is_half(&self, common: &[Range]) -> bool {
        2 * length(common) >= length(&self.ranges)
    }

    /// Whether a hit belongs to the passage: it contains a quarter of the passage, or at least half of the hit is in
    /// the passage, as for the pieces of a finer chunker.
    fn contributes(&self, part: &HitOverlap) -> bool {
        let common = length(&part.common);
        CONTRIBUTES * common >= length(&self.ranges) || 2 * common >= part.length
    }

    fn oversized(&self, parts: &[HitOverlap]) -> Vec<(u32, f64)> {
        let times = |part: &HitOverlap| part.length as f64 / length(&self.ranges) as f64;
        parts
            .iter()
            .filter(|part| self.contributes(part))
            .map(|part| (part.rank, times(part)))
            .filter(|(_, times)| *times > OVERSIZED)
            .collect()
    }
}

/// The given ranges, sorted and joined where they overlap, so that nothing is counted twice.
fn united(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.retain(|(start, end)| start < end);
    ranges.sort_unstable();
    let mut all: Vec<Range> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match all.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => all.push((start, end)),
        }
    }
    all
}

/// The total length of ranges without overlap.
fn length(ranges: &[Range]) -> u128 {
    ranges
        .iter()
        .map(|(start, end)| u128::from(end - start))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hit(doc: &str, spans: &[Range]) -> Hit {
        Hit {
            chunk_id: None,
            doc_id: doc.to_owned(),
            title: None,
            score: None,
            spans: spans
                .iter()
                .map(|(start, end)| Span {
                    doc_id: String::new(),
                    start: *start,
                    end: *end,
                })
                .collect(),
        }
    }

    fn hits(spans: &[Range]) -> Vec<Hit> {
        spans.iter().map(|span| hit("d", &[*span])).collect()
    }

    fn passage(start: u64, end: u64) -> Passage {
        Passage::new("d", &[(start, end)]).expect("not empty")
    }

    fn found(spans: &[Range]) -> Option<(u32, u32)> {
        let place = passage(0, 300).find(&hits(spans), SpanRule::HalfTogether)?;
        Some((place.rank, place.held))
    }

    #[test]
    fn the_rank_is_that_of_the_first_hit_and_half_must_have_been_seen() {
        assert_eq!(found(&[(0, 100), (100, 200), (200, 300)]), Some((1, 2)));
        assert_eq!(
            found(&[(900, 999), (200, 300), (900, 999), (0, 50)]),
            Some((2, 4))
        );
        assert_eq!(found(&[(0, 149)]), None);
        assert_eq!(found(&[(150, 400)]), Some((1, 1)));
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn the_edge_of_a_neighbour_at_the_top_is_not_the_passage() {
        // A fifth of the passage, and four fifths of another.
        assert_eq!(found(&[(240, 540), (900, 999), (0, 300)]), Some((3, 3)));
        // A quarter of it counts.
        assert_eq!(found(&[(225, 525), (900, 999), (0, 300)]), Some((1, 3)));
    }

    #[test]
    fn another_document_has_nothing_of_the_passage() {
        let others = [hit("e", &[(0, 300)])];
        assert_eq!(passage(0, 300).find(&others, SpanRule::HalfTogether), None);
        // A hit may have spans of several documents.
        let mut both = hit("e", &[(0, 300)]);
        both.spans[0].doc_id = "d".to_owned();
        let place = passage(0, 300).find(&[both], SpanRule::HalfTogether);
        assert_eq!(place.map(|place| place.rank), Some(1));
    }

    #[test]
    fn a_part_is_confirmed_by_a_label_that_lies_in_the_passage_for_half_of_its_length() {
        let named = |spans: &[Range], own: &[&str]| {
            let mut hits = hits(spans);
            for (at, hit) in hits.iter_mut().enumerate() {
                hit.chunk_id = Some(format!("c{}", at + 1));
            }
            let own = own.iter().map(|id| (*id).to_owned()).collect();
            passage(0, 800).in_part(&hits, &own)
        };
        let part = |confirmed, possible| InPart {
            confirmed,
            possible,
        };
        // A piece of a finer chunker, which the labels name or do not.
        assert_eq!(
            named(&[(900, 999), (200, 400)], &["c2"]),
            part(Some(2), Some(2))
        );
        assert_eq!(
            named(&[(900, 999), (200, 400)], &["c1"]),
            part(None, Some(2))
        );
        // A label that reaches into the passage with less than a half of its length.
        assert_eq!(named(&[(700, 1_200)], &["c1"]), part(None, Some(1)));
        // The edge of a neighbour that nothing names, and a hit elsewhere that is named.
        assert_eq!(named(&[(700, 1_200)], &[]), part(None, None));
        assert_eq!(named(&[(800, 1_200)], &["c1"]), part(None, None));
    }

    #[test]
    fn the_rule_of_the_seed_wants_half_in_one_hit() {
        let rule = SpanRule::HalfOfExpected;
        let tiles = hits(&[(0, 100), (100, 200), (200, 300)]);
        assert_eq!(passage(0, 300).find(&tiles, rule), None);
        let later = hits(&[(0, 100), (150, 400)]);
        let place = passage(0, 300).find(&later, rule).expect("found");
        assert_eq!((place.rank, place.held), (2, 2));
        let twice = [hit("d", &[(0, 100), (0, 100)])];
        assert_eq!(passage(0, 300).find(&twice, rule), None, "counted once");
    }

    #[test]
    fn a_hit_of_more_than_ten_times_the_passage_is_named() {
        let oversized = |end| {
            let place = passage(0, 300).find(&hits(&[(0, end)]), SpanRule::HalfTogether);
            place.expect("found").oversized
        };
        assert_eq!(oversized(3_000), []);
        assert_eq!(oversized(6_000), [(1, 20.0)]);
    }

    #[test]
    fn ranges_up_to_the_largest_number_are_counted_without_overflow() {
        let all = passage(0, u64::MAX);
        let half = hits(&[(0, u64::MAX / 2 + 1)]);
        assert!(all.find(&half, SpanRule::HalfTogether).is_some());
        let less = hits(&[(0, u64::MAX / 2)]);
        assert!(all.find(&less, SpanRule::HalfTogether).is_none());
    }

    fn spans() -> impl Strategy<Value = Vec<Range>> {
        let span = (0_u64..60, 0_u64..30).prop_map(|(start, length)| (start, start + length));
        prop::collection::vec(span, 0..12)
    }

    proptest! {
        #[test]
        fn a_union_has_every_place_once(spans in spans()) {
            let places: BTreeSet<u64> = spans.iter().flat_map(|(start, end)| *start..*end).collect();
            let all = united(spans);
            prop_assert_eq!(length(&all), places.len() as u128);
            prop_assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }

        #[test]
        fn a_passage_is_found_where_its_places_say_so(
            expected in spans(),
            seen in prop::collection::vec(spans(), 0..6),
        ) {
            let Some(passage) = Passage::new("d", &expected) else { return Ok(()) };
            let places = |spans: &[Range]| -> BTreeSet<u64> {
                spans.iter().flat_map(|(start, end)| *start..*end).collect()
            };
            let wanted = places(&expected);
            let all: Vec<Hit> = seen.iter().map(|spans| hit("d", spans)).collect();
            let found = passage.find(&all, SpanRule::HalfTogether);
            let mut so_far = BTreeSet::new();
            let held = seen.iter().position(|spans| {
                so_far.extend(places(spans).intersection(&wanted).copied());
                2 * so_far.len() >= wanted.len()
            });
            prop_assert_eq!(found.as_ref().map(|place| place.held as usize), held.map(|at| at + 1));
            prop_assert!(found.is_none_or(|place| place.rank <= place.held));
        }

        #[test]
        fn smaller_chunks_in_order_at_the_same_ranks_never_rank_lower(
            before in 0_usize..4,
            cuts in prop::collection::btree_set(1_u64..300, 0..40),
        ) {
            let others = vec![(1_000, 1_300); before];
            let whole = hits(&[others.as_slice(), &[(0, 300)]].concat());
            let ends: Vec<u64> = std::iter::once(0).chain(cuts).chain([300]).collect();
            let tiles: Vec<Range> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
            let tiled = hits(&[others.as_slice(), &tiles].concat());
            let rank = |hits: &[Hit]| {
                let place = passage(0, 300).find(hits, SpanRule::HalfTogether);
                place.expect("all of it is there").rank
            };
            prop_assert_eq!(rank(&tiled), rank(&whole));
        }

        #[test]
        fn chunks_that_repeat_less_than_half_never_find_the_passage(
            starts in prop::collection::vec(0_u64..140, 1..50),
        ) {
            let spans: Vec<Range> = starts.iter().map(|start| (*start, start + 9)).collect();
            prop_assert_eq!(found(&spans), None);
        }
    }
}
