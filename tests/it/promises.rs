//! What gate and reports promise to whoever reads them.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project};
use crate::repository::{bare, branch, git, pushed, save};

#[test]
fn act_12_word_exit_code_and_json_agree_everywhere() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    let endings = |name: &str, code: i32, word: &str, shown: &str| {
        let said = project.kelvin(&["gate", "--rerun"]).expect(code);
        let judgement = project.json("kelvin/gate.json");
        assert_eq!(judgement["verdict"], json!(word), "{name}");
        assert_eq!(judgement["passed"], json!(code == 0), "{name}");
        let page = project.read("kelvin/gate.md");
        let first = page.lines().find(|line| !line.is_empty());
        let first = first.expect("it says something").to_lowercase();
        assert!(first.contains(shown), "{name}: {first}");
        let told = said.stdout.to_lowercase();
        assert!(told.contains(shown), "{name}: {told}");
    };
    endings("nothing to compare with", 0, "no_baseline", "no baseline");
    // Whoever measures nothing does not pass, also where there is nothing to compare with.
    project.write("pipeline.sh", "exit 3");
    endings("nothing measured", 2, "unmeasured", "unmeasured");
    project.write("pipeline.sh", GROUNDED);
    save(&project);
    branch(&project, "same", &format!("# said again\n{GROUNDED}"));
    endings("same", 0, "pass", "pass");
    git(project.root(), &["checkout", "--quiet", "main"]);
    branch(&project, "worse", CONSTANT);
    endings("worse", 3, "regression", "regression");
    project.config("scorer: set\n");
    project.write("pipeline.sh", r#"printf '{"decision": ["go"]}' > "$2""#);
    endings("another scorer", 3, "unmeasured", "unmeasured");
}

#[test]
fn act_13_a_report_names_what_it_is_of_and_fits_its_schema() {
    let project = Project::new(GROUNDED);
    project.check();
    let report = project.json("kelvin/report.json");
    let schema = fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/schema/report.schema.json"
    ));
    let schema: Value = serde_json::from_slice(&schema.expect("it is there")).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let wrong: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(report["schema_version"].is_u64());
    assert_eq!(report["tool"]["version"], json!(env!("CARGO_PKG_VERSION")));
    assert_eq!(report["run"]["seed"], json!(0));
    let evidence = &report["probes"]["evidence"]["fingerprint"];
    for digest in [&report["run"]["fingerprints"]["config"], &evidence["items"]] {
        let digest = digest.as_str();
        assert!(
            digest.is_some_and(|digest| digest.len() >= 64),
            "{digest:?}"
        );
    }
}

#[test]
fn act_14_equal_runs_give_equal_reports_but_for_the_session() {
    let project = Project::new(GROUNDED);
    project.check();
    let first = project.json("kelvin/report.json");
    project.check();
    let second = project.json("kelvin/report.json");
    assert_ne!(first["run"]["session"], Value::Null);
    let without = |mut report: Value| {
        report["run"]["session"].take();
        report.to_string()
    };
    assert_eq!(without(first), without(second));
}

#[test]
fn act_15_every_metric_has_a_direction_a_sample_size_and_a_value_or_a_reason() {
    // One case: what draws from peers has no value.
    for lone in [false, true] {
        let project = Project::new(GROUNDED);
        if lone {
            for case in ["birch", "cedar", "dogwood"] {
                fs::remove_file(project.path(&format!("cases/{case}.md"))).expect("removed");
            }
        }
        project.check();
        let report = project.json("kelvin/report.json");
        let metrics = report["metrics"].as_object().expect("an object");
        assert!(metrics.len() > 5);
        let mut null = 0;
        for (id, metric) in metrics {
            let direction = metric["direction"].as_str().expect("a direction");
            assert!(matches!(direction, "higher" | "lower"), "{id}: {direction}");
            assert!(metric["n"].is_u64(), "{id}");
            if metric["value"].is_null() {
                null += 1;
                let reason = metric["reason"].as_str().unwrap_or_default();
                assert!(!reason.is_empty(), "{id} has no value and no reason");
            } else {
                assert!(metric["value"].is_number(), "{id}");
            }
        }
        assert_eq!(null > 0, lone);
    }
}

#[test]
fn act_17_nothing_but_the_gate_of_a_remote_uses_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("set");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let project = Project::new(GROUNDED);
    let root = project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(
        root,
        &["remote", "add", "origin", &format!("{address}/a.git")],
    );
    let kelvin = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        for proxy in [
            "http_proxy",
            "https_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
        ] {
            command.env(proxy, &address);
        }
        let status = command
            .env("GITHUB_API_URL", &address)
            .env("GITHUB_REPOSITORY", "a/b")
            .env("GITHUB_TOKEN", "t")
            .output();
        assert!(status.expect("it starts").status.success(), "{arguments:?}");
    };
    kelvin(&["check"]);
    kelvin(&["check", "--dry-run"]);
    kelvin(&["check"]);
    kelvin(&["history"]);
    kelvin(&["compare", "kelvin/report.json", "kelvin/report.json"]);
    kelvin(&[
        "init",
        "--yes",
        "--force",
        "--run=sh pipeline.sh {input} {output}",
        "--cases=cases",
        "--decision-field=decision",
        "--governing-type=rule",
    ]);
    assert!(listener.accept().is_err(), "something called");
}
