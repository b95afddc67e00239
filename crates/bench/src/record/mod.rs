//! `forebay bench record`: a proxy on this machine that writes what a browser
//! does as a scenario.
//!
//! Two ways. As the browser's HTTP proxy it sees `http://` sites; what is under
//! TLS goes through it unread. With `--target` it takes the site's place: the
//! browser opens the recorder's address, TLS is spoken with the site, and links
//! to the site become links to the recorder.
//!
//! ```text
//! client.rs    a connection of the browser: request in, response back
//!   wire.rs      heads and bodies on a socket     upstream.rs  to servers
//!   delivery.rs  a response to the browser        tunnel.rs    CONNECT
//!   rewrite.rs   one origin's name for another's
//! tape.rs      what was recorded, in memory
//! weave.rs     recording to scenario, pure
//!   hosts.rs     whose requests count
//!   pages.rs     pages, resources, redirections, pauses
//!   draft.rs     what of a request is kept
//!   tokens.rs    values that the server made up   html.rs      tags
//! har.rs       recording to HAR
//! ```
//!
//! Each connection has a thread; a browser opens a few dozen. The file is
//! written when the recording ends, and each time the browser's last connection
//! closes.

mod client;
mod delivery;
mod draft;
mod har;
mod hosts;
mod html;
mod output;
mod pages;
mod rewrite;
mod tape;
mod tokens;
mod tunnel;
mod upstream;
mod weave;
mod wire;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use clap::Args;
use forebay_workload::Target;

use client::{Event, Shared};
use tape::Tape;

/// Connections at once; more are closed at once.
const MOST_CONNECTIONS: usize = 512;
/// How soon Ctrl-C is noticed.
const LOOK: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Two ways:
  forebay bench record --out shop.toml
      Set the browser's HTTP proxy to 127.0.0.1:8888 (chromium --proxy-server=127.0.0.1:8888
      --proxy-bypass-list='<-loopback>') and use the site. Only http:// can be recorded this way.
  forebay bench record --target https://shop.example --out shop.toml
      Open http://127.0.0.1:8888/ in the browser: it shows the site.

End with Ctrl-C; then forebay bench --scenario shop.toml";

/// `forebay bench record`
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// Where the browser connects to
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub listen: SocketAddr,
    /// Take this site's place instead of being the browser's proxy
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Where the scenario is written
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// Write the recording as HAR too
    #[arg(long, value_name = "FILE")]
    pub har: Option<PathBuf>,
    /// Leave out images, styles, scripts and fonts
    #[arg(long)]
    pub without_resources: bool,
    /// Keep requests to hosts like this only (`*.shop.example`); may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub keep_hosts: Vec<String>,
    /// End after so many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// End after this time, such as `5m`
    #[arg(long = "for", value_name = "TIME", value_parser = forebay_config::parse_duration)]
    pub time: Option<Duration>,
    /// Trust any certificate of the target
    #[arg(long, conflicts_with = "cacert")]
    pub insecure: bool,
    /// Trust these certificates of the target (PEM) instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
}

