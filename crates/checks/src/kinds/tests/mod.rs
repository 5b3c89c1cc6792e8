//! Every kind of check against a real workspace: one that passes, one that fails, one that is an error.

use kelvin_fixtures::text::redacted;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::own_check::{InvariantCheck, OwnCheck};
use crate::scenario::Scenario;
use crate::services::RunningServices;
use kelvin_base::file::beneath::Beneath;
use kelvin_run::targets::StandardOutput;
use kelvin_system::signal::Interrupt;

mod databases;
mod files;
mod mock;
mod values;

/// A workspace after a run.
struct Left {
    folder: TempDir,
    output: String,
    expected: Option<Value>,
    params: std::collections::BTreeMap<String, Value>,
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
            params: std::collections::BTreeMap::new(),
            interrupt: Interrupt::apart(),
        }
    }

    fn expecting(mut self, expected: Value) -> Self {
        self.expected = Some(expected);
        self
    }

    /// The same scenario with a parameter.
    fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
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
    fn look(&self, check: Value) -> CheckFinding {
        let (services, declared) = (RunningServices::default(), DeclaredServices::default());
        self.look_beside(&services, &declared, check)
    }

    /// What a check says that has services.
    fn look_beside(
        &self,
        services: &RunningServices<'_>,
        declared: &DeclaredServices,
        check: Value,
    ) -> CheckFinding {
        let keys: CheckKeys = serde_json::from_value(check).expect("a check");
        let scenario = Scenario {
            params: self.params.clone(),
            expected: self.expected.clone(),
            ..Scenario::asking("s".to_owned(), "do it".to_owned())
        };
        let values = std::collections::BTreeMap::new();
        let written = serde_json::to_value(&keys).expect("JSON");
        let check = match OwnCheck::of(&written, &values, declared) {
            Some(own) => InvariantCheck::Own(own),
            None => InvariantCheck::Shared(
                open(&keys, &keys, declared).expect("nothing is wrong with it"),
            ),
        };
        let printed = StandardOutput {
            bytes: b"printed\n".to_vec(),
            is_cut: false,
        };
        let folder = self.path("");
        let mut variables: Vec<(String, OsString)> =
            vec![("KELVIN_SCENARIO".to_owned(), "s".into())];
        variables.extend(crate::target::told_to_checks(&scenario));
        variables.extend(self.params.iter().map(|(name, value)| {
            let name = crate::interpolate::of_parameter(name);
            (name, crate::scenario::plain(value).into())
        }));
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
            services,
            interrupt: &self.interrupt,
        });
        let finding = finding.expect("nobody interrupts");
        if keys.is_negated() {
            finding.negated()
        } else {
            finding
        }
    }

    /// Demands an outcome and a score, and gives the reason.
    #[track_caller]
    fn demand(&self, check: Value, outcome: Outcome, score: Option<f64>) -> String {
        let found = self.look(check.clone());
        assert_eq!(
            (found.outcome, found.score),
            (outcome, score),
            "{check}: {found:?}"
        );
        found.reason
    }

    #[track_caller]
    fn passes(&self, check: Value) {
        self.demand(check, Outcome::Passed, Some(1.0));
    }

    #[track_caller]
    fn fails(&self, check: Value) -> String {
        self.demand(check, Outcome::Failed, Some(0.0))
    }

    #[track_caller]
    fn is_error(&self, check: Value) -> String {
        self.demand(check, Outcome::Error, None)
    }
}

/// What is refused when a check is opened.
fn refusal(check: Value) -> (&'static str, String) {
    let keys: CheckKeys = serde_json::from_value(check).expect("a check");
    open(&keys, &keys, &DeclaredServices::default()).expect_err("it is refused")
}

