//! Which certificates are trusted, and which is shown.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Which servers are trusted.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// Those whose certificates the system's authorities signed.
    System,
    /// Those that the certificates of a PEM file signed, or that show one of them.
    These(&'a [u8]),
    /// All: the connection is encrypted, and nobody knows to whom.
    Anyone,
}

/// Who we are, to a server that asks or to our own clients: PEM files.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The certificate and those that lead to an authority.
    pub chain: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
}

/// The settings of a client's sessions, which speak `protocols` (ALPN, RFC 7301; none: not said).
///
/// # Errors
/// A file does not hold what it should, or there is nobody to trust; in words for the operator.
pub fn client_config(
    trust: Trust<'_>,
    identity: Option<Identity<'_>>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .dangerous();
    let builder = builder.with_custom_certificate_verifier(verifier(trust, provider)?);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = certificates(identity.chain)?;
            let key = PrivateKeyDer::from_pem_slice(identity.key)
                .map_err(|error| format!("there is no private key in it: {error}"))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("the certificate and the key are of no use: {error}"))?
        }
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

fn verifier(
    trust: Trust<'_>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let trusted = match trust {
        Trust::Anyone => return Ok(Arc::new(Anyone(provider))),
        Trust::These(pem) => {
            let given = certificates(pem)?;
            Trusted::new(store(&given)?, given, provider)?
        }
        Trust::System => {
            let roots = system_roots();
            if roots.is_empty() {
                return Err("no certificate is trusted on this machine (install ca-certificates, or name some)".into());
            }
            Trusted::new(roots, Vec::new(), provider)?
        }
    };
    Ok(Arc::new(trusted))
}

/// Certificates that the system trusts.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    roots
}

pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Err("there is no certificate in it".into());
    }
    Ok(found)
}

pub(crate) fn store(certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate.clone())
            .map_err(|error| error.to_string())?;
    }
    Ok(roots)
}

/// Trusts what certificates sign, and a certificate that was given if it is the server's own: what
/// `openssl req -x509` makes is both, and webpki refuses it as the end of a chain.
#[derive(Debug)]
struct Trusted {
    chains: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn new(
        roots: RootCertStore,
        given: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        Ok(Self { chains, given })
    }

    /// What is left to be seen to when a certificate is refused as one that signs others. Its
    /// validity was looked at before that.
    fn self_signed(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<ServerCertVerified, Error> {
        if !self.given.iter().any(|given| given == certificate) {
            return Err(CertificateError::UnknownIssuer.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .chains
            .verify_server_cert(certificate, chain, name, ocsp, now);
        match &verified {
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if why.to_string().contains("CaUsedAsEndEntity") =>
            {
                self.self_signed(certificate, name)
            }
            _ => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Trusts any certificate, but not a handshake that was tampered with.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
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
