use kelvin_fixtures::text::lines_with;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::server::{Faults, decides, says};
use super::{CALLS, configure, cost, project};
use crate::project::{CONSTANT, Project};

#[test]
fn a_pipeline_that_is_a_model_is_measured_and_its_tokens_and_money_are_counted() {
    let server = Faults::start(|_, _| decides());
    let price = "    price: {input_per_million: 2, output_per_million: 30}\n";
    let project = project(&server, price, "cache: true\n");
    project.check();
    assert_eq!(project.figure("invariance"), json!(1.0));
    let usage = json!({
        "input_tokens": 100 * CALLS, "output_tokens": 10 * CALLS, "usd": 0.0005 * CALLS as f64,
    });
    assert_eq!(cost(&project)["usage"], usage);
    assert_eq!(cost(&project)["usage_of_answers"], usage);
    assert_eq!(server.requests().len(), CALLS);
    let request = server.requests()[0].json();
    assert_eq!(request["model"], json!("gemma"));
    let prompt = request["messages"][0]["content"].as_str().expect("a text");
    assert!(prompt.starts_with("# Request "), "{prompt}");
    assert_eq!(
        project.read("kelvin/alder/baseline/output.json"),
        r#"{"decision": "go"}"#
    );

    // From the cache: nothing is used, and the answers are worth what they were. Neither another price
    // nor another name nor another limit asks anything again.
    configure(
        &project,
        &server,
        "    limits: {max_calls: 1}\n",
        "cache: true\n",
    );
    project.check();
    assert_eq!(server.requests().len(), CALLS);
    assert_eq!(cost(&project)["cache_hits"], json!(CALLS));
    assert_eq!(cost(&project)["usage"], json!(null));
    assert_eq!(cost(&project)["usage_of_answers"], usage);
    // Another parameter does.
    configure(&project, &server, "    temperature: 0.5\n", "cache: true\n");
    project.check();
    assert_eq!(server.requests().len(), 2 * CALLS);
    assert_eq!(server.requests()[CALLS].json()["temperature"], json!(0.5));
}

#[test]
fn a_ceiling_of_calls_stops_with_what_there_is_and_a_higher_one_goes_on_from_there() {
    let server = Faults::start(|_, _| decides());
    let project = project(&server, "    limits: {max_calls: 5}\n", "");
    let said = project.kelvin(&["check"]).expect(2);
    assert_eq!(server.requests().len(), 5);
    let report = project.json("kelvin/report.json");
    assert_eq!(report["run"]["ending"], json!("interrupted"));
    let notices = report["notices"].as_array().expect("notices");
    let spent: Vec<_> = notices
        .iter()
        .filter(|notice| notice["code"] == "spent")
        .collect();
    assert_eq!(spent.len(), 1, "{notices:?}");
    let text = spent[0]["text"].as_str().expect("a text");
    insta::assert_snapshot!(text, @"the model `local` was called 5 times in this run, which is the limit (`limits.max_calls`); what had finished by then is in this report");
    assert!(
        notices.iter().all(|notice| notice["code"] != "interrupted"),
        "{notices:?}"
    );
    assert!(
        said.stdout.contains("`limits.max_calls`"),
        "{}",
        said.stdout
    );
    // What had finished counts, and nothing counts 0.
    assert_eq!(
        report["metrics"]["evidence.invariance"]["value"],
        json!(1.0)
    );

    configure(&project, &server, "    limits: {max_calls: 6}\n", "");
    project.kelvin(&["check", "--resume"]).expect(0);
    assert_eq!(server.requests().len(), CALLS, "nothing is asked twice");
    assert_eq!(cost(&project)["resumed"], json!(5));
    let usage = &cost(&project)["usage_of_answers"];
    assert_eq!(
        usage["input_tokens"],
        json!(100 * CALLS),
        "the journal knows the tokens"
    );
}

