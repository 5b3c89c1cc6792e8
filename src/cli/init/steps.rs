//! The steps of `kelvin init`, in their order: command, cases, decision field, governing types,
//! files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anyhow::anyhow;

use super::ask::Ask;
use super::files::Target;
use super::look::{self, Look};
use super::template::{self, Answers};
use super::{Request, ask};
use crate::cases::{self, Corpus};
use crate::config::{Config, unit_type};
use crate::exit::Misuse;
use crate::probe::evidence;
use crate::run::Failure;
use crate::score;

/// Finds out what is not yet known, and writes the files.
pub(super) fn run(
    request: &Request,
    ask: Option<&dyn Ask>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let target = Target::of(&request.file)?;
    target.refuse(&target.config, request.force)?;
    if request.workflow == Some(true) && !is_written(&target) {
        target.refuse(&target.workflow(), request.force)?;
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
    steps.decision_field(&corpus)?;
    steps.governing_types(&corpus)?;
    steps.write()
}

struct Steps<'a> {
    request: &'a Request,
    ask: Option<&'a dyn Ask>,
    out: &'a mut dyn Write,
    target: Target,
    answers: Answers,
}

impl Steps<'_> {
    /// The configuration with the answers so far.
    fn config(&self) -> anyhow::Result<Config> {
        self.try_with(|_| {})
    }

    fn try_with(&self, change: impl FnOnce(&mut Answers)) -> anyhow::Result<Config> {
        let mut answers = self.answers.clone();
        change(&mut answers);
        Config::parse(&template::configuration(&answers), &self.request.file)
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
            let loaded = self.config().and_then(|config| cases::load(&config));
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
                        writeln!(self.out, "  {}", ask::plain(&notice.text))?;
                    }
                    return Ok(corpus);
                }
                Err(error) if can_ask => writeln!(self.out, "{}", ask::plain_lines(&error))?,
                Err(error) => return Err(error),
            }
        }
    }

    fn decision_field(&mut self, corpus: &Corpus) -> anyhow::Result<()> {
        let first = corpus.cases.first().map_or("", |case| &*case.name);
        if let Some(field) = &self.request.decision_field {
            self.answers.decision_field = field.clone();
            let config = self.config()?;
            if self.request.probe {
                let Look { task, outcome, .. } = look::run(&config, corpus)?;
                evidence::refuse_unusable_decision(&config, &task, &outcome)?;
                outcome.result.map_err(|failure| failed(first, &failure))?;
            }
            return Ok(());
        }
        let question = format!(
            "Run the pipeline once, on case `{}`, to see its output?",
            ask::plain(first)
        );
        let looks = match self.ask {
            _ if self.request.probe => true,
            Some(ask) => ask.yes(&question, true)?,
            None => false,
        };
        let look = looks
            .then(|| look::run(&self.config()?, corpus))
            .transpose()?;
        let output = match look {
            Some(Look {
                output: Some(output),
                ..
            }) => Some(output),
            Some(Look { outcome, .. }) => {
                let error = match outcome.result {
                    Err(failure) => failed(first, &failure),
                    Ok(_) => anyhow!("the output for `{first}` could not be read"),
                };
                if self.ask.is_none() {
                    return Err(error);
                }
                writeln!(self.out, "{}", ask::plain_lines(&error))?;
                None
            }
            None => None,
        };
        self.answers.decision_field = match output {
            Some(output) => self.pick(&output)?,
            None => self.name_field()?,
        };
        Ok(())
    }

    /// One of the fields that were seen.
    fn pick(&self, output: &serde_json::Map<String, serde_json::Value>) -> anyhow::Result<String> {
        let config = self.config()?;
        let (usable, refused) = look::fields(output, &*score::of(&config.scorer));
        if usable.is_empty() {
            let refused = if refused.is_empty() {
                "the object is empty".to_owned()
            } else {
                refused.join("; ")
            };
            return Err(anyhow!(
                "no field of the output can be the decision: {refused}\n  help: let the pipeline \
                 write its decision as a string, a number, a boolean or null"
            ));
        }
        // A key that begins with `/` has to be written as a pointer.
        let name = |key: &str| match key.strip_prefix('/') {
            Some(_) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            None => key.to_owned(),
        };
        let choices: Vec<String> = usable
            .iter()
            .map(|(key, value)| format!("{} = {}", ask::plain(key), ask::plain(value)))
            .collect();
        match self.ask {
            Some(ask) => {
                let place = ask.one("Which field is the decision?", &choices)?;
                Ok(name(&usable[place].0))
            }
            None => match &usable[..] {
                [(only, _)] => Ok(name(only)),
                several => several
                    .iter()
                    .find(|(key, _)| key == "decision")
                    .map(|(key, _)| key.clone())
                    .ok_or_else(|| {
                        Misuse::new(format!(
                            "the output has several fields that can be the decision: {}",
                            choices.join(", ")
                        ))
                        .help("name one with `--decision-field FIELD`")
                        .into()
                    }),
            },
        }
    }

    fn name_field(&self) -> anyhow::Result<String> {
        let Some(ask) = self.ask else {
            return Err(Misuse::new("`--decision-field FIELD` is missing").into());
        };
        let check = |text: &str| {
            self.try_with(|answers| answers.decision_field = text.to_owned())
                .map_or_else(|error| Err(brief(&error)), |_| Ok(()))
        };
        ask.text(
            "Which field of the output is the decision?",
            Some("decision"),
            &check,
        )
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
                            format!("{}  (in {within})", ask::plain(name)),
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
        cases::load(&self.config()?).map(|_| ())
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let gitignore = match (self.request.gitignore, self.ask) {
            (Some(said), _) => said,
            (None, Some(ask)) => {
                ask.yes("Keep the output folder out of git, in `.gitignore`?", true)?
            }
            (None, None) => self.target.is_in_git(),
        };
        let workflow = self.target.workflow();
        let offered = self.request.force || !workflow.exists();
        let workflow_wanted = match (self.request.workflow, self.ask) {
            (Some(said), _) => said,
            (None, Some(ask)) if offered => ask.yes(
                "Write a GitHub workflow that checks every pull request?",
                false,
            )?,
            (None, _) => false,
        };
        let mut files: Vec<(std::path::PathBuf, Vec<u8>)> = Vec::new();
        if gitignore {
            files.extend(self.target.gitignore()?);
        }
        if workflow_wanted {
            files.push((workflow, self.target.workflow_text().into_bytes()));
        }
        // Last, so that a failure before it leaves `init` ready to be run again.
        let config = template::configuration(&self.answers).into_bytes();
        files.push((self.target.config.clone(), config));
        for (path, text) in &files {
            self.target.write(path, text)?;
            writeln!(self.out, "wrote {}", ask::plain(&self.target.shown(path)))?;
        }
        let file = self.target.shown(&self.target.config);
        if file == "kelvin.yaml" {
            writeln!(self.out, "next: kelvin check")?;
        } else {
            writeln!(
                self.out,
                "next: kelvin check --config {}",
                ask::plain(&file)
            )?;
        }
        Ok(())
    }
}

/// Why there is no answer, with the end of what the pipeline printed.
fn failed(case: &str, failure: &Failure) -> anyhow::Error {
    let printed = match failure.stderr.trim() {
        "" => String::new(),
        text => format!("\n{text}"),
    };
    anyhow!(
        "the pipeline failed on case `{case}`: {}{printed}",
        failure.message
    )
}

/// Whether the workflow is there as it would be written, so that a second `init` goes through.
fn is_written(target: &Target) -> bool {
    std::fs::read(target.workflow()).is_ok_and(|text| text == target.workflow_text().as_bytes())
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
fn brief(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default();
    let help = lines.find_map(|line| line.split_once("help: ").map(|(_, help)| help));
    match help {
        Some(help) => format!("{what}; {help}"),
        None => what.to_owned(),
    }
}
