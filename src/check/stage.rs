//! What a check works with: configuration, cases, variants, runner, all in place.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::asked::{self, Asked};
use super::{Mode, Request, beside, changed, questions};
use crate::config::Config;
use crate::digest::pipeline::{self, Code, Watch};
use crate::digest::{Digest, Fields};
use crate::judge::{self, Scorer};
use crate::notice::{Code as NoticeCode, Notice};
use crate::probe::Ending;
use crate::probe::evidence::cases::Corpus;
use crate::probe::evidence::{self, Basis, Evidence, Forecast, Measurement, Survey};
use crate::probe::retrieval::{self, Asking, Questions, RetrievalRecord};
use crate::report::{Fingerprints, Report, Run, Session, Share};
use crate::run::{self, Clock, Cost, Observer, Runner, Settings, Start};

/// A check that is ready to measure.
pub(super) struct Stage<'a> {
    /// What was asked for.
    request: &'a Request,
    /// The checked configuration.
    pub(super) config: &'a Config,
    /// The output folder.
    pub(super) out: &'a Path,
    /// The evidence probe, where it is run.
    evidence: Option<EvidenceSide<'a>>,
    /// The retrieval probe, where it is run.
    retrieval: Option<RetrievalSide<'a>>,
    /// How many cases and queries were asked for, before they were shared out.
    chosen: usize,
    code: &'a Code,
    /// Notices that this code changes.
    watch: Option<&'a Watch>,
    clock: Clock,
    notices: Vec<Notice>,
}

/// The evidence probe at work.
struct EvidenceSide<'a> {
    measurement: Measurement<'a>,
    corpus: &'a Corpus,
    scorer: &'a dyn Scorer,
    runner: &'a Runner<'a>,
}

/// The retrieval probe at work.
struct RetrievalSide<'a> {
    asking: Asking<'a>,
    questions: &'a Questions,
    /// The configuration of its runner.
    config: &'a Config,
    runner: &'a Runner<'a>,
}

