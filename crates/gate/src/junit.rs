//! A run, or its verdict, as JUnit XML: every item is a test case in the suite of its probe, and the verdict is a
//! separate suite with a test case for each gated metric. GitLab, Buildkite, CircleCI, Jenkins and Azure can show this
//! format.
//!
//! A test case fails only if it fails the job: a change that noise may explain is not a failure here either. A test
//! case passes only if it was measured: an item that is gone, or that has no value although the base has one, is
//! skipped with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::changes::CaseChange;
use crate::compare::Change;
use crate::judgement::{Judgement, change, value};
use crate::opening::word;
use crate::policy::{Attention, Effect};
use crate::report::Report;
use crate::verdict::Reason;
use kelvin_page::{Tone, listed, safe};
use kelvin_record::{AnySection, Metric, SectionKind, probe_of};

/// How many characters a message has at most.
const MESSAGE: usize = 300;

/// The outcome of a test case.
enum Outcome {
    Passed,
    /// The test case failed, for this reason.
    Failed(String),
    /// The test case has no result, for this reason.
    Error(String),
    /// The result of the test case is unknown, for this reason.
    Open(String),
}

/// A test case.
struct Case {
    name: String,
    outcome: Outcome,
    /// Its figures.
    properties: Vec<(String, String)>,
}

/// The report as JUnit XML, with the verdict if there is one.
pub fn to_junit(report: &Report, judged: Option<&Judgement>) -> String {
    let mut suites: Vec<(String, Vec<Case>)> = Vec::new();
    suites.extend(judged.map(|judgement| ("verdict".to_owned(), verdict(judgement))));
    let failing = judged.map(Failing::new).unwrap_or_default();
    for (name, section) in report.probes.iter() {
        let items = Items {
            probe: name,
            kind: report.probes.kind(name),
            section,
            metrics: &report.metrics,
        };
        suites.push((name.to_owned(), items.cases(&failing)));
    }
    for (probe, item) in failing.gone() {
        let suite = suites.iter().position(|(name, _)| name == probe);
        let suite = suite.unwrap_or_else(|| {
            suites.push((probe.to_owned(), Vec::new()));
            suites.len() - 1
        });
        let cases = &mut suites[suite].1;
        if cases.iter().all(|case| case.name != item) {
            cases.push(Case {
                name: item.to_owned(),
                outcome: Outcome::Open("it is gone: only the base has it".to_owned()),
                properties: Vec::new(),
            });
        }
    }
    let mut page = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = suites.iter().flat_map(|(_, cases)| cases);
    let _ = writeln!(page, "<testsuites name=\"kelvin\" {}>", counts(all));
    for (name, cases) in &suites {
        let name = escaped(name);
        let counts = counts(cases.iter());
        let _ = writeln!(page, "  <testsuite name=\"{name}\" {counts}>");
        for case in cases {
            case.write(&mut page, &name);
        }
        page.push_str("  </testsuite>\n");
    }
    page + "</testsuites>\n"
}

/// The verdict as a test case, and each gated metric.
fn verdict(judgement: &Judgement) -> Vec<Case> {
    let verdict = &judgement.verdict;
    let told = |reasons: &[&Reason]| {
        let texts: Vec<&str> = reasons.iter().map(|reason| reason.text.as_str()).collect();
        texts.join("\n")
    };
    let all: Vec<&Reason> = verdict.reasons.iter().collect();
    let (tone, _, words) = word(judgement);
    let words = format!("{words}\n{}", told(&all));
    let mut cases = vec![Case {
        name: "verdict".to_owned(),
        outcome: match (verdict.passed, verdict.verdict, tone) {
            (false, ..) => Outcome::Failed(words),
            (true, word, Tone::Calm) if word.is_fine() => Outcome::Passed,
            // A pass on the remaining items only, or under rules of the change itself, is not a full pass.
            (true, ..) => Outcome::Open(words),
        },
        properties: vec![("verdict".to_owned(), verdict.verdict.as_str().to_owned())],
    }];
    let gated = verdict.metrics.iter();
    for (id, metric) in gated.filter(|(_, metric)| metric.policy == Attention::Gate) {
        let own = verdict.reasons.iter();
        let own: Vec<&Reason> = own
            .filter(|reason| reason.metric.as_ref() == Some(id))
            .collect();
        let fails = own.iter().any(|reason| reason.effect == Some(Effect::Fail));
        cases.push(Case {
            name: id.clone(),
            outcome: match (fails, metric.verdict) {
                (true, _) => Outcome::Failed(told(&own)),
                (false, word) if word.is_fine() => Outcome::Passed,
                (false, _) => Outcome::Open(told(&own)),
            },
            properties: vec![
                ("base".to_owned(), value(metric.base)),
                ("head".to_owned(), value(metric.head)),
                ("change".to_owned(), change(metric)),
            ],
        });
    }
    cases
}

