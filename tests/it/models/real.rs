use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::project::Project;

/// The base URL of the real models.
fn start() -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/start");
    let output = Command::new(program).output().expect("bash is there");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let url = String::from_utf8(output.stdout).expect("text");
    url.trim().to_owned()
}

/// Half a gigabyte is installed for it, and `.ci/run` runs it where that can be.
#[test]
#[ignore = "installs a language model"]
fn a_real_language_model_is_a_pipeline() {
    let url = start();
    let project = Project::new("");
    project.write(
        "kelvin.yaml",
        &format!(
            r#"run:
  model:
    name: gemma
    system: May the request be granted by its rule? Answer yes or no.
    schema:
      type: object
      properties: {{decision: {{enum: ["yes", "no"]}}}}
      required: [decision]
      additionalProperties: false
cases: cases
decision_field: decision
governing_types: [rule]
variants: {{reorder: 1, pad_length: 0, pad_content: 0, swap: 1}}
fingerprint: [pipeline.sh]
cache: true
models:
  gemma:
    kind: openai
    base_url: {url}
    model: gemma
    temperature: 0
    seed: 1
    max_tokens: 40
    price: {{input_per_million: 1, output_per_million: 2}}
"#
        ),
    );
    project.check();
    let report = project.json("kelvin/report.json");
    let cost = &report["run"]["session"]["cost"];
    let calls = cost["invocations"].as_u64().expect("calls");
    assert!(calls >= 9, "{cost}");
    for key in ["input_tokens", "output_tokens"] {
        assert!(
            cost["usage"][key].as_u64().expect("tokens") >= calls,
            "{cost}"
        );
    }
    assert!(cost["usage"]["usd"].as_f64().expect("priced") > 0.0);
    // The grammar holds: every answer is one of the two words, whether it is right or not.
    let cases = report["probes"]["evidence"]["items"]
        .as_object()
        .expect("cases");
    for case in cases.values() {
        let decision = &case["baseline"][0]["decision"];
        assert!(
            *decision == json!("yes") || *decision == json!("no"),
            "{case}"
        );
    }
    project.check();
    let cost = &project.json("kelvin/report.json")["run"]["session"]["cost"];
    assert_eq!(
        cost["cache_hits"],
        json!(calls),
        "equal requests are asked once"
    );
}
