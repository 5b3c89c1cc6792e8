//! Judges a change by the settings of the base as well: if the change edits the definition of what is measured, its
//! code and its cases are also measured with the old settings and checks, and the worse verdict counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::budget::one_run;
use super::head::OtherSettings;
use super::rule_files::{self, EditedRule, EditedRules, Furnished};
use super::why::reason;
use super::{GateRequest, asked};
use crate::baseline::{self, Hint, Login};
use crate::history;
use crate::registry::Registry;
use crate::sentence::in_a_sentence;
use kelvin_base::file;
use kelvin_gate::Judgement;
use kelvin_gate::differences::Difference;
use kelvin_gate::policy::Effect;
use kelvin_gate::report::Report;
use kelvin_gate::verdict::{ReasonCode, Word};
use kelvin_run::config::{self, Config, Edit, Edited, Overrides};
use kelvin_system::git::Oid;

/// Settings that change how much is measured, but not the meaning of a figure.
const OF_EFFORT: [&str; 2] = ["repeats", "fingerprint"];

/// The last parts of the names of settings that say where items are. If the items are the same as on the base, such a
/// setting does not change what is measured.
const OF_PLACES: [&str; 5] = ["cases", "scenarios", "golden", "corpus", "prompts"];

/// Whether every item is the same as on the base, even if the change has moved the files of the items.
pub(super) fn has_items_of_the_base(judgement: &Judgement) -> bool {
    let mut differences = judgement.difference_codes.iter();
    // Another program, or another version, may make other fingerprints of the same items.
    let differ =
        differences.any(|one| matches!(one, Difference::Cases | Difference::Version { .. }));
    judgement.base.is_some() && !differ
}

/// Removes edits that do not change what is measured: another place for the same items, and another name for a file in
/// the command of an evaluator, if the content of the file is the same. Returns the old commands of such evaluators,
/// each with its new command.
pub(super) fn leave_out_moves(
    edits: &mut Vec<Edit>,
    same_items: bool,
    config: &Config,
    request: &GateRequest,
) -> BTreeMap<String, String> {
    let mut renamed = BTreeMap::new();
    edits.retain(|edit| {
        let (Some(base), Some(head)) = (&edit.base, &edit.head) else {
            return true;
        };
        let path: Vec<&str> = edit.key.split('.').collect();
        match path.as_slice() {
            // The setting of a place is at the top of the file or of a section; a deeper key with such a name, or one
            // in `models`, is the name of a check or of a model.
            ["models", _] => true,
            [place] | [_, place] if OF_PLACES.contains(place) => !same_items,
            [.., "run"] if names_moved_files((base, head), config, request) => {
                renamed.insert(base.clone(), head.clone());
                false
            }
            _ => true,
        }
    });
    renamed
}

/// Whether two commands differ in the names of files that have the same content, and in nothing else. A different
/// number of spaces counts as an edit, because the spaces may be inside a quoted word.
fn names_moved_files((base, head): (&str, &str), config: &Config, request: &GateRequest) -> bool {
    let (before, after) = (base.split_whitespace(), head.split_whitespace());
    if before.clone().count() != after.clone().count() {
        return false;
    }
    let mut differing = before
        .zip(after)
        .filter(|(one, other)| one != other)
        .peekable();
    differing.peek().is_some()
        && differing.all(|(one, other)| {
            let [(set, one), (sets, other)] = [one, other].map(rule_files::option_and_file);
            let with = (request.login.as_ref(), &request.hint);
            let base = baseline::base_files(&config.root, with, &[Path::new(one)]);
            let base = base.ok().and_then(|(_, mut files)| files.remove(0).ok()?);
            set == sets && base.is_some() && base == std::fs::read(config.root.join(other)).ok()
        })
}

/// The old settings, and the old files that say what is measured.
pub(super) struct SettingsBefore {
    /// The commit of the base.
    commit: Oid,
    /// The text of a configuration that measures in the same way as the base.
    text: String,
    /// Whether the change edits settings.
    edits_settings: bool,
    /// The files that the change edits.
    files: EditedRules,
    /// Why the old settings cannot be used for a measurement; none if they can.
    hindered: Option<String>,
    /// The files of the base; set once they are written to the disk.
    furnished: Option<Furnished>,
}

