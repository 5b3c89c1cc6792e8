//! From decisions to the verdict: what each metric's outcome means under the policy.

mod figures;

use std::collections::BTreeMap;

use figures::drop_of_values;

use super::look::{GUARD, Look, Outcome, Reason as Why, Unmeasured};
use super::looks::Decision;
use super::policy::{Attention, Effect, OnSuspected, Policy, Rule};
use super::sentence;
use super::verdict::{BrokenCase, Cause, MetricVerdict, Rank, Reason, Urgency, Verdict, Word};
use crate::baseline::compare::{Comparison, MetricPair, Presence, loss};

/// Everything a verdict is made from.
pub(super) struct Assembly<'a> {
    pub(super) policy: &'a Policy,
    /// Why the two sides cannot be compared at all, where they cannot.
    pub(super) incomparable: Option<&'a str>,
    pub(super) comparison: &'a Comparison<'a>,
    /// By metric; of every metric that has cells.
    pub(super) decisions: BTreeMap<String, Decision>,
}

/// How one metric came out, before its words.
struct Finding {
    word: Word,
    cause: Cause,
    why: Option<String>,
}

impl Assembly<'_> {
    /// The verdict on all metrics and all broken cases.
    pub(super) fn verdict(&self, broken: Vec<BrokenCase>) -> Verdict {
        let mut reasons: Vec<(Rank, Reason)> = Vec::new();
        let mut metrics = BTreeMap::new();
        for (id, pair) in &self.comparison.metrics {
            let metric = self.metric(id, pair, &mut reasons);
            metrics.insert((*id).to_owned(), metric);
        }
        for certain in [true, false] {
            let mut by_metric: BTreeMap<&str, Vec<&BrokenCase>> = BTreeMap::new();
            for case in broken.iter().filter(|case| case.certain == certain) {
                by_metric.entry(&case.metric).or_default().push(case);
            }
            let (effect, urgency) = if certain {
                (self.policy.on_broken_case, Urgency::Broken)
            } else {
                (Effect::Warn, Urgency::Doubt)
            };
            reasons.extend(by_metric.into_iter().map(|(metric, cases)| {
                let reason = Reason {
                    effect: Some(effect),
                    metric: Some(metric.to_owned()),
                    text: sentence::broken(&cases, certain),
                };
                (Rank::of(urgency), reason)
            }));
        }
        let gated: Vec<Word> = metrics
            .values()
            .filter(|metric| metric.policy == Attention::Gate)
            .map(|metric| metric.verdict)
            .collect();
        if gated.is_empty() {
            let reason = Reason {
                effect: Some(Effect::Warn),
                metric: None,
                text: "no metric is gated: name one under `gate: metrics:`, or add cases"
                    .to_owned(),
            };
            reasons.push((Rank::of(Urgency::Doubt), reason));
        }
        // What fails, what warns, the rest; of each what matters most, and in a stable order.
        let effect = |reason: &Reason| reason.effect.map_or(2, |effect| effect as u8);
        reasons.sort_by(|(one, a), (other, b)| {
            effect(a).cmp(&effect(b)).then_with(|| one.order(other))
        });
        let reasons: Vec<Reason> = reasons.into_iter().map(|(_, reason)| reason).collect();
        let broke =
            self.policy.on_broken_case == Effect::Fail && broken.iter().any(|case| case.certain);
        Verdict {
            verdict: if broke {
                Word::Regression
            } else {
                worst(&gated)
            },
            passed: reasons
                .iter()
                .all(|reason| reason.effect != Some(Effect::Fail)),
            reasons,
            metrics,
            broken_cases: broken,
        }
    }

    fn metric(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        reasons: &mut Vec<(Rank, Reason)>,
    ) -> MetricVerdict {
        let policy = self.policy.attention(id, pair);
        let decision = self.decisions.get(id);
        let look = decision.and_then(|decision| decision.look.as_ref().ok());
        let found = self.found(id, pair, decision);
        let verdict = self.told(id, pair, policy, look, decision, &found);
        let subject = sentence::Subject {
            id,
            direction: pair.direction,
            verdict: &verdict,
            look: look.zip(decision.map(|decision| decision.ending)),
            rule: self.policy.rule,
            on_suspected: self.policy.on_suspected,
            min: self.policy.min(id),
            why: found.why.as_deref(),
        };
        if policy != Attention::Info {
            let reason = |effect, text| Reason {
                effect,
                metric: Some(id.to_owned()),
                text,
            };
            let effect = self.effect(policy, &found, decision);
            reasons.push((verdict.rank(), reason(effect, subject.sentence())));
            if found.cause != Cause::Coverage && !verdict.lost.is_empty() {
                let losses = reason(Some(Effect::Warn), subject.losses());
                reasons.push((Rank::of(Urgency::Doubt), losses));
            }
        }
        verdict
    }

    /// What became of the metric.
    fn found(&self, id: &str, pair: &MetricPair<'_>, decision: Option<&Decision>) -> Finding {
        let finding = |word, cause| Finding {
            word,
            cause,
            why: None,
        };
        let told = |word, cause, why: &str| Finding {
            word,
            cause,
            why: Some(why.to_owned()),
        };
        let at_worst = self.policy.min(id).is_some_and(|min| {
            pair.head
                .is_some_and(|head| loss(pair.direction, head) > loss(pair.direction, min) + GUARD)
        });
        let compared = match (pair.presence, self.incomparable) {
            (Presence::HeadOnly, _) => finding(Word::NoBaseline, Cause::New),
            (Presence::BaseOnly, _) => told(
                Word::Unmeasured,
                Cause::NoValue,
                "the head does not have it",
            ),
            (Presence::Turned, _) => finding(Word::Unmeasured, Cause::Incomparable),
            (Presence::Both, Some(why)) => told(Word::Unmeasured, Cause::Incomparable, why),
            (Presence::Both, None) => match decision.map(|decision| &decision.look) {
                Some(Ok(look)) => seen(look),
                Some(Err(Unmeasured::Nothing)) => {
                    let why = pair.reason.unwrap_or("the base has no value");
                    told(Word::Unmeasured, Cause::NoValue, why)
                }
                Some(Err(Unmeasured::Coverage { .. })) => {
                    finding(Word::Unmeasured, Cause::Coverage)
                }
                None if !pair.cases.is_empty() => told(
                    Word::Unmeasured,
                    Cause::NoValue,
                    pair.reason.unwrap_or("no case is the same on both sides"),
                ),
                None => self.by_value(id, pair),
            },
        };
        if at_worst && compared.word != Word::Regression {
            return finding(Word::Regression, Cause::Minimum);
        }
        compared
    }

    /// A metric without values by case: nothing tells its noise.
    fn by_value(&self, id: &str, pair: &MetricPair<'_>) -> Finding {
        let finding = |word, cause| Finding {
            word,
            cause,
            why: pair.reason.map(str::to_owned),
        };
        match drop_of_values(pair) {
            None => finding(Word::Unmeasured, Cause::NoValue),
            Some(drop) if drop <= self.policy.max_drop(id) + GUARD => {
                finding(Word::Pass, Cause::Bounded)
            }
            Some(_) if self.policy.rule == Rule::Threshold || self.policy.deterministic => {
                finding(Word::Regression, Cause::Drop)
            }
            Some(_) => finding(Word::Inconclusive, Cause::Suspected),
        }
    }

    /// What a finding does.
    fn effect(
        &self,
        policy: Attention,
        found: &Finding,
        decision: Option<&Decision>,
    ) -> Option<Effect> {
        let rerun = decision.is_some_and(|decision| decision.ending.was_rerun());
        let effect = match (found.word, found.cause) {
            (Word::Pass | Word::NoBaseline | Word::BaselineUnreachable, _) => return None,
            (Word::Regression, _) => Effect::Fail,
            (Word::Unmeasured, _) => self.policy.on_unmeasured,
            (Word::Inconclusive, Cause::Suspected) => match self.policy.on_suspected {
                OnSuspected::Always(effect) => effect,
                OnSuspected::Auto if rerun => Effect::Warn,
                OnSuspected::Auto => Effect::Fail,
            },
            (Word::Inconclusive, _) => Effect::Warn,
        };
        match policy {
            Attention::Gate => Some(effect),
            Attention::Warn => Some(Effect::Warn),
            Attention::Info => None,
        }
    }
}

fn seen(look: &Look) -> Finding {
    let word = match look.outcome {
        Outcome::Regression => Word::Regression,
        Outcome::Pass => Word::Pass,
        Outcome::Inconclusive => Word::Inconclusive,
    };
    let cause = match look.reason {
        Why::Drop => Cause::Drop,
        Why::Bounded => Cause::Bounded,
        Why::Suspected => Cause::Suspected,
        Why::Wide => Cause::Wide,
    };
    Finding {
        word,
        cause,
        why: None,
    }
}

/// The worst of the gated metrics; a new one has no say where there are others.
fn worst(words: &[Word]) -> Word {
    let old = words.iter().filter(|word| **word != Word::NoBaseline).max();
    match old {
        Some(word) => *word,
        None if words.is_empty() => Word::Pass,
        None => Word::NoBaseline,
    }
}
