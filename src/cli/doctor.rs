//! `kelvin doctor`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::again::{Again, MENDED};
use super::inputs::variable;
use crate::baseline::Login;
use crate::check::doctor::{self, Diagnosis, DoctorRequest, DoctorSurroundings, NeedStatus};
use crate::registry::{Registry, overrides_naming};
use kelvin_base::exit::Exit;
use kelvin_github::{Access, Client};
use kelvin_page::safe;

/// The arguments of `kelvin doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// The configuration that a run would use.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// The output folder of that run [default: `kelvin` beside the configuration].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The payload of a GitHub event [default: the one that `GITHUB_EVENT_PATH` names].
    #[arg(long, value_name = "FILE", requires = "event_name")]
    event: Option<PathBuf>,
    /// The name of that event [default: the one in `GITHUB_EVENT_NAME`].
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
    /// What is printed on standard output.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    format: DoctorFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    /// A line for everything that was looked at, and the lines to add.
    Text,
    /// The same as JSON, and nothing else.
    Json,
}

/// Runs `kelvin doctor`.
pub(super) fn main(args: DoctorArgs, registry: Registry) -> anyhow::Result<Exit> {
    let client = client();
    let again = |command| {
        Again::kelvin(command)
            .config(&args.config)
            .given("--out", args.out.as_ref())
    };
    let (check, doctor) = (again("check"), again("doctor"));
    let diagnosis = doctor::doctor(&DoctorRequest {
        registry,
        overrides: overrides_naming(&args.config),
        out: args.out.clone(),
        surroundings: surroundings(args.event, args.event_name),
        variables: &variable,
        client: client.as_ref(),
        login: login(),
    });
    super::say(&match args.format {
        DoctorFormat::Json => serde_json::to_string_pretty(&diagnosis)? + "\n",
        DoctorFormat::Text => text(&diagnosis, &check, &doctor),
    });
    Ok(diagnosis.exit())
}

/// The environment of the doctor; an argument takes precedence over a variable.
fn surroundings(event: Option<PathBuf>, event_name: Option<String>) -> DoctorSurroundings {
    let on_github = variable("GITHUB_ACTIONS").is_some();
    // Docker and Podman create a marker file; the image of the action sets a variable.
    let marked = ["/.dockerenv", "/run/.containerenv"]
        .iter()
        .any(|mark| Path::new(mark).exists());
    DoctorSurroundings {
        on_github,
        event: event_name.or_else(|| variable("GITHUB_EVENT_NAME")),
        payload: event.or_else(|| variable("GITHUB_EVENT_PATH").map(PathBuf::from)),
        token: token().is_some(),
        check_run: ["INPUT_CHECK-RUN", "INPUT_CHECK_RUN"]
            .iter()
            .any(|name| variable(name).is_some_and(|value| value == "true")),
        in_container: variable("KELVIN_IN_CONTAINER").is_some() || (on_github && marked),
    }
}

/// The token that a run would use to post.
fn token() -> Option<String> {
    ["INPUT_TOKEN", "GITHUB_TOKEN"]
        .iter()
        .find_map(|name| variable(name))
}

/// A client, if the environment names a GitHub address and a repository.
fn client() -> Option<Client> {
    let api_url = variable("GITHUB_API_URL")?;
    let access = Access {
        api_url: &api_url,
        repository: &variable("GITHUB_REPOSITORY")?,
        token: &token()?,
    };
    Client::new(&access).ok()
}

/// The token, used for git and for the repository of the workflow only.
pub(super) fn login() -> Option<Login> {
    Login::new(
        &variable("GITHUB_SERVER_URL")?,
        &variable("GITHUB_REPOSITORY")?,
        &token()?,
    )
}

/// A line for each finding, with the lines to add below it, and the next step.
fn text(diagnosis: &Diagnosis, check: &Again, doctor: &Again) -> String {
    let mut page = String::new();
    for finding in &diagnosis.findings {
        let word = finding.status.word();
        let told = safe::lines(&finding.text);
        let mut lines = told.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(page, "{word:<7}  {:<11}  {first}", finding.subject);
        for line in lines {
            let _ = writeln!(page, "{:22}{line}", "");
        }
        if let Some(add) = &finding.add {
            let _ = writeln!(page, "{:22}put into {}:", "", add.to);
            for line in safe::lines(&add.lines).lines() {
                let _ = writeln!(page, "{:26}{line}", "");
            }
        }
    }
    let count = |status| {
        let findings = diagnosis.findings.iter();
        findings.filter(|finding| finding.status == status).count()
    };
    let (missing, warnings) = (count(NeedStatus::Missing), count(NeedStatus::Warn));
    let (told, next) = match missing {
        0 => (
            match warnings {
                0 => "Nothing is missing.".to_owned(),
                1 => "Nothing stops a run; 1 warning says what it does without.".to_owned(),
                more => format!("Nothing stops a run; {more} warnings say what it does without."),
            },
            check.next(),
        ),
        1 => ("1 thing is missing.".to_owned(), doctor.next_when(MENDED)),
        more => (
            format!("{more} things are missing."),
            doctor.next_when(MENDED),
        ),
    };
    let _ = write!(page, "\n{told}\n{next}");
    page
}
