//! `forebay serve`: from a file, or in front of one origin.

use forebay_config::settings::{ListenAddress, LogTarget};
use forebay_config::{OriginOptions, Settings};

use crate::cli::ServeArgs;
use crate::configuration;
use crate::exit::{Failure, Outcome};
use crate::out;
use crate::run::Running;
use crate::signals::Event;
use crate::systemd::{self, Passed};

/// The listener of `--origin` without `--listen`.
const LISTEN: &str = "127.0.0.1:8080";

/// Runs the command until a signal ends it.
///
/// # Errors
/// When the settings are wrong, an address cannot be had, or connections had
/// to be cut at the end.
pub(crate) fn serve(args: &ServeArgs, passed: Passed) -> Outcome {
    let settings = match &args.config {
        Some(path) => configuration::read_aloud(path)?.settings,
        None => from_options(args)?,
    };
    let inherited = passed.listeners().map_err(Failure::Message)?;
    // Absolute, because it appears in logs and figures.
    let file = args
        .config
        .as_ref()
        .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let running = Running::start(settings, inherited, file)?;
    announce(&running);
    loop {
        match running.next(None) {
            Some(Event::Reload) => {
                // Both outcomes are in the error log.
                let _ = running.control().reload_file();
            }
            Some(Event::Stop) | None => break,
            Some(Event::Drained(_)) => {}
        }
    }
    drain(running)
}

/// The settings of `--origin`.
fn from_options(args: &ServeArgs) -> Result<Settings, Failure> {
    let options = OriginOptions {
        origin: args.origin.as_deref().unwrap_or_default(),
        host: args.host.as_deref(),
        listen: args.listen.as_deref().unwrap_or(LISTEN),
        memory: args.memory.as_deref(),
        disk: args.disk.as_deref(),
        ttl: args.ttl.as_deref(),
    };
    let mut settings = forebay_config::for_origin(&options).map_err(|errors| {
        Failure::Usage(
            errors
                .iter()
                .map(|error| format!("error: {error}\n"))
                .collect(),
        )
    })?;
    settings.admin.addresses = args.admin.map(ListenAddress::Tcp).into_iter().collect();
    if let Some(target) = &args.access_log {
        settings.log.access = log_target(target);
    }
    Ok(settings)
}

fn log_target(text: &str) -> LogTarget {
    match text {
        "off" => LogTarget::Off,
        "stdout" => LogTarget::Stdout,
        "stderr" => LogTarget::Stderr,
        path => LogTarget::File(path.into()),
    }
}

/// The lines a script waits for; their form is a contract.
fn announce(running: &Running) {
    for address in running.addresses() {
        out::line(&format!("listening on {address}"));
    }
    for (name, address) in running.session_addresses() {
        out::line(&format!("session {name} on {address}"));
    }
    for address in running.admin_addresses() {
        out::line(&format!("admin on {address}"));
    }
    out::line("ready");
    systemd::ready("serving");
}

fn drain(running: Running) -> Outcome {
    let left = running.drain();
    match left {
        0 => Ok(()),
        1 => Err(Failure::message(
            "1 connection was cut: it had not finished within server.drain_timeout",
        )),
        n => Err(Failure::message(format_args!(
            "{n} connections were cut: they had not finished within server.drain_timeout"
        ))),
    }
}