/// Records until Ctrl-C, or until the options end it, and writes the files.
///
/// # Errors
/// In words for the user: when an option is wrong, the address cannot be listened at, or a file cannot be
/// written.
pub(crate) fn run(args: &RecordArgs) -> Result<(), String> {
    output::check_writable(args)?;
    let shared = Arc::new(shared(args)?);
    let listener = TcpListener::bind(args.listen)
        .map_err(|error| format!("cannot listen at {}: {error}", args.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    eprint!("{}", greeting(args, address));
    let stop = crate::stop::on_interrupt();
    record(args, listener, &shared, &stop)
}

fn shared(args: &RecordArgs) -> Result<Shared, String> {
    let target = match &args.target {
        None => None,
        Some(text) => {
            let target = Target::parse(text).map_err(|error| error.to_string())?;
            if target.unix.is_some() {
                return Err(
                    "--target: a Unix socket cannot be recorded, give a URL of http or https"
                        .into(),
                );
            }
            Some(target)
        }
    };
    let roots = match &args.cacert {
        None => None,
        Some(path) => {
            let error = |error| format!("--cacert: {}: {error}", path.display());
            Some(std::fs::read(path).map_err(error)?)
        }
    };
    let tls = match &target {
        Some(target) if target.tls => Some(crate::trust::config(args.insecure, roots.as_deref())?),
        _ => None,
    };
    Ok(Shared {
        tape: Tape::new(),
        target,
        tls,
    })
}

fn greeting(args: &RecordArgs, address: SocketAddr) -> String {
    let how = match &args.target {
        Some(target) => format!("recording {target}: open http://{address}/ in the browser"),
        None => format!("recording: set the browser's HTTP proxy to {address} and use the site"),
    };
    let open = if address.ip().is_loopback() {
        ""
    } else {
        "warning: everyone who reaches this address can use it as a proxy\n"
    };
    format!(
        "{how}; Ctrl-C ends and writes {}\n{open}",
        args.out.display()
    )
}

/// Serves until the end, and writes.
fn record(
    args: &RecordArgs,
    listener: TcpListener,
    shared: &Arc<Shared>,
    stop: &AtomicBool,
) -> Result<(), String> {
    let (events, news) = channel();
    accept(listener, Arc::clone(shared), events)?;
    let ends = args.time.map(|time| Instant::now() + time);
    let mut open = 0_usize;
    let mut unwritten = false;
    loop {
        match next(&news, ends, stop) {
            News::End => break,
            News::Opened => open += 1,
            News::Of(Event::Recorded(count)) => {
                unwritten = true;
                if args.requests.is_some_and(|most| count as u64 >= most) {
                    break;
                }
            }
            News::Of(Event::Left) => {
                open = open.saturating_sub(1);
                if open == 0 && unwritten {
                    output::write(args, &shared.tape)?;
                    unwritten = false;
                }
            }
            News::Nothing => {}
        }
    }
    let written = output::write(args, &shared.tape)?;
    eprint!("{written}");
    Ok(())
}

/// What the recorder waits for.
enum News {
    Opened,
    Of(Event),
    Nothing,
    End,
}

fn next(news: &Receiver<News>, ends: Option<Instant>, stop: &AtomicBool) -> News {
    if stop.load(Ordering::Relaxed) || ends.is_some_and(|ends| Instant::now() >= ends) {
        return News::End;
    }
    match news.recv_timeout(LOOK) {
        Ok(news) => news,
        Err(RecvTimeoutError::Timeout) => News::Nothing,
        Err(RecvTimeoutError::Disconnected) => News::End,
    }
}

/// Takes connections on a thread of its own, until the program ends.
fn accept(listener: TcpListener, shared: Arc<Shared>, events: Sender<News>) -> Result<(), String> {
    let take = move || {
        let places = Arc::new(());
        for socket in listener.incoming() {
            let Ok(socket) = socket else {
                // Out of files, most likely; some will be closed soon.
                std::thread::sleep(LOOK);
                continue;
            };
            if Arc::strong_count(&places) > MOST_CONNECTIONS || events.send(News::Opened).is_err() {
                continue;
            }
            let (place, shared, events) =
                (Arc::clone(&places), Arc::clone(&shared), events.clone());
            let serve = move || {
                client::serve(socket, &shared, &|event| {
                    // The recording may have ended.
                    let _ = events.send(News::Of(event));
                });
                drop(place);
            };
            let _ = std::thread::Builder::new()
                .name("recorded".into())
                .spawn(serve);
        }
    };
    let spawned = std::thread::Builder::new()
        .name("accept".into())
        .spawn(take);
    spawned
        .map(drop)
        .map_err(|error| format!("no thread can be started: {error}"))
}

#[cfg(test)]
mod tests;
