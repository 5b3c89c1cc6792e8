//! The prompts: a file of JSON lines, or a folder of Markdown files. All problems are reported at once, each with its
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_page::have;
use kelvin_probe::rows::{self, RowFields, RowForm};
use kelvin_run::config::{Problem, diagnostic};

/// One prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Prompt {
    /// Its name; unique.
    pub id: String,
    /// The text that the pipelines get, byte for byte.
    pub prompt: String,
    /// An answer that is known to be good.
    pub reference: Option<String>,
    /// Words to sort prompts by.
    pub tags: Vec<String>,
}

impl Prompt {
    /// The digest of everything except the tags: a different digest means that the prompt was edited.
    pub(super) fn digest(&self) -> Digest {
        let fields = Fields::of("kelvin/prompt/v1").field("prompt", &self.prompt);
        let fields = match &self.reference {
            Some(reference) => fields.field("reference", reference),
            None => fields,
        };
        fields.digest()
    }
}

/// The keys that a line may have.
const KEYS: [&str; 4] = ["id", "prompt", "reference", "tags"];

/// The keys of a table, which are the same as those of a line.
pub(super) const FIELDS: RowFields = RowFields {
    texts: &["id", "prompt", "reference"],
    lists: &["tags"],
    ids: &[],
    others: &[],
    question: "prompt",
};

/// Reads the prompts of a file, or of a folder in which each Markdown file is one prompt. `named` are the names of the
/// fields in the file, if they differ. Fails with a [`Misuse`] that shows every problem with its position.
pub(crate) fn read(path: &Path, named: &BTreeMap<String, String>) -> anyhow::Result<Vec<Prompt>> {
    if path.is_dir() {
        return of_folder(path);
    }
    let source = text(path)?;
    let form = RowForm::of_file(path).unwrap_or(RowForm::Lines);
    if form == RowForm::Lines && named.is_empty() {
        return understand(&source)
            .map_err(|found| diagnostic::misuse(path, &source, found).into());
    }
    let bare = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let lines = rows::as_lines(bare, form, &FIELDS, named, &|_, _| None)
        .map_err(|found| diagnostic::misuse(path, bare, found))?
        .text;
    understand(&lines).map_err(|found| diagnostic::misuse(path, &lines, found).into())
}

/// A larger file is rejected before it is read.
const MOST_BYTES: u64 = 256 << 20;

/// The text of a file.
fn text(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let read = || {
        let size = std::fs::metadata(path)?.len();
        if size > MOST_BYTES {
            return Err(std::io::Error::other(format!(
                "it has {size} bytes, and at most {MOST_BYTES} are read"
            )));
        }
        std::fs::read(path)
    };
    let bytes = read()
        .map_err(|error| Misuse::new(format!("failed to read the prompts `{shown}`: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = error.as_bytes()[..valid].iter();
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        let what = format!("`{shown}` is not UTF-8 text: byte {valid}, in line {line}");
        let misuse = Misuse::new(what).help("save the file as UTF-8");
        misuse.at(path, line).into()
    })
}

/// Every Markdown file of a folder, by name: the whole text is the prompt.
fn of_folder(folder: &Path) -> anyhow::Result<Vec<Prompt>> {
    let shown = folder.display();
    let unreadable = |error| Misuse::new(format!("failed to read the folder `{shown}`: {error}"));
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_markdown = path.extension().is_some_and(|end| end == "md");
        let name = path.file_stem().and_then(|name| name.to_str());
        if let (true, Some(name)) = (is_markdown, name) {
            let text = text(&path)?;
            if text.trim().is_empty() {
                return Err(
                    Misuse::new(format!("the prompt `{}` is blank", path.display()))
                        .help("write a prompt into the file, or remove it")
                        .into(),
                );
            }
            texts.insert(name.to_owned(), text);
        }
    }
    if texts.is_empty() {
        return Err(Misuse::new(format!("the folder `{shown}` has no prompts"))
            .help("a prompt is a file that ends in `.md`; `prompts` may also name a file of JSON lines")
            .into());
    }
    let prompts = texts.into_iter().map(|(id, prompt)| Prompt {
        id,
        prompt,
        reference: None,
        tags: Vec::new(),
    });
    Ok(prompts.collect())
}

