//! Interprets an answer with an error: the kind of failure, a message that does not change from run to run, and how
//! long the server asks to wait.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

use kelvin_base::failure::{Failure, FailureKind, Streams};

/// How many characters of the server's error text are stored at most.
const KEPT_CHARACTERS: usize = 1000;

/// The failure for an answer with this status. The error text of the server is not part of the message, since it may
/// contain times and request numbers; it is stored where a command's error output would be.
pub(super) fn of_status(status: u16, body: &[u8], sends_key: bool) -> Failure {
    let kind = match status {
        429 => FailureKind::RateLimit,
        _ => FailureKind::Status(status),
    };
    let what = match status {
        300..400 => {
            "the server redirects to another address, and neither key nor prompt is sent there: correct `base_url`"
        }
        401 | 403 if sends_key => "the server refused the key",
        401 | 403 => "the server wants a key, and `api_key_env` names none",
        404 => "the server knows no such address or no such model",
        429 => "the server takes no more calls for now",
        400..500 => "the server refused the call",
        _ => "the server could not answer the call",
    };
    let message = format!("{what} (HTTP status {status})");
    Failure::new(kind, message).printed(Streams {
        stdout: String::new(),
        stderr: said(body),
    })
}

/// The failure in a body that contains an `error` although its status is a success. Gateways send such an answer if the
/// error occurs after they have begun to answer. None if there is no such error.
pub(super) fn of_body(body: &Value, bytes: &[u8], sends_key: bool) -> Option<Failure> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let status = error["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok());
    Some(match status.filter(|status| (400..600).contains(status)) {
        Some(status) => of_status(status, bytes, sends_key),
        None => {
            let message = "the server answered with an error instead of a text";
            Failure::new(FailureKind::MalformedBody, message).printed(Streams {
                stdout: String::new(),
                stderr: said(bytes),
            })
        }
    })
}

/// The longest text that can be the heading of another one, in characters.
const SHORT: usize = 200;

/// The error text of the server, from any of the places where common formats have it. A short `error` may be a mere
/// heading, whose cause is beside it, in `message` or `detail`.
pub(in crate::targets) fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let told = serde_json::from_slice::<Value>(body).ok();
    let told = told.as_ref().and_then(|body| {
        let places = [
            &body["error"]["message"],
            &body["error"],
            &body["message"],
            &body["detail"],
        ];
        let mut texts = places.into_iter().filter_map(Value::as_str).map(str::trim);
        let first = texts.next()?;
        let is_short = |text: &str| text.chars().count() <= SHORT;
        let cause = texts.find(|text| !text.is_empty() && !first.contains(text));
        Some(
            match cause.filter(|text| is_short(text) && is_short(first)) {
                Some(cause) if first.is_empty() => cause.to_owned(),
                Some(cause) => format!("{first}: {cause}"),
                None => first.to_owned(),
            },
        )
    });
    let text = told.as_deref().unwrap_or(&text).trim();
    text.chars().take(KEPT_CHARACTERS).collect()
}

/// How long an answer asks to wait: `Retry-After` in seconds or as a date. A date is compared with the date of the
/// answer, if there is one, since the clocks of two machines differ.
pub(in crate::targets) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = date(text)?;
    let of = |name: &HeaderName| date(headers.get(name)?.to_str().ok()?);
    let now = of(&DATE).or_else(|| Timestamp::try_from(SystemTime::now()).ok())?;
    let seconds = until.as_second().saturating_sub(now.as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// An HTTP date, e.g. `Sun, 06 Nov 1994 08:49:37 GMT`.
fn date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new()
        .parse_timestamp(text.trim())
        .ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("a value");
            (HeaderName::from_static(name), value)
        });
        pairs.collect()
    }

    #[test]
    fn a_wait_is_told_in_seconds_or_as_a_date() {
        let of = |pairs: &[(&'static str, &str)]| retry_after(&headers(pairs));
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(of(&[("retry-after", "7")]), secs(7));
        assert_eq!(of(&[("retry-after", " 0 ")]), secs(0));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            of(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date]),
            secs(30)
        );
        // A date that has passed, with and without the date of the answer.
        assert_eq!(
            of(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), date]),
            secs(0)
        );
        assert_eq!(
            of(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")]),
            secs(0)
        );
        for nothing in ["", "soon", "-3", "1.5", "Sun, 31 Feb 1994 08:49:37 GMT"] {
            assert_eq!(of(&[("retry-after", nothing)]), None, "{nothing}");
        }
        assert_eq!(of(&[date]), None);
    }

    #[test]
    fn a_short_heading_is_told_with_the_cause_beside_it() {
        let long = "x".repeat(SHORT + 1);
        for (body, wanted) in [
            (
                r#"{"error": "Classification failed", "message": "context length exceeded"}"#,
                "Classification failed: context length exceeded",
            ),
            (
                r#"{"error": {"message": "no credit"}, "detail": "see billing"}"#,
                "no credit: see billing",
            ),
            (
                r#"{"error": "no credit", "message": "no credit"}"#,
                "no credit",
            ),
            (r#"{"error": "", "detail": "no credit"}"#, "no credit"),
            (
                r#"{"error": 4, "detail": ["no credit"], "message": "no"}"#,
                "no",
            ),
            (&format!(r#"{{"error": "no", "message": "{long}"}}"#), "no"),
            (&format!(r#"{{"error": "{long}", "message": "no"}}"#), &long),
        ] {
            assert_eq!(said(body.as_bytes()), wanted);
        }
    }

    #[test]
    fn words_are_the_same_every_time_and_what_the_server_says_stands_beside_them() {
        let body = br#"{"error": {"message": "Rate limit. Try again in 20s. (req_8a)"}}"#;
        let failure = of_status(429, body, true);
        assert_eq!(failure.kind, FailureKind::RateLimit);
        insta::assert_snapshot!(failure.message, @"the server takes no more calls for now (HTTP status 429)");
        insta::assert_snapshot!(failure.stderr, @"Rate limit. Try again in 20s. (req_8a)");
        assert_eq!(
            of_status(500, b"<h1>Oops</h1>", true).stderr,
            "<h1>Oops</h1>"
        );
        insta::assert_snapshot!(of_status(401, b"", true).message, @"the server refused the key (HTTP status 401)");
        insta::assert_snapshot!(of_status(401, b"", false).message, @"the server wants a key, and `api_key_env` names none (HTTP status 401)");
        assert_eq!(of_status(529, b"", true).kind, FailureKind::Status(529));
        assert!(
            of_status(500, "ü".repeat(5000).as_bytes(), true)
                .stderr
                .len()
                <= 2000
        );
    }

    #[test]
    fn an_error_in_a_body_is_one_whatever_the_status() {
        let of = |text: &str| {
            let body: Value = serde_json::from_str(text).expect("JSON");
            of_body(&body, text.as_bytes(), true).map(|failure| failure.kind)
        };
        assert_eq!(
            of(r#"{"error": {"code": 429}}"#),
            Some(FailureKind::RateLimit)
        );
        assert_eq!(
            of(r#"{"error": {"code": 502}}"#),
            Some(FailureKind::Status(502))
        );
        assert_eq!(of(r#"{"error": "no"}"#), Some(FailureKind::MalformedBody));
        assert_eq!(of(r#"{"error": null, "choices": []}"#), None);
        assert_eq!(of("[]"), None);
    }
}
