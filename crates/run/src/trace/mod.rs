//! Traces of chains that another tool has recorded: the result of each run of a chain and of its steps. They are only
//! read, never run; other modules compute figures from them.

mod chains;
mod folder;
#[cfg(test)]
mod tests;

use serde::Deserialize;

pub use chains::{ChainVersion, chains};
pub use folder::{Traces, read};

/// One run of a chain. Unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ChainTrace {
    /// The unique id of the trace: `tr-…`.
    pub trace_id: String,
    /// The chain, with or without its version: `stratt://chains/intake@1.2.0`.
    pub chain_uri: String,
    /// The version of the chain; if it is missing, the version in the address is used.
    #[serde(default)]
    pub version: Option<String>,
    /// The digest of the parts of the chain.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The start time, in RFC 3339.
    #[serde(default)]
    pub started_at: Option<String>,
    /// The duration, in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<f64>,
    /// How the run ended.
    pub status: TraceStatus,
    /// The score that the run got at that time.
    #[serde(default)]
    pub quality_score: Option<f64>,
    /// The tokens that the run used.
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
    /// The chain has its outputs.
    Completed,
    /// The chain has no outputs.
    Failed,
    /// A person has to decide, or has decided, how the chain continues.
    Gated,
    /// The chain took too long.
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
    /// How the step ended.
    pub status: StepStatus,
    /// The tokens that the step used.
    #[serde(default)]
    pub token_counts: Option<TraceTokens>,
    /// The quality of the outputs.
    #[serde(default)]
    pub quality_indicators: Option<TraceIndicators>,
    /// The decision of a person about the step, in any form.
    #[serde(default)]
    pub gate_resolution: Option<serde_json::Value>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The step has its outputs.
    Completed,
    /// The step has no outputs.
    Failed,
    /// The step has no outputs after all its attempts.
    RetryExhausted,
}

/// The quality of a step's outputs, as the other tool measured it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct TraceIndicators {
    /// 1 if the outputs match their types, otherwise 0.
    #[serde(default)]
    pub contract_conformance: Option<f64>,
    /// The share of the required outputs that exist.
    #[serde(default)]
    pub completeness: Option<f64>,
    /// The share of the tokens that were useful.
    #[serde(default)]
    pub token_efficiency: Option<f64>,
}

/// The tokens that a chain or a step has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TraceTokens {
    /// The tokens of the requests.
    pub input: u64,
    /// The tokens of the answers.
    pub output: u64,
    /// The useful tokens of the answers, if the trace has this number.
    #[serde(default, alias = "useful_output_tokens")]
    pub useful: Option<u64>,
    /// The total; if it is missing, the sum of input and output.
    #[serde(default)]
    pub total: Option<u64>,
}

impl ChainTrace {
    /// The chain, without its version.
    pub fn chain(&self) -> &str {
        let address = self.chain_uri.rsplit_once('@');
        address.map_or(self.chain_uri.as_str(), |(chain, _)| chain)
    }

    /// The version of the chain; empty if the trace has none.
    pub fn version(&self) -> &str {
        let of_address = || self.chain_uri.rsplit_once('@').map(|(_, version)| version);
        self.version.as_deref().or_else(of_address).unwrap_or("")
    }

    /// Whether a person still has to decide about the trace; until then it is not part of any figure.
    pub fn is_open(&self) -> bool {
        let mut steps = self.steps.iter();
        self.status == TraceStatus::Gated && !steps.any(|step| step.gate_resolution.is_some())
    }

    /// Whether the chain ended without its outputs.
    pub const fn has_failed(&self) -> bool {
        matches!(self.status, TraceStatus::Failed | TraceStatus::Timeout)
    }
}
