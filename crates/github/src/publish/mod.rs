//! The results of a run for a review: outputs, annotations, the job summary, a check run, one comment.
//!
//! Renderers have no side effects: they turn a [`Publication`] into text. Publishing happens in an order that never
//! loses the verdict, and an error does not stop it.

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

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use kelvin_gate::Judgement;
use kelvin_gate::report::Report;
use kelvin_page::safe;

/// A finished run, and the circumstances in which it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Publication<'a> {
    /// The report.
    pub report: &'a Report,
    /// The judgement of the gate; none if the gate was not run (a push that only saves its report).
    pub judgement: Option<&'a Judgement>,
    /// The circumstances of the run.
    pub context: &'a Context,
    /// The folder of the reports.
    pub out: &'a Path,
    /// The folder of the configuration within the repository; empty if it is the top.
    pub folder: &'a str,
    /// The changes in the variants that got worse, worst case first.
    pub excerpts: &'a [Excerpt],
    /// Failed steps with advice, one sentence each.
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

/// The circumstances of a run, as far as a reader or the API needs them. Empty on a laptop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// The name of the event, e.g. `pull_request`.
    pub event: String,
    /// `owner/name`.
    pub repository: String,
    /// The address of the website, e.g. `https://github.com`.
    pub server_url: String,
    /// The pull request to which the run belongs.
    pub pull_request: Option<u64>,
    /// The tip of that pull request, or the commit of the event; the check run belongs to it.
    pub head_sha: String,
    /// Whether the head is in another repository, or the actor may not write: nothing can be posted.
    pub read_only: bool,
    /// Whether publishing is left to `post/`.
    pub leaves_it: bool,
    /// Whether the head of the pull request is in another repository.
    pub is_fork: bool,
    /// The branch that is checked; none for a tag, or if the event names none.
    pub branch: Option<String>,
    /// The workflow, by name.
    pub workflow: String,
    /// The file of the workflow and its ref: `owner/name/.github/workflows/x.yml@ref`.
    pub workflow_ref: String,
    /// The job, by id.
    pub job: String,
    /// The run and its attempt.
    pub run_id: String,
    /// The number of the attempt, from 1.
    pub run_attempt: String,
    /// The name of the configuration among several.
    pub configuration: String,
    /// Distinguishes the comment from those of other jobs; made from workflow, job and configuration unless it was
    /// given.
    pub comment_key: String,
    /// How far the figures can be trusted, in sentences, if another run has measured them.
    pub claim: Option<String>,
    /// An addition to the heading of a pass, if the run failed for a reason other than its verdict; our own text.
    pub caveat: Option<&'static str>,
}

/// A remark at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The level of the remark.
    pub level: Level,
    /// The path relative to the repository.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The title in a few words; plain text.
    pub title: String,
    /// The remark in a sentence; plain text.
    pub message: String,
}

/// The level of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The remark concerns a reason for the failed job.
    Failure,
    /// The remark may matter.
    Warning,
    /// The remark is only information.
    Notice,
}

/// The beginning of a heading, with the name that distinguishes this run's comment from others, if it has one.
fn named(configuration: &str, columns: usize) -> String {
    match configuration {
        "" | "kelvin" => "Kelvin".to_owned(),
        name => format!("Kelvin ({})", safe::markdown(name, columns.min(40))),
    }
}
