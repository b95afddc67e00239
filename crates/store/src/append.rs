//! Appending: one vectored write for as many records as fit, then the index.
//!
//! All of it happens under the writer's lock, so that the order of records on
//! disk is the order in which the index learnt of them. Recovery relies on
//! that: of two records of an entry, the one that lies further on is the newer.

use std::io::IoSlice;
use std::sync::Arc;

use rustix::io::Errno;

use crate::errors::WriteError;
use crate::footer::{Row, SEGMENT_HEAD_BYTES, footer_bytes};
use crate::format::META_MOST;
use crate::index::SEGMENTS_MOST;
use crate::log::Log;
use crate::place::{Kind, New, Place};
use crate::record::{HEAD_BYTES, Head, record_bytes, table_of};
use crate::segment::{SLICES_MOST, Segment};

const PADDING: [u8; 16] = [0; 16];

/// The segment that is appended to.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) segment: Arc<Segment>,
    /// Where the next record begins.
    end: u64,
    pub(crate) rows: Vec<Row>,
}

/// Who may append, and where.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) open: Option<Open>,
    pub(crate) next_number: u64,
    pub(crate) closed: bool,
}

/// A record with all that can be computed before its place is known.
struct Prepared<'a> {
    new: &'a New<'a>,
    head: Head,
    table: Vec<u8>,
    bytes: u64,
}

