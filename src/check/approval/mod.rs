//! Connects the gate with GitHub for regressions that people can approve: asks for approval and reads the decision.

mod facts;

use std::sync::Arc;

use crate::registry::Registry;
use facts::answer;
pub(super) use facts::{Desk, rules_of_branch, settle as settle_notice};
use kelvin_base::clock::of_seconds;
use kelvin_gate::Judgement;
use kelvin_gate::approval::{Approval, Origin, Request, Rules, State};
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_github::Client;
use kelvin_github::publish::post;
use kelvin_run::config::Config;

/// The pull request on which a run can ask for an approval, or look for an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalSite {
    pub(crate) registry: Registry,
    pub(crate) client: Arc<Client>,
    /// The client that may read team members, which the token of a workflow may not; the same client as `client` if
    /// there is no second token.
    pub(crate) teams: Arc<Client>,
    /// The pull request that the run is about.
    pub(crate) origin: Origin,
    /// The commit at its tip.
    pub(crate) head: String,
    /// The commit whose rules count: the tip of the branch that the pull request is to be merged into, or the commit
    /// that this branch had before a push. The pushed commits may have changed the rules.
    pub(crate) rules_at: String,
    /// The stage of the change.
    pub(crate) stage: ChangeStage,
}

impl ApprovalSite {
    /// The people who may approve, by the rules at `rules_at`; none if these rules name nobody. Fails with the reason
    /// why the rules are not known; the verdict shows it.
    fn rules(&self) -> Result<Option<Rules>, String> {
        let found = rules_of_branch(
            self.registry,
            &self.client,
            &self.origin.config,
            &self.rules_at,
        );
        found.map_err(|error| {
            format!(
                "the rules of `{}` could not be read: {error:#}",
                self.rules_at
            )
        })
    }
}

/// The stage of a change on its way into the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeStage {
    /// The pull request of the change is open: an approval can be asked for, and is bound to the base.
    Open,
    /// The change is about to be merged or was merged: an earlier approval counts, whatever the base is.
    Merging,
}

/// Applies the decision about a regression, or says which decision is needed and who may make it. Other verdicts are
/// not changed.
pub(super) fn settle(site: Option<&ApprovalSite>, config: &Config, judgement: &mut Judgement) {
    let verdict = &judgement.verdict;
    let is_approvable = match verdict.verdict {
        Word::Regression => true,
        // Without re-runs, a suspected drop also fails the gate, because of its figures.
        Word::Inconclusive => judgement.approvable("").is_ok(),
        _ => false,
    };
    if verdict.passed || !is_approvable {
        return;
    }
    let Some(site) = site else {
        if let Some(settings) = &config.gate.approval {
            elsewhere(judgement, Rules::from(settings));
        }
        return;
    };
    let own = config.gate.approval.is_some();
    let rules = match site.rules() {
        Ok(Some(rules)) => rules,
        Ok(None) if own => {
            judgement.refuse_approval(
                "this change brings `gate.approval` itself, which counts once it is on the base branch",
            );
            return;
        }
        Ok(None) => return,
        Err(why) if own => return judgement.refuse_approval(&why),
        Err(_) => return,
    };
    let request = match judgement.approvable(&site.head) {
        Ok(request) => request,
        Err(why) => {
            judgement.refuse_approval(&format!("it fails for something else too: {why}"));
            return;
        }
    };
    let approval = answer(site, request, rules, judgement.last_good());
    adopt(judgement, approval);
}

/// Applies an approval that was found.
fn adopt(judgement: &mut Judgement, approval: Option<Approval>) {
    match approval {
        Some(approval) => judgement.settle(approval),
        None => judgement.refuse_approval("nobody has approved it on its pull request"),
    }
}

/// Notes in the verdict of a run without a pull request that somebody may approve the regression, and where.
fn elsewhere(judgement: &mut Judgement, rules: Rules) {
    let request = judgement.approvable("");
    match request {
        Ok(request) => {
            let last_good = judgement.last_good();
            judgement.settle(Approval::pending(request, rules, last_good));
        }
        Err(why) => judgement.refuse_approval(&format!("it fails for something else too: {why}")),
    }
}

/// Decides again about the result of a run without write access. What the run itself says about a decision is ignored:
/// the code of a fork may have written it.
pub(super) fn settle_again(site: &ApprovalSite, judgement: &mut Judgement) {
    let Some(said) = judgement.approval.take() else {
        // The report of a run may not claim an approval for which nobody was asked.
        if judgement.verdict.verdict == Word::PendingApproval {
            judgement.refuse_approval("the run does not say what has regressed");
        }
        return;
    };
    let request = Request {
        head: site.head.clone(),
        ..said.request
    };
    match site.rules() {
        Ok(Some(rules)) => adopt(judgement, answer(site, request, rules, said.last_good)),
        Ok(None) => judgement.refuse_approval("the base branch has no `gate.approval`"),
        Err(why) => judgement.refuse_approval(&why),
    }
}

/// Asks people for a decision if one is needed and nobody was asked yet. If asking fails, the verdict stays the same
/// and says so. Fails with the reason why nobody could be asked.
pub(super) fn ask(client: &Client, judgement: &mut Judgement) -> Result<(), String> {
    let Some(approval) = judgement.approval.as_ref() else {
        return Ok(());
    };
    let is_new = approval.state == State::Pending && approval.comment.is_none();
    if !is_new || approval.origin.is_none() {
        return Ok(());
    }
    let mut approval = approval.clone();
    let reasons = judgement.verdict.reasons.iter();
    let edits = reasons.filter(|one| {
        matches!(
            one.code,
            ReasonCode::EditsRules | ReasonCode::EditsMeasure | ReasonCode::EditsEvaluator
        )
    });
    let mind: Vec<String> = edits.map(|one| one.text.clone()).collect();
    let asked = post::ask(client, &approval, &mind);
    match &asked {
        Ok(notice) => {
            approval.comment = Some(notice.url.clone());
            approval.asked_at = Some(of_seconds(notice.at));
            approval.deadline = Some(of_seconds(notice.at + approval.rules.timeout_s));
        }
        Err(why) => {
            let why = format!("nobody could be asked on the pull request: {why}");
            approval.unknown.push(why);
        }
    }
    judgement.settle(approval);
    asked.map(|_| ())
}
