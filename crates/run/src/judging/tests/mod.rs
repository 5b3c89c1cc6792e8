//! Judges with models that are functions, and one with recorded answers.

mod known;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::config::{Config, Overrides};
use crate::judge::JudgeSettings;
use crate::targets::{Ended, Invocation, Target};
use crate::{Event, Observer, Rules, RunnerSettings, Silent, Start};
use kelvin_base::failure::FailureKind;

/// A model that answers what a function makes of the question and of the number of the call.
struct Model<'a> {
    answer: &'a (dyn Fn(&str, usize) -> Result<String, FailureKind> + Sync),
    asked: &'a Mutex<Vec<String>>,
}

impl Target for Model<'_> {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let number = {
            let mut asked = self.asked.lock().expect("nobody panics");
            asked.push(call.input.to_owned());
            asked.len()
        };
        match (self.answer)(call.input, number) {
            Ok(answer) => {
                output.extend(answer.bytes());
                Ended::Answered(Reply {
                    usage: Some(Usage {
                        input_tokens: 10,
                        output_tokens: 2,
                        usd: Some(0.5),
                        untold: 0,
                    }),
                    ..Reply::default()
                })
            }
            Err(kind) => Ended::Failed {
                failure: Box::new(Failure::new(kind, "no answer")),
                reply: Reply::default(),
            },
        }
    }
}

/// A project with two models that are declared and that nothing reaches.
struct Project {
    folder: TempDir,
    config: Config,
}

impl Project {
    fn new() -> Self {
        Self::with(
            "models:\n  chat: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", model: m}\n  \
             vectors: {kind: openai, base_url: \"http://127.0.0.1:1/v1\", model: v}\n",
        )
    }

    fn with(models: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kelvin.yaml");
        let text = format!(
            "jobs: 1\ncache: true\nretry: {{initial_delay_s: 0, jitter_max_s: 0}}\n{models}"
        );
        fs::write(&file, text).expect("written");
        let overrides = Overrides {
            file: Some(file),
            ..Overrides::default()
        };
        let config = Config::load(&overrides, &[]).expect("a good configuration");
        Self { folder, config }
    }

    fn judge(&self, settings: serde_json::Value) -> Box<dyn Judge> {
        let settings: JudgeSettings = serde_json::from_value(settings).expect("it fits");
        settings.open(&self.config).expect("it is right")
    }

    /// Grades with a function in the place of every model. Returns the questions too.
    fn grade(
        &self,
        judge: &dyn Judge,
        items: &[(Task, Exhibit<'_>)],
        observer: &dyn Observer,
        answer: &(dyn Fn(&str, usize) -> Result<String, FailureKind> + Sync),
    ) -> (Vec<Graded>, Vec<String>, Cost) {
        let asked = Mutex::default();
        let steps = steps(judge);
        let outs: Vec<_> = steps
            .iter()
            .map(|step| {
                self.folder
                    .path()
                    .join("kelvin")
                    .join(step.folder.as_deref().expect("one"))
            })
            .collect();
        let runners: Vec<Runner<'_>> = steps
            .iter()
            .zip(&outs)
            .map(|(step, out)| {
                let asked = &asked;
                let open = move |_: &crate::targets::TargetSite| {
                    Ok(Box::new(Model { answer, asked }) as Box<dyn Target + '_>)
                };
                Runner::open(open, self.settings(step, out, observer)).expect("opened")
            })
            .collect();
        let graded = grade_all(judge, &runners, items).expect("the run goes on");
        let cost = cost(&runners);
        drop(runners);
        (graded, asked.into_inner().expect("nobody panics"), cost)
    }

    fn settings<'a>(
        &self,
        step: &Step<'a>,
        out: &'a Path,
        observer: &'a dyn Observer,
    ) -> RunnerSettings<'a> {
        assert!(!step.reader.depends_on_code());
        RunnerSettings {
            rules: Rules::of(&self.config, &step.program),
            out,
            start: Start::Fresh,
            fingerprint: Some(Digest::of(b"no code")),
            watch: None,
            reader: step.reader,
            observer,
            observing: None,
        }
    }
}

fn item<'a>(case: &str, response: &'a str) -> (Task, Exhibit<'a>) {
    repeated(case, response, 1)
}

