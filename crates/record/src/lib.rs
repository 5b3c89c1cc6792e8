//! The results of probes that the gate judges: sections with their items, metrics, answers, and the kinds that
//! interpret them. This is the contract between measuring and comparing code; it has no side effects.

mod aligned;
mod answered;
pub mod approval;
mod beside;
mod comparisons;
mod ending;
mod findings;
mod kept;
pub mod kinds;
mod metric;
mod nouns;
mod repeats;
mod scored;
mod section;
mod sections;
pub mod settings;
mod shard;
mod shared;

pub use aligned::{
    AlignedSection, AlignedSections, AlignmentWarning, ComparisonForm, ItemComparison,
    Surroundings, UnfinishedRun, Viewpoint,
};
pub use answered::{
    Answer, AnsweredInput, AnsweredItem, AnsweredSwap, Conduct, ExpectedHit, Flip, Ought,
    RankedHit, RankedHits, SectionAnswers,
};
pub use beside::{FIELDS_BESIDE, TURN, has_words};
pub use comparisons::ItemComparisons;
pub use ending::{ComparedSide, Ending};
pub use findings::{Findings, RunView, SettingDiffers};
pub use kept::{KeptText, KeptTexts, is_withheld, withheld};
pub use kinds::{JsonFields, Kinds, SectionKind, metric_name};
pub use metric::{
    CaseValue, Cell, Cells, Crosses, Direction, Interval, Metric, Pairs, Range, Unit, estimate,
    family, probe_of, spread,
};
pub use nouns::Nouns;
pub use repeats::{
    JudgeTrialCost, ListedVariant, Listing, RUNS_OF_THE_SUITE, Repeats, Wanted, WantedRepeats,
};
pub use scored::{CheckSaid, GradedPair, RivalAnswers, ScoredInvocation};
pub use section::{
    AnySection, ComparedItem, ComparedItems, Glance, Item, ItemPlace, Section, SectionFingerprint,
    SectionForm, StoredInput, VariantPart,
};
pub use sections::{Sections, StoredSections};
pub use shard::Shard;
pub use shared::{SharedMap, fitted};
