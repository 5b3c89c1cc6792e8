//! What stands beside answers that are the same: a reason beside a decision, or the words of an agent whose scenario
//! ends as before.
//!
//! A model words a free text otherwise in every run, so another text alone says nothing. It is told only where it is no
//! noise: the repeats of an input never vary, or a side has few different texts for many items. Nobody knows whether
//! another text is a worse one, so it fails nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::{
    ChangedAnswers, IN_A_SENTENCE, LONGEST, LONGEST_QUESTION, beside_each_other, from_difference,
};
use super::governing::OwnAnswers;
use super::sentence;
use crate::compare::{FieldsBeside, ItemAnswers};
use kelvin_base::digest::Digest;
use kelvin_page::{AnswerRow, Phrase, safe};
use kelvin_record::{Answer, is_withheld};

/// The repeats of fewer items do not show that a text never varies.
const LEAST_REPEATED: usize = 3;

/// With fewer items, a few texts for all of them may be chance.
const LEAST_ITEMS: usize = 5;

/// The mark at the end of a text of which only the beginning is kept.
const CUT: char = '…';

/// What stands beside answers that are the same and differs from the base, though noise does not explain it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherAside {
    /// The field of the outputs; null for what an agent says, since its answers are the checks that hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// In how many items it differs.
    pub items: usize,
    /// Of how many items with the same answer both sides have it.
    pub of: usize,
    /// The name of the first of these items.
    pub item: String,
    /// The question or the input of that item, if the report has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Its text on the base. A long one is cut.
    pub base: String,
    /// Its text on the head, in the same form.
    pub head: String,
}

impl OtherAside {
    /// All that differs beside the answers of a probe, first what differs in most items. `is_exact`: whether the
    /// configuration says that the pipeline has no noise.
    pub(super) fn all(own: &OwnAnswers<'_>, are_endings: bool, is_exact: bool) -> Vec<Self> {
        let items: Vec<&ItemAnswers> = own.unchanged().collect();
        let fields: BTreeSet<Option<&str>> = match are_endings {
            true => BTreeSet::from([None]),
            false => {
                let sides = items.iter().flat_map(|item| &item.beside.0);
                sides
                    .flat_map(|run| run.keys().map(|name| Some(name.as_str())))
                    .collect()
            }
        };
        let asides = fields.into_iter().filter_map(|field| {
            let pairs = items.iter().filter_map(|item| AsideTexts::of(item, field));
            AsidePairs(pairs.collect()).other(field, is_exact)
        });
        let mut asides: Vec<Self> = asides.collect();
        asides.sort_by_key(|aside| std::cmp::Reverse(aside.items));
        asides
    }

    /// In how many items it differs, for a headline.
    pub(super) fn sentence(&self, answers: &ChangedAnswers) -> String {
        let (of, noun) = (self.of, answers.noun(self.of));
        match &self.field {
            Some(field) => format!(
                "{} of {of} {noun} {} the same answer with another {}",
                self.items,
                if self.items == 1 { "gets" } else { "get" },
                sentence::name(field)
            ),
            None => format!(
                "{} of {of} {noun} {} as before with other words",
                self.items,
                if self.items == 1 { "ends" } else { "end" }
            ),
        }
    }

    /// The first item, in a sentence without its full stop.
    pub(super) fn lead(&self, answers: &ChangedAnswers) -> Phrase {
        let told = Phrase::of_name(&self.item);
        let is_hidden = is_withheld(&self.base) || is_withheld(&self.head);
        let (was, is) = beside_each_other(&self.base, &self.head);
        let (was, is) = from_difference(&was, &is, IN_A_SENTENCE);
        let told = match (&self.field, is_hidden) {
            (Some(field), true) => told.and(" gets the same answer with another ").name(field),
            (Some(field), false) => told
                .and(" gets the same answer, but its ")
                .name(field)
                .and(" is "),
            (None, true) => told.and(" ends as before with other words"),
            (None, false) => told.and(" ends as before, but says "),
        };
        let told = match is_hidden {
            true => told,
            false => told.quote(is).and(" instead of ").quote(was),
        };
        answers.and_more(told, self.items - 1)
    }

