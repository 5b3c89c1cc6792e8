//! The invariants and templates of single scenarios, in addition to those of all scenarios.
//!
//! They are checked as strictly as those of the configuration. Several scenarios may use the same name for an
//! invariant, so that their checks have a common figure; then its description, its weight and whether it is a gate must
//! be the same everywhere.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check;
use crate::keys::{CheckKeys, ChecksKeys, InvariantKeys};
use crate::scenario::Scenario;
use crate::services::DeclaredServices;
use crate::template::WorkspaceTemplate;
use crate::{interpolate, scenario};
use kelvin_base::exit::Misuse;
use kelvin_run::config::{self, Config, Problem, shape, yaml};

/// How many problems are reported at most.
const TOLD: usize = 5;

/// The invariants and templates that scenarios define themselves.
#[derive(Default)]
pub(super) struct ScenarioOwn {
    /// Every different invariant.
    pub(super) invariants: Vec<OwnInvariant>,
    /// The templates, by their text in the file.
    pub(super) templates: BTreeMap<String, WorkspaceTemplate>,
}

/// An invariant that one or several scenarios define.
pub(super) struct OwnInvariant {
    /// Its name.
    pub(super) name: String,
    /// Its keys as written.
    pub(super) written: Value,
    /// Its keys.
    pub(super) keys: InvariantKeys,
}

/// Reads the definitions in the scenarios of a configuration. If the file of the scenarios cannot be read, the result
/// is empty, and the file is reported when its scenarios are read. Fails with a [`Misuse`] with all problems of these
/// definitions.
pub(super) fn read(
    config: &Config,
    keys: &ChecksKeys,
    services: &DeclaredServices,
) -> Result<ScenarioOwn, Misuse> {
    let mut own = ScenarioOwn::default();
    let Some(name) = &keys.scenarios else {
        return Ok(own);
    };
    let rules = scenario::of_the_rules(config, name);
    let files = (config.root.as_path(), rules.as_deref());
    let Ok((scenarios, _)) = scenario::read_file(files, name) else {
        return Ok(own);
    };
    let mut problems = Vec::new();
    let mut first_line = 0;
    let mut known = KnownInvariants {
        schema: config::schema_of::<InvariantKeys>().as_value().clone(),
        first: BTreeMap::new(),
        seen: BTreeSet::new(),
    };
    for scenario in &scenarios {
        let mut found = Vec::new();
        template(config, scenario, &mut own, &mut found);
        for (name, written) in &scenario.invariants {
            let taken = InvariantInputs {
                config,
                keys,
                services,
                scenario,
            };
            own.invariants
                .extend(taken.invariant(name, written, &mut known, &mut found));
        }
        if problems.is_empty() {
            first_line = scenario.line;
        }
        let place = format!("{name}:{}: the scenario `{}`", scenario.line, scenario.id);
        problems.extend(found.iter().map(|what| format!("{place}: {what}")));
    }
    if problems.is_empty() {
        return Ok(own);
    }
    let more = problems.len().saturating_sub(TOLD);
    problems.truncate(TOLD);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    Err(Misuse::new(problems.join("\n"))
        .help("a scenario may bring its own `invariants`, written as those of the configuration, and its own `template`")
        .at(&config.root.join(name), first_line))
}

/// Adds the template of a scenario.
fn template(config: &Config, scenario: &Scenario, own: &mut ScenarioOwn, found: &mut Vec<String>) {
    let Some(written) = &scenario.template else {
        return;
    };
    match WorkspaceTemplate::of(written) {
        Err(what) => found.push(format!("its `template`: {what}")),
        Ok(_) if written.trim().is_empty() => found.push("its `template` is empty".to_owned()),
        Ok(template) => {
            let is_missing = template.of_scenario(scenario).is_ok_and(|folder| {
                !config.rules_root().join(folder).is_dir() && config.other_rules().is_none()
            });
            if is_missing && scenario.params.is_empty() && !template.has_fields() {
                found.push(format!("its `template`, `{written}`, is no folder"));
            }
            own.templates.insert(written.clone(), template);
        }
    }
}

/// The invariants of the scenarios so far.
struct KnownInvariants {
    /// The schema of an invariant.
    schema: Value,
    /// The first invariant with each name.
    first: BTreeMap<String, InvariantKeys>,
    /// Their names with their texts in the file.
    seen: BTreeSet<(String, String)>,
}

