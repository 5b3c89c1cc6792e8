//! The trials that are stored in a repository, so that a gate knows which judges it may trust.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trial::{Fitness, TrialRecord};

/// The version of the file format. A file of another version is not read, since its fields may have another meaning.
const SCHEMA: u32 = 1;

/// The trials of the judges of one configuration, as `kelvin calibrate` stores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The version of the file.
    pub schema: u32,
    /// The last trial of each judge.
    pub trials: Vec<TrialRecord>,
    /// How far judges agree with people about which of two answers is better, as `kelvin label` stores it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<PeopleRecord>,
}

/// How far a judge agrees with people about which of two answers is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeopleRecord {
    /// Where the judge is configured: `grading.judge`.
    pub judge: String,
    /// Its id. The record says nothing about a judge with another id.
    pub grader_id: String,
    /// What people were asked to choose by.
    pub criterion: String,
    /// How many choices of people there are about pairs that the judge has graded.
    pub choices: usize,
    /// The share of these choices in which the judge makes the same choice: the first answer, the second one, or a tie.
    pub agreed: f64,
    /// Cohen's kappa; missing if the people or the judge say the same of every pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kappa: Option<f64>,
    /// Its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

impl Default for Calibration {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            trials: Vec::new(),
            people: Vec::new(),
        }
    }
}

/// The results of the stored trials of a judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeStanding {
    /// The judge was tested, and is fit for a gate.
    Fit,
    /// The judge was tested, and is not known to be fit, for these reasons.
    NotFit(Fitness, Vec<String>),
    /// The judge at this place was tested with other settings; the text is its id at that time.
    Void(String),
    /// The judge was tested with these settings, but at that time its server reported other names for the model.
    ServedOtherwise(BTreeSet<String>),
    /// The judge was never tested.
    Untried,
}

/// Reads the file.
///
/// # Errors
///
/// Fails with the reason why the file cannot be used, in words for a person.
pub fn read(bytes: &[u8]) -> Result<Calibration, String> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let schema = value.get("schema").and_then(Value::as_u64);
    if schema != Some(u64::from(SCHEMA)) {
        let found = value
            .get("schema")
            .map_or("none".to_owned(), Value::to_string);
        return Err(format!(
            "its `schema` is {found}, and this version reads {SCHEMA}"
        ));
    }
    serde_json::from_value(value).map_err(|error| format!("it is no calibration: {error}"))
}

impl Calibration {
    /// The results of the trials for the judge with this id, which is configured at this position and whose servers
    /// report these model names. A trial of another id or of other models does not count. There are no names if there
    /// was no grading, or if no server reports a name.
    pub fn stands_for(
        &self,
        judge: &str,
        grader_id: &str,
        served: &BTreeSet<String>,
    ) -> JudgeStanding {
        let Some(trial) = self.trial(grader_id) else {
            let before = self.trials.iter().find(|trial| trial.judge == judge);
            return before.map_or(JudgeStanding::Untried, |before| {
                JudgeStanding::Void(before.grader_id.clone())
            });
        };
        match trial.fitness {
            Fitness::Fit if !served.is_empty() && *served != trial.served => {
                JudgeStanding::ServedOtherwise(trial.served.clone())
            }
            Fitness::Fit => JudgeStanding::Fit,
            fitness => {
                let against = trial.against().map(|one| one.text.clone());
                JudgeStanding::NotFit(fitness, against.collect())
            }
        }
    }

    /// The trial of the judge of this id.
    pub fn trial(&self, grader_id: &str) -> Option<&TrialRecord> {
        let mut trials = self.trials.iter();
        trials.find(|trial| trial.grader_id == grader_id)
    }

    /// Stores the choices of people, replacing earlier records of the same judge and criterion.
    pub fn put_people(&mut self, record: PeopleRecord) {
        self.people
            .retain(|one| (&one.judge, &one.criterion) != (&record.judge, &record.criterion));
        self.people.push(record);
        self.people.sort_by(|one, other| {
            (&one.judge, &one.criterion).cmp(&(&other.judge, &other.criterion))
        });
    }