/// Prepares everything, and hands it to `then`.
///
/// # Errors
///
/// A [`Misuse`](crate::exit::Misuse) where the configuration, the cases or the request are wrong;
/// what `then` returns.
pub(super) fn with<T>(
    request: &Request,
    observer: &dyn Observer,
    then: impl FnOnce(&mut Stage<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let clock = Clock::start();
    let Asked {
        config,
        probes,
        corpus,
        notices,
        questions,
        chosen,
        places,
    } = asked::read(request)?;
    let scorer = judge::of(&config.scorer);
    let out = match &request.out {
        Some(out) => std::path::absolute(out)?,
        None => config.root.join("kelvin"),
    };
    let beside = beside::not_pipeline(&config, &corpus, &out);
    let (code, watch) = pipeline::begin(&config.root, &config.fingerprint, &beside)?;
    let survey = Survey {
        config: &config,
        corpus: &corpus,
        places: &places,
        begins: chosen.first() == places.first(),
        scorer: &*scorer,
    };
    let accepts = |decision: &serde_json::Value| scorer.accepts(decision);
    let start = match request.mode {
        Mode::Resume => Start::Resume,
        Mode::Run | Mode::DryRun => Start::Fresh,
    };
    let inner = out.join(questions::FOLDER);
    let of_queries = config.of_queries().filter(|_| probes.retrieval);
    let open = |config, out, accepts| {
        Runner::open(Settings {
            config,
            out,
            start,
            fingerprint: code.digest,
            watch: watch.as_ref(),
            accepts,
            observer,
        })
    };
    // Held until the end; the runner of the evidence probe holds the folder itself.
    let _claim = match probes.evidence {
        true => None,
        false => Some(run::claim(&out)?),
    };
    let plans = match probes.evidence {
        true => evidence::plan(&survey),
        false => BTreeMap::new(),
    };
    let runner = match probes.evidence {
        true => Some(open(&config, &out, &accepts)?),
        false => None,
    };
    let asker = match &of_queries {
        Some(config) => Some(open(config, &inner, &retrieval::accepts)?),
        None => None,
    };
    let retrieval = match (&asker, &questions, &of_queries, &config.retrieval) {
        (Some(runner), Some(questions), Some(config), Some(settings)) => Some(RetrievalSide {
            asking: Asking::new(questions, settings, runner),
            questions,
            config,
            runner,
        }),
        _ => None,
    };
    then(&mut Stage {
        request,
        config: &config,
        out: &out,
        evidence: runner.as_ref().map(|runner| EvidenceSide {
            measurement: Measurement::new(&survey, &plans, runner),
            corpus: &corpus,
            scorer: &*scorer,
            runner,
        }),
        retrieval,
        chosen: chosen.len() + questions.as_ref().map_or(0, |questions| questions.chosen),
        code: &code,
        watch: watch.as_ref(),
        clock,
        notices,
    })
}

impl Stage<'_> {
    /// Measures, or writes the inputs only, as the request says.
    pub(super) fn measure(&mut self, proceed: &dyn Fn(Forecast) -> bool) -> anyhow::Result<()> {
        let is_rehearsal = self.request.mode == Mode::DryRun;
        let refused = Cell::new(false);
        if let Some(side) = &mut self.evidence {
            match is_rehearsal {
                true => side.measurement.rehearse()?,
                false => side.measurement.run(&|forecast| {
                    let goes_on = proceed(forecast);
                    refused.set(!goes_on);
                    goes_on
                })?,
            }
        }
        match &mut self.retrieval {
            Some(side) if is_rehearsal => side.asking.rehearse()?,
            Some(side) if !refused.get() => side.asking.run()?,
            _ => {}
        }
        match is_rehearsal {
            true => Ok(()),
            false => self.confirm(),
        }
    }

    /// Looks whether the code of the pipeline is what it was when the run began. Where it is not,
    /// nobody knows which code gave which answer, and nothing of the run is kept.
    fn confirm(&self) -> anyhow::Result<()> {
        if let Some(watch) = self.watch {
            watch.look_at_the_end();
        }
        self.runners().try_for_each(Runner::conclude)
    }

    /// What was changed in the code of the pipeline while it ran, in words.
    fn changes(&self) -> Option<String> {
        let watch = self.watch.filter(|watch| watch.is_broken())?;
        Some(watch.changes())
    }

    /// How many calls of the pipeline were made so far.
    pub(super) fn invocations(&self) -> usize {
        self.cost().invocations
    }

    fn runners(&self) -> impl Iterator<Item = &Runner<'_>> {
        let evidence = self.evidence.iter().map(|side| side.runner);
        evidence.chain(self.retrieval.iter().map(|side| side.runner))
    }

    fn cost(&self) -> Cost {
        let costs = self.runners().map(Runner::cost);
        costs.fold(Cost::default(), Cost::plus)
    }

    /// The texts of the inputs.
    pub(super) fn texts(&self) -> impl Fn(&str, Option<&str>) -> Option<String> {
        let inputs = self.evidence.as_ref().map(|side| side.measurement.inputs());
        move |case, variant| inputs?.find(case, variant).map(Cow::into_owned)
    }

    /// Runs cases and queries again until each has so many repeats.
    pub(super) fn repeat(&mut self, wanted: &BTreeMap<String, usize>) -> anyhow::Result<()> {
        if let Some(side) = &mut self.evidence {
            for repeats in wanted.values().copied().collect::<BTreeSet<_>>() {
                let names = wanted.iter().filter(|(_, wanted)| **wanted == repeats);
                let place = |(name, _): (&String, &usize)| {
                    let cases = &side.corpus.cases;
                    cases.binary_search_by(|case| (*case.name).cmp(name)).ok()
                };
                let places: Vec<usize> = names.filter_map(place).collect();
                if !places.is_empty() {
                    side.measurement.repeat(&places, repeats)?;
                }
            }
        }
        if let Some(side) = &mut self.retrieval {
            side.asking.repeat(wanted)?;
        }
        self.confirm()
    }

    /// What has been measured so far.
    pub(super) fn report(&self) -> Report {
        let evidence = self
            .evidence
            .as_ref()
            .map(|side| side.measurement.evidence());
        let mut notices = self.notices.clone();
        notices.extend(self.runners().flat_map(Runner::notices));
        let changes = self.changes();
        let evidence = match &changes {
            Some(changes) => {
                notices.push(changed::notice(changes));
                // It stopped because of this, and not because of a signal.
                evidence.map(changed::without_interruption)
            }
            None => evidence,
        };
        notices.extend(self.retrieval.iter().flat_map(|side| side.asking.notices()));
        let side = self.evidence.as_ref();
        let endings = [
            evidence.as_ref().map(|evidence| evidence.ending),
            self.retrieval.as_ref().map(|side| side.asking.ending()),
        ];
        let run = Run {
            ending: match changes {
                Some(_) => Ending::Changed,
                None => joined(endings),
            },
            seed: self.config.seed,
            only: self.request.only.clone(),
            shard: self.request.shard.map(|shard| Share {
                index: shard.index,
                count: shard.count,
                cases: self.chosen,
            }),
            decision_field: side.map_or_else(String::new, |_| {
                self.config.decision_field.as_str().to_owned()
            }),
            governing_types: side.map_or_else(Vec::new, |_| self.config.governing_types.clone()),
            scorer: side.map_or_else(String::new, |side| side.scorer.id()),
            repeats: self.config.repeats.get(),
            basis: side.map_or_else(Basis::default, |side| {
                Basis::of(self.config, side.corpus.cases.len())
            }),
            fingerprints: self.fingerprints(),
            session: Session {
                started_at: self.clock.started_at(),
                seconds: self.clock.seconds(),
                commit: self.code.commit.clone(),
                dirty: self.code.dirty || changes.is_some(),
                cost: self.cost(),
            },
        };
        let record = self.retrieval.as_ref().map(|side| side.asking.record());
        assemble(run, evidence, record, notices)
    }

    fn fingerprints(&self) -> Fingerprints {
        let (mut cases, mut command) = match &self.evidence {
            Some(side) => (fingerprint(side.corpus), self.config.command()),
            None => (Digest::of(b""), Digest::of(b"")),
        };
        if let Some(side) = &self.retrieval {
            let both = |one: Digest, other: Digest| {
                let fields = Fields::of("kelvin/probes/v1").field("evidence", one.bytes());
                fields.field("retrieval", other.bytes()).digest()
            };
            cases = both(cases, side.questions.digest());
            command = both(command, side.config.command());
        }
        Fingerprints {
            cases,
            config: self.config.measured(),
            // A fingerprint would say that these are the answers of one code.
            pipeline: self.code.digest.filter(|_| self.changes().is_none()),
            command,
        }
    }
}

