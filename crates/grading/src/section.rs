//! What a report stores of this probe, and the figures that are made of it.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::figures;
use super::record::{GradingBasis, PromptRecord};
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};
use kelvin_record::{AnySection, Findings, Item, Repeats, Section};

/// What a report stores of this probe.
pub type GradingSection = Section<GradingBasis, PromptRecord>;

impl Item for PromptRecord {
    fn digest(&self) -> Digest {
        self.input
    }

    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.samples.len())
    }

    fn has_answer(&self) -> bool {
        self.samples
            .iter()
            .any(|sample| sample.candidate.answer.is_some())
    }
}

/// A section of this probe.
pub(super) fn own(section: &dyn AnySection) -> &GradingSection {
    section
        .as_any()
        .downcast_ref::<GradingSection>()
        .expect("a kind is given sections of its own")
}

/// The figures of a section.
pub(super) fn findings(section: GradingSection, of_the_run: Vec<Notice>) -> Findings {
    Findings {
        metrics: figures(&section.basis, &section.items),
        notices: notices(&section.items),
        section: Box::new(section),
        of_the_run,
        compared: true,
    }
}

/// The samples without a score, by the reason of it.
fn notices(prompts: &BTreeMap<String, PromptRecord>) -> Vec<Notice> {
    let total: usize = prompts.values().map(|prompt| prompt.samples.len()).sum();
    let mut ids = BTreeSet::new();
    let mut errors = 0;
    for (id, prompt) in prompts {
        for _ in prompt.samples.iter().filter(|sample| sample.is_error()) {
            ids.insert(id.as_str());
            errors += 1;
        }
    }
    if errors == 0 {
        return Vec::new();
    }
    const MOST: usize = 20;
    let shown: Vec<&str> = ids.iter().copied().take(MOST).collect();
    let more = match ids.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "{errors} of {total} samples have no score and are in no mean: {}{more}",
        shown.join(", ")
    );
    vec![Notice::new(Code::Unscored, text).counts(total, total - errors)]
}
