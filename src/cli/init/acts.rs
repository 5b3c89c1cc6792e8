//! Sets up the probe for an agent: its task, the folder in which it works, and the command that checks its result.

use super::kind::is_text;
use super::steps::Steps;
use super::survey::{Survey, field};
use kelvin_base::exit::Misuse;

/// Determines the scenarios, the workspace and the check.
pub(super) fn settle(steps: &mut Steps<'_>, survey: &Survey) -> anyhow::Result<()> {
    // If the project has no file of scenarios, there is one scenario: the agent is started once.
    let scenarios = survey.data.iter().find(|file| {
        let has = |name| field(&file.record, &[name], &is_text).is_some_and(|field| field == name);
        file.path.ends_with(".jsonl") && has("id") && has("prompt")
    });
    if steps.said.cases.is_none()
        && let Some(file) = scenarios
    {
        steps.print(&format!(
            "the scenarios are those of `{}` (`--cases` names others)",
            file.path
        ))?;
        steps.said.cases = Some(file.path.clone());
    }
    let Some(ask) = steps.ask else {
        return Err(Misuse::new("what an agent has to leave behind is not known")
            .help("run `kelvin init` on a terminal, where you are asked for it, or write `invariants` yourself: docs/invariants.md")
            .into());
    };
    let root = steps.target.root.clone();
    let is_folder = |text: &str| match text == "." || root.join(text).is_dir() {
        true => Ok(()),
        false => Err(format!(
            "there is no folder `{text}`; `.` starts with an empty one"
        )),
    };
    let question = "Which folder does each run get a copy of? (`.` for an empty one)";
    let folder = ask.line(question, Some("."), &is_folder)?;
    steps.said.workspace = (folder != ".").then_some(folder);
    let check = |text: &str| steps.accepts(|said| said.check = Some(text.to_owned()));
    let question = "Which command, run in that copy afterwards, ends with 0 where all is right?";
    steps.said.check = Some(ask.line(question, None, &check)?);
    steps.config().map(|_| ())
}
