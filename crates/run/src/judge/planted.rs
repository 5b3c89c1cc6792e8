//! Planted answers: copies with a known order, hidden among the answers that a judge grades in a gated run.
//!
//! A judge that cannot distinguish half an answer from a whole one cannot distinguish a worse pipeline from a better
//! one either. So in each gated run the judge also grades some copies of known answers, each certainly worse than its
//! original. A trial (see [`trial`](super::trial)) says how good a judge is; planted answers say whether the judge of
//! this run recognises worse answers at all.
//!
//! The numbers of grades and the limits come from a simulation of judges with 24 grades. A judge without any preference
//! passes in 2 or 3 of 100 runs, and a judge with an error in every tenth grade in 97. A judge that adds 0.4 for bold
//! type, for length or for an instruction never passes. docs/grading.md has the figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RagMeasure;
use super::trial::{contradicted, dressed, obedient, padded, truncated};
use kelvin_base::digest::Digest;
use kelvin_base::stats;

/// How many grades a run uses for planted answers at most.
pub const MOST_GRADES: usize = 24;
/// The number of grades for a judge that has passed in the run of the base.
pub const FEWEST_GRADES: usize = 3;
/// The lowest share of planted pairs that a judge has to get right.
const LEAST_RIGHT: f64 = 0.75;
/// With fewer pairs than this, no pair may be wrong, because most pairs would be right by chance too often.
const FEW_PAIRS: usize = 8;
/// The value of a pair that the judge got neither right nor wrong: a tie, or no grade at all.
const UNDECIDED: f64 = 0.5;
/// The smallest mean difference between whole answers and certainly worse ones. A judge with a smaller difference uses
/// so little of its scale that it can hardly show the drop that a gate allows, by default 0.05.
const LEAST_GAP: f64 = 0.1;
/// Grades that differ by at most this count as equal.
const EQUAL: f64 = 1e-9;

/// A fault that makes the copy of an answer surely worse.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The second half of the words is gone.
    Truncated,
    /// Its statements are denied, and its numbers are changed.
    Contradicted,
    /// It is the answer to another prompt.
    Exchanged,
    /// It says further things that no retrieved passage has and nobody asked for.
    Invented,
    /// Before each of its retrieved passages stands one that is of no use.
    Buried,
    /// Its retrieved passages are replaced by others.
    Replaced,
}

/// What is added to a copy with a fault and does not make it better.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Disguise {
    /// Bold type, bullets, a heading, a table or a code fence.
    Dressed,
    /// Sentences that say nothing.
    Padded,
    /// An instruction to the judge.
    Obedient,
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::Truncated,
        Self::Contradicted,
        Self::Exchanged,
        Self::Invented,
        Self::Buried,
        Self::Replaced,
    ];

    /// Whether a copy with this fault is longer than the whole answer.
    const fn lengthens(self) -> bool {
        matches!(self, Self::Contradicted | Self::Invented)
    }

    /// The name of the copies with this fault for people, in the plural.
    const fn plural(self) -> &'static str {
        match self {
            Self::Truncated => "half answers",
            Self::Contradicted => "denied answers",
            Self::Exchanged => "answers to another prompt",
            Self::Invented => "answers with claims that no passage has",
            Self::Buried => "answers whose passages stand below others of no use",
            Self::Replaced => "answers whose passages were replaced by others",
        }
    }
}

impl Disguise {
    /// All disguises.
    pub const ALL: [Self; 3] = [Self::Dressed, Self::Padded, Self::Obedient];

    /// The name of the copies with this disguise for people, in the plural.
    const fn plural(self) -> &'static str {
        match self {
            Self::Dressed => "worse answers in bold type, bullets, a table or a code fence",
            Self::Padded => "worse answers filled up with empty sentences",
            Self::Obedient => "worse answers that tell the judge to give full marks",
        }
    }
}

/// An answer that is certainly worse than another one, with its fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyCopy {
    /// The fault.
    pub fault: Fault,
    /// The text.
    pub text: String,
    /// The passages that are shown with it instead of the original ones; none if the original passages stay.
    pub passages: Option<Vec<String>>,
}

/// A certainly worse copy of an answer. Halves, denials and answers to other prompts alternate by `number`, since no
/// single fault is visible to every sound judge. Half of a long answer may contain everything that was asked, and a
/// judge that compares words hardly notices a denial. An answer to another prompt is certainly worse only if a
/// reference says what is right.
pub fn faulty(answer: &str, other: Option<&str>, number: usize) -> FaultyCopy {
    let half = truncated(answer).map(|text| (Fault::Truncated, text));
    let denied = (Fault::Contradicted, contradicted(answer));
    let other = other.filter(|other| other.trim() != answer.trim());
    let other = other.map(|other| (Fault::Exchanged, other.to_owned()));
    let copies: Vec<(Fault, String)> = half.into_iter().chain(other).chain([denied]).collect();
    let (fault, text) = copies[number % copies.len()].clone();
    FaultyCopy {
        fault,
        text,
        passages: None,
    }
}

