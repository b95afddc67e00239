//! Ctrl-C and SIGTERM. Both only set a mark: whoever waits looks at it and
//! returns, and the guards on the way end what was started.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);

/// What whoever was interrupted returns.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// Notes signals from now on, until the process ends.
///
/// # Errors
/// When they cannot be received.
pub(crate) fn watch() -> Result<(), String> {
    let failed = |e: std::io::Error| format!("signals cannot be received: {e}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(failed)?;
    let mut signals = {
        let _inside = runtime.enter();
        [
            signal(SignalKind::interrupt()).map_err(failed)?,
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::hangup()).map_err(failed)?,
        ]
    };
    let wait = move || {
        let [interrupt, terminate, hangup] = &mut signals;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        });
        ASKED_TO_STOP.store(true, Ordering::Relaxed);
        eprintln!("\nstopping: what was started is being ended");
    };
    thread::Builder::new()
        .name("signals".into())
        .spawn(wait)
        .map(drop)
        .map_err(failed)
}

/// Whether to go on.
///
/// # Errors
/// [`INTERRUPTED`], once a signal came.
pub(crate) fn check() -> Result<(), String> {
    if ASKED_TO_STOP.load(Ordering::Relaxed) {
        Err(INTERRUPTED.into())
    } else {
        Ok(())
    }
}
