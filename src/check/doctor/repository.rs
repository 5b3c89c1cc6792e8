//! The checkout, the base of the change, and its baseline.

use std::iter;
use std::path::Path;

use super::{CHECKOUT, DoctorFinding, JOB};
use crate::baseline::{self, Baseline, Hint, Login, Remote, Search, sources_tried};
use crate::check::bill::unseen;
use crate::check::{claims, configuration};
use crate::registry::Registry;
use kelvin_base::file;
use kelvin_gate::reproduce::quoted;
use kelvin_record::settings::{BaselineSource, FailOrWarn};
use kelvin_run::config::Config;
use kelvin_system::git::Repository;

/// The commands that make a repository with a commit.
const BEGIN: &str = "git init && git add --all && git commit --message \"Begin\"";
/// The commands that make the first commit of a repository.
const COMMIT: &str = "git add --all && git commit --message \"Begin\"";
/// A workflow on pushes, whose reports `kelvin-post` stores.
const KEEPING: &str = "on: { pull_request: {}, push: { branches: [main] } }\npermissions: { contents: read, \
                       actions: read }\njobs:\n  kelvin:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
                       actions/checkout@v5\n        with: { persist-credentials: false }\n      - uses: \
                       org/kelvin-action@v1\n        with: { base-repeats: 5, comment: later }";
const DEEP: &str = "- uses: actions/checkout@v5\n  with: { fetch-depth: 0 }";

/// Checks the checkout, the base of the change and its baseline; without a configuration only the first two.
pub(super) fn look(
    root: &Path,
    config: Option<&Config>,
    (registry, hint, login, on_github): (Registry, &Hint, Option<&Login>, bool),
    findings: &mut Vec<DoctorFinding>,
) {
    let repo = match baseline::open(root) {
        Ok(repo) => repo,
        Err(error) => {
            let text = format!("{error:#}");
            findings.push(if text.contains("safe.directory") {
                DoctorFinding::missing("checkout", text).add(
                    "the workflow, as a step before",
                    "- run: git config --global --add safe.directory \"$GITHUB_WORKSPACE\"",
                )
            } else if baseline::Unknown::is_in(&error) {
                // A repository exists, so the advice must not be to make one.
                DoctorFinding::missing("checkout", format!("{}", error.root_cause()))
            } else {
                let (to, lines) = match on_github {
                    true => (
                        "the workflow, as the first step",
                        "- uses: actions/checkout@v5",
                    ),
                    false => ("the shell", BEGIN),
                };
                DoctorFinding::missing(
                    "checkout",
                    format!("{text}; without one there is no base to compare with"),
                )
                .add(to, lines)
            });
            return;
        }
    };
    if let Some(Err(wrong)) = hint.tip.as_ref().map(|tip| tip.demand(root)) {
        let help = wrong.help.unwrap_or_default();
        findings.push(DoctorFinding::missing(
            "checkout",
            format!("{}; {help}", wrong.what),
        ));
        return;
    }
    findings.push(checkout(&repo));
    // Without a commit there is no base to look for, and the first finding says all.
    if matches!(baseline::checked_out(&repo), Ok(None)) {
        return;
    }
    let is_off = config.is_some_and(|config| config.baseline.from == BaselineSource::Off);
    if is_off {
        findings.push(DoctorFinding::ok(
            "baseline",
            "turned off in the configuration",
        ));
        return;
    }
    if !base(&repo, (hint, login), findings) {
        return;
    }
    if let Some(config) = config {
        findings.extend(report(config, &repo, (registry, hint, login)));
    }
}

fn checkout(repo: &Repository) -> DoctorFinding {
    let commit = match baseline::checked_out(repo) {
        Ok(Some(commit)) => baseline::short(commit),
        Ok(None) => {
            return DoctorFinding::missing("checkout", "the repository has no commit yet")
                .add("the shell", COMMIT);
        }
        Err(error) => return DoctorFinding::missing("checkout", error.root_cause().to_string()),
    };
    match repo.is_shallow() {
        true => DoctorFinding::ok(
            "checkout",
            format!("{commit}, a shallow clone; what is needed to find the base is fetched"),
        ),
        false => DoctorFinding::ok("checkout", format!("{commit}, with its whole history")),
    }
}

/// Whether the base was found.
fn base(
    repo: &Repository,
    (hint, login): (&Hint, Option<&Login>),
    findings: &mut Vec<DoctorFinding>,
) -> bool {
    let remote = Remote::of(repo).with(login, hint);
    let found = baseline::base(&remote, hint);
    let is_found = found.is_ok();
    findings.push(match found {
        Ok(base) => DoctorFinding::ok(
            "base",
            format!("{}: {}", baseline::short(base.commit), base.why),
        ),
        Err(error) => DoctorFinding::missing("base", format!("it cannot be reached: {error:#}"))
            .add(CHECKOUT, DEEP),
    });
    is_found
}

