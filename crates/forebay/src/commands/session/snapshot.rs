//! `forebay session snapshot`: ordered over the administration, for only the server has the log.

use serde_json::{Value, json};

use super::super::client::Client;
use super::super::show;
use super::args::{SnapshotArgs, StoreArgs};
use crate::cli::ServerArgs;
use crate::exit::{Failure, Outcome};
use crate::out;

/// Runs the order.
///
/// # Errors
/// When the server is not there or refuses.
pub(super) fn snapshot(store: &StoreArgs, args: &SnapshotArgs) -> Outcome {
    let client = Client::of(&ServerArgs {
        config: store.config.clone(),
        admin: args.admin.clone(),
        token: args.admin_token.clone(),
    })?;
    let name = match &store.store {
        Some(name) => name.clone(),
        None => only(&client.json("GET", "/api/v1/sessions", None)?)?,
    };
    let directory = std::path::absolute(&args.directory).map_err(Failure::message)?;
    let order = json!({ "store": name, "directory": directory });
    let made = client.json("POST", "/api/v1/sessions/snapshot", Some(&order))?;
    let bytes = made["bytes"].as_u64().unwrap_or(0);
    out::line(&format!(
        "{}: {} of {name}",
        directory.display(),
        show::size(bytes as f64)
    ));
    Ok(())
}

/// The name of the only store.
fn only(answer: &Value) -> Result<String, Failure> {
    let stores = answer["sessions"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = stores
        .iter()
        .filter_map(|store| store["name"].as_str())
        .collect();
    match names.as_slice() {
        [] => Err(Failure::Message(
            "this server has no stores of sessions".into(),
        )),
        [only] => Ok((*only).to_owned()),
        several => Err(Failure::Message(format!(
            "it has several stores; name one with --store: {}",
            several.join(", ")
        ))),
    }
}
