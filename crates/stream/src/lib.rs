//! A byte stream to a client or a server: a socket as it is, or TLS on it.
//!
//! It knows neither HTTP nor settings; the TLS session itself is `forebay_tls`.

mod plain;
mod stream;

pub use stream::Stream;
