//! The action's token for git: only for the repository of the workflow, and only in the environment of a single call.
//! The token is never in a file, an argument or a message.

use std::fmt;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A token and the only address to which it is sent.
#[derive(Clone)]
pub(crate) struct Login {
    /// `https://github.com/owner/name`, in lower case.
    address: String,
    /// The HTTP header, as `actions/checkout` would leave it in the configuration.
    header: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.address)
    }
}

/// Settings of a repository through which its files, or a program that ran in it, could send a token elsewhere or pass
/// it to a program of their own.
const LEADS_AWAY: [&str; 6] = [
    "http.",
    "url.",
    "credential.",
    "protocol.",
    "core.gitproxy",
    "core.sshcommand",
];

/// Such settings for a single remote.
const OF_REMOTE: [&str; 6] = [
    ".proxy",
    ".proxyauthmethod",
    ".vcs",
    ".uploadpack",
    ".receivepack",
    ".pushurl",
];

/// Variables that make git print the data that it sends.
const TELLTALES: [&str; 8] = [
    "GIT_TRACE",
    "GIT_TRACE_CURL",
    "GIT_TRACE_PACKET",
    "GIT_TRACE_REDACT",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_CURL_VERBOSE",
];

impl Login {
    /// Makes the token for a repository of a server, e.g. of `https://github.com`; none if the address or the token is
    /// missing.
    pub(crate) fn new(server: &str, repository: &str, token: &str) -> Option<Self> {
        let (server, token) = (server.trim().trim_end_matches('/'), token.trim());
        let known = server.starts_with("https://") || server.starts_with("http://");
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !known || token.is_empty() || !is_plain(token) || repository.split('/').count() != 2 {
            return None;
        }
        let basic = STANDARD.encode(format!("x-access-token:{token}").as_bytes());
        Some(Self {
            address: format!("{server}/{repository}").to_lowercase(),
            header: format!("AUTHORIZATION: basic {basic}"),
        })
    }

    /// Whether a remote is the repository for which the token is meant.
    pub(super) fn serves(&self, url: &str) -> bool {
        let url = url.trim_end_matches('/').to_lowercase();
        url.strip_suffix(".git").unwrap_or(&url) == self.address
    }

    /// The first setting of a repository that could send the token elsewhere; `names` are those of its own
    /// configuration.
    pub(super) fn obstacle<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        names.into_iter().find(|name| {
            let lower = name.to_lowercase();
            let leads = LEADS_AWAY.iter().any(|start| lower.starts_with(start));
            let of_remote =
                lower.starts_with("remote.") && OF_REMOTE.iter().any(|end| lower.ends_with(end));
            // The token replaces the header that a checkout leaves for this address.
            (leads && !lower.ends_with(".extraheader")) || of_remote
        })
    }

    /// Adds the token to one call of git that connects to `url`. A redirect is not followed, no hook and no helper of
    /// the repository runs with the token, and no submodule is fetched with it.
    pub(super) fn lend(&self, command: &mut Command, url: &str) {
        let settings = [
            // An empty value removes the headers that other settings have added.
            (format!("http.{url}.extraheader"), ""),
            (format!("http.{url}.extraheader"), self.header.as_str()),
            (format!("http.{url}.followRedirects"), "false"),
            (format!("http.{url}.sslVerify"), "true"),
            ("credential.helper".to_owned(), ""),
            ("core.hooksPath".to_owned(), "/dev/null"),
            ("core.fsmonitor".to_owned(), "false"),
            ("fetch.recurseSubmodules".to_owned(), "false"),
            ("push.recurseSubmodules".to_owned(), "no"),
        ];
        let given = std::env::var("GIT_CONFIG_COUNT").ok();
        let first: usize = given.and_then(|count| count.parse().ok()).unwrap_or(0);
        for (at, (key, value)) in settings.iter().enumerate() {
            command
                .env(format!("GIT_CONFIG_KEY_{}", first + at), key)
                .env(format!("GIT_CONFIG_VALUE_{}", first + at), value);
        }
        command
            .env("GIT_CONFIG_COUNT", (first + settings.len()).to_string())
            .env("GIT_ASKPASS", "")
            .env_remove("GIT_SSL_NO_VERIFY");
        for name in TELLTALES {
            command.env_remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_serves_its_own_repository_and_no_other_address() {
        let login = Login::new("https://github.com/", "acme/widgets", "ghs_x").expect("a token");
        for url in [
            "https://github.com/acme/widgets",
            "https://github.com/Acme/Widgets.git",
            "https://github.com/acme/widgets/",
        ] {
            assert!(login.serves(url), "{url}");
        }
        for url in [
            "https://github.com@evil.example/acme/widgets",
            "https://github.com.evil.example/acme/widgets",
            "https://github.com:8443/acme/widgets",
            "http://github.com/acme/widgets",
            "https://github.com/acme/widgets-evil",
            "https://github.com/mallory/widgets",
            "git@github.com:acme/widgets",
            "/tmp/widgets",
        ] {
            assert!(!login.serves(url), "{url}");
        }
    }

    #[test]
    fn a_token_that_is_none_makes_no_login_and_one_that_is_shows_nowhere() {
        for token in ["", " ", "a b", "a\nb"] {
            assert!(Login::new("https://github.com", "acme/widgets", token).is_none());
        }
        assert!(Login::new("file:///srv", "acme/widgets", "ghs_x").is_none());
        let login = Login::new("https://github.com", "acme/widgets", "ghs_secret");
        let shown = format!("{login:?}");
        assert!(!shown.contains("secret") && !shown.contains(&STANDARD.encode(b"ghs_secret")));
    }

    #[test]
    fn what_could_lead_a_token_away_is_an_obstacle_and_what_a_checkout_leaves_is_not() {
        let left = [
            "core.bare",
            "remote.origin.url",
            "remote.origin.fetch",
            "http.https://github.com/.extraheader",
            "gc.auto",
        ];
        assert_eq!(Login::obstacle(left), None);
        for name in [
            "http.proxy",
            "http.https://github.com/.sslverify",
            "url.http://evil.example/.insteadof",
            "credential.helper",
            "remote.origin.proxy",
            "remote.origin.pushurl",
            "Core.SshCommand",
        ] {
            assert_eq!(Login::obstacle(["core.bare", name]), Some(name));
        }
    }
}
