//! Judges a change that edits items together with the pipeline by these items as they are on the base: an edit of the
//! text could take away just the condition that the pipeline no longer heeds.

use std::path::Path;

use anyhow::Context as _;

use super::head::{JudgedSide, OtherSettings};
use super::measure::{self, leave_open};
use super::rule_files::Furnished;
use super::settle::{Asked, settle};
use super::why::reason;
use crate::baseline;
use kelvin_base::file;
use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::policy::{Attention, Effect, Policy};
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_record::SectionAnswers;
use kelvin_run::config;
use kelvin_run::config::Config;
use kelvin_system::git;
use kelvin_system::git::Oid;

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

/// If a change edits items and the pipeline, and passes, the pipeline is asked about these items as they are on the base
/// too. A worse verdict on them leaves the change open, since the requirement itself may have changed; with `on_edited:
/// fail` it fails.
pub(super) fn judge_items_of_the_base(
    asked: Asked<'_>,
    config: &Config,
    side: &dyn JudgedSide,
    judgement: &mut Judgement,
) {
    let items = std::mem::take(&mut judgement.edited_texts);
    let mut differences = judgement.difference_codes.iter();
    let is_another =
        differences.any(|one| one.is_of_the_pipeline() || matches!(one, Difference::Command));
    if items.is_empty() || !is_another || !judgement.verdict.passed {
        return;
    }
    let edited = judgement.verdict.common_nouns().counted(items.len());
    let asking = Asking {
        asked,
        config,
        side,
        items: &items,
        commit: judgement
            .base
            .as_ref()
            .and_then(|base| base.commit.as_deref()),
    };
    let (commit, old) = match asking.ask() {
        Ok(found) => found,
        Err(error) => {
            let text = format!(
                "this change edits {edited} together with the pipeline, and nobody asked it about the text that the base \
                 has: {error:#}"
            );
            return leave_open(judgement, ReasonCode::MeasuredAsBase, &text);
        }
    };
    judgement.reruns += old.reruns;
    judgement.base_reruns += old.base_reruns;
    let commit = baseline::short(commit);
    let Some(worse) = what_is_worse(&old) else {
        let text = format!(
            "asked about the {edited} as they are on the base {commit} too, the change passes"
        );
        let calm = reason(ReasonCode::MeasuredAsBase, None, &text);
        return judgement.verdict.reasons.push(calm);
    };
    let text = format!(
        "this change edits {edited} together with the pipeline; asked about the text that the base {commit} has, {worse}"
    );
    leave_open(judgement, ReasonCode::MeasuredAsBase, &text);
    let policy = Policy::of(&config.gate, config.baseline.require);
    if policy.on_edited == Effect::Fail {
        judgement.verdict.passed = false;
        if let Some(first) = judgement.verdict.reasons.first_mut() {
            first.effect = Some(Effect::Fail);
        }
    }
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
            let noun = if count == 1 {
                &changed.item
            } else {
                &changed.items
            };
            Some(format!(
                "{count} {noun} are answered otherwise than on the base, first `{first}`"
            ))
        })
}

/// What it takes to ask about the items of the base.
struct Asking<'a> {
    asked: Asked<'a>,
    config: &'a Config,
    side: &'a dyn JudgedSide,
    items: &'a [String],
    /// The commit of the base's report.
    commit: Option<&'a str>,
}

impl Asking<'_> {
    /// The judgement of the change on these items, with the commit of the base.
    fn ask(&self) -> anyhow::Result<(Oid, Judgement)> {
        let (request, observer) = self.asked;
        anyhow::ensure!(
            !request.by_the_base && self.side.can_be_run(),
            "nothing is run to judge a finished report"
        );
        if let Some(why) = measure::over_budget(self.config, &self.side.report()) {
            anyhow::bail!(why);
        }
        // The report of the base may be one of an earlier commit, whose items it has.
        let commit = git::id(self.commit.context("the commit of the base is not known")?)?;
        let with = (request.login.as_ref(), &request.hint);
        let furnished = Furnished::of(&self.config.root, commit, with)?;
        let name = self
            .config
            .file
            .file_name()
            .context("the configuration has no name")?;
        let [base, head] = [&furnished.root, &self.config.root].map(|root| root.join(name));
        let (base, head) = (file::read(&base)?, file::read(&head)?);
        let text = text_with_items(&base, &head, &furnished.root)
            .context("the configuration of the base cannot be read")?;
        let settings = OtherSettings {
            text: &text,
            rules: &furnished.root,
            no_cache: false,
            only: Some(self.items),
        };
        let judged = self
            .side
            .measured_by(&settings, observer, &mut |side, found| {
                let calls = side.invocations();
                let rules = measure::with_rules_of(found, self.config);
                let (mut old, _) = settle(self.asked, &rules, side)?;
                anyhow::ensure!(
                    old.edited_texts.is_empty(),
                    "their text is not where the configuration of the base says"
                );
                old.reruns += calls;
                Ok(old)
            })?;
        let old = judged.context("nothing is run to judge a finished report")?;
        baseline::demand_untouched(&furnished.root)?;
        Ok((commit, old))
    }
}

/// The configuration that measures as the base does and reaches the pipeline as the head does, with the items of the
/// base.
fn text_with_items(base: &str, head: &str, root: &Path) -> Option<String> {
    let text = config::measuring_as(base, head, &std::collections::BTreeMap::new())?;
    config::on_items_of(&text, base, root)
}
