//! The sample workflow of the documentation under `act`, which runs workflows without GitHub.
//!
//! `tests/action/act` installs `act` and runs this; by itself it is left out.

mod approval;
mod asked_for;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::github::archive::zip;
use crate::github::{self, PULL, REPOSITORY, TOKEN};
use crate::repository::git;

/// A repository with the sample workflow, on a machine with `act` and a fake of GitHub's API.
struct Rig {
    act: PathBuf,
    api: github::Server,
    folder: TempDir,
    run: u64,
}

/// What a run of the workflow came to.
struct Ran {
    succeeded: bool,
    log: String,
}

impl Ran {
    /// The outputs, as the last step of the workflow prints them.
    fn outputs(&self) -> &str {
        self.log
            .lines()
            .rev()
            .find_map(|line| line.split_once("| verdict="))
            .unwrap_or_else(|| panic!("no outputs in:\n{}", self.log))
            .1
    }
}

const DOWNLOAD: &str = "name: a stand-in\ndescription: Gets the artifacts of a pattern.\n\
    inputs:\n  pattern: {description: n}\n  path: {description: p}\nruns:\n  using: composite\n  steps:\n    \
    - shell: bash\n      env:\n        PATTERN: ${{ inputs.pattern }}\n        INTO: ${{ inputs.path }}\n      \
    run: |\n        shopt -s nullglob\n        cd \"$STORE\"\n        for found in $PATTERN; do\n          \
    mkdir -p \"$GITHUB_WORKSPACE/$INTO\"; cp -r \"$found\" \"$GITHUB_WORKSPACE/$INTO\"\n        done\n";

const UPLOAD: &str = "name: a stand-in\ndescription: Keeps the files of an artifact below a folder.\n\
    inputs:\n  name: {description: n}\n  path: {description: p}\n  if-no-files-found: {description: i}\n  \
    overwrite: {description: o}\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      env:\n        \
    NAME: ${{ inputs.name }}\n        FILES: ${{ inputs.path }}\n      run: |\n        \
    mkdir -p \"$STORE/$NAME\"\n        while read -r file; do [ -z \"$file\" ] || cp -r \"$file\" \"$STORE/$NAME\"; done <<< \"$FILES\"\n";

/// Few, so that this is done in seconds, and enough for a regression.
const CASES: [&str; 6] = [
    "bedside-monitor-tones",
    "dialysis-console-firmware",
    "fetal-monitor-gateway",
    "glucose-meter-sync",
    "nurse-call-routing",
    "telemetry-roaming",
];

impl Rig {
    fn new(act: PathBuf) -> Self {
        let rig = Self {
            act,
            api: github::Server::start(),
            folder: tempfile::tempdir().expect("a temporary folder"),
            run: 0,
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        for folder in [
            "home",
            "store",
            "upload",
            "download",
            "remote.git",
            "work/cases",
        ] {
            fs::create_dir_all(rig.path(folder)).expect("made");
        }
        fs::write(rig.path("upload/action.yml"), UPLOAD).expect("written");
        fs::write(rig.path("download/action.yml"), DOWNLOAD).expect("written");
        // What a runner would clone, and no more: `act` holds all of it in memory.
        for file in [
            "action.yml",
            "host/action.yml",
            "host/fetch.sh",
            "post/action.yml",
            "approve/action.yml",
        ] {
            let copy = rig.path("action").join(file);
            fs::create_dir_all(copy.parent().expect("below the rig")).expect("made");
            fs::copy(source.join(file), copy).expect("copied");
        }
        for case in CASES {
            let case = format!("cases/{case}.md");
            fs::copy(source.join(&case), rig.path("work").join(&case)).expect("copied");
        }
        rig.pipeline("examples/grounded/pipeline.py");
        rig.write(
            "kelvin.yaml",
            "run: python3 pipeline.py {input} {output}\ncases: cases\ndecision_field: decision\n\
             governing_types: [Release Rule, Verification Record]\njobs: 2\n\
             gate: {deterministic: true}\n",
        );
        rig.write(".gitignore", "/kelvin/\n/.kelvin-cache/\n");
        for (ours, theirs) in [("host", "kelvin"), ("post", "post"), ("approve", "approve")] {
            let path = source.join(format!("docs/workflows/{ours}.yml"));
            let workflow = fs::read_to_string(path).expect("read");
            rig.write(&format!(".github/workflows/{theirs}.yml"), &workflow);
        }
        let remote = format!("file://{}", rig.path("remote.git").display());
        git(
            &rig.path("remote.git"),
            &["init", "--quiet", "--bare", "--initial-branch=main"],
        );
        rig.git(&["init", "--quiet", "--initial-branch=main"]);
        rig.git(&["config", "user.name", "t"]);
        rig.git(&["config", "user.email", "t@example.org"]);
        rig.git(&["remote", "add", "origin", &remote]);
        rig
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path("work").join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Puts a pipeline of the examples in place.
    fn pipeline(&self, path: &str) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        fs::copy(source, self.path("work/pipeline.py")).expect("copied");
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.path("work"), arguments)
    }

