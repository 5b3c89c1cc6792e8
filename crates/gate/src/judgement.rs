//! The result of the gate: the verdict with its base, its cost and the cases, for files and people. It is also made for
//! a change that cannot have made the pipeline worse and is therefore not run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::from_difference;
use super::approval::Approval;
use super::changes::CaseChange;
use super::drift::Drift;
use super::opening::opening;
use super::policy::{Attention, Effect, Policy};
use super::reproduce::Reproduction;
use super::verdict::{Cause, CellCounts, MetricVerdict, Reason, ReasonCode, Verdict, Word};
use crate::differences::Difference;
use crate::provenance::{Provenance, Tried};
use crate::report::Report;
use kelvin_page::{AnswerList, LISTED, PhrasePart, Tone, safe, terminal};
use kelvin_record::{Direction, Flip, ItemComparison, ItemComparisons, Metric};

/// The version of `gate.json`.
const SCHEMA_VERSION: u32 = 1;

/// `kelvin/gate.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The version of this format.
    pub schema_version: u32,
    /// The verdict and its reasons.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Where the baseline is from; null if there is none.
    pub base: Option<Provenance>,
    /// The sources that gave no baseline, if there is none.
    pub tried: Vec<Tried>,
    /// The caveats that a reader has to know before the figures, in sentences without their full stops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// What differs between the two runs besides their figures, in words.
    pub differences: Vec<String>,
    /// The same differences, each as a code with its values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub difference_codes: Vec<Difference>,
    /// What became of each case: the metric that dropped most beyond its limit first, and within a
    /// metric the case that adds most to its drop.
    pub cases: Vec<CaseChange>,
    /// The answers that went wrong, of the cases that matter most; empty if the probe keeps no answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<Flip>,
    /// How many invocations the re-runs of the head took.
    pub reruns: usize,
    /// How each probe that aligns its sections compared its items, by the name of the probe.
    #[serde(flatten)]
    pub comparisons: ItemComparisons,
    /// How many invocations the measurement of the base took; null if there is no base.
    #[serde(default)]
    pub base_invocations: Option<usize>,
    /// How many further invocations of the base this gate made, to run it again next to the head.
    #[serde(default, skip_serializing_if = "kelvin_base::is_default")]
    pub base_reruns: usize,
    /// The cost of an answer of the head, as a multiple of the cost of an answer of the base: in money, or in tokens if
    /// the money is not known. An answer from the cache counts with the cost of the call that made it. Missing if no
    /// model reports a cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ratio: Option<f64>,
    /// How far the head is from the anchor; missing if the configuration names no anchor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
    /// The items of the base that have another text on the head: the id on the base, by the one on the head. They are
    /// known while a gate runs, and not written.
    #[serde(skip)]
    pub edited_texts: BTreeMap<String, String>,
    /// How to run this gate again; missing if nothing was run, as between two named reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<Reproduction>,
    /// What became of the request to approve a regression; missing if no request was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// How many of the changed answers a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswersShown {
    /// The first [`LISTED`].
    First {
        /// The place where a reader finds the other cases, in words that follow their number.
        others: &'static str,
    },
    /// All cases in the verdict.
    All,
}

impl AnswersShown {
    /// The first cases, if the page of the run has the others.
    pub const OTHERS_ON_THE_PAGE: Self = Self::First {
        others: "in report.html",
    };

    /// All cases if the flag `--all` is set, otherwise the first ones.
    pub const fn by_flag(is_all: bool) -> Self {
        match is_all {
            true => Self::All,
            false => Self::First {
                others: "with `--all`",
            },
        }
    }
}

impl Judgement {
    /// A verdict with its base.
    pub fn with_base(verdict: Verdict, base: Provenance) -> Self {
        Self {
            base: Some(base),
            ..Self::without_base(verdict, Vec::new())
        }
    }

