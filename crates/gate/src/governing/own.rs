//! Finds the items whose usual answer differs on the head, taking the noise of both sides into account.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::rule::{Answers, E_MIN, SuiteSide, SwapSuite, UsualAnswers};
use crate::compare::{AnswerPairs, FieldsBeside, ItemAnswers};
use kelvin_record::Answer;

/// The largest probability that one of the two usual answers is not the true usual one, for an item that counts as
/// changed. If answers vary, it is the false discovery rate (Benjamini and Hochberg, 1995): among two hundred noisy
/// items some always change by chance.
const CHANCE: f64 = 0.05;

/// Two means of numbers differ if they are at least this many standard errors apart.
const APART: f64 = 3.3;

/// The distance from what chance makes, in standard errors, at which the answers of the head vary more than those of the
/// base: chance alone is as far once in a hundred times.
const LESS_STEADY: f64 = 2.33;

/// With fewer items, one answer to nearly all of them may be right.
const LEAST_ITEMS: usize = 5;

/// A pipeline with fewer answers classifies, and one class for a whole suite may be right.
const LEAST_ANSWERS: usize = 3;

/// With as many items, not even a classifier gives all of them one class.
const MANY_ITEMS: usize = 10;

/// One answer that the head gives to nearly all items, which the base answers differently.
pub struct OneAnswer<'p> {
    /// The answer, as a text for people.
    pub answer: Cow<'p, str>,
    /// How many items get it.
    pub items: usize,
    /// How many different answers the base gives to all items.
    pub of_base: usize,
}

/// The own answers of the items of a probe.
pub struct OwnAnswers<'p> {
    items: BTreeMap<&'p str, &'p ItemAnswers>,
    suite: SwapSuite,
    /// Whether each item has changed, by its index in the suite.
    is_changed: Vec<bool>,
}

/// An item with another answer.
pub struct OtherAnswer<'p> {
    /// The item.
    pub item: &'p ItemAnswers,
    /// The usual answer of the base, as a text for people.
    pub base: Cow<'p, str>,
    /// The usual answer of the head.
    pub head: Cow<'p, str>,
}

impl OtherAnswer<'_> {
    /// The other output fields of the first run with the usual answer, on the base and on the head.
    pub fn beside(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let item = self.item;
        let first = |answers: &[Option<Answer>], told: &str, beside: &FieldsBeside| {
            let is_usual = |answer: &Option<Answer>| {
                let answer = answer.as_ref();
                answer.is_some_and(|answer| answer.shown() == told)
            };
            let at = answers.iter().position(is_usual);
            at.and_then(|at| beside.get(at).cloned())
        };
        let base = first(&item.itself.0, &self.base, &item.beside.0);
        let head = first(&item.itself.1, &self.head, &item.beside.1);
        (base.unwrap_or_default(), head.unwrap_or_default())
    }
}

impl<'p> OwnAnswers<'p> {
    /// Compares the answers of one probe. An item without an answer on the head does not count as having another
    /// answer. `is_exact`: whether the configuration says that the pipeline has no noise.
    pub fn of(pairs: &'p AnswerPairs, is_exact: bool) -> Self {
        let items = pairs.items.iter();
        let items: BTreeMap<&str, &ItemAnswers> =
            items.map(|item| (item.name.as_str(), item)).collect();
        let suite = SwapSuite::of(pairs);
        let runs = suite.cases.iter().map(|case| {
            let (base, head) = &items[case.name.as_str()].itself;
            (base.iter().flatten().count(), head.iter().flatten().count())
        });
        let runs: Vec<(usize, usize)> = runs.collect();
        Self {
            is_changed: match &suite.answers {
                Answers::Classes(base, head) => classes(base, head, (&runs, is_exact)),
                Answers::Numbers(base, head) => numbers(base, head),
            },
            items,
            suite,
        }
    }

    /// How many items both sides have answered.
    pub fn count(&self) -> usize {
        self.answered().count()
    }

