//! `kelvin ci`: the command that the action calls.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgAction, Args, Parser as _, ValueEnum};
use serde_json::Value;

use super::check::{CheckFormat, show};
use super::gate::{GateOptions, payload};
use super::inputs::variable;
use super::progress::Progress;
use crate::check::ci::{self, CiRequest};
use crate::check::{CheckRequest, GateRequest};
use crate::registry::Registry;
use kelvin_base::exit::{Exit, Misuse};
use kelvin_base::file;
use kelvin_gate::judgement::AnswersShown;
use kelvin_github::publish::commands;
use kelvin_github::publish::mask::Masker;
use kelvin_github::publish::post::CommentMode;
use kelvin_record::Shard;
use kelvin_run::config::{Around, Overrides};
use kelvin_system::confine;

/// The arguments of `kelvin ci`; each may also come as an input, the variable `INPUT_<NAME>`.
#[derive(Debug, Args)]
pub(super) struct CiArgs {
    /// The configuration; its folder is the working directory of the pipeline.
    #[arg(long, value_name = "FILE", default_value = "kelvin.yaml")]
    config: PathBuf,
    /// A script that prepares the machine for the pipeline, e.g. `pip install -r requirements.txt`.
    #[arg(long, value_name = "SCRIPT")]
    setup: Option<String>,
    /// Measures this case only. May be repeated; an input has one case a line.
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// Seeds the choice of perturbations, instead of `seed` in the configuration.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many invocations run at the same time, instead of `jobs` in the configuration.
    #[arg(long, value_name = "N", value_parser = super::whole::<1_024>)]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    gate: GateOptions,
    /// When a comment is written on the pull request.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Update)]
    comment: When,
    /// Tells the comment of this job apart from those of other jobs [default: workflow, job and configuration].
    #[arg(long, value_name = "KEY")]
    comment_key: Option<String>,
    /// Makes a check run with annotations at the cases.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, default_value_t = false, default_missing_value = "true")]
    check_run: bool,
    /// The folder to work in, relative to the workspace.
    #[arg(long, value_name = "DIR")]
    working_directory: Option<PathBuf>,
    /// The token for requests to GitHub [default: the one in `GITHUB_TOKEN`].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Uploads the report as an artifact, if this is a container action.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, default_value_t = true, default_missing_value = "true")]
    upload: bool,
    /// Measures one share of the cases, e.g. `3/8`; nothing is gated or posted then.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Joins the reports of shards in this folder, and runs nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["shard", "only"])]
    merge: Option<PathBuf>,
    /// Calls the pipeline for every input, even if the cache has the answer.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, num_args = 0..=1, default_value_t = false, default_missing_value = "true")]
    no_cache: bool,
    /// The revision to compare with, instead of the commit where the change begins.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The payload of the event [default: the one that `GITHUB_EVENT_PATH` names].
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
    /// The name of the event [default: the one in `GITHUB_EVENT_NAME`].
    #[arg(long, value_name = "NAME")]
    event_name: Option<String>,
    /// Prints the comment instead of publishing anything.
    #[arg(long)]
    dry_run: bool,
}

/// When a comment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// One comment, kept up to date.
    Update,
    /// A new one for every run.
    New,
    /// One comment, but no comment until there is something to say.
    OnChange,
    /// Written by `post/`, from the files that this run leaves: the token of this run may be read-only.
    Later,
    /// Never.
    Off,
}

impl From<When> for CommentMode {
    fn from(when: When) -> Self {
        match when {
            When::Update => Self::Update,
            When::New => Self::New,
            When::OnChange => Self::OnChange,
            When::Later | When::Off => Self::Off,
        }
    }
}

/// Runs `kelvin ci`.
pub(super) fn main(args: CiArgs, registry: Registry) -> anyhow::Result<Exit> {
    keep_apart();
    let (dry_run, progress) = (args.dry_run, Progress::new());
    let entered = enter(args.working_directory.as_deref(), &args.config);
    let event = payload(args.event.as_ref(), args.event_name.as_ref());
    let (request, wrong) = request(args, registry, (entered, event));
    if let Some(error) = wrong {
        ci::failed(&request, &error);
        return Err(error);
    }
    let ran = ci::ci(&request, &progress);
    progress.finish();
    let ran = ran?;
    if !dry_run {
        // The report contains names of cases and text of the pipeline, and none of that may be read as a command by the
        // runner.
        let on_github = super::on_github();
        if on_github {
            super::say(&commands::stop(&request.guard));
        }
        let judged = ran.judgement.as_ref();
        let judged = judged.map(|judgement| (judgement, AnswersShown::OTHERS_ON_THE_PAGE));
        let shown = show(CheckFormat::Text, &ran.checked, judged);
        if on_github {
            super::say(&commands::resume(&request.guard));
        }
        shown?;
    }
    if let Some(url) = &ran.comment {
        super::say(&format!("comment: {}\n", kelvin_page::safe::line(url)));
    }
    Ok(ran.exit())
}