fn repeated<'a>(case: &str, response: &'a str, repeat: usize) -> (Task, Exhibit<'a>) {
    let task = Task {
        case: case.into(),
        variant: None,
        repeat,
    };
    let exhibit = Exhibit {
        passages: None,
        prompt: "p",
        response,
        reference: Some("right"),
        criteria: None,
        turn: 0,
    };
    (task, exhibit)
}

fn scored(score: f64) -> Result<String, FailureKind> {
    Ok(format!("{{\"quality_score\": {score}, \"notes\": \"n\"}}"))
}

fn llm() -> serde_json::Value {
    json!({ "type": "llm", "model": "chat" })
}

fn scores(graded: &[Graded]) -> Vec<Option<f64>> {
    let scores = graded.iter().map(|graded| graded.grade.as_ref().ok());
    scores.map(|grade| Some(grade?.score())).collect()
}

fn codes(graded: &[Graded]) -> Vec<Option<UngradedCode>> {
    let errors = graded.iter().map(|graded| graded.grade.as_ref().err());
    errors.map(|error| Some(error?.code)).collect()
}

#[test]
fn grades_are_in_the_order_of_the_exhibits_and_have_what_they_cost() {
    let project = Project::new();
    let judge = project.judge(llm());
    let items = [
        item("a", "right"),
        item("b", "wrong"),
        item("c", "right indeed"),
    ];
    let answer = |question: &str, _| {
        scored(if question.contains("\nwrong\n") {
            0.0
        } else {
            1.0
        })
    };
    let (graded, asked, cost) = project.grade(&*judge, &items, &Silent, &answer);
    assert_eq!(scores(&graded), [Some(1.0), Some(0.0), Some(1.0)]);
    assert_eq!(asked.len(), 3);
    let grade = graded[0].grade.as_ref().expect("graded");
    assert_eq!(
        (grade.notes(), grade.grader_id()),
        ("n", &*judge.grader_id())
    );
    let usage = graded[0].usage.expect("the model tells it");
    assert_eq!((usage.tokens(), usage.usd), (12, Some(0.5)));
    assert_eq!(
        (cost.invocations, cost.usage.expect("told").usd),
        (3, Some(1.5))
    );
    // Each question and answer has a place of its own.
    let question = project
        .folder
        .path()
        .join("kelvin/judge/b/perturbations/given-1/question.txt");
    assert_eq!(fs::read_to_string(question).expect("it is there"), asked[1]);
}

#[test]
fn jdg_23_a_judge_that_asks_nobody_has_no_steps_and_grades() {
    let project = Project::new();
    let judge = project.judge(json!({ "type": "exact_match" }));
    let items = [item("a", " right"), item("b", "wrong")];
    let (graded, asked, cost) = project.grade(&*judge, &items, &Silent, &|_, _| scored(0.5));
    assert_eq!(scores(&graded), [Some(1.0), Some(0.0)]);
    assert!(asked.is_empty());
    assert_eq!(cost, Cost::default());
}

/// Counts the further attempts that it is told of.
#[derive(Default)]
struct Retries(Mutex<Vec<FailureKind>>);

