//! Removes secrets, in every form in which they may be written, from everything that is printed or stored.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use kelvin_gate::report::{Report, StoredReport};
use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The replacement for a secret.
const HIDDEN: &str = "***";
/// The length of the shortest secret; shorter values are too likely to be ordinary words.
const SHORTEST: usize = 8;

/// Patterns for names of variables that contain secrets.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(^|_)(TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS|AUTH|APIKEY|KEY|DSN)(_|$)|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY",
    )
    .expect("the pattern is tested")
});

/// Patterns for keys with a recognisable form.
static PATTERNS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x)
        -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z\ ]*PRIVATE\ KEY-----|$)
        | (?-u:\b)gh[opsur]_[A-Za-z0-9]{20,}
        | (?-u:\b)github_pat_[A-Za-z0-9_]{20,}
        | (?-u:\b)glpat-[A-Za-z0-9_-]{16,}
        | (?-u:\b)sk-[A-Za-z0-9_-]{16,}
        | (?-u:\b)(?:AKIA|ASIA)[A-Z0-9]{16}(?-u:\b)
        | (?-u:\b)AIza[A-Za-z0-9_-]{30,}
        | (?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}
        | (?-u:\b)hf_[A-Za-z0-9]{20,}
        | (?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
        | (?-u:\b)[rs]k_(?:live|test)_[A-Za-z0-9]{16,}
        | (?-u:\b)npm_[A-Za-z0-9]{30,}
        | (?-u:\b)[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>\\]+:[^\s/@"'<>\\]+@
        | (?i:(?-u:\b)authorization["']?\ *[:=]\ *["']?basic)\ +[A-Za-z0-9+/=]{8,}
        | (?i:(?-u:\b)bearer)\ +[A-Za-z0-9._~+/=-]{16,}
        "#,
    )
    .expect("the pattern is tested")
});

/// A JSON escape that represents one letter.
static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\\.").expect("the pattern is tested"));

/// The positions in a text of keys with a recognisable form.
pub fn key_forms(text: &str) -> impl Iterator<Item = Range<usize>> {
    PATTERNS.find_iter(text).map(|found| found.range())
}

/// Removes the secrets of a run from texts.
#[derive(Clone, Debug, Default)]
pub struct Masker {
    /// The secrets, the longest first. Otherwise, if a secret contains another one, a part of it would stay.
    secrets: Vec<String>,
    /// Matches any secret; none if there is none, or if there are too many for one pattern.
    any: Option<Regex>,
}

impl Masker {
    /// A masker for the values of variables whose names suggest a secret, and for the secrets that were named
    /// explicitly.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        named: impl IntoIterator<Item = String>,
    ) -> Self {
        let told = variables
            .into_iter()
            .filter(|(name, _)| NAMES.is_match(name))
            .map(|(_, value)| value);
        let mut secrets: Vec<String> = Vec::new();
        for secret in told.chain(named) {
            // The path of a file is not a secret, for any name of its variable. One in 64 base64 keys begins with a
            // slash too, but it is not the path of a file.
            let secret = secret.trim();
            if secret.len() < SHORTEST || (secret.starts_with('/') && Path::new(secret).exists()) {
                continue;
            }
            secrets.extend(written_forms(secret));
        }
        secrets.retain(|secret| secret.len() >= SHORTEST);
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        secrets.dedup();
        let any = secrets.iter().map(|secret| regex::escape(secret));
        let any: Vec<String> = any.collect();
        Self {
            any: Regex::new(&any.join("|")).ok().filter(|_| !any.is_empty()),
            secrets,
        }
    }

    /// A masker for the secrets in the environment of this process.
    pub fn of_environment(named: impl IntoIterator<Item = String>) -> Self {
        // A value that is not valid text is printed with its invalid bytes replaced.
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
        Self::new(variables, named)
    }

    /// The secrets themselves, for the runner to mask.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(String::as_str)
    }

    /// A text without its secrets. Overlapping secrets are removed together, so that no end of one is left.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.secrets.iter().flat_map(|secret| {
            text.match_indices(secret.as_str())
                .map(|(at, found)| (at, at + found.len()))
        });
        let told = key_forms(text).map(|found| (found.start, found.end));
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

    /// A value without secrets in any of its texts. Names of fields stay: they are our own names, or names of files.
    ///
    /// # Errors
    ///
    /// Fails if the value cannot be written as JSON or read back.
    pub fn value<T: Serialize + DeserializeOwned>(&self, value: &T) -> anyhow::Result<T> {
        let mut json = serde_json::to_value(value)?;
        self.json(&mut json);
        Ok(serde_json::from_value(json)?)
    }

    /// A report without secrets in any of its texts.
    ///
    /// # Errors
    ///
    /// Fails like [`value`](Self::value).
    pub fn report(&self, report: &Report) -> anyhow::Result<Report> {
        let mut json = serde_json::to_value(report)?;
        self.json(&mut json);
        let stored: StoredReport = serde_json::from_value(json)?;
        let read = stored.read_by(report.probes.kinds());
        read.map_err(anyhow::Error::msg)
    }

    /// Whether any text of a value may contain a secret. For a report of a hundred megabytes without secrets this check
    /// is quick.
    ///
    /// # Errors
    ///
    /// Fails if the value cannot be written as JSON.
    pub fn may_find(&self, value: &impl Serialize) -> anyhow::Result<bool> {
        let mut search = MaskSearch::new(self);
        // With line breaks in the JSON, every text is on its own line, so that the lines can be checked one after the
        // other.
        let lines = PrettyFormatter::with_indent(b"");
        value.serialize(&mut Serializer::with_formatter(&mut search, lines))?;
        Ok(search.ends())
    }

    /// Whether whole lines of JSON may contain a secret.
    fn may_be_in(&self, json: &str) -> bool {
        let known = match &self.any {
            Some(any) => any.is_match(json),
            None => !self.secrets.is_empty(),
        };
        // A line break is two letters in JSON, and the second one would seem to belong to the next word.
        known || PATTERNS.is_match(&ESCAPES.replace_all(json, "  "))
    }

    /// Removes the secrets from every text of a JSON value.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.json(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.json(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The characters that encoders leave unchanged, besides letters and digits: those of the standard, of browsers, of
