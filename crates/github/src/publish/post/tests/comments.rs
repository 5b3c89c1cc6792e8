//! One comment, whoever else writes and whatever GitHub answers.

use super::*;
use crate::fake::{APP, Fault, PERSON, TOKEN};
use crate::tests::client;

const KEY: &str = "Kelvin / check / rag";

fn sticky(mode: CommentMode, quiet: bool, stamp: &CommentStamp) -> Sticky<'_> {
    Sticky {
        pull_request: PULL,
        key: KEY,
        mode,
        stamp,
        quiet,
        keeps: KeptComments::Nothing,
    }
}

fn marked(run: u64, text: &str) -> String {
    format!(
        "{}{text}",
        super::super::comment::write_marker(KEY, &stamp(run, 1))
    )
}

#[test]
fn act_08_the_first_run_writes_a_comment_and_the_next_one_changes_it() {
    for token in [TOKEN, PERSON] {
        let server = Server::start();
        let (client, _) = client(&server, token);
        let first = post(&client, KEY, &stamp(1, 1), "one").expect("posted");
        assert!(matches!(first, Posted::Created(_)));
        let second = post(&client, KEY, &stamp(2, 1), "two").expect("posted");
        assert!(matches!(second, Posted::Updated(_)));
        assert_eq!(first.url(), second.url());
        assert_eq!(bodies(&server), ["two"]);
    }
}

#[test]
fn two_keys_are_two_comments_and_a_shorter_key_is_no_part_of_a_longer_one() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    for key in ["a", "a b", "a b c", "A", "a -->"] {
        post(&client, key, &stamp(1, 1), key).expect("posted");
    }
    post(&client, "a b", &stamp(2, 1), "again").expect("posted");
    assert_eq!(bodies(&server), ["a", "again", "a b c", "A", "a -->"]);
}

#[test]
fn our_comment_is_found_behind_250_others_within_a_few_requests() {
    let server = Server::start();
    for number in 0..250 {
        server.state().add_comment("somebody", &format!("{number}"));
    }
    server
        .state()
        .add_comment("github-actions[bot]", &marked(1, "old"));
    let (client, _) = client(&server, TOKEN);
    let posted = post(&client, KEY, &stamp(2, 1), "new").expect("posted");
    assert!(matches!(posted, Posted::Updated(_)));
    assert_eq!(bodies(&server).last().map(String::as_str), Some("new"));
    assert_eq!((bodies(&server).len(), client.requests()), (251, 6));
}

#[test]
fn somebody_else_s_comment_with_our_marker_is_left_alone() {
    let server = Server::start();
    let theirs = marked(9, "I am the bot");
    server.state().add_comment("mallory", &theirs);
    server
        .state()
        .add_comment("github-actions[bot]", &format!("quoting:\n{theirs}"));
    let (client, _) = client(&server, TOKEN);
    let posted = post(&client, KEY, &stamp(1, 1), "ours").expect("posted");
    assert!(matches!(posted, Posted::Created(_)));
    assert_eq!(bodies(&server), ["I am the bot", "I am the bot", "ours"]);
    assert_eq!(server.state().count("PATCH", ""), 0);
}

#[test]
fn the_token_of_another_app_finds_its_comment_too() {
    let server = Server::start();
    let (client, _) = client(&server, APP);
    for run in 1..4 {
        post(&client, KEY, &stamp(run, 1), &format!("run {run}")).expect("posted");
        assert_eq!(bodies(&server), [format!("run {run}")]);
    }
}

#[test]
fn a_token_of_another_app_writes_no_second_comment_and_leaves_no_red_one() {
    let server = Server::start();
    let (client, _) = client(&server, APP);
    post(&client, KEY, &stamp(1, 1), "red").expect("posted");
    let before = server.state().count("POST", "/comments");
    post(&client, KEY, &stamp(2, 1), "red again").expect("posted");
    let stamp = stamp(3, 1);
    let posted = comment(
        &client,
        &sticky(CommentMode::OnChange, true, &stamp),
        &mut |_| "green".to_owned(),
    );
    assert!(matches!(posted.expect("posted"), Posted::Updated(_)));
    assert_eq!(bodies(&server), ["green"]);
    assert_eq!(server.state().count("POST", "/comments"), before);
    assert_eq!(server.state().count("DELETE", ""), 0);
}

#[test]
fn a_comment_that_was_deleted_in_between_is_made_anew() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let gone = server
        .state()
        .add_comment("github-actions[bot]", &marked(1, "old"));
    let fault = Fault::status("PATCH", "/issues/comments/", 1, 404);
    server.state().faults.push_back(fault);
    // The list still has it.
    let posted = post(&client, KEY, &stamp(2, 1), "new").expect("posted");
    assert!(matches!(posted, Posted::Created(_) | Posted::Updated(_)));
    let bodies = bodies(&server);
    assert!(bodies.contains(&"new".to_owned()), "{gone}: {bodies:?}");
}

#[test]
fn an_older_run_does_not_overwrite_a_newer_one() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    post(&client, KEY, &stamp(20, 1), "newer").expect("posted");
    let posted = post(&client, KEY, &stamp(19, 1), "older").expect("no error");
    assert!(matches!(posted, Posted::Skipped(_)));
    // Run again by hand, on the same commit.
    post(&client, KEY, &stamp(20, 2), "again").expect("posted");
    let posted = post(&client, KEY, &stamp(20, 1), "late").expect("no error");
    assert!(matches!(posted, Posted::Skipped(_)));
    assert_eq!(bodies(&server), ["again"]);
}