/// A copy of an answer that is certainly worse by these measures of retrieved passages. Half an answer is as faithful
/// as the whole one, so these measures need other faults: claims that no passage supports, and useless passages.
pub fn faulty_by(
    measures: &[RagMeasure],
    answer: &str,
    passages: Option<&[String]>,
    number: usize,
) -> FaultyCopy {
    let is_about_text = measures.iter().any(|measure| !measure.needs_reference());
    let own = passages.unwrap_or_default();
    let useless: Vec<String> = (0..own.len().max(1))
        .map(|at| invented(number + at))
        .collect();
    let other_passages = if measures.contains(&RagMeasure::ContextRecall) {
        Some((Fault::Replaced, useless))
    } else if measures.contains(&RagMeasure::ContextPrecision) {
        let pairs = useless.into_iter().zip(own.iter().cloned());
        let buried = pairs.flat_map(|(useless, own)| [useless, own]).collect();
        Some((Fault::Buried, buried))
    } else {
        None
    };
    let (passage_fault, passages) = other_passages.unzip();
    // A denial is as relevant as the answer, so it is not a fault for the relevance of an answer.
    let (fault, text) = match (is_about_text, measures) {
        (true, [RagMeasure::Faithfulness]) if number % 2 == 1 => {
            (Fault::Contradicted, contradicted(answer))
        }
        (true, _) => {
            let count = answer.matches(['.', '!', '?', '\n']).count().clamp(2, 12);
            let claims: Vec<String> = (0..count).map(|at| invented(number + at)).collect();
            (
                Fault::Invented,
                format!("{} {}", answer.trim_end(), claims.join(" ")),
            )
        }
        (false, _) => (passage_fault.unwrap_or(Fault::Replaced), answer.to_owned()),
    };
    FaultyCopy {
        fault,
        text,
        passages,
    }
}

/// A sentence about a subject that no prompt asks for. Numbers close to each other give different sentences.
fn invented(number: usize) -> String {
    const WHO: [&str; 5] = [
        "Ottoline Brakspear",
        "Tiberio Quandt",
        "Maud Okonjo-Vance",
        "Sixten Harrow",
        "Pilar Duvivier",
    ];
    const WHAT: [&str; 4] = [
        "repainted the lighthouse",
        "sold the second ferry",
        "mapped the salt caves",
        "won the goose race",
    ];
    const PLACE: [&str; 3] = ["Skellavik", "Port Amberley", "Dun Corrach"];
    let year = 1871 + (number * 13) % 97;
    format!(
        "{} {} of {} in {year}.",
        WHO[number % WHO.len()],
        WHAT[number % WHAT.len()],
        PLACE[number % PLACE.len()]
    )
}

impl FaultyCopy {
    /// The copy in a disguise, which does not make it better. If the fault is in the passages, the useless passages are
    /// disguised.
    #[must_use]
    pub fn disguised(&self, disguise: Disguise, number: usize) -> Self {
        let worn = |text: &str| match disguise {
            Disguise::Padded => {
                let words = text.split_whitespace().count();
                padded(text, words, number)
            }
            Disguise::Obedient => obedient(text, number),
            Disguise::Dressed => dressed(text, number),
        };
        let mut copy = self.clone();
        let worse = copy.passages.iter_mut().flatten();
        match self.fault {
            Fault::Replaced => worse.for_each(|text| *text = worn(text)),
            Fault::Buried => worse.step_by(2).for_each(|text| *text = worn(text)),
            _ => copy.text = worn(&copy.text),
        }
        copy
    }
}

/// A planted answer with its grades.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedPair {
    /// The prompt.
    pub item: String,
    /// Its fault.
    pub fault: Fault,
    /// The disguise of the copy; missing if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disguise: Option<Disguise>,
    /// The grade of the whole answer; one half if the judge saw both texts and chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
    /// The grade of the same copy without its disguise; missing if it has no disguise, and if the judge chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<f64>,
    /// Whether the judge saw both texts and chose one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_chosen: bool,
    /// The grade of the planted answer; missing if the judge gave no grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<f64>,
}

