//! Asks every prompt, of the baseline first, has the answers graded, and keeps the results.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking::{self, SampleKey, Turns};
use super::pair::{Grades, Pair};
use super::plan::Plan;
use super::planted;
use super::prompts::Prompt;
use super::record::{Answered, GradedSample, PromptRecord, Scoring, Unscored, UnscoredCode};
use super::stored::{Next, StoredAnswers};
use kelvin_base::notice::Notice;
use kelvin_base::usage::Usage;
use kelvin_probe::RepeatedItems;
use kelvin_record::{Ending, KeptText, WantedRepeats};
use kelvin_run::judge::planted::PlantedAnswers;
use kelvin_run::kept;
use kelvin_run::{Outcome, Runner};

/// A running measurement.
pub(super) struct Grading<'a> {
    plan: &'a Plan<'a>,
    /// The answers of the baseline, where it is run here.
    baseline: Option<RepeatedItems<'a>>,
    candidate: RepeatedItems<'a>,
    judges: &'a [Runner<'a>],
    /// The stored answers in the report of the base; none before it is known.
    base: Option<StoredAnswers>,
    /// The planted answers with their grades; none before the run is compared with a base.
    planted: Option<PlantedAnswers>,
    graded: BTreeMap<SampleKey, Sampled>,
}

/// The result for a sample.
struct Sampled {
    /// The answer that it was graded against, and its repeat on the base.
    other: Option<(Answered, Option<usize>)>,
    grades: Grades,
    /// The tokens that the judge used for it.
    usage: Option<Usage>,
}

