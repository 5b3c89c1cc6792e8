//! Has every prompt answered, the baseline first, and then graded; and keeps what came back.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking::{self, SampleKey};
use super::pair::{Grades, Pair};
use super::plan::Plan;
use super::prompts::Prompt;
use super::record::{
    Answered, GradedSample, KeptText, PromptRecord, Scoring, Unscored, UnscoredCode,
};
use super::stored::{Next, StoredAnswers};
use crate::notice::Notice;
use crate::probe::Ending;
use crate::run::kept::{self, Times};
use crate::run::{Outcome, Runner, Task, Usage};

/// A measurement under way.
pub(super) struct Grading<'a> {
    plan: &'a Plan<'a>,
    baseline: Option<&'a Runner<'a>>,
    candidate: &'a Runner<'a>,
    judges: &'a [Runner<'a>],
    /// Prompts that are asked more often than the others, by id.
    more: BTreeMap<String, usize>,
    of_baseline: BTreeMap<SampleKey, Outcome>,
    of_candidate: BTreeMap<SampleKey, Outcome>,
    /// What the report of the base has stored; none before it is known.
    base: Option<StoredAnswers>,
    graded: BTreeMap<SampleKey, Sampled>,
    ending: Ending,
}

/// What became of a sample.
struct Sampled {
    /// What it was graded next to, and which repeat of the base that is.
    other: Option<(Answered, Option<usize>)>,
    grades: Grades,
    /// What the judge used for it.
    usage: Option<Usage>,
}

impl Sampled {
    /// A sample that nobody could grade.
    const fn without(why: Unscored, other: Option<(Answered, Option<usize>)>) -> Self {
        Self {
            other,
            grades: Grades {
                candidate: Err(why),
                other: None,
            },
            usage: None,
        }
    }
}

