//! The steps of `kelvin init`, in their order: command, cases, decision field, governing types,
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use super::ask::Ask;
use super::files::Target;
use super::template::{self, Answers};
use super::{Request, decision};
use crate::config::Config;
use crate::exit::Misuse;
use crate::page::safe;
use crate::probe;
use crate::probe::evidence::EvidenceSettings;
use crate::probe::evidence::cases::{self, Corpus};
use crate::probe::evidence::config::unit_type;

/// Finds out what is not yet known, and writes the files.
pub(super) fn run(
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let target = Target::of(&request.file)?;
    target.refuse(&target.config, request.force)?;
    if request.workflow == Some(true) && !is_written(&target) {
        for (path, _) in target.workflows() {
            target.refuse(&path, request.force)?;
        }
    }
    if ask.is_none() {
        request.complete()?;
    }
    let mut steps = Steps {
        request,
        ask,
        out,
        target,
        answers: Answers::default(),
    };
    steps.command()?;
    let corpus = steps.cases()?;
    decision::settle(&mut steps, &corpus)?;
    steps.governing_types(&corpus)?;
    steps.write()
}

/// What is known so far, and whom to ask.
pub(super) struct Steps<'a> {
    /// What the command line says.
    pub(super) request: &'a Request,
    /// The person, if there is one.
    pub(super) ask: Option<&'a dyn Ask>,
    /// Where to tell what was found.
    pub(super) out: &'a mut dyn Write,
    target: Target,
    /// The answers; where there is none yet, one that is all right.
    pub(super) answers: Answers,
}

