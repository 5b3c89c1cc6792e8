//! Finds the baseline of a measurement, compares, runs doubtful cases again, and judges.

use std::collections::BTreeMap;

use super::as_it_was::ItemsBefore;
use super::budget::Allowance;
use super::compute::WantedItems;
use super::head::JudgedSide;
use super::head_items::{self, AskedOfTheBase};
use super::looking::{ComparisonEnding, Looking, unknown};
use super::stored::StoredReports;
use super::{
    BaseOfTheRun, Checked, GateRequest, Judged, absent, again, approval, as_it_was, calibrated,
    claims, compute, drift, elsewhere, measure, record, rules, stored, texts, why, write,
};
use crate::baseline::{self, Baseline, Remote, Search};
use crate::sentence::in_a_sentence;
use kelvin_base::file;
use kelvin_base::notice::Code;
use kelvin_gate::compare::{Measured, compare};
use kelvin_gate::differences::{Difference, Differences, differences};
use kelvin_gate::policy::{Effect, Policy};
use kelvin_gate::provenance::{Provenance, Source};
use kelvin_gate::readings::Readings;
use kelvin_gate::report::{self, Report};
use kelvin_gate::verdict::{Reason, ReasonCode, Verdict, Word};
use kelvin_gate::{Gate, Judgement, align, answers, changes, demands};
use kelvin_github::publish::comment;
use kelvin_record::ComparedSide;
use kelvin_run::Observer;
use kelvin_run::config::Config;
use kelvin_system::git::{self, Oid, Repository};

/// Writes the verdict into the folder of the report.
pub(super) fn written(
    checked: Checked,
    judgement: Judgement,
    base: Option<Report>,
) -> anyhow::Result<Judged> {
    write(&checked, &judgement)?;
    Ok(Judged {
        checked,
        judgement,
        base,
    })
}

/// Writes the verdict again if it has changed since it was written.
pub(super) fn write(checked: &Checked, judgement: &Judgement) -> anyhow::Result<()> {
    file::write_with(&checked.out.join(write::JUDGEMENT), |file| {
        report::json::write_judgement(file, judgement)
    })?;
    file::write(
        &checked.out.join(write::JUDGEMENT_PAGE),
        comment::alone(&checked.report, judgement, &checked.out).as_bytes(),
    )
}

/// The judgement, and the base if it was measured for this judgement, in part or as a whole.
type Settled = (Judgement, Option<Report>);

/// Judges, and puts a reason first if the change edits the rules that it is judged by. Only the effects of such an
/// edit, new items that fail, and a baseline that could not be asked for come before that reason.
pub(super) fn judge(
    request: &GateRequest,
    config: &Config,
    side: &mut dyn JudgedSide,
    observer: &dyn Observer,
) -> anyhow::Result<Settled> {
    let asked = (request, observer);
    let (mut judgement, base) = settle(asked, config, side)?;
    let same_items = measure::has_items_of_the_base(&judgement);
    as_the_base_measures(asked, config, side, (&mut judgement, same_items));
    with_items_of_the_base(asked, config, side, &mut judgement);
    judgement.reproduce = Some(again::reproduction(
        request,
        config,
        &side.report(),
        judgement.base.as_ref(),
        // A job that publishes for another run does not run cases again itself; the other run has already done so.
        request.rerun && (side.can_be_run() || request.by_the_base),
    ));
    let report = side.report();
    let foremost = report.notices.iter().filter(|notice| notice.foremost);
    judgement.caveats = foremost.map(|notice| notice.text.clone()).collect();
    let (measured, compared) = (&report.run.session, judgement.base.as_ref());
    let is_itself =
        compared.is_some_and(|base| base.commit.is_some() && base.commit == measured.commit);
    if is_itself && !measured.dirty {
        let text = "the base is this commit itself, so no change is compared";
        judgement.caveats.push(text.to_owned());
    }
    let edits = match request.by_the_base {
        true => Vec::new(),
        false => {
            let is_passed = judgement.base.is_some() && judgement.verdict.passed;
            rules::edited_rules(config, request, (is_passed, same_items))
        }
    };
    let reasons = &mut judgement.verdict.reasons;
    let comes_first = |reason: &&Reason| {
        let code = reason.code;
        // A reason that does not count against the change must not come before the reason about an edit.
        let is_calm = reason.effect.is_none();
        matches!(
            code,
            ReasonCode::BaselineUnreachable
                | ReasonCode::OwnRules
                | ReasonCode::JudgedByTheBase
                | ReasonCode::MeasuredAsBase
                | ReasonCode::Relabelled
                | ReasonCode::LeftOut
                | ReasonCode::AddedBroken
        ) && !(is_calm && code == ReasonCode::Relabelled)
    };
    let at = reasons.iter().take_while(comes_first).count();
    reasons.splice(at..at, edits);
    if judgement.base.is_some()
        && matches!(judgement.verdict.verdict, Word::Pass | Word::Inconclusive)
        && !request.by_the_base
        && let Some(text) = rules::results_of_before(config, request)
    {
        measure::leave_open(&mut judgement, ReasonCode::NotMeasured, &text);
    }
    match request.advisory {
        true => judgement.verdict.let_pass(),
        // Only a check of all items finds all regressions.
        false if request.check.only.is_empty() => {
            approval::settle(request.approval.as_ref(), config, &mut judgement);
        }
        false => {}
    }
    Ok((judgement, base))
}

