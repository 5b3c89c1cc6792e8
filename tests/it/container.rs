//! The images of the container actions, started as GitHub's runner starts them.
//!
//! `tests/action/container` builds the images and runs this; by itself it is left out.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::apart::{corrupt, expect_nothing_found, expect_of_user, expect_own_words};
use crate::github::{self, PULL, REPOSITORY, TOKEN};
use crate::project::{FIRST_UNIT, GROUNDED, Project};
use crate::repository::{commit, git, pushed};
use crate::server::Server;
use crate::workspace::give_away;

/// A runner: the folders that it mounts, and what it starts containers with.
struct Runner {
    folder: TempDir,
    engine: String,
    image: String,
    api: String,
    /// Where the repositories are.
    address: String,
    /// What stands in for Docker, in a folder that is given to nobody.
    docker: TempDir,
}

/// What a step came to.
struct Step {
    output: Output,
    outputs: String,
    summary: String,
}

impl Step {
    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn log(&self) -> String {
        let Output { stdout, stderr, .. } = &self.output;
        format!(
            "{}\n{}",
            String::from_utf8_lossy(stdout),
            String::from_utf8_lossy(stderr)
        )
    }

    /// An output as the runner reads it: `name=value`, or between two delimiters.
    fn output(&self, name: &str) -> String {
        let mut lines = self.outputs.lines();
        while let Some(line) = lines.next() {
            if let Some(value) = line.strip_prefix(&format!("{name}=")) {
                return value.to_owned();
            }
            if let Some(end) = line.strip_prefix(&format!("{name}<<")) {
                let value: Vec<&str> = lines.take_while(|line| *line != end).collect();
                return value.join("\n");
            }
        }
        panic!("no output `{name}` in {:?}", self.outputs)
    }
}

