//! The prepared state of a check: the probes with their items and runners.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{CheckMode, CheckRequest, asked, echo, named};
use kelvin_base::clock::Clock;
use kelvin_base::cost::Cost;
use kelvin_base::digest::Digest;
use kelvin_base::notice::{Code as NoticeCode, Notice};
use kelvin_gate::report::{Fingerprints, Report, Run, Session, Share};
use kelvin_probe::{Planned, Probe};
use kelvin_record::{Ending, Findings, Kinds, Metric, Sections, WantedRepeats};
use kelvin_run as run;
use kelvin_run::config::Config;
use kelvin_run::{Observer, Observing, Rules, Runner, RunnerSettings, Start};
use kelvin_system::pipeline::{self, Code, Made, Watch};

/// A check that is ready to measure.
pub(super) struct Stage<'a> {
    /// The request.
    pub(super) request: &'a CheckRequest,
    /// The checked configuration.
    pub(super) config: &'a Config,
    /// The output folder.
    pub(super) out: &'a Path,
    /// The probes, in the order of the registry.
    probes: Vec<Box<dyn Probe + 'a>>,
    /// The runners of each probe, one for every step.
    runners: &'a [Vec<Runner<'a>>],
    /// The name of each probe.
    names: Vec<&'static str>,
    /// How many items were requested, before they were divided among shards.
    chosen: usize,
    code: &'a Code,
    /// Reports if the code of this pipeline changes.
    watch: Option<&'a Watch>,
    clock: Clock,
    notices: Vec<Notice>,
    /// The findings of the probes; none if they were not computed since the last run.
    found: RefCell<Option<FoundSoFar>>,
    /// The folder where each pipeline leaves its answers, with the names of its items.
    answers: Vec<(PathBuf, Vec<String>)>,
}

/// The findings of the probes when this many of the runners had stopped.
struct FoundSoFar {
    stopped: usize,
    findings: Vec<Findings>,
}

