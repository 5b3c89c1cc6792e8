//! Encrypted connections, and the authorities that may sign the certificate of a server.
//!
//! The authorities of the system count, which include the gateway of a company on the machines of that company.
//! `SSL_CERT_FILE` and `GIT_SSL_CAINFO` name a file that replaces them, so that settings that work for git work here
//! too.

use std::env;
use std::path::Path;
use std::sync::Arc;

use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::Way;

/// The variables that name a file of authorities; the first that is set counts.
const FILES: [&str; 2] = ["SSL_CERT_FILE", "GIT_SSL_CAINFO"];

/// Makes connections to servers, encrypted where the address asks for encryption.
pub type Encrypted = HttpsConnector<Way>;

/// Connections by this way, with the authorities of the environment.
///
/// # Errors
///
/// Where a variable names authorities that cannot be read: otherwise we would trust other authorities than intended.
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
        // A slim container has no authorities: then those of browsers are used.
        Err(_) => self::builder()?.with_webpki_roots(),
    };
    Ok(builder.with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, String> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

/// The authorities of a file in the form of PEM.
///
/// # Errors
///
/// Where the file cannot be read, or an entry of it is not a certificate.
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
