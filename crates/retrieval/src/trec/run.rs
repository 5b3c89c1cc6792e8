//! Runs: read once, by several threads, with no more held than the query at hand, as long as the
//! lines of a query stand together. Where they do not, the whole run is held.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use super::hits::{Desk, Hits, Ranked};
use super::lines::{self, Stop, columns, is_blank};
use super::{Format, json, unreadable, wrong};
use kelvin_base::exit::Misuse;

/// A part of a file smaller than this is not worth a thread.
const FEWEST_BYTES: u64 = 4 << 20;

/// What becomes of the hits of one query.
type Judge<'a, T> = dyn Fn(&str, &Ranked<'_>) -> T + Sync + 'a;

/// Reads a run and lets every query of it be judged. The results are by query.
///
/// # Errors
///
/// A [`Misuse`] with the file and the line where it is not a run, or retrieves a document twice
/// for one query.
pub fn scan<T: Send>(path: &Path, judge: &Judge<'_, T>) -> Result<BTreeMap<String, T>, Misuse> {
    let length = match std::fs::metadata(path) {
        Ok(data) if data.is_file() => data.len(),
        Ok(_) => 0,
        Err(error) => return Err(unreadable(path, &error)),
    };
    let judged = match Format::of(path) {
        Format::Trec if length > 0 => match in_parts(path, length, judge)? {
            Some(judged) => judged,
            None => whole(path, judge)?,
        },
        _ => whole(path, judge)?,
    };
    if judged.is_empty() {
        return Err(wrong(path, 1, "there is no hit in the file"));
    }
    Ok(judged)
}

/// What one thread has read: the first and the last query may go on in the parts beside it.
struct Part<T> {
    lines: u64,
    first: Option<(String, Hits)>,
    between: Vec<(String, T)>,
    last: Option<(String, Hits)>,
}

/// Reads the parts of a file at the same time; nothing where a query stands in two places.
fn in_parts<T: Send>(
    path: &Path,
    length: u64,
    judge: &Judge<'_, T>,
) -> Result<Option<BTreeMap<String, T>>, Misuse> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let count = (length / FEWEST_BYTES).clamp(1, cores);
    let bound = |part: u64| match part {
        part if part == count => u64::MAX,
        part => length / count * part,
    };
    let parts: Vec<Result<Part<T>, Stop>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|part| scope.spawn(move || read_part(path, (bound(part), bound(part + 1)), judge)))
            .collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    });
    let mut together = Together {
        path,
        judge,
        desk: Desk::default(),
        open: None,
        judged: BTreeMap::new(),
    };
    let mut lines = 0;
    for part in parts {
        let part = match part {
            Ok(part) => part,
            Err(Stop::Unreadable(error)) => return Err(unreadable(path, &error)),
            Err(Stop::Wrong(line, what)) => return Err(wrong(path, lines + line, &what)),
        };
        let later = |edge: Option<(String, Hits)>| {
            edge.map(|(query, mut hits)| {
                hits.shift(lines);
                (query, hits)
            })
        };
        if !together.edge(later(part.first))? || !together.take(part.between)? {
            return Ok(None);
        }
        if !together.edge(later(part.last))? {
            return Ok(None);
        }
        lines += part.lines;
    }
    Ok(together.close()?.then_some(together.judged))
}

/// Joins the parts.
struct Together<'a, T> {
    path: &'a Path,
    judge: &'a Judge<'a, T>,
    desk: Desk,
    open: Option<(String, Hits)>,
    judged: BTreeMap<String, T>,
}

impl<T> Together<'_, T> {
    /// Takes a query at the edge of a part, which the part before may have begun. False where it
    /// was there before.
    fn edge(&mut self, edge: Option<(String, Hits)>) -> Result<bool, Misuse> {
        let Some((query, hits)) = edge else {
            return Ok(true);
        };
        if let Some((before, open)) = &mut self.open
            && *before == query
        {
            open.extend(&hits)
                .map_err(|what| wrong(self.path, 1, &what))?;
            return Ok(true);
        }
        let fresh = self.close()?;
        self.open = Some((query, hits));
        Ok(fresh)
    }

    fn take(&mut self, between: Vec<(String, T)>) -> Result<bool, Misuse> {
        if between.is_empty() {
            return Ok(true);
        }
        let mut fresh = self.close()?;
        for (query, judged) in between {
            fresh &= self.judged.insert(query, judged).is_none();
        }
        Ok(fresh)
    }

    fn close(&mut self) -> Result<bool, Misuse> {
        let Some((query, hits)) = self.open.take() else {
            return Ok(true);
        };
        let ranked = self.desk.rank(&hits);
        let ranked = ranked.map_err(|(line, what)| wrong(self.path, line, &what))?;
        let judged = (self.judge)(&query, &ranked);
        Ok(self.judged.insert(query, judged).is_none())
    }
}

