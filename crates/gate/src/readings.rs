//! Evaluates the same measurement in other ways: with the labels of the other side, if the change edits labels, and
//! with the best possible values for the unknown part. No calls are made for this.

use std::collections::BTreeSet;

use super::look::GUARD;
use super::policy::{Attention, Effect, Policy};
use super::verdict::{BrokenCase, Cause, Reason, ReasonCode, Verdict, Word};
use super::{Gate, Next, sentence};
use crate::align::{AlignedReports, align_by};
use crate::compare::{Measured, compare};
use crate::report::Report;
use kelvin_page::safe;
use kelvin_record::{ComparedSide, ItemComparison, ItemComparisons, Viewpoint};

/// The two reports to read.
#[derive(Clone, Debug)]
pub struct Readings<'a> {
    /// The policy, which decides about the effect of a drop.
    pub policy: &'a Policy,
    /// The report with which the change is compared.
    pub base: &'a Report,
    /// The report of the change.
    pub head: &'a Report,
    /// Why the two cannot be compared; none if they can.
    pub incomparable: Option<String>,
}

impl Readings<'_> {
    /// Settles a verdict that was made with the labels of the base. If the change edits labels, a second verdict is
    /// made with the labels of the change; the worse of the two counts and is reported first. A drop that may come from
    /// the unknown part of a metric does not decide the verdict. Returns the verdict, and the viewpoint from which it
    /// was made.
    pub fn settle(&self, mut verdict: Verdict) -> (Verdict, Viewpoint) {
        let by_base = Viewpoint::default();
        let comparisons = align_by(self.base, self.head, by_base).comparisons;
        self.soften(&mut verdict, by_base);
        let Some(edited) = edited(&comparisons, &mut verdict) else {
            return (verdict, by_base);
        };
        let by_head = Viewpoint {
            labels: ComparedSide::Head,
            ..by_base
        };
        let aligned = align_by(self.base, self.head, by_head);
        let mut own = self.still(&aligned);
        self.soften(&mut own, by_head);
        let _ = self::edited(&aligned.comparisons, &mut own);
        let (word, own_word) = (said(verdict.verdict), said(own.verdict));
        let this = format!("this change edits {edited}");
        let is_bad = |verdict: &Verdict| verdict.verdict >= Word::Inconclusive;
        if own.verdict > verdict.verdict {
            // No cases were run again for these labels, so an open verdict may be due to noise.
            if own.verdict == Word::Inconclusive {
                own.let_pass();
            }
            let text = format!(
                "{this}; by the labels of the base the verdict is {word}, and by its own it is {own_word}"
            );
            own.reasons.insert(0, relabelled(Some(Effect::Warn), text));
            return (own, by_head);
        }
        let text = format!(
            "{this}; by the labels of the base the verdict is {word}, and by its own it is {own_word}"
        );
        match (is_bad(&verdict), worse_labels(&verdict, &own)) {
            (true, _) => verdict
                .reasons
                .insert(0, relabelled(Some(Effect::Warn), text)),
            (false, Some(lower)) => {
                let text = format!("{text}; {lower}");
                verdict
                    .reasons
                    .insert(0, relabelled(Some(Effect::Warn), text));
            }
            (false, None) => {
                // The report of this change alone shows its own labels, and so other figures.
                let text = match other_figure(&verdict, &own, &|was, is| (was - is).abs()) {
                    Some(other) => {
                        format!("{text}, and the figures are by those of the base: {other}")
                    }
                    None => text,
                };
                let reasons = &mut verdict.reasons;
                let at = reasons
                    .iter()
                    .take_while(|one| one.effect.is_some())
                    .count();
                reasons.insert(at, relabelled(None, text));
            }
        }
        (verdict, by_base)
    }

    /// The verdict on the existing runs, with the two sides aligned from one of the viewpoints.
    fn still(&self, aligned: &AlignedReports) -> Verdict {
        let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
        let comparison = compare(&old, &new);
        let mut gate = Gate::new(self.policy, false, false, self.incomparable.clone());
        let probes = self.head.probes.iter();
        let are_kept = probes
            .flat_map(|(name, _)| self.head.kept(name))
            .next()
            .is_some();
        gate.answers_are_kept(are_kept);
        match gate.next(&comparison, 0) {
            Next::Verdict(verdict) => *verdict,
            Next::Rerun(_) => gate.give_up(&comparison),
        }
    }

    /// Leaves metrics open that would be within their limits with the best possible values for the unknown part.
    fn soften(&self, verdict: &mut Verdict, reading: Viewpoint) {
        if verdict.passed && verdict.verdict != Word::Regression {
            return;
        }
        let at_best = Viewpoint {
            at_best: true,
            ..reading
        };
        let aligned = align_by(self.base, self.head, at_best);
        let doubts: Vec<String> = aligned
            .comparisons
            .each()
            .filter_map(ItemComparison::doubt)
            .collect();
        if doubts.is_empty() {
            return;
        }
        let best = self.still(&aligned);
        // Collects how far each metric dropped, and how much of the drop is unknown.
        let mut shares: Vec<(String, f64, f64)> = Vec::new();
        let mut open = BTreeSet::new();
        for (id, metric) in &mut verdict.metrics {
            let (Some(drop), Some(at_best)) = (metric.drop, best.metrics.get(id)) else {
                continue;
            };
            let is_drop = matches!(metric.cause, Cause::Drop | Cause::Suspected | Cause::Items);
            let Some(least) = at_best.drop.filter(|least| is_drop && drop - least > GUARD) else {
                continue;
            };
            if metric.policy != Attention::Info {
                shares.push((id.clone(), drop, drop - least.max(0.0)));
            }
            if at_best.verdict != Word::Regression && least <= metric.max_drop + GUARD {
                metric.verdict = Word::Inconclusive;
                metric.cause = Cause::Unjudged;
                open.insert(id.clone());
            }
        }
        for case in &mut verdict.broken_cases {
            let mut at_best = best.broken_cases.iter();
            case.certain &= at_best.any(|one| one.case == case.case && one.metric == case.metric);
        }
        self.tell_again(verdict, &open);
        shares.sort_by(|(_, _, one), (_, _, other)| other.total_cmp(one));
        let Some((id, drop, share)) = shares.into_iter().next() else {
            return;
        };
        let text = format!(
            "of the drop of {drop:.4} in {}, {share:.4} may be none: {}",
            safe::line(&id),
            doubts.join("; ")
        );
        let is_open = verdict.verdict != Word::Regression;
        let reason =
            Reason::new(ReasonCode::Unjudged, is_open.then_some(Effect::Warn), text).about(id);
        match is_open {
            true => verdict.reasons.insert(0, reason),
            false => verdict.reasons.push(reason),
        }
    }

    /// Adds warnings for the metrics that are open now, and for the cases that may not have broken.
    fn tell_again(&self, verdict: &mut Verdict, open: &BTreeSet<String>) {
        let is_open = |reason: &Reason| reason.metric.as_ref().is_some_and(|id| open.contains(id));
        let mut again = Vec::new();
        for reason in std::mem::take(&mut verdict.reasons) {
            let Some(metric) = reason
                .metric
                .clone()
                .filter(|_| reason.code == ReasonCode::BrokenCases)
            else {
                let effect = match reason.effect {
                    Some(Effect::Fail) if is_open(&reason) => Some(Effect::Warn),
                    effect => effect,
                };
                again.push(Reason { effect, ..reason });
                continue;
            };
            let of_failures =
                verdict.metrics.contains_key(&metric) && metric.ends_with(".failure_rate");
            for certain in [true, false] {
                let broken = verdict.broken_cases.iter();
                let cases: Vec<&BrokenCase> = broken
                    .filter(|case| case.metric == metric && case.certain == certain)
                    .collect();
                if cases.is_empty() {
                    continue;
                }
                again.push(
                    Reason::new(
                        match certain {
                            true => ReasonCode::BrokenCases,
                            false => ReasonCode::DoubtfulCases,
                        },
                        match certain {
                            true => reason.effect,
                            false => Some(Effect::Warn),
                        },
                        sentence::broken(&cases, &verdict.nouns_of(&metric), certain, of_failures),
                    )
                    .about(metric.clone()),
                );
            }
        }
        // The sort is stable: failures stay before warnings.
        again.sort_by_key(|reason| reason.effect.map_or(2, |effect| effect as u8));
        verdict.reasons = again;
        verdict.passed = verdict
            .reasons
            .iter()
            .all(|reason| reason.effect != Some(Effect::Fail));
        let gated = verdict.metrics.values();
        let gated = gated.filter(|metric| metric.policy == Attention::Gate);
        let worst = gated.map(|metric| metric.verdict).max();
        let broke = self.policy.on_broken_case == Effect::Fail
            && verdict.broken_cases.iter().any(|case| case.certain);
        let is_other = verdict.tells(ReasonCode::OtherAnswers);
        if verdict.verdict == Word::Regression && !broke && !is_other {
            verdict.verdict = worst.unwrap_or(Word::Unmeasured).max(Word::Inconclusive);
        }
    }
}