/// Prepares everything, and passes it to `then`. Fails with a [`Misuse`](kelvin_base::exit::Misuse) if the
/// configuration, the items or the request are wrong; and the error of `then`.
pub(super) fn with<T>(
    request: &CheckRequest,
    events: &dyn Observer,
    then: impl FnOnce(&mut Stage<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let clock = Clock::start();
    let config = request.registry.configured(&request.overrides)?;
    let sides = asked::read(request, &config)?;
    let out = match &request.out {
        Some(out) => std::path::absolute(out)?,
        None => config.root.join("kelvin"),
    };
    let beside = asked::not_pipeline(&config, &sides, &out);
    let start = match request.mode {
        CheckMode::Resume => Start::Resume,
        CheckMode::Run | CheckMode::DryRun => Start::Fresh,
    };
    // The folder is locked until the end. The runner of a probe that works at the top locks it itself.
    let _claim = match sides.iter().any(|side| side.kind.folder().is_none()) {
        true => None,
        false => Some(run::claim(&out)?),
    };
    let planned: Vec<Box<dyn Planned + '_>> = sides.iter().map(|side| side.items.plan()).collect();
    let mut outs = Vec::new();
    for (side, planned) in sides.iter().zip(&planned) {
        let folders = asked::folders(side, &planned.steps())?;
        let of_step = |folder: PathBuf| match folder.as_os_str().is_empty() {
            true => out.clone(),
            false => out.join(folder),
        };
        outs.push(folders.into_iter().map(of_step).collect::<Vec<_>>());
    }
    let made = match start {
        Start::Resume => run::made(outs.iter().flatten()),
        Start::Fresh => Made::default(),
    };
    let (code, watch) = pipeline::begin(&config.root, &config.fingerprint, &beside, made)?;
    let observer = sides.iter().find_map(|side| side.items.observer());
    let mut runners: Vec<Vec<Runner<'_>>> = Vec::new();
    let mut answers = Vec::new();
    for ((side, planned), outs) in sides.iter().zip(&planned).zip(&outs) {
        let mut of_probe = Vec::new();
        for (at, (step, out)) in planned.steps().into_iter().zip(outs).enumerate() {
            let (fingerprint, watch) = match step.reader.depends_on_code() {
                true => (code.digest, watch.as_ref()),
                false => (Some(Digest::of(b"no code")), None),
            };
            if step.reader.depends_on_code() {
                let ids = side.items.ids().into_iter().map(str::to_owned);
                answers.push((out.clone(), ids.collect()));
            }
            let mut rules = Rules::of(&config, &step.program);
            // A judge may be a command, or a file of recorded answers.
            if let (true, Some(other)) = (step.reader.is_of_a_judge(), config.other_rules()) {
                rules.root = other.to_path_buf();
            }
            let settings = RunnerSettings {
                rules,
                out,
                start,
                fingerprint,
                watch,
                reader: step.reader,
                observer: events,
                // The first step calls the pipeline; the later steps evaluate its answers.
                observing: observer
                    .filter(|_| at == 0 && step.reader.is_observed())
                    .map(|observer| Observing {
                        probe: side.kind.name(),
                        observer,
                    }),
            };
            of_probe.push(Runner::open(|site| planned.open(at, site), settings)?);
        }
        runners.push(of_probe);
    }
    let probes = planned.iter().zip(&runners);
    then(&mut Stage {
        request,
        config: &config,
        out: &out,
        probes: probes
            .map(|(planned, runners)| planned.begin(runners))
            .collect(),
        runners: &runners,
        names: sides.iter().map(|side| side.kind.name()).collect(),
        chosen: sides.iter().map(|side| side.chosen).sum(),
        code: &code,
        watch: watch.as_ref(),
        clock,
        notices: sides.iter().flat_map(|side| side.items.notices()).collect(),
        found: RefCell::default(),
        answers,
    })
}

impl Stage<'_> {
    /// Measures, or only writes the inputs, depending on the request.
    pub(super) fn measure(&mut self) -> anyhow::Result<()> {
        let is_rehearsal = self.request.mode == CheckMode::DryRun;
        self.found.take();
        for probe in &mut self.probes {
            match is_rehearsal {
                true => probe.rehearse()?,
                false => probe.run()?,
            }
        }
        match is_rehearsal {
            true => Ok(()),
            false => {
                self.confirm()?;
                self.tell_what_is_made();
                self.notices.extend(echo::notices(&self.answers));
                Ok(())
            }
        }
    }

    /// Adds a notice with the files that the pipeline creates in the folders of its code.
    fn tell_what_is_made(&mut self) {
        let made = self.watch.map(Watch::made).unwrap_or_default();
        if made.is_empty() {
            return;
        }
        let names: Vec<String> = made
            .names()
            .take(5)
            .map(|name| format!("`{name}`"))
            .collect();
        let text = format!(
            "the pipeline makes files in the repository that git does not ignore: {}. They were new after the first \
             call, so this run does not take them for code; the next one does. Put them into `.gitignore`",
            names.join(", ")
        );
        self.notices.push(Notice::new(NoticeCode::Cache, text));
    }

    /// Checks whether the code of the pipeline is unchanged since the run began. If it has changed, it is not known
    /// which code gave which answer, so no result of the run is stored.
    fn confirm(&self) -> anyhow::Result<()> {
        if let Some(watch) = self.watch {
            watch.look_at_the_end();
        }
        self.runners().try_for_each(Runner::conclude)
    }

    /// Describes the changes in the code of the pipeline during the run.
    fn changes(&self) -> Option<String> {
        let watch = self.watch.filter(|watch| watch.is_broken())?;
        Some(watch.changes())
    }

    /// The files that the pipeline leaves in the repository, as lines for `.gitignore`.
    pub(super) fn ignorable(&self) -> BTreeSet<String> {
        self.watch.map(Watch::ignorable).unwrap_or_default()
    }

    /// How many calls of the pipeline were made so far.
    pub(super) fn invocations(&self) -> usize {
        self.cost().invocations
    }

    fn runners(&self) -> impl Iterator<Item = &Runner<'_>> {
        self.runners.iter().flatten()
    }

    fn cost(&self) -> Cost {
        let costs = self.runners().filter(|runner| !runner.is_of_a_judge());
        costs.map(Runner::cost).fold(Cost::default(), Cost::plus)
    }

    /// The cost of the judges; none if there are no judges.
    fn judge_cost(&self) -> Option<Cost> {
        let judges = self.runners().filter(|runner| runner.is_of_a_judge());
        judges.map(Runner::cost).reduce(Cost::plus)
    }

    /// The texts of the inputs.
    pub(super) fn texts(&self) -> impl Fn(&str, Option<&str>) -> Option<String> {
        move |item, variant| {
            let mut texts = self.probes.iter().map(|probe| probe.text(item, variant));
            texts.find_map(|text| Some(text?.into_owned()))
        }
    }

    /// Runs items again until each has as many repeats as wanted.
    pub(super) fn repeat(&mut self, wanted: &WantedRepeats) -> anyhow::Result<()> {
        self.found.take();
        for probe in &mut self.probes {
            probe.repeat(wanted)?;
        }
        self.confirm()
    }

    /// Measures relative to the stored answers of the base.
    pub(super) fn against(&mut self, base: &Report) -> anyhow::Result<()> {
        self.found.take();
        for (name, probe) in self.names.iter().zip(&mut self.probes) {
            if let Some(section) = base.probes.of(name) {
                probe.against(section)?;
            }
        }
        self.confirm()
    }

    /// The measurement so far.
    pub(super) fn report(&self) -> Report {
        let mut notices = self.notices.clone();
        notices.extend(self.runners().flat_map(Runner::notices));
        let names = self.names.iter().copied();
        let mut findings: Vec<(&str, Findings)> = names.zip(self.findings()).collect();
        let changes = self.changes();
        if let Some(changes) = &changes {
            notices.push(changed_notice(changes));
            for (_, of_probe) in &mut findings {
                without_interruption(of_probe);
            }
        }
        // The run ended because it reached a limit, for which there is a separate notice.
        if self
            .runners
            .iter()
            .flatten()
            .any(|runner| runner.spent().is_some())
        {
            for (_, of_probe) in &mut findings {
                without_interruption(of_probe);
            }
        }
        let run = Run {
            ending: match changes {
                Some(_) => Ending::Changed,
                None => joined(findings.iter().map(|(_, found)| found.section.ending())),
            },
            seed: self.config.seed,
            only: self.request.only.clone(),
            shard: self.request.shard.map(|shard| Share {
                index: shard.index,
                count: shard.count,
                cases: self.chosen,
            }),
            repeats: self.config.repeats.get(),
            fingerprints: self.fingerprints(),
            session: Session {
                started_at: self.clock.started_at(),
                seconds: self.clock.seconds(),
                configuration: Some(named::file_of(self.config)),
                commit: self.code.commit.clone(),
                dirty: self.code.dirty || changes.is_some(),
                copied_from: None,
                texts_withheld: false,
                cost: self.cost(),
                judge_cost: self.judge_cost(),
                item_seconds: self.item_seconds(),
                decision: None,
                verdict: None,
            },
        };
        let kinds = self.request.registry.of_sections();
        assemble(kinds, run, findings, notices)
    }

    /// The findings of each probe. They are computed once and shared by all callers, until the next run.
    fn findings(&self) -> Vec<Findings> {
        let mut found = self.found.borrow_mut();
        // A signal may come at any time, and also stops a runner that is idle.
        let stopped = self.runners().filter(|runner| runner.stopped()).count();
        let known = found.take().filter(|found| found.stopped == stopped);
        let known = known.unwrap_or_else(|| FoundSoFar {
            stopped,
            findings: self.probes.iter().map(|probe| probe.findings()).collect(),
        });
        let findings = known.findings.clone();
        *found = Some(known);
        findings
    }

    fn item_seconds(&self) -> BTreeMap<String, BTreeMap<String, Vec<f64>>> {
        let seconds = self.probes.iter().map(|probe| probe.seconds());
        let by_probe = self
            .names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(seconds);
        by_probe
            .filter(|(_, seconds)| !seconds.is_empty())
            .collect()
    }

    fn fingerprints(&self) -> Fingerprints {
        Fingerprints {
            config: self.config.measured(),
            // A fingerprint would wrongly say that all answers came from the same code.
            pipeline: self.code.digest.filter(|_| self.changes().is_none()),
        }
    }
}

