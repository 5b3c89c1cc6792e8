//! The spine: every stage once, in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cases::{self, Corpus};
use crate::config::{Config, Overrides};
use crate::digest::pipeline;
use crate::digest::{Digest, Fields};
use crate::exit::{Exit, Misuse};
use crate::file;
use crate::notice::{Code, Notice};
use crate::perturb::Plan;
use crate::probe::Ending;
use crate::probe::evidence::{self, Evidence, Forecast, Inputs, Measurement, Survey};
use crate::report::{self, Fingerprints, Report, Run, Session};
use crate::run::{Clock, Observer, Runner, Settings, Start};
use crate::score;

/// What a person asks of a check.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// What the command line changes in the configuration.
    pub(crate) overrides: Overrides,
    /// The cases to measure; empty means all.
    pub(crate) only: Vec<String>,
    /// The output folder; `kelvin` beside the configuration unless given.
    pub(crate) out: Option<PathBuf>,
    /// What is done with the inputs.
    pub(crate) mode: Mode,
}

/// What is done with the inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The pipeline is run on them.
    #[default]
    Run,
    /// The same, with the answers that an interrupted run has left.
    Resume,
    /// They are written, and nothing is run.
    DryRun,
}

/// A finished check.
#[derive(Debug)]
pub(crate) struct Checked {
    /// What was measured; written under `out`.
    pub(crate) report: Report,
    /// The output folder.
    pub(crate) out: PathBuf,
}

impl Checked {
    /// How the process ends, where no gate was asked for.
    pub(crate) const fn exit(&self) -> Exit {
        match self.report.run.ending {
            Ending::Complete | Ending::DryRun => Exit::Passed,
            Ending::Interrupted => Exit::Interrupted,
            Ending::Failed => Exit::Unmeasurable,
        }
    }
}

/// Runs a check and writes its reports.
///
/// `proceed` is asked once, when the baselines are in and their cost is known.
///
/// # Errors
///
/// A [`Misuse`] where the configuration, the cases or the request are wrong; any other error where
/// the measurement was impossible.
pub(crate) fn check(
    request: &Request,
    observer: &dyn Observer,
    proceed: &dyn Fn(Forecast) -> bool,
) -> anyhow::Result<Checked> {
    let clock = Clock::start();
    let config = Config::load(&request.overrides)?;
    let (corpus, mut notices) = cases::load(&config)?;
    let places = select(&corpus, &request.only)?;
    let scorer = score::of(&config.scorer);
    let out = match &request.out {
        Some(out) => std::path::absolute(out)?,
        None => config.root.join("kelvin"),
    };
    let code = pipeline::code(
        &config.root,
        &config.fingerprint,
        &not_pipeline(&config, &corpus, &out),
    )?;

    let survey = Survey {
        config: &config,
        corpus: &corpus,
        places: &places,
        scorer: &*scorer,
    };
    let plans = evidence::plan(&survey);
    let accepts = |decision: &serde_json::Value| scorer.accepts(decision);
    let runner = Runner::open(Settings {
        config: &config,
        out: &out,
        start: match request.mode {
            Mode::Resume => Start::Resume,
            Mode::Run | Mode::DryRun => Start::Fresh,
        },
        fingerprint: code.digest,
        accepts: &accepts,
        observer,
    })?;
    let mut measurement = Measurement::new(&survey, &plans, &runner);
    match request.mode {
        Mode::DryRun => measurement.rehearse()?,
        Mode::Run | Mode::Resume => measurement.run(proceed)?,
    }
    let evidence = measurement.evidence();

    notices.extend(runner.notices());
    let run = Run {
        ending: evidence.ending,
        seed: config.seed,
        only: request.only.clone(),
        decision_field: config.decision_field.as_str().to_owned(),
        governing_types: config.governing_types.clone(),
        scorer: scorer.id(),
        repeats: config.repeats.get(),
        fingerprints: Fingerprints {
            cases: fingerprint(&corpus),
            config: config.measured(),
            pipeline: code.digest,
            command: config.command(),
        },
        session: Session {
            started_at: clock.started_at(),
            seconds: clock.seconds(),
            commit: code.commit,
            dirty: code.dirty,
            cost: runner.cost(),
        },
    };
    let report = assemble(run, evidence, notices);
    write(&report, &out, measurement.inputs())?;
    Ok(Checked {
        report,
        out: out.clone(),
    })
}

/// The places of the cases that were asked for; all of them unless some were.
fn select(corpus: &Corpus, only: &[String]) -> anyhow::Result<Vec<usize>> {
    let names: BTreeMap<&str, usize> = corpus
        .cases
        .iter()
        .enumerate()
        .map(|(at, case)| (&*case.name, at))
        .collect();
    let unknown: Vec<&str> = only
        .iter()
        .map(String::as_str)
        .filter(|name| !names.contains_key(name))
        .collect();
    if !unknown.is_empty() {
        let known: Vec<&str> = names.keys().copied().collect();
        return Err(
            Misuse::new(format!("there is no case `{}`", unknown.join("`, `")))
                .help(format!("the cases are: {}", known.join(", ")))
                .into(),
        );
    }
    let mut places: Vec<usize> = if only.is_empty() {
        names.into_values().collect()
    } else {
        only.iter()
            .filter_map(|name| names.get(name.as_str()).copied())
            .collect()
    };
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

/// What lies beside the pipeline and is none of its code: a change there changes no answer. The
/// cases one by one, since their folder may be that of the pipeline.
fn not_pipeline(config: &Config, corpus: &Corpus, out: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = corpus
        .cases
        .iter()
        .map(|case| config.root.join(&case.file))
        .collect();
    paths.push(out.to_path_buf());
    paths.push(config.root.join(&config.file));
    paths.extend(config.cache.as_ref().map(|cache| cache.dir.clone()));
    paths
}

/// Every case's name and bytes.
fn fingerprint(corpus: &Corpus) -> Digest {
    corpus
        .cases
        .iter()
        .fold(Fields::of("kelvin/cases/v1"), |fields, case| {
            fields
                .field("name", &*case.name)
                .field("content", case.digest.bytes())
        })
        .digest()
}

fn assemble(run: Run, evidence: Evidence, mut notices: Vec<Notice>) -> Report {
    notices.extend(evidence.notices);
    for (id, metric) in &evidence.metrics {
        if let (None, Some(reason), true) = (metric.value, &metric.reason, metric.gated) {
            notices.push(Notice::new(
                Code::Unmeasured,
                format!("{id} was not measured: {reason}"),
            ));
        }
    }
    notices.sort();
    Report::new(run, evidence.metrics, evidence.cases, notices)
}

/// Writes every file of the report; the run report last, so that it is there only when all are.
fn write(report: &Report, out: &Path, inputs: &Inputs<'_>) -> anyhow::Result<()> {
    for (name, case) in &report.cases {
        let folder = out.join(&case.folder);
        file::write_with(&folder.join("report.json"), |file| {
            report::json::write_case(file, name, case)
        })?;
        file::write(
            &folder.join("report.md"),
            report::markdown::render_case(name, case).as_bytes(),
        )?;
    }
    let texts = |case: &str, variant: Option<&str>| {
        inputs.find(case, variant).map(std::borrow::Cow::into_owned)
    };
    let page = report::html::render(report, &texts)?;
    file::write(&out.join("report.html"), page.as_bytes())?;
    file::write(
        &out.join("report.md"),
        report::markdown::render(report).as_bytes(),
    )?;
    file::write_with(&out.join("report.json"), |file| {
        report::json::write(file, report)
    })
}
