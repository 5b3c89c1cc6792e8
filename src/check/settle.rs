//! Finds the baseline of a measurement, compares, runs doubtful cases again, and judges.

use std::collections::BTreeSet;

use super::budget::Allowance;
use super::compute::{Beside, What};
use super::{
    Checked, GateRequest, Judged, absent, again, approval, calibrated, changed, claims, compute,
    configuration, drift, edits, why,
};
use crate::baseline::compare::{Comparison, Measured, compare};
use crate::baseline::differences::Difference;
use crate::baseline::fingerprints::differences;
use crate::baseline::{self, Baseline, Oid, Repository, Search, Source};
use crate::config::Config;
use crate::file;
use crate::gate::looks::Rerun;
use crate::gate::policy::Policy;
use crate::gate::verdict::{Verdict, Word};
use crate::gate::{Gate, Judgement, Next, changes};
use crate::probe::{ComparedSide, registry};
use crate::publish::comment;
use crate::report::Report;
use crate::run::Observer;

/// Writes the verdict beside the report.
pub(super) fn written(checked: Checked, judgement: Judgement) -> anyhow::Result<Judged> {
    write(&checked, &judgement)?;
    Ok(Judged { checked, judgement })
}

/// Writes it once more, where it has changed since.
pub(super) fn write(checked: &Checked, judgement: &Judgement) -> anyhow::Result<()> {
    let text = serde_json::to_vec_pretty(judgement)?;
    file::write(&checked.out.join("gate.json"), &text)?;
    file::write(
        &checked.out.join("gate.md"),
        comment::alone(&checked.report, judgement, &checked.out).as_bytes(),
    )
}

/// What is judged: a measurement under way, or a finished report.
pub(super) trait Head {
    /// What has been measured so far.
    fn report(&self) -> Report;

    /// How many calls of the pipeline were made so far.
    fn invocations(&self) -> usize;

    /// Whether its cases, and those of the base beside it, can be run again.
    fn can_be_run(&self) -> bool;

    /// Measures next to what the base has stored, where a probe needs both.
    fn against(&mut self, base: &Report) -> anyhow::Result<()>;

    /// What a reader of the verdict must know of the measurement, where it was not made for it.
    fn told(&self, config: &Config) -> Vec<Difference> {
        let _ = config;
        Vec::new()
    }

    /// Runs cases again.
    fn run_again(&mut self, rerun: &Rerun) -> anyhow::Result<()>;
}

/// Judges, and tells before anything else where the change edits the rules it is judged by; only a
/// baseline that could not be asked for comes before that.
pub(super) fn judge(
    request: &GateRequest,
    config: &Config,
    side: &mut dyn Head,
    observer: &dyn Observer,
) -> anyhow::Result<Judgement> {
    let mut judgement = settle(request, config, side, observer)?;
    drift::tell(request, config, &side.report(), &mut judgement);
    judgement.reproduce = Some(again::of(
        request,
        config,
        &side.report(),
        judgement.base.as_ref(),
        request.rerun && side.can_be_run(),
    ));
    let edits = edits::told(config, (request.login.as_ref(), &request.hint));
    let verdict = &mut judgement.verdict;
    calibrated::tell(config, verdict);
    let at = usize::from(verdict.verdict == Word::BaselineUnreachable);
    verdict.reasons.splice(at..at, edits);
    match request.advisory {
        true => judgement.verdict.let_pass(),
        // Only a whole check says everything that has regressed.
        false if request.check.only.is_empty() => {
            approval::settle(request.approval.as_ref(), config, &mut judgement);
        }
        false => {}
    }
    Ok(judgement)
}

