//! Which field of the output is the decision: one of those that were seen, or one that the person names.

use anyhow::anyhow;
use serde_json::{Map, Value};

use super::fields::{self, Fields};
use super::look;
use super::steps::{Steps, brief, settings};
use crate::cli::{ask, field};
use kelvin_base::exit::Misuse;
use kelvin_evidence as evidence;
use kelvin_gate::reproduce::quoted;
use kelvin_page::safe;
use kelvin_run::judge;

/// Finds out the decision field.
pub(super) fn settle(steps: &mut Steps<'_>) -> anyhow::Result<()> {
    if steps.given.decision_field.is_some() {
        let config = steps.config()?;
        if let Some(look) = &steps.look
            && let Err(failure) = &look.outcome.result
        {
            return Err(evidence::unusable_decision(&look.case, failure, &config)
                .unwrap_or_else(|| look::failed(&look.case, failure)));
        }
        return Ok(());
    }
    // Before it, what was answered an earlier time is only the default.
    let output = steps.look.as_ref().and_then(|look| look.output.clone());
    let field = match output {
        Some(output) => pick(steps, &output)?,
        None => name(steps, None)?,
    };
    steps.said.decision_field = Some(field);
    Ok(())
}

/// One of the fields that were seen.
fn pick(steps: &mut Steps<'_>, output: &Map<String, Value>) -> anyhow::Result<String> {
    let config = steps.config_without_decision()?;
    let scorer = judge::of(&settings(&config).scorer);
    let fields = Fields::of(output, &|value| scorer.accepts(value));
    let place = fields.obvious();
    let Some(ask) = steps.ask else {
        return match place {
            Some(place) => {
                let field = fields.usable[place].written();
                steps.tell(&format!("the decision is `{}`", safe::line(&field)))?;
                Ok(field)
            }
            None if fields.is_without_single() => Err(none_usable(&fields)),
            None => Err(unclear(&fields)),
        };
    };
    if fields.is_without_single() {
        steps.tell(&safe::lines(&format!("{:#}", none_usable(&fields))))?;
    }
    let said = steps.said.decision_field.clone();
    let before = fields
        .usable
        .iter()
        .position(|field| said.as_ref() == Some(&field.written()));
    let mut choices = fields.shown();
    choices.push("other...".to_owned());
    steps.asked = true;
    let chosen = ask::one(
        ask,
        "Which field is the decision?",
        &choices,
        before.or(place),
    )?;
    match fields.usable.get(chosen) {
        Some(field) => Ok(field.written()),
        None => name(steps, Some(output)),
    }
}

fn none_usable(fields: &Fields<'_>) -> anyhow::Error {
    let found = match &fields.refused[..] {
        [] => "the object is empty".to_owned(),
        refused => refused.join("; "),
    };
    anyhow!(
        "no field of the output can be the decision: {found}\n  help: let the pipeline write its decision as a \
         string, a number, a boolean or null"
    )
}

fn unclear(fields: &Fields<'_>) -> anyhow::Error {
    let names: Vec<String> = fields
        .usable
        .iter()
        .zip(fields.shown())
        .map(|(field, shown)| {
            let value = shown.split_once("  ").map_or("", |(_, value)| value.trim());
            format!("{} = {value}", safe::line(&field.written()))
        })
        .collect();
    let first = fields.usable.first().map(fields::Field::written);
    Misuse::new(format!(
        "the output has several fields that can be the decision: {}",
        names.join(", ")
    ))
    .help(format!(
        "name one, e.g. `--decision-field {}`",
        quoted(&first.unwrap_or_default())
    ))
    .into()
}

/// A field that the person types; where there is an output, it has to be in it.
fn name(steps: &mut Steps<'_>, output: Option<&Map<String, Value>>) -> anyhow::Result<String> {
    let Some(ask) = steps.ask else {
        return Err(Misuse::new("which field of the output is the decision is not known")
            .help("add e.g. `--decision-field decision`, or `--decision-field /result/decision` for a field inside another")
            .into());
    };
    let check = |text: &str| {
        let config = steps
            .try_with(|answers| answers.decision_field = Some(text.to_owned()))
            .map_err(|error| brief(&error))?;
        let Some(output) = output else { return Ok(()) };
        let Some(value) = field::at(output, text) else {
            return Err(format!(
                "the output has no field `{text}`; `/a/b` names the field `b` inside `a`"
            ));
        };
        let scorer = judge::of(&settings(&config).scorer);
        let accepted = scorer.accepts(value);
        accepted.map_err(|what| format!("`{text}` is {what}, which cannot be compared"))
    };
    let question = "Which field of the output is the decision? (`/a/b` for `b` inside `a`)";
    let said = steps.said.decision_field.clone();
    let default = said.as_deref().unwrap_or("decision");
    let default = Some(default).filter(|field| output.is_none() || check(field).is_ok());
    let named = ask::text(ask, question, default, &check)?;
    steps.asked = true;
    Ok(named)
}