    /// A verdict without a report to compare with.
    pub fn without_base(verdict: Verdict, tried: Vec<Tried>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            verdict,
            base: None,
            tried,
            caveats: Vec::new(),
            differences: Vec::new(),
            difference_codes: Vec::new(),
            cases: Vec::new(),
            flips: Vec::new(),
            reruns: 0,
            comparisons: ItemComparisons::default(),
            base_invocations: None,
            base_reruns: 0,
            cost_ratio: None,
            drift: None,
            edited_texts: BTreeMap::new(),
            reproduce: None,
            approval: None,
        }
    }

    /// Adds the differences between the two runs.
    #[must_use]
    pub fn differing(mut self, differences: Vec<Difference>) -> Self {
        let nouns = self.verdict.common_nouns();
        let words = differences.iter().map(|one| one.words(&nouns));
        self.differences = words.collect();
        self.difference_codes = differences;
        self
    }

    /// The verdict for a terminal.
    pub fn terminal(&self, shown: AnswersShown) -> String {
        let mut page = String::new();
        let opening = opening(self);
        let color = match opening.tone {
            Tone::Calm => anstyle::AnsiColor::Green,
            Tone::Caution => anstyle::AnsiColor::Yellow,
            Tone::Alarm => anstyle::AnsiColor::Red,
        };
        let style = color.on_default().bold();
        let headline = opening.headline();
        let _ = writeln!(page, "Gate         {style}{headline}{style:#}");
        if let Some(lead) = &opening.lead {
            let is_red = !self.verdict.passed;
            let effect = if is_red { Effect::Fail } else { Effect::Warn };
            let lead = lead.show(|part, text| match part {
                PhrasePart::Name => format!("`{}`", safe::cut_middle(text, 60)),
                _ => format!("`{}`", safe::cut(text, 60)),
            });
            indented(&mut page, mark(Some(effect)), &lead);
        }
        for (effect, text) in self.verdict.shared_reasons().into_iter().take(5) {
            indented(&mut page, mark(effect), &text);
        }
        for list in &opening.answers {
            answers(&mut page, list, shown);
        }
        for caveat in &opening.caveats {
            indented(&mut page, mark(Some(Effect::Warn)), caveat);
        }
        for (id, metric) in self.verdict.shown() {
            let _ = writeln!(
                page,
                "  {:<30} {} to {}, {} ({})",
                safe::cut(id, 30) + sense(metric),
                value(metric.base),
                value(metric.head),
                change(metric),
                said(metric)
            );
        }
        for compared in self.comparisons.each().filter_map(ItemComparison::page) {
            page.push_str(&terminal::render_comparison(&compared));
        }
        indented(&mut page, " ", &self.provenance());
        for difference in &self.differences {
            indented(&mut page, "-", difference);
        }
        if let Some(drift) = &self.drift {
            indented(&mut page, "-", &drift.note());
        }
        for ignored in self.approval.iter().flat_map(|approval| &approval.ignored) {
            indented(&mut page, "-", ignored);
        }
        if let Some(again) = self.reproduce.as_ref().filter(|_| !self.asks_nothing()) {
            indented(
                &mut page,
                " ",
                &format!("To run it again {}:", again.place()),
            );
            // The command is on one line of any length, so that it can be copied.
            let _ = writeln!(page, "    {}", safe::line(&again.command(self)));
        }
        page
    }

    /// Whether nobody has to do anything.
    pub fn asks_nothing(&self) -> bool {
        self.verdict.passed && self.verdict.verdict.is_fine()
    }

    /// The source of the baseline in one line, with the earlier sources that could not be asked or read; without a
    /// baseline, every source and why it could not be used.
    pub fn provenance(&self) -> String {
        let tried = |tried: &[Tried]| -> Vec<String> {
            tried
                .iter()
                .map(|tried| format!("{}: {}", tried.source, tried.why))
                .collect()
        };
        match &self.base {
            Some(base) => {
                // A source without a report is not mentioned if another source has one.
                let before = base.tried.iter().filter(|tried| tried.unknown.is_some());
                let before: Vec<Tried> = before.cloned().collect();
                match before.is_empty() {
                    true => base.to_string(),
                    false => format!("{base}; {}", tried(&before).join("; ")),
                }
            }
            None if self.tried.is_empty() => "no baseline".to_owned(),
            None if self.verdict.verdict == Word::BaselineUnreachable => {
                format!("no baseline was reached; {}", tried(&self.tried).join("; "))
            }
            None => format!("no baseline; {}", tried(&self.tried).join("; ")),
        }
    }
}

