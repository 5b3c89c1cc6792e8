//! Stored reports of another version, of another branch, or of somebody else.

use crate::registry::Registry;
use kelvin_gate::Gate;
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::policy::Policy;
use kelvin_gate::report;
use kelvin_gate::report::Report;
use kelvin_page::terminal::Style;

/// Longer reports are slower and test nothing more.
const MOST_BYTES: usize = 256 * 1024;

/// Reads the bytes as a report, shows it in every form, and has the gate compare it with itself.
///
/// # Panics
///
/// Where a report changes by writing and reading it once more, or fails the gate against itself.
pub fn report(bytes: &[u8]) {
    if bytes.len() > MOST_BYTES {
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
