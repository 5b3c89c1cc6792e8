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

/// The model gives nearly every answer the same grade. The gate hears that by itself, without any trial on record.
#[test]
#[ignore = "installs a language model"]
fn a_real_small_model_as_a_judge_decides_nothing_by_its_planted_answers() {
    let url = start();
    let project = Project::new("exit 9\n");
    let facts = [
        (
            "marathon",
            "A marathon is 42.195 kilometres long. The length was fixed in 1921.",
        ),
        (
            "water",
            "Water boils at 100 degrees Celsius at sea level. On a mountain it boils earlier.",
        ),
        (
            "returns",
            "A lamp can be returned within 30 days. The shop pays for the parcel.",
        ),
        (
            "museum",
            "The museum opens at nine on weekdays. On Mondays it is closed.",
        ),
        (
            "ferry",
            "The ferry takes 45 minutes to the island. Bicycles travel free.",
        ),
    ];
    let mut prompts = String::new();
    let mut script = "case $(cat \"$1\") in\n".to_owned();
    for (name, fact) in facts {
        let prompt = format!("What is known of the {name}?");
        prompts += &format!(
            "{}\n",
            json!({"id": name, "prompt": prompt, "reference": fact})
        );
        script += &format!("*{name}*) echo '{fact}' > \"$2\";;\n");
    }
    project.write("prompts.jsonl", &prompts);
    project.write("answer.sh", &(script.clone() + "esac\n"));
    project.write(
        "kelvin.yaml",
        &format!(
            "timeout_s: 120\nmodels:\n  gemma: {{kind: openai, base_url: \"{url}\", model: gemma, seed: 1, max_tokens: \
             80}}\ngrading:\n  prompts: prompts.jsonl\n  candidate: {{run: \"sh answer.sh {{input}} {{output}}\"}}\n  judge: \
             {{type: llm, model: gemma}}\n"
        ),
    );
    project.kelvin(&["check"]);
    let report = project.read("kelvin/report.json");
    project.write("base.json", &report);
    project.write("answer.sh", &(script + "esac\n# the same\n"));
    let said = project
        .kelvin(&["gate", "--baseline", "base.json"])
        .expect(3);
    let judgement = project.json("kelvin/gate.json");
    let score = &judgement["metrics"]["grading.judge_score"];
    assert_eq!(score["verdict"], json!("unmeasured"), "{}", said.stdout);
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("the judge cannot be believed in this run"),
        "{text}"
    );
}
