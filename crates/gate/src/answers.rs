//! The answers that differ from those of the base, before figures are computed from them, and the answers among them
//! that became wrong.
//!
//! Only labels show whether another answer is better, but every reader has to know that some answers differ. So no
//! verdict ends with "Nothing to do" if there are such answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::asides::OtherAside;
use super::changes::CaseChange;
use super::governing::{OtherAnswer, OwnAnswers};
use super::sentence;
use super::unscored;
use super::verdict::Verdict;
use crate::compare::AnswerPairs;
use crate::report::Report;
use kelvin_page::{ANSWERS, AnswerList, AnswerRow, HitsBeside, Phrase, RankedRow, are, safe};
use kelvin_record::{Flip, KeptTexts, Nouns, Ought, RankedHit, RankedHits, is_withheld, probe_of};

/// How many answers are stored at most; the reports contain all of them.
const KEPT: usize = 5_000;

/// Longer answers are shortened.
pub(super) const LONGEST: usize = 600;

/// Longer answers are shortened if no page lists them: a list in a terminal shows even less text.
const LONGEST_UNLISTED: usize = KeptTexts::SHORT;

/// At least this many columns of an answer are shown in a sentence.
pub(super) const IN_A_SENTENCE: usize = 60;

/// Longer questions and expected answers are shortened.
pub(super) const LONGEST_QUESTION: usize = 200;

/// What became of the answers to the items of a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAnswers {
    /// What one of the items is called.
    pub item: String,
    /// What several of the items are called.
    pub items: String,
    /// Whether the texts say how an item ended, such as which of its conditions hold, and not what was answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_endings: bool,
    /// How many items have an answer on both sides, and usually get the answer of the base.
    pub same: usize,
    /// How many items usually get another answer than on the base, and noise does not explain it.
    pub other: usize,
    /// How many items have an answer on the base and no answer on the head.
    pub gone: usize,
    /// The names of these items, in their order; at most 5,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone_items: Vec<String>,
    /// How many items have no answer on the base and an answer on the head.
    pub new: usize,
    /// How many of the unchanged items get another answer in some run of the head.
    #[serde(default)]
    pub varied: usize,
    /// How many of the unchanged items get another answer than usual in some run of the base.
    #[serde(default)]
    pub varied_on_base: usize,
    /// Whether the rewrites that should get the same answer are counted among the answers that vary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
    /// Whether the answers to the unchanged items vary more on the head than on the base, and chance does not explain it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub less_steady: bool,
    /// Whether each side has answered each item once, so that a change cannot be told apart from noise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// How many items got exactly the expected answer on the base, get another one on the head, and have lost in no
    /// metric. Counted only where a program of the user scores the answers, and nearly all of the base are exactly the
    /// expected ones.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub unscored: usize,
    /// The items with another answer: first the item that lost most in a metric, the others in the order of their
    /// names.
    pub answers: Vec<ChangedAnswer>,
    /// The edited items with another answer, where no label says what is right. The base answered the text before the
    /// edit, so that no figure compares its answer with the answer of the head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<ChangedAnswer>,
    /// What stands beside answers that are the same, and differs: first the field that differs in most items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asides: Vec<OtherAside>,
    /// The one answer that the head gives to nearly all items whose answers no label, judge or check looks at; null if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_for_all: Option<OneForAll>,
}

/// One answer that nearly all items get on the head, though the base answers them differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneForAll {
    /// The answer, a decision as JSON. A long one is cut.
    pub answer: String,
    /// How many items get it.
    pub items: usize,
    /// How many different answers the base gives to all items.
    pub of_base: usize,
}

/// One item with another answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedAnswer {
    /// Its name.
    pub item: String,
    /// The question or the input, if the report has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Whether the change edits that text, and the base was asked it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// What should be answered, if somebody has said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The most frequent answer on the base, a decision as JSON. A long answer is cut after 600 columns, and after 80
    /// columns if 500 answers stand before it in the list. If both answers begin alike up to that length, both texts
    /// begin with `…` and the few words before the first difference.
    pub base: String,
    /// The most frequent answer on the head, in the same form.
    pub head: String,
    /// The ranked hits of both sides, if the probe asks a search; only for the first 500 answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<RankedHits>,
    /// The other fields of the outputs, such as a reason, by name; only for the first 500 answers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, FieldBeside>,
}

