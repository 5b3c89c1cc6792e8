//! The part of a page about a run of the evidence probe.

mod by_itself;
mod case;
mod cases;
mod diagnosis;
mod heat;
mod item;
mod method;
mod signals;
mod standing;
mod swaps;
mod tables;

use signals::Signals;
use std::collections::BTreeMap;
use std::path::Path;

use crate::{CaseRecord, Sample, labelled};
use kelvin_page::{Chapter, FailedInvocation, Headword, Phrase, band, counted};
use kelvin_record::{Ending, Metric};
use kelvin_run::folder_of;

pub(crate) use case::case_page;
pub use case::part;
pub(crate) use cases::Expectations;
pub use standing::Standing;

/// The data for a page of the evidence probe.
#[derive(Clone, Copy)]
pub struct EvidenceRun<'a> {
    /// Every figure of the run, by id.
    pub metrics: &'a BTreeMap<String, Metric>,
    /// Every case, by name.
    pub cases: &'a BTreeMap<String, CaseRecord>,
    /// How the run ended.
    pub ending: Ending,
    /// The unit types that should govern the decision.
    pub governing_types: &'a [String],
    /// Where the decision is in the output.
    pub decision_field: &'a str,
    /// How decisions were compared.
    pub scorer: &'a str,
    /// The seed of the perturbations.
    pub seed: u64,
}

impl EvidenceRun<'_> {
    /// Whether a judge compared the decisions, so that two answers in different words may mean the same.
    fn asks_a_judge(&self) -> bool {
        self.scorer.starts_with("judge/")
    }
}

/// The part of the page of a whole run about the evidence probe.
pub fn chapter<'a>(run: EvidenceRun<'a>) -> Chapter<'a> {
    let signals = Signals::of(&run);
    let variants = run.cases.values().map(|case| case.variants.len()).sum();
    let mut chapter = Chapter::new(headword(&run, &signals));
    chapter.scope = vec![
        counted(run.cases.len(), "case"),
        counted(variants, "variant"),
    ];
    chapter.scope.extend(labelled::label_count(run.cases));
    if run.cases.len() < 2 {
        chapter.no_interval = "no interval below two cases";
    }
    chapter.statements = diagnosis::diagnoses(&run);
    chapter.breakdowns = signals::breakdowns(&run);
    chapter.plane = signals::plane(&run, &signals);
    chapter.lists = cases::worst(&run).into_iter().collect();
    chapter.failed = failed(&run);
    chapter.tables = tables::figure_tables(&run);
    chapter.heat = heat::map(&run, &signals);
    chapter.items = Some(item::list(run));
    chapter.notices = run.cases.values().flat_map(|case| &case.notices).collect();
    let settings = Phrase::text("Decision ").name(run.decision_field);
    chapter.settings = Some(settings.and(format!(", seed {}", run.seed)));
    chapter.method = method::blocks(&run);
    chapter.facts = vec![
        ("Decision field", run.decision_field.to_owned()),
        ("Governing types", run.governing_types.join(", ")),
        ("Scorer", run.scorer.to_owned()),
        ("Seed", run.seed.to_string()),
    ];
    chapter.groups = signals.groups();
    chapter.signals = signals.shown();
    chapter
}

/// The headline of the run.
fn headword(run: &EvidenceRun<'_>, signals: &Signals<'_>) -> Headword {
    let unmeasured = |word, title, meaning| Headword {
        word,
        title,
        meaning,
        is_judgement: false,
    };
    let one_is_measured = signals.invariance.value.or(signals.sensitivity.value);
    match (signals.standing, run.ending) {
        (Some(standing), _) => Headword {
            word: standing.name(),
            title: standing.title(),
            meaning: standing.meaning(),
            is_judgement: true,
        },
        (None, Ending::DryRun) => {
            unmeasured("dry run", "Dry run", "inputs were written, nothing was run")
        }
        (None, _) if one_is_measured.is_some() => unmeasured(
            "not measured in full",
            "Half measured",
            "one of the two signals is missing",
        ),
        (None, _) => unmeasured(
            "not measured in full",
            "Not measured",
            "there is no figure to go by",
        ),
    }
}

/// Every failed invocation; within a case the baselines come first.
fn failed<'a>(run: &EvidenceRun<'a>) -> Vec<FailedInvocation<'a>> {
    fn of<'a>(
        item: &'a str,
        variant: Option<&'a str>,
        sample: &'a Sample,
    ) -> Option<FailedInvocation<'a>> {
        let failure = sample.failure.as_ref()?;
        Some(FailedInvocation {
            item,
            place: variant.unwrap_or("baseline"),
            failure,
            folder: Some(folder_of(Path::new(""), item, variant, 1)),
        })
    }
    let mut failed = Vec::new();
    for (name, case) in run.cases {
        let baselines = case.baseline.iter().chain(&case.replays);
        failed.extend(baselines.filter_map(|sample| of(name, None, sample)));
        for variant in &case.variants {
            let samples = variant.samples.iter();
            failed.extend(samples.filter_map(|sample| of(name, Some(&variant.id), sample)));
        }
    }
    failed
}

#[cfg(test)]
mod known_noise_tests;
#[cfg(test)]
mod known_truth_tests;
#[cfg(test)]
mod known_values_tests;

/// From this value on, invariance and following count as high.
pub const QUADRANT: f64 = 0.70;

/// The words for one of the two signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalWords {
    /// The decision stays the same while the governing evidence is the same.
    Invariance,
    /// The decision moves as the governing evidence requires.
    Following,
}

impl SignalWords {
    /// The words for the bands, best first.
    pub const fn words(self) -> [&'static str; 5] {
        match self {
            Self::Invariance => ["firm", "mostly firm", "wavering", "shaky", "erratic"],
            Self::Following => [
                "attentive",
                "mostly attentive",
                "half attentive",
                "inattentive",
                "unresponsive",
            ],
        }
    }

    /// The word for an unrounded value.
    pub fn word(self, value: f64) -> &'static str {
        self.words()[band(value)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_half_open_and_judge_unrounded_values() {
        let word = |value| SignalWords::Invariance.word(value);
        assert_eq!(word(0.9), "firm");
        assert_eq!(word(0.899_999_9), "mostly firm");
        assert_eq!(
            (word(0.7), word(0.5), word(0.3)),
            ("mostly firm", "wavering", "shaky")
        );
        assert_eq!(word(0.299_999), "erratic");
        assert_eq!(SignalWords::Following.word(1.0), "attentive");
        assert_eq!(SignalWords::Following.word(0.0), "unresponsive");
    }

    #[test]
    fn the_two_signals_share_no_word() {
        for word in SignalWords::Invariance.words() {
            assert!(!SignalWords::Following.words().contains(&word), "{word}");
        }
    }
}