    /// Commits everything on the branch at hand, pushes it and returns the commit.
    fn push(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["push", "--quiet", "origin", "HEAD"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs the workflow for an event, as a run of its own.
    fn act(&mut self, event: &str, payload: &Value, reference: &str) -> Ran {
        self.run += 1;
        fs::write(self.path("event.json"), payload.to_string()).expect("written");
        let source = env!("CARGO_MANIFEST_DIR");
        let upload = fs::read_to_string(Path::new(source).join("host/action.yml")).expect("read");
        let upload = upload
            .split("uses: ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next())
            .expect("the host action uploads");
        let workflow = match event {
            "workflow_run" => ".github/workflows/post.yml",
            "issue_comment" => ".github/workflows/approve.yml",
            _ => ".github/workflows/kelvin.yml",
        };
        let variables = [
            ("GITHUB_API_URL", self.api.url().to_owned()),
            ("GITHUB_SERVER_URL", "https://github.com".to_owned()),
            ("GITHUB_REPOSITORY", REPOSITORY.to_owned()),
            ("GITHUB_REF", reference.to_owned()),
            ("GITHUB_RUN_ID", self.run.to_string()),
            ("KELVIN_BINARY", env!("CARGO_BIN_EXE_kelvin").to_owned()),
            ("STORE", self.path("store").display().to_string()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
        ];
        let output = Command::new("timeout")
            .arg("300")
            .arg(&self.act)
            .arg(event)
            .args(["-W", workflow, "-P", "ubuntu-latest=-self-hosted"])
            .args(["--no-cache-server", "--artifact-server-addr", "127.0.0.1"])
            .arg("-e")
            .arg(self.path("event.json"))
            .args(["-s", &format!("GITHUB_TOKEN={TOKEN}")])
            .args([
                "--local-repository",
                &format!("org/kelvin-action@v1={}", self.path("action").display()),
            ])
            .args([
                "--local-repository",
                &format!("{upload}={}", self.path("upload").display()),
            ])
            .args([
                "--local-repository",
                &format!(
                    "actions/download-artifact@v7={}",
                    self.path("download").display()
                ),
            ])
            .args(
                variables
                    .iter()
                    .flat_map(|(name, value)| ["--env".to_owned(), format!("{name}={value}")]),
            )
            .current_dir(self.path("work"))
            .env("HOME", self.path("home"))
            .env("ACT_DISABLE_VERSION_CHECK", "1")
            .output()
            .expect("act starts");
        let log = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        Ran {
            succeeded: output.status.success(),
            log,
        }
    }

    /// Pushes the first commit, and runs the workflow for it.
    fn begin(&mut self) -> (String, Ran) {
        let base = self.push("base");
        let payload = json!({
            "ref": "refs/heads/main", "before": "0".repeat(40), "after": base,
            "repository": { "full_name": REPOSITORY, "default_branch": "main" },
        });
        let ran = self.act("push", &payload, "refs/heads/main");
        (base, ran)
    }

    /// Runs the workflow for a pull request from the branch at hand, of this or another repository.
    fn request(&mut self, head: &str, base: &str, from: &str) -> Ran {
        let branch = self.git(&["branch", "--show-current"]);
        {
            let mut state = self.api.state();
            let pull = state.pulls.get_mut(&PULL).expect("it is there");
            pull.head_sha = head.to_owned();
            pull.head_branch = branch.clone();
            pull.head_repository = from.to_owned();
        }
        let fork = json!({ "full_name": from, "default_branch": "main" });
        let repository = json!({ "full_name": REPOSITORY, "default_branch": "main" });
        let payload = json!({
            "action": "synchronize",
            "number": PULL,
            "repository": repository,
            "pull_request": {
                "number": PULL,
                "head": { "sha": head, "ref": branch, "repo": fork },
                "base": { "sha": base, "ref": "main", "repo": repository },
                "user": { "login": "somebody" },
            },
        });
        self.act("pull_request", &payload, &format!("refs/pull/{PULL}/merge"))
    }

    /// The comments of the pull request.
    fn comments(&self) -> Vec<(u64, String)> {
        let state = self.api.state();
        let comments = state.comments.iter();
        comments
            .map(|(id, comment)| (*id, comment.body.clone()))
            .collect()
    }
}

#[test]
#[ignore = "takes `act`; `tests/action/act` runs it"]
fn the_sample_workflow_saves_a_baseline_passes_what_is_harmless_and_stops_what_hurts() {
    let act = std::env::var_os("KELVIN_ACT").expect("`tests/action/act` says where it is");
    let mut rig = Rig::new(PathBuf::from(act));

    // The first push: nothing to compare with, and a baseline for later.
    let (base, ran) = rig.begin();
    assert!(ran.succeeded, "{}", ran.log);
    let remote = rig.path("remote.git");
    let kept = git(&remote, &["ls-tree", "-r", "--name-only", "kelvin-reports"]);
    assert!(kept.contains(&base), "{kept}");
    assert!(rig.comments().is_empty());

    // A harmless change.
    rig.git(&["checkout", "--quiet", "-b", "feature"]);
    rig.write("README.md", "Words.\n");
    let head = rig.push("words");
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(ran.succeeded, "{}", ran.log);
    assert!(ran.outputs().starts_with("pass "), "{}", ran.outputs());
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{comments:?}");
    let (first, body) = comments.into_iter().next().expect("one");
    assert!(!body.contains("regression"), "{body}");

    // One that hurts: red, with what and how much.
    rig.pipeline("examples/position-biased/pipeline.py");
    let head = rig.push("what stands first");
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(!ran.succeeded, "{}", ran.log);
    let outputs = ran.outputs().to_owned();
    assert!(
        outputs.starts_with("regression worst=evidence."),
        "{outputs}"
    );
    let drop = outputs.rsplit("drop=").next().expect("the drop");
    assert!(
        drop.trim().parse::<f64>().expect("a number") > 0.05,
        "{outputs}"
    );
    assert!(ran.log.contains("Summary - "), "{}", ran.log);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert_eq!(comments[0].0, first);
    assert!(
        comments[0].1.to_lowercase().contains("regression"),
        "{}",
        comments[0].1
    );
    let kept: Vec<_> = fs::read_dir(rig.path("store")).expect("listed").collect();
    assert_eq!(kept.len(), 1, "one artifact: {kept:?}");

    // The same by hand, on the branch: it finds the pull request and its comment.
    let payload = json!({
        "ref": "refs/heads/feature", "inputs": {},
        "repository": { "full_name": REPOSITORY, "default_branch": "main" },
    });
    let ran = rig.act("workflow_dispatch", &payload, "refs/heads/feature");
    assert!(!ran.succeeded, "{}", ran.log);
    assert!(
        ran.outputs().starts_with("regression "),
        "{}",
        ran.outputs()
    );
    let again = rig.comments();
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(again[0].0, first);
    assert_ne!(again[0].1, comments[0].1, "it names the new run");

    // In the merge queue it is measured against what it would be merged into, and nobody is told but the job.
    let queue = "refs/heads/gh-readonly-queue/main/pr-7";
    let payload = json!({
        "action": "checks_requested",
        "merge_group": {
            "base_sha": base, "base_ref": "refs/heads/main", "head_sha": head, "head_ref": queue,
        },
        "repository": { "full_name": REPOSITORY, "default_branch": "main" },
    });
    let ran = rig.act("merge_group", &payload, queue);
    assert!(!ran.succeeded, "{}", ran.log);
    assert!(
        ran.outputs().starts_with("regression "),
        "{}",
        ran.outputs()
    );
    assert_eq!(rig.comments(), again);
}

#[test]
#[ignore = "takes `act`; `tests/action/act` runs it"]
fn a_pull_request_of_a_fork_is_posted_by_the_second_workflow() {
    const FORK: &str = "mallory/widgets";
    const NAME: &str = "kelvin-report-kelvin";
    let act = std::env::var_os("KELVIN_ACT").expect("`tests/action/act` says where it is");
    let mut rig = Rig::new(PathBuf::from(act));
    let (base, _) = rig.begin();
    let _ = fs::remove_dir_all(rig.path("store").join(NAME));

    // The first half measures and keeps what it found as data; it posts nothing.
    rig.git(&["checkout", "--quiet", "-b", "feature"]);
    rig.pipeline("examples/position-biased/pipeline.py");
    let head = rig.push("what stands first");
    let ran = rig.request(&head, &base, FORK);
    assert!(!ran.succeeded, "{}", ran.log);
    assert!(rig.comments().is_empty());
    let files: Vec<(String, Vec<u8>)> = fs::read_dir(rig.path("store").join(NAME))
        .expect("the artifact is there")
        .map(|file| file.expect("listed"))
        .map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            (name, fs::read(file.path()).expect("read"))
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (&**name, &**bytes))
        .collect();

    // The second half finds run and pull request through the API.
    let run = rig.run;
    {
        let mut state = rig.api.state();
        state.runs.insert(
            run,
            github::Run {
                event: "pull_request",
                path: ".github/workflows/kelvin.yml".to_owned(),
                head_branch: "feature".to_owned(),
                head_sha: head,
                head_repository: (2002, FORK.to_owned()),
                pull_requests: Vec::new(),
                conclusion: "failure",
            },
        );
        let artifact = github::Artifact {
            name: NAME.to_owned(),
            expired: false,
            run,
            zip: zip(&files),
        };
        state.artifacts.insert(1, artifact);
    }
    let payload = json!({
        "action": "completed",
        "workflow_run": { "id": run, "event": "pull_request" },
        "repository": { "full_name": REPOSITORY, "default_branch": "main" },
    });
    let ran = rig.act("workflow_run", &payload, "refs/heads/main");
    assert!(ran.succeeded, "{}", ran.log);
    let comments = rig.comments();
    assert_eq!(comments.len(), 1, "{comments:?}\n{}", ran.log);
    assert!(
        comments[0].1.to_lowercase().contains("regression"),
        "{}",
        comments[0].1
    );
}

#[test]
#[ignore = "takes `act`; `tests/action/act` runs it"]
fn a_matrix_whose_shard_breaks_is_red_and_one_that_works_is_judged_as_a_whole() {
    let act = std::env::var_os("KELVIN_ACT").expect("`tests/action/act` says where it is");
    let mut rig = Rig::new(PathBuf::from(act));
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/workflows/matrix.yml");
    let recipe = fs::read_to_string(recipe).expect("read");
    // What the job itself has set up, instead of what an image has.
    let recipe = recipe
        .replace("org/kelvin-action@v1", "org/kelvin-action/host@v1")
        .replace("pip install -r requirements.txt", "sh setup.sh");
    rig.write(".github/workflows/kelvin.yml", &recipe);
    rig.write("setup.sh", "true\n");
    // How the job that gates came out; it has to have run.
    let gate = |ran: &Ran| {
        let lines = ran.log.lines().filter(|line| {
            let job = line.split(']').next().unwrap_or_default();
            job.trim_end().ends_with("/kelvin")
        });
        let ends: Vec<bool> = lines
            .filter_map(|line| match line {
                line if line.contains("Job succeeded") => Some(true),
                line if line.contains("Job failed") => Some(false),
                _ => None,
            })
            .collect();
        assert_eq!(ends.len(), 1, "{}", ran.log);
        ends[0]
    };
    let (base, ran) = rig.begin();
    assert!(ran.succeeded && gate(&ran), "{}", ran.log);

    // All shards are there: a harmless change passes.
    rig.git(&["checkout", "--quiet", "-b", "feature"]);
    rig.write("README.md", "Words.\n");
    let head = rig.push("words");
    let clear = |rig: &Rig| {
        fs::remove_dir_all(rig.path("store")).expect("removed");
        fs::create_dir(rig.path("store")).expect("made");
    };
    clear(&rig);
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(ran.succeeded && gate(&ran), "{}", ran.log);
    assert_eq!(rig.comments().len(), 1);
    assert!(
        rig.comments()[0].1.contains('✅'),
        "{}",
        rig.comments()[0].1
    );

    // One breaks before it has measured anything; then all of them do.
    for broken in ["[ \"$INPUT_SHARD\" != 3/4 ]\n", "exit 1\n"] {
        rig.write("setup.sh", broken);
        let head = rig.push("broken");
        clear(&rig);
        let ran = rig.request(&head, &base, REPOSITORY);
        assert!(!ran.succeeded && !gate(&ran), "{}", ran.log);
        let comments = rig.comments();
        assert_eq!(comments.len(), 1, "{comments:?}");
        assert!(comments[0].1.contains("### ❌"), "{}", comments[0].1);
        assert!(!comments[0].1.contains('✅'), "{}", comments[0].1);
    }

    // Shards that work, and a change that hurts.
    rig.write("setup.sh", "true\n");
    rig.pipeline("examples/position-biased/pipeline.py");
    let head = rig.push("what stands first");
    clear(&rig);
    let ran = rig.request(&head, &base, REPOSITORY);
    assert!(!ran.succeeded && !gate(&ran), "{}", ran.log);
    assert!(
        rig.comments()[0].1.contains("regression"),
        "{}",
        rig.comments()[0].1
    );
}
