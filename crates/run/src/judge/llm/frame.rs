//! Puts untrusted texts into frames, so that no text can leave its frame or imitate another part of the question.
//!
//! The borders contain a mark that is a digest of all texts of the question. No text contains the mark: it would have
//! to contain a digest of itself, and if that happens by chance, another mark is used. The mark depends only on the
//! texts, so that equal questions are equal bytes, and the cache has an answer for them.

use std::borrow::Cow;

use kelvin_base::digest::Fields;

/// A text with the name of its frame.
#[derive(Clone, Debug)]
pub(super) struct Framed<'a> {
    pub(super) name: Cow<'static, str>,
    pub(super) text: &'a str,
}

/// An invisible character that no tokenizer treats as a part of a control token.
const JOINER: char = '\u{2060}';

/// The continuations of control tokens in common chat templates, by their first character. Many servers also interpret
/// such tokens inside the text of a message, where they would end the message.
const CONTROL: [(char, &[&str]); 2] = [
    (
        '<',
        &[
            "|",
            "\u{ff5c}",
            "s>",
            "/s>",
            "bos>",
            "eos>",
            "pad>",
            "unk>",
            "start_of_turn>",
            "end_of_turn>",
            "SYS>>",
            "/SYS>>",
        ],
    ),
    (
        '[',
        &[
            "INST]",
            "/INST]",
            "SYSTEM_PROMPT]",
            "/SYSTEM_PROMPT]",
            "AVAILABLE_TOOLS]",
            "/AVAILABLE_TOOLS]",
            "TOOL_CALLS]",
            "TOOL_RESULTS]",
            "/TOOL_RESULTS]",
        ],
    ),
];

/// The frames of some texts, one after the other, each with at most `most` characters. The salt distinguishes questions
/// with equal texts, such as several votes.
pub(super) fn frames(texts: &[Framed<'_>], salt: &str, most: usize) -> String {
    let mark = mark(texts, salt);
    let mut frames = String::new();
    for Framed { name, text } in texts {
        frames.push_str(&format!("BEGIN {name} {mark}\n"));
        match cut(text, most) {
            None => frames.push_str(&shield(text)),
            Some((begin, end, left_out)) => {
                frames.push_str(&shield(begin));
                frames.push_str(&format!(
                    "\nCUT {mark}: {left_out} characters were left out here\n"
                ));
                frames.push_str(&shield(end));
            }
        }
        frames.push_str(&format!("\nEND {name} {mark}\n\n"));
    }
    frames
}

/// The mark of the borders: 16 hexadecimal digits that occur in none of the texts.
fn mark(texts: &[Framed<'_>], salt: &str) -> String {
    let mut tries: u64 = 0;
    loop {
        let fields = Fields::of("kelvin/frame/v1")
            .field("salt", salt)
            .field("try", tries.to_be_bytes());
        let fields = texts.iter().fold(fields, |fields, framed| {
            fields.field(&framed.name, framed.text)
        });
        let mark = fields.digest().short(16);
        if !texts.iter().any(|framed| framed.text.contains(&mark)) {
            return mark;
        }
        tries += 1;
    }
}

/// Whether a text is longer than a frame may be.
pub(super) fn is_cut(text: &str, most: usize) -> bool {
    text.chars().nth(most).is_some()
}

/// The beginning and the end of a text that is too long, and the number of characters between them. The beginning is
/// longer, since it says what a text is about; the end often contains the conclusion.
fn cut(text: &str, most: usize) -> Option<(&str, &str, usize)> {
    if !is_cut(text, most) {
        return None;
    }
    let (first, last) = (most - most / 4, most / 4);
    let place = |number: usize| text.char_indices().nth(number).map(|(at, _)| at);
    let all = text.chars().count();
    let begin = &text[..place(first)?];
    let end = &text[place(all - last).unwrap_or(text.len())..];
    Some((begin, end, all - most))
}

/// The text in which an invisible character breaks every control token of a chat template. This can be undone: if a
/// text already has such characters, one more is added.
fn shield(text: &str) -> Cow<'_, str> {
    let mut places = text.match_indices(['<', '[']).filter_map(|(at, found)| {
        let first = found.chars().next()?;
        let rest = text[at + 1..].trim_start_matches(JOINER);
        let (_, tails) = CONTROL.iter().find(|(begin, _)| *begin == first)?;
        let is_token = tails.iter().any(|tail| rest.starts_with(tail));
        is_token.then_some(at + 1)
    });
    let Some(first) = places.next() else {
        return Cow::Borrowed(text);
    };
    let mut shielded = String::with_capacity(text.len() + JOINER.len_utf8());
    let mut from = 0;
    for place in std::iter::once(first).chain(places) {
        shielded.push_str(&text[from..place]);
        shielded.push(JOINER);
        from = place;
    }
    shielded.push_str(&text[from..]);
    Cow::Owned(shielded)
}

#[cfg(test)]
pub(super) mod tests_only {
    use super::{CONTROL, JOINER};

    /// Undoes what protects a text.
    pub(in crate::judge) fn unshield(text: &str) -> String {
        let mut original = String::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            original.push(c);
            rest = &rest[c.len_utf8()..];
            let after = rest.trim_start_matches(JOINER);
            let tails = CONTROL.iter().find(|(begin, _)| *begin == c);
            let is_token =
                tails.is_some_and(|(_, tails)| tails.iter().any(|t| after.starts_with(t)));
            if is_token && rest.len() > after.len() {
                rest = &rest[JOINER.len_utf8()..];
            }
        }
        original
    }
}