    /// The items with another answer, in the order of their names.
    pub fn changed(&self) -> Vec<OtherAnswer<'p>> {
        let changed = self.answered().filter(|(at, _)| self.is_changed[*at]);
        changed
            .filter_map(|(_, item)| {
                let (base, head) = sides(item);
                let (mut was, mut is) = (Answer::usual(base)?, Answer::usual(head)?);
                // Over the item and its variants the usual answer may be the same on both sides, although the usual
                // answer to the item alone differs.
                if was == is {
                    was = Answer::usual(item.itself.0.iter().flatten())?;
                    is = Answer::usual(item.itself.1.iter().flatten())?;
                }
                Some(OtherAnswer {
                    item,
                    base: was.shown(),
                    head: is.shown(),
                })
            })
            .collect()
    }

    /// The items that usually get the answer of the base, in the order of their names.
    pub fn unchanged(&self) -> impl Iterator<Item = &'p ItemAnswers> + '_ {
        let answered = self.answered().filter(|(at, _)| !self.is_changed[*at]);
        answered.map(|(_, item)| item)
    }

    /// The answer that at least nine of ten items usually get on the head, if the base has at least three answers, and
    /// gives none of them to more than half of the items; or the answer of all of ten or more, if the base gives none to
    /// more than three quarters. Only items count whose answers no label, judge or check looks at: of the others it is
    /// known whether the answer is right. Where the answers were different, one for all shows without a label that the
    /// head no longer looks at its input: it refuses, or hands on the error of a provider.
    pub fn one_answer(&self) -> Option<OneAnswer<'p>> {
        let usual = |answers: &'p [Option<Answer>]| Answer::usual(answers.iter().flatten());
        let items = self.answered().filter(|(_, item)| item.is_unjudged);
        let both = items.filter_map(|(_, item)| usual(&item.itself.0).zip(usual(&item.itself.1)));
        let (base, head): (Vec<_>, Vec<_>) = both.unzip();
        let (of_base, most_of_base, _) = counted(&base)?;
        let (_, items, answer) = counted(&head)?;
        let all = head.len();
        let is_nearly_all = all >= LEAST_ITEMS
            && 10 * items >= 9 * all
            && of_base >= LEAST_ANSWERS
            && 2 * most_of_base <= all;
        let is_all = all >= MANY_ITEMS && items == all && 4 * most_of_base <= 3 * all;
        let is_one = is_nearly_all || is_all;
        is_one.then(|| OneAnswer {
            answer: answer.shown(),
            items,
            of_base,
        })
    }

    /// How many answers to the unchanged items differ from the usual answer of the base: on the base, and on the head.
    pub fn varied(&self) -> (usize, usize) {
        let others = self.answered().filter(|(at, _)| !self.is_changed[*at]);
        let mut varied = (0, 0);
        for (_, item) in others {
            let usual = Answer::usual(sides(item).0);
            let (mut base, mut head) = sides(item);
            varied.0 += usize::from(base.any(|one| Some(one) != usual));
            varied.1 += usize::from(head.any(|one| Some(one) != usual));
        }
        varied
    }

    /// Whether the answers to the unchanged items vary more on the head than chance explains, and more than a tenth of
    /// the items vary on the head alone. Each item by itself: how many of its answers that differ from its usual one
    /// should be of the head if the runs of both sides were exchanged at random (Mantel and Haenszel, Journal of the
    /// National Cancer Institute 22, 1959). Only decisions count that no label, judge or check looks at: a number may
    /// jitter, and a free text may be worded otherwise each time, without being worse.
    pub fn is_less_steady(&self) -> bool {
        let unjudged = || self.answered().filter(|(_, item)| item.is_unjudged);
        let usual =
            unjudged().filter_map(|(_, item)| Answer::usual(item.itself.0.iter().flatten()));
        let usual: Vec<&Answer> = usual.collect();
        let are_decisions = counted(&usual).is_some_and(|(kinds, ..)| 2 * kinds <= usual.len());
        if !are_decisions || matches!(self.suite.answers, Answers::Numbers(..)) {
            return false;
        }
        let (mut excess, mut variance, mut turned) = (-0.5, 0.0, 0_usize);
        let mut all = 0_usize;
        for (_, item) in unjudged().filter(|(at, _)| !self.is_changed[*at]) {
            let (base, head) = (&item.itself.0, &item.itself.1);
            let Some(usual) = Answer::usual(base.iter().chain(head).flatten()) else {
                continue;
            };
            let runs_and_others = |side: &[Option<Answer>]| {
                let answers: Vec<&Answer> = side.iter().flatten().collect();
                let others = answers.iter().filter(|one| **one != usual).count();
                (answers.len(), others)
            };
            let ((n, was), (m, is)) = (runs_and_others(base), runs_and_others(head));
            all += 1;
            turned += usize::from(was == 0 && is > 0);
            let (others, runs) = ((was + is) as f64, (n + m) as f64);
            if n == 0 || m == 0 || runs < 2.0 {
                continue;
            }
            excess += is as f64 - others * m as f64 / runs;
            variance += (n * m) as f64 * others * (runs - others) / (runs * runs * (runs - 1.0));
        }
        excess > LESS_STEADY * f64::sqrt(variance) && 10 * turned > all
    }

    /// Whether every item has at most one answer on each side.
    pub fn are_single(&self) -> bool {
        self.answered().all(|(_, item)| {
            let (base, head) = sides(item);
            base.count() <= 1 && head.count() <= 1
        })
    }

    /// The items that both sides have answered, each with its index.
    fn answered(&self) -> impl Iterator<Item = (usize, &'p ItemAnswers)> + '_ {
        let cases = self.suite.cases.iter().enumerate();
        let items = cases.map(|(at, case)| (at, self.items[case.name.as_str()]));
        items.filter(|(_, item)| item.itself.1.iter().any(Option::is_some))
    }
}

