//! Whom a command trusts by TLS, and what it shows.

use std::path::PathBuf;

use clap::Args;
use forebay_tls::{Identity, Trust};

use crate::exit::Failure;

/// Options of TLS.
#[derive(Debug, Default, Args)]
pub(crate) struct TrustArgs {
    /// With TLS: trust the certificates of this PEM file instead of the system's
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,
    /// With TLS: the PEM file of the certificate to show, for a server with a `client_ca`
    #[arg(long, global = true, value_name = "FILE", requires = "cert_key")]
    pub(crate) cert: Option<PathBuf>,
    /// With TLS: the PEM file of that certificate's key
    #[arg(long = "key", global = true, value_name = "FILE", requires = "cert")]
    pub(crate) cert_key: Option<PathBuf>,
    /// With TLS: trust anyone
    #[arg(long, global = true)]
    pub(crate) insecure: bool,
}

/// What the files of the options hold.
pub(crate) struct Pem {
    authorities: Option<Vec<u8>>,
    own: Option<(Vec<u8>, Vec<u8>)>,
    insecure: bool,
}

impl TrustArgs {
    /// Whether anything was said.
    pub(crate) fn is_given(&self) -> bool {
        self.ca.is_some() || self.cert.is_some() || self.insecure
    }

    /// Reads the files.
    ///
    /// # Errors
    /// One cannot be read.
    pub(crate) fn read(&self) -> Result<Pem, Failure> {
        let read = |path: &PathBuf| {
            let failed = |error| Failure::message(format_args!("{}: {error}", path.display()));
            std::fs::read(path).map_err(failed)
        };
        let [ca, cert, key] =
            [&self.ca, &self.cert, &self.cert_key].map(|file| file.as_ref().map(read));
        Ok(Pem {
            authorities: ca.transpose()?,
            own: cert.transpose()?.zip(key.transpose()?),
            insecure: self.insecure,
        })
    }
}

impl Pem {
    /// Whom to trust.
    pub(crate) fn trust(&self) -> Trust<'_> {
        match &self.authorities {
            Some(pem) => Trust::These(pem),
            None if self.insecure => Trust::Anyone,
            None => Trust::System,
        }
    }

    /// What to show to a server that asks.
    pub(crate) fn identity(&self) -> Option<Identity<'_>> {
        let own = self.own.as_ref();
        own.map(|(chain, key)| Identity { chain, key })
    }
}
