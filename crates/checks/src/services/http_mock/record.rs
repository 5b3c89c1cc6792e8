//! The record of the requests that a mocked server has received.

use serde_json::{Map, Value, json};

/// How many requests a summary names at most.
const SUMMED_UP: usize = 10;
/// How many characters of each request are shown at most.
const LONGEST_LINE: usize = 100;

/// A request in its received form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedRequest {
    /// The method, in upper case.
    pub(super) method: String,
    /// The path, in [normal form](super::routes::normal_path), without the query.
    pub(super) path: String,
    /// The query, i.e. the part after the `?`.
    pub(super) query: String,
    /// The headers in order; names in lower case.
    pub(super) headers: Vec<(String, String)>,
    /// The body, or its beginning.
    pub(super) body: Vec<u8>,
    /// How many bytes the body had.
    pub(super) size: u64,
}

impl ReceivedRequest {
    /// Why the content of the body is unknown, as the end of a sentence; none if the body can be read.
    pub(super) fn hides(&self) -> Option<String> {
        if self.size > self.body.len() as u64 {
            return Some(format!(
                "has a body of {} bytes, of which only the first {} were kept",
                self.size,
                self.body.len()
            ));
        }
        let encoding = self.header("content-encoding")?;
        let is_plain = encoding.trim().eq_ignore_ascii_case("identity");
        (!is_plain && !self.body.is_empty())
            .then(|| "has a body with a `content-encoding`, which is not undone".to_owned())
    }

    /// The body as JSON, or the fields of a form as an object; none if the body is neither. Several clients, e.g. `curl
    /// -d`, declare JSON as a form by default.
    pub(super) fn json(&self) -> Option<Value> {
        let json = serde_json::from_slice::<Value>(&self.body).ok();
        if !self.is_form() {
            return json;
        }
        json.filter(|json| json.is_object() || json.is_array())
            .or_else(|| Some(self.form()))
    }

    fn form(&self) -> Value {
        let mut fields: Map<String, Value> = Map::new();
        for (name, value) in form_urlencoded::parse(&self.body) {
            let value = Value::String(value.into_owned());
            match fields.get_mut(&*name) {
                None => {
                    fields.insert(name.into_owned(), value);
                }
                Some(Value::Array(several)) => several.push(value),
                Some(one) => *one = Value::Array(vec![one.take(), value]),
            }
        }
        fields.into()
    }

    fn is_form(&self) -> bool {
        let kind = self.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    }

    /// The body as a text, and again without the escapes of JSON or of a form, because a word can be escaped in many
    /// ways.
    pub(super) fn texts(&self) -> Vec<String> {
        let mut texts = vec![String::from_utf8_lossy(&self.body).into_owned()];
        if texts[0].contains('\\') {
            texts.push(unescaped(&texts[0]));
        }
        if self.is_form() {
            let fields = form_urlencoded::parse(&self.body);
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            texts.push(fields.join("&"));
        }
        texts
    }

    /// Whether the body is a text: a body of another kind may contain a word that cannot be found in it.
    pub(super) fn is_text(&self) -> bool {
        let text = std::str::from_utf8(&self.body);
        text.is_ok_and(|text| !text.contains('\0'))
    }

    /// The values of a header, joined according to the rules of HTTP.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter();
        let values: Vec<&str> = values
            .filter(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The values of a query parameter, in order.
    pub(super) fn parameters(&self, name: &str) -> Vec<String> {
        let all = form_urlencoded::parse(self.query.as_bytes());
        all.filter(|(other, _)| other == name)
            .map(|(_, value)| value.into_owned())
            .collect()
    }

    /// The approximate size of the request in memory, in bytes.
    pub(super) fn cost(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers
            .map(|(name, value)| name.len() + value.len() + 64)
            .sum();
        self.method.len() + self.path.len() + self.query.len() + headers + self.body.len() + 128
    }
}

/// All requests that a server received until the pipeline ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MockRecord {
    /// The stored requests, in order: the first ones.
    pub(super) requests: Vec<ReceivedRequest>,
    /// How many requests there were.
    pub(super) total: u64,
    /// How many requests ended before their body was complete.
    pub(super) incomplete: u64,
    /// How many connections did not send HTTP.
    pub(super) garbled: u64,
}

impl MockRecord {
    /// The first requests, and how many there are in total.
    pub(crate) fn summary(&self) -> Value {
        let first = self.requests.iter().take(SUMMED_UP);
        let first: Vec<String> = first
            .map(|request| {
                let line = format!("{} {}", request.method, request.path);
                line.chars().take(LONGEST_LINE).collect()
            })
            .collect();
        json!({ "count": self.total, "first": first })
    }

    /// The method and the path of every stored request, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let requests = self.requests.iter();
        requests.map(|one| (one.method.as_str(), one.path.as_str()))
    }

    /// The data that were sent but not counted as a request, in one sentence for each kind.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if self.incomplete > 0 {
            troubles.push(format!(
                "not counted: requests that broke off before their end ({})",
                self.incomplete
            ));
        }
        if self.garbled > 0 {
            troubles.push(format!(
                "not counted: connections that sent something else than HTTP, such as TLS ({})",
                self.garbled
            ));
        }
        troubles
    }

    /// How many requests were not stored.
    pub(crate) fn lost(&self) -> u64 {
        self.total - self.requests.len() as u64
    }
}

/// A text without JSON escapes, wherever they are. A body may be nested too deeply to be parsed here, or have a
/// duplicate name, and a server may still parse it.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut units = Vec::new();
        while let Some(unit) = unit(rest) {
            units.push(unit);
            rest = &rest[6..];
        }
        if !units.is_empty() {
            let letters = char::decode_utf16(units);
            plain.extend(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
            continue;
        }
        let mut letters = rest.chars().skip(1);
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some(letter @ ('"' | '\\' | '/')) => plain.push(letter),
            Some(letter) => plain.extend(['\\', letter]),
            None => plain.push('\\'),
        }
        let length = rest.chars().take(2).map(char::len_utf8).sum();
        rest = &rest[length..];
    }
    plain + rest
}

/// The number in an escape such as `\u0061` at the beginning.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_as_a_reader_of_json_does_it() {
        for text in [
            r#""plain""#,
            r#""p\u0061y""#,
            r#""p\\u0061y""#,
            r#""\ud83d\ude00 \" \/ \\ \n\r\t end\\""#,
        ] {
            let read: String = serde_json::from_str(text).expect("JSON");
            assert_eq!(unescaped(text), format!("\"{read}\""), "{text}");
        }
        for text in ["\\", "\\u", "\\u00", "\\u00é", "\\é", "\\ud83d"] {
            // What is no escape stays, and nothing panics.
            assert!(!unescaped(text).is_empty(), "{text}");
        }
    }
}