/// Searches for the baseline in every source that needs no measurement, and says which changes a gate against it could
/// not detect.
fn report(
    config: &Config,
    repo: &Repository,
    (registry, hint, login): (Registry, &Hint, Option<&Login>),
) -> Vec<DoctorFinding> {
    let name = configuration(config);
    let found = baseline::find(&Search {
        registry,
        settings: &config.baseline,
        root: &config.root,
        configuration: &name,
        hint,
        artifacts: None,
        head: None,
        login,
        hold: &|repo, commit, report| {
            claims::hold((registry, config), (repo, commit), report, (login, hint))
        },
        compute: None,
    });
    let finding = match found {
        Ok(Baseline::Found(report, provenance)) => {
            let unseen = unseen(config, &report).into_iter();
            let unseen = unseen.map(|unseen| DoctorFinding::warn("types", unseen.sentence()));
            return iter::once(DoctorFinding::ok("baseline", provenance.to_string()))
                .chain(unseen)
                .collect();
        }
        Ok(Baseline::Off) => DoctorFinding::ok("baseline", "turned off in the configuration"),
        Ok(Baseline::None(_)) if config.baseline.compute => {
            DoctorFinding::ok("baseline", "none is kept, so the base commit is measured")
        }
        Ok(Baseline::Unreachable(tried)) if config.baseline.compute => {
            let text = format!(
                "a kept one cannot be asked for ({}), so the base commit is measured",
                sources_tried(&tried)
            );
            DoctorFinding::ok("baseline", text)
        }
        Ok(Baseline::Unreachable(tried)) => {
            let text = format!("it cannot be asked for ({})", sources_tried(&tried));
            match config.baseline.unreachable {
                FailOrWarn::Warn if !config.baseline.require => {
                    DoctorFinding::warn("baseline", text)
                }
                _ => DoctorFinding::missing("baseline", text),
            }
            .add(JOB, "permissions: { contents: read, actions: read }")
        }
        Ok(Baseline::None(tried)) => {
            let text = format!("none was found ({})", sources_tried(&tried));
            let told = |text: String| match config.baseline.require {
                true => DoctorFinding::missing("baseline", text),
                false => DoctorFinding::warn("baseline", text),
            };
            match repo.workdir().is_some_and(keeps_reports) {
                true => told(format!(
                    "{text}; with the workflows that are there, each push to the base branch keeps one, or {}",
                    by_hand(config)
                )),
                false => {
                    let (to, lines) = keeping(config, repo);
                    told(text).add(to, lines)
                }
            }
        }
        Err(error) => DoctorFinding::missing("baseline", format!("{error:#}")),
    };
    vec![finding]
}

/// The workflow that stores a report of the base branch. Its job with write access runs only merged code, and never a
/// pull request.
fn keeping(config: &Config, repo: &Repository) -> (String, String) {
    let by_hand = by_hand(config);
    if repo.workdir().is_some_and(has_workflow) {
        let branch = baseline::branch_of_clone(repo).unwrap_or_else(|| "main".to_owned());
        return (
            format!(
                "the workflow, so that `kelvin-post` keeps the report of each push to the base branch; or {by_hand}"
            ),
            KEEPING.replace("[main]", &format!("[{branch}]")),
        );
    }
    let init = format!("kelvin init --workflow{}", named(config));
    (
        format!(
            "the shell, which writes the two workflows: with them each push to the base branch keeps one; or {by_hand}"
        ),
        init,
    )
}

/// The flag that names the configuration, after a space; empty for the default.
fn named(config: &Config) -> String {
    match config.file == Path::new("kelvin.yaml") {
        true => String::new(),
        false => format!(
            " {}",
            quoted(&format!("--config={}", config.file.display()))
        ),
    }
}

/// How a report of the base branch is stored without a workflow.
fn by_hand(config: &Config) -> String {
    let repeats = match config.repeats < config.baseline.repeats {
        true => format!(" --repeats={}", config.baseline.repeats),
        false => String::new(),
    };
    let local = match baseline::address(&config.root) {
        Some(_) => "",
        None => " --local",
    };
    let named = named(config);
    format!("run `kelvin check{named}{repeats} && kelvin baseline save{named}{local}` there once")
}

/// Whether a workflow of the repository runs the action.
fn has_workflow(top: &Path) -> bool {
    !workflows(top).is_empty()
}

/// Whether the workflows of the repository store the reports of pushes: one measures pushes and leaves the rest to
/// `kelvin-post`, which is there too.
fn keeps_reports(top: &Path) -> bool {
    let workflows = workflows(top);
    let has = |marks: &[&str]| {
        let mut texts = workflows.iter();
        texts.any(|text| marks.iter().all(|mark| text.contains(mark)))
    };
    has(&["push:", "comment: later"]) && has(&["workflow_run:", "kelvin-action/post"])
}

/// The texts of the workflows that run an action of Kelvin, without their comments.
fn workflows(top: &Path) -> Vec<String> {
    let files = std::fs::read_dir(top.join(".github/workflows"));
    let files = files.into_iter().flatten().flatten();
    let texts = files.filter_map(|file| {
        let path = file.path();
        let is_one = path
            .extension()
            .is_some_and(|ending| ending == "yml" || ending == "yaml");
        let text = is_one.then(|| file::read(&path).ok()).flatten()?;
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        Some(lines.collect::<Vec<&str>>().join("\n"))
    });
    texts
        .filter(|text| text.contains("kelvin-action"))
        .collect()
}
