//! What an answer depends on: the same key, the same answer.

use crate::config::Config;
use crate::digest::{Digest, Fields};

/// Makes the keys of a run.
///
/// The version of this tool is no part of a key: what is kept is the output of the pipeline, and
/// the decision is read from it anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    command: Digest,
    fingerprint: Digest,
    around: Option<Digest>,
}

impl Keys {
    /// For a command, its environment and the code of the pipeline.
    pub(super) fn of(config: &Config, fingerprint: Digest) -> Self {
        Self {
            command: config.command(),
            fingerprint,
            around: config.around.map(|around| around.digest(&config.env)),
        }
    }

    /// The key of one input.
    pub(super) fn key(&self, input: &str) -> Digest {
        let fields = Fields::of("kelvin/cache/v1")
            .field("command", self.command.bytes())
            .field("pipeline", self.fingerprint.bytes())
            .field("input", input);
        match &self.around {
            Some(around) => fields.field("around", around.bytes()).digest(),
            None => fields.digest(),
        }
    }
}