#[test]
fn inv_03_inv_04_inv_05_a_command_is_judged_by_its_exit_code() {
    let left = Left::new("").with("here.txt", "x");
    let exit = |command: &str| json!({"type": "command_exit", "command": command});
    left.passes(exit("test -f here.txt"));
    left.passes(json!({"type": "command_exit", "command": "exit 3", "exit_code": 3}));
    left.passes(exit("test $KELVIN_SCENARIO = s"));
    insta::assert_snapshot!(left.fails(exit("echo out; echo err >&2; exit 3")), @"ended with exit code 3, expected 0; stderr: err; stdout: out");
    // The rest is in the words of the shell.
    let unknown = left.fails(exit("no-such-command"));
    insta::assert_snapshot!(unknown.split(';').next().unwrap_or_default(), @"ended with exit code 127 (a command was not found), expected 0");
    insta::assert_snapshot!(left.is_error(exit("kill -9 $$")), @"SIGKILL ended it; the system does so where memory runs out");
    let start = Instant::now();
    let slow =
        |command: &str| json!({"type": "command_exit", "command": command, "timeout_s": 0.2});
    insta::assert_snapshot!(redacted(&left.is_error(slow("echo begun; sleep 60"))), @"it was stopped after [SECONDS] s; stdout: begun");
    // What it has started goes with it, also where it holds the streams.
    insta::assert_snapshot!(redacted(&left.is_error(slow("sleep 61 & sleep 60"))), @"it was stopped after [SECONDS] s");
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
fn texts_are_found_in_the_output_in_what_was_printed_and_in_files() {
    let left = Left::new("Refund SENT\n").with("note", "kept");
    left.passes(json!({"type": "contains", "value": "SENT"}));
    insta::assert_snapshot!(left.fails(json!({"type": "contains", "value": "sent"})), @"the output does not contain `sent`");
    left.passes(json!({"type": "contains", "value": "sent", "ignore_case": true}));
    left.passes(json!({"type": "contains", "value": "printed", "input_from": "stdout"}));
    left.passes(json!({"type": "contains", "value": "kept", "input_from": "file:note"}));
    insta::assert_snapshot!(left.fails(json!({"type": "contains", "value": "x", "input_from": "file:gone"})), @"`gone` is not there");
    left.passes(json!({"type": "regex", "pattern": "^Refund"}));
    insta::assert_snapshot!(left.fails(json!({"type": "regex", "pattern": "^SENT"})), @"the output does not match `^SENT`");
    left.passes(json!({"type": "equals", "value": "Refund SENT"}));
    insta::assert_snapshot!(left.fails(json!({"type": "equals", "value": "Refund"})), @"the output is `Refund SENT`, expected `Refund`");
    let (key, what) =
        refusal(json!({"type": "contains", "value": "x", "input_from": "agent-output"}));
    assert_eq!(key, "input_from");
    insta::assert_snapshot!(what, @"`agent-output` names nothing to look at: write `agent_output`, `stdout` or `file:PATH`");
}

#[test]
fn without_something_expected_a_comparison_is_skipped() {
    let nothing = Left::new("5");
    let mut each = Vec::new();
    for check in ["contains", "equals", "levenshtein", "numeric", "regex"] {
        each.push(nothing.demand(json!({"type": check}), Outcome::Skipped, None));
    }
    insta::assert_snapshot!(each.join("\n"), @"
    the scenario has nothing that is `expected`
    the scenario has nothing that is `expected`
    the scenario has nothing that is `expected`
    the scenario has nothing that is `expected`
    the scenario has nothing that is `expected`
    ");
    let path = json!({"type": "json_path", "path": "$"});
    insta::assert_snapshot!(nothing.demand(path.clone(), Outcome::Skipped, None), @"the scenario has nothing that is `expected`");
    nothing.passes(json!({"type": "json_path", "path": "$", "exists": true}));
    let left = Left::new("5").expecting(json!(5.0));
    for check in ["equals", "numeric"] {
        left.passes(json!({"type": check}));
    }
    Left::new("five")
        .expecting(json!("fi"))
        .passes(json!({"type": "contains"}));
}

#[test]
fn what_a_scenario_expects_is_compared_by_every_check_that_has_no_value_of_its_own() {
    let label = json!({"type": "json_path", "path": "$.label"});
    let answer = r#"{"label": "bug", "n": 3}"#;
    Left::new(answer)
        .expecting(json!("bug"))
        .passes(label.clone());
    insta::assert_snapshot!(Left::new(answer).expecting(json!("feature")).fails(label.clone()), @r#"the output has `"bug"` at `$.label`, expected `"feature"`"#);
    // A value of its own comes first.
    let own = json!({"type": "json_path", "path": "$.label", "equals": "bug"});
    Left::new(answer).expecting(json!("feature")).passes(own);
    let pattern = json!({"type": "regex"});
    Left::new("room 17")
        .expecting(json!("^room \\d+$"))
        .passes(pattern.clone());
    insta::assert_snapshot!(Left::new("room x")
        .expecting(json!("^room \\d+$"))
        .fails(pattern.clone()), @r"the output does not match `^room \d+$`");
    insta::assert_snapshot!(Left::new("x")
        .expecting(json!("("))
        .is_error(pattern), @"what is `expected` is the pattern, and this is no regular expression: unclosed group");
    insta::assert_snapshot!(Left::new("5")
        .expecting(json!("five"))
        .is_error(json!({"type": "numeric"})), @r#"what is `expected`, "five", is no number: give the check its own `equals`"#);
}

#[test]
fn fields_of_the_scenario_stand_in_a_check_and_mean_nothing_but_themselves() {
    let left = Left::new("Dear ann, order a.c is done").with("a.txt", "ann");
    let left = left
        .param("user", "ann")
        .param("word", "a.c")
        .param("file", "a");
    left.passes(json!({"type": "contains", "value": "Dear ${KELVIN_PARAM_USER}"}));
    insta::assert_snapshot!(left.fails(json!({"type": "contains", "value": "Dear ${KELVIN_SCENARIO}"})), @"the output does not contain `Dear s`");
    left.passes(json!({
        "type": "file_content", "path": "${KELVIN_PARAM_FILE}.txt", "contains": "${KELVIN_PARAM_USER}",
    }));
    left.passes(json!({"type": "regex", "pattern": "order ${KELVIN_PARAM_WORD} is"}));
    // A pattern in a value is no pattern, and a way out of the workspace none.
    let hostile = Left::new("abc")
        .param("word", ".*")
        .param("file", "../../etc/passwd");
    insta::assert_snapshot!(hostile.fails(json!({"type": "regex", "pattern": "^${KELVIN_PARAM_WORD}$"})), @r"the output does not match `^\.\*$`");
    insta::assert_snapshot!(hostile.is_error(json!({"type": "file_exists", "path": "${KELVIN_PARAM_FILE}"})), @"`path`: `../../etc/passwd` leads out of the workspace: a path is relative to it, without `..`");
    insta::assert_snapshot!(hostile.is_error(json!({"type": "file_exists", "path": "${KELVIN_PARAM_GONE}"})), @"`${KELVIN_PARAM_GONE}` stands for a parameter, and the scenario has no parameter `gone`");
}

#[test]
fn a_shell_never_reads_a_field_of_the_scenario_as_a_command() {
    let hostile = "$(touch pwned) `touch pwned`; touch pwned & '\" || touch pwned\n touch pwned #";
    for text in [hostile, "'; touch pwned; '", "\"; touch pwned; \""] {
        let left = Left::new("").expecting(json!(text)).param("user", text);
        for command in [
            "printf %s \"${KELVIN_PARAM_USER}\" > got",
            "printf %s ${KELVIN_PARAM_USER} > got",
            "printf %s \"$KELVIN_EXPECTED\" \"$KELVIN_PROMPT\" > got",
        ] {
            left.passes(json!({"type": "command_exit", "command": command}));
            assert!(!left.path("pwned").exists(), "{command} with {text}");
        }
        let got = fs::read_to_string(left.path("got")).expect("written");
        assert_eq!(got, format!("{text}do it"));
    }
    // What is too long for a variable is told, and not empty.
    let long = Left::new("").expecting(json!("x".repeat(200_000)));
    insta::assert_snapshot!(long.is_error(json!({"type": "command_exit", "command": "test -n \"$KELVIN_EXPECTED\""})), @"the command reads `KELVIN_EXPECTED`, which is longer than a variable of the environment may be, or has a NUL in it; a script of type `custom` reads it from its standard input");
    long.passes(json!({"type": "command_exit", "command": "true"}));
}

#[test]
fn a_pipeline_may_take_its_time_and_no_longer() {
    let left = Left::new("");
    left.passes(json!({"type": "latency", "max_s": 0.5}));
    insta::assert_snapshot!(redacted(&left.fails(json!({"type": "latency", "max_s": 0.4}))), @"took 0.50 s, expected at most [SECONDS] s");
}

#[test]
fn the_opposite_of_what_is_not_known_is_not_known() {
    let left = Left::new("x");
    insta::assert_snapshot!(left.fails(json!({"type": "contains", "value": "x", "not": true})), @"the output contains `x`, and `not: true` asks for the opposite");
    left.passes(json!({"type": "contains", "value": "y", "not": true}));
    insta::assert_snapshot!(left.is_error(json!({"type": "command_exit", "command": "kill -9 $$", "not": true})), @"SIGKILL ended it; the system does so where memory runs out");
    insta::assert_snapshot!(left.demand(json!({"type": "equals", "not": true}), Outcome::Skipped, None), @"the scenario has nothing that is `expected`");
    let near = json!({"type": "levenshtein", "value": "xyz", "pass_threshold": 0.2, "not": true});
    let found = left.look(near);
    assert_eq!(found.outcome, Outcome::Failed);
    assert!((found.score.expect("a score") - 2.0 / 3.0).abs() < 1e-12);
}
