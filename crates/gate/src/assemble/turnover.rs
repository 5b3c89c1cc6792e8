//! The effect of lost inputs and of turnover on the verdict of a metric.

use super::{Assembly, MetricFinding};
use crate::compare::{MetricPair, Presence};
use crate::look::LookReason as Why;
use crate::missing::Missing;
use crate::policy::{Attention, Effect};
use crate::sentence::Subject;
use crate::unpaired::{has_turned, is_thin};
use crate::verdict::{Cause, Reason, ReasonCode, Word};
use crate::{losses, missing};

impl Assembly<'_> {
    /// The finding from the pairs, unless more was lost than is allowed, or the cases with the same name are worse.
    pub(super) fn with_turnover(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        paired: MetricFinding,
    ) -> MetricFinding {
        let is_comparable = pair.presence == Presence::Both && self.incomparable.is_none();
        if !is_comparable || paired.word == Word::Regression {
            return paired;
        }
        if let Some(worse) = self.by_items(id, pair, &paired) {
            return worse;
        }
        let seen = self.unpaired.get(id);
        let unpaired = |word, cause| MetricFinding {
            word,
            cause,
            why: None,
            unpaired: true,
        };
        if seen.is_some_and(|seen| seen.look.reason == Why::Drop) {
            return unpaired(Word::Regression, Cause::Drop);
        }
        if let Some((cause, why)) = self.too_little(pair) {
            return MetricFinding {
                word: Word::Unmeasured,
                cause,
                why: Some(why),
                unpaired: false,
            };
        }
        // If no cells can be paired, only the cases with the same name are left.
        let whole = &pair.coverage.whole;
        let is_alone = whole.paired == 0 && whole.base > 0;
        match seen.map(|seen| seen.look.reason) {
            Some(Why::Suspected) => unpaired(Word::Inconclusive, Cause::Suspected),
            Some(Why::Wide) if is_alone || (is_thin(pair) && paired.word == Word::Pass) => {
                unpaired(Word::Inconclusive, Cause::Wide)
            }
            _ if self.policy.on_edited == Effect::Fail && is_thin(pair) => MetricFinding {
                word: Word::Inconclusive,
                cause: Cause::Edited,
                why: None,
                unpaired: is_alone,
            },
            Some(Why::Bounded) if is_alone => unpaired(Word::Pass, Cause::Bounded),
            _ => self.with_missing(id, pair, paired),
        }
    }

    /// A finding if many more items were lost than won, so that noise cannot explain it, even if the mean hardly drops.
    fn by_items(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        paired: &MetricFinding,
    ) -> Option<MetricFinding> {
        if pair.is_failure_rate || self.types.contains_key(id) || self.policy.is_exact() {
            return None;
        }
        let (lost, won) = missing::lost_and_won(pair);
        let is_open = matches!(paired.word, Word::Pass | Word::Inconclusive);
        (is_open && missing::is_beyond_chance(lost.len(), won)).then(|| MetricFinding {
            word: Word::Regression,
            cause: Cause::Items,
            why: Some(losses::lost_items(&lost, won)),
            unpaired: false,
        })
    }

    /// A pass may not depend on the measured part if a drop beyond the limit can hide in the missing part.
    fn with_missing(
        &self,
        id: &str,
        pair: &MetricPair<'_>,
        paired: MetricFinding,
    ) -> MetricFinding {
        let look = self
            .decisions
            .get(id)
            .and_then(|decision| decision.look.as_ref().ok());
        let (Word::Pass, Some(look)) = (paired.word, look) else {
            return paired;
        };
        let limit = self.policy.max_drop(id);
        let Some(missing) = Missing::of(pair, look).filter(|missing| missing.may_hide(limit))
        else {
            return paired;
        };
        MetricFinding {
            word: match missing.share > self.policy.max_missing {
                true => Word::Unmeasured,
                false => Word::Inconclusive,
            },
            cause: Cause::Missing,
            why: Some(losses::bound(missing.count, missing.of, missing.drop)),
            unpaired: false,
        }
    }

    /// Why too little of a metric was measured; none if enough was.
    fn too_little(&self, pair: &MetricPair<'_>) -> Option<(Cause, String)> {
        let coverage = &pair.coverage;
        if !coverage.withdrawn_types.is_empty() {
            let types = coverage.withdrawn_types.iter();
            let cells = types
                .clone()
                .filter_map(|name| coverage.types.get(name))
                .map(|extent| extent.base)
                .sum();
            let types: Vec<String> = types.map(|name| (*name).to_owned()).collect();
            return Some((Cause::Withdrawn, losses::withdrawn(&types, cells)));
        }
        let most = self.policy.max_missing;
        let extents = std::iter::once((None, &coverage.whole)).chain(
            coverage
                .types
                .iter()
                .map(|(name, extent)| (Some(*name), extent)),
        );
        let (of_type, extent) = extents
            .into_iter()
            .find(|(_, extent)| extent.misses_more_than(most))?;
        if let Some(why) = pair.withheld {
            return Some((Cause::Coverage, why.to_owned()));
        }
        let (lost, of) = extent.missing();
        let text = losses::missing((lost, of), of_type, most, &coverage.withdrawn_kinds);
        // If no cells are left, the probe knows the reason, and the reader has to know this reason.
        let text = match pair.reason.filter(|_| lost == of && of_type.is_none()) {
            Some(why) => format!("{text}; {why}"),
            None => text,
        };
        Some((Cause::Coverage, text))
    }

    /// More reasons about a metric, besides its own: the values that are missing from its judgement, and the inputs
    /// that changed.
    pub(super) fn beside(&self, id: &str, policy: Attention, subject: &Subject<'_>) -> Vec<Reason> {
        let mut beside = Vec::new();
        let mut tell = |code, effect, text| {
            beside.push(Reason::new(code, effect, text).about(id));
        };
        let verdict = subject.verdict;
        let judged = !matches!(verdict.cause, Cause::Coverage | Cause::Withdrawn);
        if judged && !verdict.lost.is_empty() {
            let lost = subject.losses();
            tell(ReasonCode::LostInputs, Some(Effect::Warn), lost);
        }
        let pair = &self.comparison.metrics[id];
        if self.incomparable.is_some() || !has_turned(pair) {
            return beside;
        }
        let effect = match policy {
            // If an edit is the cause, the metric's own reason already says so.
            _ if verdict.cause == Cause::Edited => return beside,
            _ if !is_thin(pair) => None,
            Attention::Gate => Some(self.policy.on_edited),
            Attention::Warn | Attention::Info => Some(Effect::Warn),
        };
        tell(ReasonCode::OtherInputs, effect, subject.turned());
        beside
    }
}
