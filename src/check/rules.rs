//! Judges a change by the rules of the base as well. A change that edits its own rules, or the definition of what is
//! measured, gets a notice. It is also judged by the old rules, and if only its own rules let it pass, the first reason
//! says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::rule_files::{self, EVALUATOR, EditedRule};
use super::why::reason;
use super::{GateRequest, calibrated, measure};
use crate::baseline::{self, Unknown};
use crate::sentence::in_a_sentence;
use kelvin_gate::Judgement;
use kelvin_gate::policy::Effect;
use kelvin_gate::verdict::{Reason, ReasonCode, Word};
use kelvin_run::config::{self, Config, Edited, Harmless};
use kelvin_system::git::Oid;

/// The old rules.
pub(super) struct RulesBefore {
    /// The commit of the base.
    commit: Oid,
    /// The configuration of the head with the rules of the base.
    pub(super) config: Config,
}

/// The configuration of the head with the sections `gate` and `baseline` and the `name` of the base. None if these are
/// the same, if the base has none, or if it cannot be read; the notes on edits report all of this.
pub(super) fn of_the_base(config: &Config, request: &GateRequest) -> Option<RulesBefore> {
    let (commit, text) = measure::text_of_the_base(config, request)?;
    let with = (request.login.as_ref(), &request.hint);
    let (base, _) = measure::read(request.check.registry, &text, config, (commit, with))?;
    let mut before = config.clone();
    (before.gate, before.baseline) = (base.gate, base.baseline);
    // The command line is not part of the change, so it applies to both sides.
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
    /// Whether the old rules lead to the same baseline as the new ones.
    pub(super) fn finds_as(&self, config: &Config) -> bool {
        self.config.baseline == config.baseline && self.config.name == config.name
    }

    /// Puts a reason first if only the rules of the change let it pass, or if nobody knows whether the old rules would.
    pub(super) fn settle_with_base(
        &self,
        judgement: &mut Judgement,
        by_base: anyhow::Result<Judgement>,
    ) {
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
                format!(
                    "what the rules of the base {of_base} say is not known: {}",
                    in_a_sentence(&error)
                )
            }
        };
        let text = format!("passes under rules that this change made; {text}");
        let reason = warning(ReasonCode::OwnRules, &text);
        judgement.verdict.reasons.insert(0, reason);
    }

    /// Uses the judgement by the old rules if it is a regression and the old rules say who may approve it: a change
    /// that causes a regression must not choose its own rules. That judgement is then shown, published and sent for
    /// approval.
    fn take_over(&self, judgement: &mut Judgement, mut by_base: Judgement) {
        // The re-runs for both judgements are counted in the judgement that is returned.
        by_base.reruns += judgement.reruns;
        by_base.base_reruns += judgement.base_reruns;
        *judgement = by_base;
        let of_base = baseline::short(self.commit);
        let text = format!(
            "this change edits the rules that it is judged by, and would pass by its own; by those of the base {of_base} it \
             is a regression, which somebody has to approve (`gate.approval`)"
        );
        let reason = warning(ReasonCode::JudgedByTheBase, &text);
        judgement.verdict.reasons.insert(0, reason);
    }
}

/// The name of the file of calibrations in messages.
const CALIBRATION: &str = "calibration of the judges";

