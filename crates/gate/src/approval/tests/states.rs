//! The states of a request: what leads from one to another, and what each tells a reader.

use super::*;
use crate::fixtures::text::redacted;

#[test]
fn time_alone_fails_and_never_approves() {
    let timeout = rules().timeout_s;
    assert_eq!(decided(&[], timeout).state, State::Pending);
    assert_eq!(decided(&[], timeout + 1).state, State::TimedOut);
    let outsider = deed("eve", Act::Approve, 60);
    assert_eq!(decided(&[outsider], 10 * timeout).state, State::TimedOut);
    // Who decided in time has decided, however late somebody looks.
    let approval = decided(&[deed("alice", Act::Approve, 60)], 10 * timeout);
    assert_eq!(approval.state, State::Approved);
}

#[test]
fn only_what_is_pending_becomes_something_else() {
    use State::{Approved, Pending, Rejected, TimedOut};
    for next in [Pending, Approved, Rejected, TimedOut] {
        assert_eq!(Pending.then(next), next);
        for terminal in [Approved, Rejected, TimedOut] {
            assert_eq!(terminal.then(next), terminal);
        }
    }
}

#[test]
fn every_state_says_who_and_what_to_do_in_its_first_sentence() {
    let pending = decided(&[], 60).sentence();
    insta::assert_snapshot!(redacted(&pending), @"waiting for approval of `evidence.invariance` 0.9000 → 0.8000: `alice` or `bob` or the team `acme/leads` comments `/kelvin approve REASON` or adds the label `kelvin-approved`, until `[TIME]`; without a decision it fails");
    let approved = decided(&[deed("alice", Act::Approve, 60)], HOUR).sentence();
    insta::assert_snapshot!(redacted(&approved), @r#"`evidence.invariance` 0.9000 → 0.8000: approved by `alice` with a comment on `[TIME]`: "because""#);
    let rejected = decided(&[deed("bob", Act::Reject, 60)], HOUR).sentence();
    insta::assert_snapshot!(redacted(&rejected), @r#"`evidence.invariance` 0.9000 → 0.8000: rejected by `bob` with a comment on `[TIME]`: "because"; the last good version is the commit `b`"#);
    let late = decided(&[], 73 * HOUR).sentence();
    insta::assert_snapshot!(redacted(&late), @"`evidence.invariance` 0.9000 → 0.8000: nobody decided until `[TIME]`, so it fails; a new commit asks again, and the last good version is the commit `b`");
}
