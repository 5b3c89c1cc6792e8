//! The settings of this probe in their checked form, made from the keys that it owns in
//! `kelvin.yaml`.

mod check;
mod keys;

use std::num::NonZeroUsize;
use std::sync::Arc;

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::EvidenceKind;
use super::words::Words;
use kelvin_base::digest::Fields;
use kelvin_probe::DecisionField;
use kelvin_run::config::{Config, Configure, Part, ProbeSettings, Problem, Slip};
use kelvin_run::judge::{Choice, JudgeSettings};
use kelvin_run::targets::{Address, TurnsPlace};
use kelvin_run::{Program, config, judge};
pub(crate) use keys::is_file_of_records;
pub use keys::{AllPairs, Counts, OptIn, SwapCount, unit_type};
use keys::{EvidenceKeys, UnitSource};

/// The settings that this probe needs, checked before the run.
#[derive(Clone, Debug)]
pub struct EvidenceSettings {
    /// The address of the pipeline.
    pub run: Address,
    /// The cases: a folder, a glob such as `cases/**/*.md`, or a file of records; relative to the root.
    pub cases: String,
    /// How the records of a file are read.
    pub records: RecordSettings,
    /// Where the decision is in the output.
    pub decision_field: DecisionField,
    /// The unit types that should govern the decision; normalised, distinct, in the order given.
    pub governing_types: Vec<String>,
    /// The unit types whose units keep their order; normalised and distinct.
    pub keep_order: Vec<String>,
    /// The settings from the file that define what is measured, by key and with defaults.
    pub written: Map<String, Value>,
    /// The seed for the choice of perturbations; the pipeline never gets it.
    pub seed: u64,
    /// The perturbations to make, and how many of each.
    pub perturbations: Perturbations,
    /// How often each baseline is run, including the first invocation; none if the noise floor is not measured.
    pub noise_floor: Option<NonZeroUsize>,
    /// How two decisions are compared.
    pub scorer: Choice,
}

/// How the records of a JSON or CSV file are read as cases.
#[derive(Clone, Debug, Default)]
pub struct RecordSettings {
    /// The field with the name of a case; none if it is not declared.
    pub id: Option<String>,
    /// The field with the label of a case; none if it is not declared.
    pub expected: Option<String>,
    /// The turns of a conversation, each of which is a separate input; none if a record is one input.
    pub turns: Option<RecordTurns>,
    /// The units; if none are declared, all texts and arrays of texts at the top level of a record, or of a turn, are
    /// used.
    pub units: Vec<RecordUnits>,
}

/// The turns of a conversation in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordTurns {
    /// The field, as a JSON pointer.
    pub place: TurnsPlace,
    /// The name of the field, which becomes the type of a turn that is a text; normalised.
    pub name: String,
    /// Whether turns may be moved.
    pub reorder: bool,
}

impl RecordTurns {
    fn new(source: UnitSource) -> Self {
        let (place, reorder) = source.parts();
        let place = match place.starts_with('/') {
            true => place,
            false => format!("/{}", place.replace('~', "~0").replace('/', "~1")),
        };
        let field = place.rsplit('/').next().unwrap_or_default();
        Self {
            name: unit_type(&field.replace("~1", "/").replace("~0", "~")),
            reorder,
            place: TurnsPlace::new(place),
        }
    }
}

/// The units of one type in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordUnits {
    /// Their type; normalised.
    pub unit_type: String,
    /// The field or the JSON pointer, in the spelling of the configuration.
    pub place: String,
    /// Whether messages of a conversation may be moved.
    pub reorder: bool,
}

impl RecordUnits {
    /// The keys on the path to the units, and `*` for every element of an array.
    pub fn parts(&self) -> Vec<String> {
        match self.place.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|part| part.replace("~1", "/").replace("~0", "~"))
                .collect(),
            None => vec![self.place.clone()],
        }
    }
}

/// The perturbations to make, and how many of each.
#[derive(Clone, Debug)]
pub struct Perturbations {
    /// The names of the enabled optional kinds, in the order of the registry.
    pub enable: Vec<String>,
    /// Whether `drop` contributes to invariance.
    pub count_drop: bool,
    /// The number of variants per case for the default kinds.
    pub variants: Counts,
    /// Whether `pad_content` may insert units of a governing type.
    pub pad_include_governing: bool,
    /// The filler sections and word lists, after adding packs and replacements.
    pub words: Words,
}

impl EvidenceSettings {
    /// The program that a runner calls for the cases.
    pub fn program(&self) -> Program<'_> {
        Program {
            target: &self.run,
            decision_field: self.decision_field.as_str(),
            input_name: match is_file_of_records(&self.cases) {
                true => "input.json",
                false => "input.md",
            },
            inputs: &self.cases,
            turns: self.records.turns.as_ref().map(|turns| &turns.place),
        }
    }

    /// Whether the units of a type keep their order.
    pub(crate) fn keeps_order(&self, unit_type: &str) -> bool {
        self.keep_order.iter().any(|name| name == unit_type)
    }
}

