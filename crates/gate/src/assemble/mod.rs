//! Makes the verdict from decisions: what each metric's outcome means under the policy.

mod figures;
mod turnover;

use std::collections::{BTreeMap, BTreeSet};

use figures::drop_of_values;

use super::answers::ChangedAnswers;
use super::governing::{OpenReason, TypeDecision, TypeVerdict};
use super::look::{GUARD, Look, LookOutcome, LookReason as Why, Unmeasured};
use super::looks::{LooksEnding, MetricDecision};
use super::policy::{Attention, Effect, OnSuspected, Policy, Rule};
use super::sentence;
use super::unpaired::SameNames;
use super::verdict::{BrokenCase, Cause, MetricVerdict, Rank, Reason, ReasonCode};
use super::verdict::{Urgency, Verdict, Word};
use crate::compare::{Change, Comparison, MetricPair, Presence, loss};
use kelvin_record::{Direction, Nouns, probe_of};

/// The inputs from which a verdict is made.
pub(super) struct Assembly<'a> {
    pub(super) policy: &'a Policy,
    /// Why the two sides cannot be compared; none if they can.
    pub(super) incomparable: Option<&'a str>,
    pub(super) comparison: &'a Comparison<'a>,
    /// The decision for every metric that has cells.
    pub(super) decisions: BTreeMap<String, MetricDecision>,
    /// The decision for every metric that is judged by its swaps.
    pub(super) types: BTreeMap<String, TypeDecision>,
    /// The look at every metric whose inputs changed.
    pub(super) unpaired: BTreeMap<String, SameNames>,
    /// How the looks at the cases with the same name ended, if they are open.
    pub(super) unpaired_ending: LooksEnding,
}

/// The result for one metric, before it is expressed in words.
struct MetricFinding {
    word: Word,
    cause: Cause,
    why: Option<String>,
    /// Whether the drop was found in the cases with the same name, not in the pairs.
    unpaired: bool,
}

