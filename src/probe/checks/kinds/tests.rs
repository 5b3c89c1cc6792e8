//! Every kind of check against a real workspace: one that passes, one that fails, one that is an error.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::file::beneath::Beneath;
use crate::probe::checks::scenario::Scenario;
use crate::signal::Interrupt;
use crate::target::StandardOutput;

/// A workspace after a run.
struct Left {
    folder: TempDir,
    output: String,
    expected: Option<Value>,
    interrupt: Arc<Interrupt>,
}

impl Left {
    fn new(output: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for inside in ["workspace", "private"] {
            fs::create_dir(folder.path().join(inside)).expect("made");
        }
        Self {
            folder,
            output: output.to_owned(),
            expected: None,
            interrupt: Interrupt::apart(),
        }
    }

    fn expecting(mut self, expected: Value) -> Self {
        self.expected = Some(expected);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), text).expect("written");
        self
    }

    /// What a check says.
    fn look(&self, check: Value) -> Finding {
        let keys: CheckKeys = serde_json::from_value(check).expect("a check");
        let check = open(&keys, &keys).expect("nothing is wrong with it");
        let scenario = Scenario {
            id: "s".to_owned(),
            prompt: "do it".to_owned(),
            params: std::collections::BTreeMap::new(),
            expected: self.expected.clone(),
        };
        let printed = StandardOutput {
            bytes: b"printed\n".to_vec(),
            is_cut: false,
        };
        let folder = self.path("");
        let variables: [(String, OsString); 1] = [("KELVIN_SCENARIO".to_owned(), "s".into())];
        let finding = check.look(&Scene {
            scenario: &scenario,
            replica: 1,
            root: self.folder.path(),
            folder: &folder,
            beneath: &Beneath::of(&folder).expect("a folder"),
            private: &self.folder.path().join("private"),
            audit_log: &self.folder.path().join("audit.jsonl"),
            variables: &variables,
            output: self.output.as_bytes(),
            output_file: &self.folder.path().join("output.json"),
            printed: &printed,
            seconds: 0.5,
            interrupt: &self.interrupt,
        });
        let finding = finding.expect("nobody interrupts");
        if keys.is_negated() {
            finding.negated()
        } else {
            finding
        }
    }

    /// Demands an outcome, a score and a part of the reason.
    #[track_caller]
    fn demand(&self, check: Value, outcome: Outcome, score: Option<f64>, reason: &str) {
        let found = self.look(check.clone());
        assert_eq!(
            (found.outcome, found.score),
            (outcome, score),
            "{check}: {found:?}"
        );
        assert!(found.reason.contains(reason), "{check}: {found:?}");
    }

    #[track_caller]
    fn passes(&self, check: Value) {
        self.demand(check, Outcome::Passed, Some(1.0), "");
    }

    #[track_caller]
    fn fails(&self, check: Value, reason: &str) {
        self.demand(check, Outcome::Failed, Some(0.0), reason);
    }

    #[track_caller]
    fn is_error(&self, check: Value, reason: &str) {
        self.demand(check, Outcome::Error, None, reason);
    }
}

/// What is refused when a check is opened.
fn refusal(check: Value) -> (&'static str, String) {
    let keys: CheckKeys = serde_json::from_value(check).expect("a check");
    open(&keys, &keys).expect_err("it is refused")
}

