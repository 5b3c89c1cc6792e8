//! The effect of an approval on a verdict: the word, whether the job passes, and the first reason.

use super::approval::{Approval, Regressed, Request, State, regressions};
use super::judgement::Judgement;
use super::policy::Effect;
use super::verdict::{Reason, ReasonCode, Word};
use crate::report::Decision;

impl Judgement {
    /// The request for approval of everything that has regressed, or may have regressed, between the two commits.
    ///
    /// # Errors
    ///
    /// Fails with the reason why nobody can approve the regression.
    pub fn approvable(&self, head: &str) -> Result<Request, String> {
        let base = self.base.as_ref().and_then(|base| base.commit.clone());
        let base = base.ok_or("the report of the base does not say which commit it is of")?;
        Ok(Request {
            head: head.to_owned(),
            base,
            regressions: regressions::regressed(&self.verdict, self.drift.as_ref())?,
        })
    }

    /// The version with which the change was compared.
    pub fn last_good(&self) -> String {
        match &self.base {
            Some(base) => match &base.commit {
                Some(commit) => {
                    let short: String = commit.chars().take(7).collect();
                    format!(
                        "the commit `{short}`, whose report is from `{}`",
                        base.place
                    )
                }
                None => format!("the one of the report `{}`", base.place),
            },
            None => "not known".to_owned(),
        }
    }

    /// Applies the state of the request: sets the word, whether the job passes, and the first reason.
    pub fn settle(&mut self, approval: Approval) {
        let text = approval.sentence();
        let state = approval.state;
        let verdict = &mut self.verdict;
        verdict
            .reasons
            .retain(|one| one.code != ReasonCode::Approval);
        verdict.verdict = match state {
            State::Pending => Word::PendingApproval,
            State::Approved | State::Rejected | State::TimedOut => approval.request.found(),
        };
        verdict.passed = false;
        let effect = match state {
            State::Approved => {
                verdict.let_pass();
                Effect::Warn
            }
            State::Pending | State::Rejected | State::TimedOut => Effect::Fail,
        };
        verdict.reasons.insert(0, reason(effect, text));
        self.approval = Some(approval);
    }

    /// Adds why a regression cannot be approved, if a reader could expect that it can.
    pub fn refuse_approval(&mut self, why: &str) {
        let verdict = &mut self.verdict;
        verdict
            .reasons
            .retain(|one| one.code != ReasonCode::Approval);
        if verdict.verdict == Word::PendingApproval {
            verdict.verdict = Word::Regression;
        }
        verdict.passed = false;
        let behind = verdict.reasons.iter();
        let behind = behind
            .filter(|one| one.effect == Some(Effect::Fail))
            .count();
        let text = format!("nobody can approve this: {why}");
        verdict.reasons.insert(behind, reason(Effect::Warn, text));
        self.approval = None;
    }

    /// The decision in the form of the report; none if nobody decided.
    pub fn decision(&self) -> Option<Decision> {
        let approval = self.approval.as_ref()?;
        let decided = approval.decision.clone()?;
        let regressions = approval.request.regressions.iter();
        Some(Decision {
            approved: approval.state == State::Approved,
            by: decided.by,
            way: decided.way,
            at: decided.at,
            reason: decided.reason,
            pull_request: approval
                .origin
                .as_ref()
                .map_or(0, |origin| origin.pull_request),
            regressions: regressions.map(Regressed::words).collect(),
        })
    }

    /// Whether a person with the right to do so has approved the regression.
    pub fn is_approved(&self) -> bool {
        let approval = self.approval.as_ref();
        approval.is_some_and(|approval| approval.state == State::Approved)
    }
}

fn reason(effect: Effect, text: String) -> Reason {
    Reason::new(
        ReasonCode::Approval,
        Some(effect),
        kelvin_page::safe::line(&text),
    )
}
