//! The data on which the figures depend besides the records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EvidenceSettings;
use super::perturb::{self, Figure};
use super::record::VariantRecord;
use kelvin_record::Ending;
use kelvin_run::judge::Scorer;

/// What the figures depend on besides the records; a part of every report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Basis {
    /// Where the decision stands in the output.
    pub decision_field: String,
    /// The unit types that should govern the decision.
    pub governing_types: Vec<String>,
    /// How decisions were compared.
    pub scorer: String,
    /// How many cases there are in all, measured or not: variants also use units of cases that were not measured.
    pub cases: usize,
    /// The opt-in kinds of perturbation that were enabled, in the order of the registry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enabled: Vec<String>,
    /// The levels of an ordinal scorer, lowest first: shards are joined without the configuration,
    /// and decisions of different shards have to be compared then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Whether `drop` counts towards invariance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub count_drop: bool,
    /// Whether the noise floor was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub noise_floor: bool,
    /// Whether a judge was asked how far decisions in prose are apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
}

impl Basis {
    /// The basis that follows from the settings, their scorer and the number of cases.
    pub fn of(settings: &EvidenceSettings, scorer: &dyn Scorer, cases: usize) -> Self {
        Self {
            decision_field: settings.decision_field.as_str().to_owned(),
            governing_types: settings.governing_types.clone(),
            scorer: scorer.id(),
            cases,
            enabled: settings.perturbations.enable.clone(),
            levels: settings.scorer.levels(),
            count_drop: settings.perturbations.count_drop,
            noise_floor: settings.noise_floor.is_some(),
            asked: scorer.asked().is_some(),
        }
    }
}

impl Basis {
    /// The figure to which variants of a kind contribute; none if this version does not know the kind.
    pub(super) fn figure(&self, kind: &str) -> Option<Figure> {
        let figure = perturb::find(kind)?.figure;
        Some(match figure {
            Figure::Drop if self.count_drop => Figure::Invariance,
            figure => figure,
        })
    }

    /// Whether a variant contributes to invariance, because the decision should stay the same.
    pub(super) fn holds(&self, variant: &VariantRecord) -> bool {
        self.figure(&variant.kind) == Some(Figure::Invariance)
    }
}

/// The data that are needed to compute figures from records.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The data on which the figures depend besides the records.
    pub basis: &'a Basis,
    /// How the run ended.
    pub ending: Ending,
    /// Compares decisions again; without a scorer the distances in the records stay.
    pub scorer: Option<&'a dyn Scorer>,
}

impl<'a> Settings<'a> {
    /// The scorer, if it compares every answer to a variant with every answer to the case. A judge is asked only about
    /// pairs of the same repeat, since each pair is a call.
    pub(super) fn crossing(&self) -> Option<&'a dyn Scorer> {
        self.scorer.filter(|_| !self.basis.asked)
    }
}
