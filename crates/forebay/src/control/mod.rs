//! What can be asked of a running server, by a signal or over the
//! administration address: figures, state, objects, purges, and to read its
//! file again.

mod answers;
mod cache;
mod config;
mod restart;
mod servers;
mod tail;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_admin::Doors;
use forebay_config::Settings;
use forebay_proxy::Handle;
use forebay_stats::{Gauges, Snapshot};

use crate::applications::Applications;
use crate::error_log::ErrorLog;
use crate::run::{access, connections};
use crate::sessions::Sessions;
use crate::{open_files, systemd};

/// One for the process; shared by the main thread and the administration.
pub(crate) struct Control {
    handle: Handle,
    error_log: ErrorLog,
    applications: Applications,
    sessions: Arc<Sessions>,
    /// Who may ask for all this.
    doors: Doors,
    servers: servers::Kept,
    /// What it was started with; `None`: nothing to read again.
    file: Option<PathBuf>,
    /// In force now. Held during a reload, so that there is one at a time.
    settings: Mutex<Settings>,
    /// What it was started with: what cannot be changed is still so.
    started: Settings,
    /// The text of the file when it was taken over; shows what was set.
    text: Mutex<Option<String>>,
    /// The end was ordered over the administration.
    draining: AtomicBool,
}

impl Control {
    /// The control of a server that runs with `settings`.
    pub(crate) fn new(
        handle: Handle,
        error_log: ErrorLog,
        (applications, sessions, doors): (Applications, Arc<Sessions>, Doors),
        file: Option<PathBuf>,
        settings: Settings,
    ) -> Arc<Self> {
        let text = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok());
        let servers = servers::Kept::start(settings.server.state_file.clone(), &handle);
        Arc::new(Self {
            handle,
            servers,
            error_log,
            applications,
            sessions,
            doors,
            file,
            started: settings.clone(),
            settings: Mutex::new(settings),
            text: Mutex::new(text),
            draining: AtomicBool::new(false),
        })
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        // A panic cannot leave them half written: they are replaced whole.
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The application processes.
    pub(crate) fn applications(&self) -> &Applications {
        &self.applications
    }

    /// All figures now.
    pub(crate) fn snapshot_now(&self) -> Snapshot {
        self.handle.stats().snapshot()
    }

    /// All state now.
    pub(crate) fn gauges_now(&self) -> Gauges {
        self.handle.gauges()
    }

    /// Reads the file again and puts it in force, whole or not at all; either
    /// is logged. Gives the warnings.
    ///
    /// # Errors
    /// Why everything stays as it was.
    pub(crate) fn reload_file(&self) -> Result<Vec<String>, String> {
        systemd::reloading();
        let outcome = self.take_over();
        match &outcome {
            Ok(warnings) => {
                warnings
                    .iter()
                    .for_each(|warning| tracing::warn!("{warning}"));
                tracing::info!("the new configuration is in force");
                systemd::ready("serving");
            }
            Err(error) => {
                tracing::error!("the configuration was refused; the old one stays in force");
                error
                    .lines()
                    .filter(|line| !line.trim().is_empty())
                    .for_each(|line| tracing::error!("{line}"));
                systemd::ready("serving; the last reload was refused, see the error log");
            }
        }
        outcome
    }

    fn take_over(&self) -> Result<Vec<String>, String> {
        let mut current = self.settings();
        let file = self
            .file
            .as_ref()
            .ok_or("the server was started without a configuration file")?;
        let checked = forebay_config::load(file).map_err(|error| error.to_string())?;
        let sessions = &checked.settings.sessions;
        let certificates = self.sessions.read_certificates(sessions)?;
        // Before the workers, because it is what can fail.
        self.error_log.apply(&checked.settings.log)?;
        let mut warnings = self
            .handle
            .reload(checked.settings.clone())
            .map_err(|error| {
                // The old log was good a moment ago; if it is not now, the error below says enough.
                let _ = self.error_log.apply(&current.log);
                error.to_string()
            })?;
        certificates.take_over();
        // Their pools are there now. What is wrong with one is logged when it is started.
        warnings.extend(self.applications.configure(&checked.settings.apps).err());
        if !self.doors.admit(access(&checked.settings.admin)) {
            let kept =
                "[admin]: the tokens are asked for until the restart that its addresses wait for";
            warnings.push(kept.into());
        }
        warnings.extend(restart::waiting(&self.started, &checked.settings));
        warnings.extend(
            checked
                .warnings
                .iter()
                .map(|warning| format!("{}: {}", checked.source.name, warning.message)),
        );
        if connections(&checked.settings) != connections(&current) {
            open_files::raise(connections(&checked.settings));
        }
        *current = checked.settings;
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(checked.source.text);
        Ok(warnings)
    }

    /// Ends the process as SIGTERM does, by sending itself one. False: that was
    /// ordered before; another signal would cut what is under way.
    fn order_drain(&self) -> Result<bool, String> {
        if self.draining.swap(true, Relaxed) {
            return Ok(false);
        }
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::TERM)
            .map(|()| true)
            .map_err(|error| {
                self.draining.store(false, Relaxed);
                format!("the process cannot signal itself: {error}")
            })
    }

    /// Changes the level of the error log until the next reload.
    fn change_level(&self, level: &str) -> Result<(), String> {
        let mut current = self.settings();
        let mut log = current.log.clone();
        log.level = level.to_owned();
        self.error_log.apply(&log)?;
        current.log = log;
        tracing::info!("the log level is now {level}");
        Ok(())
    }
}
