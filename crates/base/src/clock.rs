//! The only clock: when a run started, how long it took, and times as texts.

use std::time::Instant;

/// A clock that is started once and read at the end.
#[derive(Debug)]
pub struct Clock {
    started_at: jiff::Timestamp,
    start: Instant,
}

impl Clock {
    /// Starts now.
    pub fn start() -> Self {
        Self {
            started_at: jiff::Timestamp::now(),
            start: Instant::now(),
        }
    }

    /// The start time, as RFC 3339 in UTC, to the second.
    pub fn started_at(&self) -> String {
        self.started_at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// A time as RFC 3339 in UTC; a time without a zone counts as UTC, and a day begins at midnight.
///
/// # Errors
///
/// Fails if the text is not a time.
pub fn in_utc(text: &str) -> Result<String, String> {
    let text = text.trim();
    let utc = |time: jiff::civil::DateTime| time.to_zoned(jiff::tz::TimeZone::UTC);
    let time = text.parse::<jiff::Timestamp>().or_else(|error| {
        let naive = text.parse::<jiff::civil::DateTime>();
        let zoned = naive.and_then(utc).map_err(|_| error)?;
        Ok::<_, jiff::Error>(zoned.timestamp())
    });
    match time {
        Ok(time) => Ok(time.to_string()),
        Err(error) => Err(format!("`{text}` is no time: {error}")),
    }
}

/// Whether a time is before another one, both as RFC 3339 in UTC. They cannot be compared as texts, since the fraction
/// of a second has as many digits as it needs.
///
/// # Errors
///
/// Fails if one of the two texts is not a time.
pub fn is_before(time: &str, other: &str) -> Result<bool, String> {
    let read = |text: &str| {
        let time = text.parse::<jiff::Timestamp>();
        time.map_err(|error| format!("`{text}` is no time: {error}"))
    };
    Ok(read(time)? < read(other)?)
}

/// A time as RFC 3339 in seconds since the epoch, without the fraction of a second.
///
/// # Errors
///
/// Fails if the text is not a time.
pub fn to_seconds(text: &str) -> Result<i64, String> {
    let time = text.parse::<jiff::Timestamp>();
    let time = time.map_err(|error| format!("`{text}` is no time: {error}"))?;
    Ok(time.as_second())
}

/// Seconds since the epoch as RFC 3339 in UTC.
pub fn of_seconds(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .unwrap_or_default()
        .to_string()
}

/// The time of a server from the header `date` of an answer, in seconds since the epoch.
pub fn of_server(date: &str) -> Option<i64> {
    let time = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date);
    time.ok().map(|time| time.as_second())
}

/// The time of this machine, in seconds since the epoch.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_server_are_read_and_written_back() {
        let seconds = to_seconds("2026-11-20T12:00:00Z").expect("it is a time");
        assert_eq!(of_seconds(seconds), "2026-11-20T12:00:00Z");
        assert_eq!(to_seconds("2026-11-20T13:00:00+01:00"), Ok(seconds));
        assert_eq!(of_server("Fri, 20 Nov 2026 12:00:00 GMT"), Some(seconds));
        for wrong in ["", "soon", "2026-11-20"] {
            assert!(to_seconds(wrong).is_err(), "{wrong}");
            assert_eq!(of_server(wrong), None, "{wrong}");
        }
    }
}
