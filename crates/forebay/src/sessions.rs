//! The stores of sessions of a running server: opened and bound before anything else is started,
//! served once what they kept has been read, ended after the last request.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use forebay_admin::control::SessionState;
use forebay_config::settings::{self, ListenAddress, ServerTls, Session};
use forebay_session::{Access, Limits};
use forebay_session_server as server;
use forebay_session_store::{Disk, Durability, Full, Options, RecoverError, Recovered, Store};
use forebay_stats::SessionSnapshot;
use parking_lot::Mutex;

use crate::exit::Failure;

/// What connections may take for their last command when the server ends.
pub(crate) const LAST_COMMANDS: Duration = Duration::from_secs(5);

/// One for the process.
#[derive(Default)]
pub(crate) struct Sessions {
    stores: Vec<Arc<Store>>,
    /// Where each is reached, with the ports chosen.
    addresses: Vec<(String, ListenAddress)>,
    /// What those that speak TLS show, by their names.
    certificates: Vec<(String, Arc<server::Tls>)>,
    server: Option<server::Server>,
    reading: Mutex<Vec<Reading>>,
}

/// Certificates that were read anew, and where they go.
pub(crate) struct Certificates(Vec<(Arc<server::Tls>, Arc<forebay_tls::ServerConfig>)>);

/// A store that reads what it kept.
type Reading = (Arc<Store>, JoinHandle<Result<Recovered, RecoverError>>);

