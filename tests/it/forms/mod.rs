//! Repositories in the forms that git makes: objects named by SHA-1 or by SHA-256, of which what is said of a change does
//! not depend, and references as files or as a reftable, which is refused.

mod refused;

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{branch, commit, git, kelvin_in};

/// References as a reftable.
const REFTABLE: &str = "--ref-format=reftable";
/// Objects named by SHA-256.
const SHA256: &str = "--object-format=sha256";

/// What is said in a repository of the usual form.
static USUAL: LazyLock<Vec<String>> = LazyLock::new(|| told(&[]).expect("every git makes it"));

#[test]
fn a_repository_whose_objects_have_sha_256_names_is_judged_as_any_other() {
    as_usual(&[SHA256]);
}

#[track_caller]
fn as_usual(form: &[&str]) {
    let Some(told) = told(form) else { return };
    assert_eq!(told.len(), USUAL.len());
    for (told, usual) in told.iter().zip(&*USUAL) {
        assert_eq!(told, usual, "{form:?}");
    }
}

/// An empty repository of a form; none where this git does not make one.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn init(folder: &Path, form: &[&str]) -> Option<()> {
    let made = std::process::Command::new("git")
        .args(["init", "--quiet", "--initial-branch=main"])
        .args(form)
        .current_dir(folder)
        .status();
    if !made.is_ok_and(|ended| ended.success()) {
        eprintln!("SKIPPED: this git takes no {form:?}");
        return None;
    }
    Some(())
}

/// A project in a repository of a form, with a remote of the same form.
fn project(form: &[&str], script: &str) -> Option<Project> {
    let project = Project::new(script);
    let remote = project.path("../remote");
    fs::create_dir(&remote).expect("made");
    init(&remote, &[form, &["--bare"]].concat())?;
    git(
        &remote,
        &["config", "uploadpack.allowAnySHA1InWant", "true"],
    );
    init(project.root(), form)?;
    project.write(".gitignore", "/kelvin/\n/calls\n");
    let url = format!("file://{}", remote.display());
    git(project.root(), &["remote", "add", "origin", &url]);
    commit(&project, "base");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    Some(project)
}

/// What every command says of a project, a change that makes it worse and one that does not; without what differs
/// between two runs. Each step is held to what is known of it.
fn told(form: &[&str]) -> Option<Vec<String>> {
    let project = project(form, GROUNDED)?;
    let mut steps = Steps {
        project: &project,
        told: Vec::new(),
    };
    let root = project.root();
    steps.run(root, &["check"], 0);
    let session = project.json("kelvin/report.json")["run"]["session"].clone();
    let head = git(root, &["rev-parse", "HEAD"]);
    assert_eq!(session["commit"], json!(head));
    assert_eq!(session["dirty"], json!(false));
    steps.run(root, &["baseline", "save"], 0);
    steps.run(root, &["doctor"], 0);
    steps.run(root, &["history"], 0);
    branch(&project, "worse", CONSTANT);
    git(root, &["push", "--quiet", "origin", "worse"]);
    steps.gate(root, &[], "regression", "branch");

    // A clone of one commit, without the branch that it is to be merged into.
    let url = git(root, &["remote", "get-url", "origin"]);
    let shallow = project.path("../shallow");
    let place = shallow.display().to_string();
    let clone = ["clone", "--quiet", "--depth=1", "--branch=worse"];
    git(root, &[&clone[..], &[&*url, &*place]].concat());
    let said = steps.run(&shallow, &["doctor"], 0);
    insta::allow_duplicates! {
        insta::assert_snapshot!(redacted(&lines_with(&said.stdout, &["checkout  "])), @"ok       checkout     [HASH], a shallow clone; what is needed to find the base is fetched");
    }
    steps.gate(&shallow, &[], "regression", "branch");

    // A second work tree, beside which the first stands elsewhere.
    git(root, &["checkout", "--quiet", "main"]);
    let linked = project.path("../linked");
    let place = linked.display().to_string();
    git(root, &["worktree", "add", "--quiet", &place, "worse"]);
    steps.gate(&linked, &[], "regression", "branch");

    // The merge commit of a pull request, as a workflow checks it out.
    git(root, &["checkout", "--quiet", "--detach", "main"]);
    git(
        root,
        &["merge", "--quiet", "--no-ff", "-m", "merge", "worse"],
    );
    git(
        root,
        &["push", "--quiet", "origin", "HEAD:refs/pull/7/merge"],
    );
    let merged = project.path("../merged");
    fs::create_dir(&merged).expect("made");
    init(&merged, form)?;
    git(&merged, &["remote", "add", "origin", &url]);
    let fetch = [
        "fetch",
        "--quiet",
        "--depth=1",
        "origin",
        "refs/pull/7/merge",
    ];
    git(&merged, &fetch);
    git(&merged, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    let event = event(&project);
    let asked = ["--event", &*event, "--event-name", "pull_request"];
    steps.gate(&merged, &asked, "regression", "branch");

    // A base that is measured now.
    git(root, &["checkout", "--quiet", "--detach", "worse"]);
    project.config("baseline: {from: compute, compute: true}\n");
    steps.gate(root, &["--base", "main"], "regression", "compute");
    project.config("");

    // A report of this clone alone.
    git(root, &["checkout", "--quiet", "main"]);
    project.write("notes.txt", "more");
    commit(&project, "more");
    steps.run(root, &["check"], 0);
    for _ in 0..2 {
        steps.run(root, &["baseline", "save", "--local"], 0);
    }
    let local = "refs/kelvin/kelvin-reports";
    assert_eq!(
        git(root, &["ls-tree", "-r", "--name-only", local])
            .lines()
            .count(),
        1
    );
    branch(&project, "constant", CONSTANT);
    steps.gate(root, &["--base", "main"], "regression", "branch");

    // A report that is committed.
    git(root, &["checkout", "--quiet", "main"]);
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    steps.run(root, &["check"], 0);
    project.write(".kelvin/baseline.json", &project.read("kelvin/report.json"));
    commit(&project, "report");
    git(root, &["push", "--quiet", "origin", "main"]);
    branch(&project, "again", CONSTANT);
    steps.gate(root, &[], "regression", "tree");

    // A change for the better, or at least for nothing worse.
    git(root, &["checkout", "--quiet", "main"]);
    branch(&project, "good", &format!("# Said again.\n{GROUNDED}"));
    steps.gate(root, &[], "pass", "tree");
    steps.run(root, &["compare", "main", "kelvin/report.json"], 0);
    Some(steps.told)
}

/// The event of the pull request of `worse` onto `main`.
fn event(project: &Project) -> String {
    let tip = git(project.root(), &["rev-parse", "worse"]);
    let payload = json!({
        "number": 7,
        "pull_request": { "head": { "sha": tip }, "base": { "ref": "main" } },
        "repository": { "default_branch": "main" },
    });
    let path = project.path("../event.json");
    fs::write(&path, payload.to_string()).expect("written");
    path.display().to_string()
}

struct Steps<'a> {
    project: &'a Project,
    told: Vec<String>,
}

