//! Waits for another process that writes to the same history, and says so if that takes long.

use std::sync::OnceLock;
use std::time::Duration;

/// The time of one wait.
const STEP: Duration = Duration::from_millis(20);
/// How long a wait stays silent.
const SILENT: Duration = Duration::from_secs(1);
/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);

/// The function that reports a long wait to a person.
static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the function that reports a long wait; only the first call counts.
pub(crate) fn tell_by(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// Waits once more, after `times` waits. Returns false after the longest time.
pub(super) fn once_more(times: i32) -> bool {
    let waited = STEP * u32::try_from(times).unwrap_or(0);
    if waited >= PATIENCE {
        return false;
    }
    if waited == SILENT
        && let Some(tell) = TELL.get()
    {
        tell(&format!(
            "waiting for another process that writes to the history `{}`, for at most {} s",
            super::FILE,
            PATIENCE.as_secs()
        ));
    }
    std::thread::sleep(STEP);
    true
}
