//! The stored section of this probe in a report, and the figures from it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::figures::figures;
use super::record::{GradingBasis, PromptRecord};
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{and_more, are, counted, have};
use kelvin_record::{
    Answer, AnsweredItem, AnySection, Findings, Item, KeptTexts, Repeats, Section, SectionAnswers,
};

/// The stored section of this probe.
pub type GradingSection = Section<GradingBasis, PromptRecord>;

impl Item for PromptRecord {
    /// The reference is no part of it: both sides are judged by the same one.
    fn digest(&self) -> Digest {
        self.prompt.digest
    }

    fn repeats(&self) -> Repeats {
        Repeats::of_all(self.samples.len())
    }

    fn has_answer(&self) -> bool {
        self.samples
            .iter()
            .any(|sample| sample.candidate.answer.is_some())
    }

    /// A judge compares whole answers with those of the base, so an answer is stored completely or not at all.
    fn shorten(&mut self, texts: KeptTexts) {
        if texts > KeptTexts::None {
            return;
        }
        for sample in &mut self.samples {
            let sides = [Some(&mut sample.candidate), sample.baseline.as_mut()];
            for side in sides.into_iter().flatten() {
                let passages = side.passages.iter_mut().flatten();
                for text in side.answer.iter_mut().chain(passages) {
                    text.shorten(texts);
                }
                if let Some(failure) = &mut side.failure {
                    failure.withhold_texts();
                }
            }
            if let Some(unscored) = &mut sample.unscored {
                "the reason is not kept".clone_into(&mut unscored.text);
            }
            let grades = [
                &mut sample.grade,
                &mut sample.grade_by_old_reference,
                &mut sample.baseline_grade,
            ];
            for grade in grades.into_iter().flatten() {
                // The notes of a judge may quote the texts that it saw.
                grade.change_notes(|_| String::new());
            }
        }
    }
}

/// A section of this probe.
pub(super) fn own(section: &dyn AnySection) -> &GradingSection {
    section.own()
}

/// The figures of a section.
pub(super) fn findings(section: GradingSection, of_the_run: Vec<Notice>) -> Findings {
    Findings {
        metrics: figures(&section.basis, &section.items),
        notices: notices(&section.basis, &section.items),
        section: Box::new(section),
        of_the_run,
        compared: true,
    }
}

/// Notices about a base that was graded again, and about the samples without a score.
fn notices(basis: &GradingBasis, prompts: &BTreeMap<String, PromptRecord>) -> Vec<Notice> {
    let anew = basis.base_anew.iter();
    let mut notices: Vec<Notice> = anew
        .map(|why| {
            Notice::new(
                Code::own("base_graded_anew"),
                why.sentence(basis.is_proved()),
            )
        })
        .collect();
    notices.extend(by_old_references(prompts));
    notices.extend(unscored(prompts));
    notices
}

/// The notice about the prompts whose references the change edits; none if it edits none.
fn by_old_references(prompts: &BTreeMap<String, PromptRecord>) -> Option<Notice> {
    let edited = prompts.iter().filter(|(_, prompt)| {
        let mut samples = prompt.samples.iter();
        samples.any(|sample| sample.grade_by_old_reference.is_some())
    });
    let ids: Vec<&str> = edited.map(|(id, _)| id.as_str()).collect();
    let first = ids.first()?;
    let text = format!(
        "this change edits the references of {}, the first of them of `{first}`: the answers of both sides are judged \
         by the references of the base and by those of the change, and the worse verdict counts",
        counted(ids.len(), "prompt")
    );
    Some(Notice::new(Code::own("references_edited"), text))
}

/// The notice about the samples without a score; none if each has one.
fn unscored(prompts: &BTreeMap<String, PromptRecord>) -> Option<Notice> {
    let total: usize = prompts.values().map(|prompt| prompt.samples.len()).sum();
    let mut ids = BTreeSet::new();
    let mut errors = 0;
    for (id, prompt) in prompts {
        for _ in prompt.samples.iter().filter(|sample| sample.is_error()) {
            ids.insert(id.as_str());
            errors += 1;
        }
    }
    if errors == 0 {
        return None;
    }
    const MOST: usize = 20;
    let shown: Vec<&str> = ids.iter().copied().take(MOST).collect();
    let more = and_more(ids.len().saturating_sub(MOST));
    let text = format!(
        "{errors} of {total} samples {} no score and {} in no mean: {}{more}",
        have(errors),
        are(errors),
        shown.join(", ")
    );
    Some(Notice::new(Code::Unscored, text).counts(total, total - errors))
}

/// The answers of the candidate to each prompt.
pub(super) fn answered(section: &GradingSection) -> SectionAnswers<'_> {
    let items = section.items.iter().map(|(id, prompt)| {
        let samples = prompt.samples.iter();
        let answers = samples.map(|sample| sample.candidate.answer.clone().map(Answer::Kept));
        let item = AnsweredItem {
            asked: Some(Cow::Borrowed(&prompt.prompt.text)),
            expected: prompt
                .reference
                .as_ref()
                .map(|reference| Cow::Borrowed(&*reference.text)),
            itself: answers.collect(),
            ..AnsweredItem::default()
        };
        (id.as_str(), item)
    });
    SectionAnswers {
        are_endings: false,
        are_scored_outside: false,
        types: Vec::new(),
        items: items.collect(),
    }
}
