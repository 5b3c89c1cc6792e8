//! Checks that the output contains a text, matches a pattern, equals a text, or is similar to one.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use super::{Check, CheckFinding, EarlyEnd, pattern, shown};
use crate::keys::{ContainsKeys, EqualsKeys, LevenshteinKeys, RegexKeys};
use crate::same::same;
use crate::scenario::{Scenario, plain};
use crate::scene::Scene;
use crate::selector::Selector;

/// For longer texts, computing the edit distance would take too long.
const LONGEST: usize = 20_000;

/// The text of a selector, or the finding that there is none.
pub(super) fn text<'s>(
    scene: &'s Scene<'_>,
    from: &Selector,
) -> Result<Cow<'s, str>, CheckFinding> {
    scene
        .text(from)
        .map_err(|unread| CheckFinding::unread(unread, &name(from)))
}

/// The name of a selector in a reason.
pub(super) fn name(from: &Selector) -> String {
    match from {
        Selector::AgentOutput => "the output".to_owned(),
        Selector::Stdout => "what it printed".to_owned(),
        Selector::File(path) => format!("`{}`", path.display()),
    }
}

/// The selector of a check.
pub(super) fn selector(input_from: &str) -> Result<Selector, (&'static str, String)> {
    Selector::parse(input_from).map_err(|what| ("input_from", what))
}

/// The finding that a scenario has no expected value.
pub(super) fn nothing_expected() -> CheckFinding {
    CheckFinding::skipped("the scenario has nothing that is `expected`")
}

/// Checks that the output contains the text.
#[derive(Debug)]
pub(super) struct Contains {
    shown: Option<String>,
    value: Option<String>,
    ignore_case: bool,
    from: Selector,
}

impl Contains {
    pub(super) fn of(
        written: &ContainsKeys,
        keys: &ContainsKeys,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            shown: written.value.clone(),
            value: keys.value.clone(),
            ignore_case: keys.ignore_case,
            from: selector(&keys.input_from)?,
        })
    }
}

impl Check for Contains {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (wanted, told) =
            wanted(scene, &self.value, &self.shown).ok_or_else(nothing_expected)?;
        let text = text(scene, &self.from)?;
        let holds = match self.ignore_case {
            true => text.to_lowercase().contains(&wanted.to_lowercase()),
            false => text.contains(&*wanted),
        };
        let verb = if holds {
            "contains"
        } else {
            "does not contain"
        };
        let reason = format!("{} {verb} `{}`", name(&self.from), shown(&told));
        Ok(CheckFinding::of(holds, reason))
    }
}

/// The text to search for, and its form for messages: the text of the check, otherwise the text of the scenario.
fn wanted<'s>(
    scene: &'s Scene<'_>,
    value: &'s Option<String>,
    written: &'s Option<String>,
) -> Option<(Cow<'s, str>, Cow<'s, str>)> {
    if let (Some(value), Some(written)) = (value, written) {
        return Some((value.into(), written.into()));
    }
    let expected: Cow<'_, str> = plain(scene.scenario.expected.as_ref()?).into();
    Some((expected.clone(), expected))
}

/// Checks that the output matches the pattern.
#[derive(Debug)]
pub(super) struct Matches {
    shown: Option<String>,
    /// The pattern; none if the scenario's `expected` is used.
    pattern: Option<Regex>,
    from: Selector,
}

impl Matches {
    pub(super) fn of(
        written: &RegexKeys,
        keys: &RegexKeys,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            shown: written.pattern.clone(),
            pattern: keys
                .pattern
                .as_deref()
                .map(pattern)
                .transpose()
                .map_err(|what| ("pattern", what))?,
            from: selector(&keys.input_from)?,
        })
    }
}

/// The pattern that a scenario expects; none if it expects nothing.
fn expected_pattern(scenario: &Scenario) -> Result<Option<Regex>, String> {
    let Some(expected) = &scenario.expected else {
        return Ok(None);
    };
    let compiled = pattern(&plain(expected));
    compiled
        .map(Some)
        .map_err(|what| format!("what is `expected` is the pattern, and {what}"))
}

