//! The sides of a comparison: a file, a run of the history, or a revision of the repository.

use std::path::Path;

use anyhow::Context as _;

use super::configuration;
use crate::baseline;
use crate::history::{History, WantedRun};
use crate::registry::Registry;
use kelvin_base::clock::Clock;
use kelvin_base::digest::Fields;
use kelvin_base::exit::Misuse;
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::report::Report;
use kelvin_record::Sections;
use kelvin_system::git::Oid;

/// One side of a comparison.
#[derive(Debug)]
pub(crate) struct ReportSide {
    /// The report of the side.
    pub(crate) report: Report,
    /// Where the report comes from.
    pub(crate) provenance: Provenance,
    /// Whether the report is a file of another program.
    pub(crate) is_foreign: bool,
}

/// The folder of a configuration.
pub(crate) fn folder(config: &Path) -> anyhow::Result<std::path::PathBuf> {
    let absolute = std::path::absolute(config)
        .with_context(|| format!("failed to find the folder of `{}`", config.display()))?;
    Ok(absolute.parent().unwrap_or(Path::new("/")).to_path_buf())
}

/// The possible meanings of an argument.
struct Meanings {
    file: bool,
    run: Option<String>,
    revision: Option<Oid>,
    tried: Vec<String>,
}

/// Finds the report that an argument names. The prefixes `file:`, `run:` and `rev:` choose the kind; without a prefix,
/// it is the only one of the three that exists. Fails with a [`Misuse`] if the argument names none of them, or several;
/// any other error if the report exists and cannot be used.
pub(crate) fn side(registry: Registry, text: &str, config: &Path) -> anyhow::Result<ReportSide> {
    if let Some(path) = text.strip_prefix("file:") {
        return file(registry, Path::new(path), config);
    }
    let root = folder(config)?;
    if let Some(name) = text.strip_prefix("run:") {
        let id = recorded(&root, name)?;
        return run(registry, &root, &id);
    }
    if let Some(name) = text.strip_prefix("rev:") {
        let commit = baseline::resolve(&root, name)
            .map_err(|error| Misuse::new(format!("`{name}` is no revision: {error:#}")))?;
        return revision(registry, name, commit, config);
    }
    let meanings = meanings(text, &root)?;
    match &meanings {
        Meanings {
            file: true,
            run: None,
            revision: None,
            ..
        } => file(registry, Path::new(text), config),
        Meanings {
            file: false,
            run: Some(id),
            revision: None,
            ..
        } => run(registry, &root, id),
        Meanings {
            file: false,
            run: None,
            revision: Some(commit),
            ..
        } => revision(registry, text, *commit, config),
        Meanings {
            file: false,
            run: None,
            revision: None,
            tried,
        } => Err(
            Misuse::new(format!("there is no report `{text}`: {}", tried.join("; ")))
                .help(
                    "name a report file, the file of an evaluator, a run of `kelvin history` (or `latest`, \
                     `previous`), or a git revision",
                )
                .into(),
        ),
        _ => Err(ambiguous(text, &meanings).into()),
    }
}

fn meanings(text: &str, root: &Path) -> anyhow::Result<Meanings> {
    let mut tried = Vec::new();
    let path = Path::new(text);
    // A folder is not a report, but an error message about the folder helps more than "nothing was found".
    let file = path.exists();
    if !file {
        tried.push("there is no such file".to_owned());
    }
    let run = match WantedRun::read(text) {
        None => None,
        Some(wanted) => match History::open(root)? {
            None => None,
            Some(history) => history.find(&wanted)?,
        },
    };
    if run.is_none() {
        tried.push("the history has no such run".to_owned());
    }
    let revision = match baseline::resolve(root, text) {
        Ok(commit) => Some(commit),
        Err(error) => {
            tried.push(format!("it is no revision ({error:#})"));
            None
        }
    };
    Ok(Meanings {
        file,
        run,
        revision,
        tried,
    })
}

