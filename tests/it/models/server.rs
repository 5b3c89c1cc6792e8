use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with a request.
pub(crate) enum Reaction {
    /// Answers with a status, further headers and a body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Cuts the connection.
    Cut,
    /// Says nothing until the other side gives up.
    Silence,
}

/// A request as it came in.
#[derive(Clone)]
pub(crate) struct Request {
    /// The first line and the headers.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

type React = dyn Fn(usize, &Request) -> Reaction + Send + Sync;

/// A server on loopback that speaks HTTP and has every fault that a test asks for.
pub(crate) struct Faults {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
    most_at_once: Arc<AtomicUsize>,
}

impl Faults {
    /// Starts it. The number of a request, from 0, and the request itself decide what it does.
    pub(crate) fn start(
        react: impl Fn(usize, &Request) -> Reaction + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (now, most_at_once) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let react: Arc<React> = Arc::new(react);
        let server = Self {
            port,
            seen: Arc::clone(&seen),
            most_at_once: Arc::clone(&most_at_once),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (react, seen) = (Arc::clone(&react), Arc::clone(&seen));
                let (now, most) = (Arc::clone(&now), Arc::clone(&most_at_once));
                thread::spawn(move || {
                    // Whoever has an answer may ask again at once, so a request is over before its answer is written.
                    let counted = move |number: usize, request: &Request| {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        let reaction = react(number, request);
                        now.fetch_sub(1, Ordering::SeqCst);
                        reaction
                    };
                    serve(stream, &counted, &seen);
                });
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address that a configuration names.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.lock().expect("no panic").clone()
    }

    /// How many requests were under way at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, react: &React, seen: &Mutex<Vec<Request>>) {
    let Some(request) = read(&stream) else {
        return;
    };
    let number = {
        let mut seen = seen.lock().expect("no panic");
        seen.push(request.clone());
        seen.len() - 1
    };
    match react(number, &request) {
        Reaction::Answer(status, headers, body) => {
            let headers: String = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            let head = format!(
                "HTTP/1.1 {status} Status\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
                body.len()
            );
            // The other side may have gone away.
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(body.as_bytes());
        }
        Reaction::Cut => {}
        Reaction::Silence => {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
            let _ = stream.read(&mut [0]);
        }
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Request { head, body })
}

/// An answer with a text, which used a hundred tokens and ten.
pub(crate) fn says(text: &str) -> Reaction {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
    });
    Reaction::Answer(200, Vec::new(), body.to_string())
}

/// A decision that depends on nothing.
pub(crate) fn decides() -> Reaction {
    says(r#"{"decision": "go"}"#)
}