impl Check for Matches {
    fn suits(&self, scenario: &Scenario) -> Result<(), String> {
        match self.pattern {
            Some(_) => Ok(()),
            None => expected_pattern(scenario).map(|_| ()),
        }
    }

    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let pattern = match &self.pattern {
            Some(pattern) => Cow::Borrowed(pattern),
            None => {
                let expected = expected_pattern(scene.scenario).map_err(CheckFinding::error)?;
                Cow::Owned(expected.ok_or_else(nothing_expected)?)
            }
        };
        let told = self.shown.as_deref().unwrap_or(pattern.as_str());
        let text = text(scene, &self.from)?;
        let holds = pattern.is_match(&text);
        let verb = if holds { "matches" } else { "does not match" };
        let reason = format!("{} {verb} `{}`", name(&self.from), shown(told));
        Ok(CheckFinding::of(holds, reason))
    }
}

/// Checks that the output equals the text, or the value.
#[derive(Debug)]
pub(super) struct Equals {
    shown: Option<Value>,
    value: Option<Value>,
    from: Selector,
}

impl Equals {
    pub(super) fn of(
        written: &EqualsKeys,
        keys: &EqualsKeys,
    ) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            shown: written.value.clone(),
            value: keys.value.clone(),
            from: selector(&keys.input_from)?,
        })
    }
}

impl Check for Equals {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let expected = scene.scenario.expected.as_ref();
        let wanted = self
            .value
            .as_ref()
            .or(expected)
            .ok_or_else(nothing_expected)?;
        let told = self.shown.as_ref().unwrap_or(wanted);
        let text = text(scene, &self.from)?;
        let holds = match wanted {
            Value::String(wanted) => text.trim() == wanted.trim(),
            wanted => serde_json::from_str::<Value>(&text).is_ok_and(|value| same(&value, wanted)),
        };
        let told = match told {
            Value::String(text) => shown(text),
            other => shown(&other.to_string()),
        };
        let name = name(&self.from);
        Ok(match holds {
            true => CheckFinding::of(true, format!("{name} is `{told}`")),
            false => CheckFinding::of(
                false,
                format!("{name} is `{}`, expected `{told}`", shown(&text)),
            ),
        })
    }
}

/// Checks that the output is similar to the text.
#[derive(Debug)]
pub(super) struct Levenshtein {
    value: Option<String>,
    threshold: f64,
    from: Selector,
}

impl Levenshtein {
    pub(super) fn of(keys: &LevenshteinKeys) -> Result<Self, (&'static str, String)> {
        Ok(Self {
            value: keys.value.clone(),
            threshold: keys.pass_threshold,
            from: selector(&keys.input_from)?,
        })
    }
}

impl Check for Levenshtein {
    fn examine(&self, scene: &Scene<'_>) -> Result<CheckFinding, EarlyEnd> {
        let (wanted, _) = wanted(scene, &self.value, &self.value).ok_or_else(nothing_expected)?;
        let text = text(scene, &self.from)?;
        let (one, other) = (text.trim(), wanted.trim());
        let lengths = [one, other].map(|text| text.chars().count());
        let longer = lengths[0].max(lengths[1]);
        if longer > LONGEST {
            return Ok(CheckFinding::error(format!(
                "{} has {} characters, more than the {LONGEST} that are compared letter by letter",
                name(&self.from),
                lengths[0]
            )));
        }
        let distance = strsim::levenshtein(one, other);
        let score = match longer {
            0 => 1.0,
            longer => 1.0 - distance as f64 / longer as f64,
        };
        let holds = score >= self.threshold - 1e-9;
        let reason = format!(
            "{} is {distance} edits from the expected text, a similarity of {score:.4}; {} is enough",
            name(&self.from),
            self.threshold
        );
        Ok(CheckFinding::scored(holds, score, reason))
    }
}
