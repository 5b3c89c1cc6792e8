//! Functions of JavaScript modules, served by the Node of this machine.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::targets::{Address, Ended, Invocation, Target};
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_system::signal::Interrupt;

/// Whether this machine has Node; a test that needs it says that it was left out.
#[expect(clippy::print_stderr, reason = "a part that is left out says so")]
fn has_node() -> bool {
    let found = std::process::Command::new("node").arg("--version").output();
    if found.is_err() {
        eprintln!("SKIPPED: functions of JavaScript: this machine has no Node");
    }
    found.is_ok()
}

/// A module in a folder.
struct Module {
    folder: TempDir,
    target: Box<dyn Target>,
}

impl Module {
    fn new(text: &str, mut settings: Value) -> Self {
        settings["function"] = json!("app.mjs:decide");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("app.mjs"), text).expect("written");
        let site = TargetSite {
            turns: None,
            root: folder.path().to_owned(),
            timeout: Duration::from_secs(20),
            max_output_bytes: 1000,
            decision_field: String::new(),
            jobs: std::num::NonZeroUsize::MIN,
            interrupt: Interrupt::apart(),
        };
        let target = Address::of("node", settings).open(&site).expect("opened");
        Self { folder, target }
    }

    fn ask(&self, inputs: &[&str]) -> Vec<Result<String, Failure>> {
        let files: Vec<PathBuf> = (0..inputs.len())
            .map(|at| self.folder.path().join(format!("{at}.md")))
            .collect();
        let calls: Vec<Invocation<'_>> = inputs
            .iter()
            .zip(&files)
            .map(|(input, file)| {
                fs::write(file, input).expect("written");
                Invocation {
                    input,
                    input_file: file,
                    output_file: Path::new("/nowhere"),
                    repeat: 1,
                    sample: "",
                    workplace: None,
                }
            })
            .collect();
        let together = self
            .target
            .afresh()
            .is_some_and(|fresh| fresh.together.is_some());
        let one = |call| {
            let mut output = Vec::new();
            (self.target.call(call, &mut output), output)
        };
        let ends = match together {
            true => self.target.call_together(&calls),
            false => calls.iter().map(one).collect(),
        };
        let ends = ends.into_iter().map(|(ended, output)| match ended {
            Ended::Answered(_) => Ok(String::from_utf8(output).expect("text")),
            Ended::Failed { failure, .. } => Err(*failure),
            Ended::Interrupted => panic!("nobody stops it"),
        });
        ends.collect()
    }
}

#[test]
fn a_function_gets_the_input_and_its_path_and_what_it_prints_reaches_no_message() {
    if !has_node() {
        return;
    }
    let text = "import fs from 'node:fs';\nimport { execSync } from 'node:child_process';\nconsole.log('importing');\n\
                export async function decide(input, { path }) {\n  console.log('printed');\n  \
                execSync('echo by a child', { stdio: 'inherit' });\n  \
                if (fs.readFileSync(path, 'utf8') !== input) throw new Error('other');\n  \
                return input === 'object' ? { decision: 'go', n: [1.5] } : input.toUpperCase();\n}\n";
    let module = Module::new(text, json!({}));
    let ends: Vec<String> = module
        .ask(&["straße", "object"])
        .into_iter()
        .map(|end| end.expect("answered"))
        .collect();
    assert_eq!(
        ends,
        [
            r#"{"decision":"STRASSE"}"#,
            r#"{"decision":"go","n":[1.5]}"#
        ]
    );
    assert!(module.target.notices().is_empty());
}

