//! The way through the questions, forwards and back, and the files at its end.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::files::Target;
use super::look::Look;
use super::request::Request;
use super::{Question, corpus, decision, governing, ignored, kept, template, trial, workflows};
use crate::cli::again::Again;
use crate::cli::ask;
use crate::cli::ask::{Ask, Back, Stopped};
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_base::notice::Notice;
use kelvin_evidence::EvidenceSettings;
use kelvin_evidence::cases;
pub(super) use kelvin_evidence::cases::Corpus;
use kelvin_page::safe;
use kelvin_run::config::Config;

/// Finds out what is not yet known, and writes the files.
pub(super) fn run(
    registry: Registry,
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let target = Target::of(&request.file)?;
    if workflows::are_all(request, &target) {
        return workflows::write(registry, request, &target, out);
    }
    target.refuse(&target.config, request.force)?;
    if request.workflow == Some(true) && !is_written(&target) {
        for (path, _) in target.workflows() {
            target.refuse(&path, request.force)?;
        }
    }
    if ask.is_none() {
        request.complete()?;
    }
    let mut request = request.clone();
    if let Some(ask) = ask {
        kept::offer(&target.root, &mut request, ask, out)?;
    }
    let mut steps = Steps {
        registry,
        given: request.clone(),
        said: request.clone(),
        ask,
        out,
        target,
        corpus: None,
        look: None,
        left: BTreeSet::new(),
        asked: false,
    };
    let mut answered = Vec::new();
    let ended = steps.walk(&mut answered).and_then(|()| steps.write());
    match &ended {
        Ok(()) => kept::forget(&steps.target.root),
        Err(error) => {
            let told = broken_off(&steps, error.is::<Stopped>(), &request);
            // A terminal that went away shows nothing of it, and is no further error.
            let _ = steps.out.write_all(told.as_bytes());
        }
    }
    ended
}

/// Keeps the answers, and says how to go on. No answer is lost: typed again, it would be another one.
fn broken_off(steps: &Steps<'_>, is_stop: bool, request: &Request) -> String {
    let stopped = |told: &str| match is_stop {
        true => format!("stopped; {told}\n"),
        false => String::new(),
    };
    let line = steps.said.command_line();
    if steps.ask.is_none() || line == request.command_line() && request.is_silent() {
        return stopped("nothing was written");
    }
    let told = match kept::keep(&steps.target.root, &steps.said) {
        Ok(()) => stopped("nothing was written but the answers, for the next `kelvin init`"),
        Err(error) => {
            let why = safe::lines(&format!("{error:#}"));
            format!("{}{why}\n", stopped("nothing was written"))
        }
    };
    let line = safe::lines(&line);
    format!("{told}next, with the answers so far: {line}\n")
}

/// The person wants to answer a question anew.
#[derive(Debug)]
pub(super) struct To(pub(super) Question);

impl std::fmt::Display for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("another question was asked for")
    }
}

impl std::error::Error for To {}

/// What is known so far, and whom to ask.
pub(super) struct Steps<'a> {
    /// The kinds of probes that the program knows.
    pub(super) registry: Registry,
    /// What the command line says: it is not asked for.
    pub(super) given: Request,
    /// The same with the answers. What stands there when a question is asked again is its default.
    pub(super) said: Request,
    /// The person, if there is one.
    pub(super) ask: Option<&'a dyn Ask>,
    /// What the pipeline made of the first case, where it was run.
    pub(super) look: Option<Look>,
    /// Whether the question at hand was put to the person.
    pub(super) asked: bool,
    /// What the runs so far have left in the repository, as lines for `.gitignore`.
    pub(super) left: BTreeSet<String>,
    pub(super) target: Target,
    pub(super) out: &'a mut dyn Write,
    pub(super) corpus: Option<Corpus>,
}