/// Adds the hits of both sides to the changed answers of a search, because people compare both. Answers that no page
/// lists get no hits.
pub fn add_hits(verdict: &mut Verdict, (base, head): (&Report, &Report)) {
    for (probe, changed) in &mut verdict.answers {
        let sections = base.probes.of(probe).zip(head.probes.of(probe));
        let Some((sections, kind)) = sections.zip(head.probes.kind(probe)) else {
            continue;
        };
        for answer in changed.answers.iter_mut().take(ANSWERS) {
            answer.hits = kind.ranked_hits(sections, &answer.item);
        }
    }
}

/// Marks the answers to items that the change edits and whose new text the base was asked too: other sentences may speak
/// of what the two sides answer to the text that the base has.
pub fn mark_edited(verdict: &mut Verdict, is_edited: &dyn Fn(&str) -> bool) {
    let answers = verdict.answers.values_mut();
    for answer in answers.flat_map(|changed| &mut changed.answers) {
        answer.edited = is_edited(&answer.item);
    }
}

/// A field of the outputs besides the answer that is compared. A long value is cut. A value is missing if the output of
/// that side does not have the field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldBeside {
    /// The value of the field in the output of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The value of the field in the output of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

impl ChangedAnswers {
    /// Compares the answers of one probe; none if the probe has no answers. `losses`: how much an item lost in the gated
    /// metrics; `all_losses`: in all metrics that look at answers, infinite where a value of a side is missing.
    /// `is_exact`: whether the configuration says that the pipeline has no noise.
    pub(super) fn of(
        pairs: &AnswerPairs,
        (losses, all_losses): (&BTreeMap<&str, f64>, &BTreeMap<&str, f64>),
        is_exact: bool,
    ) -> Option<Self> {
        let own = OwnAnswers::of(pairs, is_exact);
        let has = |answers: &[Option<_>]| answers.iter().any(Option::is_some);
        let names = |is: (bool, bool)| {
            let items = pairs.items.iter();
            let these = items.filter(|item| (has(&item.itself.0), has(&item.itself.1)) == is);
            these.map(|item| item.name.clone()).collect::<Vec<_>>()
        };
        let (mut gone_items, new) = (names((true, false)), names((false, true)).len());
        let (of, gone) = (own.count(), gone_items.len());
        gone_items.truncate(KEPT);
        let edited = AnswerPairs {
            items: pairs.edited.clone(),
            ..AnswerPairs::default()
        };
        let edited = OwnAnswers::of(&edited, is_exact).changed();
        if of + gone + new == 0 && edited.is_empty() {
            return None;
        }
        let mut changed = own.changed();
        let loss = |name: &str| losses.get(name).copied().unwrap_or_default();
        changed.sort_by(|one, other| loss(&other.item.name).total_cmp(&loss(&one.item.name)));
        let (varied_on_base, varied) = own.varied();
        let less_steady = own.is_less_steady();
        let kept = |changed: &[OtherAnswer<'_>]| {
            let kept = changed.iter().take(KEPT).enumerate();
            kept.map(|(at, other)| ChangedAnswer::of(other, at < ANSWERS))
                .collect()
        };
        Some(Self {
            item: pairs.nouns.item.to_string(),
            items: pairs.nouns.items.to_string(),
            are_endings: pairs.are_endings,
            same: of - changed.len(),
            other: changed.len(),
            gone,
            gone_items,
            new,
            varied,
            varied_on_base,
            rewritten: pairs.items.iter().any(|item| !item.own.1.is_empty()),
            less_steady,
            once: !is_exact && own.are_single(),
            unscored: unscored::count(pairs, &changed, all_losses),
            answers: kept(&changed),
            edited: kept(&edited),
            asides: OtherAside::all(&own, pairs.are_endings, is_exact),
            one_for_all: own.one_answer().map(|one| OneForAll {
                answer: safe::cut(&one.answer, LONGEST_UNLISTED),
                items: one.items,
                of_base: one.of_base,
            }),
        })
    }

