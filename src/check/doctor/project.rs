//! Checks the things that the configuration names: the cases, the command, the environment, the output folder.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::{DoctorFinding, DoctorRequest, JOB};
use crate::check::{calibrated, compute};
use crate::registry::Registry;
use kelvin_base::file;
use kelvin_gate::report::Report;
use kelvin_page::safe;
use kelvin_probe::{Items, Kind};
use kelvin_record::Nouns;
use kelvin_run::config::Config;
use kelvin_run::targets::{Address, ModelSettings, TargetSite};
use kelvin_system::signal::Interrupt;

/// With less free space than this, in bytes, a run may fail: every variant is written to the disk.
const LITTLE: u64 = 256 << 20;
/// Parts of the names of variables that hold secrets.
const SECRET: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Runs all checks of the project.
pub(super) fn look(
    config: &Config,
    request: &DoctorRequest<'_>,
    findings: &mut Vec<DoctorFinding>,
) {
    let kinds = request.registry.kinds().iter().copied();
    // A probe that observes uses the items of the other probes.
    let configured = kinds.filter(|kind| config.configures(kind.name()) && !kind.observes());
    for kind in configured {
        let read = kind.read(config);
        findings.push(items(kind, read.as_deref()));
        let services = read.iter().flat_map(|items| items.services());
        findings.extend(services.map(|(name, said)| service(&name, said)));
    }
    let in_container = request.surroundings.in_container;
    let targets = config.targets();
    findings.extend(targets.map(|target| command(config, target, in_container)));
    findings.extend(
        config
            .targets()
            .filter_map(|target| answering(config, target)),
    );
    if let Some(why) = compute::why_not(config, config) {
        findings.push(DoctorFinding::warn(SERVICE, why));
    }
    findings.extend(config.models().filter_map(|model| key(config, model)));
    let judges = calibrated::on_record(config).into_iter();
    findings.extend(judges.map(|judge| {
        let text = safe::line(&judge.text);
        match judge.fails {
            None => DoctorFinding::ok("judges", text),
            Some(false) => DoctorFinding::warn("judges", text),
            Some(true) => DoctorFinding::missing("judges", text),
        }
    }));
    if !config.env.is_empty() {
        findings.push(variables(config));
    }
    let out = request.out.clone();
    let out = out.unwrap_or_else(|| config.root.join("kelvin"));
    findings.push(repeats(&out, request.registry));
    findings.push(folder(&out));
}

/// Whether the items of a probe can be read, and whether there are enough.
fn items(kind: &'static dyn Kind, read: Result<&dyn Items, &anyhow::Error>) -> DoctorFinding {
    let (noun, nouns) = kind.nouns();
    let items = match read {
        Ok(items) => items,
        Err(error) => return DoctorFinding::missing(nouns, format!("{error:#}")),
    };
    if let Some(instead) = items.unknown() {
        return DoctorFinding::ok(nouns, instead);
    }
    let few = items.too_few();
    match (items.ids().len(), few) {
        (1, Some(few)) => DoctorFinding::warn(nouns, format!("one {noun} only: {few}")),
        (count, Some(few)) => DoctorFinding::warn(nouns, format!("{count} {nouns} only: {few}")),
        (count, None) => {
            let named = if count == 1 { noun } else { nouns };
            let size = items.size();
            let parts = std::iter::once(format!("{count} {named}")).chain(size);
            DoctorFinding::ok(nouns, parts.collect::<Vec<String>>().join(" "))
        }
    }
}

/// Whether a service that scenarios use can be reached.
fn service(name: &str, said: Result<String, String>) -> DoctorFinding {
    match said {
        Ok(version) => DoctorFinding::ok("services", format!("`{name}` answers: {version}")),
        Err(why) => DoctorFinding::missing("services", format!("`{name}` cannot be used: {why}")),
    }
}