#[test]
fn ceilings_of_tokens_and_of_money_stop_too() {
    for limits in [
        "    limits: {max_tokens: 300}\n",
        "    limits: {usd: 0.03}\n    price: {input_per_million: 100, output_per_million: 0}\n",
    ] {
        let server = Faults::start(|_, _| decides());
        let project = project(&server, limits, "");
        let config = project.read("kelvin.yaml").replace("jobs: 2", "jobs: 1");
        project.write("kelvin.yaml", &config);
        project.kelvin(&["check"]).expect(2);
        assert_eq!(server.requests().len(), 3, "{limits}");
    }
    // A server that does not report its tokens ends what cannot be counted.
    let untold = || {
        let body = r#"{"choices": [{"message": {"content": "{\"decision\": 1}"}}]}"#;
        super::server::Reaction::Answer(200, Vec::new(), body.to_owned())
    };
    let server = Faults::start(move |_, _| untold());
    let bounded = project(&server, "    limits: {max_tokens: 300}\n", "");
    let said = bounded.kelvin(&["check"]).expect(2);
    assert_eq!(server.requests().len(), 1);
    insta::assert_snapshot!(lines_with(&said.stdout, &["`local`"]), @"~ the server of the model `local` does not tell how many tokens a call used, so");
    let free = project(&server, "", "");
    free.check();
    assert_eq!(cost(&free)["usage"]["untold"], json!(CALLS));
}

#[test]
fn no_more_calls_are_under_way_than_the_model_allows() {
    let slow = |_: usize, _: &super::server::Request| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        decides()
    };
    for (limits, most) in [("    limits: {concurrency: 1}\n", 1), ("", 4)] {
        let server = Faults::start(slow);
        let project = project(&server, limits, "");
        let config = project.read("kelvin.yaml").replace("jobs: 2", "jobs: 4");
        project.write("kelvin.yaml", &config);
        project.check();
        let seen = server.most_at_once();
        assert!(
            seen <= most && (most == 1 || seen > 1),
            "{seen} at once, {limits}"
        );
    }
}

#[test]
fn no_model_is_called_that_nothing_asks_for() {
    let server = Faults::start(|_, _| decides());
    let declared = project(&server, "", "");
    declared.kelvin(&["check", "--dry-run"]).expect(0);
    declared.kelvin(&["check", "--list"]).expect(0);
    declared.kelvin(&["doctor"]);
    assert!(server.requests().is_empty());

    let project = Project::new(CONSTANT);
    project.check();
    let config = |project: &Project| {
        project.json("kelvin/report.json")["run"]["fingerprints"]["config"].clone()
    };
    let before = (config(&project), project.report());
    let url = server.url();
    project.config(&format!(
        "models: {{unused: {{kind: openai, base_url: \"{url}\", model: m, api_key_env: NOT_SET}}}}\n"
    ));
    project.check();
    assert!(server.requests().is_empty());
    assert_eq!(
        (config(&project), project.report()),
        before,
        "it changes nothing"
    );
    assert_eq!(cost(&project)["usage"], json!(null));
}

#[test]
fn the_gate_tells_what_an_answer_takes_next_to_the_base() {
    let tokens = Arc::new(AtomicU64::new(100));
    let told = Arc::clone(&tokens);
    let server = Faults::start(move |_, _| {
        let sent = told.load(Ordering::SeqCst);
        let body = json!({
            "choices": [{ "message": { "content": "{\"decision\": \"go\"}" } }],
            "usage": { "prompt_tokens": sent, "completion_tokens": 0 },
        });
        super::server::Reaction::Answer(200, Vec::new(), body.to_string())
    });
    let price = "    price: {input_per_million: 10, output_per_million: 10}\n";
    let project = project(&server, price, "");
    project.check();
    project.write("base.json", &project.read("kelvin/report.json"));
    tokens.store(170, Ordering::SeqCst);
    project.kelvin(&["gate", "--baseline", "base.json"]);
    let ratio = project.json("kelvin/gate.json")["cost_ratio"].as_f64();
    assert!(
        ratio.is_some_and(|ratio| (ratio - 1.7).abs() < 1e-9),
        "{ratio:?}"
    );
    // The end of a run has the sum.
    let said = project.check();
    assert!(
        said.stdout.contains("1,360 tokens, $0.014"),
        "{}",
        said.stdout
    );
    assert!(project.read("kelvin/report.html").contains("1,360 tokens"));
}