/// The baseline, and the answers of its commit to items of the head.
struct FoundBaseline {
    baseline: Baseline,
    /// None until the program has checked whether any pipeline must be run.
    of_the_head: Option<AskedOfTheBase>,
    /// The ids that items have on the base, by those that they have on the head, where these differ.
    ids_on_base: BTreeMap<String, String>,
}

impl FoundBaseline {
    /// The baseline, with the ids that the items have on the head.
    fn of(mut baseline: Baseline, side: &dyn JudgedSide) -> Self {
        let ids_on_base = match &mut baseline {
            Baseline::Found(base, _) => align::with_ids_of_the_head(base, &side.report()),
            _ => BTreeMap::new(),
        };
        Self {
            baseline,
            of_the_head: None,
            ids_on_base,
        }
    }

    /// The base, if it was measured for a judgement.
    fn measured(self, judgement: &Judgement) -> Option<Report> {
        match self.baseline {
            Baseline::Found(report, provenance) => {
                let is_measured = provenance.source == Source::Compute || judgement.base_reruns > 0;
                is_measured.then_some(*report)
            }
            _ => None,
        }
    }
}

/// The request, and the observer of the progress.
type Asked<'a> = (&'a GateRequest, &'a dyn Observer);

/// Judges by the rules of the head. If the change edits the rules and passes, it is also judged by the rules of the
/// base.
fn settle(asked: Asked<'_>, config: &Config, side: &mut dyn JudgedSide) -> anyhow::Result<Settled> {
    if let Some(judgement) = unknown(&side.report()) {
        return Ok((judgement, None));
    }
    let mut found = look_up(asked, config, side)?;
    let mut judgement = by_rules(asked, config, side, &mut found)?;
    let before = match judgement.verdict.passed {
        true => rules::of_the_base(config, asked.0),
        false => None,
    };
    let Some(before) = before else {
        let base = found.measured(&judgement);
        return Ok((judgement, base));
    };
    let by_base = match before.finds_as(config) {
        true => by_rules(asked, &before.config, side, &mut found),
        false => look_up(asked, &before.config, side)
            .and_then(|mut found| by_rules(asked, &before.config, side, &mut found)),
    };
    let base = found.measured(&judgement);
    before.settle_with_base(&mut judgement, by_base);
    Ok((judgement, base))
}

/// If a change edits what is measured and passes, it is also judged by the settings of the base. `same_items`: whether
/// every item is the same as on the base.
fn as_the_base_measures(
    asked: Asked<'_>,
    config: &Config,
    side: &dyn JudgedSide,
    (judgement, same_items): (&mut Judgement, bool),
) {
    let (request, observer) = asked;
    let may_have_a_base = || {
        // The old rules may find a base although those of the change find none.
        judgement.base.is_some() || rules::of_the_base(config, request).is_some()
    };
    if !judgement.verdict.passed || !may_have_a_base() {
        return;
    }
    let Some(mut before) = measure::of_the_base(config, request, (judgement, same_items)) else {
        return;
    };
    if let Some(why) = before.hindered() {
        return measure::unknown(judgement, why);
    }
    if let Some(why) = measure::over_budget(config, &side.report()) {
        return measure::unknown(judgement, &why);
    }
    let mut other_questions = None;
    let judged = before.settings(config, request).and_then(|settings| {
        side.measured_by(&settings, observer, &mut |side, found| {
            let calls = side.invocations();
            let mut notices = side.report().notices.into_iter();
            other_questions = notices.find(|notice| notice.code == Code::OtherQuestions);
            let (mut judgement, _) = settle(asked, &measure::with_rules_of(found, config), side)?;
            judgement.reruns += calls;
            Ok(judgement)
        })
    });
    let judged = judged.and_then(|judged| before.demand_untouched().map(|()| judged));
    match judged {
        Ok(Some(by_base)) => before.settle_with_base(judgement, by_base),
        Ok(None) => measure::unknown(judgement, NOTHING_IS_RUN),
        Err(error) => measure::unknown(judgement, &in_a_sentence(&error)),
    }
    if let Some(notice) = other_questions {
        measure::leave_open(judgement, ReasonCode::MeasuredAsBase, &notice.text);
    }
}

