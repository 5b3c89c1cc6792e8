//! Sets up the probe for answers in prose: the prompts, and the language model that grades.

use std::collections::BTreeSet;

use super::kind::{QUESTIONS, REFERENCES, is_text};
use super::searches::{name, pick, unknown};
use super::steps::Steps;
use super::survey::{Survey, field};
use super::trial::{self, OutputForm, TrialSubject};
use kelvin_base::exit::Misuse;
use kelvin_grading::first_prompt;
use kelvin_run::config::Config;

/// The default address of the model.
const ADDRESS: &str = "https://api.openai.com/v1";

/// Determines the prompts, the names of their fields, and the judge, and runs the pipeline on the first prompt. Returns the
/// files that this has left in the repository, as lines for `.gitignore`.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<BTreeSet<String>> {
    prompts(steps, survey)?;
    judge(steps)?;
    let config = steps.config()?;
    let first = first_prompt(&config)?;
    let run = |config: &Config| {
        let first = first_prompt(config)?;
        let asked = trial::TrialInput {
            tried: TrialSubject::Input("prompt", first.id.into()),
            input: &first.prompt,
            program: first.program,
            reader: &*first.reader,
            form: OutputForm::Prose,
        };
        trial::run(config, &asked)
    };
    Ok(trial::settle(steps, &TrialSubject::Input("prompt", first.id.into()), &run)?.left)
}

/// Determines the prompts and the names of their fields.
fn prompts(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
    let path = steps.records(survey, "Which file has the prompts?")?;
    if let Some(file) = survey.file(&path) {
        let prompt = field(&file.record, &["prompt"], &is_text)
            .or_else(|| field(&file.record, &QUESTIONS, &is_text));
        let prompt = match (prompt, steps.ask) {
            (Some(prompt), _) => prompt,
            (None, Some(ask)) => pick(ask, &file.record, "Which field is the prompt?", &is_text)?,
            (None, None) => {
                return Err(unknown(&path, "the prompt", ("prompt", "prompt_fields")));
            }
        };
        let reference = field(&file.record, &REFERENCES, &is_text);
        let reference = reference.filter(|reference| *reference != prompt);
        let mut named = vec![("prompt", prompt)];
        named.extend(reference.map(|reference| ("reference", reference)));
        named.extend(field(&file.record, &["id"], &|_| true).map(|id| ("id", id)));
        name(steps, &file.record, named)?;
    }
    Ok(())
}

/// Determines the language model that grades, and its address.
fn judge(steps: &mut Steps<'_>) -> anyhow::Result<()> {
    let named = |text: &str| match text.trim().is_empty() {
        true => Err("type the name under which its server knows it".to_owned()),
        false => Ok(()),
    };
    if steps.said.judge.is_none() {
        let Some(ask) = steps.ask else {
            return Err(Misuse::new("which language model grades the answers is not known")
                .help("add `--judge NAME`, and `--judge-url URL` unless it is one of OpenAI; run `kelvin init` on a terminal, where you are asked for both; or write the section `grading` yourself: docs/grading.md")
                .into());
        };
        let question = "Which language model grades the answers? (a name that its server knows)";
        steps.said.judge = Some(ask.line(question, None, &named)?.trim().to_owned());
    }
    let is_address = |text: &str| match text.starts_with("http://") || text.starts_with("https://")
    {
        true => Ok(()),
        false => Err("type an address that begins with https:// or http://".to_owned()),
    };
    let address = match (steps.said.address.take(), steps.ask) {
        (Some(address), _) => {
            is_address(&address).map_err(|why| Misuse::new(format!("`--judge-url`: {why}")))?;
            address
        }
        (None, None) => ADDRESS.to_owned(),
        (None, Some(ask)) => {
            let question = "At which address? (one that speaks as OpenAI does)";
            ask.line(question, Some(ADDRESS), &is_address)?
        }
    };
    steps.said.address = Some(address);
    Ok(())
}
