//! Publishes in an order that never loses the verdict: outputs, summary, check run, comment. If one of these fails,
//! there is a warning and the others are still published.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;

use super::failure::{self, UnmeasuredRun};
use super::post::{
    self, CommentMode, CommentStamp, Conclusion, KeptComments, OpenCheckRun, Posted, ShownCheckRun,
    Sticky,
};
use super::{Level, Publication, annotations, commands, outputs};
use crate::Client;
use kelvin_gate::Judgement;
use kelvin_gate::compare::Change;
use kelvin_gate::opening::opening;
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_page::safe;

/// The places where a run is shown.
pub struct Surfaces<'a> {
    /// The file that `GITHUB_OUTPUT` names.
    pub outputs: Option<PathBuf>,
    /// The file that `GITHUB_STEP_SUMMARY` names.
    pub summary: Option<PathBuf>,
    /// The check run that was opened.
    pub check: Option<OpenCheckRun<'a>>,
    /// The client; none if there is no token.
    pub client: Option<&'a Client>,
    /// When a comment is written.
    pub comment: CommentMode,
    /// Whether workflow commands have an effect here.
    pub on_github: bool,
    /// Prints a text.
    pub say: &'a dyn Fn(&str),
}

impl Surfaces<'_> {
    /// Prints a warning about a failed step.
    pub fn warn(&self, text: &str) {
        if self.on_github {
            (self.say)(&commands::warning(text));
        } else {
            (self.say)(&format!("warning: {}\n", safe::line(text)));
        }
    }
}

/// Publishes, and returns the address of the comment, if there is one.
pub fn deliver(publication: &Publication<'_>, mut surfaces: Surfaces<'_>) -> Option<String> {
    write(&surfaces, surfaces.outputs.as_ref(), "the outputs", || {
        outputs::file(&outputs::outputs(publication, None))
    });
    write(
        &surfaces,
        surfaces.summary.as_ref(),
        "the job summary",
        || outputs::job_summary(publication),
    );
    if let Some(text) = publication.judgement.and_then(alarm)
        && surfaces.on_github
    {
        (surfaces.say)(&text);
    }
    let remarks = annotations::annotations(publication);
    let check = surfaces.check.take();
    match check {
        Some(check) => {
            let judgement = publication.judgement;
            let conclusion = judgement.map_or(Conclusion::Neutral, Conclusion::of);
            let shown = ShownCheckRun {
                title: title(publication.judgement),
                summary: super::comment::render(publication, 60_000),
                text: None,
                annotations: remarks,
                request: judgement
                    .and_then(|judgement| judgement.approval.as_ref())
                    .map(|approval| approval.id.clone()),
            };
            if let Err(error) = check.finish(conclusion, &shown) {
                surfaces.warn(&error.to_string());
            }
        }
        None if surfaces.on_github => (surfaces.say)(&commands::annotations(&remarks)),
        None => {}
    }
    let url = comment(publication, &surfaces);
    if let Some(url) = &url {
        write(&surfaces, surfaces.outputs.as_ref(), "the outputs", || {
            outputs::file(&[("comment-url", url.clone())])
        });
    }
    url
}

/// The places where a failure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The failure is shown in all places; an existing comment is replaced.
    Everywhere,
    /// The failure is shown in all places, but texts of the same attempt of the run stay.
    EarlierRuns,
    /// The failure is shown in all places, but texts about the same commit stay.
    OtherCommits,
    /// The failure is shown only in this job: the comment and the check run are about another commit, and stay.
    JobOnly,
}

/// Publishes a run that ended before the measurement, and returns the address of the comment, if one was replaced.
pub fn fail(
    failure: &UnmeasuredRun<'_>,
    mut surfaces: Surfaces<'_>,
    reach: Reach,
) -> Option<String> {
    if surfaces.on_github {
        (surfaces.say)(&match failure::annotation(failure) {
            Some(annotation) => commands::annotations(&[annotation]),
            None if failure.level == Level::Failure => commands::error(&failure.reason),
            None => commands::warning(&failure.reason),
        });
    }
    write(&surfaces, surfaces.outputs.as_ref(), "the outputs", || {
        outputs::file(&outputs::of_failure())
    });
    write(
        &surfaces,
        surfaces.summary.as_ref(),
        "the job summary",
        || failure::page(failure),
    );
    if reach == Reach::JobOnly {
        return None;
    }
    if let Some(check) = surfaces.check.take() {
        let shown = ShownCheckRun {
            title: failure::title(failure),
            summary: failure::page(failure),
            text: None,
            annotations: failure::annotation(failure).into_iter().collect(),
            request: None,
        };
        if let Err(error) = check.finish(Conclusion::Failure, &shown) {
            surfaces.warn(&error.to_string());
        }
    }
    let url = replace(failure, &surfaces, reach)?;
    write(&surfaces, surfaces.outputs.as_ref(), "the outputs", || {
        outputs::file(&[("comment-url", url.clone())])
    });
    Some(url)
}

