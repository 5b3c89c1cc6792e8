//! The canonical form of a record: a formatter of the file changes neither what the pipeline gets nor what counts as an
//! edit.

use std::borrow::Cow;

use serde_json::Value;

/// The order of the keys of every object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOrder {
    /// As in the file: a pipeline may hand the record to a model as it is.
    Written,
    /// By the keys, for a digest of the values alone.
    Sorted,
}

/// An object or an array that is not closed yet.
enum Open {
    Array,
    /// The key of each member so far, with its start in the written text.
    Object(Vec<(String, usize)>),
}

/// The canonical text of a valid JSON text: one blank after each `:` and `,`, and each character of a text written as
/// itself where JSON allows it. A number stays as it is written, since `1.50` may mean something else than `1.5`.
///
/// It needs no recursion, so that deep values cannot overflow the stack.
pub(super) fn canonical(text: &str, order: KeyOrder) -> String {
    let mut written = String::with_capacity(text.len());
    let mut open: Vec<Open> = Vec::new();
    let mut is_key = false;
    let mut rest = text.trim_start_matches(BLANKS);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => end_of_text(rest),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            _ => rest.find(ENDS).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(end);
        rest = behind.trim_start_matches(BLANKS);
        match first {
            '{' => {
                open.push(Open::Object(Vec::new()));
                written.push('{');
                is_key = true;
            }
            '[' => {
                open.push(Open::Array);
                written.push('[');
                is_key = false;
            }
            '}' | ']' => {
                if let Some(Open::Object(members)) = open.pop()
                    && order == KeyOrder::Sorted
                {
                    sort(&mut written, members);
                }
                written.push(first);
                is_key = false;
            }
            ',' => {
                written.push_str(", ");
                is_key = matches!(open.last(), Some(Open::Object(_)));
            }
            ':' => {
                written.push_str(": ");
                is_key = false;
            }
            '"' => {
                let token = plain(token);
                if let (true, Some(Open::Object(members))) = (is_key, open.last_mut()) {
                    members.push((token.clone().into_owned(), written.len()));
                }
                written.push_str(&token);
            }
            _ => written.push_str(token),
        }
    }
    written
}

/// The white space of JSON.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// What can follow a number, `true`, `false` or `null`.
const ENDS: [char; 7] = [' ', '\t', '\n', '\r', ',', ']', '}'];

/// The end of the text literal at the start.
fn end_of_text(rest: &str) -> usize {
    let mut is_escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(rest.len(), |end| end + 2)
}

/// A text literal with no more escapes than JSON demands. A literal with half of a surrogate pair is no text of Rust,
/// and stays.
fn plain(literal: &str) -> Cow<'_, str> {
    if !literal.contains('\\') {
        return Cow::Borrowed(literal);
    }
    match serde_json::from_str::<String>(literal) {
        Ok(text) => Cow::Owned(Value::from(text).to_string()),
        Err(_) => Cow::Borrowed(literal),
    }
}

/// Sorts the members of the object at the end of the text. Members with the same key keep their order, since the last
/// of them counts.
fn sort(written: &mut String, mut members: Vec<(String, usize)>) {
    let Some(&(_, start)) = members.first() else {
        return;
    };
    // Most objects within objects have few keys in one order; what is sorted is not copied again on each level.
    if members.is_sorted_by(|one, two| one.0 <= two.0) {
        return;
    }
    let mut end = written.len();
    let mut parts: Vec<(String, String)> = Vec::with_capacity(members.len());
    while let Some((key, from)) = members.pop() {
        parts.push((key, written[from..end].to_owned()));
        end = from.saturating_sub(", ".len());
    }
    parts.reverse();
    parts.sort_by(|one, two| one.0.cmp(&two.0));
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    written.truncate(start);
    written.push_str(&parts.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_escapes_do_not_matter_and_numbers_and_the_order_of_keys_stay() {
        let record = r#"{"b": "é \"x\\", "a": [1.50, true, {"d": null, "c": {}}, []]}"#;
        for text in [
            record,
            r#"{"b":"\u00e9 \"x\\","a":[1.50,true,{"d":null,"c":{}},[]]}"#,
            "{\n  \"b\" : \"é \\u0022x\\\\\",\r\n\t\"a\": [\n 1.50 ,true\n, { \"d\": null , \"c\" : { } }, [ ] ]\n}\n",
        ] {
            assert_eq!(canonical(text, KeyOrder::Written), record);
        }
        assert_eq!(
            canonical(record, KeyOrder::Sorted),
            r#"{"a": [1.50, true, {"c": {}, "d": null}, []], "b": "é \"x\\"}"#
        );
        for same in [r#""a\ud83d""#, "\"a, {b: c}\"", "-1e5", "[]", "{}"] {
            assert_eq!(canonical(same, KeyOrder::Sorted), same);
        }
    }

    #[test]
    fn deep_values_overflow_no_stack() {
        let deep = format!("{}1{}", "{\"a\":[".repeat(50_000), "]}".repeat(50_000));
        let written = canonical(&deep, KeyOrder::Sorted);
        assert_eq!(written.len(), deep.len() + 50_000);
    }
}
