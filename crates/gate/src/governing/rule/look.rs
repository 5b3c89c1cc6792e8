//! Makes one look at all types: the status of each, and the verdict that results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::noise::{E_MIN, UsualAnswers, binomial, wrong_own};
use super::states::{DOUBT, Likelihoods, PSEUDO, States};
use super::{Answers, SuiteSide, SwapSuite, numbers};
use super::{FEWEST_TELLING, LossLimit, PASS, SURE, SuiteRules};
use crate::look::GUARD;

/// A case whose answers vary more than this on the base is left out.
const UNSTEADY: f64 = 0.25;

/// How many standard errors noisier than on the base a case on the head must be to count as lost to noise.
const CELL_Z: f64 = 2.3;

/// The share of the steady cases that may be lost to noise.
const CELLS: f64 = 0.10;

/// A swap certainly moves the decision if its probability to do so is at least this.
const FIRM: f64 = 0.98;

/// With noise, the swaps of a type move the decision only if chance alone produces as many cases with a certainly
/// moving swap with at most this probability.
const CHANCE: f64 = 0.01;

/// A type whose share rises counts as new only if its share on the base was at most this.
const NEW_HAD: f64 = 0.03;

/// How certain a gain must be to explain a drop, and which part of the drop it must explain: for a new type, and for a
/// type that decided before.
const LIKELY: f64 = 0.9;
const NEW_SHARE: f64 = 1.0 / 3.0;
const TRADE_SHARE: f64 = 0.5;

/// A type is still followed if at least this many of its swaps are expected to move the decision. It is lost if at most
/// this many are, or this part of them.
const STILL: f64 = 1.0;
const GONE: f64 = 0.5;
const GONE_SHARE: f64 = 0.05;

/// If another type may rightly decide now, the loss must occur in at least this many cases, and for each of two answers
/// at least this many swaps must be informative.
const CASES: usize = 10;
const TELL: usize = 6;

/// A type decides nothing if, for each of two answers, at least this many swaps are informative and none moves the decision.
/// With six, four of a thousand types that came back were taken for types that decide nothing; with twelve it is one.
const IDLE: usize = 12;

/// An item is settled if the probability that it moves is closer to 0 or 1 than this.
const SETTLED: f64 = 0.002;

/// The figures of a type after one look.
#[derive(Clone, Debug)]
pub struct TypeFigures {
    /// How many swaps were compared.
    pub swaps: usize,
    /// How many swaps are considered to move the decision on the base.
    pub moved_base: usize,
    /// How many swaps are considered to move the decision on the head.
    pub moved_head: usize,
    /// How many swaps are expected to move the decision on the base; the next field counts the cases of the likely
    /// ones.
    pub firm: f64,
    pub(super) firm_cases: usize,
    /// The share of swaps that moved the decision on the base; for numbers the share of the squared distances.
    pub had: f64,
    /// The share of swaps that moved the decision on the head; for numbers the share of the squared distances.
    pub has: f64,
    /// How much of the share is lost, net; negative if more is won.
    pub drop: f64,
    /// The loss that is allowed.
    pub limit: f64,
    pub(super) is_followed_base: bool,
    pub(super) is_followed_head: bool,
    /// How many swaps are expected to move the decision on both sides.
    pub(super) still: f64,
    /// The probability that more is lost than allowed; none for numbers.
    pub likely_loss: Option<f64>,
    pub(super) is_dropped: bool,
    pub(super) is_kept: bool,
    /// Whether the share certainly rose by more than the limit.
    pub(super) rises: bool,
    pub(super) won: Won,
}

/// How certain it is that a type decides more than before.
#[derive(Clone, Debug)]
pub(super) enum Won {
    /// For classes: the states of the items.
    Items(States),
    /// For numbers: the gained squares, and their standard error.
    Numbers { squares: f64, error: f64 },
}

impl Won {
    /// The probability that a type gained more than this share.
    fn chance(&self, share: f64) -> f64 {
        match self {
            Self::Items(states) => states.won_beyond(share * states.len() as f64),
            Self::Numbers { squares, error } => {
                let z = match *error > 1e-12 {
                    true => -squares / error,
                    false if *squares < -GUARD => 99.0,
                    false => 0.0,
                };
                f64::from(u8::from(-squares >= share && z > 2.0))
            }
        }
    }
}

