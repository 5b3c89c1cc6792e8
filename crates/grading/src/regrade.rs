//! Grades the stored answers of a report again, without running a pipeline.

use std::sync::Arc;

use super::asking::{self, Pair, Turns};
use super::record::{Answered, GradedSample, PromptRecord, Scoring, Unscored, UnscoredCode};
use super::section::{GradingSection, findings};
use super::{GradingSettings, plan};
use kelvin_base::exit::Misuse;
use kelvin_page::counted;
use kelvin_probe::Rejudging;
use kelvin_record::{Ending, Findings};
use kelvin_run::judge::Judge;
use kelvin_run::{Runner, Step, judging};

/// The stored answers of a section, and another judge for them.
pub(super) struct StoredPairs {
    section: GradingSection,
    judge: Box<dyn Judge>,
}

impl StoredPairs {
    /// Takes the answers of a section, and the judge of a configuration. Fails with a [`Misuse`] if an answer was
    /// shortened when it was stored, since a judge must not grade a part instead of the whole, or if the judge needs
    /// texts that are not stored.
    pub(super) fn new(
        mut section: GradingSection,
        settings: &GradingSettings,
        judge: Box<dyn Judge>,
    ) -> Result<Self, Misuse> {
        refuse_what_is_cut(&section)?;
        let has_references = section
            .items
            .values()
            .all(|prompt| prompt.reference.is_some());
        let has_baseline = section.basis.baseline.is_some();
        let scoring = plan::scoring(settings.keys.judge.needs(), has_references, has_baseline);
        section.basis.scoring = scoring.ok_or_else(|| {
            Misuse::new("the judge compares an answer with a reference, and the report has none")
                .help("take a judge that grades by criteria, or one that says which of two answers is better")
        })?;
        section.basis.judge = judge.grader_id();
        // The planted answers have tested the judge of that run, not the present judge.
        section.basis.planted = None;
        section.basis.base_anew = None;
        section.basis.max_errors = settings.keys.max_errors;
        Ok(Self { section, judge })
    }
}

impl Rejudging for StoredPairs {
    fn steps(&self) -> Vec<Step<'_>> {
        judging::steps(&*self.judge)
    }

    fn run(&self, runners: &[Runner<'_>]) -> anyhow::Result<Findings> {
        let mut section = self.section.clone();
        let scoring = section.basis.scoring;
        let mut pairs = Vec::new();
        let turns = Turns::of(self.section.items.keys().map(String::as_str));
        for (id, prompt) in &self.section.items {
            for (repeat, sample) in (1..).zip(&prompt.samples) {
                if let Ok(pair) = pair(scoring, prompt, sample) {
                    let pair = Pair {
                        turn: turns.turn(id, repeat),
                        ..pair
                    };
                    pairs.push(((Arc::from(id.as_str()), repeat), pair));
                }
            }
        }
        let graded = asking::grade(&*self.judge, runners, scoring, &pairs, &asking::of_samples)?;
        for prompt in section.items.values_mut() {
            let stored = prompt.clone();
            for sample in &mut prompt.samples {
                let why = pair(scoring, &stored, sample).err();
                sample.grade = None;
                sample.grade_by_old_reference = None;
                sample.baseline_grade = None;
                sample.judge_usage = None;
                sample.unscored = why;
            }
        }
        for (((id, repeat), _), (grades, usage)) in pairs.iter().zip(graded) {
            let prompt = section.items.get_mut(&**id);
            let sample = prompt.and_then(|prompt| prompt.samples.get_mut(repeat - 1));
            let sample = sample.expect("the pairs were made of these samples");
            sample.baseline_grade = grades.other;
            sample.judge_usage = usage;
            match grades.candidate {
                Ok(grade) => sample.grade = Some(grade),
                Err(why) => sample.unscored = Some(why),
            }
        }
        if runners.iter().any(Runner::stopped) {
            section.ending = Ending::Interrupted;
        }
        Ok(findings(section, Vec::new()))
    }
}

/// The pair for the judge from a sample, or the reason why the sample cannot be graded.
fn pair<'a>(
    scoring: Scoring,
    prompt: &'a PromptRecord,
    sample: &'a GradedSample,
) -> Result<Pair<'a>, Unscored> {
    let candidate = sample.candidate.answer.as_ref().ok_or_else(|| {
        let failure = sample.candidate.failure.as_ref();
        let why = failure.map_or("", |failure| failure.message.as_str());
        let why = format!("the candidate gave no answer: {why}");
        Unscored::new(UnscoredCode::CandidateFailed, &why)
    })?;
    let other = match &sample.baseline {
        _ if scoring == Scoring::Each => sample.baseline.as_ref(),
        None => {
            let why = "the report has no answer that it could be graded next to";
            return Err(Unscored::new(UnscoredCode::NoBaseline, why));
        }
        Some(baseline) if baseline.answer.is_none() => {
            let why = "the baseline gave no answer";
            return Err(Unscored::new(UnscoredCode::BaselineFailed, why));
        }
        Some(baseline) => Some(baseline),
    };
    let other = other.and_then(|other| other.answer.as_ref());
    Ok(Pair {
        prompt: &prompt.prompt.text,
        reference: prompt.reference.as_ref().map(|reference| &*reference.text),
        candidate: &candidate.text,
        passages: sample.candidate.whole_passages(),
        other: other.map(|other| &*other.text),
        other_passages: sample.baseline.as_ref().and_then(Answered::whole_passages),
        turn: 0,
    })
}

/// Rejects a section in which a text for the judge is stored only in part.
fn refuse_what_is_cut(section: &GradingSection) -> Result<(), Misuse> {
    let mut cut = Vec::new();
    for (id, prompt) in &section.items {
        let of_prompt = [Some(&prompt.prompt), prompt.reference.as_ref()];
        let answers = prompt.samples.iter().flat_map(|sample| {
            let baseline = sample.baseline.as_ref();
            [
                sample.candidate.answer.as_ref(),
                baseline.and_then(|one| one.answer.as_ref()),
            ]
        });
        let texts = of_prompt.into_iter().chain(answers).flatten();
        cut.extend(
            texts
                .filter(|text| text.whole().is_none())
                .map(|_| id.as_str()),
        );
    }
    let Some(first) = cut.first() else {
        return Ok(());
    };
    let what = format!(
        "{} of the report are cut, the first of them of the prompt `{first}`: a judge must not grade a part of a \
         text for the whole",
        counted(cut.len(), "text")
    );
    Err(Misuse::new(what)
        .help("measure the answers again with `kelvin check`, and let the judge see them then"))
}
