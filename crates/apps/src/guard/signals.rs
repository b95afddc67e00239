//! The signals that a guard gets, as events.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// Caught from its making on; before, they would end the guard.
pub(super) struct Signals {
    child: unix::Signal,
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
    quit: unix::Signal,
    user1: unix::Signal,
    user2: unix::Signal,
}

impl Signals {
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            user1: signal(SignalKind::user_defined1())?,
            user2: signal(SignalKind::user_defined2())?,
        })
    }

    /// Waits for one. SIGCHLD says that a child has ended, or several; the others are meant for
    /// the application, and applications give them meanings of their own (SIGUSR1: reopen logs,
    /// SIGUSR2: restart, …).
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.child.recv() => Signal::CHILD,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hangup.recv() => Signal::HUP,
            _ = self.quit.recv() => Signal::QUIT,
            _ = self.user1.recv() => Signal::USR1,
            _ = self.user2.recv() => Signal::USR2,
        }
    }
}
