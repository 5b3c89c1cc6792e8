//! Calls the pipelines with every prompt, the baseline first, has the answers graded, and stores the results.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asking::{self, Grades, Pair, SampleKey, Turns};
use super::plan::Plan;
use super::planted::{self, OwnAnswer};
use super::prompts::Prompt;
use super::reader::{passages_of, text_of};
use super::record::{
    Answered, GradedSample, PromptRecord, Scoring, Unscored, UnscoredCode, WhyAnew,
};
use super::stored::{Next, Restated, StoredAnswers};
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::notice::Notice;
use kelvin_base::usage::Usage;
use kelvin_probe::RepeatedItems;
use kelvin_record::{Ending, KeptText, SharedMap, WantedRepeats};
use kelvin_run::judge::Grade;
use kelvin_run::judge::planted::{PlantedAnswers, Proof};
use kelvin_run::{Outcome, Runner, kept};

/// A running measurement.
pub(super) struct Grading<'a> {
    plan: &'a Plan<'a>,
    /// The answers of the baseline, if it is run here.
    baseline: Option<RepeatedItems<'a>>,
    candidate: RepeatedItems<'a>,
    judges: &'a [Runner<'a>],
    /// The stored answers in the report of the base; none before it is known.
    base: Option<StoredAnswers>,
    /// The planted answers with their grades; none before the run is compared with a base.
    planted: Option<PlantedAnswers>,
    /// The prompts of the first base with which the run was compared, as they were before the change.
    before: Option<SharedMap<PromptRecord>>,
    /// The grades with the references of that base, if the change has other references.
    by_old_reference: BTreeMap<SampleKey, Result<Grade, Unscored>>,
    /// The new grades of answers of the base that were graded again, by prompt and answer, and the reason.
    anew: BTreeMap<(Arc<str>, Digest), Result<Grade, Unscored>>,
    base_anew: Option<WhyAnew>,
    graded: BTreeMap<SampleKey, Sampled>,
}

