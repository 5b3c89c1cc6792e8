//! The file to which the cases are written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_page::{counted, safe};

/// A file of JSON lines, with its present content.
#[derive(Debug)]
pub(super) struct CaseStore {
    path: PathBuf,
    /// The part of its text that stays.
    text: String,
    records: Vec<Map<String, Value>>,
    id_field: Option<&'static str>,
}

/// The fields that may contain the name of a case.
const IDS: [&str; 4] = ["id", "case_id", "trace_id", "kelvin_id"];

impl CaseStore {
    /// Checks the file before the traces are read, so that a path that cannot be written is reported at once.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] if the file exists and may be neither extended nor overwritten, or if it cannot be extended.
    pub(super) fn open(path: &Path, add: bool, force: bool) -> Result<Self, Misuse> {
        let shown = safe::line(&path.display().to_string());
        let mut store = Self {
            path: path.to_path_buf(),
            text: String::new(),
            records: Vec::new(),
            id_field: None,
        };
        if path.is_dir() {
            return Err(Misuse::new(format!(
                "`{shown}` is a folder, and the cases go into a file"
            ))
            .help("name a file, such as `cases.jsonl`"));
        }
        let is_lines = path
            .extension()
            .is_some_and(|ending| ending == "jsonl" || ending == "ndjson");
        if !is_lines {
            return Err(Misuse::new(format!(
                "`{shown}` would be read in another form by its name"
            ))
            .help("name a file that ends in `.jsonl`: one case a line is written"));
        }
        if path.symlink_metadata().is_err() || force {
            return Ok(store);
        }
        if !add {
            return Err(Misuse::new(format!("`{shown}` is there already"))
                .help("`--add` adds the cases that it does not have, `--force` overwrites it"));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Misuse::new(format!("{shown}: cannot be read: {error}")))?;
        for (number, line) in (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty())
        {
            match serde_json::from_str(line) {
                Ok(Value::Object(fields)) => store.records.push(fields),
                _ => {
                    return Err(Misuse::new(format!(
                        "{shown}:{number}: this line is no JSON object, so nothing is added"
                    ))
                    .help("mend the line, or write into another file"));
                }
            }
        }
        if !store.records.is_empty() {
            let has = |id: &&&str| {
                store
                    .records
                    .iter()
                    .all(|record| record.get(**id).is_some_and(Value::is_string))
            };
            store.id_field = IDS.iter().find(has).copied();
            if store.id_field.is_none() {
                return Err(Misuse::new(format!(
                    "{shown}: its records have no `id`, so nobody can tell which are there already"
                ))
                .help("write into another file"));
            }
        }
        store.text = text;
        if !store.text.is_empty() && !store.text.ends_with('\n') {
            store.text.push('\n');
        }
        Ok(store)
    }

    /// The field with the name of each case; none if the file has no case yet.
    pub(super) const fn id_field(&self) -> Option<&'static str> {
        self.id_field
    }

    pub(super) const fn has_cases(&self) -> bool {
        !self.records.is_empty()
    }

    /// The text that is already in the file.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The ids of the cases in the file.
    pub(super) fn ids(&self) -> BTreeSet<&str> {
        let field = self.id_field.unwrap_or_default();
        self.records
            .iter()
            .filter_map(|record| record[field].as_str())
            .collect()
    }

    /// The fields of each case with its id, without the id field and the label.
    pub(super) fn contents(&self) -> impl Iterator<Item = (String, String)> {
        let field = self.id_field.unwrap_or_default();
        self.records.iter().map(move |record| {
            let mut fields = record.clone();
            fields.remove(field);
            fields.remove("expected");
            let id = record[field].as_str().unwrap_or_default();
            (Value::Object(fields).to_string(), id.to_owned())
        })
    }

    /// Writes the old text and the new lines.
    pub(super) fn write(
        self,
        lines: impl Iterator<Item = String>,
        what: &str,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let mut text = self.text;
        let before = self.records.len();
        let mut count = 0;
        for line in lines {
            text.push_str(&line);
            text.push('\n');
            count += 1;
        }
        file::write(&self.path, text.as_bytes())?;
        let shown = safe::line(&self.path.display().to_string());
        let beside = match before {
            0 => String::new(),
            before => format!(", beside {before} that were there"),
        };
        writeln!(out, "wrote {} into `{shown}`{beside}", counted(count, what))?;
        Ok(())
    }
}
