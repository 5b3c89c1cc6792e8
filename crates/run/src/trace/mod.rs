//! Traces of chains that another tool has recorded: what each run of a chain and of its steps came to. They
//! are read as they are written and never run; what is made of them is the work of others.

mod chains;
mod folder;
#[cfg(test)]
mod tests;

use serde::Deserialize;

pub use chains::{ChainVersion, chains};
pub use folder::{Traces, read};

/// One run of a chain. Keys that are not known are passed over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ChainTrace {
    /// Its id, which is unique: `tr-…`.
    pub trace_id: String,
    /// The chain, with or without its version: `stratt://chains/intake@1.2.0`.
    pub chain_uri: String,
    /// The version of the chain; without it, that of the address.
    #[serde(default)]
    pub version: Option<String>,
    /// The digest of what the chain is made of.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// When it began, in RFC 3339.
    #[serde(default)]
    pub started_at: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<f64>,
    /// How it ended.
    pub status: TraceStatus,
    /// The score that was given to it then.
    #[serde(default)]
    pub quality_score: Option<f64>,
    /// What it has used.
    #[serde(default)]
    pub token_counts: Option<TraceTokens>,
    /// Its steps, in order.
    #[serde(default)]
    pub steps: Vec<StepTrace>,
}

/// How a chain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceStatus {
    /// With its outputs.
    Completed,
    /// Without them.
    Failed,
    /// A person is to decide, or has decided, how it goes on.
    Gated,
    /// It took too long.
    Timeout,
}

/// One step of a chain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StepTrace {
    /// Its id within the chain.
    pub step_id: String,
    /// The unit that was run.
    #[serde(default)]
    pub unit_uri: Option<String>,
    /// How it ended.
    pub status: StepStatus,
    /// What it has used.
    #[serde(default)]
    pub token_counts: Option<TraceTokens>,
    /// How good its outputs were.
    #[serde(default)]
    pub quality_indicators: Option<TraceIndicators>,
    /// What a person has decided about it, in whatever form.
    #[serde(default)]
    pub gate_resolution: Option<serde_json::Value>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// With its outputs.
    Completed,
    /// Without them.
    Failed,
    /// Without them, however often it was tried.
    RetryExhausted,
}

/// How good the outputs of a step were, as the other tool has measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct TraceIndicators {
    /// 1 if the outputs fit their types, else 0.
    #[serde(default)]
    pub contract_conformance: Option<f64>,
    /// The share of the required outputs that are there.
    #[serde(default)]
    pub completeness: Option<f64>,
    /// The share of the tokens that were of use.
    #[serde(default)]
    pub token_efficiency: Option<f64>,
}

/// What a chain or a step has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TraceTokens {
    /// Tokens that were sent.
    pub input: u64,
    /// Tokens that were answered.
    pub output: u64,
    /// Those of the answers that were of use, where that is told.
    #[serde(default, alias = "useful_output_tokens")]
    pub useful: Option<u64>,
    /// All together; without it, the sum of both.
    #[serde(default)]
    pub total: Option<u64>,
}

impl ChainTrace {
    /// The chain, without its version.
    pub fn chain(&self) -> &str {
        let address = self.chain_uri.rsplit_once('@');
        address.map_or(self.chain_uri.as_str(), |(chain, _)| chain)
    }

    /// The version of the chain; empty where nothing tells it.
    pub fn version(&self) -> &str {
        let of_address = || self.chain_uri.rsplit_once('@').map(|(_, version)| version);
        self.version.as_deref().or_else(of_address).unwrap_or("")
    }

    /// Whether a person is still to decide about it: until then it is in no figure.
    pub fn is_open(&self) -> bool {
        let mut steps = self.steps.iter();
        self.status == TraceStatus::Gated && !steps.any(|step| step.gate_resolution.is_some())
    }

    /// Whether it ended without its outputs.
    pub const fn has_failed(&self) -> bool {
        matches!(self.status, TraceStatus::Failed | TraceStatus::Timeout)
    }
}
