//! Whose baseline it is: several configurations in one repository, and several jobs of one run.

use kelvin_fixtures::text::{lines_with, redacted};
use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::project::{CONSTANT, GROUNDED, Project, Said};
use crate::repository::{bare, branch, commit, git, pushed, save, verdict};

/// A second configuration in a folder of its own, with a case more and a pipeline of its own.
fn second(project: &Project, script: &str) {
    for case in ["alder", "birch", "cedar", "dogwood"] {
        let text = project.read(&format!("cases/{case}.md"));
        project.write(
            &format!("triage/cases/{case}.md"),
            &text.replace("room", "desk"),
        );
    }
    project.write("triage/pipeline.sh", script);
    project.write("triage/kelvin.yaml", &project.read("kelvin.yaml"));
    project.write("triage/.gitignore", "/kelvin/\n");
}

fn gate(project: &Project, config: &str) -> Value {
    let said = project.kelvin(&["gate", "--rerun", "--config", config]);
    let folder = config.strip_suffix("kelvin.yaml").unwrap_or_default();
    let judgement = project.json(&format!("{folder}kelvin/gate.json"));
    let passed = judgement["passed"].as_bool().expect("a boolean");
    assert_eq!(
        said.code,
        Some(if passed { 0 } else { 3 }),
        "{}",
        said.stdout
    );
    judgement
}

#[test]
fn a_new_configuration_of_a_monorepo_is_not_judged_against_the_report_of_another() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "triage"]);
    second(&project, CONSTANT);
    commit(&project, "another part of the house");
    let judgement = gate(&project, "triage/kelvin.yaml");
    assert_eq!(judgement["verdict"], json!("no_baseline"));
    let tried = judgement["tried"].to_string();
    insta::assert_snapshot!(redacted(&tried), @r#"[{"source":"tree","why":"commit [HASH] has no `triage/.kelvin/baseline.json`"},{"source":"branch","why":"the branch `kelvin-reports` has no report of `triage-kelvin~[HASH]`, and none of a configuration with the same items and settings that was removed or renamed"},{"source":"compute","why":"measuring the base commit is off; `baseline.compute: true` turns it on"}]"#);
    // The one that was there keeps its own.
    assert_eq!(gate(&project, "kelvin.yaml")["verdict"], json!("pass"));
}

#[test]
fn a_copy_is_no_rename_also_where_the_name_is_written_down() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    project.config("name: rooms\n");
    commit(&project, "named");
    git(project.root(), &["push", "--quiet", "origin", "main"]);
    save(&project);
    git(project.root(), &["checkout", "--quiet", "-b", "copy"]);
    let text = project
        .read("kelvin.yaml")
        .replace("name: rooms", "name: \"desks\" # a copy");
    project.write("desks.yaml", &text);
    commit(&project, "copied");
    let said = project
        .kelvin(&["gate", "--config", "desks.yaml"])
        .expect(0);
    assert_eq!(verdict(&project, &said)["verdict"], json!("no_baseline"));
    // Renamed: the old name is nowhere any more.
    fs::remove_file(project.path("kelvin.yaml")).expect("removed");
    project.write("pipeline.sh", CONSTANT);
    commit(&project, "renamed, and worse");
    let said = project
        .kelvin(&["gate", "--rerun", "--config", "desks.yaml"])
        .expect(3);
    assert_eq!(verdict(&project, &said)["verdict"], json!("regression"));
}

