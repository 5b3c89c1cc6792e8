//! Checks whether the verdict of a run follows from its figures, because the code of a fork may have written either.
//! The gate judges again, by the rules of the base branch and with the stored report of the base, which a fork cannot
//! change.

use anyhow::{Context as _, ensure};

use super::PostRequest;
use crate::baseline::{self, Artifacts, Hint, Visited};
use crate::check::harmless::Needed;
use crate::check::measure::leave_open;
use crate::check::{self, BaseOfTheRun, GateRequest, claims, configuration, gate, harmless};
use crate::sentence::in_a_sentence;
use kelvin_base::file;
use kelvin_gate::Judgement;
use kelvin_gate::approval::{Approval, Request};
use kelvin_gate::policy::Effect;
use kelvin_gate::report::Report;
use kelvin_gate::reproduce::Reproduction;
use kelvin_gate::verdict::{Reason, ReasonCode, Verdict, Word};
use kelvin_github::PullRequest;
use kelvin_github::publish::bundle::{Bundle, SaidVerdict};
use kelvin_page::safe;
use kelvin_run::Silent;
use kelvin_run::config::Overrides;

/// The part of a bundle that is published.
pub(super) struct PublishedPart {
    /// The verdict; all its texts were written by this program.
    pub(super) judgement: Judgement,
    /// How far the verdict can be trusted, in sentences.
    pub(super) claim: String,
    /// Why the verdict of the run is not believed; none if it is believed.
    pub(super) refused: Option<String>,
    /// An addition to the heading of a passing verdict; written by this program.
    pub(super) caveat: Option<&'static str>,
    /// The report of the base, which is published if the pipeline was not run; otherwise the report of the bundle is
    /// published.
    pub(super) report: Option<Report>,
}

/// The judgement of the gate on the figures of a run.
struct Rejudgement {
    judgement: Judgement,
    /// A remark about the base; empty if the base was a stored report.
    of_the_base: String,
    /// An addition to the heading of a passing verdict.
    caveat: Option<&'static str>,
    /// The report of the base, if the change needs no run.
    report: Option<Report>,
}

impl PublishedPart {
    /// A verdict that is believed.
    const fn believed(judgement: Judgement, claim: String) -> Self {
        Self {
            judgement,
            claim,
            refused: None,
            caveat: None,
            report: None,
        }
    }

    /// Replaces the verdict of a run that is not believed.
    fn refused(judgement: Judgement, why: String) -> Self {
        Self {
            refused: Some(why.clone()),
            ..Self::believed(judgement, format!("{OWN} {why}."))
        }
    }
}

impl Rejudgement {
    /// A judgement with a stored report.
    const fn of_stored(judgement: Judgement) -> Self {
        Self {
            judgement,
            of_the_base: String::new(),
            caveat: None,
            report: None,
        }
    }
}

const OWN: &str = "The figures are the pull request's own claim: its own code has measured them.";

/// The result to publish on each pull request that the run of a bundle may belong to. GitHub does not say which of them
/// it was, so the verdict of the run need not follow from the base of every one.
pub(super) fn hold(
    request: &PostRequest<'_>,
    (found, workflow): (&[PullRequest], &str),
    bundle: &Bundle,
) -> Vec<PublishedPart> {
    let said = bundle.judgement.as_ref();
    let judged: Vec<_> = found
        .iter()
        .map(|found| judged_again(request, (found, workflow), bundle))
        .collect();
    let agrees = |again: &Judgement| {
        said.is_some_and(|said| plain(said.verdict) == plain(again.verdict.verdict))
    };
    let mut known = judged.iter().flatten();
    let has_its_own = known.any(|again| agrees(&again.judgement));
    let pairs = found.iter().zip(judged);
    pairs
        .map(|(found, again)| match again {
            Ok(again) => {
                let is_of_another = has_its_own && !agrees(&again.judgement);
                let held = match is_of_another {
                    true => of_another(found, again.judgement),
                    false => of_one(found, said, Ok(again.judgement)),
                };
                PublishedPart {
                    claim: format!("{}{}", held.claim, again.of_the_base),
                    caveat: again.caveat,
                    report: again.report,
                    ..held
                }
            }
            Err(error) => of_one(found, said, Err(error)),
        })
        .collect()
}

/// The result to publish on the pull request of the run. `again`: the gate's own judgement of the figures.
pub(super) fn of_one(
    found: &PullRequest,
    said: Option<&SaidVerdict>,
    again: anyhow::Result<Judgement>,
) -> PublishedPart {
    match (said, again) {
        (Some(said), Ok(again)) => of_its_own(found, said, again),
        (None, Ok(again)) => of_nothing_said(found, again),
        (said, Err(error)) => unknown(said, &error),
    }
}

