//! A check run that is opened before the work and always completed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::publish::{Annotation, Level};
use crate::{CheckRun, Client, Error, Remark};
use kelvin_gate::Judgement;

/// The maximum number of annotations per request that GitHub accepts.
const BATCH: usize = 50;
/// The maximum number of annotations of a check run; each batch is a request.
const MOST: usize = 500;
/// The maximum length of the text and of the summary, in characters.
const CHARACTERS: usize = 65_535;

/// The conclusion of a check run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The check passed.
    Success,
    /// The check did not pass.
    Failure,
    /// The check reports a result but blocks nobody.
    Neutral,
}

impl Conclusion {
    /// The conclusion for a verdict. A verdict that blocks nobody but is not a pass either (advisory, no baseline,
    /// inconclusive) is neutral.
    pub fn of(judgement: &Judgement) -> Self {
        let verdict = &judgement.verdict;
        match (verdict.passed, verdict.verdict) {
            (false, _) => Self::Failure,
            (true, _) if judgement.is_approved() => Self::Success,
            (true, word) if word.is_fine() => Self::Success,
            (true, _) => Self::Neutral,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
        }
    }
}

/// The content of a completed check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCheckRun {
    /// The title in one line.
    pub title: String,
    /// The summary in Markdown; text beyond GitHub's limit is cut off at the end of a line.
    pub summary: String,
    /// More Markdown, shown below.
    pub text: Option<String>,
    /// Remarks at lines of files, the most important first.
    pub annotations: Vec<Annotation>,
    /// The id of the request for approval to which the check run belongs, if there is one.
    pub request: Option<String>,
}

/// The external id of the check run for a request for approval. By this id, a later decision finds this check run, and
/// not one with other findings.
pub fn external_id(request: &str) -> String {
    format!("kelvin-approval-{request}")
}

/// A check run in progress. If it is dropped unfinished, it is completed as failed, because an open check would block a
/// merge forever.
#[must_use = "dropping it closes it as failed"]
pub struct OpenCheckRun<'a> {
    client: &'a Client,
    run: CheckRun,
    open: bool,
}

impl<'a> OpenCheckRun<'a> {
    /// Opens a check run on a commit. `external_id` distinguishes this run and attempt from others.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn open(
        client: &'a Client,
        name: &str,
        head_sha: &str,
        external_id: &str,
    ) -> Result<Self, Error> {
        let run = match client.create_check_run(name, head_sha, external_id) {
            // The check run may exist: then a second one with the same name would leave it open.
            Err(error) if error.is_unsure() => {
                client.pause_about(Duration::from_secs(1));
                match client.check_run_of(name, head_sha, external_id)? {
                    Some(run) => run,
                    None => client.create_check_run(name, head_sha, external_id)?,
                }
            }
            done => done?,
        };
        Ok(Self {
            client,
            run,
            open: true,
        })
    }

    /// The address for people.
    #[cfg(test)]
    pub fn url(&self) -> Option<&str> {
        self.run.html_url.as_deref()
    }

    /// Completes the check run. Annotations that GitHub rejects are left out; the conclusion is not.
    ///
    /// # Errors
    ///
    /// Fails with an [`Error`] if GitHub does not answer, or if the check run is completed but annotations are missing.
    pub fn finish(mut self, conclusion: Conclusion, shown: &ShownCheckRun) -> Result<(), Error> {
        let mut output = json!({
            "title": cut(&shown.title, 255),
            "summary": cut(&shown.summary, CHARACTERS),
        });
        if let Some(text) = &shown.text {
            output["text"] = cut(text, CHARACTERS).into();
        }
        let remarks: Vec<Remark> = shown.annotations.iter().take(MOST).map(remark).collect();
        let mut lost = None;
        for batch in remarks.chunks(BATCH) {
            let mut output = output.clone();
            output["annotations"] = json!(batch);
            let change = json!({ "output": output });
            if let Err(error) = self.client.update_check_run(self.run.id, &change) {
                lost = Some(error);
                break;
            }
        }
        let request = shown.request.as_deref();
        self.close(conclusion, &output, request)?;
        lost.map_or(Ok(()), Err)
    }

    fn close(
        &mut self,
        conclusion: Conclusion,
        output: &Value,
        request: Option<&str>,
    ) -> Result<(), Error> {
        let mut change = json!({
            "status": "completed",
            "conclusion": conclusion.name(),
            "output": output,
        });
        if let Some(request) = request {
            change["external_id"] = external_id(request).into();
        }
        self.client.update_check_run(self.run.id, &change)?;
        self.open = false;
        Ok(())
    }
}

impl Drop for OpenCheckRun<'_> {
    fn drop(&mut self) {
        if self.open {
            self.client.hurry();
            let output = json!({
                "title": "Ended without a verdict",
                "summary": "The run ended before it had a verdict: it failed, or it was stopped. \
                            The log of the job says more.",
            });
            // The error cannot be returned here, because there is no caller any more.
            let _ = self.close(Conclusion::Failure, &output, None);
        }
    }
}

/// Completes a check run again, with new content.
///
/// # Errors
///
/// See [`Error`].
pub fn close(client: &Client, id: u64, passed: bool, shown: &ShownCheckRun) -> Result<(), Error> {
    let conclusion = match passed {
        true => Conclusion::Success,
        false => Conclusion::Failure,
    };
    let change = json!({
        "status": "completed",
        "conclusion": conclusion.name(),
        "output": { "title": cut(&shown.title, 255), "summary": cut(&shown.summary, CHARACTERS) },
    });
    client.update_check_run(id, &change).map(|_| ())
}

fn remark(annotation: &Annotation) -> Remark {
    let line = annotation.line.max(1);
    Remark {
        path: annotation.path.clone(),
        start_line: line,
        end_line: line,
        annotation_level: match annotation.level {
            Level::Failure => "failure",
            Level::Warning => "warning",
            Level::Notice => "notice",
        },
        title: cut(&annotation.title, 255),
        // GitHub counts bytes here, at most 64 KB.
        message: cut(&annotation.message, 15_000),
    }
}

/// The text with at most this many characters, cut at the end of a line if there is one.
fn cut(text: &str, most: usize) -> String {
    const MARK: &str = "\n\n(cut here; the rest is in the report)";
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let room = most.saturating_sub(MARK.len());
    let (short, mark) = if most > 1_000 {
        (
            text.char_indices().nth(room).map_or(end, |(at, _)| at),
            MARK,
        )
    } else {
        (end, "")
    };
    let kept = &text[..short];
    let kept = match kept.rfind('\n') {
        Some(line) if !mark.is_empty() => &kept[..line],
        _ => kept,
    };
    format!("{kept}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_so() {
        let text = "ä line of text\n".repeat(10_000);
        let short = cut(&text, CHARACTERS);
        assert!(short.chars().count() <= CHARACTERS);
        let (_, end) = short
            .rsplit_once("ä line of text\n\n")
            .expect("whole lines");
        insta::assert_snapshot!(end, @"(cut here; the rest is in the report)");
        assert_eq!(cut("short", CHARACTERS), "short");
        assert_eq!(cut(&"é".repeat(300), 255).chars().count(), 255);
    }
}
