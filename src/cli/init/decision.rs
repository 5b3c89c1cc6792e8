//! Determines which field of the output is the decision. Nobody is asked if a trial run leaves no doubt.

use anyhow::anyhow;
use serde_json::{Map, Value, json};

use super::request::Request;
use super::steps::{Steps, settings};
use super::trial::Look;
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_evidence::{self as evidence, Label};
use kelvin_gate::reproduce::quoted;
use kelvin_page::safe;
use kelvin_run::judge::{self, Choice};

/// Determines the decision field.
pub(super) fn settle(steps: &mut Steps<'_>, look: Option<&Look>) -> anyhow::Result<()> {
    if steps.said.decision_field.is_some() {
        steps.said.decides_lists = is_list(look, &steps.said);
        let config = steps.config()?;
        if let Some(look) = look
            && let Err(failure) = &look.outcome.result
            && !steps.said.decides_lists
        {
            return Err(
                evidence::unusable_decision(look.tried.name(), failure, &config)
                    .unwrap_or_else(|| look.failed()),
            );
        }
        return Ok(());
    }
    let field = match look.and_then(|look| look.output.as_ref()?.as_object()) {
        Some(output) => match labelled(output, look.and_then(|look| look.expected.as_deref())) {
            Some(field) => {
                steps.print(&format!(
                    "the decision is `{}`, which has what the case is labelled with (`--decision-field` names another)",
                    safe::line(&field)
                ))?;
                field
            }
            None => pick(steps, output)?,
        },
        None => name(steps)?,
    };
    steps.said.decision_field = Some(field);
    steps.said.decides_lists = is_list(look, &steps.said);
    Ok(())
}

/// Whether the decision is a list, as of a classifier that gives several labels.
fn is_list(look: Option<&Look>, said: &Request) -> bool {
    look.and_then(|look| look.decided(said))
        .is_some_and(judge::is_list_of_scalars)
}

/// The one field of the output whose value is the label of the case.
fn labelled(output: &Map<String, Value>, label: Option<&str>) -> Option<String> {
    let label = Label::of(label?);
    let choice = Choice::read(&json!("set")).expect("it is a scorer");
    let set = judge::chosen_scorer(&choice);
    let fields = Fields::of(output, &|value| set.accepts(value));
    let is_label = |field: &&Field<'_>| label.agreement(field.value, &*set) == Some(1.0);
    let mut found = fields.usable.iter().filter(is_label);
    let field = found.next().filter(|_| found.next().is_none())?;
    Some(field.written())
}

/// Asks for one of the fields of the output.
fn pick(steps: &mut Steps<'_>, output: &Map<String, Value>) -> anyhow::Result<String> {
    let config = steps.config()?;
    let scorer = judge::chosen_scorer(&settings(&config).scorer);
    let mut fields = Fields::of(output, &|value| scorer.accepts(value));
    if fields.usable.is_empty() {
        // A list is asked about only where there is nothing else: most outputs have lists beside their decision, such as
        // the sources of an answer.
        fields = Fields::of(output, &|value| {
            scorer.accepts(value).or_else(|reason| {
                let is_list = judge::is_list_of_scalars(value);
                is_list.then_some(()).ok_or(reason)
            })
        });
    }
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
         string, a number, a boolean, null or a list of them"
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
        "name one, e.g. `--decision-field {}`; where each field has to be right, as of a document that is read, \
         `kelvin init --kind acts` checks what is answered: docs/invariants.md",
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

/// How many fields are listed at most; an output may have a million.
const MOST: usize = 200;

/// A field with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field<'a> {
    /// The keys on the path to the field.
    path: Vec<&'a str>,
    value: &'a Value,
}

/// The fields of an output that can be the decision: every value that is accepted, in objects at any depth. The items of
/// lists are left out, because the list may differ from case to case.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    /// The fields that can be the decision, in the order of their keys.
    pub(super) usable: Vec<Field<'a>>,
    /// Why some fields at the top, with all values inside them, cannot be the decision.
    pub(super) refused: Vec<String>,
}

impl<'a> Fields<'a> {
    /// Finds the fields; `accepts` says whether a value can be a decision.
    pub(super) fn of(
        output: &'a Map<String, Value>,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) -> Self {
        let mut fields = Self::default();
        for (key, value) in output {
            let before = fields.usable.len();
            fields.walk(vec![key], value, accepts);
            if fields.usable.len() == before
                && let Err(reason) = accepts(value)
            {
                fields.refused.push(format!("`{key}` is {reason}"));
            }
        }
        fields
    }

    fn walk(
        &mut self,
        path: Vec<&'a str>,
        value: &'a Value,
        accepts: &dyn Fn(&Value) -> Result<(), String>,
    ) {
        if accepts(value).is_ok() {
            self.usable.push(Field { path, value });
        } else if let Value::Object(fields) = value {
            for (key, value) in fields {
                self.walk([&path[..], &[key]].concat(), value, accepts);
            }
        }
    }

    /// The field to use if nobody names one: the only field, or the only field called `decision`; a field at the top
    /// takes precedence.
    pub(super) fn obvious(&self) -> Option<&Field<'a>> {
        if let [only] = &self.usable[..] {
            return Some(only);
        }
        let mut called = self
            .usable
            .iter()
            .filter(|field| field.path.last() == Some(&"decision"));
        let at_top = called.clone().find(|field| field.path.len() == 1);
        at_top.or_else(|| called.next().filter(|_| called.next().is_none()))
    }

    /// A line for each field, with its path of keys and its value.
    pub(super) fn shown(&self) -> Vec<String> {
        let listed = self.usable.iter().take(MOST);
        let names: Vec<String> = listed
            .map(|field| safe::cut(&safe::line(&field.path.join(".")), 48))
            .collect();
        let width = names.iter().map(|name| safe::columns(name)).max();
        let lines = names.iter().zip(&self.usable);
        lines
            .map(|(name, field)| {
                let gap = " ".repeat(width.unwrap_or_default() - safe::columns(name) + 2);
                format!("{name}{gap}{}", safe::cut(&field.value.to_string(), 60))
            })
            .collect()
    }
}

impl Field<'_> {
    /// The field as it is written in the configuration: a key at the top by itself, and any other field as a JSON
    /// pointer.
    pub(super) fn written(&self) -> String {
        match self.path[..] {
            [key] if !key.trim().is_empty() && !key.starts_with('/') => key.to_owned(),
            _ => {
                let parts = self.path.iter();
                let escaped = parts.map(|key| key.replace('~', "~0").replace('/', "~1"));
                escaped.map(|key| format!("/{key}")).collect()
            }
        }
    }

    /// The field as it is written in the configuration, with its value.
    pub(super) fn with_value(&self) -> String {
        let value = safe::cut(&self.value.to_string(), 60);
        format!("{} = {value}", safe::line(&self.written()))
    }
}
