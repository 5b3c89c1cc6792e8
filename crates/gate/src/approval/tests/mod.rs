//! Requests whose right answer is known.

use std::collections::{BTreeMap, BTreeSet};

mod covered;
mod states;

use super::*;

const ASKED: i64 = 1_000_000;
const HOUR: i64 = 3_600;

fn rules() -> Rules {
    Rules {
        by: vec![
            "alice".to_owned(),
            "bob".to_owned(),
            "acme/leads".to_owned(),
        ],
        label: Some("kelvin-approved".to_owned()),
        comment: true,
        timeout_s: 72 * HOUR,
        not_author: true,
    }
}

fn regressed(metric: &str, drop: f64) -> Regressed {
    Regressed {
        metric: metric.to_owned(),
        case: None,
        base: Some(0.9),
        head: Some(0.9 - drop),
        drop: Some(drop),
        within: 0.05,
        suspected: false,
    }
}

fn request(regressions: Vec<Regressed>) -> Request {
    Request {
        head: "a".repeat(40),
        base: "b".repeat(40),
        regressions,
    }
}

fn deed(by: &str, act: Act, after: i64) -> Deed {
    Deed {
        by: by.to_owned(),
        is_person: true,
        at: ASKED + after,
        act,
        reason: match act {
            Act::Approve | Act::Reject => "because".to_owned(),
            Act::Label | Act::Unlabel => String::new(),
        },
        names: None,
        is_edited: false,
    }
}

fn may(permission: &str) -> Rights {
    Rights {
        permission: Ok(permission.to_owned()),
        teams: BTreeMap::new(),
    }
}

/// Who may what, unless a test says otherwise: `carol` and `dave` may push, and `dave` is a lead.
fn everybody() -> BTreeMap<String, Rights> {
    let team = |is: bool| BTreeMap::from([("acme/leads".to_owned(), Ok(is))]);
    BTreeMap::from([
        ("alice".to_owned(), may("write")),
        ("bob".to_owned(), may("admin")),
        ("eve".to_owned(), may("read")),
        (
            "carol".to_owned(),
            Rights {
                teams: team(false),
                ..may("write")
            },
        ),
        (
            "dave".to_owned(),
            Rights {
                teams: team(true),
                ..may("write")
            },
        ),
        ("author".to_owned(), may("admin")),
    ])
}

fn decided(deeds: &[Deed], now: i64) -> Approval {
    decided_by(deeds, now, &rules(), &everybody())
}

fn decided_by(
    deeds: &[Deed],
    now: i64,
    rules: &Rules,
    rights: &BTreeMap<String, Rights>,
) -> Approval {
    let asked = request(vec![regressed("evidence.invariance", 0.1)]);
    let mut approval = Approval::pending(asked, rules.clone(), "the commit `b`".to_owned());
    let facts = Facts {
        id: approval.id.clone(),
        asked_at: ASKED,
        others: Vec::new(),
        now: ASKED + now,
        authors: BTreeSet::from(["author".to_owned()]),
        is_labelled: true,
        deeds: deeds.to_vec(),
    };
    decide(&mut approval, &facts, rights);
    approval
}

#[test]
fn who_may_decide_decides_and_nobody_else_does() {
    for (by, state) in [
        ("alice", State::Approved),
        ("Alice", State::Approved),
        ("bob", State::Approved),
        ("dave", State::Approved),
        ("carol", State::Pending),
        ("eve", State::Pending),
        ("author", State::Pending),
        ("nobody", State::Pending),
    ] {
        for act in [Act::Approve, Act::Label] {
            let approval = decided(&[deed(by, act, 60)], HOUR);
            assert_eq!(approval.state, state, "{by} {act:?}");
            let told = approval.ignored.len() + approval.unknown.len();
            assert_eq!(
                told,
                usize::from(state == State::Pending),
                "{by} is told why"
            );
        }
        let rejected = decided(&[deed(by, Act::Reject, 60)], HOUR);
        let expected = match state {
            State::Approved => State::Rejected,
            other => other,
        };
        assert_eq!(rejected.state, expected, "{by}");
    }
    let everyone = Rules {
        by: vec!["write".to_owned()],
        ..rules()
    };
    let by = |who: &str| {
        decided_by(
            &[deed(who, Act::Approve, 60)],
            HOUR,
            &everyone,
            &everybody(),
        )
    };
    assert_eq!(by("carol").state, State::Approved);
    assert_eq!(by("eve").state, State::Pending);
    assert_eq!(by("author").state, State::Pending);
    let alone = Rules {
        not_author: false,
        ..everyone.clone()
    };
    let own = decided_by(
        &[deed("author", Act::Approve, 60)],
        HOUR,
        &alone,
        &everybody(),
    );
    assert_eq!(own.state, State::Approved);
}

