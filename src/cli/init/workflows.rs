//! The workflows: when they measure a pull request, their text, and how they are written for an existing configuration.
//! Then no questions are asked, since workflows only name the configuration.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::files::Target;
use super::request::Request;
use super::template::{in_a_list, quoted};
use crate::cli::again::Again;
use crate::cli::check::shown;
use crate::registry::Registry;
use kelvin_base::exit::Misuse;
use kelvin_base::file;
use kelvin_page::safe;

/// Whether only the workflows are requested, and the configuration exists.
pub(super) fn are_all(request: &Request, target: &Target) -> bool {
    let rest = Request {
        workflow: None,
        on: WorkflowTrigger::Push,
        ..request.clone()
    };
    let is_alone = request.workflow == Some(true) && rest.is_silent() && !request.force;
    is_alone && target.config.is_file()
}

/// Whether the workflows exist with exactly the text that would be written, so that a second `init` succeeds.
pub(super) fn are_written(request: &Request, target: &Target) -> bool {
    let is_there = |(path, text): &(PathBuf, String)| {
        std::fs::read(path).is_ok_and(|there| there == text.as_bytes())
    };
    target.workflows(request.on).iter().all(is_there)
}

/// Writes the workflows that do not exist yet.
///
/// # Errors
///
/// A [`Misuse`] if the configuration is not valid, or if a workflow of that name has different content.
pub(super) fn write(
    registry: Registry,
    request: &Request,
    target: &Target,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // A workflow whose configuration cannot be read would fail on every pull request.
    registry.configured_in(&request.file)?;
    let mut absent = Vec::new();
    for (path, text) in target.workflows(request.on) {
        let shown = shown(&path);
        match std::fs::read(&path) {
            Ok(there) if there == text.as_bytes() => {
                writeln!(out, "{} is there already", safe::line(&shown))?;
            }
            _ if path.symlink_metadata().is_ok() => {
                return Err(Misuse::new(format!(
                    "`{shown}` is there already, and is not what `kelvin init --workflow` would write"
                ))
                .help("move it away first; nothing was written")
                .into());
            }
            _ => absent.push((path, text, shown)),
        }
    }
    for (path, text, shown) in absent {
        file::write(&path, text.as_bytes())?;
        writeln!(out, "wrote {}", safe::line(&shown))?;
    }
    let file = shown(&target.config);
    let doctor = Again::kelvin("doctor").config(Path::new(&file));
    write!(out, "{}", doctor.next())?;
    Ok(())
}

/// What a measurement of a pull request waits for. A push to the default branch and a merge queue wait for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum WorkflowTrigger {
    /// Every push to a pull request.
    #[default]
    Push,
    /// The label `kelvin`: then every push is measured, as long as the label is there.
    Label,
    /// A comment `/kelvin run` by somebody who may write to the repository.
    Comment,
    /// A review that approves, by somebody of the team.
    Approval,
}

/// The workflow that starts a run again when a comment asks for it.
pub(super) const ASKED: &str = "\
# Measures a pull request where somebody who may write comments `/kelvin run`: the run of `kelvin` that the push has
# started, and that waits, is started again. It runs in the default branch and executes nothing of the pull request.
name: kelvin-run
on: { issue_comment: { types: [created] } } # zizmor: ignore[dangerous-triggers]
permissions: {}
jobs:
  run:
    if: github.event.issue.pull_request && startsWith(github.event.comment.body, '/kelvin run')
    runs-on: ubuntu-latest
    permissions: { actions: write, pull-requests: read }
    steps:
      - uses: org/kelvin-action/approve@v1
";

impl WorkflowTrigger {
    /// The event of a pull request that starts the workflow.
    const fn event(self) -> &'static str {
        match self {
            Self::Push | Self::Comment => "pull_request: {}",
            Self::Label => "pull_request: { types: [labeled, synchronize, reopened] }",
            Self::Approval => "pull_request_review: { types: [submitted] }",
        }
    }

    /// The condition for a measurement, as a GitHub expression; none if each run measures.
    const fn condition(self) -> Option<&'static str> {
        match self {
            Self::Push => None,
            Self::Label => Some(
                "github.event_name != 'pull_request' || (contains(github.event.pull_request.labels.*.name, 'kelvin') && \
                 (github.event.action != 'labeled' || github.event.label.name == 'kelvin'))",
            ),
            Self::Comment => Some("github.event_name != 'pull_request' || github.run_attempt > 1"),
            Self::Approval => Some(
                "github.event_name != 'pull_request_review' || (github.event.review.state == 'approved' && \
                 contains(fromJSON('[\"OWNER\", \"MEMBER\", \"COLLABORATOR\"]'), github.event.review.author_association))",
            ),
        }
    }

    /// The text of the workflow that measures. `config` is the path of the configuration in the repository, if it is
    /// not the usual one, and `branch` the branch whose pushes are measured as the base of later changes.
    pub(super) fn measures(
        self,
        config: Option<&str>,
        setup: Option<&str>,
        branch: &str,
    ) -> String {
        let setup = setup.map(|command| format!("setup: {}, ", quoted(command)));
        let config = config.map(|path| format!("config: {}, ", quoted(path)));
        let with = [config, setup].into_iter().flatten().collect::<String>();
        let branch = in_a_list(branch);
        let event = self.event();
        // GitHub treats a skipped job as passed.
        let waits = self.condition().map_or_else(String::new, |condition| {
            format!(
                "\x20   # A job that is skipped counts as passed, so it has another name than the check that a rule requires.\n\
                 \x20   name: ${{{{ ({condition}) && 'kelvin' || 'kelvin was not asked for' }}}}\n\
                 \x20   if: {condition}\n"
            )
        });
        // The noise of the base mostly determines which changes can be detected later.
        format!(
            "# Measures with a token that can only read; the workflow `kelvin-post` publishes and keeps what came of it.\n\
             name: kelvin\n\
             on: {{ {event}, push: {{ branches: [{branch}] }}, merge_group: {{}}, workflow_dispatch: {{}} }}\n\
             permissions: {{ contents: read, actions: read }}\n\
             jobs:\n\
             \x20 kelvin:\n\
             {waits}\
             \x20   runs-on: ubuntu-latest\n\
             \x20   steps:\n\
             \x20     - uses: actions/checkout@v5\n\
             \x20       with: {{ persist-credentials: false }}\n\
             \x20     - uses: org/kelvin-action@v1\n\
             \x20       with: {{ {with}base-repeats: 5, comment: later }}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::cli::again::name_of;

    /// The documents show these, and linters read them there.
    #[test]
    fn the_workflows_are_those_of_the_documents() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/workflows");
        let shown = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).expect("read");
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .collect::<Vec<_>>()
                .join("\n")
        };
        let bare = |text: &str| {
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .collect::<Vec<_>>()
                .join("\n")
        };
        for on in [
            WorkflowTrigger::Label,
            WorkflowTrigger::Comment,
            WorkflowTrigger::Approval,
        ] {
            let text = on.measures(None, Some("pip install -r requirements.txt"), "main");
            assert_eq!(bare(&text), shown(&format!("on-{}.yml", name_of(on))));
            assert!(text.lines().count() <= 17, "{text}");
        }
        assert_eq!(bare(ASKED), shown("on-comment-run.yml"));
    }
}