/// The items with another answer, each with both answers on one line and the question on the next.
fn answers(page: &mut String, list: &AnswerList, shown: AnswersShown) {
    const ANSWER: usize = 32;
    let (most, elsewhere) = match shown {
        AnswersShown::First { others } => (LISTED, others),
        AnswersShown::All => (usize::MAX, "in the reports of both sides"),
    };
    for row in list.rows.iter().take(most) {
        let name = safe::cut_middle(&row.item, 24);
        let answer = |text: &str| safe::cut(text, ANSWER);
        let (base, head) = from_difference(&row.base, &row.head, ANSWER);
        let (base, head) = (answer(&base), answer(&head));
        let _ = match &row.expected {
            Some(expected) => {
                writeln!(
                    page,
                    "  {name}: {base} → {head} (expected {})",
                    answer(expected)
                )
            }
            None => writeln!(page, "  {name}: {base} → {head}"),
        };
        if let Some(asked) = &row.asked {
            let _ = writeln!(page, "      {}", safe::cut(asked, 72));
        }
    }
    let left = list.left + list.rows.len().saturating_sub(most);
    if left > 0 {
        let _ = writeln!(page, "  and {left} more, {elsewhere}");
    }
    for note in &list.notes {
        indented(page, "-", note);
    }
}

fn mark(effect: Option<Effect>) -> &'static str {
    match effect {
        Some(Effect::Fail) => "✗",
        Some(Effect::Warn) => "!",
        None => "·",
    }
}

/// A value with four decimals.
pub fn value(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

/// The verdict on a metric in one or two words, for people. A metric that cannot fail the gate is marked as only shown.
pub fn said(metric: &MetricVerdict) -> String {
    match metric.policy {
        Attention::Gate => metric.verdict.as_str().replace('_', " "),
        _ => "shown only".to_owned(),
    }
}

/// The difference between head and base, with its sign.
pub fn change(metric: &MetricVerdict) -> String {
    match (metric.base, metric.head) {
        (Some(base), Some(head)) => match format!("{:+.4}", head - base) {
            // After rounding, only the sign of the value may be left.
            none if none == "-0.0000" => "+0.0000".to_owned(),
            change => change,
        },
        _ => "-".to_owned(),
    }
}

/// A note on which value of a metric is the best, if a reader may think that it is the largest.
pub const fn sense(metric: &MetricVerdict) -> &'static str {
    match metric.lower_is_better {
        true => " (best 0)",
        false => "",
    }
}

/// A sentence whose parts between backticks are formatted as code, with everything escaped.
pub fn prose(text: &str) -> String {
    let space = |there: bool| if there { " " } else { "" };
    text.split('`')
        .enumerate()
        .filter(|(_, part)| !part.is_empty())
        .map(|(at, part)| match at % 2 {
            1 => safe::code(part, 120),
            _ => {
                let (before, after) = (part.starts_with(' '), part.ends_with(' '));
                let inner = safe::markdown(part, 400);
                format!("{}{inner}{}", space(before), space(after))
            }
        })
        .collect()
}

