//! Scenarios: what a virtual user does, step by step.
//!
//! `model.rs` is the file's content as types, read from TOML by `read.rs` and
//! written by `write.rs`. `compile.rs` makes of it a [`Compiled`], shared by
//! all users; a [`User`] goes through it. None of them knows a socket or a clock.

mod act;
mod check;
mod coding;
mod compile;
mod compiled;
mod condition;
mod cookie_date;
mod cookies;
mod errors;
mod extract;
mod json_path;
mod keys;
mod memory;
mod model;
mod pattern;
mod pause;
mod plan;
mod program;
mod read;
mod table;
mod template;
mod user;
mod write;

pub use act::{Act, Answer, Fault, FaultKind, Sent};
pub use compiled::{Compiled, Files, Setup};
pub use errors::Errors;
pub use keys::{KEYS, Key};
pub use model::{
    Count, Data, DataOrder, Expect, Extract, Flow, OnEnd, Pause, Scenario, Source, Step,
};
pub use template::escape;
pub use user::User;