impl Steps<'_> {
    #[track_caller]
    fn run(&mut self, folder: &Path, arguments: &[&str], code: i32) -> Said {
        let said = kelvin_in(self.project, folder, arguments).expect(code);
        let text = format!("{arguments:?}\n{}\n{}", said.stdout, said.stderr);
        self.told.push(masked(&text, self.project));
        said
    }

    #[track_caller]
    fn gate(&mut self, folder: &Path, more: &[&str], verdict: &str, source: &str) {
        let code = if verdict == "pass" { 0 } else { 3 };
        self.run(folder, &[&["gate", "--rerun"], more].concat(), code);
        let found = judgement(folder);
        assert_eq!(found["verdict"], json!(verdict), "{found}");
        assert_eq!(found["base"]["source"], json!(source), "{found}");
        self.told.push(masked(&found.to_string(), self.project));
    }
}

fn judgement(folder: &Path) -> Value {
    let text = fs::read(folder.join("kelvin/gate.json")).expect("there is a verdict");
    serde_json::from_slice(&text).expect("it is JSON")
}

/// Words without names of objects, folders and lengths of time.
fn masked(text: &str, project: &Project) -> String {
    let outer = project.path("..").canonicalize().expect("it is there");
    let mut text = text.replace(&outer.display().to_string(), "FOLDER");
    for (pattern, mask) in [
        (r"\b[0-9a-f]{7,64}\b", "ID"),
        (r"\d{4}-\d\d-\d\d[T ][0-9:.]+Z?", "TIME"),
        (r"\b\d+(\.\d+)? ?(ms|s|min)\b", "LONG"),
        (r"\d+\.\d{3,}(e-\d+)?", "FIGURE"),
    ] {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, mask).into_owned();
    }
    text
}

#[test]
fn a_file_has_one_fingerprint_whether_git_has_it_or_not() {
    for form in [&[][..], &[SHA256]] {
        let Some(project) = project(form, GROUNDED) else {
            continue;
        };
        let print = || {
            project.check();
            project.json("kelvin/report.json")["run"]["fingerprints"]["pipeline"].clone()
        };
        project.write("new.txt", "of nobody");
        std::os::unix::fs::symlink("new.txt", project.path("link")).expect("made");
        let untracked = print();
        git(project.root(), &["add", "new.txt", "link"]);
        assert_eq!(print(), untracked, "{form:?}");
        commit(&project, "new");
        assert_eq!(print(), untracked, "{form:?}");
        project.write("new.txt", "of somebody");
        assert_ne!(print(), untracked, "{form:?}");
    }
}

#[test]
fn a_repository_within_the_work_tree_is_looked_into_whatever_its_form() {
    let print = |form: &[&str]| -> Option<(Value, Value)> {
        let project = Project::new(GROUNDED);
        init(project.root(), &[])?;
        project.write(".gitignore", "/kelvin/\n");
        commit(&project, "base");
        project.write("library/code.py", "1");
        let inner: PathBuf = project.path("library");
        init(&inner, form)?;
        git(&inner, &["add", "--all"]);
        git(&inner, &["commit", "--quiet", "-m", "library"]);
        let print = || {
            project.check();
            project.json("kelvin/report.json")["run"]["fingerprints"]["pipeline"].clone()
        };
        let before = print();
        project.write("library/code.py", "2");
        Some((before, print()))
    };
    let usual = print(&[]).expect("every git makes it");
    assert_ne!(usual.0, usual.1);
    if let Some((before, after)) = print(&[SHA256]) {
        assert_ne!(before, after);
    }
}
