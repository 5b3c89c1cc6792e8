//! What stands beside answers that are the same: a reason beside a decision, the answers to earlier turns, or the calls
//! and the words of an agent whose scenario ends as before.
//!
//! A model words a free text otherwise in every run, so another text alone says nothing. It is told only where it is no
//! noise: the repeats of an input never vary, or a side has few different texts for many items. A list of calls and a
//! single word vary seldom, so that few of them show nothing: there all runs of an item have to agree. Nobody knows
//! whether another text is a worse one, so it fails nothing.

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
use kelvin_record::{Answer, Conduct, FIELDS_BESIDE, KeptText, TURN, has_words, is_withheld};

/// The repeats of fewer items do not show that a text never varies.
const LEAST_REPEATED: usize = 3;

/// With fewer items, a few texts for all of them may be chance.
const LEAST_ITEMS: usize = 5;

/// The mark at the end of a text of which only the beginning is kept.
const CUT: char = '…';

/// What stands beside answers that are the same and differs from the base, though noise does not explain it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherAside {
    /// The field of the outputs, or `turn 1` for the answer to a turn before the last. Of an agent, whose answers are the
    /// checks that hold: `calls` to its services, `events` in its log, and null for its words.
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
        let kinds: BTreeSet<AsideKind<'_>> = match are_endings {
            true => {
                let kinds = items.iter().flat_map(|item| item.conduct.keys());
                kinds.map(|kind| AsideKind::Conduct(*kind)).collect()
            }
            false => {
                let sides = items.iter().flat_map(|item| &item.beside.0);
                let names = sides.flat_map(BTreeMap::keys);
                names.map(|name| AsideKind::Field(name)).collect()
            }
        };
        let asides = kinds.into_iter().filter_map(|kind| {
            let pairs = items
                .iter()
                .filter_map(|item| AsideTexts::of(item, kind, is_exact));
            AsidePairs(pairs.collect()).other(kind, is_exact)
        });
        let mut asides: Vec<Self> = asides.collect();
        // Another call may matter to somebody in one scenario more than other words in all of them.
        if !are_endings {
            asides.sort_by_key(|aside| std::cmp::Reverse(aside.items));
        }
        asides
    }

    /// In how many items it differs, for a headline.
    pub(super) fn sentence(&self, answers: &ChangedAnswers) -> String {
        let (of, noun) = (self.of, answers.noun(self.of));
        match (&self.field, answers.are_endings) {
            (Some(field), false) => format!(
                "{} of {of} {noun} {} the same answer with another {}",
                self.items,
                if self.items == 1 { "gets" } else { "get" },
                sentence::name(field)
            ),
            (field, _) => format!(
                "{} of {of} {noun} {} as before with other {}",
                self.items,
                if self.items == 1 { "ends" } else { "end" },
                field.as_deref().unwrap_or("words")
            ),
        }
    }

    /// The first item, in a sentence without its full stop.
    pub(super) fn lead(&self, answers: &ChangedAnswers) -> Phrase {
        let told = Phrase::of_name(&self.item);
        let is_hidden = is_withheld(&self.base) || is_withheld(&self.head);
        let (was, is) = beside_each_other(&self.base, &self.head);
        let (was, is) = from_difference(&was, &is, IN_A_SENTENCE);
        let told = match (&self.field, answers.are_endings) {
            (Some(field), false) if is_hidden => {
                told.and(" gets the same answer with another ").name(field)
            }
            (Some(field), false) => told
                .and(" gets the same answer, but its ")
                .name(field)
                .and(" is "),
            (field, _) if is_hidden => {
                let other = field.as_deref().unwrap_or("words");
                told.and(format!(" ends as before with other {other}"))
            }
            (field, _) => told.and(match field.as_deref() {
                Some("calls") => " ends as before, but calls ",
                Some(_) => " ends as before, but logs ",
                None => " ends as before, but says ",
            }),
        };
        let told = match is_hidden {
            true => told,
            false => told.quote(is).and(" instead of ").quote(was),
        };
        answers.and_more(told, self.items - 1)
    }

    /// What a reader should look at.
    pub(super) fn advice(&self, answers: &ChangedAnswers) -> Phrase {
        let (look, first, why) = match (&self.field, answers.are_endings) {
            (Some(field), false) => (
                Phrase::text("Look whether ")
                    .name(field)
                    .and(" is still right"),
                "that of",
                ": the gate compares the answers, and not what stands beside them.".to_owned(),
            ),
            (field, _) => {
                let look = match field {
                    Some(field) => format!("Look whether the {field} are still right"),
                    None => "Look whether what is said is still right".to_owned(),
                };
                let either = field.as_deref().unwrap_or("words");
                (
                    Phrase::text(look),
                    "in",
                    format!(
                        ": the gate compares which checks hold, and these are the same with either {either}."
                    ),
                )
            }
        };
        look.and(format!(", first {first} {} ", answers.item))
            .name(&self.item)
            .and(why)
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

/// What stands beside the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AsideKind<'p> {
    /// A field of the outputs.
    Field(&'p str),
    /// What an agent does.
    Conduct(Conduct),
}

impl AsideKind<'_> {
    fn field(self) -> Option<String> {
        let name = match self {
            Self::Field(name) => Some(name),
            Self::Conduct(kind) => kind.field(),
        };
        name.map(str::to_owned)
    }
}

