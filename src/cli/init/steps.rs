//! All questions in order; after them, the files are written.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::evaluators::{self, Evaluator};
use super::files::Target;
use super::kind::{self, PipelineKind};
use super::request::Request;
use super::survey::Survey;
use super::{
    acts, answers, corpus, decision, files, first, governing, scores, searches, survey, template,
    trial, workflows,
};
use crate::cli::again::Again;
use crate::cli::ask::{self, Ask, Stopped};
use crate::cli::check::shown;
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_evidence::EvidenceSettings;
use kelvin_page::safe;
use kelvin_run::config::Config;

/// Finds out everything that is not known yet, and writes the files. Returns the items that should be measured
/// immediately: an empty list for all of them, and none if the user did not agree.
pub(super) fn run(
    registry: Registry,
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Vec<String>>> {
    let target = Target::of(&request.file)?;
    if workflows::are_all(request, &target) {
        return workflows::write(registry, request, &target, out).map(|()| None);
    }
    target.refuse(&target.config, request.force)?;
    if request.workflow == Some(true) && !workflows::are_written(request, &target) {
        for (path, _) in target.workflows(request.on) {
            target.refuse(&path, request.force)?;
        }
    }
    let evaluators = match evaluators::may_be_all(request) {
        true => evaluators::find(&target.root),
        false => Vec::new(),
    };
    let survey = Survey::of_folder(&target.root);
    if ask.is_none() && evaluators.is_empty() {
        request.complete(&target.root, &survey)?;
    }
    let mut steps = Steps {
        registry,
        said: request.clone(),
        ask,
        out,
        target,
    };
    let ended = steps.walk(&evaluators, &survey);
    if let Err(error) = &ended {
        let mut last = String::new();
        if error.is::<Stopped>() {
            last.push_str("stopped; nothing was written\n");
        }
        let (before, now) = (request.again(), steps.said.again());
        if ask.is_some() && before.command() != now.command() {
            let when = match error.is::<Stopped>() {
                true => "with the answers so far",
                false => "when that is fixed, with the answers so far",
            };
            last.push_str(&now.next_when(when));
        }
        // If the terminal is gone, the text cannot be shown, and this is not another error.
        let _ = steps.out.write_all(last.as_bytes());
    }
    ended
}

/// The answers so far, and the person to ask.
pub(super) struct Steps<'a> {
    /// The kinds of probes that the program knows.
    pub(super) registry: Registry,
    /// The answers from the command line, and later from the questions. No question is asked whose answer is known.
    pub(super) said: Request,
    /// The person, if there is one.
    pub(super) ask: Option<&'a dyn Ask>,
    pub(super) target: Target,
    pub(super) out: &'a mut dyn Write,
}

