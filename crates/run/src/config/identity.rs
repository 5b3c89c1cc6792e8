//! What two configurations must share for their figures to be comparable.

use super::Config;
use kelvin_base::digest::{Digest, Fields};

impl Config {
    /// The digest of everything that changes what is measured, as each kind of probe says. The commands, the
    /// jobs, the limits and the places of files are not part of it.
    ///
    /// The digest of a kind is a field in the digest of the next kind, so that a kind that a file
    /// does not configure leaves no trace: the digests of reports from before there was such a kind
    /// stay the same.
    pub fn measured(&self) -> Digest {
        let mut before: Option<(&str, Digest)> = None;
        for probe in &self.probes {
            let fields = match before {
                None => Fields::of("kelvin/config/v1"),
                Some((name, digest)) => {
                    let domain = format!("kelvin/config/{}/v1", probe.name);
                    Fields::of(&domain).field(name, digest.bytes())
                }
            };
            before = Some((probe.name, probe.settings.measured(fields).digest()));
        }
        before.map_or_else(
            || Fields::of("kelvin/config/v1").digest(),
            |(_, digest)| digest,
        )
    }
}
