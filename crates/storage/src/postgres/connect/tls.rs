//! The encrypted connection to the database. The server's certificate is always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls_improved::MakeRustlsConnect;

use super::{DatabaseUrl, ServerError};

pub(super) fn connector(url: &DatabaseUrl) -> Result<MakeRustlsConnect, ServerError> {
    let refused = |why: String| ServerError::TlsRefused { place: url.place.clone(), why };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused(error.to_string()))?;
    let config = match &url.root_certificate {
        Some(path) => {
            let roots = roots_of(path).map_err(refused)?;
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        // Without encryption these roots are never used, so a machine that has no certificate
        // authorities can still connect to a database next to it.
        None if url.config.get_ssl_mode() == SslMode::Disable => {
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
        None => builder
            .with_platform_verifier()
            .map_err(|error| refused(error.to_string()))?
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots_of(path: &Path) -> Result<RootCertStore, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let mut roots = RootCertStore::empty();
    let found = CertificateDer::pem_file_iter(path).map_err(|error| told(&error))?;
    for certificate in found {
        let certificate = certificate.map_err(|error| told(&error))?;
        roots.add(certificate).map_err(|error| told(&error))?;
    }
    if roots.is_empty() {
        return Err(told(&"it holds no certificate"));
    }
    Ok(roots)
}
