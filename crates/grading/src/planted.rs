//! Planted answers: copies with a known order, hidden among the answers that the judge grades.
//!
//! The answers come from the report of the base, or from the head if there are none in it. The choice is drawn from the
//! answers of this run, so nobody can know it before the run, and the same run makes the same choice.

use std::sync::Arc;

use super::asking::{self, Grades, Pair};
use super::plan::Plan;
use super::prompts::Prompt;
use super::record::Scoring;
use super::stored::StoredAnswers;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::draw::Draw;
use kelvin_record::JudgeTrialCost;
use kelvin_run::Runner;
use kelvin_run::judge::planted::{
    Anchor, Disguise, FEWEST_GRADES, FaultyCopy, MOST_GRADES, PlantedAnswers, PlantedPair, faulty,
    faulty_by,
};

/// How many answers a full batch uses if each answer is graded alone: each needs a grade for the whole answer, one for
/// a copy that is certainly worse, and one for that copy in a disguise.
const MOST_ANSWERS: usize = MOST_GRADES / 3;

/// An answer of this run.
pub(super) struct OwnAnswer<'a> {
    pub(super) prompt: &'a Prompt,
    pub(super) text: &'a str,
    /// The passages from which the answer was made, if they are known.
    pub(super) passages: Option<Arc<[String]>>,
}

/// An answer from which copies are made.
struct Source<'a> {
    prompt: &'a Prompt,
    answer: &'a str,
    /// The passages from which the answer was made, if they are known.
    passages: Option<Arc<[String]>>,
    /// The grade of the answer in the report of the base, if the judge is still the same.
    then: Option<f64>,
    /// The answer to another prompt, if the judge sees a reference by which it can distinguish the two.
    other: Option<&'a str>,
}

/// A grade that is requested.
struct Wanted<'a> {
    source: usize,
    what: What,
    pair: Pair<'a>,
}

/// The text that is graded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// The unchanged answer.
    Whole,
    /// A copy with a fault, and its disguise, if any.
    Copy(Option<Disguise>),
}

/// A source with its copies, which the pairs borrow.
struct Copies {
    plain: FaultyCopy,
    disguised: [FaultyCopy; Disguise::ALL.len()],
}

/// Lets the judge grade planted answers: a few if it passed in the run of the base and these few are graded correctly,
/// otherwise a full batch. Fails if the run cannot continue.
pub(super) fn plant(
    plan: &Plan<'_>,
    judges: &[Runner<'_>],
    base: Option<&StoredAnswers>,
    of_head: &[OwnAnswer<'_>],
) -> anyhow::Result<PlantedAnswers> {
    let seed = seed(plan, base, of_head);
    let mut draw = Draw::of(seed);
    let sources = sources(plan, base, of_head, &mut draw);
    let turn = draw.below(Disguise::ALL.len());
    let measures = plan.settings.keys.judge.rag_measures();
    let copies: Vec<Copies> = (0..)
        .zip(&sources)
        .map(|(number, source)| {
            let passages = source.passages.as_deref();
            let plain = match measures.is_empty() {
                true => faulty(source.answer, source.other, number + turn),
                false => faulty_by(&measures, source.answer, passages, number + turn),
            };
            let disguised = Disguise::ALL.map(|kind| plain.disguised(kind, number + turn));
            Copies { plain, disguised }
        })
        .collect();
    let batch = Batch {
        plan,
        judges,
        sources: &sources,
        copies: &copies,
        turn,
    };
    let mut spent = 0;
    if base.is_some_and(|base| base.is_proved && base.restated.is_none()) {
        let few = batch.graded("few", &batch.few(), seed)?;
        if few.is_plain() {
            return Ok(PlantedAnswers { known: true, ..few });
        }
        spent = few.grades;
    }
    let mut all = batch.graded("all", &batch.all(), seed)?;
    all.grades += spent;
    Ok(all)
}

/// The cost of testing the judge; none if it asks no language model.
pub(super) fn cost(plan: &Plan<'_>) -> Option<JudgeTrialCost> {
    if !plan.settings.keys.judge.asks_a_language_model() {
        return None;
    }
    // A source can give a grade for each of its forms: whole, with a fault, and in each disguise.
    let prompts = plan.places.len();
    let (ways, few) = match plan.scoring.is_preference() {
        true => (Disguise::ALL.len() + 1, prompts * FEWEST_GRADES),
        false => (Disguise::ALL.len() + 2, prompts + 1),
    };
    let pair = Pair {
        prompt: "p",
        reference: Some("r"),
        candidate: "c",
        passages: Some(Arc::from(["a".to_owned()])),
        other: (plan.scoring != Scoring::Each).then_some("o"),
        other_passages: None,
        turn: 0,
    };
    let questions = pair.exhibits(plan.scoring).into_iter();
    let questions =
        questions.map(|exhibit| plan.judge.questions(&exhibit).map_or(0, |all| all.len()));
    Some(JudgeTrialCost {
        new: MOST_GRADES.min(prompts * ways),
        known: FEWEST_GRADES.min(few),
        calls_each: questions.sum(),
    })
}

/// The seed of the choice: the seed of the configuration, and every answer of both sides.
fn seed(plan: &Plan<'_>, base: Option<&StoredAnswers>, of_head: &[OwnAnswer<'_>]) -> Digest {
    let mut fields = Fields::of("kelvin/planted/v1")
        .field("seed", plan.config.seed.to_be_bytes())
        .field("judge", plan.judge.grader_id());
    for own in of_head {
        let id = &own.prompt.id;
        fields = fields.field("prompt", id).field("answer", own.text);
    }
    for record in base.iter().flat_map(|base| base.prompts.values()) {
        for sample in &record.samples {
            let answer = sample.candidate.answer.as_ref();
            let digest = answer
                .map(|answer| *answer.digest.bytes())
                .unwrap_or_default();
            fields = fields.field("stored", digest);
        }
    }
    fields.digest()
}

/// An answer with its passages and, if the present judge should give it again, its grade.
type Found<'a> = (&'a str, Option<Arc<[String]>>, Option<f64>);

