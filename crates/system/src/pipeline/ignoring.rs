//! The lines for a `.gitignore` for the files that a run has left. A line that covers too much would hide people's work
//! from git, so a file is named exactly, unless several files of the run show that their names change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::MADE_FOLDERS;
use super::made::{Kind, kind};
use super::repository::escaped;

/// Extensions that nobody uses for code, a prompt or a setting: for these, a line may cover a whole folder.
const PLAIN_DATA: [&str; 32] = [
    "arrow",
    "avro",
    "bak",
    "bin",
    "cache",
    "ckpt",
    "csv",
    "dat",
    "db",
    "db-journal",
    "db-shm",
    "db-wal",
    "dump",
    "faiss",
    "feather",
    "h5",
    "idx",
    "log",
    "mdb",
    "npy",
    "npz",
    "parquet",
    "pickle",
    "pid",
    "pkl",
    "pyc",
    "sqlite",
    "sqlite3",
    "sqlite3-journal",
    "tmp",
    "tsv",
    "wal",
];
/// A word of a name counts as random hexadecimal digits if it has at least this many letters.
const SHORTEST_HEX: usize = 6;
/// Longer words are written as `*` after one digit.
const LONGEST_WORD: usize = 64;

/// The lines for `files`, whose paths are relative to the top of the repository. `later` are files of the same kinds
/// that were created during the run: they show that names change, but get no line of their own. If a file of the `code`
/// with the same extension is beside them, each file is named exactly.
pub(super) fn lines<'a>(
    files: impl Iterator<Item = &'a [u8]>,
    later: impl Iterator<Item = &'a str>,
    code: &BTreeSet<Kind>,
) -> BTreeSet<String> {
    let text = |name| std::str::from_utf8(name).ok();
    let files: BTreeSet<&str> = files
        .filter_map(text)
        .filter(|name| !name.contains(['\n', '\r']))
        .collect();
    let mut alike: BTreeMap<Kind, BTreeSet<&str>> = BTreeMap::new();
    for name in later.chain(files.iter().copied()) {
        if let Some(kind) = kind(name) {
            alike.entry(kind).or_default().insert(name);
        }
    }
    let none = BTreeSet::new();
    let line = |name: &&str| {
        if let Some(folder) = made_folder(name) {
            return format!("{folder}/");
        }
        let exact = || format!("/{}", escaped(name));
        let Some(kind) = kind(name).filter(|kind| !code.contains(kind)) else {
            return exact();
        };
        let alike = alike.get(&kind).unwrap_or(&none);
        let (folder, ending) = kind;
        // At the top level, a line for all of them would also cover files that do not come from the pipeline.
        if alike.len() > 1 && !folder.is_empty() && PLAIN_DATA.contains(&&*ending) {
            return format!("/{}/*.{}", escaped(&folder), escaped(&ending));
        }
        pattern(name, alike).unwrap_or_else(exact)
    };
    files.iter().map(line).collect()
}

/// The name of a folder that only contains files that runs leave.
fn made_folder(name: &str) -> Option<&'static str> {
    let mut folders = Path::new(name)
        .ancestors()
        .skip(1)
        .filter_map(Path::file_name);
    folders.find_map(|name| MADE_FOLDERS.into_iter().find(|made| name == *made))
}

/// A piece of the name of a file.
#[derive(Debug, PartialEq, Eq)]
enum PatternPiece<'a> {
    /// A part that all files of a pipeline share.
    Fixed(&'a str),
    /// A number, or a random word of hexadecimal digits, which differs in each file.
    Own(&'a str),
}

/// The line for all files whose names differ from this one only in numbers or random words; none if there is no other
/// such file, or if the name consists of a single random word.
fn pattern(name: &str, alike: &BTreeSet<&str>) -> Option<String> {
    let (folder, file) = name.rsplit_once('/').map_or(("", name), |parts| parts);
    let own = pieces(file);
    let mut others = Vec::new();
    for other in alike.iter().filter(|other| **other != name) {
        let file = other.rsplit_once('/').map_or(*other, |(_, file)| file);
        let pieces = pieces(file);
        let is_like = pieces.len() == own.len()
            && pieces.iter().zip(&own).all(|pair| match pair {
                (PatternPiece::Fixed(one), PatternPiece::Fixed(other)) => one == other,
                (PatternPiece::Own(_), PatternPiece::Own(_)) => true,
                _ => false,
            });
        if is_like {
            others.push(pieces);
        }
    }
    if others.is_empty() {
        return None;
    }
    let mut line = match folder {
        "" => "/".to_owned(),
        folder => format!("/{}/", escaped(folder)),
    };
    for (at, piece) in own.iter().enumerate() {
        let first = match piece {
            PatternPiece::Fixed(text) => {
                line.push_str(&escaped(text));
                continue;
            }
            PatternPiece::Own(first) => *first,
        };
        let theirs = others.iter().filter_map(|pieces| match pieces.get(at) {
            Some(PatternPiece::Own(word)) => Some(*word),
            _ => None,
        });
        let words: Vec<&str> = theirs.chain([first]).collect();
        let digits = words.iter().all(|word| is_number(word));
        let class = if digits { "[0-9]" } else { "[0-9a-f]" };
        if first.len() <= LONGEST_WORD && words.iter().all(|word| word.len() == first.len()) {
            line.push_str(&class.repeat(first.len()));
        } else if digits || at > 0 {
            line.push_str(class);
            line.push('*');
        } else {
            // Half of all words begin with one of these letters.
            return None;
        }
    }
    Some(line)
}

/// The pieces of the name of a file.
fn pieces(file: &str) -> Vec<PatternPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = file;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_ascii_alphanumeric();
        let end = rest.find(|c: char| c.is_ascii_alphanumeric() != is_word);
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        match is_word && is_random(part) {
            true => pieces.push(PatternPiece::Own(part)),
            false => numbers(part, &mut pieces),
        }
    }
    pieces
}

