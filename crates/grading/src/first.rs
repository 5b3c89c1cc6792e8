//! The first prompt of a configuration, and what a trial of it needs.

use anyhow::Context as _;

use super::reader::AnswerReader;
use super::{GradingSettings, prompts};
use kelvin_run::config::Config;
use kelvin_run::{Program, Reader};

/// The first prompt, and what a trial of it needs.
pub struct FirstPrompt<'a> {
    /// The name of the prompt.
    pub id: String,
    /// The text that the pipeline gets.
    pub prompt: String,
    /// The program that is asked.
    pub program: Program<'a>,
    /// Reads its answer.
    pub reader: Box<dyn Reader>,
}

/// Reads the prompts of a configuration for a trial with the first one.
///
/// # Errors
///
/// Fails if the prompts cannot be read, or have problems.
///
/// # Panics
///
/// If the configuration has no section for this probe.
pub fn first_prompt(config: &Config) -> anyhow::Result<FirstPrompt<'_>> {
    let settings: &GradingSettings = config
        .settings()
        .expect("a trial of answers has a configuration for them");
    config.demand_file(
        &["grading", "prompts"],
        &settings.keys.prompts,
        "file of prompts",
    )?;
    let path = config.root.join(&settings.keys.prompts);
    let prompts = prompts::read(&path, &settings.keys.prompt_fields)?;
    let first = prompts.into_iter().next();
    let first = first.with_context(|| format!("{} has no prompt", path.display()))?;
    let (answer, passages) = (
        settings.keys.answer_field.as_deref(),
        settings.keys.passages_field.as_deref(),
    );
    Ok(FirstPrompt {
        id: first.id,
        prompt: first.prompt,
        program: settings.program(&settings.candidate),
        reader: Box::new(AnswerReader::new(answer, passages)),
    })
}