/// How many different answers there are, how often the most frequent one is given, and that one; none if there is no
/// answer.
fn counted<'a>(answers: &[&'a Answer]) -> Option<(usize, usize, &'a Answer)> {
    let mut counts: BTreeMap<Cow<'a, str>, (usize, &'a Answer)> = BTreeMap::new();
    for answer in answers {
        counts.entry(answer.key()).or_insert((0, answer)).0 += 1;
    }
    let (often, most) = counts.values().max_by_key(|(often, _)| *often)?;
    Some((counts.len(), *often, most))
}

/// The answers of the base and of the head to an item and to the variants that should get the same answer.
fn sides(item: &ItemAnswers) -> (impl Iterator<Item = &Answer>, impl Iterator<Item = &Answer>) {
    let base = item.itself.0.iter().chain(&item.own.0).flatten();
    let head = item.itself.1.iter().chain(&item.own.1).flatten();
    (base, head)
}

/// Whether each item has changed: its usual answer is another one, either over the item and its variants, or for the
/// item itself. `runs`: how many of the answers to each item, from the first on, are to the item itself, on the base
/// and on the head.
fn classes(
    base: &SuiteSide<u32>,
    head: &SuiteSide<u32>,
    (runs, is_exact): (&[(usize, usize)], bool),
) -> Vec<bool> {
    let (mut before, after) = (UsualAnswers::of(base), UsualAnswers::of(head));
    // The noise of the base explains changes on the head, and more noise than that counts as a change. A base that was
    // run once does not show its noise.
    if base.own.iter().all(|own| own.len() <= 1) {
        before.at_least(&after);
    }
    let is_repeated = |of: &dyn Fn(&(usize, usize)) -> usize| runs.iter().any(|runs| of(runs) > 1);
    let (is_base_repeated, is_head_repeated) =
        (is_repeated(&|runs| runs.0), is_repeated(&|runs| runs.1));
    let all = before.answers.len();
    let itself = |side: &SuiteSide<u32>, runs: &dyn Fn(usize) -> usize| {
        let own = side.own.iter().enumerate();
        SuiteSide {
            own: own.map(|(at, own)| own[..runs(at)].to_vec()).collect(),
            swaps: Vec::new(),
            draws: 0,
        }
    };
    let alone = (
        itself(base, &|at| runs[at].0),
        itself(head, &|at| runs[at].1),
    );
    let usual = (UsualAnswers::of(&alone.0), UsualAnswers::of(&alone.1));
    let is_noisy = !is_exact
        && (is_base_repeated && usual.0.is_noisy() || is_head_repeated && usual.1.is_noisy());
    // The noise of an item is the difference between its runs, and not that between its rewrites: a pipeline that heeds
    // what it should not is no noisy one. Where nothing was repeated, every difference is told.
    let noise = |at: usize| match (is_exact, is_base_repeated, is_head_repeated) {
        (true, ..) | (false, false, false) => E_MIN,
        (false, true, _) => usual.0.e[at],
        (false, false, true) => usual.1.e[at],
    };
    let chance = |e: f64, usual: u32, (base, head): (&[u32], &[u32])| {
        1.0 - is_usual(e, usual, base) + is_usual(e, usual, head)
    };
    let mut chances: Vec<(f64, usize)> = (0..all)
        .filter_map(|at| {
            let with_rewrites = (before.answers[at] != after.answers[at]).then(|| {
                let own = (base.own[at].as_slice(), head.own[at].as_slice());
                chance(before.e[at], before.answers[at], own)
            });
            let own = (alone.0.own[at].as_slice(), alone.1.own[at].as_slice());
            let is_other = !own.0.is_empty() && !own.1.is_empty();
            let is_other = is_other && usual.0.answers[at] != usual.1.answers[at];
            // An item with variants is tested in two ways, with its variants and without, so the chance counts twice.
            let by_itself = is_other.then(|| 2.0 * chance(noise(at), usual.0.answers[at], own));
            let chances = with_rewrites.into_iter().chain(by_itself);
            Some((chances.min_by(f64::total_cmp)?, at))
        })
        .collect();
    chances.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let is_told = |rank: usize, chance: f64| match is_noisy {
        true => chance <= CHANCE * (rank + 1) as f64 / all as f64,
        false => chance < CHANCE,
    };
    let told = (0..chances.len())
        .rev()
        .find(|rank| is_told(*rank, chances[*rank].0));
    let mut changed = vec![false; all];
    for (_, at) in chances.iter().take(told.map_or(0, |rank| rank + 1)) {
        changed[*at] = true;
    }
    changed
}

