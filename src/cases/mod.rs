//! Cases: Markdown files cut into a preamble and typed units, byte for byte.

mod markdown;

use std::ops::Range;
use std::sync::Arc;

use crate::digest::Digest;

/// All the cases of a run, sorted by name, with the unit types they hold.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Sorted by name; names are distinct.
    pub(crate) cases: Vec<Case>,
}

/// One case: a document and its cuts.
#[derive(Debug)]
pub(crate) struct Case {
    /// The stem of the file: a folder name, never a path.
    pub(crate) name: Arc<str>,
    /// The file, relative to the root of the configuration, with `/` on every platform.
    pub(crate) file: String,
    /// The file as it is, with its byte order mark and its line ends.
    pub(crate) text: String,
    /// The units in the order of the document. Before the first one is the preamble; each begins
    /// where the one before it ends and the last ends with the text.
    pub(crate) units: Vec<Unit>,
    /// How lines end, for text that comes in from elsewhere.
    pub(crate) newline: &'static str,
    /// The digest of the text.
    pub(crate) digest: Digest,
}

/// A section of a case that begins with a level-2 heading.
#[derive(Debug)]
pub(crate) struct Unit {
    /// The heading, trimmed, lower-cased, runs of whitespace as `_`; shared between cases.
    pub(crate) unit_type: Arc<str>,
    /// From the first byte of the heading line to the last byte that is not white space.
    pub(crate) body: Range<usize>,
    /// Where the heading line ends: `body.start..heading_end` is the heading line without its end.
    pub(crate) heading_end: usize,
    /// Where the next unit, or the end of the text, begins. `body.end..end` is white space.
    pub(crate) end: usize,
    /// The line of the heading, from 1.
    pub(crate) line: usize,
    /// The digest of the body with its line ends as `\n`: equal content, equal digest.
    pub(crate) content: Digest,
}

impl Case {
    /// What comes before the first unit; never perturbed, always first.
    pub(crate) fn preamble(&self) -> &str {
        let end = self
            .units
            .first()
            .map_or(self.text.len(), |unit| unit.body.start);
        &self.text[..end]
    }

    /// A unit's text, heading line included, white space after it not.
    pub(crate) fn body(&self, unit: &Unit) -> &str {
        &self.text[unit.body.clone()]
    }

    /// A unit's heading line, as written.
    pub(crate) fn heading(&self, unit: &Unit) -> &str {
        &self.text[unit.body.start..unit.heading_end]
    }

    /// The white space after a unit.
    pub(crate) fn tail(&self, unit: &Unit) -> &str {
        &self.text[unit.body.end..unit.end]
    }
}

/// Loads every case of the configuration. Notices tell of ignored files, cases without units and
/// unit types that look alike.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) that lists every case that cannot be used, with file, line
/// and what to do.
pub(crate) fn load(
    _config: &crate::config::Config,
) -> anyhow::Result<(Corpus, Vec<crate::notice::Notice>)> {
    todo!()
}
