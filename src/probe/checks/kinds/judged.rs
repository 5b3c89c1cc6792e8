//! A judge grades what was left: the text is taken while the workspace is there, and graded later.

use std::borrow::Cow;

use super::text::{name, text};
use super::{Check, Finding, Stopped};
use crate::probe::checks::keys::LlmAsJudgeKeys;
use crate::probe::checks::listing;
use crate::probe::checks::record::ToJudge;
use crate::probe::checks::scene::Scene;
use crate::probe::checks::selector::Selector;

/// A longer text is given to no judge.
const LONGEST: usize = 1 << 20;

/// What is graded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Input {
    /// A text that other checks look at too.
    Selected(Selector),
    /// Every file of the workspace.
    Workspace,
}

/// Takes the text for a judge.
#[derive(Debug)]
pub(super) struct Judged {
    input: Input,
}

impl Judged {
    pub(super) fn of(keys: &LlmAsJudgeKeys) -> Result<Self, (&'static str, String)> {
        keys.settings()?;
        let input = match keys.input_from.as_str() {
            "workspace" => Input::Workspace,
            other => Input::Selected(Selector::parse(other).map_err(|what| {
                let what = what.replacen("`stdout`", "`stdout`, `workspace`", 1);
                ("input_from", what)
            })?),
        };
        Ok(Self { input })
    }
}

impl Check for Judged {
    fn look(&self, scene: &Scene<'_>) -> Result<Finding, Stopped> {
        let (called, shown, is_cut) = match &self.input {
            Input::Selected(from) => match text(scene, from) {
                Ok(text) => (name(from), text, false),
                Err(finding) => return Ok(finding),
            },
            Input::Workspace => match listing::of(scene.beneath) {
                Ok(listing) => (
                    "the workspace".to_owned(),
                    Cow::Owned(listing.text),
                    listing.is_cut,
                ),
                Err(error) => {
                    let what = format!("the workspace cannot be read: {error}");
                    return Ok(Finding::error(what));
                }
            },
        };
        if shown.trim().is_empty() {
            let what = format!("{called} is empty, so there is nothing to judge");
            return Ok(Finding::nothing(what));
        }
        if shown.len() > LONGEST {
            let what = format!("{called} has more than the 1 MiB that a judge is given");
            return Ok(Finding::error(what));
        }
        Ok(Finding {
            to_judge: Some(ToJudge {
                text: shown.into_owned(),
                is_cut,
            }),
            // So it stays where the judge is never asked.
            ..Finding::error("the run ended before the judge was asked")
        })
    }
}
