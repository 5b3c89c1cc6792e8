//! Decides whether a change can be `unaffected`: it touches only files that the configuration of its base lists as
//! harmless. Then no pipeline is run, and the figures stored for the base count for the change. In case of doubt, the
//! check is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::stored::search_stored;
use super::{
    CheckMode, Checked, GateRequest, Judged, asked, measure, named, rule_files, settle, write,
};
use crate::baseline::{self, Baseline, HeadFiles, Hint, Search, Touched, TouchedBy, TouchedKind};
use crate::sentence::in_a_sentence;
use kelvin_base::clock::Clock;
use kelvin_base::file;
use kelvin_base::notice::{Code, Notice};
use kelvin_gate::policy::Policy;
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::report::{CopiedFrom, Report, Session, StoredVerdict};
use kelvin_gate::{Judgement, judgement, opening};
use kelvin_page::safe;
use kelvin_record::settings::BaselineSource;
use kelvin_record::{Direction, Ending};
use kelvin_run as run;
use kelvin_run::config::{Config, Harmless, NamedPaths, always_affects};
use kelvin_run::{Event, Observer};

/// Says whether a change needs a run.
pub(super) enum Needed {
    /// The configuration lists no harmless files, or there is no base, so the question does not arise.
    Unasked,
    /// A run is needed; the text is the reason, in words that follow "since".
    Run(String),
    /// No run is needed.
    Nothing(Box<UnaffectedChange>),
}

/// A change that needs no run.
pub(super) struct UnaffectedChange {
    /// The report of the base, used as the report of the change.
    pub(super) report: Report,
    /// The judgement.
    pub(super) judgement: Judgement,
}

/// Judges a change that needs no run, and writes the files of its report; none if the change has to be run. If the
/// configuration lists harmless files, the log says why a run is needed. Fails if the files cannot be written.
pub(super) fn gate(
    request: &GateRequest,
    config: &Config,
    observer: &dyn Observer,
) -> anyhow::Result<Option<Judged>> {
    let found = match needed(request, config) {
        Needed::Unasked => return Ok(None),
        Needed::Run(why) => {
            let text = format!("`harmless`: the check runs, since {why}");
            observer.event(&Event::Remark {
                text: &safe::line(&text),
            });
            return Ok(None);
        }
        Needed::Nothing(found) => found,
    };
    let UnaffectedChange { report, judgement } = *found;
    let out = match &request.check.out {
        Some(out) => std::path::absolute(out)?,
        None => config.root.join("kelvin"),
    };
    let report = request.check.written_report(report, config)?;
    let judgement = request.check.masked_judgement(judgement)?;
    let _claim = run::claim(&out)?;
    let page = write::JudgedPage::of(&judgement, &request.hint);
    write::files(&report, &out, &|_, _| None, Some(page))?;
    settle::written(Checked::of(report, out), judgement, None).map(Some)
}

/// Finds out whether a change needs a run.
pub(super) fn needed(request: &GateRequest, config: &Config) -> Needed {
    // A change that adds or removes the list edits the configuration, so it is run anyway.
    let is_listed = request.by_the_base || !config.harmless.is_empty();
    if !is_listed || !is_compared(request, config) {
        return Needed::Unasked;
    }
    match unaffected(request, config) {
        Ok(Ok(found)) => Needed::Nothing(found),
        Ok(Err(why)) => Needed::Run(why),
        Err(error) => Needed::Run(format!(
            "what it touches is not known: {}",
            in_a_sentence(&error)
        )),
    }
}

/// Whether a whole check is compared with a base. The report of a push is stored for later changes, so a push is always
/// measured.
fn is_compared(request: &GateRequest, config: &Config) -> bool {
    let check = &request.check;
    let is_whole = check.only.is_empty() && check.probe.is_none() && check.shard.is_none();
    let is_push = check.overrides.is_base || request.hint.before.is_some();
    let has_a_base = config.baseline.file.is_none()
        && !matches!(
            config.baseline.from,
            BaselineSource::Off | BaselineSource::Compute
        );
    is_whole && check.mode == CheckMode::Run && !is_push && has_a_base
}

