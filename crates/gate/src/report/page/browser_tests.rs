//! The page where it is read: in headless Chromium, driven by a script of its own. Skipped, with the
//! reason, where there is no Chromium or no Python. `KELVIN_PAGES=DIR` keeps the pages.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::html_tests::page;
use crate::fixtures::page::corpus;
use crate::fixtures::report as fixture;
use crate::report::Report;

fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file())
}

fn write(folder: &Path, name: &str, report: &Report) {
    kelvin_base::file::write(
        &folder.join(format!("{name}.html")),
        page(report).as_bytes(),
    )
    .expect("written");
}

#[test]
fn kel_44_a_browser_sees_no_request_no_intruder_and_opens_everything_by_keyboard() {
    let (chromium, python) = (
        program(&["chromium", "chromium-browser", "google-chrome", "chrome"]),
        program(&["python3"]),
    );
    let (Some(chromium), Some(python)) = (chromium, python) else {
        writeln!(
            std::io::stderr(),
            "skipped: there is no Chromium or no Python 3 in PATH"
        )
        .expect("told");
        return;
    };
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = match std::env::var_os("KELVIN_PAGES") {
        Some(folder) => PathBuf::from(folder),
        None => temporary.path().to_path_buf(),
    };
    for (name, report) in [
        ("good", fixture::good()),
        ("bad", fixture::bad()),
        ("noisy", fixture::noisy()),
        ("half", fixture::half()),
        ("unmeasured", fixture::unmeasured()),
        ("large", fixture::large(1_000)),
        // Every text at once: whatever one of them opens, another may use.
        ("hostile", fixture::hostile(&corpus().join(" "))),
    ] {
        write(&folder, name, &report);
    }
    // Single texts too: one of the others could undo what one of them does.
    let markup: Vec<String> = corpus()
        .into_iter()
        .filter(|text| text.contains('<') && text.len() < 100)
        .collect();
    for (at, text) in markup.iter().enumerate().step_by(4) {
        write(
            &folder,
            &format!("hostile-{at:02}"),
            &fixture::hostile(text),
        );
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser/page.py");
    let output = Command::new(python)
        .args([script.as_os_str(), chromium.as_os_str(), folder.as_os_str()])
        .output()
        .expect("Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