#[test]
fn a_right_that_was_lost_and_one_that_cannot_be_asked_about_approve_nothing() {
    for (rights, is_unknown) in [
        (may("read"), false),
        (may("none"), false),
        (may("triage"), false),
        (
            Rights {
                permission: Err("GitHub answered 500".to_owned()),
                ..may("")
            },
            true,
        ),
    ] {
        let all = BTreeMap::from([("alice".to_owned(), rights)]);
        let approval = decided_by(&[deed("alice", Act::Approve, 60)], HOUR, &rules(), &all);
        assert_eq!(approval.state, State::Pending);
        assert_eq!(
            !approval.unknown.is_empty(),
            is_unknown,
            "{:?}",
            approval.unknown
        );
    }
    // A team that cannot be seen, and one that nobody asked about.
    let blind = BTreeMap::from([("acme/leads".to_owned(), Err("403".to_owned()))]);
    for teams in [blind, BTreeMap::new()] {
        let all = BTreeMap::from([(
            "carol".to_owned(),
            Rights {
                teams,
                ..may("write")
            },
        )]);
        let approval = decided_by(&[deed("carol", Act::Label, 60)], HOUR, &rules(), &all);
        assert_eq!(approval.state, State::Pending);
        assert_eq!(approval.unknown.len(), 1);
    }
    // What may be a rejection is not passed over.
    let mut all = everybody();
    let unknown = Rights {
        permission: Err("GitHub answered 500".to_owned()),
        ..may("")
    };
    all.insert("bob".to_owned(), unknown);
    let deeds = [
        deed("alice", Act::Approve, 60),
        deed("bob", Act::Reject, 70),
    ];
    assert_eq!(
        decided_by(&deeds, HOUR, &rules(), &all).state,
        State::Pending
    );
}

#[test]
fn what_is_older_later_edited_or_done_by_a_machine_does_not_count() {
    let late = rules().timeout_s;
    let good = deed("alice", Act::Approve, 60);
    for (wrong, why) in [
        (
            Deed {
                at: ASKED,
                ..good.clone()
            },
            "in the same second",
        ),
        (
            Deed {
                at: ASKED - 1,
                ..good.clone()
            },
            "older",
        ),
        (
            Deed {
                at: ASKED + late + 1,
                ..good.clone()
            },
            "too late",
        ),
        (
            Deed {
                is_edited: true,
                ..good.clone()
            },
            "edited",
        ),
        (
            Deed {
                is_person: false,
                ..good.clone()
            },
            "a bot",
        ),
        (
            Deed {
                reason: String::new(),
                ..good.clone()
            },
            "no reason",
        ),
    ] {
        let approval = decided(&[wrong], HOUR);
        assert_eq!(
            (approval.state, approval.ignored.len()),
            (State::Pending, 1),
            "{why}"
        );
    }
    let last = Deed {
        at: ASKED + late,
        ..good
    };
    assert_eq!(
        decided(&[last], late).state,
        State::Approved,
        "at the last second"
    );
}

#[test]
fn a_label_counts_while_it_is_there_and_only_if_it_was_added_after_the_question() {
    let label = |at| deed("alice", Act::Label, at);
    let off = |at| deed("eve", Act::Unlabel, at);
    for (deeds, state, what) in [
        (vec![label(60)], State::Approved, "added"),
        (vec![label(-60)], State::Pending, "there before"),
        (vec![label(60), off(70)], State::Pending, "taken off"),
        (
            vec![label(60), off(60)],
            State::Pending,
            "taken off in the same second",
        ),
        (
            vec![label(-60), off(60), label(70)],
            State::Approved,
            "taken off and added again",
        ),
        (
            vec![label(60), off(70), label(80)],
            State::Approved,
            "added once more",
        ),
    ] {
        assert_eq!(decided(&deeds, HOUR).state, state, "{what}");
    }
    let no_label = Rules {
        label: None,
        ..rules()
    };
    let approval = decided_by(&[label(60)], HOUR, &no_label, &everybody());
    assert_eq!(approval.state, State::Pending);
    let no_comment = Rules {
        comment: false,
        ..rules()
    };
    let by = |act| decided_by(&[deed("alice", act, 60)], HOUR, &no_comment, &everybody()).state;
    assert_eq!(by(Act::Approve), State::Pending);
    assert_eq!(
        by(Act::Reject),
        State::Rejected,
        "a comment can always reject"
    );
}

#[test]
fn a_rejection_counts_before_an_approval_in_whatever_order_they_came() {
    let approve = |at| deed("alice", Act::Approve, at);
    let reject = |at| deed("bob", Act::Reject, at);
    for deeds in [
        vec![approve(60), reject(70)],
        vec![reject(60), approve(70)],
        vec![approve(60), reject(60)],
        vec![deed("alice", Act::Label, 60), reject(70), approve(80)],
    ] {
        let approval = decided(&deeds, HOUR);
        assert_eq!(approval.state, State::Rejected, "{deeds:?}");
        assert_eq!(approval.decision.map(|one| one.by), Some("bob".to_owned()));
    }
    // A rejection by somebody who may not holds nobody up.
    let deeds = [
        deed("eve", Act::Reject, 60),
        deed("alice", Act::Approve, 70),
    ];
    assert_eq!(decided(&deeds, HOUR).state, State::Approved);
    // Of two approvals the first is named.
    let deeds = [
        deed("bob", Act::Approve, 60),
        deed("alice", Act::Approve, 70),
    ];
    assert_eq!(
        decided(&deeds, HOUR).decision.map(|one| one.by),
        Some("bob".to_owned())
    );
}
