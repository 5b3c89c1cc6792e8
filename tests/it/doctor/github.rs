//! Jobs of GitHub Actions.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use super::{asked, expect, finding};
use crate::project::{CONSTANT, Project};
use crate::repository;

/// A pull request on GitHub, with a payload in `event.json`.
fn on_github(project: &Project, base: &str, head: &str) -> Vec<(String, String)> {
    let payload = json!({
        "pull_request": {
            "number": 7,
            "head": { "sha": head, "repo": { "full_name": "org/tool" } },
            "base": { "ref": base },
        },
        "repository": { "full_name": "org/tool", "default_branch": "main" },
    });
    project.write("../event.json", &payload.to_string());
    let event = project.path("../event.json").display().to_string();
    [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", &event),
        ("GITHUB_TOKEN", "ghs_0123456789abcdef"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

fn borrowed(variables: &[(String, String)]) -> Vec<(&str, &str)> {
    let pairs = variables.iter();
    pairs.map(|(name, value)| (&**name, &**value)).collect()
}

#[test]
fn a_shallow_clone_serves_as_long_as_its_remote_does() {
    let (remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    for at in 0..3 {
        repository::commit(&project, &format!("more {at}"));
    }
    repository::git(project.root(), &["push", "--quiet", "origin", "main"]);
    repository::branch(&project, "change", "exit 1");
    repository::commit(&project, "change");
    repository::git(project.root(), &["push", "--quiet", "origin", "change"]);
    let clone = Project::new(CONSTANT);
    fs::remove_dir_all(clone.root()).expect("removed");
    let path = clone.root().display().to_string();
    let depth = [
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=change",
        &url,
        &path,
    ];
    repository::git(project.root(), &depth);
    let head = repository::git(clone.root(), &["rev-parse", "HEAD"]);
    let variables = on_github(&clone, "main", &head);

    // Without the remote the base is out of reach, and the lines to add are told.
    let gone = remote.path().with_extension("gone");
    fs::rename(remote.path(), &gone).expect("moved");
    let said = asked(&clone, &borrowed(&variables));
    expect(&finding(&said, "checkout"), "ok", &["shallow"]);
    expect(&finding(&said, "base"), "missing", &["fetch-depth: 0"]);
    expect(
        &finding(&said, "event"),
        "ok",
        &["`pull_request` into `main`"],
    );

    fs::rename(&gone, remote.path()).expect("moved back");
    let said = asked(&clone, &borrowed(&variables));
    expect(&finding(&said, "base"), "ok", &["`main`"]);
}

#[test]
fn without_a_token_or_an_event_a_job_is_told_what_to_pass_on() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    let said = asked(&project, &[("GITHUB_ACTIONS", "true")]);
    expect(
        &finding(&said, "token"),
        "missing",
        &["GITHUB_TOKEN: ${{ github.token }}"],
    );
    expect(&finding(&said, "event"), "missing", &["GITHUB_EVENT_PATH"]);
    let said = asked(
        &project,
        &[
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "push"),
            ("GITHUB_EVENT_PATH", "nowhere.json"),
            ("INPUT_TOKEN", "t"),
        ],
    );
    expect(&finding(&said, "token"), "ok", &[]);
    expect(&finding(&said, "event"), "missing", &["nowhere.json"]);
    project.write("event.json", "{}");
    let named = |name: &str| {
        let all = [
            "doctor",
            "--format",
            "json",
            "--event",
            "event.json",
            "--event-name",
            name,
        ];
        finding(&project.kelvin(&all), "event")
    };
    expect(&named("pull_request"), "missing", &["`pull_request`"]);
    expect(&named("issues"), "warn", &["merge_group"]);
    expect(&named("schedule"), "ok", &[]);
}

/// An API that lets the token read the repository and refuses everything else; its address.
fn refusing_api() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut chunk) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend(&chunk[..read]),
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let (status, body) = if request.starts_with("GET /repos/org/tool ") {
                (
                    "200 OK",
                    json!({ "id": 1, "full_name": "org/tool", "default_branch": "main" }),
                )
            } else {
                (
                    "403 Forbidden",
                    json!({ "message": "Resource not accessible by integration" }),
                )
            };
            let body = body.to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    format!("http://{address}")
}

#[test]
fn a_permission_that_github_refuses_is_missing_with_the_line_to_add() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    let head = repository::git(project.root(), &["rev-parse", "HEAD"]);
    let mut variables = on_github(&project, "main", &head);
    variables.push(("GITHUB_API_URL".to_owned(), refusing_api()));
    variables.push(("GITHUB_REPOSITORY".to_owned(), "org/tool".to_owned()));
    let said = asked(&project, &borrowed(&variables));
    let found = finding(&said, "permissions");
    expect(
        &found,
        "missing",
        &[
            "`pull-requests: write` for the comment was refused",
            "`actions: read`",
            "Resource not accessible",
            "permissions:\\n  contents: write",
        ],
    );
    assert!(
        !found.to_string().contains("`contents: read` to read"),
        "{found}"
    );
}

#[test]
fn a_checkout_of_the_base_is_named_before_anything_is_measured() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    let variables = on_github(&project, "main", &"b".repeat(40));
    let said = asked(&project, &borrowed(&variables));
    let words = ["bbbbbbb", "`ref`"];
    expect(&finding(&said, "checkout"), "missing", &words);
}
