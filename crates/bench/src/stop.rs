//! Ctrl-C: the load ends and what was measured is reported; a second one ends
//! the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use tokio::signal::unix::{SignalKind, signal};

/// Becomes true at the first SIGINT or SIGTERM after this has returned.
pub(crate) fn on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let (ready, listening) = mpsc::channel();
    let wait = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
        else {
            return;
        };
        runtime.block_on(async {
            let signals = (
                signal(SignalKind::interrupt()),
                signal(SignalKind::terminate()),
            );
            let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
                return;
            };
            // Nobody minds if it is not waited for.
            let _ = ready.send(());
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if flag.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    };
    // Without it a signal ends the program at once, as it does by default.
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait);
    // An error: it has ended without.
    let _ = listening.recv();
    stop
}
