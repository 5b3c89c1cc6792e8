//! The data about the checks in a report: how the figures are computed, and the results of every run of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::keys::Aggregation;
use super::scenario::{Scenario, plain};
use kelvin_base::digest::Digest;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::Notice;
use kelvin_base::usage::Usage;
use kelvin_record::{Item, KeptText, KeptTexts, Repeats, Section};
use kelvin_run::Reader;
use kelvin_run::judge::{Grade, MaxErrors, Ungraded};
use kelvin_run::targets::Reply;

/// How many characters of a prompt are stored: enough to recognise the scenario, whose file contains the whole prompt.
const MOST_OF_PROMPT: usize = 200;
/// How many characters are stored of an agent's answer, and of the expected value: the output file and the file of the
/// scenarios contain the whole texts.
pub(super) const MOST_OF_OUTPUT: usize = 2_000;
/// The text in place of one that may not be kept. Outcome and score stay.
const NOT_KEPT: &str = "what was said of it is not kept here";

/// The data of this probe in a report.
pub(crate) type ChecksSection = Section<ChecksBasis, ScenarioRecord>;

/// The outcome of a check, of a run of a scenario, or of a scenario.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// It is not known whether it holds: this is not a pass, and is in no mean.
    Error,
    /// It does not apply, and is in no mean.
    Skipped,
}

impl Outcome {
    /// The outcome as a word.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// How the figures are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ChecksBasis {
    /// The invariants, by name.
    pub(super) invariants: BTreeMap<String, InvariantBasis>,
    /// The composite from which a run passes; missing if every check has to pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pass_threshold: Option<f64>,
    /// Whether a gate needs a score of 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) gate_strict: bool,
    /// How often every scenario is run, the re-runs of a gate not counted.
    pub(super) replicas: usize,
    /// When a scenario with several replicas passes.
    pub(super) replica_aggregation: Aggregation,
}

/// An invariant, as far as the figures and the page need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct InvariantBasis {
    /// What must hold, in words.
    pub(super) description: String,
    /// Its weight.
    pub(super) weight: f64,
    /// Whether the composite is 0 if it does not hold.
    pub(super) gate: bool,
    /// Whether it holds only for the scenarios that define it themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) own: bool,
    /// The judge that grades it; missing if no judge is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judge: Option<JudgeBasis>,
}

/// The judge of an invariant, as far as the figures and the page need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct JudgeBasis {
    /// The id of the judge, with everything that its grades depend on.
    pub(super) grader_id: String,
    /// The score from which the check passes.
    pub(super) pass_threshold: f64,
    /// The share of runs that the judge may fail to grade; with more of them the figures are unmeasured.
    pub(super) max_errors: MaxErrors,
}

/// One scenario with its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ScenarioRecord {
    /// The digest of what the agent is asked, with the parameters.
    pub(super) input: Digest,
    /// The beginning of what the agent is asked; empty if the agent is asked nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) prompt: String,
    /// The beginning of what is expected, a text as it is and anything else as JSON; missing if nothing is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) params: BTreeMap<String, Value>,
    /// Its runs in order; those beyond the replicas were asked for by the gate.
    pub(super) runs: Vec<ScenarioRun>,
    /// The notices about the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notices: Vec<Notice>,
}

/// One run of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ScenarioRun {
    /// Whether it passes.
    pub(super) outcome: Outcome,
    /// The composite; null if a check is an error, or no check applies.
    pub(super) composite: Option<f64>,
    /// The result of each check, by the name of the invariant.
    pub(super) checks: BTreeMap<String, CheckResult>,
    /// The beginning of what the agent answered; missing if the pipeline failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<KeptText>,
    /// The requests of the agent to the mocked servers that record them, in order; missing if none of them records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) calls: Option<KeptText>,
    /// The names of the events that the agent appended to the audit log, in order; missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) events: Option<KeptText>,
    /// The forbidden actions of the run, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) forbidden: Vec<String>,
    /// Why the pipeline failed; then no check was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<Box<Failure>>,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CheckResult {
    /// Whether it holds.
    pub(super) outcome: Outcome,
    /// How well the check holds, from 0 to 1; null for an error, and for a check that does not apply.
    pub(super) score: Option<f64>,
    /// The reason, in words.
    pub(super) reason: String,
    /// Further data from the check; texts under `warnings` are shown with the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) details: Option<Value>,
    /// What a judge has said, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judged: Option<Box<Judged>>,
}

/// What a judge has said of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Judged {
    /// Its grade; missing if the judge gave no grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grade: Option<Grade>,
    /// Why there is no grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unscored: Option<Ungraded>,
    /// The tokens that the answers of the judge used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Usage>,
    /// Whether a part of the text was left out when the judge got it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
}

/// A text that a judge still has to grade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToJudge {
    /// The text.
    pub(super) text: String,
    /// Whether a part was already left out of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
}