/// Splits a part into its numbers and the text between them.
fn numbers<'a>(part: &'a str, pieces: &mut Vec<PatternPiece<'a>>) {
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digit);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        pieces.push(match is_digit {
            true => PatternPiece::Own(piece),
            false => PatternPiece::Fixed(piece),
        });
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word consists of hexadecimal digits and is not a word of a language.
fn is_random(word: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    word.len() >= SHORTEST_HEX
        && word.bytes().all(is_hex)
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(files: &[&str], later: &[&str]) -> Vec<String> {
        let code = BTreeSet::from([("src".to_owned(), "csv".to_owned())]);
        let names = files.iter().map(|name| name.as_bytes());
        let lines = lines(names, later.iter().copied(), &code);
        lines.into_iter().collect()
    }

    #[test]
    fn one_file_is_named_as_it_is() {
        for (name, line) in [
            ("src/memo.json", "/src/memo.json"),
            ("out/a.csv", "/out/a.csv"),
            ("logs/run.log", "/logs/run.log"),
            ("state [1].json", r"/state\ \[1\].json"),
            ("__pycache__/x.pyc", "__pycache__/"),
        ] {
            assert_eq!(lines_of(&[name], &[]), [line]);
        }
    }

    #[test]
    fn data_of_a_folder_is_ignored_whole_only_where_there_are_two_and_nobody_writes_such_files() {
        assert_eq!(lines_of(&["out/a.csv", "out/b.csv"], &[]), ["/out/*.csv"]);
        assert_eq!(lines_of(&["out/a.csv"], &["out/b.csv"]), ["/out/*.csv"]);
        for files in [
            // Beside code, in two folders, of two kinds, and at the top.
            ["src/a.csv", "src/b.csv"],
            ["in/a.csv", "out/b.csv"],
            ["out/a.csv", "out/a.bin"],
            ["a.csv", "b.csv"],
            // What people write too.
            ["out/a.json", "out/b.json"],
            ["out/a.yaml", "out/b.yaml"],
            ["out/a.md", "out/b.md"],
            ["out/a.txt", "out/b.txt"],
            ["out/a.lock", "out/b.lock"],
        ] {
            let mut named = files.map(|name| format!("/{name}"));
            named.sort();
            assert_eq!(lines_of(&files, &[]), named);
            assert_eq!(
                lines_of(&files[..1], &files[1..]),
                [format!("/{}", files[0])]
            );
        }
    }

    #[test]
    fn names_that_differ_in_numbers_or_random_words_have_a_line_of_their_stem() {
        for (files, line) in [
            (
                ["out/part-1.json", "out/part-27.json"],
                "/out/part-[0-9]*.json",
            ),
            (["out/part1.md", "out/part2.md"], "/out/part[0-9].md"),
            (["state-1.json", "state-2.json"], "/state-[0-9].json"),
            (
                ["out/run_0a1b2c.json", "out/run_ffee99.json"],
                "/out/run_[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f].json",
            ),
            (["out/7.json", "out/12.json"], "/out/[0-9]*.json"),
        ] {
            assert_eq!(lines_of(&files, &[]), [line]);
            assert_eq!(lines_of(&files[..1], &files[1..]), [line]);
        }
        // Words that differ, and random words of any length that nothing stands before.
        for files in [
            ["out/decade.json", "out/facade.json"],
            ["out/memo.json", "out/prompts.json"],
            ["out/a-1.json", "out/b-2.json"],
            ["out/0a1b2c.json", "out/0a1b2c3.json"],
        ] {
            assert_eq!(lines_of(&files, &[]), files.map(|name| format!("/{name}")));
        }
    }
}
