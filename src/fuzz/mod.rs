//! The functions that the fuzzer calls, one for each kind of input file. Each takes any bytes. It panics if the reader
//! of the file breaks a promise: if the reader crashes, and also if it reads something that the file does not say.
//! `fuzz/` has the programs around these functions; the tests here pass the seeds of the repository to them, without a
//! fuzzer.

use crate::registry::Registry;
use kelvin_base::digest::Digest;
use kelvin_base::exit::Misuse;
use kelvin_evidence::EvidenceSettings;
use kelvin_evidence::cases::{Case, Corpus};
use kelvin_evidence::perturb::{ALL, Peers, Planner};
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::policy::Policy;
use kelvin_gate::report::Report;
use kelvin_gate::{Gate, report};
use kelvin_github::publish::bundle::Bundle;
use kelvin_github::publish::{Context, bundle};
use kelvin_github::{Archive, REPORT_FILE};
use kelvin_page::terminal::Style;
use kelvin_retrieval::golden;
use kelvin_retrieval::trec::{Qrels, RankedQuery, scan};
use kelvin_run::judge::trial;
use kelvin_run::trace;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Writes the bytes to a file with this name and passes its path to `then`, because some readers take only files. The
/// folder is made once for each thread, and removed when the thread ends.
fn with_file<T>(name: &str, bytes: &[u8], then: impl FnOnce(&Path) -> T) -> T {
    thread_local! {
        static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
    }
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a folder"));
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        let result = then(&path);
        fs::remove_file(&path).expect("removed");
        result
    })
}

/// The maximum size of one unpacked file here; the program itself allows more.
const MOST_BYTES_UNPACKED: usize = 1024 * 1024;

/// Opens the bytes as an archive, and reads the report and the bundle in it.
///
/// # Panics
///
/// Panics if more is unpacked than was requested.
pub fn archive(bytes: &[u8]) {
    let Ok(mut archive) = Archive::open(bytes) else {
        return;
    };
    for name in [REPORT_FILE, bundle::FILE] {
        let Ok(Some(content)) = archive.read(name, MOST_BYTES_UNPACKED) else {
            continue;
        };
        assert!(content.len() <= MOST_BYTES_UNPACKED);
        report(&content);
        // The run of this bundle is not known, so only a bundle without claims can be read.
        let _ = Bundle::read(
            &content,
            &Context::default(),
            &Registry::shipped().of_sections(),
        );
    }
}

/// The separator between the cases of one input. Several cases are needed because units of one case are swapped into
/// another.
const BETWEEN: char = '\u{c}';
/// With more cases, each input would take seconds.
const MOST_CASES: usize = 4;
const MOST_BYTES_OF_CASES: usize = 16 * 1024;

/// Reads the bytes as cases and plans every kind of perturbation for each.
///
/// # Panics
///
/// Panics if the units of a case do not follow each other in its text, or if the text of a variant does not match its
/// digest, cannot be read again, or has another preamble or another number of units than planned.
pub fn case(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.len() > MOST_BYTES_OF_CASES {
        return;
    }
    let texts = text.split(BETWEEN).take(MOST_CASES).enumerate();
    let parsed = texts.filter_map(|(number, text)| {
        Case::parse(format!("c{number}"), format!("c{number}.md"), text).ok()
    });
    let cases: Vec<Case> = parsed.collect();
    for case in &cases {
        stands_one_after_the_other(case);
    }
    let first = cases.iter().flat_map(|case| &case.units).next();
    let Some(governing) = first.map(|unit| unit.unit_type.to_string()) else {
        return;
    };
    let mut settings = settings();
    settings.governing_types = vec![governing];
    let corpus = Corpus {
        cases,
        labels: Vec::new(),
        remarks: Vec::new(),
    };
    let peers = Peers::of(&corpus, &settings);
    let mut planner = Planner::new(&corpus, &settings, &peers);
    for (at, case) in corpus.cases.iter().enumerate() {
        for variant in planner.plan(at).variants {
            let text = variant.render(&corpus, at, &settings);
            assert_eq!(
                variant.digest(&corpus, at, &settings),
                Digest::of(text.as_bytes()),
                "{}",
                variant.id
            );
            variant.notes(&corpus, at, &settings);
            let again = Case::parse("again", "again.md", text.as_str());
            let again = again.unwrap_or_else(|problems| panic!("{}: {problems:?}", variant.id));
            assert_eq!(again.preamble(), case.preamble(), "{}", variant.id);
            assert_eq!(again.units.len(), variant.pieces.len(), "{}", variant.id);
        }
    }
}

fn stands_one_after_the_other(case: &Case) {
    let mut from = case.units.first().map_or(0, |unit| unit.body.start);
    for unit in &case.units {
        assert!(from <= unit.body.start && unit.body.end <= unit.end);
        assert!(unit.body.start < unit.heading_end && unit.heading_end <= unit.body.end);
        assert!(!unit.unit_type.is_empty());
        from = unit.end;
    }
    if !case.units.is_empty() {
        assert_eq!(from, case.text.len());
    }
}