impl PlantedPair {
    /// 1 if the judge was right, 0 if it was wrong, and one half if it was undecided. None if the pair shows nothing.
    /// This is so if the copy without the disguise was not graded below the whole answer, because then the disguise
    /// could not close a gap. It is also so if the copy is a denial with the same grade as the whole answer, because a
    /// sound judge that compares words or counts facts may do that.
    fn right(&self) -> Option<f64> {
        let (Some(whole), Some(copy)) = (self.whole, self.copy) else {
            return Some(UNDECIDED);
        };
        if self.plain.is_some_and(|plain| plain >= whole - EQUAL) {
            return (copy > whole + EQUAL).then_some(0.0);
        }
        Some(match copy - whole {
            difference if difference.abs() <= EQUAL && self.fault == Fault::Contradicted => {
                return None;
            }
            difference if difference.abs() <= EQUAL => UNDECIDED,
            difference if difference < 0.0 => 1.0,
            _ => 0.0,
        })
    }
}

/// An answer of the base that was graded again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The prompt.
    pub item: String,
    /// The grade in the report of the base.
    pub then: f64,
    /// The grade of the same answer in this run.
    pub now: f64,
}

/// The planted answers of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedAnswers {
    /// What the choice of the answers was drawn from: the answers of both sides and the seed of the configuration.
    pub seed: Digest,
    /// How many grades were asked for.
    pub grades: usize,
    /// Whether the judge had proved itself in the run of the base, so that few grades were enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// The planted answers.
    pub pairs: Vec<PlantedPair>,
    /// The answers of the base that were graded again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
}

/// The result of the planted answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// The judge recognises worse answers.
    Given {
        /// How many pairs it got right; ties count half.
        right: f64,
        /// How many pairs there were.
        of: usize,
    },
    /// The grades of this run cannot be trusted; the text says why.
    Failed(String),
    /// The judge grades the same answers differently than for the base; the text says how.
    Drifted(String),
}

impl PlantedAnswers {
    /// The conclusion about the judge from the planted answers.
    pub fn proof(&self) -> Proof {
        let counted: Vec<f64> = self.pairs.iter().filter_map(PlantedPair::right).collect();
        let right: f64 = counted.iter().sum();
        let n = counted.len();
        let mut disguises = Disguise::ALL.into_iter();
        if let Some(disguise) = disguises.find(|disguise| fell_for(&self.pairs, *disguise)) {
            let length = self.liking_for_length(disguise == Disguise::Obedient);
            return Proof::Failed(format!(
                "the judge cannot be believed in this run: it took {} for better ones{length}",
                disguise.plural()
            ));
        }
        if let Some(fault) = Fault::ALL.into_iter().find(|fault| self.prefers(*fault)) {
            let length = self.liking_for_length(fault.lengthens());
            return Proof::Failed(format!(
                "the judge cannot be believed in this run: it took {} for better ones{length}",
                fault.plural()
            ));
        }
        if let Some(why) = self.silence() {
            return Proof::Failed(why);
        }
        let is_enough = match n < FEW_PAIRS {
            true => right >= n as f64 - UNDECIDED,
            false => right >= LEAST_RIGHT * n as f64,
        };
        if n == 0 || !is_enough {
            return Proof::Failed(format!(
                "the judge cannot be believed in this run: of {} planted answers that are surely worse it put {}{}",
                self.pairs.len(),
                self.order(),
                self.worst()
            ));
        }
        if let Some(gap) = self.gap().filter(|gap| *gap < LEAST_GAP) {
            return Proof::Failed(format!(
                "the judge cannot be believed in this run: it put answers that are surely worse only {gap:.2} below the \
                 whole ones on average, so it cannot show the drop that a gate looks for"
            ));
        }
        match self.drift() {
            Some(why) => Proof::Drifted(why),
            None => Proof::Given { right, of: n },
        }
    }

    /// How much lower the judge grades copies with a fault than their originals, on average over the copies without a
    /// disguise; none if it chooses between two answers.
    pub fn gap(&self) -> Option<f64> {
        let plain = self.pairs.iter().filter(|pair| pair.disguise.is_none());
        let graded = plain.filter(|pair| !pair.is_chosen && pair.right().is_some());
        let gaps: Vec<f64> = graded
            .filter_map(|pair| Some(pair.whole? - pair.copy?))
            .collect();
        stats::mean(&gaps)
    }

