//! Determines which field of the output is the decision. Nobody is asked if a trial run leaves no doubt.

use anyhow::anyhow;
use serde_json::{Map, Value};

use super::fields::{Field, Fields};
use super::look::{self, Look};
use super::steps::{Steps, settings};
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_evidence as evidence;
use kelvin_gate::reproduce::quoted;
use kelvin_page::safe;
use kelvin_run::judge;

/// Determines the decision field.
pub(super) fn settle(steps: &mut Steps<'_>, look: Option<&Look>) -> anyhow::Result<()> {
    if steps.said.decision_field.is_some() {
        let config = steps.config()?;
        if let Some(look) = look
            && let Err(failure) = &look.outcome.result
        {
            return Err(evidence::unusable_decision(&look.case, failure, &config)
                .unwrap_or_else(|| look::failed(&look.case, failure)));
        }
        return Ok(());
    }
    let field = match look.and_then(|look| look.output.as_ref()) {
        Some(output) => pick(steps, output)?,
        None => name(steps)?,
    };
    steps.said.decision_field = Some(field);
    Ok(())
}

/// Asks for one of the fields of the output.
fn pick(steps: &mut Steps<'_>, output: &Map<String, Value>) -> anyhow::Result<String> {
    let config = steps.config()?;
    let scorer = judge::chosen_scorer(&settings(&config).scorer);
    let fields = Fields::of(output, &|value| scorer.accepts(value));
    if let Some(field) = fields.obvious() {
        let field = field.written();
        steps.print(&format!(
            "the decision is `{}` (`--decision-field` names another)",
            safe::line(&field)
        ))?;
        return Ok(field);
    }
    if fields.usable.is_empty() {
        return Err(none_usable(&fields));
    }
    let Some(ask) = steps.ask else {
        return Err(unclear(&fields));
    };
    let chosen = ask::one(ask, "Which field is the decision?", &fields.shown(), None)?;
    Ok(fields.usable[chosen].written())
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
    let names: Vec<String> = fields.usable.iter().map(Field::with_value).collect();
    let first = fields.usable.first().map(Field::written);
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

/// Asks for the name of the field if no output was seen.
fn name(steps: &Steps<'_>) -> anyhow::Result<String> {
    let Some(ask) = steps.ask else {
        return Err(Misuse::new("which field of the output is the decision is not known")
            .help("add e.g. `--decision-field decision`, or `--decision-field /result/decision` for a field inside another")
            .into());
    };
    let check = |text: &str| steps.accepts(|said| said.decision_field = Some(text.to_owned()));
    let question = "Which field of the output is the decision? (`/a/b` for `b` inside `a`)";
    ask.line(question, Some("decision"), &check)
}
