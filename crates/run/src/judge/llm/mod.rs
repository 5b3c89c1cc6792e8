//! `llm`: a model that is asked for a grade with a fixed and versioned rubric.

mod frame;
mod parse;
mod rubric;
mod scale;
mod verdicts;

use std::borrow::Cow;

use serde_json::{Value, json};

use super::mode::Mode;
use super::panel::Reducer;
use super::seat::Reading;
use super::{
    Exhibit, Grade, GradePart, Judge, Order, Question, RagMeasure, Seat, Ungraded, UngradedCode,
};
use crate::targets::{Asking, ModelSettings};
use frame::Framed;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::failure::Failure;

pub(super) use rubric::Template;
pub(super) use scale::Scale;

/// How many characters of a model's notes are stored at most.
const NOTES_KEPT: usize = 2000;

/// The questions to a model, and how often each is asked.
#[derive(Clone, Debug)]
pub(super) struct Rubric {
    pub(super) mode: Mode,
    pub(super) scale: Scale,
    pub(super) criteria: Option<String>,
    pub(super) votes: usize,
    pub(super) reducer: Reducer,
    pub(super) places: Places,
    /// How many characters of each text are shown at most.
    pub(super) most: usize,
    /// The user's own words, which replace the rules of the mode.
    pub(super) template: Option<Template>,
}

/// The order in which two texts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Places {
    /// The reference always comes first.
    Fixed,
    /// The reference and the response alternate between exhibits. A position bias then adds to the noise of single
    /// grades, but cancels out in their mean.
    ByTurns,
    /// Each exhibit is graded in both orders.
    Both,
}

/// A judge that asks a language model.
#[derive(Debug)]
pub(super) struct Llm {
    rubric: Rubric,
    id: String,
    seat: Seat,
}

/// A text that is graded, with the name of its frame.
type Shown<'a> = Vec<Framed<'a>>;

impl Llm {
    /// A judge that asks this model with these parameters; the text before and after the frames is fixed.
    pub(super) fn new(rubric: Rubric, model: &ModelSettings, asking: Asking) -> Self {
        let asking = Asking {
            schema: Some(rubric.scale.schema()),
            ..asking
        };
        let parameters = Fields::of("kelvin/judge/llm/v2")
            .field("model", super::model::identity(model))
            .field("asking", json!(asking).to_string())
            .field("criteria", rubric.criteria.as_deref().unwrap_or_default())
            .field("votes", rubric.votes.to_be_bytes())
            .field("reducer", format!("{:?}", rubric.reducer))
            .field("places", format!("{:?}", rubric.places))
            .field("most", rubric.most.to_be_bytes())
            .field("scale", format!("{:?}", rubric.scale))
            .digest();
        let id = format!(
            "llm/{}-{}-{}/{}-{}",
            rubric.mode.name(),
            rubric::VERSION,
            rubric.words().short(8),
            super::model::label(model),
            parameters.short(8),
        );
        let reading = GradeReading {
            scale: rubric.scale.clone(),
        };
        Self {
            seat: Seat::new(model.chat(&asking), reading),
            rubric,
            id,
        }
    }
}

impl Rubric {
    /// The digest of the fixed texts of a question.
    fn words(&self) -> Digest {
        Fields::of("kelvin/judge/rubric/v1")
            .field("before", self.before())
            .field("after", self.after())
            .digest()
    }

    /// The text before the frames.
    fn before(&self) -> String {
        let rules = match &self.template {
            Some(template) => &template.before,
            None => self.mode.rules(),
        };
        rubric::before(rules)
    }

    /// The text after the frames.
    fn after(&self) -> String {
        let told = self.template.as_ref();
        let told = told.map_or("", |template| template.after.as_str());
        format!("{told}{}", rubric::after(&self.scale))
    }