/// How a run ended whose probes ended so: what stopped one stopped the run, and what measured
/// nothing fails it.
fn joined(endings: [Option<Ending>; 2]) -> Ending {
    let any = |ending| endings.contains(&Some(ending));
    [Ending::DryRun, Ending::Interrupted, Ending::Failed]
        .into_iter()
        .find(|ending| any(*ending))
        .unwrap_or(Ending::Complete)
}

/// The places of the cases that were asked for; all of them unless some were. Other names are
/// passed over.
pub(super) fn select(corpus: &Corpus, only: &[String]) -> Vec<usize> {
    if only.is_empty() {
        return (0..corpus.cases.len()).collect();
    }
    let place = |name: &String| corpus.place(name);
    let mut places: Vec<usize> = only.iter().filter_map(place).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Every case's name and bytes.
fn fingerprint(corpus: &Corpus) -> Digest {
    corpus
        .cases
        .iter()
        .fold(Fields::of("kelvin/cases/v1"), |fields, case| {
            fields
                .field("name", &*case.name)
                .field("content", case.digest().bytes())
        })
        .digest()
}

/// Whether a notice is one that [`assemble`] adds.
pub(super) fn is_assembled(notice: &Notice) -> bool {
    notice.code == NoticeCode::Unmeasured
}

/// Joins what was measured with what is told of it.
pub(super) fn assemble(
    run: Run,
    evidence: Option<Evidence>,
    record: Option<RetrievalRecord>,
    mut notices: Vec<Notice>,
) -> Report {
    let (mut metrics, mut cases) = (BTreeMap::new(), BTreeMap::new());
    if let Some(evidence) = evidence {
        metrics = evidence.metrics;
        cases = evidence.cases;
        notices.extend(evidence.notices);
    }
    if let Some(record) = &record {
        metrics.extend(retrieval::figures(record));
        notices.extend(retrieval::notices(record));
    }
    if run.ending == Ending::Changed {
        metrics.values_mut().for_each(changed::withdraw);
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
    let mut report = Report::new(run, metrics, cases, notices);
    report.retrieval = record;
    report
}
