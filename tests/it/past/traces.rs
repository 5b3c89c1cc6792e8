use serde_json::{Value, json};

use crate::project::{GROUNDED, Project};

/// A trace of the chain `intake`, as another tool writes it.
fn trace(id: &str, version: &str, at: &str, rest: &str) -> String {
    format!(
        "trace_id: {id}\nchain_uri: stratt://chains/intake@{version}\nversion: {version}\n\
         fingerprint: blake3:{version}\nstarted_at: {at}\nduration_ms: 1500\n{rest}"
    )
}

/// A trace with a score of .75 and a quarter of the share of its useful tokens. What stands in it as its score is the
/// same in all of them, whatever they are worth.
fn scored(id: &str, version: &str, at: &str, useful: u32, efficiency: f64) -> String {
    let rest = format!(
        "status: completed\nquality_score: 0.84\n\
         token_counts: {{input: 3000, output: 3000, total: 6000, useful_output_tokens: {useful}}}\n\
         steps:\n- step_id: read\n  unit_uri: stratt://units/read@{version}\n  status: completed\n  \
         quality_indicators: {{contract_conformance: 1.0, completeness: 1.0, token_efficiency: {efficiency}}}\n"
    );
    trace(id, version, at, &rest)
}

/// Version 1.9.0 with a mean of .84, and 1.10.0 after it, which is no less than 1.9.0 and was run before it once.
fn project() -> Project {
    let project = Project::new(GROUNDED);
    let write = |name: &str, text: &str| project.write(&format!("traces/{name}.yaml"), text);
    for (at, useful) in [(1, 2_160), (2, 1_920), (3, 2_400)] {
        let time = format!("2026-11-0{at}T08:00:00Z");
        write(
            &format!("old-{at}"),
            &scored(&format!("tr-old-{at}"), "1.9.0", &time, useful, 0.5),
        );
    }
    for (at, useful) in [(9, 720), (10, 0), (11, 960)] {
        let time = format!("2026-11-{at:02}T08:00:00Z");
        write(
            &format!("new-{at}"),
            &scored(&format!("tr-new-{at}"), "1.10.0", &time, useful, 0.1),
        );
    }
    project
}

fn compared(project: &Project) -> Value {
    let said = project.kelvin(&[
        "history",
        "regression",
        "--traces",
        "traces",
        "--format",
        "json",
    ]);
    serde_json::from_str(&said.expect(0).stdout).expect("JSON")
}

fn row(compared: &Value, unit: &Value) -> Value {
    let rows = compared["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["unit"] == *unit);
    found
        .unwrap_or_else(|| panic!("{unit}: {compared:#}"))
        .clone()
}

#[test]
fn the_worked_example_is_told_of_traces_with_the_versions_in_their_order() {
    let project = project();
    let chain = row(&compared(&project), &Value::Null);
    assert_eq!(chain["chain"], "stratt://chains/intake");
    assert_eq!(chain["standing"], "dropped");
    let near = |key: &str, wanted: f64| {
        let value = chain[key].as_f64().expect("a number");
        assert!((value - wanted).abs() < 5e-5, "{key}: {value}");
    };
    near("prior", 0.84);
    near("current", 0.7733);
    near("drop", 0.0667);
    // Of each step: .40 conformance + .35 completeness + .25 efficiency.
    let unit = row(&compared(&project), &json!("stratt://units/read"));
    assert_eq!(
        (&unit["standing"], &unit["n_current"]),
        (&json!("dropped"), &json!(3))
    );
    assert!((unit["prior"].as_f64().expect("known") - 0.875).abs() < 1e-9);
    assert!((unit["current"].as_f64().expect("known") - 0.775).abs() < 1e-9);
    let said = project.kelvin(&[
        "history",
        "regression",
        "--traces",
        "traces",
        "--fail-on-regression",
    ]);
    let said = said.expect(3);
    assert!(
        said.stdout.contains("`1.10.0` against `1.9.0`"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_chain_that_fails_does_not_get_out_of_its_mean_and_one_that_waits_for_a_person_is_in_none() {
    let project = project();
    let failed = trace(
        "tr-failed",
        "1.10.0",
        "2026-11-12T08:00:00Z",
        "status: failed\n",
    );
    project.write("traces/failed.yaml", &failed);
    let open = "status: gated\nquality_score: 1.0\n";
    let open = trace("tr-open", "1.10.0", "2026-11-13T08:00:00Z", open);
    project.write("traces/open.yaml", &open);
    let chain = row(&compared(&project), &Value::Null);
    assert_eq!(chain["n_current"], 4);
    let mean = (0.78 + 0.75 + 0.79 + 0.0) / 4.0;
    assert!((chain["current"].as_f64().expect("known") - mean).abs() < 1e-9);
}

#[test]
fn failed_traces_are_not_held_by_the_scores_that_stand_in_them_and_undated_ones_count() {
    let project = project();
    for at in [9, 10, 11] {
        let failed = format!(
            "trace_id: tr-new-{at}\nchain_uri: stratt://chains/intake@1.10.0\nstatus: failed\nquality_score: 0.84\n"
        );
        project.write(&format!("traces/new-{at}.yaml"), &failed);
    }
    let chain = row(&compared(&project), &Value::Null);
    assert_eq!(
        (&chain["standing"], &chain["n_current"], &chain["current"]),
        (&json!("dropped"), &json!(3), &json!(0.0))
    );
    let said = project.kelvin(&[
        "history",
        "regression",
        "--traces",
        "traces",
        "--fail-on-regression",
    ]);
    said.expect(3);
    // What somebody has written as the score is no score where the steps tell none.
    for (at, version) in [(1, "1.9.0"), (9, "1.10.0")] {
        let bare = "status: completed\nquality_score: 0.84\n";
        let time = format!("2026-11-{at:02}T08:00:00Z");
        let name = format!("traces/{}-{at}.yaml", if at < 9 { "old" } else { "new" });
        project.write(
            &name,
            &trace(&format!("tr-bare-{at}"), version, &time, bare),
        );
    }
    let chain = row(&compared(&project), &Value::Null);
    assert_eq!(chain["n_current"], 2, "{chain}");
}

#[test]
fn a_digest_of_traces_names_the_chain_the_step_and_what_could_not_be_read() {
    let project = project();
    project.write("traces/broken.yaml", "trace_id: [\n");
    let undated =
        "trace_id: tr-undated\nchain_uri: stratt://chains/intake@1.10.0\nstatus: completed\n";
    project.write("traces/undated.yaml", undated);
    let said = project.kelvin(&[
        "history",
        "digest",
        "--traces",
        "traces",
        "--since",
        "2026-11-08",
        "--until",
        "2026-11-15",
        "--format",
        "json",
    ]);
    let summary: Value = serde_json::from_str(&said.expect(0).stdout).expect("JSON");
    let candidates = summary["candidates"].as_array().expect("a list");
    let named: Vec<&Value> = candidates.iter().map(|one| &one["row"]).collect();
    assert!(
        named
            .iter()
            .any(|row| row["case"] == "stratt://units/read" && row["word"] == "fell"),
        "{named:?}"
    );
    assert!(
        named
            .iter()
            .any(|row| row["run"].is_null() && row["word"] == "fell"),
        "{named:?}"
    );
    assert_eq!(candidates[0]["since"]["commit"], "1.10.0");
    let unread = summary["read"]["unread"].to_string();
    assert!(
        unread.contains("broken.yaml") && unread.contains("tr-undated"),
        "{unread}"
    );
    assert_eq!(summary["configurations"][0]["runs"], 3);
}
