//! The answers of a mocked server, by method and path.

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method, StatusCode};
use hyper::body::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;

use crate::keys::{DefaultKeys, HttpMockKeys, RouteKeys};

/// Headers that control where a message ends or whether its connection stays open: only the server sets them.
const OF_THE_SERVER: [HeaderName; 4] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE];

/// The answers of a server.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    routes: Vec<Route>,
    otherwise: MockResponse,
}

#[derive(Clone, Debug)]
struct Route {
    /// The method; none if the route accepts every method.
    method: Option<Method>,
    path: String,
    answer: MockResponse,
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct MockResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The problem of a route, by its index in the list; none for `default_response`.
pub(super) type Wrong = (Option<usize>, String);

impl Routes {
    /// Parses the answers in the configuration. Fails with the first problem.
    pub(super) fn of(keys: &HttpMockKeys) -> Result<Self, Wrong> {
        let mut routes: Vec<Route> = Vec::new();
        for (at, keys) in keys.routes.iter().enumerate() {
            let route = route(keys).map_err(|what| (Some(at), what))?;
            let is_hidden = routes.iter().any(|earlier| earlier.hides(&route));
            if is_hidden {
                let what = format!(
                    "an earlier route answers every request to `{}`, so that this one never does",
                    keys.path
                );
                return Err((Some(at), what));
            }
            routes.push(route);
        }
        let DefaultKeys {
            status,
            json,
            body,
            headers,
        } = &keys.default_response;
        let content = content(json.as_ref(), body.as_deref());
        let otherwise = content.and_then(|content| answer(*status, content, headers));
        Ok(Self {
            routes,
            otherwise: otherwise.map_err(|what| (None, what))?,
        })
    }

    /// The answer to a request; the path is in normal form.
    pub(super) fn answer(&self, method: &Method, path: &str) -> &MockResponse {
        let with = |method: &Method| {
            let mut routes = self.routes.iter();
            routes.find(|route| route.path == path && route.takes(method))
        };
        // HEAD is answered like GET; the server leaves out the body.
        let found = with(method).or_else(|| match *method {
            Method::HEAD => with(&Method::GET),
            _ => None,
        });
        found.map_or(&self.otherwise, |route| &route.answer)
    }
}

impl Route {
    fn takes(&self, method: &Method) -> bool {
        let own = self.method.as_ref();
        own.is_none_or(|own| own.as_str().eq_ignore_ascii_case(method.as_str()))
    }

    fn hides(&self, later: &Self) -> bool {
        self.path == later.path && (self.method.is_none() || self.method == later.method)
    }
}

fn route(keys: &RouteKeys) -> Result<Route, String> {
    let method = keys.method.as_deref().map(method).transpose()?;
    Ok(Route {
        method,
        path: path(&keys.path)?,
        answer: answer(
            keys.status,
            content(keys.json.as_ref(), keys.body.as_deref())?,
            &keys.headers,
        )?,
    })
}

/// Parses a method, in upper case.
pub(super) fn method(text: &str) -> Result<Method, String> {
    Method::from_bytes(text.to_uppercase().as_bytes())
        .map_err(|_| format!("`{text}` is no method of HTTP, e.g. `POST`"))
}

/// Parses a path into its normal form.
pub(super) fn path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("the path `{text}` does not begin with `/`"));
    }
    if text.contains(['?', '#']) {
        return Err(format!(
            "the path `{text}` has more than a path: paths are compared without the query"
        ));
    }
    Ok(normal_path(text))
}

/// Parses the name of a header.
pub(super) fn header(text: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| format!("`{text}` is no name of a header"))
}

/// A body, and its type if it has one.
type Content = (String, Option<&'static str>);

fn content(json: Option<&Value>, body: Option<&str>) -> Result<Content, String> {
    match (json, body) {
        (Some(_), Some(_)) => Err("give `json` or `body`, not both".to_owned()),
        (Some(json), None) => Ok((json.to_string(), Some("application/json"))),
        (None, Some(body)) => Ok((body.to_owned(), Some("text/plain; charset=utf-8"))),
        (None, None) => Ok((String::new(), None)),
    }
}

fn answer(
    status: u16,
    (body, kind): Content,
    written: &BTreeMap<String, String>,
) -> Result<MockResponse, String> {
    let status = StatusCode::from_u16(status).map_err(|error| error.to_string())?;
    let has_none = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_none && !body.is_empty() {
        let status = status.as_u16();
        return Err(format!("an answer with the status {status} has no body"));
    }
    let mut headers = HeaderMap::new();
    if let Some(kind) = kind {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    for (name, value) in written {
        let named = header(name)?;
        if OF_THE_SERVER.contains(&named) {
            return Err(format!("the server makes the header `{name}` itself"));
        }
        // The message does not show the text, which may contain the value of a variable.
        let value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{name}` has a character that no header can have")
        })?;
        headers.insert(named, value);
    }
    Ok(MockResponse {
        status,
        headers,
        body: body.into(),
    })
}

/// The path in which every letter, digit, `-`, `.`, `_` and `~` is unescaped, and every other byte that a path cannot
/// contain is `%` with two capital hex digits (RFC 3986, 6.2.2).
pub(super) fn normal_path(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut normal = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| escaped(bytes.get(at + 1..at + 3)));
        match escaped.flatten() {
            Some(byte) if is_plain(byte) => normal.push(char::from(byte)),
            Some(byte) => normal.push_str(&format!("%{byte:02X}")),
            None if byte.is_ascii_graphic() => normal.push(char::from(byte)),
            None => normal.push_str(&format!("%{byte:02X}")),
        }
        at += if escaped.flatten().is_some() { 3 } else { 1 };
    }
    normal
}

/// The byte for two hex digits.
fn escaped(digits: Option<&[u8]>) -> Option<u8> {
    let digits = std::str::from_utf8(digits?).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_the_same_path_and_no_other() {
        for (written, one) in [
            ("/api/messages", "/api/messages"),
            ("/%61pi/mess%61ges", "/api/messages"),
            ("/%7Euser", "/~user"),
            ("/größe", "/gr%C3%B6%C3%9Fe"),
            ("/gr%c3%b6%C3%9fe", "/gr%C3%B6%C3%9Fe"),
            ("/a b", "/a%20b"),
            // What separates parts is not the same as its escaped form.
            ("/a%2fb", "/a%2Fb"),
            ("/a/b", "/a/b"),
            // What is no escape stays as it is.
            ("/100%", "/100%"),
            ("/%+1", "/%+1"),
            ("/%zz", "/%zz"),
            ("", ""),
        ] {
            assert_eq!(normal_path(written), one, "{written}");
            assert_eq!(normal_path(&normal_path(written)), one, "{written}");
        }
    }
}
