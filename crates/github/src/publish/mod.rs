//! What a review sees of a run: outputs, annotations, the job summary, a check run, one comment.
//!
//! Renderers are pure: a [`Publication`] in, text out. Posting is best effort, in an order that never
//! loses the verdict.

pub mod annotations;
pub mod bundle;
pub mod commands;
pub mod comment;
pub mod deliver;
pub mod event;
pub mod failure;
pub mod mask;
pub mod outputs;
pub mod post;
pub mod summary;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_gate::Judgement;
use kelvin_gate::report::Report;
use kelvin_page::safe;

/// A finished run, and where it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// What was measured.
    pub report: &'a Report,
    /// What the gate says; none where nothing was gated (a push that only saves its report).
    pub judgement: Option<&'a Judgement>,
    /// Where the run happened.
    pub context: &'a Context,
    /// The folder of the reports.
    pub out: &'a Path,
    /// The folder of the configuration within the repository; empty where it is the top.
    pub folder: &'a str,
    /// What changed in the variants that got worst, worst case first.
    pub excerpts: &'a [Excerpt],
    /// What could not be shown elsewhere, and what would help; one sentence each.
    pub warnings: &'a [String],
}

/// A variant that got worse, with the texts it was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excerpt {
    /// The case.
    pub case: String,
    /// The variant.
    pub variant: String,
    /// The text of the case.
    pub before: String,
    /// The text of the variant.
    pub after: String,
}

/// Where a run happened, as far as a reader or the API needs to know. Empty on a laptop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The name of the event, e.g. `pull_request`.
    pub event: String,
    /// `owner/name`.
    pub repository: String,
    /// Where people read, e.g. `https://github.com`.
    pub server_url: String,
    /// The pull request the run is about.
    pub pull_request: Option<u64>,
    /// The tip of that pull request, or the commit of the event: where a check run belongs.
    pub head_sha: String,
    /// Whether the head is in another repository, or the actor may not write: nothing can be posted.
    pub read_only: bool,
    /// Whether it leaves what it could say to `post/`, as it was asked to.
    pub leaves_it: bool,
    /// Whether the head of the pull request is in another repository.
    pub is_fork: bool,
    /// The branch that is checked; none for a tag or where the event names none.
    pub branch: Option<String>,
    /// The workflow, by name.
    pub workflow: String,
    /// The file of the workflow and its ref: `owner/name/.github/workflows/x.yml@ref`.
    pub workflow_ref: String,
    /// The job, by id.
    pub job: String,
    /// The run and its attempt.
    pub run_id: String,
    /// 1 for the first attempt.
    pub run_attempt: String,
    /// The name of the configuration among several.
    pub configuration: String,
    /// Told apart from the comments of other jobs by this; made of workflow, job and configuration
    /// unless it was given.
    pub comment_key: String,
    /// What the figures are to be taken for, where another run than this one has measured them; in sentences.
    pub claim: Option<String>,
    /// What a heading that passes adds, where the run did not end well for another reason than its verdict; ours.
    pub caveat: Option<&'static str>,
}

/// A remark at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// How bad it is.
    pub level: Level,
    /// Relative to the repository.
    pub path: String,
    /// From 1.
    pub line: usize,
    /// In a few words; plain text.
    pub title: String,
    /// In a sentence; plain text.
    pub message: String,
}

/// How bad a remark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It failed the job.
    Failure,
    /// It may matter.
    Warning,
    /// Worth knowing.
    Notice,
}

/// How a heading begins: with the name that tells this run's comment from those of others, where it has one.
fn named(configuration: &str, columns: usize) -> String {
    match configuration {
        "" | "kelvin" => "Kelvin".to_owned(),
        name => format!("Kelvin ({})", safe::markdown(name, columns.min(40))),
    }
}