/// The old settings, if the change edits them. None if the base has no settings or they cannot be read; the notes on
/// edits report that.
pub(super) fn of_the_base(
    config: &Config,
    request: &GateRequest,
    (judgement, same_items): (&Judgement, bool),
) -> Option<SettingsBefore> {
    let (commit, base) = text_of_the_base(config, request)?;
    let with = (request.login.as_ref(), &request.hint);
    let head = file::read(&config.root.join(config.file.file_name()?)).ok()?;
    let registry = request.check.registry;
    let head_config = registry.configured_by(&head, &config.file).ok()?;
    let (base_config, furnished) = read(registry, &base, config, (commit, with))?;
    let mut edits = config::edits(&base_config, &head_config).ok()?;
    let mut measured = edits.remove(&Edited::Measured).unwrap_or_default();
    let renamed = leave_out_moves(&mut measured, same_items, config, request);
    // In this case the base was asked with the seed of the head.
    let mut differences = judgement.difference_codes.iter();
    let same_seed = differences.any(|one| matches!(one, Difference::BaseRanCasesOfTheHead { .. }));
    let is_covered = |key: &str| OF_EFFORT.contains(&key) || (key == "seed" && same_seed);
    let edits_settings = measured.iter().any(|edit| !is_covered(&edit.key));
    let (mut files, mut hindered) = match edited_files(&base_config, config, request) {
        Ok(files) => (files, None),
        Err(error) => {
            let why = format!(
                "which files it edits that a check reads or runs is not known: {}",
                in_a_sentence(&error)
            );
            (EditedRules::default(), Some(why))
        }
    };
    // A moved evaluator is the same, but the files beside it that it reads may differ.
    let rescored = head_config.rescored_evaluators();
    let moved = renamed
        .iter()
        .filter(|(_, head)| rescored.contains(&head.as_str()));
    let moved = moved.flat_map(|(base, head)| rule_files::moved(base, head));
    files.files.extend(moved.map(|[_, path]| EditedRule {
        what: rule_files::EVALUATOR,
        path: path.into(),
    }));
    if !edits_settings && files.files.is_empty() && hindered.is_none() {
        return None;
    }
    let template = |file: &EditedRule| file.what == rule_files::TEMPLATE;
    if let (Some(inside), true) = (&files.pipeline_inside, files.files.iter().any(template)) {
        hindered = hindered.or_else(|| {
            Some(format!(
                "the pipeline itself lies in the template of the workspace, as `{inside}`, so the template of the base \
                 cannot be taken without it; put the pipeline beside the configuration and call it as `{{root}}/{inside}`"
            ))
        });
    }
    let text = config::measuring_as(&base, &head, &renamed)?;
    Some(SettingsBefore {
        commit,
        text,
        edits_settings,
        files,
        hindered,
        furnished,
    })
}

/// The commit of the base, and the text of its configuration; none if the change is judged by this text anyway.
pub(super) fn text_of_the_base(config: &Config, request: &GateRequest) -> Option<(Oid, String)> {
    if request.by_the_base {
        return None;
    }
    let name = Path::new(config.file.file_name()?);
    let with = (request.login.as_ref(), &request.hint);
    let (commit, mut files) = baseline::base_files(&config.root, with, &[name]).ok()?;
    let text = String::from_utf8(files.remove(0).ok()??).ok()?;
    Some((commit, text))
}

/// The files of the base that define what is measured and that the change edits.
pub(super) fn edited_files(
    base: &Config,
    head: &Config,
    request: &GateRequest,
) -> anyhow::Result<EditedRules> {
    let items = || {
        let sides = asked::read(&request.check, head).unwrap_or_default();
        sides.iter().flat_map(|side| side.items.files()).collect()
    };
    rule_files::edited(base, &items, (request.login.as_ref(), &request.hint))
}

/// Reads the configuration of the base. It may name files that only the base has; then these files are written first.
pub(super) fn read(
    registry: Registry,
    text: &str,
    config: &Config,
    (commit, with): (Oid, (Option<&Login>, &Hint)),
) -> Option<(Config, Option<Furnished>)> {
    if let Ok(found) = registry.configured_by(text, &config.file) {
        return Some((found, None));
    }
    let furnished = Furnished::of(&config.root, commit, with).ok()?;
    let found = registry.configured(&Overrides {
        file: Some(config.file.clone()),
        text: Some(text.to_owned()),
        rules: Some(furnished.root.clone()),
        ..Overrides::default()
    });
    Some((found.ok()?, Some(furnished)))
}

/// Why the budget does not allow another measurement of everything; none if it does.
pub(super) fn over_budget(config: &Config, head: &Report) -> Option<String> {
    let calls = config.gate.budget.calls?;
    let needed = one_run(head) * config.replicas.get();
    (needed > calls).then(|| format!("it takes {needed} calls, and the budget has {calls}"))
}

/// The old configuration with the gate rules of the head: the old gate rules are judged separately.
pub(super) fn with_rules_of(before: &Config, head: &Config) -> Config {
    let mut before = before.clone();
    before.gate = head.gate.clone();
    before.baseline = head.baseline.clone();
    before.name.clone_from(&head.name);
    before
}

impl SettingsBefore {
    /// Why the old settings cannot be used for a measurement, if that is known in advance.
    pub(super) fn hindered(&self) -> Option<&str> {
        self.hindered.as_deref()
    }

