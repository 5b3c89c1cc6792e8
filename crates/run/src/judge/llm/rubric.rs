//! The texts of the questions. Every change of a fixed text must raise [`VERSION`]. The digest of the texts is also in
//! the id of the judge, so that grades from different texts are never compared. In a template, the user's words replace
//! the rules.

use super::scale::Scale;
use crate::judge::mode::Mode;

/// The version of all rubrics.
pub(super) const VERSION: &str = "v1";

/// The instructions for reading the frames.
const FRAMES: &str = include_str!("rubric/frames.txt");

impl Mode {
    /// The name of the mode in the id of a judge.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Criteria => "criteria",
            Self::Pairwise => "pairwise",
            Self::Equivalence => "equivalence",
            Self::Faithfulness => "faithfulness",
            Self::AnswerRelevance => "answer_relevance",
            Self::ContextPrecision => "context_precision",
            Self::ContextRecall => "context_recall",
        }
    }

    /// The task that the model is given.
    pub(super) const fn rules(self) -> &'static str {
        match self {
            Self::Reference => include_str!("rubric/reference.txt"),
            Self::Criteria => include_str!("rubric/criteria.txt"),
            Self::Pairwise => include_str!("rubric/pairwise.txt"),
            Self::Equivalence => include_str!("rubric/equivalence.txt"),
            Self::Faithfulness => include_str!("rubric/faithfulness.txt"),
            Self::AnswerRelevance => include_str!("rubric/answer_relevance.txt"),
            Self::ContextPrecision => include_str!("rubric/context_precision.txt"),
            Self::ContextRecall => include_str!("rubric/context_recall.txt"),
        }
    }
}

/// The text before the frames, with the rules of a mode or of a template.
pub(super) fn before(rules: &str) -> String {
    format!("{rules}\n{FRAMES}")
}

/// The text after the frames. The description of the answer's format comes last, because a model follows the last
/// instructions best.
pub(super) fn after(scale: &Scale) -> String {
    format!(
        "The frames end here. Answer by the rules before them, with one JSON object and nothing else:\n{}\n",
        scale.form()
    )
}

/// The placeholder for the frames in a template.
const PLACE: &str = "{frames}";

/// The user's text before and after the frames. The rules for reading the frames and the form of the answer are still
/// added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::judge) struct Template {
    /// The text before the frames, which gives the model its task.
    pub(super) before: String,
    /// The text after the frames; empty if the template ends with them.
    pub(super) after: String,
}

impl Template {
    /// Reads a template. Fails with the problem of the template, and advice. Without frames the graded text could
    /// pretend to be a part of the question, so the template must have the placeholder for the frames, and no other
    /// placeholder for a text.
    pub(in crate::judge) fn parse(text: &str) -> Result<Self, (String, String)> {
        let help = format!(
            "write `{PLACE}` once, where the criteria, the prompt and the response are to stand, each in a frame"
        );
        let Some((before, after)) = text.split_once(PLACE) else {
            let what =
                format!("the template has no `{PLACE}`, so that the judge would see no response");
            return Err((what, help));
        };
        if after.contains(PLACE) {
            return Err((format!("the template has `{PLACE}` more than once"), help));
        }
        if let Some(name) = placeholder(before).or_else(|| placeholder(after)) {
            let what = format!("the template has a placeholder `{{{name}}}`, which nothing fills");
            return Err((what, help));
        }
        if before.trim().is_empty() {
            let what = format!("the template says nothing before `{PLACE}`");
            return Err((what, "say there what the judge is to do".to_owned()));
        }
        let line = |text: &str| match text.trim() {
            "" => String::new(),
            text => format!("{text}\n"),
        };
        Ok(Self {
            before: line(before),
            after: line(after),
        })
    }
}

/// The first word in braces that looks like the name of a placeholder. JSON is not matched, because it has quotes
/// inside its braces.
fn placeholder(text: &str) -> Option<&str> {
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.split('{').skip(1).find_map(|rest| {
        let (name, _) = rest.split_once('}')?;
        let name = name.trim();
        (!name.is_empty() && name.chars().all(of_name)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_says_where_the_frames_stand_or_is_refused() {
        let parsed = Template::parse("Be strict.\n\n{frames}\nThink twice.").expect("it is right");
        assert_eq!(
            (parsed.before.as_str(), parsed.after.as_str()),
            ("Be strict.\n", "Think twice.\n")
        );
        let json = Template::parse("Such as {\"a\": 1} and {}.\n{frames}").expect("it is right");
        assert_eq!(json.after, "");
        let mut told = Vec::new();
        for text in [
            "Grade the response.",
            "Grade {response}.",
            "{frames} and {frames}",
            "By {criteria}: {frames}",
            "It: {frames} {{ agent_output }}",
            " \n{frames}\nGrade it.",
        ] {
            let (what, _) = Template::parse(text).expect_err(text);
            told.push(what.to_string());
        }
        insta::assert_snapshot!(told.join("\n"), @"
        the template has no `{frames}`, so that the judge would see no response
        the template has no `{frames}`, so that the judge would see no response
        the template has `{frames}` more than once
        the template has a placeholder `{criteria}`, which nothing fills
        the template has a placeholder `{agent_output}`, which nothing fills
        the template says nothing before `{frames}`
        ");
    }
}
