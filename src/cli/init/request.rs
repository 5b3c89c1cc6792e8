//! What a person has said: on the command line, and then in answers.

use std::path::{Path, PathBuf};

use super::InitArgs;
use super::template::Answers;
use kelvin_base::exit::Misuse;
use kelvin_gate::reproduce::quoted;

/// What a person has said. What is not said is asked for, or found out.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    /// The file to write.
    pub(super) file: PathBuf,
    pub(super) run: Option<String>,
    pub(super) cases: Option<String>,
    pub(super) decision_field: Option<String>,
    /// Empty means not said.
    pub(super) governing_types: Vec<String>,
    /// Whether the pipeline is run once.
    pub(super) probe: Option<bool>,
    pub(super) gitignore: Option<bool>,
    pub(super) workflow: Option<bool>,
    /// Whether what can be found out is found out without asking.
    pub(super) yes: bool,
    pub(super) force: bool,
}

impl From<InitArgs> for Request {
    fn from(args: InitArgs) -> Self {
        let InitArgs {
            config,
            run,
            cases,
            decision_field,
            governing_types,
            probe,
            no_probe,
            gitignore,
            no_gitignore,
            workflow,
            no_workflow,
            yes,
            force,
        } = args;
        let said = |yes: bool, no: bool| (yes || no).then_some(yes);
        Self {
            file: config,
            run,
            cases,
            decision_field,
            governing_types,
            probe: said(probe, no_probe),
            gitignore: said(gitignore, no_gitignore),
            workflow: said(workflow, no_workflow),
            yes,
            force,
        }
    }
}

/// A command for the examples of messages.
const COMMAND: &str = "--run 'python3 pipeline.py {input} {output}'";

impl Request {
    /// Without anybody to ask, and without `--yes`, the answers must be there.
    pub(super) fn complete(&self) -> Result<(), Misuse> {
        let mut missing = Vec::new();
        if self.run.is_none() {
            missing.push(format!("`{COMMAND}`"));
        }
        if self.decision_field.is_none() && self.probe != Some(true) && !self.yes {
            missing.push("`--decision-field decision` (or `--probe`, to find it by a run)".into());
        }
        if self.governing_types.is_empty() && !self.yes {
            missing.push("`--governing-type gate_rule`".into());
        }
        if missing.is_empty() {
            return Ok(());
        }
        let flags = missing.join(" and ");
        let help = match self.yes {
            true => format!("add {flags}, with what fits your pipeline"),
            false => format!(
                "add {flags}, with what fits your pipeline; `--yes` finds out the rest by a run of the \
                 pipeline, and on a terminal without `--yes` each is asked for"
            ),
        };
        Err(Misuse::new("there is nobody to ask, and not every answer is given").help(help))
    }

    /// The answers of the file; where there is none yet, one that is all right.
    pub(super) fn answers(&self) -> Answers {
        let or = |said: &Option<String>, default: String| said.clone().unwrap_or(default);
        let fine = Answers::default();
        Answers {
            run: or(&self.run, fine.run),
            cases: or(&self.cases, fine.cases),
            decision_field: or(&self.decision_field, fine.decision_field),
            governing_types: self.governing_types.clone(),
        }
    }

    /// Whether nothing is said of the pipeline yet.
    pub(super) fn is_silent(&self) -> bool {
        let texts = [&self.run, &self.cases, &self.decision_field];
        let switches = [self.probe, self.gitignore, self.workflow];
        texts.iter().all(|text| text.is_none())
            && switches.iter().all(Option::is_none)
            && self.governing_types.is_empty()
    }

    /// The command line that says the same, for a shell.
    pub(super) fn command_line(&self) -> String {
        let mut words = vec!["kelvin".to_owned(), "init".to_owned()];
        let mut say = |flag: &str, value: &str| {
            // With a `=`, so that no value can be taken for a flag.
            words.push(quoted(&format!("{flag}={value}")));
        };
        if self.file != Path::new("kelvin.yaml") {
            say("--config", &self.file.to_string_lossy());
        }
        for (flag, value) in [
            ("--run", &self.run),
            ("--cases", &self.cases),
            ("--decision-field", &self.decision_field),
        ] {
            if let Some(value) = value {
                say(flag, value);
            }
        }
        for name in &self.governing_types {
            say("--governing-type", name);
        }
        let switches = [
            ("probe", self.probe),
            ("gitignore", self.gitignore),
            ("workflow", self.workflow),
            ("force", self.force.then_some(true)),
        ];
        for (name, said) in switches {
            words.extend(said.map(|yes| format!("--{}{name}", if yes { "" } else { "no-" })));
        }
        words.join(" ")
    }
}