#[test]
fn instructions_and_a_schema_stand_before_the_input() {
    let server = Faults::start(|_, _| decides());
    let project = project(&server, "    seed: 7\n    max_tokens: 50\n", "");
    let config = project.read("kelvin.yaml").replace(
        "run: {model: local}",
        "run: {model: {name: local, system: Decide., max_tokens: 20, schema: {type: object, \
         properties: {decision: {enum: [go, stay]}}}}}",
    );
    project.write("kelvin.yaml", &config);
    project.check();
    let request = server.requests()[0].json();
    let system = json!({ "role": "system", "content": "Decide." });
    assert_eq!(request["messages"][0], system);
    assert_eq!(
        (&request["seed"], &request["max_tokens"]),
        (&json!(7), &json!(20))
    );
    let schema = &request["response_format"]["json_schema"]["schema"];
    assert_eq!(
        schema["properties"]["decision"]["enum"],
        json!(["go", "stay"])
    );
}

#[test]
fn a_command_and_a_file_of_recorded_answers_stand_for_a_model() {
    let project = Project::new("");
    let with = |models: &str| {
        project.write(
            "kelvin.yaml",
            &format!(
                "run: {{model: {{name: local, system: Decide.}}}}\ncases: cases\n\
                 decision_field: decision\ngoverning_types: [rule]\n\
                 variants: {{reorder: 0, pad_length: 0, pad_content: 0, swap: 1}}\n\
                 models: {{local: {models}}}\n"
            ),
        );
    };
    // By the standard streams, and by files.
    let ask = r#"printf '{"decision": "%s"}\n' "$(cksum | cut -d' ' -f1)$KELVIN_MODEL_SYSTEM""#;
    project.write("ask.sh", ask);
    with("{kind: cmd, run: sh ask.sh}");
    project.check();
    let by_streams = project.read("kelvin/alder/baseline/output.json");
    assert!(by_streams.contains("Decide."), "{by_streams}");
    project.write("ask.sh", &format!("({ask}) < $1 > $2"));
    with("{kind: cmd, run: \"sh ask.sh {input} {output}\"}");
    project.check();
    assert_eq!(
        project.read("kelvin/alder/baseline/output.json"),
        by_streams
    );
    project.write("ask.sh", "exit 0");
    project.kelvin(&["check"]).expect(2);

    // The same answers as a recording.
    let mut tape = String::new();
    for (name, bytes) in project.files("kelvin") {
        if name.ends_with("input.md") {
            let prompt = String::from_utf8(bytes).expect("text");
            let usage = json!({ "input_tokens": 5, "output_tokens": 2 });
            let line =
                json!({ "prompt": prompt, "answer": { "decision": name.len() }, "usage": usage });
            tape += &format!("{line}\n");
        }
    }
    project.write("tape.jsonl", &tape);
    with("{kind: replay, file: tape.jsonl}");
    let said = project.kelvin(&["check"]);
    let report = project.json("kelvin/report.json");
    let failed = super::failures(&report);
    assert!(failed.is_empty(), "{failed:?} {}", said.stderr);
    // A prompt that nobody recorded fails, and says what to add.
    project.write("tape.jsonl", tape.lines().next().expect("a line"));
    project.kelvin(&["check"]);
    let failed = super::failures(&project.json("kelvin/report.json"));
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert_eq!(failed[0].0, json!("not_recorded"));
    // A line that is none is told with its number.
    project.write("tape.jsonl", &format!("{tape}oops\n"));
    let said = project.kelvin(&["check"]).expect(1);
    let number = tape.lines().count() + 1;
    assert!(
        said.stderr.contains(&format!("line {number}")),
        "{}",
        said.stderr
    );
}

#[test]
fn what_the_model_says_is_a_text_that_may_hold_anything() {
    let server = Faults::start(|_, _| says(r#"{"decision": "<script>\u001b[31m|`é`"}"#));
    let project = project(&server, "", "");
    let said = project.check();
    assert!(!said.stdout.contains("\u{1b}[31m"), "{}", said.stdout);
}
