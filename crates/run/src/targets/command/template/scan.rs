//! Finds out in which quotes each placeholder stands, and whether a command needs a shell at all.
//!
//! In the script each placeholder becomes the expansion of a variable, with the quotes that are needed
//! there. If this module got the quotes wrong, a shell could split a path into words, but it could never
//! run a path as code.

use super::Placeholder;
use kelvin_base::exit::Misuse;

/// What was found out about a command line.
#[derive(Debug)]
pub(super) struct Scanned {
    /// The command line as a script that takes the paths from variables.
    pub(super) script: String,
    /// Whether it has syntax that only a shell understands.
    pub(super) needs_shell: bool,
}

/// Reads a command line from its beginning to its end.
///
/// # Errors
///
/// A [`Misuse`] where a placeholder stands where no path can be put safely.
pub(super) fn scan(run: &str) -> Result<Scanned, Misuse> {
    let mut scan = Scan {
        text: run,
        at: 0,
        script: String::with_capacity(run.len() + 64),
        frames: Vec::new(),
        documents: Vec::new(),
        word_start: true,
        needs_shell: false,
    };
    scan.run()?;
    Ok(Scanned {
        script: scan.script,
        needs_shell: scan.needs_shell,
    })
}

/// A construct of the shell that has begun and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// `"..."`, with the place where it began.
    Double(usize),
    /// `$(...)` with the number of parentheses that are open in it, or `$((...))`.
    Substitution { depth: usize, arithmetic: bool },
    /// Backticks.
    Backticks,
    /// `${...}`.
    Parameter,
}

/// A here-document whose body begins on the next line.
struct Document {
    delimiter: String,
    tabs_stripped: bool,
    expands: bool,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    script: String,
    frames: Vec<Frame>,
    documents: Vec<Document>,
    /// Whether a word may begin here.
    word_start: bool,
    needs_shell: bool,
}

