//! A session store in one process, for trying the protocols: `serve PORT [TOKEN]` on loopback, a
//! thread for each connection.

#[path = "../tests/support/engine.rs"]
mod engine;
#[path = "../tests/support/serve.rs"]
mod serve;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use forebay_session::{Access, Connection, Limits};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments
        .next()
        .and_then(|port| port.parse().ok())
        .unwrap_or(11311);
    let access = match arguments.next() {
        None => Access::Open,
        Some(token) => Access::Token {
            user: None,
            token: token.into(),
        },
    };
    let limits = Limits::default();
    let engine = Arc::new(engine::Plain::new(limits.item_bytes));
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("listening on {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let (stream, engine, access) = (stream?, Arc::clone(&engine), access.clone());
        std::thread::spawn(move || {
            if let Err(error) = serve::serve(stream, &*engine, Connection::new(limits, access)) {
                eprintln!("connection: {error}");
            }
        });
    }
    Ok(())
}
