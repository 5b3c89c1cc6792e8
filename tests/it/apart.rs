//! Code of a change that wants the token of the job: `setup` and the pipeline try what is known, and find nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, lchown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::github::{self, PULL, REPOSITORY, TOKEN};
use crate::project::{GROUNDED, Project};
use crate::repository::{checkout, commit, git, pushed, save, server};
use crate::server::Server;
use crate::workspace::give_away;

/// The user of the workspace.
const USER: u32 = 1001;
/// The files through which a step speaks to the workflow, by what the runner calls them.
pub(crate) const COMMANDS: [(&str, &str); 5] = [
    ("GITHUB_ENV", "set_env"),
    ("GITHUB_PATH", "add_path"),
    ("GITHUB_STATE", "save_state"),
    ("GITHUB_OUTPUT", "set_output"),
    ("GITHUB_STEP_SUMMARY", "step_summary"),
];

/// The script of the hostile code.
const HOSTILE: &str = include_str!("../fixtures/hostile.py");

/// Commits the hostile code to a project whose pipeline stays as good as it was. `notes`, `commands`: where the
/// folders are for the code.
pub(crate) fn corrupt(project: &Project, python: &str, notes: &str, commands: &str) -> String {
    project.write("hostile.py", HOSTILE);
    let try_once = format!(
        "[ -e {notes}/pipeline ] || {python} hostile.py pipeline {notes} {commands} || exit 7\n"
    );
    project.write("pipeline.sh", &format!("{try_once}{GROUNDED}"));
    commit(project, "hostile")
}

/// What the hostile code has found, and that it has tried.
#[track_caller]
pub(crate) fn expect_nothing_found(notes: &Path) {
    for role in ["setup", "pipeline"] {
        let text = fs::read_to_string(notes.join(role)).expect("it ran");
        assert!(text.ends_with("tried\n"), "{role} did not try: {text}");
        let found: Vec<&str> = text.lines().filter(|line| *line != "tried").collect();
        assert!(found.is_empty(), "{role} found {found:#?}");
    }
    let beats = || fs::read(notes.join("beats")).expect("it has outlived its setup");
    let last = beats();
    sleep(Duration::from_millis(200));
    assert_eq!(beats(), last, "it has outlived the run");
}

/// That the files of the runner have what this program said and nothing else.
#[track_caller]
pub(crate) fn expect_own_words(commands: &Path) {
    for (variable, name) in COMMANDS {
        let path = commands.join(name);
        let kind = fs::symlink_metadata(&path).expect("it is there");
        assert!(kind.is_file(), "{name} is a link");
        let text = fs::read_to_string(&path).expect("read");
        assert!(!text.contains("LD_PRELOAD"), "{name}: {text}");
        match variable {
            "GITHUB_OUTPUT" => assert!(text.contains("baseline-sha"), "{text}"),
            "GITHUB_STEP_SUMMARY" => assert!(text.contains("Kelvin"), "{text}"),
            _ => assert_eq!(text, "", "{name}"),
        }
    }
}

/// That everything in a folder belongs to a user.
#[track_caller]
pub(crate) fn expect_of_user(folder: &Path, user: u32) {
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path).expect("there");
        assert_eq!(found.uid(), user, "{} is of another user", path.display());
        if found.is_dir() {
            let entries = fs::read_dir(&path).expect("read");
            open.extend(entries.map(|entry| entry.expect("read").path()));
        }
    }
}

/// The folders of a job, a repository on a server that asks for the token, and a pull request with hostile code.
struct Job {
    folder: tempfile::TempDir,
    project: Project,
    api: github::Server,
    server: Server,
    base: String,
    head: String,
}