impl<'a> Grading<'a> {
    /// Nothing has been asked yet. The runners are in the order of the steps of the plan.
    pub(super) fn new(plan: &'a Plan<'a>, runners: &'a [Runner<'a>]) -> Self {
        let (baseline, rest) = match plan.settings.baseline {
            Some(_) => (runners.first(), &runners[1..]),
            None => (None, runners),
        };
        Self {
            plan,
            baseline,
            candidate: &rest[0],
            judges: &rest[1..],
            more: BTreeMap::new(),
            of_baseline: BTreeMap::new(),
            of_candidate: BTreeMap::new(),
            base: None,
            graded: BTreeMap::new(),
            ending: Ending::Interrupted,
        }
    }

    /// Has every prompt answered and graded.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        self.measure()?;
        let answered = self
            .of_candidate
            .values()
            .any(|outcome| outcome.result.is_ok());
        self.ending = match (self.stopped(), answered) {
            (true, _) => Ending::Interrupted,
            (false, false) if !self.plan.places.is_empty() => Ending::Failed,
            (false, _) => Ending::Complete,
        };
        Ok(())
    }

    /// Has some prompts answered again until each was asked `repeats` times.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn repeat(&mut self, wanted: &BTreeMap<String, usize>) -> anyhow::Result<()> {
        for (id, repeats) in wanted {
            let so_far = self.more.entry(id.clone()).or_default();
            *so_far = (*repeats).max(*so_far);
        }
        self.measure()?;
        if self.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Grades next to the answers that the base has stored.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn against(&mut self, base: StoredAnswers) -> anyhow::Result<()> {
        self.base = Some(base);
        if self.baseline.is_none() {
            // A base that was run again has other answers than before.
            self.graded.clear();
            self.grade()?;
        }
        if self.stopped() {
            self.ending = Ending::Interrupted;
        }
        Ok(())
    }

    /// Writes every input and asks nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    pub(super) fn rehearse(&mut self) -> anyhow::Result<()> {
        let texts = self.texts();
        let input = |task: &Task| text(&texts, task);
        for runner in self.baseline.into_iter().chain([self.candidate]) {
            runner.write_inputs(&self.todo(&BTreeMap::new()), &input)?;
        }
        self.ending = Ending::DryRun;
        Ok(())
    }

    fn stopped(&self) -> bool {
        let mut runners = self
            .judges
            .iter()
            .chain([self.candidate])
            .chain(self.baseline);
        runners.any(Runner::stopped)
    }

    fn measure(&mut self) -> anyhow::Result<()> {
        let texts = self.texts();
        let input = |task: &Task| text(&texts, task);
        if let Some(baseline) = self.baseline {
            let tasks = self.todo(&self.of_baseline);
            let done = baseline.run_all("answers of the baseline", &tasks, &input)?;
            take(&mut self.of_baseline, tasks, done);
        }
        let tasks = self.todo(&self.of_candidate);
        let done = self.candidate.run_all("answers", &tasks, &input)?;
        take(&mut self.of_candidate, tasks, done);
        self.grade()
    }

    /// Grades every sample that has no grade yet.
    fn grade(&mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        let mut settled = Vec::new();
        let mut others = Vec::new();
        let mut pairs = Vec::new();
        for (key, outcome) in &self.of_candidate {
            let (Some(prompt), false) = (plan.prompt(&key.0), self.graded.contains_key(key)) else {
                continue;
            };
            let next = self.next_to(key);
            let (other_text, other) = match &next {
                Next::Text(text, stored, repeat) => (Some(*text), Some((stored.clone(), *repeat))),
                Next::Missing(_, other) => (None, other.clone()),
            };
            let candidate = match (&outcome.result, &next) {
                (Err(failure), _) => {
                    let why = format!("the candidate gave no answer: {}", failure.message);
                    let why = Unscored::new(UnscoredCode::CandidateFailed, &why);
                    settled.push((key.clone(), Sampled::without(why, other)));
                    continue;
                }
                (Ok(_), Next::Missing(why, _)) if plan.scoring != Scoring::Each => {
                    settled.push((key.clone(), Sampled::without(why.clone(), other)));
                    continue;
                }
                (Ok(answer), _) => answer.as_str().unwrap_or_default(),
            };
            // Where each answer is graded by itself, only a baseline that was run is graded here: the report
            // of the base has the grades of its answers.
            let is_shown = plan.scoring != Scoring::Each || self.baseline.is_some();
            let pair = Pair {
                prompt: &prompt.prompt,
                reference: prompt.reference.as_deref(),
                candidate,
                other: other_text.filter(|_| is_shown),
            };
            others.push(other);
            pairs.push((key.clone(), pair));
        }
        let graded = asking::grade(&*plan.judge, self.judges, plan.scoring, &pairs)?;
        for (((key, _), other), (mut grades, usage)) in pairs.iter().zip(others).zip(graded) {
            let repeat = other.as_ref().and_then(|(_, repeat)| *repeat);
            let base = self.base.as_ref().zip(repeat);
            if let Some(stored) =
                base.and_then(|(base, repeat)| base.grade(&key.0, repeat, plan.scoring))
            {
                grades.other = Some(stored);
            }
            settled.push((
                key.clone(),
                Sampled {
                    other,
                    grades,
                    usage,
                },
            ));
        }
        self.graded.extend(settled);
        Ok(())
    }

    /// What a sample is graded next to.
    fn next_to(&self, key: &SampleKey) -> Next<'_> {
        if self.baseline.is_some() {
            let Some(outcome) = self.of_baseline.get(key) else {
                let why = Unscored::new(UnscoredCode::BaselineFailed, "the baseline was not asked");
                return Next::Missing(why, None);
            };
            return match &outcome.result {
                Ok(answer) => {
                    Next::Text(answer.as_str().unwrap_or_default(), answered(outcome), None)
                }
                Err(failure) => {
                    let why = format!("the baseline gave no answer: {}", failure.message);
                    let why = Unscored::new(UnscoredCode::BaselineFailed, &why);
                    Next::Missing(why, Some((answered(outcome), None)))
                }
            };
        }
        match (&self.base, self.plan.prompt(&key.0)) {
            (Some(base), Some(prompt)) => base.next_to(prompt, key.1),
            _ => Next::nothing(
                "there is no report of a base whose answers it could be graded next to",
            ),
        }
    }

    fn asked(&self) -> impl Iterator<Item = &'a Prompt> {
        let plan = self.plan;
        plan.places.iter().map(|place| &plan.prompts[*place])
    }

    fn repeats(&self, id: &str) -> usize {
        let more = self.more.get(id).copied().unwrap_or_default();
        more.max(self.plan.config.repeats.get())
    }

    fn todo(&self, done: &BTreeMap<SampleKey, Outcome>) -> Vec<Task> {
        let mut tasks = Vec::new();
        for prompt in self.asked() {
            let case: Arc<str> = prompt.id.as_str().into();
            for repeat in 1..=self.repeats(&prompt.id) {
                if !done.contains_key(&(Arc::clone(&case), repeat)) {
                    tasks.push(Task {
                        case: Arc::clone(&case),
                        variant: None,
                        repeat,
                    });
                }
            }
        }
        tasks
    }

    fn texts(&self) -> BTreeMap<&'a str, &'a str> {
        self.asked()
            .map(|prompt| (prompt.id.as_str(), prompt.prompt.as_str()))
            .collect()
    }

    fn of(&self, prompt: &Prompt) -> impl Iterator<Item = (SampleKey, &Outcome)> {
        let id: Arc<str> = prompt.id.as_str().into();
        let keys = (1..=self.repeats(&prompt.id)).map(move |repeat| (Arc::clone(&id), repeat));
        keys.filter_map(|key| {
            let outcome = self.of_candidate.get(&key)?;
            Some((key, outcome))
        })
    }

    /// The prompts whose repeats were answered from memory.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let times: Vec<Option<Times>> = self
            .asked()
            .map(|prompt| Times::of(&[self.of(prompt).map(|(_, outcome)| outcome).collect()]))
            .collect();
        let prompts = self.asked().zip(kept::are_kept(&times));
        let notices = prompts
            .filter(|(_, is_kept)| *is_kept)
            .map(|(prompt, _)| kept::notice(&prompt.id).kind("grading"));
        notices.collect()
    }

    /// How it ended.
    pub(super) const fn ending(&self) -> Ending {
        self.ending
    }

    /// How long the candidate took for each repeat of each prompt, in seconds.
    pub(super) fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        let of = |prompt: &Prompt| {
            self.of(prompt)
                .map(|(_, outcome)| outcome.seconds)
                .collect()
        };
        self.asked()
            .map(|prompt| (prompt.id.clone(), of(prompt)))
            .collect()
    }

    /// What came back so far, by prompt.
    pub(super) fn records(&self) -> BTreeMap<String, PromptRecord> {
        let record = |prompt: &Prompt| {
            let samples = self
                .of(prompt)
                .map(|(key, outcome)| self.sample(&key, outcome));
            let record = PromptRecord {
                input: prompt.digest(),
                prompt: KeptText::of(&prompt.prompt),
                reference: prompt.reference.as_deref().map(KeptText::of),
                tags: prompt.tags.clone(),
                samples: samples.collect(),
            };
            (prompt.id.clone(), record)
        };
        self.asked().map(record).collect()
    }

    fn sample(&self, key: &SampleKey, outcome: &Outcome) -> GradedSample {
        let sampled = self.graded.get(key);
        let other = sampled.and_then(|sampled| sampled.other.clone());
        let grades = sampled.map(|sampled| sampled.grades.clone());
        let (grade, unscored) = match grades.as_ref().map(|grades| &grades.candidate) {
            Some(Ok(grade)) => (Some(grade.clone()), None),
            Some(Err(unscored)) => (None, Some(unscored.clone())),
            None => {
                let why = "the run ended before the answer was graded";
                (None, Some(Unscored::new(UnscoredCode::JudgeFailed, why)))
            }
        };
        GradedSample {
            candidate: answered(outcome),
            base_repeat: other.as_ref().and_then(|(_, repeat)| *repeat),
            baseline: other.map(|(answered, _)| answered),
            grade,
            baseline_grade: grades.and_then(|grades| grades.other),
            judge_usage: sampled.and_then(|sampled| sampled.usage),
            unscored,
        }
    }
}

/// An answer as it is stored.
fn answered(outcome: &Outcome) -> Answered {
    let text = outcome
        .result
        .as_ref()
        .ok()
        .and_then(|answer| answer.as_str());
    Answered {
        answer: text.map(KeptText::of),
        failure: outcome.result.as_ref().err().cloned(),
        usage: outcome.usage,
    }
}

fn take(done: &mut BTreeMap<SampleKey, Outcome>, tasks: Vec<Task>, outcomes: Vec<Option<Outcome>>) {
    for (task, outcome) in tasks.into_iter().zip(outcomes) {
        if let Some(outcome) = outcome {
            done.insert((task.case, task.repeat), outcome);
        }
    }
}

/// The prompt as it is, without anything around it.
fn text<'t>(texts: &BTreeMap<&str, &'t str>, task: &Task) -> Cow<'t, str> {
    Cow::Borrowed(texts.get(&*task.case).copied().unwrap_or_default())
}
