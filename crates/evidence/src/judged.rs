//! Asks the judge of the scorer about decisions in prose, each pair once, and stores its scores.
//!
//! The distances are stored in the records. Everything that is computed from the records later (figures of a stored
//! report, of joined shards, of a comparison) uses these distances, and no judge is asked again.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::following;
use crate::CaseRecord;
use kelvin_base::notice::{Code, Notice};
use kelvin_run::judge::{AskedJudge, Known, Pair, Scorer, Ungraded};
use kelvin_run::{Runner, Task, judging};

/// The answers of a judge, and the runners for asking it.
pub(super) struct JudgedPairs<'a> {
    scorer: &'a dyn Scorer,
    asked: &'a AskedJudge,
    runners: &'a [Runner<'a>],
    scores: BTreeMap<Pair, f64>,
    /// The pairs without a score, each with the reason.
    unscored: BTreeMap<Pair, Ungraded>,
}

impl<'a> JudgedPairs<'a> {
    /// Starts without any pair. None for a scorer that asks no judge.
    pub(super) fn begin(scorer: &'a dyn Scorer, runners: &'a [Runner<'a>]) -> Option<Self> {
        Some(Self {
            scorer,
            asked: scorer.asked()?,
            runners,
            scores: BTreeMap::new(),
            unscored: BTreeMap::new(),
        })
    }

    /// Asks about every pair of these records that was not asked about before. Pairs that contribute to no figure are
    /// left out: two runs of the same input count only if a noise floor is measured. Fails if the run cannot continue.
    pub(super) fn ask(
        &mut self,
        cases: &BTreeMap<String, CaseRecord>,
        noise_floor: bool,
    ) -> anyhow::Result<()> {
        let mut seen = BTreeSet::new();
        let mut items: Vec<(Task, Pair)> = Vec::new();
        for (name, case) in cases {
            for (place, pair) in pairs(cases, case, noise_floor) {
                let is_known = self.scores.contains_key(&pair) || self.unscored.contains_key(&pair);
                if is_known || !seen.insert(pair.clone()) {
                    continue;
                }
                let task = Task {
                    case: name.as_str().into(),
                    variant: Some(place.into()),
                    repeat: 1,
                };
                items.push((task, pair));
            }
        }
        let exhibits: Vec<_> = items
            .iter()
            .map(|(task, pair)| (task.clone(), AskedJudge::exhibit(pair)))
            .collect();
        let graded = judging::grade_all(self.asked.judge(), self.runners, &exhibits)?;
        for ((_, pair), graded) in items.into_iter().zip(graded) {
            match graded.grade {
                Ok(grade) => drop(self.scores.insert(pair, grade.score())),
                Err(ungraded) => drop(self.unscored.insert(pair, ungraded)),
            }
        }
        Ok(())
    }

    /// Whether the judge was stopped before all questions were asked.
    pub(super) fn stopped(&self) -> bool {
        self.runners.iter().any(Runner::stopped)
    }

    /// The scorer with the scores that its judge has given.
    pub(super) fn known(&self) -> Known<'_> {
        Known {
            scorer: self.scorer,
            scores: &self.scores,
        }
    }

    /// Records in each case which of its pairs are unscored.
    pub(super) fn note_unscored(
        &self,
        cases: &mut BTreeMap<String, CaseRecord>,
        noise_floor: bool,
    ) {
        let of_cases: Vec<BTreeSet<Pair>> = cases
            .values()
            .map(|case| {
                let pairs = pairs(cases, case, noise_floor).into_iter();
                pairs.map(|(_, pair)| pair).collect()
            })
            .collect();
        for ((name, case), pairs) in cases.iter_mut().zip(of_cases) {
            let mut without = pairs.iter().filter_map(|pair| self.unscored.get(pair));
            let Some(first) = without.next() else {
                continue;
            };
            let count = 1 + without.count();
            let text = format!(
                "the judge gave no score for {count} of {} pairs of decisions, which are in no \
                 figure: {first}",
                pairs.len()
            );
            let notice = Notice::new(Code::Unscored, text).case(name);
            case.notices
                .push(notice.counts(pairs.len(), pairs.len() - count));
        }
    }
}

/// The pairs of a case, each with a name that no other pair of the case has.
fn pairs(
    cases: &BTreeMap<String, CaseRecord>,
    case: &CaseRecord,
    noise_floor: bool,
) -> Vec<(String, Pair)> {
    let mut pairs = Vec::new();
    let mut put = |name: String, one: &Option<Value>, other: &Option<Value>| {
        if let (Some(one), Some(other)) = (one, other)
            && let Some(pair) = AskedJudge::question(one, other)
        {
            pairs.push((name, pair));
        }
    };
    for variant in &case.variants {
        let samples = variant.samples.iter().zip(&case.baseline).enumerate();
        for (at, (sample, before)) in samples {
            let name = match at {
                0 => variant.id.to_string(),
                at => format!("{}-{}", variant.id, at + 1),
            };
            put(name, &before.decision, &sample.decision);
        }
    }
    let mut repeats: BTreeMap<&str, usize> = BTreeMap::new();
    for (variant, own, other) in following::pairs_with_donors(cases, case) {
        let repeat = repeats.entry(&*variant.id).or_default();
        *repeat += 1;
        let name = format!("{}-donor-{repeat}", variant.id);
        put(name, &Some(own.clone()), &Some(other.clone()));
    }
    if noise_floor {
        let runs: Vec<_> = case.baseline.iter().chain(&case.replays).collect();
        for (at, one) in runs.iter().enumerate() {
            for (further, other) in runs[at + 1..].iter().enumerate() {
                let name = format!("baseline-{}-{}", at + 1, at + further + 2);
                put(name, &one.decision, &other.decision);
            }
        }
    }
    pairs
}
