//! The record of one case: enough data to compute every figure again. If a report is stored elsewhere, it contains only
//! the texts that `baseline.texts` allows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FlakySince, MetricKind, SuiteSettings};
use kelvin_base::cause::{cause, names_an_exception};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::Failure;
use kelvin_page::safe;
use kelvin_record::{
    Answer, AnsweredItem, AnySection, Item, KeptText, KeptTexts, Nouns, RUNS_OF_THE_SUITE, Repeats,
    Section, SectionAnswers,
};

/// The stored section of this probe.
pub(crate) type ResultsSection = Section<ResultsBasis, ResultRecord>;

/// How the figures are made, by suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResultsBasis {
    /// The suites by name.
    pub suites: BTreeMap<String, SuiteBasis>,
}

/// How the figures of one suite are made, and what its evaluator says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SuiteBasis {
    /// The evaluator; empty if no evaluator has written a file that can be used.
    pub tool: String,
    /// Its version, if the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<String>,
    /// What identifies the prompts, the models and the settings of the evaluator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The metrics by name.
    pub metrics: BTreeMap<String, MetricBasis>,
    /// The share of samples that may be errors; with more of them nothing is measured.
    pub max_errors: f64,
    /// The share of the cases of the base that may be missing; with more of them the verdict stays open.
    pub max_missing: f64,
    /// The cases that have to pass.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub must_pass: BTreeSet<String>,
    /// The cases that are not gated.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flaky: BTreeSet<String>,
    /// Since when each flaky case is declared as flaky, as far as the history of the configuration shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flaky_since: BTreeMap<String, FlakySince>,
    /// Whether the suite has no command, so that its file is what an earlier step has left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_left_by_a_step: bool,
    /// The cases that the evaluator says it has skipped.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<String>,
    /// Whether only some of the cases were wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// How the evaluator ended, if its exit code was not 0. Many evaluators end so where a case fails, and all of them do
    /// where they crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EarlyEnd>,
    /// Why there are no results at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
}

/// The end of an evaluator with another exit code than 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyEnd {
    /// The exit code.
    pub code: i32,
    /// The beginning of the line of its standard error that tells the cause: the first line of an exception, or the
    /// last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.code)?;
        match &self.last {
            Some(last) if names_an_exception(last) => write!(f, ": {last}"),
            Some(last) => write!(f, ", and printed last: {last}"),
            None => Ok(()),
        }
    }
}

impl EarlyEnd {
    /// The end with an exit code, after this standard error.
    pub(super) fn new(code: i32, stderr: &str) -> Self {
        const LONGEST: usize = 200;
        let last = cause(stderr).map(|last| last.chars().take(LONGEST).collect());
        Self { code, last }
    }
}

impl SuiteBasis {
    /// The settings of a suite in the configuration, before the suite is run.
    pub(super) fn of(keys: &SuiteSettings) -> Self {
        Self {
            max_errors: keys.max_errors,
            max_missing: keys.max_missing,
            must_pass: keys.must_pass.clone(),
            flaky: keys.flaky.clone(),
            is_left_by_a_step: keys.run.is_none(),
            ..Self::default()
        }
    }
}

/// The properties of one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MetricBasis {
    /// The properties that the format or the configuration gives.
    #[serde(flatten)]
    pub kind: MetricKind,
    /// Whether the gate looks at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The lowest and the highest possible value, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
}

impl MetricBasis {
    /// Whether a sample with the best value of this metric counts as passed.
    pub(super) fn says_whether_it_passes(&self) -> bool {
        self.gated && (self.kind.yes_no || self.range == Some([0.0, 1.0]))
    }
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResultRecord {
    /// The digest of the input, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// The digest of everything that determines the score of the case, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring: Option<Digest>,
    /// The input of the case, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<KeptText>,
    /// The expected answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<KeptText>,
    /// How many results the first run of the suite has of the case; 0 if that is one, or if it is not known.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub at_once: usize,
    /// The results, one for each repeat.
    pub samples: Vec<ResultSample>,
}

impl ResultRecord {
    /// Both digests of a case, which differ if two runs use one name for different cases.
    pub(super) const fn digests(&self) -> (Option<Digest>, Option<Digest>) {
        (self.input, self.scoring)
    }
}

/// One repeat of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResultSample {
    /// The scores by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, f64>,
    /// Why there is no score. Such a sample is an error, and no failure of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<KeptText>,
    /// The answer of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<KeptText>,
}

impl Item for ResultRecord {
    /// A case that is scored differently counts as edited, like a case with another input.
    fn digest(&self) -> Digest {
        let mut fields = Fields::of("kelvin/results/case/v1");
        for (name, digest) in [("input", self.input), ("scoring", self.scoring)] {
            if let Some(digest) = digest {
                fields = fields.field(name, digest.bytes());
            }
        }
        fields.digest()
    }

    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.samples.len())
    }

    /// The limit for re-runs is twice that of other probes: a case only has a few samples that pass or fail, so more of
    /// them are needed to show a drop that is spread over a suite. Once the drop is certain, no more samples are run.
    fn reruns(&self) -> usize {
        2 * RUNS_OF_THE_SUITE * self.samples.len()
    }

    fn has_answer(&self) -> bool {
        self.samples.iter().any(|sample| sample.error.is_none())
    }

    fn shorten(&mut self, texts: KeptTexts) {
        let of_samples = self.samples.iter_mut();
        let of_samples =
            of_samples.flat_map(|sample| [sample.error.as_mut(), sample.answer.as_mut()]);
        let all = [self.asked.as_mut(), self.expected.as_mut()];
        for text in all.into_iter().chain(of_samples).flatten() {
            text.shorten(texts);
        }
    }
}

