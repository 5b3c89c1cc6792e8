//! What a change does to the cases themselves: which are scored in another way, and how many are gone.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::figures;
use super::record::{ResultsSection, cases, id};
use kelvin_page::listed;
use kelvin_record::{
    AlignedSection, AlignedSections, AlignmentWarning, ItemComparison, SettingDiffers,
};

/// The cases of both sides, by suite; a suite in which nothing of this happened is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsChange {
    /// The suites by name.
    pub suites: BTreeMap<String, SuiteChange>,
}

/// What a change does to the cases of one suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteChange {
    /// How many cases the base has.
    pub base: usize,
    /// The cases that are scored in another way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scored_otherwise: Vec<String>,
    /// The cases of the base that are gone, where they are more than may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// Compares the cases of two sections; none where there is nothing to tell.
pub(super) fn align(base: &ResultsSection, head: &ResultsSection) -> Option<AlignedSections> {
    let mut change = ResultsChange::default();
    for (suite, of_base) in &base.basis.suites {
        let Some(of_head) = head.basis.suites.get(suite) else {
            continue;
        };
        let mut here = SuiteChange::default();
        for (_, case, before) in cases(base, suite) {
            here.base += 1;
            match head.items.get(&id(suite, case)) {
                Some(now) if before.scoring.is_some() && now.scoring != before.scoring => {
                    here.scored_otherwise.push(case.to_owned());
                }
                Some(_) => {}
                None => here.gone.push(case.to_owned()),
            }
        }
        let most = of_head.max_missing.min(of_base.max_missing) * here.base as f64 + 1e-9;
        let is_part = of_base.is_part || of_head.is_part;
        if here.gone.len() as f64 <= most || of_head.failure.is_some() || is_part {
            here.gone.clear();
        }
        if !here.scored_otherwise.is_empty() || !here.gone.is_empty() {
            change.suites.insert(suite.clone(), here);
        }
    }
    if change.suites.is_empty() {
        return None;
    }
    let side = |section: &ResultsSection| AlignedSection {
        metrics: figures(section),
        section: Box::new(section.clone()),
    };
    Some(AlignedSections {
        base: side(base),
        head: side(head),
        items: std::sync::Arc::new(change),
    })
}

impl ItemComparison for ResultsChange {
    fn written(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let mut warnings = Vec::new();
        for (suite, change) in &self.suites {
            let mut warn = |cases: &[String], what: &str, cure: &str| {
                if !cases.is_empty() {
                    let names: Vec<&str> = cases.iter().map(String::as_str).collect();
                    let text = format!(
                        "{} of {} cases of the suite `{suite}` {what}: {}; {cure}",
                        cases.len(),
                        change.base,
                        listed(&names)
                    );
                    warnings.push(AlignmentWarning {
                        text,
                        is_open: true,
                    });
                }
            };
            warn(
                &change.scored_otherwise,
                "are scored in another way than on the base",
                "what they win or lose by it cannot be told from what the pipeline does: change the scoring in a change of \
                 its own",
            );
            warn(
                &change.gone,
                "of the base are not in the results any more, which is more than `max_missing` allows",
                "see that all of them are run",
            );
        }
        warnings
    }
}

/// The settings of the evaluators that differ. The figures can still be compared, since a pull request may be about
/// just that.
pub(super) fn differing_settings(
    base: &ResultsSection,
    head: &ResultsSection,
) -> Vec<SettingDiffers> {
    let (mut tools, mut settings) = (
        SettingDiffers {
            name: "evaluators",
            base: Vec::new(),
            head: Vec::new(),
        },
        SettingDiffers {
            name: "settings of the evaluators",
            base: Vec::new(),
            head: Vec::new(),
        },
    );
    for (suite, before) in &base.basis.suites {
        let Some(now) = head.basis.suites.get(suite) else {
            continue;
        };
        if before.failure.is_some() || now.failure.is_some() {
            continue;
        }
        let tool = |basis: &super::record::SuiteBasis| match &basis.tool_version {
            Some(version) => format!("{} {version}", basis.tool),
            None => basis.tool.clone(),
        };
        if tool(before) != tool(now) {
            tools.base.push(tool(before));
            tools.head.push(tool(now));
        }
        let names = before.settings.keys().chain(now.settings.keys());
        let names: std::collections::BTreeSet<&String> = names.collect();
        for name in names {
            let (old, new) = (before.settings.get(name), now.settings.get(name));
            if old != new {
                let shown = |value: Option<&String>| match value {
                    Some(value) => format!("{suite}.{name} {value}"),
                    None => format!("{suite}.{name} unset"),
                };
                settings.base.push(shown(old));
                settings.head.push(shown(new));
            }
        }
    }
    [tools, settings]
        .into_iter()
        .filter(|differing| !differing.base.is_empty())
        .collect()
}
