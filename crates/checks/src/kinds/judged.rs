//! A judge grades a text that a run has left: the text is read while the workspace exists, and graded later.

use std::borrow::Cow;

use serde_json::Value;

use super::text::{name, text};
use super::{Check, CheckFinding, EarlyEnd};
use crate::keys::LlmAsJudgeKeys;
use crate::listing;
use crate::record::ToJudge;
use crate::scene::Scene;
use crate::selector::Selector;
use crate::services::DeclaredServices;

/// A longer text is not passed to a judge.
const LONGEST: usize = 1 << 20;

/// The graded text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Input {
    /// A text that other checks can use too.
    Selected(Selector),
    /// Every file of the workspace.
    Workspace,
    /// The data that a service has recorded.
    Recorded {
        /// The name of the service.
        service: String,
        /// The path of the field.
        field: String,
    },
}

/// The services that record something.
const RECORDING: [&str; 1] = ["http_mock"];

/// Reads the text for a judge.
#[derive(Debug)]
pub(super) struct JudgedText {
    input: Input,
}

impl JudgedText {
    pub(super) fn of(
        keys: &LlmAsJudgeKeys,
        services: &DeclaredServices,
    ) -> Result<Self, (&'static str, String)> {
        keys.settings()?;
        let input = Input::parse(&keys.input_from, services);
        input
            .map(|input| Self { input })
            .map_err(|what| ("input_from", what))
    }
}

impl Input {
    fn parse(text: &str, services: &DeclaredServices) -> Result<Self, String> {
        let why = match (text, Selector::parse(text)) {
            ("workspace", _) => return Ok(Self::Workspace),
            (_, Ok(selector)) => return Ok(Self::Selected(selector)),
            (_, Err(why)) => why,
        };
        match text.split_once('.') {
            Some((service, field)) if is_name(service) && !field.is_empty() => {
                services.find(service, "llm_as_judge", &RECORDING)?;
                Ok(Self::Recorded {
                    service: service.to_owned(),
                    field: field.to_owned(),
                })
            }
            _ => Err(why.replacen("`stdout`", "`stdout`, `workspace`, `SERVICE.FIELD`", 1)),
        }
    }
}

/// Whether a word can be the name of a service. A word that cannot be one has another meaning.
fn is_name(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !word.is_empty() && word.chars().all(is_plain)
}

/// A recorded value as a text: a string unchanged, any other value as JSON.
fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => format!("{other:#}"),
    }
}

impl Check for JudgedText {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (called, shown, is_cut) = match &self.input {
            Input::Selected(from) => (name(from), text(scene, from)?, false),
            Input::Workspace => {
                let listing = listing::list_workspace(scene.beneath).map_err(|error| {
                    CheckFinding::error(format!("the workspace cannot be read: {error}"))
                })?;
                let called = "the workspace".to_owned();
                (called, Cow::Owned(listing.text), listing.is_cut)
            }
            Input::Recorded { service, field } => {
                let called = format!("`{service}.{field}`");
                let value = scene.services.get(service).field(field);
                let value =
                    value.map_err(|why| CheckFinding::nothing(format!("{called}: {why}")))?;
                (called, Cow::Owned(as_text(value)), false)
            }
        };
        if shown.trim().is_empty() {
            let what = format!("{called} is empty, so there is nothing to judge");
            return Ok(CheckFinding::nothing(what));
        }
        if shown.len() > LONGEST {
            let what = format!("{called} has more than the 1 MiB that a judge is given");
            return Ok(CheckFinding::error(what));
        }
        Ok(CheckFinding {
            to_judge: Some(ToJudge {
                text: shown.into_owned(),
                is_cut,
            }),
            // The finding stays this error if the judge is never asked.
            ..CheckFinding::error("the run ended before the judge was asked")
        })
    }
}
