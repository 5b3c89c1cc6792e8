//! Version 1 of the report, which had a field for everything that a probe stored.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::evidence::{self, EvidenceSection};
use super::retrieval::{QueryRecord, RetrievalBasis, RetrievalSection, StoredBasis};
use super::{CaseRecord, Ending, SectionFingerprint, Sections};
use crate::digest::{Digest, Fields};

/// What stood at the top of the report.
#[derive(Deserialize)]
pub(crate) struct Records {
    cases: Option<BTreeMap<String, CaseRecord>>,
    retrieval: Option<Retrieval>,
}

#[derive(Deserialize)]
struct Retrieval {
    basis: RetrievalBasis,
    golden: Digest,
    queries: BTreeMap<String, QueryRecord>,
    #[serde(default)]
    unknown: Vec<String>,
}

/// What stood beside the other fields of the run.
#[derive(Deserialize)]
pub(crate) struct Basis {
    #[serde(default)]
    decision_field: String,
    #[serde(default)]
    governing_types: Vec<String>,
    #[serde(default)]
    scorer: String,
    #[serde(default)]
    basis: EvidenceBasis,
}

#[derive(Default, Deserialize)]
struct EvidenceBasis {
    #[serde(default)]
    cases: usize,
    #[serde(default)]
    enabled: Vec<String>,
    #[serde(default)]
    levels: Vec<String>,
    #[serde(default)]
    count_drop: bool,
    #[serde(default)]
    noise_floor: bool,
}

/// What the run says of all its probes together.
pub(crate) struct Around {
    /// How it ended.
    pub(crate) ending: Ending,
    /// Whether it measured every item.
    pub(crate) is_whole: bool,
    /// The digest of the items of all probes.
    pub(crate) items: Option<Digest>,
    /// The digest of their commands.
    pub(crate) command: Option<Digest>,
}

/// The sections of such a report.
///
/// # Errors
///
/// Where it has none of what every report of version 1 has.
pub(crate) fn sections(old: Records, of_run: Basis, around: Around) -> Result<Sections, String> {
    let cases = old.cases.ok_or("missing field `cases`")?;
    let mut sections = Sections::default();
    let is_alone = old.retrieval.is_none();
    if !of_run.scorer.is_empty() || !cases.is_empty() {
        // One digest for both probes cannot be taken apart, but that of the cases can be made again.
        let items = match (is_alone, around.is_whole) {
            (true, _) => around.items,
            (false, true) => Some(digest(&cases)),
            (false, false) => None,
        };
        let section = EvidenceSection {
            ending: around.ending,
            fingerprint: SectionFingerprint {
                items,
                command: around.command.filter(|_| is_alone),
            },
            basis: evidence::Basis {
                decision_field: of_run.decision_field,
                governing_types: of_run.governing_types,
                scorer: of_run.scorer,
                cases: of_run.basis.cases,
                enabled: of_run.basis.enabled,
                levels: of_run.basis.levels,
                count_drop: of_run.basis.count_drop,
                noise_floor: of_run.basis.noise_floor,
                asked: false,
            },
            items: cases,
        };
        sections.put("evidence", Box::new(section));
    }
    if let Some(retrieval) = old.retrieval {
        let section = RetrievalSection {
            ending: around.ending,
            fingerprint: SectionFingerprint {
                items: Some(retrieval.golden),
                command: None,
            },
            basis: StoredBasis {
                figures: retrieval.basis,
                unknown: retrieval.unknown,
            },
            items: retrieval.queries,
        };
        sections.put("retrieval", Box::new(section));
    }
    Ok(sections)
}

/// The digest of cases as the evidence probe makes it of their files.
fn digest(cases: &BTreeMap<String, CaseRecord>) -> Digest {
    let fields = cases
        .iter()
        .fold(Fields::of("kelvin/cases/v1"), |fields, (name, case)| {
            fields
                .field("name", name)
                .field("content", case.input.bytes())
        });
    fields.digest()
}
