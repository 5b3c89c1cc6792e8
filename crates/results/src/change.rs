//! The effects of a change on the cases themselves: which cases are scored differently, and how many were removed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::{figures, figures_of_base};
use super::record::{EarlyEnd, ResultRecord, ResultsSection, SuiteBasis, cases, id, nouns_of_tool};
use kelvin_page::{Phrase, are, have, listed, safe};
use kelvin_record::{
    AlignedSection, AlignedSections, AlignmentWarning, Direction, ItemComparison, Nouns,
    SettingDiffers, UnfinishedRun,
};

/// How many columns of the cause of an early end a headline has.
const CAUSE: usize = 80;

/// The cases of both sides, by suite; a suite without such changes is left out.
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
    /// The words of the evaluator for its cases.
    #[serde(default)]
    pub nouns: Nouns,
    /// The cases that are scored in another way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scored_otherwise: Vec<String>,
    /// The cases of the base that are gone, if more are gone than may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// The cases of which a run has fewer results than on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinned: Vec<String>,
    /// How many results of these cases a run has, on the base and on the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinned_from: Option<(usize, usize)>,
    /// The cases of the base that an evaluator has not come to, if it ended with another exit code than on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_reached: Vec<String>,
    /// How that evaluator ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EarlyEnd>,
    /// The exit code of that evaluator on the base.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ended_before: i32,
    /// The cases that are worse in a gated metric, if every case was run once on each side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worse_once: Vec<String>,
    /// Whether the suite has no command, so that an earlier step has left its file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_left_by_a_step: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(code: &i32) -> bool {
    *code == 0
}

/// Compares the cases of two sections; none if there is no difference to report.
pub(super) fn align(base: &ResultsSection, head: &ResultsSection) -> Option<AlignedSections> {
    let mut change = ResultsChange::default();
    for (suite, of_base) in &base.basis.suites {
        let Some(of_head) = head.basis.suites.get(suite) else {
            continue;
        };
        let mut here = SuiteChange {
            nouns: nouns_of_tool(&of_base.tool),
            is_left_by_a_step: of_head.is_left_by_a_step,
            ..SuiteChange::default()
        };
        for (_, case, before) in cases(base, suite) {
            here.base += 1;
            match head.items.get(&id(suite, case)) {
                Some(now) if before.scoring.is_some() && now.scoring != before.scoring => {
                    here.scored_otherwise.push(case.to_owned());
                }
                Some(now) if now.at_once.max(1) < before.at_once => {
                    here.thinned.push(case.to_owned());
                    let (was, is) = here.thinned_from.get_or_insert_default();
                    *was += before.at_once;
                    *is += now.at_once.max(1);
                }
                Some(_) => {}
                None => here.gone.push(case.to_owned()),
            }
        }
        let is_whole = !of_base.is_part && !of_head.is_part;
        let code = |basis: &SuiteBasis| basis.ended.as_ref().map(|ended| ended.code);
        let is_early = of_head.ended.is_some() && code(of_head) != code(of_base);
        if is_whole && is_early && !here.gone.is_empty() {
            here.ended_before = code(of_base).unwrap_or(0);
            here.not_reached.clone_from(&here.gone);
            here.ended.clone_from(&of_head.ended);
        }
        let most = of_head.max_missing.min(of_base.max_missing) * here.base as f64 + 1e-9;
        let is_told = of_head.failure.is_some() || here.ended.is_some();
        if here.gone.len() as f64 <= most || is_told || !is_whole {
            here.gone.clear();
        }
        here.worse_once = worse_once((base, head), suite, of_base);
        let has_cases = |list: &Vec<String>| !list.is_empty();
        let lists = [
            &here.scored_otherwise,
            &here.gone,
            &here.thinned,
            &here.not_reached,
            &here.worse_once,
        ];
        if lists.into_iter().any(has_cases) {
            change.suites.insert(suite.clone(), here);
        }
    }
    if change.suites.is_empty() {
        return None;
    }
    let side = |section: &ResultsSection, metrics| AlignedSection {
        metrics,
        section: Box::new(section.clone()),
    };
    Some(AlignedSections {
        base: side(base, figures_of_base(base)),
        head: side(head, figures(head)),
        items: std::sync::Arc::new(change),
    })
}

/// The cases that are worse in a gated metric; none if a case of either side has more than one sample.
fn worse_once(
    (base, head): (&ResultsSection, &ResultsSection),
    suite: &str,
    basis: &SuiteBasis,
) -> Vec<String> {
    let mut sides = [base, head].into_iter();
    let is_repeated =
        |side: &ResultsSection| cases(side, suite).any(|(_, _, record)| record.samples.len() > 1);
    if sides.any(is_repeated) {
        return Vec::new();
    }
    let score = |record: &ResultRecord, metric: &str| {
        let sample = record.samples.first()?;
        sample.scores.get(metric).copied()
    };
    let is_worse = |before: &ResultRecord, now: &ResultRecord| {
        let mut gated = basis.metrics.iter().filter(|(_, metric)| metric.gated);
        gated.any(|(name, metric)| {
            let scores = score(before, name).zip(score(now, name));
            scores.is_some_and(|(before, now)| match metric.kind.better {
                Some(Direction::Lower) => now > before,
                _ => now < before,
            })
        })
    };
    let both = cases(base, suite).filter(|(_, case, before)| {
        let now = head.items.get(&id(suite, case));
        !basis.flaky.contains(*case) && now.is_some_and(|now| is_worse(before, now))
    });
    both.map(|(_, case, _)| case.to_owned()).collect()
}

