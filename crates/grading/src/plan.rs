//! The plan of this probe from a configuration: the prompts, and the judge that grades the answers to them.

use std::borrow::Cow;

use super::GradingSettings;
use super::prompts::{self, Prompt};
use super::reader::AnswerReader;
use super::record::{GradingBasis, Scoring};
use kelvin_base::exit::Misuse;
use kelvin_run::config::Config;
use kelvin_run::judge::{Judge, Needs};

/// The prompts of a configuration, with the judge that grades the answers to them.
pub(super) struct Plan<'c> {
    pub(super) config: &'c Config,
    pub(super) settings: &'c GradingSettings,
    pub(super) prompts: Vec<Prompt>,
    /// The indices of the prompts that are run.
    pub(super) places: Vec<usize>,
    pub(super) judge: Box<dyn Judge>,
    pub(super) scoring: Scoring,
    pub(super) reader: AnswerReader,
}

impl<'c> Plan<'c> {
    /// Reads the prompts, and makes the judge. Fails with a [`Misuse`] if the prompts are wrong, or if the judge cannot
    /// grade answers to them.
    pub(super) fn read(config: &'c Config, settings: &'c GradingSettings) -> anyhow::Result<Self> {
        let path = config.root.join(&settings.keys.prompts);
        let prompts = prompts::read(&path, &settings.keys.prompt_fields)?;
        let judge = settings.keys.judge.open(config).map_err(|what| {
            Misuse::new(format!(
                "{}: the judge of `grading`: {what}",
                config.file.display()
            ))
        })?;
        let has_references = prompts.iter().all(|prompt| prompt.reference.is_some());
        let scoring = scoring(
            settings.keys.judge.needs(),
            has_references,
            settings.baseline.is_some(),
        );
        let scoring = scoring.ok_or_else(|| {
            let what = format!(
                "{}: the judge of `grading` compares an answer with a reference, and the prompts in `{}` have none",
                config.file.display(),
                settings.keys.prompts
            );
            Misuse::new(what).help(
                "give every prompt a `reference`; a judge that measures no retrieved passages can do without: name a `baseline` to compare with, or take a judge that says \
                 which of two answers is better: {type: llm, mode: pairwise}",
            )
        })?;
        Ok(Self {
            config,
            settings,
            places: (0..prompts.len()).collect(),
            reader: AnswerReader::new(
                settings.keys.answer_field.as_deref(),
                settings.keys.passages_field.as_deref(),
            ),
            prompts,
            judge,
            scoring,
        })
    }

    /// The prompts that are run.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Prompt> {
        self.places.iter().map(|place| &self.prompts[*place])
    }

    /// The ids and the texts of the prompts to run.
    pub(super) fn inputs(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.asked()
            .map(|prompt| (prompt.id.as_str(), Cow::Borrowed(prompt.prompt.as_str())))
    }

    /// The rules for the figures.
    pub(super) fn basis(&self) -> GradingBasis {
        let baseline = self.settings.baseline.as_ref();
        GradingBasis {
            judge: self.judge.grader_id(),
            scoring: self.scoring,
            max_errors: self.settings.keys.max_errors,
            candidate: self.settings.candidate.name.clone(),
            baseline: baseline.map(|baseline| baseline.name.clone()),
            asked: self.settings.candidate.address.asked_model(),
            planted: None,
            base_anew: None,
        }
    }
}

/// The meaning of a score; none if the judge needs a reference and there is no possible reference.
pub(super) const fn scoring(
    needs: Needs,
    has_references: bool,
    has_baseline: bool,
) -> Option<Scoring> {
    match (needs, has_references, has_baseline) {
        (Needs::Nothing, ..) | (Needs::Truth, true, _) => Some(Scoring::Each),
        (Needs::Rival, ..) => Some(Scoring::Choice),
        (Needs::Reference { .. }, true, _) => Some(Scoring::Each),
        (Needs::Reference { .. }, false, true) => Some(Scoring::Likeness),
        // Each answer is graded against the other one, and the better grade wins. A judge that only grades how similar
        // two texts are would give both the same grade, for any content.
        (Needs::Reference { is_directed: true }, false, false) => Some(Scoring::Exchange),
        (Needs::Reference { is_directed: false }, false, false) | (Needs::Truth, false, _) => None,
    }
}