impl CheckResult {
    /// The warnings of the check: the texts under `warnings` in its details.
    pub(super) fn warnings(&self) -> impl Iterator<Item = &str> {
        let details = self.details.as_ref();
        let warnings = details.and_then(|details| details.get("warnings"));
        let warnings = warnings.and_then(Value::as_array).into_iter().flatten();
        warnings.filter_map(Value::as_str)
    }
}

/// The answer of a call that runs a scenario: the checks examine the output of the pipeline while its workspace exists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioAnswer {
    /// The result of each check, by the name of the invariant.
    pub(super) checks: BTreeMap<String, CheckResult>,
    /// The texts that a judge still has to grade, by the name of the invariant.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) to_judge: BTreeMap<String, ToJudge>,
    /// The forbidden actions of the pipeline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) forbidden: Vec<String>,
    /// The beginning of the pipeline's answer, for people and for examples.
    pub(super) agent_output: String,
    /// Whether the answer is longer than the stored beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_output_cut: bool,
    /// If the answer is longer, the digest and the length of the whole answer, with its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) whole_output: Option<KeptText>,
    /// The requests to the mocked servers that record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) calls: Option<KeptText>,
    /// The events in the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) events: Option<KeptText>,
}

impl ScenarioRecord {
    /// The record of a scenario that has not run yet.
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self {
            input: scenario.digest(),
            prompt: beginning(scenario.prompt.trim(), MOST_OF_PROMPT),
            expected: scenario
                .expected
                .as_ref()
                .map(|expected| beginning(&plain(expected), MOST_OF_OUTPUT)),
            params: scenario.params.clone(),
            runs: Vec::new(),
            notices: Vec::new(),
        }
    }
}

impl ScenarioRun {
    /// Shortens the agent's texts, and texts that quote them, to the part that may be stored. Checks and judges quote
    /// them in their results, and a failure contains the printed text.
    fn shorten(&mut self, texts: KeptTexts) {
        if texts == KeptTexts::Full {
            return;
        }
        let of_agent = [&mut self.output, &mut self.calls, &mut self.events];
        for text in of_agent.into_iter().flatten() {
            text.shorten(texts);
        }
        let short = |text: &str| match texts {
            KeptTexts::None => NOT_KEPT.to_owned(),
            _ => beginning(text, KeptTexts::SHORT),
        };
        // An empty text stays empty.
        let short_if_any = |text: &str| match text {
            "" => String::new(),
            text => short(text),
        };
        for check in self.checks.values_mut() {
            check.reason = short_if_any(&check.reason);
            let warnings: Vec<Value> = match texts {
                KeptTexts::None => Vec::new(),
                _ => check.warnings().map(|text| short(text).into()).collect(),
            };
            // The other details are not used in stored reports, and a script may have put the whole answer there.
            check.details =
                (!warnings.is_empty()).then(|| serde_json::json!({ "warnings": warnings }));
            if let Some(judged) = &mut check.judged {
                if let Some(grade) = &mut judged.grade {
                    grade.change_notes(short_if_any);
                }
                if let Some(unscored) = &mut judged.unscored {
                    unscored.text = short_if_any(&unscored.text);
                }
            }
        }
        for what in &mut self.forbidden {
            *what = short(what);
        }
        if let Some(failure) = &mut self.failure {
            for text in [
                &mut failure.message,
                &mut failure.stderr,
                &mut failure.stdout,
            ] {
                *text = short_if_any(text);
            }
        }
    }
}

/// The first `most` characters of a text; if there are more, a mark follows.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Item for ScenarioRecord {
    fn digest(&self) -> Digest {
        self.input
    }

    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.runs.len())
    }

    fn has_answer(&self) -> bool {
        self.runs.iter().any(|run| run.failure.is_none())
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn shorten(&mut self, texts: KeptTexts) {
        self.runs.iter_mut().for_each(|run| run.shorten(texts));
    }
}

/// Reads the whole answer.
pub(super) struct ScenarioReader {
    /// The digest of everything on which the checks depend: an answer with other checks cannot be used for these.
    pub(super) digest: Digest,
}

impl Reader for ScenarioReader {
    fn digest(&self) -> Digest {
        self.digest
    }

    fn read(&self, output: &[u8], _: &Reply) -> Result<Value, Failure> {
        let answer: Result<ScenarioAnswer, _> = serde_json::from_slice(output);
        let answer = answer.and_then(serde_json::to_value);
        answer.map_err(|error| {
            let what = format!("what the checks have said cannot be read: {error}");
            Failure::new(FailureKind::OutputNotJson, what)
        })
    }

