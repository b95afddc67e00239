//! The back end's side of dial-in: connections to an edge, each carrying requests to a local server.
//!
//! ```text
//!  edge ◀── control: "connections 8", "ping" / "pong", "leaving" ──▶ Joiner
//!  edge ──▶ connection ──bytes──▶ local server      (as many as the edge asks for)
//! ```
//!
//! The edge speaks HTTP/1.1 on each connection as to any origin, so the joiner passes bytes and
//! parses nothing. What both sides say to each other is in [`protocol`].

mod address;
mod connection;
mod edge;
mod local;
mod pause;
pub mod protocol;
mod relay;

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use forebay_tls::ClientConfig;
use tokio::sync::watch;

pub use address::EdgeAddress;
pub use local::Local;

/// What is joined, and with what.
#[derive(Clone, Debug)]
pub struct Join {
    /// All of them are joined.
    pub edges: Vec<EdgeAddress>,
    /// How edges with TLS are spoken to; not looked at where there are none.
    pub tls: Option<Arc<ClientConfig>>,
    /// The pool.
    pub pool: String,
    /// The secret that lets us in.
    pub token: String,
    /// What the edges call us.
    pub name: String,
    /// The server that answers.
    pub local: Local,
    /// Connections to each edge at most.
    pub most: usize,
}

/// Joins until `leave` says so, then leaves: requests under way are answered.
///
/// # Errors
/// When there is no event loop to be had.
pub fn run(join: Join, leave: watch::Receiver<bool>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())?;
    let join = Rc::new(join);
    runtime.block_on(async {
        let edges: Vec<_> = join
            .edges
            .iter()
            .map(|edge| {
                let edge = edge::Edge::new(edge, Rc::clone(&join), leave.clone());
                tokio::task::spawn_local(edge.run())
            })
            .collect();
        for edge in edges {
            // One that panicked has said so.
            let _ = edge.await;
        }
    });
    Ok(())
}
