//! Probes run the system under test, each in its own way, and hand back metrics. Nothing to the
//! right of here knows which probe a metric came from.

mod aligned;
mod answer;
mod answered;
mod cells;
pub(crate) mod checks;
mod chosen;
mod compared;
mod comparisons;
mod configured;
mod estimate;
pub(crate) mod evidence;
mod findings;
mod flip;
mod graded;
pub(crate) mod grading;
mod kind;
mod listing;
mod metric;
pub(crate) mod quality;
pub(crate) mod registry;
mod repeated;
mod repeats;
mod rescoring;
pub(crate) mod retrieval;
mod scored;
mod section;
mod sections;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use crate::page::display;
pub(crate) use aligned::{
    AlignedSection, AlignedSections, AlignmentWarning, ItemComparison, Surroundings, Viewpoint,
};
pub(crate) use answer::DecisionField;
pub(crate) use answered::{Answer, Answered, AnsweredInput, AnsweredItem, AnsweredSwap};
pub(crate) use cells::{Cell, Cells, Pairs};
pub(crate) use chosen::ChosenItems;
pub(crate) use compared::{ComparedItem, ComparedItems, VariantPart};
pub(crate) use comparisons::ItemComparisons;
pub(crate) use configured::{configured, configured_by, schema};
pub(crate) use estimate::{estimate, family, spread};
pub(crate) use evidence::cases::{NewUnit, compose};
pub(crate) use evidence::{CaseRecord, Sample, SwapRecord, UnitRecord, VariantRecord};
pub(crate) use findings::{Findings, RunView, SettingDiffers};
pub(crate) use flip::{Flip, Ought};
pub(crate) use graded::GradedPair;
pub(crate) use kind::{Items, JsonFields, Kind, Planned, Probe, Rejudging};
pub(crate) use listing::{Forecast, ListedVariant, Listing};
pub(crate) use metric::{CaseValue, Crosses, Direction, Interval, Metric, Range, Unit, probe_of};
pub(crate) use quality::{
    Band, POOR_BELOW, ScoredTrace, score_of_step, score_of_trace, scored_traces,
};
pub(crate) use repeated::RepeatedItems;
pub(crate) use repeats::{Repeats, Wanted, WantedRepeats};
pub(crate) use rescoring::Rescoring;
pub(crate) use retrieval::{EvalRequest, evaluate};
pub(crate) use scored::{CheckSaid, ScoredInvocation};
pub(crate) use section::{AnySection, Item, ItemPlace, Section, SectionFingerprint, StoredInput};
pub(crate) use sections::Sections;

/// A side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ComparedSide {
    /// What the change is compared with.
    Base,
    /// The change.
    Head,
}

impl fmt::Display for ComparedSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Head => "head",
        })
    }
}

/// Whether a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// Every invocation was made.
    Complete,
    /// A signal, or a person who was asked, stopped it; what had finished is reported.
    Interrupted,
    /// Inputs were written and nothing was run.
    DryRun,
    /// Every baseline invocation failed.
    Failed,
    /// The code of the pipeline changed while it ran: which code gave which answer is not known.
    Changed,
}

#[cfg(test)]
mod tests;
