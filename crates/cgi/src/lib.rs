//! FastCGI, SCGI and uwsgi: requests to applications and their responses, as bytes.
//!
//! Pure: it knows neither sockets nor clocks nor files. A request is a list of parameters
//! ([`Params`]), written in one of three forms into one buffer; a response is a head of field
//! lines ([`head::parse`]), which is the same in all three. FastCGI alone puts it into records
//! ([`fastcgi::Decoder`]); the others end it with the connection.
//!
//! [`script`] tells where in a path the script's name ends.

pub mod fastcgi;
pub mod head;
mod params;
pub mod script;

pub use params::{Form, Params, TooLarge};