/// The result to publish on a pull request other than the one that the run belongs to.
fn of_another(found: &PullRequest, again: Judgement) -> PublishedPart {
    PublishedPart::believed(
        at_its_tip(again, found),
        format!("{OWN} The verdict is what they give {}.", with(found)),
    )
}

/// The result to publish if a bundle has figures but no verdict. Our own runs always write both.
fn of_nothing_said(found: &PullRequest, again: Judgement) -> PublishedPart {
    let why = format!(
        "The run does not say what its gate has found. Computed from its figures, {}, the verdict is `{}`",
        with(found),
        again.verdict.verdict.as_str()
    );
    PublishedPart::refused(at_its_tip(again, found), why)
}

/// The result to publish on the pull request to which the run belongs.
fn of_its_own(found: &PullRequest, said: &SaidVerdict, again: Judgement) -> PublishedPart {
    let word = again.verdict.verdict.as_str().to_owned();
    if !follows(said, &again.verdict) {
        let why = format!(
            "The run says `{}`, and computed again from its own figures, {}, the verdict is `{word}`: that of the run \
             is not believed",
            said.verdict.as_str(),
            with(found)
        );
        return PublishedPart::refused(at_its_tip(again, found), why);
    }
    if again.verdict.verdict == Word::Unaffected {
        let claim = format!(
            "Nothing of the pull request was run. The files that it touches were looked at again, {}, and the \
             figures are those that are kept for its base.",
            with(found)
        );
        return PublishedPart::believed(again, claim);
    }
    let computed = format!(
        "{OWN} The verdict was computed again from them, {}",
        with(found)
    );
    let mut again = with_counts(at_its_tip(again, found), said);
    if said.passed && said.verdict == Word::Inconclusive && again.verdict.verdict == Word::Pass {
        // The run can do more than compute, such as ask about the items of the base.
        let text = format!(
            "the run itself says `{}`; computed again from its figures, {}, the verdict is `{word}`. The summary of the \
             run says what it leaves open",
            said.verdict.as_str(),
            with(found)
        );
        leave_open(&mut again, ReasonCode::NotMeasured, &text);
        return PublishedPart::believed(again, format!("{computed}, and is `{word}`."));
    }
    if said.passed || !again.verdict.passed {
        return PublishedPart::believed(again, format!("{computed}."));
    }
    PublishedPart::believed(
        worse_by_its_own_word(again, said, found),
        format!("{computed}, and is `{word}`."),
    )
}

/// Adds counts that only the run itself knows; they do not affect the verdict.
fn with_counts(again: Judgement, said: &SaidVerdict) -> Judgement {
    Judgement {
        reruns: said.reruns,
        base_reruns: said.base_reruns,
        ..again
    }
}

/// The verdict if the run itself reports a failure, because of other rules or additional runs, and its job is red. A
/// comment that passes would contradict the job, so neither of the two results counts as shown.
fn worse_by_its_own_word(again: Judgement, said: &SaidVerdict, found: &PullRequest) -> Judgement {
    let Judgement { mut verdict, .. } = again;
    let text = format!(
        "the run itself says `{}` and does not pass; computed again from its figures, {}, the verdict is `{}`. The log \
         of the run says why it does not pass",
        plain(said.verdict).as_str(),
        with(found),
        verdict.verdict.as_str()
    );
    let reason = Reason::new(ReasonCode::NotMeasured, Some(Effect::Fail), text);
    verdict.reasons.insert(0, reason);
    verdict.passed = false;
    verdict.verdict = match said.verdict {
        Word::Unmeasured | Word::BaselineUnreachable | Word::NoBaseline => Word::Unmeasured,
        _ => Word::Inconclusive,
    };
    Judgement { verdict, ..again }
}

/// The result to publish if nobody knows whether the verdict of the run is right: it never passes.
fn unknown(said: Option<&SaidVerdict>, error: &anyhow::Error) -> PublishedPart {
    let says = match said {
        Some(said) => format!("The run says `{}`. ", plain(said.verdict).as_str()),
        None => String::new(),
    };
    let why = format!(
        "The verdict could not be computed again, so nobody knows whether it is true: {}",
        in_a_sentence(error)
    );
    let verdict = Verdict::unmeasured(format!("{says}{why}"));
    let is_red_anyway = said.is_some_and(|said| !said.passed);
    PublishedPart {
        refused: (!is_red_anyway).then_some(why),
        ..PublishedPart::believed(Judgement::without_base(verdict, Vec::new()), OWN.to_owned())
    }
}