    /// That the head gives one answer to nearly all items, in a sentence; none if it does not.
    pub(super) fn of_one_for_all(&self) -> Option<String> {
        let one = self.one_for_all.as_ref()?;
        let shown = match is_withheld(&one.answer) {
            true => String::new(),
            false => format!(", {}", sentence::name(&bare(&one.answer))),
        };
        Some(format!(
            "{} {} get one and the same answer{shown}, where the base gives {} different ones",
            one.items, self.items, one.of_base
        ))
    }

    /// How many items have another answer or no answer any more, for a headline; none if all answers are the same.
    pub fn sentence(&self) -> Option<String> {
        let edited = self.edited.len();
        let edited = (edited > 0).then(|| {
            let noun = self.noun(edited);
            format!("{edited} edited {noun} {}", self.otherwise(edited))
        });
        let aside = self.asides.first().map(|aside| aside.sentence(self));
        let told = self.of_unchanged().into_iter().chain(edited).chain(aside);
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// Whether any answer to an item that is the same on both sides was compared.
    pub(super) fn is_compared(&self) -> bool {
        self.same + self.other + self.gone + self.new > 0
    }

    /// How many of the items that are the same on both sides have another answer or no answer any more.
    pub(super) fn of_unchanged(&self) -> Option<String> {
        let of = self.same + self.other;
        let other = (self.other > 0).then(|| {
            let noun = self.noun(of);
            format!(
                "{} of {of} {noun} {}",
                self.other,
                self.otherwise(self.other)
            )
        });
        let gone = (self.gone > 0).then(|| {
            let noun = self.noun(self.gone);
            match self.are_endings {
                true => format!(
                    "{} {noun} {} to no end any more",
                    self.gone,
                    come(self.gone)
                ),
                false => format!("{} {noun} {} answered no more", self.gone, are(self.gone)),
            }
        });
        let told: Vec<String> = other.into_iter().chain(gone).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    /// That the answers of the head vary where those of the base do not, in a sentence; none if they do not.
    pub(super) fn of_less_steady(&self) -> Option<String> {
        let noise = self.noise().filter(|_| self.less_steady)?;
        Some(format!("{noise}, and chance does not explain it"))
    }

    /// That answers are no longer the expected ones though nothing that scores them says so, in a sentence; none if there
    /// are no such answers.
    pub(super) fn of_unscored(&self) -> Option<String> {
        let is_lapsed = |answer: &&ChangedAnswer| {
            let expected = answer.expected.as_deref();
            expected
                .is_some_and(|expected| unscored::is_lapsed(expected, &answer.base, &answer.head))
        };
        let first = self.answers.iter().find(is_lapsed);
        let first = first.map(|first| format!(", such as {}", sentence::name(&first.item)));
        (self.unscored > 0).then(|| {
            format!(
                "{} {} got exactly the expected answer on the base and get another one now{}, and no score of theirs fell",
                self.unscored,
                self.items,
                first.unwrap_or_default()
            )
        })
    }

    /// Whether some answers of the head vary, and none of a base that was run more than once.
    pub(super) fn began_to_vary(&self) -> bool {
        !self.once && self.varied > 0 && self.varied_on_base == 0
    }

    /// A sentence that answers vary from run to run, if this is the only thing to report.
    fn noise(&self) -> Option<String> {
        let (of, noun) = (self.same + self.other, self.noun(self.same + self.other));
        let otherwise = self.otherwise(self.varied);
        let as_base = match self.varied_on_base {
            0 => String::new(),
            1 => ", as 1 is on the base".to_owned(),
            count if count == self.varied => ", as they are on the base".to_owned(),
            count => format!(", as {count} are on the base"),
        };
        (self.varied > 0).then(|| {
            let more = if self.other > 0 { "more " } else { "" };
            format!(
                "{} {more}of {of} {noun} {otherwise} in some runs{}{as_base}",
                self.varied,
                if self.rewritten { " or rewrites" } else { "" }
            )
        })
    }

    /// The verb for items whose answer differs from that of the base.
    const fn otherwise(&self, count: usize) -> &'static str {
        match (self.are_endings, count) {
            (true, 1) => "ends otherwise",
            (true, _) => "end otherwise",
            (false, 1) => "is answered otherwise",
            (false, _) => "are answered otherwise",
        }
    }

    pub(super) fn noun(&self, count: usize) -> &str {
        if count == 1 { &self.item } else { &self.items }
    }

    /// The first item whose answer differs, in a sentence without its full stop; none if there is no such item.
    pub fn lead(&self) -> Option<Phrase> {
        let (first, count, edit) = match self.answers.first() {
            Some(first) => (first, self.other, ""),
            None => (
                self.edited.first()?,
                self.edited.len(),
                ", which this change edits,",
            ),
        };
        let told = Phrase::of_name(&first.item).and(edit);
        // A withheld answer is stored as a digest, and two digests only show that the answers differ.
        let told = match is_withheld(&first.head) || is_withheld(&first.base) {
            true => told.and(format!(" {}", self.otherwise(1))),
            false => {
                let (was, is) = beside_each_other(&first.base, &first.head);
                let (was, is) = from_difference(&was, &is, IN_A_SENTENCE);
                if self.are_endings {
                    let told = told.and(" now ").quote(is).and(", on the base ");
                    return Some(self.and_more(told.quote(was), count - 1));
                }
                let told = told.and(" is answered ").quote(is);
                told.and(" instead of ").quote(was)
            }
        };
        let told = match &first.expected {
            Some(expected) => told.and(" (expected ").quote(bare(expected)).and(")"),
            None => told,
        };
        Some(self.and_more(told, count - 1))
    }

    /// The first item that has no answer any more, in a sentence without its full stop; none if there is no such item.
    pub fn lead_of_gone(&self) -> Option<Phrase> {
        let told = Phrase::of_name(self.gone_items.first()?).and(match self.are_endings {
            true => " comes to no end any more",
            false => " is answered no more",
        });
        Some(self.and_more(told, self.gone - 1))
    }

    /// Adds to a sentence about one item how many more items it is true of.
    pub(super) fn and_more(&self, told: Phrase, more: usize) -> Phrase {
        match more {
            0 => told,
            more => told.and(format!(" (and {more} more {})", self.noun(more))),
        }
    }

    /// Advice to the reader about the answers that differ. `is_judged`: whether the gate looks at what the answers are
    /// worth already, and not only at whether they move. `may_compute`: whether `baseline: {compute: true}` may be
    /// advised.
    pub fn advice(&self, is_judged: bool, may_compute: bool) -> Option<Phrase> {
        let Some(first) = self.answers.first() else {
            let first = self.edited.first()?;
            let look = Phrase::text(format!(
                "Look whether the edited {} are answered rightly, first ",
                self.items
            ));
            let look = look
                .name(&first.item)
                .and(": the base has answered another text.");
            return Some(match may_compute {
                true => look
                    .and(" With ")
                    .name("baseline: {compute: true}")
                    .and(" it answers the edited one too."),
                false => look,
            });
        };
        let is_expected = |answer: &ChangedAnswer| {
            let expected = answer.expected.as_deref();
            expected.is_some_and(|expected| bare(expected) == bare(&answer.head))
        };
        if self.answers.len() == self.other && self.answers.iter().all(is_expected) {
            let told = match self.other {
                1 => "The answer that differs is the expected one now.",
                _ => "The answers that differ are the expected ones now.",
            };
            return Some(Phrase::text(told));
        }
        let look = Phrase::text(match self.are_endings {
            true => format!("Look first at {} ", self.item),
            false => format!(
                "Look whether the other answers are right, first that of {} ",
                self.item
            ),
        });
        let look = look.name(&first.item).and(".");
        if self.are_endings {
            return Some(look);
        }
        Some(match &first.expected {
            Some(_) => look,
            None if is_judged => look,
            None => look.and(" With labels of what is right, the gate would judge them itself."),
        })
    }

    /// The first item whose answer is the same, but not what stands beside it, in a sentence without its full stop; none
    /// if there is no such item.
    pub fn lead_of_aside(&self) -> Option<Phrase> {
        Some(self.asides.first()?.lead(self))
    }

    /// Advice to the reader about what stands beside answers that are the same.
    pub fn advice_on_aside(&self) -> Option<Phrase> {
        Some(self.asides.first()?.advice(self))
    }

    /// All answers that differ, for a page.
    pub fn list(&self) -> Option<AnswerList> {
        let title = self.sentence();
        let once = (self.once && self.other > 0).then(|| {
            format!(
                "Each side has {} once, so that nothing tells a change from the noise of the pipeline; `repeats: 3` would, \
                 where kelvin runs it",
                if self.are_endings { "run" } else { "answered" }
            )
        });
        let notes: Vec<String> = self.noise().into_iter().chain(once).collect();
        if title.is_none() && notes.is_empty() {
            return None;
        }
        Some(AnswerList {
            title,
            notes,
            item: self.item.clone(),
            rows: self.rows(),
            left: self.other.saturating_sub(self.answers.len()),
        })
    }

    fn rows(&self) -> Vec<AnswerRow> {
        let edited = self.edited.iter().map(|other| AnswerRow {
            asked: Some(match &other.asked {
                Some(asked) => format!("edited: {asked}"),
                None => "edited".to_owned(),
            }),
            ..other.row()
        });
        self.answers
            .iter()
            .map(ChangedAnswer::row)
            .chain(edited)
            .chain(self.asides.iter().map(OtherAside::row))
            .collect()
    }
}

const fn come(count: usize) -> &'static str {
    if count == 1 { "comes" } else { "come" }
}