/// Settings with every kind of perturbation.
fn settings() -> EvidenceSettings {
    let opt_in = ALL.iter().filter(|kind| !kind.is_default);
    let names: Vec<&str> = opt_in.map(|kind| kind.name).collect();
    let text = format!(
        "run: \"true {{input}} {{output}}\"\ncases: cases\ndecision_field: decision\n\
         governing_types: [rule]\nperturbations: {{ enable: [{}] }}\n",
        names.join(", ")
    );
    let config = Registry::shipped()
        .configured_by(&text, Path::new("kelvin.yaml"))
        .expect("the configuration is right");
    let settings = config.settings::<EvidenceSettings>();
    settings.expect("it configures the probe").clone()
}

/// Longer files are slower to test and show nothing more.
const MOST_BYTES_OF_CONFIGURATION: usize = 64 * 1024;

/// Reads the bytes as `kelvin.yaml`.
///
/// # Panics
///
/// Panics if an error is not reported as one that the user can correct, or if the same text has another digest when it
/// is read again.
pub fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.len() > MOST_BYTES_OF_CONFIGURATION {
        return;
    }
    let file = Path::new("/nowhere/kelvin.yaml");
    match Registry::shipped().configured_by(text, file) {
        Ok(config) => {
            let again = Registry::shipped()
                .configured_by(text, file)
                .expect("it was read before");
            assert_eq!(config.measured(), again.measured());
        }
        Err(error) => {
            let misuse = error.downcast_ref::<Misuse>();
            assert!(misuse.is_some(), "no problem of the user: {error:#}");
            assert!(!error.to_string().trim().is_empty());
        }
    }
}

/// Longer reports are slower to test and show nothing more.
const MOST_BYTES_OF_REPORT: usize = 256 * 1024;

/// Reads the bytes as a report, prints it in every format, and lets the gate compare it with itself.
///
/// # Panics
///
/// Panics if a report changes when it is written and read again, or if it fails the gate against itself.
pub fn report(bytes: &[u8]) {
    if bytes.len() > MOST_BYTES_OF_REPORT {
        return;
    }
    let Ok(read) = Registry::shipped().report(bytes) else {
        return;
    };
    let once = written(&read);
    let again = Registry::shipped()
        .report(&once)
        .expect("what was written can be read");
    assert_eq!(
        String::from_utf8_lossy(&written(&again)),
        String::from_utf8_lossy(&once)
    );
    shown(&again);
    let measured = Measured::from(&again);
    let policy = Policy::default();
    let verdict = Gate::new(&policy, false, false, None).give_up(&compare(&measured, &measured));
    for (id, metric) in &verdict.metrics {
        let drop = metric.drop.unwrap_or(0.0);
        assert!(drop <= 1e-9, "`{id}` fell by {drop} beside itself");
    }
}

fn written(report: &Report) -> Vec<u8> {
    let mut bytes = Vec::new();
    report::json::write(&mut bytes, report).expect("memory takes everything");
    bytes
}

fn shown(report: &Report) {
    let mut page = Vec::new();
    report::page::to_html(&mut page, report, None, &|_, _| None).expect("memory takes everything");
    assert!(
        page.trim_ascii_end().ends_with(b"</html>"),
        "the page is not whole"
    );
    report::page::to_markdown(report);
    report::page::to_terminal(report, "kelvin", Style::of(false, None));
    for _ in report::page::items(report) {}
}

/// Longer files are slower to test and show nothing more.
const MOST_BYTES_OF_RUN: usize = 64 * 1024;

/// Reads the bytes from the second line on as the kind of file that the first line names.
///
/// # Panics
///
/// Panics if the hits of a query do not have consecutive ranks.
pub fn run(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (name, content) = (&bytes[..end], &bytes[end + 1..]);
    if content.len() > MOST_BYTES_OF_RUN {
        return;
    }
    match name {
        b"run.trec" => ranked("run.trec", content),
        b"run.json" => ranked("run.json", content),
        b"run.jsonl" => ranked("run.jsonl", content),
        b"qrels.trec" => judged("qrels.trec", content),
        b"qrels.json" => judged("qrels.json", content),
        b"qrels.jsonl" => judged("qrels.jsonl", content),
        b"golden.yaml" => with_file("golden.yaml", content, |file| {
            let _ = golden::read(file, &BTreeMap::new(), None);
        }),
        b"golden.csv" => with_file("golden.csv", content, |file| {
            let _ = golden::read(file, &BTreeMap::new(), None);
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
    with_file(name, content, |file| {
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
    with_file(name, content, |file| {
        let _ = Qrels::load(file);
    });
}

fn traces(name: &str, content: &[u8]) {
    with_file(name, content, |file| {
        let _ = trace::read(file);
    });
}

#[cfg(test)]
mod tests;
