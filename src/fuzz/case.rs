//! Cases: Markdown that is cut into units and joined again.

use std::path::Path;

use crate::registry::Registry;
use kelvin_base::digest::Digest;
use kelvin_evidence::EvidenceSettings;
use kelvin_evidence::cases::{Case, Corpus};
use kelvin_evidence::perturb::{ALL, Peers, Planner};

/// The separator between the cases of one input: units of one case are swapped into another.
const BETWEEN: char = '\u{c}';
/// With more or longer cases, each input would take seconds.
const MOST_CASES: usize = 4;
const MOST_BYTES: usize = 16 * 1024;

/// Reads the bytes as cases and plans every kind of perturbation for each.
///
/// # Panics
///
/// Where the units of a case do not follow each other in its text, or where the text of a variant does not match its
/// digest, cannot be read back, or has another preamble or another number of units than was planned.
pub fn case(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.len() > MOST_BYTES {
        return;
    }
    let texts = text.split(BETWEEN).take(MOST_CASES).enumerate();
    let parsed = texts.filter_map(|(number, text)| {
        Case::parse(format!("c{number}"), format!("c{number}.md"), text).ok()
    });
    let cases: Vec<Case> = parsed.collect();
    for case in &cases {
        stands_one_after_the_other(case);
    }
    let first = cases.iter().flat_map(|case| &case.units).next();
    let Some(governing) = first.map(|unit| unit.unit_type.to_string()) else {
        return;
    };
    let mut settings = settings();
    settings.governing_types = vec![governing];
    let corpus = Corpus {
        cases,
        labels: Vec::new(),
    };
    let peers = Peers::of(&corpus, &settings);
    let mut planner = Planner::new(&corpus, &settings, &peers);
    for (at, case) in corpus.cases.iter().enumerate() {
        for variant in planner.plan(at).variants {
            let text = variant.render(&corpus, at, &settings);
            assert_eq!(
                variant.digest(&corpus, at, &settings),
                Digest::of(text.as_bytes()),
                "{}",
                variant.id
            );
            variant.notes(&corpus, at, &settings);
            let again = Case::parse("again", "again.md", text.as_str());
            let again = again.unwrap_or_else(|problems| panic!("{}: {problems:?}", variant.id));
            assert_eq!(again.preamble(), case.preamble(), "{}", variant.id);
            assert_eq!(again.units.len(), variant.pieces.len(), "{}", variant.id);
        }
    }
}

fn stands_one_after_the_other(case: &Case) {
    let mut from = case.units.first().map_or(0, |unit| unit.body.start);
    for unit in &case.units {
        assert!(from <= unit.body.start && unit.body.end <= unit.end);
        assert!(unit.body.start < unit.heading_end && unit.heading_end <= unit.body.end);
        assert!(!unit.unit_type.is_empty());
        from = unit.end;
    }
    if !case.units.is_empty() {
        assert_eq!(from, case.text.len());
    }
}

/// Settings with every kind of perturbation.
fn settings() -> EvidenceSettings {
    let opt_in = ALL.iter().filter(|kind| !kind.is_default());
    let names: Vec<&str> = opt_in.map(|kind| kind.name()).collect();
    let text = format!(
        "run: \"true {{input}} {{output}}\"\ncases: cases\ndecision_field: decision\n\
         governing_types: [rule]\nperturbations: {{ enable: [{}] }}\n",
        names.join(", ")
    );
    let config = Registry::shipped()
        .configured_by(&text, Path::new("kelvin.yaml"))
        .expect("the configuration is right");
    let settings = config.settings::<EvidenceSettings>();
    settings.expect("it configures the probe").clone()
}
