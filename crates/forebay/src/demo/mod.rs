//! `forebay` without a command: an origin of its own, Forebay in front of it,
//! and what is going on in one line.

mod figures;
mod origin;
mod picture;
mod request;
mod site;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay_config::settings::ListenAddress;
use forebay_config::{OriginOptions, Settings};

use crate::cli::DemoArgs;
use crate::exit::{Failure, Outcome};
use crate::open_files;
use crate::out;
use crate::run::Running;
use crate::signals::Event;
use figures::Sample;
use site::Site;

/// Between two figures that replace each other.
const TICK: Duration = Duration::from_secs(1);

/// Between two figures when each is a line of its own.
const CALM_TICK: Duration = Duration::from_secs(10);

/// Runs the demonstration until a signal ends it.
///
/// # Errors
/// When an address cannot be had.
pub(crate) fn demonstrate(args: &DemoArgs) -> Outcome {
    let site = Arc::new(Site::new(origin::now()));
    let origin = origin::start(Arc::clone(&site)).map_err(|error| {
        Failure::message(format_args!(
            "the demonstration's origin cannot start: {error}"
        ))
    })?;
    let listen = free(args.listen);
    let admin = free(args.admin);
    let running = Running::start(settings(origin, listen, admin)?, Vec::new(), None)?;
    let admin = running.admin_address().unwrap_or(admin);
    site.set_admin(admin);
    let clients = running
        .addresses()
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    out::print(&introduction(&clients, origin, admin));
    note_other_port(args.listen, &clients);
    note_other_port(args.admin, &admin.to_string());
    let started = Instant::now();
    watch(&running, started, args.quiet);
    let last = Sample::take(running.control(), started.elapsed());
    // Whoever presses Ctrl-C means now; what is left of the connections is of no interest here.
    running.drain();
    out::line(&last.summary());
    Ok(())
}

/// Shows figures until a signal comes.
fn watch(running: &Running, started: Instant, quiet: bool) {
    let in_place = out::is_terminal();
    let tick = if quiet {
        None
    } else {
        Some(if in_place { TICK } else { CALM_TICK })
    };
    let mut before = Sample::take(running.control(), started.elapsed());
    loop {
        match running.next(tick) {
            Some(Event::Stop) => break,
            Some(_) => continue,
            None if quiet => break,
            None => {}
        }
        let now = Sample::take(running.control(), started.elapsed());
        let line = now.line_since(&before);
        // Back to the first column, and the rest of the old line away.
        out::print(&if in_place {
            format!("\r{line}\x1b[K")
        } else {
            format!("{line}\n")
        });
        before = now;
    }
    if in_place {
        out::print("\r\x1b[K");
    }
}

/// `address`, or any port of the same host when somebody listens there. To
/// ask needs a socket without SO_REUSEPORT: with it, two demonstrations would
/// share one port and visitors would meet both.
fn free(address: SocketAddr) -> SocketAddr {
    match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => SocketAddr::new(address.ip(), 0),
        _ => address,
    }
}

/// Forebay's own rules, but for what the visitor's page needs.
fn settings(
    origin: SocketAddr,
    listen: SocketAddr,
    admin: SocketAddr,
) -> Result<Settings, Failure> {
    let mut settings = forebay_config::for_origin(&OriginOptions {
        origin: &origin.to_string(),
        listen: &listen.to_string(),
        ..OriginOptions::default()
    })
    .map_err(|errors| Failure::Message(errors.join("\n")))?;
    settings.admin.addresses = vec![ListenAddress::Tcp(admin)];
    settings.server.drain_timeout = Duration::from_secs(1);
    settings.server.max_connections = settings
        .server
        .max_connections
        .min(open_files::affordable_connections());
    settings.log.level = "warn".into();
    for site in &mut settings.sites {
        // With it the page gets past the browser's own cache.
        site.policy.ignore_query = vec!["_".into()];
        site.policy.normalize_accept_language = true;
    }
    Ok(settings)
}

fn introduction(clients: &str, origin: SocketAddr, admin: SocketAddr) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let addresses = columns(&[
        (
            format!("http://{clients}/"),
            "look here: what was a hit, how old it is, and why",
        ),
        (format!("http://{origin}/"), "the same site without Forebay"),
        (format!("http://{admin}/"), "figures"),
    ]);
    let commands = columns(&[
        (
            format!("curl -i http://{clients}/object/1k"),
            "# twice: see Cache-Status and Age",
        ),
        (
            format!("curl -so /dev/null 'http://{clients}/object/6k?_=[1-20000]'"),
            "# 20,000 requests",
        ),
        (format!("curl http://{admin}/status"), "# what they came to"),
    ]);
    format!(
        "Forebay {version}, a demonstration: a small site with Forebay in front of it\n\n{addresses}\n\
         Three commands to try in another terminal:\n\n{commands}\n\
         Ctrl-C ends it.\n\n"
    )
}

/// Two columns, the second in line.
fn columns(rows: &[(String, &str)]) -> String {
    let width = rows.iter().map(|(left, _)| left.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(left, right)| format!("  {left:width$}   {right}\n"))
        .collect()
}

fn note_other_port(wanted: SocketAddr, got: &str) {
    if wanted.port() != 0 && wanted.to_string() != got {
        out::line(&format!("Note: {wanted} is in use, so this is {got}.\n"));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_port_in_use_is_left_to_its_owner() {
        let owner = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = owner.local_addr().unwrap();
        assert_eq!(free(taken), "127.0.0.1:0".parse().unwrap());
        drop(owner);
        // A process that another test is starting may hold it for a moment longer.
        let begun = Instant::now();
        while free(taken) != taken {
            assert!(begun.elapsed() < Duration::from_secs(10), "it stays taken");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_introduction_names_every_address() {
        let text = introduction(
            "127.0.0.1:1",
            "127.0.0.1:2".parse().unwrap(),
            "127.0.0.1:3".parse().unwrap(),
        );
        for address in ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"] {
            assert!(text.contains(&format!("http://{address}/")), "{text}");
        }
        assert_eq!(text.matches("curl ").count(), 3);
    }
}
