//! The golden set: queries and the expected results of each. Every problem of the file is reported at once, with line
//! and column.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use kelvin_base::decode::plain;
use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use kelvin_base::notice::{Code, Notice};
use kelvin_page::safe;
use kelvin_probe::rows::{self, ReadCell, RowFields, RowForm, RowLines};
use kelvin_run::config::diagnostic::Problem;
use kelvin_run::config::yaml::{Content, Node};
use kelvin_run::config::{self, diagnostic, load, shape, yaml};

/// The advice on how to write a golden set.
const FORM: &str = "write an entry for each query, such as `- {id: q1, query: \"How long can I return a product?\", \
                    expected_doc_ids: [returns]}`, in a file such as `golden.yaml`";

/// The fields of an entry in a table or in JSON lines.
pub(super) const FIELDS: RowFields = RowFields {
    texts: &["id", "query"],
    lists: &["must_contain", "forbidden", "tags"],
    ids: &["expected_doc_ids", "expected_chunk_ids"],
    others: &["should_refuse", "expected_spans"],
    question: "query",
};

/// One query of the golden set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenQuery {
    /// Its name; unique.
    #[schemars(length(min = 1))]
    pub id: String,
    /// The question.
    #[schemars(length(min = 1))]
    pub query: String,
    /// The documents that should be found. An empty list: the system should refuse. No list: it
    /// is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub expected_doc_ids: Option<Vec<String>>,
    /// The chunks that should be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_chunk_ids: Vec<String>,
    /// The parts of documents that should be found, whatever the chunks are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_spans: Vec<GoldenSpan>,
    /// What the text of an answer must contain, all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub must_contain: Vec<String>,
    /// Texts of which the answer must contain none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)))]
    pub forbidden: Vec<String>,
    /// Whether the system should refuse; the same as an empty `expected_doc_ids`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub should_refuse: bool,
    /// Words to sort queries by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenSpan {
    /// The document.
    pub doc_id: String,
    /// The position in the document where the part begins.
    #[schemars(range(min = 0))]
    pub start: u64,
    /// The position in the document where the part ends.
    #[schemars(range(min = 0))]
    pub end: u64,
}

impl GoldenQuery {
    /// Whether the system should refuse, because there is no answer to find.
    pub fn refuses(&self) -> bool {
        let nothing = self.expected_doc_ids.as_ref().is_some_and(Vec::is_empty);
        self.should_refuse || nothing && self.expected_chunk_ids.is_empty()
    }

    /// The distinct expected documents.
    pub fn docs(&self) -> BTreeSet<&str> {
        let docs = self.expected_doc_ids.iter().flatten();
        docs.map(String::as_str).collect()
    }

    /// The distinct expected chunks.
    pub fn chunks(&self) -> BTreeSet<&str> {
        self.expected_chunk_ids.iter().map(String::as_str).collect()
    }

    /// The query in the form for the pipeline.
    pub fn input(&self) -> String {
        json!({ "id": self.id, "query": self.query }).to_string() + "\n"
    }

    /// The same query without the fields that depend on how documents are split.
    pub(crate) fn without_chunks(&self) -> Self {
        Self {
            expected_chunk_ids: Vec::new(),
            ..self.clone()
        }
    }

    /// The digest of the requirements for the answer, without the expected hits.
    pub fn of_answer(&self) -> Digest {
        let fields = Fields::of("kelvin/golden-answer/v1").field("query", &self.query);
        let add = |label, fields: Fields, text: &String| fields.field(label, text);
        let contains = self.must_contain.iter();
        let fields = contains.fold(fields, |fields, text| add("contains", fields, text));
        let forbidden = self.forbidden.iter();
        forbidden
            .fold(fields, |fields, text| add("forbidden", fields, text))
            .digest()
    }

    /// The digest of everything except the tags: a different digest means that the query was edited.
    pub fn digest(&self) -> Digest {
        let known = Self {
            tags: Vec::new(),
            ..self.clone()
        };
        let text = serde_json::to_string(&known).expect("strings and numbers are JSON");
        Fields::of("kelvin/golden/v1").field("query", text).digest()
    }
}

