//! Pipelines that are a model: what its server may do wrong, what a run may spend, and where a key may
//! be.

/// Servers with faults.
mod faults;
/// Ceilings, concurrency, prices, the cache.
mod limits;
/// Proxies of the environment.
mod proxied;
/// The real model and the real embedder.
mod real;
/// Answers that are recorded.
mod recorded;
/// What a key never stands in.
mod secrets;
/// The server of these tests.
pub(crate) mod server;

use serde_json::Value;

use crate::project::Project;
use server::Faults;

/// A project whose pipeline is the model of a server. A run makes 4 baselines and then one variant of
/// each case, so 8 calls in all. `model` adds lines to the model, `more` to the file.
fn project(server: &Faults, model: &str, more: &str) -> Project {
    let project = Project::new("");
    configure(&project, server, model, more);
    project
}

fn configure(project: &Project, server: &Faults, model: &str, more: &str) {
    let url = server.url();
    project.write(
        "kelvin.yaml",
        &format!(
            "run: {{model: local}}\ncases: cases\ndecision_field: decision\n\
             governing_types: [rule]\njobs: 2\n\
             variants: {{reorder: 1, pad_length: 0, pad_content: 0, swap: 0}}\n\
             fingerprint: [pipeline.sh]\n\
             models:\n  local:\n    kind: openai\n    base_url: {url}\n    model: gemma\n{model}{more}"
        ),
    );
}

/// The calls of a whole run of such a project.
const CALLS: usize = 8;

/// The failures of the baselines, by case: their kind and their message.
fn failures(report: &Value) -> Vec<(Value, String)> {
    let items = report["probes"]["evidence"]["items"]
        .as_object()
        .expect("cases");
    let failures = items.values().filter_map(|case| {
        let failure = &case["baseline"][0]["failure"];
        let message = failure["message"].as_str()?.to_owned();
        Some((failure["kind"].clone(), message))
    });
    failures.collect()
}

fn cost(project: &Project) -> Value {
    project.json("kelvin/report.json")["run"]["session"]["cost"].clone()
}