/// A sentence for each part of the configuration that the change edits, and for each edited file that defines what is
/// measured, compared with the tree of the base commit. Without a base commit there is no sentence; if the base commit
/// could not be fetched, one sentence says that the edits are not known. `is_passed`: whether the change was compared
/// with a report of the base, and passes; `same_items`: whether every item is the same as on the base, even if its file
/// was moved.
pub(super) fn edited_rules(
    config: &Config,
    request: &GateRequest,
    (is_passed, same_items): (bool, bool),
) -> Vec<Reason> {
    let with = (request.login.as_ref(), &request.hint);
    let code = match is_passed {
        true => ReasonCode::OwnRules,
        false => ReasonCode::EditsRules,
    };
    let name = Path::new(config.file.file_name().unwrap_or_default());
    let mut measured = config.measured_files();
    // Whoever edits this file decides which judges are trusted.
    measured.push((CALIBRATION, Path::new(&config.gate.calibration)));
    let is_tried = !calibrated::language_models(config).is_empty();
    let mut names = vec![name];
    names.extend(measured.iter().map(|(_, path)| *path));
    let (oid, mut files) = match baseline::base_files(&config.root, with, &names) {
        Ok(found) => found,
        Err(error) if Unknown::is_in(&error) => return vec![not_fetched()],
        Err(_) => return Vec::new(),
    };
    let commit = baseline::short(oid);
    let base = match files.remove(0) {
        Ok(Some(base)) => base,
        // A new configuration brings new rules. If there is a report to compare with, the base must have had its rules
        // in another place, e.g. in a folder that the change moves.
        Ok(None) => {
            return vec![warning(
                code,
                &format!(
                    "the base {commit} has no `{}`: the gate is the one that this change brings",
                    name.display()
                ),
            )];
        }
        Err(error) if Unknown::is_in(&error) => return vec![not_fetched()],
        Err(_) => return Vec::new(),
    };
    let base = String::from_utf8_lossy(&base);
    let registry = request.check.registry;
    let before = measure::read(registry, &base, config, (oid, with));
    let head = kelvin_base::file::read(&config.root.join(name))
        .and_then(|head| registry.configured_by(&head, &config.file));
    let edits = before.zip(head.ok());
    let edits = edits.and_then(|((before, _), head)| config::edits(&before, &head).ok());
    let Some(mut edits) = edits else {
        // The old rules are not known, so a pass is only a pass by the rules of the change.
        return vec![warning(
            code,
            &format!(
                "`{}` of the base {commit} cannot be read by this kelvin, so whether this change \
                 edits the gate is not known",
                name.display()
            ),
        )];
    };
    let renamed = edits
        .get_mut(&Edited::Measured)
        .map(|measured| measure::leave_out_moves(measured, same_items, config, request))
        .unwrap_or_default();
    edits.retain(|_, edits| !edits.is_empty());
    let of_settings = edits.iter().map(|(edited, edits)| {
        let (code, what) = match edited {
            Edited::Baseline => (ReasonCode::EditsRules, "the baseline"),
            Edited::Gate => (ReasonCode::EditsRules, "the gate"),
            Edited::Name => (ReasonCode::EditsRules, "the name"),
            Edited::Measured => (ReasonCode::EditsMeasure, "what is measured"),
        };
        let edits: Vec<String> = edits.iter().map(ToString::to_string).collect();
        warning(
            code,
            &format!("this change edits {what}: {}", edits.join(", ")),
        )
    });
    let of_files = measured
        .iter()
        .zip(files)
        .filter_map(|((what, path), base)| {
            // Another order or another notation of the same items is not an edit of the items.
            if same_items && rule_files::is_of_items(what) {
                return None;
            }
            let base = base.ok()?;
            let head = std::fs::read(config.root.join(path)).ok()?;
            let Some(base) = base else {
                // A new calibration also declares that judges are fit. Any other file that the base does not have under
                // this name belongs to another setting, or is not stored in git.
                return (*what == CALIBRATION && is_tried).then(|| {
                    warning(
                        ReasonCode::EditsMeasure,
                        &format!("this change brings the {what} `{}`", path.display()),
                    )
                });
            };
            let is_edited = !config::is_same_data(&base, &head);
            is_edited.then(|| {
                warning(
                    ReasonCode::EditsMeasure,
                    &format!("this change edits the {what} `{}`", path.display()),
                )
            })
        });
    let of_files: Vec<Reason> = of_files.collect();
    of_settings
        .chain(of_files)
        .chain(of_checks(config, request))
        .chain(of_evaluators(config, request))
        .chain(of_moved(config, &renamed))
        .collect()
}

/// A warning about edits of the files that the command of an evaluator names: the edited evaluator may give higher
/// scores, and this looks like a better pipeline.
fn of_evaluators(config: &Config, request: &GateRequest) -> Option<Reason> {
    let with = (request.login.as_ref(), &request.hint);
    let edited = rule_files::edited_evaluators(config, &config.evaluators(), with).ok()?;
    (!edited.is_empty()).then(|| {
        let text = format!(
            "this change edits the {EVALUATOR} {}: whether it scores as before is not known",
            measure::named(&edited)
        );
        warning(ReasonCode::EditsEvaluator, &text)
    })
}

