//! Jobs that write at the same time.

use std::thread;
use std::time::Duration;

use super::*;
use crate::fake::TOKEN;
use crate::tests::client;

const ROUNDS: u64 = 50;

#[test]
fn two_jobs_that_race_for_50_rounds_leave_one_comment_each_time() {
    let server = Server::start();
    let mut parted = 0;
    for round in 0..ROUNDS {
        let key = format!("round {round}");
        let posted: Vec<Posted> = thread::scope(|scope| {
            let jobs: Vec<_> = (1..=2)
                .map(|job| {
                    let (key, server) = (&key, &server);
                    scope.spawn(move || {
                        let (client, _) = client(server, TOKEN);
                        // The waits are kept, and made short: they are what parts the two.
                        let client = client.pausing(|wait| thread::sleep(wait / 40));
                        let text = format!("{key}, job {job}");
                        post(&client, key, &stamp(round * 2 + job, 1), &text).expect("posted")
                    })
                })
                .collect();
            jobs.into_iter()
                .map(|job| job.join().expect("no panic"))
                .collect()
        });
        let created = posted
            .iter()
            .filter(|one| matches!(one, Posted::Created(_)))
            .count();
        assert_eq!(created, 1, "round {round}: {posted:?}");
        let mine: Vec<String> = bodies(&server)
            .into_iter()
            .filter(|body| body.starts_with(&format!("{key},")))
            .collect();
        assert_eq!(mine.len(), 1, "round {round}: {mine:?}");
        // The later run has the last word, whichever was first.
        assert_eq!(mine, [format!("{key}, job 2")]);
        parted += server.state().count("DELETE", "/comments");
        server.state().log.clear();
        server.state().comments.clear();
    }
    assert!(parted > 0, "no round was a race, which proves nothing");
}

#[test]
fn ten_jobs_with_one_key_leave_one_comment() {
    let server = Server::start();
    thread::scope(|scope| {
        for job in 1..=10 {
            let server = &server;
            scope.spawn(move || {
                let (client, _) = client(server, TOKEN);
                let client = client
                    .pausing(|wait| thread::sleep(Duration::min(wait, Duration::from_millis(30))));
                post(&client, "matrix", &stamp(7, 1), &format!("leg {job}")).expect("posted");
            });
        }
    });
    assert_eq!(bodies(&server).len(), 1);
}
