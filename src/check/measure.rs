//! What the base measures: a change that edits what is measured is judged by the settings of before as well,
//! on its own code and its own cases, and the worse verdict counts.

use std::path::Path;

use super::GateRequest;
use super::budget::one_run;
use crate::baseline::differences::Difference;
use crate::baseline::{self, Oid};
use crate::config::{self, Config, Edited};
use crate::file;
use crate::gate::Judgement;
use crate::gate::policy::Effect;
use crate::gate::verdict::{Reason, ReasonCode, Word};
use crate::page::safe;
use crate::probe;
use crate::report::Report;

/// Settings that change how much is measured, and not what a figure means.
const OF_EFFORT: [&str; 2] = ["repeats", "fingerprint"];

/// The settings of before.
pub(super) struct Before {
    /// The commit of the base.
    commit: Oid,
    /// The text of a configuration that measures as the base does.
    pub(super) text: String,
}

/// The settings of the base, where the change edits what is measured. None where the base has none or they
/// cannot be read, which is told where edits are.
pub(super) fn of_the_base(
    config: &Config,
    request: &GateRequest,
    judgement: &Judgement,
) -> Option<Before> {
    if request.by_the_base {
        return None;
    }
    let name = Path::new(config.file.file_name()?);
    let with = (request.login.as_ref(), &request.hint);
    let (commit, mut files) = baseline::base_files(&config.root, with, &[name]).ok()?;
    let base = String::from_utf8(files.remove(0).ok()??).ok()?;
    let head = file::read(&config.root.join(name)).ok()?;
    let read = |text: &str| probe::configured_by(text, &config.file);
    let edits = config::edits(&read(&base).ok()?, &read(&head).ok()?).ok()?;
    // Then the base was asked with the seed of the head.
    let mut differences = judgement.difference_codes.iter();
    let same_seed = differences.any(|one| matches!(one, Difference::BaseRanCasesOfTheHead { .. }));
    let is_covered = |key: &str| OF_EFFORT.contains(&key) || (key == "seed" && same_seed);
    let mut measured = edits.get(&Edited::Measured)?.iter();
    if measured.all(|edit| is_covered(&edit.key)) {
        return None;
    }
    let text = config::measuring_as(&base, &head)?;
    Some(Before { commit, text })
}

/// Why the budget does not allow measuring everything once more, where that is so.
pub(super) fn over_budget(config: &Config, head: &Report) -> Option<String> {
    let calls = config.gate.budget.calls?;
    let needed = one_run(head) * config.replicas.get();
    (needed > calls).then(|| format!("it takes {needed} calls, and the budget has {calls}"))
}

/// The configuration of before, with the rules of the head: those have a judgement of their own.
pub(super) fn with_rules_of(before: &Config, head: &Config) -> Config {
    let mut before = before.clone();
    before.gate = head.gate.clone();
    before.baseline = head.baseline.clone();
    before.name.clone_from(&head.name);
    before
}

impl Before {
    /// Takes over the judgement by these settings where it is the worse one, and else tells of it.
    pub(super) fn tell(&self, judgement: &mut Judgement, mut by_base: Judgement) {
        let commit = baseline::short(self.commit);
        let word = by_base.verdict.verdict.as_str().replace('_', " ");
        let is_worse =
            !by_base.verdict.passed || by_base.verdict.verdict > judgement.verdict.verdict;
        if is_worse {
            by_base.reruns += judgement.reruns;
            by_base.base_reruns += judgement.base_reruns;
            std::mem::swap(judgement, &mut by_base);
            let text = format!(
                "this change edits what is measured; measured with the settings of the base {commit}, the verdict is {word}"
            );
            let reason = reason(Some(Effect::Warn), text);
            judgement.verdict.reasons.insert(0, reason);
            return;
        }
        judgement.reruns += by_base.reruns;
        judgement.base_reruns += by_base.base_reruns;
        let text =
            format!("measured with the settings of the base {commit}, the verdict is {word} too");
        judgement.verdict.reasons.push(reason(None, text));
        // By its own settings and by its own rules it passes; by both of before it does not.
        let own_rules = by_base.verdict.reasons.into_iter();
        let mut own_rules = own_rules.filter(|reason| reason.code == ReasonCode::OwnRules);
        if let Some(reason) = own_rules.next() {
            let reasons = &mut judgement.verdict.reasons;
            reasons.retain(|one| one.code != ReasonCode::OwnRules);
            reasons.insert(0, reason);
        }
    }
}

/// Tells that nobody knows what the settings of before would say, which is no pass.
pub(super) fn unknown(judgement: &mut Judgement, why: &str) {
    let text = format!(
        "this change edits what is measured, and was not measured with the settings of the base: {why}"
    );
    let verdict = &mut judgement.verdict;
    verdict.verdict = verdict.verdict.max(Word::Inconclusive);
    let reason = reason(Some(Effect::Warn), safe::line(&text));
    verdict.reasons.insert(0, reason);
}

fn reason(effect: Option<Effect>, text: String) -> Reason {
    Reason {
        code: ReasonCode::MeasuredAsBase,
        effect,
        metric: None,
        text,
    }
}
