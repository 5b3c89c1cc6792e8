//! Looks at everything that a run needs before anything is spent on one, and says what to add.

mod github;
mod project;
mod repository;
pub(crate) mod rights;

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;

use crate::baseline::{Hint, Login, event};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_github::Client;
use kelvin_github::publish::event::Variables;
use kelvin_run::config::{Config, Overrides};

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// A run can count on it.
    Ok,
    /// A run goes on without it, with less.
    Warn,
    /// A run would fail, or could not say what it found.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What, in a word.
    pub(crate) subject: &'static str,
    /// How it stands.
    pub(crate) status: Status,
    /// What was found, in a sentence; more lines only where several problems are told.
    pub(crate) text: String,
    /// The lines to add, and where they go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add: Option<Lines>,
}

/// Lines for a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Lines {
    /// Where they go.
    pub(crate) to: Cow<'static, str>,
    /// The lines themselves.
    pub(crate) lines: String,
}

impl Finding {
    fn of(subject: &'static str, status: Status, text: impl Into<String>) -> Self {
        Self {
            subject,
            status,
            text: text.into(),
            add: None,
        }
    }

    fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, Status::Ok, text)
    }

    fn warn(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, Status::Warn, text)
    }

    fn missing(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, Status::Missing, text)
    }

    fn add(mut self, to: impl Into<Cow<'static, str>>, lines: impl Into<String>) -> Self {
        let (to, lines) = (to.into(), lines.into());
        self.add = Some(Lines { to, lines });
        self
    }
}

/// Where the lines of a step go.
const STEP: &str = "the workflow, at the step that runs kelvin";
/// Where the lines of the checkout go.
const CHECKOUT: &str = "the workflow, in place of its checkout";
/// Where the lines of a job go.
const JOB: &str = "the workflow, at the job";

/// What the environment says of where this runs; read by the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Whether this is a job of GitHub Actions.
    pub(crate) on_github: bool,
    /// The name of the event.
    pub(crate) event: Option<String>,
    /// The file with its payload.
    pub(crate) payload: Option<PathBuf>,
    /// Whether there is a token.
    pub(crate) token: bool,
    /// Whether this runs in the container of the action, which has its own programs only.
    pub(crate) in_container: bool,
    /// Whether a check run is asked for.
    pub(crate) check_run: bool,
}

/// A permission that a token may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    /// Its name under `permissions:`.
    pub(crate) name: &'static str,
    /// Whether it has to be `write`.
    pub(crate) write: bool,
    /// What it is for.
    pub(crate) purpose: &'static str,
}

/// What GitHub says of a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The token has it.
    Granted,
    /// It does not, and what GitHub said.
    Refused(String),
    /// That cannot be told without using it.
    Unknown,
}

/// Asks GitHub whether the token has a permission.
pub(crate) type Rights<'a> = dyn Fn(Right) -> Answer + 'a;

/// What a person asks of the doctor.
pub(crate) struct DoctorRequest<'a> {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// Which configuration, and what the command line changes in it.
    pub(crate) overrides: Overrides,
    /// The output folder; `kelvin` beside the configuration unless given.
    pub(crate) out: Option<PathBuf>,
    /// What the environment says.
    pub(crate) surroundings: Surroundings,
    /// The variables of the runner.
    pub(crate) variables: &'a Variables<'a>,
    /// Asks GitHub; none where that is not possible.
    pub(crate) client: Option<&'a Client>,
    /// The token, for git; none where there is no workflow.
    pub(crate) login: Option<Login>,
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    /// Whether nothing is missing.
    pub(crate) ready: bool,
    /// In the order in which a run needs them.
    pub(crate) findings: Vec<Finding>,
}

impl Diagnosis {
    /// How the process ends.
    pub(crate) const fn exit(&self) -> Exit {
        if self.ready {
            Exit::Passed
        } else {
            Exit::Misused
        }
    }
}

/// Looks at a configuration that can be read, and at what it names.
pub(crate) fn project(config: &Config, request: &DoctorRequest<'_>) -> Vec<Finding> {
    let mut findings = vec![Finding::ok(
        "config",
        format!("`{}` is valid", config.file.display()),
    )];
    project::look(config, request, &mut findings);
    findings
}

/// Whether something is missing here that a call of the pipeline needs: then the doctor says what to do.
pub(crate) fn is_something_missing(registry: Registry, config: &Config) -> bool {
    let findings = project(
        config,
        &DoctorRequest {
            registry,
            overrides: Overrides::default(),
            out: None,
            surroundings: Surroundings::default(),
            variables: &|_| None,
            client: None,
            login: None,
        },
    );
    findings.iter().any(|finding| match finding.status {
        Status::Missing => true,
        // A run goes on without these, and a pipeline may not.
        Status::Warn => matches!(finding.subject, "env" | "models"),
        Status::Ok => false,
    })
}

/// Looks at everything; nothing is run, and of the network only what finding the base takes.
pub(crate) fn doctor(request: &DoctorRequest<'_>) -> Diagnosis {
    let around = &request.surroundings;
    let mut findings = Vec::new();
    let event = github::event(around, request.variables, &mut findings);
    let context = event.as_ref().map(|(_, context)| context);
    let number = context.and_then(|context| context.pull_request);
    let rights = request.client.map(|client| rights::of(client, number));
    let rights = rights.as_ref().map(|rights| rights as &Rights<'_>);
    github::token(around, context, rights, &mut findings);
    let hint = event
        .as_ref()
        .map_or_else(Hint::default, |(payload, context)| {
            event::hint(&context.event, payload)
        });
    let place = (
        request.registry,
        &hint,
        request.login.as_ref(),
        around.on_github,
    );
    match request.registry.configured(&request.overrides) {
        Ok(config) => {
            findings.extend(project(&config, request));
            repository::look(&config.root, Some(&config), place, &mut findings);
        }
        Err(error) => {
            findings.push(Finding::missing("config", format!("{error:#}")));
            findings.push(Finding::warn(
                "project",
                "items, command, environment and output folder were not looked at: the \
                 configuration comes first",
            ));
            let file = request.overrides.file.as_deref();
            let root = file.and_then(|file| file.parent());
            let root = root.filter(|root| !root.as_os_str().is_empty());
            repository::look(
                root.unwrap_or(std::path::Path::new(".")),
                None,
                place,
                &mut findings,
            );
        }
    }
    Diagnosis {
        ready: findings
            .iter()
            .all(|finding| finding.status != Status::Missing),
        findings,
    }
}
