//! The information that a reader needs to run a gate again elsewhere.

use super::{GateRequest, named};
use kelvin_gate::provenance::{KeptArtifact, Provenance, Source};
use kelvin_gate::report::Report;
use kelvin_gate::reproduce::{Reproduction, quoted};
use kelvin_run::config::Config;

/// The folder into which the shown command downloads a baseline.
const DOWNLOADED: &str = "/tmp/kelvin-baseline";

/// The arguments that give the same verdict in a clean clone. `was_rerun`: whether this gate could run cases again.
pub(super) fn reproduction(
    request: &GateRequest,
    config: &Config,
    head: &Report,
    provenance: Option<&Provenance>,
    was_rerun: bool,
) -> Reproduction {
    let mut arguments = Vec::new();
    let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    let (path, is_inside) = path(config);
    if path != "kelvin.yaml" {
        add("--config", path);
    }
    let mut needs = None;
    if let Some(base) = provenance {
        let from = match base.source {
            Source::File => {
                needs = Some(format!(
                    "`{}` is the file that the gate was given, relative to the configuration",
                    base.place
                ));
                base.place.clone()
            }
            Source::Artifact => {
                needs = base.artifact.as_ref().map(download);
                format!("{DOWNLOADED}/report.json")
            }
            // The history belongs to one machine, and no gate reads it.
            Source::History => String::new(),
            source => source.to_string(),
        };
        if !from.is_empty() {
            add("--baseline", from);
        }
        if let (Some(commit), Source::Tree | Source::Branch | Source::Compute) =
            (&base.commit, base.source)
        {
            add("--base", commit.clone());
        }
    }
    add("--seed", head.run.seed.to_string());
    if let Some(probe) = request.check.probe {
        add("--probe", probe.to_owned());
    }
    let overrides = &request.check.overrides.gate;
    if let Some(max_drop) = overrides.max_drop {
        add("--max-drop", max_drop.to_string());
    }
    match (request.advisory, overrides.on_suspected) {
        (true, _) => add("--fail-on", "never".to_owned()),
        (false, Some(_)) => add("--fail-on", "inconclusive".to_owned()),
        (false, None) => {}
    }
    let calls = overrides.calls.map(|calls| calls.to_string());
    let minutes = overrides.minutes.map(|minutes| format!("{minutes}m"));
    let budget: Vec<String> = calls.into_iter().chain(minutes).collect();
    if !budget.is_empty() {
        add("--budget", budget.join(","));
    }
    let repeats = request.check.overrides.repeats;
    for (name, repeats) in [
        ("--repeats", repeats.filter(|_| request.report.is_none())),
        ("--base-repeats", overrides.base_repeats),
        ("--head-repeats", overrides.head_repeats),
    ] {
        arguments.extend(
            repeats
                .into_iter()
                .flat_map(|repeats| [name.to_owned(), repeats.to_string()]),
        );
    }
    arguments.push(if was_rerun { "--rerun" } else { "--no-rerun" }.to_owned());
    Reproduction {
        commit: head.run.session.commit.clone().filter(|_| is_inside),
        dirty: head.run.session.dirty,
        arguments,
        only: request.check.only.clone(),
        needs,
    }
}

/// The path of the configuration, relative to the root of its repository, and whether there is a repository.
fn path(config: &Config) -> (String, bool) {
    match named::folder(&config.root) {
        Some(_) => (named::file_of(config), true),
        None => (config.file.display().to_string(), false),
    }
}

/// The hint how to get an artifact.
fn download(artifact: &KeptArtifact) -> String {
    format!(
        "the baseline is an artifact, which `gh run download {} --name {} --dir {DOWNLOADED}` gets",
        artifact.run,
        quoted(&artifact.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_comes_with_the_command_that_gets_it() {
        let said = download(&KeptArtifact {
            name: "kelvin-report-a b".to_owned(),
            run: 12,
        });
        assert!(
            said.contains("gh run download 12 --name 'kelvin-report-a b' --dir"),
            "{said}"
        );
    }
}