/// The change, if it needs no run; the inner error says why it needs one. With the outer error it is not known whether
/// a run is needed.
fn unaffected(
    request: &GateRequest,
    config: &Config,
) -> anyhow::Result<Result<Box<UnaffectedChange>, String>> {
    let with = (request.login.as_ref(), &request.hint);
    let name = Path::new(config.file.file_name().context("it has no file")?);
    let (commit, mut files) = baseline::base_files(&config.root, with, &[name])?;
    let shown = baseline::short(commit);
    let Some(text) = files.remove(0)? else {
        return Ok(Err(format!("the base {shown} has no `{}`", name.display())));
    };
    let text = String::from_utf8(text).context("the configuration of the base is no text")?;
    let registry = request.check.registry;
    let base = registry
        .configured_by(&text, &config.file)
        .with_context(|| format!("the configuration of the base {shown} cannot be read"))?;
    if base.harmless.is_empty() {
        return Ok(Err(format!("the base {shown} lists nothing there")));
    }
    let by = match (request.by_the_base, request.hint.in_workflow) {
        (true, _) => TouchedBy::CommitSinceItLeft,
        (false, true) => TouchedBy::Commit,
        (false, false) => TouchedBy::WorkTree,
    };
    let touched = baseline::touched(&config.root, with, by)?;
    ensure!(touched.base == commit, "the base has changed meanwhile");
    let paths = not_of_kelvin(request, config, &touched);
    if paths.is_empty() {
        return Ok(Err(format!("nothing differs from the base {shown}")));
    }
    if let Some(why) = affecting(request, (config, &base, &text), &touched, &paths)? {
        return Ok(Err(why));
    }
    let (report, provenance) = match kept(request, config)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    // The command line options may ask for a different measurement than the file.
    let is_as_written = request.by_the_base || config.measured() == base.measured();
    let is_same = report.run.fingerprints.config == base.measured() && is_as_written;
    let is_whole = report.run.ending == Ending::Complete
        && !report.lacks_figures()
        && report.run.shard.is_none()
        && report.run.only.is_empty();
    if !is_same || !is_whole {
        return Ok(Err(format!(
            "the report that is kept for the base {shown} was measured with other settings, or not as a whole"
        )));
    }
    let policy = Policy::of(&config.gate);
    // A gate that already fails on the base is not caused by this change, but a green result would say that it passes.
    let missed = report.metrics.iter().find(|(id, metric)| {
        policy.min(id).is_some_and(|min| match metric.direction {
            Direction::Lower => metric.value.is_none_or(|value| value > min),
            _ => metric.value.is_none_or(|value| value < min),
        })
    });
    if let Some((id, _)) = missed {
        return Ok(Err(format!("the base {shown} misses the `min` of `{id}`")));
    }
    let names: Vec<&Path> = paths.iter().map(|(path, _)| path.as_path()).collect();
    let why = format!(
        "nothing was run: the change touches only {}, which `harmless` of the base {shown} lists",
        counted(&names)
    );
    let judgement = judgement::unaffected(&report, &policy, provenance.clone(), &safe::line(&why));
    let verdict = opening::stored(&judgement);
    let dirty = names.iter().any(|path| touched.uncommitted.contains(*path));
    Ok(Ok(Box::new(UnaffectedChange {
        report: copied((config, dirty), report, (&touched, &provenance), verdict),
        judgement,
    })))
}

/// The touched files, without those that Kelvin writes itself.
fn not_of_kelvin<'t>(
    request: &GateRequest,
    config: &Config,
    touched: &'t Touched,
) -> Vec<(&'t PathBuf, TouchedKind)> {
    let own = measure::own_files(request, config, &touched.top);
    let paths = touched.paths.iter();
    paths
        .filter(|(path, _)| !own.iter().any(|own| path.starts_with(own)))
        .map(|(path, kind)| (path, *kind))
        .collect()
}

/// Why one of the touched files may change an answer; none if no file may.
fn affecting(
    request: &GateRequest,
    (config, base, text): (&Config, &Config, &str),
    touched: &Touched,
    paths: &[(&PathBuf, TouchedKind)],
) -> anyhow::Result<Option<String>> {
    let list = Harmless::of(&base.harmless, &touched.below)?;
    let shown = |path: &Path| format!("`{}`", path.display());
    let unlisted: Vec<&Path> = paths
        .iter()
        .map(|(path, _)| path.as_path())
        .filter(|path| list.pattern_for(path).is_none())
        .collect();
    if !unlisted.is_empty() {
        let are = kelvin_page::are(unlisted.len());
        let base = baseline::short(touched.base);
        return Ok(Some(format!(
            "{} {are} not listed by the base {base}",
            counted(&unlisted)
        )));
    }
    let read = ReadFiles::of(request, (config, base, text), touched)?;
    for (path, kind) in paths {
        let why = match kind {
            TouchedKind::Link => Some("it is a symbolic link, which may lead anywhere".to_owned()),
            TouchedKind::Repository => Some("it is a repository of its own".to_owned()),
            TouchedKind::File => always_affects(path)
                .map(str::to_owned)
                .or_else(|| read.why(path)),
        };
        if let Some(why) = why {
            return Ok(Some(format!("{} may change an answer: {why}", shown(path))));
        }
    }
    let with = (request.login.as_ref(), &request.hint);
    let here = baseline::head_files(&config.root, with)?;
    let named = Mentions::of(config, &list, (&touched.top, &touched.below), &here);
    let mut named = paths
        .iter()
        .filter_map(|(path, _)| Some((path, named.why(path)?)));
    let first = named.next();
    Ok(first.map(|(path, why)| format!("{} may change an answer: {why}", shown(path))))
}

