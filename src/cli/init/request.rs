//! The answers of a person, first from the command line and then from the questions.

use std::path::{Path, PathBuf};

use super::InitArgs;
use super::kind::{PipelineKind, likely};
use super::scores;
use super::survey::Survey;
use super::workflows::WorkflowTrigger;
use crate::cli::again::Again;
use kelvin_base::exit::Misuse;
use kelvin_page::safe;

/// The answers of a person. A missing answer is found out by the program, or asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    /// The file to write.
    pub(super) file: PathBuf,
    pub(super) kind: Option<PipelineKind>,
    pub(super) run: Option<String>,
    pub(super) cases: Option<String>,
    pub(super) decision_field: Option<String>,
    /// Whether the decision is a list, which is compared as a set. No flag sets it, since a trial finds it out.
    pub(super) decides_lists: bool,
    /// An empty list means that there is no answer yet.
    pub(super) governing_types: Vec<String>,
    /// The types of turns in the cases. No flag sets them, since they are read from the cases.
    pub(super) keep_order: Vec<String>,
    /// The role of each field of a record, with its name in the file. No flag sets them, since they are read from the
    /// file.
    pub(super) fields: Vec<(String, String)>,
    /// The names of the fields in an output of a search, as a mapping on one line; empty if they need no mention. No flag
    /// sets them, since a trial finds them.
    pub(super) output_fields: String,
    /// The name of the language model that grades answers, and the address of its server.
    pub(super) judge: Option<String>,
    pub(super) address: Option<String>,
    /// The folder that is copied for each run of an agent, and the command that checks the result in the copy.
    pub(super) workspace: Option<String>,
    pub(super) check: Option<String>,
    /// The file that an evaluator writes.
    pub(super) scores: Option<String>,
    /// How that file is read, as keys of a suite with their values. No flag sets them, since a trial finds them.
    pub(super) results: Vec<(&'static str, String)>,
    /// The pages that change no answer. No flag sets them, since they are found in the project.
    pub(super) harmless: Vec<String>,
    /// Whether to run the pipeline once.
    pub(super) probe: Option<bool>,
    pub(super) gitignore: Option<bool>,
    pub(super) workflow: Option<bool>,
    pub(super) on: WorkflowTrigger,
    /// Whether the program should find out as much as possible without asking questions.
    pub(super) yes: bool,
    pub(super) force: bool,
}

impl From<InitArgs> for Request {
    fn from(args: InitArgs) -> Self {
        let said = |yes: bool, no: bool| (yes || no).then_some(yes);
        // Only an agent has a workspace and a check, and only answers in prose have a judge.
        let acts = args.workspace.is_some() || args.check.is_some();
        let answers = args.judge.is_some() || args.judge_url.is_some();
        let scores = args.scores.is_some();
        let kind = args
            .kind
            .or(scores.then_some(PipelineKind::Scores))
            .or(acts.then_some(PipelineKind::Acts))
            .or(answers.then_some(PipelineKind::Answers));
        Self {
            file: args.config,
            kind,
            run: args.run,
            cases: args.cases,
            decision_field: args.decision_field,
            governing_types: args.governing_types,
            workspace: args.workspace,
            check: args.check,
            judge: args.judge,
            address: args.judge_url,
            scores: args.scores,
            probe: said(args.probe, args.no_probe),
            gitignore: said(args.gitignore, args.no_gitignore),
            workflow: said(args.workflow, args.no_workflow),
            on: args.on.unwrap_or_default(),
            yes: args.yes,
            force: args.force,
            ..Self::default()
        }
    }
}

/// The example command in messages.
const COMMAND: &str = "--run 'python3 pipeline.py {input} {output}'";

