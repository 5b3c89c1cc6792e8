//! The documents and chunks that exist, as JSON lines with one document or chunk each; and the names and titles that
//! people see.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::golden::GoldenQuery;
use kelvin_base::decode::plain;
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// The documents and chunks that exist.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// The ids of documents.
    pub documents: BTreeSet<String>,
    /// The paths of documents, each with the documents at that path.
    pub paths: BTreeMap<String, BTreeSet<String>>,
    /// The ids of chunks, each with its document.
    pub chunks: BTreeMap<String, String>,
    /// The titles of chunks and documents, or the beginnings of their texts, by the name that people see.
    pub titles: BTreeMap<String, String>,
    /// The digest of the file.
    pub digest: Option<Digest>,
}

/// How many documents a report stores at most; a larger corpus is not stored at all.
const MOST_KNOWN: usize = 100_000;

/// How many hexadecimal digits of the digest of a document's name represent the document.
const DIGITS: usize = 10;

/// Which documents there are, as a report keeps them: the first digits of the digest of each name, in order and
/// without anything between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct KnownDocuments(String);

impl KnownDocuments {
    /// The documents of a corpus; none if the corpus has more than a report stores.
    pub(super) fn of(corpus: &Documents) -> Option<Self> {
        let names = &corpus.documents;
        (names.len() <= MOST_KNOWN).then(|| {
            let digits: BTreeSet<String> = names.iter().map(|name| digits(name)).collect();
            Self(digits.into_iter().collect())
        })
    }

    /// Whether the set contains a document.
    pub(super) fn has(&self, name: &str) -> bool {
        let wanted = digits(name);
        let (known, _) = self.0.as_bytes().as_chunks::<DIGITS>();
        known
            .binary_search_by(|one| one.as_slice().cmp(wanted.as_bytes()))
            .is_ok()
    }
}

fn digits(name: &str) -> String {
    Digest::of(name.as_bytes()).short(DIGITS)
}

/// One line of the file. Its other keys are for the pipeline.
#[derive(Deserialize)]
struct DocumentLine<'l> {
    doc_id: Option<String>,
    /// The id of a document in a corpus of BEIR.
    #[serde(rename = "_id")]
    beir_id: Option<String>,
    chunk_id: Option<String>,
    path: Option<String>,
    // Title and text are only shown, so a value of another type in them is not an error.
    #[serde(borrow)]
    title: Option<&'l RawValue>,
    #[serde(borrow)]
    text: Option<&'l RawValue>,
}

impl DocumentLine<'_> {
    /// The title or, if there is none, the beginning of the text.
    fn title(&self) -> Option<String> {
        let texts = [self.title, self.text].into_iter().flatten();
        let mut texts = texts.filter_map(|raw| serde_json::from_str::<String>(raw.get()).ok());
        texts.find_map(|text| title_of(&text, TITLE))
    }
}

impl Documents {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with the first line that is not a valid document.
    pub fn load(path: &Path) -> Result<Self, Misuse> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| {
            Misuse::new(format!("failed to read the corpus `{shown}`: {error}"))
        })?;
        let mut all = Self {
            digest: Some(Digest::of(&bytes)),
            ..Self::default()
        };
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let wrong = |what: &str| {
                Misuse::new(format!("`{shown}`, line {number}: {what}")).help(
                    "each line is a JSON object with `doc_id`, or `_id` as in a corpus of BEIR, and, for a chunk, \
                     `chunk_id`",
                )
            };
            let line: DocumentLine<'_> =
                serde_json::from_slice(line).map_err(|error| wrong(&plain(&error.to_string())))?;
            let title = line.title();
            let doc_id = line.doc_id.or(line.beir_id);
            let doc_id = doc_id.ok_or_else(|| wrong("it has no `doc_id`"))?;
            all.documents.insert(doc_id.clone());
            if let Some(title) = title {
                let doc = all.titles.entry(doc_id.clone());
                doc.or_insert_with(|| title.clone());
                if let Some(chunk) = &line.chunk_id {
                    all.titles.insert(named(&doc_id, Some(chunk)), title);
                }
            }
            if let Some(path) = line.path {
                let docs = all.paths.entry(path).or_default();
                docs.insert(doc_id.clone());
            }
            if let Some(chunk) = line.chunk_id
                && all.chunks.insert(chunk.clone(), doc_id).is_some()
            {
                let what = format!("`{shown}`, line {number}: the chunk `{chunk}` is there twice");
                return Err(Misuse::new(what));
            }
        }
        if all.documents.is_empty() {
            return Err(Misuse::new(format!(
                "the corpus `{shown}` has no documents"
            )));
        }
        Ok(all)
    }

    /// Drops the titles of documents that no golden query expects.
    pub(super) fn keep_titles(&mut self, golden: &[GoldenQuery]) {
        let names = golden.iter().flat_map(|query| self.names(query));
        let names: BTreeSet<String> = names.collect();
        self.titles.retain(|name, _| names.contains(name));
    }

    /// The titles of the documents and chunks that a query expects, by the name that people see.
    pub(super) fn titles_of(&self, query: &GoldenQuery) -> BTreeMap<String, String> {
        let names = self.names(query).into_iter();
        names
            .filter_map(|name| {
                let title = self.titles.get(&name)?.clone();
                Some((name, title))
            })
            .collect()
    }

    /// The documents and chunks that a query expects, by the name that people see.
    fn names(&self, query: &GoldenQuery) -> Vec<String> {
        let chunks = query.chunks().into_iter();
        let chunks = chunks.filter_map(|chunk| Some(named(self.chunks.get(chunk)?, Some(chunk))));
        let docs = query.docs().into_iter().map(str::to_owned);
        chunks.chain(docs).collect()
    }
}