    /// An answer with an error in it is requested again: the cause may have disappeared by then.
    fn may_be_kept(&self, value: &Value) -> bool {
        let answer = ScenarioAnswer::deserialize(value);
        answer.is_ok_and(|answer| {
            let mut checks = answer.checks.iter();
            // A check that waits for a judge is an error only until the judge has graded.
            checks.all(|(name, check)| {
                check.outcome != Outcome::Error || answer.to_judge.contains_key(name)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_base::failure::FailureKind;
    use kelvin_run::judge::UngradedCode;

    /// What nobody may read where texts are not kept.
    const SAID: &str = "the-very-words-of-an-answer";

    /// A scenario in whose record the words of an answer stand wherever they can.
    fn record() -> ScenarioRecord {
        let long = format!("{} {SAID}", "so much was said before ".repeat(8));
        let check = |outcome, judged| CheckResult {
            outcome,
            score: Some(0.5),
            reason: format!("{SAID} is not as expected: {long}"),
            details: Some(serde_json::json!({"warnings": [SAID], "rows": [{SAID: long}]})),
            judged,
        };
        let grade = Grade::new(0.5, SAID, "a judge").expect("a grade");
        let judged = Judged {
            grade: Some(grade),
            unscored: Some(Ungraded::new(UngradedCode::Unreadable, SAID)),
            usage: None,
            is_cut: false,
        };
        let run = ScenarioRun {
            outcome: Outcome::Failed,
            composite: Some(0.5),
            checks: BTreeMap::from([
                ("plain".to_owned(), check(Outcome::Failed, None)),
                (
                    "judged".to_owned(),
                    check(Outcome::Passed, Some(Box::new(judged))),
                ),
            ]),
            output: Some(KeptText::of(&format!("{SAID} {long}"))),
            calls: Some(KeptText::of(&format!("POST /{SAID}"))),
            events: Some(KeptText::of(SAID)),
            forbidden: vec![format!("it wrote `{SAID}`")],
            failure: Some(Box::new(Failure {
                kind: FailureKind::Exit(1),
                message: SAID.to_owned(),
                stderr: long.clone(),
                stdout: long,
            })),
        };
        let scenario: Scenario =
            serde_json::from_str(r#"{"id": "s", "prompt": "Do it", "expected": {"a": 1}}"#)
                .expect("a scenario");
        ScenarioRecord {
            runs: vec![run],
            ..ScenarioRecord::of(&scenario)
        }
    }

    #[test]
    fn no_word_of_an_answer_is_left_where_none_may_be_and_outcomes_and_scores_stay() {
        let whole = record();
        let mut none = whole.clone();
        none.shorten(KeptTexts::None);
        let written = serde_json::to_string(&none).expect("JSON");
        assert!(!written.contains("very-words"), "{written}");
        for (name, check) in &none.runs[0].checks {
            let before = &whole.runs[0].checks[name];
            assert_eq!((check.outcome, check.score), (before.outcome, before.score));
            assert_eq!(check.reason, NOT_KEPT);
        }
        assert_eq!(none.runs[0].composite, Some(0.5));
        assert_eq!(
            (none.prompt.as_str(), none.expected.as_deref()),
            ("Do it", Some("{\"a\":1}"))
        );
        let digests =
            [&whole, &none].map(|one| one.runs[0].output.as_ref().map(|text| text.digest));
        assert_eq!(
            digests[0], digests[1],
            "it is still known to be the same answer"
        );
        // What was shortened once is not changed by doing it again, and nothing is where everything may be.
        let mut again = none.clone();
        again.shorten(KeptTexts::None);
        assert_eq!(again, none);
        let mut full = whole.clone();
        full.shorten(KeptTexts::Full);
        assert_eq!(full, whole);
    }

    #[test]
    fn a_short_form_has_no_more_than_the_beginning_of_anything() {
        let mut short = record();
        short.shorten(KeptTexts::Short);
        let written = serde_json::to_value(&short).expect("JSON");
        fn longest(value: &Value) -> usize {
            match value {
                Value::String(text) => text.chars().count(),
                Value::Array(items) => items.iter().map(longest).max().unwrap_or(0),
                Value::Object(entries) => entries.values().map(longest).max().unwrap_or(0),
                _ => 0,
            }
        }
        assert!(longest(&written["runs"][0]["checks"]) <= KeptTexts::SHORT + 1);
        assert!(longest(&written["runs"][0]["failure"]) <= KeptTexts::SHORT + 1);
        assert_eq!(short.runs[0].checks["plain"].warnings().next(), Some(SAID));
        assert!(!written.to_string().contains("rows"), "{written}");
    }

    #[test]
    fn a_long_prompt_and_what_is_expected_are_cut() {
        let scenario =
            serde_json::json!({"id": "s", "prompt": "é".repeat(300), "expected": "x".repeat(3000)});
        let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario");
        let record = ScenarioRecord::of(&scenario);
        assert_eq!(record.prompt, "é".repeat(200) + "…");
        assert_eq!(record.expected.expect("it expects").chars().count(), 2001);
    }
}
