//! What two configurations must share for their figures to be comparable.

use std::env;

use super::{Config, SwapCount};
use crate::digest::{Digest, Fields};

impl Config {
    /// Everything that changes what is measured: which variants are made and how decisions are
    /// compared. Not the command, the jobs, the limits or where files go.
    pub(crate) fn measured(&self) -> Digest {
        let kinds = &self.perturbations;
        let counts = kinds.variants;
        let swap = match counts.swap {
            SwapCount::UpTo(most) => most.to_string(),
            SwapCount::All => "all".to_owned(),
        };
        let mut fields = Fields::of("kelvin/config/v1")
            .field("decision_field", self.decision_field.as_str())
            .field("scorer", self.scorer.to_string())
            .field("seed", self.seed.to_be_bytes())
            .field("reorder", counts.reorder.to_string())
            .field("pad_length", counts.pad_length.to_string())
            .field("pad_content", counts.pad_content.to_string())
            .field("swap", swap)
            .field(
                "pad_include_governing",
                kinds.pad_include_governing.to_string(),
            )
            .field("count_drop", kinds.count_drop.to_string())
            .field("words", format!("{:?}", kinds.words));
        for name in &self.governing_types {
            fields = fields.field("governing_type", name);
        }
        for name in &kinds.enable {
            fields = fields.field("enable", name);
        }
        let digest = fields.digest();
        match &self.retrieval {
            Some(retrieval) => retrieval.measured(digest),
            None => digest,
        }
    }

    /// The command and the declared environment: what an answer depends on beside the input and
    /// the code. A variable that is not set differs from an empty one.
    pub(crate) fn command(&self) -> Digest {
        let mut fields = Fields::of("kelvin/command/v1")
            .field("run", &*self.run.text())
            .field("decision_field", self.decision_field.as_str());
        for name in &self.env {
            fields = match env::var_os(name) {
                Some(value) => fields.field(name, value.as_encoded_bytes()),
                None => fields.field("unset", name),
            };
        }
        fields.digest()
    }
}