impl<'a> Scan<'a> {
    fn run(&mut self) -> Result<(), Misuse> {
        while let Some(c) = self.rest().chars().next() {
            if let Some(placeholder) = Placeholder::at_start_of(self.rest()) {
                self.place(placeholder)?;
                self.at += placeholder.token().len();
                self.word_start = false;
                continue;
            }
            let word_start = std::mem::replace(&mut self.word_start, false);
            match c {
                '\\' => self.escape()?,
                '"' => self.double_quote(),
                '$' => self.dollar(),
                '`' => self.backtick(),
                '}' if self.frames.last() == Some(&Frame::Parameter) => {
                    self.frames.pop();
                    self.copy(1);
                }
                _ if self.is_quoted() => self.copy(c.len_utf8()),
                '\'' => self.single_quote()?,
                '#' if word_start => {
                    self.needs_shell = true;
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.copy(end);
                }
                '\n' => {
                    self.needs_shell = true;
                    self.word_start = true;
                    self.copy(1);
                    self.here_documents()?;
                }
                '<' => self.redirection(),
                '(' | ')' => self.parenthesis(c),
                _ => {
                    self.word_start = matches!(c, ' ' | '\t' | '|' | '&' | ';' | '>');
                    self.needs_shell |= matches!(c, '|' | '&' | ';' | '>' | '*' | '?' | '[');
                    self.needs_shell |= word_start && matches!(c, '~' | '!');
                    self.copy(c.len_utf8());
                }
            }
        }
        if self
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Double(_)))
        {
            return Err(unmatched());
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn copy(&mut self, bytes: usize) {
        let text = self.text;
        self.script.push_str(&text[self.at..self.at + bytes]);
        self.at += bytes;
    }

    /// Whether this place is within double quotes. A `${...}` has the quotes of what surrounds it.
    fn is_quoted(&self) -> bool {
        let decides = |frame: &&Frame| **frame != Frame::Parameter;
        matches!(
            self.frames.iter().rev().find(decides),
            Some(Frame::Double(_))
        )
    }

    fn place(&mut self, placeholder: Placeholder) -> Result<(), Misuse> {
        let variable = placeholder.variable();
        if !self.is_quoted() {
            self.script.push_str(&format!("\"${{{variable}}}\""));
            return Ok(());
        }
        if let Some(Frame::Double(start)) = self.frames.last()
            && begins_script(&self.text[..*start])
        {
            let token = placeholder.token();
            return Err(Misuse::new(format!(
                "`{token}` in `run` stands in double quotes, inside a script for another shell"
            ))
            .help("put that script in single quotes, or leave out the other shell"));
        }
        self.script.push_str(&format!("${{{variable}}}"));
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Misuse> {
        let after = &self.rest()[1..];
        if let Some(placeholder) = Placeholder::at_start_of(after) {
            let token = placeholder.token();
            return Err(Misuse::new(format!(
                "`run` has a backslash before `{token}`, which would undo its quotes"
            ))
            .help(format!("write `{token}` without the backslash")));
        }
        self.copy(1 + after.chars().next().map_or(0, char::len_utf8));
        Ok(())
    }

    fn double_quote(&mut self) {
        match self.frames.last() {
            Some(Frame::Double(_)) => {
                self.frames.pop();
            }
            _ => self.frames.push(Frame::Double(self.at)),
        }
        self.copy(1);
    }

    fn dollar(&mut self) {
        self.needs_shell = true;
        let after = &self.rest()[1..];
        if after.starts_with('{') {
            self.frames.push(Frame::Parameter);
            self.copy(2);
        } else if after.starts_with('(') {
            let arithmetic = after.starts_with("((");
            self.frames.push(Frame::Substitution {
                depth: usize::from(arithmetic),
                arithmetic,
            });
            self.word_start = true;
            self.copy(2 + usize::from(arithmetic));
        } else {
            self.copy(1);
        }
    }

    fn backtick(&mut self) {
        self.needs_shell = true;
        self.word_start = true;
        match self.frames.last() {
            Some(Frame::Backticks) => {
                self.frames.pop();
            }
            _ => self.frames.push(Frame::Backticks),
        }
        self.copy(1);
    }

    fn parenthesis(&mut self, c: char) {
        self.needs_shell = true;
        self.word_start = true;
        if let Some(Frame::Substitution { depth, .. }) = self.frames.last_mut() {
            match (c, *depth) {
                ('(', _) => *depth += 1,
                (_, 0) => {
                    self.frames.pop();
                }
                _ => *depth -= 1,
            }
        }
        self.copy(1);
    }

    /// Copies `'...'`. Around a placeholder the quotes are closed and opened again. Where the text in
    /// the quotes is a script for another shell, that script is read like the outer one: the other
    /// shell has the same variables, because they are exported.
    fn single_quote(&mut self) -> Result<(), Misuse> {
        let start = self.at;
        let end = self.rest()[1..].find('\'').ok_or_else(unmatched)?;
        let inside = &self.rest()[1..=end];
        let mut placeholders = Placeholder::ALL
            .into_iter()
            .filter(|one| inside.contains(one.token()));
        if let Some(first) = placeholders.next() {
            if self.text[..start].ends_with('$') {
                let token = first.token();
                return Err(
                    Misuse::new(format!("`{token}` in `run` stands inside `$'...'`"))
                        .help("use plain single or double quotes"),
                );
            }
            if begins_script(&self.text[..start]) {
                self.needs_shell = true;
                let nested = scan(inside)?.script;
                self.script.push_str(&format!("'{nested}'"));
                self.at += end + 2;
                return Ok(());
            }
        }
        let mut text = format!("'{inside}'");
        for placeholder in Placeholder::ALL {
            let outside = format!("'\"${{{}}}\"'", placeholder.variable());
            text = text.replace(placeholder.token(), &outside);
        }
        self.script.push_str(&text);
        self.at += end + 2;
        Ok(())
    }

    fn redirection(&mut self) {
        self.needs_shell = true;
        self.word_start = true;
        let after = self.rest();
        let arithmetic = self
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Substitution { arithmetic, .. } if *arithmetic));
        if !after.starts_with("<<") || after.starts_with("<<<") || arithmetic {
            // All `<` are copied at once, because the last two of `<<<` begin no here-document.
            let run = after.len() - after.trim_start_matches('<').len();
            self.copy(run);
            return;
        }
        let tabs_stripped = after.starts_with("<<-");
        let word = after[2 + usize::from(tabs_stripped)..].trim_start_matches([' ', '\t']);
        let end = word
            .find(|c: char| c.is_whitespace() || "|&;<>()".contains(c))
            .unwrap_or(word.len());
        let written = &word[..end];
        let delimiter: String = written.replace(['\'', '"', '\\'], "");
        self.documents.push(Document {
            expands: delimiter == written,
            tabs_stripped,
            delimiter,
        });
        self.copy(after.len() - word.len() + end);
    }

    /// Copies the bodies of the here-documents that begin on this line.
    fn here_documents(&mut self) -> Result<(), Misuse> {
        for document in std::mem::take(&mut self.documents) {
            while !self.rest().is_empty() {
                let end = self
                    .rest()
                    .find('\n')
                    .map_or(self.rest().len(), |at| at + 1);
                let line = &self.rest()[..end];
                let mut text = line.to_owned();
                for placeholder in Placeholder::ALL {
                    let token = placeholder.token();
                    if !document.expands && line.contains(token) {
                        return Err(Misuse::new(format!(
                            "`{token}` in `run` stands in a here-document that expands nothing"
                        ))
                        .help(format!("write `{}` without quotes", document.delimiter)));
                    }
                    text = text.replace(token, &format!("${{{}}}", placeholder.variable()));
                }
                self.script.push_str(&text);
                self.at += end;
                let mut bare = line.trim_end_matches('\n');
                if document.tabs_stripped {
                    bare = bare.trim_start_matches('\t');
                }
                if bare == document.delimiter {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether a quote after this text opens a script for another shell, as in `bash -c '...'`.
fn begins_script(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let is_script_flag = |word: &str| {
        let letters = word.strip_prefix('-').unwrap_or("");
        letters.ends_with('c') && letters.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let is_shell = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        ["sh", "bash", "dash", "zsh", "ksh", "ash"].contains(&name)
    };
    before.ends_with([' ', '\t', '\n'])
        && match words.next() {
            Some("eval") => true,
            Some(word) if is_script_flag(word) => words
                .take_while(|word| word.starts_with('-') || is_shell(word))
                .any(is_shell),
            _ => false,
        }
}

fn unmatched() -> Misuse {
    Misuse::new("the quotes of `run` do not match")
        .help("every quote has to be closed; write `\\'` outside of quotes for an apostrophe")
}