/// How many columns of a hit's title, or of its text, a record stores.
pub(super) const TITLE: usize = 80;

/// The part of a title that is stored, at most `most` columns; none if no part of the title can be shown.
pub(super) fn title_of(text: &str, most: usize) -> Option<String> {
    let title = safe::cut(text, most);
    (most > 0 && !title.is_empty()).then_some(title)
}

/// A chunk and its document in one name, for texts. Most names of chunks begin with the name of their document, which
/// is then not repeated.
pub(super) fn named(doc: &str, chunk: Option<&str>) -> String {
    match chunk {
        None => doc.to_owned(),
        Some(chunk) if chunk.starts_with(doc) => chunk.to_owned(),
        Some(chunk) => format!("{doc}#{chunk}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kelvin_fixtures::text::redacted;

    fn load(text: &str) -> Result<Documents, Misuse> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("corpus.jsonl");
        std::fs::write(&path, text).expect("written");
        Documents::load(&path)
    }

    #[test]
    fn a_corpus_has_documents_paths_and_chunks() {
        let text = "{\"doc_id\":\"a\",\"chunk_id\":\"a#1\",\"text\":\"x\"}\n\n\
                    {\"doc_id\":\"a\",\"chunk_id\":\"a#2\",\"path\":\"a.md\"}\n";
        let all = load(text).expect("fine");
        assert_eq!((all.documents.len(), all.chunks.len()), (1, 2));
        assert!(all.paths["a.md"].contains("a"));
        let beir = load("{\"_id\":\"d1\",\"title\":\"T\",\"text\":\"x\",\"metadata\":{}}\n")
            .expect("fine");
        assert!(beir.documents.contains("d1"));
    }

    #[test]
    fn a_corpus_tells_the_titles_of_what_is_expected_and_of_nothing_else() {
        let text = "{\"doc_id\":\"a\",\"chunk_id\":\"1\",\"text\":\"The  first\\nof all\"}\n\
                    {\"doc_id\":\"a\",\"chunk_id\":\"2\",\"title\":\"Second\",\"text\":\"x\"}\n\
                    {\"doc_id\":\"b\",\"chunk_id\":\"3\",\"title\":7,\"text\":[]}\n";
        let mut corpus = load(text).expect("fine");
        let golden: GoldenQuery = serde_json::from_value(serde_json::json!({
            "id": "q", "query": "?", "expected_chunk_ids": ["2", "3"], "expected_doc_ids": ["a"],
        }))
        .expect("a query");
        let golden = [golden];
        corpus.keep_titles(&golden);
        let title = |name: &str, title: &str| (name.to_owned(), title.to_owned());
        let titles = BTreeMap::from([title("a", "The first of all"), title("a#2", "Second")]);
        assert_eq!(corpus.titles, titles);
        assert_eq!(corpus.titles_of(&golden[0]), titles);
    }

    #[test]
    fn a_report_knows_the_documents_of_its_corpus_and_no_others() {
        let lines: String = (0..300)
            .map(|at| format!("{{\"doc_id\":\"d{at}\"}}\n"))
            .collect();
        let known = KnownDocuments::of(&load(&lines).expect("fine")).expect("few enough");
        assert!((0..300).all(|at| known.has(&format!("d{at}"))));
        assert!(!(300..600).any(|at| known.has(&format!("d{at}"))));
        // A report may say anything.
        for text in [
            "",
            "d",
            "\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}",
            "0123456789012345",
        ] {
            assert!(!KnownDocuments(text.to_owned()).has("d1"), "{text}");
        }
    }

    #[test]
    fn what_is_no_document_is_named_with_its_line() {
        let mut told = Vec::new();
        for text in [
            "{\"doc_id\":\"a\"}\n{\"id\":1}\n",
            "nonsense\n",
            "\u{fffd}",
            "",
            "{\"doc_id\":\"a\",\"chunk_id\":\"c\"}\n{\"doc_id\":\"b\",\"chunk_id\":\"c\"}",
        ] {
            let error = load(text).expect_err("refused").to_string();
            told.push(error.to_string());
        }
        insta::assert_snapshot!(redacted(&told.join("\n")), @"
        `[TEMP]/corpus.jsonl`, line 2: it has no `doc_id`
          help: each line is a JSON object with `doc_id`, or `_id` as in a corpus of BEIR, and, for a chunk, `chunk_id`
        `[TEMP]/corpus.jsonl`, line 1: expected ident at line 1 column 2
          help: each line is a JSON object with `doc_id`, or `_id` as in a corpus of BEIR, and, for a chunk, `chunk_id`
        `[TEMP]/corpus.jsonl`, line 1: expected value at line 1 column 1
          help: each line is a JSON object with `doc_id`, or `_id` as in a corpus of BEIR, and, for a chunk, `chunk_id`
        the corpus `[TEMP]/corpus.jsonl` has no documents
        `[TEMP]/corpus.jsonl`, line 2: the chunk `c` is there twice
        ");
    }
}
