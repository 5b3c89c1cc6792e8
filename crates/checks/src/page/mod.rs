//! The part of a page about the checks.

mod items;

use std::collections::BTreeMap;

use super::figures::RESERVED;
use super::record::{ChecksBasis, ChecksSection, Outcome, ScenarioRecord, ScenarioRun};
use super::scoring;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_base::notice::{Code, Notice};
use kelvin_page::{
    Block, Chapter, Column, FailedInvocation, FigureTable, Headword, Phrase, Statement, Table,
    TableRow, Tone, are, counted, listed, safe,
};
use kelvin_record::{Metric, estimate, spread};

/// How the figures are computed.
const NOTE: &str = "Means over all runs of all scenarios; a run with a check that is an error is in \
                    none of them.";
/// How many scenarios a text lists at most.
const LISTED: usize = 30;
/// How many ids a sentence names at most.
const NAMED: usize = 3;
/// How many characters of a reason are shown if there is little space.
const SHORT: usize = 160;
/// How many characters of a description are shown together with a reason, so that the reason is read too.
const DESCRIBED: usize = 80;

/// The part of the page of a whole run about the checks.
pub(super) fn chapter<'a>(
    section: &'a ChecksSection,
    metrics: &'a BTreeMap<String, Metric>,
) -> Chapter<'a> {
    let mut chapter = Chapter::new(Headword {
        word: "invariants",
        title: "Invariants",
        meaning: "how much of what must hold holds after a run",
        is_judgement: false,
    });
    chapter.scope = vec![
        counted(section.items.len(), "scenario"),
        counted(section.basis.invariants.len(), "invariant"),
    ];
    chapter.statements = statements(section);
    let rows = rows(section, metrics);
    chapter.spread = spread("composite", "scenarios", metrics.get("checks.composite"));
    chapter.measures = (!rows.is_empty()).then_some(FigureTable {
        in_bars: false,
        title: "Invariants",
        note: NOTE,
        rows,
    });
    chapter.lists = lacking(section).into_iter().collect();
    chapter.failed = failed(section);
    chapter.items = Some(items::items(section));
    chapter.notices = section
        .items
        .values()
        .flat_map(|scenario| &scenario.notices)
        .collect();
    chapter.method = vec![
        Block::Heading(Phrase::text("Invariants")),
        Block::Text(vec![Phrase::marked(&method(section))]),
    ];
    chapter
}

/// The most important statements for the reader.
fn statements(section: &ChecksSection) -> Vec<Statement> {
    let of = |wanted: Outcome| -> Vec<&str> {
        let items = section.items.iter();
        let these = items.filter(|(_, scenario)| {
            !scenario.runs.is_empty()
                && scoring::aggregated(&scenario.runs, &section.basis) == wanted
        });
        these.map(|(id, _)| id.as_str()).collect()
    };
    let total = section
        .items
        .values()
        .filter(|scenario| !scenario.runs.is_empty())
        .count();
    if total == 0 {
        return Vec::new();
    }
    let ids_named = |ids: &[&str]| -> Phrase {
        let shown = Phrase::text(": ").names(ids.iter().take(NAMED).copied());
        match ids.len().saturating_sub(NAMED) {
            0 => shown,
            more => shown.and(format!(" and {more} more")),
        }
    };
    let mut statements = Vec::new();
    let failed = of(Outcome::Failed);
    if let Some(first) = failed.first() {
        let what = format!(
            "{} of {} did not pass",
            failed.len(),
            counted(total, "scenario")
        );
        let mut text = Phrase::text(what).then(ids_named(&failed));
        let worst = |scenario| worst(section, scenario);
        if let Some(why) = section.items.get(*first).and_then(worst) {
            text = text.and("; in the first one ").then(why);
        }
        statements.push(Statement::new(Tone::Alarm, text));
    }
    let unknown = of(Outcome::Error);
    if !unknown.is_empty() {
        let what = format!(
            "it is not known whether {} of {} pass",
            unknown.len(),
            counted(total, "scenario")
        );
        let mut text = Phrase::text(what).then(ids_named(&unknown));
        let first = unknown.first().and_then(|first| section.items.get(*first));
        if let Some(why) = first.and_then(|scenario| unknowable(section, scenario)) {
            text = text.and("; in the first one ").then(why);
        }
        statements.push(Statement {
            // If no outcome of a run is known, this is an alarm.
            tone: match unknown.len() == total {
                true => Tone::Alarm,
                false => Tone::Caution,
            },
            text,
        });
    }
    let items = section.items.iter();
    let flaky: Vec<&str> = items
        .filter(|(_, scenario)| {
            let together = scoring::together(&scenario.runs, &section.basis);
            together.is_some_and(|together| together.is_flaky)
        })
        .map(|(id, _)| id.as_str())
        .collect();
    if !flaky.is_empty() {
        let are = are(flaky.len());
        let what = format!(
            "{} {are} flaky, passing in some runs and not in others",
            counted(flaky.len(), "scenario")
        );
        statements.push(Statement::new(
            Tone::Caution,
            Phrase::text(what).then(ids_named(&flaky)),
        ));
    }
    if statements.is_empty() {
        statements.push(Statement::new(
            Tone::Calm,
            Phrase::text(match total {
                1 => "the scenario passes".to_owned(),
                total => format!("all {total} scenarios pass"),
            }),
        ));
    }
    statements
}