/// The answers from which copies are made, in the order in which they are used. Answers of the better half come first,
/// because a copy of a worthless answer cannot be worse.
fn sources<'a>(
    plan: &'a Plan<'_>,
    base: Option<&'a StoredAnswers>,
    of_head: &[OwnAnswer<'a>],
    draw: &mut Draw,
) -> Vec<Source<'a>> {
    let mut prompts: Vec<&Prompt> = plan.prompts.iter().collect();
    draw.shuffle(&mut prompts);
    let mut sources = Vec::new();
    for prompt in prompts {
        let stored = base.and_then(|base| base.prompts.get(&prompt.id));
        let stored = stored.filter(|record| record.input == prompt.digest());
        let samples = stored.iter().flat_map(|record| &record.samples);
        let mut answers: Vec<Found<'_>> = samples
            .filter_map(|sample| {
                let whole = sample.candidate.answer.as_ref()?.whole()?;
                let is_like =
                    plan.scoring == Scoring::Each && base.is_some_and(|base| base.is_like);
                let grade = sample.grade.as_ref().filter(|_| is_like);
                let passages = sample.candidate.whole_passages();
                Some((whole, passages, grade.map(kelvin_run::judge::Grade::score)))
            })
            .collect();
        if answers.is_empty() {
            let own = of_head.iter().filter(|own| own.prompt.id == prompt.id);
            answers.extend(own.map(|own| (own.text, own.passages.clone(), None)));
        }
        if !answers.is_empty() {
            let (answer, passages, then) = answers.swap_remove(draw.below(answers.len()));
            sources.push(Source {
                prompt,
                answer,
                passages,
                then,
                other: None,
            });
        }
    }
    let mut grades: Vec<f64> = sources.iter().filter_map(|source| source.then).collect();
    grades.sort_by(f64::total_cmp);
    if let Some(middle) = grades.get(grades.len() / 2).copied() {
        sources.sort_by_key(|source| source.then.is_none_or(|grade| grade < middle));
    }
    let answers: Vec<&str> = sources.iter().map(|source| source.answer).collect();
    for (at, source) in sources.iter_mut().enumerate() {
        let is_told_apart = plan.scoring == Scoring::Each && source.prompt.reference.is_some();
        let next = answers[(at + 1) % answers.len()];
        source.other = Some(next).filter(|next| is_told_apart && *next != source.answer);
    }
    sources
}

/// The sources from which grades are requested.
struct Batch<'a> {
    plan: &'a Plan<'a>,
    judges: &'a [Runner<'a>],
    sources: &'a [Source<'a>],
    copies: &'a [Copies],
    /// The number of the disguise for the first source.
    turn: usize,
}

