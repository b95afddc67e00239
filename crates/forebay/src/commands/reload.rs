//! `forebay reload`: asks a running server, at its administration address,
//! to read its configuration again.

use crate::cli::{ReloadArgs, ServerArgs};
use crate::configuration;
use crate::exit::{Failure, Outcome};
use crate::out;

use super::client::{Client, words};

/// Runs the command.
///
/// # Errors
/// When the file is bad, the server is not there, or it refused.
pub(crate) fn reload(args: &ReloadArgs) -> Outcome {
    let checked = args.config.as_deref().map(configuration::read_aloud);
    let checked = checked.transpose()?;
    let server = ServerArgs {
        config: None,
        admin: args.admin.clone(),
        token: args.token.clone(),
    };
    let client = Client::new(&server, checked.as_ref().map(|checked| &checked.settings))?;
    let address = client.address();
    let reply = client.send("POST", "/reload", None)?;
    let words = words(&reply.body);
    if (200..300).contains(&reply.status) {
        out::line(&format!("{address}: the new configuration is in force"));
        words
            .iter()
            .for_each(|word| out::line(&format!("  warning: {word}")));
        return Ok(());
    }
    if reply.status == 401 {
        return Err(client.refused(&reply));
    }
    let reason = if words.is_empty() {
        format!("status {}", reply.status)
    } else {
        words.join("\n")
    };
    let space = if reason.contains('\n') { '\n' } else { ' ' };
    Err(Failure::Text(format!(
        "{address} refused, and goes on as before:{space}{reason}"
    )))
}