    /// What a reader should look at.
    pub(super) fn advice(&self, answers: &ChangedAnswers) -> Phrase {
        let look = match &self.field {
            Some(field) => Phrase::text("Look whether ")
                .name(field)
                .and(" is still right"),
            None => Phrase::text("Look whether what is said is still right"),
        };
        let first = if self.field.is_some() {
            "that of"
        } else {
            "in"
        };
        let look = look
            .and(format!(", first {first} {} ", answers.item))
            .name(&self.item);
        look.and(match &self.field {
            Some(_) => ": the gate compares the answers, and not what stands beside them.",
            None => {
                ": the gate compares which checks hold, and these are the same with either words."
            }
        })
    }

    /// The first item with both texts, for a list.
    pub(super) fn row(&self) -> AnswerRow {
        let (base, head) = beside_each_other(&self.base, &self.head);
        let told = |text: String| match &self.field {
            Some(field) => format!("{}: {text}", safe::line(field)),
            None => text,
        };
        AnswerRow {
            item: self.item.clone(),
            asked: self.asked.clone(),
            base: told(base),
            head: told(head),
            ..AnswerRow::default()
        }
    }
}

/// The texts beside the answers to one item, one for each run that has such a text.
struct AsideTexts<'p> {
    item: &'p ItemAnswers,
    base: Vec<AsideText<'p>>,
    head: Vec<AsideText<'p>>,
}

/// One text beside an answer.
struct AsideText<'p> {
    /// The text for people, as far as it is kept.
    shown: Cow<'p, str>,
    /// The digest of the whole text, if it is known.
    digest: Option<Digest>,
}

impl<'p> AsideText<'p> {
    fn of_answer(answer: &'p Answer) -> Self {
        Self {
            shown: answer.shown(),
            digest: match answer {
                Answer::Kept(kept) => Some(kept.digest),
                _ => None,
            },
        }
    }

    fn plain(text: &'p str) -> Self {
        Self {
            shown: Cow::Borrowed(text),
            digest: None,
        }
    }

    /// Whether two texts are the same as far as both are known.
    fn is_same(&self, other: &Self) -> bool {
        let digests = self.digest.zip(other.digest);
        digests.map_or_else(
            || is_alike(&self.shown, &other.shown),
            |(one, other)| one == other,
        )
    }

    /// A text that is the same for two of one side exactly if they are the same.
    fn key(&self) -> Cow<'_, str> {
        match self.digest {
            Some(digest) => Cow::Owned(digest.to_string()),
            None => Cow::Borrowed(&self.shown),
        }
    }
}

impl<'p> AsideTexts<'p> {
    /// None if a side has no such text, or if it has no words, as a duration or an identifier. A text that is empty on
    /// the head alone counts as one, because it was said before.
    fn of(item: &'p ItemAnswers, field: Option<&str>) -> Option<Self> {
        let (base, head) = match field {
            None => (said(&item.said.0), said(&item.said.1)),
            Some(field) => {
                let base = of_field(&item.beside.0, field);
                let mut head = of_field(&item.beside.1, field);
                // An output of which nothing is kept tells nothing.
                let is_kept = item.beside.1.iter().any(|fields| !fields.is_empty());
                if head.is_empty() && is_kept {
                    head.push(AsideText::plain(""));
                }
                (base, head)
            }
        };
        let has_words = base.first().is_some_and(|text| has_words(&text.shown));
        (has_words && !head.is_empty()).then_some(Self { item, base, head })
    }

    fn is_other(&self) -> bool {
        !self.base[0].is_same(&self.head[0])
    }
}