/// The first run of a scenario that did not pass, as a sentence about its problem.
fn worst(section: &ChecksSection, scenario: &ScenarioRecord) -> Option<Phrase> {
    let run = scenario
        .runs
        .iter()
        .find(|run| run.outcome == Outcome::Failed)?;
    if let Some(what) = run.forbidden.first() {
        return Some(Phrase::default().quote(cut(what)));
    }
    let (name, check) = run
        .checks
        .iter()
        .find(|(_, check)| check.outcome == Outcome::Failed)?;
    Some(
        named(&section.basis, name)
            .and(" failed: ")
            .quote(cut(&check.reason)),
    )
}

/// The name of an invariant with its description: a reader of its failure need not know it by heart.
fn named(basis: &ChecksBasis, name: &str) -> Phrase {
    match description(basis, name) {
        Some(description) => Phrase::of_name(name).and(" (").quote(description).and(")"),
        None => Phrase::of_name(name),
    }
}

/// A short description of an invariant; none if it has no description, or if no invariant has this name.
fn description(basis: &ChecksBasis, name: &str) -> Option<String> {
    let invariant = basis.invariants.get(name)?;
    let description = safe::cut(&cut(&invariant.description), DESCRIBED);
    (!description.is_empty()).then_some(description)
}

/// The first run of a scenario that is an error, in a sentence about why its outcome is not known.
fn unknowable(section: &ChecksSection, scenario: &ScenarioRecord) -> Option<Phrase> {
    let mut runs = scenario.runs.iter();
    let run = runs.find(|run| run.outcome == Outcome::Error)?;
    if let Some(failure) = &run.failure {
        return Some(
            Phrase::text(format!("{} failed: ", what_failed(failure))).quote(cut(&failure.message)),
        );
    }
    let mut checks = run.checks.iter();
    let (name, check) = checks.find(|(_, check)| check.outcome == Outcome::Error)?;
    Some(
        named(&section.basis, name)
            .and(" is an error: ")
            .quote(cut(&check.reason)),
    )
}

/// The name of the failed part if a run did not finish.
fn what_failed(failure: &Failure) -> &'static str {
    match failure.kind {
        FailureKind::ServiceFailed => "a service",
        _ => "the pipeline",
    }
}

/// The figures with their names, first those of all checks.
fn rows<'a>(
    section: &'a ChecksSection,
    metrics: &'a BTreeMap<String, Metric>,
) -> Vec<(Phrase, kelvin_page::Estimate<'a>)> {
    let mut rows = Vec::new();
    let mut push = |name: &'a str, shown: Phrase| {
        if let Some(metric) = metrics.get(&format!("checks.{name}")) {
            rows.push((shown, estimate(Some(metric))));
        }
    };
    for name in RESERVED {
        push(name, Phrase::text(*name));
    }
    for (name, invariant) in &section.basis.invariants {
        let gate = if invariant.gate { "gate, " } else { "" };
        let aside = format!(" ({gate}weight {})", invariant.weight);
        push(name, Phrase::of_name(name).and(aside));
    }
    rows
}

