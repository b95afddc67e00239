//! What a server shows its clients, and what it asks of them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::trust::{Identity, certificates, store};

/// The PEM files of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerFiles<'a> {
    /// Its certificate, followed by those that signed it.
    pub certificate: &'a Path,
    /// The certificate's key.
    pub key: &'a Path,
    /// Authorities of which clients must have a certificate.
    pub client_ca: Option<&'a Path>,
}

impl ServerFiles<'_> {
    /// The settings of the server's sessions, which speak `protocols`, as [`server_config`] has them.
    /// Blocks.
    ///
    /// # Errors
    /// A file cannot be read or does not hold what it should; in words for the operator.
    pub fn read(&self, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, String> {
        let read =
            |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
        let (chain, key) = (read(self.certificate)?, read(self.key)?);
        let clients = self.client_ca.map(read).transpose()?;
        let identity = Identity {
            chain: &chain,
            key: &key,
        };
        server_config(identity, clients.as_deref(), protocols)
    }
}

/// The settings of a server's sessions, which speak `protocols` (ALPN, RFC 7301; none: not said).
/// With `clients` (a PEM file) only those are admitted whose
/// certificates one of those in it has signed.
///
/// # Errors
/// A file does not hold what it should; in words for the operator.
pub fn server_config(
    identity: Identity<'_>,
    clients: Option<&[u8]>,
    protocols: &[&[u8]],
) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let roots = certificates(pem)
                .and_then(|given| store(&given))
                .map_err(|error| format!("the clients' authorities: {error}"))?;
            builder.with_client_cert_verifier(verifier(roots, provider)?)
        }
    };
    let chain =
        certificates(identity.chain).map_err(|error| format!("the certificate: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(identity.key)
        .map_err(|error| format!("there is no private key in it: {error}"))?;
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate and the key are of no use: {error}"))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    // Sessions are taken up again by what clients keep: all threads know them, and none is stored.
    config.ticketer =
        aws_lc_rs::Ticketer::new().map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(Arc::new(config))
}

fn verifier(
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, String> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| format!("TLS cannot be set up: {error}"))
}
