//! `kelvin approve`: applies a decision about a regression.

use clap::{Args, ValueEnum};

use super::gate::payload;
use super::inputs::{client, variable};
use crate::check::ci::{self, AskedRun, DecideRequest, Then};
use crate::registry::Registry;
use kelvin_base::exit::Exit;

/// The arguments of `kelvin approve`; each may also come as an input, the variable `INPUT_<NAME>`.
#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The pull request [default: the one that the event is about].
    #[arg(long, value_name = "NUMBER")]
    pull_request: Option<u64>,
    /// The configuration, as the repository names it; its rules on the base branch say who may approve.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: String,
    /// What follows from a decision.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Follows::Rerun)]
    then: Follows,
    /// The file of the workflow that measures, which a comment `/kelvin run` starts again.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yml")]
    workflow: String,
    /// The token for requests to GitHub [default: the one in `GITHUB_TOKEN`].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

/// What follows from a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Follows {
    /// The job that asked is run again, which needs `actions: write`.
    Rerun,
    /// The check run of that job says what was decided, which needs `checks: write`.
    Check,
}

/// Runs `kelvin approve`.
pub(super) fn main(args: ApproveArgs, registry: Registry) -> anyhow::Result<Exit> {
    let (event, payload) = payload(None, None)?;
    let token = args.token.or_else(|| variable("GITHUB_TOKEN"));
    let client = client(token.as_deref())?;
    if args.pull_request.is_none() && ci::is_asked_for(&event, &payload) {
        ci::measure_again(&AskedRun {
            client: &client,
            payload: &payload,
            workflow: &args.workflow,
            say: &super::say_remark,
        })?;
        return Ok(Exit::Passed);
    }
    let pull_request = match args.pull_request {
        Some(number) => number,
        None => ci::pull_request(&event, &payload)?,
    };
    ci::decide(&DecideRequest {
        registry,
        client: &client,
        variables: &variable,
        pull_request,
        config: args.config,
        then: match args.then {
            Follows::Rerun => Then::Rerun,
            Follows::Check => Then::Check,
        },
        say: &super::say_remark,
    })?;
    Ok(Exit::Passed)
}