fn ambiguous(text: &str, meanings: &Meanings) -> Misuse {
    let mut ways = Vec::new();
    if meanings.file {
        ways.push(format!("`file:{text}` for the file"));
    }
    if let Some(id) = &meanings.run {
        ways.push(format!("`run:{text}` for the run {id} of the history"));
    }
    if let Some(commit) = meanings.revision {
        ways.push(format!(
            "`rev:{text}` for the commit {}",
            baseline::short(commit)
        ));
    }
    Misuse::new(format!("`{text}` has more than one meaning"))
        .help(format!("say which: {}", ways.join(", or ")))
}

/// The id of the run in the history to which a name refers. Fails with a [`Misuse`] if the history has no run of that
/// name.
pub(crate) fn recorded(root: &Path, name: &str) -> anyhow::Result<String> {
    let Some(wanted) = WantedRun::read(name) else {
        return Err(Misuse::new(format!("`{name}` cannot name a run"))
            .help("a run is named by at least 4 characters of its id, `latest` or `previous`")
            .into());
    };
    let Some(history) = History::open(root)? else {
        return Err(
            Misuse::new(format!("there is no history in `{}`", root.display()))
                .help("`kelvin check` begins one; `--config` says where it lies")
                .into(),
        );
    };
    history.find(&wanted)?.ok_or_else(|| {
        let shown = history.file().display().to_string();
        Misuse::new(format!("the history `{shown}` has no run `{name}`"))
            .help("`kelvin history` lists them")
            .into()
    })
}

fn file(registry: Registry, path: &Path, config: &Path) -> anyhow::Result<ReportSide> {
    let (report, is_foreign) = match baseline::file::read_file(path, registry) {
        Ok(report) => (report, false),
        Err(error) => {
            let context = || format!("`{}` cannot be compared", path.display());
            let Some(report) = foreign(registry, path, config)? else {
                return Err(error).with_context(context);
            };
            (report, true)
        }
    };
    Ok(ReportSide {
        is_foreign,
        ..of_source(Source::File, path.display().to_string(), report)
    })
}

/// The file of another program as a report; none if no kind of probe can read it.
fn foreign(registry: Registry, path: &Path, config: &Path) -> anyhow::Result<Option<Report>> {
    // Reading a pipe or a device could block forever.
    if !path.is_file() {
        return Ok(None);
    }
    let config = match config.exists() {
        true => Some(registry.configured_in(config)?),
        false => None,
    };
    let clock = Clock::start();
    for kind in registry.kinds() {
        let Some(found) = kind.foreign(path, config.as_ref()) else {
            continue;
        };
        let found = found?;
        let mut probes = Sections::new(registry.of_sections());
        probes.put(kind.name(), found.section);
        let configuration = Fields::of("kelvin/foreign/v1")
            .field("kind", kind.name())
            .digest();
        let run = super::eval::made_elsewhere(&clock, configuration, None);
        let notices = found.notices.into_iter().chain(found.of_the_run);
        let report = Report::new(run, probes, found.metrics, notices.collect());
        return Ok(Some(report));
    }
    Ok(None)
}

/// The report of a run in the history, by its id. Fails if the run no longer exists, or is damaged.
pub(crate) fn run(registry: Registry, root: &Path, id: &str) -> anyhow::Result<ReportSide> {
    let history = History::open(root)?.context("the history is gone")?;
    let report = history.report(id, registry)?;
    Ok(of_source(Source::History, format!("run {id}"), report))
}

fn revision(
    registry: Registry,
    name: &str,
    commit: Oid,
    config: &Path,
) -> anyhow::Result<ReportSide> {
    let config = registry.configured_in(config)?;
    let (report, provenance) = baseline::of_commit(
        registry,
        &config.root,
        &config.baseline,
        &configuration(&config),
        commit,
    )
    .map_err(|error| {
        Misuse::new(format!("the revision `{name}` has no report: {error:#}"))
            .help("`kelvin baseline save` keeps one for each commit that it runs on")
    })?;
    Ok(ReportSide {
        report,
        provenance,
        is_foreign: false,
    })
}

fn of_source(source: Source, place: String, report: Report) -> ReportSide {
    let commit = report.run.session.commit.clone();
    ReportSide {
        provenance: baseline::provenance(source, place, commit),
        report,
        is_foreign: false,
    }
}
