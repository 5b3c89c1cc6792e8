//! Untrusted text made harmless for the place where it is shown. Case text, model output, names and
//! messages may try to forge lines, colours, mentions, links or markup.

/// One line for a terminal: no control or bidirectional characters, runs of white space as one
/// space.
pub(crate) fn line(text: &str) -> String {
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

/// Several lines for a terminal: line ends stay, everything else as in [`line`], indentation too.
pub(crate) fn lines(text: &str) -> String {
    let tame = |c: &char| *c == '\n' || *c == ' ' || (!c.is_whitespace() && is_shown(*c));
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    text.chars().filter(tame).collect()
}

/// The first `most` characters of a line, with an ellipsis where there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = line(text);
    if text.chars().count() <= most {
        return text;
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// One line within Markdown text or a table cell: every character that Markdown, HTML or GitHub
/// could take for more than itself is escaped.
pub(crate) fn markdown(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for c in cut(text, most).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A zero-width joiner in front of it would survive copying; a reference does not mention.
            '@' => out.push_str("&#64;"),
            '#' => out.push_str("&#35;"),
            ':' => out.push_str("&#58;"),
            // `www.` and `name.tld/` become links by themselves.
            '.' => out.push_str("&#46;"),
            '/' => out.push_str("&#47;"),
            '|' => out.push_str("&#124;"),
            c if c.is_ascii_punctuation() => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Several lines as a code block whose fence the text cannot close; at most `most` characters.
pub(crate) fn fenced(text: &str, most: usize) -> String {
    let mut text = lines(text);
    if text.chars().count() > most {
        text = text.chars().take(most).collect();
        text.push_str("\n… (cut)");
    }
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// Control characters change the terminal; bidirectional and invisible ones change what is read.
fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_forges_neither_colours_nor_lines_nor_directions() {
        assert_eq!(
            line("a\u{1b}[31mred\r\nnext\u{202e}x\u{7}"),
            "a[31mred nextx"
        );
    }

    #[test]
    fn cutting_counts_characters_and_says_so() {
        assert_eq!(cut("ääää", 4), "ääää");
        assert_eq!(cut("äääää", 4), "äää…");
    }

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        let block = fenced("x\n````\n@all", 100);
        assert!(block.starts_with("`````text\n") && block.ends_with("\n`````\n"));
    }
}