    /// Whether the judge prefers every copy with this fault to the whole answer, except padded copies. A judge that
    /// likes short answers prefers the other copies, and most planted answers are short copies.
    fn prefers(&self, fault: Fault) -> bool {
        /// If there are fewer copies, all may be graded wrongly just by the noise of a sound judge.
        const LEAST: usize = 3;
        let as_long = |pair: &&PlantedPair| matches!(pair.disguise, None | Some(Disguise::Dressed));
        let of_fault = self.pairs.iter().filter(|pair| pair.fault == fault);
        let of_fault = of_fault.filter(as_long);
        let rights: Vec<f64> = of_fault.filter_map(PlantedPair::right).collect();
        rights.len() >= LEAST && rights.iter().sum::<f64>() <= EQUAL
    }

    /// The end of a sentence about copies that the judge took for better ones, if those are longer than the answers that
    /// they were made from, and the judge also gave each padded copy a clearly higher grade than the same copy without
    /// the empty sentences. A denial and an order make a copy longer too, so a judge that likes length falls for them as
    /// well, and without this it would be told for what it does not do.
    fn liking_for_length(&self, are_longer: bool) -> &'static str {
        const CLEARLY: f64 = 0.1;
        let padded = self.pairs.iter();
        let padded = padded.filter(|pair| pair.disguise == Some(Disguise::Padded));
        let mut lifts = padded.filter_map(|pair| Some(pair.copy? - pair.plain?));
        let lifts_all = lifts
            .next()
            .is_some_and(|first| first > CLEARLY && lifts.all(|lift| lift > CLEARLY));
        match are_longer && lifts_all {
            true => ", and empty sentences raised its grades as well: it likes length",
            false => "",
        }
    }

    /// Where the judge put the planted answers, in words that follow "of 16 planted answers it put". A tie is told as a
    /// tie: the sum of the values counts it as a half.
    fn order(&self) -> String {
        let graded = self.pairs.iter();
        let gaps = graded.filter_map(|pair| Some(pair.copy? - pair.whole?));
        let (mut below, mut level, mut above) = (0, 0, 0);
        for gap in gaps {
            match gap {
                gap if gap.abs() <= EQUAL => level += 1,
                gap if gap < 0.0 => below += 1,
                _ => above += 1,
            }
        }
        let chance = match below {
            0 => "",
            _ => ", which chance would reach too",
        };
        let below = match below {
            0 => "none".to_owned(),
            below => below.to_string(),
        };
        let mut places = vec![format!("{below} below the whole ones")];
        let others = [(level, "level with them"), (above, "above them")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        places.extend(others.map(|(count, place)| format!("{count} {place}")));
        let last = places.pop().unwrap_or_default();
        match places.is_empty() {
            true => format!("{last}{chance}"),
            false => format!("{} and {last}{chance}", places.join(", ")),
        }
    }

    /// The sentence if the judge gave no grade to many planted answers.
    fn silence(&self) -> Option<String> {
        let without = self.pairs.iter().filter(|pair| pair.copy.is_none()).count();
        (2 * without > self.pairs.len()).then(|| {
            format!(
                "the judge cannot be believed in this run: it gave no grade to {without} of {} planted answers that are \
                 surely worse",
                self.pairs.len()
            )
        })
    }

    /// The kind of planted answers that the judge got wrong most often, for the end of a sentence.
    fn worst(&self) -> String {
        let scores = self.pairs.iter().flat_map(|pair| [pair.whole, pair.copy]);
        let scores: Vec<f64> = scores.flatten().collect();
        if let [first, rest @ ..] = &*scores
            && rest.iter().all(|score| (score - first).abs() <= EQUAL)
        {
            return format!("; it gave {first} to every answer, whole or not");
        }
        let wrong = |fault: Fault| {
            let of_fault = || self.pairs.iter().filter(move |pair| pair.fault == fault);
            let wrong = of_fault().filter(|pair| pair.right() != Some(1.0));
            (wrong.count(), of_fault().count(), fault)
        };
        let worst = Fault::ALL.into_iter().map(wrong);
        match worst.max_by_key(|(wrong, ..)| *wrong) {
            Some((wrong, all, fault)) if wrong > 0 => format!(
                "; it did not put {wrong} of {all} {} below the whole ones",
                fault.plural()
            ),
            _ => String::new(),
        }
    }

    /// The sentence if the judge has drifted: the same answers get grades other than in the report of the base. The
    /// difference has to be larger than the largest drop that a gate allows, and larger than the variation of the
    /// grades (a t test at 2.5 %).
    fn drift(&self) -> Option<String> {
        /// A smaller change of the mean does not change a verdict.
        const LEAST_DRIFT: f64 = 0.05;
        /// A drift changes most grades in the same direction; a judge that sometimes errs changes one or two of them a
        /// lot.
        const LEAST_ALONG: f64 = 0.75;
        let moves: Vec<f64> = self.anchors.iter().map(|one| one.now - one.then).collect();
        let n = moves.len();
        if n < 2 {
            return None;
        }
        let quantile = stats::t_upper_quantile(0.0125, n as f64 - 1.0);
        let mean = moves.iter().sum::<f64>() / n as f64;
        let squares: f64 = moves.iter().map(|one| (one - mean).powi(2)).sum();
        let error = (squares / (n - 1) as f64 / n as f64).sqrt();
        let along = moves.iter().filter(|one| **one * mean > 0.0).count();
        let is_common = along as f64 >= LEAST_ALONG * n as f64;
        let is_drift = mean.abs() >= LEAST_DRIFT && mean.abs() > quantile * error && is_common;
        is_drift.then(|| {
            let direction = if mean > 0.0 { "higher" } else { "lower" };
            format!(
                "the judge has drifted: it grades the same {n} answers of the base {:.2} {direction} than it did for the \
                 report of the base",
                mean.abs()
            )
        })
    }

    /// Whether a few grades are enough because the result is clear: there is no problem, and no grade of the base has
    /// changed.
    pub fn is_plain(&self) -> bool {
        const UNMOVED: f64 = 0.05;
        let moved = |anchor: &Anchor| (anchor.now - anchor.then).abs() > UNMOVED;
        let rights: Vec<f64> = self.pairs.iter().filter_map(PlantedPair::right).collect();
        let all_right = !rights.is_empty() && rights.iter().all(|right| *right == 1.0);
        let is_wide = self.gap().is_none_or(|gap| gap >= LEAST_GAP);
        all_right && is_wide && !self.anchors.iter().any(moved)
    }
}

