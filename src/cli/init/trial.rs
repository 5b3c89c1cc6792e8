//! The trial: runs the pipeline once on the first case, and shows the result.

use std::collections::BTreeSet;

use super::look::Look;
use super::steps::Steps;
use crate::cli::ask;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;
use kelvin_run::config::Config;

/// The result of the trial.
#[derive(Default)]
pub(super) struct Trial {
    /// The last run with an output that can be examined; none if the pipeline was not run.
    pub(super) look: Option<Look>,
    /// The files that the runs have left in the repository, as lines for `.gitignore`.
    pub(super) left: BTreeSet<String>,
}

/// Runs the pipeline once on the first case, if the person agrees. `first` is the name of the case.
pub(super) fn settle(
    steps: &mut Steps<'_>,
    first: &str,
    run: &dyn Fn(&Config) -> anyhow::Result<Look>,
) -> anyhow::Result<Trial> {
    let mut trial = Trial::default();
    let first = safe::line(first);
    let wanted = match (steps.said.probe, steps.ask) {
        (Some(said), _) => said,
        (None, _) if steps.said.decision_field.is_some() => false,
        (None, Some(ask)) => {
            let question = format!("Run the pipeline once, on case `{first}`, to see its output?");
            let wanted = ask::yes(ask, &question, true)?;
            steps.said.probe = Some(wanted);
            wanted
        }
        (None, None) => steps.said.yes,
    };
    if !wanted {
        return Ok(trial);
    }
    loop {
        let config = steps.config()?;
        let timeout = config.limits.timeout.as_secs();
        steps.print(&format!(
            "running the pipeline on case `{first}`, for at most {timeout} s"
        ))?;
        let look = run(&config)?;
        let mended = mended(&look, &steps.said.run);
        if look.output.is_none() && steps.ask.is_none() {
            let error = look.failed();
            return Err(match mended {
                Some(run) => Misuse::new(format!("{error:#}"))
                    .help(format!(
                        "it printed its answer, and kelvin reads the file `{{output}}`: let the command be `{run}`"
                    ))
                    .into(),
                None => error,
            });
        }
        show(steps, &look)?;
        trial.left.extend(look.left.iter().cloned());
        let Some(ask) = steps.ask.filter(|_| look.output.is_none()) else {
            trial.look = Some(look);
            break;
        };
        let question = match &mended {
            Some(run) => {
                steps.print(&format!(
                    "It printed its answer, and kelvin reads the file `{{output}}`. This command puts what is printed \
                     into the file:\n  {}",
                    safe::lines(run)
                ))?;
                "Try that command?"
            }
            None => "Try again, after you have fixed it?",
        };
        if !ask::yes(ask, question, true)? {
            break;
        }
        steps.said.run = mended.or_else(|| steps.said.run.take());
    }
    if !trial.left.is_empty() {
        let lines: Vec<&str> = trial.left.iter().map(String::as_str).collect();
        steps.print(&format!(
            "The run left something in the repository: {}. As long as git does not ignore it, a check may take it \
             for an edit of the code.",
            safe::line(&lines.join(", "))
        ))?;
    }
    Ok(trial)
}

fn show(steps: &mut Steps<'_>, look: &Look) -> anyhow::Result<()> {
    for line in look.shown() {
        steps.print(&line)?;
    }
    if look.names_its_input {
        steps.print(
            "The output contains the path of its input: does the pipeline read the file, or take the path for \
             the text? `{input}` stands for the path of a file.",
        )?;
    }
    if let Some(changed) = &look.changed {
        steps.print(&format!(
            "Git tracks what the run has changed: {}. A check during which the code changes has no figures; let the \
             pipeline write elsewhere, or name the files of its code under `fingerprint`.",
            safe::line(changed)
        ))?;
    }
    Ok(())
}

/// A command that writes the printed output to the file, if the pipeline printed its output instead of writing it.
fn mended(look: &Look, run: &Option<String>) -> Option<String> {
    const OUTPUT: &str = "{output}";
    let run = run.as_deref().filter(|_| look.printed_its_output())?;
    let words: Vec<&str> = run.split(' ').collect();
    let place = words.iter().position(|word| *word == OUTPUT)?;
    // After an option or a redirection, the meaning of the words is not known.
    let is_plain =
        place > 0 && !words[place - 1].starts_with('-') && !run.contains(['>', '|', ';', '&']);
    let rest: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| *word != OUTPUT)
        .collect();
    is_plain.then(|| format!("{} > {OUTPUT}", rest.join(" ")))
}
