//! `forebay drain`: makes a running server finish what is under way and end.

use crate::cli::DrainArgs;
use crate::exit::Outcome;
use crate::out;

use super::client::Client;

/// Runs the command; it does not wait for the end.
///
/// # Errors
/// When the server is not there or refuses.
pub(crate) fn drain(args: &DrainArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    client.json("POST", "/api/v1/drain", None)?;
    out::line(&format!(
        "{}: accepts no more connections, finishes what is under way, and ends",
        client.address()
    ));
    Ok(())
}