/// Whether a disguise misled the judge: it raises the grade of each such copy, and the mean by a lot, or it restores
/// most of what the fault had cost. If the judge chooses between two answers, it must have been right about none of
/// them.
fn fell_for(pairs: &[PlantedPair], disguise: Disguise) -> bool {
    /// The mean gain by a disguise that the noise of a sound judge cannot explain: with a standard deviation of 0.1 and
    /// two copies, a gain of 0.25 is 2.5 standard errors.
    const MUCH: f64 = 0.25;
    /// A judge that sometimes errs may raise one copy a lot, but a preference raises each of them.
    const EACH: f64 = 0.1;
    /// The share of the cost of a fault that a disguise may restore, for judges that use only a part of the scale.
    const MOST_WON_BACK: f64 = 2.0 / 3.0;
    let disguised = || pairs.iter().filter(|pair| pair.disguise == Some(disguise));
    let levels = disguised().filter_map(|pair| Some((pair.whole?, pair.plain?, pair.copy?)));
    let levels: Vec<(f64, f64, f64)> = levels.filter(|(whole, plain, _)| plain < whole).collect();
    if levels.is_empty() {
        let chosen = disguised().filter(|pair| pair.plain.is_none());
        let rights: Vec<f64> = chosen.filter_map(PlantedPair::right).collect();
        return rights.len() > 1 && rights.iter().sum::<f64>() <= EQUAL;
    }
    let n = levels.len();
    let cost: f64 = levels.iter().map(|(whole, plain, _)| whole - plain).sum();
    let gain: f64 = levels.iter().map(|(_, plain, copy)| copy - plain).sum();
    let lifts_each = levels.iter().all(|(_, plain, copy)| copy - plain > EACH);
    let wins_each = levels
        .iter()
        .all(|(whole, plain, copy)| *copy > f64::midpoint(*plain, *whole));
    let is_much = lifts_each && gain > MUCH * n as f64;
    let is_most = wins_each && gain > MOST_WON_BACK * cost;
    n > 1 && (is_much || is_most)
}

#[cfg(test)]
mod tests {
    use kelvin_base::digest::Fields;
    use kelvin_base::draw::Draw;

    use super::*;

    const ANSWER: &str =
        "Returns are free for thirty days. The customer pays nothing for the parcel.";

    /// What a judge of the zoo says of a copy of an answer that is worth `worth`.
    type Said<'a> = &'a dyn Fn(Option<Kind>, f64, &mut Draw) -> Option<f64>;