impl Steps<'_> {
    /// Asks every question once, in order. No file is written before the last question is answered. If the project
    /// already has evaluators, no more questions are needed.
    fn walk(
        &mut self,
        evaluators: &[Evaluator],
        survey: &Survey,
    ) -> anyhow::Result<Option<Vec<String>>> {
        if !evaluators.is_empty() && self.takes(evaluators)? {
            let config = evaluators::configuration(evaluators);
            let pages = self.pages(&config);
            self.write(&BTreeSet::new(), &(config + &template::harmless(&pages)))?;
            self.next()?;
            return Ok(None);
        }
        let kind = kind::settle(self, survey)?;
        match kind {
            PipelineKind::Scores => scores::command(self)?,
            _ => self.command(kind, survey)?,
        }
        let (mut left, mut seconds) = (BTreeSet::new(), None);
        match kind {
            PipelineKind::Decides => {
                let corpus = corpus::settle(self, survey)?;
                let first = corpus.cases.first().map_or("", |case| &*case.name);
                let run = |config: &Config| trial::run_case(config, &corpus);
                let trial = trial::settle(
                    self,
                    &trial::TrialSubject::Input("case", first.into()),
                    &run,
                )?;
                decision::settle(self, trial.look.as_ref())?;
                let decided = trial
                    .look
                    .as_ref()
                    .and_then(|look| look.decided(&self.said));
                let (corpus, suspects) = corpus::settle_label(self, survey, corpus, decided)?;
                governing::settle(self, &corpus, &suspects)?;
                left = trial.left;
                seconds = trial.look.map(|look| look.outcome.seconds);
            }
            PipelineKind::Searches => left = searches::settle(self, survey)?,
            PipelineKind::Answers => left = answers::settle(self, survey)?,
            PipelineKind::Acts => acts::settle(self, survey)?,
            PipelineKind::Scores => left = scores::settle(self)?,
        }
        // A mistake in a file of questions is reported before the first file is written.
        let config = self.config()?;
        for probe in self.registry.kinds() {
            if config.configures(probe.name()) {
                probe.read(&config)?;
            }
        }
        self.said.harmless = self.pages(&template::configuration(&self.said));
        self.write(&left, &template::configuration(&self.said))?;
        // The files already exist at this point, so leaving this question means no.
        let items = match first::offer(self, seconds) {
            Err(error) if error.is::<Stopped>() => None,
            items => items?,
        };
        if items.is_none() {
            self.next()?;
        }
        Ok(items)
    }

    /// The file of records that `--cases` names, or the only such file; otherwise the person is asked. If nobody can be
    /// asked, a file that alone is named like a golden set is taken.
    pub(super) fn records(&mut self, survey: &Survey, question: &str) -> anyhow::Result<String> {
        let certain = survey.certain(self.ask.is_some());
        let path = match (&self.said.cases, certain, self.ask) {
            (Some(path), ..) => path.clone(),
            (None, Some(file), _) => {
                let shown = safe::line(&file.path);
                self.print(&format!(
                    "the questions are those of `{shown}` (`--cases` names others)"
                ))?;
                file.path.clone()
            }
            (None, None, Some(ask)) => {
                let root = self.target.root.clone();
                let default = survey.data.first().map(|file| file.path.as_str());
                ask.line(question, default, &|text| match root.join(text).exists() {
                    true => Ok(()),
                    false => Err(format!("there is no `{text}`")),
                })?
            }
            (None, None, None) if survey.data.is_empty() => {
                return Err(Misuse::new("no file of questions was found")
                    .help(
                        "name it with `--cases FILE`: JSON lines, a JSON array or a table, with one question each",
                    )
                    .into());
            }
            (None, None, None) => {
                let names: Vec<String> = survey
                    .data
                    .iter()
                    .map(|file| format!("`{}`", safe::line(&file.path)))
                    .collect();
                return Err(Misuse::new(format!(
                    "which file has the questions is not known; there are {}",
                    names.join(", ")
                ))
                .help("name it with `--cases FILE`")
                .into());
            }
        };
        self.said.cases = Some(path.clone());
        Ok(path)
    }

    /// The pages that a change may touch without a run. Without git, nobody can tell which files a change touches.
    fn pages(&self, config: &str) -> Vec<String> {
        match self.target.is_in_git() {
            true => survey::pages(&self.target.root, config),
            false => Vec::new(),
        }
    }

    /// Whether the configuration should run the evaluators that were found; yes if nobody can be asked.
    fn takes(&mut self, evaluators: &[Evaluator]) -> anyhow::Result<bool> {
        let shown: Vec<String> = evaluators
            .iter()
            .map(|one| safe::line(&one.shown()))
            .collect();
        self.print(&format!(
            "This project has an evaluator: {}",
            shown.join(", ")
        ))?;
        match self.ask {
            Some(ask) => ask::yes(ask, "Shall Kelvin run it and judge its results?", true),
            None => Ok(true),
        }
    }

    /// The configuration with the answers so far.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        self.try_with(|_| {})
    }

    /// The configuration with the answers so far and one change.
    ///
    /// # Errors
    ///
    /// Fails with the problem in one line: the file with the place of the problem was not written.
    pub(super) fn try_with(&self, change: impl FnOnce(&mut Request)) -> anyhow::Result<Config> {
        let mut said = self.said.clone();
        change(&mut said);
        let configured = self
            .registry
            .configured_by(&template::configuration(&said), &said.file);
        configured.map_err(|error| match error.is::<Misuse>() {
            true => without_place(&error).into(),
            false => error,
        })
    }

    /// Checks whether a configuration with this answer can be read; if not, says why, in one line.
    pub(super) fn accepts(&self, change: impl FnOnce(&mut Request)) -> Result<(), String> {
        let tried = self.try_with(change);
        tried.map(|_| ()).map_err(|error| brief(&error))
    }

    /// Prints a line between the questions.
    pub(super) fn print(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.out, "{line}")?;
        Ok(())
    }

    fn command(&mut self, kind: PipelineKind, survey: &Survey) -> anyhow::Result<()> {
        // Each run of an agent needs its own working directory, which a function does not have.
        let functions = match kind {
            PipelineKind::Acts => Vec::new(),
            _ => survey.functions(kind),
        };
        match (&self.said.run, self.ask) {
            (None, Some(ask)) => {
                if functions.is_empty() {
                    if let Some(why) = survey.uncallable(kind) {
                        self.print(&safe::line(&why))?;
                    }
                    self.print(
                        "The command reads one case and writes one JSON object, for example\n  \
                         python3 pipeline.py {input} {output}\n\
                         Where the pipeline prints its answer:\n  \
                         python3 pipeline.py {input} > {output}\n\
                         Where it is a service, its address:\n  \
                         http://127.0.0.1:8000/ask",
                    )?;
                } else {
                    let shown = functions
                        .iter()
                        .map(|name| safe::line(&format!("`{name}`")));
                    let shown: Vec<String> = shown.collect();
                    self.print(&format!(
                        "Functions in Python here: {}. A command has `{{input}}` and `{{output}}` where it takes the names of \
                         the two files; a service is named by its address, as http://127.0.0.1:8000/ask.",
                        shown.join(", ")
                    ))?;
                }
                let check = |text: &str| self.accepts(|said| said.run = Some(text.to_owned()));
                let question = match kind {
                    PipelineKind::Acts => "Which command runs your pipeline?",
                    _ => {
                        "Which command runs your pipeline? (or a function in Python, as `module:function`)"
                    }
                };
                self.said.run = Some(ask.line(question, functions.first().copied(), &check)?);
            }
            (None, None) => {
                let function = survey.function(kind);
                if let Some(function) = function.filter(|_| kind != PipelineKind::Acts) {
                    let shown = safe::line(function);
                    self.print(&format!(
                        "the pipeline is `{shown}` (`--run` names another)"
                    ))?;
                    self.said.run = Some(function.to_owned());
                }
            }
            (Some(_), _) => {}
        }
        match self.said.run {
            Some(_) => self.config().map(|_| ()),
            None => Err(Misuse::new("`--run COMMAND` is missing").into()),
        }
    }

    /// Writes the files. `left` are the ignore lines for files that the trial has left in the repository.
    fn write(&mut self, left: &BTreeSet<String>, config: &str) -> anyhow::Result<()> {
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if self.said.gitignore.unwrap_or(self.target.is_in_git()) {
            files.extend(files::gitignores(&self.target, left)?);
        }
        if self.said.workflow == Some(true) {
            let workflows = self.target.workflows(self.said.on).into_iter();
            files.extend(workflows.map(|(path, text)| (path, text.into_bytes())));
        }
        // The configuration comes last, so that `init` can be run again after an earlier failure.
        files.push((self.target.config.clone(), config.as_bytes().to_vec()));
        for (path, text) in &files {
            file::write(path, text)?;
            writeln!(self.out, "wrote {}", safe::line(&shown(path)))?;
        }
        Ok(())
    }

    /// Says what comes next.
    fn next(&mut self) -> anyhow::Result<()> {
        if self.ask.is_some() && self.said.workflow.is_none() && self.target.is_in_git() {
            self.print(
                "`kelvin init --workflow` adds GitHub workflows that check every pull request",
            )?;
        }
        let file = shown(&self.target.config);
        let check = Again::kelvin("check").config(Path::new(&file));
        write!(self.out, "{}", check.next())?;
        Ok(())
    }
}

/// The settings of the probe to which the answers belong.
pub(super) fn settings(config: &Config) -> &EvidenceSettings {
    let settings = config.settings();
    settings.expect("the template has all keys of this probe")
}

/// An error without its place in the configuration: what is wrong and what to do.
fn without_place(error: &anyhow::Error) -> Misuse {
    let text = format!("{error:#}");
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default();
    let help = lines.find_map(|line| line.split_once("help: ").map(|(_, help)| help));
    match help {
        Some(help) => Misuse::new(what).help(help),
        None => Misuse::new(what),
    }
}

/// An error in one line, shown below a question.
fn brief(error: &anyhow::Error) -> String {
    let Misuse { what, help, .. } = without_place(error);
    match help {
        Some(help) => format!("{what}; {help}"),
        None => what,
    }
}
