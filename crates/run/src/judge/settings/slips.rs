//! The problems in the settings of a judge that a schema cannot find. For example, a key without an effect on the judge
//! is a problem, because the user would think that it has one.

use std::fmt;

use super::{JudgeSettings, JudgeType, MemberSettings, Mode};
use crate::config::Problem;
use crate::config::yaml::{Content, Node};
use crate::judge::llm::Template;
use crate::judge::panel::Reducer;

impl JudgeSettings {
    /// Every problem of the settings under a node that the schema cannot find, with its position.
    pub fn problems(node: &Node) -> Vec<Problem> {
        let Ok(settings) = serde_json::from_value::<Self>(node.to_json()) else {
            return Vec::new();
        };
        let at = |slip: &Slip| {
            let of_member = node.get(&["panel"]).and_then(|panel| match &panel.content {
                Content::List(members) => members.get(slip.member?),
                _ => None,
            });
            let owner = of_member.unwrap_or(node);
            owner.get(&[slip.key]).unwrap_or(owner).at.clone()
        };
        let slips = settings.slips().into_iter();
        slips
            .map(|slip| Problem::new(at(&slip), slip.what.clone()).help(slip.help.clone()))
            .collect()
    }

    pub(super) fn slips(&self) -> Vec<Slip> {
        let mut slips = self.own.slips();
        for (at, member) in self.panel.iter().enumerate() {
            slips.extend(member.slips().into_iter().map(|slip| Slip {
                member: Some(at),
                ..slip
            }));
            if member.kind == JudgeType::Panel {
                let help = "list the judges themselves";
                slips.push(Slip {
                    member: Some(at),
                    ..Slip::new("type", "a panel is no member of a panel", help)
                });
            }
        }
        let measures = self.rag_measures().len();
        if measures > 0 && self.own.kind == JudgeType::Panel && measures < self.panel.len() {
            slips.push(Slip::new(
                "panel",
                "measures of retrieved passages stand in one panel with other judges",
                "give the panel such measures alone: the planted answers for them are others",
            ));
        }
        match (self.own.kind, self.panel.len()) {
            (JudgeType::Panel, 0 | 1) => slips.push(Slip::new(
                "panel",
                "a panel needs at least 2 judges",
                "list them under `panel`, each with its `type`",
            )),
            (JudgeType::Panel, _) => {
                let fine = self.panel.iter().find(|member| !member.is_discrete());
                if self.own.reducer == Some(Reducer::Majority) && fine.is_some() {
                    slips.push(no_majority());
                }
            }
            (_, 0) => {}
            _ => slips.push(Slip::new(
                "panel",
                "only `type: panel` has a `panel`",
                "write `type: panel`, or take the list away",
            )),
        }
        slips
    }
}

/// A problem of the settings.
#[derive(Clone, Debug)]
pub(super) struct Slip {
    /// The index of the judge in its panel; none for a judge outside a panel.
    member: Option<usize>,
    key: &'static str,
    what: String,
    help: String,
}

impl Slip {
    fn new(key: &'static str, what: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            member: None,
            key,
            what: what.into(),
            help: help.into(),
        }
    }
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(member) = self.member {
            write!(f, "judge {} of the panel: ", member + 1)?;
        }
        write!(f, "{} ({})", self.what, self.help)
    }
}

fn no_majority() -> Slip {
    Slip::new(
        "reducer",
        "a majority needs scores that can agree, and numbers from 0 to 1 rarely do",
        "write `median`, or use judges with `choices`, `mode: pairwise` or `exact_match`",
    )
}

impl MemberSettings {
    /// The keys in the settings, and the types of judges that read them.
    fn written(&self) -> Vec<(&'static str, &'static [JudgeType])> {
        const LLM: &[JudgeType] = &[JudgeType::Llm];
        const MODEL: &[JudgeType] = &[JudgeType::Llm, JudgeType::EmbeddingSimilarity];
        const SEVERAL: &[JudgeType] = &[JudgeType::Llm, JudgeType::Panel];
        const EXACT: &[JudgeType] = &[JudgeType::ExactMatch];
        let keys = [
            ("model", self.model.is_some(), MODEL),
            ("mode", self.mode.is_some(), LLM),
            ("criteria", self.criteria.is_some(), LLM),
            ("choices", !self.choices.is_empty(), LLM),
            ("votes", self.votes.is_some(), LLM),
            ("reducer", self.reducer.is_some(), SEVERAL),
            ("swap_order", self.swap_order.is_some(), LLM),
            ("normalize", self.normalize.is_some(), EXACT),
            ("temperature", self.temperature.is_some(), LLM),
            ("seed", self.seed.is_some(), LLM),
            ("max_tokens", self.max_tokens.is_some(), LLM),
            ("max_chars", self.max_chars.is_some(), LLM),
            ("prompt_template", self.prompt_template.is_some(), LLM),
        ];
        let written = keys.into_iter().filter(|(_, is_written, _)| *is_written);
        written.map(|(key, _, types)| (key, types)).collect()
    }

