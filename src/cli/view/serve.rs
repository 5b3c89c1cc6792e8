//! The server of the page. Only programs on this machine can reach it, and it changes nothing. A page of another site
//! cannot read a response from it, even if the domain of that site resolves to this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::shelf::Shelf;

/// The page around the report.
const SHELL: &str = include_str!("shell.html");
const HTML: &str = "text/html; charset=utf-8";

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

/// Answers requests until the process is stopped. Fails if the system refuses to serve.
pub(super) fn serve(listener: std::net::TcpListener, shelf: Shelf) -> io::Result<()> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let shelf = Arc::new(shelf);
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let shelf = Arc::clone(&shelf);
            tokio::spawn(async move {
                let service = service_fn(|asked| {
                    let answer = sent(answer(&asked, address, &shelf));
                    async move { Ok::<_, hyper::Error>(answer) }
                });
                // A browser that closes the connection early is not an error.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}

fn answer(asked: &Request<Incoming>, address: SocketAddr, shelf: &Shelf) -> ViewResponse {
    let ours = [address.to_string(), format!("localhost:{}", address.port())];
    let host = asked.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| ours.iter().any(|ours| ours == host)) {
        return ViewResponse::refused(
            StatusCode::MISDIRECTED_REQUEST,
            &format!("this page is http://{address}/ and has no other name"),
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