impl ItemComparison for ResultsChange {
    fn unfinished(&self) -> Vec<UnfinishedRun> {
        let suites = self.suites.iter();
        let unfinished = suites.filter_map(|(suite, change)| {
            let ended = change.ended.as_ref()?;
            let before = change.ended_before;
            let names: Vec<&str> = change.not_reached.iter().map(String::as_str).collect();
            let text = format!(
                "the evaluator of the suite `{suite}` ended early, with {ended}; on the base it ended with {before}, and {} of {} \
                 of the base {} not in its results: {}",
                names.len(),
                change.nouns.counted(change.base),
                are(names.len()),
                listed(&names)
            );
            let headline = Phrase::text("the evaluator of ")
                .name(suite.clone())
                .and(" ended early: ")
                .quote(match &ended.last {
                    Some(last) => safe::cut(last, CAUSE),
                    None => ended.to_string(),
                });
            Some(UnfinishedRun { headline, text })
        });
        unfinished.collect()
    }

    fn warnings(&self) -> Vec<AlignmentWarning> {
        let mut warnings = Vec::new();
        for (suite, change) in &self.suites {
            let mut warn = |cases: &[String], what: (&str, &str), cure: &str| {
                if !cases.is_empty() {
                    let text = change.sentence(suite, (cases, what, cure));
                    let is_open = true;
                    warnings.push(AlignmentWarning { text, is_open });
                }
            };
            warn(
                &change.scored_otherwise,
                (
                    are(change.scored_otherwise.len()),
                    "scored in another way than on the base",
                ),
                "what they win or lose by it cannot be told from what the pipeline does: change the scoring in a change of \
                 its own",
            );
            warn(
                &change.gone,
                (
                    are(change.gone.len()),
                    "not in the results any more, which is more than `max_missing` allows",
                ),
                "see that all of them are run",
            );
            let (was, is) = change.thinned_from.unwrap_or_default();
            warn(
                &change.thinned,
                (
                    have(change.thinned.len()),
                    &format!("fewer results in a run than on the base, {is} and not {was}"),
                ),
                "what an evaluator does not write may be what failed: have it write every result, a failed one with an empty \
                 score, or have base and change run as often",
            );
        }
        warnings
    }

    fn noise_warnings(&self) -> Vec<String> {
        let worse = self.suites.iter();
        let worse = worse.filter(|(_, change)| !change.worse_once.is_empty());
        let told = worse.map(|(suite, change)| {
            let cure = if change.is_left_by_a_step {
                "have the step before answer each case several times (`--repeat 3` or the like of the evaluator), or give \
                 the suite a `run`, so that kelvin can run it again"
            } else {
                "have each case answered several times (`--repeat 3` or the like of the evaluator, else `repeats: 3`), or add \
                 a `rerun`"
            };
            let worse = &change.worse_once;
            let what = "worse, and each was run once on each side, so that nothing tells noise from a drop";
            change.sentence(suite, (worse, (are(worse.len()), what), cure))
        });
        told.collect()
    }
}

impl SuiteChange {
    /// A sentence about some cases of the suite: what is the matter with them, and what to do.
    fn sentence(
        &self,
        suite: &str,
        (cases, (verb, what), cure): (&[String], (&str, &str), &str),
    ) -> String {
        let names: Vec<&str> = cases.iter().map(String::as_str).collect();
        format!(
            "{} of {} of the suite `{suite}` {verb} {what}: {}; {cure}",
            cases.len(),
            self.nouns.counted(self.base),
            listed(&names)
        )
    }
}

