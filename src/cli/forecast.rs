//! `kelvin check --forecast`: the cost of a check, as a table.

use std::fmt::Write as _;

use crate::check::{Bill, Spent};
use kelvin_page::{capitalized, counted, duration, safe};
use kelvin_record::JudgeTrialCost;

/// The bill for a terminal.
pub(super) fn page(bill: &Bill) -> String {
    let kinds = bill.calls_by.iter().filter(|(_, count)| **count > 0);
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let mut page = format!(
        "{}: {}\n\n  {:<28}  {:>9}  {:>10}  {:>12}  {:>10}\n",
        counted(bill.check.calls, "call"),
        kinds.join(", "),
        "",
        "calls",
        "time",
        "tokens",
        "US dollars"
    );
    for (name, spent) in [
        ("check, gate without re-runs", &bill.check),
        ("gate with re-runs, at most", &bill.gate_at_most),
    ] {
        page.push_str(&row(name, spent));
    }
    page.push('\n');
    match &bill.call {
        Some(call) => {
            let _ = writeln!(
                page,
                "By run {} of {}, {} a call, {} at the same time.",
                safe::cut(&call.run, 12),
                safe::cut(call.time.get(..10).unwrap_or(&call.time), 10),
                each(call.seconds),
                counted(bill.jobs, "call")
            );
        }
        None => page.push_str(
            "No run of this configuration is recorded, so the time of a call is not known yet.\n",
        ),
    }
    if bill.check.usd.is_none() {
        page.push_str(
            "The price of a call is not known: add `--usd-per-call 0.002`, or give the model its prices in \
             `kelvin.yaml`.\n",
        );
    }
    page.push_str(
        "Answers from the cache cost nothing, calls of judges come on top. A gate runs again only what it cannot \
         tell from noise, and `gate.budget` limits it.\n",
    );
    if let Some(trial) = &bill.judge_trial {
        let _ = writeln!(page, "{}", of_trial(trial));
    }
    for unseen in bill.unseen.iter().flatten() {
        let _ = writeln!(page, "{}.", capitalized(&unseen.sentence()));
    }
    page
}

/// The cost of testing the judge in a gate.
fn of_trial(trial: &JudgeTrialCost) -> String {
    let calls = |grades: usize| counted(grades * trial.calls_each, "call");
    format!(
        "A gate also tries the judge of `grading` by planted answers: {} where nobody has tried this judge yet ({}), \
         {} where it proved itself in the run of the base ({}).",
        counted(trial.new, "grade"),
        calls(trial.new),
        trial.known,
        calls(trial.known)
    )
}

fn row(name: &str, spent: &Spent) -> String {
    let shown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "  {name:<28}  {:>9}  {:>10}  {:>12}  {:>10}\n",
        spent.calls,
        shown(spent.seconds.map(duration)),
        shown(spent.tokens.map(|tokens| tokens.to_string())),
        shown(spent.usd.map(|usd| format!("{usd:.2}")))
    )
}

/// The time of a call, which may be milliseconds or minutes.
fn each(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.95 => format!("{:.0} ms", seconds * 1000.0),
        seconds => duration(seconds),
    }
}