fn read_part<T>(path: &Path, bytes: (u64, u64), judge: &Judge<'_, T>) -> Result<Part<T>, Stop> {
    let mut part = Part {
        lines: 0,
        first: None,
        between: Vec::new(),
        last: None,
    };
    let (mut query, mut hits, mut desk) = (String::new(), Hits::default(), Desk::default());
    let mut twice = None;
    let lines = lines::each(path, bytes, &mut |line, text| {
        let Some((of, document, score)) = row(text)? else {
            return Ok(());
        };
        if of != query.as_bytes() {
            let name = String::from_utf8_lossy(of).into_owned();
            let before = std::mem::replace(&mut query, name);
            if part.first.is_none() && !before.is_empty() {
                part.first = Some((before, std::mem::take(&mut hits)));
            } else if !before.is_empty() {
                let judged = match desk.rank(&hits) {
                    Ok(ranked) => judge(&before, &ranked),
                    Err((line, what)) => {
                        twice = Some(line);
                        return Err(what);
                    }
                };
                part.between.push((before, judged));
                hits.clear();
            }
        }
        hits.push(document, score, line)
    });
    part.lines = match (lines, twice) {
        (Err(Stop::Wrong(_, what)), Some(line)) => return Err(Stop::Wrong(line, what)),
        (lines, _) => lines?,
    };
    if !query.is_empty() {
        part.last = Some((query, hits));
    }
    Ok(part)
}

/// Reads a run whose queries stand in any order.
fn whole<T>(path: &Path, judge: &Judge<'_, T>) -> Result<BTreeMap<String, T>, Misuse> {
    let mut queries: BTreeMap<String, Hits> = BTreeMap::new();
    let mut add = |line: u64, query: &[u8], document: &[u8], score: f64| {
        if score.is_nan() {
            return Err("the score is not a number".to_owned());
        }
        let query = String::from_utf8_lossy(query);
        match queries.get_mut(&*query) {
            Some(hits) => hits.push(document, score, line),
            None => queries
                .entry(query.into_owned())
                .or_default()
                .push(document, score, line),
        }
    };
    if Format::of(path) == Format::Trec {
        let mut take = |line: u64, text: &[u8]| match row(text)? {
            Some((query, document, score)) => add(line, query, document, score),
            None => Ok(()),
        };
        match lines::each(path, (0, u64::MAX), &mut take) {
            Ok(_) => {}
            Err(Stop::Unreadable(error)) => return Err(unreadable(path, &error)),
            Err(Stop::Wrong(line, what)) => return Err(wrong(path, line, &what)),
        }
    } else {
        json::run(path, &mut add)?;
    }
    let mut desk = Desk::default();
    let mut judged = BTreeMap::new();
    for (query, hits) in queries {
        let ranked = desk.rank(&hits);
        let ranked = ranked.map_err(|(line, what)| wrong(path, line, &what))?;
        let result = judge(&query, &ranked);
        if let Entry::Vacant(free) = judged.entry(query) {
            free.insert(result);
        }
    }
    Ok(judged)
}

/// The query, the document and the score of a line.
type Row<'l> = (&'l [u8], &'l [u8], f64);

/// What a line says; nothing for an empty line. As in trec_eval,
/// the rank is not looked at.
fn row(line: &[u8]) -> Result<Option<Row<'_>>, String> {
    if is_blank(line) {
        return Ok(None);
    }
    let names = "query, Q0, document, rank, score, run";
    let [query, _, document, _, score, _] = columns(line, names)?;
    let number = std::str::from_utf8(score)
        .ok()
        .and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(score) if !score.is_nan() => Ok(Some((query, document, score))),
        _ => Err(format!(
            "the score must be a number: {}",
            super::quoted(line)
        )),
    }
}