/// The result for a sample.
struct Sampled {
    /// The answer against which it was graded, and the repeat of that answer on the base.
    other: Option<(Answered, Option<usize>)>,
    grades: Grades,
    /// The tokens that the judge used for this answer.
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
            before: None,
            by_old_reference: BTreeMap::new(),
            anew: BTreeMap::new(),
            base_anew: None,
            graded: BTreeMap::new(),
        }
    }

    /// Gets an answer to every prompt, and a grade for each answer. Fails if the run cannot continue.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        self.of_each(RepeatedItems::run)?;
        self.grade()
    }

    /// Repeats some prompts until each was run `repeats` times. Fails if the run cannot continue.
    pub(super) fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.of_each(|answers| answers.repeat(wanted))?;
        self.grade()?;
        self.grade_by_old_references()
    }

    /// Grades against the stored answers of the base, and tests the judge with planted answers. Fails if the run cannot
    /// continue.
    pub(super) fn against(&mut self, base: StoredAnswers) -> anyhow::Result<()> {
        self.before.get_or_insert_with(|| base.prompts.clone());
        self.base = Some(base);
        match self.plan.scoring {
            _ if self.baseline.is_some() => {}
            // The grades do not depend on the other answer, so the judge is not asked again.
            Scoring::Each => self.lay_beside_base(),
            _ => {
                // A base that was run again has other answers than before.
                self.graded.clear();
                self.grade()?;
            }
        }
        if self.planted.is_none() && self.plan.settings.keys.judge.asks_a_language_model() {
            self.planted = Some(self.plant()?);
        }
        self.grade_base_anew()?;
        self.grade_by_old_references()
    }

    /// Lets the judge grade the answers with the references of the base too, if the change edits them. If the change
    /// also edits the prompt, the old reference does not fit the new prompt, and its answers are not comparable.
    fn grade_by_old_references(&mut self) -> anyhow::Result<()> {
        let (plan, Some(before)) = (self.plan, &self.before) else {
            return Ok(());
        };
        if plan.scoring != Scoring::Each {
            return Ok(());
        }
        let mut keys = Vec::new();
        let mut pairs = Vec::new();
        let mut settled = Vec::new();
        let mut relabelled = Vec::new();
        for prompt in plan.asked() {
            let Some(of_base) = before.get(&prompt.id) else {
                continue;
            };
            let own = prompt.reference.as_deref().map(KeptText::of);
            let digest = |text: Option<&KeptText>| text.map(|text| text.digest);
            if digest(own.as_ref()) == digest(of_base.reference.as_ref()) {
                continue;
            }
            let is_same_prompt = KeptText::of(&prompt.prompt).digest == of_base.prompt.digest;
            if is_same_prompt {
                relabelled.push(prompt);
            }
            let old = match &of_base.reference {
                Some(old) => old.whole().map(Some),
                None => Some(None),
            };
            for (key, outcome) in self.samples(prompt) {
                if self.by_old_reference.contains_key(&key) {
                    continue;
                }
                let result = outcome.result.as_ref().ok();
                let answer = result.and_then(text_of);
                match (is_same_prompt, old, answer) {
                    (true, Some(reference), Some(candidate)) => {
                        let pair = Pair {
                            prompt: &prompt.prompt,
                            reference,
                            candidate,
                            passages: result.and_then(passages_of),
                            other: None,
                            other_passages: None,
                            turn: 0,
                        };
                        keys.push(key.clone());
                        pairs.push((key, pair));
                    }
                    (_, _, None) => {}
                    (false, ..) | (true, None, _) => {
                        let why = "the change edits this prompt together with its reference, so that its answers cannot \
                                   be compared with those of the base: edit one after the other";
                        let why = Unscored::new(UnscoredCode::ReferenceEdited, why);
                        settled.push((key, Err(why)));
                    }
                }
            }
        }
        let name = |number: usize, _: usize| Some(Arc::from(format!("old-reference-{number:03}")));
        let graded = asking::grade(&*plan.judge, self.judges, plan.scoring, &pairs, &name)?;
        let grades = graded.into_iter().map(|(grades, _)| grades.candidate);
        settled.extend(keys.into_iter().zip(grades));
        self.by_old_reference.extend(settled);
        let name = |number: usize, _: usize| Some(Arc::from(format!("new-reference-{number:03}")));
        self.grade_answers_of_base(&relabelled, &name)
    }

    /// Lets the judge grade the stored answers of the base again if their stored grades cannot be compared with its
    /// own: another judge gave them, its grades could not be trusted in the run of the base or were too few there, or it has
    /// drifted since. A language model must have passed its test in this run.
    fn grade_base_anew(&mut self) -> anyhow::Result<()> {
        let (plan, Some(base)) = (self.plan, &self.base) else {
            return Ok(());
        };
        if plan.scoring != Scoring::Each || self.baseline.is_some() {
            return Ok(());
        }
        let proof = self.planted.as_ref().map(PlantedAnswers::proof);
        // A judge that uses less of its scale than that of the base did would hide a drop on both sides.
        let planted = self.planted.as_ref();
        let is_wide = planted.is_none_or(|planted| planted.gap() >= Some(WIDE_GAP));
        let why = match (proof, &base.doubt) {
            (Some(Proof::Failed(_)), _) => return Ok(()),
            (_, Some(why @ WhyAnew::OtherJudge(_))) if is_wide => why.clone(),
            (_, Some(WhyAnew::OtherJudge(_))) => return Ok(()),
            (_, Some(why)) => why.clone(),
            (Some(Proof::Drifted(how)), None) if is_wide && base.is_like => WhyAnew::Drifted(how),
            (_, None) => return Ok(()),
        };
        let name = |number: usize, _: usize| Some(Arc::from(format!("base-anew-{number:03}")));
        self.grade_answers_of_base(&plan.asked().collect::<Vec<_>>(), &name)?;
        self.base_anew = Some(why);
        self.lay_beside_base();
        Ok(())
    }

    /// Lets the judge grade the stored answers of the base to these prompts, each once, as it grades those of the head.
    fn grade_answers_of_base(
        &mut self,
        prompts: &[&Prompt],
        name: &dyn Fn(usize, usize) -> Option<Arc<str>>,
    ) -> anyhow::Result<()> {
        let (plan, Some(base)) = (self.plan, &self.base) else {
            return Ok(());
        };
        if self.baseline.is_some() {
            return Ok(());
        }
        let mut keys = Vec::new();
        let mut pairs = Vec::new();
        for prompt in prompts {
            let id: Arc<str> = prompt.id.as_str().into();
            for repeat in 1..=self.candidate.outcomes(&prompt.id).count() {
                let Next::Text(text, stored, _) = base.next_to(prompt, repeat) else {
                    continue;
                };
                let key = (Arc::clone(&id), digest(&stored));
                if self.anew.contains_key(&key) || keys.contains(&key) {
                    continue;
                }
                let pair = Pair {
                    prompt: &prompt.prompt,
                    reference: prompt.reference.as_deref(),
                    candidate: text,
                    passages: stored.whole_passages(),
                    other: None,
                    other_passages: None,
                    turn: 0,
                };
                // The cache never answers a repeat: it may contain a grade from the time when the judge could not be
                // trusted.
                pairs.push(((Arc::clone(&id), repeat + 1), pair));
                keys.push(key);
            }
        }
        let graded = asking::grade(&*plan.judge, self.judges, plan.scoring, &pairs, name)?;
        let grades = graded.into_iter().map(|(grades, _)| grades.candidate);
        self.anew.extend(keys.into_iter().zip(grades));
        self.lay_beside_base();
        Ok(())
    }

    /// How the state of the judge's server has changed since the base was graded.
    pub(super) fn restated(&self) -> Option<&Restated> {
        self.base.as_ref()?.restated.as_ref()
    }

    /// Why the answers of the base were graded again; none if they were not.
    pub(super) const fn base_anew(&self) -> Option<&WhyAnew> {
        self.base_anew.as_ref()
    }

    /// The grade of an answer of the base: the new one if it was graded again, otherwise the stored one, if the judge
    /// is still the same.
    fn grade_of_base(
        &self,
        prompt: &Prompt,
        other: Option<&(Answered, Option<usize>)>,
    ) -> Option<Grade> {
        let (stored, repeat) = other?;
        let anew = self.anew.get(&(Arc::from(&*prompt.id), digest(stored)));
        if anew.is_some() || self.base_anew.is_some() {
            return anew?.as_ref().ok().cloned();
        }
        self.base
            .as_ref()?
            .grade(prompt, (*repeat)?, self.plan.scoring)
    }

    /// Adds the answers of the base and their grades to the samples; the samples' own grades stay.
    fn lay_beside_base(&mut self) {
        let Some(base) = &self.base else {
            return;
        };
        let mut beside = Vec::new();
        for prompt in self.plan.asked() {
            let id: Arc<str> = prompt.id.as_str().into();
            for repeat in 1..=self.candidate.outcomes(&prompt.id).count() {
                let other = match base.next_to(prompt, repeat) {
                    Next::Text(_, stored, of_base) => Some((stored, of_base)),
                    Next::Missing(_, other) => other,
                };
                let grade = self.grade_of_base(prompt, other.as_ref());
                beside.push(((Arc::clone(&id), repeat), other, grade));
            }
        }
        for (key, other, grade) in beside {
            if let Some(sampled) = self.graded.get_mut(&key) {
                sampled.other = other;
                sampled.grades.other = grade;
            }
        }
    }

    /// Lets the judge grade planted answers.
    fn plant(&self) -> anyhow::Result<PlantedAnswers> {
        let prompts = self.plan.asked();
        let answers = prompts.flat_map(|prompt| {
            let outcomes = self.candidate.outcomes(&prompt.id);
            let answers = outcomes.filter_map(|outcome| {
                let answer = outcome.result.as_ref().ok()?;
                Some((text_of(answer)?, passages_of(answer)))
            });
            answers.map(move |(text, passages)| OwnAnswer {
                prompt,
                text,
                passages,
            })
        });
        planted::plant(
            self.plan,
            self.judges,
            self.base.as_ref(),
            &answers.collect::<Vec<_>>(),
        )
    }

    /// The planted answers, if the judge was tested.
    pub(super) const fn planted(&self) -> Option<&PlantedAnswers> {
        self.planted.as_ref()
    }

    /// Writes every input, without running the pipeline. Fails if an input cannot be written.
    pub(super) fn rehearse(&mut self) -> anyhow::Result<()> {
        self.of_each(RepeatedItems::rehearse)
    }

    /// Calls a function with the answers of the baseline, if it is run, and of the candidate.
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
                (Ok(answer), _) => answer,
            };
            let passages = passages_of(candidate);
            let candidate = text_of(candidate).unwrap_or_default();
            let other_passages = other
                .as_ref()
                .and_then(|(answered, _)| answered.whole_passages());
            // If each answer is graded alone, only a baseline that was run here is graded: the report of the base
            // contains the grades of its own answers.
            let is_shown = plan.scoring != Scoring::Each || self.baseline.is_some();
            let pair = Pair {
                prompt: &prompt.prompt,
                reference: prompt.reference.as_deref(),
                candidate,
                passages,
                other: other_text.filter(|_| is_shown),
                other_passages,
                turn: turns.turn(&key.0, key.1),
            };
            others.push((prompt, other));
            pairs.push((key, pair));
        }
        let graded = asking::grade(
            &*plan.judge,
            self.judges,
            plan.scoring,
            &pairs,
            &asking::of_samples,
        )?;
        let settings = pairs.iter().zip(others);
        for (((key, _), (prompt, other)), (mut grades, usage)) in settings.zip(graded) {
            if let Some(of_base) = self.grade_of_base(prompt, other.as_ref()) {
                grades.other = Some(of_base);
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

    /// The answer against which a sample is graded.
    fn next_to(&self, prompt: &Prompt, repeat: usize) -> Next<'_> {
        if let Some(baseline) = &self.baseline {
            let Some(outcome) = baseline.outcomes(&prompt.id).nth(repeat - 1) else {
                let why = Unscored::new(UnscoredCode::BaselineFailed, "the baseline was not asked");
                return Next::Missing(why, None);
            };
            return match &outcome.result {
                Ok(answer) => {
                    Next::Text(text_of(answer).unwrap_or_default(), answered(outcome), None)
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

    /// Notices about the prompts whose repeats were answered from the pipeline's own cache.
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
        let (grade, by_old, unscored) = match self.by_old_reference.get(key) {
            Some(Err(why)) => (None, None, unscored.or_else(|| Some(why.clone()))),
            Some(Ok(by_old)) => (grade, Some(by_old.clone()), unscored),
            None => (grade, None, unscored),
        };
        GradedSample {
            candidate: answered(outcome),
            base_repeat: other.as_ref().and_then(|(_, repeat)| *repeat),
            baseline: other.map(|(answered, _)| answered),
            grade,
            grade_by_old_reference: by_old,
            baseline_grade: grades.and_then(|grades| grades.other),
            judge_usage: sampled.and_then(|sampled| sampled.usage),
            unscored,
        }
    }
}

/// If a judge has drifted, the minimum gap at which it can still detect a drop on both sides: it grades certainly worse
/// answers lower than whole ones by this amount.
const WIDE_GAP: f64 = 0.25;

/// The digest of an answer with its passages; an empty digest if there is no answer.
fn digest(answered: &Answered) -> Digest {
    let answer = answered.answer.as_ref();
    let answer = answer.map_or_else(|| Digest::of(b""), |answer| answer.digest);
    let Some(passages) = &answered.passages else {
        return answer;
    };
    let fields = Fields::of("kelvin/answer-with-passages/v1").field("answer", answer.bytes());
    let add = |fields: Fields, passage: &KeptText| fields.field("passage", passage.digest.bytes());
    passages.iter().fold(fields, add).digest()
}

/// An answer in the form in which it is stored.
fn answered(outcome: &Outcome) -> Answered {
    let read = outcome.result.as_ref().ok();
    let passages = read.and_then(passages_of);
    Answered {
        answer: read.and_then(text_of).map(KeptText::of),
        passages: passages.map(|all| all.iter().map(|text| KeptText::of(text)).collect()),
        failure: outcome.result.as_ref().err().cloned(),
        usage: outcome.usage.as_deref().copied(),
    }
}