/// Adds a sentence to the page after a marker such as a dash, broken into lines of 80 columns.
fn indented(page: &mut String, mark: &str, text: &str) {
    const WIDTH: usize = 76;
    let mut lines = vec![String::new()];
    for word in safe::line(text).split(' ') {
        let last = lines.last_mut().expect("there is always one");
        if last.is_empty() {
            last.push_str(word);
        } else if safe::columns(last) + 1 + safe::columns(word) <= WIDTH {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    for (at, line) in lines.iter().enumerate() {
        let mark = if at == 0 { mark } else { " " };
        let _ = writeln!(page, "  {mark} {line}");
    }
}

/// The judgement of a change that cannot have made the pipeline worse, since it touches only harmless files. It is not
/// run, its figures are those of the base, and they come from the stored report of the base. `why`: the sentence that
/// says which files were touched.
pub fn unaffected(base: &Report, policy: &Policy, from: Provenance, why: &str) -> Judgement {
    let metrics = base.metrics.iter();
    let metrics = metrics.map(|(id, metric)| (id.clone(), as_on_the_base(id, metric, policy)));
    let verdict = Verdict {
        verdict: Word::Unaffected,
        passed: true,
        reasons: vec![Reason::new(ReasonCode::Unaffected, None, why.to_owned())],
        metrics: metrics.collect(),
        broken_cases: Vec::new(),
        answers: BTreeMap::new(),
        turnover: BTreeMap::new(),
        nouns: base.probes.nouns(),
        cannot_compute: false,
    };
    Judgement {
        base_invocations: Some(base.run.session.cost.invocations),
        ..Judgement::with_base(verdict, from)
    }
}

fn as_on_the_base(id: &str, metric: &Metric, policy: &Policy) -> MetricVerdict {
    MetricVerdict {
        verdict: Word::Unaffected,
        cause: Cause::Unaffected,
        policy: policy.attention_to(id, metric.gated),
        headline: metric.headline,
        lower_is_better: metric.direction == Direction::Lower,
        base: metric.value,
        head: metric.value,
        drop: metric.value.map(|_| 0.0),
        max_drop: policy.max_drop(id),
        at_least: None,
        confidence: None,
        at_most: None,
        detectable: None,
        resolution: None,
        // A change that touches only harmless files is not compared, so no case was judged.
        cases: 0,
        cells: 0,
        between_reports: None,
        lost: Vec::new(),
        coverage: CellCounts::default(),
        unpaired: false,
        is_thin: false,
        cannot_rerun: metric.cannot_rerun,
        is_at_worst: false,
        swaps: None,
        drivers: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> serde_json::Value {
        schemars::schema_for!(Judgement).to_value()
    }

    #[test]
    fn a_judgement_without_a_base_fits_the_schema_and_is_read_back() {
        let tried = vec![Tried {
            source: crate::provenance::Source::Tree,
            why: "no report".to_owned(),
            unknown: None,
        }];
        let verdict = Verdict::without_base(Word::NoBaseline, Effect::Warn, "there is `none`");
        let judgement = Judgement::without_base(verdict, tried);
        let value = serde_json::to_value(&judgement).expect("it is JSON");
        let validator = jsonschema::validator_for(&schema()).expect("it is a schema");
        assert!(validator.is_valid(&value), "{value}");
        assert!(!validator.is_valid(&serde_json::json!({ "schema_version": 1 })));
        assert_eq!(value["verdict"], "no_baseline");
    }

    #[test]
    fn hostile_names_stay_code_or_are_escaped() {
        use pulldown_cmark::{Event, Parser, Tag};

        let text = prose("`x`@team` see <img src=x> [a](http://e.org) ![b](c) | `y");
        for event in Parser::new(&text) {
            let forged = matches!(
                event,
                Event::Html(_)
                    | Event::InlineHtml(_)
                    | Event::Start(Tag::Link { .. } | Tag::Image { .. })
            );
            assert!(!forged, "{event:?} in {text}");
        }
        // A mention needs the name directly after the sign.
        assert!(!text.contains("@team") && !text.contains(" | "), "{text}");
    }

    #[test]
    fn two_answers_of_a_terminal_begin_where_they_differ() {
        let row = |text: &str| format!("node_025b413f-8a9a-021e-a648-a7dd06839eb9, {text}");
        let list = AnswerList {
            title: None,
            notes: Vec::new(),
            item: "query".to_owned(),
            rows: vec![kelvin_page::AnswerRow {
                item: "q1".to_owned(),
                asked: None,
                expected: None,
                base: row("first"),
                head: row("second"),
                hits: None,
                files: Vec::new(),
                beside: Vec::new(),
            }],
            left: 0,
        };
        let mut page = String::new();
        answers(&mut page, &list, AnswersShown::All);
        assert_eq!(
            page,
            "  q1: …-a648-a7dd06839eb9, first → …-a648-a7dd06839eb9, second\n"
        );
    }

    #[test]
    fn a_long_reason_is_wrapped_to_a_screen() {
        let mut page = String::new();
        indented(&mut page, "!", &"word ".repeat(60));
        assert!(page.lines().count() > 3);
        assert!(page.lines().all(|line| line.chars().count() <= 80));
    }
}