/// The texts beside the answers to all items.
struct AsidePairs<'p>(Vec<AsideTexts<'p>>);

impl AsidePairs<'_> {
    fn other(&self, field: Option<&str>, is_exact: bool) -> Option<OtherAside> {
        let mut others = self.0.iter().filter(|texts| texts.is_other()).peekable();
        let first = others.peek().copied()?;
        if !is_exact && !self.are_steady() {
            return None;
        }
        let (base, head) = from_difference(&first.base[0].shown, &first.head[0].shown, LONGEST);
        Some(OtherAside {
            field: field.map(str::to_owned),
            items: others.count(),
            of: self.0.len(),
            item: first.item.name.clone(),
            asked: first
                .item
                .asked
                .as_ref()
                .map(|text| safe::cut(text, LONGEST_QUESTION)),
            base: safe::cut(&base, LONGEST),
            head: safe::cut(&head, LONGEST),
        })
    }

    /// Whether the texts are known not to vary from run to run.
    fn are_steady(&self) -> bool {
        let on_base = Repeats::of(self.0.iter().map(|texts| &*texts.base));
        let on_head = Repeats::of(self.0.iter().map(|texts| &*texts.head));
        // A base that never varies makes a head that does another one.
        let varies = match on_base {
            Repeats { varied: true, .. } => true,
            Repeats { items: 0, .. } => on_head.varied,
            Repeats { .. } => false,
        };
        let repeated = on_base.items.max(on_head.items);
        !varies && (repeated >= LEAST_REPEATED.min(self.0.len()) || self.are_of_few())
    }

    /// Whether a side has few texts for many items, as a pipeline that takes them from a list, or says the same to all.
    /// On the head these have to be far fewer than on the base: a model has a few words for many items now and then.
    fn are_of_few(&self) -> bool {
        let all = self.0.len();
        let base = distinct(self.0.iter().map(|texts| &texts.base[0])).len();
        let head = distinct(self.0.iter().map(|texts| &texts.head[0])).len();
        all >= LEAST_ITEMS && (4 * base <= all || 2 * head <= all && 2 * head <= base)
    }
}

/// What the repeats of the items of a side say.
struct Repeats {
    /// How many items have repeats.
    items: usize,
    /// Whether one of them has different texts.
    varied: bool,
}

impl Repeats {
    fn of<'t, 'p: 't>(side: impl Iterator<Item = &'t [AsideText<'p>]>) -> Self {
        let repeated = side.filter(|texts| texts.len() > 1);
        let varied = repeated.map(|texts| texts.iter().any(|text| !text.is_same(&texts[0])));
        let varied: Vec<bool> = varied.collect();
        Self {
            items: varied.len(),
            varied: varied.contains(&true),
        }
    }
}

/// How often each text is there.
fn distinct<'t, 'p: 't>(
    texts: impl Iterator<Item = &'t AsideText<'p>>,
) -> BTreeMap<Cow<'t, str>, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        *counts.entry(text.key()).or_default() += 1;
    }
    counts
}

fn said(answers: &[Option<Answer>]) -> Vec<AsideText<'_>> {
    let answers = answers.iter().flatten();
    answers.map(AsideText::of_answer).collect()
}

fn of_field<'p>(runs: &'p FieldsBeside, field: &str) -> Vec<AsideText<'p>> {
    let texts = runs.iter().filter_map(|fields| fields.get(field));
    texts.map(|text| AsideText::plain(text)).collect()
}

/// Whether two texts are the same as far as both are kept.
fn is_alike(one: &str, other: &str) -> bool {
    match (one.strip_suffix(CUT), other.strip_suffix(CUT)) {
        (Some(one), Some(other)) => one.starts_with(other) || other.starts_with(one),
        (Some(one), None) => other.starts_with(one),
        (None, Some(other)) => one.starts_with(other),
        (None, None) => one == other,
    }
}