/// The inputs for reading an invariant of a scenario.
struct InvariantInputs<'a> {
    config: &'a Config,
    keys: &'a ChecksKeys,
    services: &'a DeclaredServices,
    scenario: &'a Scenario,
}

impl InvariantInputs<'_> {
    /// Adds one invariant; none if it is wrong, or if another scenario has already defined the same invariant.
    fn invariant(
        &self,
        name: &str,
        written: &Value,
        known: &mut KnownInvariants,
        found: &mut Vec<String>,
    ) -> Option<OwnInvariant> {
        // A scenario that the base does not have is not compared with it, so a conflicting invariant is left out.
        let is_of_base = self.config.other_rules().is_some();
        let is_shared = self.keys.invariants.contains_key(name);
        if is_shared && is_of_base {
            return None;
        }
        let before = found.len();
        let place = format!("`invariants.{name}`");
        // A line of JSON is also a YAML document, so the same code can check both kinds of invariants.
        let source = written.to_string();
        let node = match yaml::parse(&source) {
            Ok(node) => node,
            Err(problem) => {
                found.push(format!("{place}: {}", words(&problem)));
                return None;
            }
        };
        let mut problems = shape::problems(&node, &known.schema, &source, &check::hint);
        check::named(name, &(0..0), &mut problems);
        if problems.is_empty() {
            check::one(&node, self.services, &mut problems);
        }
        let problems = problems.iter().map(words);
        found.extend(problems.map(|what| format!("{place}: {what}")));
        if is_shared {
            found.push(format!(
                "{place}: it has the name of an invariant of all scenarios, to which it is added: give it another name"
            ));
        }
        let keys: InvariantKeys = match serde_json::from_value(written.clone()) {
            Ok(keys) => keys,
            Err(error) => {
                if found.len() == before {
                    found.push(format!("{place}: {error}"));
                }
                return None;
            }
        };
        if let Some(what) = self.unusable(&keys) {
            found.push(format!("{place}: {what}"));
        }
        if found.len() > before || known.seen.contains(&(name.to_owned(), source.clone())) {
            return None;
        }
        let first = known.first.entry(name.to_owned());
        match first {
            Entry::Vacant(place) => {
                place.insert(keys.clone());
            }
            Entry::Occupied(first) if differs(first.get(), &keys) => {
                if !is_of_base {
                    found.push(format!(
                        "{place}: another scenario has an invariant of this name with another description, weight, \
                         `gate` or judge, and both would be one figure: give one of them another name"
                    ));
                }
                return None;
            }
            Entry::Occupied(_) => {}
        }
        known.seen.insert((name.to_owned(), source));
        Some(OwnInvariant {
            name: name.to_owned(),
            written: written.clone(),
            keys,
        })
    }

    /// Why the check cannot be used for the scenario; none if it can.
    fn unusable(&self, keys: &InvariantKeys) -> Option<String> {
        if let Some(key) = keys.check.compares_with_expected()
            && self.scenario.expected.is_none()
        {
            return Some(format!(
                "the check has nothing to compare with: it has no `{key}`, and the scenario has no `expected`"
            ));
        }
        let CheckKeys::Custom(custom) = &keys.check else {
            return None;
        };
        let script = &custom.script;
        let is_there = self.config.rules_root().join(script).is_file();
        let is_missing = interpolate::names(script).next().is_none() && !is_there;
        is_missing.then(|| format!("the script `{script}` is not there"))
    }
}

/// Whether two invariants with the same name differ, so that they cannot share one figure. Each judge is stored under
/// the name of its invariant, so a judged check cannot have a second form.
fn differs(one: &InvariantKeys, other: &InvariantKeys) -> bool {
    let is_judged = |keys: &InvariantKeys| matches!(keys.check, CheckKeys::LlmAsJudge(_));
    is_judged(one)
        || is_judged(other)
        || one.description.trim() != other.description.trim()
        || one.weight.total_cmp(&other.weight).is_ne()
        || one.gate != other.gate
}

/// A problem in one line, with advice.
fn words(problem: &Problem) -> String {
    match &problem.help {
        Some(help) => format!("{} ({help})", problem.message),
        None => problem.message.clone(),
    }
}