impl MetricFinding {
    /// A finding in the pairs, whose cause says why.
    const fn new(word: Word, cause: Cause) -> Self {
        Self {
            word,
            cause,
            why: None,
            unpaired: false,
        }
    }
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
            let (code, effect, urgency) = if certain {
                let effect = self.policy.on_broken_case;
                (ReasonCode::BrokenCases, effect, Urgency::Broken)
            } else {
                (ReasonCode::DoubtfulCases, Effect::Warn, Urgency::Doubt)
            };
            reasons.extend(by_metric.into_iter().map(|(metric, cases)| {
                let reason = Reason::new(
                    code,
                    Some(effect),
                    sentence::broken(
                        &cases,
                        &self.nouns(metric),
                        certain,
                        self.is_failure_rate(metric),
                    ),
                )
                .about(metric);
                (Rank::of(urgency), reason)
            }));
        }
        let added = self.added_broken().into_iter();
        reasons.extend(added.map(|reason| (Rank::of(Urgency::Doubt), reason)));
        let answers = self.answers();
        let alike = answers.values().filter_map(ChangedAnswers::of_one_for_all);
        let alike = alike.map(|text| (ReasonCode::OneForAll, text));
        let varying = answers.values().filter_map(ChangedAnswers::of_less_steady);
        let varying = varying.map(|text| (ReasonCode::LessSteady, text));
        let unscored = answers.values().filter_map(ChangedAnswers::of_unscored);
        let unscored = unscored.map(|text| (ReasonCode::UnscoredAnswers, text));
        let doubted: Vec<(ReasonCode, String)> = alike.chain(varying).chain(unscored).collect();
        let is_doubted = !doubted.is_empty();
        reasons.extend(doubted.into_iter().map(|(code, text)| {
            let reason = Reason::new(code, Some(Effect::Warn), text);
            (Rank::of(Urgency::Broken), reason)
        }));
        let others = answers.values().filter(|_| self.policy.same_answers);
        let others: Vec<String> = others.filter_map(ChangedAnswers::of_unchanged).collect();
        // Answers that nobody has compared do not count as equal.
        let own = self.comparison.own_probes.iter();
        let lacking = own.filter(|probe| {
            self.policy.same_answers
                && !answers
                    .get(**probe)
                    .is_some_and(ChangedAnswers::is_compared)
        });
        let lacking = lacking
            .map(|probe| format!("no answer of `{probe}` was compared with that of the base"));
        let others: Vec<String> = others.into_iter().chain(lacking).collect();
        let is_other = !others.is_empty();
        reasons.extend(others.into_iter().map(|text| {
            let reason = Reason::new(
                ReasonCode::OtherAnswers,
                Some(Effect::Fail),
                format!("{text}, and `gate.answers` asks for the same answers"),
            );
            (Rank::of(Urgency::Broken), reason)
        }));
        let gated: Vec<Word> = metrics
            .values()
            .filter(|metric| metric.policy == Attention::Gate)
            .map(|metric| metric.verdict)
            .collect();
        // The fact that the pipeline answered does not mean that the answer is right.
        let only_failures = metrics
            .iter()
            .filter(|(_, metric)| metric.policy == Attention::Gate)
            .all(|(id, _)| self.comparison.metrics[id.as_str()].is_failure_rate);
        if only_failures {
            reasons.push((Rank::of(Urgency::Doubt), nothing_gated()));
        }
        // The order is failures, warnings, others; within each group the most important first, and stable.
        let effect = |reason: &Reason| reason.effect.map_or(2, |effect| effect as u8);
        reasons.sort_by(|(one, a), (other, b)| {
            effect(a).cmp(&effect(b)).then_with(|| one.order(other))
        });
        let reasons: Vec<Reason> = reasons.into_iter().map(|(_, reason)| reason).collect();
        let broke =
            self.policy.on_broken_case == Effect::Fail && broken.iter().any(|case| case.certain);
        Verdict {
            verdict: match () {
                () if broke || is_other => Word::Regression,
                () if only_failures => gated.iter().copied().fold(Word::Unmeasured, Word::max),
                () if is_doubted => Word::Inconclusive.max(worst(&gated)),
                () => worst(&gated),
            },
            passed: reasons
                .iter()
                .all(|reason| reason.effect != Some(Effect::Fail)),
            reasons,
            metrics,
            broken_cases: broken,
            answers,
            turnover: self
                .comparison
                .turnover
                .iter()
                .map(|(probe, turnover)| ((*probe).to_owned(), turnover.clone()))
                .collect(),
            nouns: self
                .comparison
                .metrics
                .iter()
                .map(|(id, pair)| (probe_of(id).to_owned(), pair.nouns.clone()))
                .collect(),
            cannot_compute: !self.policy.may_compute,
        }
    }

    fn is_failure_rate(&self, id: &str) -> bool {
        let pair = self.comparison.metrics.get(id);
        pair.is_some_and(|pair| pair.is_failure_rate)
    }

    fn nouns(&self, id: &str) -> Nouns {
        let pair = self.comparison.metrics.get(id);
        pair.map(|pair| pair.nouns.clone()).unwrap_or_default()
    }

    /// The answers that differ from the base, by probe.
    fn answers(&self) -> BTreeMap<String, ChangedAnswers> {
        let answers = self.comparison.answers.iter();
        let answers = answers.filter(|_| self.incomparable.is_none());
        let changed = answers.filter_map(|(probe, pairs)| {
            let losses = (&self.losses(probe, true), &self.losses(probe, false));
            let answers = ChangedAnswers::of(pairs, losses, self.policy.is_exact())?;
            Some(((*probe).to_owned(), answers))
        });
        changed.collect()
    }

    /// How much each item of a probe lost, in the metric in which it lost most: of those that are gated, or of all
    /// that look at what is answered. Among the latter a value that is missing counts as an infinite loss.
    fn losses(&self, probe: &str, only_gated: bool) -> BTreeMap<&str, f64> {
        let metrics = self.comparison.metrics.iter();
        let is_asked = |pair: &MetricPair<'_>| match only_gated {
            true => pair.gated,
            false => !pair.is_failure_rate,
        };
        let gated = metrics.filter(|(id, pair)| is_asked(pair) && probe_of(id) == probe);
        let mut losses: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, case) in gated.flat_map(|(_, pair)| &pair.cases) {
            let loss = losses.entry(name).or_default();
            let missing = if only_gated { 0.0 } else { f64::INFINITY };
            *loss = loss.max(case.drop.unwrap_or(missing));
        }
        losses
    }

    fn metric(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        reasons: &mut Vec<(Rank, Reason)>,
    ) -> MetricVerdict {
        let policy = self.policy.attention(id, pair);
        let decision = self.decisions.get(id);
        let found = self.with_turnover(id, pair, self.found(id, pair, decision));
        let (look, ending) = match (&decision, self.unpaired.get(id)) {
            (_, Some(seen)) if found.unpaired => (Some(&seen.look), Some(self.unpaired_ending)),
            (Some(decision), _) => (decision.look.as_ref().ok(), Some(decision.ending)),
            (None, _) => (None, self.types.get(id).map(|decision| decision.ending)),
        };
        let verdict = self.metric_verdict(id, pair, policy, look, &found);
        let subject = sentence::Subject {
            id,
            nouns: &pair.nouns,
            direction: pair.direction,
            verdict: &verdict,
            look: look.zip(ending),
            rule: self.policy.rule,
            on_suspected: self.policy.on_suspected,
            advisable: self.policy.advisable(),
            min: self.policy.min(id),
            why: found.why.as_deref(),
            is_withheld: pair.withheld.is_some(),
            of_type: self.types.get(id).filter(|_| !found.unpaired),
        };
        if policy != Attention::Info {
            let reason = Reason::new(
                ReasonCode::Metric,
                self.effect(policy, &found, ending),
                subject.sentence(),
            )
            .about(id);
            reasons.push((verdict.rank(), reason));
            let beside = self.beside(id, policy, &subject).into_iter();
            reasons.extend(beside.map(|reason| (Rank::of(Urgency::Doubt), reason)));
        }
        verdict
    }

    /// The finding for a metric.
    fn found(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        decision: Option<&MetricDecision>,
    ) -> MetricFinding {
        let finding = MetricFinding::new;
        let told = |word, cause, why: &str| MetricFinding {
            why: Some(why.to_owned()),
            ..MetricFinding::new(word, cause)
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
            (Presence::Both, None) if self.types.contains_key(id) => of_type(&self.types[id]),
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
                    pair.reason
                        .unwrap_or(&format!("no {} is the same on both sides", pair.nouns.item)),
                ),
                None => self.by_value(id, pair),
            },
        };
        if at_worst && compared.word != Word::Regression {
            return finding(Word::Regression, Cause::Minimum);
        }
        compared
    }

    /// The finding for a metric without values by case, whose noise is unknown.
    fn by_value(&self, id: &str, pair: &MetricPair<'_>) -> MetricFinding {
        let finding = |word, cause| MetricFinding {
            why: pair.reason.map(str::to_owned),
            ..MetricFinding::new(word, cause)
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

    /// The warnings about new items that have the worst value, one for each metric. An item that fails several metrics
    /// is reported only once: for a missing answer, else for a metric that the configuration requires of every item,
    /// else for a gated metric. The value of a metric with variants says how an item reacts to a change, not whether
    /// the item is right, so such a metric counts only if the configuration requires it.
    fn added_broken(&self) -> Vec<Reason> {
        let has_variants = |pair: &MetricPair<'_>| {
            let mut cells = pair.cases.values().flat_map(|case| &*case.cells);
            cells.any(|cell| cell.variant.is_some())
        };
        let is_judged_by_itself = |id: &str, pair: &MetricPair<'_>| {
            let is_gated = self.policy.attention(id, pair) == Attention::Gate;
            is_gated
                && pair.presence == Presence::Both
                && !has_variants(pair)
                && !self.types.contains_key(id)
        };
        let all = self.comparison.metrics.iter();
        let mut all: Vec<(&str, &MetricPair<'_>)> = all
            .map(|(id, pair)| (*id, pair))
            .filter(|(id, pair)| {
                pair.is_declared || pair.is_failure_rate || is_judged_by_itself(id, pair)
            })
            .collect();
        all.sort_by_key(|(_, pair)| (!pair.is_failure_rate, !pair.is_declared, pair.by_rank));
        let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
        let reasons = all.into_iter().filter_map(|(id, pair)| {
            let broken = added_broken(pair).filter(|name| told.insert((probe_of(id), name)));
            let broken: Vec<String> = broken.map(str::to_owned).collect();
            (!broken.is_empty()).then(|| {
                Reason::new(
                    ReasonCode::AddedBroken,
                    Some(Effect::Warn),
                    sentence::added_broken(&broken, id, pair.is_failure_rate),
                )
                .about(id)
            })
        });
        reasons.collect()
    }

    /// The effect of a finding.
    fn effect(
        &self,
        policy: Attention,
        found: &MetricFinding,
        ending: Option<LooksEnding>,
    ) -> Option<Effect> {
        let rerun = ending.is_some_and(LooksEnding::was_rerun);
        let effect = match (found.word, found.cause) {
            (Word::Pass | Word::Unaffected | Word::NoBaseline | Word::BaselineUnreachable, _) => {
                return None;
            }
            (Word::Regression | Word::PendingApproval, _) => Effect::Fail,
            (Word::Unmeasured, _) => self.policy.on_unmeasured,
            (Word::Inconclusive, Cause::Suspected) => match self.policy.on_suspected {
                OnSuspected::Always(effect) => effect,
                OnSuspected::Auto if rerun => Effect::Warn,
                OnSuspected::Auto => Effect::Fail,
            },
            (Word::Inconclusive, Cause::Edited) => self.policy.on_edited,
            (Word::Inconclusive, _) => Effect::Warn,
        };
        match policy {
            Attention::Gate => Some(effect),
            Attention::Warn => Some(Effect::Warn),
            Attention::Info => None,
        }
    }
}

