//! Checks that a command in the workspace ends with an exit code.

use std::time::Duration;

use super::{Check, CheckFinding, CheckInterrupted};
use crate::interpolate;
use crate::keys::{CommandExitKeys, limit};
use crate::scene::Scene;
use kelvin_base::failure::Streams;
use kelvin_run::targets::{SideCommand, SideEnd, SideProgram};

/// Runs the command.
#[derive(Debug)]
pub(super) struct CommandExit {
    command: String,
    exit_code: i32,
    timeout: Duration,
}

impl CommandExit {
    pub(super) fn of(keys: &CommandExitKeys) -> Self {
        Self {
            command: keys.command.clone(),
            exit_code: keys.exit_code,
            timeout: limit(keys.timeout_s),
        }
    }
}

impl CommandExit {
    /// Why the command cannot read a field that it names: a field that is no possible variable of the environment would
    /// be empty there.
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

impl Check for CommandExit {
    fn look(&self, scene: &Scene<'_>) -> Result<CheckFinding, CheckInterrupted> {
        if let Some(what) = self.lacks(scene) {
            return Ok(CheckFinding::error(what));
        }
        let end = SideCommand {
            program: SideProgram::Script(&self.command),
            folder: scene.folder,
            variables: scene.variables,
            input: None,
            timeout: self.timeout,
            most_output: 0,
        }
        .run(scene.interrupt);
        let (code, streams) = match end {
            SideEnd::Exited { code, streams, .. } => (code, streams),
            SideEnd::Failed(what, streams) => {
                return Ok(CheckFinding::error(format!("{what}{}", printed(&streams))));
            }
            SideEnd::Interrupted => return Err(CheckInterrupted),
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

/// The ends of what a program printed: its errors come first, since they tell more.
pub(super) fn printed(streams: &Streams) -> String {
    let both = [("stderr", &streams.stderr), ("stdout", &streams.stdout)];
    both.into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(name, text)| format!("; {name}: {}", text.trim()))
        .collect()
}
