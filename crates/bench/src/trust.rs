//! Which certificates are trusted, as the options say.

use std::sync::Arc;

use forebay_tls::{ClientConfig, Trust, client_config};

/// The settings of TLS: any certificate, those that a PEM file names, or the system's.
///
/// # Errors
/// When there is no certificate to trust.
pub(crate) fn config(insecure: bool, roots: Option<&[u8]>) -> Result<Arc<ClientConfig>, String> {
    let (trust, option) = match (insecure, roots) {
        (true, _) => (Trust::Anyone, "--insecure"),
        (false, Some(pem)) => (Trust::These(pem), "--cacert"),
        (false, None) => (Trust::System, "--cacert or --insecure"),
    };
    client_config(trust, None, &[b"http/1.1"]).map_err(|error| format!("{option}: {error}"))
}
