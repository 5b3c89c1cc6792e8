//! The texts that a judge needs besides an answer, and the judge of a check, which needs none: it always grades by a
//! single criterion, even if its settings say something else.

use super::{JudgeSettings, JudgeType, MemberSettings, Mode};
use crate::targets::ModelName;

/// The texts that a judge needs besides an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No other text: the judge grades by criteria.
    Nothing,
    /// An answer for comparison. A directed judge distinguishes a better answer from a worse one; any other judge only
    /// says how similar the two are.
    Reference {
        /// Whether the judge is directed.
        is_directed: bool,
    },
    /// Another answer, from which the judge chooses the better one.
    Rival,
    /// An answer that is known to be right. The judge compares the retrieved passages with it, so the answer of another
    /// pipeline cannot be used.
    Truth,
}

impl JudgeSettings {
    /// The needs of the judge. A panel needs what any of its members needs. It is directed if all members that compare
    /// are directed, and it chooses only if all members choose.
    pub fn needs(&self) -> Needs {
        if self.own.kind != JudgeType::Panel {
            return self.own.needs();
        }
        let members = self.panel.iter().map(MemberSettings::needs);
        let more = |one, other| match (one, other) {
            (Needs::Nothing, other) | (other, Needs::Nothing) => other,
            (Needs::Rival, Needs::Rival) => Needs::Rival,
            (Needs::Truth, _) | (_, Needs::Truth) => Needs::Truth,
            (one, other) => Needs::Reference {
                is_directed: one.is_directed() && other.is_directed(),
            },
        };
        members.reduce(more).unwrap_or(Needs::Nothing)
    }
}

impl MemberSettings {
    fn needs(&self) -> Needs {
        match (self.kind, self.mode.unwrap_or_default()) {
            (JudgeType::Llm, Mode::Criteria | Mode::Faithfulness | Mode::AnswerRelevance) => {
                Needs::Nothing
            }
            (JudgeType::Llm, Mode::ContextPrecision | Mode::ContextRecall) => Needs::Truth,
            (JudgeType::Llm, Mode::Pairwise) => Needs::Rival,
            (JudgeType::Llm, Mode::Reference) => Needs::Reference { is_directed: true },
            _ => Needs::Reference { is_directed: false },
        }
    }
}

impl Needs {
    const fn is_directed(self) -> bool {
        matches!(self, Self::Rival | Self::Reference { is_directed: true })
    }
}

impl JudgeSettings {
    /// A judge that asks a model for a grade by criteria.
    pub fn by_criteria(
        model: ModelName,
        temperature: Option<f64>,
        prompt_template: Option<String>,
    ) -> Self {
        Self {
            own: MemberSettings {
                model: Some(model),
                temperature,
                prompt_template,
                kind: JudgeType::Llm,
                ..MemberSettings::default()
            },
            panel: Vec::new(),
        }
    }

    /// The same judge with the given criteria; if its settings name no mode, in the mode `criteria`.
    ///
    /// # Errors
    ///
    /// Fails if one of its judges does not grade by criteria, because there is no reference for comparison.
    pub fn with_criteria(mut self, criteria: &str) -> Result<Self, String> {
        for member in std::iter::once(&mut self.own).chain(&mut self.panel) {
            if member.kind != JudgeType::Llm {
                continue;
            }
            member.mode.get_or_insert(Mode::Criteria);
            if member.criteria.is_some() {
                return Err("the criteria stand in the check, not in its judge".to_owned());
            }
            member.criteria = Some(criteria.to_owned());
        }
        if !self.rag_measures().is_empty() {
            return Err("the measures of retrieved passages are for `grading`, whose pipeline says what it found: a check \
                        has no passages".to_owned());
        }
        match self.needs() {
            Needs::Nothing if self.asks_a_language_model() => Ok(self),
            _ => Err(
                "the judge compares with another answer, and a check has none: take `type: llm` in the mode \
                 `criteria`, or a panel of such judges"
                    .to_owned(),
            ),
        }
    }
}

