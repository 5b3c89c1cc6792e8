//! `kelvin demo`: shows a pipeline, a change that makes it worse, and the verdict. It runs the same commands that a
//! person would run, in a new repository, and all its output is real.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use git2::{IndexAddOption, Repository, Signature};
use serde_json::Value;

use kelvin_base::exit::{Exit, Misuse};

/// The files of the pipeline before the change.
const FILES: [(&str, &str); 11] = [
    (".gitignore", "/kelvin/\n/.kelvin/\n"),
    ("kelvin.yaml", include_str!("kelvin.yaml")),
    (PIPELINE, include_str!("pipeline.sh")),
    ("cases/ada.md", include_str!("cases/ada.md")),
    ("cases/ben.md", include_str!("cases/ben.md")),
    ("cases/cleo.md", include_str!("cases/cleo.md")),
    ("cases/dara.md", include_str!("cases/dara.md")),
    ("cases/emil.md", include_str!("cases/emil.md")),
    ("cases/fay.md", include_str!("cases/fay.md")),
    ("cases/gus.md", include_str!("cases/gus.md")),
    ("cases/hana.md", include_str!("cases/hana.md")),
];
const PIPELINE: &str = "pipeline.sh";
/// The line that the change removes, and the line that it adds.
const CHANGE: (&str, &str) = (
    "text=$(cat \"$1\")",
    "text=$(head -c 600 \"$1\")  # a shorter prompt costs less",
);
/// The branch of the change.
const BRANCH: &str = "shorter-prompt";

/// The arguments of `kelvin demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// The folder to make, with the pipeline, its cases and the reports in it; `kelvin-demo`, or the
    /// next name that is free, unless given.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Runs `kelvin demo`.
pub(super) fn main(args: &DemoArgs) -> anyhow::Result<Exit> {
    let folder = &args.folder.clone().unwrap_or_else(free);
    let shown = kelvin_page::safe::line(&folder.display().to_string());
    if folder.symlink_metadata().is_ok() {
        return Err(Misuse::new(format!("`{shown}` is there already"))
            .help("name a folder that is not there yet, or none")
            .into());
    }
    let repo = begin(folder).with_context(|| format!("failed to make the demo in `{shown}`"))?;
    super::say(&format!(
        "A pipeline decides on loans, and a pull request makes it worse. All of it is in `{shown}`.\n\n"
    ));

    kelvin(folder, &["check"], 0)?;
    kelvin(folder, &["baseline", "save", "--local"], 0)?;
    let before = DemoReport::read(folder)?;
    super::say(&format!(
        "1. The branch `main`:  $ kelvin check && kelvin baseline save --local\n   \
         {} cases, {} calls. Invariance is {}: 1 means that no rewrite changed an answer that it should not change.\n\n",
        before.decisions.len(),
        before.calls,
        before.invariance
    ));

    change(&repo, folder)?;
    let (old, new) = CHANGE;
    super::say(&format!(
        "2. The pull request, on the branch `{BRANCH}`, changes one line of `{PIPELINE}`:\n   - {old}\n   + {new}\n"
    ));
    let said = kelvin(folder, &["gate", "--base", "main"], 3)?;
    let after = DemoReport::read(folder)?;
    ensure!(
        before.decisions == after.decisions,
        "the change was to leave the answers to the cases as they are, and did not"
    );
    super::say(&format!(
        "   All {} cases are answered as before, so that a test of them passes.\n\n\
         3. What kelvin says of it:  $ kelvin gate --base main\n\n",
        after.decisions.len()
    ));
    let said = String::from_utf8_lossy(&said.stdout);
    let verdict = said.find("\nGate ").map_or("", |at| &said[at + 1..]);
    super::say(verdict);
    super::say(&format!(
        "\nThe comment that the pull request would get:  {shown}/kelvin/gate.md\n\
         The report, with every answer:                {shown}/kelvin/report.html\n\n\
         Next, beside your own pipeline:  kelvin init\n"
    ));
    Ok(Exit::Passed)
}

/// A name for a folder that does not exist yet.
fn free() -> PathBuf {
    let names = (2..).map(|number| PathBuf::from(format!("kelvin-demo-{number}")));
    let mut names = std::iter::once(PathBuf::from("kelvin-demo")).chain(names);
    let is_free = |name: &PathBuf| name.symlink_metadata().is_err();
    names.find(is_free).unwrap_or_default()
}

/// Makes the folder, a repository in it, and its first commit on `main`.
fn begin(folder: &Path) -> anyhow::Result<Repository> {
    for (name, text) in FILES {
        kelvin_base::file::write(&folder.join(name), text.as_bytes())?;
    }
    let mut how = git2::RepositoryInitOptions::new();
    let repo = Repository::init_opts(folder, how.initial_head("main"))?;
    commit(&repo, "Decide on loans by income and policy")?;
    Ok(repo)
}

/// Makes the change, on a separate branch.
fn change(repo: &Repository, folder: &Path) -> anyhow::Result<()> {
    let file = folder.join(PIPELINE);
    let text = kelvin_base::file::read(&file)?.replace(CHANGE.0, CHANGE.1);
    kelvin_base::file::write(&file, text.as_bytes())?;
    let main = repo.head()?.peel_to_commit()?;
    repo.branch(BRANCH, &main, false)?;
    repo.set_head(&format!("refs/heads/{BRANCH}"))?;
    commit(repo, "Send less of the request, which costs less")
}

fn commit(repo: &Repository, message: &str) -> anyhow::Result<()> {
    let mut index = repo.index()?;
    index.add_all(FILES.map(|(name, _)| name), IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repo.find_tree(index.write_tree()?)?;
    let author = Signature::now("kelvin demo", "demo@example.com")?;
    let parent = repo.head().and_then(|head| head.peel_to_commit()).ok();
    let parents: Vec<_> = parent.iter().collect();
    repo.commit(Some("HEAD"), &author, &author, message, &tree, &parents)?;
    Ok(())
}

/// Runs this program in the folder, as a person would, and checks its exit code.
fn kelvin(folder: &Path, words: &[&str], code: i32) -> anyhow::Result<Output> {
    let program = std::env::current_exe().context("failed to find this program")?;
    let output = Command::new(program)
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("failed to start this program")?;
    if output.status.code() != Some(code) {
        let told = [&output.stdout[..], &output.stderr[..]].concat();
        bail!(
            "`kelvin {}` was to end with exit code {code} and did not ({}):\n{}",
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&told)
        );
    }
    Ok(output)
}

/// The parts of a report that the demo shows.
struct DemoReport {
    /// The answer to each unchanged case.
    decisions: Vec<(String, Value)>,
    calls: Value,
    invariance: String,
}

impl DemoReport {
    fn read(folder: &Path) -> anyhow::Result<Self> {
        let text = kelvin_base::file::read(&folder.join("kelvin/report.json"))?;
        let report: Value = serde_json::from_str(&text)?;
        let items = report["probes"]["evidence"]["items"].as_object();
        let decisions = items
            .context("the report has no cases")?
            .iter()
            .map(|(name, case)| (name.clone(), case["baseline"][0]["decision"].clone()));
        let invariance = &report["metrics"]["evidence.invariance"]["display"];
        Ok(Self {
            decisions: decisions.collect(),
            calls: report["run"]["session"]["cost"]["invocations"].clone(),
            invariance: invariance.as_str().unwrap_or_default().to_owned(),
        })
    }
}
