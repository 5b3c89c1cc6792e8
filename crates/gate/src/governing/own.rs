//! Which cases are usually answered otherwise on the head, with the noise of both sides taken out.

use std::collections::BTreeMap;

use super::rule::{Answers, Own, Side, Suite, wrong_own};
use crate::compare::{AnswerPairs, ItemAnswers};

/// The chance that one of the two usual answers is not the usual one, up to which a case counts as changed.
const CHANCE: f64 = 0.05;

/// Two means of numbers differ where they are this many standard errors apart.
const APART: f64 = 3.3;

/// The own answers of the items of a probe.
pub struct OwnAnswers<'p> {
    items: BTreeMap<&'p str, &'p ItemAnswers>,
    suite: Suite,
}

impl<'p> OwnAnswers<'p> {
    /// Of the answers of one probe. An item without an answer on the head is no item that is answered otherwise.
    pub fn of(pairs: &'p AnswerPairs) -> Self {
        let items = pairs.items.iter();
        Self {
            items: items.map(|item| (item.name.as_str(), item)).collect(),
            suite: Suite::of(pairs),
        }
    }

    /// How many items both sides have answered.
    pub fn count(&self) -> usize {
        (0..self.suite.cases.len())
            .filter(|case| self.is_answered(*case))
            .count()
    }

    /// The items that are answered otherwise, with the usual answers of both sides as JSON.
    pub fn changed(&self) -> Vec<(String, String, String)> {
        let is_changed = match &self.suite.answers {
            Answers::Classes(base, head) => classes(base, head),
            Answers::Numbers(base, head) => numbers(base, head),
        };
        let cases = self.suite.cases.iter().enumerate();
        let changed = cases.filter(|(at, _)| is_changed[*at] && self.is_answered(*at));
        changed
            .filter_map(|(_, case)| {
                let item = self.items[case.name.as_str()];
                let base = item.itself.0.iter().chain(&item.own.0).flatten();
                let head = item.itself.1.iter().chain(&item.own.1).flatten();
                Some((case.name.clone(), usual(base)?, usual(head)?))
            })
            .collect()
    }

    fn is_answered(&self, case: usize) -> bool {
        let item = self.items[self.suite.cases[case].name.as_str()];
        item.itself.1.iter().any(Option::is_some)
    }
}

fn classes(base: &Side<u32>, head: &Side<u32>) -> Vec<bool> {
    let (before, after) = (Own::of(base), Own::of(head));
    let case = |at: usize| {
        let wrong = |own: &Own| wrong_own(own.e[at], own.count[at]);
        before.answers[at] != after.answers[at] && wrong(&before) + wrong(&after) < CHANCE
    };
    (0..before.answers.len()).map(case).collect()
}

fn numbers(base: &Side<f64>, head: &Side<f64>) -> Vec<bool> {
    let (before, after) = (spreads(base), spreads(head));
    let pooled = |side: &[(f64, f64, f64)]| {
        let (sum, all) = side
            .iter()
            .fold((0.0, 0.0), |(sum, all), (_, squares, freedom)| {
                (sum + squares, all + freedom)
            });
        sum / f64::max(all, 1.0)
    };
    let (noise_before, noise_after) = (pooled(&before), pooled(&after));
    let sides = before.iter().zip(&after);
    sides
        .map(|((was, _, n), (is, _, m))| {
            let error = (noise_before / (n + 1.0) + noise_after / (m + 1.0)).sqrt();
            let tiny = 1e-9 * was.abs().max(is.abs()).max(1.0);
            (was - is).abs() > APART * error + tiny
        })
        .collect()
}

/// By case: the mean, the sum of the squared distances to it, and the degrees of freedom.
fn spreads(side: &Side<f64>) -> Vec<(f64, f64, f64)> {
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

/// The answer that is given most often; of equals the first.
fn usual<'a>(answers: impl Iterator<Item = &'a kelvin_record::Answer>) -> Option<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for answer in answers {
        let text = answer.to_string();
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let first = counts.into_iter().find(|(_, count)| *count == most);
    first.map(|(text, _)| text)
}