/// Says by which rules and which report a verdict was computed.
fn with(found: &PullRequest) -> String {
    let branch = &found.base.branch;
    format!("with the rules and the report of `{branch}`")
}

/// Binds the judgement to the tip of the pull request: approval is asked for the regressions at that commit, by the
/// rules of the base, and the commands to reproduce the result name that commit.
fn at_its_tip(again: Judgement, found: &PullRequest) -> Judgement {
    let reproduce = again.reproduce.map(|again| Reproduction {
        commit: Some(found.head.sha.clone()),
        ..again
    });
    let approval = again.approval.map(|approval| Approval {
        request: Request {
            head: found.head.sha.clone(),
            ..approval.request
        },
        ..approval
    });
    Judgement {
        approval,
        reproduce,
        ..again
    }
}

/// The judgement of the gate on the figures of a bundle. Fails with the reason why the gate could not judge.
fn judged_again(
    request: &PostRequest<'_>,
    (found, workflow): (&PullRequest, &str),
    bundle: &Bundle,
) -> anyhow::Result<Rejudgement> {
    // The figures of the base are never taken from the bundle.
    let copied = bundle.report.run.session.copied_from.as_ref();
    let said = bundle.judgement.as_ref();
    let needs_no_run =
        copied.is_some() || said.is_some_and(|said| said.verdict == Word::Unaffected);
    if !needs_no_run {
        claims::demand_figures(&bundle.report)?;
    }
    let folder = tempfile::tempdir().context("failed to make a folder")?;
    let root = folder.path().join("repository");
    std::fs::create_dir(&root)?;
    let repository = request.client.repository();
    let url = format!("{}/{repository}", request.server_url.trim_end_matches('/'));
    let base_ref = &found.base.branch;
    let visited = Visited {
        number: found.number,
        head: &found.head.sha,
        base_ref,
    };
    let mut hint = Hint {
        pull_request: Some(baseline::BaselinePull {
            head: found.head.sha.clone(),
            base_ref: base_ref.clone(),
        }),
        in_workflow: true,
        remote: Some(url.clone()),
        ..Hint::default()
    };
    baseline::visit(&root, &url, visited, (request.login.as_ref(), &hint))?;
    let base = copied.map(|copied| copied.base.as_str());
    hint.asked = base
        .or_else(|| said_base(bundle))
        .filter(|commit| baseline::is_base(&root, visited, commit).unwrap_or(false))
        .map(str::to_owned);
    let report = folder.path().join("report.json");
    file::write(&report, &serde_json::to_vec(&bundle.report)?)?;
    let config = root.join(&request.config);
    ensure!(
        config.is_file(),
        "`{base_ref}` has no `{}`: the input `config` names the configuration",
        request.config
    );
    // Reports are stored under the name in the configuration, unless an input of the action sets another one.
    let asked = request.configuration.as_deref().unwrap_or_default();
    let by_itself = request.registry.configured_in(&config)?;
    let name = (configuration(&by_itself) != asked).then(|| asked.to_owned());
    let check = check::CheckRequest {
        overrides: Overrides {
            file: Some(config),
            name,
            ..Overrides::default()
        },
        out: Some(folder.path().join("out")),
        ..check::CheckRequest::new(request.registry)
    };
    let asked = GateRequest {
        report: Some(report),
        login: request.login.clone(),
        artifacts: Some(Artifacts {
            client: std::sync::Arc::clone(request.client),
            branch: base_ref.clone(),
            workflow: Some(workflow.to_owned()),
        }),
        hint,
        by_the_base: true,
        // The run was allowed to re-run cases, so the commands to reproduce it allow this too; a finished report is not
        // run again here.
        rerun: true,
        ..GateRequest::new(check)
    };
    if needs_no_run {
        let config = request.registry.configured(&asked.check.overrides)?;
        return Ok(without_a_run(harmless::needed(&asked, &config)));
    }
    let stored = gate(&asked, &Silent)?.judgement;
    let of_the_run = match is_shown(&stored.verdict) || !by_itself.baseline.compute {
        true => None,
        false => of_the_run(bundle),
    };
    let Some(base) = of_the_run else {
        return Ok(Rejudgement::of_stored(stored));
    };
    let judgement = gate(
        &GateRequest {
            base_of_the_run: Some(base),
            ..asked
        },
        &Silent,
    )?
    .judgement;
    Ok(by_the_base_of_the_run(&stored.verdict, judgement))
}

