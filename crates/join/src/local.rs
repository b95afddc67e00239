//! The server beside us that answers the requests.

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use forebay_stream::Stream;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// A local server has so long to accept.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the local server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Local {
    /// `host:port`
    Tcp(String),
    /// `unix:PATH`
    Unix(PathBuf),
}

impl Local {
    /// Opens a connection to it.
    pub(crate) async fn connect(&self) -> io::Result<Stream> {
        let connecting = async {
            match self {
                Self::Unix(path) => Ok(UnixStream::connect(path).await?.into()),
                Self::Tcp(address) => {
                    let stream = TcpStream::connect(address.as_str()).await?;
                    // Only latency suffers without it.
                    let _ = stream.set_nodelay(true);
                    Ok(stream.into())
                }
            }
        };
        timeout(PATIENCE, connecting).await?
    }
}

impl FromStr for Local {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        let text = text
            .strip_prefix("http://")
            .unwrap_or(text)
            .trim_end_matches('/');
        let port = text.rsplit_once(':').and_then(|(host, port)| {
            (!host.is_empty())
                .then(|| port.parse::<u16>().ok())
                .flatten()
        });
        match port {
            Some(1..) => Ok(Self::Tcp(text.to_owned())),
            _ => Err(format!(
                "{text:?} is no server: write HOST:PORT or unix:PATH"
            )),
        }
    }
}

impl std::fmt::Display for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => f.write_str(address),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        assert_eq!(
            "127.0.0.1:3000".parse(),
            Ok(Local::Tcp("127.0.0.1:3000".into()))
        );
        assert_eq!(
            "http://[::1]:80/".parse(),
            Ok(Local::Tcp("[::1]:80".into()))
        );
        assert_eq!("unix:/run/app".parse(), Ok(Local::Unix("/run/app".into())));
        for wrong in ["", "app", "app:", "app:0", "app:x", ":80"] {
            assert!(wrong.parse::<Local>().is_err(), "{wrong}");
        }
    }
}
