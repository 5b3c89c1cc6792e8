//! Decides after which failures another attempt is made, and how long to wait for it.

use std::time::Duration;

use crate::config::Retry;
use kelvin_base::digest::Fields;
use kelvin_base::draw::Draw;
use kelvin_base::failure::FailureKind;

/// The longest delay, however large the factor is.
const LONGEST: Duration = Duration::from_secs(3600);
/// The longest wait that the server of a model may request. A server that requests more has no capacity left for this
/// run, and every job of the run would only wait.
const LONGEST_ASKED: Duration = Duration::from_secs(120);

/// The delay before the next attempt; none if the failure is final.
///
/// The n-th attempt waits `initial * factor^(n-2)` and a jitter that depends only on the task, so that tasks that
/// failed together are not repeated together. If the server of a model requests a longer wait, the attempt waits that
/// long, up to a limit.
pub(super) fn delay(
    retry: &Retry,
    task: &str,
    attempts: usize,
    failure: &FailureKind,
    asked: Option<Duration>,
) -> Option<Duration> {
    let most = match failure {
        FailureKind::Exit(code) | FailureKind::ErrorAnswer(code)
            if retry.transient_exit_codes.contains(code) =>
        {
            retry.max_attempts
        }
        // The worker may have failed because of other calls, so the next worker may well answer.
        FailureKind::WorkerLost => retry.max_attempts,
        FailureKind::Timeout if retry.retry_on_timeout => retry.max_attempts,
        FailureKind::RateLimit | FailureKind::Connection => retry.model_attempts,
        FailureKind::Status(status) if may_pass(*status) => retry.model_attempts,
        _ => return None,
    };
    if attempts >= most.get() || asked.is_some_and(|asked| asked > LONGEST_ASKED) {
        return None;
    }
    let doubled = i32::try_from(attempts.saturating_sub(1)).unwrap_or(i32::MAX);
    let seconds = retry.initial_delay.as_secs_f64() * retry.backoff_factor.powi(doubled);
    let key = Fields::of("kelvin/retry/v1")
        .field("task", task)
        .field("attempts", attempts.to_string())
        .digest();
    let jitter = retry.jitter_max.as_secs_f64() * Draw::of(key).unit();
    let delay = Duration::try_from_secs_f64(seconds + jitter).unwrap_or(LONGEST);
    let asked = asked.map(|asked| asked + Duration::try_from_secs_f64(jitter).unwrap_or_default());
    Some(delay.min(LONGEST).max(asked.unwrap_or_default()))
}

/// The delay after an unreadable answer of a judge: the call is repeated once and immediately, whatever the settings
/// say, since the server has no problem. `unreadable` counts such answers.
pub(super) const fn once_more(unreadable: usize) -> Option<Duration> {
    match unreadable {
        1 => Some(Duration::ZERO),
        _ => None,
    }
}

/// Whether the same request may get another status later: the server was too slow, too early, or had an error. All
/// other error statuses are final.
const fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 500..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry() -> Retry {
        Retry {
            max_attempts: 4.try_into().expect("not zero"),
            initial_delay: Duration::from_secs(1),
            backoff_factor: 2.0,
            jitter_max: Duration::ZERO,
            transient_exit_codes: vec![75],
            retry_on_timeout: true,
            model_attempts: 3.try_into().expect("not zero"),
        }
    }

    #[test]
    fn delays_grow_by_the_factor_and_end_with_the_attempts() {
        let exit = FailureKind::Exit(75);
        let delays: Vec<_> = (1..=4)
            .map(|n| delay(&retry(), "a", n, &exit, None))
            .collect();
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(delays, [secs(1), secs(2), secs(4), None]);
    }

    #[test]
    fn only_declared_exit_codes_and_timeouts_are_tried_again() {
        assert!(delay(&retry(), "a", 1, &FailureKind::Timeout, None).is_some());
        for kind in [
            FailureKind::Exit(1),
            FailureKind::Signal(75),
            FailureKind::OutputNotJson,
            FailureKind::NotStarted,
        ] {
            assert_eq!(delay(&retry(), "a", 1, &kind, None), None);
        }
    }

    #[test]
    fn what_a_server_asks_for_is_waited_and_an_hour_is_not() {
        let limited = |attempts, asked: Option<u64>| {
            let asked = asked.map(Duration::from_secs);
            delay(&retry(), "a", attempts, &FailureKind::RateLimit, asked)
        };
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(limited(1, None), secs(1));
        assert_eq!(limited(1, Some(30)), secs(30));
        assert_eq!(limited(2, Some(1)), secs(2), "no sooner than by itself");
        assert_eq!(limited(1, Some(120)), secs(120));
        assert_eq!(limited(1, Some(121)), None);
        assert_eq!(
            limited(3, Some(1)),
            None,
            "the attempts of models are their own"
        );
        let of = |kind| delay(&retry(), "a", 1, &kind, None).is_some();
        for status in [408, 425, 500, 503, 529] {
            assert!(of(FailureKind::Status(status)), "{status}");
        }
        for status in [301, 400, 401, 404, 413, 422] {
            assert!(!of(FailureKind::Status(status)), "{status}");
        }
        assert!(of(FailureKind::Connection));
        let final_kinds = [
            FailureKind::EmptyContent,
            FailureKind::MalformedBody,
            FailureKind::NotRecorded,
            FailureKind::BudgetSpent,
        ];
        assert!(!final_kinds.into_iter().any(of));
    }

    #[test]
    fn jitter_is_bounded_and_differs_between_tasks_only() {
        let mut retry = retry();
        retry.jitter_max = Duration::from_secs(1);
        let of = |task| delay(&retry, task, 1, &FailureKind::Timeout, None).expect("transient");
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert!(of("a") >= Duration::from_secs(1) && of("a") < Duration::from_secs(2));
    }

    #[test]
    fn an_absurd_factor_is_an_hour_and_no_crash() {
        let mut retry = retry();
        retry.backoff_factor = 1e300;
        assert_eq!(
            delay(&retry, "a", 3, &FailureKind::Timeout, None),
            Some(LONGEST)
        );
    }
}
