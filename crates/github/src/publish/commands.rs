//! Workflow commands: lines of the log that the runner executes.
//!
//! External text may contain such lines too, so it is printed between [`stop`] and [`resume`]; external text inside our
//! own commands is escaped.

use super::{Annotation, Level};
use kelvin_page::safe;

/// How many errors, warnings and notices of a step GitHub shows, each.
const SHOWN: usize = 10;
/// The longest message, in characters.
const MESSAGE: usize = 2_000;

/// The command after which no line is executed as a command, until [`resume`] with the same token.
pub fn stop(token: &str) -> String {
    format!("::stop-commands::{token}\n")
}

/// The command after which lines are executed as commands again.
pub fn resume(token: &str) -> String {
    format!("::{token}::\n")
}

/// A text of several lines in which no line is a command.
pub fn inert(text: &str) -> String {
    let line = |line: &str| match line.trim_start().starts_with("::") {
        true => format!("| {}", unbracketed(line)),
        false => unbracketed(line),
    };
    // The runner also ends a line at a carriage return.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.split_inclusive('\n').map(line).collect()
}

/// A text without commands of the older form, `##[name]`, which the runner recognises anywhere in a line.
pub fn unbracketed(text: &str) -> String {
    text.replace("##[", "## [")
}

/// Begins a folded part of the log.
pub fn group(title: &str) -> String {
    format!("::group::{}\n", data(title))
}

/// Ends a folded part of the log.
pub fn end_group() -> String {
    "::endgroup::\n".to_owned()
}

/// Hides a secret in all later lines. There is one command for each line, since the runner compares single lines.
pub fn mask(secret: &str) -> String {
    secret
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| format!("::add-mask::{}\n", escaped(line)))
        .collect()
}

/// A warning about the run itself.
pub fn warning(text: &str) -> String {
    format!("::warning title=Kelvin::{}\n", data(text))
}

/// A remark about the run itself.
pub fn notice(text: &str) -> String {
    format!("::notice title=Kelvin::{}\n", data(text))
}

/// An error about the run itself.
pub fn error(text: &str) -> String {
    format!("::error title=Kelvin::{}\n", data(text))
}

/// Remarks at lines of files: for each level the first ones, as many as GitHub shows, and the number of the others.
pub fn annotations(annotations: &[Annotation]) -> String {
    let mut text = String::new();
    for level in [Level::Failure, Level::Warning, Level::Notice] {
        let of_level: Vec<&Annotation> = annotations
            .iter()
            .filter(|annotation| annotation.level == level)
            .collect();
        let listed = match of_level.len() {
            count if count > SHOWN => SHOWN - 1,
            count => count,
        };
        for annotation in &of_level[..listed] {
            text.push_str(&one(annotation));
        }
        if of_level.len() > listed {
            let more = format!("{} more remarks, in the report", of_level.len() - listed);
            text.push_str(&match level {
                Level::Failure => error(&more),
                Level::Warning => warning(&more),
                Level::Notice => notice(&more),
            });
        }
    }
    text
}

fn one(annotation: &Annotation) -> String {
    let name = match annotation.level {
        Level::Failure => "error",
        Level::Warning => "warning",
        Level::Notice => "notice",
    };
    format!(
        "::{name} file={},line={},title={}::{}\n",
        property(&annotation.path),
        annotation.line.max(1),
        property(&annotation.title),
        data(&annotation.message)
    )
}

/// The text of a command in one line, without characters that the runner would decode into another command.
fn data(text: &str) -> String {
    escaped(&safe::cut(text, MESSAGE))
}

/// A value before the text of a command, in which colons and commas would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_makes_a_second_command() {
        for text in kelvin_fixtures::page::corpus() {
            let annotation = Annotation {
                level: Level::Failure,
                path: text.clone(),
                line: 0,
                title: text.clone(),
                message: text.clone(),
            };
            for said in [
                annotations(&[annotation]),
                warning(&text),
                error(&text),
                group(&text),
            ] {
                assert_eq!(said.lines().count(), 1, "{said}");
                let (properties, _) = said[2..].split_once("::").expect("a command");
                assert_eq!(properties.matches(',').count(), {
                    if properties.starts_with("error file") {
                        2
                    } else {
                        0
                    }
                });
            }
        }
    }

    #[test]
    fn no_line_of_an_error_is_a_command() {
        for text in kelvin_fixtures::page::corpus() {
            let said = inert(&format!(
                "error: {text}\r::error::x\n  ::set-env name=A::b\nx ##[error]y ###[error]z\n{text}"
            ));
            let is_command =
                |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
            assert!(!said.split(['\n', '\r']).any(is_command), "{said}");
        }
    }

    #[test]
    fn a_secret_of_several_lines_is_hidden_line_by_line() {
        assert_eq!(
            mask("one\r\n\n  two%\n"),
            "::add-mask::one\n::add-mask::two%25\n"
        );
    }

    #[test]
    fn github_shows_ten_of_a_level_and_the_last_one_says_how_many_more() {
        let remark = |at| Annotation {
            level: if at % 2 == 0 {
                Level::Failure
            } else {
                Level::Warning
            },
            path: "cases/a.md".to_owned(),
            line: at,
            title: "t".to_owned(),
            message: "m".to_owned(),
        };
        let many: Vec<Annotation> = (0..40).map(remark).collect();
        let said = annotations(&many);
        assert_eq!(said.matches("::error ").count(), SHOWN);
        assert_eq!(said.matches("::warning ").count(), SHOWN);
        let mut left_out: Vec<&str> = said.lines().filter(|line| line.contains("11 ")).collect();
        assert_eq!(left_out.len(), 2, "{said}");
        left_out.dedup();
        insta::assert_snapshot!(left_out.join("\n"), @"
        ::error title=Kelvin::11 more remarks, in the report
        ::warning title=Kelvin::11 more remarks, in the report
        ");
        assert!(
            said.starts_with("::error file=cases/a.md,line=1,title=t::m\n"),
            "{said}"
        );
    }
}
