//! The files of an evaluation made elsewhere: relevance judgements and runs, as TREC text, JSON or JSON lines, and
//! judgements as BEIR has them. A file is read as a whole, so that the columns of its lines can be borrowed instead of
//! copied.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::fs;
use std::path::Path;

use kelvin_base::digest::{Digest, Fields};
use kelvin_base::exit::Misuse;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A query, a document, and its grade or score.
type Row<'t, N> = (Cow<'t, str>, Cow<'t, str>, N);

/// The layout of the lines in one kind of file.
struct LineLayout<N> {
    /// The names of the TREC columns. The query is always the first one and the document the third.
    columns: &'static [&'static str],
    /// The column with the number.
    number: usize,
    /// Whether the file may be one of BEIR, with three columns.
    beir: bool,
    /// Parses the number, or says which numbers are valid.
    parse: fn(&str) -> Result<N, &'static str>,
    /// Reads a line of JSON.
    json: fn(&str) -> serde_json::Result<Row<'static, N>>,
}

/// The names of the columns of a file of BEIR, which has a tab between each two, and the names in its first line.
const BEIR: [&str; 3] = ["query-id", "corpus-id", "score"];

/// Receives one row with its line number, or returns the problem of the row.
type Take<'a, 't, N> = &'a mut dyn FnMut(usize, Row<'t, N>) -> Result<(), String>;

impl<N: DeserializeOwned> LineLayout<N> {
    /// Passes on every row of a file. The extension of the file determines its format.
    fn read<'t>(&self, path: &Path, text: &'t str, take: Take<'_, 't, N>) -> Result<(), Misuse> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending == Some("json") {
            return object(path, text, take);
        }
        let is_json = matches!(ending, Some("jsonl" | "ndjson"));
        let is_beir = self.beir && !is_json && self.is_beir(text);
        let header = text.lines().position(|line| is_beir && is_header(line));
        for (number, line) in (1..).zip(text.lines()) {
            if header.is_some_and(|header| number == header + 1) {
                continue;
            }
            let row = match (is_json, is_beir) {
                (true, _) => self.object_of_line(line),
                (false, true) => self.beir_of_line(line),
                (false, false) => self.columns_of_line(line),
            };
            let taken = match row {
                Ok(Some(row)) => take(number, row),
                Ok(None) => Ok(()),
                Err(what) => Err(format!("{what}: {}", quoted(line))),
            };
            taken.map_err(|what| wrong(path, number, what))?;
        }
        Ok(())
    }

    fn object_of_line<'t>(&self, line: &'t str) -> Result<Option<Row<'t, N>>, String> {
        match line.trim().is_empty() {
            true => Ok(None),
            false => (self.json)(line)
                .map(Some)
                .map_err(|error| error.to_string()),
        }
    }

    /// Whether the first line has the names of the columns of BEIR, or three columns with a number in the last.
    fn is_beir(&self, text: &str) -> bool {
        let first = text.lines().find(|line| !line.trim().is_empty());
        first.is_some_and(|line| is_header(line) || matches!(self.beir_of_line(line), Ok(Some(_))))
    }

    fn beir_of_line<'t>(&self, line: &'t str) -> Result<Option<Row<'t, N>>, String> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        match *cells {
            [query, document, number] if !query.is_empty() && !document.is_empty() => {
                Ok(Some((query.into(), document.into(), (self.parse)(number)?)))
            }
            _ => Err(format!(
                "3 columns with tabs between them are needed ({}), found {}",
                BEIR.join(", "),
                cells.iter().filter(|cell| !cell.is_empty()).count()
            )),
        }
    }

    fn columns_of_line<'t>(&self, line: &'t str) -> Result<Option<Row<'t, N>>, String> {
        let names = self.columns;
        let mut found = [""; 6];
        let mut count = 0;
        // These are the white space characters of C, which trec_eval uses: unlike those of Rust, they include the
        // vertical tab.
        let words = line.split(|sign: char| sign.is_ascii_whitespace() || sign == '\u{b}');
        for word in words.filter(|word| !word.is_empty()) {
            if let Some(column) = found.get_mut(count) {
                *column = word;
            }
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        if count != names.len() {
            let (needed, names) = (names.len(), names.join(", "));
            return Err(format!(
                "{needed} columns are needed ({names}), found {count}"
            ));
        }
        let number = (self.parse)(found[self.number])?;
        Ok(Some((found[0].into(), found[2].into(), number)))
    }
}