    /// What was done to a copy.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Kind {
        With(Fault),
        In(Disguise),
    }

    /// A full batch as the grading probe plans it: eight answers, each whole, with a fault, and with a disguise.
    fn batch(trial: u64, said: Said<'_>) -> PlantedAnswers {
        let fields = Fields::of("test/planted").field("trial", trial.to_be_bytes());
        let mut draw = Draw::of(fields.digest());
        let mut pairs = Vec::new();
        let mut anchors = Vec::new();
        for at in 0..8 {
            let worth = [1.0, 0.8, 0.6, 0.9][at % 4];
            let whole = said(None, worth, &mut draw);
            let then = said(None, worth, &mut draw);
            let fault = [Fault::Truncated, Fault::Exchanged, Fault::Contradicted][at % 3];
            let plain = said(Some(Kind::With(fault)), worth, &mut draw);
            let disguise = Disguise::ALL[(at + at / 3) % 3];
            let disguised = said(Some(Kind::In(disguise)), worth, &mut draw);
            let pair = |disguise, plain, copy| PlantedPair {
                item: format!("p{at}"),
                fault,
                disguise,
                whole,
                plain,
                is_chosen: false,
                copy,
            };
            pairs.push(pair(None, None, plain));
            pairs.push(pair(Some(disguise), plain, disguised));
            if let (Some(then), Some(now)) = (then, whole) {
                anchors.push(Anchor {
                    item: format!("p{at}"),
                    then,
                    now,
                });
            }
        }
        PlantedAnswers {
            seed: Digest::of(b"seed"),
            grades: MOST_GRADES,
            known: false,
            pairs,
            anchors,
        }
    }

    fn worth_of(kind: Option<Kind>, worth: f64) -> f64 {
        match kind {
            None => worth,
            Some(_) => 0.5 * worth,
        }
    }

    fn normal(draw: &mut Draw) -> f64 {
        (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0
    }

    /// How many of 400 runs such a judge proves itself in, is thrown out in, and is said to have drifted in.
    fn runs(said: Said<'_>) -> (usize, usize, usize) {
        let mut counts = (0, 0, 0);
        for trial in 0..400 {
            match batch(trial, said).proof() {
                Proof::Given { .. } => counts.0 += 1,
                Proof::Failed(_) => counts.1 += 1,
                Proof::Drifted(_) => counts.2 += 1,
            }
        }
        counts
    }

    #[test]
    fn judges_that_see_nothing_are_thrown_out_and_sound_ones_are_kept() {
        let noisy = |noise: f64| {
            move |kind, worth, draw: &mut Draw| Some(worth_of(kind, worth) + noise * normal(draw))
        };
        assert_eq!(runs(&noisy(0.0)), (400, 0, 0));
        let (kept, thrown, drifted) = runs(&noisy(0.1));
        assert!(
            kept >= 370 && thrown <= 12 && drifted <= 24,
            "{kept} {thrown} {drifted}"
        );
        let erring = |kind, worth, draw: &mut Draw| match draw.unit() < 0.1 {
            true => Some(draw.unit()),
            false => Some(worth_of(kind, worth)),
        };
        let (kept, ..) = runs(&erring);
        assert!(kept >= 376, "{:?}", runs(&erring));
        let coarse =
            |kind, worth: f64, _: &mut Draw| Some((2.0 * worth_of(kind, worth)).round() / 2.0);
        assert_eq!(runs(&coarse).0, 400);

        let random = |_, _, draw: &mut Draw| Some(draw.unit());
        assert!(runs(&random).0 <= 16, "{:?}", runs(&random));
        let coin = |_, _, draw: &mut Draw| Some(f64::from(draw.unit() < 0.5));
        assert!(runs(&coin).0 <= 16, "{:?}", runs(&coin));
        let constant = |_, _, _: &mut Draw| Some(1.0);
        assert_eq!(runs(&constant), (0, 400, 0));
        // It counts facts, and a denial has as many.
        let counts = |kind: Option<Kind>, worth, _: &mut Draw| match kind {
            Some(Kind::With(Fault::Contradicted)) => Some(worth),
            _ => Some(worth_of(kind, worth)),
        };
        assert_eq!(runs(&counts).0, 400);
        let refuses = |kind: Option<Kind>, worth, _: &mut Draw| kind.is_none().then_some(worth);
        assert_eq!(runs(&refuses), (0, 400, 0));
        for liked in Disguise::ALL {
            let biased = |kind: Option<Kind>, worth, _: &mut Draw| {
                let gain = if kind == Some(Kind::In(liked)) {
                    0.4
                } else {
                    0.0
                };
                Some(worth_of(kind, worth) + gain)
            };
            assert_eq!(runs(&biased), (0, 400, 0), "{liked:?}");
        }
    }

    #[test]
    fn a_judge_that_grades_the_same_answers_lower_than_before_has_drifted() {
        let mut planted = batch(1, &|kind, worth, _| Some(worth_of(kind, worth)));
        for anchor in &mut planted.anchors {
            anchor.now -= 0.15;
        }
        let Proof::Drifted(why) = planted.proof() else {
            panic!("{:?}", planted.proof());
        };
        insta::assert_snapshot!(why, @"the judge has drifted: it grades the same 8 answers of the base 0.15 lower than it did for the report of the base");
        // One answer that moved is no drift, and a move that changes no verdict is none either.
        let mut planted = batch(1, &|kind, worth, _| Some(worth_of(kind, worth)));
        planted.anchors[0].now -= 0.3;
        assert!(matches!(planted.proof(), Proof::Given { .. }));
        for anchor in &mut planted.anchors {
            anchor.now = anchor.then + 0.04;
        }
        assert!(matches!(planted.proof(), Proof::Given { .. }));
    }

    #[test]
    fn a_judge_that_uses_a_sliver_of_its_scale_can_show_no_drop() {
        let said = |part: f64| {
            move |kind, worth, _: &mut Draw| Some(1.0 - part * (1.0 - worth_of(kind, worth)))
        };
        assert_eq!(runs(&said(0.5)).0, 400);
        let Proof::Failed(why) = batch(1, &said(0.1)).proof() else {
            panic!("it puts half answers 0.04 lower");
        };
        insta::assert_snapshot!(why, @"the judge cannot be believed in this run: it put answers that are surely worse only 0.04 below the whole ones on average, so it cannot show the drop that a gate looks for");
        assert!(!batch(1, &said(0.1)).is_plain());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let why = |said: Said<'_>| match batch(1, said).proof() {
            Proof::Failed(why) => why,
            other => panic!("{other:?}"),
        };
        let constant = why(&|_, _, _| Some(1.0));
        insta::assert_snapshot!(constant, @"the judge cannot be believed in this run: of 16 planted answers that are surely worse it put none below the whole ones and 16 level with them; it gave 1 to every answer, whole or not");
        let dressed = why(&|kind, worth, _| {
            let gain = if kind == Some(Kind::In(Disguise::Dressed)) {
                0.4
            } else {
                0.0
            };
            Some(worth_of(kind, worth) + gain)
        });
        insta::assert_snapshot!(dressed, @"the judge cannot be believed in this run: it took worse answers in bold type, bullets, a table or a code fence for better ones");
        let refuses = why(&|kind, worth, _| kind.is_none().then_some(worth));
        insta::assert_snapshot!(refuses, @"the judge cannot be believed in this run: it gave no grade to 16 of 16 planted answers that are surely worse");
    }

    #[test]
    fn a_judge_that_likes_length_is_told_so_whatever_it_fell_for_first() {
        let length = |is_padded_raised: bool| {
            let mut planted = batch(1, &|_, _, _| Some(0.5));
            for pair in &mut planted.pairs {
                let plain = match pair.fault {
                    Fault::Contradicted => 0.6,
                    _ => 0.3,
                };
                let gain = match pair.disguise {
                    Some(Disguise::Padded) if is_padded_raised => 0.11,
                    Some(Disguise::Obedient) => 0.05,
                    _ => 0.0,
                };
                pair.plain = pair.disguise.map(|_| plain);
                pair.copy = Some(plain + gain);
            }
            match planted.proof() {
                Proof::Failed(why) => why,
                other => panic!("{other:?}"),
            }
        };
        insta::assert_snapshot!(length(true), @"the judge cannot be believed in this run: it took denied answers for better ones, and empty sentences raised its grades as well: it likes length");
        insta::assert_snapshot!(length(false), @"the judge cannot be believed in this run: it took denied answers for better ones");
    }

    #[test]
    fn the_places_of_the_planted_answers_are_counted_and_a_tie_is_no_half_answer() {
        let mut planted = batch(1, &|_, _, _| Some(0.5));
        planted.pairs.truncate(9);
        for (at, pair) in planted.pairs.iter_mut().enumerate() {
            pair.plain = pair.disguise.map(|_| 0.4);
            pair.copy = [Some(0.4), Some(0.5), Some(0.6), None][at % 4];
        }
        let Proof::Failed(why) = planted.proof() else {
            panic!("{:?}", planted.proof());
        };
        insta::assert_snapshot!(why, @"the judge cannot be believed in this run: of 9 planted answers that are surely worse it put 3 below the whole ones, 2 level with them and 2 above them, which chance would reach too; it did not put 3 of 4 half answers below the whole ones");
    }

    #[test]
    fn a_judge_that_likes_short_answers_is_thrown_out_although_it_is_right_about_most() {
        let planted = |is_right: &dyn Fn(Fault, Option<Disguise>) -> bool| {
            let pairs = (0..24).map(|at| {
                let fault = [Fault::Truncated, Fault::Contradicted][at % 2];
                let disguises = [
                    None,
                    Some(Disguise::Dressed),
                    Some(Disguise::Padded),
                    Some(Disguise::Obedient),
                ];
                // As it is planned for a judge of two: faults by turns, and few halves without a disguise.
                let disguise = disguises[match at {
                    0..20 => [1, 0, 2, 3][at % 4],
                    _ => [2, 3, 0, 1][at % 4],
                }];
                PlantedPair {
                    item: format!("p{at}"),
                    fault,
                    disguise,
                    whole: Some(0.5),
                    plain: None,
                    is_chosen: true,
                    copy: Some(f64::from(u8::from(!is_right(fault, disguise)))),
                }
            });
            PlantedAnswers {
                pairs: pairs.collect(),
                ..batch(1, &|_, _, _| Some(1.0))
            }
        };
        let short = planted(&|fault, disguise| {
            let is_half = fault == Fault::Truncated;
            !is_half || matches!(disguise, Some(Disguise::Padded | Disguise::Obedient))
        });
        let Proof::Failed(why) = short.proof() else {
            panic!("{:?}", short.proof());
        };
        insta::assert_snapshot!(why, @"the judge cannot be believed in this run: it took half answers for better ones");
        assert!(matches!(planted(&|_, _| true).proof(), Proof::Given { .. }));
    }

    #[test]
    fn few_pairs_have_to_be_right_and_none_proves_nothing() {
        let mut planted = batch(1, &|kind, worth, _| Some(worth_of(kind, worth)));
        planted.pairs.truncate(3);
        assert_eq!(planted.proof(), Proof::Given { right: 3.0, of: 3 });
        assert!(planted.is_plain());
        planted.pairs[0].copy = planted.pairs[0].whole.map(|whole| whole + 0.1);
        assert!(matches!(planted.proof(), Proof::Failed(_)));
        assert!(!planted.is_plain());
        planted.pairs.clear();
        assert!(matches!(planted.proof(), Proof::Failed(_)));
        assert!(!planted.is_plain());
    }

    #[test]
    fn every_answer_has_a_copy_that_differs_from_it() {
        let kinds: Vec<Fault> = (0..3)
            .map(|number| faulty(ANSWER, Some("No."), number).fault)
            .collect();
        assert_eq!(
            kinds,
            [Fault::Truncated, Fault::Exchanged, Fault::Contradicted]
        );
        for answer in ["42", "yes", ANSWER, ""] {
            for number in 0..4 {
                let copy = faulty(answer, Some(answer), number);
                assert_ne!(copy.fault, Fault::Exchanged);
                assert_ne!(copy.text, answer);
                for disguise in Disguise::ALL {
                    assert_ne!(copy.disguised(disguise, number).text, copy.text);
                }
            }
        }
    }

    #[test]
    fn every_measure_of_passages_has_a_fault_of_its_own() {
        let own = [
            "Returns are free.".to_owned(),
            "They take a month.".to_owned(),
        ];
        let copy =
            |measures: &[RagMeasure], number| faulty_by(measures, ANSWER, Some(&own), number);
        let faithful = copy(&[RagMeasure::Faithfulness], 0);
        assert_eq!(
            (faithful.fault, &faithful.passages),
            (Fault::Invented, &None)
        );
        assert!(faithful.text.starts_with(ANSWER) && faithful.text.len() > ANSWER.len() + 40);
        assert_eq!(
            copy(&[RagMeasure::Faithfulness], 1).fault,
            Fault::Contradicted
        );
        assert_eq!(
            copy(&[RagMeasure::AnswerRelevance], 1).fault,
            Fault::Invented
        );
        let buried = copy(&[RagMeasure::ContextPrecision], 3);
        let passages = buried.passages.clone().expect("passages");
        assert_eq!(
            (buried.fault, buried.text.as_str()),
            (Fault::Buried, ANSWER)
        );
        assert_eq!(
            (passages.len(), &passages[1], &passages[3]),
            (4, &own[0], &own[1])
        );
        for disguise in Disguise::ALL {
            let worn = buried.disguised(disguise, 0).passages.expect("passages");
            assert_eq!((&worn[1], &worn[3]), (&own[0], &own[1]));
            assert_ne!((&worn[0], &worn[2]), (&passages[0], &passages[2]));
        }
        let replaced = copy(&[RagMeasure::ContextRecall, RagMeasure::Faithfulness], 0);
        let passages = replaced.passages.expect("passages");
        assert!(passages.iter().all(|passage| !own.contains(passage)));
        assert_eq!(replaced.fault, Fault::Invented);
        let sentences: std::collections::BTreeSet<String> = (0..12).map(invented).collect();
        assert_eq!(sentences.len(), 12);
    }
}