/// The figures of all types together after one look.
#[derive(Clone, Debug)]
pub(super) struct WholeSuite {
    /// Whether answers were observed to vary, on either side.
    pub(super) is_noisy: bool,
    /// The share of the base's steady cases that are lost to noise on the head.
    pub(super) lost_cells: f64,
    pub(super) is_constant_head: bool,
    pub(super) is_constant_base: bool,
    /// For each type: whether the swaps are informative for at least two answers of the head.
    pub(super) tells: Vec<bool>,
    /// For each type: whether it has so many informative swaps that it decides nothing if none of them moves the decision.
    pub(super) may_be_idle: Vec<bool>,
    /// For each item: whether more answers would help to decide, on the base and on the head.
    pub(super) unsettled: (Vec<bool>, Vec<bool>),
    /// For each item: whether more answers would help to decide on either side, or whether it moves the decision on one
    /// side only.
    pub(super) doubtful: Vec<bool>,
    /// The indices of the cases that are left out because their answers vary on the base.
    pub(super) unsteady: Vec<usize>,
}

/// How far a type is followed on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The head follows the type as the base did.
    Followed,
    /// The base followed the type, and on the head almost none of its swaps moves the decision any more.
    Lost,
    /// The base followed the type, and on the head fewer of its swaps move the decision.
    Less,
    /// Only the head follows the type.
    New,
    /// Neither side follows the type, although the suite has enough swaps to show whether it is followed.
    Ignored,
    /// The suite has too few informative swaps of the type.
    Unseen,
}

/// The verdict on a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeVerdict {
    /// The type is not worse by more than is allowed.
    Pass,
    /// The type decides less often, because a type that the base ignored now decides.
    MadeRoom,
    /// The type is worse by more than is allowed.
    Regression,
    /// The looks cannot decide about the type.
    Open(OpenReason),
}

/// Why the verdict on a type is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenReason {
    /// Probably more is lost than allowed, and more answers or cases would help to decide.
    Suspected,
    /// A loss beyond the limit cannot be excluded.
    Wide,
    /// The share of another type increased by the same amount, or another type may block this type: labels or an
    /// approval can decide.
    Trade,
    /// Too many cases became unsteady on the head.
    Noise,
    /// The type counts as not lost only because of answers that no case has.
    Strays,
}

/// One look at a suite.
#[derive(Clone, Debug)]
pub(super) struct SuiteLook {
    pub types: Vec<(TypeFigures, Status, TypeVerdict)>,
    pub(super) whole: WholeSuite,
}

impl SuiteLook {
    /// The indices of the open types.
    pub(super) fn open(&self) -> Vec<usize> {
        let types = self.types.iter().enumerate();
        let open = types.filter(|(_, (.., verdict))| matches!(verdict, TypeVerdict::Open(_)));
        open.map(|(place, _)| place).collect()
    }

    pub(super) fn has_failed(&self) -> bool {
        let mut types = self.types.iter();
        types.any(|(.., verdict)| *verdict == TypeVerdict::Regression)
    }
}

/// Makes one look. `more_base`: whether the base has so few runs that it must be run again first.
pub(super) fn look(suite: &SwapSuite, rules: &SuiteRules<'_>, more_base: bool) -> SuiteLook {
    let (types, whole) = match &suite.answers {
        Answers::Classes(base, head) => classes(suite, (base, head), rules),
        Answers::Numbers(base, head) => numbers::judge(suite, (base, head), rules),
    };
    let is_first = suite.draws().1 < 2 && !rules.is_exact;
    let verdicts = verdicts(&types, &whole, (is_first, more_base));
    let statuses = types.iter().zip(&verdicts);
    let statuses: Vec<Status> = statuses
        .map(|(figures, verdict)| status(figures, *verdict))
        .collect();
    let types = types.into_iter().zip(statuses).zip(verdicts);
    SuiteLook {
        types: types
            .map(|((figures, status), verdict)| (figures, status, verdict))
            .collect(),
        whole,
    }
}

