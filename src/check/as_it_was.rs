//! Judges a change that edits items together with the pipeline by these items as they are on the base: an edit of the
//! text could take away just the condition that the pipeline no longer heeds.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::GateRequest;
use super::budget::calls_of;
use super::head::OtherSettings;
use super::measure::leave_open;
use super::rule_files::Furnished;
use super::why::reason;
use crate::baseline;
use kelvin_base::file;
use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::policy::{Attention, Effect, Policy};
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_record::SectionAnswers;
use kelvin_run::config::{self, Config};
use kelvin_system::git::{self, Oid};

/// The items of the base that have another text on the head. Items whose text no report has are left out, and so are
/// those of a program that brings its own items: nobody but that program can ask about them.
pub(super) fn edited_texts(config: &Config, base: &Report, head: &Report) -> Vec<String> {
    let mut edited = Vec::new();
    for (name, old) in base.probes.iter() {
        let (Some(new), Some(kind)) = (head.probes.of(name), head.probes.kind(name)) else {
            continue;
        };
        if kind.observes() || config.brings_its_items(name) {
            continue;
        }
        let (before, after) = (kind.answered(old), kind.answered(new));
        let asked = |answers: &Option<_>, id: &str| text_of(answers.as_ref(), id);
        let differs = |id: &&str| match (old.input(id, None), new.input(id, None)) {
            (Some(before), Some(after)) => before.digest != after.digest,
            _ => match (asked(&before, id), asked(&after, id)) {
                (Some(before), Some(after)) => before != after,
                _ => false,
            },
        };
        let is_there = |id: &&str| new.item(id).is_some();
        let ids = old.ids().into_iter().filter(is_there).filter(differs);
        edited.extend(ids.map(str::to_owned));
    }
    edited
}

/// What an item asks, as a text for people.
fn text_of(answers: Option<&SectionAnswers<'_>>, id: &str) -> Option<String> {
    let item = answers?.items.get(id)?;
    item.asked.as_ref().map(ToString::to_string)
}

/// The items that a change edits together with the pipeline, as they are on the base.
pub(super) struct ItemsBefore {
    /// Their names on the base.
    names: Vec<String>,
    commit: Oid,
    /// The text of a configuration that measures them as the base does.
    text: String,
    /// The files of the base.
    furnished: Furnished,
}

/// The items that a change has to be asked about as they are on the base, with their names there, by their names on the
/// head: none where it does not edit the pipeline too, or does not pass.
pub(super) fn to_ask_about(judgement: &mut Judgement) -> BTreeMap<String, String> {
    let names = std::mem::take(&mut judgement.edited_texts);
    let mut differences = judgement.difference_codes.iter();
    let is_another =
        differences.any(|one| one.is_of_the_pipeline() || matches!(one, Difference::Command));
    match is_another && judgement.verdict.passed {
        true => names,
        false => BTreeMap::new(),
    }
}

impl ItemsBefore {
    /// Writes the files of the base, to ask about some of its items. `head`: the measurement of the change. Fails if
    /// they cannot be asked about: the budget does not reach for it, or the files of the base cannot be read.
    pub(super) fn of_the_base(
        (request, config): (&GateRequest, &Config),
        (judgement, head): (&Judgement, &Report),
        names: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let needed = calls_of(head, names.keys()) * config.replicas.get();
        if let Some(calls) = config.gate.budget.calls.filter(|calls| needed > *calls) {
            anyhow::bail!("it takes {needed} calls, and the budget has {calls}");
        }
        // The report of the base may be one of an earlier commit, whose items it has.
        let base = judgement.base.as_ref();
        let commit = base.and_then(|base| base.commit.as_deref());
        let commit = git::id(commit.context("the commit of the base is not known")?)?;
        let with = (request.login.as_ref(), &request.hint);
        let furnished = Furnished::of(&config.root, commit, with)?;
        let name = config.file.file_name();
        let name = name.context("the configuration has no name")?;
        let [base, head] = [&furnished.root, &config.root].map(|root| root.join(name));
        let (base, head) = (file::read(&base)?, file::read(&head)?);
        let text = text_with_items(&base, &head, &furnished.root)
            .context("the configuration of the base cannot be read")?;
        Ok(Self {
            names: names.values().cloned().collect(),
            commit,
            text,
            furnished,
        })
    }

