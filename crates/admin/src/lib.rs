//! The administration: figures, objects, purging, reload, a live log.
//!
//! A small HTTP/1.1 server on a thread of its own, strict and bounded like the
//! proxy, but made for operators and their programs: one request on a
//! connection, on TCP or a Unix socket, JSON in and out. It never touches the
//! workers; everything it shows or does goes through [`Control`].
//!
//! ```text
//!  listen ─▶ connection ─▶ request (form, forgery) ─▶ routes ─▶ access (tokens) ─▶ body
//!                                                        │
//!                                    dashboard ◀── or ───┴──▶ api ─▶ Control
//! ```
//!
//! What is served stands in one table (`routes.rs`); the description at
//! `/api/v1/openapi.json` is made from it.

mod access;
mod answer;
mod api;
mod body;
mod connection;
pub mod control;
mod dashboard;
mod follow;
mod history;
mod listen;
mod openapi;
mod page;
mod query;
mod request;
mod routes;
mod schema;
mod server;
mod waiting;

pub use access::{Access, Address, Doors, Role, Token};
pub use control::Control;
pub use server::{Admin, start};