/// The probability that an answer is the usual one, given the observed answers, if each answer differs from the usual
/// one with a probability of `e`. It is computed with Bayes' rule and a flat prior.
fn is_usual(e: f64, answer: u32, answers: &[u32]) -> f64 {
    let same = answers.iter().filter(|other| **other == answer).count();
    let others = answers.len() - same;
    let odds = ((1.0 - e) / e).powi(same as i32 - others as i32);
    odds / (1.0 + odds)
}

fn numbers(base: &SuiteSide<f64>, head: &SuiteSide<f64>) -> Vec<bool> {
    let (before, after) = (spreads(base), spreads(head));
    let pooled = |side: &[(f64, f64, f64)]| {
        let (sum, all) = side
            .iter()
            .fold((0.0, 0.0), |(sum, all), (_, squares, freedom)| {
                (sum + squares, all + freedom)
            });
        sum / f64::max(all, 1.0)
    };
    // As for classes, the noise of the base counts only if it was run more than once.
    let is_known = before.iter().any(|(_, _, freedom)| *freedom > 0.0);
    let noise_before = pooled(&before);
    let noise_after = if is_known {
        noise_before
    } else {
        pooled(&after)
    };
    let sides = before.iter().zip(&after);
    sides
        .map(|((was, _, n), (is, _, m))| {
            let error = (noise_before / (n + 1.0) + noise_after / (m + 1.0)).sqrt();
            let tiny = 1e-9 * was.abs().max(is.abs()).max(1.0);
            (was - is).abs() > APART * error + tiny
        })
        .collect()
}