    /// The settings to measure by.
    pub(super) fn settings(&self) -> OtherSettings<'_> {
        OtherSettings {
            text: &self.text,
            rules: &self.furnished.root,
            no_cache: false,
            only: Some(&self.names),
        }
    }

    /// Takes the judgement about these items into that of the change. A worse verdict on them leaves the change open,
    /// since the requirement itself may have changed; with `on_edited: fail` it fails. Fails if other texts were
    /// measured than those of the base, or files of the base were changed meanwhile.
    pub(super) fn settle_with_base(
        &self,
        judgement: &mut Judgement,
        old: &Judgement,
        policy: &Policy,
    ) -> anyhow::Result<()> {
        anyhow::ensure!(
            old.edited_texts.is_empty(),
            "their text is not where the configuration of the base says"
        );
        anyhow::ensure!(
            old.base.is_some()
                && matches!(
                    old.verdict.verdict,
                    Word::Pass | Word::Inconclusive | Word::Regression | Word::Unmeasured
                ),
            "its answers could not be compared with those of the base"
        );
        baseline::demand_untouched(&self.furnished.root)?;
        judgement.reruns += old.reruns;
        judgement.base_reruns += old.base_reruns;
        let commit = baseline::short(self.commit);
        let edited = counted(judgement, self.names.len());
        let Some(worse) = what_is_worse(old) else {
            let they_are = if self.names.len() == 1 {
                "it is"
            } else {
                "they are"
            };
            let text = format!(
                "asked about the {edited} as {they_are} on the base {commit} too, no gated metric dropped beyond its limit"
            );
            let calm = reason(ReasonCode::MeasuredAsBase, None, &text);
            judgement.verdict.reasons.push(calm);
            return Ok(());
        };
        let text = format!(
            "this change edits {edited} together with the pipeline; asked about the text that the base {commit} has, \
             {worse}"
        );
        open(judgement, policy, &text);
        Ok(())
    }
}

/// Notes that nobody knows what the change does with the items of the base, so that it does not pass quietly.
pub(super) fn unknown(
    judgement: &mut Judgement,
    count: usize,
    policy: &Policy,
    why: &anyhow::Error,
) {
    let edited = counted(judgement, count);
    let text = format!(
        "this change edits {edited} together with the pipeline, and nobody asked it about the text that the base has: \
         {why:#}"
    );
    open(judgement, policy, &text);
}

/// Leaves the change open for a reason, which fails the job where edits are meant to.
fn open(judgement: &mut Judgement, policy: &Policy, text: &str) {
    leave_open(judgement, ReasonCode::MeasuredAsBase, text);
    if policy.on_edited == Effect::Fail {
        judgement.verdict.passed = false;
        if let Some(first) = judgement.verdict.reasons.first_mut() {
            first.effect = Some(Effect::Fail);
        }
    }
}

fn counted(judgement: &Judgement, count: usize) -> String {
    judgement.verdict.common_nouns().counted(count)
}

/// What the items of the base show that those of the change do not, in words that follow what was asked; none if nothing
/// is worse.
fn what_is_worse(old: &Judgement) -> Option<String> {
    let verdict = &old.verdict;
    let mut gated = verdict.metrics.values();
    let has_dropped =
        gated.any(|metric| metric.policy == Attention::Gate && metric.beyond().is_some());
    let is_worse = match verdict.verdict {
        Word::Regression | Word::Unmeasured => true,
        _ => !verdict.passed || has_dropped,
    };
    if is_worse {
        let mut reasons = verdict.reasons.iter();
        let why = reasons.find(|reason| reason.effect.is_some() && reason.metric.is_some());
        let why = why.map_or_else(String::new, |reason| format!(": {}", reason.text));
        let word = verdict.verdict.as_str().replace('_', " ");
        return Some(format!("the verdict is {word}{why}"));
    }
    // Where no label says what is right, another answer may be worse.
    let answers = verdict.answers.values();
    answers
        .filter(|changed| {
            changed.gone > 0 || changed.answers.iter().any(|one| one.expected.is_none())
        })
        .find_map(|changed| {
            let first = changed.answers.first().map(|first| &first.item);
            let first = first.or(changed.gone_items.first())?;
            let count = changed.gone + changed.other;
            let told = match count {
                1 => format!("1 {} is", changed.item),
                _ => format!("{count} {} are", changed.items),
            };
            Some(format!(
                "{told} answered otherwise than on the base, first `{first}`"
            ))
        })
}

/// The configuration that measures as the base does and reaches the pipeline as the head does, with the items of the
/// base.
fn text_with_items(base: &str, head: &str, root: &Path) -> Option<String> {
    let text = config::measuring_as(base, head, &BTreeMap::new())?;
    config::on_items_of(&text, base, root)
}