    /// The orders in which the two texts of an exhibit are shown.
    const fn orders(&self, exhibit: &Exhibit<'_>) -> &'static [Order] {
        match self.places {
            Places::Both => &[Order::Given, Order::Swapped],
            Places::ByTurns if exhibit.turn % 2 == 1 => &[Order::Swapped],
            Places::ByTurns | Places::Fixed => &[Order::Given],
        }
    }

    /// The orders and votes of the questions about an exhibit, in the order in which they are asked.
    fn rounds(&self, exhibit: &Exhibit<'_>) -> impl Iterator<Item = (Order, usize)> + '_ {
        let orders = self.orders(exhibit).iter();
        orders.flat_map(|order| (1..=self.votes).map(|vote| (*order, vote)))
    }

    /// The texts of an exhibit that are shown.
    fn shown<'a>(&'a self, exhibit: &Exhibit<'a>, order: Order) -> Result<Shown<'a>, Ungraded> {
        let framed = |name: &'static str, text| Framed {
            name: Cow::Borrowed(name),
            text,
        };
        let criteria = exhibit.criteria.or(self.criteria.as_deref());
        let mut shown: Shown<'a> = Vec::new();
        shown.extend(criteria.map(|text| framed("CRITERIA", text)));
        if !exhibit.prompt.is_empty() {
            shown.push(framed("PROMPT", exhibit.prompt));
        }
        let response = exhibit.response;
        let two = match self.mode {
            Mode::Criteria => {
                if criteria.is_none_or(|text| text.trim().is_empty()) {
                    let text = "there are no criteria to grade the response by";
                    return Err(Ungraded::new(UngradedCode::NoCriteria, text));
                }
                shown.extend(exhibit.reference.map(|text| framed("REFERENCE", text)));
                shown.push(framed("RESPONSE", response));
                return Ok(shown);
            }
            Mode::Faithfulness
            | Mode::AnswerRelevance
            | Mode::ContextPrecision
            | Mode::ContextRecall => {
                let Some(measure) = self.mode.rag() else {
                    return Ok(shown);
                };
                if measure.needs_reference() {
                    shown.push(framed("REFERENCE", exhibit.needs_reference()?));
                }
                if measure.needs_passages() {
                    let passages = (1..).zip(exhibit.needs_passages()?);
                    shown.extend(passages.map(|(number, text)| Framed {
                        name: Cow::Owned(format!("PASSAGE {number}")),
                        text,
                    }));
                }
                if !measure.needs_reference() {
                    shown.push(framed("RESPONSE", response));
                }
                return Ok(shown);
            }
            Mode::Reference => {
                let reference = framed("REFERENCE", exhibit.needs_reference()?);
                let response = framed("RESPONSE", response);
                match order {
                    Order::Given => [reference, response],
                    Order::Swapped => [response, reference],
                }
            }
            // The names of the frames show only the order, so that the model cannot know which text is expected to be
            // right.
            Mode::Pairwise | Mode::Equivalence => {
                let reference = exhibit.needs_reference()?;
                let (one, two) = match order {
                    Order::Given => (reference, response),
                    Order::Swapped => (response, reference),
                };
                match self.mode {
                    Mode::Pairwise => [framed("ANSWER ONE", one), framed("ANSWER TWO", two)],
                    _ => [framed("TEXT ONE", one), framed("TEXT TWO", two)],
                }
            }
        };
        shown.extend(two);
        Ok(shown)
    }

    /// Whether the judge has to rank passages although none was found. Then no call is made: the figure is 0, as in
    /// Ragas.
    fn has_nothing_to_rank(&self, exhibit: &Exhibit<'_>) -> bool {
        self.mode == Mode::ContextPrecision && exhibit.passages.is_some_and(<[String]>::is_empty)
    }

    /// Rejects a list that does not have exactly one verdict for each passage: the share over only some of them would
    /// be a different figure.
    fn check_count(&self, exhibit: &Exhibit<'_>, read: &Value) -> Result<(), Ungraded> {
        if self.mode != Mode::ContextPrecision {
            return Ok(());
        }
        let wanted = exhibit.needs_passages()?.len();
        let found = verdicts::count(RagMeasure::ContextPrecision, read);
        if found == wanted {
            return Ok(());
        }
        let text = format!("the judge gave {found} verdicts for {wanted} passages");
        Err(Ungraded::new(UngradedCode::Invalid, text))
    }

    /// The score of the response, computed from the model's score for the text that was shown first.
    fn of_response(&self, read: f64, order: Order) -> f64 {
        match (self.mode, order) {
            (Mode::Pairwise, Order::Given) => 1.0 - read,
            _ => read,
        }
    }
}

impl Judge for Llm {
    fn grader_id(&self) -> String {
        self.id.clone()
    }