#[test]
fn a_rename_within_the_file_is_followed_and_told() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    branch(&project, "worse", CONSTANT);
    project.config("name: harmless\n");
    commit(&project, "renamed");
    let said = project.kelvin(&["gate", "--rerun"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"));
    insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"  ! this change edits the name: name unset → harmless");
    // With other settings as well it is nobody's, but for what the settings of the base say.
    project.config("name: harmless\nseed: 3\n");
    let said = project.kelvin(&["gate", "--rerun"]).expect(3);
    let judgement = verdict(&project, &said);
    assert_eq!(judgement["verdict"], json!("regression"));
    assert_eq!(judgement["reasons"][0]["code"], json!("measured_as_base"));
    insta::assert_snapshot!(lines_with(&said.stdout, &["! "]), @"
      ! this change edits what is measured; measured with the settings of the base
      ! this change edits the name: name unset → harmless
      ! this change edits what is measured: seed 0 → 3
    ");
}

/// A push to `main`, with the jobs of a matrix.
struct Push {
    project: Project,
    _remote: TempDir,
    folder: TempDir,
}

impl Push {
    fn new() -> Self {
        let (remote, url) = bare();
        let project = pushed(&url, GROUNDED);
        Self {
            project,
            _remote: remote,
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// A checkout of its own for a job.
    fn leg(&self, at: &str, model: &str) -> Leg<'_> {
        let place = self.folder.path().join(at);
        let copied = Command::new("cp")
            .arg("-r")
            .args([self.project.root(), &place])
            .status();
        assert!(copied.expect("it starts").success());
        // What the model decides is what the legs differ in.
        let script = format!("MODEL={model}\n{GROUNDED}")
            .replace("cut -d' ' -f1)", &format!("cut -d' ' -f1)-{model}"));
        fs::write(place.join("pipeline.sh"), script).expect("written");
        Leg {
            push: self,
            place: place.display().to_string(),
            at: at.to_owned(),
        }
    }

    /// The names and commits on the branch of reports.
    fn kept(&self) -> Vec<String> {
        git(
            self.project.root(),
            &["fetch", "--quiet", "origin", "+kelvin-reports:refs/kept"],
        );
        let kept = git(
            self.project.root(),
            &["ls-tree", "-r", "--name-only", "refs/kept"],
        );
        kept.lines()
            .filter(|line| line.ends_with(".json"))
            .map(str::to_owned)
            .collect()
    }
}

struct Leg<'a> {
    push: &'a Push,
    place: String,
    at: String,
}

impl Leg<'_> {
    fn command(&self, name: Option<&str>, attempt: &str) -> Command {
        let root = self.push.project.root();
        let tip = git(root, &["rev-parse", "HEAD"]);
        let event = self.push.folder.path().join(format!("{}.json", self.at));
        let payload = json!({
            "ref": "refs/heads/main", "before": "0".repeat(40), "after": tip,
            "repository": { "default_branch": "main" },
        });
        fs::write(&event, payload.to_string()).expect("written");
        let mut command = self.push.project.command(&["ci", "--upload=false"]);
        command
            .current_dir(&self.place)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "push")
            .env("GITHUB_EVENT_PATH", event)
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_JOB", "check")
            .env("GITHUB_RUN_ID", "77")
            .env("GITHUB_RUN_ATTEMPT", attempt)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(name) = name {
            command.env("INPUT_NAME", name);
        }
        command
    }

    fn run(&self, name: Option<&str>, attempt: &str) -> Said {
        let child = self.command(name, attempt).spawn().expect("it starts");
        ended(child)
    }
}