impl ChangedAnswer {
    /// `is_listed`: whether a page shows the answer, so that more of its text is kept.
    fn of(other: &OtherAnswer<'_>, is_listed: bool) -> Self {
        let most = if is_listed { LONGEST } else { LONGEST_UNLISTED };
        let (base, head) = from_difference(&other.base, &other.head, most);
        let question = |text: &Option<String>| {
            let text = text.as_ref();
            text.map(|text| safe::cut(text, LONGEST_QUESTION))
        };
        Self {
            item: other.item.name.clone(),
            edited: false,
            asked: question(&other.item.asked),
            expected: question(&other.item.expected),
            base: safe::cut(&base, most),
            head: safe::cut(&head, most),
            hits: None,
            beside: match is_listed {
                true => beside(other),
                false => BTreeMap::new(),
            },
        }
    }

    fn row(&self) -> AnswerRow {
        let (base, head) = beside_each_other(&self.base, &self.head);
        AnswerRow {
            item: self.item.clone(),
            asked: match (&self.asked, self.edited) {
                (Some(asked), true) => Some(format!("edited, and asked of both: {asked}")),
                (None, true) => Some("edited, and asked of both".to_owned()),
                (asked, false) => asked.clone(),
            },
            expected: self.expected.as_deref().map(bare),
            base,
            head,
            hits: self.hits.as_ref().map(hits_beside),
            files: Vec::new(),
            beside: self
                .beside
                .iter()
                .map(|(name, field)| (name.clone(), field.base.clone(), field.head.clone()))
                .collect(),
        }
    }
}