/// Finds the baseline, and asks the gate until there is a verdict.
fn settle(
    request: &GateRequest,
    config: &Config,
    side: &mut dyn Head,
    observer: &dyn Observer,
) -> anyhow::Result<Judgement> {
    if let Some(judgement) = unknown(&side.report()) {
        return Ok(judgement);
    }
    let policy = Policy::of(&config.gate, config.baseline.require);
    let login = request.login.as_ref();
    let can_be_run = side.can_be_run();
    let compute = |repo: &_, commit| {
        anyhow::ensure!(can_be_run, "nothing is run to judge a finished report");
        let what = what(request, (repo, commit));
        compute::commit(config, what, observer)
    };
    let name = configuration(config);
    let found = baseline::find(&Search {
        artifacts: request.artifacts.as_ref(),
        login,
        // A name that was given by hand is that of one job among several.
        head: request
            .check
            .overrides
            .name
            .is_none()
            .then(|| side.report().suite()),
        settings: &config.baseline,
        root: &config.root,
        configuration: &name,
        hint: &request.hint,
        hold: &|repo, commit, report| {
            claims::hold(config, (repo, commit), report, (login, &request.hint))
        },
        compute: config.baseline.compute.then_some(&compute),
    })?;
    let (mut base, provenance) = match found {
        Baseline::Found(report, provenance) => (baseline::completed(*report), provenance),
        none => return Ok(absent::judged(&config.baseline, none)),
    };

    let left_out = match request.check.probe {
        Some(probe) => base.keep_probe(probe),
        None => Vec::new(),
    };
    side.against(&base)?;
    let head = side.report();
    if let Some(judgement) = unknown(&head) {
        return Ok(judgement);
    }
    let mut told = differences(&base, &head);
    if !left_out.is_empty() {
        told.told.push(Difference::LeftOut { probes: left_out });
    }
    if provenance.source == Source::File {
        let unread = provenance.why.clone();
        let unread = unread.map(|what| Difference::NotInReport { what });
        told.told.splice(0..0, unread);
    }
    told.told.extend(side.told(config));
    // A base that was measured at another time may differ by the day alone; one that was just
    // measured may not, unless the cache has answered.
    let is_of_now = provenance.source == Source::Compute && base.run.session.cost.cache_hits == 0;
    let base_again =
        can_be_run && config.baseline.compute && !is_of_now && provenance.commit.is_some();
    let gate = Gate::new(
        &policy,
        request.rerun && can_be_run,
        base_again,
        told.incomparable.as_ref().map(ToString::to_string),
    );
    let before = side.invocations();
    let sides = 1 + usize::from(base_again);
    let mut looking = Looking {
        allowance: Allowance::of(config, &head, sides),
        side,
        base,
        gate,
        head,
        base_reruns: 0,
        too_small: None,
    };
    let mut ending = looking.look(None)?;
    if let Ending::Base(rerun) = ending {
        let repo = baseline::open(&config.root)?;
        let commit = provenance.commit.as_deref().unwrap_or_default();
        let what = what(request, (&repo, baseline::Oid::from_str(commit)?));
        let items = rerun.base.keys().cloned().collect();
        ending = compute::beside(config, what, items, observer, |beside| {
            looking.look(Some((beside, rerun)))
        })?;
    }
    let mut verdict = match ending {
        Ending::Verdict(verdict) => *verdict,
        Ending::Unknown(judgement) => return Ok(*judgement),
        Ending::Base(_) => anyhow::bail!("the base was asked for twice"),
    };
    let Looking {
        side,
        base,
        head,
        base_reruns,
        too_small,
        ..
    } = looking;
    told.told.extend(too_small);
    let aligned = baseline::align(&base, &head);
    verdict.warn_of_alignment(&aligned.comparisons);
    why::tell(&head, &mut verdict);
    let unchecked = claims::told(&provenance, &base, &head);
    verdict.reasons.splice(0..0, unchecked);
    told.told.extend(counted_once(ComparedSide::Base, &base));
    told.told.extend(counted_once(ComparedSide::Head, &head));
    let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
    Ok(Judgement {
        cases: changes::of(&compare(&old, &new), &verdict),
        reruns: side.invocations() - before,
        base_reruns,
        base_invocations: Some(base.run.session.cost.invocations),
        cost_ratio: head.run.session.cost.times(&base.run.session.cost),
        comparisons: aligned.comparisons,
        ..Judgement::with_base(verdict, provenance)
    }
    .differing(told.told))
}

/// The base of a request.
fn what<'r>(request: &'r GateRequest, commit: (&'r Repository, Oid)) -> What<'r> {
    What {
        commit,
        fetched_with: (request.login.as_ref(), &request.hint),
        probe: request.check.probe,
        shard: request.check.shard,
    }
}

/// Why nobody knows what was measured, where that is so.
fn unknown(head: &Report) -> Option<Judgement> {
    let why = changed::told(head)?;
    let verdict = Verdict::unmeasured(why);
    Some(Judgement::without_base(verdict, Vec::new()))
}

/// The two sides, while the gate looks at them and has doubtful cases run again.
struct Looking<'l> {
    side: &'l mut dyn Head,
    base: Report,
    head: Report,
    gate: Gate<'l>,
    allowance: Allowance,
    /// How many calls running the base again took.
    base_reruns: usize,
    /// That the budget did not reach for anything.
    too_small: Option<Difference>,
}

