//! A log of any size is read sample by sample.

use std::io::{self, Read as _, Write as _};

use kelvin_results::Columns;
use kelvin_results::readers::read;

/// How much of this process is in memory at most, in bytes; none where the system does not tell.
fn peak() -> Option<u64> {
    let mut status = String::new();
    std::fs::File::open("/proc/self/status")
        .ok()?
        .read_to_string(&mut status)
        .ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

fn write_log(file: std::fs::File, samples: usize, events: usize) -> io::Result<()> {
    let mut out = io::BufWriter::new(file);
    let event = format!(
        r#"{{"event": "model", "input": "{}"}}"#,
        "x \\\" ".repeat(200)
    );
    let events = vec![event; events].join(",");
    write!(
        out,
        r#"{{"version": 2, "status": "success", "eval": {{"model": "m", "config": {{}}}}, "#
    )?;
    write!(
        out,
        r#""results": {{"total_samples": {samples}}}, "samples": ["#
    )?;
    for number in 0..samples {
        let comma = if number == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"id": "case-{number}", "epoch": 1, "input": "What is {number}?", "target": "{number}",
            "scores": {{"includes": {{"value": "C", "answer": "{number}"}}}}, "events": [{events}],
            "working_time": 0.5}}"#
        )?;
    }
    write!(out, "]}}")?;
    out.flush()
}

/// Reads a log of so many samples, and tells how much more memory that took.
fn read_log(samples: usize, smallest: u64) -> Option<u64> {
    let file = tempfile::NamedTempFile::with_suffix(".json").expect("a file");
    write_log(file.reopen().expect("opened"), samples, 13).expect("written");
    assert!(file.as_file().metadata().expect("its size").len() > smallest);
    let before = peak();
    let results = read(file.path(), None, &Columns::default()).expect("read");
    assert_eq!(results.rows.len(), samples);
    Some(peak()? - before?)
}

/// Runs a test of this file in a process of its own, since the memory of a process is that of all tests that it runs at the
/// same time. Returns whether the caller is in that process, and has to measure.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "KELVIN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("it runs");
    let ended = std::process::Command::new(program)
        .args(["--exact", test, "--include-ignored"])
        .env(ALONE, "1")
        .output();
    let ended = ended.expect("it starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
    false
}

#[test]
fn events_of_a_log_are_skipped_without_being_held() {
    if !is_alone("size::events_of_a_log_are_skipped_without_being_held") {
        return;
    }
    if let Some(more) = read_log(4000, 50_000_000) {
        assert!(more < 30_000_000, "{more} bytes more were in memory");
    }
}

#[test]
#[ignore = "writes and reads 1 GB"]
fn a_log_of_one_gigabyte_takes_less_than_200_megabytes() {
    if !is_alone("size::a_log_of_one_gigabyte_takes_less_than_200_megabytes") {
        return;
    }
    if let Some(more) = read_log(80_000, 1_000_000_000) {
        assert!(more < 200_000_000, "{more} bytes more were in memory");
    }
}