/// A warning about a file of results that no command of the configuration makes, if the results are those of an earlier
/// state of the pipeline: the file is committed and the same on the base while the change edits other files, or it is
/// older than a file that the change edits.
pub(super) fn results_of_before(config: &Config, request: &GateRequest) -> Option<String> {
    let given = config.given_files();
    if given.is_empty() {
        return None;
    }
    let with = (request.login.as_ref(), &request.hint);
    let (_, against) = baseline::edited(&config.root, with).ok()?;
    let against = against.filter(|against| !against.changed.is_empty())?;
    let root = config.root.canonicalize().ok()?;
    let top = against.top.canonicalize().ok()?;
    let below = root.strip_prefix(&top).ok()?;
    let list = Harmless::of(&config.harmless, below).ok()?;
    let own = measure::own_files(request, config, &top);
    let names = given
        .iter()
        .filter_map(|file| file.strip_prefix(&config.root).ok());
    let configuration = config.file.file_name().map(|name| below.join(name));
    let is_configuration = |path: &PathBuf| configuration.as_ref() == Some(path);
    // Another file of results may be committed beside this one, and says nothing of the pipeline. An edited configuration
    // always counts: it may itself say what is harmless, and where the cache is.
    let mut edited = against.changed.iter().filter(|path| {
        is_configuration(path)
            || list.pattern_for(path).is_none()
                && !own.iter().any(|own| path.starts_with(own))
                && !names.clone().any(|name| **path == below.join(name))
    });
    let is_as_before = |name: &&Path| {
        let path = below.join(name);
        against.files.contains(&path) && !against.changed.contains(&path)
    };
    if let Some(file) = names.clone().find(is_as_before) {
        return edited.next().map(|_| {
            format!(
                "the results in `{}` are committed, and as the base has them: nothing was measured of what this change edits",
                file.display()
            )
        });
    }
    // A job has just written all files of its checkout, while the results of an earlier job keep their time.
    if request.hint.in_workflow || std::env::var_os("CI").is_some_and(|value| !value.is_empty()) {
        return None;
    }
    let written = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    // What git does not track may be left behind by the run that made the results.
    let edited =
        edited.filter(|path| !against.untracked.contains(*path) && !is_configuration(path));
    let times = edited.filter_map(|path| Some((written(&top.join(path))?, path)));
    let (last, edited) = times.max()?;
    let mut old = names.filter(|name| written(&root.join(name)).is_some_and(|time| time < last));
    let file = old.next()?;
    Some(format!(
        "the results in `{}` are older than the last edit of `{}`, so they may be those of an earlier version",
        file.display(),
        edited.display()
    ))
}

/// Warnings about evaluators that a change moves to another folder: the moved file is the same, but the other files
/// that it reads in its folder may differ. `renamed`: the commands of the base, each with the command of the head.
fn of_moved(config: &Config, renamed: &BTreeMap<String, String>) -> Vec<Reason> {
    let evaluators = config.evaluators();
    let moved = renamed
        .iter()
        .filter(|(_, head)| evaluators.contains(&head.as_str()));
    let told = moved.flat_map(|(base, head)| {
        rule_files::moved(base, head).map(|[one, other]| {
            let text = format!(
                "this change moves the {EVALUATOR} `{one}` to `{other}`: whether the files beside it are as before is not \
                 known"
            );
            warning(ReasonCode::EditsEvaluator, &text)
        })
    });
    told.collect()
}

/// Warnings about edits of files that a check reads or runs although no setting names them.
fn of_checks(config: &Config, request: &GateRequest) -> Vec<Reason> {
    let found = match measure::edited_files(config, config, request) {
        Ok(found) => found.files,
        // A missing base is reported elsewhere.
        Err(_) => return Vec::new(),
    };
    let mut by_kind: BTreeMap<&str, Vec<EditedRule>> = BTreeMap::new();
    let named: Vec<&str> = config
        .measured_files()
        .iter()
        .map(|(what, _)| *what)
        .collect();
    for file in found.into_iter().filter(|file| !named.contains(&file.what)) {
        by_kind.entry(file.what).or_default().push(file);
    }
    let told = by_kind.into_iter().map(|(what, files)| {
        let names = measure::named(&files);
        let text = match files.len() {
            1 => format!("this change edits the {what} {names}"),
            _ => format!("this change edits the {what}: {names}"),
        };
        warning(ReasonCode::EditsMeasure, &text)
    });
    told.collect()
}

fn not_fetched() -> Reason {
    warning(
        ReasonCode::EditsRules,
        "whether this change edits the gate is not known: the base commit could not be fetched",
    )
}

fn warning(code: ReasonCode, text: &str) -> Reason {
    reason(code, Some(Effect::Warn), text)
}
