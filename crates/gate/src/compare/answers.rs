//! The answers of two sides, paired by item and, for variants, by input. No figures are computed from them here.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Measured;
use kelvin_base::digest::Digest;
use kelvin_record::{
    Answer, AnsweredInput, AnsweredItem, ComparedItem, Conduct, Nouns, SectionAnswers,
};

/// The answers of one probe on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerPairs {
    /// The words for one item and for several items.
    pub nouns: Nouns,
    /// Whether the texts say how an item ended, and not what was answered.
    pub are_endings: bool,
    /// Whether a program of the user scores the answers, on either side.
    pub are_scored_outside: bool,
    /// The types of evidence that both sides declare, each with its gated metric.
    pub types: Vec<(String, String)>,
    /// The items whose input is the same on both sides, by name.
    pub items: Vec<ItemAnswers>,
    /// The items that the change edits and that have no label. The only answers to compare with are those of the base,
    /// which are to other texts.
    pub edited: Vec<ItemAnswers>,
}

/// The answers on the base and on the head, one for each run.
type AnswersOfSides = (Vec<Option<Answer>>, Vec<Option<Answer>>);

/// The other output fields, for each of the first answers.
pub(crate) type FieldsBeside = Vec<BTreeMap<String, String>>;

/// The answers to one item on the base and on the head; none if a run failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemAnswers {
    /// The name of the item.
    pub name: String,
    /// The question, for people.
    pub asked: Option<String>,
    /// The answer that the head expects, as a text for people.
    pub expected: Option<String>,
    /// Whether no label, no judge and no check looks at what the answer says, on either side.
    pub is_unjudged: bool,
    /// The answers to the unchanged item.
    pub itself: (Vec<Option<Answer>>, Vec<Option<Answer>>),
    /// The other output fields of the first answers, as texts for people.
    pub beside: (FieldsBeside, FieldsBeside),
    /// What the pipeline did in each run, if the answers say how the item ended.
    pub conduct: BTreeMap<Conduct, AnswersOfSides>,
    /// The answers to the variants of both sides that should get the same answer as the item, repeat by repeat.
    pub own: (Vec<Option<Answer>>, Vec<Option<Answer>>),
    /// The names of the variants that should get the same answer as the item, on the base and on the head.
    pub own_names: (Vec<String>, Vec<String>),
    /// The answers to the variants in which evidence was exchanged.
    pub swaps: Vec<SwapAnswers>,
}

/// The answers to a variant in which a unit was exchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct SwapAnswers {
    /// The index of the type of the unit.
    pub of_type: usize,
    /// The item from which the unit comes.
    pub donor: Option<String>,
    /// The names of the variant on the base and on the head.
    pub names: (String, String),
    /// The answers on the base and on the head.
    pub answers: (Vec<Option<Answer>>, Vec<Option<Answer>>),
}

/// Pairs the answers of every probe that both sides ran.
pub(super) fn pair<'a>(base: &Measured<'a>, head: &Measured<'a>) -> BTreeMap<&'a str, AnswerPairs> {
    let probes = base.answered.iter();
    let both = probes.filter_map(|(probe, before)| {
        let after = head.answered.get(probe)?;
        let sides = AnswerSides {
            probe,
            base: (base, before),
            head: (head, after),
        };
        Some((*probe, sides.pairs()))
    });
    both.collect()
}

struct AnswerSides<'s, 'a> {
    probe: &'s str,
    base: (&'s Measured<'a>, &'s SectionAnswers<'a>),
    head: (&'s Measured<'a>, &'s SectionAnswers<'a>),
}

