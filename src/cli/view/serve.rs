//! The server of the page. Only programs on this machine can reach it, and only the page for labels changes anything,
//! namely the ledger. A page of another site cannot read a response from it, even if the domain of that site resolves
//! to this machine, and forms from such a page are rejected.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, ORIGIN,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::label::{LabelDesk, SentChoice};
use super::shelf::Shelf;

/// The page around the report.
const SHELL: &str = include_str!("shell.html");
const HTML: &str = "text/html; charset=utf-8";
/// The path of the page for labels.
const LABEL: &str = "/label";
/// The maximum size of a form in bytes.
const FORM: usize = 4096;

/// The response to a request.
struct ViewResponse {
    status: StatusCode,
    kind: &'static str,
    body: Vec<u8>,
}

impl ViewResponse {
    fn page(body: Vec<u8>) -> Self {
        Self {
            status: StatusCode::OK,
            kind: HTML,
            body,
        }
    }

    /// A page, or the reason why there is none.
    fn found(page: anyhow::Result<Vec<u8>>) -> Self {
        match page {
            Ok(page) => Self::page(page),
            Err(error) => Self::refused(StatusCode::NOT_FOUND, &format!("{error:#}")),
        }
    }

    fn refused(status: StatusCode, why: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{why}\n").into_bytes(),
        }
    }
}

/// Answers requests until the process is stopped.
///
/// # Errors
///
/// Fails if the system refuses to serve.
pub(super) fn serve(listener: std::net::TcpListener, shelf: Shelf) -> io::Result<()> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let shelf = Arc::new(shelf);
    let desk = Arc::new(LabelDesk::open());
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let (shelf, desk) = (Arc::clone(&shelf), Arc::clone(&desk));
            tokio::spawn(async move {
                let service = service_fn(|asked| {
                    let (shelf, desk) = (Arc::clone(&shelf), Arc::clone(&desk));
                    async move {
                        let answer = answer(asked, address, &shelf, &desk).await;
                        Ok::<_, hyper::Error>(sent(answer))
                    }
                });
                // A browser that closes the connection early is not an error.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}

async fn answer(
    asked: Request<Incoming>,
    address: SocketAddr,
    shelf: &Shelf,
    desk: &LabelDesk,
) -> ViewResponse {
    let header = |name| {
        let value: Option<&HeaderValue> = asked.headers().get(name);
        value.and_then(|value| value.to_str().ok())
    };
    let ours = [address.to_string(), format!("localhost:{}", address.port())];
    if !header(HOST).is_some_and(|host| ours.iter().any(|ours| ours == host)) {
        return ViewResponse::refused(
            StatusCode::MISDIRECTED_REQUEST,
            &format!("this page is http://{address}/ and has no other name"),
        );
    }
    if asked.method() == Method::POST && asked.uri().path() == LABEL {
        let origin = header(ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if origin.is_some_and(|origin| ours.iter().any(|ours| ours == origin)) {
            let body = Limited::new(asked.into_body(), FORM).collect().await;
            let sent = body.map(|body| SentChoice::read(&body.to_bytes()));
            return match sent.map(|sent| desk.put(shelf, &sent)) {
                Ok(Ok(Some(()))) => ViewResponse {
                    status: StatusCode::SEE_OTHER,
                    kind: HTML,
                    body: Vec::new(),
                },
                Ok(Err(error)) => {
                    ViewResponse::refused(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
                }
                Ok(Ok(None)) | Err(_) => ViewResponse::refused(
                    StatusCode::BAD_REQUEST,
                    "this form is not of this page, or of an earlier `kelvin view`: open /label again",
                ),
            };
        }
        return ViewResponse::refused(
            StatusCode::FORBIDDEN,
            "a page of another site may not choose here",
        );
    }
    if asked.method() != Method::GET && asked.method() != Method::HEAD {
        return ViewResponse::refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "there is nothing to change here",
        );
    }
    match asked.uri().path() {
        "/" => ViewResponse::page(SHELL.as_bytes().to_vec()),
        LABEL => ViewResponse::found(desk.page(shelf).map(String::into_bytes)),
        "/state" => match serde_json::to_vec(&shelf.state()) {
            Ok(body) => ViewResponse {
                status: StatusCode::OK,
                kind: "application/json",
                body,
            },
            Err(error) => {
                ViewResponse::refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
            }
        },
        "/report" => shelf.report().map_or_else(
            || {
                ViewResponse::refused(
                    StatusCode::NOT_FOUND,
                    "there is no report yet: run `kelvin check`",
                )
            },
            ViewResponse::page,
        ),
        "/course" => ViewResponse::found(shelf.course()),
        path => match path.strip_prefix("/run/") {
            Some(id) => ViewResponse::found(shelf.run(id)),
            None => ViewResponse::refused(StatusCode::NOT_FOUND, "there is no such page"),
        },
    }
}

fn sent(answer: ViewResponse) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    // The browser is redirected to the next pair only if the choice was stored.
    if answer.status == StatusCode::SEE_OTHER {
        let headers = response.headers_mut();
        headers.insert(LOCATION, HeaderValue::from_static(LABEL));
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, answer.kind),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // No other site may show this page in a frame.
        (CONTENT_SECURITY_POLICY, "frame-ancestors 'self'"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
