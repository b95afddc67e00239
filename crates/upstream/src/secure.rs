//! TLS to the servers of a pool: whom to trust, as whom to come, and the name that is asked for.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use forebay_config::settings::OriginTls;
use forebay_tls::{ClientConfig, Identity, ServerName, Session, Trust, client_config};

use forebay_stream::Stream;

/// How connections of a pool are encrypted.
#[derive(Debug)]
pub(crate) struct Secure {
    config: Arc<ClientConfig>,
    /// The name asked for and verified, where it is not the server's own.
    name: Option<ServerName<'static>>,
    /// Made of what the files hold.
    files: u64,
}

impl Secure {
    /// Reads the files that the settings name. Blocks.
    ///
    /// # Errors
    /// A file cannot be read or does not hold what it should; in words for the operator.
    pub(crate) fn new(settings: &OriginTls) -> Result<Self, String> {
        let authorities = settings.authorities.as_deref().map(file).transpose()?;
        let identity = settings.certificate.as_ref();
        let identity = identity.map(|(chain, key)| Ok::<_, String>((file(chain)?, file(key)?)));
        let chain_and_key = identity.transpose()?;
        let trust = match (settings.verify, &authorities) {
            (false, _) => Trust::Anyone,
            (true, Some(pem)) => Trust::These(pem),
            (true, None) => Trust::System,
        };
        let identity = chain_and_key
            .as_ref()
            .map(|(chain, key)| Identity { chain, key });
        let name = settings.name.as_deref().map(server_name).transpose()?;
        Ok(Self {
            config: client_config(trust, identity, &[b"http/1.1"])?,
            name,
            files: number(&(&authorities, &chain_and_key)),
        })
    }

    /// Another number when a file has changed.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Encrypts a connection to the server of this name or address.
    ///
    /// # Errors
    /// `InvalidData` where TLS refuses it, with the reason; else what the socket says.
    pub(crate) async fn shake(&self, stream: Stream, host: &str) -> io::Result<Stream> {
        let name = match &self.name {
            Some(name) => name.clone(),
            None => server_name(host).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?,
        };
        let session = Session::client(Arc::clone(&self.config), name)?;
        stream.secure(Box::new(session)).await
    }
}

/// A number made of a value, the same in every process of this program.
pub(crate) fn number(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn file(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn server_name(name: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| format!("`{name}` cannot be the name of a TLS server: write tls.name"))
}
