//! Untrusted text inside Markdown, as GitHub and others render it.
//!
//! Escapes prevent Markdown formatting, but a forge changes the rendered text afterwards: outside of code it turns
//! `@name`, `#1`, `www.` and `:name:` into mentions, references, links and pictures. A zero-width space breaks these
//! apart.

use super::{cut, cut_middle, lines};

/// Breaks apart the texts that a forge would recognise after rendering.
const APART: &str = "&#8203;";
/// The character that breaks texts apart in code, where character references are not decoded.
const APART_IN_CODE: char = '\u{200b}';

/// A line of text inside Markdown or a table cell, at most `most` columns: every character with a meaning for Markdown,
/// HTML or a forge is escaped.
pub fn markdown(text: &str, most: usize) -> String {
    let text = cut(text, most);
    let mut out = String::with_capacity(2 * text.len());
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], text[at + c.len_utf8()..].chars().next());
        let joined = after.is_some_and(|after| !after.is_whitespace());
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A backslash is enough in text, but not before the bar that ends a table cell.
            '|' => out.push_str("&#124;"),
            // Formulas begin and end with a dollar sign.
            '$' => out.push_str("&#36;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => out.extend(['\\', c]),
            // At the beginning of a line, these characters start a list or a rule, or in the case of `/` a command to a
            // bot.
            '-' | '+' | '=' | '/' if before.is_empty() => out.extend(['\\', c]),
            '.' | ')' if is_number(before) && !joined => out.extend(['\\', c]),
            c => out.push(c),
        }
        let active = match c {
            '@' | ':' => joined,
            '#' => after.is_some_and(char::is_alphanumeric),
            '.' => ends_with(before, "www"),
            '-' => ends_with(before, "gh") && after.is_some_and(|after| after.is_ascii_digit()),
            _ => false,
        };
        if active {
            out.push_str(APART);
        }
    }
    out
}

/// A name or a value as code if that is possible, and as plain text if it would end the code.
pub fn code(text: &str, most: usize) -> String {
    let short = cut(text, most);
    // A table separates its cells before code is recognised.
    if short.is_empty() || short.contains(['`', '|', '\\']) {
        return markdown(&short, most);
    }
    format!("`{}`", inert(&short))
}

/// The name of an item or a metric, as [`code`] has it; both ends of a long name stay.
pub fn code_name(text: &str, most: usize) -> String {
    code(&cut_middle(text, most), most)
}

/// Several lines as a code block whose fence the text cannot close; at most the last `most` characters, since the error
/// is usually at the end.
pub fn fenced(text: &str, most: usize) -> String {
    let text = lines(text);
    let text = text.trim_end();
    let more = text.chars().count().saturating_sub(most);
    let mut shown: String = text.chars().skip(more).collect();
    if more > 0 {
        shown.insert_str(0, "… ");
    }
    // Programs that read comments treat a line that begins with a slash or a mention as a command, even inside code.
    let shown: Vec<String> = shown
        .lines()
        .map(|line| format!("| {}", inert(line)))
        .collect();
    let longest = shown
        .iter()
        .flat_map(|line| line.split(|c| c != '`'))
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", shown.join("\n"))
}

/// Removes mentions and hidden marks, even for programs that read the source. An `@` between a letter and a digit begins
/// no mention, and is left as it is, so that a name such as `ndcg@10` can be copied.
fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        out.push(c);
        let is_in_name = text[..at].ends_with(char::is_alphanumeric)
            && text[at + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        if c == '@' && !is_in_name {
            out.push(APART_IN_CODE);
        }
    }
    out.replace("<!--", &format!("<!{APART_IN_CODE}--"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn ends_with(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    start
        .and_then(|start| text.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(word))
}
