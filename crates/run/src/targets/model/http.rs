//! A single HTTP request with a time limit and a size limit, which ends early when the run is stopped. Other modules
//! interpret the answer.

use std::error::Error;
use std::io::{self, Cursor};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use http::header::{
    CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION,
};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::Handle;

use kelvin_base::failure::{Failure, FailureKind};
use kelvin_system::proxy::{self, Encrypted, Way};
use kelvin_system::signal::Interrupt;

/// How often a waiting call checks for an interruption.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A server with more redirects to itself is broken.
const MOST_REDIRECTS: usize = 3;
/// How many bytes of an answer with an error status are read at most, even if the limit for answers is higher.
const REFUSAL_BYTES: u64 = 64 * 1024;

type Body = Full<Cursor<Vec<u8>>>;

/// A request.
#[derive(Clone)]
pub(in crate::targets) struct Sent {
    pub(in crate::targets) method: Method,
    pub(in crate::targets) url: String,
    /// The headers; if they contain no content type, the body is JSON.
    pub(in crate::targets) headers: Vec<(HeaderName, HeaderValue)>,
    pub(in crate::targets) body: Vec<u8>,
}

/// An answer with any status.
#[derive(Debug)]
pub(in crate::targets) struct HttpResponse {
    pub(in crate::targets) status: u16,
    pub(in crate::targets) headers: HeaderMap,
    pub(in crate::targets) body: Vec<u8>,
}

/// Why there is no complete answer. The words contain neither a time nor an address nor a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::targets) enum Broken {
    /// The time limit was reached.
    TimedOut,
    /// The answer is longer than allowed.
    TooLarge,
    /// The run was stopped.
    Interrupted,
    /// The server could not be reached; the reason. No part of the request arrived there.
    Unreached(String),
    /// The connection broke; the reason.
    Connection(String),
}

impl Broken {
    /// The failure of the call; none if the run was stopped. The function removes secrets from a text.
    pub(in crate::targets) fn failure(
        self,
        bounds: &ExchangeLimits<'_>,
        scrub: impl Fn(&str) -> String,
    ) -> Option<Failure> {
        let most = bounds.most;
        let (kind, message) = match self {
            Self::Interrupted => return None,
            Self::TimedOut => {
                let seconds = bounds.timeout.as_secs_f64();
                let message = format!(
                    "the server gave no whole answer within {seconds} s, which is what `timeout_s` \
                     allows"
                );
                (FailureKind::Timeout, message)
            }
            Self::TooLarge => {
                let message = format!(
                    "the server's answer is larger than the {most} bytes that `max_output_bytes` \
                     allows"
                );
                (FailureKind::OutputTooLarge, message)
            }
            Self::Unreached(how) | Self::Connection(how) => {
                let message = format!("the server could not be asked: {}", scrub(&how));
                (FailureKind::Connection, message)
            }
        };
        Some(Failure::new(kind, message))
    }
}

/// The limits of an exchange.
pub(in crate::targets) struct ExchangeLimits<'a> {
    /// The time limit of the whole exchange.
    pub(in crate::targets) timeout: Duration,
    /// The maximum size of an answer in bytes.
    pub(in crate::targets) most: u64,
    /// Signals that the run is stopped.
    pub(in crate::targets) interrupt: &'a Arc<Interrupt>,
}

/// Sends a request and waits for the whole answer. Fails if there is no complete answer.
pub(in crate::targets) fn exchange(
    sent: Sent,
    bounds: &ExchangeLimits<'_>,
) -> Result<HttpResponse, Broken> {
    let engine = engine().map_err(|why| Broken::Connection(why.to_owned()))?;
    let (sender, receiver) = channel();
    let (timeout, most) = (bounds.timeout, bounds.most);
    let client = engine.client.clone();
    let way = engine.way.clone();
    let task = engine.runtime.spawn(async move {
        let answer = tokio::time::timeout(timeout, fetch((&client, &way), sent, most)).await;
        // If the run was stopped, nobody waits for the answer any more.
        let _ = sender.send(answer.unwrap_or(Err(Broken::TimedOut)));
    });
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if bounds.interrupt.tripped() => {
                task.abort();
                return Err(Broken::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Broken::Connection("the exchange was given up".to_owned()));
            }
        }
    }
}

/// The client of this process with the thread that runs it. Connections are reused for later calls.
struct Engine {
    runtime: Handle,
    client: Ways,
    way: Way,
}