impl AnswerSides<'_, '_> {
    fn pairs(&self) -> AnswerPairs {
        let (before, after) = (self.base.1, self.head.1);
        let is_shared = |name: &str| after.types.iter().any(|(other, _)| *other == name);
        let types = before.types.iter().filter(|(name, _)| is_shared(name));
        let types: Vec<(String, String)> = types
            .map(|(name, metric)| ((*name).to_owned(), metric.clone()))
            .collect();
        let (mut items, mut edited) = (Vec::new(), Vec::new());
        for (name, before) in &before.items {
            let sides = (self.item(self.base.0, name), self.item(self.head.0, name));
            let (Some(after), (Some(was), Some(is))) = (after.items.get(name), sides) else {
                continue;
            };
            if !self.base.0.covers(name) || !self.head.0.covers(name) {
                continue;
            }
            let once = (was.counts_once, is.counts_once);
            let mut item = item(name, (before, after), &types, once);
            tell_stand_ins(&mut item.itself);
            if was.digest == is.digest {
                items.push(item);
            } else if before.is_only_compared && after.is_only_compared {
                edited.push(item);
            }
        }
        let mut items = without_nulls(items);
        if let [_] = types.as_slice() {
            leave_out_equal_labels(&mut items, after);
        }
        let nouns = self.head.0.items.get(self.probe);
        let nouns = nouns.map(|items| items.nouns.clone());
        AnswerPairs {
            nouns: nouns.unwrap_or_default(),
            are_endings: after.are_endings,
            are_scored_outside: before.are_scored_outside || after.are_scored_outside,
            types,
            items,
            edited,
        }
    }

    fn item<'m>(&self, side: &'m Measured<'_>, name: &str) -> Option<&'m ComparedItem<'m>> {
        side.items.get(self.probe)?.by_name.get(name)
    }
}

/// Where a side has answers of its own, a text that only stands for an answer says so: as an answer it would be an odd
/// one.
fn tell_stand_ins((base, head): &mut (Vec<Option<Answer>>, Vec<Option<Answer>>)) {
    let is_own = |answer: &Answer| !matches!(answer, Answer::StandIn(_));
    if !base.iter().chain(&*head).flatten().any(is_own) {
        return;
    }
    for answer in base.iter_mut().chain(head).flatten() {
        if let Answer::StandIn(text) = answer {
            *answer = Answer::Text(format!("no answer, only: {text}"));
        }
    }
}

/// A pipeline may abstain with null, which is an answer. If neither side answers null to any unchanged item, a null for
/// exchanged evidence counts as a missing answer.
fn without_nulls(mut items: Vec<ItemAnswers>) -> Vec<ItemAnswers> {
    let is_null = |answer: &Option<Answer>| *answer == Some(Answer::Null);
    let abstains = items.iter().any(|item| {
        let own = [&item.itself.0, &item.itself.1, &item.own.0, &item.own.1];
        own.into_iter().flatten().any(is_null)
    });
    if !abstains {
        let swaps = items.iter_mut().flat_map(|item| &mut item.swaps);
        let answers = swaps.flat_map(|swap| swap.answers.0.iter_mut().chain(&mut swap.answers.1));
        answers
            .filter(|answer| is_null(answer))
            .for_each(|answer| *answer = None);
    }
    items
}

/// Leaves out the swaps between two items with the same label. If one type alone governs, the label of the donor is the
/// right answer to the swap, so that it ought not to move the answer: it did on a base that was wrong about one of the
/// two, and a change that gets both right moves fewer swaps without being worse.
fn leave_out_equal_labels(items: &mut [ItemAnswers], head: &SectionAnswers<'_>) {
    let label = |name: &str| head.items.get(name)?.expected.clone();
    for item in items.iter_mut().filter(|item| item.expected.is_some()) {
        let own = &item.expected;
        item.swaps.retain(|swap| {
            let donor = swap.donor.as_deref().and_then(label);
            donor.as_deref() != own.as_deref()
        });
    }
}