impl Steps<'_> {
    /// The configuration with the answers so far.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        self.try_with(|_| {})
    }

    /// The configuration with the answers so far and a change.
    pub(super) fn try_with(&self, change: impl FnOnce(&mut Answers)) -> anyhow::Result<Config> {
        let mut answers = self.answers.clone();
        change(&mut answers);
        probe::configured_by(&template::configuration(&answers), &self.request.file)
    }

    fn command(&mut self) -> anyhow::Result<()> {
        let run = match (&self.request.run, self.ask) {
            (Some(run), _) => run.clone(),
            (None, Some(ask)) => {
                writeln!(
                    self.out,
                    "The command reads one case and writes one JSON object, for example\n  \
                     python3 pipeline.py {{input}} {{output}}"
                )?;
                let check = |text: &str| {
                    self.try_with(|answers| answers.run = text.to_owned())
                        .map_or_else(|error| Err(brief(&error)), |_| Ok(()))
                };
                ask.text("Which command runs your pipeline?", None, &check)?
            }
            (None, None) => return Err(Misuse::new("`--run COMMAND` is missing").into()),
        };
        self.answers.run = run;
        self.config().map(|_| ())
    }

    fn cases(&mut self) -> anyhow::Result<Corpus> {
        loop {
            let asked = match (&self.request.cases, self.ask) {
                (Some(cases), _) => Err(cases.clone()),
                (None, None) => Err("cases".to_owned()),
                (None, Some(ask)) => {
                    Ok(ask.text("Which folder holds the cases?", Some("cases"), &|_| Ok(()))?)
                }
            };
            let can_ask = asked.is_ok();
            self.answers.cases = asked.unwrap_or_else(|given| given);
            let loaded = self.config().and_then(|config| {
                let settings = settings(&config);
                cases::load(&config.root, settings)
            });
            match loaded {
                Ok((corpus, notices)) => {
                    let types = types(&corpus).len();
                    writeln!(
                        self.out,
                        "{} with {}",
                        counted(corpus.cases.len(), "case"),
                        counted(types, "type") + " of units"
                    )?;
                    for notice in notices {
                        writeln!(self.out, "  {}", safe::line(&notice.text))?;
                    }
                    return Ok(corpus);
                }
                Err(error) if can_ask => {
                    writeln!(self.out, "{}", safe::lines(&format!("{error:#}")))?
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn governing_types(&mut self, corpus: &Corpus) -> anyhow::Result<()> {
        let found = types(corpus);
        if found.is_empty() {
            return Err(
                Misuse::new("no case has a unit, so nothing can govern the decision")
                    .help("begin each piece of evidence with a heading such as `## Gate Rule`")
                    .into(),
            );
        }
        self.answers.governing_types = match self.ask {
            _ if !self.request.governing_types.is_empty() => self.request.governing_types.clone(),
            None => return Err(Misuse::new("`--governing-type TYPE` is missing").into()),
            Some(ask) => {
                let choices: Vec<(String, bool)> = found
                    .iter()
                    .map(|(name, cases)| {
                        let within = counted(*cases, "case");
                        (
                            format!("{}  (in {within})", safe::line(name)),
                            seems_to_govern(name),
                        )
                    })
                    .collect();
                loop {
                    let chosen =
                        ask.several("Which types should govern the decision?", &choices)?;
                    if !chosen.is_empty() {
                        let names: Vec<&str> = found.keys().copied().collect();
                        break chosen
                            .into_iter()
                            .map(|place| names[place].to_owned())
                            .collect();
                    }
                    writeln!(self.out, "choose at least one")?;
                }
            }
        };
        // Loading once more finds types that no case has, with the words of `check`.
        let config = self.config()?;
        cases::load(&config.root, settings(&config)).map(|_| ())
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let gitignore = match (self.request.gitignore, self.ask) {
            (Some(said), _) => said,
            (None, Some(ask)) => {
                ask.yes("Keep the output folder out of git, in `.gitignore`?", true)?
            }
            (None, None) => self.target.is_in_git(),
        };
        let workflows = self.target.workflows();
        let offered = self.request.force || !workflows.iter().any(|(path, _)| path.exists());
        let workflow_wanted = match (self.request.workflow, self.ask) {
            (Some(said), _) => said,
            (None, Some(ask)) if offered => ask.yes(
                "Write GitHub workflows that check every pull request?",
                false,
            )?,
            (None, _) => false,
        };
        let mut files: Vec<(std::path::PathBuf, Vec<u8>)> = Vec::new();
        if gitignore {
            files.extend(self.target.gitignore()?);
        }
        if workflow_wanted {
            files.extend(workflows.map(|(path, text)| (path, text.into_bytes())));
        }
        // Last, so that a failure before it leaves `init` ready to be run again.
        let config = template::configuration(&self.answers).into_bytes();
        files.push((self.target.config.clone(), config));
        for (path, text) in &files {
            self.target.write(path, text)?;
            writeln!(self.out, "wrote {}", safe::line(&self.target.shown(path)))?;
        }
        let file = self.target.shown(&self.target.config);
        if file == "kelvin.yaml" {
            writeln!(self.out, "next: kelvin check")?;
        } else {
            writeln!(
                self.out,
                "next: kelvin check --config {}",
                safe::line(&file)
            )?;
        }
        Ok(())
    }
}

/// What the answers say of the probe that they are about.
pub(super) fn settings(config: &Config) -> &EvidenceSettings {
    let settings = config.settings();
    settings.expect("the template has all keys of this probe")
}

/// Whether the workflows are there as they would be written, so that a second `init` goes through.
fn is_written(target: &Target) -> bool {
    let is_there = |(path, text): &(std::path::PathBuf, String)| {
        std::fs::read(path).is_ok_and(|there| there == text.as_bytes())
    };
    target.workflows().iter().all(is_there)
}

/// Every type of unit, with the number of cases that have one.
fn types(corpus: &Corpus) -> BTreeMap<&str, usize> {
    let mut types = BTreeMap::new();
    for case in &corpus.cases {
        let own: BTreeSet<&str> = case.units.iter().map(|unit| &*unit.unit_type).collect();
        for name in own {
            *types.entry(name).or_insert(0) += 1;
        }
    }
    types
}

/// A guess to begin with; the person decides.
fn seems_to_govern(name: &str) -> bool {
    [
        "rule",
        "policy",
        "gate",
        "criteri",
        "guideline",
        "regulation",
        "threshold",
    ]
    .iter()
    .any(|part| unit_type(name).contains(part))
}

fn counted(count: usize, noun: &str) -> String {
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
