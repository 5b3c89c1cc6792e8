//! Combines several scores into one: those of votes, and those of the judges of a panel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Exhibit, Grade, GradePart, Judge, Order, Question, Seat, Ungraded, seat};
use kelvin_base::failure::Failure;
use kelvin_base::stats;

/// How several scores become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Reducer {
    /// Their mean.
    #[default]
    Mean,
    /// The score in the middle; of an even number of scores the mean of the two in the middle.
    Median,
    /// The score that was given most often; the mean of those that were given equally often.
    Majority,
}

impl Reducer {
    /// The score that represents several scores; none for an empty list.
    pub(super) fn of(self, scores: &[f64]) -> Option<f64> {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        match self {
            Self::Mean => stats::mean(scores),
            Self::Median => {
                let upper = *sorted.get(sorted.len() / 2)?;
                Some(match sorted.len() % 2 {
                    1 => upper,
                    _ => f64::midpoint(sorted[sorted.len() / 2 - 1], upper),
                })
            }
            Self::Majority => {
                let groups: Vec<&[f64]> = sorted.chunk_by(|one, other| one == other).collect();
                let most = groups.iter().map(|group| group.len()).max()?;
                let leading = groups.iter().filter(|group| group.len() == most);
                let leading: Vec<f64> = leading.map(|group| group[0]).collect();
                stats::mean(&leading)
            }
        }
    }

    /// The name of the reducer in the id of a judge.
    const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Majority => "majority",
        }
    }
}

/// Several judges that all grade every sample. If one of them cannot grade a sample, it is unscored, because the mean
/// over the other judges would be a different figure.
#[derive(Debug)]
pub(super) struct Panel {
    members: Vec<Member>,
    reducer: Reducer,
    id: String,
}

/// A judge of the panel and its seats.
#[derive(Debug)]
struct Member {
    judge: Box<dyn Judge>,
    /// The index of the member's first seat among the seats of the panel.
    first_seat: usize,
}

impl Panel {
    /// A panel of these judges.
    pub(super) fn new(judges: Vec<Box<dyn Judge>>, reducer: Reducer) -> Self {
        let ids: Vec<String> = judges.iter().map(|judge| judge.grader_id()).collect();
        let mut first_seat = 0;
        let members = judges.into_iter().map(|judge| {
            let member = Member { first_seat, judge };
            first_seat += member.judge.seats().len();
            member
        });
        Self {
            members: members.collect(),
            reducer,
            id: format!("panel/{}-v1[{}]", reducer.name(), ids.join(" ")),
        }
    }
}

impl Judge for Panel {
    fn grader_id(&self) -> String {
        self.id.clone()
    }

    fn seats(&self) -> Vec<&Seat> {
        let members = self.members.iter();
        members.flat_map(|member| member.judge.seats()).collect()
    }

    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded> {
        let mut all = Vec::new();
        for (at, member) in self.members.iter().enumerate() {
            let asked = member.judge.questions(exhibit)?.into_iter();
            all.extend(asked.map(|question| Question {
                seat: member.first_seat + question.seat,
                name: format!("m{}-{}", at + 1, question.name),
                text: question.text,
            }));
        }
        Ok(all)
    }

