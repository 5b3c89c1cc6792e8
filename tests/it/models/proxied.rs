//! Models that are reached through the proxy of the environment.

use super::server::{Faults, Reaction, decides};
use super::{failures, project};
use crate::project::Project;

/// A project whose model is at an address that no name server knows.
fn far(proxy: &Faults, scheme: &str) -> Project {
    let project = project(proxy, "", "retry: {max_attempts: 1, model_attempts: 1}\n");
    let local = proxy.url();
    let text = project.read("kelvin.yaml");
    let address = format!("{scheme}://models.test/v1");
    project.write("kelvin.yaml", &text.replace(&local, &address));
    project
}

/// Checks with this proxy in the environment, and returns the exit code.
fn check(project: &Project, proxy: &Faults, more: &[(&str, &str)]) -> Option<i32> {
    let address = format!("http://me:pass%20word@127.0.0.1:{}", proxy.port());
    let mut command = project.command(&["check"]);
    for name in [
        "NO_PROXY",
        "no_proxy",
        "ALL_PROXY",
        "all_proxy",
        "http_proxy",
        "https_proxy",
    ] {
        command.env_remove(name);
    }
    command
        .env("HTTP_PROXY", &address)
        .env("HTTPS_PROXY", &address)
        .envs(more.iter().copied());
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("word"), "{said}");
    output.status.code()
}

#[test]
fn a_model_is_asked_through_the_proxy_of_the_environment() {
    let proxy = Faults::start(|_, _| decides());
    let project = far(&proxy, "http");
    assert_eq!(check(&project, &proxy, &[]), Some(0));
    let requests = proxy.requests();
    assert_eq!(requests.len(), super::CALLS);
    let head = &requests[0].head;
    // A proxy needs the whole address, and knows us by the password of its own address.
    insta::assert_snapshot!(head, @"
    POST http://models.test/v1/chat/completions HTTP/1.1
    content-type: application/json
    proxy-authorization: Basic bWU6cGFzcyB3b3Jk
    host: models.test
    content-length: 332
    ");
    let known = "proxy-authorization: Basic bWU6cGFzcyB3b3Jk";
    assert!(
        head.to_lowercase().contains(&known.to_lowercase()),
        "{head}"
    );
    let report = project.read("kelvin/report.json");
    assert!(
        !report.contains("pass%20word") && !report.contains("bWU6"),
        "{report}"
    );
}

#[test]
fn an_encrypted_server_is_reached_through_a_tunnel_and_a_proxy_that_refuses_one_is_told() {
    let proxy = Faults::start(|_, _| Reaction::Answer(403, Vec::new(), String::new()));
    let project = far(&proxy, "https");
    assert_eq!(check(&project, &proxy, &[]), Some(2));
    let head = &proxy.requests()[0].head;
    insta::assert_snapshot!(head, @"
    CONNECT models.test:443 HTTP/1.1
    Host: models.test:443
    Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk
    ");
    assert!(
        head.to_lowercase().contains("proxy-authorization: basic"),
        "{head}"
    );
    let failed = failures(&project.json("kelvin/report.json"));
    assert_eq!(failed[0].0, "connection");
    insta::assert_snapshot!(failed[0].1, @"the server could not be asked: the proxy could not connect to the server (tunnel error: unsuccessful)");
}

#[test]
fn what_no_proxy_names_and_this_machine_are_reached_directly() {
    let proxy = Faults::start(|_, _| decides());
    let project = far(&proxy, "http");
    // Nobody knows the name, and the proxy is not asked.
    assert_eq!(
        check(&project, &proxy, &[("NO_PROXY", "models.test")]),
        Some(2)
    );
    assert_eq!(proxy.requests().len(), 0);
    let server = Faults::start(|_, _| decides());
    let project = super::project(&server, "", "");
    assert_eq!(check(&project, &proxy, &[]), Some(0));
    assert_eq!(
        (proxy.requests().len(), server.requests().len()),
        (0, super::CALLS)
    );
    // A proxy of another kind is told, and is not passed by.
    let project = far(&proxy, "http");
    assert_eq!(
        check(&project, &proxy, &[("HTTP_PROXY", "socks5://127.0.0.1:1")]),
        Some(2)
    );
    let failed = failures(&project.json("kelvin/report.json"));
    insta::assert_snapshot!(failed[0].1, @"the server could not be asked: the proxy that the environment names is none of the kind `http://`");
}
