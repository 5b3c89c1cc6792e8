//! The texts that a judge needs besides an answer.

use super::{JudgeSettings, JudgeType, MemberSettings, Mode};

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
}