    fn grade(
        &self,
        exhibit: &Exhibit<'_>,
        answers: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded> {
        let mut rest = answers;
        let mut scores = Vec::new();
        let mut parts = Vec::new();
        let mut cut = false;
        for (at, member) in self.members.iter().enumerate() {
            let asked = member.judge.questions(exhibit)?.len();
            let (own, others) = rest.split_at_checked(asked).ok_or_else(seat::no_answer)?;
            rest = others;
            let grade = member.judge.grade(exhibit, own).map_err(|ungraded| {
                let text = format!("judge {} of the panel: {}", at + 1, ungraded.text);
                Ungraded::new(ungraded.code, text)
            })?;
            scores.push(grade.score());
            cut |= grade.is_cut();
            parts.extend(parts_of(at + 1, &grade));
        }
        let score = self.reducer.of(&scores).ok_or_else(seat::no_answer)?;
        let notes = parts.iter().find(|part| !part.notes.is_empty());
        let notes = notes.map_or_else(String::new, |part| part.notes.clone());
        Ok(Grade::new(score, notes, self.grader_id())?
            .made_from(parts)
            .cut_if(cut))
    }
}

/// The parts that a member adds to a grade.
fn parts_of(member: usize, grade: &Grade) -> Vec<GradePart> {
    let alone = [GradePart {
        member: None,
        order: Order::Given,
        vote: 1,
        score: grade.score(),
        notes: grade.notes().to_owned(),
    }];
    let parts = match grade.parts() {
        [] => &alone[..],
        parts => parts,
    };
    let of_member = |part: &GradePart| GradePart {
        member: Some(member),
        ..part.clone()
    };
    parts.iter().map(of_member).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::judge::UngradedCode;
    use crate::judge::settings::tests_only::opened;
    use kelvin_base::failure::FailureKind;

    #[test]
    fn scores_are_reduced_as_their_names_say() {
        let scores = [1.0, 0.0, 0.5, 1.0];
        assert_eq!(Reducer::Mean.of(&scores), Some(0.625));
        assert_eq!(Reducer::Median.of(&scores), Some(0.75));
        assert_eq!(Reducer::Median.of(&[1.0, 0.0, 0.25]), Some(0.25));
        assert_eq!(Reducer::Majority.of(&scores), Some(1.0));
        assert_eq!(Reducer::Majority.of(&[1.0, 0.0]), Some(0.5));
        assert_eq!(Reducer::Majority.of(&[0.0, 0.0, 1.0, 1.0, 0.5]), Some(0.5));
        for reducer in [Reducer::Mean, Reducer::Median, Reducer::Majority] {
            assert_eq!(reducer.of(&[]), None);
            assert_eq!(reducer.of(&[0.3]), Some(0.3));
        }
    }

    fn exhibit() -> Exhibit<'static> {
        Exhibit {
            passages: None,
            prompt: "p",
            response: "Yes  indeed",
            reference: Some("yes indeed"),
            criteria: None,
            turn: 0,
        }
    }

    #[test]
    fn a_panel_asks_all_and_keeps_what_each_has_said() {
        let panel = opened(&json!({
            "type": "panel",
            "reducer": "median",
            "panel": [
                { "type": "exact_match" },
                { "type": "llm", "model": "chat", "votes": 2 },
                { "type": "embedding_similarity", "model": "vectors" },
            ],
        }));
        assert_eq!(panel.seats().len(), 2);
        let asked = panel.questions(&exhibit()).expect("there is a reference");
        let asked: Vec<(usize, &str)> = asked
            .iter()
            .map(|question| (question.seat, question.name.as_str()))
            .collect();
        assert_eq!(
            asked,
            [(0, "m2-given-1"), (0, "m2-given-2"), (1, "m3-vectors")]
        );
        let answers = [(0.5, "so so"), (0.7, ""), (0.9, "")];
        let answers = answers.map(|(score, notes)| Ok(seat::read(score, notes)));
        let grade = panel
            .grade(&exhibit(), &answers)
            .expect("all have answered");
        assert_eq!((grade.score(), grade.notes()), (0.6, "so so"));
        let parts: Vec<_> = grade
            .parts()
            .iter()
            .map(|part| (part.member, part.vote, part.score))
            .collect();
        let members = [
            (Some(1), 1, 0.0),
            (Some(2), 1, 0.5),
            (Some(2), 2, 0.7),
            (Some(3), 1, 0.9),
        ];
        assert_eq!(parts, members);
    }

    #[test]
    fn a_sample_that_one_member_cannot_grade_is_unscored() {
        let panel = opened(&json!({
            "type": "panel",
            "panel": [{ "type": "exact_match" }, { "type": "llm", "model": "chat" }],
        }));
        let failure = Failure::new(FailureKind::GradeMissing, "the answer has no score");
        let ungraded = panel
            .grade(&exhibit(), &[Err(failure)])
            .expect_err("one failed");
        assert_eq!(ungraded.code, UngradedCode::Missing);
        insta::assert_snapshot!(ungraded.text, @"judge 2 of the panel: the answer has no score");
        // Fewer answers than questions are no grade either.
        assert!(panel.grade(&exhibit(), &[]).is_err());
    }

    #[test]
    fn the_id_of_a_panel_has_those_of_its_members_and_how_they_are_put_together() {
        let id = |reducer: &str, normalize: &str| {
            opened(&json!({
                "type": "panel",
                "reducer": reducer,
                "panel": [
                    { "type": "exact_match", "normalize": normalize },
                    { "type": "exact_match", "normalize": "none" },
                ],
            }))
            .grader_id()
        };
        assert_eq!(
            id("mean", "casefold"),
            "panel/mean-v1[exact-match/casefold-v1 exact-match/none-v1]"
        );
        assert_ne!(id("mean", "casefold"), id("median", "casefold"));
        assert_ne!(id("mean", "casefold"), id("mean", "whitespace"));
    }
}
