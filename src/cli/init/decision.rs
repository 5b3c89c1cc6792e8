//! Which field of the output is the decision: from a look at an output where there can be one.

use anyhow::anyhow;
use serde_json::{Map, Value};

use super::look::{self, Look};
use super::steps::{Steps, brief, settings};
use crate::exit::Misuse;
use crate::judge;
use crate::page::safe;
use crate::probe::evidence;
use crate::probe::evidence::cases::Corpus;
use crate::run::{Failure, Outcome};

/// Finds out the decision field.
pub(super) fn settle(steps: &mut Steps<'_>, corpus: &Corpus) -> anyhow::Result<()> {
    if let Some(field) = &steps.request.decision_field {
        steps.answers.decision_field = field.clone();
        let config = steps.config()?;
        if steps.request.probe {
            let Look { case, outcome, .. } = look::run(&config, corpus)?;
            if let Err(failure) = &outcome.result {
                return Err(evidence::unusable_decision(&case, failure, &config)
                    .unwrap_or_else(|| failed(&case, failure)));
            }
        }
        return Ok(());
    }
    let first = corpus.cases.first().map_or("", |case| &*case.name);
    let question = format!(
        "Run the pipeline once, on case `{}`, to see its output?",
        safe::line(first)
    );
    let looks = match steps.ask {
        _ if steps.request.probe => true,
        Some(ask) => ask.yes(&question, true)?,
        None => false,
    };
    let mut output = None;
    if looks {
        let look = look::run(&steps.config()?, corpus)?;
        if look.output.is_none() {
            let error = no_output(&look.case, &look.outcome);
            if steps.ask.is_none() {
                return Err(error);
            }
            writeln!(steps.out, "{}", safe::lines(&format!("{error:#}")))?;
        }
        output = look.output;
    }
    steps.answers.decision_field = match output {
        Some(output) => pick(steps, &output)?,
        None => name(steps)?,
    };
    Ok(())
}

/// One of the fields that were seen.
fn pick(steps: &Steps<'_>, output: &Map<String, Value>) -> anyhow::Result<String> {
    let scorer = judge::of(&settings(&steps.config()?).scorer);
    let (mut usable, mut refused) = (Vec::new(), Vec::new());
    for (key, value) in output {
        match scorer.accepts(value) {
            Ok(()) => usable.push((&**key, value)),
            Err(reason) => refused.push(format!("`{key}` is {reason}")),
        }
    }
    if usable.is_empty() {
        let found = match &refused[..] {
            [] => "the object is empty".to_owned(),
            refused => refused.join("; "),
        };
        return Err(anyhow!(
            "no field of the output can be the decision: {found}\n  help: let the pipeline write \
             its decision as a string, a number, a boolean or null"
        ));
    }
    let shown = |(key, value): &(&str, &Value)| {
        format!(
            "{} = {}",
            safe::line(key),
            safe::cut(&value.to_string(), 60)
        )
    };
    let choices: Vec<String> = usable.iter().map(shown).collect();
    let place = match steps.ask {
        Some(ask) => Some(ask.one("Which field is the decision?", &choices)?),
        None if usable.len() == 1 => Some(0),
        None => usable.iter().position(|(key, _)| *key == "decision"),
    };
    match place {
        Some(place) => Ok(written(usable[place].0)),
        None => Err(Misuse::new(format!(
            "the output has several fields that can be the decision: {}",
            choices.join(", ")
        ))
        .help("name one with `--decision-field FIELD`")
        .into()),
    }
}

/// A key as the configuration names it: one that begins with `/` has to be a pointer.
fn written(key: &str) -> String {
    if key.starts_with('/') || key.trim().is_empty() {
        format!("/{}", key.replace('~', "~0").replace('/', "~1"))
    } else {
        key.to_owned()
    }
}

/// Without an output to look at, the person has to know.
fn name(steps: &Steps<'_>) -> anyhow::Result<String> {
    let Some(ask) = steps.ask else {
        return Err(Misuse::new("`--decision-field FIELD` is missing").into());
    };
    let check = |text: &str| {
        steps
            .try_with(|answers| answers.decision_field = text.to_owned())
            .map_or_else(|error| Err(brief(&error)), |_| Ok(()))
    };
    let question = "Which field of the output is the decision?";
    ask.text(question, Some("decision"), &check)
}

fn no_output(case: &str, outcome: &Outcome) -> anyhow::Error {
    match &outcome.result {
        Err(failure) => failed(case, failure),
        Ok(_) => anyhow!("the output for case `{case}` could not be read"),
    }
}

/// Why there is no answer, with the end of what the pipeline printed.
fn failed(case: &str, failure: &Failure) -> anyhow::Error {
    let printed = match failure.stderr.trim() {
        "" => String::new(),
        text => format!("\n{text}"),
    };
    anyhow!(
        "the pipeline failed on case `{case}`: {}{printed}",
        failure.message
    )
}
