//! What a check works with: configuration, cases, variants, runner, all in place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Mode, Request};
use crate::cases::{self, Corpus, Shard};
use crate::config::Config;
use crate::digest::pipeline::{self, Code};
use crate::digest::{Digest, Fields};
use crate::exit::Misuse;
use crate::history;
use crate::notice::{Code as NoticeCode, Notice};
use crate::probe::evidence::{self, Basis, Evidence, Forecast, Measurement, Survey};
use crate::report::{Fingerprints, Report, Run, Session, Share};
use crate::run::{Clock, Observer, Runner, Settings, Start};
use crate::score::{self, Scorer};

/// A check that is ready to measure.
pub(super) struct Stage<'a> {
    /// What was asked for.
    request: &'a Request,
    /// The checked configuration.
    pub(super) config: &'a Config,
    /// The output folder.
    pub(super) out: &'a Path,
    /// The measurement.
    pub(super) measurement: Measurement<'a>,
    corpus: &'a Corpus,
    /// How many cases were asked for, before they were shared out.
    chosen: usize,
    scorer: &'a dyn Scorer,
    runner: &'a Runner<'a>,
    code: &'a Code,
    clock: Clock,
    notices: Vec<Notice>,
}

/// Prepares everything, and hands it to `then`.
///
/// # Errors
///
/// A [`Misuse`] where the configuration, the cases or the request are wrong; what `then` returns.
pub(super) fn with<T>(
    request: &Request,
    observer: &dyn Observer,
    then: impl FnOnce(&mut Stage<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let clock = Clock::start();
    let config = Config::load(&request.overrides)?;
    let (corpus, notices) = cases::load(&config)?;
    let chosen = select(&corpus, &request.only)?;
    let places = share(&corpus, &chosen, request.shard);
    let scorer = score::of(&config.scorer);
    let out = match &request.out {
        Some(out) => std::path::absolute(out)?,
        None => config.root.join("kelvin"),
    };
    let beside = not_pipeline(&config, &corpus, &out);
    let code = pipeline::code(&config.root, &config.fingerprint, &beside)?;
    let survey = Survey {
        config: &config,
        corpus: &corpus,
        places: &places,
        begins: chosen.first() == places.first(),
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
    then(&mut Stage {
        request,
        config: &config,
        out: &out,
        measurement: Measurement::new(&survey, &plans, &runner),
        corpus: &corpus,
        chosen: chosen.len(),
        scorer: &*scorer,
        runner: &runner,
        code: &code,
        clock,
        notices,
    })
}

impl Stage<'_> {
    /// Measures, or writes the inputs only, as the request says.
    pub(super) fn measure(&mut self, proceed: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()> {
        match self.request.mode {
            Mode::DryRun => self.measurement.rehearse(),
            Mode::Run | Mode::Resume => self.measurement.run(proceed),
        }
    }

    /// How many calls of the pipeline were made so far.
    pub(super) fn invocations(&self) -> usize {
        self.runner.cost().invocations
    }

    /// The texts of the inputs.
    pub(super) fn texts(&self) -> impl Fn(&str, Option<&str>) -> Option<String> {
        let inputs = self.measurement.inputs();
        |case, variant| inputs.find(case, variant).map(Cow::into_owned)
    }

    /// The places of cases by their names.
    pub(super) fn places<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<usize> {
        let place = |name| {
            self.corpus
                .cases
                .binary_search_by(|case| (*case.name).cmp(name))
                .ok()
        };
        names.filter_map(place).collect()
    }

    /// What has been measured so far.
    pub(super) fn report(&self) -> Report {
        let evidence = self.measurement.evidence();
        let mut notices = self.notices.clone();
        notices.extend(self.runner.notices());
        let run = Run {
            ending: evidence.ending,
            seed: self.config.seed,
            only: self.request.only.clone(),
            shard: self.request.shard.map(|shard| Share {
                index: shard.index,
                count: shard.count,
                cases: self.chosen,
            }),
            decision_field: self.config.decision_field.as_str().to_owned(),
            governing_types: self.config.governing_types.clone(),
            scorer: self.scorer.id(),
            repeats: self.config.repeats.get(),
            basis: Basis::of(self.config, self.corpus.cases.len()),
            fingerprints: Fingerprints {
                cases: fingerprint(self.corpus),
                config: self.config.measured(),
                pipeline: self.code.digest,
                command: self.config.command(),
            },
            session: Session {
                started_at: self.clock.started_at(),
                seconds: self.clock.seconds(),
                commit: self.code.commit.clone(),
                dirty: self.code.dirty,
                cost: self.runner.cost(),
            },
        };
        assemble(run, evidence, notices)
    }
}

/// The places of the cases that were asked for; all of them unless some were.
pub(super) fn select(corpus: &Corpus, only: &[String]) -> anyhow::Result<Vec<usize>> {
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

/// The cases among the chosen ones that fall into a shard.
pub(super) fn share(corpus: &Corpus, chosen: &[usize], shard: Option<Shard>) -> Vec<usize> {
    let takes = |place: &usize| {
        let name = &corpus.cases[*place].name;
        shard.is_none_or(|shard| shard.takes(name))
    };
    chosen.iter().copied().filter(takes).collect()
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
    paths.extend(history::files(&config.root));
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

/// Whether a notice is one that [`assemble`] adds.
pub(super) fn is_assembled(notice: &Notice) -> bool {
    notice.code == NoticeCode::Unmeasured
}

/// Joins what was measured with what is told of it.
pub(super) fn assemble(run: Run, evidence: Evidence, mut notices: Vec<Notice>) -> Report {
    notices.extend(evidence.notices);
    for (id, metric) in &evidence.metrics {
        if let (None, Some(reason), true) = (metric.value, &metric.reason, metric.gated) {
            notices.push(Notice::new(
                NoticeCode::Unmeasured,
                format!("{id} was not measured: {reason}"),
            ));
        }
    }
    notices.sort();
    Report::new(run, evidence.metrics, evidence.cases, notices)
}