/// The metrics and items that fail the job.
#[derive(Default)]
struct Failing<'j> {
    /// The failing metrics.
    metrics: BTreeSet<&'j str>,
    /// The broken items.
    broken: BTreeSet<(&'j str, &'j str)>,
    cases: &'j [CaseChange],
}

impl<'j> Failing<'j> {
    fn new(judgement: &'j Judgement) -> Self {
        let reasons = judgement.verdict.reasons.iter();
        let reasons = reasons.filter(|reason| reason.effect == Some(Effect::Fail));
        let metrics: BTreeSet<&str> = reasons.filter_map(|one| one.metric.as_deref()).collect();
        let broken = judgement.verdict.broken_cases.iter();
        let broken = broken.filter(|one| one.certain && metrics.contains(one.metric.as_str()));
        Self {
            broken: broken
                .map(|one| (one.metric.as_str(), one.case.as_str()))
                .collect(),
            cases: &judgement.cases,
            metrics,
        }
    }

    /// Why an item of a probe contributes to the failure of the job, in one sentence per reason.
    fn of_item(&self, probe: &str, item: &str) -> Vec<String> {
        let here = |metric: &str| probe_of(metric) == probe;
        let mut told: BTreeMap<&str, String> = BTreeMap::new();
        for (metric, _) in self
            .broken
            .iter()
            .filter(|(id, case)| here(id) && *case == item)
        {
            told.insert(metric, format!("{metric} broke"));
        }
        let worse = self.cases.iter();
        let worse = worse.filter(|case| case.case == item && here(&case.metric) && case.is_worse());
        for case in worse.filter(|case| self.metrics.contains(case.metric.as_str())) {
            let text = format!(
                "{} {} to {}",
                case.metric,
                value(case.base),
                value(case.head)
            );
            told.insert(&case.metric, text);
        }
        told.into_values().collect()
    }

    /// The items that only the base has, each with its probe.
    fn gone(&self) -> BTreeSet<(&'j str, &'j str)> {
        let gone = self.cases.iter();
        let gone = gone.filter(|case| case.change == Change::Removed);
        gone.map(|case| (probe_of(&case.metric), case.case.as_str()))
            .collect()
    }

    /// The metrics of a probe that the base measured on an item and the head did not.
    fn unmeasured(&self, probe: &str, item: &str) -> Vec<&'j str> {
        let cases = self.cases.iter();
        let unmeasured = cases.filter(|case| {
            let is_own = case.case == item && probe_of(&case.metric) == probe;
            is_own && case.change == Change::Unmeasured && case.base.is_some()
        });
        unmeasured.map(|case| case.metric.as_str()).collect()
    }
}

/// The items of one probe.
struct Items<'r> {
    probe: &'r str,
    kind: Option<&'static dyn SectionKind>,
    section: &'r dyn AnySection,
    metrics: &'r BTreeMap<String, Metric>,
}