    fn slips(&self) -> Vec<Slip> {
        let mut slips = Vec::new();
        let own = self.kind.name();
        for (key, types) in self.written() {
            if !types.contains(&self.kind) {
                let names: Vec<String> = types
                    .iter()
                    .map(|kind| format!("`{}`", kind.name()))
                    .collect();
                slips.push(Slip::new(
                    key,
                    format!("`type: {own}` has no `{key}`"),
                    format!(
                        "it is a key of {}: take it away, or choose another `type`",
                        names.join(" and ")
                    ),
                ));
            }
        }
        let asks = matches!(self.kind, JudgeType::Llm | JudgeType::EmbeddingSimilarity);
        if asks && self.model.is_none() {
            slips.push(Slip::new(
                "type",
                format!("`type: {own}` needs a `model`"),
                "name one that is declared under `models`",
            ));
        }
        if self.kind == JudgeType::Llm {
            self.slips_of_llm(&mut slips);
        }
        slips
    }

    /// A template can replace only the rules of the mode `criteria`: in the other modes the order and the names of the
    /// texts are a part of the question.
    fn slips_of_template(&self, mode: Mode, slips: &mut Vec<Slip>) {
        let Some(text) = &self.prompt_template else {
            return;
        };
        if mode != Mode::Criteria {
            slips.push(Slip::new(
                "prompt_template",
                "only the mode `criteria` has a `prompt_template`",
                "take it away, or choose `mode: criteria`",
            ));
        } else if let Err((what, help)) = Template::parse(text) {
            slips.push(Slip::new("prompt_template", what, help));
        }
    }

    fn slips_of_llm(&self, slips: &mut Vec<Slip>) {
        let mode = self.mode.unwrap_or_default();
        if mode == Mode::Pairwise && !self.choices.is_empty() {
            slips.push(Slip::new(
                "choices",
                "in the mode `pairwise` the choices are given: one of the two, or a tie",
                "take `choices` away, or choose another `mode`",
            ));
        }
        if mode.rag().is_some() {
            let keys = [
                ("criteria", self.criteria.is_some()),
                ("choices", !self.choices.is_empty()),
                ("swap_order", self.swap_order == Some(true)),
            ];
            for (key, _) in keys.into_iter().filter(|(_, is_written)| *is_written) {
                slips.push(Slip::new(
                    key,
                    format!("a measure of retrieved passages has no `{key}`: its rules and its form are fixed"),
                    format!("take `{key}` away, or choose another `mode`"),
                ));
            }
        }
        if mode == Mode::Criteria && self.swap_order == Some(true) {
            slips.push(Slip::new(
                "swap_order",
                "in the mode `criteria` there are no two texts to swap",
                "take `swap_order` away, or choose another `mode`",
            ));
        }
        self.slips_of_template(mode, slips);
        if self
            .criteria
            .as_ref()
            .is_some_and(|text| text.trim().is_empty())
        {
            slips.push(Slip::new(
                "criteria",
                "the criteria are blank",
                "write them, or take the key away",
            ));
        }
        if self.choices.len() == 1 {
            slips.push(Slip::new(
                "choices",
                "a single choice is none",
                "add another one",
            ));
        }
        for (word, score) in &self.choices {
            if word.trim() != word || word.is_empty() {
                let what = format!("the choice `{word}` has white space around it, or is empty");
                slips.push(Slip::new("choices", what, "write a plain word"));
            }
            if !(0.0..=1.0).contains(&score.0) {
                let what = format!(
                    "the score of `{word}` is {}, not a number from 0 to 1",
                    score.0
                );
                slips.push(Slip::new("choices", what, "write a number from 0 to 1"));
            }
        }
        let all_same = self
            .choices
            .values()
            .all(|score| Some(score) == self.choices.values().next());
        if self.choices.len() > 1 && all_same {
            slips.push(Slip::new(
                "choices",
                "all choices have the same score, so that every response gets it",
                "give them different scores",
            ));
        }
        if self.reducer.is_some() && self.votes.is_none_or(|votes| votes.get() == 1) {
            slips.push(Slip::new(
                "reducer",
                "there is one vote only",
                "add `votes`, or take `reducer` away",
            ));
        }
        if self.reducer == Some(Reducer::Majority) && !self.is_discrete() {
            slips.push(no_majority());
        }
    }
}