/// Whether a line has the names of the columns of BEIR.
fn is_header(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    let names = line.split_whitespace().map(str::to_lowercase);
    names.eq(BEIR.map(str::to_owned))
}

/// Passes on the entries of one object: queries to documents to numbers. Its entries have no line number of their own.
fn object<N: DeserializeOwned>(
    path: &Path,
    text: &str,
    take: Take<'_, '_, N>,
) -> Result<(), Misuse> {
    let all: BTreeMap<String, BTreeMap<String, N>> =
        serde_json::from_str(text).map_err(|error| wrong(path, error.line().max(1), error))?;
    for (query, documents) in all {
        for (document, number) in documents {
            take(1, (query.clone().into(), document.into(), number))
                .map_err(|what| wrong(path, 1, what))?;
        }
    }
    Ok(())
}

/// The text of a file.
fn load(path: &Path) -> Result<String, Misuse> {
    let bytes = fs::read(path)
        .map_err(|error| Misuse::new(format!("failed to read `{}`: {error}", path.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        wrong(path, line, "it is not UTF-8 text")
    })
}

/// A problem in a line of a file.
fn wrong(path: &Path, line: usize, what: impl Display) -> Misuse {
    Misuse::new(format!("`{}`, line {line}: {what}", path.display()))
}

/// A quote from a file for a message, short and in one line.
fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let short: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_default)
        .collect();
    let more = if text.chars().nth(MOST).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{short}{more}`")
}

/// The judgements of every query, by its id.
#[derive(Clone, Debug, Default)]
pub struct Qrels {
    /// The judgements, by the id of the query.
    pub queries: BTreeMap<String, Judgements>,
}

/// The judged documents of one query, by document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgements {
    documents: BTreeMap<String, i64>,
}

impl Judgements {
    /// Every document with its grade, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        let documents = self.documents.iter();
        documents.map(|(document, grade)| (&**document, *grade))
    }

    /// A digest of all judgements of a query: a different digest means that the query is judged differently.
    pub fn digest(&self, query: &str) -> Digest {
        let fields = Fields::of("kelvin/qrels/v1").field("query", query);
        self.iter()
            .fold(fields, |fields, (document, grade)| {
                fields
                    .field("document", document)
                    .field("grade", grade.to_be_bytes())
            })
            .digest()
    }
}

/// A judgement in a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgementLine {
    query_id: String,
    doc_id: String,
    relevance: i64,
}

/// A line says which document is relevant to a query, and how much.
const JUDGEMENT_LAYOUT: LineLayout<i64> = LineLayout {
    columns: &["query", "iteration", "document", "grade"],
    number: 3,
    beir: true,
    parse: |grade| {
        grade
            .parse()
            .map_err(|_| "the grade must be a whole number")
    },
    json: |line| {
        let row: JudgementLine = serde_json::from_str(line)?;
        Ok((row.query_id.into(), row.doc_id.into(), row.relevance))
    },
};

impl Qrels {
    /// Reads a file of judgements: the columns of TREC or BEIR, `.json` or `.jsonl`.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with the file and the line if it is not valid, or judges a document twice.
    pub fn load(path: &Path) -> Result<Self, Misuse> {
        let text = load(path)?;
        let mut all = Self::default();
        JUDGEMENT_LAYOUT.read(path, &text, &mut |_,
                                                  (query, document, grade): Row<
            '_,
            i64,
        >| {
            let judgements = all.queries.entry(query.to_string()).or_default();
            match judgements.documents.insert(document.to_string(), grade) {
                None => Ok(()),
                Some(_) => Err(format!(
                    "the document {} is judged twice for the query {}",
                    quoted(&document),
                    quoted(&query)
                )),
            }
        })?;
        match all.queries.is_empty() {
            true => Err(wrong(path, 1, "there is no judgement in the file")),
            false => Ok(all),
        }
    }
}

/// A document that was retrieved.
struct RetrievedDocument<'t> {
    document: Cow<'t, str>,
    /// The score in single precision, because trec_eval compares scores in it.
    score: f32,
    /// The line of the hit in the file.
    line: usize,
}

impl RetrievedDocument<'_> {
    /// Compares by score, highest first, then by document in reverse order, like trec_eval.
    fn order(&self, other: &Self) -> Ordering {
        let score = other.score.partial_cmp(&self.score);
        score
            .unwrap_or(Ordering::Equal)
            .then_with(|| other.document.cmp(&self.document))
    }
}

/// The hits of one query in the order of trec_eval.
pub struct RankedQuery<'a> {
    hits: &'a [RetrievedDocument<'a>],
    ranks: HashMap<&'a str, u32>,
}

impl<'a> RankedQuery<'a> {
    /// Sorts hits. Fails with the second hit of a document that was retrieved twice.
    fn new(hits: &'a mut [RetrievedDocument<'_>]) -> Result<Self, (usize, String)> {
        // The line is compared as well, so that among two hits of one document the later one is reported.
        hits.sort_unstable_by(|one, other| one.order(other).then(one.line.cmp(&other.line)));
        let mut ranks = HashMap::with_capacity(hits.len());
        for (rank, hit) in (1..).zip(&*hits) {
            if ranks.insert(&*hit.document, rank).is_some() {
                let both = hits.iter().filter(|other| other.document == hit.document);
                let line = both.map(|hit| hit.line).max().unwrap_or(hit.line);
                let document = quoted(&hit.document);
                return Err((
                    line,
                    format!("the document {document} is there twice for one query"),
                ));
            }
        }
        Ok(Self { hits, ranks })
    }

    /// The rank of a document, from 1.
    pub fn rank(&self, document: &str) -> Option<u32> {
        self.ranks.get(document).copied()
    }

    /// The first `most` documents in order, each with its score.
    pub fn top(&self, most: usize) -> impl Iterator<Item = (&str, f32)> {
        let hits = self.hits.iter().take(most);
        hits.map(|hit| (&*hit.document, hit.score))
    }

    /// How many hits there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.hits.len()
    }
}

/// A hit in a line of JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HitRow {
    query_id: String,
    doc_id: String,
    score: f64,
}

/// A line says what a system has retrieved for a query. As in trec_eval, the rank is ignored.
const RUN_LAYOUT: LineLayout<f64> = LineLayout {
    columns: &["query", "Q0", "document", "rank", "score", "run"],
    number: 4,
    beir: false,
    parse: |score| match score.parse::<f64>() {
        Ok(score) if !score.is_nan() => Ok(score),
        _ => Err("the score must be a number"),
    },
    json: |line| {
        let row: HitRow = serde_json::from_str(line)?;
        Ok((row.query_id.into(), row.doc_id.into(), row.score))
    },
};

/// Reads a run and lets the caller judge every query. The results are by query.
///
/// # Errors
///
/// A [`Misuse`] with the file and the line if it is not a run, or retrieves a document twice for one query.
pub fn scan<T>(
    path: &Path,
    judge: &dyn Fn(&str, &RankedQuery<'_>) -> T,
) -> Result<BTreeMap<String, T>, Misuse> {
    let text = load(path)?;
    let mut queries: BTreeMap<Cow<'_, str>, Vec<RetrievedDocument<'_>>> = BTreeMap::new();
    RUN_LAYOUT.read(path, &text, &mut |line,
                                        (query, document, score): Row<
        '_,
        f64,
    >| {
        queries.entry(query).or_default().push(RetrievedDocument {
            document,
            score: score as f32,
            line,
        });
        Ok(())
    })?;
    if queries.is_empty() {
        return Err(wrong(path, 1, "there is no hit in the file"));
    }
    let judged = queries.into_iter().map(|(query, mut hits)| {
        let ranked = RankedQuery::new(&mut hits).map_err(|(line, what)| wrong(path, line, what))?;
        Ok((query.to_string(), judge(&query, &ranked)))
    });
    judged.collect()
}