#[test]
fn a_run_whose_commit_was_overtaken_writes_nothing() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    server.state().pulls.get_mut(&PULL).expect("there").head_sha = "b".repeat(40);
    let posted = post(&client, KEY, &stamp(1, 1), "old").expect("no error");
    let Posted::Skipped(why) = posted else {
        panic!("it is posted: {posted:?}")
    };
    insta::assert_snapshot!(why, @"the pull request has a newer commit, which has a run of its own");
    assert!(bodies(&server).is_empty());
}

#[test]
fn on_change_is_silent_until_there_is_something_to_say() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let say = |mode, quiet, run, text: &str| {
        let stamp = stamp(run, 1);
        comment(&client, &sticky(mode, quiet, &stamp), &mut |_| {
            text.to_owned()
        })
        .expect("no error")
    };
    assert!(matches!(
        say(CommentMode::OnChange, true, 1, "pass"),
        Posted::Skipped(_)
    ));
    assert!(matches!(
        say(CommentMode::OnChange, false, 2, "drop"),
        Posted::Created(_)
    ));
    assert!(matches!(
        say(CommentMode::OnChange, true, 3, "mended"),
        Posted::Updated(_)
    ));
    assert!(matches!(
        say(CommentMode::Off, false, 4, "never"),
        Posted::Skipped(_)
    ));
    assert!(matches!(
        say(CommentMode::New, true, 5, "audit"),
        Posted::Created(_)
    ));
    assert!(matches!(
        say(CommentMode::New, true, 6, "audit 2"),
        Posted::Created(_)
    ));
    assert_eq!(bodies(&server), ["mended", "audit", "audit 2"]);
}

#[test]
fn a_text_over_githubs_limit_is_asked_for_once_more_and_smaller() {
    for existing in [false, true] {
        let server = Server::start();
        if existing {
            server
                .state()
                .add_comment("github-actions[bot]", &marked(1, "old"));
        }
        server.state().longest_comment = 30_000;
        let (client, _) = client(&server, TOKEN);
        let stamp = stamp(2, 1);
        let mut budgets = Vec::new();
        let posted = comment(
            &client,
            &sticky(CommentMode::Update, false, &stamp),
            &mut |budget| {
                budgets.push(budget);
                "x".repeat(budget)
            },
        );
        posted.expect("the smaller one fits");
        assert!(
            budgets.len() == 2 && budgets[0] > 59_000 && budgets[1] < 20_000,
            "{budgets:?}"
        );
        assert_eq!(bodies(&server).len(), 1);
        // Still too long: an error for one warning, and no third try.
        server.state().longest_comment = 10;
        let error = comment(
            &client,
            &sticky(CommentMode::Update, false, &stamp),
            &mut |b| "x".repeat(b),
        );
        let error = error.expect_err("it is refused");
        assert_eq!(error.status(), Some(422));
        assert!(
            error
                .to_string()
                .contains("too long (maximum is 10 characters)"),
            "{error}"
        );
    }
}

#[test]
fn act_10_a_text_of_65_536_characters_is_never_sent() {
    let server = Server::start();
    let (client, _) = client(&server, TOKEN);
    let stamp = stamp(1, 1);
    comment(
        &client,
        &sticky(CommentMode::Update, false, &stamp),
        &mut |b| "x".repeat(b),
    )
    .expect("it fits");
    assert_eq!(
        server
            .state()
            .comments
            .values()
            .next()
            .expect("one")
            .body
            .len(),
        60_000
    );
}

#[test]
fn a_comment_that_was_written_before_the_connection_broke_is_not_written_twice() {
    for mode in [CommentMode::Update, CommentMode::New] {
        for answer in [None, Fault::status("POST", "", 1, 502).answer] {
            let server = Server::start();
            let fault = Fault::status("POST", "/comments", 1, 502);
            server.state().faults.push_back(Fault {
                answer,
                effective: true,
                ..fault
            });
            let (client, _) = client(&server, TOKEN);
            let stamp = stamp(1, 1);
            comment(&client, &sticky(mode, false, &stamp), &mut |_| {
                "text".to_owned()
            })
            .expect("posted");
            assert_eq!(bodies(&server), ["text"]);
        }
    }
}

#[test]
fn a_comment_that_was_not_written_is_written_by_the_next_try() {
    let server = Server::start();
    server
        .state()
        .faults
        .push_back(Fault::status("POST", "/comments", 2, 502));
    let (client, waits) = client(&server, TOKEN);
    post(&client, KEY, &stamp(1, 1), "text").expect("the third time");
    assert_eq!(bodies(&server), ["text"]);
    assert!(waits.lock().expect("no panic").len() >= 2);
    server
        .state()
        .faults
        .push_back(Fault::status("POST", "/comments", 9, 502));
    let error = post(&client, "other", &stamp(1, 1), "text").expect_err("GitHub is down");
    assert_eq!(error.status(), Some(502));
    assert!(client.requests() < 40);
}

#[test]
fn a_token_that_may_not_comment_is_told_what_to_add() {
    let server = Server::start();
    server.state().denied.insert("comments");
    let (client, _) = client(&server, TOKEN);
    let error = post(&client, KEY, &stamp(1, 1), "text").expect_err("it is refused");
    assert!(
        error.to_string().contains("pull-requests: write"),
        "{error}"
    );
}
