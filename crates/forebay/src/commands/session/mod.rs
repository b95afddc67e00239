//! `forebay session`: the items of a running session store, in memcached's protocol.

pub(crate) mod args;
mod export;
mod import;
mod items;
mod list;
mod snapshot;
mod stats;
mod stdout;
mod target;

use forebay_session_client::Error;

use super::show;
use crate::exit::{Failure, Outcome};
use crate::out;
use args::{Order, SessionArgs};

/// Runs the command.
///
/// # Errors
/// When the store is not there or refuses, a key is missing, or not everything was taken.
pub(crate) fn session(args: &SessionArgs) -> Outcome {
    let target = || target::of(&args.store);
    match &args.order {
        Order::Get(args) => items::get(&target()?, args),
        Order::Set(args) => items::set(&target()?, args),
        Order::Delete(args) => items::delete(&target()?, args),
        Order::List(args) => list::list(&target()?, args),
        Order::Stats(args) => stats::stats(&target()?, args),
        Order::Export(args) => export::export(&target()?, args),
        Order::Import(args) => import::import(&target()?, args),
        Order::Snapshot(order) => snapshot::snapshot(&args.store, order),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::Refused { words, .. } if words.contains("unauthenticated") => {
                " (it wants a token: give one with --token or in FOREBAY_SESSION_TOKEN)"
            }
            _ => "",
        };
        Self::Message(format!("{error}{hint}"))
    }
}

/// So many troubles are told one by one; the others are counted.
const TOLD: u64 = 20;

/// Tells of a trouble, as long as there are few.
fn tell(told: &mut u64, text: &str) {
    *told += 1;
    match *told {
        ..=TOLD => out::error_line(&format!("forebay: {text}")),
        number if number == TOLD + 1 => out::error_line("forebay: … and more"),
        _ => {}
    }
}

/// Tells of an item that the store it is read from could not give.
fn tell_unread(told: &mut u64, key: &[u8], words: &str) {
    tell(
        told,
        &format!("`{}` could not be read: {words}", shown(key)),
    );
}

/// Said where a list may be incomplete.
fn warn_of_list(may_miss: bool) {
    if may_miss {
        out::error_line(
            "forebay: this memcached is too old for a list without gaps: items that were in use are missing. Do it once more when nobody uses it.",
        );
    }
}

/// `1 item`, `1 234 items`
fn items(number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} item{plural}", show::count(number))
}

/// A key for a person's eyes: as it is if it is text, else with what is not text as `\xNN`.
fn shown(key: &[u8]) -> String {
    match str::from_utf8(key) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => key.escape_ascii().to_string(),
    }
}