impl Observer for Retries {
    fn event(&self, event: &Event<'_>) {
        if let Event::Retrying { failure, .. } = event {
            let mut seen = self.0.lock().expect("nobody panics");
            seen.push(failure.kind.clone());
        }
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_once_more_and_that_is_counted_and_told() {
    let project = Project::new();
    let judge = project.judge(llm());
    let told = Retries::default();
    let second = |_: &str, call| {
        if call == 1 {
            Ok("what?".to_owned())
        } else {
            scored(0.5)
        }
    };
    let (graded, asked, cost) = project.grade(&*judge, &[item("a", "x")], &told, &second);
    assert_eq!(scores(&graded), [Some(0.5)]);
    assert_eq!((asked.len(), cost.retries), (2, 1));
    assert_eq!(asked[0], asked[1], "the same question");
    assert_eq!(
        graded[0].usage.expect("told").tokens(),
        24,
        "both attempts cost"
    );
    assert_eq!(
        *told.0.lock().expect("nobody panics"),
        [FailureKind::GradeUnreadable]
    );

    let never = |_: &str, _| Ok("what?".to_owned());
    let (graded, asked, _) = project.grade(&*judge, &[item("b", "y")], &Silent, &never);
    assert_eq!(codes(&graded), [Some(UngradedCode::Unreadable)]);
    assert_eq!(asked.len(), 2, "once more, and not again");
}

#[test]
fn a_busy_server_does_not_use_up_the_second_try_of_an_unreadable_answer() {
    let project = Project::new();
    let judge = project.judge(llm());
    let answer = |_: &str, call| match call {
        1 => Err(FailureKind::RateLimit),
        2 => Ok("{".to_owned()),
        _ => scored(0.5),
    };
    let (graded, asked, _) = project.grade(&*judge, &[item("a", "x")], &Silent, &answer);
    assert_eq!((scores(&graded), asked.len()), (vec![Some(0.5)], 3));
}

#[test]
fn an_answer_that_can_be_read_and_is_wrong_is_final() {
    let project = Project::new();
    let judge = project.judge(llm());
    for (answer, code) in [
        (r#"{"quality_score": 1.0000001}"#, UngradedCode::Invalid),
        (r#"{"quality_score": -0.1}"#, UngradedCode::Invalid),
        (r#"{"quality_score": "0.9"}"#, UngradedCode::Invalid),
        (r#"{"notes": "good"}"#, UngradedCode::Missing),
        (
            r#"{"quality_score": 1} {"quality_score": 0}"#,
            UngradedCode::Ambiguous,
        ),
    ] {
        let fixed = |_: &str, _| Ok(answer.to_owned());
        let (graded, asked, _) = project.grade(&*judge, &[item("a", answer)], &Silent, &fixed);
        assert_eq!(codes(&graded), [Some(code)], "{answer}");
        assert_eq!(asked.len(), 1, "{answer}");
    }
}

#[test]
fn a_call_that_fails_leaves_its_sample_alone_unscored() {
    let project = Project::new();
    let judge = project.judge(llm());
    let items = [item("a", "x"), item("b", "broken"), item("c", "z")];
    let answer = |question: &str, _| match question.contains("\nbroken\n") {
        true => Err(FailureKind::Timeout),
        false => scored(0.5),
    };
    let (graded, ..) = project.grade(&*judge, &items, &Silent, &answer);
    assert_eq!(scores(&graded), [Some(0.5), None, Some(0.5)]);
    assert_eq!(codes(&graded)[1], Some(UngradedCode::CallFailed));
}

#[test]
fn each_judge_of_a_panel_has_a_runner_of_its_own() {
    let project = Project::new();
    let judge = project.judge(json!({
        "type": "panel",
        "panel": [
            { "type": "exact_match" },
            { "type": "embedding_similarity", "model": "vectors" },
            { "type": "llm", "model": "chat" },
        ],
    }));
    let folders: Vec<_> = steps(&*judge).into_iter().map(|step| step.folder).collect();
    assert_eq!(
        folders,
        [Some("judge".to_owned()), Some("judge-2".to_owned())]
    );
    let answer = |question: &str, _| match question.starts_with('[') {
        true => Ok("[[1, 0], [0, 1]]".to_owned()),
        false => scored(0.5),
    };
    let (graded, asked, _) = project.grade(&*judge, &[item("a", "right")], &Silent, &answer);
    assert_eq!(asked.len(), 2);
    assert_eq!(scores(&graded), [Some(0.5)], "the mean of 1, 0 and 0.5");
}

#[test]
fn an_exhibit_that_cannot_be_graded_costs_no_call() {
    let project = Project::new();
    let judge = project.judge(llm());
    let mut alone = item("a", "x");
    alone.1.reference = None;
    let items = [alone, item("b", "y")];
    let (graded, asked, _) = project.grade(&*judge, &items, &Silent, &|_, _| scored(0.5));
    assert_eq!(codes(&graded), [Some(UngradedCode::NoReference), None]);
    assert_eq!(asked.len(), 1);
}
