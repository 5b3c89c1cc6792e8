//! Names for the fields of a flat example. DSPy turns them into Python attributes and signature fields, so each name
//! has to be valid in Python and not yet in use.

use std::collections::{BTreeMap, BTreeSet};

/// The keywords of Python, the attributes of a DSPy example and of its signature, and our own keys.
const TAKEN: [&str; 67] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "match",
    "case",
    "type",
    "keys",
    "values",
    "items",
    "get",
    "inputs",
    "labels",
    "copy",
    "without",
    "with_inputs",
    "toDict",
    "to_dict",
    "fields",
    "instructions",
    "signature",
    "input_fields",
    "output_fields",
    "schema",
    "json",
    "dict",
    "copy_with",
    "demos",
    "augmented",
    "dspy_uuid",
    "dspy_split",
    "trace_id",
    "quality_score",
    "score",
    "verdicts",
    "split",
];

/// The name of each field, and the old names of renamed fields.
pub(super) struct FieldNames {
    /// The inputs, by the name that they have in the files.
    pub(super) inputs: BTreeMap<String, String>,
    /// The outputs.
    pub(super) outputs: BTreeMap<String, String>,
    /// The old name of each renamed field, by its new name.
    pub(super) renamed: BTreeMap<String, String>,
}

impl FieldNames {
    /// Chooses names for the inputs and outputs of all examples together, so that a field has the same name in every
    /// example. Fields whose names are already valid are named first, so that no other field takes these names.
    pub(super) fn of(inputs: &BTreeSet<&str>, outputs: &BTreeSet<&str>, beside: &[&str]) -> Self {
        let mut taken: BTreeSet<String> = TAKEN
            .iter()
            .chain(beside)
            .map(|one| (*one).to_owned())
            .collect();
        let mut names = Self {
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            renamed: BTreeMap::new(),
        };
        let of = |side: &'static str, names: &BTreeSet<&str>| -> Vec<(&'static str, String)> {
            let names = names.iter();
            names.map(|name| (side, (*name).to_owned())).collect()
        };
        let all = [of("input", inputs), of("output", outputs)].concat();
        let (plain, other): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(_, name)| serves(name) && !taken.contains(name));
        for (side, name) in plain.into_iter().chain(other) {
            let new = free(side, &name, &taken);
            taken.insert(new.clone());
            if new != name {
                names.renamed.insert(new.clone(), format!("{side}s.{name}"));
            }
            let map = match side {
                "input" => &mut names.inputs,
                _ => &mut names.outputs,
            };
            map.insert(name, new);
        }
        names
    }
}

/// Whether a name is valid in Python without a change. Names that begin with `model_` are reserved by pydantic, and a
/// field that begins with `_` is hidden.
fn serves(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(is_part)
        && !name.starts_with("model_")
        && !name.starts_with("dspy_")
}

/// The name itself if it is valid and not in use, otherwise a name made from it.
fn free(side: &str, name: &str, taken: &BTreeSet<String>) -> String {
    if serves(name) && !taken.contains(name) {
        return name.to_owned();
    }
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let first = format!("{side}_{}", plain.trim_matches('_'));
    let first = first.trim_end_matches('_').to_owned();
    let numbered = (2..).map(|number| format!("{first}_{number}"));
    let mut names = [first.clone()].into_iter().chain(numbered);
    names
        .find(|name| !taken.contains(name))
        .expect("there is no end of numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own_that_python_takes() {
        let inputs = BTreeSet::from(["class", "keys", "prompt", "risk-note", "", "model_x", "é"]);
        let outputs = BTreeSet::from(["prompt", "decision", "class", "risk note", "score", "1st"]);
        let names = FieldNames::of(&inputs, &outputs, &["conformance"]);
        let all: Vec<&String> = names
            .inputs
            .values()
            .chain(names.outputs.values())
            .collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 13, "{all:?}");
        for name in &all {
            assert!(serves(name) && !TAKEN.contains(&name.as_str()), "{name}");
        }
        assert_eq!(names.inputs["prompt"], "prompt");
        assert_eq!(names.outputs["prompt"], "output_prompt");
        assert_eq!(names.outputs["decision"], "decision");
        assert_eq!(names.outputs["class"], "output_class");
        assert_eq!(names.inputs["risk-note"], "input_risk_note");
        assert_eq!(names.renamed["output_class"], "outputs.class");
        assert!(!names.renamed.contains_key("decision"));
    }

    #[test]
    fn a_made_name_takes_none_that_a_field_has_already() {
        let outputs = BTreeSet::from(["class", "output_class", "output_class_2"]);
        let names = FieldNames::of(&BTreeSet::new(), &outputs, &[]);
        assert_eq!(names.outputs["output_class"], "output_class");
        assert_eq!(names.outputs["class"], "output_class_3");
    }
}
