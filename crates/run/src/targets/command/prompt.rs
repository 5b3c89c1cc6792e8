//! A command that is used as a model: it gets a prompt and returns a text.

use std::sync::Arc;

use super::{CommandTarget, Piped};
use crate::targets::{Ended, Invocation, Meter, Target, TargetSite};
use kelvin_base::exit::Misuse;
use kelvin_base::failure::{Failure, FailureKind};

/// A command that answers prompts. It reads the prompt from its standard input, unless it has an `{input}`
/// placeholder, and prints the answer, unless it has an `{output}` placeholder.
pub(in crate::targets) struct PromptCommand {
    command: CommandTarget,
    meter: Arc<Meter>,
}

impl PromptCommand {
    /// Reads the command line; the variables of `environment` are added to the environment of this program. Fails like
    /// any other command.
    pub(in crate::targets) fn new(
        line: &str,
        environment: Vec<(&'static str, String)>,
        meter: Arc<Meter>,
        site: &TargetSite,
    ) -> Result<Self, Misuse> {
        let mut command = CommandTarget::new(line, site)?;
        command.environment = environment;
        command.streams = Piped {
            input: !line.contains("{input}"),
            output: !line.contains("{output}"),
        };
        Ok(Self { command, meter })
    }
}

impl Target for PromptCommand {
    fn meter(&self) -> Option<&Meter> {
        Some(&self.meter)
    }

    fn writes_the_output_file(&self) -> bool {
        true
    }

    /// The line break at the end of the printed text does not belong to the answer.
    fn call(&self, call: &Invocation<'_>, output: &mut Vec<u8>) -> Ended {
        let reply = match self.command.call(call, output) {
            Ended::Answered(reply) => reply,
            ended => return ended,
        };
        output.truncate(output.trim_ascii_end().len());
        let failed = |kind, message| Ended::Failed {
            failure: Box::new(Failure::new(kind, message).printed(reply.streams.clone())),
            reply: reply.clone(),
        };
        if output.is_empty() {
            return failed(
                FailureKind::EmptyContent,
                "the command gave an empty answer",
            );
        }
        match std::str::from_utf8(output) {
            Ok(_) => Ended::Answered(reply),
            Err(_) => failed(
                FailureKind::MalformedBody,
                "the answer of the command is not UTF-8 text",
            ),
        }
    }
}
