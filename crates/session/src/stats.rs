//! The statistics, which the text and the binary protocol tell in the same words.

use crate::counts::{Counts, Figures};
use crate::engine::Engine;
use crate::number;
use crate::run::Run;

/// The version that clients are told; they take from it what they may use.
pub(crate) const VERSION: &str = "1.6.18";

/// What an item takes beside its key and its value, where one must be told.
const ITEM_HEAD_BYTES: u64 = 48;

/// A page of memcached's, in bytes.
const PAGE_BYTES: u64 = 1 << 20;

/// How many bytes an item takes, as it is told.
pub(crate) fn size(key: &[u8], value_len: usize) -> u64 {
    ITEM_HEAD_BYTES + (key.len() + value_len) as u64
}

/// Sets the counts to zero.
pub(crate) fn reset<E: Engine>(run: &mut Run<'_, E>) {
    *run.counts = Counts::default();
    run.engine.reset_figures();
}

/// Calls `say` for each row of a group of statistics; false: there is no such group.
pub(crate) fn each<E: Engine>(
    run: &mut Run<'_, E>,
    which: &[u8],
    mut say: impl FnMut(&mut Vec<u8>, &[u8], &[u8]),
) -> bool {
    let figures = run.engine.figures();
    let mut rows = Rows {
        out: run.out,
        scratch: Vec::new(),
        say: &mut say,
    };
    match which {
        b"" => general(
            &mut rows,
            &figures,
            &figures.counts.plus(run.counts),
            run.now_s,
        ),
        b"settings" => settings(&mut rows, &figures, run.limits.item_bytes as u64),
        b"items" => items(&mut rows, &figures, &figures.counts.plus(run.counts)),
        b"slabs" => slabs(&mut rows, &figures, &figures.counts.plus(run.counts)),
        b"sizes" => rows.text("sizes_status", "disabled"),
        b"conns" => {}
        _ => return false,
    }
    true
}

/// What appends a row's name and value.
type Say<'r> = dyn FnMut(&mut Vec<u8>, &[u8], &[u8]) + 'r;

struct Rows<'r> {
    out: &'r mut Vec<u8>,
    scratch: Vec<u8>,
    say: &'r mut Say<'r>,
}

impl Rows<'_> {
    fn text(&mut self, name: &str, value: &str) {
        (self.say)(self.out, name.as_bytes(), value.as_bytes());
    }

    fn number(&mut self, name: &str, value: u64) {
        self.scratch.clear();
        number::write(value, &mut self.scratch);
        (self.say)(self.out, name.as_bytes(), &self.scratch);
    }
}

fn general(rows: &mut Rows<'_>, figures: &Figures, counts: &Counts, now_s: u32) {
    rows.number("pid", figures.pid.into());
    rows.number("uptime", figures.uptime_s.into());
    rows.number("time", now_s.into());
    rows.text("version", VERSION);
    rows.number("pointer_size", u64::from(usize::BITS));
    rows.number("max_connections", figures.max_connections);
    rows.number("curr_connections", figures.curr_connections);
    rows.number("total_connections", figures.total_connections);
    rows.number("rejected_connections", figures.rejected_connections);
    for (name, value) in counts.rows() {
        rows.number(name, value);
    }
    rows.number("bytes_read", figures.bytes_read);
    rows.number("bytes_written", figures.bytes_written);
    rows.number("limit_maxbytes", figures.limit_bytes);
    rows.text("accepting_conns", "1");
    rows.number("threads", figures.threads.into());
    rows.number("bytes", figures.bytes);
    rows.number("curr_items", figures.curr_items);
    rows.number("total_items", figures.total_items);
    rows.number("expired_unfetched", figures.expired_unfetched);
    rows.number("evicted_unfetched", figures.evicted_unfetched);
    rows.number("evictions", figures.evictions);
    rows.number("reclaimed", figures.reclaimed);
}

fn settings(rows: &mut Rows<'_>, figures: &Figures, item_bytes: u64) {
    rows.number("maxbytes", figures.limit_bytes);
    rows.number("maxconns", figures.max_connections);
    rows.number("tcpport", figures.port.into());
    rows.text("udpport", "0");
    rows.text("evictions", if figures.evicts { "on" } else { "off" });
    rows.number("num_threads", figures.threads.into());
    rows.text("cas_enabled", "yes");
    rows.text("binding_protocol", "auto-negotiate");
    rows.number("item_size_max", item_bytes);
    rows.text("flush_enabled", "yes");
    rows.text("dump_enabled", "yes");
    rows.text("lru_crawler", "yes");
}

/// There is one class of items here.
fn items(rows: &mut Rows<'_>, figures: &Figures, counts: &Counts) {
    if figures.curr_items == 0 {
        return;
    }
    rows.number("items:1:number", figures.curr_items);
    rows.number("items:1:evicted", figures.evictions);
    rows.number("items:1:outofmemory", counts.store_no_memory);
    rows.number("items:1:reclaimed", figures.reclaimed);
    rows.number("items:1:expired_unfetched", figures.expired_unfetched);
    rows.number("items:1:evicted_unfetched", figures.evicted_unfetched);
}

/// In its words a chunk is what an item takes on average, and the pages are the memory there is.
fn slabs(rows: &mut Rows<'_>, figures: &Figures, counts: &Counts) {
    if let Some(item_bytes) = figures.bytes.checked_div(figures.curr_items) {
        let item_bytes = item_bytes.max(1);
        let pages = figures.limit_bytes.div_ceil(PAGE_BYTES);
        let used = figures.curr_items;
        // Where values lie on disk too, there may be more than memory has room for.
        let total = (figures.limit_bytes / item_bytes).max(used);
        rows.number("1:chunk_size", item_bytes);
        rows.number("1:chunks_per_page", PAGE_BYTES / item_bytes);
        rows.number("1:total_pages", pages);
        rows.number("1:total_chunks", total);
        rows.number("1:used_chunks", used);
        rows.number("1:free_chunks", total - used);
        rows.number("1:mem_requested", figures.bytes);
        rows.number("1:get_hits", counts.get_hits);
        rows.number("1:cmd_set", counts.cmd_set);
        rows.number("1:delete_hits", counts.delete_hits);
    }
    rows.number("active_slabs", figures.curr_items.min(1));
    rows.number("total_malloced", figures.bytes);
}