/// The figures for answers that are either equal or not.
fn classes(
    suite: &SwapSuite,
    (base, head): (&SuiteSide<u32>, &SuiteSide<u32>),
    rules: &SuiteRules<'_>,
) -> (Vec<TypeFigures>, WholeSuite) {
    let mut before = UsualAnswers::of(base);
    let mut after = UsualAnswers::of(head);
    if head.draws < 2 {
        after.at_least(&before);
    }
    if rules.is_exact {
        before.as_seen();
        after.as_seen();
    }
    let mut known: Vec<u32> = before
        .answers
        .iter()
        .chain(&after.answers)
        .copied()
        .collect();
    known.sort_unstable();
    known.dedup();
    let count = known.len().max(2);
    let steady: Vec<bool> = before.e.iter().map(|e| *e <= UNSTEADY).collect();
    let lost_cells = lost_cells(&before, &after, &steady);
    let is_noisy = before.is_noisy() || after.is_noisy();
    let sides = NoisySides {
        suite,
        base: (base, &before),
        head: (head, &after),
        steady: &steady,
        is_noisy: is_noisy && !rules.is_exact,
        plain: pair(
            suite,
            (base, &before, &before.e),
            (head, &after, &after.e),
            count,
        ),
        wary: pair(
            suite,
            (base, &before, &before.upper),
            (head, &after, &after.upper),
            count,
        ),
    };
    let mut unsettled = (
        vec![false; suite.items.len()],
        vec![false; suite.items.len()],
    );
    let mut doubtful = vec![false; suite.items.len()];
    let types = (0..suite.types.len())
        .map(|of_type| {
            let places: Vec<usize> = suite
                .of_type(of_type)
                .into_iter()
                .filter(|place| steady[suite.items[*place].case])
                .collect();
            let (figures, moved) = sides.figures(&places, rules.max_drop[of_type]);
            for ((place, base), head) in places.iter().zip(&moved.0).zip(&moved.1) {
                unsettled.0[*place] = !is_settled(*base);
                unsettled.1[*place] = !is_settled(*head);
                doubtful[*place] = is_doubtful(*base, *head);
            }
            figures
        })
        .collect();
    let is_constant = |own: &UsualAnswers| own.answers.windows(2).all(|pair| pair[0] == pair[1]);
    let unsteady = steady.iter().enumerate().filter(|(_, steady)| !**steady);
    let whole = WholeSuite {
        is_noisy,
        lost_cells,
        is_constant_head: is_constant(&after),
        is_constant_base: is_constant(&before),
        tells: tells(suite, &after, TELL),
        may_be_idle: tells(suite, &after, IDLE),
        unsettled,
        doubtful,
        unsteady: unsteady.map(|(case, _)| case).collect(),
    };
    (types, whole)
}

/// Whether it is certain that an item moves the decision, or that it does not.
fn is_settled(chance: f64) -> bool {
    chance <= SETTLED || chance >= 1.0 - SETTLED
}

/// Whether another run may help to decide about an item, by the probabilities that it moves the decision on both sides.
fn is_doubtful(base: f64, head: f64) -> bool {
    !is_settled(base) || !is_settled(head) || (base > 0.5) != (head > 0.5)
}

/// The likelihoods of both sides.
type Pair = (Likelihoods, Likelihoods);

fn pair(
    suite: &SwapSuite,
    base: (&SuiteSide<u32>, &UsualAnswers, &[f64]),
    head: (&SuiteSide<u32>, &UsualAnswers, &[f64]),
    classes: usize,
) -> Pair {
    let of = |(side, own, e): (&SuiteSide<u32>, &UsualAnswers, &[f64])| {
        Likelihoods::of(side, own, e, (&suite.items, classes))
    };
    (of(base), of(head))
}

/// Both sides, with estimates of their noise.
struct NoisySides<'s> {
    suite: &'s SwapSuite,
    base: (&'s SuiteSide<u32>, &'s UsualAnswers),
    head: (&'s SuiteSide<u32>, &'s UsualAnswers),
    steady: &'s [bool],
    is_noisy: bool,
    /// The likelihoods with the estimated noise.
    plain: Pair,
    /// The likelihoods with the upper bound of the noise.
    wary: Pair,
}