/// Python, and of forms.
const PLAIN: [&[u8]; 4] = [b"-_.~", b"-_.~!'()*", b"-_.~/", b"-_.*"];

/// A secret in every form that is searched for: unchanged, each of its lines, in JSON, in base64, and in URLs.
fn written_forms(secret: &str) -> BTreeSet<String> {
    let lines = secret.lines().map(|line| line.trim().to_owned());
    let mut forms: BTreeSet<String> = lines.collect();
    forms.insert(secret.to_owned());
    forms.extend(quoted(secret));
    forms.extend(base64(secret));
    forms.extend(percent(secret));
    forms
}

/// The two usual forms of a secret in JSON.
fn quoted(secret: &str) -> [String; 2] {
    let json = Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let ascii = json
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect();
    [json, ascii]
}

/// A secret inside a longer text in base64. Its form depends on the number of bytes before it; letters that also depend
/// on the neighbours of the secret are left out.
fn base64(secret: &str) -> Vec<String> {
    let mut forms = vec![
        // Padding is left out, since a secret may be inside a longer text.
        STANDARD_NO_PAD.encode(secret),
        STANDARD_NO_PAD.encode(format!("x-access-token:{secret}")),
    ];
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = vec![0; before];
        bytes.extend(secret.as_bytes());
        let text = STANDARD_NO_PAD.encode(&bytes);
        let end = text.len() - usize::from(bytes.len() % 3 != 0);
        forms.push(text[shared..end].to_owned());
    }
    let of_addresses = |form: &String| form.replace('+', "-").replace('/', "_");
    let others: Vec<String> = forms.iter().map(of_addresses).collect();
    forms.extend(others);
    forms
}

