//! The stores that clients are tried on: one that anybody may use, and one that wants a token.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::Outcome;
use crate::forebay::Server;

const USER: &str = "shop";
const TOKEN: &str = "0123456789abcdef";

/// A server with both stores; stopped when dropped.
pub(super) struct Stores {
    server: Server,
    /// What the open one keeps.
    _path: TempDir,
}

impl Stores {
    /// Starts the server, with its configuration in `directory`.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(binary: &Path, directory: &Path) -> Outcome<Self> {
        let path = tempfile::tempdir()?;
        let template = fs::read_to_string(crate::root().join("tests/clients/forebay.toml"))?;
        let config = template
            .replace("{path}", &path.path().display().to_string())
            .replace("{user}", USER)
            .replace("{token}", TOKEN);
        let server = Server::start(binary, &config, directory)?;
        Ok(Self {
            server,
            _path: path,
        })
    }

    /// Tells a client where the stores are, and the token of the guarded one.
    ///
    /// # Errors
    /// When the server did not print where they are.
    pub(super) fn tell(&self, client: &mut Command) -> Outcome {
        client
            .env("FOREBAY_STORE", self.address("open")?.to_string())
            .env(
                "FOREBAY_GUARDED_STORE",
                self.address("guarded")?.to_string(),
            )
            .env("FOREBAY_USER", USER)
            .env("FOREBAY_TOKEN", TOKEN);
        Ok(())
    }

    fn address(&self, name: &str) -> Outcome<SocketAddr> {
        let mut sessions = self.server.sessions.iter();
        let found = sessions.find(|(own, _)| own == name);
        found
            .map(|&(_, address)| address)
            .ok_or_else(|| format!("the server does not say where [session.{name}] is").into())
    }
}
