//! Every block of every page is read by a test, or stands in the list of `unread.md` with the reason why not.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{documents, read, root};

/// The file with the list.
pub(super) const LIST: &str = "tests/docs/unread.md";

/// A fenced block.
struct Block {
    page: String,
    line: usize,
    language: String,
    text: String,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            page,
            line,
            language,
            ..
        } = self;
        write!(f, "{page}:{line} ({language}) `{}`", self.first())
    }
}

impl Block {
    /// The first line, by which the list names it.
    fn first(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim()
    }
}

/// All pages, but the one that is the help of the program.
pub(super) fn pages() -> Vec<String> {
    let paths = documents();
    let pages = paths.iter().map(|path| {
        let page = path.strip_prefix(root()).expect("below");
        page.display().to_string()
    });
    pages
        .filter(|page| !["docs/command-line.md", "CHANGELOG.md"].contains(&page.as_str()))
        .collect()
}

/// All blocks, but those of the page that is the help of the program.
fn all() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let mut open: Option<Block> = None;
        for (at, line) in read(&page).lines().enumerate() {
            let fence = line.trim_start().strip_prefix("```");
            match (&mut open, fence) {
                (None, Some(language)) => {
                    open = Some(Block {
                        page: page.clone(),
                        line: at + 1,
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: a block is not closed");
    }
    assert!(blocks.len() > 80, "the blocks were not found");
    blocks
}

/// What a test makes of a block.
enum Read {
    /// It holds.
    Right,
    /// The program says that it is wrong.
    Wrong(String),
    /// It is of no form that this test knows.
    Unknown,
}

fn judge(block: &Block) -> Read {
    match block.language.as_str() {
        "sh" | "console" => commands(&block.text),
        "json" => json(&block.text),
        "yaml" => yaml(&block.text),
        _ => Read::Unknown,
    }
}

/// Commands of this program alone: each is one that it understands, up to the last flag.
fn commands(text: &str) -> Read {
    let lines = text.lines().map(|line| line.trim_start_matches("$ "));
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    if !lines.clone().all(|line| line.starts_with("kelvin ")) {
        return Read::Unknown;
    }
    // A line may write a file.
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = lines.find_map(|line| {
        // The shell takes quotes and comments away; help is asked for last, after all has been understood.
        let line = line.replacen("kelvin ", "\"$KELVIN\" ", 1);
        let (line, comment) = line.split_once(" #").unwrap_or((&line, ""));
        let output = Command::new("sh")
            .args(["-c", &format!("{line} --help # {comment}")])
            .env("KELVIN", env!("CARGO_BIN_EXE_kelvin"))
            .current_dir(folder.path())
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (!output.status.success()).then(|| format!("{line}: {said}"))
    });
    wrong.map_or(Read::Right, Read::Wrong)
}

/// One value, or one on each line.
fn json(text: &str) -> Read {
    let whole = serde_json::from_str::<Value>(text).map(|_| ());
    let each = || {
        text.lines()
            .try_for_each(|line| serde_json::from_str::<Value>(line).map(|_| ()))
    };
    match whole.or_else(|_| each()) {
        Ok(()) => Read::Right,
        Err(error) => Read::Wrong(error.to_string()),
    }
}

/// A workflow that is kept as a file, which others tests run; or a part of a configuration.
fn yaml(text: &str) -> Read {
    let workflows = fs::read_dir(root().join("docs/workflows")).expect("a folder");
    let mut workflows = workflows.map(|file| file.expect("a file").path());
    if workflows.any(|file| fs::read_to_string(file).is_ok_and(|file| file.trim() == text.trim())) {
        return Read::Right;
    }
    let value: Value = match serde_yaml::from_str(text) {
        Ok(value) => value,
        Err(error) => return Read::Wrong(error.to_string()),
    };
    if value.get("trace_id").is_some() {
        return files(
            &[("trace.yaml", text)],
            &["rescore", "quality", "trace.yaml"],
        );
    }
    let is_golden = |item: &Value| item.get("query").is_some();
    if value
        .as_array()
        .is_some_and(|items| items.iter().all(is_golden))
    {
        let config = "retrieval:\n  run: ask {input} {output}\n  golden: golden.yaml\n";
        return files(&[("golden.yaml", text), ("kelvin.yaml", config)], &["lint"]);
    }
    let schema: Value = serde_json::from_str(&read("schema/kelvin.schema.json")).expect("JSON");
    let known = schema["properties"].as_object().expect("keys");
    let keys = value.as_object();
    match keys.is_some_and(|keys| keys.keys().all(|key| known.contains_key(key))) {
        true => configuration(text),
        false => Read::Unknown,
    }
}

/// Files that a command takes.
fn files(files: &[(&str, &str)], command: &[&str]) -> Read {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .args(command)
        .current_dir(folder.path())
        .output()
        .expect("the binary starts");
    match output.status.success() {
        true => Read::Right,
        false => {
            let said = [output.stdout, output.stderr].concat();
            Read::Wrong(String::from_utf8_lossy(&said).into_owned())
        }
    }
}

/// What is missing beside a part of a configuration is no fault of it; every key of it is right.
fn configuration(text: &str) -> Read {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("kelvin.yaml"), text).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_kelvin"))
        .args(["lint", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .expect("the binary starts");
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list");
    let wrong = found.iter().find(|finding| {
        let what = finding["what"].as_str().unwrap_or_default();
        let is_absent = [
            "` is missing",
            ", which is not declared",
            ", is no folder",
            "No such file or directory (os error 2)",
        ];
        let is_absent = is_absent.iter().any(|end| what.ends_with(end));
        finding["level"] == "error" && !finding["key"].is_null() && !is_absent
    });
    wrong.map_or(Read::Right, |wrong| Read::Wrong(wrong.to_string()))
}

/// A row of the list: the page, how the block begins, and who reads it or why nobody can.
struct Row {
    page: String,
    begins: String,
    why: String,
}

/// The rows of the table below a heading of the list.
pub(super) fn rows(heading: &str) -> Vec<[String; 3]> {
    let page = read(LIST);
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with(heading))
        .unwrap_or_else(|| panic!("{LIST} has no section `{heading}`"));
    let rows = section.lines().filter(|line| line.starts_with("| "));
    rows.skip(1)
        .map(|line| {
            // A pipe inside a cell is written `\|`.
            let line = line.replace("\\|", "\u{0}");
            let cells = line.trim_matches('|').split('|');
            let cells: Vec<String> = cells
                .map(|cell| cell.replace('\u{0}', "|").trim().to_owned())
                .collect();
            <[String; 3]>::try_from(cells).unwrap_or_else(|cells| panic!("{cells:?}"))
        })
        .collect()
}

pub(super) fn unquoted(cell: &str) -> String {
    cell.trim_matches('`').trim().to_owned()
}

/// The files that a cell names.
fn named(why: &str) -> impl Iterator<Item = &str> {
    let words = why.split('`').skip(1).step_by(2);
    words.filter(|word| {
        ["src/", "crates/", "tests/", "benches/"]
            .iter()
            .any(|root| word.starts_with(root))
    })
}

#[test]
fn every_block_is_read_by_a_test_or_listed_with_the_reason() {
    let rows: Vec<Row> = rows("Blocks")
        .into_iter()
        .map(|[page, begins, why]| Row {
            page: unquoted(&page),
            begins: unquoted(&begins),
            why,
        })
        .collect();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for block in all() {
        let row = rows
            .iter()
            .position(|row| row.page == block.page && block.first().starts_with(&row.begins));
        used.extend(row);
        match (judge(&block), row) {
            (Read::Right, None) => {}
            (Read::Right, Some(_)) => wrong.push(format!("{block}: read, and in the list too")),
            (Read::Wrong(why), None) => wrong.push(format!("{block}: {why}")),
            (Read::Unknown, None) => wrong.push(format!("{block}: no test reads it")),
            (Read::Wrong(_) | Read::Unknown, Some(_)) => {}
        }
    }
    let unused = rows.iter().enumerate().filter(|(at, _)| !used.contains(at));
    wrong.extend(unused.map(|(_, row)| {
        format!(
            "{LIST}: no block of {} begins with `{}`",
            row.page, row.begins
        )
    }));
    for row in &rows {
        for file in named(&row.why) {
            // Who reads a page names it.
            let page = Path::new(&row.page).file_name().expect("a file");
            let page = page.to_string_lossy();
            let reads = fs::read_to_string(root().join(file)).unwrap_or_default();
            if !reads.contains(&*page) {
                wrong.push(format!("{LIST}: `{file}` does not read {page}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
