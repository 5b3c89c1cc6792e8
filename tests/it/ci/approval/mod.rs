//! The approval of a regression end to end: people, their comments and labels, and a GitHub on loopback
//! that tells the time.

mod asked_for;
mod attacks;
mod decided;
mod failures;
mod merged;
mod more_attacks;
mod second;
mod several;
mod taken_over;

use super::*;
use crate::github::Fault;

/// The rules of the base branch. `alice` and `bob` may decide; `somebody` has opened the pull request.
const RULES: &str =
    "gate:\n  approval: { by: [alice, bob, somebody], how: [comment, label], timeout: 72h }\n";
const HOUR: i64 = 3_600;
const LABEL: &str = "kelvin-approved";

/// A pull request that hurts, on a base with rules.
fn rig() -> Rig {
    with(RULES, CONSTANT)
}

fn with(rules: &str, script: &str) -> Rig {
    let rig = Rig::configured(Server::start(), script, rules);
    let place = ("main".to_owned(), "kelvin.yaml".to_owned());
    let text = git(rig.project.root(), &["show", "main:kelvin.yaml"]);
    {
        let mut state = rig.server.state();
        state.files.insert(place, text);
        for (who, right) in [
            ("alice", "write"),
            ("bob", "admin"),
            ("carol", "write"),
            ("somebody", "admin"),
            ("eve", "read"),
        ] {
            state.rights.insert(who.to_owned(), right);
        }
    }
    rig
}

impl Rig {
    /// Lets time pass on GitHub.
    fn wait(&self, seconds: i64) {
        self.server.state().now += seconds;
    }

    /// Somebody comments, a minute later.
    fn says(&self, who: &str, text: &str) -> u64 {
        self.wait(60);
        self.server.state().add_comment(who, text)
    }

    /// Somebody adds the label or takes it off, a minute later.
    fn labels(&self, who: &str, event: &'static str) {
        self.wait(60);
        self.server.state().set_label(who, event, LABEL);
    }

    /// Runs the job; what the gate says of the approval.
    #[track_caller]
    fn judged(&mut self, code: i32) -> Value {
        let ran = self.on("pull_request", &["--check-run"]).expect(code);
        let gate = self.project.json("kelvin/gate.json");
        assert_eq!(gate["passed"], code == 0, "{gate}");
        // Whatever is said anywhere is said of the same verdict.
        let word = gate["verdict"].as_str().expect("a word");
        assert!(
            ran.outputs.contains(&format!("\n{word}\n")),
            "{}",
            ran.outputs
        );
        let concluded = match code {
            0 => "success",
            _ => "failure",
        };
        let checks = self.checks();
        assert_eq!(checks.last().expect("a check run").1, concluded);
        gate
    }

    /// Runs the job, which has to ask or to go on waiting.
    #[track_caller]
    fn waits(&mut self) -> Value {
        let gate = self.judged(3);
        assert_eq!(gate["verdict"], "pending_approval", "{gate}");
        assert_eq!(gate["approval"]["state"], "pending");
        assert!(gate["approval"]["decision"].is_null());
        gate
    }

    /// Runs the job, which has to take an approval over.
    #[track_caller]
    fn passes(&mut self) -> Value {
        let gate = self.judged(0);
        assert_eq!(gate["verdict"], "regression", "{gate}");
        assert_eq!(gate["approval"]["state"], "approved");
        gate
    }

    /// The comments that ask.
    fn requests(&self) -> Vec<(u64, String)> {
        let state = self.server.state();
        let all = state.comments.iter();
        let bots = all.filter(|(_, one)| one.author.login == "github-actions[bot]");
        let asking = bots.filter(|(_, one)| one.body.starts_with("<!-- kelvin-approval "));
        asking.map(|(id, one)| (*id, one.body.clone())).collect()
    }

    /// The comment that is kept up to date.
    fn sticky(&self) -> String {
        let all = self.comments().into_iter();
        let mut sticky = all.filter(|body| body.starts_with("<!-- kelvin-action:"));
        sticky.next().expect("there is one")
    }
}