impl Log {
    /// Appends records, in order, and gives their places. An entry replaces the
    /// one with the same id and keeps its heat. The call returns when the
    /// records can be read and would survive the end of the process; a loss of
    /// power they survive after [`sync`](Self::sync) or once their segment is
    /// closed.
    ///
    /// May be called from several threads, and waits for the disk. A batch is
    /// not atomic: when there is an error, a first part of it may have been
    /// appended.
    pub fn append(&self, batch: &[New<'_>]) -> Result<Vec<Place>, WriteError> {
        let mut places = Vec::with_capacity(batch.len());
        let prepared = self.prepare(batch)?;
        let mut full = Vec::new();
        let result = {
            let mut writer = self.writer.lock();
            self.append_all(&mut writer, &prepared, None, &mut places, &mut full)
        };
        self.close_segments(full);
        result.map(|()| places)
    }

    /// Appends an entry again, with a given heat, if it is still at `place`.
    pub(crate) fn append_again(
        &self,
        new: &New<'_>,
        place: Place,
        heat: u8,
    ) -> Result<bool, WriteError> {
        let prepared = self.prepare(std::slice::from_ref(new))?;
        let (mut places, mut full) = (Vec::new(), Vec::new());
        let result = {
            let mut writer = self.writer.lock();
            if self.index.get(new.id).map(|hit| hit.place) != Some(place) {
                return Ok(false);
            }
            self.append_all(&mut writer, &prepared, Some(heat), &mut places, &mut full)
        };
        self.close_segments(full);
        result.map(|()| true)
    }

    /// The longest record that can be appended, in bytes, all of it counted.
    pub fn record_most(&self) -> u64 {
        let most = self.segment_bytes() - SEGMENT_HEAD_BYTES as u64 - footer_bytes(1);
        most & !15
    }

    fn prepare<'a>(&self, batch: &'a [New<'a>]) -> Result<Vec<Prepared<'a>>, WriteError> {
        if self.is_failed() {
            return Err(WriteError::Failed);
        }
        batch.iter().map(|new| self.prepare_one(new)).collect()
    }

    fn prepare_one<'a>(&self, new: &'a New<'a>) -> Result<Prepared<'a>, WriteError> {
        let data: u64 = new.data.iter().map(|slice| slice.len() as u64).sum();
        let bytes = record_bytes(new.meta.len() as u64, data);
        let most = self.record_most();
        if bytes > most || new.meta.len() > META_MOST {
            return Err(WriteError::TooLarge { bytes, most });
        }
        let table = table_of(new.data);
        let head = Head {
            kind: new.kind,
            id: new.id,
            ordinal: 0,
            meta_bytes: new.meta.len() as u32,
            data_bytes: data as u32,
            table_sum: crc32c::crc32c(&table),
            meta_sum: crc32c::crc32c(new.meta),
        };
        Ok(Prepared {
            new,
            head,
            table,
            bytes,
        })
    }

    fn append_all(
        &self,
        writer: &mut Writer,
        mut rest: &[Prepared<'_>],
        heat: Option<u8>,
        places: &mut Vec<Place>,
        full: &mut Vec<Open>,
    ) -> Result<(), WriteError> {
        if writer.closed {
            return Err(WriteError::Closed);
        }
        while let Some(first) = rest.first() {
            if !writer
                .open
                .as_ref()
                .is_some_and(|open| self.fits(open, first))
            {
                full.extend(writer.open.take());
                writer.open = Some(self.begin_segment(&mut writer.next_number)?);
            }
            let Some(open) = writer.open.as_mut() else {
                return Err(WriteError::Full);
            };
            let (now, later) = rest.split_at(self.how_many_fit(open, rest));
            if let Err(error) = open.write(now) {
                full.extend(writer.open.take());
                return Err(self.write_failed("writing", error));
            }
            self.announce(open, now, heat, places);
            rest = later;
        }
        Ok(())
    }

    fn fits(&self, open: &Open, record: &Prepared<'_>) -> bool {
        open.end + record.bytes + footer_bytes(open.rows.len() + 1) <= open.segment.bytes()
    }

    /// How many of these records go into the open segment in one write.
    fn how_many_fit(&self, open: &Open, records: &[Prepared<'_>]) -> usize {
        let (mut end, mut slices) = (open.end, 0);
        let fit = records.iter().enumerate().take_while(|(n, record)| {
            end += record.bytes;
            slices += record.new.data.len() + 4;
            let rows = open.rows.len() + n + 1;
            end + footer_bytes(rows) <= open.segment.bytes() && (*n == 0 || slices <= SLICES_MOST)
        });
        fit.count()
    }

    /// Tells the index of records that were just written at the open end.
    fn announce(
        &self,
        open: &mut Open,
        written: &[Prepared<'_>],
        heat: Option<u8>,
        places: &mut Vec<Place>,
    ) {
        let end = open.end + written.iter().map(|record| record.bytes).sum::<u64>();
        open.segment.set_end(end);
        for record in written {
            let row = Row {
                id: record.new.id,
                kind: record.new.kind,
                offset: open.end as u32,
                bytes: record.bytes as u32,
            };
            let place = row.place(open.segment.number);
            open.end += record.bytes;
            open.rows.push(row);
            open.segment.add_live(place.bytes);
            if record.new.kind == Kind::Entry
                && let Some(before) = self.index.put(record.new.id, place, heat)
            {
                self.release(before);
            }
            places.push(place);
        }
    }

    /// A new segment to append to, if there is space for one.
    fn begin_segment(&self, next_number: &mut u64) -> Result<Open, WriteError> {
        let bytes = self.segment_bytes();
        if self.segments.read().is_empty() {
            // Nothing can be reclaimed: only trying shows whether a full disk
            // has got room.
            self.space.found_room(u64::MAX);
        }
        if *next_number >= SEGMENTS_MOST || !self.space.take(bytes) {
            return Err(WriteError::Full);
        }
        let number = *next_number;
        *next_number += 1;
        let segment = Segment::create(number, self.path(), bytes, &self.space, &self.health)
            .map_err(|error| self.write_failed("creating a segment", error))?;
        self.space.found_room(bytes / 8);
        self.segments.write().insert(number, Arc::clone(&segment));
        Ok(Open {
            segment,
            end: SEGMENT_HEAD_BYTES as u64,
            rows: Vec::new(),
        })
    }

    /// Footers are written outside of the writer's lock: nobody waits for them.
    pub(crate) fn close_segments(&self, full: Vec<Open>) {
        for open in full {
            if let Err(error) = open.segment.close(open.end, &open.rows) {
                self.write_failed("closing a segment", error);
            }
        }
    }

    /// What an error of the disk while writing means.
    pub(crate) fn write_failed(&self, doing: &str, error: Errno) -> WriteError {
        match error {
            Errno::NOSPC | Errno::DQUOT => {
                if self.space.found_full() {
                    tracing::warn!(
                        "{}: {doing}: {error}; the disk holds less than the configured size, \
                         the log goes on with {} bytes",
                        self.path().display(),
                        self.space.limit()
                    );
                }
                WriteError::Full
            }
            Errno::MFILE | Errno::NFILE => {
                tracing::warn!("{}: {doing}: {error}", self.path().display());
                WriteError::Full
            }
            _ => {
                self.health.fail(self.path(), doing, &error);
                WriteError::Failed
            }
        }
    }
}

impl Open {
    /// Nothing has been appended yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes records behind one another at the open end.
    fn write(&self, records: &[Prepared<'_>]) -> Result<(), Errno> {
        let mut at = self.end;
        let mut heads: Vec<[u8; HEAD_BYTES]> = Vec::with_capacity(records.len());
        for (n, record) in records.iter().enumerate() {
            let head = Head {
                ordinal: (self.rows.len() + n) as u32,
                ..record.head
            };
            heads.push(head.encode(self.segment.number, at as u32));
            at += record.bytes;
        }
        let mut slices = Vec::new();
        for (head, record) in heads.iter().zip(records) {
            let used = record.head.data_at() as u64 + u64::from(record.head.data_bytes);
            let padding = &PADDING[..(record.bytes - used) as usize];
            let parts = [&head[..], &record.table, record.new.meta];
            let all = parts.into_iter().chain(record.new.data.iter().copied());
            let all = all.chain([padding]).filter(|slice| !slice.is_empty());
            slices.extend(all.map(IoSlice::new));
        }
        self.segment.write(&mut slices, self.end)
    }
}