impl Items<'_> {
    fn cases(&self, failing: &Failing<'_>) -> Vec<Case> {
        let items = self.section.ids().into_iter();
        items.map(|item| self.case(item, failing)).collect()
    }

    /// Whether no metric was measured on an item, in a probe whose metrics are measured item by item.
    fn lacks_figures(&self, item: &str) -> bool {
        let own = self.metrics.iter();
        let own = own.filter(|(id, metric)| probe_of(id) == self.probe && !metric.is_failure_rate);
        let mut by_item = own
            .filter(|(_, metric)| !metric.per_case.is_empty())
            .peekable();
        let has_value = |metric: &Metric| {
            let here = metric.per_case.get(item);
            here.is_some_and(|here| here.value.is_some())
        };
        by_item.peek().is_some() && !by_item.any(|(_, metric)| has_value(metric))
    }

    fn case(&self, item: &str, failing: &Failing<'_>) -> Case {
        let own = self.metrics.iter();
        let own = own.filter(|(id, _)| probe_of(id) == self.probe);
        let values = own.filter_map(|(id, metric)| {
            let value = metric.per_case.get(item)?.value?;
            Some((id.clone(), value))
        });
        let values: Vec<(String, f64)> = values.collect();
        let unmeasured = failing.unmeasured(self.probe, item);
        let has_answer = self.section.item(item).is_none_or(|item| item.has_answer);
        let why = failing.of_item(self.probe, item);
        Case {
            name: item.to_owned(),
            outcome: match () {
                () if !has_answer => {
                    let why = self.kind.and_then(|kind| kind.why(self.section, item, ""));
                    Outcome::Error(why.unwrap_or_else(|| "it has no answer".to_owned()))
                }
                () if !why.is_empty() => Outcome::Failed(why.join("\n")),
                () if !unmeasured.is_empty() => Outcome::Open(format!(
                    "it has no value of {}, and the base has one",
                    listed(&unmeasured)
                )),
                () if self.lacks_figures(item) => {
                    Outcome::Open("no metric has a value for it".to_owned())
                }
                () => Outcome::Passed,
            },
            properties: values
                .into_iter()
                .map(|(id, figure)| (id, value(Some(figure))))
                .collect(),
        }
    }
}

impl Case {
    fn write(&self, page: &mut String, suite: &str) {
        let name = escaped(&self.name);
        let _ = writeln!(
            page,
            "    <testcase classname=\"kelvin.{suite}\" name=\"{name}\">"
        );
        if !self.properties.is_empty() {
            page.push_str("      <properties>\n");
            for (name, value) in &self.properties {
                let (name, value) = (escaped(name), escaped(value));
                let _ = writeln!(
                    page,
                    "        <property name=\"{name}\" value=\"{value}\"/>"
                );
            }
            page.push_str("      </properties>\n");
        }
        let (element, why) = match &self.outcome {
            Outcome::Passed => ("", ""),
            Outcome::Failed(why) => ("failure", why.as_str()),
            Outcome::Error(why) => ("error", why.as_str()),
            Outcome::Open(why) => ("skipped", why.as_str()),
        };
        if !element.is_empty() {
            let first = safe::cut(why.lines().next().unwrap_or_default(), MESSAGE);
            let (first, whole) = (escaped(&first), escaped(why));
            let _ = writeln!(
                page,
                "      <{element} message=\"{first}\">{whole}</{element}>"
            );
        }
        page.push_str("    </testcase>\n");
    }
}

/// How many test cases there are, and how many of them did not pass.
fn counts<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            Outcome::Passed => {}
            Outcome::Failed(_) => failures += 1,
            Outcome::Error(_) => errors += 1,
            Outcome::Open(_) => skipped += 1,
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

