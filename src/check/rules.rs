//! The rules of the base: a change that edits its own rules is also judged by the old ones, and if only its own rules
//! let it pass, the first reason says so.

use std::path::Path;

use super::GateRequest;
use crate::baseline;
use kelvin_gate::Judgement;
use kelvin_gate::policy::Effect;
use kelvin_gate::verdict::{Reason, ReasonCode, Word};
use kelvin_page::safe;
use kelvin_run::config::Config;
use kelvin_system::git::Oid;

/// The old rules.
pub(super) struct RulesBefore {
    /// The commit of the base.
    commit: Oid,
    /// The configuration of the head with the rules of the base.
    pub(super) config: Config,
}

/// The configuration of the head with the sections `gate` and `baseline` and the `name` of the base. None where these
/// are the same, where the base has none, and where it cannot be read; the notes on edits tell of all that.
pub(super) fn of_the_base(config: &Config, request: &GateRequest) -> Option<RulesBefore> {
    if request.by_the_base {
        return None;
    }
    let name = Path::new(config.file.file_name()?);
    let with = (request.login.as_ref(), &request.hint);
    let (commit, mut files) = baseline::base_files(&config.root, with, &[name]).ok()?;
    let text = String::from_utf8(files.remove(0).ok()??).ok()?;
    let base = request
        .check
        .registry
        .configured_by(&text, &config.file)
        .ok()?;
    let mut before = config.clone();
    (before.gate, before.baseline) = (base.gate, base.baseline);
    // The command line is no part of the change, and applies to both.
    let overrides = &request.check.overrides;
    overrides.gate.apply(&mut before.baseline, &mut before.gate);
    before.name = overrides.name.clone().or(base.name);
    let is_same = before.gate == config.gate
        && before.baseline == config.baseline
        && before.name == config.name;
    (!is_same).then_some(RulesBefore {
        commit,
        config: before,
    })
}

impl RulesBefore {
    /// Whether these rules find the same baseline.
    pub(super) fn finds_as(&self, config: &Config) -> bool {
        self.config.baseline == config.baseline && self.config.name == config.name
    }

    /// Puts a reason first where only the rules of the change let it pass, or where nobody knows whether the old rules
    /// would.
    pub(super) fn tell(&self, judgement: &mut Judgement, by_base: anyhow::Result<Judgement>) {
        let of_base = baseline::short(self.commit);
        let text = match by_base {
            Ok(by_base) => {
                judgement.reruns += by_base.reruns;
                judgement.base_reruns += by_base.base_reruns;
                if by_base.verdict.passed {
                    return;
                }
                let is_regression = by_base.verdict.verdict == Word::Regression;
                if is_regression && self.config.gate.approval.is_some() {
                    return self.take_over(judgement, by_base);
                }
                let verdict = by_base.verdict;
                let mut reasons = verdict.reasons.iter();
                let why = reasons.find(|reason| reason.effect == Some(Effect::Fail));
                let why = why.map_or_else(String::new, |reason| format!(": {}", reason.text));
                let word = verdict.verdict.as_str().replace('_', " ");
                format!("by the rules of the base {of_base} the verdict is {word}{why}")
            }
            Err(error) => {
                format!("what the rules of the base {of_base} say is not known: {error:#}")
            }
        };
        let text = format!("passes under rules that this change made; {text}");
        let reason = Reason {
            code: ReasonCode::OwnRules,
            effect: Some(Effect::Warn),
            metric: None,
            text: safe::line(&text),
        };
        judgement.verdict.reasons.insert(0, reason);
    }

    /// Takes the judgement by the old rules where it is a regression and these rules say who may approve it: the change
    /// that causes a regression must not choose its own rules. That judgement is then shown, published and sent for
    /// approval.
    fn take_over(&self, judgement: &mut Judgement, mut by_base: Judgement) {
        // The re-runs for both judgements count for the one that is left.
        by_base.reruns += judgement.reruns;
        by_base.base_reruns += judgement.base_reruns;
        *judgement = by_base;
        let of_base = baseline::short(self.commit);
        let text = format!(
            "this change edits the rules that it is judged by, and would pass by its own; by those of the base {of_base} it \
             is a regression, which somebody has to approve (`gate.approval`)"
        );
        let reason = Reason {
            code: ReasonCode::JudgedByTheBase,
            effect: Some(Effect::Warn),
            metric: None,
            text,
        };
        judgement.verdict.reasons.insert(0, reason);
    }
}