fn ended(child: Child) -> Said {
    let output = child.wait_with_output().expect("it ends");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn two_jobs_of_one_run_with_one_name_are_an_error_and_the_first_one_keeps_its_baseline() {
    let push = Push::new();
    let (one, two) = (push.leg("one", "small"), push.leg("two", "large"));
    one.run(None, "1").expect(0);
    let kept = push.kept();
    let first = git(
        push.project.root(),
        &["rev-parse", &format!("refs/kept:{}", kept[0])],
    );
    let said = two.run(None, "1").expect(1);
    let told = format!("{}{}", said.stdout, said.stderr);
    insta::assert_snapshot!(lines_with(&told, &["`name`"]), @"
    ::error title=Kelvin::two jobs of this run write under one name: another job of this run has kept its report in this place help: give each job a name of its own with the input `name`, such as `name: kelvin-${{ matrix.model }}`; with one name, each would be compared with the other
      help: give each job a name of its own with the input `name`, such as `name: kelvin-${{ matrix.model }}`; with one name, each would be compared with the other
    ");
    assert_eq!(push.kept(), kept);
    let now = git(
        push.project.root(),
        &["rev-parse", &format!("refs/kept:{}", kept[0])],
    );
    assert_eq!(now, first, "the first report is still there");
    // A job that is run again writes over what it wrote; so does a later run.
    two.run(None, "2").expect(0);
    let now = git(
        push.project.root(),
        &["rev-parse", &format!("refs/kept:{}", kept[0])],
    );
    push.kept();
    let again = git(
        push.project.root(),
        &["rev-parse", &format!("refs/kept:{}", kept[0])],
    );
    assert_ne!(now, again);
}

#[test]
fn two_jobs_that_race_for_one_name_do_not_both_end_well() {
    let push = Push::new();
    let legs = [push.leg("one", "small"), push.leg("two", "large")];
    let children = legs
        .iter()
        .map(|leg| leg.command(None, "1").spawn().expect("it starts"));
    let children: Vec<Child> = children.collect();
    let mut codes: Vec<Option<i32>> = children
        .into_iter()
        .map(|child| ended(child).code)
        .collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(1)]);
    assert_eq!(push.kept().len(), 1);
}

#[test]
fn jobs_with_names_of_their_own_keep_a_baseline_each_and_find_it_again() {
    let push = Push::new();
    let legs = [push.leg("one", "small"), push.leg("two", "large")];
    let names = ["kelvin-small", "kelvin-large"];
    let children = legs
        .iter()
        .zip(names)
        .map(|(leg, name)| leg.command(Some(name), "1").spawn().expect("it starts"));
    for child in children.collect::<Vec<_>>() {
        ended(child).expect(0);
    }
    let kept = push.kept();
    assert_eq!(kept.len(), 2, "{kept:?}");
    // Each finds its own: the large one got worse, the small one is as it was.
    for (leg, name, code) in [(&legs[0], names[0], 0), (&legs[1], names[1], 3)] {
        let script = match code {
            0 => fs::read_to_string(format!("{}/pipeline.sh", leg.place)).expect("read"),
            _ => CONSTANT.to_owned(),
        };
        fs::write(format!("{}/pipeline.sh", leg.place), script).expect("written");
        let mut command = push.project.command(&["gate", "--rerun", "--name", name]);
        let output = command.current_dir(&leg.place).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
    }
    // A third job has the cases and the settings of the others, and is none of them.
    let mut command = push.project.command(&["gate", "--name", "kelvin-tiny"]);
    let output = command
        .current_dir(&legs[0].place)
        .output()
        .expect("it starts");
    assert_eq!(output.status.code(), Some(0));
    let text = fs::read(format!("{}/kelvin/gate.json", legs[0].place)).expect("read");
    let judgement: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(judgement["verdict"], json!("no_baseline"));
}

#[test]
fn a_base_is_never_an_option_of_git_and_writes_no_reference() {
    let (_remote, url) = bare();
    let project = pushed(&url, GROUNDED);
    save(&project);
    let references = || git(project.root(), &["for-each-ref", "--format=%(refname)"]);
    let before = references();
    let planted = project.path("../planted");
    let upload_pack = format!("--upload-pack=touch {};git-upload-pack", planted.display());
    for base in [
        upload_pack.as_str(),
        "-u",
        "--output=x",
        "+refs/heads/main:refs/heads/forged",
        "main:refs/heads/forged",
    ] {
        let said = project.kelvin(&["gate", &format!("--base={base}")]);
        // There is nothing to compare with then, which is told.
        let told = format!("{}{}", said.stdout, said.stderr);
        assert!(told.contains(base), "{base}: {told}");
        assert!(!planted.exists(), "{base} was run");
        assert_eq!(references(), before, "{base}");
    }
}