impl Configure for EvidenceKind {
    fn required(&self) -> &'static [&'static str] {
        &keys::REQUIRED
    }

    fn marks(&self) -> &'static [&'static str] {
        &keys::OWN
    }

    fn keys(&self) -> &'static Schema {
        config::schema_of::<EvidenceKeys>()
    }

    fn problems(&self, part: &Part<'_>) -> Vec<Problem> {
        check::problems(part)
    }

    fn hint(&self, slip: &Slip<'_>) -> Option<String> {
        check::hint(slip)
    }

    /// Always returns settings, even if the file has no key of this probe. They are a part of every digest: since the
    /// beginning, the digests of configurations without this probe have contained its default settings.
    fn settle(
        &self,
        part: &Part<'_>,
        config: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        let scorer = match part.node.get(&["scorer"]) {
            None => Choice::default(),
            Some(node) => Choice::read(&node.to_json())
                .and_then(|choice| choice.with_models(config))
                .map_err(|what| part.misuse(Problem::new(node.at.clone(), what)))?,
        };
        let keys: EvidenceKeys = part.read()?;
        let types = |names: &[String]| names.iter().map(|name| unit_type(name)).collect();
        let governing_types: Vec<String> = types(&keys.governing_types);
        let keep_order: Vec<String> = types(&keys.keep_order);
        let mut written = serde_json::to_value(&keys)?;
        written["governing_types"] = json!(governing_types);
        if !keep_order.is_empty() {
            written["keep_order"] = json!(keep_order);
        }
        let mut written = written.as_object().cloned().unwrap_or_default();
        written.remove("run");
        let records = keys.records.unwrap_or_default();
        let units = records.units.into_iter();
        let records = RecordSettings {
            id: records.id,
            expected: records.expected,
            turns: records.turns.map(RecordTurns::new),
            units: units
                .map(|(name, source)| {
                    let (place, reorder) = source.parts();
                    RecordUnits {
                        unit_type: unit_type(&name),
                        place,
                        reorder,
                    }
                })
                .collect(),
        };
        let run = config.reach(keys.run)?;
        if let Some(turns) = part.node.get(&["records", "turns"])
            && let Err(why) = run.takes_turns()
        {
            let what = format!(
                "`records.turns` hands over one turn after the other: {}",
                why.what
            );
            let problem = Problem::new(turns.at.clone(), what);
            return Err(part
                .misuse(problem.help(why.help.unwrap_or_default()))
                .into());
        }
        let words = Words::load(&config.root, &keys.packs, keys.filler.as_deref())?;
        let mut enable = keys.perturbations.enable;
        enable.sort_unstable();
        let noise_floor = keys.noise_floor;
        let replications = noise_floor.enabled.then_some(noise_floor.replications);
        Ok(Some(Arc::new(EvidenceSettings {
            run,
            cases: keys.cases,
            records,
            decision_field: match keys.decision_field {
                pointer if pointer.starts_with('/') => DecisionField::Pointer(pointer),
                key => DecisionField::Key(key),
            },
            governing_types,
            keep_order,
            written,
            seed: config.seed,
            perturbations: Perturbations {
                enable: enable
                    .into_iter()
                    .map(|kind| kind.name().to_owned())
                    .collect(),
                count_drop: keys.perturbations.count_drop,
                variants: keys.variants,
                pad_include_governing: keys.pad_include_governing,
                words,
            },
            noise_floor: replications.and_then(NonZeroUsize::new),
            scorer,
        })))
    }
}

impl ProbeSettings for EvidenceSettings {
    /// Adds to the fields of the digest which variants are made and how decisions are compared.
    fn measured(&self, fields: Fields) -> Fields {
        let kinds = &self.perturbations;
        let counts = kinds.variants;
        let swap = match counts.swap {
            SwapCount::UpTo(most) => most.to_string(),
            SwapCount::Every(AllPairs::All) => "all".to_owned(),
        };
        // The settings of a scorer name a model; the scorer's id also includes the declaration of that model.
        let opened = judge::chosen_scorer(&self.scorer);
        let scorer = match opened.asked() {
            Some(_) => format!("{} {}", self.scorer, opened.id()),
            None => self.scorer.to_string(),
        };
        let fields = fields
            .field("decision_field", self.decision_field.as_str())
            .field("scorer", scorer)
            .field("seed", self.seed.to_be_bytes())
            .field("reorder", counts.reorder.to_string())
            .field("pad_length", counts.pad_length.to_string())
            .field("pad_content", counts.pad_content.to_string())
            .field("swap", swap)
            .field(
                "pad_include_governing",
                kinds.pad_include_governing.to_string(),
            )
            .field("count_drop", kinds.count_drop.to_string())
            .field("words", format!("{:?}", kinds.words));
        let types = self.governing_types.iter();
        let fields = types.fold(fields, |fields, name| fields.field("governing_type", name));
        // Without the key no field is added, so that the digests of older reports stay valid.
        let kept = self.keep_order.iter();
        let fields = kept.fold(fields, |fields, name| fields.field("keep_order", name));
        let records = &self.records;
        let named = [("id", &records.id), ("expected", &records.expected)];
        let named = named
            .into_iter()
            .filter_map(|(key, field)| Some((key, field.as_ref()?)));
        let fields = named.fold(fields, |fields, (key, field)| {
            fields.field("record", format!("{key} {field}"))
        });
        let fields = records.turns.iter().fold(fields, |fields, turns| {
            fields.field("record_turns", format!("{turns:?}"))
        });
        let fields = records.units.iter().fold(fields, |fields, units| {
            fields.field("record_units", format!("{units:?}"))
        });
        let enabled = kinds.enable.iter();
        enabled.fold(fields, |fields, name| fields.field("enable", name))
    }

    fn as_data(&self) -> Map<String, Value> {
        self.written.clone()
    }

    fn judges(&self) -> Vec<(String, &JudgeSettings)> {
        self.scorer.judge().into_iter().collect()
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}
