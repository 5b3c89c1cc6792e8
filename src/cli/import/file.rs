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

/// The largest single value in bytes: a value is held in memory several times.
const LARGEST: u64 = 1 << 30;

/// Passes each value of a file to `take`, with the position where it begins. Text that is not JSON, and values that
/// `take` rejects, are noted.
///
/// # Errors
///
/// A [`Misuse`] if the file cannot be read, or contains no JSON at all.
pub(super) fn each_value(
    path: &Path,
    unread: &mut Vec<UnreadPart>,
    take: &mut dyn FnMut(Value) -> Result<(), String>,
) -> Result<(), Misuse> {
    let shown = safe::line(&path.display().to_string());
    let failed = |error: std::io::Error| Misuse::new(format!("{shown}: cannot be read: {error}"));
    let file = File::open(path).map_err(failed)?;
    let mut reader = BufReader::new(file);
    let (mut number, mut line) = (0, Vec::new());
    let mut hand_on = |number: usize, value: Result<Value, String>| {
        let place = format!("{shown}:{number}");
        if let Err(why) = value.and_then(&mut *take) {
            unread.push(UnreadPart { place, why });
        }
    };
    loop {
        line.clear();
        let length = (&mut reader)
            .take(LARGEST + 1)
            .read_until(b'\n', &mut line)
            .map_err(failed)?;
        if length == 0 {
            return Ok(());
        }
        number += 1;
        if number == 1 {
            recognise(&shown, &line)?;
            if line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
        }
        if length as u64 > LARGEST {
            return Err(Misuse::new(format!(
                "{shown}:{number}: this line has over {} MiB",
                LARGEST >> 20
            ))
            .help("write one request a line, as the file exporter of the collector does"));
        }
        // If a line kept its line break, a truncated text would look as if it contained a line break.
        line.truncate(line.trim_ascii_end().len());
        if line.is_empty() {
            continue;
        }
        // If the first value continues after its line, the whole file is one value.
        let goes_on = |line: &[u8]| {
            let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(line);
            parsed.is_err_and(|error| error.is_eof())
        };
        if number == 1 && goes_on(&line) {
            line.push(b'\n');
            break;
        }
        hand_on(
            number,
            serde_json::from_slice(&line).map_err(|error| broken(&error)),
        );
    }
    reader
        .take(LARGEST + 1)
        .read_to_end(&mut line)
        .map_err(failed)?;
    if line.len() as u64 > LARGEST {
        return Err(Misuse::new(format!(
            "{shown}: it is one value of over {} MiB",
            LARGEST >> 20
        ))
        .help("write one request or trace a line: such a file may be as large as it is"));
    }
    // Several values may follow each other, e.g. when the SDK prints each span over many lines.
    let mut values = serde_json::Deserializer::from_slice(&line).into_iter::<Value>();
    let (mut number, mut counted) = (1, 0);
    loop {
        let start = values.byte_offset();
        let blank = line[start..].len() - line[start..].trim_ascii_start().len();
        let until = start + blank;
        let Some(value) = values.next() else {
            return Ok(());
        };
        number += line[counted..until]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        match value {
            Ok(value) => hand_on(number, Ok(value)),
            Err(error) if counted == 0 => {
                // The first of several lines may be truncated.
                let lines = (1..).zip(line.split(|byte| *byte == b'\n'));
                let parsed =
                    lines.map(|(number, line)| (number, serde_json::from_slice::<Value>(line)));
                let parsed: Vec<_> = parsed.collect();
                if !parsed
                    .iter()
                    .any(|(_, value)| value.as_ref().is_ok_and(Value::is_object))
                {
                    let (row, column) = (error.line(), error.column());
                    return Err(
                        Misuse::new(format!("{shown}:{row}:{column}: {}", broken(&error))).help(
                            "the file is one JSON value, or has one a line; export it once more",
                        ),
                    );
                }
                for ((number, value), text) in
                    parsed.into_iter().zip(line.split(|byte| *byte == b'\n'))
                {
                    if !text.trim_ascii().is_empty() {
                        hand_on(number, value.map_err(|error| broken(&error)));
                    }
                }
                return Ok(());
            }
            Err(error) => {
                let why = format!("{}; nothing behind it is read", broken(&error));
                hand_on(number, Err(why));
                return Ok(());
            }
        }
        counted = until.max(1);
    }
}

/// The problem of a value, without its position, because the message already has one.
fn broken(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    match error.is_eof() {
        true => format!("not JSON: it is cut off in column {}", error.column()),
        false => format!("not JSON: {}, in column {}", &text[..end], error.column()),
    }
}

/// Rejects files of another format by their first bytes.
fn recognise(shown: &str, begin: &[u8]) -> Result<(), Misuse> {
    let (what, help) = match begin {
        [0x1f, 0x8b, ..] => ("it is compressed (gzip)", "unpack it first: `gunzip FILE`"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            ("it is compressed (zstd)", "unpack it first: `unzstd FILE`")
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ("it looks like UTF-16", "save it as UTF-8"),
        [b'P', b'A', b'R', b'1', ..] => ("it is a Parquet file", "export JSON or JSON lines"),
        _ => return Ok(()),
    };
    Err(Misuse::new(format!("{shown}: {what}")).help(help))
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
        let (found, unread) = values("{\"a\": [1\n{\"b\": 2}\n\nnothing\n{\"b\": 3}\n");
        assert_eq!(found.len(), 2);
        insta::assert_snapshot!(unread.join("\n"), @"
        1: not JSON: it is cut off in column 8
        4: not JSON: expected ident, in column 2
        ");
        let (found, unread) = values("{\n\"a\": 1}\n\n{\n\"b\" 2}\n");
        assert_eq!((found.len(), unread.len()), (1, 1));
        assert!(
            unread[0].starts_with("4: not JSON: expected `:`"),
            "{unread:?}"
        );
    }
}