impl Request {
    /// Checks that no answer is missing if nobody can be asked and `--yes` is not given.
    pub(super) fn complete(&self, root: &Path, survey: &Survey) -> Result<(), Misuse> {
        let mut missing = Vec::new();
        let (kind, _) = likely(self, survey);
        let is_found = self.yes && survey.function(kind).is_some();
        if kind == PipelineKind::Scores {
            if self.run.is_none() && self.scores.is_none() {
                missing.push("`--run 'python3 evals.py {output}'` or `--scores FILE`".to_owned());
            }
        } else if self.run.is_none() && !is_found {
            let functions = survey.functions(kind).into_iter().take(3);
            let functions: Vec<String> = functions
                .map(|function| format!("`--run {function}`"))
                .collect();
            missing.push(match functions.is_empty() {
                true => format!("`{COMMAND}`"),
                false => format!("{} or another `--run`", functions.join(", ")),
            });
        }
        let decides = kind == PipelineKind::Decides;
        if decides && self.decision_field.is_none() && self.probe != Some(true) && !self.yes {
            missing.push("`--decision-field decision` (or `--probe`, to find it by a run)".into());
        }
        if decides && self.governing_types.is_empty() && !self.yes {
            missing.push("`--governing-type gate_rule`".into());
        }
        if missing.is_empty() {
            return Ok(());
        }
        let why = survey
            .uncallable(kind)
            .filter(|_| self.run.is_none() && !is_found);
        let why = why.map_or_else(String::new, |why| format!("; {}", safe::line(&why)));
        let flags = missing.join(" and ");
        let command = scores::commands(root).into_iter().next();
        let again = command.as_ref().and_then(|command| {
            let again = Again::kelvin("init").config(&self.file);
            let again = again.choice("--kind", Some(PipelineKind::Scores));
            again.flag("--run", command).switch("--yes", true).command()
        });
        let scores = match (self.is_silent(), command.zip(again)) {
            (false, _) => String::new(),
            (true, Some((command, again))) => format!(
                "; if `{command}` writes scores into a file, no pipeline is needed: `{again}`"
            ),
            (true, None) => {
                "; scores that a script of yours writes into a file need no pipeline: `--kind scores --run COMMAND`"
                    .to_owned()
            }
        };
        let scores = safe::line(&scores);
        let help = match self.yes {
            true => format!("add {flags}, with what fits your pipeline{why}{scores}"),
            false => format!(
                "add {flags}, with what fits your pipeline; `--yes` finds out the rest by a run of the \
                 pipeline, and on a terminal without `--yes` each is asked for{why}{scores}"
            ),
        };
        Err(Misuse::new("there is nobody to ask, and not every answer is given").help(help))
    }

    /// Whether no answer about the pipeline was given yet.
    pub(super) fn is_silent(&self) -> bool {
        let texts = [
            &self.run,
            &self.cases,
            &self.decision_field,
            &self.workspace,
            &self.check,
            &self.judge,
            &self.address,
            &self.scores,
        ];
        let switches = [self.probe, self.gitignore, self.workflow];
        texts.iter().all(|text| text.is_none())
            && switches.iter().all(Option::is_none)
            && self.kind.is_none()
            && self.governing_types.is_empty()
    }

    /// The command line with the same answers.
    pub(super) fn again(&self) -> Again {
        // A decision is proposed by default, so this kind need not be repeated on the command line.
        let decides = |kind: &PipelineKind| *kind == PipelineKind::Decides;
        let mut again = Again::kelvin("init")
            .config(&self.file)
            .choice("--kind", self.kind.filter(|kind| !decides(kind)))
            .given("--run", self.run.as_ref())
            .given("--cases", self.cases.as_ref())
            .given("--decision-field", self.decision_field.as_ref());
        for name in &self.governing_types {
            again = again.flag("--governing-type", name);
        }
        again = again
            .given("--workspace", self.workspace.as_ref())
            .given("--check", self.check.as_ref())
            .given("--judge", self.judge.as_ref())
            .given("--judge-url", self.address.as_ref())
            .given("--scores", self.scores.as_ref());
        for (yes, no, said) in [
            ("--probe", "--no-probe", self.probe),
            ("--gitignore", "--no-gitignore", self.gitignore),
            ("--workflow", "--no-workflow", self.workflow),
        ] {
            again = again
                .switch(yes, said == Some(true))
                .switch(no, said == Some(false));
        }
        let on = (self.on != WorkflowTrigger::Push).then_some(self.on);
        again.choice("--on", on).switch("--force", self.force)
    }
}
