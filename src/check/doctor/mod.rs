//! Checks everything that a run needs before any money is spent on it, and says what is missing.

pub(crate) mod github;
mod project;
mod repository;

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;

use crate::baseline::{self, Hint, Login};
use crate::registry::Registry;
use kelvin_base::exit::Exit;
use kelvin_github::Client;
use kelvin_github::publish::event::Variables;
use kelvin_run::config::{Config, Overrides};

/// The state of something that a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NeedStatus {
    /// The run needs no change: it will not fail because of this.
    Ok,
    /// The need is not met; a run can still continue, but does less.
    Warn,
    /// A run would fail, or could not report its result.
    Missing,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorFinding {
    /// The subject of the check, in a word.
    pub(crate) subject: &'static str,
    /// Its state.
    pub(crate) status: NeedStatus,
    /// The result of the check, in one sentence; more lines only if there are several problems.
    pub(crate) text: String,
    /// The lines to add, and the place for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) add: Option<FileLines>,
}

/// Lines for a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileLines {
    /// The file or place where the lines belong.
    pub(crate) to: Cow<'static, str>,
    /// The lines themselves.
    pub(crate) lines: String,
}

impl NeedStatus {
    /// The word that people see.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Missing => "missing",
        }
    }
}

impl DoctorFinding {
    fn of(subject: &'static str, status: NeedStatus, text: impl Into<String>) -> Self {
        Self {
            subject,
            status,
            text: text.into(),
            add: None,
        }
    }

    fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, NeedStatus::Ok, text)
    }

    fn warn(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, NeedStatus::Warn, text)
    }

    fn missing(subject: &'static str, text: impl Into<String>) -> Self {
        Self::of(subject, NeedStatus::Missing, text)
    }

    fn add(mut self, to: impl Into<Cow<'static, str>>, lines: impl Into<String>) -> Self {
        let (to, lines) = (to.into(), lines.into());
        self.add = Some(FileLines { to, lines });
        self
    }
}

/// The place for lines that belong to a step.
const STEP: &str = "the workflow, at the step that runs kelvin";
/// The place for lines that replace the checkout.
const CHECKOUT: &str = "the workflow, in place of its checkout";
/// The place for lines that belong to a job.
const JOB: &str = "the workflow, at the job";

/// The environment of this run; the caller reads it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DoctorSurroundings {
    /// Whether this is a job of GitHub Actions.
    pub(crate) on_github: bool,
    /// The name of the event.
    pub(crate) event: Option<String>,
    /// The file with the payload of the event.
    pub(crate) payload: Option<PathBuf>,
    /// Whether there is a token.
    pub(crate) token: bool,
    /// Whether the doctor runs in the container of the action, where only the programs of its image exist.
    pub(crate) in_container: bool,
    /// Whether a check run is wanted.
    pub(crate) check_run: bool,
}

/// A permission that a token may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    /// The name of the permission under `permissions:`.
    pub(crate) name: &'static str,
    /// Whether write access is needed.
    pub(crate) write: bool,
    /// The purpose of the permission.
    pub(crate) purpose: &'static str,
}

/// The answer of GitHub about a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PermissionAnswer {
    /// The token has the permission.
    Granted,
    /// The token does not have the permission, and the answer of GitHub.
    Refused(String),
    /// It is not known whether the token has the permission: only using it would show that.
    Unknown,
}

/// Asks GitHub whether the token has a permission.
pub(crate) type Rights<'a> = dyn Fn(Right) -> PermissionAnswer + 'a;

/// The inputs of the doctor.
pub(crate) struct DoctorRequest<'a> {
    /// The kinds of probes that the program knows.
    pub(crate) registry: Registry,
    /// The configuration file, and the changes that the command line makes to it.
    pub(crate) overrides: Overrides,
    /// The output folder; by default `kelvin` beside the configuration.
    pub(crate) out: Option<PathBuf>,
    /// The environment of this run.
    pub(crate) surroundings: DoctorSurroundings,
    /// The variables of the runner.
    pub(crate) variables: &'a Variables<'a>,
    /// The client of GitHub; none if GitHub cannot be asked.
    pub(crate) client: Option<&'a Client>,
    /// The token, for git; none if there is no workflow.
    pub(crate) login: Option<Login>,
}

impl DoctorRequest<'_> {
    /// A request that examines only the project.
    pub(crate) fn of_project(registry: Registry, overrides: Overrides) -> Self {
        Self {
            registry,
            overrides,
            out: None,
            surroundings: DoctorSurroundings::default(),
            variables: &|_| None,
            client: None,
            login: None,
        }
    }
}

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    /// Whether nothing is missing.
    pub(crate) ready: bool,
    /// The results, in the order in which a run needs the checked things.
    pub(crate) findings: Vec<DoctorFinding>,
}

impl Diagnosis {
    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        if self.ready {
            Exit::Passed
        } else {
            Exit::Misused
        }
    }
}

/// Checks a configuration that can be read, and the files and programs that it names.
pub(crate) fn project(config: &Config, request: &DoctorRequest<'_>) -> Vec<DoctorFinding> {
    let mut findings = vec![DoctorFinding::ok(
        "config",
        format!("`{}` is valid", config.file.display()),
    )];
    project::look(config, request, &mut findings);
    findings
}

/// Whether this machine lacks something that a call of the pipeline needs; then the doctor can explain it.
pub(crate) fn is_something_missing(registry: Registry, config: &Config) -> bool {
    let request = DoctorRequest::of_project(registry, Overrides::default());
    let findings = project(config, &request);
    findings.iter().any(|finding| match finding.status {
        NeedStatus::Missing => true,
        // A run can continue without the environment variables and models, but the pipeline may need them.
        NeedStatus::Warn => matches!(finding.subject, "env" | "models"),
        NeedStatus::Ok => false,
    })
}

/// Checks everything. The pipeline is not called. The network is used only to find the base, and to ask whether services
/// answer.
pub(crate) fn doctor(request: &DoctorRequest<'_>) -> Diagnosis {
    let around = &request.surroundings;
    let mut findings = Vec::new();
    let event = github::event(around, request.variables, &mut findings);
    let context = event.as_ref().map(|(_, context)| context);
    let number = context.and_then(|context| context.pull_request);
    let rights = request
        .client
        .map(|client| github::rights_of_token(client, number));
    let rights = rights.as_ref().map(|rights| rights as &Rights<'_>);
    github::token(around, context, rights, &mut findings);
    let hint = event
        .as_ref()
        .map_or_else(Hint::default, |(payload, context)| {
            baseline::hint_of_event(&context.event, payload)
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
            findings.push(DoctorFinding::missing("config", format!("{error:#}")));
            findings.push(DoctorFinding::warn(
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
        ready: lacks_nothing(&findings),
        findings,
    }
}

fn lacks_nothing(findings: &[DoctorFinding]) -> bool {
    let mut each = findings.iter();
    each.all(|finding| finding.status != NeedStatus::Missing)
}