impl<'a> Batch<'a> {
    /// The few grades for a known judge: a whole answer with a worse copy, and another whole answer. If the judge
    /// chooses between two answers, each grade compares a copy with its original.
    fn few(&self) -> Vec<Wanted<'a>> {
        if self.plan.scoring.is_preference() {
            let mut wanted = self.all();
            wanted.truncate(FEWEST_GRADES);
            return wanted;
        }
        let mut wanted = Vec::new();
        for source in 0..self.sources.len().min(2) {
            wanted.push(self.wanted(source, What::Whole));
            if source == 0 {
                wanted.push(self.wanted(source, What::Copy(None)));
            }
        }
        wanted
    }

    /// A full batch: every answer with a worse copy and a disguised one, and with its other disguises if there are few
    /// answers.
    fn all(&self) -> Vec<Wanted<'a>> {
        let is_chosen = self.plan.scoring.is_preference();
        let disguise = |source: usize, round: usize| {
            let kinds = Disguise::ALL;
            // Faults change with every source, so disguises also change after a third of the sources: then every fault
            // is combined with each disguise.
            let at = self.turn + source + source / kinds.len() + round;
            What::Copy(Some(kinds[at % kinds.len()]))
        };
        let mut wanted = Vec::new();
        let most = if is_chosen { MOST_GRADES } else { MOST_ANSWERS };
        let sources = self.sources.len().min(most);
        for round in 0..=Disguise::ALL.len() {
            for source in 0..sources {
                match (is_chosen, round) {
                    // Every fourth source begins with the plain copy, so that a few grades include every kind.
                    (true, _) => match (source + round) % (Disguise::ALL.len() + 1) {
                        0 => wanted.push(self.wanted(source, What::Copy(None))),
                        at => wanted.push(self.wanted(source, disguise(0, at - 1))),
                    },
                    (false, 0) => {
                        wanted.push(self.wanted(source, What::Whole));
                        wanted.push(self.wanted(source, What::Copy(None)));
                    }
                    (false, round) => wanted.push(self.wanted(source, disguise(source, round - 1))),
                }
            }
        }
        wanted.truncate(MOST_GRADES);
        wanted
    }

    fn wanted(&self, source: usize, what: What) -> Wanted<'a> {
        let from = &self.sources[source];
        let copies = &self.copies[source];
        let copy = match what {
            What::Whole => None,
            What::Copy(None) => Some(&copies.plain),
            What::Copy(Some(disguise)) => {
                let at = Disguise::ALL.iter().position(|one| *one == disguise);
                Some(&copies.disguised[at.expect("every disguise is in the list")])
            }
        };
        let other_passages = copy.and_then(|copy| copy.passages.as_deref());
        let is_alone = self.plan.scoring == Scoring::Each;
        Wanted {
            source,
            what,
            pair: Pair {
                prompt: &from.prompt.prompt,
                reference: from.prompt.reference.as_deref(),
                candidate: copy.map_or(from.answer, |copy| &copy.text),
                passages: other_passages
                    .map(Arc::from)
                    .or_else(|| from.passages.clone()),
                other: (!is_alone).then_some(from.answer),
                other_passages: from.passages.clone(),
                turn: 0,
            },
        }
    }

    /// Lets the judge grade the requested texts.
    fn graded(
        &self,
        batch: &str,
        wanted: &[Wanted<'a>],
        seed: Digest,
    ) -> anyhow::Result<PlantedAnswers> {
        let scoring = self.plan.scoring;
        let pairs: Vec<(asking::SampleKey, Pair<'_>)> = wanted
            .iter()
            .enumerate()
            .map(|(turn, one)| {
                let id = self.sources[one.source].prompt.id.as_str();
                (
                    (Arc::from(id), 1),
                    Pair {
                        turn,
                        ..one.pair.clone()
                    },
                )
            })
            .collect();
        let name = |number: usize, exhibit: usize| {
            Some(Arc::from(format!("planted-{batch}-{number:02}-{exhibit}")))
        };
        let graded = asking::grade(&*self.plan.judge, self.judges, scoring, &pairs, &name)?;
        let scores: Vec<Option<f64>> = graded
            .iter()
            .map(|(grades, _): &(Grades, _)| grades.score(scoring))
            .collect();
        let score = |source: usize, what: What| {
            let place = wanted
                .iter()
                .position(|one| one.source == source && one.what == what);
            place.and_then(|place| scores[place])
        };
        let mut planted = PlantedAnswers {
            seed,
            grades: wanted.len(),
            known: false,
            pairs: Vec::new(),
            anchors: Vec::new(),
        };
        for (one, now) in wanted.iter().zip(&scores) {
            let source = &self.sources[one.source];
            let item = source.prompt.id.clone();
            match one.what {
                What::Whole => {
                    if let (Some(then), Some(now)) = (source.then, *now) {
                        planted.anchors.push(Anchor { item, then, now });
                    }
                }
                What::Copy(disguise) => {
                    let has_plain = disguise.is_some() && !scoring.is_preference();
                    planted.pairs.push(PlantedPair {
                        item,
                        fault: self.copies[one.source].plain.fault,
                        disguise,
                        whole: match scoring.is_preference() {
                            true => Some(EVEN),
                            false => score(one.source, What::Whole),
                        },
                        plain: has_plain
                            .then(|| score(one.source, What::Copy(None)))
                            .flatten(),
                        is_chosen: scoring.is_preference(),
                        copy: *now,
                    });
                }
            }
        }
        Ok(planted)
    }
}

/// The score of two equally good answers, if the judge chooses between them.
const EVEN: f64 = 0.5;