const NOTHING_IS_RUN: &str = "nothing is run to judge a finished report";

/// If a change edits items and the pipeline, and passes, the pipeline is asked about these items as they are on the base
/// too.
fn with_items_of_the_base(
    asked: Asked<'_>,
    config: &Config,
    side: &dyn JudgedSide,
    judgement: &mut Judgement,
) {
    let (request, observer) = asked;
    let names = as_it_was::to_ask_about(judgement);
    // A job that publishes for another run believes that run where it says that it is worse.
    if names.is_empty() || request.by_the_base {
        return;
    }
    let policy = Policy::of(&config.gate);
    let mut ask = || {
        anyhow::ensure!(side.can_be_run(), NOTHING_IS_RUN);
        let about = (&*judgement, &side.report());
        let before = ItemsBefore::of_the_base((request, config), about, &names)?;
        let old = side.measured_by(&before.settings(), observer, &mut |side, found| {
            let calls = side.invocations();
            let (mut old, _) = settle(asked, &measure::with_rules_of(found, config), side)?;
            old.reruns += calls;
            Ok(old)
        })?;
        match old {
            Some(old) => before.settle_with_base(judgement, &old, &policy),
            None => anyhow::bail!(NOTHING_IS_RUN),
        }
    };
    if let Err(error) = ask() {
        as_it_was::unknown(judgement, names.len(), &policy, &error);
    }
}

/// The whole judgement by the rules of one configuration.
fn by_rules(
    asked: Asked<'_>,
    config: &Config,
    side: &mut dyn JudgedSide,
    found: &mut FoundBaseline,
) -> anyhow::Result<Judgement> {
    let mut judgement = weigh(asked, config, side, found)?;
    let policy = Policy::of(&config.gate);
    let head = side.report();
    let head = texts::compared(&head, texts::are_withheld(config, &[]))?;
    demands::report_demands(&policy, &head.metrics, &mut judgement.verdict);
    drift::judge_drift(asked.0, config, &head, &mut judgement);
    calibrated::judge_the_judges(config, asked.0, &head, &mut judgement.verdict);
    doubt_order(&head, &mut judgement.verdict);
    if let Baseline::Found(base, _) = &found.baseline {
        doubt_steadiness(base, &head, &mut judgement.verdict);
    }
    Ok(judgement)
}

/// Finds the baseline.
fn look_up(
    (request, observer): Asked<'_>,
    config: &Config,
    side: &dyn JudgedSide,
) -> anyhow::Result<FoundBaseline> {
    if let Some(said) = &request.base_of_the_run
        && config.baseline.compute
    {
        return Ok(FoundBaseline::of(
            as_the_run_says(request, config, said)?,
            side,
        ));
    }
    let can_be_run = side.can_be_run();
    let compute = |repo: &_, commit| {
        anyhow::ensure!(can_be_run, "nothing is run to judge a finished report");
        let what = what(request, (repo, commit));
        compute::commit(config, what, observer)
    };
    // A configuration may have been renamed, so a report of the same suite under another name may be its base. A name
    // on the command line tells the jobs of a matrix apart, and such a search could find the report of another job.
    let is_found_by_measure = request.check.overrides.name.is_none();
    let baseline = stored::search_stored(request, config, |search| {
        baseline::find(&Search {
            artifacts: request.artifacts.as_ref(),
            head: is_found_by_measure.then(|| side.report().suite()),
            compute: config.baseline.compute.then_some(&compute),
            ..search
        })
    })?;
    Ok(FoundBaseline::of(baseline, side))
}