    fn seats(&self) -> Vec<&Seat> {
        vec![&self.seat]
    }

    fn questions(&self, exhibit: &Exhibit<'_>) -> Result<Vec<Question>, Ungraded> {
        let rubric = &self.rubric;
        if rubric.has_nothing_to_rank(exhibit) {
            return Ok(Vec::new());
        }
        let (before, after) = (rubric.before(), rubric.after());
        let question = |(order, vote): (Order, usize)| {
            let (word, salt) = match order {
                Order::Given => ("given", format!("{vote}")),
                Order::Swapped => ("swapped", format!("{vote} swapped")),
            };
            let frames = frame::frames(&rubric.shown(exhibit, order)?, &salt, rubric.most);
            Ok(Question {
                seat: 0,
                text: format!("{before}\n{frames}{after}"),
                name: format!("{word}-{vote}"),
            })
        };
        rubric.rounds(exhibit).map(question).collect()
    }

    fn grade(
        &self,
        exhibit: &Exhibit<'_>,
        answers: &[Result<Value, Failure>],
    ) -> Result<Grade, Ungraded> {
        let rubric = &self.rubric;
        if rubric.has_nothing_to_rank(exhibit) {
            return Grade::new(0.0, "no passage was found", self.grader_id());
        }
        if answers.len() != rubric.rounds(exhibit).count() {
            return Err(super::seat::no_answer());
        }
        let mut parts = Vec::with_capacity(answers.len());
        for ((order, vote), answer) in rubric.rounds(exhibit).zip(answers) {
            let read = answer.as_ref().map_err(Ungraded::from)?;
            let (score, notes) = super::seat::score(read)?;
            rubric.check_count(exhibit, read)?;
            parts.push(GradePart {
                member: None,
                order,
                vote,
                score: rubric.of_response(score, order),
                notes: notes.to_owned(),
            });
        }
        let of_orders: Vec<f64> = rubric
            .orders(exhibit)
            .iter()
            .filter_map(|order| {
                let votes = parts.iter().filter(|part| part.order == *order);
                let votes: Vec<f64> = votes.map(|part| part.score).collect();
                rubric.reducer.of(&votes)
            })
            .collect();
        let score = kelvin_base::stats::mean(&of_orders).unwrap_or(f64::NAN);
        let notes = parts.first().map_or("", |part| part.notes.as_str());
        let shown = rubric.shown(exhibit, Order::Given)?;
        let cut = shown
            .iter()
            .any(|text| frame::is_cut(text.text, rubric.most));
        let grade = Grade::new(score, notes, self.grader_id())?.cut_if(cut);
        Ok(match parts.as_slice() {
            [only] if only.order == Order::Given => grade,
            _ => grade.made_from(parts),
        })
    }
}

/// Reads a grade from the text of an answer.
#[derive(Debug)]
struct GradeReading {
    scale: Scale,
}

impl Reading for GradeReading {
    fn digest(&self) -> Digest {
        // Version 1 did not store the model name that the server reports.
        let fields = Fields::of("kelvin/reader/grade/v2");
        fields.field("scale", format!("{:?}", self.scale)).digest()
    }

    fn read(&self, output: &[u8]) -> Result<Value, Failure> {
        let answer = parse::object(output)?;
        if let Scale::Verdicts(measure) = self.scale {
            return verdicts::read(measure, &answer);
        }
        let score = self.scale.score(&answer)?;
        let notes: String = Scale::notes(&answer)
            .trim()
            .chars()
            .take(NOTES_KEPT)
            .collect();
        Ok(super::seat::read(score, &notes))
    }

    fn smallest(&self, read: &Value) -> Vec<u8> {
        if let Scale::Verdicts(measure) = self.scale {
            return verdicts::smallest(measure, read).to_string().into_bytes();
        }
        match super::seat::score(read) {
            Ok((score, notes)) => self.scale.smallest(score, notes).to_string().into_bytes(),
            Err(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
