use kelvin_fixtures::text::{lines_with, redacted};
use serde_json::json;

use super::project;
use super::server::{Faults, Reaction, Request, decides, says};
use crate::project::{Project, Said};

/// A key that is nothing else.
const KEY: &str = "sk-planted-7f3a9c2e51d84b06";

/// Runs with the key in the environment.
fn with_key(project: &Project, arguments: &[&str]) -> Said {
    let mut command = project.command(arguments);
    let output = command
        .env("LOCAL_KEY", KEY)
        .output()
        .expect("the binary starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The key is in nothing that was said and in no byte of the project.
fn is_nowhere(project: &Project, said: &Said) {
    assert!(!said.stdout.contains(KEY) && !said.stderr.contains(KEY));
    for (name, bytes) in project.files("") {
        let found = bytes
            .windows(KEY.len())
            .any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in `{name}`");
    }
}

fn keyed(server: &Faults, model: &str) -> Project {
    project(
        server,
        &format!("    api_key_env: LOCAL_KEY\n{model}"),
        "cache: true\n",
    )
}

fn header(request: &Request) -> Option<String> {
    let mut lines = request.head.lines();
    lines.find_map(|line| Some(line.strip_prefix("authorization: ")?.to_owned()))
}

#[test]
fn a_key_goes_into_one_header_and_stands_nowhere_else() {
    let server = Faults::start(|_, request| {
        let key = header(request).unwrap_or_default();
        // A server that repeats its request, key and all.
        says(&format!(
            "{{\"decision\": \"{key}\", \"head\": {:?}}}",
            request.head
        ))
    });
    let project = keyed(&server, "");
    let said = with_key(&project, &["check"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for request in server.requests() {
        assert_eq!(header(&request), Some(format!("Bearer {KEY}")));
        assert!(!request.body.contains(KEY));
    }
    is_nowhere(&project, &said);
    // The cache and the journal, a page, a failure, a resumption.
    is_nowhere(&project, &with_key(&project, &["check", "--resume"]));
    is_nowhere(
        &project,
        &with_key(&project, &["check", "--format", "json"]),
    );
    is_nowhere(&project, &with_key(&project, &["doctor"]));
    is_nowhere(
        &project,
        &with_key(&project, &["gate", "--baseline", "kelvin/report.json"]),
    );
}

#[test]
fn a_key_stands_in_no_failure() {
    let repeats = |status: u16| {
        move |_: usize, request: &Request| {
            let body = json!({ "error": { "message": format!("bad key in {}", request.head) } });
            Reaction::Answer(status, Vec::new(), body.to_string())
        }
    };
    for status in [200, 401, 500] {
        let server = Faults::start(repeats(status));
        let project = keyed(&server, "");
        let config = project.read("kelvin.yaml");
        project.write(
            "kelvin.yaml",
            &format!("{config}retry: {{model_attempts: 1}}\n"),
        );
        let said = with_key(&project, &["check"]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        // The words of the server are there, without the key.
        let report = project.read("kelvin/report.json");
        assert!(
            report.contains("bad key in") && report.contains("***"),
            "{report}"
        );
        is_nowhere(&project, &said);
    }
}

#[test]
fn another_header_may_carry_the_key() {
    let server = Faults::start(|_, _| decides());
    let project = keyed(
        &server,
        "    api_key_header: api-key\n    headers: {x-team: evals}\n",
    );
    assert_eq!(with_key(&project, &["check"]).code, Some(0));
    let request = &server.requests()[0];
    assert_eq!(header(request), None);
    assert!(
        request.head.contains(&format!("api-key: {KEY}")),
        "{}",
        request.head
    );
    assert!(request.head.contains("x-team: evals"), "{}", request.head);
}

#[test]
fn a_key_that_is_not_set_is_told_before_anything_is_asked() {
    let server = Faults::start(|_, _| decides());
    let project = keyed(&server, "");
    let said = project.kelvin(&["check"]).expect(1);
    for words in ["`LOCAL_KEY`", "`local`", "is not set", "kelvin.yaml"] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
    assert!(server.requests().is_empty());
    // Nothing is called, and no key is needed.
    project.kelvin(&["check", "--dry-run"]).expect(0);
    let said = project.kelvin(&["doctor"]).expect(1);
    assert!(said.stdout.contains("`LOCAL_KEY`"), "{}", said.stdout);
    insta::assert_snapshot!(lines_with(&with_key(&project, &["doctor"]).stdout, &["`local`"]), @"
    ok       command      none, since the model `local` is called
    ok       models       the key of `local` is set
    ");
}

#[test]
fn no_file_carries_a_key_and_no_wire_shows_it() {
    let server = Faults::start(|_, _| decides());
    let is_told = |line: &&str| line.contains("error: ") || line.contains("= help: ");
    let mut refused = Vec::new();
    for lines in [
        "    headers: {Authorization: Bearer sk-in-the-file}\n",
        "    headers: {\"bad name\": x}\n",
        "    api_key_env: sk-in-the-file\n",
        "    api_key_env: $LOCAL_KEY\n",
        "    limits: {usd: 3}\n",
        "  tool: {kind: cmd, run: x, limits: {max_tokens: 9}}\n",
        "    seeds: 3\n",
        "    limits: {max_cals: 3}\n",
        "    temperature: 3\n",
    ] {
        let said = project(&server, lines, "").kelvin(&["check"]).expect(1);
        assert!(said.stderr.contains("kelvin.yaml:"), "{}", said.stderr);
        refused.extend(said.stderr.lines().filter(is_told).map(redacted));
    }
    insta::assert_snapshot!(refused.join("\n"), @r"
    error: the header `Authorization` would carry a secret in this file
       = help: name the environment variable of the key in `api_key_env`, and a header other than `Authorization: Bearer` in `api_key_header`
    error: `bad name` cannot be sent as a header
    error: `api_key_env` is not the name of a variable
       = help: write the name of the environment variable that holds the key, never the key itself
    error: `api_key_env` is not the name of a variable
       = help: write `LOCAL_KEY`
    error: `usd` cannot be checked without a price
       = help: add `price: {input_per_million: ..., output_per_million: ...}` to the model
    error: `max_tokens` cannot be checked, since a command does not report its tokens
       = help: bound its calls by `max_calls`
    error: unknown key `seeds` in `models.local`
       = help: did you mean `seed`?
    error: unknown key `max_cals` in `models.local.limits`
       = help: did you mean `max_calls`?
    error: `models.local.temperature` must be a number from 0 to 2, found `3`
    ");
    let mut told = Vec::new();
    for (from, to) in [
        ("http://127.0.0.1", "http://user:pass@127.0.0.1"),
        ("http://127.0.0.1", "http://gateway.internal"),
        ("kind: openai", "kind: opnai"),
        ("    kind: openai\n", ""),
        ("model: local", "model: locl"),
        ("    model: gemma\n", ""),
    ] {
        let project = keyed(&server, "");
        let config = project.read("kelvin.yaml").replace(from, to);
        project.write("kelvin.yaml", &config);
        let said = project.kelvin(&["check"]).expect(1);
        told.extend(said.stderr.lines().filter(is_told).map(redacted));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    error: `base_url` holds a user name or a password
       = help: take it out, and name the environment variable of the key in `api_key_env`
    error: the key would go to `gateway.internal` without encryption
       = help: write `https://`, leave `api_key_env` out where the server needs no key, or allow it with `insecure_http: true`
    error: `models.local.kind` must be `openai`, `anthropic`, `cmd` or `replay`, found `opnai`
       = help: did you mean `openai`?
    error: the key `kind` is missing in `models.local`
    error: `run.model` names the model `locl`, which is not declared
      = help: did you mean `local`?
    error: the key `model` is missing in `models.local`
    ");
    assert!(server.requests().is_empty());
    // Who says so may.
    let allowed = keyed(&server, "    insecure_http: true\n");
    let config = allowed
        .read("kelvin.yaml")
        .replace("http://127.0.0.1", "http://gateway.internal");
    allowed.write("kelvin.yaml", &config);
    allowed.kelvin(&["check", "--list"]).expect(0);
}