fn hits_beside(hits: &RankedHits) -> HitsBeside {
    let rows = |hits: &[RankedHit]| -> Vec<RankedRow> {
        let rows = hits.iter().map(|hit| RankedRow {
            rank: hit.rank,
            name: hit.name.clone(),
            title: hit.title.clone(),
            is_expected: hit.expected,
            other_rank: hit.other_rank,
        });
        rows.collect()
    };
    let expected = hits.expected.iter();
    HitsBeside {
        expected: expected
            .map(|one| (one.name.clone(), one.title.clone()))
            .collect(),
        base: (rows(&hits.base), hits.base_left),
        head: (rows(&hits.head), hits.head_left),
    }
}

/// The other output fields of both sides, besides the answer.
fn beside(other: &OtherAnswer<'_>) -> BTreeMap<String, FieldBeside> {
    let mut fields: BTreeMap<String, FieldBeside> = BTreeMap::new();
    let (base, head) = other.beside();
    for (name, text) in base {
        fields.entry(name).or_default().base = Some(text);
    }
    for (name, text) in head {
        fields.entry(name).or_default().head = Some(text);
    }
    fields
}

/// How many answers are stored at most: nobody reads more, and the reports contain all of them.
const MOST_FLIPS: usize = 20;

/// The answers that became wrong in metrics that dropped beyond their limit or in which a case broke, in the order of
/// the cases; none if the verdict is a pass.
pub fn gone_wrong(
    cases: &[CaseChange],
    verdict: &Verdict,
    (base, head): (&Report, &Report),
) -> Vec<Flip> {
    if verdict.verdict.is_fine() {
        return Vec::new();
    }
    let sections = |probe: &str| Some((base.probes.of(probe)?, head.probes.of(probe)?));
    let matters = |id: &str| {
        let metric = verdict.metrics.get(id);
        metric.is_some_and(|metric| metric.beyond().is_some()) || verdict.is_broken_in(id)
    };
    let worse = cases
        .iter()
        .filter(|case| case.is_worse() && matters(&case.metric));
    let mut flips: Vec<Flip> = Vec::new();
    for case in worse {
        let probe = probe_of(&case.metric);
        let Some((kind, _)) = head
            .probes
            .known()
            .into_iter()
            .find(|(kind, _)| kind.name() == probe)
        else {
            continue;
        };
        let Some(sides) = sections(probe) else {
            continue;
        };
        let is_told = |flip: &Flip| flip.item == case.case && probe_of(&flip.metric) == probe;
        if flips.len() == MOST_FLIPS || flips.iter().any(is_told) {
            continue;
        }
        flips.extend(kind.flip(sides, &case.case, &case.metric));
    }
    flips
}