/// Replaces an existing comment with the failure. It does not write a first comment: the job is red, so nobody thinks
/// that it passed.
fn replace(failure: &UnmeasuredRun<'_>, surfaces: &Surfaces<'_>, reach: Reach) -> Option<String> {
    let context = failure.context;
    let (client, pull_request) = (surfaces.client?, context.pull_request?);
    if context.read_only || surfaces.comment == CommentMode::Off {
        return None;
    }
    let sticky = Sticky {
        pull_request,
        key: &context.comment_key,
        mode: match surfaces.comment {
            CommentMode::New => CommentMode::New,
            _ => CommentMode::OnChange,
        },
        stamp: &CommentStamp::of(context),
        quiet: true,
        keeps: match reach {
            Reach::EarlierRuns => KeptComments::OfAttempt,
            Reach::OtherCommits => KeptComments::OfCommit,
            Reach::Everywhere | Reach::JobOnly => KeptComments::Nothing,
        },
    };
    match post::comment(client, &sticky, &mut |_| failure::page(failure)) {
        Ok(posted) => posted.url().map(str::to_owned),
        Err(error) => {
            surfaces.warn(&error.to_string());
            None
        }
    }
}

/// A line of the log for a run that could not ask for its baseline. Such a run has no result for any case, so no remark
/// in a file would report the problem.
fn alarm(judgement: &Judgement) -> Option<String> {
    let verdict = &judgement.verdict;
    if verdict.verdict != Word::BaselineUnreachable {
        return None;
    }
    let reason = verdict.reasons.first().map_or("", |reason| &reason.text);
    let text = format!("baseline unreachable: {reason}");
    Some(match verdict.passed {
        true => commands::warning(&text),
        false => commands::error(&text),
    })
}

/// Writes the comment, if there is a pull request for it.
fn comment(publication: &Publication<'_>, surfaces: &Surfaces<'_>) -> Option<String> {
    let context = publication.context;
    let (Some(client), Some(pull_request)) = (surfaces.client, context.pull_request) else {
        return None;
    };
    if context.read_only || surfaces.comment == CommentMode::Off {
        return None;
    }
    let stamp = CommentStamp::of(context);
    let sticky = Sticky {
        pull_request,
        key: &context.comment_key,
        mode: surfaces.comment,
        stamp: &stamp,
        quiet: context.caveat.is_none() && publication.judgement.is_some_and(is_quiet),
        keeps: KeptComments::Nothing,
    };
    let mut body = |budget| super::comment::render(publication, budget);
    match post::comment(client, &sticky, &mut body) {
        Ok(Posted::Skipped(why)) => {
            (surfaces.say)(&format!("no comment: {}\n", safe::line(&why)));
            None
        }
        Ok(posted) => posted.url().map(str::to_owned),
        Err(error) => {
            surfaces.warn(&error.to_string());
            None
        }
    }
}

/// Whether the verdict is a pass in which neither the text nor the value of any case changed.
fn is_quiet(judgement: &Judgement) -> bool {
    let changed = |change| matches!(change, Change::Win | Change::Loss | Change::Regression);
    judgement.verdict.passed
        && judgement.verdict.verdict.is_fine()
        && judgement.verdict.changes().is_none()
        && !judgement.verdict.is_thin()
        && !judgement.verdict.has_lost_items()
        && !judgement.verdict.tells_against(ReasonCode::Relabelled)
        && !judgement.verdict.tells(ReasonCode::Drift)
        && !judgement.verdict.tells(ReasonCode::OwnRules)
        && !judgement.cases.iter().any(|case| changed(case.change))
}

fn title(judgement: Option<&Judgement>) -> String {
    let Some(judgement) = judgement else {
        return "Measured".to_owned();
    };
    let verdict = &judgement.verdict;
    let opening = opening(judgement);
    let headline = opening.headline();
    let is_calm = verdict.verdict.is_fine() && verdict.passed;
    // A reader first has to know who may approve.
    let is_asked = judgement.approval.is_some();
    let leading = verdict.leading().filter(|_| !is_calm && !is_asked);
    match leading.or(verdict.reasons.first()) {
        // A reason may begin with the same words as the headline.
        Some(reason) if reason.text.starts_with(opening.word) => safe::cut(&reason.text, 200),
        Some(reason) => safe::cut(&format!("{headline}: {}", reason.text), 200),
        None => headline,
    }
}

/// Appends to a file of the runner, since other steps may have written to it.
fn write(
    surfaces: &Surfaces<'_>,
    path: Option<&PathBuf>,
    name: &str,
    text: impl FnOnce() -> String,
) {
    let Some(path) = path else {
        return;
    };
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(text().as_bytes()))
        .with_context(|| format!("failed to write {name} to `{}`", path.display()));
    if let Err(error) = written {
        surfaces.warn(&format!("{error:#}"));
    }
}
