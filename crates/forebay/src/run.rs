//! A running server: its parts, put together in the order in which they
//! depend on each other, and taken apart in the opposite one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use forebay_admin::Admin;
use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use forebay_proxy::{Inherited, Server};

use crate::control::Control;
use crate::error_log::ErrorLog;
use crate::exit::Failure;
use crate::signals::{self, Event};
use crate::{open_files, systemd};

/// Lives from the first listener to the last connection.
pub(crate) struct Running {
    server: Server,
    admin: Option<Admin>,
    control: Arc<Control>,
    events: Receiver<Event>,
    /// Keeps the channel open, and hands the end of the drain in.
    sender: Sender<Event>,
}

impl Running {
    /// Starts everything that `settings` name. `file` is what a reload reads.
    ///
    /// # Errors
    /// When an address, a log or a thread cannot be had.
    pub(crate) fn start(
        settings: Settings,
        inherited: Vec<Inherited>,
        file: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let error_log = ErrorLog::start(&settings.log).map_err(Failure::Message)?;
        open_files::raise(settings.server.max_connections);
        let (sender, events) = mpsc::channel();
        signals::watch(sender.clone()).map_err(|error| {
            Failure::message(format_args!("signals cannot be received: {error}"))
        })?;
        let server = Server::start(settings.clone(), inherited).map_err(Failure::message)?;
        let address = settings.admin;
        let control = Control::new(server.handle(), error_log, file, settings);
        let admin = address
            .map(|address| start_admin(address, Arc::clone(&control)))
            .transpose()?;
        Ok(Self {
            server,
            admin,
            control,
            events,
            sender,
        })
    }

    /// Where clients connect, with the ports chosen.
    pub(crate) fn addresses(&self) -> Vec<ListenAddress> {
        self.server.addresses()
    }

    /// The administration address, with the port chosen.
    pub(crate) fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// What can be asked of it.
    pub(crate) fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// Waits for the next event; `None` when `patience` ran out first.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Option<Event> {
        match patience {
            Some(patience) => self.events.recv_timeout(patience).ok(),
            None => self.events.recv().ok(),
        }
    }

    /// Lets exchanges finish within `server.drain_timeout`, and returns how
    /// many connections had to be cut. Figures can be asked for meanwhile. A
    /// second signal to stop ends the process here.
    pub(crate) fn drain(self) -> usize {
        let deadline = self.control.settings().server.drain_timeout;
        systemd::stopping("letting connections finish");
        tracing::info!("stopping: connections may finish within {deadline:?}");
        let (server, sender) = (self.server, self.sender);
        // This thread stays free for the second signal.
        let drain = move || drop(sender.send(Event::Drained(server.drain(deadline))));
        if let Err(error) = std::thread::Builder::new()
            .name("drain".into())
            .spawn(drain)
        {
            tracing::error!("connections are cut at once: {error}");
            return self.control.gauges_now().connections as usize;
        }
        // The drain keeps its deadline itself; this is for one that panicked.
        let patience = Instant::now() + deadline + Duration::from_secs(5);
        loop {
            match self
                .events
                .recv_timeout(patience.saturating_duration_since(Instant::now()))
            {
                Ok(Event::Drained(drained)) if drained.finished => return 0,
                Ok(Event::Drained(drained)) => return drained.left.max(1),
                Ok(Event::Stop) => {
                    tracing::warn!("stopped at once by a second signal");
                    std::process::exit(1);
                }
                Ok(Event::Reload) => {}
                Err(_) => return (self.control.gauges_now().connections as usize).max(1),
            }
        }
    }
}

fn start_admin(address: SocketAddr, control: Arc<Control>) -> Result<Admin, Failure> {
    forebay_admin::start(address, control).map_err(|error| {
        Failure::message(format_args!(
            "the administration cannot listen on {address}: {error}"
        ))
    })
}
