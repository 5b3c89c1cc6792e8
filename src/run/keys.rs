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
}

impl Keys {
    /// For a command, its declared environment and the code of the pipeline.
    pub(super) fn of(config: &Config, fingerprint: Digest) -> Self {
        Self {
            command: config.command(),
            fingerprint,
        }
    }

    /// The key of one input.
    pub(super) fn key(&self, input: &str) -> Digest {
        Fields::of("kelvin/cache/v1")
            .field("command", self.command.bytes())
            .field("pipeline", self.fingerprint.bytes())
            .field("input", input)
            .digest()
    }
}