/// For each case: the mean, the sum of the squared distances from the mean, and the degrees of freedom.
fn spreads(side: &SuiteSide<f64>) -> Vec<(f64, f64, f64)> {
    let cases = side.own.iter();
    cases
        .map(|own| {
            let n = own.len() as f64;
            let mean = own.iter().sum::<f64>() / n;
            let squares = own.iter().map(|one| (one - mean).powi(2)).sum();
            (mean, squares, n - 1.0)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const OF_BASE: usize = 3;

    /// Items with four kinds of answers that vary with a chance of `noise`, run so many times on the head; the usual
    /// answers of the first ones change.
    fn pairs(seed: u64, items: usize, noise: f64, of_head: usize, changed: usize) -> AnswerPairs {
        turned(seed, items, (noise, noise), of_head, changed)
    }

    /// The same where the two sides differ in their noise.
    fn turned(
        seed: u64,
        items: usize,
        (of_base, noise): (f64, f64),
        of_head: usize,
        changed: usize,
    ) -> AnswerPairs {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut answers = |usual: usize, runs: usize, noise: f64| -> Vec<Option<Answer>> {
            let one = |_| {
                let is_other = random.random_bool(noise);
                let moved = usize::from(is_other) * random.random_range(1..4);
                Some(Answer::Text(format!("kind {}", (usual + moved) % 4)))
            };
            (0..runs).map(one).collect()
        };
        let item = |at: usize| {
            let base = answers(at, OF_BASE, of_base);
            let head = answers(at + usize::from(at < changed), of_head, noise);
            ItemAnswers {
                name: format!("item-{at:02}"),
                itself: (base, head),
                is_unjudged: true,
                ..ItemAnswers::default()
            }
        };
        AnswerPairs {
            items: (0..items).map(item).collect(),
            ..AnswerPairs::default()
        }
    }

    fn trials(noise: f64, of_head: usize, changed: usize) -> Vec<usize> {
        let trials = (0..400).map(|seed| {
            let pairs = pairs(seed, 24, noise, of_head, changed);
            OwnAnswers::of(&pairs, false).changed().len()
        });
        trials.collect()
    }

    /// Twenty items that the base answers in so many ways; the head answers the first ones with a refusal.
    fn refused(of_base: usize, refused: usize, is_unjudged: bool) -> Option<(usize, usize)> {
        let item = |at: usize| {
            let answer = |text: String| vec![Some(Answer::Text(text))];
            let base = answer(format!("answer {}", at % of_base));
            let head = match at < refused {
                true => answer("I cannot help.".to_owned()),
                false => base.clone(),
            };
            ItemAnswers {
                name: format!("item-{at:02}"),
                itself: (base, head),
                is_unjudged,
                ..ItemAnswers::default()
            }
        };
        let pairs = AnswerPairs {
            items: (0..20).map(item).collect(),
            ..AnswerPairs::default()
        };
        let own = OwnAnswers::of(&pairs, true);
        own.one_answer().map(|one| (one.items, one.of_base))
    }

    #[test]
    fn one_answer_for_all_is_seen_where_nothing_but_the_base_judges_it() {
        assert_eq!(refused(20, 20, true), Some((20, 20)));
        assert_eq!(refused(3, 18, true), Some((18, 3)));
        // Some are answered as before, it classifies, a label judges it, or the base answers so too.
        assert_eq!(refused(20, 17, true), None);
        assert_eq!(refused(2, 19, true), None);
        assert_eq!(refused(2, 20, true), Some((20, 2)));
        assert_eq!(refused(20, 20, false), None);
        assert_eq!(refused(20, 0, true), None);
    }

    #[test]
    fn what_only_varies_as_on_the_base_is_seldom_said_to_have_changed() {
        for (noise, of_head) in [(0.05, 1), (0.05, 3), (0.15, 1), (0.15, 3)] {
            let wrong = trials(noise, of_head, 0).iter().filter(|n| **n > 0).count();
            assert!(wrong <= 12, "{noise} {of_head}: {wrong} of 400");
        }
        let pairs = pairs(1, 24, 0.15, 3, 0);
        let (base, head) = OwnAnswers::of(&pairs, false).varied();
        assert!(base > 3 && head > 3, "{base} {head}");
    }

    /// In how many of 400 worlds of 16 items the head, run so many times, is said to vary more than a base of five runs.
    fn less_steady(of_base: f64, noise: f64, of_head: usize) -> usize {
        let worlds = (0..400).filter(|seed| {
            let mut pairs = turned(*seed, 16, (of_base, noise), of_head, 0);
            let again = turned(*seed + 1_000, 16, (of_base, noise), of_head, 0);
            for (item, more) in pairs.items.iter_mut().zip(again.items) {
                item.itself.0.extend(more.itself.0.into_iter().take(2));
            }
            OwnAnswers::of(&pairs, false).is_less_steady()
        });
        worlds.count()
    }

    #[test]
    fn a_head_that_varies_where_the_base_does_not_is_seen_and_the_same_noise_is_not() {
        let worlds = [
            (0.02, 8),
            (0.05, 1),
            (0.05, 3),
            (0.15, 3),
            (0.15, 8),
            (0.3, 8),
        ];
        let wrong = worlds.map(|(noise, of_head)| less_steady(noise, noise, of_head));
        let found = [0.08, 0.15].map(|noise| less_steady(0.0, noise, 5));
        assert!(wrong.iter().all(|wrong| *wrong <= 8), "{wrong:?} of 400");
        assert!(found[0] >= 100 && found[1] >= 350, "{found:?}");
    }

    #[test]
    fn free_texts_and_judged_answers_may_vary() {
        let varying = turned(1, 16, (0.0, 0.15), 5, 0);
        let is_less_steady = |pairs: &AnswerPairs| OwnAnswers::of(pairs, false).is_less_steady();
        assert!(is_less_steady(&varying));
        let mut judged = varying.clone();
        judged
            .items
            .iter_mut()
            .for_each(|item| item.is_unjudged = false);
        assert!(!is_less_steady(&judged));
        let mut free = varying;
        for item in &mut free.items {
            let name = item.name.clone();
            let (base, head) = &mut item.itself;
            for answer in base.iter_mut().chain(head).flatten() {
                *answer = Answer::Text(format!("{name}: {answer}"));
            }
        }
        assert!(!is_less_steady(&free));
    }

    #[test]
    fn eight_items_that_changed_are_found_in_the_noise() {
        for (noise, least) in [(0.0, 8.0), (0.05, 5.5), (0.15, 1.2)] {
            let found = trials(noise, 3, 8);
            let mean = found.iter().sum::<usize>() as f64 / 400.0;
            assert!(mean >= least && mean < 8.3, "{noise}: {mean}");
        }
    }

    #[test]
    fn a_head_that_answers_at_random_has_other_answers_than_a_steady_base() {
        for (seed, of_head) in (0..100).flat_map(|seed| [(seed, 1), (seed, 3)]) {
            let pairs = turned(seed, 24, (0.0, 0.75), of_head, 0);
            let found = OwnAnswers::of(&pairs, false).changed().len();
            assert!(found >= 4, "{seed} {of_head}: {found}");
        }
    }

    #[test]
    fn without_noise_each_item_is_told_and_one_run_is_enough() {
        assert!(trials(0.0, 1, 1).iter().all(|found| *found == 1));
    }

    /// Twenty items with nine rewrites each, all answered alike, and one answer of the head to the first item itself.
    fn rewritten(itself: &str, rewrites: [&str; 9], runs: (usize, usize)) -> AnswerPairs {
        let text = |text: &str| Some(Answer::Text(text.to_owned()));
        let item = |at: usize| {
            let rewritten: Vec<Option<Answer>> = rewrites.iter().map(|one| text(one)).collect();
            let now = if at == 0 { itself } else { "pay" };
            ItemAnswers {
                name: format!("item-{at:02}"),
                itself: (vec![text("pay"); runs.0], vec![text(now); runs.1]),
                own: (rewritten.clone(), rewritten),
                ..ItemAnswers::default()
            }
        };
        AnswerPairs {
            items: (0..20).map(item).collect(),
            ..AnswerPairs::default()
        }
    }

    #[test]
    fn an_item_is_answered_otherwise_though_its_rewrites_are_not() {
        let steady = ["pay"; 9];
        // Presentation moves these answers, on both sides alike.
        let brittle = [
            "pay", "refuse", "pay", "refuse", "pay", "refuse", "pay", "refuse", "pay",
        ];
        for (rewrites, runs, is_exact) in [
            (steady, (1, 1), false),
            (steady, (1, 2), false),
            (steady, (1, 1), true),
            (brittle, (1, 1), true),
            (brittle, (3, 3), false),
            // That rewrites move the answers says nothing of what another run would answer.
            (brittle, (1, 1), false),
            (brittle, (1, 2), false),
        ] {
            let pairs = rewritten("refuse", rewrites, runs);
            let own = OwnAnswers::of(&pairs, is_exact);
            let told = own.changed();
            let told: Vec<(&str, &str, &str)> = told
                .iter()
                .map(|other| (other.item.name.as_str(), &*other.base, &*other.head))
                .collect();
            let expected = [("item-00", "pay", "refuse")];
            assert_eq!(told, expected, "{rewrites:?} {runs:?} {is_exact}");
            let same = rewritten("pay", rewrites, runs);
            assert!(OwnAnswers::of(&same, is_exact).changed().is_empty());
        }
    }
}
