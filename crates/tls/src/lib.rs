//! TLS: whom to trust, and a session that is given a wire to read and write.
//!
//! It knows neither sockets nor event loops. The protocol itself is rustls.

mod server;
mod session;
mod trust;

pub use rustls::pki_types::ServerName;
pub use rustls::{ClientConfig, ClientConnection, ServerConfig};
pub use server::{ServerFiles, server_config};
pub use session::Session;
pub use trust::{Identity, Trust, client_config, system_roots};