fn understand(source: &str) -> Result<Vec<Prompt>, Vec<Problem>> {
    let (mut prompts, mut found) = (Vec::new(), Vec::new());
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    let mut at = 0;
    for (number, whole) in (1..).zip(source.split_inclusive('\n')) {
        let line = whole.trim_end_matches(['\n', '\r']);
        let place = at..at + line.len();
        at += whole.len();
        // A byte order mark does not belong to the first line.
        let line = line.trim_start_matches('\u{feff}');
        if line.trim().is_empty() {
            continue;
        }
        match prompt(line) {
            Err(problems) => found.extend(
                problems
                    .into_iter()
                    .map(|(what, help)| Problem::new(place.clone(), what).help(help)),
            ),
            Ok(prompt) => {
                if let Some(first) = ids.insert(prompt.id.clone(), number) {
                    let what = format!("`{}` is also the id of line {first}", prompt.id);
                    found
                        .push(Problem::new(place, what).help("give every prompt an id of its own"));
                }
                prompts.push(prompt);
            }
        }
    }
    if prompts.is_empty() && found.is_empty() {
        let none = Problem::new(0..0, "the file has no prompts");
        found.push(none.help("write one prompt a line: {\"id\": \"p1\", \"prompt\": \"…\"}"));
    }
    references(&prompts, &mut found);
    if found.is_empty() {
        Ok(prompts)
    } else {
        Err(found)
    }
}

/// Reports a file in which only some of the prompts have references: the scores would have two meanings.
fn references(prompts: &[Prompt], found: &mut Vec<Problem>) {
    let without: BTreeSet<&str> = prompts
        .iter()
        .filter(|prompt| prompt.reference.is_none())
        .map(|prompt| prompt.id.as_str())
        .collect();
    if let Some(first) = without.first()
        && without.len() < prompts.len()
    {
        let what = format!(
            "{} of {} prompts {} no `reference`, first `{first}`",
            without.len(),
            prompts.len(),
            have(without.len())
        );
        let help = "give every prompt a reference, or none: a score next to a reference means something else \
                    than one without";
        found.push(Problem::new(0..0, what).help(help));
    }
}

/// A problem in a line, and advice.
type Wrong = (String, String);

