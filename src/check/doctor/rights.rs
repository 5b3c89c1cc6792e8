//! Asks GitHub what the token may do, with requests that change nothing.

use super::{PermissionAnswer, Right};
use kelvin_github::{Client, Error};

/// Asks a client. Only a write would show whether a token may write, so for a write permission the question is whether
/// the token can at least read.
pub(crate) fn of(client: &Client, pull_request: Option<u64>) -> impl Fn(Right) -> PermissionAnswer {
    move |right| {
        let asked = match (right.name, pull_request) {
            ("contents", _) => client.repository_facts().map(|_| ()),
            ("actions", _) => client.artifacts("kelvin-doctor").map(|_| ()),
            ("pull-requests", Some(number)) => client.pull_request(number).map(|_| ()),
            _ => return PermissionAnswer::Unknown,
        };
        match asked {
            Ok(()) if right.write => PermissionAnswer::Unknown,
            Ok(()) => PermissionAnswer::Granted,
            Err(Error::Refused(refusal)) if matches!(refusal.status, 401 | 403 | 404) => {
                PermissionAnswer::Refused(match refusal.message.as_str() {
                    "" => refusal.status.to_string(),
                    message => format!("{} {message}", refusal.status),
                })
            }
            Err(_) => PermissionAnswer::Unknown,
        }
    }
}
