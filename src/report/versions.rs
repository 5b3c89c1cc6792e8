//! Reports of earlier versions: what they had elsewhere is put where it stands today.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::document::{Fingerprints, Report, Run, SCHEMA_VERSION, Session, Share, Tool};
use crate::digest::Digest;
use crate::notice::Notice;
use crate::probe::{Ending, Metric, Sections, version_1};

/// A report as any version has written it.
#[derive(Deserialize)]
pub(super) struct AnyVersion {
    schema_version: u32,
    tool: Tool,
    run: AnyRun,
    /// From version 2 on.
    probes: Option<Sections>,
    metrics: BTreeMap<String, Metric>,
    /// In version 1.
    #[serde(flatten)]
    old: version_1::Records,
    notices: Vec<Notice>,
}

/// What was run, as any version has written it.
#[derive(Deserialize)]
struct AnyRun {
    ending: Ending,
    seed: u64,
    #[serde(default)]
    only: Vec<String>,
    shard: Option<Share>,
    repeats: usize,
    fingerprints: AnyFingerprints,
    session: Session,
    /// In version 1.
    #[serde(flatten)]
    old: version_1::Basis,
}

#[derive(Deserialize)]
struct AnyFingerprints {
    config: Digest,
    pipeline: Option<Digest>,
    /// In version 1, of all probes together.
    cases: Option<Digest>,
    /// The same.
    command: Option<Digest>,
}

impl TryFrom<AnyVersion> for Report {
    type Error = String;

    fn try_from(read: AnyVersion) -> Result<Self, String> {
        let run = read.run;
        let probes = match (read.schema_version, read.probes) {
            (1, _) => version_1::sections(
                read.old,
                run.old,
                version_1::Around {
                    ending: run.ending,
                    is_whole: run.only.is_empty() && run.shard.is_none(),
                    items: run.fingerprints.cases,
                    command: run.fingerprints.command,
                },
            )?,
            (_, Some(probes)) => probes,
            (_, None) => return Err("missing field `probes`".to_owned()),
        };
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            tool: read.tool,
            run: Run {
                ending: run.ending,
                seed: run.seed,
                only: run.only,
                shard: run.shard,
                repeats: run.repeats,
                fingerprints: Fingerprints {
                    config: run.fingerprints.config,
                    pipeline: run.fingerprints.pipeline,
                },
                session: run.session,
            },
            probes,
            metrics: read.metrics,
            notices: read.notices,
        })
    }
}