impl Steps<'_> {
    /// Every question in its order. `answered` gets those that were put to the person.
    fn walk(&mut self, answered: &mut Vec<Question>) -> anyhow::Result<()> {
        if self.ask.is_some() {
            writeln!(
                self.out,
                "Every answer can be changed: type < or back to return to the question before."
            )?;
        }
        let mut place = 0;
        while let Some(question) = Question::ALL.get(place) {
            self.asked = false;
            let ended = self.answer(*question);
            let to = match ended {
                Ok(()) => {
                    answered.extend(self.asked.then_some(*question));
                    place += 1;
                    continue;
                }
                Err(error) if error.is::<Back>() => answered.last().copied(),
                Err(error) => Some(error.downcast::<To>()?.0),
            };
            let Some(to) = to else {
                writeln!(self.out, "this is the first question")?;
                continue;
            };
            self.open(to);
            place = at(to);
            answered.retain(|question| at(*question) < place);
        }
        Ok(())
    }

    fn answer(&mut self, question: Question) -> anyhow::Result<()> {
        match question {
            Question::Command => self.command(),
            Question::Cases => corpus::settle(self),
            Question::Trial => trial::settle(self),
            Question::Decision => decision::settle(self),
            Question::GoverningTypes => governing::settle(self),
            Question::Gitignore => ignored::settle(self),
            Question::Workflow => self.workflow(),
        }
    }

    /// Has a question asked also where the command line has an answer.
    fn open(&mut self, question: Question) {
        match question {
            Question::Command => self.given.run = None,
            Question::Cases => self.given.cases = None,
            _ => {}
        }
    }

    /// The configuration with the answers so far.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        self.try_with(|_| {})
    }

    /// The same without the field of the decision, which an earlier answer may have named for another command.
    pub(super) fn config_without_decision(&self) -> anyhow::Result<Config> {
        self.try_with(|said| said.decision_field = None)
    }

    /// The configuration with the answers so far and a change.
    pub(super) fn try_with(&self, change: impl FnOnce(&mut Request)) -> anyhow::Result<Config> {
        let mut said = self.said.clone();
        change(&mut said);
        self.registry
            .configured_by(&template::configuration(&said.answers()), &said.file)
    }

    /// Reads the cases that the answers name.
    pub(super) fn load(&self) -> anyhow::Result<(Corpus, Vec<Notice>)> {
        let config = self.config()?;
        cases::load(&config.root, settings(&config))
    }

    /// The cases, once they are read.
    pub(super) fn corpus(&self) -> anyhow::Result<&Corpus> {
        let corpus = self.corpus.as_ref();
        corpus.ok_or_else(|| anyhow::anyhow!("the cases are not read yet"))
    }

    /// The name of the first case.
    pub(super) fn first_case(&self) -> String {
        let cases = self.corpus.as_ref().map(|corpus| &corpus.cases);
        let first = cases.and_then(|cases| cases.first());
        first.map_or_else(String::new, |case| safe::line(&case.name))
    }

    /// Says something beside the questions.
    pub(super) fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.out, "{line}")?;
        Ok(())
    }

    fn command(&mut self) -> anyhow::Result<()> {
        let before = self.said.run.take();
        let run = match (&self.given.run, self.ask) {
            (Some(run), _) => run.clone(),
            (None, Some(ask)) => {
                self.asked = true;
                writeln!(
                    self.out,
                    "The command reads one case and writes one JSON object, for example\n  \
                     python3 pipeline.py {{input}} {{output}}\n\
                     Where the pipeline prints its answer:\n  \
                     python3 pipeline.py {{input}} > {{output}}"
                )?;
                let check = |text: &str| {
                    self.try_with(|said| said.run = Some(text.to_owned()))
                        .map_or_else(|error| Err(brief(&error)), |_| Ok(()))
                };
                let answer = ask::text(
                    ask,
                    "Which command runs your pipeline?",
                    before.as_deref(),
                    &check,
                );
                if answer.is_err() {
                    self.said.run = before;
                }
                answer?
            }
            (None, None) => return Err(Misuse::new("`--run COMMAND` is missing").into()),
        };
        self.said.run = Some(run);
        self.config_without_decision().map(|_| ())
    }

    fn workflow(&mut self) -> anyhow::Result<()> {
        let workflows = self.target.workflows();
        let offered = self.given.force || !workflows.iter().any(|(path, _)| path.exists());
        let wanted = match (self.given.workflow, self.ask) {
            (Some(said), _) => said,
            (None, Some(ask)) if offered => {
                self.asked = true;
                let question = "Write GitHub workflows that check every pull request?";
                ask::yes(ask, question, self.said.workflow.unwrap_or(false))?
            }
            (None, _) => false,
        };
        self.said.workflow = Some(wanted);
        Ok(())
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        if self.said.gitignore == Some(true) {
            files.extend(ignored::files(&self.target, &self.left)?);
        }
        if self.said.workflow == Some(true) {
            let workflows = self.target.workflows();
            files.extend(workflows.map(|(path, text)| (path, text.into_bytes())));
        }
        // Last, so that a failure before it leaves `init` ready to be run again.
        let config = template::configuration(&self.said.answers()).into_bytes();
        files.push((self.target.config.clone(), config));
        for (path, text) in &files {
            self.target.write(path, text)?;
            writeln!(self.out, "wrote {}", safe::line(&self.target.shown(path)))?;
        }
        let file = self.target.shown(&self.target.config);
        let check = Again::kelvin("check").config(Path::new(&file));
        write!(self.out, "{}", check.next())?;
        Ok(())
    }
}

/// The place of a question among all.
fn at(question: Question) -> usize {
    let place = Question::ALL.iter().position(|other| *other == question);
    place.unwrap_or_default()
}

/// What the answers say of the probe that they are about.
pub(super) fn settings(config: &Config) -> &EvidenceSettings {
    let settings = config.settings();
    settings.expect("the template has all keys of this probe")
}

/// Whether the workflows are there as they would be written, so that a second `init` goes through.
fn is_written(target: &Target) -> bool {
    let is_there = |(path, text): &(PathBuf, String)| {
        std::fs::read(path).is_ok_and(|there| there == text.as_bytes())
    };
    target.workflows().iter().all(is_there)
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// An error in one line, for the foot of a question: what is wrong and what to do.
pub(super) fn brief(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default();
    let help = lines.find_map(|line| line.split_once("help: ").map(|(_, help)| help));
    match help {
        Some(help) => format!("{what}; {help}"),
        None => what.to_owned(),
    }
}