/// A text for XML 1.0, which does not allow most control characters, not even escaped.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::report as fixture;
    use crate::fixtures::text::lines_with;
    use crate::verdict::{ReasonCode, Verdict, Word};

    #[test]
    fn hostile_names_make_no_elements_and_no_broken_file() {
        let written = escaped("a<b>&\"c\u{1b}[31m\nd");
        assert_eq!(written, "a&lt;b&gt;&amp;&quot;c\u{fffd}[31m&#10;d");
    }

    #[test]
    fn a_check_without_a_verdict_has_a_suite_for_each_probe_and_nothing_failed() {
        let page = to_junit(&fixture::good(), None);
        assert!(page.contains("<testsuite name=\"evidence\""), "{page}");
        assert!(
            !page.contains("<failure") && !page.contains("verdict"),
            "{page}"
        );
    }

    /// A passing verdict beside the change of a case in a metric, as JUnit has it.
    fn passed_beside(case: &str, change: Change) -> String {
        let verdict = Verdict::without_base(Word::Pass, Effect::Warn, "");
        let mut judgement = Judgement::without_base(verdict, Vec::new());
        judgement.cases.push(CaseChange {
            metric: "evidence.invariance".to_owned(),
            case: case.to_owned(),
            change,
            base: Some(1.0),
            head: None,
            flipped: Vec::new(),
            variants: Vec::new(),
            not_comparable: 0,
        });
        to_junit(&fixture::good(), Some(&judgement))
    }

    /// What stands in a test case.
    fn inside<'x>(xml: &'x str, name: &str) -> &'x str {
        let begin = xml.find(&format!("name=\"{name}\"")).expect("it is there");
        let end = xml[begin..].find("</testcase>").expect("it ends");
        &xml[begin..begin + end]
    }

    #[test]
    fn an_item_that_is_gone_is_a_test_case_that_does_not_pass() {
        let before = to_junit(&fixture::good(), None)
            .matches("<testcase")
            .count();
        let page = passed_beside("withdrawn", Change::Removed);
        insta::assert_snapshot!(lines_with(inside(&page, "withdrawn"), &["<skipped"]), @r#"      <skipped message="it is gone: only the base has it">it is gone: only the base has it</skipped>"#);
        // The verdict is one more.
        assert_eq!(page.matches("<testcase").count(), before + 2, "{page}");
        // The items of a probe that the head lacks as a whole have a suite of their own.
        let verdict = Verdict::without_base(Word::Pass, Effect::Warn, "");
        let mut judgement = Judgement::without_base(verdict, Vec::new());
        judgement.cases.push(CaseChange {
            metric: "results.qa.pass".to_owned(),
            case: "qa/one".to_owned(),
            change: Change::Removed,
            base: Some(1.0),
            head: None,
            flipped: Vec::new(),
            variants: Vec::new(),
            not_comparable: 0,
        });
        let page = to_junit(&fixture::good(), Some(&judgement));
        assert!(
            page.contains(
                "<testsuite name=\"results\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">"
            ),
            "{page}"
        );
    }

    #[test]
    fn an_item_that_was_not_measured_does_not_pass() {
        let report = fixture::good();
        let (_, section) = report.probes.iter().next().expect("a probe");
        let item = section.ids()[0].to_owned();
        let page = passed_beside(&item, Change::Draw);
        assert!(!inside(&page, &item).contains("<skipped"), "{page}");
        let page = passed_beside(&item, Change::Unmeasured);
        insta::assert_snapshot!(lines_with(inside(&page, &item), &["<skipped"]), @r#"      <skipped message="it has no value of evidence.invariance, and the base has one">it has no value of evidence.invariance, and the base has one</skipped>"#);
        let mut bare = fixture::good();
        for metric in bare.metrics.values_mut() {
            let mut left: BTreeMap<_, _> = metric
                .per_case
                .iter()
                .map(|(id, case)| (id.clone(), case.clone()))
                .collect();
            left.remove(&item);
            metric.per_case = left.into();
        }
        let page = to_junit(&bare, None);
        insta::assert_snapshot!(lines_with(inside(&page, &item), &["<skipped"]), @r#"      <skipped message="no metric has a value for it">no metric has a value for it</skipped>"#);
    }

    /// The verdict of a pass with this reason, as JUnit has it.
    fn passed_with(code: ReasonCode) -> String {
        let mut verdict = Verdict::without_base(Word::Pass, Effect::Warn, "3 cases are gone");
        verdict.reasons[0].code = code;
        to_junit(
            &fixture::good(),
            Some(&Judgement::without_base(verdict, Vec::new())),
        )
    }

    #[test]
    fn a_pass_under_rules_of_the_change_is_no_passed_test_case() {
        let page = passed_with(ReasonCode::OwnRules);
        insta::assert_snapshot!(lines_with(&page, &["<skipped"]), @r#"      <skipped message="passes under rules that this change made">passes under rules that this change made&#10;3 cases are gone</skipped>"#);
        let page = passed_with(ReasonCode::NotMeasured);
        assert!(!page.contains("<skipped"), "{page}");
    }
}