/// The settings of the evaluators that differ. The figures can still be compared, since changing these settings may be
/// the purpose of a pull request.
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
        let tool = |basis: &SuiteBasis| match &basis.tool_version {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MetricBasis, MetricKind, ResultSample, ResultsBasis};
    use kelvin_base::digest::Digest;
    use kelvin_record::{Ending, SectionFingerprint};

    /// A suite of cases that are scored by something, each with the passes of its samples.
    fn section(cases: &[(&str, &str, &[f64])]) -> ResultsSection {
        let pass = MetricBasis {
            kind: MetricKind {
                yes_no: true,
                better: Some(Direction::Higher),
            },
            gated: true,
            range: Some([0.0, 1.0]),
        };
        let basis = SuiteBasis {
            metrics: BTreeMap::from([("pass".to_owned(), pass)]),
            max_errors: 0.1,
            max_missing: 0.1,
            ..SuiteBasis::default()
        };
        let record = |(name, scoring, passes): &(&str, &str, &[f64])| {
            let sample = |pass: &f64| ResultSample {
                scores: BTreeMap::from([("pass".to_owned(), *pass)]),
                ..ResultSample::default()
            };
            let record = ResultRecord {
                input: Some(Digest::of(name.as_bytes())),
                scoring: Some(Digest::of(scoring.as_bytes())),
                samples: passes.iter().map(sample).collect(),
                ..ResultRecord::default()
            };
            (id("qa", name), record)
        };
        ResultsSection {
            ending: Ending::Complete,
            fingerprint: SectionFingerprint {
                items: None,
                command: None,
            },
            basis: ResultsBasis {
                suites: BTreeMap::from([("qa".to_owned(), basis)]),
            },
            items: cases.iter().map(record).collect(),
        }
    }

    fn warnings(base: &ResultsSection, head: &ResultsSection) -> Vec<AlignmentWarning> {
        let aligned = align(base, head);
        aligned.map_or_else(Vec::new, |aligned| aligned.items.warnings())
    }

    #[test]
    fn cases_that_are_scored_otherwise_leave_the_verdict_open() {
        let base = section(&[("a", "equals", &[1.0, 1.0]), ("b", "equals", &[1.0, 1.0])]);
        let head = section(&[("a", "contains", &[1.0, 1.0]), ("b", "equals", &[1.0, 1.0])]);
        assert_eq!(warnings(&base, &base), []);
        let told = warnings(&base, &head);
        assert!(
            told[0].is_open && told[0].text.contains("1 of 2 cases"),
            "{told:?}"
        );
        insta::assert_snapshot!(told[0].text, @"1 of 2 cases of the suite `qa` is scored in another way than on the base: a; what they win or lose by it cannot be told from what the pipeline does: change the scoring in a change of its own");
    }

    #[test]
    fn a_base_with_many_errors_is_compared_with_in_what_it_scored() {
        let mut base = section(&[("a", "", &[1.0]), ("b", "", &[1.0])]);
        let failed = base.items.get_mut(&id("qa", "b")).expect("there");
        failed.samples[0].scores.clear();
        failed.samples[0].error = Some(kelvin_record::KeptText::of("no answer"));
        let pass = |metrics: &BTreeMap<String, kelvin_record::Metric>| {
            let metric = &metrics["results.qa.pass"];
            (metric.value, metric.n)
        };
        assert_eq!(pass(&figures(&base)), (None, 1));
        assert_eq!(pass(&figures_of_base(&base)), (Some(1.0), 1));
    }

    #[test]
    fn more_missing_cases_than_allowed_are_named_unless_only_some_were_wanted() {
        let base = section(&[("a", "", &[1.0, 1.0]), ("b", "", &[1.0, 1.0])]);
        let mut head = section(&[("a", "", &[1.0, 1.0])]);
        let told = warnings(&base, &head);
        assert!(
            told[0].is_open && told[0].text.contains("max_missing"),
            "{told:?}"
        );
        head.basis.suites.get_mut("qa").expect("there").is_part = true;
        assert_eq!(warnings(&base, &head), []);
    }

    #[test]
    fn fewer_results_of_a_case_in_one_run_leave_the_verdict_open() {
        let mut base = section(&[("a", "", &[1.0, 0.0, 0.0]), ("b", "", &[1.0, 0.0, 0.0])]);
        let records = base.items.values_mut();
        records.for_each(|record| record.at_once = 3);
        assert_eq!(warnings(&base, &base), []);
        // The evaluator writes only what passed.
        let head = section(&[("a", "", &[1.0]), ("b", "", &[1.0])]);
        let told = warnings(&base, &head);
        assert!(told[0].is_open, "{told:?}");
        insta::assert_snapshot!(told[0].text, @"2 of 2 cases of the suite `qa` have fewer results in a run than on the base, 2 and not 6: a, b; what an evaluator does not write may be what failed: have it write every result, a failed one with an empty score, or have base and change run as often");
        // A base that was run more often is no loss of the head.
        let once = section(&[("a", "", &[1.0, 0.0, 0.0]), ("b", "", &[1.0, 0.0, 0.0])]);
        assert_eq!(warnings(&once, &head), []);
    }

    #[test]
    fn what_got_worse_in_single_runs_is_named_with_the_cure() {
        let base = section(&[("a", "", &[1.0]), ("b", "", &[1.0]), ("c", "", &[0.0])]);
        let head = section(&[("a", "", &[0.0]), ("b", "", &[1.0]), ("c", "", &[1.0])]);
        let told = |head| align(&base, head).map(|aligned| aligned.items.noise_warnings());
        insta::assert_snapshot!(told(&head).unwrap_or_default().join("\n"), @"1 of 3 cases of the suite `qa` is worse, and each was run once on each side, so that nothing tells noise from a drop: a; have each case answered several times (`--repeat 3` or the like of the evaluator, else `repeats: 3`), or add a `rerun`");
        let repeated = section(&[("a", "", &[0.0, 0.0]), ("b", "", &[1.0]), ("c", "", &[1.0])]);
        assert_eq!(told(&repeated).unwrap_or_default(), Vec::<String>::new());
        assert_eq!(warnings(&base, &head), []);
    }
}
