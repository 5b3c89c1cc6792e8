//! The key of an answer, from everything that the answer depends on.

use super::{Observing, Reader, Rules};
use kelvin_base::digest::{Digest, Fields};

/// Makes the keys of a run.
///
/// The version of this tool is no part of a key: the cache keeps the output of the pipeline, and
/// the reader reads its value from that output again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    command: Digest,
    fingerprint: Digest,
    tools: Digest,
    reader: Digest,
    around: Option<Digest>,
    observer: Option<Digest>,
}

impl Keys {
    /// For a command: its environment, the code of the pipeline, and the values that are read from its outputs.
    pub(super) fn of(
        rules: &Rules,
        fingerprint: Digest,
        reader: &dyn Reader,
        observing: Option<Observing<'_>>,
    ) -> Self {
        Self {
            command: rules.command,
            fingerprint,
            tools: rules.tools.digest(),
            reader: reader.digest(),
            around: rules.around,
            observer: observing.map(|observing| observing.observer.digest()),
        }
    }

    /// The key of one input. Older versions are never found again: version 1 had no reader, and its entries had no exit
    /// code; version 2 knew nothing of the programs that the command starts, version 3 only the first of them. In
    /// version 4 the path of the input told which variant it was.
    pub(super) fn key(&self, input: &str) -> Digest {
        let fields = Fields::of("kelvin/cache/v5")
            .field("command", self.command.bytes())
            .field("pipeline", self.fingerprint.bytes())
            .field("tools", self.tools.bytes())
            .field("reader", self.reader.bytes())
            .field("input", input);
        let fields = match &self.around {
            Some(around) => fields.field("around", around.bytes()),
            None => fields,
        };
        match &self.observer {
            Some(observer) => fields.field("observer", observer.bytes()).digest(),
            None => fields.digest(),
        }
    }
}