/// Whether a text has a word: letters alone, with white space or a mark around them.
fn has_words(text: &str) -> bool {
    let is_mark = |letter: char| !letter.is_alphanumeric();
    let mut words = text
        .split_whitespace()
        .map(|word| word.trim_matches(is_mark));
    words.any(|word| word.chars().count() > 1 && word.chars().all(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::AnswerPairs;

    /// Items with the same answer on both sides and a field `why` beside it, with the texts of the runs.
    fn asides(texts: &[(&[&str], &[&str])], is_exact: bool) -> Option<OtherAside> {
        let side = |texts: &[&str]| {
            let fields = |text: &&str| BTreeMap::from([("why".to_owned(), (*text).to_owned())]);
            let answers = texts.iter().map(|_| Some(Answer::Text("yes".to_owned())));
            (
                answers.collect::<Vec<_>>(),
                texts.iter().map(fields).collect::<Vec<_>>(),
            )
        };
        let items = texts.iter().enumerate().map(|(at, (base, head))| {
            let (base, head) = (side(base), side(head));
            ItemAnswers {
                name: format!("i{at}"),
                itself: (base.0, head.0),
                beside: (base.1, head.1),
                ..ItemAnswers::default()
            }
        });
        let pairs = AnswerPairs {
            items: items.collect(),
            ..AnswerPairs::default()
        };
        let own = OwnAnswers::of(&pairs, is_exact);
        OtherAside::all(&own, false, is_exact).into_iter().next()
    }

    #[test]
    fn another_text_is_told_where_the_texts_are_known_not_to_vary() {
        let names = ["ann", "bob", "cat", "dan", "eve", "fay"];
        let was: Vec<String> = names.iter().map(|name| format!("it is {name}")).collect();
        let is: Vec<String> = names.iter().map(|name| format!("not {name}")).collect();
        let (was, is): (Vec<&str>, Vec<&str>) = (
            was.iter().map(String::as_str).collect(),
            is.iter().map(String::as_str).collect(),
        );
        let both = |base: fn(&str) -> Vec<&str>, head: &[&'static str]| -> Option<usize> {
            let sides: Vec<(Vec<&str>, Vec<&str>)> = (0..names.len())
                .map(|at| (base(was[at]), vec![head.get(at).copied().unwrap_or(is[at])]))
                .collect();
            let sides: Vec<(&[&str], &[&str])> = sides
                .iter()
                .map(|(base, head)| (&**base, &**head))
                .collect();
            asides(&sides, false).map(|aside| aside.items)
        };
        // One run of free texts says nothing, three runs that agree do, and three that do not say that it is noise.
        assert_eq!(both(|text| vec![text], &[]), None);
        assert_eq!(both(|text| vec![text; 3], &[]), Some(6));
        assert_eq!(both(|text| vec![text, "otherwise", text], &[]), None);
        // One text for all of them is told after a single run, and so is another text out of a few.
        assert_eq!(both(|text| vec![text], &["go away"; 6]), Some(6));
        assert_eq!(
            both(|_| vec!["see a doctor"], &["see a doctor"; 5]),
            Some(1)
        );
    }

    #[test]
    fn a_text_is_compared_as_far_as_it_is_kept_and_numbers_are_none() {
        assert!(is_alike("a long tex…", "a long text"));
        assert!(is_alike("a long…", "a long tex…"));
        assert!(!is_alike("a long tex…", "a short text"));
        for (text, is_worded) in [
            ("See a doctor.", true),
            ("{\"why\": \"no money\"}", true),
            ("0.35", false),
            ("8f3a-11ee", false),
            ("2026-11-30T11:00:00Z", false),
            ("", false),
        ] {
            assert_eq!(has_words(text), is_worded, "{text}");
        }
        let exact = asides(&[(&["one thing"], &["another thing"])], true);
        assert_eq!(exact.map(|aside| (aside.items, aside.of)), Some((1, 1)));
    }
}
