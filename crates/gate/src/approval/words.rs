//! The texts of a request for approval.

use std::fmt::Write as _;

use super::{Approval, State};
use kelvin_record::approval::WRITERS;

/// How many regressions one sentence names at most.
const NAMED: usize = 3;

pub(super) fn sentence(approval: &Approval) -> String {
    let what = named(approval);
    let last_good = &approval.last_good;
    let decided = |verb: &str| match &approval.decision {
        None => verb.to_owned(),
        Some(decision) => {
            let reason = match decision.reason.as_str() {
                "" => String::new(),
                reason => format!(": \"{}\"", reason.replace('`', "'")),
            };
            format!(
                "{verb} by `{}` with a {} on `{}`{reason}",
                decision.by, decision.way, decision.at
            )
        }
    };
    match approval.state {
        State::Pending => {
            let asked = match (&approval.deadline, &approval.origin) {
                (Some(deadline), _) => format!(", until `{deadline}`"),
                (None, Some(_)) => String::new(),
                (None, None) => ", on the pull request".to_owned(),
            };
            let mut text = format!(
                "waiting for approval of {what}: {} {}{asked}; without a decision it fails",
                who(approval),
                how(approval)
            );
            for unknown in &approval.unknown {
                let _ = write!(text, "; {unknown}");
            }
            text
        }
        State::Approved => format!("{what}: {}", decided("approved")),
        State::Rejected => format!(
            "{what}: {}; the last good version is {last_good}",
            decided("rejected")
        ),
        State::TimedOut => format!(
            "{what}: nobody decided until `{}`, so it fails; a new commit asks again, and the last good \
             version is {last_good}",
            approval
                .deadline
                .as_deref()
                .unwrap_or("the end of the time")
        ),
    }
}

/// The regressions in words; only the first of them are named.
fn named(approval: &Approval) -> String {
    let all = &approval.request.regressions;
    let mut names: Vec<String> = all.iter().take(NAMED).map(|one| one.words()).collect();
    if all.len() > NAMED {
        names.push(format!("{} more", all.len() - NAMED));
    }
    names.join(", ")
}

pub(super) fn who(approval: &Approval) -> String {
    let names: Vec<String> = approval
        .rules
        .by
        .iter()
        .map(|name| match name.as_str() {
            WRITERS => "whoever may push to the repository".to_owned(),
            name if name.contains('/') => format!("the team `{name}`"),
            name => format!("`{name}`"),
        })
        .collect();
    names.join(" or ")
}

pub(super) fn how(approval: &Approval) -> String {
    // Without a pull request, there is no request to name.
    let id = match approval.origin {
        Some(_) => format!("{} ", approval.id),
        None => String::new(),
    };
    let by_comment = approval
        .rules
        .comment
        .then(|| format!("comments `/kelvin approve {id}REASON`"));
    let label = approval.rules.label.as_ref();
    let by_label = label.map(|label| format!("adds the label `{}`", label.replace('`', "'")));
    let ways: Vec<String> = by_comment.into_iter().chain(by_label).collect();
    ways.join(" or ")
}
