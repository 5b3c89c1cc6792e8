//! `kelvin ci` end to end: recorded events, a real repository, and a GitHub on loopback.

mod approval;
mod cached;
mod checkout;
mod endings;
mod events;
mod failed;
mod forks;
mod gateway;
mod harmless;
mod measured_base;
mod planted;
mod pushes;
mod refusals;
mod texts;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::begun::{World, begun};
use crate::github::{PULL, REPOSITORY, Server, TOKEN};
use crate::project::{CONSTANT, GROUNDED, Project, SUMMED, Said, USUAL, beside};
use crate::repository::{bare, branch, commit, git, pushed, save};

/// A repository with a baseline on its base branch, and a pull request.
struct Rig {
    project: Project,
    server: Server,
    remote: TempDir,
    /// The tip of the pull request.
    head: String,
    /// The commit it begins at.
    base: String,
    /// The number of the run; each run has the next.
    run: u64,
}

/// Saves the base of a project, replaces the script of its pipeline on a branch, edits more there, and checks out the
/// merge of both.
fn request(project: &Project, script: &str, edit: impl FnOnce(&Project)) {
    save(project);
    branch(project, "feature", script);
    edit(project);
    commit(project, "change");
    git(project.root(), &["checkout", "--quiet", "--detach", "main"]);
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merge", "feature"];
    git(project.root(), &merge);
}

/// What a run left.
struct Ran {
    said: Said,
    outputs: String,
    summary: String,
}

impl Rig {
    /// A pull request whose pipeline is this script; that of the base is grounded.
    fn new(script: &str) -> Self {
        Self::with(Server::start(), script)
    }

    fn with(server: Server, script: &str) -> Self {
        Self::configured(server, script, "")
    }

    /// The same with further lines of configuration, on both sides.
    fn configured(server: Server, script: &str, more: &str) -> Self {
        Self::changed(server, (GROUNDED, script), more)
    }

    /// The same with the script of either side.
    fn changed(server: Server, (base, script): (&str, &str), more: &str) -> Self {
        let make = || {
            let (remote, url) = bare();
            let project = pushed(&url, base);
            if !more.is_empty() {
                project.config(more);
                commit(&project, "configuration");
                git(project.root(), &["push", "--quiet", "origin", "main"]);
            }
            let edit = |project: &Project| project.write("README.md", "A change.\n");
            request(&project, script, edit);
            (project, remote)
        };
        Self::opened(server, begun(format!("{base}\n{script}\n{more}"), make))
    }

    /// A pull request in a repository that has been pushed to its remote, and whose base is saved here. The request
    /// replaces the script of the pipeline, and edits more.
    fn requested(
        server: Server,
        (project, remote): (Project, TempDir),
        script: &str,
        edit: impl FnOnce(&Project),
    ) -> Self {
        request(&project, script, edit);
        Self::opened(server, (project, remote))
    }

    /// The request of a repository in which [`request`] has made it, as GitHub knows it.
    fn opened(server: Server, (project, remote): World) -> Self {
        let tips = git(project.root(), &["rev-parse", "main", "feature"]);
        let (base, head) = tips.split_once('\n').expect("two commits");
        let [base, head] = [base, head].map(str::to_owned);
        server
            .state()
            .pulls
            .get_mut(&PULL)
            .expect("there")
            .head_sha
            .clone_from(&head);
        Self {
            project,
            server,
            remote,
            head,
            base,
            run: 100,
        }
    }

