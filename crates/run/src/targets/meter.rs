//! Limits the calls of one model: how many are made at the same time, and how many in total. All runners of this
//! process share the meter of a model, for all purposes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::usage::Usage;
use kelvin_system::signal::Interrupt;

/// How often a wait for a free place checks for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Counts and limits the calls of one model.
#[derive(Debug)]
pub struct Meter {
    /// The name of the model.
    name: String,
    /// Whether the meter counts the calls of judges. They have a separate limit, so that neither a judge nor a pipeline
    /// uses up the other's calls.
    is_of_judges: bool,
    limits: CallLimits,
    state: Mutex<MeterState>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct MeterState {
    under_way: usize,
    calls: u64,
    tokens: u64,
    usd: f64,
    /// Whether a server answered without reporting the tokens.
    is_blind: bool,
}

/// The result of asking for another call.
#[derive(Debug)]
pub enum Admission<'m> {
    /// The call may begin.
    Go(Pass<'m>),
    /// The limit is reached, for this reason.
    Spent(Failure),
    /// The run was interrupted during the wait.
    Interrupted,
}

/// The permission to make one call. If it is dropped unused, it is returned.
#[derive(Debug)]
pub struct Pass<'m> {
    meter: &'m Meter,
    is_used: bool,
}

impl Meter {
    /// The meter of a model, shared by all pipelines with the same model name and the same limits.
    pub fn of(name: &str, limits: &CallLimits) -> Arc<Self> {
        Self::shared(name, limits, false)
    }

    /// The meter of a model for the calls of judges, which all judges share.
    pub fn of_judges(name: &str, limits: &CallLimits) -> Arc<Self> {
        Self::shared(name, limits, true)
    }

    fn shared(name: &str, limits: &CallLimits, is_of_judges: bool) -> Arc<Self> {
        static METERS: Mutex<Vec<Arc<Meter>>> = Mutex::new(Vec::new());
        let mut meters = METERS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = meters.iter().find(|meter| {
            meter.name == name && meter.limits == *limits && meter.is_of_judges == is_of_judges
        });
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let meter = Arc::new(Self {
            name: name.to_owned(),
            is_of_judges,
            limits: limits.clone(),
            state: Mutex::default(),
            freed: Condvar::new(),
        });
        meters.push(Arc::clone(&meter));
        meter
    }

    /// Waits until the call may start.
    pub fn enter(&self, interrupt: &Interrupt) -> Admission<'_> {
        let mut state = self.state();
        loop {
            if interrupt.tripped() {
                return Admission::Interrupted;
            }
            if let Some(why) = self.spent(&state) {
                let failure = Failure::new(FailureKind::BudgetSpent, why);
                return Admission::Spent(failure);
            }
            let most = self.limits.concurrency.map(std::num::NonZeroUsize::get);
            if most.is_none_or(|most| state.under_way < most) {
                state.under_way += 1;
                state.calls += 1;
                let is_used = false;
                return Admission::Go(Pass {
                    meter: self,
                    is_used,
                });
            }
            state = match self.freed.wait_timeout(state, LOOK_EVERY) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Why no call may start any more.
    fn spent(&self, state: &MeterState) -> Option<String> {
        let CallLimits {
            max_calls,
            max_tokens,
            usd,
            ..
        } = self.limits;
        let name = match self.is_of_judges {
            true => format!("`{}` of the judges", self.name),
            false => format!("`{}`", self.name),
        };
        if let Some(most) = max_calls.filter(|most| state.calls >= *most) {
            return Some(format!(
                "the model {name} was called {most} times in this run, which is the limit (`limits.max_calls`)"
            ));
        }
        if state.is_blind && (max_tokens.is_some() || usd.is_some()) {
            return Some(format!(
                "the server of the model {name} does not tell how many tokens a call used, so \
                 that `limits.max_tokens` and `limits.usd` cannot be checked"
            ));
        }
        if let Some(most) = max_tokens.filter(|most| state.tokens >= *most) {
            return Some(format!(
                "the calls of the model {name} may use {most} tokens in a run \
                 (`limits.max_tokens`), and have used them"
            ));
        }
        let most = usd.filter(|most| state.usd >= *most)?;
        Some(format!(
            "the calls of the model {name} may cost {most} US dollars in a run (`limits.usd`), \
             and have cost that"
        ))
    }

    fn state(&self) -> MutexGuard<'_, MeterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    /// Records that the call was made and used these tokens; none if it ended without an answer.
    pub fn used(mut self, usage: Option<Usage>) {
        self.is_used = true;
        let Some(usage) = usage else {
            return;
        };
        let mut state = self.meter.state();
        state.tokens = state.tokens.saturating_add(usage.tokens());
        state.usd += usage.usd.unwrap_or_default();
        state.is_blind |= usage.untold > 0;
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.meter.state();
        state.under_way -= 1;
        if !self.is_used {
            state.calls -= 1;
        }
        drop(state);
        self.meter.freed.notify_one();
    }
}

/// What bounds the calls of a model in one run of the program, whatever makes the calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallLimits {
    /// The most calls, further attempts included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_calls: Option<u64>,
    /// No call begins once this many tokens were used, sent and answered tokens together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub max_tokens: Option<u64>,
    /// No call begins once the calls have cost this many US dollars. It needs `price`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0))]
    pub usd: Option<f64>,
    /// How many calls are under way at the same time. Without it: `jobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: Option<NonZeroUsize>,
}