/// The scenarios with a run that did not pass, each with its problem.
fn lacking(section: &ChecksSection) -> Option<Table> {
    let mut rows = Vec::new();
    for (id, scenario) in &section.items {
        let runs = scenario.runs.len();
        for (at, run) in scenario.runs.iter().enumerate() {
            if run.failure.is_some() {
                continue;
            }
            for wrong in wrong(run) {
                let which = match runs {
                    0 | 1 => String::new(),
                    _ => format!(", run {}", at + 1),
                };
                rows.push(TableRow::new([
                    Phrase::of_name(id).and(which),
                    match wrong.check {
                        Some(name) => named(&section.basis, name),
                        None => Phrase::text("forbidden"),
                    },
                    Phrase::text(wrong.outcome.as_str()),
                    Phrase::default().quote(cut(wrong.reason)),
                ]));
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: Phrase::text(format!("Checks that did not pass ({})", rows.len())),
        columns: vec![
            Column::text("scenario"),
            Column::text("invariant"),
            Column::text("outcome"),
            Column::text("why"),
        ],
        rows,
        most: Some(LISTED),
        noun: "row",
        left: 0,
        elsewhere: None,
    })
}

/// A problem of a run.
struct Wrong<'a> {
    /// The check that did not pass; none if the run made a forbidden action.
    check: Option<&'a str>,
    outcome: Outcome,
    reason: &'a str,
}

/// The problems of a run: the checks that did not pass, and its forbidden actions.
fn wrong(run: &ScenarioRun) -> impl Iterator<Item = Wrong<'_>> {
    let checks = run
        .checks
        .iter()
        .filter(|(_, check)| matches!(check.outcome, Outcome::Failed | Outcome::Error));
    let checks = checks.map(|(name, check)| Wrong {
        check: Some(name),
        outcome: check.outcome,
        reason: &check.reason,
    });
    let forbidden = run.forbidden.iter().map(|what| Wrong {
        check: None,
        outcome: Outcome::Failed,
        reason: what,
    });
    checks.chain(forbidden)
}

/// The runs in which the pipeline or a service failed.
fn failed(section: &ChecksSection) -> Vec<FailedInvocation<'_>> {
    let mut failed = Vec::new();
    for (id, scenario) in &section.items {
        for run in &scenario.runs {
            if let Some(failure) = &run.failure {
                failed.push(FailedInvocation {
                    item: id,
                    place: what_failed(failure),
                    failure,
                    // The workspace of the run no longer exists.
                    folder: None,
                });
            }
        }
    }
    failed
}

fn method(section: &ChecksSection) -> String {
    let basis = &section.basis;
    let threshold = match basis.pass_threshold {
        Some(threshold) => format!("A run passes from a composite of {threshold}"),
        None => "There is no `pass_threshold`: a run passes where every check does".to_owned(),
    };
    format!(
        "The composite of a run is the mean of the scores of its checks by their weights; it is 0 \
         where a gate does not hold. {threshold}. {NOTE}"
    )
}

/// Why an item has its result in a metric: the problem in its first bad run. The check comes first, with its
/// description, so that the sentence can follow the name of the scenario.
pub(super) fn why(section: &ChecksSection, item: &str, metric: &str) -> Option<String> {
    let scenario = section.items.get(item)?;
    let name = metric.strip_prefix("checks.")?;
    let is_of_all = RESERVED.contains(&name);
    let told = |run: &ScenarioRun| {
        if let Some(failure) = &run.failure {
            return is_of_all.then(|| failure.message.clone());
        }
        let mut wrong = wrong(run).filter(|wrong| is_of_all || wrong.check == Some(name));
        let first = wrong.next()?;
        let reason = cut(first.reason);
        let Some(check) = first.check else {
            return Some(format!("does what is forbidden: {reason}"));
        };
        let verb = match first.outcome {
            Outcome::Error => "cannot be judged by",
            _ => "fails",
        };
        let asks = match description(&section.basis, check) {
            Some(description) => format!(" ({description})"),
            None => String::new(),
        };
        Some(format!("{verb} `{check}`{asks}: {reason}"))
    };
    scenario.runs.iter().find_map(told)
}

