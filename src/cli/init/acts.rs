//! Sets up the probe for an agent: its task, the folder in which it works, and the command that checks its result.

use super::kind::is_text;
use super::steps::Steps;
use super::survey::{DataFile, Survey, field};
use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// Determines the scenarios, the workspace and the check.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
    scenarios(steps, survey)?;
    if steps.said.check.is_none() && steps.ask.is_none() {
        return Err(Misuse::new("what an agent has to leave behind is not known")
            .help("add `--check COMMAND`, which ends with 0 where all is right; run `kelvin init` on a terminal, where you are asked for it; or write `invariants` yourself: docs/invariants.md")
            .into());
    }
    let root = steps.target.root.clone();
    let is_folder = |text: &str| match text == "." || root.join(text).is_dir() {
        true => Ok(()),
        false => Err(format!(
            "there is no folder `{text}`; `.` starts with an empty one"
        )),
    };
    let folder = match (steps.said.workspace.take(), steps.ask) {
        (Some(folder), _) => {
            is_folder(&folder).map_err(|why| Misuse::new(format!("`--workspace`: {why}")))?;
            folder
        }
        (None, Some(ask)) => {
            let question = "Which folder does each run get a copy of? (`.` for an empty one)";
            ask.line(question, Some("."), &is_folder)?
        }
        (None, None) => ".".to_owned(),
    };
    steps.said.workspace = Some(folder);
    if let (None, Some(ask)) = (&steps.said.check, steps.ask) {
        let check = |text: &str| steps.accepts(|said| said.check = Some(text.to_owned()));
        let question =
            "Which command, run in that copy afterwards, ends with 0 where all is right?";
        steps.said.check = Some(ask.line(question, None, &check)?);
    }
    steps.config().map(|_| ())
}

/// Determines the file of scenarios. Without one there is one scenario without a task: the agent is started once.
fn scenarios(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
    if let Some(path) = &steps.said.cases {
        // What the file lacks is told before anything is asked.
        return match survey.file(path).filter(|file| !is_of_scenarios(file)) {
            Some(file) => {
                let (what, help) = lacking(file);
                Err(Misuse::new(what).help(help).into())
            }
            None => Ok(()),
        };
    }
    let mut lists = survey.data.iter();
    let lists = lists.by_ref().filter(|file| file.path.ends_with(".jsonl"));
    let lists: Vec<&DataFile> = lists.collect();
    if let Some(file) = lists.iter().find(|file| is_of_scenarios(file)) {
        steps.print(&format!(
            "the scenarios are those of `{}` (`--cases` names others)",
            safe::line(&file.path)
        ))?;
        steps.said.cases = Some(file.path.clone());
    } else if let Some(file) = lists.first() {
        let (what, help) = lacking(file);
        steps.print(&safe::line(&format!(
            "{what}, so it is not used, and the agent is started once, without a task; to have it do these: {help}"
        )))?;
    }
    Ok(())
}

/// Whether the first record of a file is a scenario.
fn is_of_scenarios(file: &DataFile) -> bool {
    let has =
        |name: &str| field(&file.record, &[name], &is_text).is_some_and(|field| field == name);
    has("id") && has("prompt")
}

/// What a file lacks to be one of scenarios, and what to do about it.
fn lacking(file: &DataFile) -> (String, String) {
    let keys: Vec<String> = file.record.keys().map(|key| format!("`{key}`")).collect();
    let what = format!(
        "a scenario has the keys `id` and `prompt`, and the records of `{}` have {}",
        file.path,
        keys.join(", ")
    );
    let help = format!(
        "call the task `prompt`, give each record an `id`, put what else it has under `params`, and name the file with \
         `--cases {}`",
        kelvin_gate::reproduce::quoted(&file.path)
    );
    (what, help)
}