/// Links and scripts that lead to a file although the configuration does not name the file.
pub(super) struct Mentions {
    /// The links, each with the path to which it points.
    links: Vec<(PathBuf, PathBuf)>,
    /// The texts of the scripts that belong to the pipeline, to judges or to checks.
    scripts: Vec<(PathBuf, String)>,
}

impl Mentions {
    /// Collects links and scripts from the files that are not listed as harmless: one listed page may name another
    /// page.
    pub(super) fn of(
        config: &Config,
        list: &Harmless,
        (top, below): (&Path, &Path),
        here: &HeadFiles,
    ) -> Self {
        let is_listed = |path: &Path| list.pattern_for(path).is_some();
        let links = here.links.iter().filter(|(link, _)| !is_listed(link));
        let scripts = rule_files::scripts(config, (top, below), &here.files).into_iter();
        let own = config.file.file_name().map(|name| below.join(name));
        Self {
            links: links
                .filter_map(|(link, target)| Some((link.clone(), target.clone()?)))
                .collect(),
            scripts: scripts
                .filter(|(path, _)| !is_listed(path) && Some(path) != own.as_ref())
                .collect(),
        }
    }

    /// The link or script that leads to a path; none if there is no such link or script.
    pub(super) fn why(&self, path: &Path) -> Option<String> {
        // A file that is read through a link has another path than its name suggests.
        let link = self.links.iter().find(|(_, to)| path.starts_with(to));
        if let Some((link, _)) = link {
            return Some(format!("the link `{}` leads to it", link.display()));
        }
        let name = path.file_name()?.to_str()?;
        let mut scripts = self.scripts.iter();
        let (script, _) = scripts.find(|(_, text)| names(text, name))?;
        Some(format!("`{}` names it", script.display()))
    }
}

/// Notes about patterns of `harmless` that match no file of the checked-out commit, or that match a file that may
/// change an answer; in spite of the pattern, a change of such a file is measured. `items`: the files of the items.
/// Empty without a repository.
pub(super) fn doubtful(config: &Config, items: Vec<PathBuf>) -> Vec<Notice> {
    match config.harmless.is_empty() {
        true => Vec::new(),
        false => doubts(config, items).unwrap_or_default(),
    }
}

fn doubts(config: &Config, items: Vec<PathBuf>) -> anyhow::Result<Vec<Notice>> {
    let repo = baseline::open(&config.root)?;
    let top = repo.workdir().context("there is no work tree")?;
    let top = top.canonicalize()?;
    let below = config.root.canonicalize()?;
    let below = below.strip_prefix(&top)?;
    let here = baseline::head_files(&config.root, (None, &Hint::default()))?;
    let text = file::read(&config.file)?;
    let list = Harmless::of(&config.harmless, below)?;
    let read = ReadFiles::with(items, (config, config, &text), (&top, below))?;
    let mentions = Mentions::of(config, &list, (&top, below), &here);
    let why = |path: &Path| {
        let named = always_affects(path).map(str::to_owned);
        let named = named.or_else(|| read.why(path));
        named.or_else(|| mentions.why(path))
    };
    let mut told = Vec::new();
    for pattern in &config.harmless {
        let list = Harmless::of(std::slice::from_ref(pattern), below)?;
        let listed = here.files.iter();
        let listed: Vec<&PathBuf> = listed
            .filter(|path| list.pattern_for(path).is_some())
            .collect();
        let doubtful: Vec<(&PathBuf, String)> = listed
            .iter()
            .filter_map(|path| Some((*path, why(path)?)))
            .collect();
        let more = match doubtful.len() {
            0 | 1 => String::new(),
            2 => " (and 1 more like it)".to_owned(),
            more => format!(" (and {} more like it)", more - 1),
        };
        let text = match (listed.is_empty(), doubtful.first()) {
            (true, _) => format!("`{pattern}` in `harmless` lists no file of this commit"),
            (false, None) => continue,
            (false, Some((path, why))) => format!(
                "`{pattern}` in `harmless` lists `{}`{more}, and {why}: a change of it is run all the same",
                path.display()
            ),
        };
        told.push(Notice::new(Code::Harmless, text));
    }
    Ok(told)
}

/// Whether a text contains a file name as a separate word.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(|c| is_part(c) && c != '.')
    })
}