/// Counts the edited items whose labels the change edits too, and describes their number in words; none if there is no
/// such item.
fn edited(comparisons: &ItemComparisons, verdict: &mut Verdict) -> Option<String> {
    let mut told = Vec::new();
    for (name, comparison) in comparisons.named() {
        let edited = comparison.relabelled().len();
        if edited == 0 {
            continue;
        }
        let labels = comparison.labels();
        let found = verdict.turnover.get_mut(name);
        told.push(match found {
            Some(found) => {
                found.edited += edited.saturating_sub(comparison.edited_too());
                format!("the {labels} of {edited} of {} {}", found.base, found.items)
            }
            None => format!("the {labels} of {edited} items of `{name}`"),
        });
    }
    (!told.is_empty()).then(|| told.join(" and "))
}

/// A text on the loss of an unchanged pipeline with the labels of the change: the first gated metric that these labels
/// lower, otherwise the first metric that they judge over fewer items. Either such labels are wrong, or the pipeline is
/// wrong and was already wrong on the base. If a label was removed, it cannot be checked any more whether that answer
/// is right.
fn worse_labels(by_base: &Verdict, by_head: &Verdict) -> Option<String> {
    let gated = || {
        let metrics = by_base.metrics.iter();
        let gated = metrics.filter(|(_, metric)| metric.policy == Attention::Gate);
        gated.map(|(id, metric)| (id, metric, by_head.metrics.get(id)))
    };
    other_figure(by_base, by_head, &|was, is| was - is).or_else(|| {
        gated().find_map(|(id, metric, own)| {
            let left = own.map_or(0, |own| own.cases);
            let items = by_base.nouns_of(id).items;
            let judged = match left {
                0 => "none".to_owned(),
                left => left.to_string(),
            };
            (left < metric.cases).then(|| {
                format!(
                    "its own labels judge {judged} of the {} {items} that those of the base judge",
                    metric.cases
                )
            })
        })
    })
}

/// The first gated metric of the change that the labels of the change lower, or otherwise move as far as `loss` says.
/// `loss` gets the values by the labels of the base and of the change, negated where lower is better.
fn other_figure(
    by_base: &Verdict,
    by_head: &Verdict,
    loss: &dyn Fn(f64, f64) -> f64,
) -> Option<String> {
    let metrics = by_base.metrics.iter();
    let mut gated = metrics.filter(|(_, metric)| metric.policy == Attention::Gate);
    gated.find_map(|(id, metric)| {
        let (old, new) = (metric.head?, by_head.metrics.get(id)?.head?);
        let sign = if metric.lower_is_better { -1.0 } else { 1.0 };
        (loss(sign * old, sign * new) > GUARD).then(|| {
            format!(
                "by the labels of the base `{id}` of this change is {old:.4}, and by its own it is {new:.4}"
            )
        })
    })
}

fn said(word: Word) -> String {
    word.as_str().replace('_', " ")
}

fn relabelled(effect: Option<Effect>, text: String) -> Reason {
    Reason::new(ReasonCode::Relabelled, effect, text)
}