    /// Stores a trial, replacing earlier ones of the same judge.
    pub fn put(&mut self, record: TrialRecord) {
        self.trials
            .retain(|trial| trial.judge != record.judge && trial.grader_id != record.grader_id);
        self.trials.push(record);
        self.trials
            .sort_by(|one, other| one.judge.cmp(&other.judge));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A record as a file has it, without figures.
    pub(super) fn record(judge: &str, grader_id: &str, fitness: &str) -> TrialRecord {
        let record = json!({
            "judge": judge,
            "grader_id": grader_id,
            "compared_with": "exact-match/ws-v1",
            "fitness": fitness,
            "criteria": [
                {"name": "order", "ruling": "kept", "text": "the order is right"},
                {"name": "length", "ruling": "open", "text": "filler may add to the score"},
                {"name": "obedience", "ruling": "broken", "text": "an instruction adds 0.4"},
            ],
            "prompts": 40, "answers": 40, "labelled": 0,
            "answers_digest": "0".repeat(64),
            "pass": 0.5, "repeats": 3, "gradings": 400,
            "figures": {},
            "smallest_drop": {"noise": null, "by_prompts": {}},
        });
        serde_json::from_value(record).expect("it is a record")
    }

    fn stored() -> Calibration {
        let mut calibration = Calibration::default();
        calibration.put(record("grading.judge", "llm/v1-aa", "fit"));
        calibration.put(record("checks.judge", "llm/v1-bb", "unfit"));
        calibration
    }

    #[test]
    fn a_trial_stands_for_the_judge_of_its_id_alone() {
        let stored = stored();
        assert_eq!(
            stored.stands_for("grading.judge", "llm/v1-aa", &BTreeSet::new()),
            JudgeStanding::Fit
        );
        // The same judge at another place is the same judge.
        assert_eq!(
            stored.stands_for("evidence.scorer", "llm/v1-aa", &BTreeSet::new()),
            JudgeStanding::Fit
        );
        assert_eq!(
            stored.stands_for("checks.judge", "llm/v1-bb", &BTreeSet::new()),
            JudgeStanding::NotFit(Fitness::Unfit, vec!["an instruction adds 0.4".to_owned()])
        );
        assert_eq!(
            stored.stands_for("grading.judge", "llm/v1-cc", &BTreeSet::new()),
            JudgeStanding::Void("llm/v1-aa".to_owned())
        );
        assert_eq!(
            stored.stands_for("evidence.scorer", "llm/v1-cc", &BTreeSet::new()),
            JudgeStanding::Untried
        );
    }

    #[test]
    fn a_trial_of_a_model_of_another_name_says_nothing() {
        let names = |name: &str| BTreeSet::from([name.to_owned()]);
        let mut stored = Calibration::default();
        stored.put(TrialRecord {
            served: names("gpt-4o-2024-05-13"),
            ..record("grading.judge", "llm/v1-aa", "fit")
        });
        let standing =
            |served: &BTreeSet<String>| stored.stands_for("grading.judge", "llm/v1-aa", served);
        assert_eq!(standing(&names("gpt-4o-2024-05-13")), JudgeStanding::Fit);
        assert_eq!(
            standing(&names("gpt-4o-2024-08-06")),
            JudgeStanding::ServedOtherwise(names("gpt-4o-2024-05-13"))
        );
        // Nothing was graded by it, so no name tells of another model.
        assert_eq!(standing(&BTreeSet::new()), JudgeStanding::Fit);
    }

    #[test]
    fn a_new_trial_takes_the_place_of_the_one_before() {
        let mut stored = stored();
        stored.put(record("grading.judge", "llm/v1-cc", "undecided"));
        assert_eq!(stored.trials.len(), 2);
        let standing = stored.stands_for("grading.judge", "llm/v1-cc", &BTreeSet::new());
        let open = vec!["filler may add to the score".to_owned()];
        assert_eq!(standing, JudgeStanding::NotFit(Fitness::Undecided, open));
        assert_eq!(
            stored.stands_for("grading.judge", "llm/v1-aa", &BTreeSet::new()),
            JudgeStanding::Void("llm/v1-cc".to_owned())
        );
    }

    #[test]
    fn a_file_is_read_as_it_was_written_or_refused() {
        let bytes = serde_json::to_vec(&stored()).expect("written");
        assert_eq!(read(&bytes), Ok(stored()));
        let mut told = Vec::new();
        for text in [
            "",
            "[]",
            "{\"schema\": 2, \"trials\": []}",
            "{\"schema\": 1}",
            "{\"schema\": 1, \"trials\": [{\"judge\": \"a\"}]}",
        ] {
            let error = read(text.as_bytes()).expect_err("refused");
            told.push(error.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @"
        it is no JSON: EOF while parsing a value at line 1 column 0
        its `schema` is none, and this version reads 1
        its `schema` is 2, and this version reads 1
        it is no calibration: missing field `trials`
        it is no calibration: missing field `grader_id`
        ");
    }
}
