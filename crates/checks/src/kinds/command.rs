//! Checks that run a command. Either the command has to end with an exit code, or it is a program of the user that says
//! whether an invariant holds; such a program reads JSON and prints JSON.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Check, CheckFinding, EarlyEnd, shown};
use crate::interpolate;
use crate::keys::{CommandExitKeys, CustomKeys, RunsIn, limit};
use crate::scene::Scene;
use kelvin_base::decode::plain;
use kelvin_base::failure::Streams;
use kelvin_run::targets::{SideCommand, SideEnd, SideProgram};

/// A larger answer is rejected.
const MOST_ANSWER: u64 = 1 << 20;

/// The answer that the program prints.
#[derive(Deserialize)]
struct ProgramAnswer {
    passed: bool,
    score: Option<f64>,
    reason: Option<String>,
    details: Option<Value>,
}

/// The data about the scenario that the program gets.
fn context(scene: &Scene<'_>) -> Value {
    json!({
        "sandbox_id": format!("{}-{}", scene.scenario.id, scene.replica),
        "workspace_path": scene.folder,
        "services": scene.services.context(),
        "audit_log_path": scene.audit_log,
        "trace_path": null,
        "task": { "id": scene.scenario.id, "prompt": scene.scenario.prompt },
        "scenario_params": scene.scenario.params,
        "expected": scene.scenario.expected,
        "agent_output_path": scene.output_file,
    })
}

impl Check for CustomKeys {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let input = scene.private.join("context.json");
        if let Err(error) = std::fs::write(&input, context(scene).to_string()) {
            let what = format!("what the script is told could not be written: {error}");
            return Ok(CheckFinding::error(what));
        }
        let end = SideCommand {
            program: SideProgram::File(&scene.root.join(&self.script)),
            folder: match self.runs_in {
                RunsIn::Host => scene.root,
                RunsIn::Workspace | RunsIn::Sandbox => scene.folder,
            },
            variables: scene.variables,
            input: Some(&input),
            timeout: limit(self.timeout_s),
            most_output: MOST_ANSWER,
        }
        .run(scene.interrupt);
        let (output, streams) = match end {
            SideEnd::Exited {
                code: 0,
                output,
                streams,
            } => (output, streams),
            SideEnd::Exited { code, streams, .. } => {
                let what = format!(
                    "the script ended with exit code {code}{}",
                    printed(&streams)
                );
                return Ok(CheckFinding::error(what));
            }
            SideEnd::Failed(what, streams) => {
                return Ok(CheckFinding::error(format!(
                    "the script: {what}{}",
                    printed(&streams)
                )));
            }
            SideEnd::Interrupted => return Err(EarlyEnd::Interrupted),
        };
        if output.is_cut {
            return Ok(CheckFinding::error("the script printed more than 1 MiB"));
        }
        let said = match String::from_utf8_lossy(&streams.stderr.into_bytes()).trim() {
            "" => String::new(),
            text => format!("; stderr: {text}"),
        };
        Ok(read(&output.bytes, &self.script)
            .unwrap_or_else(|what| CheckFinding::error(format!("the script printed {what}{said}"))))
    }
}

/// Reads the answer that a program has printed.
fn read(bytes: &[u8], script: &str) -> Result<CheckFinding, String> {
    let is_blank = bytes.iter().all(u8::is_ascii_whitespace);
    if is_blank {
        return Err("nothing, where `{\"passed\": true}` or the like is needed".to_owned());
    }
    let answer: ProgramAnswer = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "no JSON object with `passed` ({}): {}",
            plain(&error.to_string()),
            shown(&String::from_utf8_lossy(bytes))
        )
    })?;
    let score = answer.score.unwrap_or(f64::from(u8::from(answer.passed)));
    if !(0.0..=1.0).contains(&score) {
        return Err(format!("a score of {score}, which is not from 0 to 1"));
    }
    let said = answer.reason.filter(|reason| !reason.trim().is_empty());
    let reason = said.unwrap_or_else(|| {
        let verb = if answer.passed {
            "says"
        } else {
            "does not say"
        };
        format!("`{script}` {verb} that it holds")
    });
    Ok(CheckFinding {
        details: answer.details,
        ..CheckFinding::scored(answer.passed, score, reason.trim())
    })
}

impl CommandExitKeys {
    /// Why the command cannot read a field that it uses: the name of the field cannot be the name of an environment
    /// variable, so it would be empty there.
    fn lacks(&self, scene: &Scene<'_>) -> Option<String> {
        let has = |name: &str| scene.variables.iter().any(|(known, _)| known == name);
        let mut fields = [interpolate::PROMPT, interpolate::EXPECTED].into_iter();
        let name = fields.find(|name| {
            let is_there = scene.scenario.field(name).is_ok();
            is_there && self.command.contains(name) && !has(name)
        })?;
        Some(format!(
            "the command reads `{name}`, which is longer than a variable of the environment may be, or has a NUL in it; \
             a script of type `custom` reads it from its standard input"
        ))
    }
}

impl Check for CommandExitKeys {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        if let Some(what) = self.lacks(scene) {
            return Ok(CheckFinding::error(what));
        }
        let end = SideCommand {
            program: SideProgram::Script(&self.command),
            folder: scene.folder,
            variables: scene.variables,
            input: None,
            timeout: limit(self.timeout_s),
            most_output: 0,
        }
        .run(scene.interrupt);
        let (code, streams) = match end {
            SideEnd::Exited { code, streams, .. } => (code, streams),
            SideEnd::Failed(what, streams) => {
                return Ok(CheckFinding::error(format!("{what}{}", printed(&streams))));
            }
            SideEnd::Interrupted => return Err(EarlyEnd::Interrupted),
        };
        if code == self.exit_code {
            return Ok(CheckFinding::of(
                true,
                format!("ended with exit code {code}"),
            ));
        }
        let hint = match code {
            126 => " (a command was found that cannot be executed)",
            127 => " (a command was not found)",
            _ => "",
        };
        Ok(CheckFinding::of(
            false,
            format!(
                "ended with exit code {code}{hint}, expected {}{}",
                self.exit_code,
                printed(&streams)
            ),
        ))
    }
}

/// The last part of a program's printed text: error output comes first, since it is more useful.
pub(super) fn printed(streams: &Streams) -> String {
    let both = [("stderr", &streams.stderr), ("stdout", &streams.stdout)];
    both.into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(name, text)| format!("; {name}: {}", text.trim()))
        .collect()
}
