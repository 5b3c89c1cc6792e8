//! Rankings, relevance judgements, golden sets, traces and graded answers: files of other evaluators.

use std::path::Path;

use kelvin_retrieval::golden;
use kelvin_retrieval::trec::{Qrels, RankedQuery, scan};
use kelvin_run::judge::trial;
use kelvin_run::trace;

/// Longer files are slower and test nothing more.
const MOST_BYTES: usize = 64 * 1024;

/// Reads the bytes, from the second line on, as the kind of file that the first line names.
///
/// # Panics
///
/// Where the hits of a query are not ranked one after the other.
pub fn run(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (name, content) = (&bytes[..end], &bytes[end + 1..]);
    if content.len() > MOST_BYTES {
        return;
    }
    match name {
        b"run.trec" => ranked("run.trec", content),
        b"run.json" => ranked("run.json", content),
        b"run.jsonl" => ranked("run.jsonl", content),
        b"qrels.trec" => judged("qrels.trec", content),
        b"qrels.json" => judged("qrels.json", content),
        b"qrels.jsonl" => judged("qrels.jsonl", content),
        b"golden.yaml" => super::with_file("golden.yaml", content, |file| {
            let _ = golden::read(file, None);
        }),
        b"traces.jsonl" => traces("traces.jsonl", content),
        b"traces.yaml" => traces("traces.yaml", content),
        b"answers.jsonl" => {
            if let Ok(text) = std::str::from_utf8(content) {
                let _ = trial::read(text, Path::new("answers.jsonl"));
            }
        }
        _ => {}
    }
}

fn ranked(name: &str, content: &[u8]) {
    super::with_file(name, content, |file| {
        let judge = |_: &str, ranked: &RankedQuery<'_>| {
            let top: Vec<_> = ranked.top(usize::MAX).collect();
            assert_eq!(top.len(), ranked.len());
            assert!(top.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            for (place, (document, _)) in (1..).zip(&top) {
                assert_eq!(ranked.rank(document), Some(place));
            }
        };
        let _ = scan(file, &judge);
    });
}

fn judged(name: &str, content: &[u8]) {
    super::with_file(name, content, |file| {
        let _ = Qrels::load(file);
    });
}

fn traces(name: &str, content: &[u8]) {
    super::with_file(name, content, |file| {
        let _ = trace::read(file);
    });
}