/// The ending of a run, from the endings of its probes: if something stopped one probe, it stopped the run, and the run
/// fails if a probe measured nothing.
pub(super) fn joined(endings: impl Iterator<Item = Ending>) -> Ending {
    let endings: Vec<Ending> = endings.collect();
    [
        Ending::Changed,
        Ending::DryRun,
        Ending::Interrupted,
        Ending::Failed,
    ]
    .into_iter()
    .find(|ending| endings.contains(ending))
    .unwrap_or(Ending::Complete)
}

/// Whether a notice is one that [`assemble`] adds.
pub(super) fn is_assembled(notice: &Notice) -> bool {
    notice.code == NoticeCode::Unmeasured
}

/// Joins the measurements and adds their notices.
pub(super) fn assemble(
    kinds: Kinds,
    run: Run,
    findings: Vec<(&str, Findings)>,
    mut notices: Vec<Notice>,
) -> Report {
    let mut metrics = BTreeMap::new();
    let mut sections = Sections::new(kinds);
    for (name, found) in findings {
        metrics.extend(found.metrics);
        notices.extend(found.notices);
        notices.extend(found.of_the_run);
        sections.put(name, found.section);
    }
    if run.ending == Ending::Changed {
        metrics.values_mut().for_each(withdraw_changed);
    }
    for (id, metric) in &metrics {
        if let (None, Some(reason), true) = (metric.value, &metric.reason, metric.gated) {
            notices.push(Notice::new(
                NoticeCode::Unmeasured,
                format!("{id} was not measured: {reason}"),
            ));
        }
    }
    notices.sort();
    Report::new(run, sections, metrics, notices)
}