/// The base according to the run that measured it: its records, and the figures that follow from them.
fn as_the_run_says(
    request: &GateRequest,
    config: &Config,
    said: &BaseOfTheRun,
) -> anyhow::Result<Baseline> {
    let repo = baseline::open(&config.root)?;
    let remote = Remote::of(&repo).with(request.login.as_ref(), &request.hint);
    let base = baseline::base(&remote, &request.hint)?;
    anyhow::ensure!(
        base.commit.to_string() == said.commit,
        "the run has measured another commit than the base"
    );
    let place = "the base commit, as the run says".to_owned();
    let provenance = Provenance {
        why: Some(base.why),
        days: Some(0),
        ..baseline::provenance(Source::Compute, place, Some(said.commit.clone()))
    };
    let report = record::recompute("", said.report.clone()).report;
    Ok(Baseline::Found(Box::new(report), provenance))
}

/// Compares the head with its baseline by the rules of one configuration, step by step.
fn weigh(
    asked: Asked<'_>,
    config: &Config,
    side: &mut dyn JudgedSide,
    found: &mut FoundBaseline,
) -> anyhow::Result<Judgement> {
    let policy = Policy {
        may_compute: compute::may_be_advised(config),
        ..Policy::of(&config.gate)
    };
    let FoundBaseline {
        baseline,
        of_the_head,
        ids_on_base,
    } = found;
    let (base, provenance) = match baseline {
        Baseline::Found(report, provenance) => (&mut **report, &*provenance),
        none => {
            let head = side.report();
            let head = texts::compared(&head, texts::are_withheld(config, &[]))?;
            let has_remote = baseline::address(&config.root).is_some();
            let about = (head.run.ending, has_remote);
            let mut judgement = absent::judged(&config.baseline, none, about);
            why::explain_no_answer(&head, &mut judgement.verdict);
            return Ok(judgement);
        }
    };
    let left_out = match asked.0.check.probe {
        Some(probe) => base.keep_probe(probe),
        None => Vec::new(),
    };
    side.against(base)?;
    let mut head = match known(side) {
        Ok(head) => head,
        Err(judgement) => return Ok(*judgement),
    };
    let before = side.invocations();

    let edited_texts = as_it_was::edited_texts(config, base, &head);
    let on_base = |id: &String| ids_on_base.get(id).unwrap_or(id).clone();
    let edited_texts = edited_texts
        .into_iter()
        .map(|id| (id.clone(), on_base(&id)));
    let edited_texts: BTreeMap<String, String> = edited_texts.collect();
    let mut told = what_differs(base, &head, &left_out);
    elsewhere::name_files(asked.0, (config, provenance), &mut told.told);
    told.told.extend(side.differences(config));
    let code_at = commit_that_runs_again(config, provenance, side)?;
    let other_packages = match code_at.filter(|_| provenance.source != Source::Compute) {
        Some(commit) => {
            let repo = baseline::open(&config.root)?;
            compute::has_other_packages(config, what(asked.0, (&repo, commit)))
        }
        None => None,
    };
    let base_at = code_at.filter(|_| other_packages.is_none());
    let sides = 1 + usize::from(base_at.is_some());
    let mut allowance = Allowance::of(config, &head, sides);

    let is_open = told.incomparable.is_none() && of_the_head.is_none();
    let mut calls_of_the_base = 0;
    // An edited item has no stored answer, and one with other packages tells more than none.
    if let Some(commit) = code_at.filter(|_| is_open) {
        let asked = of_items_of_the_head(asked, config, commit, (base, &head), &mut allowance)?;
        calls_of_the_base = asked.calls;
        if asked.seed.is_some() {
            side.against(base)?;
            head = match known(side) {
                Ok(head) => head,
                Err(judgement) => return Ok(*judgement),
            };
        }
        *of_the_head = Some(asked);
    }
    let of_the_head = &*of_the_head.get_or_insert_default();
    told.told.extend(of_the_head.told.clone());

    let incomparable = told.incomparable.as_ref().map(ToString::to_string);
    let can_run_again = asked.0.rerun && side.can_be_run();
    let mut gate = Gate::new(
        &policy,
        can_run_again,
        base_at.is_some(),
        incomparable.clone(),
    );
    // If a case still varies after re-runs, the verdict is inconclusive, with a warning. The result must be the same
    // here, when the report of such a run is only read.
    let withheld = texts::are_withheld(config, &[base, &head]);
    let of_the_run = asked.0.base_of_the_run.as_ref();
    if of_the_run.is_some_and(|said| said.was_rerun && config.baseline.compute) {
        gate.was_rerun_before();
    }
    let mut stays = of_the_head.left.clone();
    if of_the_head.seed.is_none() {
        // The files of the base have these items under other ids.
        stays.extend(ids_on_base.keys().cloned());
    }
    let mut looking = Looking {
        allowance,
        side,
        base,
        stays: &stays,
        withheld,
        gate,
        max_missing: policy.max_missing,
        stored: StoredReports::of(asked.0, config, provenance),
        head,
        base_reruns: 0,
        too_small: None,
        base_fails: None,
    };
    let verdict = match look_until_decided(asked, config, &mut looking, base_at, of_the_head.seed)?
    {
        Ok(verdict) => verdict,
        Err(judgement) => return Ok(*judgement),
    };
    let reruns = looking.side.invocations() - before;
    let Looking {
        base,
        head,
        base_reruns,
        too_small,
        stored,
        base_fails,
        ..
    } = looking;
    told.told.extend(too_small);
    told.told
        .extend(stored.differences(&verdict, base_reruns > 0));
    told.told.extend(counted_once(ComparedSide::Base, base));
    told.told.extend(counted_once(ComparedSide::Head, &head));

    let head = texts::compared(&head, withheld)?;
    let base = &*texts::compared(base, withheld)?;
    let readings = Readings {
        policy: &policy,
        base,
        head: &head,
        incomparable,
    };
    let (mut verdict, reading) = readings.settle(verdict);
    // The edited cases are paired now, but still count as edits.
    verdict.turnover.extend(of_the_head.turnover.clone());
    count_skipped((base, &head), &mut verdict);
    let aligned = align::align_by(base, &head, reading);
    verdict.warn_of_alignment(&aligned.comparisons, &policy);
    why::explain_reasons(&head, &mut verdict);
    let unchecked = claims::unchecked_base(provenance, base, &head);
    let had_packages_of_the_change = base
        .notices
        .iter()
        .find(|notice| notice.code == Code::own(compute::OTHER_PACKAGES))
        .map(|notice| notice.text.clone());
    for why in base_fails.into_iter().chain(had_packages_of_the_change) {
        warn_of_the_base(&mut verdict, &why);
    }
    if let Some(why) = other_packages {
        // One run of the base says nothing of its noise, which is what its code would have been run for.
        if base.run.repeats < STEADY || of_the_head.seed.is_some() {
            warn_of_the_base(&mut verdict, &why);
        } else {
            let reason = why::reason(ReasonCode::BaseNotChecked, None, &why);
            verdict.reasons.push(reason);
        }
    }
    say_first(&mut verdict, left_out, unchecked);
    answers::add_hits(&mut verdict, (base, &head));
    if of_the_head.seed.is_some() {
        answers::mark_edited(&mut verdict, &|item| {
            edited_texts.contains_key(item) && !of_the_head.left.contains(item)
        });
    }

    let comparison = compare(
        &Measured::from(&aligned.base),
        &Measured::from(&aligned.head),
    );
    let cases = changes::case_changes(&comparison, &verdict);
    drop(comparison);
    Ok(Judgement {
        flips: answers::gone_wrong(&cases, &verdict, (base, &head)),
        cases,
        reruns,
        base_reruns: calls_of_the_base + base_reruns,
        base_invocations: Some(base.run.session.cost.invocations),
        cost_ratio: head.run.session.cost.times(&base.run.session.cost),
        comparisons: aligned.comparisons,
        edited_texts,
        ..Judgement::with_base(verdict, provenance.clone())
    }
    .differing(told.told))
}

