//! Reads the JSON values of a file. If each line is one value, only one line is in memory at a time, so a file may have
//! any size.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;

use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// A part of a file that is not a trace.
#[derive(Debug)]
pub(super) struct UnreadPart {
    /// The file and the line of the part.
    pub(super) place: String,
    pub(super) why: String,
}

/// Passes each value of a file to `take`. Text that is not JSON, and values that `take` rejects, are noted. Fails with
/// a [`Misuse`] if the file cannot be read.
pub(super) fn each_value(
    path: &Path,
    unread: &mut Vec<UnreadPart>,
    take: &mut dyn FnMut(Value) -> Result<(), String>,
) -> Result<(), Misuse> {
    let shown = safe::line(&path.display().to_string());
    let failed = |error: std::io::Error| Misuse::new(format!("{shown}: cannot be read: {error}"));
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut hand_on = |line: usize, value: serde_json::Result<Value>| {
        let (line, taken) = match value {
            Ok(value) => (line, take(value)),
            Err(error) => (line.max(error.line()), Err(broken(&error))),
        };
        if let Err(why) = taken {
            let place = format!("{shown}:{line}");
            unread.push(UnreadPart { place, why });
        }
    };
    let mut text = String::new();
    for number in 1.. {
        text.clear();
        if reader.read_line(&mut text).map_err(failed)? == 0 {
            return Ok(());
        }
        // If a line kept its line break, a truncated text would look as if it contained a line break.
        let line = text.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            // If the first value continues after its line, the whole file is one value, or several over many lines.
            Err(error) if number == 1 && error.is_eof() => break,
            value => hand_on(number, value),
        }
    }
    reader.read_to_string(&mut text).map_err(failed)?;
    let text = text.trim_start_matches('\u{feff}');
    for value in serde_json::Deserializer::from_str(text).into_iter() {
        hand_on(1, value);
    }
    Ok(())
}

/// The problem of a value, without its line, because the place of the part already has it.
fn broken(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    match error.is_eof() {
        true => format!("not JSON: it is cut off in column {}", error.column()),
        false => format!("not JSON: {}, in column {}", &text[..end], error.column()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of a file, and the parts that are none.
    fn values(text: &str) -> (Vec<Value>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("f");
        std::fs::write(&path, text).expect("written");
        let (mut values, mut unread) = (Vec::new(), Vec::new());
        each_value(&path, &mut unread, &mut |value| {
            values.push(value);
            Ok(())
        })
        .expect("read");
        let place = |part: &UnreadPart| {
            let (_, line) = part.place.rsplit_once(':').expect("a line");
            format!("{line}: {}", part.why)
        };
        (values, unread.iter().map(place).collect())
    }

    #[test]
    fn values_are_read_from_lines_and_over_many_lines() {
        let wanted = vec![serde_json::json!({"a": [1]}), serde_json::json!({"b": 2})];
        for text in [
            "{\"a\": [1]}\n{\"b\": 2}\n",
            "\u{feff}{\"a\": [1]}\r\n\r\n{\"b\": 2}",
            "{\n  \"a\": [\n1]\n}\n{\n\"b\": 2\n}\n\n",
            "{\"a\": [\n1]}{\"b\": 2}",
        ] {
            assert_eq!(values(text), (wanted.clone(), Vec::new()), "{text}");
        }
        assert_eq!(values(""), (Vec::new(), Vec::new()));
    }

    #[test]
    fn broken_parts_are_told_with_their_lines_and_the_others_are_read() {
        let (found, unread) = values("{\"b\": 2}\n{\"a\": [1\n\nnothing\n{\"b\": 3}\n");
        assert_eq!(found.len(), 2);
        insta::assert_snapshot!(unread.join("\n"), @"
        2: not JSON: it is cut off in column 8
        4: not JSON: expected ident, in column 2
        ");
        let (found, unread) = values("{\n\"a\": 1}\n\n{\n\"b\" 2}\n");
        assert_eq!((found.len(), unread.len()), (1, 1));
        assert!(
            unread[0].starts_with("5: not JSON: expected `:`"),
            "{unread:?}"
        );
    }
}