    /// A recorded payload, with the names of this repository.
    fn payload(&self, event: &str) -> Value {
        // The one has the payload of the other; that of a schedule has the repository alone.
        let recorded = match event {
            "pull_request_target" => "pull_request",
            "schedule" => "workflow_dispatch",
            other => other,
        };
        let path = format!(
            "{}/tests/fixtures/events/{recorded}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = fs::read(path).expect("it was recorded");
        let mut payload: Value = serde_json::from_slice(&text).expect("it is JSON");
        if event == "schedule" {
            payload["schedule"] = "17 4 * * 1".into();
        }
        payload["repository"]["full_name"] = REPOSITORY.into();
        payload["repository"]["default_branch"] = "main".into();
        match event {
            "pull_request" | "pull_request_target" => {
                let request = &mut payload["pull_request"];
                request["number"] = PULL.into();
                request["head"]["sha"] = self.head.as_str().into();
                request["head"]["ref"] = "feature".into();
                request["head"]["repo"]["full_name"] = REPOSITORY.into();
                request["base"]["ref"] = "main".into();
            }
            "push" => {
                payload["ref"] = "refs/heads/main".into();
                payload["before"] = self.base.as_str().into();
                payload["after"] = self.head.as_str().into();
            }
            "merge_group" => {
                payload["merge_group"]["base_sha"] = self.base.as_str().into();
                payload["merge_group"]["head_sha"] = self.head.as_str().into();
            }
            "workflow_dispatch" => payload["ref"] = "refs/heads/feature".into(),
            _ => {}
        }
        payload
    }

    /// The command of a run, with the environment that GitHub gives.
    fn command(&mut self, event: &str, payload: &Value, more: &[&str]) -> (Command, PathBuf) {
        self.run += 1;
        let runner = self.project.path(&format!("../runner-{}", self.run));
        fs::create_dir_all(&runner).expect("made");
        fs::write(runner.join("event.json"), payload.to_string()).expect("written");
        let mut arguments = vec!["ci"];
        arguments.extend(more);
        let mut command = self.project.command(&arguments);
        let sha = git(self.project.root(), &["rev-parse", "HEAD"]);
        let reference = match event {
            "pull_request" => "refs/pull/7/merge",
            "workflow_dispatch" => "refs/heads/feature",
            "merge_group" => "refs/heads/gh-readonly-queue/main/pr-7",
            _ => "refs/heads/main",
        };
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_API_URL", self.server.url())
            .env("GITHUB_SERVER_URL", "https://github.example")
            .env("GITHUB_REPOSITORY", REPOSITORY)
            .env("GITHUB_TOKEN", TOKEN)
            .env("GITHUB_EVENT_NAME", event)
            .env("GITHUB_EVENT_PATH", runner.join("event.json"))
            .env("GITHUB_OUTPUT", runner.join("output"))
            .env("GITHUB_STEP_SUMMARY", runner.join("summary"))
            .env("GITHUB_SHA", sha)
            .env("GITHUB_REF", reference)
            .env("GITHUB_WORKFLOW", "Kelvin")
            .env(
                "GITHUB_WORKFLOW_REF",
                format!("{REPOSITORY}/.github/workflows/kelvin.yml@{reference}"),
            )
            .env("GITHUB_JOB", "check")
            .env("GITHUB_RUN_ID", self.run.to_string())
            .env("GITHUB_RUN_ATTEMPT", "1");
        (command, runner)
    }

    /// Has the remote served below an address, as a server has it, with the tip of the pull request.
    fn served(&self) -> String {
        let root = self.project.root();
        let tip = format!("+{}:refs/pull/{PULL}/head", self.head);
        git(root, &["push", "--quiet", "origin", &tip]);
        let place = self.project.path("../served").join(REPOSITORY);
        if !place.exists() {
            fs::create_dir_all(place.parent().expect("it has one")).expect("made");
            std::os::unix::fs::symlink(self.remote.path(), &place).expect("linked");
        }
        format!("file://{}", self.project.path("../served").display())
    }

    /// Runs `kelvin ci` on an event.
    fn ci(&mut self, event: &str, payload: &Value, more: &[&str]) -> Ran {
        let (mut command, runner) = self.command(event, payload, more);
        let said = said(command.output().expect("the binary starts"));
        let read = |name: &str| fs::read_to_string(runner.join(name)).unwrap_or_default();
        Ran {
            said,
            outputs: read("output"),
            summary: read("summary"),
        }
    }

    /// Runs it on the recorded event.
    fn on(&mut self, event: &str, more: &[&str]) -> Ran {
        let payload = self.payload(event);
        self.ci(event, &payload, more)
    }

    /// The bodies of all comments, in the order of their numbers.
    fn comments(&self) -> Vec<String> {
        let state = self.server.state();
        state
            .comments
            .values()
            .map(|comment| comment.body.clone())
            .collect()
    }

    /// Status, conclusion and commit of the check runs.
    fn checks(&self) -> Vec<(Value, Value, Value)> {
        let state = self.server.state();
        let checks = state.check_runs.values();
        checks
            .map(|run| {
                (
                    run["status"].clone(),
                    run["conclusion"].clone(),
                    run["head_sha"].clone(),
                )
            })
            .collect()
    }
}

impl Ran {
    /// Demands an exit code.
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        let Self {
            said,
            outputs,
            summary,
        } = self;
        let said = said.expect(code);
        Self {
            said,
            outputs,
            summary,
        }
    }

    /// All that was printed.
    fn log(&self) -> String {
        format!("{}{}", self.said.stdout, self.said.stderr)
    }
}

fn said(output: Output) -> Said {
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