/// Notices about the runs that are errors.
pub(super) fn notices(section: &ChecksSection) -> Vec<Notice> {
    let mut errors: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut warnings: BTreeMap<&str, (Vec<&str>, &str)> = BTreeMap::new();
    let mut failing = Vec::new();
    for (id, scenario) in &section.items {
        if scenario.runs.iter().any(|run| run.failure.is_some()) {
            failing.push(id.as_str());
        }
        for run in &scenario.runs {
            for (name, check) in &run.checks {
                if check.outcome == Outcome::Error {
                    errors.entry(name).or_default().push(id);
                }
                if let Some(first) = check.warnings().next() {
                    let (ids, _) = warnings.entry(name).or_insert((Vec::new(), first));
                    ids.push(id);
                }
            }
        }
    }
    let total = section.items.len();
    let mut notices = Vec::new();
    if !failing.is_empty() {
        let text = format!(
            "in {} of {total} scenarios the pipeline or a service failed; no check was made there: {}",
            failing.len(),
            listed(&failing)
        );
        notices.push(Notice::new(Code::own("scenarios_failed"), text));
    }
    for (name, mut ids) in errors {
        ids.dedup();
        let text = format!(
            "the check `{name}` is an error in {} of {total} scenarios, whose composite is not \
             known: {}",
            ids.len(),
            listed(&ids)
        );
        notices.push(Notice::new(Code::own("check_errors"), text));
    }
    for (name, (mut ids, first)) in warnings {
        ids.dedup();
        let text = format!(
            "the check `{name}` warns in {} of {total} scenarios ({}): {}",
            ids.len(),
            listed(&ids),
            cut(first)
        );
        notices.push(Notice::new(Code::own("check_warnings"), text));
    }
    notices
}

/// A reason, shortened for a place with little space.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHORT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Aggregation;
    use crate::record::{CheckResult, InvariantBasis};
    use kelvin_base::digest::Digest;
    use kelvin_record::{Ending, SectionFingerprint};

    /// A section with one scenario, whose run failed the one check there is.
    fn section(description: &str, reason: &str) -> ChecksSection {
        let check = CheckResult {
            outcome: Outcome::Failed,
            score: Some(0.0),
            reason: reason.to_owned(),
            details: None,
            judged: None,
        };
        let run = ScenarioRun {
            outcome: Outcome::Failed,
            composite: Some(0.0),
            checks: BTreeMap::from([("mail_sent".to_owned(), check)]),
            output: None,
            calls: None,
            events: None,
            forbidden: Vec::new(),
            failure: None,
        };
        let invariant = InvariantBasis {
            description: description.to_owned(),
            weight: 1.0,
            gate: false,
            own: false,
            judge: None,
        };
        let scenario = ScenarioRecord {
            input: Digest::of(b""),
            prompt: String::new(),
            expected: None,
            params: BTreeMap::new(),
            runs: vec![run],
            notices: Vec::new(),
        };
        ChecksSection {
            ending: Ending::Complete,
            fingerprint: SectionFingerprint {
                items: None,
                command: None,
            },
            basis: ChecksBasis {
                invariants: BTreeMap::from([("mail_sent".to_owned(), invariant)]),
                pass_threshold: None,
                gate_strict: false,
                replicas: 1,
                replica_aggregation: Aggregation::All,
            },
            items: BTreeMap::from([("refund-3".to_owned(), scenario)]).into(),
        }
    }

    #[test]
    fn what_failed_is_told_by_its_name_and_what_it_asks_for_and_the_reason_is_always_there() {
        let mut section = section("a mail goes to the customer", "there was none");
        let told = "fails `mail_sent` (a mail goes to the customer): there was none";
        for metric in ["checks.composite", "checks.pass_rate", "checks.mail_sent"] {
            assert_eq!(why(&section, "refund-3", metric).as_deref(), Some(told));
        }
        assert_eq!(why(&section, "refund-3", "checks.other"), None);
        let runs = &mut section.items.get_mut("refund-3").expect("it is there").runs;
        runs[0].checks.clear();
        runs[0].forbidden.push("it wrote `x`".to_owned());
        let told = why(&section, "refund-3", "checks.composite");
        insta::assert_snapshot!(told.as_deref().expect("it is told"), @"does what is forbidden: it wrote `x`");
    }

    #[test]
    fn a_description_without_an_end_leaves_room_for_the_reason() {
        let section = section(&"long ".repeat(1000), "there was none");
        let told = why(&section, "refund-3", "checks.composite").expect("it failed");
        insta::assert_snapshot!(told, @"fails `mail_sent` (long long long long long long long long long long long long long long long long…): there was none");
        assert!(told.chars().count() < 140, "{told}");
    }
}
