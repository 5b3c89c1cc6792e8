//! GitHub behind the gateway of a company: a proxy on the way, and a certificate that a private authority has signed.

use kelvin_fixtures::text::{lines_with, redacted};
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

const HOST: &str = "api.github.test";

fn certificates(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/tls")
        .join(name)
}

/// Hands on what comes from either side, until one of them has ended.
fn hand_on(mut one: impl Read + Write, mut other: impl Read + Write) {
    let mut buffer = vec![0; 64 * 1024];
    let mut piece = |from: &mut dyn Read, to: &mut dyn Write| match from.read(&mut buffer) {
        Ok(0) => false,
        Ok(read) => to
            .write_all(&buffer[..read])
            .and_then(|()| to.flush())
            .is_ok(),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    while piece(&mut one, &mut other) && piece(&mut other, &mut one) {}
}

fn impatient(stream: TcpStream) -> TcpStream {
    stream
        .set_read_timeout(Some(Duration::from_millis(5)))
        .expect("set");
    stream
}

/// Speaks TLS as `api.github.test`, and hands on what it hears to a server that does not. Gives its port.
fn encrypted(server: String) -> u16 {
    let chain = CertificateDer::pem_file_iter(certificates("server.pem")).expect("read");
    let chain = chain.map(|one| one.expect("a certificate")).collect();
    let key = PrivateKeyDer::from_pem_file(certificates("server.key")).expect("read");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they belong together");
    let (config, listener) = (
        Arc::new(config),
        TcpListener::bind("127.0.0.1:0").expect("a port"),
    );
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, server) = (Arc::clone(&config), server.clone());
            thread::spawn(move || {
                let connection = ServerConnection::new(config).expect("a connection");
                let plain = TcpStream::connect(server).expect("the server");
                hand_on(
                    StreamOwned::new(connection, impatient(stream)),
                    impatient(plain),
                );
            });
        }
    });
    port
}

/// A proxy that makes tunnels, all of them to one port of this machine, and keeps the requests for them.
fn proxy(to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&heads);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || {
                let mut head = String::new();
                let mut reader = BufReader::with_capacity(1, stream.try_clone().expect("cloned"));
                while !head.ends_with("\r\n\r\n")
                    && reader.read_line(&mut head).is_ok_and(|read| read > 0)
                {}
                kept.lock().expect("no panic").push(head);
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
                    .expect("answered");
                let server = TcpStream::connect(("127.0.0.1", to)).expect("the server");
                hand_on(impatient(stream), impatient(server));
            });
        }
    });
    (port, heads)
}

/// Runs on a pull request with these variables; gives the requests that the proxy got, and what was said.
fn run(rig: &mut Rig, code: i32, variables: &[(&str, &str)]) -> (Vec<String>, String) {
    let server = rig.server.url().trim_start_matches("http://").to_owned();
    let (port, heads) = proxy(encrypted(server));
    let payload = rig.payload("pull_request");
    let (mut command, _) = rig.command("pull_request", &payload, &[]);
    for name in [
        "NO_PROXY",
        "no_proxy",
        "ALL_PROXY",
        "all_proxy",
        "https_proxy",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "GIT_SSL_CAINFO",
    ] {
        command.env_remove(name);
    }
    command
        .env("GITHUB_API_URL", format!("https://{HOST}"))
        .env(
            "HTTPS_PROXY",
            format!("http://me:pass%20word@127.0.0.1:{port}"),
        )
        .envs(variables.iter().copied());
    let said = said(command.output().expect("the binary starts")).expect(code);
    let said = said.stdout + &said.stderr;
    assert!(
        !said.contains("word@") && !said.contains("pass%20word"),
        "{said}"
    );
    let heads = heads.lock().expect("no panic").clone();
    (heads, said)
}

#[test]
fn the_api_is_reached_through_the_proxy_and_by_the_authority_that_git_is_told_too() {
    let authority = certificates("authority.pem").display().to_string();
    for variable in ["SSL_CERT_FILE", "GIT_SSL_CAINFO"] {
        let mut rig = Rig::new(GROUNDED);
        let (heads, said) = run(&mut rig, 0, &[(variable, &authority)]);
        assert_eq!(rig.comments().len(), 1, "{variable}: {said}");
        assert!(!heads.is_empty());
        for head in heads {
            let head = head.to_lowercase();
            assert!(
                head.starts_with("connect api.github.test:443 http/1.1\r\n"),
                "{head}"
            );
            assert!(
                head.contains("proxy-authorization: basic bwu6cgfzcyb3b3jk"),
                "{head}"
            );
        }
    }
}

#[test]
fn a_certificate_that_nobody_known_has_signed_is_refused_with_the_reason() {
    let mut rig = Rig::new(GROUNDED);
    let (heads, said) = run(&mut rig, 0, &[]);
    assert!(!heads.is_empty() && rig.comments().is_empty(), "{said}");
    assert!(
        said.contains("::warning") && said.contains("UnknownIssuer"),
        "{said}"
    );

    // Where somebody names authorities, no others are trusted in their place.
    let empty = rig.project.path("../empty.pem");
    std::fs::write(&empty, "nothing\n").expect("written");
    let (heads, said) = run(
        &mut rig,
        0,
        &[("SSL_CERT_FILE", &empty.display().to_string())],
    );
    assert!(heads.is_empty() && rig.comments().is_empty(), "{said}");
    insta::assert_snapshot!(redacted(&lines_with(&said, &["`SSL_CERT_FILE`"])), @"::warning title=Kelvin::the certificates of `[TEMP]/project/../empty.pem` cannot be read: there are none; `SSL_CERT_FILE` names that file");
}

#[test]
fn a_server_that_no_proxy_names_is_not_asked_for_at_the_proxy() {
    let mut rig = Rig::new(GROUNDED);
    let authority = certificates("authority.pem").display().to_string();
    let (heads, said) = run(
        &mut rig,
        0,
        &[("SSL_CERT_FILE", &authority), ("NO_PROXY", "github.test")],
    );
    assert!(
        heads.is_empty() && rig.comments().is_empty(),
        "{heads:?}\n{said}"
    );
    assert!(said.contains("::warning"), "{said}");
}
