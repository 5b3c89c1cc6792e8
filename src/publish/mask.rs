//! Secrets out of everything that is printed or stored.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What stands in the place of a secret.
const HIDDEN: &str = "***";
/// Shorter values are too likely to be words of their own.
const SHORTEST: usize = 8;

/// Names of variables that hold secrets.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(^|_)(TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|AUTH|APIKEY|KEY|DSN)(_|$)|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY",
    )
    .expect("the pattern is tested")
});

/// Keys that tell themselves by their form.
static PATTERNS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|$)
        | \bgh[opsur]_[A-Za-z0-9]{20,}
        | \bgithub_pat_[A-Za-z0-9_]{20,}
        | \bglpat-[A-Za-z0-9_-]{16,}
        | \bsk-[A-Za-z0-9_-]{16,}
        | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
        | \bAIza[A-Za-z0-9_-]{30,}
        | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
        | \bhf_[A-Za-z0-9]{20,}
        | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
        | (?i:\bbearer)\ +[A-Za-z0-9._~+/=-]{16,}
        ",
    )
    .expect("the pattern is tested")
});

/// Knows the secrets of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Masker {
    /// Longest first, so that a secret within another does not leave the rest of it.
    secrets: Vec<String>,
}

impl Masker {
    /// Takes the values of variables whose names tell of a secret, and the secrets named outright.
    pub(crate) fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        named: impl IntoIterator<Item = String>,
    ) -> Self {
        let told = variables
            .into_iter()
            .filter(|(name, _)| NAMES.is_match(name))
            .map(|(_, value)| value);
        let mut secrets: Vec<String> = Vec::new();
        for secret in told.chain(named) {
            // A file or a number is no secret, whatever its variable is called.
            let secret = secret.trim();
            if secret.len() < SHORTEST || secret.starts_with('/') || secret.parse::<f64>().is_ok() {
                continue;
            }
            let lines = secret.lines().map(str::trim);
            secrets.extend(
                lines
                    .filter(|line| line.len() >= SHORTEST)
                    .map(str::to_owned),
            );
            secrets.push(secret.to_owned());
            secrets.extend(quoted(secret));
            // Without padding, since a secret may stand inside a longer text.
            secrets.push(STANDARD_NO_PAD.encode(secret.as_bytes()));
            secrets.push(STANDARD_NO_PAD.encode(format!("x-access-token:{secret}").as_bytes()));
        }
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        Self { secrets }
    }

    /// The secrets themselves, for the runner to mask.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }

    /// A text without its secrets. Secrets that overlap go together, so that no end of one is left.
    pub(crate) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.secrets.iter().flat_map(|secret| {
            text.match_indices(secret.as_str())
                .map(|(at, found)| (at, at + found.len()))
        });
        let told = PATTERNS
            .find_iter(text)
            .map(|found| (found.start(), found.end()));
        let mut spans: Vec<(usize, usize)> = known.chain(told).collect();
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        spans.sort_unstable();
        let mut masked = String::with_capacity(text.len());
        let mut done = 0;
        for (start, end) in spans {
            if start >= done {
                masked.push_str(&text[done..start]);
                masked.push_str(HIDDEN);
            }
            done = done.max(end);
        }
        masked.push_str(&text[done..]);
        Cow::Owned(masked)
    }

    /// A value without secrets in any of its texts. Names of fields stay: they are ours, or those of
    /// files.
    ///
    /// # Errors
    ///
    /// Where the value cannot be written as JSON or read back.
    pub(crate) fn value<T: Serialize + DeserializeOwned>(&self, value: &T) -> anyhow::Result<T> {
        let mut json = serde_json::to_value(value)?;
        self.walk(&mut json);
        Ok(serde_json::from_value(json)?)
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.walk(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A secret as it stands within a text of JSON, in both usual ways to write one, where that differs.
fn quoted(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let ascii = json
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect();
    let mut forms = vec![json, ascii];
    forms.dedup();
    forms.retain(|form| form != secret);
    forms
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masker(pairs: &[(&str, &str)]) -> Masker {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Masker::new(pairs.iter().map(pair), [])
    }

    #[test]
    fn what_a_variable_with_a_telling_name_holds_is_hidden() {
        let masker = masker(&[
            ("OPENAI_API_KEY", "open-sesame-42"),
            ("HOME", "open-country"),
            ("DB_PASSWORD", "short"),
            ("KEYBOARD", "qwertyuiop"),
            ("SSH_AUTH_SOCK", "/run/agent/socket"),
            ("MAX_TOKEN", "1234567890"),
        ]);
        let text = "open-sesame-42 open-country short qwertyuiop /run/agent/socket 1234567890";
        let shown = "*** open-country short qwertyuiop /run/agent/socket 1234567890";
        assert_eq!(masker.text(text), shown);
    }

    #[test]
    fn a_secret_within_a_longer_one_leaves_nothing_of_it() {
        let masker = masker(&[("A_TOKEN", "abcdefgh"), ("B_TOKEN", "abcdefgh-ijklmnop")]);
        assert_eq!(masker.text("x abcdefgh-ijklmnop abcdefgh y"), "x *** *** y");
    }

    #[test]
    fn of_secrets_that_overlap_neither_end_is_left() {
        let masker = masker(&[("A_TOKEN", "abcd-efgh-ijkl"), ("B_TOKEN", "ijkl-mnop-qrst")]);
        assert_eq!(masker.text("x abcd-efgh-ijkl-mnop-qrst y"), "x *** y");
        assert_eq!(masker.text("Bearer ijkl-mnop-qrst-uvwx y"), "*** y");
    }

    #[test]
    fn a_secret_is_hidden_where_a_text_holds_it_as_json() {
        let secret = "pass\"wörd\\42";
        let masker = masker(&[("DB_PASSWORD", secret)]);
        for shown in ["pass\\\"wörd\\\\42", "pass\\\"w\\u00f6rd\\\\42", secret] {
            assert_eq!(
                masker.text(&format!("{{\"p\":\"{shown}\"}}")),
                "{\"p\":\"***\"}"
            );
        }
        let key = self::masker(&[("APP_KEY", "line one\nline two")]);
        assert_eq!(key.text("k: line one\\nline two"), "k: ***");
    }

    #[test]
    fn a_secret_is_hidden_in_base64_and_line_by_line() {
        let masker = masker(&[("APP_SECRET", "first line here\nsecond line here")]);
        assert_eq!(masker.text("second line here."), "***.");
        let token = self::masker(&[("GITHUB_TOKEN", "hunter2hunter2")]);
        let header = format!(
            "basic {}==",
            STANDARD_NO_PAD.encode(b"x-access-token:hunter2hunter2")
        );
        assert_eq!(token.text(&header), "basic ***==");
    }

    #[test]
    fn keys_of_known_form_are_hidden_wherever_they_come_from() {
        let keys = [
            format!("ghp_{}", "a1".repeat(18)),
            format!("github_pat_{}", "a1".repeat(18)),
            format!("sk-proj-{}", "a1".repeat(18)),
            format!("AKIA{}", "A1".repeat(8)),
            format!("AIza{}", "a1".repeat(18)),
            format!("xoxb-{}", "1-".repeat(9)),
            format!("eyJ{0}.{0}.{0}", "a1".repeat(9)),
            format!("Bearer {}", "a1".repeat(9)),
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        ];
        let masker = Masker::default();
        for key in keys {
            assert_eq!(masker.text(&format!("({key})")), "(***)", "{key}");
        }
        let plain = "a sketchy task-list, bearer of news, AKIAM, ghp_short";
        assert_eq!(masker.text(plain), plain);
    }

    #[test]
    fn every_text_of_a_value_is_looked_at_and_nothing_else_changes() {
        let masker = masker(&[("API_KEY", "open\"sesame\\42")]);
        let value = json!({ "a": ["open\"sesame\\42", 3], "b": { "c": "xopen\"sesame\\42" } });
        let masked: Value = masker.value(&value).expect("it is JSON");
        assert_eq!(masked, json!({ "a": ["***", 3], "b": { "c": "x***" } }));
    }

    #[test]
    fn a_report_without_secrets_is_the_same_report() {
        let report = crate::report::fixture::bad();
        assert_eq!(masker(&[]).value(&report).expect("a report"), report);
    }
}
