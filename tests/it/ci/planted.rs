//! What `kelvin ci` leaves, prints and uploads of thirty secrets that the pipeline of a change gives away.

use std::collections::BTreeMap;

use super::*;
use crate::planted::{self, GIVES_AWAY};

/// All of it, each with the row of the table in SECURITY.md that it belongs to.
fn places(rig: &mut Rig, code: i32) -> BTreeMap<String, Vec<u8>> {
    let payload = rig.payload("pull_request");
    let (mut command, runner) = rig.command("pull_request", &payload, &["--check-run", "true"]);
    let output = planted::knowing(&mut command).output().expect("it starts");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    // The runner takes these lines, and prints none of them.
    let (masks, stdout): (Vec<&str>, Vec<&str>) = stdout
        .lines()
        .partition(|line| line.starts_with("::add-mask::"));
    assert!(masks.len() >= 30, "{masks:?}");
    let read = |name: &str| fs::read_to_string(runner.join(name)).unwrap_or_default();
    let state = rig.server.state();
    let comments: Vec<&str> = state
        .comments
        .values()
        .map(|comment| &*comment.body)
        .collect();
    let said = [
        ("stdout", stdout.join("\n")),
        ("stderr", stderr),
        ("outputs", read("output")),
        ("summary", read("summary")),
        ("comments", comments.join("\n")),
        (
            "check runs",
            format!("{:?} {:?}", state.check_runs, state.annotations),
        ),
        (
            "check runs as JSON",
            serde_json::to_string(&state.check_runs).expect("JSON"),
        ),
        ("requests", format!("{:?}", state.log)),
    ];
    drop(state);
    let row = "what a workflow prints, its summary, annotations, outputs, comment and check run";
    let said = said.into_iter();
    let said = said.map(|(place, text)| (format!("{row}\t{place}"), text.into_bytes()));
    said.chain(planted::files(&rig.project)).collect()
}

#[test]
fn a_workflow_shows_and_uploads_no_secret() {
    let mut rig = Rig::configured(
        Server::start(),
        GIVES_AWAY,
        "variants: {}\ncache: true\nfingerprint: [pipeline.sh]\n\
         retry: { max_attempts: 2, initial_delay_s: 0.01, transient_exit_codes: [3] }\n",
    );
    planted::plant(&rig.project);
    let places = places(&mut rig, 3);
    planted::agree(&places);
    let comment = places.iter().find(|(place, _)| place.ends_with("comments"));
    let comment = String::from_utf8_lossy(comment.expect("there").1).into_owned();
    assert!(comment.contains("***"), "something was masked: {comment}");
}

#[test]
fn no_error_shows_a_secret() {
    let fails = "cat ../planted/0.txt; cat ../planted/1.txt >&2; exit 1\n";
    let has_no_field =
        "printf '{\"no\": \"%s\"}' \"$(cat ../planted/2.txt | tr -d '\\n\"\\\\')\" > \"$2\"\n";
    for (script, code) in [(fails, 2), (has_no_field, 2)] {
        let mut rig = Rig::new(script);
        planted::plant(&rig.project);
        for (place, bytes) in places(&mut rig, code) {
            if place.contains("output") || place.contains(".journal") || place.contains("cache") {
                continue;
            }
            let found = planted::found(&bytes);
            assert!(found.is_empty(), "{script}: {place} has {found:?}");
        }
    }
}
