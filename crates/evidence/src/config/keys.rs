//! The keys of this probe in `kelvin.yaml`, as written; the JSON schema is made from these types.

use std::collections::BTreeMap;

use kelvin_run::judge::Choice;
use kelvin_run::targets::Address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization as _;

/// The required keys of this probe.
pub(super) const REQUIRED: [&str; 4] = ["run", "cases", "decision_field", "governing_types"];

/// The required keys that no other probe has.
pub(super) const OWN: [&str; 2] = ["decision_field", "governing_types"];

/// All keys of this probe, which stand at the top level.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct EvidenceKeys {
    /// The command that runs the pipeline once, with the placeholders `{input}` and `{output}`. For `invariants` both
    /// may be left out, and `{workspace}` is a further placeholder.
    #[serde(default, skip_serializing_if = "Address::is_empty")]
    pub run: Address,
    /// The folder of the cases, one Markdown file each, or a glob such as `cases/**/*.md`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub cases: String,
    /// How records are read as cases, if `cases` names a file that ends in `.jsonl`, `.ndjson`, `.json`, `.csv` or
    /// `.tsv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<RecordKeys>,
    /// The key of the decision in the output, or a JSON pointer such as `/result/decision`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub decision_field: String,
    /// The types of the units that should govern the decision, e.g. `gate_rule` or `Gate Rule`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub governing_types: Vec<String>,
    /// The types of the units that keep the order in which they stand, such as the turns of a chat. From the first unit
    /// of such a type on every unit keeps its place, and inserted units stand before that unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_order: Vec<String>,
    /// How many variants per case the default kinds of perturbation aim for.
    #[serde(default)]
    pub variants: Counts,
    /// Perturbations that are made on request only.
    #[serde(default)]
    pub perturbations: OnRequest,
    /// Whether `pad_content` may insert units of a governing type.
    #[serde(default)]
    pub pad_include_governing: bool,
    /// A YAML file with your own neutral sections for `pad_length`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub filler: Option<String>,
    /// Perturbation packs: names of packs that ship with Kelvin, or folders of your own.
    #[serde(default)]
    pub packs: Vec<String>,
    /// Replays of the baselines that measure how much the pipeline varies by itself.
    #[serde(default)]
    pub noise_floor: NoiseFloor,
    /// How two decisions are compared: `exact`, `set`, ordered levels, or by a model if they are prose.
    #[serde(default)]
    pub scorer: Choice,
}

/// How records are read as cases, if `cases` names a file that ends in `.jsonl`, `.ndjson`, `.json`, `.csv` or `.tsv`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RecordKeys {
    /// The field with the name of the case. Without it: `id`, and if no record has that, the number of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub id: Option<String>,
    /// The field with the label of the case, which the pipeline is not given. Without it: `expected`, if a record has
    /// that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub expected: Option<String>,
    /// The array of the turns of a conversation: a field or a JSON pointer. The pipeline gets each turn as an input of its
    /// own, and its answer to the last one has the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "UnitSource")]
    pub turns: Option<UnitSource>,
    /// The units: for each type the field with the text, or a JSON pointer such as `/customer/history/*`. Each element
    /// of an array is one unit. Without it: every text and every array of texts at the top of a record, by its name.
    /// With `turns` these are places in a turn.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, UnitSource>,
}

/// Where the units of a type stand in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum UnitSource {
    /// The place alone.
    Place(#[schemars(length(min = 1))] String),
    /// The place, and whether the units there may change their order.
    Declared(DeclaredUnits),
}

impl UnitSource {
    /// The place, and whether its units may be moved.
    pub(super) fn parts(self) -> (String, bool) {
        match self {
            Self::Place(place) => (place, false),
            Self::Declared(declared) => (declared.place, declared.reorder),
        }
    }
}

/// Where the units of a type stand in a record, and whether they may change their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeclaredUnits {
    /// The field, or a JSON pointer such as `/messages/*/content`.
    #[serde(rename = "at")]
    #[schemars(length(min = 1))]
    pub place: String,
    /// Whether the messages or the turns of a conversation may change places.
    #[serde(default)]
    pub reorder: bool,
}

