//! `kelvin post`: the second job for runs without write access.

use std::path::PathBuf;

use clap::Args;

use super::ci::When;
use super::gate::payload;
use super::inputs::{client, variable};
use crate::baseline::Login;
use crate::check::ci::{self, PostRequest};
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_github::publish::deliver::Surfaces;

/// The arguments of `kelvin post`; each may also come as an input, the variable `INPUT_<NAME>`.
#[derive(Debug, Args)]
pub(super) struct PostArgs {
    /// The run whose result is published [default: the one of the `workflow_run` event].
    #[arg(long, value_name = "ID")]
    run_id: Option<u64>,
    /// The name of the configuration, where a repository has several [default: the one that `config` has on the base
    /// branch].
    #[arg(long, value_name = "NAME")]
    configuration: Option<String>,
    /// The configuration, as the repository names it; its rules on the base branch say who may approve.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: String,
    /// When a comment is written on the pull request.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Update)]
    comment: When,
    /// Tells the comment of this job apart from those of other jobs [default: workflow and configuration].
    #[arg(long, value_name = "KEY")]
    comment_key: Option<String>,
    /// The token for requests to GitHub [default: the one in `GITHUB_TOKEN`].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

/// Runs `kelvin post`.
pub(super) fn main(args: PostArgs, registry: Registry) -> anyhow::Result<Exit> {
    if args.comment == When::Later {
        return Err(Misuse::new("`comment: later` is for the run that measures")
            .help("leave out `comment` here, or write `update`, `new`, `on-change` or `off`")
            .into());
    }
    let (event, payload) = payload(None, None)?;
    let of_event = || {
        let id = payload.pointer("/workflow_run/id")?.as_u64();
        id.filter(|_| event == "workflow_run")
    };
    let Some(run) = args.run_id.or_else(of_event) else {
        return Err(Misuse::new("there is no run to publish")
            .help("run this on `workflow_run`, or name the run with `run-id`")
            .into());
    };
    let token = args.token.or_else(|| variable("GITHUB_TOKEN"));
    let client = client(token.as_deref())?;
    let server_url =
        variable("GITHUB_SERVER_URL").unwrap_or_else(|| "https://github.com".to_owned());
    let urls = ci::post(
        &PostRequest {
            registry,
            client: &client,
            run,
            configuration: args.configuration,
            comment_key: args.comment_key,
            variables: &variable,
            config: args.config,
            login: Login::new(
                &server_url,
                client.repository(),
                token.as_deref().unwrap_or_default(),
            ),
            server_url,
        },
        Surfaces {
            outputs: variable("GITHUB_OUTPUT").map(PathBuf::from),
            summary: variable("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            check: None,
            client: Some(&client),
            comment: args.comment.into(),
            on_github: variable("GITHUB_ACTIONS").is_some(),
            say: &super::say_remark,
        },
    )?;
    for url in urls {
        super::say(&format!("comment: {}\n", kelvin_page::safe::line(&url)));
    }
    Ok(Exit::Passed)
}
