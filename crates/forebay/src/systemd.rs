//! What systemd and we tell each other: sockets it passes (sd_listen_fds(3))
//! and the state we report (sd_notify(3)). Without systemd all of it is
//! nothing.

use forebay_proxy::Inherited;
use listenfd::ListenFd;
use sd_notify::NotifyState;

/// Sockets passed to this process.
pub(crate) struct Passed(ListenFd);

impl Passed {
    /// Takes note of them and clears `LISTEN_FDS` and `LISTEN_PID`, so that no
    /// child believes they are its own. To be called before any thread starts.
    pub(crate) fn from_environment() -> Self {
        Self(ListenFd::from_env())
    }

    /// The listening sockets.
    ///
    /// # Errors
    /// When one is not a listening stream socket: the unit is wrong.
    pub(crate) fn listeners(mut self) -> Result<Vec<Inherited>, String> {
        (0..self.0.len()).map(|index| self.take(index)).collect()
    }

    fn take(&mut self, index: usize) -> Result<Inherited, String> {
        // A socket of the other family is an error here, and stays where it is.
        if let Ok(Some(listener)) = self.0.take_tcp_listener(index) {
            return Ok(Inherited::Tcp(listener));
        }
        match self.0.take_unix_listener(index) {
            Ok(Some(listener)) => Ok(Inherited::Unix(listener)),
            Ok(None) => Err(format!("socket {index} passed by systemd was taken twice")),
            Err(error) => Err(format!(
                "socket {index} passed by systemd cannot be listened on ({error}); use ListenStream= in the socket unit"
            )),
        }
    }
}

/// `READY=1`: serving, at start and after each reload.
pub(crate) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// `RELOADING=1`, with the time systemd uses to match the answer.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(time) => tell(&[NotifyState::Reloading, time]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// `STOPPING=1`
pub(crate) fn stopping(status: &str) {
    tell(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("systemd could not be notified: {error}");
    }
}
