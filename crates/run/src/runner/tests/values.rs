//! A target that starts no process and passes no files: it costs one file and one line in the
//! registry, and goes through the configuration and a run.

use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::*;
use crate::config::{Configure, Owner, Part, ProbeSettings, schema_of};
use crate::targets::{Launch, TargetKind, tests_only};
use crate::text::redacted;
use kelvin_base::digest::Fields;

/// Answers with the length of the input, times a factor.
struct Length {
    factor: u64,
    calls: AtomicUsize,
}

impl Target for Length {
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if call.input.contains("case-001") {
            let failure = Failure::new(FailureKind::NotStarted, "nobody listens");
            return Ended::Failed {
                failure: Box::new(failure),
                reply: Reply::default(),
            };
        }
        let length = self.factor * call.input.len() as u64;
        output.extend(json!({ "decision": length }).to_string().bytes());
        Ended::Answered(Reply::default())
    }
}

struct LengthKind;

impl TargetKind for LengthKind {
    fn key(&self) -> Option<&'static str> {
        Some("length")
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "factor": { "type": "integer", "minimum": 1 } },
            "required": ["factor"],
            "additionalProperties": false,
        })
    }

    fn open(&self, settings: &Value, _: &TargetSite) -> Result<Box<dyn Target>, Misuse> {
        let factor = settings["factor"].as_u64().unwrap_or_default();
        match factor {
            13 => Err(Misuse::new("13 is no good factor")),
            _ => Ok(Box::new(Length {
                factor,
                calls: AtomicUsize::new(0),
            })),
        }
    }

    fn look_up(&self, _: &Value, _: &std::path::Path) -> Result<Launch, Misuse> {
        Ok(Launch::default())
    }
}

/// Owns the key `run` and no other.
struct RunOwner;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct RunKeys {
    run: Address,
}

impl Configure for RunOwner {
    fn required(&self) -> &'static [&'static str] {
        &["run"]
    }

    fn keys(&self) -> &'static Schema {
        schema_of::<RunKeys>()
    }

    fn settle(
        &self,
        part: &Part<'_>,
        _: &Config,
    ) -> anyhow::Result<Option<Arc<dyn ProbeSettings>>> {
        Ok(Some(Arc::new(part.read::<RunKeys>()?)))
    }
}

impl ProbeSettings for RunKeys {
    fn measured(&self, fields: Fields) -> Fields {
        fields
    }

    fn as_data(&self) -> serde_json::Map<String, serde_json::Value> {
        serde_json::Map::new()
    }

    fn target(&self) -> Option<&Address> {
        Some(&self.run)
    }
}

fn parse(run: &str) -> anyhow::Result<Address> {
    let owner = Owner {
        name: "runs",
        kind: &RunOwner,
        metrics: &[],
    };
    let file = std::path::Path::new("kelvin.yaml");
    let config = Config::parse(&format!("run: {run}\n"), file, &[owner])?;
    let target = config.targets().next().expect("the key is required");
    Ok(target.clone())
}

#[test]
fn a_new_target_goes_through_configuration_and_run() {
    // Nobody is offered a target that there is not.
    let refused = parse("{length: {factor: 2}}")
        .expect_err("unknown")
        .to_string();
    insta::assert_snapshot!(refused, @"
    `run` needs one of the keys `model`, `worker`, `python`, `node` or `http`, found `length`
     --> kelvin.yaml:1:6
      |
    1 | run: {length: {factor: 2}}
      |      ^
    ");

    tests_only::add(&LengthKind);
    let refused = parse("{length: {factr: 2}}").expect_err("a wrong key");
    let refused = refused.to_string();
    insta::assert_snapshot!(refused, @"
    the key `factor` is missing in `run.length`
     --> kelvin.yaml:1:15
      |
    1 | run: {length: {factr: 2}}
      |               ^

    error: unknown key `factr` in `run.length`
     --> kelvin.yaml:1:16
      |
    1 | run: {length: {factr: 2}}
      |                ^^^^^
      |
      = help: did you mean `factor`?
    ");
    let refused = parse("{width: 1}").expect_err("another name").to_string();
    insta::assert_snapshot!(refused, @"
    `run` needs one of the keys `model`, `worker`, `python`, `node`, `http` or `length`, found `width`
     --> kelvin.yaml:1:6
      |
    1 | run: {width: 1}
      |      ^
    ");

    let mut bench = Bench::with("", "cache: true\n");
    bench.target = parse("{length: {factor: 2}}").expect("it is valid");
    assert_eq!(
        bench.target.look_up(bench.folder.path()).expect("known"),
        Launch::default()
    );
    let (outcomes, cost) = bench.run(&tasks(3));
    assert_eq!(
        decisions(&outcomes),
        [Some(json!(36)), None, Some(json!(36))]
    );
    assert_eq!(cost.invocations, 3);
    assert_eq!(outcomes[0].as_ref().expect("done").exit, None);
    // The folder has inputs and outputs as it has those of a command.
    assert_eq!(
        bench.read("kelvin/case-002/baseline/output.json"),
        "{\"decision\":36}"
    );
    assert_eq!(
        bench.read("kelvin/case-002/baseline/input.md"),
        "case-002/baseline\n"
    );
    assert!(!bench.path("kelvin/case-001/baseline/output.json").exists());
    // What a failed call leaves in the buffer of its thread is no output of the next one.
    let (outcomes, cost) = bench.run(&tasks(3));
    assert_eq!(cost.cache_hits, 2);
    assert_eq!(
        decisions(&outcomes),
        [Some(json!(36)), None, Some(json!(36))]
    );
    // Other settings are another pipeline.
    bench.target = parse("{length: {factor: 3}}").expect("it is valid");
    assert_eq!(decisions(&bench.run(&tasks(1)).0), [Some(json!(54))]);

    bench.target = parse("{length: {factor: 13}}").expect("the schema allows it");
    let out = bench.out();
    let refused = bench.try_open(&out, Start::Fresh, &Silent).err();
    let refused = refused.expect("the target refuses it").to_string();
    insta::assert_snapshot!(redacted(&refused), @"[TEMP]/kelvin.yaml: 13 is no good factor");
}