/// A secret inside a URL, in the forms of common encoders.
fn percent(secret: &str) -> Vec<String> {
    let encoded = |plain: &[u8], is_form: bool, is_lower: bool| {
        let letter = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() || plain.contains(byte) => {
                char::from(*byte).to_string()
            }
            b' ' if is_form => "+".to_owned(),
            byte if is_lower => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        secret.as_bytes().iter().map(letter).collect()
    };
    let mut forms = Vec::new();
    for plain in PLAIN {
        for is_form in [false, true] {
            for is_lower in [false, true] {
                forms.push(encoded(plain, is_form, is_lower));
            }
        }
    }
    forms
}

/// The number of bytes that are searched together.
const TOGETHER: usize = 256 * 1024;

/// Receives JSON in which each text is on one line.
struct MaskSearch<'a> {
    masker: &'a Masker,
    /// The text that was written but not yet searched.
    text: Vec<u8>,
    found: bool,
}

impl<'a> MaskSearch<'a> {
    const fn new(masker: &'a Masker) -> Self {
        Self {
            masker,
            text: Vec::new(),
            found: false,
        }
    }

    /// Searches the rest of the text; returns whether any of the text may contain a secret.
    fn ends(mut self) -> bool {
        self.look(self.text.len());
        self.found
    }

    /// Searches a number of bytes at the beginning, and drops them.
    fn look(&mut self, end: usize) {
        let json = String::from_utf8_lossy(&self.text[..end]);
        self.found = self.found || self.masker.may_be_in(&json);
        self.text.drain(..end);
    }
}

