//! The trial: runs the pipeline once on the first case, and shows what came back.

use super::Question;
use super::look;
use super::steps::{Steps, To};
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// Runs the pipeline once, where that is wanted.
pub(super) fn settle(steps: &mut Steps<'_>) -> anyhow::Result<()> {
    steps.look = None;
    let wanted = match (steps.given.probe, steps.ask) {
        (Some(said), _) => said,
        (None, _) if steps.given.decision_field.is_some() => false,
        (None, Some(ask)) => {
            let first = steps.first_case();
            let question = format!("Run the pipeline once, on case `{first}`, to see its output?");
            let default = steps.said.probe.unwrap_or(true);
            steps.asked = true;
            ask::yes(ask, &question, default)?
        }
        (None, None) => steps.given.yes,
    };
    steps.said.probe = Some(wanted).filter(|_| steps.asked || steps.given.probe.is_some());
    if !wanted {
        return Ok(());
    }
    loop {
        let config = steps.config()?;
        let timeout = config.limits.timeout.as_secs();
        steps.tell(&format!(
            "running the pipeline on case `{}`, for at most {timeout} s",
            steps.first_case()
        ))?;
        let look = look::run(&config, steps.corpus()?)?;
        if look.output.is_none() && steps.ask.is_none() {
            let error = look.failed();
            return Err(match mended(&look, &steps.said.run) {
                Some(run) => Misuse::new(format!("{error:#}"))
                    .help(format!(
                        "it printed its answer, and kelvin reads the file `{{output}}`: let the command be `{run}`"
                    ))
                    .into(),
                None => error,
            });
        }
        for line in look.shown() {
            steps.tell(&line)?;
        }
        if look.names_its_input {
            steps.tell(
                "The output contains the path of its input: does the pipeline read the file, or take the path for \
                 the text? `{input}` stands for the path of a file.",
            )?;
        }
        steps.left.extend(look.left.iter().cloned());
        if let Some(changed) = &look.changed {
            steps.tell(&format!(
                "Git tracks what the run has changed: {}. A check during which the code changes has no figures; let the \
                 pipeline write elsewhere, or name the files of its code under `fingerprint`.",
                safe::line(changed)
            ))?;
        }
        let Some(ask) = steps.ask.filter(|_| look.output.is_none()) else {
            steps.look = Some(look);
            return Ok(());
        };
        let mended = mended(&look, &steps.said.run);
        let mut choices = [
            "try again, after you have fixed it",
            "change the command",
            "name other cases",
            "go on without an output",
        ]
        .map(str::to_owned);
        if let Some(run) = &mended {
            steps.tell(&format!(
                "It printed its answer, and kelvin reads the file `{{output}}`. This command puts what is printed \
                 into the file:\n  {}",
                safe::lines(run)
            ))?;
            choices[0] = "try that command".to_owned();
        }
        steps.asked = true;
        let chosen = ask::one(ask, "What now?", &choices, mended.as_ref().map(|_| 0))?;
        if chosen < 2 {
            steps.said.run = mended.or_else(|| steps.said.run.take());
        }
        match chosen {
            0 => {}
            1 => return Err(To(Question::Command).into()),
            2 => return Err(To(Question::Cases).into()),
            _ => return Ok(()),
        }
    }
}

/// The command that writes what the pipeline printed, where it printed its output.
fn mended(look: &look::Look, run: &Option<String>) -> Option<String> {
    const OUTPUT: &str = "{output}";
    let run = run.as_deref().filter(|_| look.printed_its_output())?;
    let words: Vec<&str> = run.split(' ').collect();
    let place = words.iter().position(|word| *word == OUTPUT)?;
    // After an option, or with a redirection, the words mean something that cannot be known here.
    let is_plain =
        place > 0 && !words[place - 1].starts_with('-') && !run.contains(['>', '|', ';', '&']);
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| *word != OUTPUT)
        .collect();
    is_plain.then(|| format!("{} > {OUTPUT}", rest.join(" ")))
}