/// The first answer that became wrong, in a sentence without its full stop; none if no answer became wrong.
pub fn lead(flips: &[Flip], verdict: &Verdict) -> Option<Phrase> {
    let first = flips.first()?;
    let (was, is) = beside_each_other(&first.base, &first.head);
    let begun = Phrase::of_name(&first.item);
    let what = match first.ought {
        Ought::Hold => {
            let (was, is) = from_difference(&was, &is, IN_A_SENTENCE);
            let told = begun.and(" now answers ").quote(is);
            let told = told.and(" instead of ").quote(was);
            told.and(format!(" {}", extent(first)))
        }
        Ought::Move => begun
            .and(" now stays at ")
            .quote(is)
            .and(format!(" {}, where it moved before", extent(first))),
    };
    let others = flips.iter().skip(1).filter(|flip| flip.item != first.item);
    let Nouns { item, items } = verdict.nouns_of(&first.metric);
    let more = match (others.count(), flips.len() == MOST_FLIPS) {
        (0, _) => String::new(),
        (1, _) => format!(" (and 1 more {item})"),
        (more, false) => format!(" (and {more} more {items})"),
        (more, true) => format!(" (and at least {more} more {items})"),
    };
    Some(what.and(more))
}

/// The number of parts of an item in which an answer became wrong, and the word for these parts.
pub fn extent(flip: &Flip) -> String {
    let what = match flip.ought {
        Ought::Hold => "rewrites that should not matter",
        Ought::Move => "rewrites with other facts",
    };
    format!("in {} of {} {what}", flip.flipped, flip.of)
}

/// Two different answers as texts for people. The number 100 and the text "100" differ only in the quotation marks,
/// which are kept in this case.
pub fn beside_each_other(base: &str, head: &str) -> (String, String) {
    let (was, is) = (bare(base), bare(head));
    if was == is && base != head {
        return (safe::line(base), safe::line(head));
    }
    (was, is)
}

/// Two different answers as texts for people, for a place with this many columns. Long answers often begin with the
/// same words, and would look equal if they were shortened at the end: then both begin a few words before the
/// difference.
pub fn from_difference(base: &str, head: &str, columns: usize) -> (String, String) {
    /// How many characters before the difference are kept as context; a place has more columns than that.
    const BEFORE: usize = 20;
    let pairs = base.chars().zip(head.chars());
    let alike = pairs.take_while(|(one, other)| one == other).count();
    if alike <= BEFORE || alike + BEFORE <= columns {
        return (base.to_owned(), head.to_owned());
    }
    let mut letters = base.char_indices().skip(alike - BEFORE);
    let start = letters.next().map_or(0, |(at, _)| at);
    // The context begins at the beginning of a word, unless the word is as long as the whole context.
    let mut word = base[start..].char_indices().take(BEFORE / 2);
    let word = word.find(|(_, letter)| *letter == ' ');
    let start = word.map_or(start, |(at, _)| start + at + 1);
    let from = |text: &str| format!("…{}", &text[start..]);
    (from(base), from(head))
}