/// Whether the stored report alone shows that nothing got worse.
fn is_shown(verdict: &Verdict) -> bool {
    verdict.passed && verdict.verdict == Word::Pass
}

/// The base that a run claims to have measured.
fn of_the_run(bundle: &Bundle) -> Option<BaseOfTheRun> {
    Some(BaseOfTheRun {
        commit: said_base(bundle)?.to_owned(),
        was_rerun: bundle
            .judgement
            .as_ref()
            .is_some_and(|said| said.reruns + said.base_reruns > 0),
        report: bundle.base.clone()?,
    })
}

/// The judgement if the run has measured its base too, as the configuration of the base branch permits. The figures in
/// the bundle are only claims, so a contradiction with a stored report is mentioned.
fn by_the_base_of_the_run(stored: &Verdict, judgement: Judgement) -> Rejudgement {
    let was_compared = matches!(
        stored.verdict,
        Word::Regression | Word::Inconclusive | Word::PendingApproval
    );
    let by_stored = match was_compared {
        true => format!(
            "; by the stored report alone it would be `{}`",
            plain(stored.verdict).as_str()
        ),
        false => String::new(),
    };
    let is_better = judgement.verdict.passed && was_compared && !stored.passed;
    Rejudgement {
        of_the_base: format!(
            " The base was measured in that run too (`baseline: {{compute: true}}`), so its figures are a claim as \
             well{by_stored}."
        ),
        judgement,
        caveat: is_better.then_some("not by the stored report of the base"),
        report: None,
    }
}

/// The judgement if a run says that no measurement was needed. GitHub's list of touched files decides whether that is
/// true; if it is not, nothing is known about the change.
fn without_a_run(needed: Needed) -> Rejudgement {
    let (judgement, report) = match needed {
        Needed::Nothing(found) => (found.judgement, Some(found.report)),
        Needed::Run(_) | Needed::Unasked => {
            let why = match needed {
                Needed::Run(why) => why,
                _ => "the base branch compares with nothing".to_owned(),
            };
            let text =
                format!("the run says that nothing had to be run, and it had to, since {why}");
            let verdict = Verdict::unmeasured(safe::line(&text));
            (Judgement::without_base(verdict, Vec::new()), None)
        }
    };
    Rejudgement {
        report,
        ..Rejudgement::of_stored(judgement)
    }
}

/// The commit with which a bundle claims to have been compared. None if the report of an earlier commit was used
/// instead, since the bundle does not name that commit.
fn said_base(bundle: &Bundle) -> Option<&str> {
    let base = bundle.judgement.as_ref()?.base.as_ref()?;
    base.commit.as_deref().filter(|_| base.behind == 0)
}

/// Whether the claimed verdict of a run is no better than the verdict that follows from its figures.
fn follows(said: &SaidVerdict, again: &Verdict) -> bool {
    let was_compared = matches!(again.verdict, Word::Pass | Word::Inconclusive);
    let is_same = plain(said.verdict) == plain(again.verdict);
    !said.passed || is_same || (again.passed && was_compared)
}

/// The verdict without regard to approvals.
const fn plain(word: Word) -> Word {
    match word {
        Word::PendingApproval => Word::Regression,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_run_says_of_itself_is_better_than_its_figures() {
        let of = |word: Word, passed: bool| {
            let mut verdict = Verdict::unmeasured(String::new());
            (verdict.verdict, verdict.passed) = (word, passed);
            verdict
        };
        let follow = |said: (Word, bool), again: (Word, bool)| {
            let judgement = Judgement::without_base(of(said.0, said.1), Vec::new());
            follows(&SaidVerdict::from(&judgement), &of(again.0, again.1))
        };
        let (pass, fail) = ((Word::Pass, true), (Word::Regression, false));
        assert!(follow(pass, pass) && follow(fail, pass) && follow(fail, fail));
        assert!(follow(pass, (Word::Inconclusive, true)));
        // `fail-on: never` makes nobody believe that nothing has regressed.
        assert!(follow((Word::Regression, true), fail));
        assert!(follow((Word::NoBaseline, true), (Word::NoBaseline, true)));
        for again in [
            fail,
            (Word::Unmeasured, false),
            (Word::NoBaseline, true),
            (Word::BaselineUnreachable, false),
            (Word::Inconclusive, false),
        ] {
            assert!(!follow(pass, again), "{again:?}");
        }
        assert!(!follow((Word::NoBaseline, true), fail));
    }
}
