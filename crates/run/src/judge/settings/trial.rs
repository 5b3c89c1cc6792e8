//! The part of a judge's settings that a trial needs.

use super::{JudgeSettings, JudgeType, MemberSettings, Mode};
use crate::targets::ModelName;

impl JudgeSettings {
    /// Whether a language model grades, alone or in a panel. Only such a judge needs a trial.
    pub fn asks_a_language_model(&self) -> bool {
        self.members().any(|member| member.kind == JudgeType::Llm)
    }

    /// The names of the models that it asks.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let names = self.members().filter_map(|member| member.model.as_ref());
        names.map(|ModelName(name)| name.as_str())
    }

    /// Whether every language model is shown the response beside a reference.
    pub fn shows_two_texts(&self) -> bool {
        let mut members = self.members();
        members.all(|member| member.mode.unwrap_or_default() != Mode::Criteria)
    }

    /// Whether every language model is asked in both orders of the two texts.
    pub fn asks_in_both_orders(&self) -> bool {
        let mut models = self
            .members()
            .filter(|member| member.kind == JudgeType::Llm);
        models.all(|member| member.swap_order == Some(true))
    }

    /// The same judge, asked in both orders.
    #[must_use]
    pub fn in_both_orders(&self) -> Self {
        let mut both = self.clone();
        let members = std::iter::once(&mut both.own).chain(&mut both.panel);
        for member in members.filter(|member| member.kind == JudgeType::Llm) {
            member.swap_order = Some(true);
        }
        both
    }

    fn members(&self) -> impl Iterator<Item = &MemberSettings> {
        std::iter::once(&self.own).chain(&self.panel)
    }
}