type Ways = Client<Encrypted, Body>;

fn engine() -> Result<&'static Engine, &'static str> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    let engine = ENGINE.get_or_init(|| start().map_err(|error| without_number(&error.to_string())));
    engine.as_ref().map_err(String::as_str)
}

fn start() -> io::Result<Engine> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let way = Way::of_the_environment();
    let connector = proxy::encrypted(way.clone()).map_err(io::Error::other)?;
    let mut client = Client::builder(TokioExecutor::new());
    client
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new());
    let engine = Engine {
        runtime: runtime.handle().clone(),
        client: client.build(connector),
        way,
    };
    thread::Builder::new()
        .name("models".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(engine)
}

async fn fetch(
    (client, way): (&Ways, &Way),
    mut sent: Sent,
    most: u64,
) -> Result<HttpResponse, Broken> {
    let mut redirects = 0;
    loop {
        let answer = once((client, way), &sent, most).await?;
        let Some(url) = same_server(&sent.url, &answer) else {
            return Ok(answer);
        };
        if redirects == MOST_REDIRECTS {
            return Ok(answer);
        }
        redirects += 1;
        sent.url = url;
    }
}

/// The address to which an answer redirects, if the same request may be sent there. It must be on the same server,
/// since no other server may get the key or the prompt.
fn same_server(url: &str, answer: &HttpResponse) -> Option<String> {
    if !matches!(answer.status, 307 | 308) {
        return None;
    }
    let here: Uri = url.parse().ok()?;
    let to = answer.headers.get(LOCATION)?.to_str().ok()?;
    let to = match to.strip_prefix('/').filter(|rest| !rest.starts_with('/')) {
        Some(_) => format!("{}://{}{to}", here.scheme_str()?, here.authority()?),
        None => to.to_owned(),
    };
    let there: Uri = to.parse().ok()?;
    let is_same = here.scheme() == there.scheme() && here.authority() == there.authority();
    is_same.then_some(to)
}

async fn once(
    (client, way): (&Ways, &Way),
    sent: &Sent,
    most: u64,
) -> Result<HttpResponse, Broken> {
    let mut request = Request::builder().method(&sent.method).uri(&sent.url);
    if !sent.body.is_empty() && sent.headers.iter().all(|(name, _)| name != CONTENT_TYPE) {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    let server = sent.url.parse::<Uri>().ok();
    if let Some(known) = server.and_then(|server| way.authorization(&server)) {
        request = request.header(PROXY_AUTHORIZATION, known);
    }
    for (name, value) in &sent.headers {
        request = request.header(name, value);
    }
    let request = request
        .body(Body::new(Cursor::new(sent.body.clone())))
        .map_err(|error| Broken::Connection(error.to_string()))?;
    let broken = |error: &(dyn Error + 'static)| Broken::Connection(reason(error));
    let response = client
        .request(request)
        .await
        .map_err(|error| match error.is_connect() {
            true => Broken::Unreached(reason(&error)),
            false => broken(&error),
        })?;
    let (parts, mut stream) = response.into_parts();
    // An error message may be longer than the limit of an answer.
    let most = match parts.status.is_success() {
        true => most,
        false => most.max(REFUSAL_BYTES),
    };
    let length = parts.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(Broken::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(frame) = stream.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
        if let Some(piece) = frame.data_ref() {
            if (body.len() + piece.len()) as u64 > most {
                return Err(Broken::TooLarge);
            }
            body.extend_from_slice(piece);
        }
    }
    Ok(HttpResponse {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body,
    })
}

/// Why an exchange failed, in words that do not change from run to run.
fn reason(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            let known = match error.kind() {
                io::ErrorKind::ConnectionRefused => Some(
                    "the connection was refused: nobody listens at its address, or a proxy refuses",
                ),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    Some("the server cut the connection")
                }
                io::ErrorKind::UnexpectedEof => Some("the server cut the connection"),
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    Some("its address cannot be reached from here")
                }
                _ => None,
            };
            if let Some(known) = known {
                return known.to_owned();
            }
        }
        if let Some(error) = cause.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_closed() || error.is_canceled())
        {
            return "the server cut the connection".to_owned();
        }
        innermost = cause;
        next = cause.source();
    }
    without_number(&innermost.to_string())
}

/// The text in one line, without the error number of the system.
fn without_number(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}
