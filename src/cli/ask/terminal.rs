//! The person at the terminal.

use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd as _;

use dialoguer::console::{Key, Term, measure_text_width};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::{Ask, Check, Stopped};
use kelvin_system::signal;

/// Reads each answer as a line that can be edited. The keys are read here, and not by `dialoguer`, because its line takes
/// no notice of Ctrl-D, which ends the questions of every other program.
pub(in crate::cli) struct Terminal;

impl Ask for Terminal {
    fn show(&self, lines: &[String]) {
        let mut stderr = anstream::stderr();
        for line in lines {
            // A terminal that went away ends the next question.
            let _ = writeln!(stderr, "{line}");
        }
    }

    fn line(
        &self,
        question: &str,
        default: Option<&str>,
        check: &Check<'_>,
    ) -> anyhow::Result<String> {
        let term = Term::stderr();
        let asked = || -> io::Result<String> {
            loop {
                let prompt = match default {
                    Some(default) => format!("{question} [{default}] "),
                    None => format!("{question} "),
                };
                let typed = Line::new(prompt).read(&term)?;
                let answer = match (typed.is_empty(), default) {
                    (true, Some(default)) => default.to_owned(),
                    _ => typed,
                };
                match check(&answer) {
                    Ok(()) => return Ok(answer),
                    // The check says what an empty line lacks, too.
                    Err(complaint) => term.write_line(&complaint)?,
                }
            }
        };
        asked().map_err(|error| {
            // No question ends its line when it is cut off.
            let _ = term.write_line("");
            explain(error)
        })
    }
}

/// Ctrl-C, Ctrl-D, a signal, and a terminal that went away end the questions.
fn explain(error: io::Error) -> anyhow::Error {
    let is_gone = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::UnexpectedEof | ErrorKind::NotConnected => {
            Stopped.into()
        }
        _ if is_gone => Stopped.into(),
        _ => anyhow::Error::new(error).context("failed to ask on the terminal"),
    }
}

/// What is typed behind a question.
#[derive(Debug)]
struct Line {
    prompt: String,
    text: Vec<char>,
    /// How many characters stand before the cursor.
    cursor: usize,
    /// The row of the cursor, counted from the row in which the question begins.
    row: usize,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressed {
    /// The line looks different.
    Edited,
    /// The answer is there.
    Done,
    /// Nobody wants to answer.
    Stopped,
}

/// While it lives, the terminal hands on each key as it is typed. `read_key` does this for one key at a time, and what
/// is typed between two keys would be taken by the terminal itself: Ctrl-D, Ctrl-C and the key that deletes.
struct Keys {
    before: Option<Termios>,
}

impl Keys {
    fn each() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut now) = before.clone() {
            now.local_modes -=
                LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
            // Where it cannot be changed, keys are read one by one as before.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &now);
        }
        Self { before }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A terminal that went away needs no order.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

impl Line {
    const fn new(prompt: String) -> Self {
        Self {
            prompt,
            text: Vec::new(),
            cursor: 0,
            row: 0,
        }
    }

    fn read(mut self, term: &Term) -> io::Result<String> {
        let _keys = Keys::each();
        self.draw(term)?;
        loop {
            // `read_key` itself would sleep on where a signal has come just before it.
            if !signal::can_read(io::stdin().as_fd()) {
                return Err(ErrorKind::Interrupted.into());
            }
            match self.press(term.read_key()?) {
                Pressed::Edited => self.draw(term)?,
                Pressed::Stopped => return Err(ErrorKind::UnexpectedEof.into()),
                Pressed::Done => {
                    self.cursor = self.text.len();
                    self.draw(term)?;
                    term.write_line("")?;
                    return Ok(self.text.into_iter().collect());
                }
            }
        }
    }

    fn press(&mut self, key: Key) -> Pressed {
        const CTRL_D: char = '\u{4}';
        const CTRL_U: char = '\u{15}';
        match key {
            Key::Enter => return Pressed::Done,
            Key::Char(CTRL_D) if self.text.is_empty() => return Pressed::Stopped,
            // As in a shell: behind a text it takes away what stands under the cursor.
            Key::Char(CTRL_D) | Key::Del if self.cursor < self.text.len() => {
                self.text.remove(self.cursor);
            }
            Key::Char(CTRL_U) => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            Key::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            Key::ArrowLeft => self.cursor = self.cursor.saturating_sub(1),
            Key::ArrowRight => self.cursor = (self.cursor + 1).min(self.text.len()),
            Key::Home => self.cursor = 0,
            Key::End => self.cursor = self.text.len(),
            Key::Char(sign) if !sign.is_control() => {
                self.text.insert(self.cursor, sign);
                self.cursor += 1;
            }
            _ => {}
        }
        Pressed::Edited
    }

    /// Shows the question with the text, which may take several rows, and puts the cursor where it belongs.
    fn draw(&mut self, term: &Term) -> io::Result<()> {
        let columns = match term.size().1 {
            0 => 80,
            columns => usize::from(columns),
        };
        let text: String = self.text.iter().collect();
        let before: String = self.text[..self.cursor].iter().collect();
        let wide = measure_text_width(&self.prompt);
        let end = wide + measure_text_width(&text);
        let place = wide + measure_text_width(&before);
        term.move_cursor_up(self.row)?;
        term.write_str("\r")?;
        term.clear_to_end_of_screen()?;
        term.write_str(&self.prompt)?;
        term.write_str(&text)?;
        if end > 0 && end.is_multiple_of(columns) {
            // A full row leaves the cursor in it; one character more takes it to the next.
            term.write_str(" ")?;
        }
        self.row = place / columns;
        term.move_cursor_up(end / columns - self.row)?;
        term.write_str("\r")?;
        term.move_cursor_right(place % columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> (String, usize, Pressed) {
        let mut line = Line::new("?".to_owned());
        let mut last = Pressed::Edited;
        for key in keys {
            last = line.press(key.clone());
        }
        (line.text.iter().collect(), line.cursor, last)
    }

    fn word(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn a_line_is_edited_in_its_middle_and_ctrl_d_stops_only_where_nothing_is_typed() {
        use Key::{ArrowLeft, ArrowRight, Backspace, Char, Del, End, Enter, Home};
        let with = |more: &[Key]| typed(&[&word("abc"), more].concat());
        assert_eq!(with(&[Enter]), ("abc".to_owned(), 3, Pressed::Done));
        let cases: &[(&[Key], &str, usize)] = &[
            (&[ArrowLeft, Char('x')], "abxc", 3),
            (&[Backspace], "ab", 2),
            (&[Home, Del], "bc", 0),
            (&[Home, Char('\u{4}')], "bc", 0),
            (&[Char('\u{4}')], "abc", 3),
            (&[Home, Backspace, ArrowLeft], "abc", 0),
            (&[ArrowRight, End, Char('é')], "abcé", 4),
            (&[ArrowLeft, Char('\u{15}')], "c", 0),
            (&[Char('\u{1}'), Key::Tab, Key::Escape], "abc", 3),
        ];
        for (keys, text, cursor) in cases {
            assert_eq!(
                with(keys),
                ((*text).to_owned(), *cursor, Pressed::Edited),
                "{keys:?}"
            );
        }
        assert_eq!(typed(&[Char('\u{4}')]).2, Pressed::Stopped);
        assert_eq!(
            typed(&[Char('a'), Backspace, Char('\u{4}')]).2,
            Pressed::Stopped
        );
    }
}