/// Says which files of the code changed during the run, and what to do. Such a run has no figures, because it is not
/// known which code gave which answer.
fn changed_notice(changes: &str) -> Notice {
    Notice::new(
        NoticeCode::Changed,
        format!(
            "the code of the pipeline changed while it ran, so it is not known which code gave \
             which answer, and nothing of this run is kept: {changes}. Run it again and leave the \
             files alone until it ends. Files that the pipeline writes itself do not count as code if \
             `.gitignore` lists them, or if `fingerprint` names the files of the code"
        ),
    )
}

/// Why the report of a run whose code changed has no figures; none for other reports.
pub(super) fn why_nothing_is_shown(report: &Report) -> Option<String> {
    if report.run.ending != Ending::Changed {
        return None;
    }
    let mut notices = report.notices.iter();
    let notice = notices.find(|notice| notice.code == NoticeCode::Changed);
    let plain = || "the code of the pipeline changed while it ran".to_owned();
    Some(notice.map_or_else(plain, |notice| notice.text.clone()))
}

/// Removes the value of a metric.
fn withdraw_changed(metric: &mut Metric) {
    metric.withdraw("the code of the pipeline changed while it ran");
}

/// Removes the note of an interruption from the findings of a probe: nobody interrupted the run.
fn without_interruption(findings: &mut Findings) {
    findings
        .notices
        .retain(|notice| notice.code != NoticeCode::Interrupted);
}