impl Sampled {
    /// A sample without a grade.
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
    /// The measurement before any call. The runners are in the order of the steps of the plan.
    pub(super) fn new(plan: &'a Plan<'a>, runners: &'a [Runner<'a>]) -> Self {
        let (baseline, rest) = match plan.settings.baseline {
            Some(_) => (runners.first(), &runners[1..]),
            None => (None, runners),
        };
        let repeats = plan.config.repeats.get();
        let asked = |runner, phase| RepeatedItems::new(runner, phase, repeats, plan.inputs());
        Self {
            plan,
            baseline: baseline.map(|runner| asked(runner, "answers of the baseline")),
            candidate: asked(&rest[0], "answers"),
            judges: &rest[1..],
            base: None,
            planted: None,
            graded: BTreeMap::new(),
        }
    }

    /// Has every prompt answered and graded.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        self.of_each(RepeatedItems::run)?;
        self.grade()
    }

    /// Has some prompts answered again until each was asked `repeats` times.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.of_each(|answers| answers.repeat(wanted))?;
        self.grade()
    }

    /// Grades against the stored answers of the base, and tries the judge by planted answers.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub(super) fn against(&mut self, base: StoredAnswers) -> anyhow::Result<()> {
        self.base = Some(base);
        match self.plan.scoring {
            _ if self.baseline.is_some() => {}
            // The grades do not depend on the other answer, so nobody is asked again.
            Scoring::Each => self.lay_beside_base(),
            _ => {
                // A base that was run again has other answers than before.
                self.graded.clear();
                self.grade()?;
            }
        }
        if self.planted.is_none() && self.plan.settings.judge.asks_a_language_model() {
            self.planted = Some(self.plant()?);
        }
        Ok(())
    }

    /// Puts the answers of the base and their grades beside the samples, which keep their own grades.
    fn lay_beside_base(&mut self) {
        let (plan, Some(base)) = (self.plan, &self.base) else {
            return;
        };
        for prompt in plan.asked() {
            let id: Arc<str> = prompt.id.as_str().into();
            for repeat in 1..=self.candidate.outcomes(&prompt.id).count() {
                let Some(sampled) = self.graded.get_mut(&(Arc::clone(&id), repeat)) else {
                    continue;
                };
                sampled.other = match base.next_to(prompt, repeat) {
                    Next::Text(_, stored, of_base) => Some((stored, of_base)),
                    Next::Missing(_, other) => other,
                };
                let of_base = sampled.other.as_ref().and_then(|(_, repeat)| *repeat);
                sampled.grades.other =
                    of_base.and_then(|repeat| base.grade(&prompt.id, repeat, plan.scoring));
            }
        }
    }

    /// Has the judge grade planted answers.
    fn plant(&self) -> anyhow::Result<PlantedAnswers> {
        let prompts = self.plan.asked();
        let answers = prompts.flat_map(|prompt| {
            let outcomes = self.candidate.outcomes(&prompt.id);
            let texts = outcomes.filter_map(|outcome| outcome.result.as_ref().ok()?.as_str());
            texts.map(move |text| (prompt, text))
        });
        planted::plant(
            self.plan,
            self.judges,
            self.base.as_ref(),
            &answers.collect::<Vec<_>>(),
        )
    }

    /// The planted answers, where the judge was tried.
    pub(super) const fn planted(&self) -> Option<&PlantedAnswers> {
        self.planted.as_ref()
    }

    /// Writes every input and asks nothing.
    ///
    /// # Errors
    ///
    /// Where an input cannot be written.
    pub(super) fn rehearse(&mut self) -> anyhow::Result<()> {
        self.of_each(RepeatedItems::rehearse)
    }

    /// Calls a function with the answers of the baseline, where it is run, and of the candidate.
    fn of_each(
        &mut self,
        mut act: impl FnMut(&mut RepeatedItems<'a>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if let Some(baseline) = &mut self.baseline {
            act(baseline)?;
        }
        act(&mut self.candidate)
    }

    fn stopped(&self) -> bool {
        let judges = self.judges.iter().any(Runner::stopped);
        judges || self.baseline.iter().any(RepeatedItems::stopped) || self.candidate.stopped()
    }

    /// Grades every sample that has no grade yet.
    fn grade(&mut self) -> anyhow::Result<()> {
        let plan = self.plan;
        let mut settled = Vec::new();
        let mut others = Vec::new();
        let mut pairs = Vec::new();
        let turns = Turns::of(plan.prompts.iter().map(|prompt| prompt.id.as_str()));
        let samples = plan.asked().flat_map(|prompt| {
            let samples = self.samples(prompt);
            samples.map(move |(key, outcome)| (prompt, key, outcome))
        });
        for (prompt, key, outcome) in samples {
            if self.graded.contains_key(&key) {
                continue;
            }
            let next = self.next_to(prompt, key.1);
            let (other_text, other) = match &next {
                Next::Text(text, stored, repeat) => (Some(*text), Some((stored.clone(), *repeat))),
                Next::Missing(_, other) => (None, other.clone()),
            };
            let candidate = match (&outcome.result, &next) {
                (Err(failure), _) => {
                    let why = format!("the candidate gave no answer: {}", failure.message);
                    let why = Unscored::new(UnscoredCode::CandidateFailed, &why);
                    settled.push((key, Sampled::without(why, other)));
                    continue;
                }
                (Ok(_), Next::Missing(why, _)) if plan.scoring != Scoring::Each => {
                    settled.push((key, Sampled::without(why.clone(), other)));
                    continue;
                }
                (Ok(answer), _) => answer.as_str().unwrap_or_default(),
            };
            // Where each answer is graded by itself, only a baseline that was run here is graded: the report of the
            // base has the grades of its own answers.
            let is_shown = plan.scoring != Scoring::Each || self.baseline.is_some();
            let pair = Pair {
                prompt: &prompt.prompt,
                reference: prompt.reference.as_deref(),
                candidate,
                other: other_text.filter(|_| is_shown),
                turn: turns.turn(&key.0, key.1),
            };
            others.push(other);
            pairs.push((key, pair));
        }
        let graded = asking::grade(
            &*plan.judge,
            self.judges,
            plan.scoring,
            &pairs,
            &asking::of_samples,
        )?;
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

    /// The answer that a sample is graded against.
    fn next_to(&self, prompt: &Prompt, repeat: usize) -> Next<'_> {
        if let Some(baseline) = &self.baseline {
            let Some(outcome) = baseline.outcomes(&prompt.id).nth(repeat - 1) else {
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
        match &self.base {
            Some(base) => base.next_to(prompt, repeat),
            None => Next::nothing(
                "there is no report of a base whose answers it could be graded next to",
            ),
        }
    }

    /// The answers of the candidate to a prompt so far.
    fn samples(&self, prompt: &Prompt) -> impl Iterator<Item = (SampleKey, &Outcome)> {
        let id: Arc<str> = prompt.id.as_str().into();
        let outcomes = self.candidate.outcomes(&prompt.id).zip(1..);
        outcomes.map(move |(outcome, repeat)| ((Arc::clone(&id), repeat), outcome))
    }

    /// Notices about the prompts whose repeats were answered from memory.
    pub(super) fn notices(&self) -> Vec<Notice> {
        let notice = |id| kept::notice(id).kind("grading");
        self.candidate.kept().into_iter().map(notice).collect()
    }

    /// How the measurement ended.
    pub(super) fn ending(&self) -> Ending {
        match self.candidate.ending() {
            Ending::Complete | Ending::Failed if self.stopped() => Ending::Interrupted,
            ending => ending,
        }
    }

    /// The time of the candidate for each repeat of each prompt, in seconds.
    pub(super) fn seconds(&self) -> BTreeMap<String, Vec<f64>> {
        let of = |prompt: &Prompt| {
            let outcomes = self.candidate.outcomes(&prompt.id);
            outcomes.map(|outcome| outcome.seconds).collect()
        };
        let prompts = self.plan.asked();
        prompts
            .map(|prompt| (prompt.id.clone(), of(prompt)))
            .collect()
    }

    /// The records so far, by prompt.
    pub(super) fn records(&self) -> BTreeMap<String, PromptRecord> {
        let record = |prompt: &Prompt| {
            let samples = self
                .samples(prompt)
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
        self.plan.asked().map(record).collect()
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
        usage: outcome.usage.as_deref().copied(),
    }
}