impl NoisySides<'_> {
    /// The figures of these items, and the probability of each that it moves the decision, on the base and on the head.
    fn figures(
        &self,
        places: &[usize],
        max_drop: LossLimit,
    ) -> (TypeFigures, (Vec<f64>, Vec<f64>)) {
        let states =
            |pair: &Pair, pseudo| States::of(&pair.0.pick(places), &pair.1.pick(places), pseudo);
        let plain = states(&self.plain, PSEUDO);
        let wary = states(&self.wary, PSEUDO);
        let doubt = states(&self.plain, DOUBT);
        let (base, head) = (plain.moved_on_base(), plain.moved_on_head());
        let n = places.len() as f64;
        let firm: f64 = base.iter().sum();
        let share = |sum: f64| if n > 0.0 { sum / n } else { 0.0 };
        let had = share(firm);
        let limit = max_drop.of(had);
        let likely_loss = plain.lost_beyond(limit * n);
        let still = plain.moved_on_both();
        let mut firm_cases: Vec<usize> = places
            .iter()
            .zip(&base)
            .filter(|(_, chance)| **chance > 0.5)
            .map(|(place, _)| self.suite.items[*place].case)
            .collect();
        firm_cases.sort_unstable();
        firm_cases.dedup();
        let count = |moved: &[f64]| moved.iter().filter(|chance| **chance > 0.5).count();
        // A noisy single run may be lucky, unless there is no swap that another run could change.
        let mut pairs = base.iter().zip(&head);
        let agrees = |(base, head): (&f64, &f64)| !is_doubtful(*base, *head);
        let may_pass = !self.is_noisy || self.head.0.draws > 1 || pairs.all(agrees);
        let figures = TypeFigures {
            swaps: places.len(),
            moved_base: count(&base),
            moved_head: count(&head),
            firm,
            firm_cases: firm_cases.len(),
            had,
            has: share(head.iter().sum()),
            drop: share(plain.net()),
            limit,
            is_followed_base: self.is_beyond_chance(places, &base, self.base),
            is_followed_head: self.is_beyond_chance(places, &head, self.head) || still >= STILL,
            still,
            likely_loss: Some(likely_loss),
            is_dropped: likely_loss.min(wary.lost_beyond(limit * n)) >= SURE,
            is_kept: likely_loss.max(doubt.lost_beyond(limit * n)) <= PASS && may_pass,
            rises: plain.won_beyond(limit * n) >= SURE,
            won: Won::Items(plain),
        };
        (figures, (base, head))
    }

    /// Whether more cases have a certainly moving item than wrong usual answers and lucky runs would produce.
    fn is_beyond_chance(
        &self,
        places: &[usize],
        moved: &[f64],
        (side, own): (&SuiteSide<u32>, &UsualAnswers),
    ) -> bool {
        let case = |place: &usize| self.suite.items[*place].case;
        let mut cases: Vec<usize> = places
            .iter()
            .zip(moved)
            .filter(|(_, chance)| **chance >= FIRM)
            .map(|(place, _)| case(place))
            .collect();
        cases.sort_unstable();
        cases.dedup();
        if !self.is_noisy || cases.is_empty() {
            return !cases.is_empty();
        }
        let mut swaps = vec![0_usize; self.steady.len()];
        places.iter().for_each(|place| swaps[case(place)] += 1);
        let most_runs = side.most_runs(&self.suite.items, self.steady.len());
        let mut by_luck = 0.0;
        for case in (0..self.steady.len()).filter(|case| self.steady[*case]) {
            let runs = most_runs[case];
            let need = (0.8 * runs as f64).ceil() as usize;
            let unlucky: f64 = (need..=runs).map(|x| binomial(runs, x, own.e[case])).sum();
            // Two runs that agree are no proof, but four in a row are.
            let weight = if runs > 2 { 1.0 } else { 0.1 };
            let wrong = wrong_own(own.e[case], own.count[case]);
            by_luck += (wrong + swaps[case] as f64 * unlucky * weight).min(1.0);
        }
        1.0 - poisson_below(cases.len(), by_luck) <= CHANCE
    }
}

/// The probability of fewer than `count` events in a Poisson distribution.
fn poisson_below(count: usize, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = 0.0;
    for at in 0..count {
        sum += term;
        term *= mean / (at + 1) as f64;
    }
    sum
}