impl CallLimits {
    /// Whether there are no limits.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn go(meter: &Meter) -> Option<Pass<'_>> {
        match meter.enter(&Interrupt::apart()) {
            Admission::Go(pass) => Some(pass),
            Admission::Spent(failure) => {
                assert_eq!(failure.kind, FailureKind::BudgetSpent);
                None
            }
            Admission::Interrupted => panic!("nobody interrupts"),
        }
    }

    fn usage(tokens: u64, usd: Option<f64>) -> Option<Usage> {
        Some(Usage {
            input_tokens: tokens,
            usd,
            ..Usage::default()
        })
    }

    #[test]
    fn a_ceiling_holds_for_all_that_share_it_and_counts_only_calls_that_were_made() {
        let limits = CallLimits {
            max_calls: Some(3),
            ..CallLimits::default()
        };
        let (one, two) = (
            Meter::of("meter/calls", &limits),
            Meter::of("meter/calls", &limits),
        );
        go(&one).expect("the first").used(None);
        drop(go(&two).expect("given back"));
        go(&two).expect("the second").used(None);
        go(&one).expect("the third").used(None);
        assert!(go(&one).is_none() && go(&two).is_none());
        // Another model has its own ceiling, and so has the same name with other limits.
        assert!(go(&Meter::of("meter/others", &limits)).is_some());
    }

    #[test]
    fn tokens_and_money_end_the_calls_and_what_cannot_be_counted_does_too() {
        let of = |name, max_tokens, usd| {
            let limits = CallLimits {
                max_tokens,
                usd,
                ..CallLimits::default()
            };
            Meter::of(name, &limits)
        };
        let tokens = of("meter/tokens", Some(100), None);
        go(&tokens).expect("nothing used").used(usage(99, None));
        go(&tokens).expect("below").used(usage(1, None));
        assert!(go(&tokens).is_none());
        let money = of("meter/usd", None, Some(0.5));
        go(&money).expect("nothing paid").used(usage(9, Some(0.49)));
        go(&money).expect("below").used(usage(9, Some(0.02)));
        assert!(go(&money).is_none());
        let blind = of("meter/blind", Some(100), None);
        go(&blind)
            .expect("nothing used")
            .used(Some(Usage::untold()));
        assert!(go(&blind).is_none());
        let unbounded = of("meter/unbounded", None, None);
        go(&unbounded).expect("free").used(Some(Usage::untold()));
        assert!(go(&unbounded).is_some());
    }

    #[test]
    fn no_more_calls_are_under_way_than_allowed_and_a_stop_ends_the_wait() {
        let limits = CallLimits {
            concurrency: 2.try_into().ok(),
            ..CallLimits::default()
        };
        let meter = Meter::of("meter/concurrency", &limits);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    let pass = go(&meter).expect("no ceiling");
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(10));
                    now.fetch_sub(1, Ordering::SeqCst);
                    pass.used(None);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
        let held = [go(&meter), go(&meter)];
        let interrupt = Interrupt::apart();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| matches!(meter.enter(&interrupt), Admission::Interrupted));
            thread::sleep(Duration::from_millis(20));
            interrupt.trip();
            assert!(waiting.join().expect("no panic"));
        });
        drop(held);
    }
}