/// Whether the pipeline answered the repeats of its last run from its own cache: such repeats do not show its noise.
fn repeats(out: &Path, registry: Registry) -> DoctorFinding {
    let last = fs::read(out.join("report.json")).ok();
    let last = last.and_then(|bytes| registry.report(&bytes).ok());
    let kept = last.as_ref().map_or(0, Report::kept_count);
    let nouns = last.map(|last| last.probes.nouns()).unwrap_or_default();
    let needs = "a pipeline that keeps its own answers needs `KELVIN_SAMPLE` in the key under which \
                 it keeps them: that variable differs between the repeats of an input";
    match kept {
        0 => DoctorFinding::ok("repeats", needs),
        kept => DoctorFinding::warn(
            "repeats",
            format!(
                "in the last run the repeats of {} came back from answers that the \
                 pipeline had kept, and count as one run: {needs}",
                Nouns::common(&nouns).counted(kept)
            ),
        ),
    }
}

fn command(config: &Config, target: &Address, in_container: bool) -> DoctorFinding {
    if let Some(model) = target.called_model() {
        return DoctorFinding::ok(
            "command",
            format!("none, since the model `{model}` is called"),
        );
    }
    let start = match target.look_up(&config.root) {
        Ok(start) => start,
        Err(misuse) => return DoctorFinding::missing("command", misuse.to_string()),
    };
    if let Some(why) = start.none_since {
        return DoctorFinding::ok("command", format!("none, since {why}"));
    }
    let Some(program) = start.program else {
        return DoctorFinding::ok(
            "command",
            "a script for `sh`, which finds its programs when it runs",
        );
    };
    if let Some(file) = start.absent {
        return DoctorFinding::missing(
            "command",
            format!(
                "`{program}` is to run `{file}`, which is not in `{}`",
                config.root.display()
            ),
        )
        .add(
            "`kelvin.yaml`, with the path from its own folder",
            format!(
                "run: {program} PATH/TO/{} {{input}} {{output}}",
                base(&file)
            ),
        );
    }
    if let Some(lacks) = start.lacks {
        return DoctorFinding::missing("command", lacks);
    }
    let remark = start.remark.map(|remark| format!("; {remark}"));
    let remark = remark.unwrap_or_default();
    if let Some(found) = start.found {
        let found = found.display();
        return DoctorFinding::ok("command", format!("`{program}` is `{found}`{remark}"));
    }
    if program.contains('/') {
        return DoctorFinding::missing(
            "command",
            format!(
                "there is no program `{program}` in `{}`; the path counts from the folder of the \
                 configuration",
                config.root.display()
            ),
        )
        .add(
            "the shell, if the file is there but not executable",
            format!("chmod +x {program}"),
        );
    }
    if in_container {
        return DoctorFinding::missing(
            "command",
            format!(
                "`{program}` was not found inside the container: a container action cannot see \
                 what `setup-python` or a similar action installed in the job"
            ),
        )
        .add(
            "the workflow, in place of the action; or install it with the input `setup`",
            "- uses: org/kelvin-action/host@v1",
        );
    }
    DoctorFinding::missing(
        "command",
        format!("`{program}` was not found in any folder of `PATH`"),
    )
    .add(
        "the workflow, as a step before; or name the program by its path in `run`",
        match program.as_str() {
            "python" | "python3" | "pip" => "- uses: actions/setup-python@v6",
            "node" | "npx" => "- uses: actions/setup-node@v5",
            "uv" | "uvx" => "- uses: astral-sh/setup-uv@v7",
            _ => "- run: echo \"/path/to/its/folder\" >> \"$GITHUB_PATH\"",
        },
    )
}

/// The subject of findings about a pipeline that is a service.
const SERVICE: &str = "service";

/// Whether the service behind a pipeline answers; none if there is no service.
fn answering(config: &Config, target: &Address) -> Option<DoctorFinding> {
    if !target.stays() {
        return None;
    }
    let opened = Interrupt::of_process().map_err(|error| format!("{error:#}"));
    let opened = opened.and_then(|interrupt| {
        let site = TargetSite {
            turns: None,
            jobs: config.jobs,
            root: config.root.clone(),
            timeout: config.limits.timeout,
            max_output_bytes: config.limits.max_output_bytes,
            decision_field: String::new(),
            interrupt,
        };
        target.open(&site).map_err(|misuse| misuse.to_string())
    });
    let said = match opened {
        Ok(opened) => opened.answers()?,
        Err(why) => Err(why),
    };
    Some(match said {
        Ok(said) => DoctorFinding::ok(SERVICE, safe::line(&said)),
        Err(why) => DoctorFinding::missing(SERVICE, safe::line(&why)),
    })
}