/// Hides the token from the pipeline; must be called before a second thread starts.
fn keep_apart() {
    confine::begin();
    if variable("KELVIN_IN_CONTAINER").is_none() {
        return;
    }
    let workspace = variable("GITHUB_WORKSPACE").unwrap_or_else(|| ".".to_owned());
    if let Err(why) = confine::become_apart(Path::new(&workspace)) {
        let text = format!(
            "the pipeline is not kept apart: {why}; it runs with the rights of this action, and can read its token"
        );
        super::say(&match super::on_github() {
            true => commands::warning(&text),
            false => format!("warning: {}\n", kelvin_page::safe::line(&text)),
        });
    }
}

/// Changes to another folder, if one is given.
fn enter(folder: Option<&Path>, config: &Path) -> anyhow::Result<()> {
    if let Some(folder) = folder {
        no_link("working-directory", folder)?;
        std::env::set_current_dir(folder).map_err(|error| {
            Misuse::new(format!(
                "`working-directory`: `{}` cannot be worked in: {error}",
                folder.display()
            ))
        })?;
    }
    no_link("config", config)
}

/// Rejects a path through a symbolic link. The rules of the base branch are read from the same path at its commit. A
/// change that turns this path into a link would therefore choose other rules.
fn no_link(input: &str, path: &Path) -> anyhow::Result<()> {
    let Some(link) = file::link_on_the_way(path) else {
        return Ok(());
    };
    let link = link.display();
    Err(Misuse::new(format!("`{input}`: `{link}` is a symbolic link"))
        .help("name the file or folder that it leads to, so that the rules of the base branch are read from there too")
        .into())
}

/// Whether the folder could be entered, and the event with its payload.
type Begun = (anyhow::Result<()>, anyhow::Result<(String, Value)>);

/// The request that the arguments describe, and the reason why it cannot start, if there is one.
fn request(
    args: CiArgs,
    registry: Registry,
    (entered, event): Begun,
) -> (CiRequest<'static>, Option<anyhow::Error>) {
    let (event, wrong) = match event {
        Ok(event) => (event, None),
        Err(error) => {
            let name = args.event_name.clone();
            let name = name.or_else(|| variable("GITHUB_EVENT_NAME"));
            ((name.unwrap_or_default(), Value::Null), Some(error))
        }
    };
    let token = args.token.clone().or_else(|| variable("GITHUB_TOKEN"));
    let masker = Arc::new(Masker::of_environment(token.clone()));
    let check = CheckRequest {
        overrides: Overrides {
            file: Some(args.config),
            seed: args.seed,
            jobs: args.jobs,
            no_cache: args.no_cache,
            cache: true,
            around: Some(Around::of_environment(args.setup.as_deref())),
            ..Overrides::default()
        },
        only: args.only,
        shard: args.shard,
        ..CheckRequest::new(registry)
    };
    let mut gate = GateRequest {
        rerun: true,
        ..GateRequest::new(check)
    };
    gate.hint.asked = args.base;
    args.gate.apply(&mut gate);
    let request = CiRequest {
        gate,
        merge: args.merge,
        event: event.0,
        payload: event.1,
        variables: &variable,
        setup: args.setup,
        later: args.comment == When::Later,
        comment: args.comment.into(),
        comment_key: args.comment_key,
        check_run: args.check_run,
        upload: args.upload,
        dry_run: args.dry_run,
        token,
        masker,
        guard: format!("kelvin-{}", super::unguessable()),
        say: &super::say_remark,
    };
    (request, entered.err().or(wrong))
}

/// Reports that the arguments of `kelvin ci`, or the inputs that became arguments, could not be read. The arguments
/// that say where to report are used if they can be read.
pub(super) fn wrong_input(registry: Registry, line: &[OsString], error: &clap::Error) {
    let given = |name: &str| {
        let flag = format!("--{name}");
        let mut words = line.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == flag {
                return words.next().map(|value| value.into_owned());
            }
            if let Some(value) = word.strip_prefix(&format!("{flag}=")) {
                return Some(value.to_owned());
            }
        }
        None
    };
    let kept = [
        "config",
        "comment-key",
        "token",
        "event",
        "event-name",
        "working-directory",
    ];
    let mut sane: Vec<OsString> = vec!["kelvin".into(), "ci".into()];
    for name in kept {
        sane.extend(given(name).map(|value| format!("--{name}={value}").into()));
    }
    for (name, words) in [
        (
            "comment",
            &["update", "new", "on-change", "later", "off"][..],
        ),
        ("check-run", &["true", "false"]),
    ] {
        let known = given(name).filter(|value| words.contains(&value.as_str()));
        sane.extend(known.map(|value| format!("--{name}={value}").into()));
    }
    let dry = line.iter().any(|word| word == "--dry-run");
    sane.extend(dry.then(|| OsString::from("--dry-run")));
    let Ok(super::Args {
        command: super::Command::Ci(args),
    }) = super::Args::try_parse_from(sane)
    else {
        return;
    };
    let entered = enter(args.working_directory.as_deref(), &args.config);
    let event = payload(args.event.as_ref(), args.event_name.as_ref());
    let (request, _) = request(args, registry, (entered, event));
    let text = error.to_string();
    let text = text.trim_start_matches("error: ").trim_end();
    let wrong = Misuse::new(text).help(
        "an input of the action is the option of the same name: `max-drop` is `--max-drop`, which \
         `kelvin ci --help` describes",
    );
    ci::failed(&request, &wrong.into());
}
