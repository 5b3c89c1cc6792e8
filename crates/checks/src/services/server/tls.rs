//! Encrypted connections, by the words that the clients of the databases have for them.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// A client that checks the certificate of the server: whether one of the known authorities, or one from a file, has
/// signed it, and whether it is for the host.
pub(super) fn verifying(authorities: Option<&Path>) -> Result<ClientConfig, String> {
    let roots = match authorities {
        None => webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect(),
        Some(file) => kelvin_system::proxy::authorities(file)?,
    };
    Ok(builder()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// A client that takes any certificate, as the clients of the databases do unless they are told otherwise: nobody can
/// listen on the way, but somebody in between can answer in place of the server.
pub(super) fn trusting() -> Result<ClientConfig, String> {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    let builder = builder()?.dangerous();
    Ok(builder
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