/// How looking came to its end.
enum Ending {
    /// There is a verdict.
    Verdict(Box<Verdict>),
    /// Nobody knows what was measured.
    Unknown(Box<Judgement>),
    /// The base is to be run again, which needs it to be checked out.
    Base(Rerun),
}

impl Looking<'_> {
    /// Asks the gate, and runs what it asks for, until there is a verdict. `beside`: the base, once it is
    /// checked out, with what was asked for then.
    fn look(&mut self, beside: Option<(&mut Beside<'_, '_>, Rerun)>) -> anyhow::Result<Ending> {
        let (mut beside, mut first) = beside.unzip();
        let mut beside_the_head: Option<Report> = None;
        let mut has_run = false;
        loop {
            let aligned = baseline::align(&self.base, &self.head);
            let (old, new) = (Measured::from(&aligned.base), Measured::from(&aligned.head));
            let comparison = compare(&old, &new);
            let probes = self.head.probes.iter();
            let kept: BTreeSet<&str> = probes.flat_map(|(name, _)| self.head.kept(name)).collect();
            let rerun = match first.take() {
                Some(rerun) => rerun,
                None => {
                    self.gate.answers_are_kept(!kept.is_empty());
                    if !has_run {
                        self.too_small = self.bought_nothing(&comparison, &kept);
                    }
                    let mut asked = match self.gate.next(&comparison, self.allowance.left()) {
                        Next::Verdict(verdict) => return Ok(Ending::Verdict(verdict)),
                        Next::Rerun(rerun) => rerun,
                    };
                    // The pipeline would give the same answers again, and they would count as one run.
                    asked.head.retain(|name, _| !kept.contains(name.as_str()));
                    let there = beside_the_head.as_ref();
                    let Some(rerun) = self.allowance.pay(&asked, &self.head, there) else {
                        let verdict = self.gate.give_up(&comparison);
                        return Ok(Ending::Verdict(Box::new(verdict)));
                    };
                    rerun
                }
            };
            if !rerun.base.is_empty() {
                let Some(beside) = &mut beside else {
                    return Ok(Ending::Base(rerun));
                };
                let again = beside.run(&rerun.base)?;
                self.base_reruns = again.run.session.cost.invocations;
                beside_the_head = Some(again.clone());
                replace(&mut self.base, again);
                // What was measured next to the base was measured next to other answers.
                self.side.against(&self.base)?;
            }
            if !rerun.head.is_empty() {
                self.side.run_again(&rerun)?;
            }
            has_run = true;
            self.too_small = None;
            self.head = self.side.report();
            if let Some(judgement) = unknown(&self.head) {
                return Ok(Ending::Unknown(Box::new(judgement)));
            }
        }
    }

    /// That the gate would run something again, had it more calls than a number that was asked for.
    fn bought_nothing(
        &self,
        comparison: &Comparison<'_>,
        kept: &BTreeSet<&str>,
    ) -> Option<Difference> {
        let calls = self.allowance.of_default(&self.head)?;
        let Next::Rerun(mut asked) = self.gate.clone().next(comparison, calls) else {
            return None;
        };
        asked.head.retain(|name, _| !kept.contains(name.as_str()));
        self.allowance.bought_nothing(&asked, &self.head)
    }
}

/// Tells of the cases of a side whose repeats count as one run.
fn counted_once(side: ComparedSide, report: &Report) -> Option<Difference> {
    let cases = report.kept_count();
    (cases > 0).then_some(Difference::CountedOnce { side, cases })
}

/// Puts cases that were measured again in the place of the stored ones.
fn replace(base: &mut Report, again: Report) {
    for (id, metric) in again.metrics {
        if let Some(old) = base.metrics.get_mut(&id) {
            old.per_case.extend(metric.per_case);
        }
    }
    let mut again = again.probes;
    for kind in registry::kinds() {
        let name = kind.name();
        if let (Some(mut section), Some(again)) = (base.probes.take(name), again.take(name)) {
            section.take_in(again);
            base.probes.put(name, section);
        }
    }
}
