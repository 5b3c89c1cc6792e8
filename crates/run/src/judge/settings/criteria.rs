//! A judge for a single criterion: it always grades by criteria, even if its settings say something else.

use super::{JudgeSettings, JudgeType, MemberSettings, Mode, Needs};
use crate::targets::ModelName;

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
                ..MemberSettings::of(JudgeType::Llm)
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

impl MemberSettings {
    /// A judge of this type with default settings.
    const fn of(kind: JudgeType) -> Self {
        Self {
            kind,
            model: None,
            mode: None,
            criteria: None,
            choices: std::collections::BTreeMap::new(),
            votes: None,
            reducer: None,
            swap_order: None,
            normalize: None,
            temperature: None,
            seed: None,
            max_tokens: None,
            max_chars: None,
            prompt_template: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