/// The measurement of the head so far. Fails with the judgement if it is not known what was measured.
fn known(side: &dyn JudgedSide) -> Result<Report, Box<Judgement>> {
    let head = side.report();
    match unknown(&head) {
        Some(judgement) => Err(Box::new(judgement)),
        None => Ok(head),
    }
}

/// The differences between two runs apart from their figures, and the parts of the base that were left out.
fn what_differs(base: &Report, head: &Report, left_out: &[String]) -> Differences {
    let mut told = differences(base, head);
    if !left_out.is_empty() {
        let probes = left_out.to_vec();
        told.told.push(Difference::LeftOut { probes });
    }
    told
}

/// The commit of the base, if it can be run together with the head. Otherwise a base that was measured on another day
/// may differ only because of that, and the noise of a base that was measured once is not known.
fn commit_that_runs_again(
    config: &Config,
    provenance: &Provenance,
    side: &dyn JudgedSide,
) -> anyhow::Result<Option<Oid>> {
    let commit = provenance.commit.as_deref();
    let is_another = compute::why_not(config, config).is_none();
    let commit = commit.filter(|_| side.can_be_run() && config.baseline.compute && is_another);
    Ok(commit.map(git::id).transpose()?)
}

/// Runs the code of the base on the items that the change has edited.
fn of_items_of_the_head(
    (request, observer): Asked<'_>,
    config: &Config,
    commit: Oid,
    (base, head): (&mut Report, &Report),
    allowance: &mut Allowance,
) -> anyhow::Result<AskedOfTheBase> {
    let repo = baseline::open(&config.root)?;
    let what = what(request, (&repo, commit));
    Ok(head_items::ask_of_the_base(
        (config, what, observer),
        base,
        head,
        allowance,
    ))
}