impl Runner {
    /// A runner of the image that a variable names, and a repository of its own on the server.
    fn of_image(name: &str, api: &github::Server, server: &Server) -> Self {
        let given = |name: &str| {
            std::env::var(name).unwrap_or_else(|_| panic!("`tests/action/container` sets {name}"))
        };
        server.create(&format!("{REPOSITORY}.git"));
        let docker = tempfile::tempdir().expect("a temporary folder");
        let socket = docker.path().join("docker.sock");
        // What is bound stays until the folder goes; nobody has to answer.
        drop(UnixListener::bind(&socket).expect("bound"));
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o660)).expect("set");
        lchown(&socket, Some(0), Some(127)).expect("root gives files away");
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            engine: given("KELVIN_ENGINE"),
            image: given(name),
            api: api.url().to_owned(),
            address: server.url(""),
            docker,
        }
    }

    /// How long it took from a moment to the first call of the pipeline, in milliseconds.
    fn called_after(&self, begun: u128) -> u128 {
        let called = fs::read_to_string(self.path("workspace/started.log"));
        let called = called.expect("the pipeline ran");
        called.trim().parse::<u128>().expect("a time") - begun
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Checks a commit out as `actions/checkout` does and runs the action on it.
    fn step(
        &self,
        server: &Server,
        commit: &str,
        event: &str,
        payload: &Value,
        more: &[(&str, &str)],
    ) -> Step {
        for folder in ["workspace", "home", "workflow", "commands", "temp"] {
            let _ = fs::remove_dir_all(self.path(folder));
            fs::create_dir(self.path(folder)).expect("made");
        }
        fs::remove_dir(self.path("workspace")).expect("removed");
        crate::repository::checkout(server, REPOSITORY, commit, self.folder.path());
        fs::write(self.path("workflow/event.json"), payload.to_string()).expect("written");
        for file in [
            "set_output",
            "step_summary",
            "set_env",
            "add_path",
            "save_state",
        ] {
            fs::write(self.path("commands").join(file), "").expect("written");
        }
        assert!(give_away(self.folder.path()), "root gives files away");

        let fixed = [
            ("HOME", "/github/home"),
            ("CI", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_WORKSPACE", "/github/workspace"),
            ("GITHUB_REPOSITORY", REPOSITORY),
            ("GITHUB_EVENT_NAME", event),
            ("GITHUB_EVENT_PATH", "/github/workflow/event.json"),
            ("GITHUB_API_URL", &self.api),
            ("GITHUB_SERVER_URL", self.address.trim_end_matches('/')),
            ("GITHUB_SHA", commit),
            ("GITHUB_WORKFLOW", "kelvin"),
            ("GITHUB_JOB", "kelvin"),
            ("GITHUB_RUN_ID", "1"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            (
                "GITHUB_HEAD_REF",
                if event == "pull_request" {
                    "feature"
                } else {
                    ""
                },
            ),
            ("GITHUB_OUTPUT", "/github/file_commands/set_output"),
            ("GITHUB_STEP_SUMMARY", "/github/file_commands/step_summary"),
            ("GITHUB_ENV", "/github/file_commands/set_env"),
            ("GITHUB_PATH", "/github/file_commands/add_path"),
            ("GITHUB_STATE", "/github/file_commands/save_state"),
            ("RUNNER_OS", "Linux"),
            ("RUNNER_TEMP", "/github/runner_temp"),
            ("INPUT_TOKEN", TOKEN),
            ("INPUT_CONFIG", ""),
            ("INPUT_ONLY", ""),
            ("INPUT_COMMENT-KEY", ""),
            ("INPUT_WORKING-DIRECTORY", ""),
        ];
        let mut command = Command::new(&self.engine);
        command.args([
            "run",
            "--rm",
            "--network",
            "host",
            "--workdir",
            "/github/workspace",
        ]);
        if self.engine == "podman" {
            command.args(["--pull", "never"]);
        }
        for (name, value) in fixed.iter().chain(more) {
            command.arg("-e").arg(format!("{name}={value}"));
        }
        for (ours, theirs) in [
            ("temp", "runner_temp"),
            ("home", "home"),
            ("workflow", "workflow"),
            ("commands", "file_commands"),
            ("workspace", "workspace"),
        ] {
            command
                .arg("-v")
                .arg(format!("{}:/github/{theirs}", self.path(ours).display()));
        }
        command.arg("-v").arg(format!(
            "{}:/var/run/docker.sock",
            self.docker.path().join("docker.sock").display()
        ));
        let output = command
            .args([self.image.as_str(), "ci"])
            .output()
            .expect("the engine starts");
        let read = |file: &str| fs::read_to_string(self.path("commands").join(file)).expect("read");
        // A later step and the cleaning of a runner have to be able to do what they like with it.
        expect_of_user(&self.path("workspace"), 1001);
        Step {
            output,
            outputs: read("set_output"),
            summary: read("step_summary"),
        }
    }
}

/// A script that leaves the time of its first call. A log is no code of the pipeline, so that writing it is no change of
/// the code.
fn stamped(script: &str) -> String {
    format!("[ -e started.log ] || date +%s%3N > started.log\n{script}")
}

fn now() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_millis()
}

/// Pushes the commit at hand to a branch.
fn push(project: &Project, branch: &str) -> String {
    git(
        project.root(),
        &[
            "push",
            "--quiet",
            "--force",
            "origin",
            &format!("HEAD:refs/heads/{branch}"),
        ],
    );
    git(project.root(), &["rev-parse", "HEAD"])
}

fn repository() -> Value {
    json!({ "full_name": REPOSITORY, "default_branch": "main" })
}

/// The event of the push that makes the default branch.
fn first_push(commit: &str) -> Value {
    json!({
        "ref": "refs/heads/main", "before": "0".repeat(40), "after": commit, "repository": repository(),
    })
}

/// The event of a pull request from `feature` into the default branch.
fn pull_request(head: &str, base: &str) -> Value {
    json!({
        "action": "synchronize", "number": PULL, "repository": repository(),
        "pull_request": {
            "number": PULL, "user": { "login": "somebody" },
            "head": { "sha": head, "ref": "feature", "repo": repository() },
            "base": { "sha": base, "ref": "main", "repo": repository() },
        },
    })
}

#[test]
#[ignore = "takes an image; `tests/action/container` builds it and runs this"]
#[expect(
    clippy::print_stderr,
    reason = "the figures of the documentation come from here"
)]
fn the_image_runs_as_the_runner_starts_it() {
    let api = github::Server::start();
    let server = Server::start().expect("lighttpd is there");
    let runner = Runner::of_image("KELVIN_IMAGE", &api, &server);
    let project = pushed(&server.url(REPOSITORY), &stamped(GROUNDED));
    let base = push(&project, "main");

    // A push, with a line that uses all that the image brings.
    let mut tools = String::new();
    for tool in [
        "bash", "curl", "git", "node", "npm", "pip", "python", "python3", "uv",
    ] {
        write!(tools, "{tool} --version >> tools.txt && ").expect("a string");
    }
    tools.push_str("ls /etc/ssl/certs/ca-certificates.crt >> tools.txt");
    // Whoever is not root installs here, and nowhere else.
    tools.push_str(
        " && touch \"$(python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')/x.pth\" \
         && uv pip freeze && pip freeze && touch \"$(npm config get prefix)/bin/x\" \
         && ! touch /usr/local/bin/x",
    );
    let payload = first_push(&base);
    let begun = now();
    let more = [
        ("INPUT_SETUP", tools.as_str()),
        ("GITHUB_REF", "refs/heads/main"),
    ];
    let step = runner.step(&server, &base, "push", &payload, &more);
    assert_eq!(step.code(), Some(0), "{}", step.log());
    let versions = fs::read_to_string(runner.path("workspace/tools.txt")).expect("the setup ran");
    assert!(versions.lines().count() >= 10, "{versions}");
    eprintln!(
        "with a setup line: {} ms to the first call of the pipeline",
        runner.called_after(begun)
    );
    let kept = git(
        project.root(),
        &["ls-remote", "origin", "refs/heads/kelvin-reports"],
    );
    assert!(!kept.is_empty(), "the baseline was kept");

    // A pull request that makes it worse.
    project.write("pipeline.sh", &stamped(FIRST_UNIT));
    commit(&project, "what stands first");
    let head = push(&project, "feature");
    {
        let mut state = api.state();
        let pull = state.pulls.get_mut(&PULL).expect("it is there");
        pull.head_sha.clone_from(&head);
    }
    let payload = pull_request(&head, &base);
    let reference = format!("refs/pull/{PULL}/merge");
    let more = |drop: &'static str| {
        [
            ("GITHUB_BASE_REF", "main"),
            ("GITHUB_REF", reference.as_str()),
            ("INPUT_CHECK-RUN", "true"),
            ("INPUT_MAX-DROP", drop),
        ]
    };
    let begun = now();
    let step = runner.step(&server, &head, "pull_request", &payload, &more("0.1"));
    assert_eq!(step.code(), Some(3), "{}", step.log());
    eprintln!(
        "without: {} ms to the first call of the pipeline",
        runner.called_after(begun)
    );
    assert_eq!(step.output("verdict"), "regression");
    assert!(step.output("worst-metric").starts_with("evidence."));
    assert_eq!(step.output("baseline-sha"), base);
    assert!(!step.summary.is_empty());
    {
        let state = api.state();
        assert_eq!(state.comments.len(), 1);
        assert_eq!(state.check_runs.len(), 1);
    }

    // A name with a hyphen arrives: with all of it allowed to drop, the same change passes.
    let step = runner.step(&server, &head, "pull_request", &payload, &more("1"));
    assert_eq!(step.code(), Some(0), "{}", step.log());
    assert_eq!(step.output("verdict"), "pass", "{}", step.log());
    assert_eq!(api.state().comments.len(), 1);

    // Code that wants the token finds nothing, and leaves nothing.
    let notes = "/github/runner_temp/notes";
    let hostile = corrupt(&project, "python3", notes, "/github/file_commands");
    push(&project, "feature");
    {
        let mut state = api.state();
        let pull = state.pulls.get_mut(&PULL).expect("it is there");
        pull.head_sha.clone_from(&hostile);
    }
    let mut theirs = payload.clone();
    theirs["pull_request"]["head"]["sha"] = json!(hostile);
    let setup = format!("mkdir -p {notes} && python3 hostile.py setup {notes}");
    let more_of_it = [("INPUT_SETUP", setup.as_str())];
    let more_of_it: Vec<_> = more("0.1").into_iter().chain(more_of_it).collect();
    let step = runner.step(&server, &hostile, "pull_request", &theirs, &more_of_it);
    expect_nothing_found(&runner.path("temp/notes"));
    assert_eq!(step.code(), Some(0), "{}", step.log());
    assert!(!step.log().contains("::warning"), "{}", step.log());
    assert_eq!(step.output("baseline-sha"), base);
    expect_own_words(&runner.path("commands"));
    expect_of_user(&runner.path("commands"), 1001);

    // What only the job has set up is not in here, and the message says where it is.
    project.write("pipeline.sh", "no-such-program");
    project.write(
        "kelvin.yaml",
        "run: no-such-program {input} {output}\ncases: cases\ndecision_field: decision\ngoverning_types: [rule]\n",
    );
    commit(&project, "a program of the job");
    let head = push(&project, "feature");
    let step = runner.step(&server, &head, "pull_request", &theirs, &more("0.1"));
    assert!(
        step.code() != Some(0) && step.code() != Some(3),
        "{}",
        step.log()
    );
    assert!(step.log().contains("/host@"), "{}", step.log());
}