/// The share of the steady cases that are unsteady on the head beyond chance, either case by case or all together.
fn lost_cells(before: &UsualAnswers, after: &UsualAnswers, steady: &[bool]) -> f64 {
    let variance = |own: &UsualAnswers, case: usize| {
        let e = own.e[case];
        e * (1.0 - e) / (own.count[case] as f64 + super::noise::SHRINK)
    };
    let cases: Vec<usize> = (0..steady.len()).filter(|case| steady[*case]).collect();
    if cases.is_empty() {
        return 0.0;
    }
    let n = cases.len() as f64;
    let gap: f64 = cases
        .iter()
        .map(|case| after.e[*case] - before.e[*case])
        .sum();
    let error: f64 = (0..steady.len())
        .map(|case| 0.25 / (after.count[case] as f64 + super::noise::SHRINK))
        .sum();
    let is_whole = gap / n > CELL_Z * (error / steady.len() as f64 / n).sqrt();
    let is_lost = |case: &&usize| {
        let case = **case;
        let z = (after.e[case] - before.e[case])
            / (variance(before, case) + variance(after, case)).sqrt();
        after.e[case] > UNSTEADY && (z > CELL_Z || is_whole)
    };
    cases.iter().filter(is_lost).count() as f64 / n
}

/// For each type: whether two answers of the head have enough swaps each, counting those whose donor has another answer.
fn tells(suite: &SwapSuite, head: &UsualAnswers, enough: usize) -> Vec<bool> {
    let of_type = |of_type: usize| {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for item in &suite.items {
            let answer = head.answers[item.case];
            let at = counts.iter().position(|(known, _)| *known == answer);
            let at = at.unwrap_or_else(|| {
                counts.push((answer, 0));
                counts.len() - 1
            });
            let donor = item.donor.map(|donor| head.answers[donor]);
            let could = item.of_type == of_type && donor.is_some_and(|donor| donor != answer);
            counts[at].1 += usize::from(could);
        }
        counts.iter().filter(|(_, count)| *count >= enough).count() >= 2
    };
    (0..suite.types.len()).map(of_type).collect()
}

/// The verdicts on all types. `is_first`: the head was run once, and may be lucky; `more_base`: the base is run again
/// first.
fn verdicts(
    types: &[TypeFigures],
    whole: &WholeSuite,
    (is_first, more_base): (bool, bool),
) -> Vec<TypeVerdict> {
    let new: Vec<bool> = types
        .iter()
        .map(|one| {
            !is_first
                && !one.is_followed_base
                && one.had <= NEW_HAD
                && one.is_followed_head
                && one.rises
        })
        .collect();
    let mut verdicts: Vec<TypeVerdict> = (0..types.len())
        .map(|at| {
            let about = About {
                types,
                whole,
                new: &new,
                at,
                more_base,
            };
            match about.verdict() {
                TypeVerdict::Regression if is_first => TypeVerdict::Open(OpenReason::Suspected),
                verdict => verdict,
            }
        })
        .collect();
    // If everything may be lost, no loss is too large.
    let may_be_lost = types.iter().all(|one| one.limit >= 1.0 - GUARD);
    let passes = |one: &TypeVerdict| matches!(one, TypeVerdict::Pass | TypeVerdict::MadeRoom);
    if whole.lost_cells > CELLS && !may_be_lost && verdicts.iter().all(passes) {
        verdicts.fill(TypeVerdict::Open(OpenReason::Noise));
    }
    verdicts
}

/// One type and its relation to the others.
struct About<'a> {
    types: &'a [TypeFigures],
    whole: &'a WholeSuite,
    new: &'a [bool],
    at: usize,
    more_base: bool,
}

