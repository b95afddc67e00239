//! The thread on which all application processes are supervised. No worker ever waits for it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_config::settings::App as Settings;
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use crate::app::{App, Common};
use crate::directory::Directory;
use crate::event::Event;
use crate::launch::Inheritance;
use crate::output::Log;
use crate::servers::Servers;
use crate::status::AppStatus;
use crate::tree::Tree;

/// How often applications are looked at while something is going on with them.
const SOON: Duration = Duration::from_millis(25);
/// Otherwise, and how often their memory is looked at when it has a limit.
const CALM: Duration = Duration::from_secs(1);
/// How often their memory is looked at for those who only want to see it.
const WEIGH_CALMLY: Duration = Duration::from_secs(10);

/// What the supervisor needs of the program that it is part of.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The program itself: `/proc/self/exe`. Its `main` asks [`crate::guard::called`] first.
    pub program: PathBuf,
    /// The soft limit on open files that applications get; `None`: Forebay's.
    pub open_files: Option<u64>,
}

/// The applications of a running server. Dropped without [`Apps::stop`], they end with the
/// process.
#[derive(Debug)]
pub struct Apps {
    orders: UnboundedSender<Order>,
    status: Arc<Mutex<Vec<AppStatus>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    /// These are the applications now.
    Reload(BTreeMap<String, Settings>),
    /// Replace the processes of this one.
    Replace(String),
    /// End all processes.
    Stop,
}

impl Apps {
    /// Starts the processes of `apps`, which become servers of the pools of the same names.
    ///
    /// # Errors
    /// When there can be no directory for sockets, or no thread. What goes wrong with an
    /// application is logged, and tried again.
    pub fn start(
        apps: BTreeMap<String, Settings>,
        servers: Arc<dyn Servers>,
        surroundings: Surroundings,
    ) -> io::Result<Self> {
        let directory = Directory::make().map_err(|error| {
            let text =
                format!("a directory for the sockets of applications cannot be made: {error}");
            io::Error::new(error.kind(), text)
        })?;
        let log = Log::start()?;
        let (orders, receiver) = unbounded_channel();
        let status = Arc::default();
        let shown = Arc::clone(&status);
        // A runtime cannot move to its thread; a first one tells here whether one can be had.
        drop(event_loop()?);
        let thread = std::thread::Builder::new()
            .name("apps".into())
            .spawn(move || {
                let (events, happening) = unbounded_channel();
                let common = Common {
                    servers,
                    directory,
                    inheritance: Inheritance {
                        program: surroundings.program,
                        open_files: surroundings.open_files,
                    },
                    log,
                    events,
                    epoch: Instant::now(),
                    next_id: 0,
                };
                let supervisor = Supervisor::new(apps, common, shown);
                match event_loop() {
                    Ok(runtime) => runtime.block_on(supervisor.run(receiver, happening)),
                    Err(error) => tracing::error!("applications cannot be started: {error}"),
                }
            })?;
        Ok(Self {
            orders,
            status,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// These are the applications now: new ones are started, those that are missing end, and
    /// processes whose settings changed are replaced one by one. Returns at once.
    pub fn reload(&self, apps: BTreeMap<String, Settings>) {
        // The thread is there for as long as it was not told to stop.
        let _ = self.orders.send(Order::Reload(apps));
    }

    /// Replaces the processes of an application, one by one: the new one is ready before the
    /// old one goes. False: there is none of this name. Returns at once.
    pub fn replace(&self, name: &str) -> bool {
        let known = self.status.lock().iter().any(|app| app.name == name);
        known && self.orders.send(Order::Replace(name.to_owned())).is_ok()
    }

    /// How they are.
    pub fn status(&self) -> Vec<AppStatus> {
        self.status.lock().clone()
    }

    /// Ends all processes and waits until they are gone: as long as the longest `stop_timeout`
    /// and a few seconds more at most.
    pub fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
        if let Some(thread) = self.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the supervisor of applications has failed; their guards end them");
        }
    }
}

fn event_loop() -> io::Result<tokio::runtime::LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
}

struct Supervisor {
    apps: Vec<App>,
    common: Common,
    shown: Arc<Mutex<Vec<AppStatus>>>,
    weighed: Cell<Option<Instant>>,
    stopping: bool,
}

impl Supervisor {
    fn new(
        apps: BTreeMap<String, Settings>,
        common: Common,
        shown: Arc<Mutex<Vec<AppStatus>>>,
    ) -> Self {
        let apps = apps
            .into_iter()
            .map(|(name, settings)| App::new(&name, settings));
        Self {
            apps: apps.collect(),
            common,
            shown,
            weighed: Cell::new(None),
            stopping: false,
        }
    }

    async fn run(
        mut self,
        mut orders: UnboundedReceiver<Order>,
        mut events: UnboundedReceiver<Event>,
    ) {
        loop {
            self.advance();
            if self.stopping && self.apps.is_empty() {
                return;
            }
            tokio::select! {
                order = orders.recv(), if !self.stopping => self.obey(order.unwrap_or(Order::Stop)),
                Some(event) = events.recv() => self.happened(&event),
                () = sleep(self.pace()) => {}
            }
            // What has happened meanwhile is looked at together.
            while let Ok(event) = events.try_recv() {
                self.happened(&event);
            }
        }
    }

    fn pace(&self) -> Duration {
        if self.apps.iter().any(App::is_lively) {
            SOON
        } else {
            CALM
        }
    }

    fn advance(&mut self) {
        let now = Instant::now();
        self.weigh(now);
        for app in &mut self.apps {
            app.advance(&mut self.common, now);
        }
        self.apps.retain(|app| !app.is_gone());
        *self.shown.lock() = self.apps.iter().map(|app| app.status(now)).collect();
    }

    fn weigh(&mut self, now: Instant) {
        let limited = self.apps.iter().any(App::watches_memory);
        let every = if limited { CALM } else { WEIGH_CALMLY };
        if self.weighed.get().is_none_or(|last| now >= last + every) {
            self.weighed.set(Some(now));
            let tree = Tree::now();
            self.apps.iter_mut().for_each(|app| app.weigh(&tree));
        }
    }

    fn happened(&mut self, event: &Event) {
        if let Some(app) = self.apps.iter_mut().find(|app| app.name == event.app) {
            app.happened(event, &self.common);
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Reload(apps) => self.reload(apps),
            Order::Replace(name) => {
                if let Some(app) = self.apps.iter_mut().find(|app| *app.name == *name) {
                    tracing::info!("app {name}: its processes are replaced, as ordered");
                    app.replace();
                }
            }
            Order::Stop => {
                self.stopping = true;
                let now = Instant::now();
                self.apps.iter_mut().for_each(|app| app.stop(now));
            }
        }
    }

    fn reload(&mut self, mut new: BTreeMap<String, Settings>) {
        for app in &mut self.apps {
            match new.remove(&*app.name) {
                Some(settings) => app.reload(settings),
                None => app.retire(),
            }
        }
        self.apps.extend(
            new.into_iter()
                .map(|(name, settings)| App::new(&name, settings)),
        );
    }
}
