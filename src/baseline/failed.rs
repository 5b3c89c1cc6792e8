//! Finds out how a call of git failed, from its printed text: its exit code is 128 for almost everything.

use std::fmt;

/// The lines that git printed before it failed.
#[derive(Clone, Debug)]
pub(super) struct Failed(Vec<String>);

/// Messages which mean that the server has answered and has no such branch or commit. Lines of the server itself begin
/// with `remote: `, so that none of them can be mistaken for one of these.
const ANSWERS: [&str; 3] = [
    "fatal: couldn't find remote ref ",
    "fatal: remote error: upload-pack: not our ref ",
    "error: remote error: upload-pack: not our ref ",
];

/// Messages about a missing permission. A private repository answers "not found" to those who may not know that it
/// exists.
const DENIED: [&str; 8] = [
    "could not read username",
    "could not read password",
    "authentication failed",
    "returned error: 400",
    "returned error: 401",
    "returned error: 403",
    "returned error: 404",
    "not found",
];

/// Errors of a server or of the network that may disappear within a second.
const PASSING: [&str; 9] = [
    "could not resolve host",
    "failed to connect",
    "couldn't connect",
    "unable to connect",
    "connection reset",
    "connection refused",
    "returned error: 5",
    "empty reply",
    "early eof",
];

/// Problems of the same kind that are reported only after a long wait, so that they are not tried again.
const SLOW: [&str; 2] = ["timed out", "operation too slow"];

impl Failed {
    /// Reads the lines that git wrote to its standard error.
    pub(super) fn of(stderr: &[u8]) -> Self {
        let said = String::from_utf8_lossy(stderr);
        let lines = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"));
        Self(lines.map(str::to_owned).collect())
    }

    /// Adds a remark.
    pub(super) fn add(mut self, remark: String) -> Self {
        self.0.push(remark);
        self
    }

    /// Whether the server has answered that there is no such branch or commit.
    pub(super) fn is_answer(&self) -> bool {
        self.0
            .iter()
            .any(|line| ANSWERS.iter().any(|start| line.starts_with(start)))
    }

    /// Whether the permission was missing.
    pub(super) fn is_denied(&self) -> bool {
        self.says(&DENIED)
    }

    /// Whether trying again immediately may help.
    pub(super) fn is_passing(&self) -> bool {
        self.says(&PASSING)
    }

    /// Whether the next request would get the same answer.
    pub(super) fn is_lost(&self) -> bool {
        self.says(&PASSING) || self.says(&SLOW) || self.is_denied()
    }

    /// Advice, which begins with a semicolon. `used`: the token of the action was tried and did not help either.
    pub(super) fn help(&self, used: bool) -> &'static str {
        if self.is_denied() {
            return match used {
                true => {
                    "; the token of the action may not read it: add `contents: read` to the job's \
                     `permissions:`"
                }
                false => {
                    "; git has no right to it: let `actions/checkout` keep its credentials, or \
                     give the action a `token`"
                }
            };
        }
        match self.is_lost() {
            true => "; run it again when the server answers",
            false => "",
        }
    }

    fn says(&self, words: &[&str]) -> bool {
        let says = |line: &String| {
            let line = line.to_lowercase();
            words.iter().any(|words| line.contains(words))
        };
        self.0.iter().any(says)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() {
            true => f.write_str("git said nothing"),
            false => f.write_str(&self.0.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_of_the_server_says_that_there_is_none() {
        for said in [
            "fatal: couldn't find remote ref refs/heads/kelvin-reports\n",
            "fatal: remote error: upload-pack: not our ref 0123456789012345678901234567890123456789",
            "error: remote error: upload-pack: not our ref 01\nfatal: the remote end hung up",
        ] {
            assert!(Failed::of(said.as_bytes()).is_answer(), "{said}");
        }
        for said in [
            "",
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            "remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found",
            "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
            "fatal: unable to access 'https://x/': Failed to connect to x port 443",
            "fatal: unable to access 'https://x/': The requested URL returned error: 502",
            "fatal: repository 'https://x/couldn't find remote ref ' not found",
            "remote: couldn't find remote ref kelvin-reports\nfatal: unable to access 'https://x/'",
            "error: Server does not allow request for unadvertised object 0123",
        ] {
            assert!(!Failed::of(said.as_bytes()).is_answer(), "{said}");
        }
    }

    #[test]
    fn a_token_may_help_where_the_right_was_missing_and_nowhere_else() {
        for (said, denied) in [
            (
                "fatal: could not read Username for 'http://x': terminal prompts disabled",
                true,
            ),
            ("fatal: repository 'http://x/' not found", true),
            (
                "fatal: unable to access 'http://x/': The requested URL returned error: 403",
                true,
            ),
            (
                "fatal: unable to access 'http://x/': Could not resolve host: x",
                false,
            ),
            (
                "fatal: unable to access 'http://x/': The requested URL returned error: 502",
                false,
            ),
        ] {
            let failed = Failed::of(said.as_bytes());
            assert_eq!(
                (failed.is_denied(), failed.is_passing()),
                (denied, !denied),
                "{said}"
            );
        }
    }
}
