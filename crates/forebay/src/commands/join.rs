//! `forebay join`: the server beside us becomes a back end of an edge, by dialing in.

use std::sync::{Arc, mpsc};

use forebay_config::Settings;
use forebay_join::{EdgeAddress, Join, protocol};
use forebay_tls::{ClientConfig, client_config};
use tokio::sync::watch;

use crate::cli::JoinArgs;
use crate::error_log::ErrorLog;
use crate::exit::{Failure, Outcome};
use crate::open_files;
use crate::signals::{self, Event};

/// Runs the command until a signal ends it: requests under way are answered first.
///
/// # Errors
/// When the name cannot be one, or there is no event loop to be had. An edge that is away is
/// tried again.
pub(crate) fn join(args: &JoinArgs) -> Outcome {
    let join = Join {
        edges: args.edges.clone(),
        tls: tls(args)?,
        pool: args.pool.clone(),
        token: args.token.clone(),
        name: args.name.clone().unwrap_or_else(|| own_name(args)),
        local: args.local.clone(),
        most: args.connections as usize,
    };
    if !protocol::is_name(join.name.as_bytes()) {
        return Err(Failure::Message(format!(
            "{:?} cannot be a back end's name: write --name with letters, digits, `-`, `.` and `_`, \
             {} at most",
            join.name,
            protocol::NAME_BYTES
        )));
    }
    let is_sendable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_sendable(&join.token) || !is_sendable(&join.pool) {
        return Err(Failure::message(
            "--token and --pool are sent in a header: letters, digits and signs, no blanks",
        ));
    }
    ErrorLog::start(&Settings::default().log).map_err(Failure::Message)?;
    open_files::raise(join.edges.len() * join.most);
    let leave = leave_on_signal()?;
    tracing::info!("joining as {:?} with {}", join.name, join.local);
    forebay_join::run(join, leave).map_err(Failure::message)
}

/// How edges with TLS are spoken to.
fn tls(args: &JoinArgs) -> Result<Option<Arc<ClientConfig>>, Failure> {
    if !args.edges.iter().any(EdgeAddress::has_tls) {
        return match args.trust.is_given() {
            false => Ok(None),
            true => Err(Failure::Usage(
                "forebay: --ca, --cert and --insecure are for edges with TLS: write https://HOST[:PORT]"
                    .into(),
            )),
        };
    }
    let pem = args.trust.read()?;
    let config = client_config(pem.trust(), pem.identity(), &[b"http/1.1"]);
    config.map(Some).map_err(Failure::Message)
}

/// True after the first signal to stop; a second one ends the process.
fn leave_on_signal() -> Result<watch::Receiver<bool>, Failure> {
    let (sender, events) = mpsc::channel();
    let unheard = |error| Failure::message(format_args!("signals cannot be received: {error}"));
    signals::watch(sender).map_err(unheard)?;
    let (leave, leaving) = watch::channel(false);
    let waiting = move || {
        let stops = events.iter().filter(|event| matches!(event, Event::Stop));
        for (number, _) in stops.enumerate() {
            if number > 0 {
                tracing::warn!("stopped at once by a second signal");
                crate::error_log::flush();
                std::process::exit(1);
            }
            tracing::info!("leaving: requests under way are answered");
            leave.send_replace(true);
        }
    };
    std::thread::Builder::new()
        .name("leave".into())
        .spawn(waiting)
        .map_err(unheard)?;
    Ok(leaving)
}

/// The machine and the server: the same after a restart, and another one for each server.
fn own_name(args: &JoinArgs) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = format!("{}-{}", host.trim(), args.local);
    let plain = |c: char| {
        let good = c.is_ascii_alphanumeric() || "-._".contains(c);
        if good { c } else { '-' }
    };
    let name: String = name.chars().map(plain).collect();
    // The end tells servers of a machine apart.
    let from = name.len().saturating_sub(protocol::NAME_BYTES);
    name[from..].to_owned()
}
