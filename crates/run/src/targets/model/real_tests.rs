//! The real models of the tests: a language model and an embedder behind OpenAI's format.

use serde_json::json;

use super::*;
use crate::targets::{Address, Ended, Invocation, TargetSite};

/// `.ci/run` runs it where the models can be had; it installs them.
#[test]
#[ignore = "installs a language model and an embedder"]
fn a_real_embedder_and_a_real_language_model_answer() {
    let start = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/models/start");
    let started = std::process::Command::new(start)
        .output()
        .expect("bash is there");
    assert!(
        started.status.success(),
        "{}",
        String::from_utf8_lossy(&started.stderr)
    );
    let url = String::from_utf8(started.stdout).expect("text");
    let folder = tempfile::tempdir().expect("a folder");
    let site = TargetSite {
        turns: None,
        jobs: std::num::NonZeroUsize::MIN,
        root: folder.path().to_path_buf(),
        timeout: std::time::Duration::from_secs(120),
        max_output_bytes: 1 << 20,
        decision_field: String::new(),
        interrupt: kelvin_system::signal::Interrupt::apart(),
    };
    let endpoint = json!({ "kind": "openai", "base_url": url.trim(), "model": "gemma" });
    let real = ModelSettings {
        name: "real".to_owned(),
        endpoint: serde_json::from_value(endpoint).expect("a model"),
        files: None,
        recorded: None,
        recorder: None,
    };
    let ask = |address: &Address, input: &str| {
        let target = address.open(&site).expect("it opens");
        let call = Invocation {
            input,
            input_file: std::path::Path::new("unused"),
            output_file: std::path::Path::new("unused"),
            repeat: 1,
            sample: "",
            workplace: None,
        };
        let mut output = Vec::new();
        match target.call(&call, &mut output) {
            Ended::Answered(reply) => (
                String::from_utf8(output).expect("text"),
                reply.usage.expect("told"),
            ),
            other => panic!("{other:?}"),
        }
    };
    let texts = [
        "The cat sits on the mat.",
        "A cat is sitting on a mat.",
        "Stocks fell today.",
    ];
    let (vectors, usage) = ask(&real.embedding(), &json!(texts).to_string());
    let vectors: Vec<Vec<f64>> = serde_json::from_str(&vectors).expect("vectors");
    assert!(vectors.iter().all(|vector| vector.len() == 384));
    let near = |a: usize, b: usize| -> f64 {
        vectors[a]
            .iter()
            .zip(&vectors[b])
            .map(|(one, other)| one * other)
            .sum()
    };
    assert!((near(0, 0) - 1.0).abs() < 1e-5, "the vectors have length 1");
    assert!(
        near(0, 1) > 0.8 && near(0, 2) < 0.3,
        "{} {}",
        near(0, 1),
        near(0, 2)
    );
    assert!(usage.input_tokens > 20 && usage.output_tokens == 0);

    let schema = json!({
        "type": "object",
        "properties": { "decision": { "enum": ["go", "stay"] } },
        "required": ["decision"],
        "additionalProperties": false,
    });
    let asking = Asking {
        schema: Some(schema),
        temperature: Some(0.0),
        seed: Some(7),
        max_tokens: Some(50),
        ..Asking::default()
    };
    let (text, usage) = ask(&real.chat(&asking), "Is it safe to go?");
    let answer: Value = serde_json::from_str(&text).expect("the grammar makes JSON");
    assert!(
        answer["decision"] == "go" || answer["decision"] == "stay",
        "{text}"
    );
    assert!(usage.output_tokens > 0);
    assert_eq!(
        ask(&real.chat(&asking), "Is it safe to go?").0,
        text,
        "at temperature 0"
    );
}
