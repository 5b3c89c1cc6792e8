//! Waits for another process that writes to the same history, and says so where it takes long.

use std::sync::OnceLock;
use std::time::Duration;

/// One wait.
const STEP: Duration = Duration::from_millis(20);
/// A wait this long is told of.
const SILENT: Duration = Duration::from_secs(1);
/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a person is told.
static TELL: OnceLock<fn(&str)> = OnceLock::new();

/// Sets how a person is told of a long wait; only the first call counts.
pub(crate) fn tell_by(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// Waits once more, after `times` waits. False where it has waited long enough.
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
