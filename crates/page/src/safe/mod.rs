//! Makes untrusted text harmless for the place where it is shown. Case text, model output, names and messages may try
//! to forge lines, colours, mentions, links or markup.

mod markup;

use unicode_width::UnicodeWidthChar as _;

pub use markup::{code, code_name, fenced, markdown};

/// The maximum number of combining marks on a character; more marks would only hide the text.
const MARKS: usize = 4;

/// Whether a text can be shown on one line without changes: it contains neither line breaks nor invisible characters.
pub fn is_one_line(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || is_shown(c))
}

/// A line of text for a terminal, without control or bidirectional characters, and with a single space for each
/// sequence of white space.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            if !line.ends_with(' ') && !line.is_empty() {
                line.push(' ');
            }
        } else if is_shown(c) {
            line.push(c);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// Several lines for a terminal: line breaks and indentation stay, everything else is as in [`line()`].
pub fn lines(text: &str) -> String {
    let tame = |c: &char| *c == '\n' || *c == ' ' || (!c.is_whitespace() && is_shown(*c));
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    text.chars().filter(tame).collect()
}

/// The first `most` columns of a line; if there are more, an ellipsis follows.
pub fn cut(text: &str, most: usize) -> String {
    let text = line(text);
    if columns(&text) <= most && text.chars().count() <= MARKS * most {
        return text;
    }
    let room = most.saturating_sub(1);
    let mut short = String::new();
    let mut taken = 0;
    for c in text.chars().take(MARKS * room) {
        taken += width(c);
        if taken > room {
            break;
        }
        short.push(c);
    }
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// At most `most` columns of a line that is the name of something: if there are more, an ellipsis stands for its middle.
/// Long names, such as those of tests, often begin with the same path and differ at the end.
pub fn cut_middle(text: &str, most: usize) -> String {
    let text = line(text);
    let is_short = columns(&text) <= most && text.chars().count() <= MARKS * most;
    let room = most.saturating_sub(1) / 2;
    if is_short || room == 0 {
        return cut(&text, most);
    }
    let mut taken = 0;
    let last = text.char_indices().rev().take(MARKS * room);
    let last = last.take_while(|(_, c)| {
        taken += width(*c);
        taken <= room
    });
    let begin = last.last().map_or(text.len(), |(at, _)| at);
    // A combining mark belongs to a character that is left out.
    let end = text[begin..].trim_start_matches(|c| width(c) == 0);
    cut(&text[..begin], most - columns(end)) + end
}

/// The maximum number of terminal columns of a line: a wide character takes two.
pub fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn width(c: char) -> usize {
    // This character makes the previous character wide.
    let widens = c == '\u{fe0f}';
    c.width().unwrap_or(0) + usize::from(widens)
}

/// Whether a character can be shown: control characters affect the terminal; bidirectional and invisible characters
/// change how a text looks.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A text as a table cell. A spreadsheet treats a cell that begins with one of these characters as a formula, even
/// inside quotes and after white space; an apostrophe before it makes it a text. See:
/// <https://owasp.org/www-community/attacks/CSV_Injection>.
pub fn cell(text: &str) -> String {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let begins = |text: &str| text.starts_with(FORMULA) || text.starts_with(['\t', '\r', '\n']);
    let mark = if begins(text) || begins(text.trim_start()) {
        "'"
    } else {
        ""
    };
    format!("\"{mark}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests;
