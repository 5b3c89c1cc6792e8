use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{CONSTANT, Project, Said};
use crate::repository;

/// What the doctor finds of one subject.
fn finding(said: &Said, subject: &str) -> Value {
    let diagnosis: Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    let findings = diagnosis["findings"].as_array().expect("a list");
    let missing = findings.iter().any(|one| one["status"] == "missing");
    // The word, the exit code and the findings always agree.
    assert_eq!(diagnosis["ready"], json!(!missing));
    assert_eq!(said.code, Some(i32::from(missing)), "{}", said.stdout);
    findings
        .iter()
        .find(|one| one["subject"] == subject)
        .unwrap_or_else(|| panic!("nothing about `{subject}`: {}", said.stdout))
        .clone()
}

fn asked(project: &Project, variables: &[(&str, &str)]) -> Said {
    let output = project
        .command(&["doctor", "--format", "json"])
        .envs(variables.iter().copied())
        .output()
        .expect("the binary starts");
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

#[track_caller]
fn expect(finding: &Value, status: &str, words: &[&str]) {
    assert_eq!(finding["status"], status, "{finding}");
    let all = finding.to_string();
    for word in words {
        assert!(all.contains(word), "`{word}` is not in {all}");
    }
}

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
fn where_nothing_is_missing_every_line_says_so_and_nothing_is_run() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, &crate::project::counting(CONSTANT));
    repository::save(&project);
    let calls = project.calls();
    fs::remove_dir_all(project.path("kelvin")).expect("removed");
    let said = project.kelvin(&["doctor"]).expect(0);
    for subject in [
        "event", "token", "config", "cases", "command", "out", "checkout", "base", "baseline",
    ] {
        let line = said
            .stdout
            .lines()
            .find(|line| line[9..].starts_with(subject));
        let line = line.unwrap_or_else(|| panic!("no line for {subject}: {}", said.stdout));
        assert!(line.starts_with("ok "), "{line}");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/doctor.md");
    let page = fs::read_to_string(page).expect("read");
    for line in said.stdout.lines().take_while(|line| !line.is_empty()) {
        let subject = line[9..].split(' ').next().expect("a word");
        assert!(page.contains(&format!("| `{subject}` |")), "{subject}");
    }
    assert!(
        said.stdout.ends_with("Nothing is missing.\n"),
        "{}",
        said.stdout
    );
    assert!(
        said.stdout.contains("4 cases with 20 units"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("kelvin-reports"), "{}", said.stdout);
    assert_eq!(project.calls(), calls);
    assert!(!project.path("kelvin").exists(), "nothing is left behind");
}

#[test]
fn a_misspelt_key_is_shown_with_every_other_problem_and_the_repository_is_looked_at() {
    let (_remote, url) = repository::bare();
    let project = repository::pushed(&url, CONSTANT);
    project.config("repeat: 3\nscorer: exactly\n");
    let said = asked(&project, &[]);
    let config = finding(&said, "config");
    expect(&config, "missing", &["repeats", "exactly", "kelvin.yaml:6"]);
    expect(&finding(&said, "project"), "warn", &["not looked at"]);
    expect(&finding(&said, "base"), "ok", &[]);
    let said = project.kelvin(&["doctor"]).expect(1);
    assert!(
        said.stdout.contains("1 thing is missing."),
        "{}",
        said.stdout
    );
}

#[test]
fn a_command_that_is_not_there_is_told_with_what_would_bring_it() {
    let project = Project::new(CONSTANT);
    let with = |run: &str, variables: &[(&str, &str)]| {
        project.write(
            "kelvin.yaml",
            &format!(
                "run: {run}\ncases: cases\ndecision_field: decision\n\
                 governing_types: [rule]\n"
            ),
        );
        finding(&asked(&project, variables), "command")
    };
    expect(
        &with("no-such-tool {input} {output}", &[]),
        "missing",
        &[
            "`no-such-tool` was not found in any folder of `PATH`",
            "GITHUB_PATH",
        ],
    );
    expect(
        &with(
            "no-such-tool {input} {output}",
            &[("KELVIN_IN_CONTAINER", "1")],
        ),
        "missing",
        &[
            "a container action cannot see what `setup-python`",
            "uses: org/kelvin-action/host@v1",
        ],
    );
    expect(
        &with("./tool.sh {input} {output}", &[]),
        "missing",
        &["there is no program `./tool.sh`", "chmod +x ./tool.sh"],
    );
    expect(
        &with("sh src/main.sh {input} {output}", &[]),
        "missing",
        &["`sh` is to run `src/main.sh`", "PATH/TO/main.sh"],
    );
    expect(
        &with("sh pipeline.sh {input} {output}", &[]),
        "ok",
        &["/sh"],
    );
    expect(
        &with("'cd sub && ./run {input} > {output}'", &[]),
        "ok",
        &["a script for `sh`"],
    );
}

#[test]
fn without_a_repository_or_a_commit_the_checkout_is_missing() {
    let project = Project::new(CONSTANT);
    let said = asked(&project, &[]);
    expect(
        &finding(&said, "checkout"),
        "missing",
        &["no git repository", "actions/checkout"],
    );
    repository::git(
        project.root(),
        &["init", "--quiet", "--initial-branch=work"],
    );
    let said = asked(&project, &[]);
    expect(&finding(&said, "checkout"), "missing", &["no commit yet"]);
}

#[test]
fn a_branch_without_a_remote_to_compare_with_needs_the_whole_history() {
    let project = Project::new(CONSTANT);
    repository::git(
        project.root(),
        &["init", "--quiet", "--initial-branch=work"],
    );
    repository::commit(&project, "base");
    let said = asked(&project, &[]);
    expect(&finding(&said, "checkout"), "ok", &["whole history"]);
    expect(
        &finding(&said, "base"),
        "missing",
        &["default branch", "fetch-depth: 0"],
    );
    // With a default branch of its own there is a base, and no report for it yet.
    repository::git(project.root(), &["branch", "main"]);
    let said = asked(&project, &[]);
    expect(&finding(&said, "base"), "ok", &["merge base with `main`"]);
    expect(
        &finding(&said, "baseline"),
        "warn",
        &["kelvin baseline save", "tree:"],
    );
    project.config("baseline: {require: true}\n");
    let said = asked(&project, &[]);
    expect(&finding(&said, "baseline"), "missing", &["contents: write"]);
    project.config("baseline: {from: off}\n");
    let said = asked(&project, &[]);
    expect(&finding(&said, "baseline"), "ok", &["turned off"]);
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
    expect(&finding(&said, "base"), "ok", &["merge base with `main`"]);
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
    expect(
        &named("pull_request"),
        "missing",
        &["names no pull request"],
    );
    expect(
        &named("issues"),
        "warn",
        &["does not say where a change begins", "merge_group"],
    );
    expect(&named("schedule"), "ok", &[]);
}

#[test]
fn a_declared_secret_that_is_unset_or_empty_is_missing_and_another_variable_is_not() {
    let project = Project::new(CONSTANT);
    project.config("env: [MODEL_API_KEY, MODEL_FLAVOUR]\n");
    let env = finding(&asked(&project, &[]), "env");
    expect(
        &env,
        "missing",
        &[
            "MODEL_API_KEY: ${{ secrets.MODEL_API_KEY }}",
            "vars.MODEL_FLAVOUR",
        ],
    );
    // What GitHub makes of a secret that is not there.
    let env = finding(&asked(&project, &[("MODEL_API_KEY", "")]), "env");
    expect(&env, "missing", &[]);
    let env = finding(&asked(&project, &[("MODEL_API_KEY", "k3y-of-mine")]), "env");
    expect(&env, "warn", &["MODEL_FLAVOUR"]);
    assert!(!env.to_string().contains("k3y-of-mine"));
}

#[test]
fn cases_that_cannot_be_read_and_an_output_folder_that_is_none_are_missing() {
    let project = Project::new(CONSTANT);
    project.write("kelvin", "a file");
    let said = asked(&project, &[]);
    expect(
        &finding(&said, "out"),
        "missing",
        &["is not a folder", "--out"],
    );
    fs::remove_file(project.path("kelvin")).expect("removed");
    fs::remove_dir_all(project.path("cases")).expect("removed");
    let said = asked(&project, &[]);
    expect(&finding(&said, "cases"), "missing", &["cases"]);
    fs::create_dir(project.path("closed")).expect("made");
    fs::set_permissions(project.path("closed"), fs::Permissions::from_mode(0o500)).expect("set");
    // Root may write anywhere, and then nothing is missing.
    let may_write = fs::write(project.path("closed/probe"), "").is_ok();
    let said = project.kelvin(&["doctor", "--format", "json", "--out", "closed/kelvin"]);
    let status = if may_write { "ok" } else { "missing" };
    expect(&finding(&said, "out"), status, &["closed/kelvin"]);
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