impl JudgeSettings {
    /// The first problem of the settings that a schema cannot find, as a sentence.
    pub fn slips_in_words(&self) -> Option<String> {
        self.slips().first().map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn needs(settings: Value) -> Needs {
        let settings: JudgeSettings = serde_json::from_value(settings).expect("it fits the type");
        settings.needs()
    }

    #[test]
    fn each_judge_says_what_it_has_to_be_shown() {
        let llm = |mode: &str| json!({"type": "llm", "model": "m", "mode": mode});
        let directed = Needs::Reference { is_directed: true };
        let undirected = Needs::Reference { is_directed: false };
        assert_eq!(needs(json!({"type": "llm", "model": "m"})), directed);
        assert_eq!(needs(llm("reference")), directed);
        assert_eq!(needs(llm("criteria")), Needs::Nothing);
        assert_eq!(needs(llm("pairwise")), Needs::Rival);
        assert_eq!(needs(llm("faithfulness")), Needs::Nothing);
        assert_eq!(needs(llm("answer_relevance")), Needs::Nothing);
        assert_eq!(needs(llm("context_recall")), Needs::Truth);
        assert_eq!(needs(llm("equivalence")), undirected);
        assert_eq!(needs(json!({"type": "exact_match"})), undirected);
        assert_eq!(
            needs(json!({"type": "embedding_similarity", "model": "m"})),
            undirected
        );
        let panel = |members: &[Value]| needs(json!({"type": "panel", "panel": members}));
        assert_eq!(panel(&[llm("criteria"), llm("criteria")]), Needs::Nothing);
        assert_eq!(panel(&[llm("criteria"), llm("reference")]), directed);
        assert_eq!(
            panel(&[llm("faithfulness"), llm("context_precision")]),
            Needs::Truth
        );
        assert_eq!(panel(&[llm("pairwise"), llm("pairwise")]), Needs::Rival);
        assert_eq!(panel(&[llm("pairwise"), llm("reference")]), directed);
        assert_eq!(
            panel(&[llm("reference"), json!({"type": "exact_match"})]),
            undirected
        );
    }

    fn judge(settings: Value) -> Result<JudgeSettings, String> {
        let settings: JudgeSettings = serde_json::from_value(settings).expect("it fits the type");
        settings.with_criteria("It is polite.")
    }

    #[test]
    fn a_judge_of_a_check_grades_by_the_criteria_of_the_check_and_by_nothing_else() {
        let short = JudgeSettings::by_criteria(ModelName("m".to_owned()), None, None);
        let long = judge(json!({"type": "llm", "model": "m"}));
        assert_eq!(short.with_criteria("It is polite."), long);
        assert_eq!(long.expect("it is right").needs(), Needs::Nothing);
        let llm = |model: &str| json!({"type": "llm", "model": model});
        assert!(judge(json!({"type": "panel", "panel": [llm("a"), llm("b")]})).is_ok());
        let mut told = Vec::new();
        for settings in [
            json!({"type": "exact_match"}),
            json!({"type": "llm", "model": "m", "mode": "pairwise"}),
            json!({"type": "llm", "model": "m", "mode": "faithfulness"}),
            json!({"type": "panel", "panel": [llm("a"), {"type": "exact_match"}]}),
            json!({"type": "llm", "model": "m", "criteria": "c"}),
        ] {
            let error = judge(settings.clone()).expect_err("refused");
            told.push(error.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the judge compares with another answer, and a check has none: take `type: llm` in the mode `criteria`, or a panel of such judges
        the judge compares with another answer, and a check has none: take `type: llm` in the mode `criteria`, or a panel of such judges
        the measures of retrieved passages are for `grading`, whose pipeline says what it found: a check has no passages
        the judge compares with another answer, and a check has none: take `type: llm` in the mode `criteria`, or a panel of such judges
        the criteria stand in the check, not in its judge
        ");
    }
}
