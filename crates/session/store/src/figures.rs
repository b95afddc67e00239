//! What a store tells of itself.

use std::sync::atomic::Ordering::Relaxed;

use forebay_session::{Clients, Figures as ProtocolFigures};
use forebay_store::wal;
use forebay_table::{self as table, Full};

use crate::store::Store;

/// Figures of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Its clients.
    pub clients: Clients,
    /// What is in memory.
    pub table: table::Figures,
    /// What is on disk, if anything is.
    pub log: Option<wal::Figures>,
    /// Bytes of the log that were written again when it was compacted.
    pub compacted_bytes: u64,
}

/// What was counted when the counts were set to zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    clients: Clients,
    table: table::Figures,
}

impl Store {
    /// What it tells of itself.
    pub fn figures(&self) -> Figures {
        Figures {
            clients: self.clients(),
            table: self.table.figures(),
            log: self.disk.as_ref().map(|disk| disk.log.wal.figures()),
            compacted_bytes: self.compacted_bytes.load(Relaxed),
        }
    }

    fn clients(&self) -> Clients {
        let threads = self.threads.lock();
        let all = threads.iter().map(|thread| thread.traffic.clients());
        all.fold(Clients::default(), |sum, one| sum.plus(&one))
    }

    /// The same in memcached's words, since the counts were set to zero.
    pub(crate) fn protocol_figures(&self) -> ProtocolFigures {
        let (clients, table, base) = (self.clients(), self.table.figures(), *self.base.lock());
        ProtocolFigures {
            pid: std::process::id(),
            uptime_s: self.began.elapsed().as_secs() as u32,
            threads: self.threads.lock().len() as u32,
            port: self.port(),
            max_connections: self.max_connections(),
            curr_connections: clients.connections,
            total_connections: clients.connections_total - base.clients.connections_total,
            rejected_connections: clients.connections_refused - base.clients.connections_refused,
            bytes_read: clients.bytes_read - base.clients.bytes_read,
            bytes_written: clients.bytes_written - base.clients.bytes_written,
            counts: clients.counts.minus(&base.clients.counts),
            curr_items: table.items,
            total_items: clients.counts.cmd_set - base.clients.counts.cmd_set,
            bytes: table.payload_bytes + table.elsewhere_bytes,
            limit_bytes: table.memory_bytes,
            evicts: self.table.options().full == Full::Evict,
            evictions: table.evicted - base.table.evicted,
            expired_unfetched: table.expired_unread - base.table.expired_unread,
            evicted_unfetched: table.evicted_unread - base.table.evicted_unread,
            reclaimed: table.expired - base.table.expired,
        }
    }

    pub(crate) fn reset_figures(&self) {
        *self.base.lock() = Base {
            clients: self.clients(),
            table: self.table.figures(),
        };
    }
}