/// An evaluator's words for its items.
pub(super) fn nouns_of_tool(tool: &str) -> Nouns {
    match tool {
        "promptfoo" | "pytest" | "junit" | "deepeval" => ("test", "tests"),
        "inspect" => ("sample", "samples"),
        "lm-eval" => ("document", "documents"),
        "harbor" => ("task", "tasks"),
        _ => ("case", "cases"),
    }
    .into()
}

/// The words for the items of a section: those of its evaluators if they all use the same words.
pub(super) fn nouns(section: &ResultsSection) -> Nouns {
    let suites = section.basis.suites.values();
    let tools = suites.filter(|basis| !basis.tool.is_empty());
    let mut all = tools.map(|basis| nouns_of_tool(&basis.tool));
    let usual = || nouns_of_tool("");
    let first = all.next().unwrap_or_else(usual);
    match all.all(|other| other == first) {
        true => first,
        false => usual(),
    }
}

/// The id of a case: the suite, and the name of the case in it.
pub(super) fn id(suite: &str, case: &str) -> String {
    format!("{suite}/{case}")
}

/// The suite and the name of a case.
pub(super) fn parts(id: &str) -> (&str, &str) {
    id.split_once('/').unwrap_or((id, ""))
}

/// The cases of one suite by name.
pub(super) fn cases<'s>(
    section: &'s ResultsSection,
    suite: &'s str,
) -> impl Iterator<Item = (&'s str, &'s str, &'s ResultRecord)> {
    let items = section.items.iter();
    items.filter_map(move |(id, record)| {
        let (of, case) = parts(id);
        (of == suite).then_some((id.as_str(), case, record))
    })
}

/// A section of this probe.
pub(super) fn own(section: &dyn AnySection) -> &ResultsSection {
    section.own()
}

/// How many columns of a question, and of an expected answer, are shown.
const SHOWN: usize = 200;

/// The answers to the cases. A case whose answer the file lacks is one without an answer: it is gone if the base has one.
pub(super) fn answered(section: &ResultsSection) -> SectionAnswers<'_> {
    let items = section.items.iter().map(|(id, record)| {
        let answers = record.samples.iter();
        let item = AnsweredItem {
            asked: record.asked.as_ref().map(shown),
            expected: record.expected.as_ref().map(shown),
            itself: answers
                .map(|sample| sample.answer.clone().map(Answer::Kept))
                .collect(),
            ..AnsweredItem::default()
        };
        (id.as_str(), item)
    });
    SectionAnswers {
        are_endings: false,
        are_scored_outside: true,
        types: Vec::new(),
        items: items.collect(),
    }
}

fn shown(text: &KeptText) -> Cow<'_, str> {
    Cow::Owned(safe::cut(&text.shown(), SHOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_early_end_is_the_last_exception_before_the_last_line() {
        let shown = |stderr: &str| EarlyEnd::new(1, stderr).to_string();
        let noted = "Traceback (most recent call last):\n  File \"eval.py\", line 3, in <module>\n    \
                     except ValueError: raise\nyaml.scanner.ScannerError: mapping values are not allowed here\n  in \
                     \"job.yaml\", line 2\nDuring task with name 'lint' and id '91'\n\n";
        assert_eq!(
            shown(noted),
            "exit code 1: yaml.scanner.ScannerError: mapping values are not allowed here"
        );
        for line in [
            "TypeError [ERR_INVALID_ARG_TYPE]: the path must be a text",
            "Exception in thread \"main\" java.io.IOException: closed",
            "AssertionError",
        ] {
            let told = shown(&format!("KeyError: 'first'\n{line}\n    at main\nbye\n"));
            assert_eq!(told, format!("exit code 1: {line}"));
        }
        assert_eq!(
            shown("loading\nended in Error\n"),
            "exit code 1, and printed last: ended in Error"
        );
        assert_eq!(shown("\n"), "exit code 1");
    }

    #[test]
    fn without_texts_a_record_has_digests_and_numbers_alone_and_is_still_the_same_case() {
        let text = |text: &str| Some(KeptText::of(text));
        let mut record = ResultRecord {
            input: Some(Digest::of(b"asked")),
            asked: text("a secret question"),
            expected: text("a secret expectation"),
            samples: vec![
                ResultSample {
                    scores: BTreeMap::from([("pass".to_owned(), 1.0)]),
                    answer: text("a secret answer"),
                    ..ResultSample::default()
                },
                ResultSample {
                    error: text("a secret error"),
                    ..ResultSample::default()
                },
            ],
            ..ResultRecord::default()
        };
        let before = record.clone();
        record.shorten(KeptTexts::None);
        let written = serde_json::to_string(&record).expect("JSON");
        assert!(!written.contains("secret"), "{written}");
        assert_eq!(record.digest(), before.digest());
        assert_eq!(record.samples[0].scores, before.samples[0].scores);
        let digest =
            |record: &ResultRecord| record.samples[0].answer.as_ref().map(|kept| kept.digest);
        assert_eq!(digest(&record), digest(&before));
    }

    #[test]
    fn another_scoring_makes_another_case_of_it() {
        let scored = |by: &[u8]| ResultRecord {
            input: Some(Digest::of(b"asked")),
            scoring: Some(Digest::of(by)),
            ..ResultRecord::default()
        };
        assert_ne!(scored(b"equals").digest(), scored(b"contains").digest());
        assert_ne!(scored(b"equals").digest(), ResultRecord::default().digest());
    }
}