#[test]
fn inv_03_inv_04_inv_05_a_command_is_judged_by_its_exit_code() {
    let left = Left::new("").with("here.txt", "x");
    let exit = |command: &str| json!({"type": "command_exit", "command": command});
    left.passes(exit("test -f here.txt"));
    left.passes(json!({"type": "command_exit", "command": "exit 3", "exit_code": 3}));
    left.passes(exit("test $KELVIN_SCENARIO = s"));
    left.fails(
        exit("echo out; echo err >&2; exit 3"),
        "code 3, expected 0; stderr: err; stdout: out",
    );
    left.fails(exit("no-such-command"), "127 (a command was not found)");
    left.is_error(exit("kill -9 $$"), "SIGKILL");
    let start = Instant::now();
    let slow =
        |command: &str| json!({"type": "command_exit", "command": command, "timeout_s": 0.2});
    left.is_error(
        slow("echo begun; sleep 60"),
        "stopped after 0.2 s; stdout: begun",
    );
    // What it has started goes with it, also where it holds the streams.
    left.is_error(slow("sleep 61 & sleep 60"), "stopped after");
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn a_command_that_prints_100_mb_costs_its_limits_at_most() {
    let left = Left::new("");
    let found = left
        .look(json!({"type": "command_exit", "command": "head -c 100000000 /dev/zero; exit 1"}));
    assert_eq!(found.outcome, Outcome::Failed);
    assert!(found.reason.len() < 20_000, "{} bytes", found.reason.len());
}

#[test]
fn inv_06_file_exists_and_file_absent_are_complements_on_every_path() {
    let left = Left::new("").with("file", "x");
    fs::create_dir(left.path("folder")).expect("made");
    for link in [
        ("inside", "file"),
        ("dangling", "nowhere"),
        ("outside", "../private"),
    ] {
        std::os::unix::fs::symlink(link.1, left.path(link.0)).expect("linked");
    }
    for path in [
        "file", "folder", "folder/", "./file", "inside", "dangling", "nothing", "file/x",
    ] {
        let is_there = left.look(json!({"type": "file_exists", "path": path}));
        let is_not = left.look(json!({"type": "file_absent", "path": path}));
        assert_ne!(is_there.outcome, is_not.outcome, "{path}");
        let negated = left.look(json!({"type": "file_exists", "path": path, "not": true}));
        assert_eq!(negated.outcome, is_not.outcome, "{path}");
    }
    left.passes(json!({"type": "file_exists", "path": "folder"}));
    left.passes(json!({"type": "file_absent", "path": "dangling"}));
    for check in ["file_exists", "file_absent"] {
        left.is_error(
            json!({"type": check, "path": "outside"}),
            "leads out of the workspace",
        );
    }
}

#[test]
fn inv_07_a_path_that_leads_out_is_refused_before_anything_runs() {
    for path in ["../x", "/etc/passwd", "a/../../x", "..", ""] {
        let (key, what) = refusal(json!({"type": "file_exists", "path": path}));
        assert_eq!(key, "path");
        assert!(what.contains("leads out of the workspace"), "{what}");
        let content = json!({"type": "file_content", "path": path, "contains": "x"});
        assert_eq!(refusal(content).0, "path");
    }
    let from = json!({"type": "contains", "value": "x", "input_from": "file:../x"});
    assert_eq!(refusal(from).0, "input_from");
}

#[test]
fn inv_08_inv_09_inv_10_all_conditions_on_a_file_have_to_hold() {
    let left = Left::new("")
        .with("log", "one\ntwo 22\n")
        .with("bad", b"a\xffb");
    let on = |more: Value| {
        let mut check = json!({"type": "file_content", "path": "log"});
        for (key, value) in more.as_object().expect("a mapping") {
            check[key] = value.clone();
        }
        check
    };
    left.passes(on(
        json!({"contains": "two", "not_contains": "three", "pattern": r"\d+"}),
    ));
    left.fails(
        on(json!({"contains": "three", "pattern": "one"})),
        "does not contain `three`",
    );
    left.fails(
        on(json!({"not_contains": "two", "contains": "one"})),
        "contains `two`",
    );
    left.fails(on(json!({"pattern": "^two"})), "does not match `^two`");
    left.passes(on(json!({"pattern": "(?m)^two"})));
    left.passes(on(json!({"pattern": "wo 2"})));
    left.fails(
        json!({"type": "file_content", "path": "gone", "contains": "x"}),
        "`gone` is not there",
    );
    // A file that is not there has nothing in it, and is not what the opposite asks for either.
    left.fails(
        json!({"type": "file_content", "path": "gone", "contains": "x", "not": true}),
        "`gone` is not there",
    );
    left.passes(on(json!({"contains": "three", "not": true})));
    left.fails(
        json!({"type": "file_content", "path": ".", "contains": "x"}),
        "is a folder",
    );
    left.demand(
        json!({"type": "file_content", "path": "bad", "contains": "a"}),
        Outcome::Passed,
        Some(1.0),
        "not UTF-8",
    );
    let (key, what) = refusal(json!({"type": "file_content", "path": "log"}));
    assert_eq!((key, what.contains("nothing is asked")), ("", true));
}

#[test]
fn inv_11_a_pattern_that_explodes_elsewhere_takes_linear_time_and_a_bad_one_is_refused() {
    let left = Left::new("").with("long", "a".repeat(10_000_000));
    let start = Instant::now();
    for pattern in ["(a+)+$b", "(a|aa)+b", "(.*)*b", r"(a?){30}a{30}b"] {
        left.fails(
            json!({"type": "file_content", "path": "long", "pattern": pattern}),
            "does not match",
        );
    }
    // An engine that goes back would not end within anybody's life.
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    for (pattern, what) in [
        ("(", "no regular expression: unclosed group"),
        ("(?=a)", "look-around"),
        (r"\w{500}{500}", "too large"),
    ] {
        let (key, told) = refusal(json!({"type": "regex", "pattern": pattern}));
        assert_eq!(key, "pattern");
        assert!(told.contains(what), "{pattern}: {told}");
    }
}

#[test]
fn a_file_that_is_too_large_or_waits_for_somebody_is_no_trap() {
    let left = Left::new("");
    let large = fs::File::create(left.path("large")).expect("made");
    large.set_len(1 << 40).expect("a file with nothing in it");
    left.is_error(
        json!({"type": "file_content", "path": "large", "contains": "x"}),
        "more than the 64 MiB",
    );
    rustix::fs::mknodat(
        rustix::fs::CWD,
        left.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .expect("a pipe");
    left.fails(
        json!({"type": "file_content", "path": "pipe", "contains": "x"}),
        "no regular file",
    );
    left.passes(json!({"type": "file_exists", "path": "pipe"}));
}

#[test]
fn texts_are_found_in_the_output_in_what_was_printed_and_in_files() {
    let left = Left::new("Refund SENT\n").with("note", "kept");
    left.passes(json!({"type": "contains", "value": "SENT"}));
    left.fails(
        json!({"type": "contains", "value": "sent"}),
        "the output does not contain `sent`",
    );
    left.passes(json!({"type": "contains", "value": "sent", "ignore_case": true}));
    left.passes(json!({"type": "contains", "value": "printed", "input_from": "stdout"}));
    left.passes(json!({"type": "contains", "value": "kept", "input_from": "file:note"}));
    left.fails(
        json!({"type": "contains", "value": "x", "input_from": "file:gone"}),
        "not there",
    );
    left.passes(json!({"type": "regex", "pattern": "^Refund"}));
    left.fails(
        json!({"type": "regex", "pattern": "^SENT"}),
        "does not match",
    );
    left.passes(json!({"type": "equals", "value": "Refund SENT"}));
    left.fails(
        json!({"type": "equals", "value": "Refund"}),
        "is `Refund SENT`, expected `Refund`",
    );
    let (key, what) =
        refusal(json!({"type": "contains", "value": "x", "input_from": "agent-output"}));
    assert_eq!(
        (key, what.contains("names nothing to look at")),
        ("input_from", true)
    );
}

#[test]
fn without_something_expected_a_comparison_is_skipped() {
    let nothing = Left::new("5");
    for check in ["contains", "equals", "levenshtein", "numeric"] {
        nothing.demand(json!({"type": check}), Outcome::Skipped, None, "expected");
    }
    let left = Left::new("5").expecting(json!(5.0));
    for check in ["equals", "numeric"] {
        left.passes(json!({"type": check}));
    }
    Left::new("five")
        .expecting(json!("fi"))
        .passes(json!({"type": "contains"}));
}

#[test]
fn values_are_compared_as_json() {
    let left = Left::new(r#"{"a": [1, 2.0], "b": null}"#);
    left.passes(json!({"type": "equals", "value": {"b": null, "a": [1.0, 2]}}));
    left.fails(
        json!({"type": "equals", "value": {"a": [1, 2]}}),
        "expected",
    );
    left.passes(json!({"type": "json_path", "path": "$.a[1]"}));
    left.passes(json!({"type": "json_path", "path": "$.a[*]", "equals": 2}));
    left.passes(json!({"type": "json_path", "path": "$.b", "equals": null}));
    left.fails(
        json!({"type": "json_path", "path": "$.a[0]", "equals": 2}),
        "has `1` at `$.a[0]`",
    );
    left.fails(
        json!({"type": "json_path", "path": "$.c"}),
        "nothing at `$.c`",
    );
    Left::new("no").fails(json!({"type": "json_path", "path": "$.c"}), "is not JSON");
    assert_eq!(
        refusal(json!({"type": "json_path", "path": "a.b"})).0,
        "path"
    );
}

#[test]
fn json_is_held_against_a_schema_that_fetches_nothing_and_explodes_nowhere() {
    let left = Left::new(r#"{"id": "a-1", "n": 0}"#);
    let schema = |schema: Value| json!({"type": "json_schema", "schema": schema});
    left.passes(schema(json!({"type": "object", "required": ["id"]})));
    left.fails(
        schema(json!({"properties": {"n": {"minimum": 1}}, "required": ["x"]})),
        "at `/n`",
    );
    left.fails(
        schema(json!({"properties": {"id": {"pattern": "^(a+)+$"}}})),
        "`/id`",
    );
    let (key, _) = refusal(schema(json!({"type": "objekt"})));
    assert_eq!(key, "schema");
    let (key, _) = refusal(schema(json!({"$ref": "http://127.0.0.1:9/schema.json"})));
    assert_eq!(key, "schema");
    assert_eq!(refusal(schema(json!("a"))).0, "schema");
}

#[test]
fn the_edit_distance_is_that_of_levenshtein() {
    let left = Left::new("kitten");
    let near = |value: &str, pass_threshold: f64| json!({"type": "levenshtein", "value": value, "pass_threshold": pass_threshold});
    // Three edits of seven letters.
    let score = Some(1.0 - 3.0 / 7.0);
    left.demand(near("sitting", 0.5), Outcome::Passed, score, "3 edits");
    left.demand(near("sitting", 0.8), Outcome::Failed, score, "0.5714");
    // Letters that change places are two edits, not one.
    Left::new("ab").demand(near("ba", 0.5), Outcome::Failed, Some(0.0), "2 edits");
    Left::new("é").demand(near("e", 0.0), Outcome::Passed, Some(0.0), "1 edits");
    Left::new("")
        .expecting(json!(""))
        .passes(json!({"type": "levenshtein"}));
    Left::new(&"x".repeat(30_000)).is_error(near("x", 0.5), "letter by letter");
}

#[test]
fn numbers_are_held_against_their_limits() {
    let left = Left::new(" 3.5\n");
    left.passes(json!({"type": "numeric", "equals": 3.5}));
    left.passes(json!({"type": "numeric", "equals": 3.4, "tolerance": 0.2}));
    left.fails(
        json!({"type": "numeric", "equals": 3.4}),
        "is 3.5, expected 3.4",
    );
    left.passes(json!({"type": "numeric", "min": 3.5, "max": 3.5}));
    left.fails(json!({"type": "numeric", "min": 4}), "at least 4");
    left.fails(json!({"type": "numeric", "max": 3}), "at most 3");
    Left::new("NaN").fails(json!({"type": "numeric", "min": 0}), "is no number");
    let inside = Left::new(r#"{"total": "12.5"}"#);
    inside.passes(json!({"type": "numeric", "path": "$.total", "equals": 12.5}));
    inside.fails(
        json!({"type": "numeric", "path": "$.sum", "min": 0}),
        "no number at `$.sum`",
    );
    assert_eq!(
        refusal(json!({"type": "numeric", "min": 2, "max": 1})).0,
        "min"
    );
}

#[test]
fn a_pipeline_may_take_its_time_and_no_longer() {
    let left = Left::new("");
    left.passes(json!({"type": "latency", "max_s": 0.5}));
    left.fails(
        json!({"type": "latency", "max_s": 0.4}),
        "took 0.50 s, expected at most 0.4 s",
    );
}

#[test]
fn the_opposite_of_what_is_not_known_is_not_known() {
    let left = Left::new("x");
    left.fails(
        json!({"type": "contains", "value": "x", "not": true}),
        "`not` is asked",
    );
    left.passes(json!({"type": "contains", "value": "y", "not": true}));
    left.is_error(
        json!({"type": "command_exit", "command": "kill -9 $$", "not": true}),
        "SIGKILL",
    );
    left.demand(
        json!({"type": "equals", "not": true}),
        Outcome::Skipped,
        None,
        "expected",
    );
    let near = json!({"type": "levenshtein", "value": "xyz", "pass_threshold": 0.2, "not": true});
    let found = left.look(near);
    assert_eq!(found.outcome, Outcome::Failed);
    assert!((found.score.expect("a score") - 2.0 / 3.0).abs() < 1e-12);
}