/// The documents that exist, and the chunks, each with its document.
type Exist<'a> = (&'a BTreeSet<String>, &'a BTreeMap<String, String>);

/// A golden set as a file has it.
#[derive(Debug)]
pub struct GoldenSet {
    /// Its queries.
    pub queries: Vec<GoldenQuery>,
    /// The cells that may name one document or several, if there is no corpus that tells it.
    cells: Vec<ReadCell>,
    /// The name of the file.
    file: String,
}

/// How many cells a notice shows.
const SHOWN_CELLS: usize = 5;

impl GoldenSet {
    /// A notice if cells may name several documents and are read as one: nothing is found for such a query, before a
    /// change and after it.
    pub(crate) fn unclear_cells(&self) -> Option<Notice> {
        let (count, shown) = self.shown_cells(false)?;
        let file = &self.file;
        let what = match count {
            1 => format!(
                "1 cell of the golden set `{file}` has a comma, `|` or brackets and is read as one id, since"
            ),
            many => format!(
                "{many} cells of the golden set `{file}` have a comma, `|` or brackets and are each read as one id, since"
            ),
        };
        let text = format!(
            "{what} nothing tells whether there are several: {shown}; put `;` between several ids, write a single one as \
             `[\"…\"]`, or name the `corpus`, which tells which documents there are"
        );
        Some(Notice::new(Code::own("unclear_ids"), text))
    }

    /// A notice on how cells were read in which a comma or `|` stands between ids.
    pub(crate) fn separated_cells(&self) -> Option<Notice> {
        let (count, shown) = self.shown_cells(true)?;
        let file = &self.file;
        let what = match count {
            1 => format!("1 cell of the golden set `{file}` is"),
            many => format!("{many} cells of the golden set `{file}` are each"),
        };
        let text = format!(
            "{what} read as several ids: {shown}; write one id that has such a sign in it as `[\"…\"]`"
        );
        Some(Notice::new(Code::own("several_ids"), text).minor())
    }

    /// How many cells were read as several ids, or as one, and the first of them with their places.
    fn shown_cells(&self, is_several: bool) -> Option<(usize, String)> {
        let cells = self.cells.iter();
        let cells: Vec<&ReadCell> = cells.filter(|cell| cell.is_several == is_several).collect();
        let shown = cells.iter().take(SHOWN_CELLS).map(|cell| {
            let text = safe::cut(&safe::line(&cell.text), 60);
            format!(
                "line {}, `{}`: `{text}`",
                cell.line,
                safe::line(&cell.field)
            )
        });
        let more = (cells.len() > SHOWN_CELLS).then(|| "…".to_owned());
        let shown: Vec<String> = shown.chain(more).collect();
        (!cells.is_empty()).then(|| (cells.len(), shown.join("; ")))
    }
}

/// Reads a golden set. `named` are the names of its fields in the file, if they differ; `exist` says which documents
/// and chunks exist, if that is known.
///
/// # Errors
///
/// A [`Misuse`] that shows every problem with its line.
pub fn read(
    file: &Path,
    named: &BTreeMap<String, String>,
    exist: Option<Exist<'_>>,
) -> anyhow::Result<GoldenSet> {
    if file.extension().is_some_and(|ending| ending == "xlsx") {
        return Err(Misuse::new(format!(
            "the golden set `{}` cannot be read: it is a file of a spreadsheet",
            diagnostic::tame(&file.display().to_string())
        ))
        .help("save the sheet as `.csv`")
        .into());
    }
    let source = load::read_within(file, yaml::YamlLimits::ITEMS)?;
    let source = source.strip_prefix('\u{feff}').unwrap_or(&source);
    let form = RowForm::of_file(file).filter(|form| *form != RowForm::Array || !named.is_empty());
    let RowLines { text: list, cells } = match form {
        Some(form) => as_list(source, form, named, exist)
            .map_err(|found| diagnostic::misuse(file, source, found))?,
        None if named.is_empty() => RowLines {
            text: source.to_owned(),
            cells: Vec::new(),
        },
        None => {
            let what = "`retrieval.golden_fields` names fields of a table or of JSON, and the golden set is YAML";
            let help =
                "write the entries with the names of a golden set, and leave `golden_fields` out";
            return Err(Misuse::new(what).help(help).into());
        }
    };
    let queries = understand(&list, exist);
    let queries = queries.map_err(|found| diagnostic::misuse(file, &list, found))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(GoldenSet {
        queries,
        cells,
        file: safe::line(&name),
    })
}

