//! Sends a request and receives the answer, without retries or interpretation, with a time limit and a size limit.

use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::BodyExt as _;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use octocrab::service::middleware::auth_header::AuthHeaderLayer;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::service::middleware::extra_headers::ExtraHeadersLayer;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use tower_http::follow_redirect::FollowRedirectLayer;

use kelvin_system::proxy::{self, Way};

/// The time limit for making a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The time limit between two pieces of an answer.
const READ: Duration = Duration::from_secs(30);
/// The time limit for a whole exchange.
const WHOLE: Duration = Duration::from_secs(120);

/// An answer with any status.
pub(super) struct ApiResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Why there is no complete answer.
pub(super) struct IncompleteResponse {
    pub(super) why: String,
    /// Whether the same request would fail again.
    pub(super) lasting: bool,
}

impl IncompleteResponse {
    const fn passing(why: String) -> Self {
        let lasting = false;
        Self { why, lasting }
    }
}

/// A client for one server; without a token it sends no credentials. It must be created inside a runtime.
///
/// Octocrab's own client supports neither proxies nor the certificate authorities of this machine, so it gets a client
/// that does.
pub(super) fn octocrab(base: &str, token: Option<&str>) -> anyhow::Result<Octocrab> {
    let address = Uri::try_from(base)
        .map_err(|_| anyhow::anyhow!("`{base}` is not the address of an API"))?;
    let way = Way::of_the_environment();
    let mut headers = vec![(USER_AGENT, HeaderValue::from_static("kelvin-action"))];
    headers.extend(
        way.authorization(&address)
            .map(|known| (PROXY_AUTHORIZATION, known)),
    );
    let token = token.map(|token| HeaderValue::try_from(format!("Bearer {token}")));
    let token = token
        .transpose()
        .map_err(|_| anyhow::anyhow!("the token has characters that no header may have"))?;
    let mut connector = TimeoutConnector::new(proxy::encrypted(way).map_err(anyhow::Error::msg)?);
    connector.set_connect_timeout(Some(CONNECT));
    connector.set_read_timeout(Some(READ));
    connector.set_write_timeout(Some(READ));
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let octocrab = OctocrabBuilder::new_empty()
        .with_service(client)
        .with_layer(&FollowRedirectLayer::new())
        .with_layer(&ExtraHeadersLayer::new(Arc::new(headers)))
        .with_layer(&BaseUriLayer::new(address.clone()))
        .with_layer(&AuthHeaderLayer::new(token, address.clone(), address))
        .with_auth(AuthState::None)
        .build();
    octocrab.map_err(|never| match never {})
}

/// Sends one request and reads the answer, at most `most` bytes of it.
pub(super) async fn exchange(
    octocrab: &Octocrab,
    method: &Method,
    address: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
    most: usize,
) -> Result<ApiResponse, IncompleteResponse> {
    let mut request = Request::builder()
        .method(method)
        .uri(address)
        .header(http::header::CONTENT_LENGTH, body.len());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_empty() {
        OctoBody::empty()
    } else {
        OctoBody::from(body)
    };
    let request = request
        .body(body)
        .map_err(|error| IncompleteResponse::passing(error.to_string()))?;
    let exchange = async {
        let response = octocrab
            .send(request)
            .await
            .map_err(|error| IncompleteResponse::passing(reason(&error)))?;
        let (parts, mut stream) = response.into_parts();
        // An error message may be longer than the limit of an answer.
        let refused = parts.status.as_u16() >= 400;
        let most = if refused { most.max(64 * 1024) } else { most };
        let mut body = Vec::new();
        while let Some(frame) = stream.frame().await {
            let frame = frame.map_err(|error| IncompleteResponse::passing(reason(&error)))?;
            if let Some(piece) = frame.data_ref() {
                if body.len() + piece.len() > most {
                    let why = format!("it is longer than {most} bytes");
                    return Err(IncompleteResponse { why, lasting: true });
                }
                body.extend_from_slice(piece);
            }
        }
        Ok(ApiResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        })
    };
    match tokio::time::timeout(WHOLE, exchange).await {
        Ok(answer) => answer,
        Err(_) => {
            let why = format!("no whole answer within {} s", WHOLE.as_secs());
            Err(IncompleteResponse::passing(why))
        }
    }
}

/// The causes of an error in one line; octocrab's own texts contain a backtrace.
fn reason(error: &octocrab::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let text = cause.to_string();
        let line = text.lines().next().unwrap_or_default().trim();
        if !line.is_empty() && causes.last().is_none_or(|last| last != line) {
            causes.push(line.to_owned());
        }
        next = cause.source();
    }
    if causes.is_empty() {
        let text = error.to_string();
        causes.push(text.lines().next().unwrap_or_default().to_owned());
    }
    causes.join(": ")
}
