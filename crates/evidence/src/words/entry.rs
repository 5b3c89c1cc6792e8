//! Parses single entries of the lists from the YAML tree, each in the form that its list needs.

use kelvin_run::config::diagnostic::{Problem, tame};
use kelvin_run::config::yaml::{Content, Node};

use super::NeutralSection;

/// A value in a list, parsed from the YAML tree.
pub(super) enum WordEntry {
    Section(NeutralSection),
    Pair(String, String),
    Word(String),
}

fn text(node: &Node) -> Result<&str, Problem> {
    match &node.content {
        Content::Text(text) => Ok(text),
        _ => Err(Problem::new(node.at.clone(), "this is not text")
            .help("put words that look like numbers or mappings in quotes")),
    }
}

/// A phrase: words with single spaces between them.
fn phrase(node: &Node) -> Result<&str, Problem> {
    let text = text(node)?;
    let spaced: Vec<&str> = text.split_whitespace().collect();
    if text.is_empty() || spaced.join(" ") != text || text.chars().any(char::is_control) {
        let what = "an entry is one line of text, without white space around it";
        return Err(Problem::new(node.at.clone(), what));
    }
    Ok(text)
}

/// A pair of opposites.
pub(super) fn pair(node: &Node) -> Result<WordEntry, Problem> {
    let Content::List(items) = &node.content else {
        return Err(Problem::new(node.at.clone(), "this is not a pair")
            .help("write two opposites as `[one, other]`"));
    };
    let [one, other] = items.as_slice() else {
        let what = format!("a pair has two phrases, found {}", items.len());
        return Err(Problem::new(node.at.clone(), what));
    };
    let (one, other) = (phrase(one)?, phrase(other)?);
    if one.to_lowercase() == other.to_lowercase() {
        let what = format!("`{one}` is not the opposite of itself");
        return Err(Problem::new(node.at.clone(), what));
    }
    for phrase in [one, other] {
        let worded = phrase
            .chars()
            .all(|c| c.is_alphanumeric() || "-'’ ".contains(c));
        let signed = phrase.chars().all(|c| "<>=≥≤⩾⩽".contains(c));
        if !worded && !signed {
            let what = format!(
                "`{}` is neither words nor a sign such as `>=`",
                tame(phrase)
            );
            return Err(Problem::new(node.at.clone(), what));
        }
    }
    Ok(WordEntry::Pair(one.to_owned(), other.to_owned()))
}

/// An entry of a list of words, in the form that this list needs.
pub(super) fn word(list: &str, node: &Node) -> Result<WordEntry, Problem> {
    let text = phrase(node)?;
    let wrong = match list {
        "hedges" | "courtesies" | "discourse_markers" | "meta_comments"
            if text.contains(['`', '*', '_', '[', ']', '<', '>', '#', '|', '\\', '~', '&'])
                || !text.starts_with(char::is_alphabetic) =>
        {
            Some("what is put into a text begins with a letter and has no Markdown in it")
        }
        "meta_comments" | "condition_states" if !text.ends_with(['.', '!', '?']) => {
            Some("a sentence ends with `.`, `!` or `?`")
        }
        "abbreviations" if !text.ends_with('.') => Some("an abbreviation ends with a full stop"),
        _ => None,
    };
    match wrong {
        Some(what) => Err(Problem::new(node.at.clone(), what)),
        None => Ok(WordEntry::Word(text.to_owned())),
    }
}

/// A section of the filler bank.
pub(super) fn section(node: &Node) -> Result<WordEntry, Problem> {
    let wrong = |what: String| Problem::new(node.at.clone(), what);
    let Content::Map(entries) = &node.content else {
        return Err(wrong("this is not a section".to_owned())
            .help("a section has a `heading` and a `text`"));
    };
    if let Some((key, _)) = entries
        .iter()
        .find(|(key, _)| key.text != "heading" && key.text != "text")
    {
        let what = format!("a section has no `{}`", tame(&key.text));
        return Err(Problem::new(key.at.clone(), what).help("it has a `heading` and a `text`"));
    }
    let (Some(heading), Some(body)) = (node.get(&["heading"]), node.get(&["text"])) else {
        return Err(wrong("a section has a `heading` and a `text`".to_owned()));
    };
    let heading_text = phrase(heading)?;
    if !heading_text.starts_with(char::is_alphanumeric) || heading_text.ends_with('#') {
        let what = "a heading begins with a letter or a digit; the `##` is added to it";
        return Err(Problem::new(heading.at.clone(), what));
    }
    let text = text(body)?.trim_end();
    if text.trim().is_empty() || text.starts_with(char::is_whitespace) {
        let what = "the text of a section begins with a word";
        return Err(Problem::new(body.at.clone(), what));
    }
    if let Some(line) = text.lines().find(|line| breaks_out(line)) {
        let what = format!("`{}` does not stand in a filler section", tame(line.trim()));
        return Err(Problem::new(body.at.clone(), what).help(
            "write plain paragraphs and lists, without headings, rules, code fences and HTML",
        ));
    }
    Ok(WordEntry::Section(NeutralSection::new(heading_text, text)))
}

/// Whether a line could begin a unit, or swallow the unit after the section.
fn breaks_out(line: &str) -> bool {
    let line = line.trim();
    let rule = |mark: char| !line.is_empty() && line.chars().all(|c| c == mark || c == ' ');
    ["#", "```", "~~~", "<"]
        .iter()
        .any(|start| line.starts_with(start))
        || ['-', '=', '*', '_'].into_iter().any(rule)
}