/// The text of a list with each entry on the line where its row begins.
fn as_list(
    source: &str,
    form: RowForm,
    named: &BTreeMap<String, String>,
    exist: Option<Exist<'_>>,
) -> Result<RowLines, Vec<Problem>> {
    let exists = |field: &str, id: &str| {
        let (documents, chunks) = exist?;
        Some(match field {
            "expected_chunk_ids" => chunks.contains_key(id),
            _ => documents.contains(id),
        })
    };
    let lines = rows::as_lines(source, form, &FIELDS, named, &exists)?;
    let entries = lines
        .text
        .split_inclusive('\n')
        .map(|line| match line.starts_with('{') {
            true => format!("- {line}"),
            false => line.to_owned(),
        });
    Ok(RowLines {
        text: entries.collect(),
        cells: lines.cells,
    })
}

fn understand(source: &str, exist: Option<Exist<'_>>) -> Result<Vec<GoldenQuery>, Vec<Problem>> {
    let tree =
        yaml::parse_within(source, yaml::YamlLimits::ITEMS).map_err(|problem| vec![problem])?;
    if matches!(tree.content, Content::Null) {
        let empty = Problem::new(0..0, "the file has no queries");
        return Err(vec![empty.help("add an entry with `id` and `query`")]);
    }
    if matches!(tree.content, Content::Text(_)) {
        let text = Problem::new(
            tree.at.clone(),
            "the file has no list of queries, but a text",
        );
        return Err(vec![text.help(FORM)]);
    }
    if let Content::Map(_) = &tree.content {
        let map = Problem::new(
            tree.at.clone(),
            "`queries` must be a list, each entry a mapping, found one mapping",
        );
        return Err(vec![map.help(format!(
            "{FORM}; of `queries` and `relevant_docs` by id, as LlamaIndex writes them, take an entry for each id"
        ))]);
    }
    let mut found = Vec::new();
    if let Content::List(entries) = &tree.content {
        found.extend(without_questions(entries));
        if !found.is_empty() {
            return Err(found);
        }
        if entries.is_empty() {
            found.push(Problem::new(tree.at.clone(), "the list has no queries"));
        }
        duplicates(entries, &mut found);
        let mut chunks = Strangers::default();
        for entry in entries {
            contradictions(entry, &mut found);
            strangers(entry, exist, (&mut chunks, &mut found));
        }
        found.extend(chunks.slips());
    }
    // The messages name a position by its keys, and a list at the top level has none.
    let named = Node {
        at: tree.at.clone(),
        content: Content::Map(vec![(
            yaml::Key {
                at: 0..0,
                text: "queries".to_owned(),
            },
            tree.clone(),
        )]),
    };
    found.extend(shape::problems(&named, &schema(), source, &|_| None));
    if !found.is_empty() {
        return Err(found);
    }
    serde_json::from_value(tree.to_json())
        .map_err(|error| vec![Problem::new(0..0, plain(&error.to_string()))])
}

/// The problem of entries of which none has a question: the entries are judgements, or the question has another field
/// name.
fn without_questions(entries: &[Node]) -> Option<Problem> {
    let first = entries.first()?;
    let keys: Vec<String> = first
        .entries(&[])
        .iter()
        .map(|(key, _)| format!("`{}`", key.text))
        .collect();
    if keys.is_empty() || entries.iter().any(|entry| entry.get(&["query"]).is_some()) {
        return None;
    }
    let problem = Problem::new(first.at.clone(), "no entry has a `query`");
    Some(problem.help(format!(
        "the first has {}; if one of these is the question, name it with `golden_fields: {{query: …}}`; judgements without \
         questions, as of BEIR or TREC, need an entry for each question with its documents in `expected_doc_ids`, or \
         `kelvin eval --qrels` with the hits of a run",
        keys.join(", ")
    )))
}