    /// Writes the files of the base, and returns the settings to measure by. Fails if the files cannot be written.
    pub(super) fn settings(
        &mut self,
        config: &Config,
        request: &GateRequest,
    ) -> anyhow::Result<OtherSettings<'_>> {
        let furnished = match self.furnished.take() {
            Some(furnished) => furnished,
            None => {
                let with = (request.login.as_ref(), &request.hint);
                Furnished::of(&config.root, self.commit, with)?
            }
        };
        let furnished = self.furnished.insert(furnished);
        Ok(OtherSettings {
            text: &self.text,
            rules: &furnished.root,
            // The cached results were made with the files of the change.
            no_cache: !self.files.files.is_empty(),
            only: None,
        })
    }

    /// Demands that the files of the base are unchanged since they were written. Fails if a file was changed.
    pub(super) fn demand_untouched(&self) -> anyhow::Result<()> {
        match &self.furnished {
            Some(furnished) => baseline::demand_untouched(&furnished.root),
            None => Ok(()),
        }
    }

    /// Describes which settings and files are taken from the base.
    fn taken(&self) -> String {
        let commit = baseline::short(self.commit);
        match (self.edits_settings, self.files.files.as_slice()) {
            (_, []) => format!("the settings of the base {commit}"),
            (false, files) => format!("the files of the base {commit} ({})", named(files)),
            (true, files) => format!(
                "the settings and files of the base {commit} ({})",
                named(files)
            ),
        }
    }

    /// Replaces the judgement by the judgement under the old settings if the latter is worse; otherwise adds a note
    /// about it.
    pub(super) fn settle_with_base(&self, judgement: &mut Judgement, mut by_base: Judgement) {
        let taken = self.taken();
        let word = by_base.verdict.verdict.as_str().replace('_', " ");
        let is_worse =
            !by_base.verdict.passed || by_base.verdict.verdict > judgement.verdict.verdict;
        if is_worse {
            by_base.reruns += judgement.reruns;
            by_base.base_reruns += judgement.base_reruns;
            std::mem::swap(judgement, &mut by_base);
            let reasons = judgement.verdict.reasons.iter();
            let mut failing = reasons.filter(|reason| reason.effect == Some(Effect::Fail));
            // The first reason has to say which judgement failed.
            let why = failing
                .next()
                .map_or_else(String::new, |reason| format!(": {}", reason.text));
            let text = format!(
                "this change edits what is measured; measured with {taken}, the verdict is {word}{why}"
            );
            let reason = reason(ReasonCode::MeasuredAsBase, Some(Effect::Warn), &text);
            judgement.verdict.reasons.insert(0, reason);
            return;
        }
        judgement.reruns += by_base.reruns;
        judgement.base_reruns += by_base.base_reruns;
        let is_same = by_base.verdict.verdict == judgement.verdict.verdict;
        let too = if is_same { " too" } else { "" };
        let text = format!("measured with {taken}, the verdict is {word}{too}");
        let reason = reason(ReasonCode::MeasuredAsBase, None, &text);
        judgement.verdict.reasons.push(reason);
        // The change passes with only its own settings or only its own rules, but not with both old ones together.
        let own_rules = by_base.verdict.reasons.into_iter();
        let mut own_rules = own_rules.filter(|reason| reason.code == ReasonCode::OwnRules);
        if let Some(reason) = own_rules.next() {
            let reasons = &mut judgement.verdict.reasons;
            reasons.retain(|one| one.code != ReasonCode::OwnRules);
            reasons.insert(0, reason);
        }
    }
}

/// Names the first file and counts the others.
pub(super) fn named(files: &[EditedRule]) -> String {
    const NAMED: usize = 3;
    let mut names: Vec<String> = files
        .iter()
        .take(NAMED)
        .map(|file| format!("`{}`", file.path.display()))
        .collect();
    if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Notes that the verdict under the old settings is not known, so the change does not pass.
pub(super) fn unknown(judgement: &mut Judgement, why: &str) {
    let text = format!(
        "this change edits what is measured, and was not measured by what the base has: {why}"
    );
    leave_open(judgement, ReasonCode::MeasuredAsBase, &text);
}

/// Turns a passing verdict into an inconclusive one, and puts the reason first.
pub(super) fn leave_open(judgement: &mut Judgement, code: ReasonCode, text: &str) {
    let verdict = &mut judgement.verdict;
    verdict.verdict = verdict.verdict.max(Word::Inconclusive);
    let reason = reason(code, Some(Effect::Warn), text);
    verdict.reasons.insert(0, reason);
}

/// A path within the repository, and the path that it links to.
pub(super) fn within(top: &Path, path: &Path) -> Vec<PathBuf> {
    let here = file::plain(path.strip_prefix(top).unwrap_or(Path::new("/")));
    let real = path.canonicalize().ok();
    let real = real.and_then(|real| real.strip_prefix(top).ok().map(Path::to_path_buf));
    let mut both: Vec<PathBuf> = here.into_iter().chain(real).collect();
    both.dedup();
    both
}

/// The files and folders that kelvin itself writes, relative to the top of the repository.
pub(super) fn own_files(request: &GateRequest, config: &Config, top: &Path) -> Vec<PathBuf> {
    let out = request.check.out.as_ref();
    let out = out.and_then(|out| std::path::absolute(out).ok());
    let mut own = history::files(&config.root);
    own.push(out.unwrap_or_else(|| config.root.join("kelvin")));
    own.extend(config.cache.as_ref().map(|cache| cache.dir.clone()));
    own.iter().flat_map(|path| within(top, path)).collect()
}