/// Lets the gate compare, and runs doubtful cases again, until there is a verdict. The base is checked out only if the
/// gate needs it. The inner error is the judgement if it is not known what was measured.
fn look_until_decided(
    (request, observer): Asked<'_>,
    config: &Config,
    looking: &mut Looking<'_>,
    base_at: Option<Oid>,
    of_the_head: Option<u64>,
) -> anyhow::Result<Result<Verdict, Box<Judgement>>> {
    let mut ending = looking.look(None)?;
    if let (ComparisonEnding::Base(rerun), Some(commit)) = (&ending, base_at) {
        let repo = baseline::open(&config.root)?;
        let what = WantedItems {
            of_the_head,
            ..what(request, (&repo, commit))
        };
        let rerun = rerun.clone();
        let items = rerun.base.keys().cloned().collect();
        ending = compute::beside(config, what, items, observer, |beside| {
            looking.look(Some((beside, rerun)))
        })?;
    }
    match ending {
        ComparisonEnding::Verdict(verdict) => Ok(Ok(*verdict)),
        ComparisonEnding::Unknown(judgement) => Ok(Err(judgement)),
        ComparisonEnding::Base(_) => anyhow::bail!("the base was asked for twice"),
    }
}

/// Puts first what the reader has to know about the base: facts that could not be checked, and reports that were left
/// out.
fn say_first(verdict: &mut Verdict, left_out: Vec<String>, unchecked: Option<Reason>) {
    let only = (!left_out.is_empty()).then(|| {
        Reason::new(
            ReasonCode::LeftOut,
            Some(Effect::Warn),
            Difference::LeftOut { probes: left_out }.words(&verdict.common_nouns()),
        )
    });
    // Pages show only the first reason, so reasons that only inform come after those that count against the change.
    let (told, warned): (Vec<Reason>, Vec<Reason>) = unchecked
        .into_iter()
        .partition(|reason| reason.effect.is_none());
    let reasons = &mut verdict.reasons;
    reasons.splice(0..0, warned.into_iter().chain(only));
    let last = reasons.iter().rposition(|reason| reason.effect.is_some());
    let at = last.map_or(0, |last| last + 1);
    reasons.splice(at..at, told);
}

/// Puts first that the code of the base could not be run as it was: not at all beside the change, or with the packages of the
/// change. A pass would rest on less than the configuration asks for.
fn warn_of_the_base(verdict: &mut Verdict, why: &str) {
    if verdict.verdict == Word::Pass {
        verdict.verdict = Word::Inconclusive;
    }
    let warns = Some(Effect::Warn);
    let reason = why::reason(ReasonCode::BaseNotChecked, warns, why);
    let fails = |reason: &&Reason| reason.effect == Some(Effect::Fail);
    let at = verdict.reasons.iter().take_while(fails).count();
    verdict.reasons.insert(at, reason);
}

