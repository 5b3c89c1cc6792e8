//! How often the decision moves although the evidence is the same: because of noise, or, if no input was run twice,
//! because of noise or presentation.

use super::EvidenceRun;
use super::swaps::SwapCounts;
use crate::perturb::Relation;
use crate::{CaseRecord, Sample};
use kelvin_page::counted;

/// A count that is this many standard deviations above the expected one is not due to chance.
const SURE: f64 = 2.0;

/// If at least this many answers to the same evidence are all equal, the decision does not move by itself.
const ENOUGH: usize = 20;

/// How often the same evidence got the same or another answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByItself {
    /// Repeated answers to the unperturbed inputs, and how many of them differ from the first answer to the same input.
    repeated: usize,
    repeated_otherwise: usize,
    /// The number of cases in which the same evidence got different answers.
    cases: usize,
    /// Answers to the same evidence in another presentation, and how many of them differ.
    presented: usize,
    presented_moved: usize,
}

impl ByItself {
    pub(super) fn of(run: &EvidenceRun<'_>) -> Self {
        let mut all = Self::default();
        for case in run.cases.values() {
            let otherwise = all.repeated_otherwise;
            all.repeats(case);
            all.cases += usize::from(all.repeated_otherwise > otherwise);
            let variants = case.variants.iter();
            let variants = variants.filter(|variant| variant.relation == Relation::Invariance);
            let distances = variants.flat_map(|one| one.samples.iter().filter_map(|s| s.distance));
            for distance in distances {
                all.presented += 1;
                all.presented_moved += usize::from(distance > 0.0);
            }
        }
        all
    }

    fn repeats(&mut self, case: &CaseRecord) {
        let samples = case.baseline.iter().chain(&case.replays);
        let mut decisions = samples.filter_map(|sample: &Sample| sample.decision.as_ref());
        let Some(first) = decisions.next() else {
            return;
        };
        for other in decisions {
            self.repeated += 1;
            self.repeated_otherwise += usize::from(other != first);
        }
    }

    /// How often the decision moves by itself. Unless there are many answers and all are equal, one additional answer
    /// is counted as half moved: a few equal answers do not prove that the decision never moves.
    fn share(self) -> f64 {
        let (moved, all) = match self.repeated {
            0 => (self.presented_moved, self.presented),
            all => (self.repeated_otherwise, all),
        };
        match moved {
            0 if all >= ENOUGH => 0.0,
            moved => (moved as f64 + 0.5) / (all as f64 + 1.0),
        }
    }

    /// Whether swaps moved the decision more often than it moves by itself.
    pub(super) fn is_surpassed_by(self, swaps: &SwapCounts) -> bool {
        let (share, samples) = (self.share(), swaps.samples as f64);
        let spread = (samples * share * (1.0 - share)).sqrt();
        swaps.moved as f64 > samples * share + SURE * spread
    }

    /// Whether hardly anything tells how often the decision moves by itself: no input was run twice, and few were
    /// presented in another way.
    pub(super) const fn is_unknown(self) -> bool {
        self.is_open() && self.presented < ENOUGH
    }

    /// A clause with the evidence that the decision changes without a cause; without such evidence, the clause says
    /// that it may.
    pub(super) fn sentence(self) -> String {
        if self.repeated_otherwise > 0 {
            return format!(
                "the decision varies by itself: the same input was answered differently in {}",
                counted(self.cases, "case")
            );
        }
        match self.presented_moved {
            0 => "the decision may vary by itself".to_owned(),
            moved => format!(
                "the decision may vary by itself: it moved in {moved} of {} that hold the same evidence",
                counted(self.presented, "variant")
            ),
        }
    }

    /// Whether no input was run twice, so that nobody knows how much is noise.
    pub(super) const fn is_open(self) -> bool {
        self.repeated == 0
    }
}
