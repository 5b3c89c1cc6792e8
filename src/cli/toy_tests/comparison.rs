//! How two runs of the toy are compared: word by word.

use crate::registry::Registry;
use crate::schema_tests;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::course::{GOOD, Project, SILENT, gated};
use super::kind::{self, findings};
use super::record::ToySection;
use kelvin_base::exit::Exit;
use kelvin_fixtures::text::section;
use kelvin_gate::Judgement;
use kelvin_gate::judgement::AnswersShown;
use kelvin_github::publish::{Context, Publication, annotations};
use kelvin_page::{Block, ComparisonPage, Phrase};
use kelvin_record::{
    AlignedSection, AlignedSections, AlignmentWarning, AnySection, ItemComparison, Metric,
};

/// What became of the words.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct WordComparison {
    quieter: Vec<String>,
    on_one_side: Vec<String>,
}

/// How much louder a word is than on the base says nothing of the next base: that figure goes.
pub(super) fn align(base: &dyn AnySection, head: &dyn AnySection) -> Option<AlignedSections> {
    let [old, new] = [base, head].map(|side| side.as_kind::<ToySection>());
    let (old, new) = (old?, new?);
    let first = |section: &ToySection, word: &str| section.items.get(word)?.first();
    let names = old.items.keys().chain(new.items.keys());
    let (mut quieter, mut on_one_side) = (Vec::new(), Vec::new());
    for word in names.collect::<BTreeSet<_>>() {
        match (first(old, word), first(new, word)) {
            (Some(before), Some(after)) if after < before => quieter.push(word.clone()),
            (Some(_), Some(_)) => {}
            _ => on_one_side.push(word.clone()),
        }
    }
    let side = |section: &ToySection| {
        let mut metrics: BTreeMap<String, Metric> = findings(section.clone()).metrics;
        metrics.remove("toy.louder");
        let section = section.boxed();
        AlignedSection { section, metrics }
    };
    Some(AlignedSections {
        base: side(old),
        head: side(new),
        items: Arc::new(WordComparison {
            quieter,
            on_one_side,
        }),
    })
}

impl ItemComparison for WordComparison {
    fn page(&self) -> Option<ComparisonPage<'_>> {
        let summary = format!("{} words are quieter", self.quieter.len());
        Some(ComparisonPage {
            title: "Toy",
            items: "the words",
            worst: self.quieter.iter().map(Phrase::of_name).collect(),
            blocks: vec![
                Block::Heading(Phrase::text("Toy")),
                Block::Text(vec![Phrase::text(format!("{summary}."))]),
            ],
            summary,
        })
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let is_open = !self.on_one_side.is_empty();
        let text = format!("{} words are on one side only", self.on_one_side.len());
        is_open
            .then_some(AlignmentWarning { text, is_open })
            .into_iter()
            .collect()
    }

    fn strict(&self) -> Result<(), String> {
        match self.on_one_side.is_empty() {
            true => Ok(()),
            false => Err("the words differ".to_owned()),
        }
    }
}

/// A verdict that was written, with the comparisons of these kinds.
fn read_back(written: &Value, registry: Registry) -> Result<Judgement, String> {
    let mut judgement: Judgement =
        serde_json::from_value(written.clone()).map_err(|error| error.to_string())?;
    judgement.comparisons.read_by(&registry.of_sections())?;
    Ok(judgement)
}

