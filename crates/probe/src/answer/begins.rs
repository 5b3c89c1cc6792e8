//! Describes the beginning of an output that is not JSON: often it has logs, followed by the JSON.

use serde::de::IgnoredAny;

/// The number of characters of the first line that are shown.
const SHOWN: usize = 60;
/// The number of lines at whose beginnings JSON after logs is looked for.
const LINES: usize = 200;

/// A hint for the message that the output is not JSON; empty where the output begins like an object, since then the
/// position of the mistake tells more.
pub(super) fn told(text: &str) -> String {
    let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return String::new();
    };
    if first.starts_with('{') {
        return String::new();
    }
    let begins = match beginning(first) {
        line if line.is_empty() => String::new(),
        line => format!("; it begins with `{line}`"),
    };
    match line_of_json(text) {
        None => begins,
        Some(line) => format!(
            "{begins}; JSON follows in line {line}: does the pipeline print logs before it? Print them on \
             standard error, or write the JSON alone to the file `{{output}}`"
        ),
    }
}

/// The beginning of a line without characters that could change a terminal. Secrets are masked by their full text, so a
/// word that would be cut in two is left out.
fn beginning(line: &str) -> String {
    let tame = |c: char| match c {
        '`' => '\'',
        c if c.is_control() => ' ',
        c => c,
    };
    let Some((end, next)) = line.char_indices().nth(SHOWN) else {
        return line.chars().map(tame).collect();
    };
    let whole = match next.is_whitespace() {
        true => end,
        false => line[..end].rfind(char::is_whitespace).unwrap_or(0),
    };
    let shown: String = line[..whole].trim_end().chars().map(tame).collect();
    match shown.as_str() {
        "" => shown,
        _ => format!("{shown}…"),
    }
}

/// The line, from 1, at which an object begins that fills the rest of the text; none where there is none.
fn line_of_json(text: &str) -> Option<usize> {
    let mut rest = text;
    for line in 1..=LINES {
        if rest.trim_start().starts_with('{') && rest.starts_with(['{', ' ', '\t']) {
            let mut json = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            if json.next().is_some_and(|value| value.is_ok()) {
                return Some(line);
            }
        }
        rest = &rest[rest.find('\n')? + 1..];
    }
    None
}
