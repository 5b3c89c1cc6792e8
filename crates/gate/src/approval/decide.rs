//! Decides about a request, by the actions of people and their rights.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{DeciderStanding, Rights, Rules};
use super::{Approval, Decided, State};
use kelvin_base::clock::of_seconds;

/// An action on the pull request, as GitHub reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The person's name on GitHub.
    pub by: String,
    /// Whether a person did it by hand, not a bot or an app in a person's name.
    pub is_person: bool,
    /// The time in seconds since the epoch, by GitHub's clock.
    pub at: i64,
    /// The act.
    pub act: Act,
    /// The id of the request in a comment; none if the comment has no id, and for a label.
    pub names: Option<String>,
    /// The reason in a comment.
    pub reason: String,
    /// Whether the comment was changed after it was written.
    pub is_edited: bool,
}

/// The actions that can decide about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A comment that approves.
    Approve,
    /// A comment that rejects.
    Reject,
    /// The label that approves was added.
    Label,
    /// The label that approves was removed.
    Unlabel,
}

/// A request for another configuration about the same commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherRequest {
    /// Its id.
    pub id: String,
    /// The time of the request, in seconds since the epoch, by GitHub's clock.
    pub at: i64,
}

/// The facts about a request from GitHub, except for the rights of people.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The id of the request.
    pub id: String,
    /// The time of the request, in seconds since the epoch, by GitHub's clock.
    pub asked_at: i64,
    /// The other requests about the same commit.
    pub others: Vec<OtherRequest>,
    /// The current time by GitHub's clock.
    pub now: i64,
    /// The authors of the change, in lower case.
    pub authors: BTreeSet<String>,
    /// Whether the label that approves is on the pull request now.
    pub is_labelled: bool,
    /// The actions of people, in the order in which they happened.
    pub deeds: Vec<Deed>,
}

/// The actions that decide if their authors have the right to, and sentences about why the other actions do not count.
pub fn eligible<'a>(rules: &Rules, facts: &'a Facts) -> (Vec<&'a Deed>, Vec<String>) {
    let deadline = facts.asked_at.saturating_add(rules.timeout_s);
    let last_unlabel = facts
        .deeds
        .iter()
        .rposition(|deed| deed.act == Act::Unlabel);
    let last_label = facts.deeds.iter().rposition(|deed| deed.act == Act::Label);
    let (mut found, mut ignored) = (Vec::new(), Vec::new());
    for (at, deed) in facts.deeds.iter().enumerate() {
        let is_label = match deed.act {
            Act::Unlabel => continue,
            // A label is either present or not: how often it was added before does not matter.
            Act::Label if last_label != Some(at) => continue,
            Act::Label if rules.label.is_none() => continue,
            Act::Label => true,
            Act::Approve | Act::Reject => false,
        };
        let names = deed.names.as_deref();
        let is_of_another = facts.others.iter().any(|other| Some(&*other.id) == names);
        if is_of_another && names != Some(&*facts.id) {
            continue;
        }
        // An action that names no request belongs to the only request that was open at that time. If several were open,
        // nobody knows which one the person had read. A rejection must never be ignored, so it counts for all of them.
        let waiting = facts.others.iter().filter(|other| other.at <= deed.at);
        let is_unclear = names.is_none() && deed.act != Act::Reject && waiting.count() > 0;
        let is_author = || facts.authors.contains(&deed.by.to_lowercase());
        let why = if is_label && last_unlabel > Some(at) {
            "the label was taken off again"
        } else if is_label && !facts.is_labelled {
            "the label is not on the pull request any more"
        } else if !deed.is_person {
            "a bot or an app did it, and only a person may"
        } else if deed.is_edited {
            "the comment was changed after it was written; write a new one"
        } else if deed.at <= facts.asked_at {
            match is_label {
                true => "the label was there before this was asked; take it off and add it again",
                false => "it is older than this request",
            }
        } else if is_unclear {
            match (is_label, rules.comment) {
                (false, _) => {
                    "several requests wait for a decision about this commit, and it names none of them; write the id \
                     of one behind the command"
                }
                (true, true) => {
                    "several requests wait for a decision about this commit, and a label names none of them; write a \
                     comment with the id of one"
                }
                (true, false) => {
                    "several requests wait for a decision about this commit, and a label names none of them; have the \
                     base branch allow comments (`gate.approval.how`)"
                }
            }
        } else if names.is_some_and(|names| names != facts.id) {
            "it names a request that there is not"
        } else if deed.at > deadline {
            "it came after the time for a decision was over"
        } else if deed.act == Act::Approve && !rules.comment {
            "a comment does not approve here (`gate.approval.how`)"
        } else if !is_label && deed.reason.is_empty() {
            "it gives no reason"
        } else if rules.not_author && is_author() {
            "whoever wrote the change may not decide about it (`gate.approval.not_author`)"
        } else {
            found.push(deed);
            continue;
        };
        ignored.push(sentence(deed, why));
    }
    (found, ignored)
}

/// Decides about the request. A rejection is stronger than an approval, whichever came first: if two people with the
/// right to decide disagree, there is no agreement. Among several equal decisions the first one counts.
pub fn decide(approval: &mut Approval, facts: &Facts, rights: &BTreeMap<String, Rights>) {
    let rules = approval.rules.clone();
    let (found, ignored) = eligible(&rules, facts);
    approval.ignored = ignored;
    let mut counting = Vec::new();
    // A possible rejection must not be ignored.
    let mut may_be_rejected = false;
    for deed in found {
        match rules.standing(&deed.by, rights.get(&deed.by.to_lowercase())) {
            DeciderStanding::May => counting.push(deed),
            DeciderStanding::MayNot(why) => {
                approval
                    .ignored
                    .push(sentence(deed, &format!("`{}` {why}", deed.by)));
            }
            DeciderStanding::Unknown(why) => {
                may_be_rejected |= deed.act == Act::Reject;
                let why = format!("whether `{}` may decide is not known: {why}", deed.by);
                approval.unknown.push(sentence(deed, &why));
            }
        }
    }
    let deadline = facts.asked_at.saturating_add(rules.timeout_s);
    approval.asked_at = Some(of_seconds(facts.asked_at));
    approval.deadline = Some(of_seconds(deadline));
    let rejections = counting.iter().filter(|deed| deed.act == Act::Reject);
    let approvals = counting.iter().filter(|deed| deed.act != Act::Reject);
    for deed in rejections.chain(approvals.filter(|_| !may_be_rejected)) {
        let next = match deed.act {
            Act::Reject => State::Rejected,
            Act::Approve | Act::Label | Act::Unlabel => State::Approved,
        };
        let state = approval.state.then(next);
        if state != approval.state {
            approval.state = state;
            approval.decision = Some(Decided {
                by: deed.by.clone(),
                way: way(deed.act).to_owned(),
                at: of_seconds(deed.at),
                reason: deed.reason.clone(),
            });
        }
    }
    if facts.now > deadline {
        approval.state = approval.state.then(State::TimedOut);
    }
}

const fn way(act: Act) -> &'static str {
    match act {
        Act::Approve | Act::Reject => "comment",
        Act::Label | Act::Unlabel => "label",
    }
}

fn sentence(deed: &Deed, why: &str) -> String {
    let what = match deed.act {
        Act::Approve => "the approval",
        Act::Reject => "the rejection",
        Act::Label | Act::Unlabel => "the label",
    };
    format!("{what} of `{}` does not count: {why}", deed.by)
}
