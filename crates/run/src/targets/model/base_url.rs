//! The address of a server, under `base_url` of a model or `url` of a service.

use http::Uri;
use http::header::{HeaderName, HeaderValue};

/// A valid address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    /// The address without a slash at its end.
    text: String,
    host: String,
    /// The port; if none is written, the default port of the scheme.
    port: u16,
    /// The path without a slash at its end.
    path: String,
    is_encrypted: bool,
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The problem of the address.
    pub what: String,
    /// What to do.
    pub help: &'static str,
}

/// Parses the address of a model, to which paths are added.
///
/// # Errors
///
/// Fails with the reason why the address cannot be used. The message does not contain the address, which may contain a
/// password.
pub fn check(text: &str) -> Result<BaseUrl, Refused> {
    let text = text.trim().trim_end_matches('/');
    if text.contains('?') {
        return Err(Refused {
            what: "`base_url` holds a query or a fragment".to_owned(),
            help: "write the address up to the `?` or `#`; what is added to every request goes under \
                   `headers` or `body`",
        });
    }
    read(text, "base_url")
}

/// Parses the address of a service, which may have a query. Fails like [`check`].
pub(crate) fn check_whole(text: &str) -> Result<BaseUrl, Refused> {
    read(text.trim(), "url")
}

fn read(text: &str, key: &str) -> Result<BaseUrl, Refused> {
    const EXAMPLE: &str = "write it as `https://api.example.com/v1`";
    let refused = |what, help| {
        Err(Refused {
            what: format!("`{key}` {what}"),
            help,
        })
    };
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    if authority
        .split(['/', '?'])
        .next()
        .is_some_and(|host| host.contains('@'))
    {
        return refused(
            "holds a user name or a password",
            "take it out, and name the environment variable of the key in `api_key_env`",
        );
    }
    if text.contains('#') {
        return refused(
            "holds a query or a fragment",
            "write the address up to the `#`; what is added to every request goes under \
             `headers` or `body`",
        );
    }
    let Ok(uri) = text.parse::<Uri>() else {
        return refused("is not the address of a server", EXAMPLE);
    };
    match (uri.scheme_str(), uri.host()) {
        (Some(scheme @ ("http" | "https")), Some(host)) if !host.is_empty() => Ok(BaseUrl {
            text: text.to_owned(),
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(match scheme {
                "https" => 443,
                _ => 80,
            }),
            path: uri.path().trim_end_matches('/').to_owned(),
            is_encrypted: scheme == "https",
        }),
        _ => refused("is not the address of a server", EXAMPLE),
    }
}

/// Whether a header can be sent.
pub fn is_header(name: &str, value: &str) -> bool {
    name.parse::<HeaderName>().is_ok() && HeaderValue::from_str(value).is_ok()
}

impl BaseUrl {
    /// The address of a resource below this address.
    #[cfg_attr(
        not(feature = "models"),
        expect(dead_code, reason = "only the clients for servers send anything")
    )]
    pub(super) fn join(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// The name of the server.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether other machines on the network can read the requests: they are not encrypted, and leave this machine.
    pub(crate) fn is_in_plain_sight(&self) -> bool {
        !self.is_encrypted && !self.is_on_loopback()
    }

    /// The server as `host:port/path`. All local servers count as the same, because the port of a local server often
    /// differs from run to run.
    pub fn server(&self) -> String {
        match self.is_on_loopback() {
            true => format!("loopback{}", self.path),
            false => format!(
                "{}:{}{}",
                self.host.to_ascii_lowercase(),
                self.port,
                self.path
            ),
        }
    }

    /// Whether the requests stay on this machine.
    pub(crate) fn is_on_loopback(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        let ip = host.parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_servers_are_taken() {
        for text in [
            "http://127.0.0.1:8080/v1",
            "https://api.example.com",
            "http://[::1]:1/v1/",
            " https://gateway.example.com/openai/deployments/a/ ",
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "/v1",
            "api.example.com/v1",
            "ftp://example.com",
            "https://",
            "http:///v1",
            "https://exa mple.com",
            "https://example.com/v1?key=1",
            "https://example.com/#a",
            "https://user:pass@example.com/v1",
            "https://token@example.com",
        ] {
            let refused = check(text).expect_err(text);
            assert!(!refused.what.contains("pass@"), "{refused:?}");
        }
    }

    #[test]
    fn the_address_of_a_service_may_have_a_query_and_holds_no_secret() {
        for text in [
            "http://127.0.0.1:8000/decide",
            "https://example.com/a/?version=3&to=a@b",
        ] {
            assert!(check_whole(text).is_ok(), "{text}");
        }
        for text in [
            "https://u:pass@example.com?a",
            "https://example.com/a#b",
            "decide",
        ] {
            let refused = check_whole(text).expect_err(text);
            assert!(refused.what.starts_with("`url` "), "{refused:?}");
            assert!(!refused.what.contains("pass@"), "{refused:?}");
        }
    }

    #[test]
    fn servers_of_this_machine_are_one_and_every_other_address_is_a_server_of_its_own() {
        let server = |text| check(text).expect(text).server();
        for here in [
            "http://127.0.0.1:8080/v1",
            "http://localhost:9/v1/",
            "https://[::1]:1/v1",
        ] {
            assert_eq!(server(here), "loopback/v1");
        }
        assert_eq!(server("http://127.0.0.1:8080/v2"), "loopback/v2");
        assert_eq!(server("https://API.example.com"), "api.example.com:443");
        assert_eq!(
            server("https://api.example.com:443/"),
            server("https://api.example.com")
        );
        assert_ne!(
            server("https://api.example.com:444"),
            server("https://api.example.com")
        );
        assert_eq!(server("http://10.0.0.1/a/b/"), "10.0.0.1:80/a/b");
    }

    #[test]
    fn only_what_leaves_the_machine_without_encryption_is_in_plain_sight() {
        let of = |text| check(text).expect(text).is_in_plain_sight();
        assert!(of("http://gateway.internal:4000"));
        assert!(of("http://192.168.0.7/v1"));
        assert!(of("http://localhost.example.com/v1"));
        for safe in [
            "https://example.com",
            "http://localhost:1",
            "http://127.9.9.9",
            "http://[::1]:8080",
        ] {
            assert!(!of(safe), "{safe}");
        }
    }
}