/// How many variants per case the default kinds aim for; 0 turns a kind off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Counts {
    /// Variants with the units in another order.
    #[schemars(range(max = 1000))]
    pub reorder: usize,
    /// Variants with inserted neutral sections.
    #[schemars(range(max = 1000))]
    pub pad_length: usize,
    /// Variants with inserted units of other cases.
    #[schemars(range(max = 1000))]
    pub pad_content: usize,
    /// Governing units exchanged for those of other cases, per type; `all` makes every exchange.
    pub swap: SwapCount,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            reorder: 3,
            pad_length: 3,
            pad_content: 3,
            swap: SwapCount::UpTo(3),
        }
    }
}

/// How many swaps per governing type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SwapCount {
    /// Up to this many.
    UpTo(#[schemars(range(max = 1000))] usize),
    /// One for every pair of a unit and a peer.
    Every(AllPairs),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllPairs {
    /// All of them.
    All,
}

/// Perturbations that are made on request only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OnRequest {
    /// The kinds to add to the default ones.
    pub enable: Vec<OptIn>,
    /// Whether variants of `drop` count towards invariance.
    pub count_drop: bool,
}

/// The kinds of perturbation that are made on request only, in the order of the reports.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(
    missing_docs,
    reason = "a sentence at a word would be one in the schema, which lists the words alone"
)]
pub enum OptIn {
    SwapCondition,
    NumericMagnitude,
    ComparatorFlip,
    PolarityFlip,
    WhitespaceJitter,
    PunctuationNormalize,
    BulletReformat,
    NonGoverningDuplication,
    HedgeInjection,
    PolitenessInjection,
    DiscourseMarkerInjection,
    MetaCommentaryInjection,
    Drop,
    Duplicate,
    Position,
}

impl OptIn {
    /// The name of the kind in the file, in the reports and in the registry.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SwapCondition => "swap_condition",
            Self::NumericMagnitude => "numeric_magnitude",
            Self::ComparatorFlip => "comparator_flip",
            Self::PolarityFlip => "polarity_flip",
            Self::WhitespaceJitter => "whitespace_jitter",
            Self::PunctuationNormalize => "punctuation_normalize",
            Self::BulletReformat => "bullet_reformat",
            Self::NonGoverningDuplication => "non_governing_duplication",
            Self::HedgeInjection => "hedge_injection",
            Self::PolitenessInjection => "politeness_injection",
            Self::DiscourseMarkerInjection => "discourse_marker_injection",
            Self::MetaCommentaryInjection => "meta_commentary_injection",
            Self::Drop => "drop",
            Self::Duplicate => "duplicate",
            Self::Position => "position",
        }
    }
}

/// Replays of the baselines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseFloor {
    /// Whether the noise floor is measured; if the section is there, it is measured unless this is `false`.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Invocations of each baseline, the first one included.
    #[serde(default = "replications")]
    #[schemars(range(min = 2, max = 1000))]
    pub replications: usize,
}

impl Default for NoiseFloor {
    fn default() -> Self {
        Self {
            enabled: false,
            replications: replications(),
        }
    }
}

const fn yes() -> bool {
    true
}

const fn replications() -> usize {
    10
}

/// The unit type for a heading: trimmed, in lower case, with white space replaced by `_`. Composed and decomposed
/// letters (Unicode NFC and NFD) give the same type.
pub fn unit_type(heading: &str) -> String {
    // ASCII has no composed letters, and most headings are ASCII.
    if heading.is_ascii() {
        let mut name = String::with_capacity(heading.len());
        for word in heading.split_whitespace() {
            if !name.is_empty() {
                name.push('_');
            }
            name.extend(
                word.bytes()
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
        }
        return name;
    }
    let composed: String = heading.nfc().collect();
    let words: Vec<String> = composed.split_whitespace().map(str::to_lowercase).collect();
    words.join("_")
}

/// The extensions of files whose records are cases.
const ENDINGS: [&str; 5] = [".jsonl", ".ndjson", ".json", ".csv", ".tsv"];

/// Whether `cases` names a file whose records are the cases, not a folder or a glob.
pub(crate) fn is_file_of_records(cases: &str) -> bool {
    let is_glob = cases.contains(['*', '?', '[', '{']);
    !is_glob && ENDINGS.iter().any(|ending| cases.ends_with(ending))
}