fn prompt(line: &str) -> Result<Prompt, Vec<Wrong>> {
    let one = |what: String, help: &str| vec![(what, help.to_owned())];
    let entries: Map<String, Value> = match serde_json::from_str(line) {
        Ok(Value::Object(entries)) => entries,
        Ok(_) => {
            return Err(one(
                "the line is no JSON object".to_owned(),
                "write {\"id\": \"p1\", \"prompt\": \"…\"}",
            ));
        }
        Err(error) => {
            return Err(one(
                format!("the line is not JSON: {error}"),
                "write one JSON object a line; a line break within a text is `\\n`",
            ));
        }
    };
    let mut wrong = Vec::new();
    for key in entries.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        wrong.push((
            format!("unknown key `{key}`"),
            format!(
                "the keys are {}; `prompt_fields: {{prompt: …}}` names a field that is called otherwise",
                KEYS.join(", ")
            ),
        ));
    }
    let mut text = |key: &str, is_needed: bool| match entries.get(key) {
        None if is_needed => {
            wrong.push((
                format!("the key `{key}` is missing"),
                format!(
                    "add `{key}`, or name the field that has it: `prompt_fields: {{{key}: …}}`"
                ),
            ));
            None
        }
        None => None,
        Some(Value::String(text)) if text.trim().is_empty() => {
            wrong.push((
                format!("`{key}` is blank"),
                format!("write a text, or remove `{key}`"),
            ));
            None
        }
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => {
            let what = format!("`{key}` is no text but {other:.40}");
            wrong.push((what, format!("put the value of `{key}` into quotes")));
            None
        }
    };
    let (id, prompt, reference) = (
        text("id", true),
        text("prompt", true),
        text("reference", false),
    );
    let tags = match entries
        .get("tags")
        .map(|tags| serde_json::from_value(tags.clone()))
    {
        None => Vec::new(),
        Some(Ok(tags)) => tags,
        Some(Err(_)) => {
            let what = "`tags` is no list of texts".to_owned();
            wrong.push((what, "write \"tags\": [\"one\", \"another\"]".to_owned()));
            Vec::new()
        }
    };
    match (id, prompt) {
        (Some(id), Some(prompt)) if wrong.is_empty() => Ok(Prompt {
            id,
            prompt,
            reference,
            tags,
        }),
        _ => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_fixtures::text::redacted;

    fn refused(source: &str) -> String {
        let found = understand(source).expect_err("it is refused");
        format!(
            "{}",
            diagnostic::misuse(Path::new("prompts.jsonl"), source, found)
        )
    }

    #[test]
    fn a_prompt_is_read_with_its_reference_and_tags_and_blank_lines_are_passed_over() {
        let source = "\u{feff}{\"id\": \"a\", \"prompt\": \" two\\nlines \", \"reference\": \"r\", \"tags\": [\"x\"]}\r\n\n\
                      {\"id\": \"b\", \"prompt\": \"p\", \"reference\": \"s\"}";
        let read = understand(source).expect("it is valid");
        assert_eq!(read[0].prompt, " two\nlines ");
        assert_eq!(read[0].reference.as_deref(), Some("r"));
        assert_eq!((&*read[0].tags, read.len()), (&["x".to_owned()][..], 2));
        // The tags do not change the question, but the reference does.
        let other = |change: &dyn Fn(&mut Prompt)| {
            let mut other = read[0].clone();
            change(&mut other);
            other.digest() == read[0].digest()
        };
        assert!(other(&|prompt| prompt.tags.clear()));
        assert!(!other(&|prompt| prompt.reference = None));
        assert!(!other(&|prompt| prompt.prompt.push('!')));
    }

    #[test]
    fn every_problem_of_the_file_is_told_with_its_line() {
        let shown = refused(
            "{\"id\": \"a\", \"prompt\": \"p\"}\n\
             {\"id\": \"a\", \"prompt\": \"q\"}\n\
             {\"id\": \"c\", \"prompt\": \" \"}\n\
             {\"id\": 4, \"promt\": \"p\"}\n\
             [1]\n\
             {\"id\": \"d\", \"prompt\": \"p\", \"tags\": \"x\"}\n\
             {\"id\": \n",
        );
        insta::assert_snapshot!(shown, @r#"
        1 of 2 prompts has no `reference`, first `a`
        --> prompts.jsonl
         = help: give every prompt a reference, or none: a score next to a reference means something else than one without

        error: `a` is also the id of line 1
         --> prompts.jsonl:2:1
          |
        2 | {"id": "a", "prompt": "q"}
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: give every prompt an id of its own

        error: `prompt` is blank
         --> prompts.jsonl:3:1
          |
        3 | {"id": "c", "prompt": " "}
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: write a text, or remove `prompt`

        error: unknown key `promt`
         --> prompts.jsonl:4:1
          |
        4 | {"id": 4, "promt": "p"}
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: the keys are id, prompt, reference, tags; `prompt_fields: {prompt: …}` names a field that is called otherwise

        error: `id` is no text but 4
         --> prompts.jsonl:4:1
          |
        4 | {"id": 4, "promt": "p"}
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: put the value of `id` into quotes

        error: the key `prompt` is missing
         --> prompts.jsonl:4:1
          |
        4 | {"id": 4, "promt": "p"}
          | ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: add `prompt`, or name the field that has it: `prompt_fields: {prompt: …}`

        error: the line is no JSON object
         --> prompts.jsonl:5:1
          |
        5 | [1]
          | ^^^
          |
          = help: write {"id": "p1", "prompt": "…"}

        error: `tags` is no list of texts
         --> prompts.jsonl:6:1
          |
        6 | {"id": "d", "prompt": "p", "tags": "x"}
          | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: write "tags": ["one", "another"]

        error: the line is not JSON: EOF while parsing a value at line 1 column 7
         --> prompts.jsonl:7:1
          |
        7 | {"id": 
          | ^^^^^^^
          |
          = help: write one JSON object a line; a line break within a text is `\n`
        "#);
    }

    #[test]
    fn a_reference_for_some_prompts_only_and_a_file_without_prompts_are_refused() {
        let shown = refused(
            "{\"id\": \"a\", \"prompt\": \"p\", \"reference\": \"r\"}\n{\"id\": \"b\", \"prompt\": \"q\"}\n",
        );
        insta::assert_snapshot!(shown, @"
        1 of 2 prompts has no `reference`, first `b`
        --> prompts.jsonl
         = help: give every prompt a reference, or none: a score next to a reference means something else than one without
        ");
        insta::assert_snapshot!(refused("\n\n"), @r#"
        the file has no prompts
        --> prompts.jsonl
         = help: write one prompt a line: {"id": "p1", "prompt": "…"}
        "#);
    }

    #[test]
    fn the_markdown_files_of_a_folder_are_prompts_and_a_blank_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written")
        };
        write("b.md", "# B\n");
        write("a.md", "A");
        write("notes.txt", "no prompt");
        let read = read(folder.path(), &BTreeMap::new()).expect("it is valid");
        let ids: Vec<&str> = read.iter().map(|prompt| prompt.id.as_str()).collect();
        assert_eq!((ids, &*read[1].prompt), (vec!["a", "b"], "# B\n"));
        write("c.md", " \n");
        let refused = super::read(folder.path(), &BTreeMap::new())
            .expect_err("it is refused")
            .to_string();
        insta::assert_snapshot!(redacted(&refused), @"
        the prompt `[TEMP]/c.md` is blank
          help: write a prompt into the file, or remove it
        ");
    }
}