/// One item. `once`: whether the repeats of a side count as only one run.
fn item(
    name: &str,
    (base, head): (&AnsweredItem<'_>, &AnsweredItem<'_>),
    types: &[(String, String)],
    once: (bool, bool),
) -> ItemAnswers {
    let by_input = |inputs: Vec<&'_ AnsweredInput<'_>>| -> BTreeMap<Digest, usize> {
        let places = inputs.into_iter().enumerate();
        places.map(|(at, asked)| (asked.input, at)).collect()
    };
    let own_of_head = by_input(head.own.iter().collect());
    let shared: Vec<(&AnsweredInput<'_>, &AnsweredInput<'_>)> = base
        .own
        .iter()
        .filter_map(|before| Some((before, &head.own[*own_of_head.get(&before.input)?])))
        .collect();
    let swaps_of_head = by_input(head.swaps.iter().map(|swap| &swap.asked).collect());
    let swaps = base.swaps.iter().filter_map(|before| {
        let after = &head.swaps[*swaps_of_head.get(&before.asked.input)?];
        Some(SwapAnswers {
            of_type: types.iter().position(|(name, _)| name == before.of_type)?,
            donor: before.donor.map(str::to_owned),
            names: (
                before.asked.variant.to_owned(),
                after.asked.variant.to_owned(),
            ),
            answers: (
                counted(&before.asked.answers, once.0),
                counted(&after.asked.answers, once.1),
            ),
        })
    });
    let names = |side: fn(&(&AnsweredInput<'_>, &AnsweredInput<'_>)) -> String| {
        shared.iter().map(side).collect()
    };
    let conduct = base.conduct.iter().map(|(kind, before)| {
        let after = head.conduct.get(kind).map_or(&[][..], Vec::as_slice);
        (*kind, (counted(before, once.0), counted(after, once.1)))
    });
    ItemAnswers {
        name: name.to_owned(),
        asked: owned(head.asked.as_ref().or(base.asked.as_ref())),
        expected: owned(head.expected.as_ref()),
        is_unjudged: base.is_unjudged && head.is_unjudged,
        itself: (counted(&base.itself, once.0), counted(&head.itself, once.1)),
        beside: (base.beside.to_vec(), head.beside.to_vec()),
        conduct: conduct.collect(),
        own: (
            run_after_run(shared.iter().map(|(before, _)| *before), once.0),
            run_after_run(shared.iter().map(|(_, after)| *after), once.1),
        ),
        own_names: (
            names(|(before, _)| before.variant.to_owned()),
            names(|(_, after)| after.variant.to_owned()),
        ),
        swaps: swaps.collect(),
    }
}

fn owned(text: Option<&Cow<'_, str>>) -> Option<String> {
    text.map(|text| text.clone().into_owned())
}

/// The answers that count: only the first if the pipeline gave the others from its own cache.
fn counted(answers: &[Option<Answer>], once: bool) -> Vec<Option<Answer>> {
    let most = if once { 1 } else { answers.len() };
    answers.iter().take(most).cloned().collect()
}

/// The first answers to all inputs, then the second answers, and so on.
fn run_after_run<'a>(
    inputs: impl Iterator<Item = &'a AnsweredInput<'a>>,
    once: bool,
) -> Vec<Option<Answer>> {
    let inputs: Vec<Vec<Option<Answer>>> =
        inputs.map(|asked| counted(&asked.answers, once)).collect();
    let most = inputs.iter().map(Vec::len).max().unwrap_or(0);
    let runs = (0..most).flat_map(|run| inputs.iter().filter_map(move |all| all.get(run).cloned()));
    runs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_an_answer_says_so_where_the_other_side_has_an_answer_of_its_own() {
        let hits = |text: &str| Some(Answer::StandIn(text.to_owned()));
        let text = |text: &str| Some(Answer::Text(text.to_owned()));
        // A search that gives no answers on either side is compared by its hits as they are.
        let mut search = (vec![hits("a, b")], vec![hits("b, a"), None]);
        let before = search.clone();
        tell_stand_ins(&mut search);
        assert_eq!(search, before);
        // The answer is gone from the output of the head.
        let mut gone = (vec![text("by mail")], vec![hits("a, b")]);
        tell_stand_ins(&mut gone);
        assert_eq!(
            gone,
            (vec![text("by mail")], vec![text("no answer, only: a, b")])
        );
    }
}
