//! Signals as events in a channel, so that the main thread waits in one
//! place for everything that can happen to a running server.

use std::io;
use std::sync::mpsc::Sender;

use tokio::signal::unix::{Signal, SignalKind, signal};

use forebay_proxy::Drained;

/// What the main thread waits for.
#[derive(Debug)]
pub(crate) enum Event {
    /// SIGHUP
    Reload,
    /// SIGTERM or SIGINT
    Stop,
    /// The server has let its connections go.
    Drained(Drained),
}

/// Sends an event for each signal from now on, until the process ends.
///
/// # Errors
/// When a handler cannot be installed or the thread not started.
pub(crate) fn watch(events: Sender<Event>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let [hangup, terminate, interrupt] = {
        let _guard = runtime.enter();
        [
            signal(SignalKind::hangup())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        ]
    };
    let forward = forward(events, hangup, terminate, interrupt);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || runtime.block_on(forward))?;
    Ok(())
}

async fn forward(
    events: Sender<Event>,
    mut hangup: Signal,
    mut terminate: Signal,
    mut interrupt: Signal,
) {
    loop {
        let event = tokio::select! {
            _ = hangup.recv() => Event::Reload,
            _ = terminate.recv() => Event::Stop,
            _ = interrupt.recv() => Event::Stop,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}
