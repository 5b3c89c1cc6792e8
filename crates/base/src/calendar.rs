//! Times as seconds since 1970, the days and weeks to which they belong, and how a person writes them. Everything is in
//! UTC: for a team in several time zones, a week has to be the same week.

use jiff::Timestamp;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;

use crate::clock::in_utc;

const DAY: i64 = 24 * 60 * 60;
/// The longest duration in days; a longer one is a typing error.
const MOST_DAYS: i64 = 3660;

/// The time now.
pub fn now() -> i64 {
    Timestamp::now().as_second()
}

/// A time that a program wrote.
///
/// # Errors
///
/// Fails if the text is not a time.
pub fn moment(text: &str) -> Result<i64, String> {
    let read = in_utc(text)?.parse::<Timestamp>();
    read.map(Timestamp::as_second)
        .map_err(|error| format!("`{text}` is no time: {error}"))
}

/// A time that a person wrote: `7d`, `2w` or `36h` before another time, an ISO date, an ISO week such as `2026-W47`,
/// which begins on its Monday, or a time as RFC 3339.
///
/// # Errors
///
/// Fails if the text has none of these forms.
pub fn asked(text: &str, before: i64) -> Result<i64, String> {
    let text = text.trim();
    let no_time = || {
        format!(
            "`{text}` is no time: write a span such as `7d`, `2w` or `36h`, a date such as `2026-11-16`, a \
             week such as `2026-W47`, or a time such as `2026-11-16T08:00:00Z`"
        )
    };
    if let Some((count, unit)) = span(text) {
        let seconds = unit
            .checked_mul(count)
            .filter(|all| *all <= MOST_DAYS * DAY);
        return match seconds {
            Some(0) => Err(format!("`{text}` is no span: it is empty")),
            Some(seconds) => Ok(before - seconds),
            None => Err(format!("`{text}` is over ten years")),
        };
    }
    if let Some((year, week)) = text.split_once("-W") {
        let monday = || {
            let (year, week) = (year.parse().ok()?, week.parse().ok()?);
            let monday = ISOWeekDate::new(year, week, Weekday::Monday).ok()?;
            midnight(monday.date())
        };
        return monday().ok_or_else(no_time);
    }
    moment(text).map_err(|_| no_time())
}

/// A number and the seconds of its unit.
fn span(text: &str) -> Option<(i64, i64)> {
    let unit = match text.chars().last()? {
        'h' => 60 * 60,
        'd' => DAY,
        'w' => 7 * DAY,
        _ => return None,
    };
    let count = &text[..text.len() - 1];
    let is_count = !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit());
    // If a number is too large for an integer, the duration is too long anyway.
    is_count.then(|| (count.parse().unwrap_or(i64::MAX), unit))
}

/// A time as RFC 3339, to the second.
pub fn written(at: i64) -> String {
    shown(at, "%Y-%m-%dT%H:%M:%SZ")
}

/// The day of a time, as an ISO date.
pub fn day(at: i64) -> String {
    shown(at, "%Y-%m-%d")
}

/// The ISO week of a time: `2026-W47`.
pub fn week(at: i64) -> String {
    shown(at, "%G-W%V")
}

/// The beginning of the ISO week of a time.
pub fn monday(at: i64) -> i64 {
    let date = civil(at);
    let back = i64::from(date.weekday().to_monday_zero_offset());
    midnight(date).map_or(at, |midnight| midnight - back * DAY)
}

fn shown(at: i64, form: &str) -> String {
    civil_time(at).strftime(form).to_string()
}

fn civil(at: i64) -> Date {
    civil_time(at).date()
}

fn civil_time(at: i64) -> jiff::Zoned {
    let time = Timestamp::from_second(at).unwrap_or(match at {
        ..0 => Timestamp::MIN,
        _ => Timestamp::MAX,
    });
    time.to_zoned(TimeZone::UTC)
}

fn midnight(date: Date) -> Option<i64> {
    let zoned = date.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(text: &str) -> i64 {
        moment(text).expect("a time")
    }

    #[test]
    fn a_person_may_write_a_span_a_date_a_week_or_a_time() {
        let now = second("2026-11-22T12:00:00Z");
        for (text, meant) in [
            ("7d", "2026-11-15T12:00:00Z"),
            ("2w", "2026-11-08T12:00:00Z"),
            ("36h", "2026-11-21T00:00:00Z"),
            ("2026-11-16", "2026-11-16T00:00:00Z"),
            ("2026-W47", "2026-11-16T00:00:00Z"),
            // 2026 has 53 weeks, and the first of 2027 begins in January.
            ("2026-W53", "2026-12-28T00:00:00Z"),
            ("2027-W01", "2027-01-04T00:00:00Z"),
            ("2026-11-16T08:00:00+02:00", "2026-11-16T06:00:00Z"),
        ] {
            assert_eq!(
                asked(text, now).map(written),
                Ok(meant.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            "d",
            "7",
            "-7d",
            "7 d",
            "0d",
            "1.5d",
            "7m",
            "9999999999999999999w",
            "2026-W54",
            "2025-W53",
            "2026-13-01",
            "yesterday",
            "2026-W",
            "५d",
        ] {
            let refused = asked(text, now).expect_err(text);
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
        }
    }

    #[test]
    fn a_week_begins_on_monday_and_belongs_to_the_year_of_its_thursday() {
        for (time, named, begun) in [
            ("2026-11-22T23:59:59Z", "2026-W47", "2026-11-16"),
            ("2026-11-23T00:00:00Z", "2026-W48", "2026-11-23"),
            ("2027-01-03T10:00:00Z", "2026-W53", "2026-12-28"),
            ("2024-12-30T00:00:00Z", "2025-W01", "2024-12-30"),
        ] {
            assert_eq!(week(second(time)), named);
            assert_eq!(day(monday(second(time))), begun);
        }
    }
}
