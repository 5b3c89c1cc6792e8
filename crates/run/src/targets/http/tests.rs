//! Services as they should be and as they should not: servers on loopback, and small Python programs that are started.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;

use super::*;
use crate::python;
use crate::targets::{Address, Ended, Invocation, Reply};
use crate::text::redacted;
use kelvin_base::failure::{Failure, FailureKind};
use kelvin_system::signal::Interrupt;

/// The answer to a request, from its number, its head and its body; none where the server says nothing at all.
type React = dyn Fn(usize, &str, &str) -> Option<String> + Send + Sync;

/// A server that keeps its connections open.
struct Loopback {
    port: u16,
    connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<(String, String)>>>,
}

impl Loopback {
    fn new(react: impl Fn(usize, &str, &str) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Self {
            port: listener.local_addr().expect("bound").port(),
            connections: Arc::default(),
            seen: Arc::default(),
        };
        let react: Arc<React> = Arc::new(react);
        let (connections, seen) = (Arc::clone(&server.connections), Arc::clone(&server.seen));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (react, seen) = (Arc::clone(&react), Arc::clone(&seen));
                thread::spawn(move || Self::serve(stream, &*react, &seen));
            }
        });
        server
    }

    fn serve(
        mut stream: TcpStream,
        react: &React,
        seen: &Mutex<Vec<(String, String)>>,
    ) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).ok()? == 0 {
                    return None;
                }
            }
            let lower = head.to_ascii_lowercase();
            let length = lower.split("content-length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).ok()?;
            let body = String::from_utf8(body).ok()?;
            let number = {
                let mut seen = seen.lock().expect("no panic");
                seen.push((head.clone(), body.clone()));
                seen.len() - 1
            };
            match react(number, &head, &body) {
                Some(answer) => stream.write_all(answer.as_bytes()).ok()?,
                None => thread::sleep(Duration::from_secs(20)),
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn seen(&self) -> Vec<(String, String)> {
        self.seen.lock().expect("no panic").clone()
    }
}

/// An answer with a status, further header lines and a body.
fn answer(status: u16, headers: &str, body: &str) -> Option<String> {
    Some(format!(
        "HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    ))
}

/// A folder with a pipeline behind HTTP.
struct Yard {
    folder: TempDir,
    interrupt: Arc<Interrupt>,
    target: Box<dyn Target>,
}

impl Yard {
    fn new(
        settings: &Value,
        decision_field: &str,
        timeout: Duration,
        files: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("written");
        }
        let interrupt = Interrupt::apart();
        let site = TargetSite {
            turns: None,
            jobs: std::num::NonZeroUsize::MIN,
            root: folder.path().to_owned(),
            timeout,
            max_output_bytes: 1000,
            decision_field: decision_field.to_owned(),
            interrupt: Arc::clone(&interrupt),
        };
        let address = Address::of(KEY, settings.clone());
        Self {
            target: address.open(&site).expect("it can be opened"),
            folder,
            interrupt,
        }
    }

    fn of_server(server: &Loopback, more: Value) -> Self {
        Self::new(
            &settings_for(server, more),
            "decision",
            Duration::from_secs(20),
            &[],
        )
    }

    fn call(&self, input: &str, name: &str) -> (Result<String, Failure>, Reply) {
        Self::call_of(&*self.target, input, name)
    }

    fn call_of(target: &dyn Target, input: &str, name: &str) -> (Result<String, Failure>, Reply) {
        let call = Invocation {
            input,
            input_file: Path::new(name),
            output_file: Path::new("/nowhere"),
            repeat: 2,
            sample: "a-sample",
            workplace: None,
        };
        let mut output = Vec::new();
        match target.call(&call, &mut output) {
            Ended::Answered(reply) => (Ok(String::from_utf8(output).expect("text")), reply),
            Ended::Failed { failure, reply } => (Err(*failure), reply),
            Ended::Interrupted => (Ok("interrupted".to_owned()), Reply::default()),
        }
    }

    fn ask(&self, input: &str) -> Result<String, Failure> {
        self.call(input, "input.md").0
    }

    #[track_caller]
    fn fails(&self, input: &str, kind: &FailureKind) -> Failure {
        let failure = self.ask(input).expect_err("it fails");
        assert_eq!(failure.kind, *kind, "{failure:?}");
        failure
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// The settings of a server, with more of them.
fn settings_for(server: &Loopback, more: Value) -> Value {
    let mut settings = more;
    settings["url"] = json!(server.url("/decide?v=3"));
    settings
}

#[test]
fn an_answer_is_the_output_and_one_connection_serves_all_calls() {
    let server = Loopback::new(|_, _, body| answer(200, "", body));
    let yard = Yard::of_server(&server, json!({ "headers": { "X-Team": "a" } }));
    for input in ["one", "two \"quoted\"\nü", ""] {
        assert_eq!(yard.ask(input), Ok(json!({ "input": input }).to_string()));
    }
    let record = r#"{"b": 1.50, "a": [1]}"#;
    let (output, _) = yard.call(record, "input.json");
    assert_eq!(output, Ok(format!("{{\"input\": {record}}}")));
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    for (head, body) in server.seen() {
        assert!(head.starts_with("POST /decide?v=3 HTTP/1.1\r\n"), "{head}");
        let head = head.to_ascii_lowercase();
        assert!(
            head.contains("content-type: application/json\r\n"),
            "{head}"
        );
        assert!(head.contains("x-team: a\r\n"), "{head}");
        // Nothing of the call goes along but its input.
        let names: Vec<&str> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split(':').next())
            .collect();
        let known = ["", "content-type", "x-team", "host", "content-length"];
        assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
        assert!(!body.contains("a-sample"), "{body}");
    }
}

#[test]
fn the_decision_is_taken_by_its_pointer_and_stands_where_it_is_looked_for() {
    let said = r#"{"result": {"label": "go", "n": 1, "id": "a"}, "id": "b", "choices": [7, {"text": "so", "why": "x"}]}"#;
    let server = Loopback::new(move |_, _, _| answer(200, "", said));
    let of = |pointer: &str, field: &str| {
        let settings = settings_for(&server, json!({ "decision": pointer, "method": "PUT" }));
        let yard = Yard::new(&settings, field, Duration::from_secs(20), &[]);
        yard.ask("x")
    };
    assert_eq!(
        of("/result/label", "decision"),
        Ok(json!({"choices": [7, {"text": "so", "why": "x"}], "decision": "go", "id": "a", "n": 1}).to_string())
    );
    let result = json!({"label": "go", "n": 1, "id": "a"});
    assert_eq!(
        of("/choices/1/text", "/a/b"),
        Ok(json!({"a": {"b": "so", "id": "b", "result": result, "why": "x"}}).to_string())
    );
    assert_eq!(of("/result/label", ""), Ok("go".to_owned()));
    assert_eq!(of("/result", ""), Ok(result.to_string()));
    let missing = of("/result/word", "decision").expect_err("not there");
    assert_eq!(missing.kind, FailureKind::DecisionMissing);
    insta::assert_snapshot!(missing.message, @"its answer has nothing at `/result/word`, which `run.http.decision` names: found an object with `choices`, `id`, `result`");
    assert!(missing.stdout.contains("label"), "{missing:?}");
    assert!(server.seen()[0].0.starts_with("PUT "));
}

#[test]
fn a_text_is_an_output_where_it_says_that_it_is_one() {
    let server = Loopback::new(|_, _, body| match body.contains("html") {
        true => answer(
            200,
            "content-type: text/html; charset=utf-8\r\n",
            "<h1>Log in</h1>",
        ),
        false => answer(200, "content-type: text/plain\r\n", "a plain answer\n"),
    });
    let yard = Yard::of_server(&server, json!({}));
    assert_eq!(yard.ask("x"), Ok("a plain answer".to_owned()));
    let failure = yard.fails("html", &FailureKind::OutputNotJson);
    insta::assert_snapshot!(failure.message, @"its answer is no JSON, found 15 bytes of the type `text/html`: without `run.http.decision` it has to be JSON, or have the type `text/plain`");
    assert_eq!(failure.stdout, "<h1>Log in</h1>");
    let pointed = Yard::of_server(&server, json!({ "decision": "/a" }));
    insta::assert_snapshot!(pointed.fails("x", &FailureKind::OutputNotJson).message, @"its answer is no JSON, found 15 bytes of the type `text/plain`: `run.http.decision` looks for `/a` in JSON");
}

#[test]
fn a_refusal_is_told_with_its_status_and_how_long_to_wait() {
    let server = Loopback::new(|_, _, body| match () {
        () if body.contains("busy") => answer(429, "retry-after: 7\r\n", "slow down"),
        () if body.contains("trouble") => answer(500, "", "Traceback"),
        () if body.contains("lost") => answer(404, "", ""),
        () => answer(422, "", r#"{"detail": "no field `text` \u001b[31m"}"#),
    });
    let yard = Yard::of_server(&server, json!({}));
    let (failure, reply) = yard.call("busy", "input.md");
    assert_eq!(failure.expect_err("429").kind, FailureKind::RateLimit);
    assert_eq!(reply.retry_after, Some(Duration::from_secs(7)));
    let failure = yard.fails("trouble", &FailureKind::Status(500));
    insta::assert_snapshot!(failure.message, @"the service could not answer the call (HTTP status 500)");
    assert_eq!(failure.stderr, "Traceback");
    insta::assert_snapshot!(yard.fails("lost", &FailureKind::Status(404)).message, @"the service knows no such address: correct `run.http.url` (HTTP status 404)");
    let failure = yard.fails("x", &FailureKind::Status(422));
    insta::assert_snapshot!(failure.message, @"the service refused the call (HTTP status 422)");
    assert!(failure.stderr.starts_with("no field `text`"), "{failure:?}");
    assert!(!failure.message.contains("field"), "{failure:?}");
}

#[test]
fn no_other_host_is_asked_wherever_the_service_redirects() {
    let other = Loopback::new(|_, _, _| answer(200, "", r#"{"decision": "stolen"}"#));
    let elsewhere = other.url("/");
    let server = Loopback::new(move |_, head, body| match head.contains("/moved") {
        true => answer(200, "", r#"{"decision": "here"}"#),
        false if body.contains("away") => answer(307, &format!("location: {elsewhere}\r\n"), ""),
        false => answer(308, "location: /moved\r\n", ""),
    });
    let yard = Yard::of_server(&server, json!({}));
    let failure = yard.fails("away", &FailureKind::Status(307));
    insta::assert_snapshot!(failure.message, @"the service redirects to another address, which is not asked: correct `run.http.url` (HTTP status 307)");
    assert_eq!(
        failure.stderr,
        format!("it redirects to 127.0.0.1:{}", other.port)
    );
    assert!(other.seen().is_empty());
    assert_eq!(yard.ask("x"), Ok(r#"{"decision": "here"}"#.to_owned()));
}

#[test]
fn what_never_ends_or_is_too_large_is_a_failure_of_that_call_alone() {
    let server = Loopback::new(|_, _, body| match () {
        () if body.contains("silent") => None,
        () if body.contains("large") => answer(200, "", &"1".repeat(1001)),
        () => answer(200, "", "1"),
    });
    let yard = Yard::new(
        &settings_for(&server, json!({})),
        "",
        Duration::from_millis(300),
        &[],
    );
    insta::assert_snapshot!(redacted(&yard.fails("silent", &FailureKind::Timeout).message), @"the server gave no whole answer within [SECONDS] s, which is what `timeout_s` allows");
    insta::assert_snapshot!(yard.fails("large", &FailureKind::OutputTooLarge).message, @"the server's answer is larger than the 1000 bytes that `max_output_bytes` allows");
    assert_eq!(yard.ask("x"), Ok("1".to_owned()));
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", nobody.local_addr().expect("bound"));
    drop(nobody);
    let alone = Yard::new(&json!({ "url": url }), "", Duration::from_secs(9), &[]);
    insta::assert_snapshot!(alone.fails("x", &FailureKind::Connection).message, @"the server could not be asked: the connection was refused: nobody listens at its address, or a proxy refuses");
    let said = alone
        .target
        .answers()
        .expect("a service")
        .expect_err("nobody");
    insta::assert_snapshot!(redacted(&said), @"`http://127.0.0.1:[PORT]/` gives no answer: the server could not be asked: the connection was refused: nobody listens at its address, or a proxy refuses");
    let said = yard
        .target
        .answers()
        .expect("a service")
        .expect("it answers");
    insta::assert_snapshot!(redacted(&said), @"`http://127.0.0.1:[PORT]/decide?v=3` answers (HTTP status 200 to a HEAD request)");
}

#[test]
fn a_key_is_sent_in_its_header_and_stands_nowhere_else() {
    // `PATH` is set wherever tests run, and no test may set a variable of its own.
    let path = std::env::var("PATH").expect("it is set");
    let server = Loopback::new(|_, head, _| answer(200, "", &json!({ "head": head }).to_string()));
    let yard = Yard::of_server(
        &server,
        json!({ "api_key_env": "PATH", "api_key_header": "X-Api-Key", "decision": "/head" }),
    );
    yard.target.ready().expect("it is set");
    let output = yard.ask("x").expect("an answer");
    assert!(
        !output.contains(path.trim()) && output.contains("***"),
        "{output}"
    );
    assert!(server.seen()[0].0.contains(path.trim()));
    let unset = Yard::of_server(&server, json!({ "api_key_env": "KELVIN_TEST_NO_SUCH_KEY" }));
    let refused = unset.target.ready().expect_err("it is not set").to_string();
    insta::assert_snapshot!(refused, @"
    the environment variable `KELVIN_TEST_NO_SUCH_KEY`, which holds the key of the service of `run.http`, is not set
      help: set it, e.g. from a secret of the workflow under `env:`; nothing was called
    ");
    // Neither the key nor its place is a part of what an answer depends on.
    let text = Address::of(KEY, json!({ "url": "http://a", "api_key_env": "PATH" }));
    assert!(!text.text().contains("PATH"), "{}", text.text());
}

/// A service in Python, with a function `answer(text)` before it.
const SERVE: &str = r#"
import http.server, json, os, subprocess, sys, time
with open("started", "a") as started:
    started.write(f"{os.getpid()}\n")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        text = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        body = json.dumps(answer(text)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;

fn started(answer: &str, timeout: Duration) -> Yard {
    Yard::new(
        &json!({ "url": "http://127.0.0.1:{port}/", "start": format!("{} app.py", python::word()) }),
        "decision",
        timeout,
        &[("app.py", &format!("{answer}\n{SERVE}"))],
    )
}

fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim()
            .starts_with('Z')
    })
}

#[track_caller]
fn until(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{what} did not happen"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_service_is_started_once_for_many_calls_and_ends_with_all_that_it_has_started() {
    let child = "child = None\ndef answer(text):\n    global child\n    if child is None:\n        \
                 child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n        \
                 open('child', 'a').write(f'{child.pid}\\n')\n    return {'decision': text.upper()}";
    let yard = started(child, Duration::from_secs(20));
    assert_eq!(yard.ask("first"), Ok(r#"{"decision": "FIRST"}"#.to_owned()));
    thread::scope(|scope| {
        for n in 0..4 {
            let target = &*yard.target;
            scope.spawn(move || {
                for _ in 0..5 {
                    let (output, _) = Yard::call_of(target, &format!("a{n}"), "input.md");
                    assert_eq!(output, Ok(format!("{{\"decision\": \"A{n}\"}}")));
                }
            });
        }
    });
    let pids = yard.lines("started");
    assert_eq!(pids.len(), 1);
    let fresh = yard.target.afresh().expect("a service stays");
    assert!(!fresh.remembers);
    let (output, _) = Yard::call_of(&*fresh.target, "x", "input.md");
    assert_eq!(output, Ok(r#"{"decision": "X"}"#.to_owned()));
    drop(fresh);
    assert_eq!(yard.lines("started").len(), 2);
    let children = yard.lines("child");
    assert!(lives(&pids[0]) && lives(&children[0]) && children.len() == 2);
    let mut all = yard.lines("started");
    all.extend(children);
    let Yard { target, folder, .. } = yard;
    drop(target);
    until("the end of every process", || {
        !all.iter().any(|pid| lives(pid))
    });
    drop(folder);
}

#[test]
fn a_service_that_ends_or_hangs_costs_its_call_and_is_replaced() {
    let answer = "def answer(text):\n    if text == 'die':\n        print('out of luck', flush=True)\n        \
                  os._exit(3)\n    if text == 'hang':\n        time.sleep(100)\n    return os.getpid()";
    // A loaded machine may take seconds to start it, and the one that hangs costs this time once.
    let yard = started(answer, Duration::from_secs(4));
    let first = yard.ask("x").expect("an answer");
    assert_eq!(yard.ask("y"), Ok(first.clone()));
    let failure = yard.fails("die", &FailureKind::WorkerLost);
    insta::assert_snapshot!(failure.message, @"the service of `run.http.start` was lost during the call: it ended with exit code 3");
    assert_eq!(failure.stderr, "out of luck");
    let second = yard.ask("x").expect("an answer");
    assert_ne!(first, second);
    insta::assert_snapshot!(yard.fails("hang", &FailureKind::Timeout).message, @"the server gave no whole answer within 4 s, which is what `timeout_s` allows");
    let third = yard.ask("x").expect("an answer");
    assert_ne!(second, third);
    until("the end of the one that hangs", || !lives(&second));
    // Between two calls its end costs the next one at most: a kept connection may break only once it is used.
    assert!(
        std::process::Command::new("kill")
            .args(["-KILL", &third])
            .status()
            .is_ok()
    );
    until("its end", || !lives(&third));
    let next = yard.ask("x").or_else(|_| yard.ask("x"));
    assert_ne!(next.expect("an answer"), third);
}

#[test]
fn a_service_that_is_never_ready_is_told_with_its_command_and_what_it_printed() {
    let of = |line: &str| {
        let settings = json!({ "url": "http://127.0.0.1:{port}/", "start": line });
        Yard::new(&settings, "", Duration::from_secs(1), &[])
    };
    let yard = of("sh -c 'echo no model $PORT >&2; exit 7'");
    let failure = yard.fails("x", &FailureKind::NotStarted);
    insta::assert_snapshot!(failure.message, @"the service of `run.http.start` (`sh -c 'echo no model $PORT >&2; exit 7'`) was not ready: it ended with exit code 7 before it accepted a connection");
    let port = failure.stderr.strip_prefix("no model ").expect("its log");
    assert!(port.parse::<u16>().is_ok(), "{failure:?}");
    // It is not started again for every call.
    assert_eq!(yard.ask("x"), Err(failure));
    insta::assert_snapshot!(redacted(&of("sleep 100").fails("x", &FailureKind::Timeout).message), @"the service of `run.http.start` (`sleep 100`) was not ready: it accepted no connection on port [PORT] within 1 s, which is what `timeout_s` allows; the command gets the port as `PORT` and `{port}`");
    let absent = of("no-such-program {port}").fails("x", &FailureKind::NotStarted);
    assert!(
        absent.message.contains("`no-such-program {port}`"),
        "{absent:?}"
    );
    let stopped = of("sleep 100");
    stopped.interrupt.trip();
    assert_eq!(stopped.ask("x"), Ok("interrupted".to_owned()));
}

#[test]
fn values_that_cannot_work_are_told_by_their_key() {
    let keys = |settings: Value| -> Vec<(&'static str, String)> {
        let text = |key: &str| settings[key].as_str();
        let found = http_problems(&text, false);
        found
            .into_iter()
            .map(|problem| (problem.key, problem.what))
            .collect()
    };
    assert!(
        keys(json!({ "url": "http://a/b", "decision": "/a", "body": "{{ input | tojson }}" }))
            .is_empty()
    );
    assert!(keys(json!({ "url": "http://[::1]:{port}/b", "start": "serve {port}" })).is_empty());
    let mut told = Vec::new();
    for (settings, key) in [
        (
            json!({ "url": "http://127.0.0.1:80/", "start": "serve" }),
            "url",
        ),
        (
            json!({ "url": "http://example.com:{port}/", "start": "serve" }),
            "url",
        ),
        (json!({ "url": "http://127.0.0.1:{port}/" }), "url"),
        (
            json!({ "url": "http://{% if input %}a{% endif %}/" }),
            "url",
        ),
        (
            json!({ "url": "http://a", "decision": "result.label" }),
            "decision",
        ),
        (json!({ "url": "http://a", "body": "{{ input" }), "body"),
        (
            json!({ "url": "http://a", "body": r#"{"a": "{{ input }}"}"# }),
            "body",
        ),
        (
            json!({ "url": "http://a", "api_key_header": "a b" }),
            "api_key_header",
        ),
    ] {
        let found = keys(settings);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, key, "{found:?}");
        told.push(found[0].1.clone());
    }
    insta::assert_snapshot!(told.join("\n"), @"
    `url` has no `{port}`, but the service of `start` listens on a port of its own
    `url` names another machine, and `start` starts the service on this one
    `{port}` is the port of a service that `start` starts, and there is no `start`
    `url` has a template in the name of its host, and only one host is ever asked
    `decision` is a JSON pointer and begins with `/`, found `result.label`
    `body` is no template: syntax error: unexpected end of input, expected end of variable block in line 1
    `body` is JSON only for an input without quotes and line ends
    `a b` cannot be the name of a header
    ");
}