fn schema() -> Value {
    let list = config::schema_of::<Vec<GoldenQuery>>();
    json!({ "type": "object", "properties": { "queries": list } })
}

/// Reports every id that occurs more than once: several such ids together in one problem, and each repetition at its
/// position.
fn duplicates(entries: &[Node], found: &mut Vec<Problem>) {
    let mut places: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for entry in entries {
        if let (Some((id, _)), Some(node)) = (entry.text(&["id"]), entry.get(&["id"])) {
            places.entry(id).or_default().push(node);
        }
    }
    let twice: Vec<&str> = places
        .iter()
        .filter(|(_, nodes)| nodes.len() > 1)
        .map(|(id, _)| *id)
        .collect();
    if twice.len() > 1 {
        let message = format!("{} ids are there twice: {}", twice.len(), twice.join(", "));
        found.push(Problem::new(0..0, message));
    }
    for id in twice {
        for node in places[id].iter().skip(1) {
            let message = format!("the id `{id}` is there twice");
            found.push(Problem::new(node.at.clone(), message).help("an id names one query"));
        }
    }
}

/// Reports contradictory requirements of an entry.
fn contradictions(entry: &Node, found: &mut Vec<Problem>) {
    let refuses = entry
        .get(&["should_refuse"])
        .filter(|node| matches!(node.content, Content::Bool(true)));
    if let Some(node) = refuses {
        for key in ["expected_doc_ids", "expected_chunk_ids", "expected_spans"] {
            let full =
                |node: &Node| matches!(&node.content, Content::List(list) if !list.is_empty());
            if entry.get(&[key]).is_some_and(full) {
                let message = format!("a query that should be refused has `{key}`");
                let problem = Problem::new(node.at.clone(), message);
                found.push(problem.help(format!("leave `should_refuse` or `{key}` out")));
            }
        }
    }
    let Some(Content::List(spans)) = entry.get(&["expected_spans"]).map(|node| &node.content)
    else {
        return;
    };
    for span in spans {
        let number = |key| span.get(&[key])?.to_json().as_u64();
        if let (Some(start), Some(end)) = (number("start"), number("end"))
            && end <= start
        {
            let message = format!("a span must end behind its start, found {start} to {end}");
            found.push(Problem::new(span.at.clone(), message));
        }
    }
}

/// If more than this share of the expected chunks does not exist, the documents were split again: nobody mistypes so
/// many names.
const SLIPS: f64 = 0.1;

/// The expected chunks that do not exist.
#[derive(Default)]
struct Strangers {
    /// How many chunks are expected.
    all: usize,
    unknown: Vec<Problem>,
}

impl Strangers {
    /// The problems of mistyped chunks. None if so many chunks do not exist that the documents must have been split
    /// again: then queries with such chunks are judged by their documents and spans, and a notice names them.
    fn slips(self) -> Vec<Problem> {
        match self.unknown.len() as f64 > SLIPS * self.all as f64 {
            true => Vec::new(),
            false => self.unknown,
        }
    }
}

/// Expected documents and chunks that do not exist.
fn strangers(
    entry: &Node,
    exist: Option<Exist<'_>>,
    (chunks, found): (&mut Strangers, &mut Vec<Problem>),
) {
    let Some((documents, known)) = exist else {
        return;
    };
    let unknown = |what: &str, id: &str, at: &std::ops::Range<usize>| {
        Problem::new(at.clone(), format!("the corpus has no {what} `{id}`"))
    };
    for (id, at) in entry.texts(&["expected_doc_ids"]) {
        if !documents.contains(id) {
            found.push(unknown("document", id, at));
        }
    }
    for (id, at) in entry.texts(&["expected_chunk_ids"]) {
        chunks.all += 1;
        if known.contains_key(id) {
            continue;
        }
        // A corpus without any chunk was not split again.
        let of = if known.is_empty() {
            &mut *found
        } else {
            &mut chunks.unknown
        };
        of.push(unknown("chunk", id, at));
    }
}

#[cfg(test)]
mod tests;