/// The new items that have the worst value of a metric in every run. There is no base with which they could be
/// compared, so they only lead to a warning.
fn added_broken<'p>(pair: &'p MetricPair<'_>) -> impl Iterator<Item = &'p str> {
    let worst = match pair.direction {
        Direction::Higher => pair.range.low,
        Direction::Lower => pair.range.high,
    };
    let is_worst = move |value: f64| worst.is_some_and(|worst| (value - worst).abs() <= GUARD);
    let added = pair
        .cases
        .iter()
        .filter(|(_, case)| case.change == Change::Added);
    added
        .filter(move |(_, case)| case.head.is_some_and(is_worst))
        .map(|(name, _)| *name)
}

/// The finding from the swaps of a type.
const fn of_type(decision: &TypeDecision) -> MetricFinding {
    let (word, cause) = match decision.verdict {
        TypeVerdict::Pass | TypeVerdict::MadeRoom => (Word::Pass, Cause::Bounded),
        TypeVerdict::Regression => (Word::Regression, Cause::Drop),
        TypeVerdict::Open(OpenReason::Suspected | OpenReason::Strays | OpenReason::Trade) => {
            (Word::Inconclusive, Cause::Suspected)
        }
        TypeVerdict::Open(OpenReason::Wide | OpenReason::Noise) => {
            (Word::Inconclusive, Cause::Wide)
        }
    };
    MetricFinding::new(word, cause)
}

fn seen(look: &Look) -> MetricFinding {
    let word = match look.outcome {
        LookOutcome::Regression => Word::Regression,
        LookOutcome::Pass => Word::Pass,
        LookOutcome::Inconclusive => Word::Inconclusive,
    };
    let cause = match look.reason {
        Why::Drop => Cause::Drop,
        Why::Bounded => Cause::Bounded,
        Why::Suspected => Cause::Suspected,
        Why::Wide => Cause::Wide,
    };
    MetricFinding::new(word, cause)
}

/// The reason if no metric is gated, which never passes.
fn nothing_gated() -> Reason {
    Reason::new(
        ReasonCode::NothingGated,
        Some(Effect::Warn),
        "no metric is gated: name one under `gate: metrics:`".to_owned(),
    )
}

/// The worst word of the gated metrics; a new metric counts only if there are no others.
fn worst(words: &[Word]) -> Word {
    let old = words.iter().filter(|word| **word != Word::NoBaseline).max();
    match old {
        Some(word) => *word,
        None => Word::NoBaseline,
    }
}