/// The files that the configuration names, and those that its probes read.
pub(super) struct ReadFiles {
    named: NamedPaths,
    own: PathBuf,
    /// Files, and folders with everything in them.
    items: BTreeSet<PathBuf>,
}

impl ReadFiles {
    /// Collects these files. `text`: the configuration of the base, which is also the configuration of the change
    /// unless the change edits it.
    fn of(
        request: &GateRequest,
        (config, base, text): (&Config, &Config, &str),
        touched: &Touched,
    ) -> anyhow::Result<Self> {
        let sides = asked::read(&request.check, config)?;
        let items = sides.iter().flat_map(|side| side.items.files()).collect();
        Self::with(items, (config, base, text), (&touched.top, &touched.below))
    }

    /// Adds the files of the items. The two paths are the top of the repository and the folder of the configuration
    /// within it.
    pub(super) fn with(
        items: Vec<PathBuf>,
        (config, base, text): (&Config, &Config, &str),
        (top, below): (&Path, &Path),
    ) -> anyhow::Result<Self> {
        let mut files = items;
        for settings in [config, base] {
            let measured = settings.measured_files();
            let measured = measured.into_iter().chain(settings.measured_folders());
            files.extend(measured.map(|(_, path)| config.root.join(path)));
            files.push(config.root.join(&settings.gate.calibration));
            files.push(config.root.join(&settings.baseline.path));
        }
        let root = top.join(below);
        let items = files.iter().flat_map(|path| {
            let path = path.strip_prefix(&config.root).unwrap_or(path);
            measure::within(top, &root.join(path))
        });
        Ok(Self {
            named: NamedPaths::of(text, below, top)?,
            own: below.join(config.file.file_name().unwrap_or_default()),
            items: items.filter(|path| !path.as_os_str().is_empty()).collect(),
        })
    }

    /// Why a path belongs to the measured things; none if it does not belong to them.
    pub(super) fn why(&self, path: &Path) -> Option<String> {
        if path == self.own {
            return Some("it is the configuration".to_owned());
        }
        if self.items.iter().any(|read| path.starts_with(read)) {
            return Some("the check reads it".to_owned());
        }
        let name = self.named.name_of(path)?;
        Some(format!("the configuration names `{name}`"))
    }
}

/// The report that is stored for the base; the inner error says why there is none that can be used.
fn kept(
    request: &GateRequest,
    config: &Config,
) -> anyhow::Result<Result<(Report, Provenance), String>> {
    let found = search_stored(request, config, |search| {
        baseline::find(&Search {
            artifacts: request.artifacts.as_ref(),
            ..search
        })
    })?;
    Ok(match found {
        Baseline::Found(report, provenance) => match provenance.source {
            Source::Tree | Source::Branch | Source::Artifact => Ok((*report, provenance)),
            Source::Compute | Source::File | Source::History => {
                Err("no report of the base is kept".to_owned())
            }
        },
        Baseline::None(tried) | Baseline::Unreachable(tried) => {
            let tried = tried.iter().filter(|tried| tried.source != Source::Compute);
            let tried: Vec<String> = tried
                .map(|tried| format!("{}: {}", tried.source, tried.why))
                .collect();
            Err(format!(
                "no report of the base is kept ({})",
                tried.join("; ")
            ))
        }
        Baseline::Off => Err("nothing is compared".to_owned()),
    })
}

/// A copy of the base's report as the report of the change, marked as a copy.
fn copied(
    (config, dirty): (&Config, bool),
    base: Report,
    (touched, provenance): (&Touched, &Provenance),
    verdict: StoredVerdict,
) -> Report {
    let clock = Clock::start();
    let mut report = base;
    let measured = provenance.commit.clone();
    let of = measured.clone().unwrap_or_else(|| touched.base.to_string());
    let of: String = of.chars().take(7).collect();
    report.notices.push(Notice::new(
        Code::Copied,
        format!("nothing was run: these are the figures that were measured for {of}"),
    ));
    report.notices.sort();
    report.run.fingerprints.pipeline = None;
    report.run.session = Session {
        started_at: clock.started_at(),
        seconds: clock.seconds(),
        configuration: Some(named::file_of(config)),
        commit: Some(touched.head.to_string()),
        dirty,
        texts_withheld: report.run.session.texts_withheld,
        verdict: Some(verdict),
        copied_from: Some(CopiedFrom {
            base: touched.base.to_string(),
            measured,
        }),
        ..Session::default()
    };
    report
}

/// The first of some paths, and how many others there are.
fn counted(paths: &[&Path]) -> String {
    let first = paths.first().map(|path| format!("`{}`", path.display()));
    let first = first.unwrap_or_default();
    match paths.len() {
        0 | 1 => first,
        2 => format!("{first} and 1 more file"),
        more => format!("{first} and {} more files", more - 1),
    }
}
