//! Whether a text names one thing or several. People write several documents into one cell in many ways, and an id may
//! have a comma in it too, so that some of these texts can be read in two ways.

use std::collections::BTreeSet;

/// What is known of the ids that a text may have.
pub(crate) struct KnownIds<'a> {
    /// Whether there is something with this id; none if nobody knows what there is.
    pub exists: &'a dyn Fn(&str) -> Option<bool>,
    /// The ids that the same file names elsewhere, each on its own.
    pub alone: &'a BTreeSet<String>,
}

/// What a text names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// One id: the text.
    One,
    /// These ids.
    Several(Vec<String>),
    /// Perhaps these ids, perhaps one: nothing tells which.
    Unclear,
}

impl KnownIds<'_> {
    /// What a text without `;` names.
    pub(crate) fn naming(&self, text: &str) -> Naming {
        if (self.exists)(text) == Some(true) || self.alone.contains(text) {
            return Naming::One;
        }
        let inner = text.strip_prefix('[');
        let inner = inner.and_then(|inner| inner.strip_suffix(']'));
        let body = inner.unwrap_or(text);
        let ways = ['|', ',', ' '].map(|sign| parts(body, sign));
        let several = |parts: &&Vec<String>| parts.len() > 1 || inner.is_some();
        let known = |parts: &&Vec<String>| {
            several(parts) && parts.iter().any(|part| (self.exists)(part) == Some(true))
        };
        if let Some(parts) = ways.iter().find(known) {
            return Naming::Several(parts.clone());
        }
        // Where it is known what exists, a text that names nothing of it is an error, and is shown as it was written.
        if (self.exists)(text).is_some() {
            return Naming::One;
        }
        let alone = |parts: &&Vec<String>| {
            several(parts) && parts.iter().all(|part| self.alone.contains(part))
        };
        if let Some(parts) = ways[..2].iter().find(alone) {
            return Naming::Several(parts.clone());
        }
        let [by_bar, by_comma, _] = ways;
        let parts = if by_bar.len() > 1 { by_bar } else { by_comma };
        let addresses = parts.iter().filter(|part| part.contains("://")).count();
        match () {
            // The comma is a part of an address.
            () if addresses > 0 && addresses < parts.len() => Naming::One,
            () if parts.len() < 2 && inner.is_none() => Naming::One,
            // In prose a space follows a comma, as in the title `Paris, Texas`.
            () if parts.len() > 1 && !body.contains(char::is_whitespace) => Naming::Several(parts),
            () if parts.iter().all(|part| self.is_like_id(part)) => Naming::Several(parts),
            () => Naming::Unclear,
        }
    }

    /// Whether a part of a text is an id and no word of a title.
    fn is_like_id(&self, part: &str) -> bool {
        let middle = part.trim_matches(|sign: char| !sign.is_alphanumeric());
        let has = |sign: char| sign.is_ascii_digit() || "-_./#:".contains(sign);
        self.alone.contains(part) || !part.contains(char::is_whitespace) && middle.contains(has)
    }
}

/// The parts of a text between a sign, or between white space, without quotes around them.
fn parts(text: &str, sign: char) -> Vec<String> {
    let is_between = |found: char| match sign {
        ' ' => found.is_whitespace(),
        sign => found == sign,
    };
    let parts = text.split(is_between).map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// The texts of a list as Python prints it, such as `['a', "b"]`; as NumPy does, without commas; or of a tuple or set.
pub(crate) fn printed_list(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let between = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let inner = between('[', ']').or_else(|| between('(', ')'));
    let mut rest = inner.or_else(|| between('{', '}'))?.trim_start();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|sign| "'\"".contains(*sign))?;
        let mut signs = rest.char_indices().skip(1);
        let mut element = String::new();
        let end = loop {
            match signs.next()? {
                (_, '\\') => element.push(signs.next()?.1),
                (at, sign) if sign == quote => break at + 1,
                (_, sign) => element.push(sign),
            }
        };
        found.push(element);
        rest = rest[end..].trim_start_matches(|sign: char| sign == ',' || sign.is_whitespace());
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn several(parts: &[&str]) -> Naming {
        Naming::Several(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    #[test]
    fn without_a_corpus_the_form_of_the_parts_and_the_rest_of_the_file_decide() {
        let alone = BTreeSet::from(["returns", "Old shop", "Reno, Nevada"].map(str::to_owned));
        let known = KnownIds {
            exists: &|_| None,
            alone: &alone,
        };
        for (text, expected) in [
            ("d04", Naming::One),
            ("Late returns", Naming::One),
            ("d04,d15", several(&["d04", "d15"])),
            ("d04, d15,", several(&["d04", "d15"])),
            ("a|b,c", several(&["a", "b,c"])),
            (
                "faq/late.md | faq/rooms.md",
                several(&["faq/late.md", "faq/rooms.md"]),
            ),
            ("returns, Old shop", several(&["returns", "Old shop"])),
            ("[d04, d15]", several(&["d04", "d15"])),
            ("[returns]", several(&["returns"])),
            ("Reno, Nevada", Naming::One),
            ("Paris, Texas", Naming::Unclear),
            ("Returns | Help", Naming::Unclear),
            ("[draft]", Naming::Unclear),
            ("https://a.example/?x=1,2", Naming::One),
        ] {
            assert_eq!(known.naming(text), expected, "{text}");
        }
    }

    #[test]
    fn a_corpus_decides_alone() {
        let there = ["Paris, Texas", "Paris", "d04", "d15", "two words"];
        let known = KnownIds {
            exists: &|id| Some(there.contains(&id)),
            alone: &BTreeSet::new(),
        };
        for (text, expected) in [
            ("Paris, Texas", Naming::One),
            ("d04, two words", several(&["d04", "two words"])),
            ("d04 d15", several(&["d04", "d15"])),
            // The part that does not exist is then named on its own.
            ("d04,d99", several(&["d04", "d99"])),
            ("d98,d99", Naming::One),
        ] {
            assert_eq!(known.naming(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_are_read_as_python_prints_them() {
        let list = |parts: &[&str]| Some(parts.iter().map(|part| (*part).to_owned()).collect());
        for (text, expected) in [
            ("['d04', \"it's\"]", list(&["d04", "it's"])),
            ("['a, b' 'c\\'d']", list(&["a, b", "c'd"])),
            ("('a',)", list(&["a"])),
            ("{'a', 'b'}", list(&["a", "b"])),
            ("[d04, d15]", None),
            ("['a'] and more", None),
            ("['a", None),
            ("['a]", None),
            ("[]", None),
        ] {
            assert_eq!(printed_list(text), expected, "{text}");
        }
    }
}
