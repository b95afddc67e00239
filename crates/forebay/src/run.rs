//! A running server: its parts, put together in the order in which they
//! depend on each other, and taken apart in the opposite one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use forebay_admin::{Access, Address, Admin, Doors, Role, Token};
use forebay_config::Settings;
use forebay_config::settings::ListenAddress;
use forebay_proxy::{Inherited, Server};

use crate::applications::Applications;
use crate::control::Control;
use crate::error_log::ErrorLog;
use crate::exit::Failure;
use crate::sessions::{LAST_COMMANDS, Sessions};
use crate::signals::{self, Event};
use crate::{open_files, systemd};

/// Lives from the first listener to the last connection.
pub(crate) struct Running {
    server: Server,
    sessions: Arc<Sessions>,
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
        let open_files = open_files::soft_limit();
        open_files::raise(connections(&settings));
        let (sender, events) = mpsc::channel();
        signals::watch(sender.clone()).map_err(|error| {
            Failure::message(format_args!("signals cannot be received: {error}"))
        })?;
        let threads = settings.server.workers;
        let sessions = Arc::new(Sessions::open(&settings.sessions, threads)?);
        let server = Server::start(settings.clone(), inherited).map_err(Failure::message)?;
        let access = access(&settings.admin);
        let serves_admin = !access.listen.is_empty();
        let doors = Doors::from(access);
        let applications = Applications::new(server.handle(), open_files);
        applications
            .configure(&settings.apps)
            .map_err(Failure::Message)?;
        let watched = Arc::clone(&sessions);
        server
            .handle()
            .stats()
            .watch_sessions(move || watched.figures());
        let control = Control::new(
            server.handle(),
            error_log,
            (applications, Arc::clone(&sessions), doors.clone()),
            file,
            settings,
        );
        let admin = serves_admin.then(|| start_admin(doors, Arc::clone(&control)));
        let admin = admin.transpose()?;
        sessions.accept()?;
        Ok(Self {
            server,
            sessions,
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

    /// Where stores of sessions are reached: the name of the store, and the address.
    pub(crate) fn session_addresses(&self) -> &[(String, ListenAddress)] {
        self.sessions.addresses()
    }

    /// The administration address, with the port chosen.
    pub(crate) fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
    }

    /// Every address of the administration, with the ports chosen.
    pub(crate) fn admin_addresses(&self) -> &[Address] {
        self.admin.as_ref().map_or(&[], Admin::addresses)
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
        let (server, sessions, sender) = (self.server, self.sessions, self.sender);
        let control = Arc::clone(&self.control);
        // This thread stays free for the second signal.
        let drain = move || {
            let mut drained = server.drain(deadline);
            control.applications().stop();
            // The applications' last requests may have needed them.
            let cut = sessions.stop();
            drained.left += cut;
            drained.finished &= cut == 0;
            drop(sender.send(Event::Drained(drained)));
        };
        if let Err(error) = std::thread::Builder::new()
            .name("drain".into())
            .spawn(drain)
        {
            tracing::error!("connections are cut at once: {error}");
            return self.control.gauges_now().connections as usize;
        }
        // The drain keeps its deadline itself; this is for one that panicked.
        let disk = self.control.settings().cache.disk.clone();
        let saving = disk.and_then(|disk| disk.save_on_stop);
        let apps = self
            .control
            .settings()
            .apps
            .values()
            .map(|app| app.stop_timeout)
            .max();
        let apps = apps.map_or(Duration::ZERO, |longest| longest + Duration::from_secs(10));
        let most = deadline + saving.unwrap_or_default() + apps + LAST_COMMANDS;
        let patience = Instant::now() + most + Duration::from_secs(5);
        loop {
            match self
                .events
                .recv_timeout(patience.saturating_duration_since(Instant::now()))
            {
                Ok(Event::Drained(drained)) if drained.finished => return 0,
                Ok(Event::Drained(drained)) => return drained.left.max(1),
                Ok(Event::Stop) => {
                    tracing::warn!("stopped at once by a second signal");
                    crate::error_log::flush();
                    std::process::exit(1);
                }
                Ok(Event::Reload) => {}
                Err(_) => return (self.control.gauges_now().connections as usize).max(1),
            }
        }
    }
}

/// How many clients may be connected at once, of any kind.
pub(crate) fn connections(settings: &Settings) -> usize {
    let sessions = settings.sessions.values();
    let sessions: usize = sessions.map(|session| session.max_connections).sum();
    settings.server.max_connections + sessions
}

/// Where the administration is served, and to whom.
pub(crate) fn access(settings: &forebay_config::settings::Admin) -> Access {
    let listen = settings.addresses.iter().map(|address| match address {
        ListenAddress::Tcp(tcp) => Address::Tcp(*tcp),
        ListenAddress::Unix(path) => Address::Unix(path.clone()),
    });
    let of_role = |role, secrets: &[String]| {
        let tokens = secrets.iter().map(move |secret| Token {
            role,
            secret: secret.clone(),
        });
        tokens.collect::<Vec<_>>()
    };
    Access {
        listen: listen.collect(),
        tokens: [
            of_role(Role::Read, &settings.read_tokens),
            of_role(Role::Purge, &settings.purge_tokens),
            of_role(Role::Admin, &settings.admin_tokens),
        ]
        .concat(),
        names: settings.hosts.clone(),
    }
}

fn start_admin(access: Doors, control: Arc<Control>) -> Result<Admin, Failure> {
    forebay_admin::start(access, control).map_err(|error| {
        Failure::message(format_args!("the administration cannot listen: {error}"))
    })
}
