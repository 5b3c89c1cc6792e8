//! `kelvin/report.json`: what a run measured, in a form that later versions still read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Shard;
use crate::digest::Digest;
use crate::notice::{Code, Notice};
use crate::probe::evidence::{Basis, EvidenceBasis, EvidenceSection};
use crate::probe::retrieval::{self, RetrievalRecord, RetrievalSection, StoredBasis};
use crate::probe::{AnySection, CaseRecord, Ending, Metric, SectionFingerprint};
use crate::run::Cost;

/// Grows when an old reader would misread a new report.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// One run of `kelvin check`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "kelvin report")]
pub(crate) struct Report {
    /// The version of this format.
    pub(crate) schema_version: u32,
    /// What wrote it.
    pub(crate) tool: Tool,
    /// What was run, and on what.
    pub(crate) run: Run,
    /// Every figure, by id.
    pub(crate) metrics: BTreeMap<String, Metric>,
    /// Every case, by name.
    pub(crate) cases: BTreeMap<String, CaseRecord>,
    /// What the retrieval probe saw, where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retrieval: Option<RetrievalRecord>,
    /// Every cap, skip and warning that is not about one case.
    pub(crate) notices: Vec<Notice>,
}

impl Report {
    /// A report of this program.
    pub(crate) fn new(
        run: Run,
        metrics: BTreeMap<String, Metric>,
        cases: BTreeMap<String, CaseRecord>,
        notices: Vec<Notice>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool {
                name: "kelvin".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            run,
            metrics,
            cases,
            retrieval: None,
            notices,
        }
    }

    /// The report of what the probes of a run have found.
    pub(crate) fn of(
        mut run: Run,
        sections: Vec<Box<dyn AnySection>>,
        metrics: BTreeMap<String, Metric>,
        notices: Vec<Notice>,
    ) -> Self {
        let mut cases = BTreeMap::new();
        let mut retrieval = None;
        for section in sections {
            let section = match section.into_any().downcast::<EvidenceSection>() {
                Ok(evidence) => {
                    let EvidenceBasis {
                        decision_field,
                        governing_types,
                        scorer,
                        rest,
                    } = evidence.basis;
                    run.decision_field = decision_field;
                    run.governing_types = governing_types;
                    run.scorer = scorer;
                    run.basis = rest;
                    cases = evidence.items;
                    continue;
                }
                Err(other) => other,
            };
            if let Ok(section) = section.downcast::<RetrievalSection>() {
                retrieval = Some(retrieval::record(*section));
            }
        }
        let mut report = Self::new(run, metrics, cases, notices);
        report.retrieval = retrieval;
        report
    }

    /// What each probe of the run has stored, by its name.
    pub(crate) fn into_sections(self) -> Vec<(&'static str, Box<dyn AnySection>)> {
        let mut sections: Vec<(&'static str, Box<dyn AnySection>)> = Vec::new();
        let run = self.run;
        if !run.scorer.is_empty() {
            sections.push((
                "evidence",
                Box::new(EvidenceSection {
                    ending: run.ending,
                    fingerprint: SectionFingerprint {
                        items: Some(run.fingerprints.cases),
                        command: Some(run.fingerprints.command),
                    },
                    basis: EvidenceBasis {
                        decision_field: run.decision_field,
                        governing_types: run.governing_types,
                        scorer: run.scorer,
                        rest: run.basis,
                    },
                    items: self.cases,
                }),
            ));
        }
        if let Some(record) = self.retrieval {
            sections.push((
                "retrieval",
                Box::new(RetrievalSection {
                    ending: run.ending,
                    fingerprint: SectionFingerprint {
                        items: Some(record.golden),
                        command: None,
                    },
                    basis: StoredBasis {
                        figures: record.basis,
                        unknown: record.unknown,
                    },
                    items: record.queries,
                }),
            ));
        }
        sections
    }

    /// The cases, or the queries, whose repeats count as one run, because the pipeline answered them
    /// from memory.
    pub(crate) fn kept(&self, queries: bool) -> impl Iterator<Item = &str> {
        let of_cases = self.cases.values().flat_map(|case| &case.notices);
        let of_queries = self.notices.iter();
        let is_kept = |notice: &&Notice| notice.code == Code::AnswersKept;
        let cases = of_cases.filter(move |_| !queries).filter(is_kept);
        let queries = of_queries.filter(move |_| queries).filter(is_kept);
        cases
            .chain(queries)
            .filter_map(|notice| notice.case.as_deref())
    }

    /// Whether `kelvin eval` made it, which calls nothing: a check that came to its end has asked
    /// every query, or an earlier one had.
    pub(crate) fn is_evaluation(&self) -> bool {
        let cost = &self.run.session.cost;
        let asked = cost.invocations + cost.cache_hits + cost.resumed > 0;
        let complete = self.run.ending == Ending::Complete;
        self.retrieval.is_some() && self.cases.is_empty() && complete && !asked
    }
}

/// The program that wrote a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Tool {
    /// `kelvin`.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

/// What was run, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Run {
    /// Whether it came to its end.
    pub(crate) ending: Ending,
    /// The seed of the perturbations.
    pub(crate) seed: u64,
    /// The cases it was restricted to; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) only: Vec<String>,
    /// Which share of these it was, where it was not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<Share>,
    /// Where the decision stands in the output; empty where the evidence probe was not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) decision_field: String,
    /// The unit types that should govern it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) governing_types: Vec<String>,
    /// How decisions were compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) scorer: String,
    /// How often every invocation was made.
    pub(crate) repeats: usize,
    /// What else turns the records into figures.
    #[serde(default)]
    pub(crate) basis: Basis,
    /// What the figures depend on.
    pub(crate) fingerprints: Fingerprints,
    /// What may differ between two runs on the same input.
    pub(crate) session: Session,
}

/// The share of the cases that a run measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Share {
    /// Which one, from 1.
    pub(crate) index: usize,
    /// How many there are.
    pub(crate) count: usize,
    /// How many cases all the shares have together.
    pub(crate) cases: usize,
}

impl Share {
    /// Which one of how many.
    pub(crate) const fn shard(self) -> Shard {
        Shard {
            index: self.index,
            count: self.count,
        }
    }
}

/// Digests of what the figures depend on; two reports are comparable as far as these agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Fingerprints {
    /// Every case's name and bytes.
    pub(crate) cases: Digest,
    /// Everything in the configuration that changes what is measured.
    pub(crate) config: Digest,
    /// The code of the pipeline; null where it could not be told.
    pub(crate) pipeline: Option<Digest>,
    /// The command and the declared environment.
    pub(crate) command: Digest,
}

/// What may differ between two runs on the same input; everything else in a report may not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Session {
    /// When it started, RFC 3339 in UTC.
    pub(crate) started_at: String,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// The commit that was checked out, where there is one.
    pub(crate) commit: Option<String>,
    /// Whether the work tree differed from it.
    pub(crate) dirty: bool,
    /// What was called and what was saved.
    pub(crate) cost: Cost,
}