impl Write for MaskSearch<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        // A line that is longer than `TOGETHER` is searched as a whole.
        if self.text.len() >= TOGETHER
            && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n')
        {
            self.look(self.text.len() - bytes.len() + end + 1);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
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
            ("SSH_AUTH_SOCK", "/dev/null"),
            ("BASE_KEY", "/9j4AAQSkZJRgAB="),
            ("PIN_SECRET", "1234567890"),
        ]);
        let text =
            "open-sesame-42 open-country short qwertyuiop /dev/null /9j4AAQSkZJRgAB= 1234567890";
        let shown = "*** open-country short qwertyuiop /dev/null *** ***";
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
            format!("sk_live_{}", "a1".repeat(9)),
            format!("npm_{}", "a1".repeat(18)),
            "postgres://user:hunter2@".to_owned(),
            "mongodb+srv://user:p%40ss@".to_owned(),
            "Authorization: Basic dXNlcjpwdw==".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----".to_owned(),
        ];
        let masker = Masker::default();
        for key in keys {
            assert_eq!(masker.text(&format!("({key})")), "(***)", "{key}");
        }
        let plain = "a sketchy task-list, bearer of news, AKIAM, ghp_short, \
                     https://example.org:8080/a@b, a basic internationalization, https://user@host/";
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
        let report = kelvin_fixtures::report::bad();
        assert_eq!(masker(&[]).report(&report).expect("a report"), report);
        assert!(!masker(&[]).may_find(&report).expect("a report"));
    }

    #[test]
    fn what_would_be_hidden_is_found_before() {
        let masker = masker(&[("A_KEY", "pass\"wörd\\42")]);
        for text in [
            "pass\"wörd\\42".to_owned(),
            format!("line\nghp_{}", "a1".repeat(18)),
            format!("\"sk-{}", "a1".repeat(18)),
        ] {
            assert_ne!(masker.text(&text), text);
            assert!(masker.may_find(&[&text]).expect("JSON"), "{text}");
        }
        assert!(!masker.may_find(&["pass", "no ghp_ here"]).expect("JSON"));
    }

    #[test]
    fn thirty_secrets_are_hidden_in_every_form() {
        let secrets = [
            "sk_live_51H8xYzAbCdEfGhIjKlMnOp",
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "/Zk3+9aQ0w==longbase64/key+with/slashes=",
            "12345678",
            "9007199254740993",
            "3.141592653589793",
            "1e10000000",
            "0x1f2e3d4c5b6a",
            "p@ssw0rd with spaces",
            "quote\"and\\slash",
            "näïve-pässword",
            "xoxb-1234-5678-abcdefghij",
            "glpat-abcdefghij0123456789",
            "hf_abcdefghijklmnopqrst",
            "postgres://user:hunter2hunter2@db.internal:5432/x",
            "SG.abcdefghij.klmnopqrstuvwxyz0123",
            "dop_v1_0123456789abcdef",
            "npm_abcdefghijklmnopqrstuvwxyz",
            "pypi-AgEIcHlwaS5vcmc",
            "key-0123456789abcdef0123456789abcdef",
            "correct horse battery staple",
            "~tilde!bang*star'quote()",
            "100%sure&safe=no?",
            "-----not a key-----",
            "a+b/c=d+e/f=",
            "tab\tinside-secret",
            "aaaaaaaa",
            "日本語のパスワード",
            "-1234567.5e-3",
        ];
        assert_eq!(secrets.len(), 30);
        for secret in secrets {
            let masker = self::masker(&[("X_TOKEN", secret)]);
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
            let encoded = |escape: fn(&u8) -> String| -> String {
                let letter = |byte: &u8| match plain(byte) {
                    true => char::from(*byte).to_string(),
                    false => escape(byte),
                };
                secret.as_bytes().iter().map(letter).collect()
            };
            let percent = encoded(|byte| format!("%{byte:02X}"));
            let lower = encoded(|byte| format!("%{byte:02x}"));
            let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            let json = Value::from(secret).to_string();
            for shown in [secret, &percent, &lower, &form, &json[1..json.len() - 1]] {
                let text = format!("before {shown} after");
                assert!(masker.text(&text).contains("***"), "{shown} of {secret}");
                assert!(!masker.text(&text).contains(shown), "{shown} of {secret}");
            }
            for (before, after) in [("", ""), ("u:", ""), ("user:", "!"), ("{\"k\":\"", "\"}")] {
                let whole = format!("{before}{secret}{after}");
                for text in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
                    let masked = masker.text(&text).into_owned();
                    assert!(masked.contains("***"), "{whole} as {text}");
                    // The rest shows the texts around the secret, and at most one letter of the secret at each end.
                    let room = before.len().div_ceil(3) * 4 + after.len().div_ceil(3) * 4 + 8;
                    assert!(masked.len() - 3 <= room, "{whole}: {masked} of {text}");
                }
            }
        }
    }

    #[test]
    fn a_secret_is_found_wherever_what_is_looked_at_together_ends() {
        let pair = ("API_KEY".to_owned(), "open-sesame-42".to_owned());
        let masker = Masker::new([pair], []);
        for before in (TOGETHER - 40)..(TOGETHER + 10) {
            let texts = ["x".repeat(before), "open-sesame-42".to_owned()];
            assert!(masker.may_find(&texts).expect("JSON"), "after {before}");
            let texts = ["x".repeat(before), "open-sesame-41".to_owned()];
            assert!(!masker.may_find(&texts).expect("JSON"), "after {before}");
            let text = format!("{} open-sesame-42", texts[0]);
            assert!(masker.may_find(&[text]).expect("JSON"), "within {before}");
        }
    }

    #[test]
    fn what_was_looked_at_is_not_kept() {
        let masker = Masker::default();
        let mut search = MaskSearch::new(&masker);
        for _ in 0..100_000 {
            search
                .write_all(b"\"a text of a report\"\n")
                .expect("taken");
            assert!(search.text.len() < 2 * TOGETHER);
        }
        assert!(!search.ends());
    }
}
