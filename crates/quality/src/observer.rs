//! Extracts the indicators of every invocation of the other probes, and stores them until they are needed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize as _;
use serde_json::Value;

use super::indicators::Expected;
use super::record::{QualityIndicators, QualityItem};
use kelvin_base::digest::Digest;
use kelvin_run::targets::Reply;
use kelvin_run::{OutputObserver, Task};

/// Examines the outputs when they are read, and stores the indicators.
pub(super) struct Indicators<'c> {
    expected: &'c Expected,
    kept: Mutex<BTreeMap<(&'static str, Task), KeptIndicators>>,
}

/// The kept values of one invocation.
struct KeptIndicators {
    input: Digest,
    indicators: QualityIndicators,
}

impl<'c> Indicators<'c> {
    /// The observer before any output.
    pub(super) fn of(expected: &'c Expected) -> Self {
        Self {
            expected,
            kept: Mutex::default(),
        }
    }

    /// The items observed so far, by case.
    pub(super) fn items(&self) -> BTreeMap<String, QualityItem> {
        let mut items: BTreeMap<String, QualityItem> = BTreeMap::new();
        // The tasks are ordered by case, variant and repeat.
        for ((probe, task), kept) in self.locked().iter() {
            let item = items.entry(task.case.to_string()).or_default();
            let case = item.probes.entry((*probe).to_owned()).or_default();
            let indicators = kept.indicators.clone();
            match &task.variant {
                None => {
                    case.input = Some(kept.input);
                    case.runs.push(indicators);
                }
                Some(variant) => {
                    let runs = case.variants.entry(variant.to_string()).or_default();
                    runs.push(indicators);
                }
            }
        }
        items
    }

    /// Every change is a single call, which a panic in another thread cannot have left incomplete.
    fn locked(&self) -> MutexGuard<'_, BTreeMap<(&'static str, Task), KeptIndicators>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputObserver for Indicators<'_> {
    fn digest(&self) -> Digest {
        self.expected.digest()
    }

    fn observe(&self, output: Option<&[u8]>, _: &Reply) -> Value {
        let indicators = self.expected.of(output);
        serde_json::to_value(&indicators).expect("indicators are JSON")
    }

    fn keep(&self, probe: &'static str, task: &Task, input: Digest, observed: &Value) {
        // A cache entry that was edited by hand may contain any value. An entry that cannot be read counts as an
        // unreadable output.
        let indicators = QualityIndicators::deserialize(observed);
        let indicators = indicators.unwrap_or_else(|_| self.expected.of(None));
        let kept = KeptIndicators { input, indicators };
        self.locked().insert((probe, task.clone()), kept);
    }
}