#[test]
fn it_aligns_its_sections_and_everything_shows_what_became_of_its_words() {
    let project = Project::new(GOOD);
    let config = fs::read_to_string(project.path("kelvin.yaml")).expect("it is there");
    let heard = "toy: {listener: 'sh hear.sh {input} {output}', ";
    project.write("kelvin.yaml", &config.replace("toy: {", heard));
    project.write("hear.sh", "echo 0.75 > \"$2\"\n");
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let (exit, judgement) = gated(&project, "");
    assert_eq!(exit, Exit::Passed, "{}", judgement["reasons"]);
    assert_eq!(
        judgement["toy"],
        json!({ "quieter": [], "on_one_side": [] })
    );
    // The report has the figure, and the comparison is made of the aligned sections.
    let report = project.json("kelvin/report.json");
    assert_eq!(report["metrics"]["toy.louder"]["value"], 0.75);
    assert!(judgement["metrics"].get("toy.louder").is_none());
    assert!(judgement["metrics"]["toy.loudness"].is_object());

    project.pipeline(SILENT);
    let (exit, judgement) = gated(&project, " --no-rerun");
    assert_eq!(exit, Exit::GateFailed);
    let quieter = judgement["toy"]["quieter"].as_array().expect("a list");
    assert_eq!(quieter.len(), 12);
    let comment = fs::read_to_string(project.path("kelvin/gate.md")).expect("it is there");
    let toy = section(&comment, "# Toy");
    insta::assert_snapshot!(toy.lines().take(3).collect::<Vec<_>>().join("\n"), @"
    ## Toy

    12 words are quieter.
    ");
    let stored = read_back(&judgement, kind::registry()).expect("it is read");
    let shown = stored.terminal(AnswersShown::OTHERS_ON_THE_PAGE);
    let lines: Vec<&str> = shown.lines().collect();
    let title = lines
        .iter()
        .position(|line| *line == "Toy          12 words are quieter");
    let first = title.and_then(|at| lines.get(at + 2)).copied();
    assert_eq!(first, Some("  baa"), "{shown}");
    assert_eq!(
        serde_json::to_value(&stored).expect("it is JSON"),
        judgement
    );

    // A word that got worse is remarked upon where it stands.
    let report = fs::read(project.path("kelvin/report.json")).expect("it is there");
    let remarks = annotations::annotations(&Publication {
        report: &kind::registry().report(&report).expect("it is read"),
        judgement: Some(&stored),
        context: &Context::default(),
        out: &project.path("kelvin"),
        folder: "toys",
        excerpts: &[],
        warnings: &[],
    });
    assert_eq!(remarks.len(), 12);
    let remark = remarks.iter().find(|remark| remark.message.contains("moo"));
    let remark = remark.expect("it got worse");
    assert_eq!((&*remark.path, remark.line), ("toys/kelvin.yaml", 1));
    let sentence = "toy.loudness of word moo went from 0.3000 to 0.1000";
    assert!(remark.message.starts_with(sentence), "{remark:?}");
}

#[test]
fn what_its_alignment_leaves_open_is_told_and_refused_where_that_is_asked_for() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let same = "compare @base/report.json @base/report.json --strict-chunker-version";
    assert_eq!(project.kelvin(same), Exit::Passed);
    let config = fs::read_to_string(project.path("kelvin.yaml")).expect("it is there");
    project.write("kelvin.yaml", &config.replace("baa", "bark"));
    project.kelvin("check --config @kelvin.yaml --no-history --out @head");
    let compare = "compare @base/report.json @head/report.json";
    assert_eq!(project.kelvin(compare), Exit::Passed);
    let strict = format!("{compare} --strict-chunker-version");
    assert_eq!(project.kelvin(&strict), Exit::Misused);

    let (_, judgement) = gated(&project, "");
    let reasons = judgement["reasons"].as_array().expect("a list");
    let told = reasons.iter().find(|reason| reason["code"] == "alignment");
    let told = told.expect("the verdict says so");
    insta::assert_snapshot!(told["text"], @r#""2 words are on one side only""#);
    assert_eq!(told["effect"], "warn");
}

#[test]
fn without_it_registered_its_comparison_is_kept_and_not_understood() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let (_, judgement) = gated(&project, "");
    let mut newer = judgement.clone();
    newer["a_field_of_a_later_version"] = json!(["what it means is not known"]);
    let stored = read_back(&newer, Registry::shipped()).expect("it is read");
    let again = serde_json::to_value(&stored).expect("it is JSON");
    let shown = stored.terminal(AnswersShown::OTHERS_ON_THE_PAGE);
    assert_eq!(again, judgement);
    let known = read_back(&judgement, kind::registry()).expect("it is read");
    let known = known.terminal(AnswersShown::OTHERS_ON_THE_PAGE);
    assert!(known.contains("Toy") && !shown.contains("Toy"), "{shown}");
    // Where it is known, what cannot be its comparison is an error with its name.
    let mut broken = judgement;
    broken["toy"] = json!({ "quieter": 1 });
    let error = read_back(&broken, kind::registry()).expect_err("it is refused");
    assert!(error.contains("`toy`"), "{error}");
}

#[test]
fn the_schema_of_a_verdict_has_its_comparison() {
    let project = Project::new(GOOD);
    project.kelvin("check --config @kelvin.yaml --no-history --out @base");
    let (_, judgement) = gated(&project, "");
    let schema = schema_tests::of_verdict(kind::registry());
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(validator.is_valid(&judgement));
    let with = |comparison: Value| {
        let mut other = judgement.clone();
        other["toy"] = comparison;
        validator.is_valid(&other)
    };
    assert!(!with(json!({ "quieter": 1, "on_one_side": [] })));
    assert!(with(Value::Null));
}