/// The texts beside the answers to one item, one for each run that has such a text.
struct AsideTexts<'p> {
    item: &'p ItemAnswers,
    base: Vec<AsideText<'p>>,
    head: Vec<AsideText<'p>>,
    /// Whether the text is another one on the head.
    is_other: bool,
    /// Whether such texts seldom vary, so that few different ones do not show that they never do.
    is_of_few: bool,
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

    /// The text for no calls or events.
    fn nothing() -> Self {
        Self {
            shown: Cow::Borrowed(Conduct::NOTHING),
            digest: Some(KeptText::of(Conduct::NOTHING).digest),
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
    fn of(item: &'p ItemAnswers, kind: AsideKind<'_>, is_exact: bool) -> Option<Self> {
        let (base, mut head) = match kind {
            AsideKind::Conduct(kind) => {
                let (base, head) = item.conduct.get(&kind)?;
                (done(base), done(head))
            }
            AsideKind::Field(name) => (
                of_field(&item.beside.0, name),
                of_field(&item.beside.1, name),
            ),
        };
        if head.is_empty() {
            head.extend(match kind {
                AsideKind::Conduct(Conduct::Events)
                    if item.itself.1.iter().any(Option::is_some) =>
                {
                    Some(AsideText::nothing())
                }
                // An answer of the cache has no earlier turns.
                AsideKind::Field(name) if !name.starts_with(TURN) => {
                    let mut runs = item.beside.1.iter();
                    runs.any(is_whole).then(|| AsideText::plain(""))
                }
                _ => None,
            });
        }
        let first = base.first()?;
        let is_told = match kind {
            AsideKind::Conduct(Conduct::Calls | Conduct::Events) => true,
            _ => has_words(&first.shown),
        };
        if !is_told || head.is_empty() {
            return None;
        }
        let is_of_few = match kind {
            AsideKind::Conduct(kind) => kind != Conduct::Words,
            AsideKind::Field(_) => !first.shown.trim().contains(char::is_whitespace),
        };
        let is_other = match is_of_few {
            true => {
                let agree =
                    |texts: &[AsideText<'_>]| texts.iter().all(|one| one.is_same(&texts[0]));
                let are_enough = base.len() >= LEAST_REPEATED || base.len().min(head.len()) > 1;
                (is_exact || are_enough) && agree(&base) && agree(&head)
            }
            false => true,
        };
        Some(Self {
            item,
            is_other: is_other && !first.is_same(&head[0]),
            is_of_few,
            base,
            head,
        })
    }
}

/// Whether all fields of an output are kept: of an output with nothing kept nothing is known, and of one with many fields
/// some are not kept.
fn is_whole(fields: &BTreeMap<String, String>) -> bool {
    let own = fields.keys().filter(|name| !name.starts_with(TURN));
    (1..FIELDS_BESIDE).contains(&own.count())
}

/// The texts beside the answers to all items.
struct AsidePairs<'p>(Vec<AsideTexts<'p>>);

impl AsidePairs<'_> {
    fn other(&self, kind: AsideKind<'_>, is_exact: bool) -> Option<OtherAside> {
        let others: Vec<&AsideTexts<'_>> = self.0.iter().filter(|texts| texts.is_other).collect();
        let first = *others.first()?;
        // Of texts that vary in one run of a hundred the base may show none that does, and the head one.
        let is_chance = first.is_of_few && first.head.len() < 2 && others.len() < 2;
        if is_chance && !is_exact {
            return None;
        }
        // The configuration speaks of the answers: what stands beside them may vary all the same, as a time does.
        if self.vary() || !is_exact && !self.are_shown_steady() {
            return None;
        }
        let (base, head) = from_difference(&first.base[0].shown, &first.head[0].shown, LONGEST);
        Some(OtherAside {
            field: kind.field(),
            items: others.len(),
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

    /// The repeats of the items on both sides.
    fn repeats(&self) -> (Repeats, Repeats) {
        (
            Repeats::of(self.0.iter().map(|texts| &*texts.base)),
            Repeats::of(self.0.iter().map(|texts| &*texts.head)),
        )
    }

    /// Whether the texts are seen to vary from run to run. A base that never varies makes a head that does another one.
    fn vary(&self) -> bool {
        match self.repeats() {
            (Repeats { varied: true, .. }, _) => true,
            (Repeats { items: 0, .. }, on_head) => on_head.varied,
            (Repeats { .. }, _) => false,
        }
    }

    /// Whether there is reason to believe that the texts never vary.
    fn are_shown_steady(&self) -> bool {
        let (on_base, on_head) = self.repeats();
        let repeated = on_base.items.max(on_head.items);
        repeated >= LEAST_REPEATED.min(self.0.len()) || self.are_of_few()
    }

    /// Whether a side has few texts for many items, as a pipeline that takes them from a list, or says the same to all.
    /// On the head these have to be far fewer than on the base: a model has a few words for many items now and then.
    fn are_of_few(&self) -> bool {
        if self.0.iter().any(|texts| texts.is_of_few) {
            return false;
        }
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

fn done(answers: &[Option<Answer>]) -> Vec<AsideText<'_>> {
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
    fn a_text_is_compared_as_far_as_it_is_kept() {
        assert!(is_alike("a long tex…", "a long text"));
        assert!(is_alike("a long…", "a long tex…"));
        assert!(!is_alike("a long tex…", "a short text"));
        let exact = asides(&[(&["one thing"], &["another thing"])], true);
        assert_eq!(exact.map(|aside| (aside.items, aside.of)), Some((1, 1)));
        // What is seen to vary is noise, whatever the configuration says of the answers.
        let varies = asides(&[(&["one thing", "a thing"], &["another thing"])], true);
        assert_eq!(varies, None);
    }

    #[test]
    fn a_single_word_is_told_where_all_runs_of_its_item_agree() {
        let told = |base: &[&str], head: &[&str], is_exact: bool| {
            let same = (base, &["stop"][..]);
            let aside = asides(&[same, same, same, same, (base, head)], is_exact);
            aside.map(|aside| aside.items)
        };
        // One run of the head may be chance, in one item.
        assert_eq!(told(&["stop"; 3], &["length"], false), None);
        let [same, other] = ["stop", "length"].map(|head| (&["stop"; 3][..], [head]));
        let of_two = [&same, &same, &same, &other, &other].map(|(base, head)| (*base, &head[..]));
        assert_eq!(asides(&of_two, false).map(|aside| aside.items), Some(2));
        assert_eq!(told(&["stop"; 3], &["length"; 3], false), Some(1));
        assert_eq!(told(&["stop"; 2], &["length"; 2], false), Some(1));
        assert_eq!(told(&["stop"], &["length"], true), Some(1));
        for (base, head) in [
            (&["stop"][..], &["length"][..]),
            (&["stop"], &["length"; 3]),
            (&["stop"; 2], &["length"]),
            (&["stop"; 3], &["length", "stop"]),
        ] {
            assert_eq!(told(base, head, false), None, "{base:?} {head:?}");
        }
    }

    #[test]
    fn a_field_that_is_gone_is_told_unless_the_head_has_more_than_are_kept() {
        let gone = |fields: usize| {
            let side = |names: Vec<String>| {
                let fields = names.into_iter().map(|name| (name, "so it is".to_owned()));
                vec![fields.collect::<BTreeMap<_, _>>()]
            };
            let answer = || vec![Some(Answer::Text("yes".to_owned()))];
            let item = ItemAnswers {
                name: "i".to_owned(),
                itself: (answer(), answer()),
                beside: (
                    side(vec!["why".to_owned()]),
                    side((0..fields).map(|at| format!("f{at}")).collect()),
                ),
                ..ItemAnswers::default()
            };
            let pairs = AnswerPairs {
                items: vec![item],
                ..AnswerPairs::default()
            };
            OtherAside::all(&OwnAnswers::of(&pairs, true), false, true).len()
        };
        assert_eq!([0, 1, FIELDS_BESIDE].map(gone), [0, 1, 0]);
    }
}