impl About<'_> {
    fn verdict(&self) -> TypeVerdict {
        let one = &self.types[self.at];
        let is_few = one.firm < FEWEST_TELLING as f64;
        let is_likely = one.likely_loss.is_some_and(|chance| chance > 0.5);
        let may_be_seen = self.more_base && one.firm >= 1.0;
        if one.is_kept && (one.is_followed_base || !may_be_seen) {
            return TypeVerdict::Pass;
        }
        if !one.is_followed_base && is_few && !self.more_base && !is_likely {
            return TypeVerdict::Pass;
        }
        let open = TypeVerdict::Open(match is_likely || one.is_dropped {
            true => OpenReason::Suspected,
            false => OpenReason::Wide,
        });
        if !one.is_followed_base {
            return open;
        }
        if one.is_followed_head && self.has_made_room() {
            return TypeVerdict::MadeRoom;
        }
        if !one.is_dropped {
            return open;
        }
        match self.of_dropped() {
            // Without any noise on either side, a few swaps are as good a proof as many.
            TypeVerdict::Regression if is_few && self.whole.is_noisy => open,
            verdict => verdict,
        }
    }

    /// The other types that may decide in place of this type, or block it.
    fn others(&self) -> impl Iterator<Item = &TypeFigures> {
        let others = self.types.iter().enumerate();
        others
            .filter(|(at, _)| *at != self.at && !self.is_idle(*at))
            .map(|(_, other)| other)
    }

    /// Whether a type decides nothing on either side: none of its swaps moves the decision, although enough of them lie
    /// between cases with two different answers of the head. If it decided there, or blocked other types, a part of
    /// these would.
    fn is_idle(&self, at: usize) -> bool {
        let one = &self.types[at];
        let is_unmoved = one.likely_loss.is_some() && one.moved_base + one.moved_head == 0;
        is_unmoved && !one.is_followed_base && !one.is_followed_head && self.whole.may_be_idle[at]
    }

    /// Whether a type that the base ignored decides now in place of this type.
    fn has_made_room(&self) -> bool {
        let drop = self.types[self.at].drop;
        let mut others = self.types.iter().zip(self.new).enumerate();
        others.any(|(at, (other, is_new))| {
            at != self.at && *is_new && other.won.chance(NEW_SHARE * drop) >= LIKELY
        })
    }

    /// The verdict on a type that lost more than allowed.
    fn of_dropped(&self) -> TypeVerdict {
        let one = &self.types[self.at];
        let is_unseen = self.others().any(|other| !other.is_followed_base);
        if !one.is_followed_head {
            if one.still > GONE.max(GONE_SHARE * one.firm) {
                return TypeVerdict::Open(OpenReason::Suspected);
            }
            let whole = self.whole;
            let follows_any = self.types.iter().any(|one| one.is_followed_head);
            let is_constant = whole.is_constant_head && !whole.is_constant_base && !follows_any;
            let is_enough = one.firm_cases >= CASES && (whole.tells[self.at] || is_constant);
            return match !is_unseen || is_enough {
                true => TypeVerdict::Regression,
                false => TypeVerdict::Open(OpenReason::Trade),
            };
        }
        let mut others = self.others();
        let rose = others.any(|other| other.won.chance(TRADE_SHARE * one.drop) >= LIKELY);
        let all_followed = self.others().all(|other| other.is_followed_head);
        match rose || is_unseen || !all_followed {
            true => TypeVerdict::Open(OpenReason::Trade),
            false => TypeVerdict::Regression,
        }
    }
}

/// The status of a type.
fn status(one: &TypeFigures, verdict: TypeVerdict) -> Status {
    let is_few = one.firm < FEWEST_TELLING as f64;
    match (one.is_followed_base, one.is_followed_head) {
        (true, false) if one.is_dropped => Status::Lost,
        (true, true) if one.is_dropped || verdict == TypeVerdict::MadeRoom => Status::Less,
        (true, _) => Status::Followed,
        (false, true) if one.rises && one.had <= NEW_HAD => Status::New,
        (false, true) if one.rises => Status::Followed,
        (false, true) if is_few => Status::Unseen,
        (false, true) => Status::Followed,
        (false, false)
            if one.firm < E_MIN * one.swaps as f64 + 0.5 && one.swaps >= FEWEST_TELLING =>
        {
            Status::Ignored
        }
        (false, false) => Status::Unseen,
    }
}

impl TypeFigures {
    /// Whether the suite cannot detect the loss of the type, so that a pass does not cover this type.
    pub fn is_blind(&self) -> bool {
        let is_few = self.firm < FEWEST_TELLING as f64;
        is_few && !self.is_followed_head || !self.is_followed_base && !self.is_kept
    }
}