#[test]
#[ignore = "takes an image; `tests/action/container` builds it and runs this"]
#[expect(
    clippy::print_stderr,
    reason = "the figures of the documentation come from here"
)]
fn the_slim_image_measures_a_pipeline_that_needs_only_a_shell() {
    let api = github::Server::start();
    let server = Server::start().expect("lighttpd is there");
    let runner = Runner::of_image("KELVIN_SLIM", &api, &server);
    let project = pushed(&server.url(REPOSITORY), &stamped(GROUNDED));
    let base = push(&project, "main");

    // What it has not got, so that nobody counts on it.
    let setup = "bash --version && git --version && ls /etc/ssl/certs/ca-certificates.crt && \
                 for one in python3 node npm uv curl; do ! command -v $one || exit 1; done";
    let more = [("INPUT_SETUP", setup), ("GITHUB_REF", "refs/heads/main")];
    let step = runner.step(&server, &base, "push", &first_push(&base), &more);
    assert_eq!(step.code(), Some(0), "{}", step.log());

    project.write("pipeline.sh", &stamped(FIRST_UNIT));
    commit(&project, "what stands first");
    let head = push(&project, "feature");
    {
        let mut state = api.state();
        let pull = state.pulls.get_mut(&PULL).expect("it is there");
        pull.head_sha.clone_from(&head);
    }
    let reference = format!("refs/pull/{PULL}/merge");
    let more = [
        ("GITHUB_BASE_REF", "main"),
        ("GITHUB_REF", reference.as_str()),
    ];
    let begun = now();
    let payload = pull_request(&head, &base);
    let step = runner.step(&server, &head, "pull_request", &payload, &more);
    assert_eq!(step.code(), Some(3), "{}", step.log());
    assert_eq!(step.output("verdict"), "regression");
    assert_eq!(step.output("baseline-sha"), base);
    assert_eq!(api.state().comments.len(), 1);
    eprintln!(
        "the slim image: {} ms to the first call of the pipeline",
        runner.called_after(begun)
    );
}
