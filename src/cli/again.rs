//! A command that a person may paste, as the next step on a terminal.

use std::ffi::OsStr;
use std::path::Path;

use clap::ValueEnum;

use kelvin_gate::reproduce::quoted;
use kelvin_page::safe;

/// The name of a value on the command line.
pub(super) fn name_of(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("every value is offered");
    value.get_name().to_owned()
}

/// The condition under which a failed command should be repeated.
pub(super) const MENDED: &str = "when that is fixed";

/// A command, word by word as a shell reads it. If one line cannot show a word unchanged, the pasted command would be a
/// different one, so then no command is suggested.
#[derive(Clone, Debug)]
pub(super) struct Again {
    words: Option<Vec<String>>,
}

impl Again {
    /// `kelvin` with a command and flags that need no quotes.
    pub(super) fn kelvin(command: &str) -> Self {
        Self::program("kelvin").words(command)
    }

    /// Another program, for a step that `kelvin` has no command for.
    pub(super) fn program(name: &str) -> Self {
        Self {
            words: Some(vec![name.to_owned()]),
        }
    }

    /// Adds words that need no quotes, separated by spaces.
    pub(super) fn words(self, plain: &str) -> Self {
        plain
            .split_whitespace()
            .fold(self, |again, word| again.word(word))
    }

    /// Adds one word with any content.
    pub(super) fn word(mut self, word: impl AsRef<OsStr>) -> Self {
        let shown = word.as_ref().to_str().filter(|word| {
            // A line of a terminal shows neither several spaces in a row nor characters without a width.
            word.chars()
                .all(|sign| sign == ' ' || !sign.is_whitespace())
                && safe::lines(word) == **word
        });
        self.words = self.words.zip(shown).map(|(mut words, word)| {
            words.push(quoted(word));
            words
        });
        self
    }

    /// Adds a flag and its value as one word, because a value may begin with a dash.
    pub(super) fn flag(self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let mut word = OsStr::new(name).to_owned();
        word.push("=");
        word.push(value);
        self.word(word)
    }

    /// Adds a flag and its value, if there is a value.
    pub(super) fn given(self, name: &str, value: Option<impl AsRef<OsStr>>) -> Self {
        match value {
            Some(value) => self.flag(name, value),
            None => self,
        }
    }

    /// Adds a flag with one of the values that the command line offers, if there is a value.
    pub(super) fn choice(self, name: &str, value: Option<impl ValueEnum>) -> Self {
        self.given(name, value.map(name_of))
    }

    /// Adds a flag without a value, if it was given.
    pub(super) fn switch(self, name: &str, given: bool) -> Self {
        match given {
            true => self.word(name),
            false => self,
        }
    }

    /// Adds the flag that names a configuration; adds no flag for the default configuration.
    pub(super) fn config(self, file: &Path) -> Self {
        match file == Path::new("kelvin.yaml") {
            true => self,
            false => self.flag("--config", file),
        }
    }

    /// The command in one line.
    pub(super) fn command(&self) -> Option<String> {
        self.words.as_ref().map(|words| words.join(" "))
    }

    /// The last line of an output: what to do next.
    pub(super) fn next(&self) -> String {
        self.line("next")
    }

    /// The last line of an output, if the user has to do something first.
    pub(super) fn next_when(&self, when: &str) -> String {
        self.line(&format!("next, {when}"))
    }

    fn line(&self, mark: &str) -> String {
        let command = self.command();
        command.map_or_else(String::new, |command| format!("{mark}: {command}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_line_cannot_show_as_it_is_offers_nothing() {
        let again = || Again::kelvin("check");
        assert_eq!(
            again().config(Path::new("kelvin.yaml")).next(),
            "next: kelvin check\n"
        );
        assert_eq!(
            again().config(Path::new("it's a.yaml")).next(),
            "next: kelvin check '--config=it'\\''s a.yaml'\n"
        );
        assert_eq!(
            again().flag("--only", "two  spaces").next_when("later"),
            "next, later: kelvin check '--only=two  spaces'\n"
        );
        for hidden in ["a\nb", "a\tb", "a\u{202e}b", "a\u{1b}[1mb", "a\u{a0}b"] {
            assert_eq!(again().flag("--only", hidden).next(), "", "{hidden:?}");
        }
    }
}
