//! Relevance judgements: which documents are relevant to a query, and how much.

use std::collections::BTreeMap;
use std::path::Path;

use super::lines::{self, Stop, columns, is_blank};
use super::{Format, json, unreadable, wrong};
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;

/// The judgements of every query, by its id.
#[derive(Clone, Debug, Default)]
pub struct Qrels {
    /// By the id of the query.
    pub queries: BTreeMap<String, Judgements>,
}

/// The judged documents of one query, by document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgements {
    documents: Vec<(Box<[u8]>, i64)>,
}

impl Judgements {
    /// Every document with its grade, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], i64)> {
        self.documents
            .iter()
            .map(|(document, grade)| (&**document, *grade))
    }

    /// A digest of all of them: a different one means that the query is judged differently.
    pub fn digest(&self, query: &str) -> Digest {
        let fields = kelvin_base::digest::Fields::of("kelvin/qrels/v1").field("query", query);
        self.iter()
            .fold(fields, |fields, (document, grade)| {
                fields
                    .field("document", document)
                    .field("grade", grade.to_be_bytes())
            })
            .digest()
    }
}

/// A document, its grade, and the line that says so.
type Judged = (Box<[u8]>, i64, u64);

impl Qrels {
    /// Reads a file of judgements: TREC columns, `.json` or `.jsonl`.
    ///
    /// # Errors
    ///
    /// A [`Misuse`] with the file and the line where it is not what it should be, or judges a
    /// document twice.
    pub fn load(path: &Path) -> Result<Self, Misuse> {
        let mut queries: BTreeMap<String, Vec<Judged>> = BTreeMap::new();
        let mut add = |line: u64, query: &[u8], document: &[u8], grade: i64| {
            let query = String::from_utf8_lossy(query);
            let judged = match queries.get_mut(&*query) {
                Some(judged) => judged,
                None => queries.entry(query.into_owned()).or_default(),
            };
            judged.push((document.into(), grade, line));
            Ok(())
        };
        match Format::of(path) {
            Format::Trec => {
                let mut line = |line: u64, text: &[u8]| {
                    if is_blank(text) {
                        return Ok(());
                    }
                    let names = "query, iteration, document, grade";
                    let [query, _, document, grade] = columns(text, names)?;
                    let grade = std::str::from_utf8(grade)
                        .ok()
                        .and_then(|text| text.parse().ok());
                    let grade = grade.ok_or_else(|| {
                        format!("the grade must be a whole number: {}", super::quoted(text))
                    })?;
                    add(line, query, document, grade)
                };
                match lines::each(path, (0, u64::MAX), &mut line) {
                    Ok(_) => {}
                    Err(Stop::Unreadable(error)) => return Err(unreadable(path, &error)),
                    Err(Stop::Wrong(line, what)) => return Err(wrong(path, line, &what)),
                }
            }
            Format::Json | Format::JsonLines => json::qrels(path, &mut add)?,
        }
        if queries.is_empty() {
            return Err(wrong(path, 1, "there is no judgement in the file"));
        }
        let mut all = Self::default();
        for (query, mut judged) in queries {
            judged.sort_unstable();
            let twice = judged.windows(2).find(|pair| pair[0].0 == pair[1].0);
            if let Some([_, (document, _, line)]) = twice {
                let what = format!(
                    "the document {} is judged twice for the query {}",
                    super::quoted(document),
                    super::quoted(query.as_bytes())
                );
                return Err(wrong(path, *line, &what));
            }
            let documents = judged
                .into_iter()
                .map(|(document, grade, _)| (document, grade));
            let judgements = Judgements {
                documents: documents.collect(),
            };
            all.queries.insert(query, judgements);
        }
        Ok(all)
    }
}
