//! The connection to a server: directly, or through the proxy in the environment; encrypted if its address requires it.
//!
//! `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are interpreted as by curl, also in lower case. A server on
//! this machine is always reached directly: otherwise a key that may be sent there without encryption would leave the
//! machine.
//!
//! The certificate of a server may be signed by the certificate authorities of the system, which on a company's
//! machines include that of its gateway. `SSL_CERT_FILE` and `GIT_SSL_CAINFO` name a file that replaces them, so that
//! settings for git also work here.

use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{env, io};

use http::Uri;
use http::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use tokio::net::TcpStream;
use tower_service::Service;

/// Makes the connections to all servers.
#[derive(Clone, Debug)]
pub struct Way {
    direct: HttpConnector,
    matcher: Arc<Matcher>,
}

/// A connection to a server, or to the proxy in front of it.
#[derive(Debug)]
pub struct Link {
    stream: TokioIo<TcpStream>,
    /// Whether a proxy reads the requests and needs the whole address in them. Inside a tunnel no proxy reads them.
    is_read_by_a_proxy: bool,
}

type Failed = Box<dyn Error + Send + Sync>;

impl Way {
    /// Uses the proxies of the environment.
    pub fn of_the_environment() -> Self {
        Self::through(Matcher::from_env())
    }

    fn through(matcher: Matcher) -> Self {
        let mut direct = HttpConnector::new();
        // The caller adds encryption to the connection.
        direct.enforce_http(false);
        Self {
            direct,
            matcher: Arc::new(matcher),
        }
    }

    /// The header that identifies us to the proxy, for a request that the proxy reads itself.
    pub fn authorization(&self, server: &Uri) -> Option<HeaderValue> {
        if server.scheme_str() == Some("https") {
            // The tunnel already sends the header.
            return None;
        }
        self.proxy(server)?.basic_auth().cloned()
    }

    fn proxy(&self, server: &Uri) -> Option<Intercept> {
        match server.host().is_none_or(is_this_machine) {
            true => None,
            false => self.matcher.intercept(server),
        }
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

impl Service<Uri> for Way {
    type Response = Link;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Link, Failed>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let mut direct = self.direct.clone();
        let Some(proxy) = self.proxy(&server) else {
            return Box::pin(async move {
                let stream = direct.call(server).await?;
                Ok(Link {
                    stream,
                    is_read_by_a_proxy: false,
                })
            });
        };
        if proxy.uri().scheme_str() != Some("http") {
            // The address may contain a password, so the message does not show it.
            let why = "the proxy that the environment names is none of the kind `http://`";
            return Box::pin(async move { Err(why.into()) });
        }
        let at = proxy.uri().clone();
        if server.scheme_str() != Some("https") {
            return Box::pin(async move {
                let stream = direct.call(at).await?;
                Ok(Link {
                    stream,
                    is_read_by_a_proxy: true,
                })
            });
        }
        let mut tunnel = Tunnel::new(at, direct);
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        Box::pin(async move {
            let stream = tunnel.call(server).await;
            let refused = |error| format!("the proxy could not connect to the server ({error})");
            Ok(Link {
                stream: stream.map_err(refused)?,
                is_read_by_a_proxy: false,
            })
        })
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_read_by_a_proxy)
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The variables that name a file of certificate authorities; the first that is set is used.
const FILES: [&str; 2] = ["SSL_CERT_FILE", "GIT_SSL_CAINFO"];

/// Makes connections to servers, encrypted if the address requires it.
pub type Encrypted = HttpsConnector<Way>;

/// Connections in this way, with the certificate authorities of the environment.
///
/// # Errors
///
/// Fails if a variable names authorities that cannot be read: otherwise the program would trust other authorities than
/// intended.
pub fn encrypted(way: Way) -> Result<Encrypted, String> {
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(of_the_environment()?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(way))
}

fn of_the_environment() -> Result<ClientConfig, String> {
    for variable in FILES {
        if let Some(file) = env::var_os(variable).filter(|file| !file.is_empty()) {
            let roots = authorities(Path::new(&file));
            let roots = roots.map_err(|why| format!("{why}; `{variable}` names that file"))?;
            return Ok(builder()?
                .with_root_certificates(roots)
                .with_no_client_auth());
        }
    }
    let builder = match builder()?.with_native_roots() {
        Ok(builder) => builder,
        Err(error) if env::var_os("SSL_CERT_DIR").is_some() => {
            return Err(format!(
                "the certificates of the folder that `SSL_CERT_DIR` names cannot be read: {error}"
            ));
        }
        // A slim container has no certificate authorities: then those of browsers are used.
        Err(_) => builder()?.with_webpki_roots(),
    };
    Ok(builder.with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

/// The certificate authorities in a PEM file.
///
/// # Errors
///
/// Fails if the file cannot be read, or if an entry is not a certificate.
pub fn authorities(file: &Path) -> Result<RootCertStore, String> {
    let unread = |error: &dyn std::fmt::Display| {
        let file = file.display();
        format!("the certificates of `{file}` cannot be read: {error}")
    };
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_file_iter(file).map_err(|error| unread(&error))? {
        let one = one.map_err(|error| unread(&error))?;
        roots.add(one).map_err(|error| unread(&error))?;
    }
    match roots.is_empty() {
        true => Err(unread(&"there are none")),
        false => Ok(roots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_machine_is_never_reached_through_a_proxy() {
        let matcher = Matcher::builder()
            .all("http://proxy.test:3128")
            .no("inside.test,10.0.0.0/8")
            .build();
        let way = Way::through(matcher);
        let is_proxied = |url: &str| way.proxy(&url.parse().expect("an address")).is_some();
        for url in [
            "http://127.0.0.1:8080/v1",
            "http://localhost:1/",
            "http://LOCALHOST/",
            "http://[::1]:9/",
            "https://127.3.4.5/",
            "https://inside.test/",
            "http://a.inside.test/",
            "http://10.1.2.3/",
        ] {
            assert!(!is_proxied(url), "{url}");
        }
        for url in [
            "http://models.test/",
            "https://localhost.test/",
            "http://11.1.2.3/",
        ] {
            assert!(is_proxied(url), "{url}");
        }
    }

    #[test]
    fn the_password_of_a_proxy_is_a_header_of_requests_that_it_reads_and_of_no_other() {
        let matcher = Matcher::builder().all("http://me:word@proxy.test").build();
        let way = Way::through(matcher);
        let header = |url: &str| way.authorization(&url.parse().expect("an address"));
        let plain = header("http://models.test/").expect("it is read by the proxy");
        assert_eq!(plain.to_str().ok(), Some("Basic bWU6d29yZA=="));
        assert_eq!(header("https://models.test/"), None);
        assert_eq!(header("http://127.0.0.1/"), None);
    }
}