fn base(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Whether the key of a declared model is set; none if the model needs no key. A run needs only the keys of the models
/// that it calls.
fn key(config: &Config, model: &ModelSettings) -> Option<DoctorFinding> {
    let variable = model.endpoint.key_variable()?;
    let name = &model.name;
    if env::var(variable).is_ok_and(|value| !value.trim().is_empty()) {
        return Some(DoctorFinding::ok(
            "models",
            format!("the key of `{name}` is set"),
        ));
    }
    let text = format!("the key of `{name}` is not set: `{variable}` is empty here");
    let mut targets = config.targets();
    let is_pipeline = targets.any(|target| target.called_model().as_ref() == Some(name));
    let finding = match is_pipeline {
        true => DoctorFinding::missing("models", text),
        false => DoctorFinding::warn("models", text),
    };
    Some(finding.add(
        JOB,
        format!("env:\n  {variable}: ${{{{ secrets.{variable} }}}}"),
    ))
}

/// Checks the declared environment variables. A variable may be unset on purpose, but not a key or a token.
fn variables(config: &Config) -> DoctorFinding {
    let is_secret = |name: &str| {
        let name = name.to_uppercase();
        SECRET.iter().any(|part| name.contains(part))
    };
    let absent: Vec<&str> = config
        .env
        .iter()
        .map(String::as_str)
        .filter(|name| env::var_os(name).is_none_or(|value| is_secret(name) && value.is_empty()))
        .collect();
    if absent.is_empty() {
        return DoctorFinding::ok("env", format!("{} is set", config.env.join(", ")));
    }
    let lines: Vec<String> = absent
        .iter()
        .map(|name| match is_secret(name) {
            true => format!("  {name}: ${{{{ secrets.{name} }}}}"),
            false => format!("  {name}: ${{{{ vars.{name} }}}}"),
        })
        .collect();
    let text = format!("`env` declares {}, not set here", absent.join(", "));
    let finding = match absent.iter().any(|name| is_secret(name)) {
        true => DoctorFinding::missing("env", text),
        false => DoctorFinding::warn("env", text),
    };
    finding.add(JOB, format!("env:\n{}", lines.join("\n")))
}

/// Whether a file can be written into the output folder. The test file is removed again.
fn folder(out: &Path) -> DoctorFinding {
    let shown = out.display();
    let data = fs::symlink_metadata(out);
    if data.as_ref().is_ok_and(|data| !data.is_dir()) {
        return DoctorFinding::missing("out", format!("`{shown}` is not a folder"))
            .add("the command line", "--out ANOTHER_FOLDER");
    }
    let Some(there) = nearest(out) else {
        return DoctorFinding::missing("out", format!("no folder above `{shown}` exists"));
    };
    if let Err(error) = tempfile::tempfile_in(&there) {
        return DoctorFinding::missing(
            "out",
            format!("nothing can be written to `{shown}`: {error}"),
        )
        .add("the shell", format!("chmod u+w '{}'", there.display()));
    }
    match file::free_bytes(&there) {
        Some(free) if free < LITTLE => DoctorFinding::warn(
            "out",
            format!(
                "`{shown}` can be written, but only {} MiB are free",
                free >> 20
            ),
        ),
        _ => DoctorFinding::ok("out", format!("`{shown}` can be written")),
    }
}

/// The folder itself, or the nearest parent that exists.
fn nearest(out: &Path) -> Option<PathBuf> {
    let out = std::path::absolute(out).ok()?;
    let there = out.ancestors().find(|folder| folder.is_dir())?;
    Some(there.to_path_buf())
}