impl Job {
    fn new(python: &str) -> Option<Self> {
        let server = server()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let api = github::Server::start();
        server.create(&format!("{REPOSITORY}.git"));
        let project = pushed(&server.url(REPOSITORY), GROUNDED);
        save(&project);
        let base = git(project.root(), &["rev-parse", "HEAD"]);
        let path = |name: &str| folder.path().join(name).display().to_string();
        let head = corrupt(&project, python, &path("notes"), &path("commands"));
        let reference = "HEAD:refs/heads/feature";
        git(project.root(), &["push", "--quiet", "origin", reference]);
        api.state()
            .pulls
            .get_mut(&PULL)
            .expect("there")
            .head_sha
            .clone_from(&head);
        let job = Self {
            folder,
            project,
            api,
            server,
            base,
            head,
        };
        for name in ["home", "commands", "notes", "temp", "tmp"] {
            fs::create_dir(job.path(name)).expect("made");
        }
        for (_, file) in COMMANDS {
            fs::write(job.path("commands").join(file), "").expect("written");
        }
        checkout(
            &job.server,
            REPOSITORY,
            "refs/heads/feature",
            job.folder.path(),
        );
        Some(job)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn payload(&self) -> Value {
        let repository = json!({ "full_name": REPOSITORY, "default_branch": "main" });
        json!({
            "action": "synchronize", "number": PULL, "repository": repository,
            "pull_request": {
                "number": PULL, "user": { "login": "somebody" },
                "head": { "sha": self.head, "ref": "feature", "repo": repository },
                "base": { "sha": self.base, "ref": "main", "repo": repository },
            },
        })
    }

    /// `kelvin ci` in the workspace, with what a runner gives.
    fn command(&self, python: &str) -> Command {
        let event = self.path("event.json");
        fs::write(&event, self.payload().to_string()).expect("written");
        let mut command = self.project.command(&["ci"]);
        let setup = format!(
            "{python} hostile.py setup {} {}",
            self.path("notes").display(),
            self.path("commands").display()
        );
        command
            .current_dir(self.path("workspace"))
            .env("HOME", self.path("home"))
            .env("GITHUB_WORKSPACE", self.path("workspace"))
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_API_URL", self.api.url())
            .env(
                "GITHUB_SERVER_URL",
                self.server.url("").trim_end_matches('/'),
            )
            .env("GITHUB_REPOSITORY", REPOSITORY)
            .env("GITHUB_EVENT_NAME", "pull_request")
            .env("GITHUB_EVENT_PATH", &event)
            .env("GITHUB_SHA", &self.head)
            .env("GITHUB_REF", format!("refs/pull/{PULL}/merge"))
            .env("GITHUB_BASE_REF", "main")
            .env("GITHUB_HEAD_REF", "feature")
            .env("GITHUB_WORKFLOW", "kelvin")
            .env("GITHUB_JOB", "kelvin")
            .env("GITHUB_RUN_ID", "1")
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("TMPDIR", self.path("tmp"))
            .env("RUNNER_TEMP", self.path("temp"))
            .env("INPUT_TOKEN", TOKEN)
            .env("INPUT_SETUP", setup);
        for (variable, file) in COMMANDS {
            command.env(variable, self.path("commands").join(file));
        }
        command
    }
}

#[test]
fn hostile_code_in_the_container_finds_no_token_and_leaves_nothing() {
    let python = "/usr/bin/python3";
    let Some(job) = Job::new(python) else { return };
    // A folder of its own for each is not open to everybody.
    lchown(job.folder.path(), Some(USER), Some(127)).expect("root gives files away");
    if !give_away(job.folder.path()) {
        return;
    }
    let mut command = job.command(python);
    let output = command
        .env("KELVIN_IN_CONTAINER", "1")
        .output()
        .expect("it starts");
    let log = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    expect_nothing_found(&job.path("notes"));
    assert_eq!(output.status.code(), Some(0), "{} {log}", output.status);
    assert!(!log.contains("::warning"), "{log}");
    let comments = job.api.state().comments.len();
    assert_eq!(comments, 1, "{log}");
    expect_own_words(&job.path("commands"));
    let outputs = fs::read_to_string(job.path("commands/set_output")).expect("read");
    assert!(
        outputs.contains(&job.base),
        "the base was had with the token: {outputs}"
    );
    expect_of_user(&job.path("workspace"), USER);
    expect_of_user(&job.path("commands"), USER);
    // The next step finds what the checkout has left.
    let left = fs::read_to_string(job.path("workspace/.git/config")).expect("read");
    assert!(left.contains(&Server::header()), "{left}");
}

#[test]
fn hostile_code_of_the_same_user_finds_no_token_either_and_leaves_nothing() {
    let python = "/usr/bin/python3";
    let Some(job) = Job::new(python) else { return };
    lchown(job.folder.path(), Some(USER), Some(USER)).expect("root gives files away");
    if !give_away(job.folder.path()) {
        return;
    }
    // The user may not look into the folder of the build. Another process copies the program: a file that this process
    // writes is open as well in every process that another test starts in that moment, and no such file can be run.
    let program = job.path("kelvin");
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_kelvin"), &program.to_string_lossy()])
        .status();
    assert!(copied.expect("it starts").success());
    let like = job.command(python);
    let mut command = Command::new(program);
    command.arg("ci").env_clear();
    for (name, value) in like.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    let output = command
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOSTILE_ON_A_HOST", "1")
        .current_dir(job.path("workspace"))
        .uid(USER)
        .gid(USER)
        .output()
        .expect("it starts");
    let log = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    expect_nothing_found(&job.path("notes"));
    assert_eq!(output.status.code(), Some(0), "{} {log}", output.status);
    expect_own_words(&job.path("commands"));
    let outputs = fs::read_to_string(job.path("commands/set_output")).expect("read");
    assert!(outputs.contains(&job.base), "{outputs}");
}