/// The commit of the base, with the settings of a request.
fn what<'r>(request: &'r GateRequest, commit: (&'r Repository, Oid)) -> WantedItems<'r> {
    WantedItems {
        registry: request.check.registry,
        commit,
        fetched_with: (request.login.as_ref(), &request.hint),
        probe: request.check.probe,
        shard: request.check.shard,
        of_the_head: None,
    }
}

/// Notes how many cases of a side have repeats that count as only one run.
fn counted_once(side: ComparedSide, report: &Report) -> Option<Difference> {
    let cases = report.kept_count();
    (cases > 0).then_some(Difference::CountedOnce { side, cases })
}

/// Counts the items of the base that the head has no result for because its run skipped them, as it says itself. They
/// are missing all the same, but nobody removed them.
fn count_skipped((base, head): (&Report, &Report), verdict: &mut Verdict) {
    for (kind, section) in head.probes.known() {
        let before = base.probes.of(kind.name());
        let turnover = verdict.turnover.get_mut(kind.name());
        if let (Some(before), Some(turnover)) = (before, turnover) {
            let skipped = kind.skipped(section);
            let there = skipped.iter().filter(|id| before.item(id).is_some());
            turnover.skipped = there.count().min(turnover.removed);
        }
    }
}

/// If the answers of a run depend on the order of its inputs, a comparison of its figures also compares orders. So the
/// verdict says that the pipeline remembers earlier calls, and it does not pass: nothing shows that the change is not
/// worse.
fn doubt_order(head: &Report, verdict: &mut Verdict) {
    let mut notices = head.notices.iter();
    let notice = notices.find(|notice| notice.code == Code::own("order_matters"));
    let Some(notice) = notice else {
        return;
    };
    if verdict.verdict == Word::Pass {
        verdict.verdict = Word::Inconclusive;
    }
    let warns = Some(Effect::Warn);
    let reason = why::reason(ReasonCode::OrderMatters, warns, &notice.text);
    // This reason puts the figures in doubt, so it is placed before the reasons about figures.
    verdict.reasons.insert(0, reason);
}

/// How many agreeing runs of the base say that its answers do not vary.
const STEADY: usize = 3;

/// Doubts a pass on one run of the head whose order check saw answers vary, if no answer varied over several runs of the
/// base: what goes wrong in some calls alone shows in one run only by luck.
fn doubt_steadiness(base: &Report, head: &Report, verdict: &mut Verdict) {
    let saw_it = |report: &Report| {
        let mut notices = report.notices.iter();
        let notice = notices.find(|notice| notice.code == Code::own("order_unknown"));
        notice.and_then(|notice| notice.got.zip(notice.wanted))
    };
    let Some((inputs, asked)) = saw_it(head) else {
        return;
    };
    let answers = || verdict.answers.values();
    let is_steady = base.run.repeats >= STEADY
        && saw_it(base).is_none()
        && answers().count() > 0
        && answers().all(|one| !one.once && one.varied_on_base == 0);
    if verdict.verdict != Word::Pass || head.run.repeats >= STEADY || !is_steady {
        return;
    }
    verdict.verdict = Word::Inconclusive;
    let (are, runs) = (
        kelvin_page::are(usize::try_from(inputs).unwrap_or(usize::MAX)),
        base.run.repeats,
    );
    let text = format!(
        "{inputs} of {asked} inputs that were asked several times {are} answered otherwise from one call to the next, and over \
         the {runs} runs of the base no answer varied; one run of the head does not show how often (`repeats: {runs}` does)"
    );
    let warns = Some(Effect::Warn);
    let reason = why::reason(ReasonCode::LessSteady, warns, &text);
    verdict.reasons.insert(0, reason);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: ReasonCode, effect: Option<Effect>) -> Reason {
        Reason {
            code,
            effect,
            metric: None,
            text: String::new(),
        }
    }

    #[test]
    fn what_only_informs_of_the_base_stands_behind_what_counts_against_the_change() {
        let order = |effect: Option<Effect>| -> Vec<ReasonCode> {
            let mut verdict = Verdict::without_base(Word::Regression, Effect::Fail, "");
            verdict.reasons.push(reason(ReasonCode::Metric, None));
            let unchecked = reason(ReasonCode::BaseNotChecked, effect);
            say_first(&mut verdict, Vec::new(), Some(unchecked));
            verdict.reasons.iter().map(|reason| reason.code).collect()
        };
        let (base, failed, metric) = (
            ReasonCode::BaseNotChecked,
            ReasonCode::NotMeasured,
            ReasonCode::Metric,
        );
        assert_eq!(order(None), [failed, base, metric]);
        assert_eq!(order(Some(Effect::Warn)), [base, failed, metric]);
    }
}