impl Sessions {
    /// Opens the stores and binds their addresses. Clients can connect, and wait.
    ///
    /// # Errors
    /// A directory, a certificate or an address cannot be had; in words for the operator.
    pub(crate) fn open(
        settings: &BTreeMap<String, Session>,
        threads: usize,
    ) -> Result<Self, Failure> {
        if settings.is_empty() {
            return Ok(Self::default());
        }
        let (mut stores, mut listens, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let mut certificates = Vec::new();
        for (name, session) in settings {
            let failure = |why: String| Failure::message(format_args!("[session.{name}]: {why}"));
            let tls = session.tls.as_ref().map(tls).transpose();
            let tls = tls.map_err(failure)?.map(server::Tls::new);
            certificates.extend(tls.clone().map(|tls| (name.clone(), tls)));
            let store = Store::open(options(name, session));
            let store = store.map_err(|error| failure(error.to_string()))?;
            for address in &session.addresses {
                // What never leaves the machine is not encrypted.
                let (address, tls) = match address {
                    ListenAddress::Tcp(address) => {
                        (server::ListenAddress::Tcp(*address), tls.clone())
                    }
                    ListenAddress::Unix(path) => (server::ListenAddress::Unix(path.clone()), None),
                };
                listens.push(server::Listen {
                    limits: limits(session),
                    access: access(session),
                    tls,
                    max_connections: session.max_connections,
                    buffers_bytes: usize::try_from(session.buffers_bytes).unwrap_or(usize::MAX),
                    idle_timeout: session.idle_timeout,
                    stalled_timeout: session.stalled_timeout,
                    unix_mode: Some(session.socket_mode),
                    backlog: BACKLOG,
                    ..server::Listen::new(address, Arc::clone(&store))
                });
                names.push(name.clone());
            }
            stores.push(store);
        }
        let options = server::Options {
            threads,
            name: "session".into(),
        };
        let server = server::Server::start(options, listens).map_err(Failure::message)?;
        let bound = server.addresses().into_iter().map(|address| match address {
            server::ListenAddress::Tcp(address) => ListenAddress::Tcp(address),
            server::ListenAddress::Unix(path) => ListenAddress::Unix(path),
        });
        let sessions = Self {
            addresses: names.into_iter().zip(bound).collect(),
            certificates,
            stores,
            server: Some(server),
            reading: Mutex::default(),
        };
        sessions.read()?;
        Ok(sessions)
    }

    /// Begins to read what the stores kept.
    fn read(&self) -> Result<(), Failure> {
        for store in &self.stores {
            let own = Arc::clone(store);
            let thread = std::thread::Builder::new()
                .name("session-recover".into())
                .spawn(move || own.recover(&AtomicBool::new(false)))
                .map_err(Failure::message)?;
            self.reading.lock().push((Arc::clone(store), thread));
        }
        Ok(())
    }

    /// Waits until the stores have read what they kept, and lets clients in.
    ///
    /// # Errors
    /// What one kept does not fit it.
    pub(crate) fn accept(&self) -> Result<(), Failure> {
        let began = Instant::now();
        for (store, thread) in self.reading.lock().drain(..) {
            let name = store.name();
            let failure = |why: String| Failure::message(format_args!("[session.{name}]: {why}"));
            let read = thread
                .join()
                .map_err(|_| failure("an internal fault".into()))?;
            let recovered = read.map_err(|error| failure(error.to_string()))?;
            tell(name, &recovered, began.elapsed());
            store.start().map_err(|error| failure(error.to_string()))?;
        }
        self.server.iter().for_each(server::Server::accept);
        Ok(())
    }

    /// Reads the certificates of stores that speak TLS, as these settings name them.
    ///
    /// # Errors
    /// One cannot be read or is of no use; in words for the operator.
    pub(crate) fn read_certificates(
        &self,
        settings: &BTreeMap<String, Session>,
    ) -> Result<Certificates, String> {
        let mut read = Vec::new();
        for (name, own) in &self.certificates {
            // A store without one goes on with the one it has until the next start.
            if let Some(files) = settings.get(name).and_then(|session| session.tls.as_ref()) {
                let config = tls(files).map_err(|why| format!("[session.{name}]: {why}"))?;
                read.push((Arc::clone(own), config));
            }
        }
        Ok(Certificates(read))
    }

    /// Where the stores are reached, with the ports chosen.
    pub(crate) fn addresses(&self) -> &[(String, ListenAddress)] {
        &self.addresses
    }

    /// Lets connections finish their command, and keeps what they wrote. Says how many were cut.
    pub(crate) fn stop(&self) -> usize {
        let Some(server) = &self.server else {
            return 0;
        };
        let cut = server.drain(Instant::now() + LAST_COMMANDS);
        for store in &self.stores {
            if let Err(error) = store.stop() {
                let name = store.name();
                tracing::error!("[session.{name}]: what was written last is lost: {error}");
            }
        }
        cut
    }

    /// What each of them counts.
    pub(crate) fn figures(&self) -> Vec<SessionSnapshot> {
        self.stores.iter().map(|store| snapshot(store)).collect()
    }

    /// The same, for the administration.
    pub(crate) fn states(&self) -> Vec<SessionState> {
        let figures = self.figures().into_iter();
        let state = |figures: SessionSnapshot| {
            let own = self
                .addresses
                .iter()
                .filter(|(name, _)| *name == figures.store);
            let rows = forebay_stats::session::ROWS.iter();
            SessionState {
                addresses: own.map(|(_, address)| address.to_string()).collect(),
                figures: rows
                    .map(|row| (row.key.to_owned(), (row.read)(&figures).into()))
                    .collect(),
                name: figures.store,
            }
        };
        figures.map(state).collect()
    }

    /// Copies what a store keeps, as it is at this moment, into a new directory.
    ///
    /// # Errors
    /// Why that cannot be; `None`: there is no store of this name.
    pub(crate) fn snapshot(&self, name: &str, directory: &Path) -> Result<u64, Option<String>> {
        let store = self.stores.iter().find(|store| store.name() == name);
        let made = store.ok_or(None)?.snapshot(directory);
        made.map(|made| made.bytes)
            .map_err(|error| Some(error.to_string()))
    }
}

impl Certificates {
    /// New connections are shown them.
    pub(crate) fn take_over(self) {
        for (own, config) in self.0 {
            own.replace(config);
        }
    }
}

/// Connections that may wait to be accepted: while a store is read, all of them do.
const BACKLOG: u32 = 65_535;

fn tell(name: &str, recovered: &Recovered, took: Duration) {
    if recovered.log.records > 0 {
        tracing::info!(
            "[session.{name}]: {} sessions read from {} MiB in {:.2} s",
            recovered.items,
            recovered.log.bytes >> 20,
            took.as_secs_f64()
        );
    }
    let (damaged, unknown) = (recovered.log.damaged_records, recovered.unknown);
    if damaged + unknown > 0 {
        tracing::error!(
            "[session.{name}]: {damaged} records were damaged and {unknown} could not be \
             understood; what stood in them is lost"
        );
    }
}

fn options(name: &str, session: &Session) -> Options {
    let port = session.addresses.iter().find_map(|address| match address {
        ListenAddress::Tcp(address) => Some(address.port()),
        ListenAddress::Unix(_) => None,
    });
    Options {
        name: name.to_owned(),
        memory_bytes: session.memory_bytes,
        full: match session.full {
            settings::Full::Evict => Full::Evict,
            settings::Full::Spill => Full::Spill,
            settings::Full::Refuse => Full::Refuse,
        },
        item_bytes: session.max_item_bytes as usize,
        quota_bytes: session.quota_bytes,
        max_connections: session.max_connections as u64,
        port: port.unwrap_or(0),
        disk: session.path.as_ref().map(|path| Disk {
            path: path.clone(),
            durability: match session.durability {
                settings::Durability::Always => Durability::Always,
                settings::Durability::Interval => Durability::Interval,
                settings::Durability::Never => Durability::Never,
            },
            segment_bytes: None,
        }),
    }
}

fn limits(session: &Session) -> Limits {
    Limits {
        item_bytes: session.max_item_bytes as usize,
        ..Limits::default()
    }
}

fn access(session: &Session) -> Access {
    match &session.token {
        None => Access::Open,
        Some(token) => Access::Token {
            user: session.user.as_deref().map(Arc::from),
            token: token.as_str().into(),
        },
    }
}

fn tls(files: &ServerTls) -> Result<Arc<forebay_tls::ServerConfig>, String> {
    let files = forebay_tls::ServerFiles {
        certificate: &files.certificate,
        key: &files.key,
        client_ca: files.client_ca.as_deref(),
    };
    files.read(&[])
}

fn snapshot(store: &Store) -> SessionSnapshot {
    let figures = store.figures();
    let (clients, table) = (figures.clients, figures.table);
    let (counts, log) = (clients.counts, figures.log.unwrap_or_default());
    SessionSnapshot {
        store: store.name().to_owned(),
        connections: clients.connections,
        connections_total: clients.connections_total,
        connections_refused: clients.connections_refused,
        bytes_in: clients.bytes_read,
        bytes_out: clients.bytes_written,
        gets: counts.cmd_get,
        get_hits: counts.get_hits,
        sets: counts.cmd_set,
        deletes: counts.delete_hits,
        touches: counts.touch_hits,
        refused: counts.store_no_memory,
        items: table.items,
        memory_bytes: table.used_bytes,
        payload_bytes: table.payload_bytes,
        spilled_items: table.elsewhere_items,
        spilled_bytes: table.elsewhere_bytes,
        evictions: table.evicted,
        expired: table.expired,
        disk_bytes: log.disk_bytes,
        log_bytes: log.written_bytes,
        log_compacted: figures.compacted_bytes,
        log_waiting: log.waiting_bytes,
        log_syncs: log.syncs,
        log_failures: log.failures,
        log_failing: u64::from(store.is_failing()),
    }
}