/// An answer as a text for people: a string without its quotation marks, any other value as JSON.
pub(super) fn bare(answer: &str) -> String {
    match serde_json::from_str(answer) {
        Ok(serde_json::Value::String(text)) if !text.trim().is_empty() => safe::line(&text),
        // An empty text would leave a gap in a sentence.
        _ if answer.trim().is_empty() => "\"\"".to_owned(),
        _ => safe::line(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ItemAnswers;
    use kelvin_record::Answer;

    #[test]
    fn edited_items_are_counted_apart_from_those_that_are_the_same_on_both_sides() {
        let other = |name: &str| ItemAnswers {
            name: name.to_owned(),
            itself: (
                vec![Some(Answer::Text("pay".to_owned()))],
                vec![Some(Answer::Text("refuse".to_owned()))],
            ),
            ..ItemAnswers::default()
        };
        let changed = |same: &[&str], edited: &[&str]| {
            let pairs = AnswerPairs {
                items: same.iter().map(|name| other(name)).collect(),
                edited: edited.iter().map(|name| other(name)).collect(),
                ..AnswerPairs::default()
            };
            ChangedAnswers::of(&pairs, (&BTreeMap::new(), &BTreeMap::new()), true)
        };
        let lead = |changed: &ChangedAnswers| {
            let lead = changed.lead().expect("an answer differs");
            lead.show(|_, name| name.to_owned())
        };
        let both = changed(&["a"], &["b", "c", "d"]).expect("they differ");
        insta::assert_snapshot!(lead(&both), @"a is answered refuse instead of pay");
        assert_eq!((both.other, both.edited.len()), (1, 3));
        let edited = changed(&[], &["b", "c"]).expect("they differ");
        let told = lead(&edited);
        insta::assert_snapshot!(told, @"b, which this change edits, is answered refuse instead of pay (and 1 more item)");
        assert!(!edited.is_compared());
        let mut as_before = other("b");
        as_before.itself.1 = as_before.itself.0.clone();
        let pairs = AnswerPairs {
            edited: vec![as_before],
            ..AnswerPairs::default()
        };
        assert_eq!(
            ChangedAnswers::of(&pairs, (&BTreeMap::new(), &BTreeMap::new()), true),
            None
        );
    }

    #[test]
    fn two_answers_that_differ_are_never_shown_alike() {
        let shown = |base: &str, head: &str| {
            let (was, is) = beside_each_other(base, head);
            format!("{was} {is}")
        };
        assert_eq!(shown("\"pay\"", "\"refuse\""), "pay refuse");
        assert_eq!(shown("100", "\"100\""), "100 \"100\"");
        assert_eq!(shown("true", "\"true\""), "true \"true\"");
        // An evaluator writes a text as it is, and it may be empty.
        assert_eq!(shown("Ja", ""), "Ja \"\"");
    }

    #[test]
    fn long_answers_that_begin_alike_are_shown_from_where_they_differ() {
        let begin = "The warranty of this product lasts two years from the day of purchase. ";
        let (base, head) = (
            format!("{begin}The shop pays."),
            format!("{begin}Our shop pays."),
        );
        let (was, is) = from_difference(&base, &head, 60);
        assert_eq!(was, "…day of purchase. The shop pays.");
        assert_eq!(is, "…day of purchase. Our shop pays.");
        assert_eq!(
            from_difference(&base, &head, 600),
            (base.clone(), head.clone())
        );
        // One may be the beginning of the other, or have no words at all.
        let (was, is) = from_difference(begin, &base, 60);
        assert_ne!(safe::cut(&was, 60), safe::cut(&is, 60));
        let (was, is) = (
            format!("{}a", "ä".repeat(90)),
            format!("{}b", "ä".repeat(90)),
        );
        let ending = |text: &str| format!("…{}{text}", "ä".repeat(20));
        assert_eq!(from_difference(&was, &is, 60), (ending("a"), ending("b")));
        // Wherever they differ, it is seen, in a terminal too.
        for columns in [24, 32, 60] {
            for alike in 0..40 {
                let (was, is) = (
                    format!("{}a", "x y".repeat(alike)),
                    format!("{}b", "x y".repeat(alike)),
                );
                let (was, is) = from_difference(&was, &is, columns);
                let seen = |text: &str| text.chars().take(columns).collect::<String>();
                assert_ne!(seen(&was), seen(&is), "{columns} {alike}");
            }
        }
    }
}
