//! What can be asked of a running server, by a signal or over the
//! administration address: figures, state, and to read its file again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_config::Settings;
use forebay_proxy::{Handle, PoolStatus};
use forebay_stats::{Gauges, Snapshot};
use serde_json::json;

use crate::error_log::ErrorLog;
use crate::{open_files, systemd};

/// One for the process; shared by the main thread and the administration.
pub(crate) struct Control {
    handle: Handle,
    error_log: ErrorLog,
    /// What it was started with; `None`: nothing to read again.
    file: Option<PathBuf>,
    /// In force now. Held during a reload, so that there is one at a time.
    settings: Mutex<Settings>,
}

impl Control {
    /// The control of a server that runs with `settings`.
    pub(crate) fn new(
        handle: Handle,
        error_log: ErrorLog,
        file: Option<PathBuf>,
        settings: Settings,
    ) -> Arc<Self> {
        Arc::new(Self {
            handle,
            error_log,
            file,
            settings: Mutex::new(settings),
        })
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        // A panic cannot leave them half written: they are replaced whole.
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
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
        if checked.settings.admin != current.admin {
            warnings.push("the administration address changes with the next start".into());
        }
        warnings.extend(
            checked
                .warnings
                .iter()
                .map(|warning| format!("{}: {}", checked.source.name, warning.message)),
        );
        if checked.settings.server.max_connections != current.server.max_connections {
            open_files::raise(checked.settings.server.max_connections);
        }
        *current = checked.settings;
        Ok(warnings)
    }
}

impl forebay_admin::Control for Control {
    fn snapshot(&self) -> Snapshot {
        self.snapshot_now()
    }

    fn gauges(&self) -> Gauges {
        self.gauges_now()
    }

    fn reload(&self) -> Result<Vec<String>, String> {
        self.reload_file()
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn status_extra(&self) -> serde_json::Value {
        let status = self.handle.status();
        let listen: Vec<String> = status.listening.iter().map(ToString::to_string).collect();
        let servers: Vec<serde_json::Value> = status.pools.iter().map(server).collect();
        let settings = self.settings();
        let sites: Vec<serde_json::Value> = settings
            .sites
            .iter()
            .map(|site| json!({ "name": site.name, "hosts": site.hosts, "pool": site.pool }))
            .collect();
        json!({
            "listen": listen,
            "configuration": self.file.as_ref().map(|file| file.display().to_string()),
            "servers": servers,
            "sites": sites,
        })
    }
}

/// A server of a pool, for `/status`.
fn server(server: &PoolStatus) -> serde_json::Value {
    json!({
        "pool": server.pool,
        "server": server.server,
        "addresses": server.addresses,
        "active": server.active,
        "failed": server.failed,
    })
}