#[test]
fn what_a_function_returns_becomes_json_or_an_error_of_its_call() {
    if !has_node() {
        return;
    }
    let text = "export const decide = (input) => eval(input);\n";
    let module = Module::new(text, json!({}));
    for (returned, output) in [
        ("undefined", r#"{"decision":null}"#),
        ("[1, 'a']", r#"[1,"a"]"#),
        (
            "new Map([['decision', new Set([1])]])",
            r#"{"decision":[1]}"#,
        ),
        (
            "new Promise((done) => setTimeout(done, 5, true))",
            r#"{"decision":true}"#,
        ),
        (
            "({ text: 'go', finishReason: 'stop' })",
            r#"{"decision":"go"}"#,
        ),
        (
            "({ object: { decision: 'go' }, finishReason: 'stop' })",
            r#"{"decision":"go"}"#,
        ),
    ] {
        let end = module.ask(&[returned]).remove(0);
        assert_eq!(end.expect(returned), output, "{returned}");
    }
    let mut told = Vec::new();
    for returned in [
        "({ decision: 0 / 0 })",
        "({ decision: () => 1 })",
        "1n",
        "nothing",
        "Promise.reject(new RangeError('too far'))",
    ] {
        let failure = module.ask(&[returned]).remove(0).expect_err(returned);
        assert_eq!(failure.kind, FailureKind::ErrorAnswer(1));
        told.push(failure.message.to_string());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    it answered with an error: the function returned a number that JSON does not know: NaN or Infinity
    it answered with an error: the function returned a function, which JSON does not know
    it answered with an error: TypeError: Do not know how to serialize a BigInt
    it answered with an error: ReferenceError: nothing is not defined
    it answered with an error: RangeError: too far
    ");
}

#[test]
fn calls_are_under_way_together_and_lists_are_answered_as_lists() {
    if !has_node() {
        return;
    }
    let together = "let here = 0, go;\nconst all = new Promise((done) => { go = done; });\n\
                    export async function decide(input) {\n  here += 1;\n  if (here === 3) go();\n  await all;\n  \
                    if (input === 'b') throw new Error('not b');\n  return input;\n}\n";
    let lists = "export const decide = (inputs) =>\n  \
                 inputs.length === 3 ? inputs.map((one) => (one === 'b' ? new Error('not b') : one)) : [];\n";
    for (text, way) in [(together, "concurrency"), (lists, "batch")] {
        let module = Module::new(text, json!({ way: 3 }));
        let [a, b, c] = &module.ask(&["a", "b", "c"])[..] else {
            panic!("three ends");
        };
        assert_eq!(a.as_deref(), Ok(r#"{"decision":"a"}"#), "{way}");
        assert_eq!(c.as_deref(), Ok(r#"{"decision":"c"}"#), "{way}");
        let failure = b.as_ref().expect_err(way);
        assert!(failure.message.contains("Error: not b"), "{failure:?}");
        if way == "batch" {
            let failure = module.ask(&["a", "b"]).remove(0).expect_err("no list");
            insta::assert_snapshot!(failure.message, @"it answered with an error: `app.mjs:decide` got a list of 2 inputs, and returned no list of as many answers: found 0 of them");
        }
    }
}

#[test]
fn a_module_that_cannot_be_used_is_named_and_a_wrong_address_is_refused() {
    if !has_node() {
        return;
    }
    let mut told = Vec::new();
    for text in [
        "export const other = () => 1;\n",
        "export const decide = 1;\n",
        "throw new Error('no key');\n",
    ] {
        let module = Module::new(text, json!({}));
        let failure = module.ask(&["a"]).remove(0).expect_err(text);
        told.push(failure.message.to_string());
        assert!(failure.message.contains("`app.mjs:decide` by `node`"));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    the worker `app.mjs:decide` by `node` cannot answer: `decide` is not exported in `app.mjs`; it exports: other
    the worker `app.mjs:decide` by `node` cannot answer: `decide` is no function in `app.mjs`; it exports: nothing to call
    the worker `app.mjs:decide` by `node` cannot answer: importing `app.mjs` failed: Error: no key
    ");
    for wrong in ["app.mjs", "app:decide", "app.mjs:", "app.mjs:a b"] {
        let refused = Address::of("node", json!(wrong)).look_up(Path::new("/"));
        let refused = refused.expect_err(wrong).to_string();
        assert!(refused.contains(wrong), "{refused}");
    }
    let launch = Address::of("node", json!("none.mjs:decide"));
    let launch = launch.look_up(Path::new("/")).expect("looked up");
    assert_eq!(launch.absent.as_deref(), Some("none.mjs"));
}
